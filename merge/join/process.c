// SPDX-License-Identifier: GPL-3.0-or-later
/* process.c - session__process(): reads all recordings of a session, and finishes its sums */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "join/hints.h"
#include "join/session.h"
#include "join/turns.h"
#include "symbols/name_keeper.h"
#include "xpu_time.h"

/*
 * Boot times that differ by at most this much mean the same boot: a clock step changes the boot
 * time.
 */
#define SAME_BOOT_NS	1000000000

static bool input__same_boot(const struct input *a, const struct input *b)
{
	return a->host_nr == b->host_nr &&
	       xpu_ns_apart(input__boot_ns(a), input__boot_ns(b)) < SAME_BOOT_NS;
}

/*
 * Makes the symbolizer look for files next to the recording and, for a recording of several files,
 * next to the first file.
 */
static int session__add_kept(struct session *s, const struct reader *r)
{
	const char *first = reader__first_name(r), *slash = strrchr(r->name, '/'), *path;
	int err = symbol_paths__add_kept(&s->dsos.paths, r->name);

	if (err || !first)
		return err;
	path = strpool__internf(&s->model.strings, "%.*s%s", slash ? (int)(slash + 1 - r->name) : 0,
				r->name, first);
	return path ? symbol_paths__add_kept(&s->dsos.paths, path) : -ENOMEM;
}

static void find_other_files(struct input *inputs, size_t nr)
{
	size_t i, k;

	for (i = 0; i < nr; i++)
		for (k = 0; k < nr; k++) {
			if (inputs[k].recording_ns != inputs[i].recording_ns ||
			    !input__same_boot(&inputs[k], &inputs[i]))
				continue;
			inputs[i].previous_is_here |= inputs[k].file < inputs[i].file;
			inputs[i].next_is_here |= inputs[k].file > inputs[i].file;
		}
}

/* Adds input @i, and finds its host. */
static int session__open_input(struct session *s, const struct reader *r, size_t i)
{
	struct input in = { .reader = r, .host_nr = i };
	char host[READER_HOST_MAX];
	size_t k;
	int err;

	in.file = reader__file_number(r, &in.recording_ns);
	in.host = strpool__intern(&s->model.strings, host, reader__hostname(r, host));
	if (!in.host)
		return -ENOMEM;
	for (k = 0; k < i; k++)
		if (s->model.inputs.v[k].host == in.host)
			in.host_nr = min_t(uint32_t, in.host_nr, k);
	s->model.nr_hosts += in.host_nr == i;
	err = array_push(&s->model.inputs, in);
	if (!err)
		s->model.realtime |=
			!input__same_boot(&s->model.inputs.v[0], &s->model.inputs.v[i]);
	return err;
}

/* Finds the hosts of the recordings, and a clock for all of them. */
static int session__open_inputs(struct session *s, const struct reader *r, size_t nr)
{
	size_t i, k;
	int err;

	for (i = 0; i < nr; i++) {
		err = session__add_kept(s, &r[i]) ?: session__open_input(s, &r[i], i);
		if (err)
			return err;
		for (k = 0; features[k]; k++)
			s->keeps_works |= features[k]->announced_by &&
					  reader__begins_with(&r[i], features[k]->announced_by);
	}
	s->sums.works.wanted |= s->keeps_works;
	for (i = 0; i < nr && s->model.realtime; i++) {
		for (k = 0; !input__same_boot(&s->model.inputs.v[k], &s->model.inputs.v[i]); k++)
			;
		s->model.inputs.v[i].shift_ns = input__boot_ns(&s->model.inputs.v[k]);
	}
	find_other_files(s->model.inputs.v, nr);
	s->model.start_ns = UINT64_MAX;
	for (i = 0; i < nr; i++)
		s->model.start_ns =
			min_t(uint64_t, s->model.start_ns,
			      s->model.inputs.v[i].shift_ns + r[i].header.start_mono_ns);
	return 0;
}

