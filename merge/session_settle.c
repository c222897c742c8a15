// SPDX-License-Identifier: GPL-3.0-or-later
#include "session_settle.h"

#include <inttypes.h>
#include <string.h>

#include "escape.h"

int session__new_accounts(struct session *s, uint32_t proc)
{
	struct session_tables *t = s->tables;
	struct account new = {
		.label_chains = { NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX },
		.unknown_stream = NO_INDEX,
	};
	int err = 0;

	while (!err && t->accounts.nr <= proc)
		err = array_push(&t->accounts, new);
	return err;
}

int session__resolve_accounts(struct session *s, bool ends_known)
{
	struct session_tables *t = s->tables;
	struct account *account;
	size_t i;
	int err;

	for (i = t->first_proc; i < s->machine.procs.nr; i++) {
		err = session__account(s, i, &account);
		if (err)
			return err;
		if (s->machine.procs.v[i].how == XPU_MISC_PROCESS_ATTACH) {
			window__open(&account->window, min_t(uint64_t, account->sent.nr_slots,
							     WINDOW_MAX_THREADS));
			continue;
		}
		account->baseline = 0;
		memset(&account->first, 0, sizeof(account->first));
		if (ends_known && !s->machine.procs.v[i].exited)
			window__open(&account->window, min_t(uint64_t, account->sent.nr_slots,
							     WINDOW_MAX_THREADS));
	}
	for (i = t->first_thread; i < s->threads.nr; i++)
		t->accounts.v[s->threads.v[i].proc].nr_threads++;
	for (i = t->first_proc; i < t->accounts.nr; i++) {
		account = &t->accounts.v[i];
		if (account->window.nr_threads)
			window__open(&account->window, max_t(uint32_t, account->nr_threads,
							     account->window.nr_threads));
	}
	return 0;
}

bool session__outlived(const struct session *s, uint32_t proc)
{
	return s->tables->accounts.v[proc].window.nr_threads && !s->machine.procs.v[proc].exited;
}

#define MAX_COUNT	(1ull << 48)	/* of anything, in one process: what it says may be a lie */

/*
 * Never counts backwards: the shim's last total may be older than what came last. Nor so far that
 * one process's number makes the sum of all a small one.
 */
static uint64_t missing(uint64_t sent, uint64_t first, uint64_t arrived)
{
	if (sent <= first || sent - first <= arrived)
		return 0;
	return min_t(uint64_t, sent - first - arrived, MAX_COUNT);
}

/* Of three counters that are one sum. */
static uint64_t count3(uint64_t a, uint64_t b, uint64_t c)
{
	return min_t(uint64_t, a, MAX_COUNT) + min_t(uint64_t, b, MAX_COUNT) +
	       min_t(uint64_t, c, MAX_COUNT);
}

#define SINCE(a, member)	missing((a)->sent.member, (a)->first.member, 0)

void session__settle(struct session *s)
{
	uint64_t nr_missing, nr_unfinished = 0;
	struct loss *l = &s->loss;
	size_t i;

	for (i = s->tables->first_proc; i < s->tables->accounts.nr; i++) {
		const struct account *a = &s->tables->accounts.v[i];

		/* While probes come and go, the shim's idea of who listens is an instant off. */
		nr_missing = missing(a->sent.nr_launches, a->first.nr_launches, a->nr_launches);
		if (a->window.nr_threads)
			l->at_edges += nr_missing;
		else
			l->missing_launches += nr_missing;
		l->missing_works += missing(count3(a->sent.nr_kernels, a->sent.nr_memcpys,
						   a->sent.nr_memsets),
					    count3(a->first.nr_kernels, a->first.nr_memcpys,
						   a->first.nr_memsets), a->nr_works);
		l->missing_calls += missing(a->sent.nr_calls, a->first.nr_calls, a->nr_calls);
		l->bad_calls += SINCE(a, nr_bad_calls);
		l->missing_batches += missing(a->sent.nr_batches, a->first.nr_batches,
					      a->nr_batches - (a->baseline != 0));
		l->dropped_cupti += SINCE(a, nr_dropped_cupti);
		l->dropped_shim += SINCE(a, nr_dropped_shim);
		l->taken += SINCE(a, nr_taken);
		if (a->nr_ranges)	/* else it was another recording that wanted them */
			l->dropped_ranges += SINCE(a, nr_dropped_ranges);
		if (a->nr_ranges && !a->window.nr_threads)
			l->missing_ranges += missing(a->sent.nr_ranges, 0, a->nr_ranges);
		nr_unfinished += SINCE(a, nr_unfinished);
		if (session__outlived(s, i))
			l->unfinished_at_detach += SINCE(a, nr_unfinished);
	}
	l->unfinished = nr_unfinished - l->unfinished_at_detach;
	/* Work that still ran has no valid times either; it has a line of its own. */
	l->bad_times -= min_t(uint64_t, l->bad_times, nr_unfinished);
	l->nr_launches = s->join.nr_launches - l->nr_captured - l->nr_refused - l->at_detach;
	l->nr_matched = s->join.nr_matched;
	l->nr_pending = s->join.nr_pending - l->nr_captured - l->nr_refused - l->at_detach;
	l->nr_duplicates = s->join.nr_duplicates;
	l->nr_works = s->join.nr_works;
	l->nr_orphans = s->join.nr_orphans - l->before_attach - l->after_detach;
	l->crowded = s->waits.nr_crowded + s->machine.nr_crowded;
}

void session__print_loss(const struct session *s, FILE *f)
{
	size_t i;

	loss__print(&s->loss, f, "");
	if (filter__active(s->opts.filter)) {
		fprintf(f, "left out: %" PRIu64 " of %" PRIu64 " device records, %" PRIu64
			" launches without any; asked for: ", s->nr_left_out, s->loss.nr_works,
			s->nr_pending_left_out);
		escape__print(f, s->opts.filter->text.v, ESCAPE_TEXT);
		fputc('\n', f);
	}
	for (i = 0; i < s->inputs.nr && s->inputs.nr > 1; i++) {
		struct loss l = s->inputs.v[i].loss;

		/* Hardly any has a name for every frame. */
		l.unsymbolized = 0;
		if (loss__clean(&l))
			continue;
		fputs("of these, in ", f);
		escape__print(f, s->inputs.v[i].reader->name, ESCAPE_TEXT);
		fputs(":\n", f);
		loss__print(&s->inputs.v[i].loss, f, "  ");
	}
}
