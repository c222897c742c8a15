// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline.h"
#include "join/session.h"
#include "model/remap.h"
#include "stalls/state.h"
#include "write/format.h"

const struct stalls_state *stalls_state__of(const struct model *m)
{
	static const struct stalls_state none;

	return m->features[FEATURE_stalls] ?: &none;
}

static void *stalls__new(struct model *m)
{
	struct stalls_state *s = calloc(1, sizeof(*s));

	(void)m;
	if (s)
		stalls__init(&s->stalls);
	return s;
}

static void stalls__free(void *state)
{
	struct stalls_state *s = state;

	stall_defs__free(&s->defs);
	stall_sums__exit(&s->sums);
	source_text__exit(&s->source);
	stalls__exit(&s->stalls);
	free(s);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_reason(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const struct xpu_record_stall_reason *rec = (const void *)r;
	struct stalls_state *s = state;
	int err = idmap__add(&s->defs.reasons, ID_KEY(proc, rec->index), rec->name);

	(void)c;
	return min_t(int, err, 0);
}

static int take_cubin(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct stalls_state *s = state;

	(void)c;
	return stall_defs__cubin(&s->defs, proc, (const void *)rec);
}

static int take_stalls(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct stalls_state *s = state;

	(void)c;
	return array_push(&s->defs.stalls, ((struct stalls_def){ proc, rec }));
}

static int take_account(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct stalls_state *s = state;

	(void)c;
	return array_push(&s->defs.accounts, ((struct stalls_def){ proc, rec }));
}

static const struct feature_record records[] = {
	{ XPU_RECORD_STALL_REASON, false, take_reason },
	{ XPU_RECORD_CUBIN, false, take_cubin },
	{ XPU_RECORD_STALLS, true, take_stalls },
	{ XPU_RECORD_STALLS_ACCOUNT, true, take_account },
	{ 0 },
};

static int stalls__begin(void *state, struct second_pass *p)
{
	struct stalls_state *s = state;
	int err;

	p->sums->works.wanted |= s->defs.accounts.nr != 0;
	err = stall_defs__resolve(&s->defs, &s->stalls, p);
	stall_defs__free(&s->defs);
	return err;
}

static int absorb_stall_readings(struct stalls *to, const struct stalls *from,
				 const uint32_t *places, const uint32_t *functions)
{
	size_t first = to->counts.nr, i;
	int err = 0;

	for (i = 0; i < from->counts.nr && !err; i++) {
		struct stall_count count = from->counts.v[i];

		count.place = places[count.place];
		err = array_push(&to->counts, count);
	}
	for (i = 0; i < from->readings.nr && !err; i++) {
		struct stall_reading reading = from->readings.v[i];

		reading.function = functions[reading.function];
		reading.first += first;
		err = array_push(&to->readings, reading);
	}
	return err;
}

static int stalls__absorb(void *state, void *from_state, struct remap *r)
{
	struct stalls *to = &((struct stalls_state *)state)->stalls;
	const struct stalls *from = &((struct stalls_state *)from_state)->stalls;
	uint32_t *places = calloc(from->places.nr + 1, sizeof(*places));
	uint32_t *functions = calloc(from->functions.nr + 1, sizeof(*functions));
	int err = places && functions ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < from->places.nr && !err; i++) {
		const struct leaf_place *place = &from->places.v[i];
		const char *text = remap__text(r, place->place),
			   *reason = remap__text(r, place->reason);

		err = text && reason ? stalls__place(to, text, reason, &places[i]) : -ENOMEM;
	}
	for (i = 0; i < from->functions.nr && !err; i++) {
		const struct stall_function *f = &from->functions.v[i];
		const char *name = remap__text(r, f->name);

		err = name ?
		      stalls__function(to, f->proc + r->proc, f->context, name, &functions[i]) :
		      -ENOMEM;
	}
	err = err ?: absorb_stall_readings(to, from, places, functions);
	for (i = 0; i < from->spans.nr && !err; i++) {
		struct stall_span span = from->spans.v[i];

		span.proc += r->proc;
		err = array_push(&to->spans, span);
	}
	to->knows_spans |= from->knows_spans;
	to->total += from->total;
	to->others += from->others;
	to->dropped += from->dropped;
	to->nr_full += from->nr_full;
	to->recorded += from->recorded;
	free(functions);
	free(places);
	return err;
}

/* Splits the time of a kernel by the places of its samples. Return: 0 or -ENOMEM. */
static int split_kernel(const struct stalls_state *s, struct session *session, size_t aggregate)
{
	const struct aggregate *a = &session->sums.aggregates.v[aggregate];
	struct sums_part *to;
	size_t nr, i;
	int err;
	const struct stall_part *parts = stall_sums__of(&s->sums, a->chain, a->leaf, &nr);

	to = calloc(nr + 1, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		to[i] = (struct sums_part){ &s->stalls.places.v[parts[i].place], parts[i].samples };
	err = sums__split(&session->sums, &session->model, aggregate, to, nr);
	free(to);
	return err;
}

/* Return: CLOCK_REALTIME of the earliest recording's start; 0: unknown. */
static uint64_t start_of(const struct session *s)
{
	uint64_t boot_ns = s->model.realtime ? 0 : input__boot_ns(&s->model.inputs.v[0]);

	return boot_ns || s->model.realtime ? boot_ns + s->model.start_ns : 0;
}

static int stalls__finish(void *state, struct session *session)
{
	const struct aggregates *all = &session->sums.aggregates;
	const struct leaves *leaves = &session->model.leaves;
	const struct works *works = &session->sums.works;
	const struct stalls_opts *opts = session->opts.values[FEATURE_stalls];
	struct stalls_state *s = state;
	size_t i, nr = all->nr;
	int err = stall_sums__finish(&s->sums, &s->stalls, &session->model, session->opts.filter,
				     works);

	session->sums.loss.stalls_uncovered_us =
		(s->sums.kernels_ns - s->sums.covered_ns + 999) / 1000;
	for (i = 0; i < nr && s->sums.parts.nr && !err; i++)
		if (leaves->v[all->v[i].leaf].kind == LEAF_KERNEL &&
		    !leaf__part(leaves, &leaves->v[all->v[i].leaf]))
			err = split_kernel(s, session, i);
	if (opts && opts->source && !err)
		err = source_text__read(&s->source, opts->source, &s->stalls, start_of(session),
					&session->msgs);
	return err;
}

static const struct section *const sections[] = { &section_stalls, NULL };

static int set_source(void *values, const struct cmdline_given *given)
{
	((struct stalls_opts *)values)->source = given->arg;
	return 0;
}

static const struct cmdline_option rows[] = {
	{ "source", 0, "DIRS", .set = set_source, .group = FORMAT_MERGED,
	  .help = "-f html: show the text of the source lines of stalls, from\n"
		  "the files below these directories, separated by ':'" },
};

static int stalls__check(const void *values, const struct feature_line *line)
{
	const struct stalls_opts *o = values;

	if (o->source && (line->diff || strcmp(line->format->name, "html") != 0))
		return line->complain("--source is for -f html");
	return 0;
}

static const struct feature_options options = {
	.rows = rows, .nr = ARRAY_SIZE(rows), .after = "symfs",
	.bytes = sizeof(struct stalls_opts), .check = stalls__check,
};

const struct feature stalls_feature = {
	.name = "stalls",
	.new = stalls__new,
	.free = stalls__free,
	.records = records,
	.begin = stalls__begin,
	.absorb = stalls__absorb,
	.finish = stalls__finish,
	.sections = sections,
	.page = stalls__page,
	.options = &options,
};