static int session__finish_features(struct session *s)
{
	int err = features_call(s->model.features, finish, s);

	array_free(&s->sums.works.list);
	return err;
}

/* Return: whether a process without a window launched something. */
static bool is_outside_of_windows(const struct model *m, const bool *has_windows)
{
	size_t i;

	for (i = 0; i < m->threads.nr; i++)
		if (m->threads.v[i].nr_launches && !has_windows[m->threads.v[i].proc])
			return true;
	return false;
}

/* Sums up the capture windows, if all recordings have some. Return: 0 or -ENOMEM. */
static int session__sum_windows(struct session *s)
{
	const struct captured *c = &s->model.captured;
	bool *has = calloc(s->model.inputs.nr + 1, sizeof(*has));
	bool *procs = calloc(s->model.machine.procs.nr + 1, sizeof(*procs));
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < c->windows.nr && has && procs; i++) {
		procs[c->windows.v[i].proc] = true;
		has[s->model.machine.procs.v[c->windows.v[i].proc].recording] = true;
	}
	if (!has || !procs) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < s->model.inputs.nr; i++)
		nr += has[i];
	if (nr && nr == s->model.inputs.nr && !is_outside_of_windows(&s->model, procs))
		err = captured__collect(c, s->opts.filter, s->model.start_ns, &s->sums.nr_windows,
					 &s->sums.windows);
out:
	free(procs);
	free(has);
	return err;
}

/* Sets the time that was recorded, and the part of it that passes the filter. */
static void session__span(struct session *s)
{
	struct filter_span span;

	if (s->sums.first_ns > s->sums.last_ns)
		s->sums.first_ns = s->sums.last_ns = 0;
	span = (struct filter_span){ .from_ns = s->sums.first_ns, .to_ns = s->sums.last_ns };
	if (!filter__cut(s->opts.filter, s->model.start_ns, &span))
		span.from_ns = span.to_ns = 0;
	s->sums.from_ns = span.from_ns;
	s->sums.to_ns = span.to_ns;
}

int session__process(struct session *s, const struct reader *r, size_t nr)
{
	struct loss loss = { 0 };
	size_t i;
	int err;

	s->ended = true;
	s->passes.nr_inputs = nr;
	err = session__open_inputs(s, r, nr);
	err = err ?: turns__run(s);
	for (i = 0; i < nr && !err; i++) {
		loss__add(&loss, &s->model.inputs.v[i].loss);
		s->ended &= s->model.inputs.v[i].ended;
	}
	s->sums.loss = loss;
	for (i = 0; i < s->sums.busy.nr && !err; i++)
		err = busy__finish(&s->sums.busy.v[i]);
	err = err ?: session__finish_features(s);
	err = err ?: times__finish(&s->sums.times, s->sums.busy.v,
				   s->sums.busy.nr) ?: session__sum_windows(s);
	if (!err) {
		dsos__report(&s->dsos, &s->msgs);
		hints__generated_code(&s->model, &s->msgs);
	}
	session__span(s);
	return err;
}

int session__look_up(struct session *s, const struct reader *r, struct name_keeper *k)
{
	s->callchains.keeper = k;
	s->callchains.trim = false;
	s->callchains.show_inline = s->callchains.show_srcline = false;
	s->callchains.srclines.is_over = k->is_over;
	s->callchains.srclines.ctx = k->ctx;
	s->passes.nr_inputs = 1;
	return session__open_inputs(s, r, 1) ?: turns__look_up(s);
}

int session__add(struct session *s, const struct reader *r)
{
	size_t nr = s->model.inputs.nr, i;
	int err;

	s->passes.nr_inputs = nr + 1;
	if (!nr)
		s->model.start_ns = r->header.start_mono_ns;
	err = session__open_input(s, r, nr) ?: turns__next(s, nr);
	s->sums.loss = s->model.inputs.v[nr].loss;
	for (i = 0; i < s->sums.busy.nr && !err; i++)
		err = busy__finish(&s->sums.busy.v[i]);
	return err;
}
