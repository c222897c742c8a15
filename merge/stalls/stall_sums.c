// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/stall_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_time.h"

void stall_sums__exit(struct stall_sums *s)
{
	array_free(&s->parts);
}

/* the device time of a call path within a reading */
struct stall_share {
	size_t reading;
	uint32_t chain, leaf;
	uint64_t ns;
};

typedef ARRAY(struct stall_share) stall_shares_t;

/* how long work ran within a reading: in total, before the cut's begin_ns, and until its end_ns */
struct reading_time {
	uint64_t ns, before_ns, until_ns;
};

/* the timestamps at which readings are cut; @times is NULL without FILTER_FROM and FILTER_TO */
struct stall_cut {
	uint64_t begin_ns, end_ns;
	struct reading_time *times;	/* index: reading */
};

static int reading__cmp(const void *va, const void *vb, void *ctx)
{
	const struct stalls *s = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct stall_reading *wa = &s->readings.v[a], *wb = &s->readings.v[b];

	return cmp3(wa->function, wb->function) ?: cmp3(wa->correlation_id, wb->correlation_id) ?:
	       cmp3(wa->begin_ns, wb->begin_ns) ?: cmp3(wa->end_ns, wb->end_ns) ?: cmp3(a, b);
}

static int share__cmp(const void *va, const void *vb)
{
	const struct stall_share *a = va, *b = vb;

	return cmp3(a->reading, b->reading) ?: cmp3(a->chain, b->chain) ?: cmp3(a->leaf, b->leaf);
}

static int part__cmp(const void *va, const void *vb)
{
	const struct stall_part *a = va, *b = vb;

	return cmp3(a->chain, b->chain) ?: cmp3(a->leaf, b->leaf) ?: cmp3(a->place, b->place);
}

static int part__cmp_samples(const void *va, const void *vb)
{
	const struct stall_part *a = va, *b = vb;

	return cmp3(a->chain, b->chain) ?: cmp3(a->leaf, b->leaf) ?: cmp3(b->samples, a->samples) ?:
	       cmp3(a->place, b->place);
}

/*
 * Finds the function's first reading for @launch. If @launch is 0, finds the function's first
 * reading that has no launch and ends after @ns. Return: the reading's index in @order, or the
 * index where such a reading would be inserted.
 */
static size_t first_after(const struct stalls *s, const uint32_t *order, uint32_t function,
			  uint32_t launch, uint64_t ns)
{
	size_t low = 0, high = s->readings.nr, middle;

	while (low < high) {
		const struct stall_reading *w;

		middle = low + (high - low) / 2;
		w = &s->readings.v[order[middle]];
		if ((cmp3(w->function, function) ?: cmp3(w->correlation_id, launch) ?:
		     w->end_ns <= ns && !launch ? -1 : 0) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds the time of work within a reading, limited to the time range of @cut. */
static int add_share(stall_shares_t *shares, const struct stall_cut *cut, uint32_t reading,
		     const struct kept_work *w, uint64_t from_ns, uint64_t to_ns)
{
	struct reading_time *time = cut->times ? &cut->times[reading] : NULL;

	if (time) {
		time->ns += to_ns - from_ns;
		time->before_ns += xpu_ns_between(from_ns, min_t(uint64_t, to_ns, cut->begin_ns));
		time->until_ns += xpu_ns_between(from_ns, min_t(uint64_t, to_ns, cut->end_ns));
		from_ns = max_t(uint64_t, from_ns, cut->begin_ns);
		to_ns = min_t(uint64_t, to_ns, cut->end_ns);
		if (from_ns >= to_ns)
			return 0;
	}
	return array_push(shares, ((struct stall_share){
		reading, w->chain, w->leaf, to_ns - from_ns,
	}));
}

/*
 * Adds the time of work to the readings of the work's launch, and to readings of the function that
 * have no launch and overlap with the work.
 */
static int add_work(stall_shares_t *shares, const struct stalls *s, const uint32_t *order,
		    const struct stall_cut *cut, uint32_t function, const struct kept_work *w)
{
	const struct stall_reading *reading;
	uint64_t from, to;
	int err = 0;
	size_t i;

	for (i = w->correlation_id ? first_after(s, order, function, w->correlation_id, 0) :
		 s->readings.nr;
	     i < s->readings.nr && !err; i++) {
		reading = &s->readings.v[order[i]];
		if (reading->function != function || reading->correlation_id != w->correlation_id)
			break;
		err = add_share(shares, cut, order[i], w, w->start_ns, w->end_ns);
	}
	for (i = first_after(s, order, function, 0, w->start_ns); i < s->readings.nr && !err; i++) {
		reading = &s->readings.v[order[i]];
		if (reading->function != function || reading->correlation_id)
			break;
		if (reading->begin_ns >= w->end_ns)
			break;
		from = max_t(uint64_t, reading->begin_ns, w->start_ns);
		to = min_t(uint64_t, reading->end_ns, w->end_ns);
		if (from < to)
			err = add_share(shares, cut, order[i], w, from, to);
	}
	return err;
}

/* Return: @number * @ns / @all_ns, rounded down. */
static uint64_t part_of(uint64_t number, uint64_t ns, uint64_t all_ns)
{
	return (unsigned __int128)number * ns / all_ns;
}

/* Joins shares that have the same reading and path. */
static void merge_shares(stall_shares_t *shares)
{
	size_t i, nr = 0;

	if (!shares->nr)
		return;
	array_qsort(shares, share__cmp);
	for (i = 1; i < shares->nr; i++) {
		if (share__cmp(&shares->v[nr], &shares->v[i]))
			shares->v[++nr] = shares->v[i];
		else
			shares->v[nr].ns += shares->v[i].ns;
	}
	shares->nr = nr + 1;
}

static void merge_parts(struct stall_sums *s)
{
	size_t i, nr = 0;

	if (!s->parts.nr)
		return;
	array_qsort(&s->parts, part__cmp);
	for (i = 1; i < s->parts.nr; i++) {
		if (part__cmp(&s->parts.v[nr], &s->parts.v[i]))
			s->parts.v[++nr] = s->parts.v[i];
		else
			s->parts.v[nr].samples += s->parts.v[i].samples;
	}
	s->parts.nr = nr + 1;
	array_qsort(&s->parts, part__cmp_samples);
}

/* Divides a reading's samples among the @nr paths. */
static int share_reading(struct stall_sums *s, const struct stalls *stalls,
			 const struct stall_share *shares, size_t nr)
{
	const struct stall_reading *w = &stalls->readings.v[shares->reading];
	double whole = 0;
	size_t i, k;
	int err = 0;

	for (i = 0; i < nr; i++)
		whole += shares[i].ns;
	*(nr == 1 && whole ? &s->exact : &s->shared) += w->samples;
	for (i = 0; i < nr; i++) {
		if (shares[i].leaf == NO_INDEX)
			continue;	/* the filter left the reading out */
		for (k = w->first; k < w->first + w->nr && !err; k++)
			err = array_push(&s->parts, ((struct stall_part){
				shares[i].chain, shares[i].leaf, stalls->counts.v[k].place,
				stalls->counts.v[k].samples * (whole ? shares[i].ns / whole : 1),
			}));
	}
	return err;
}

static int share_readings(struct stall_sums *s, const struct stalls *stalls,
			  const stall_shares_t *shares)
{
	uint64_t all = 0;
	size_t i, k;
	int err = 0;

	for (i = 0; i < shares->nr && !err; i = k) {
		for (k = i + 1; k < shares->nr && shares->v[k].reading == shares->v[i].reading; k++)
			;
		err = share_reading(s, stalls, &shares->v[i], k - i);
		/* The parts of many readings must not take much more memory than their sums. */
		if (s->parts.nr > (1u << 22))
			merge_parts(s);
	}
	for (i = 0; i < stalls->readings.nr; i++)
		all += stalls->readings.v[i].samples;
	s->no_launch = all - s->exact - s->shared;
	return err;
}

/*
 * Cuts a reading's samples at the times of @cut, in proportion to the time for which the reading's
 * work ran. If no work is known, the samples are taken to be evenly spread over the reading. The
 * samples of adjoining cuts add up to all samples.
 */
static void cut_reading(struct stalls *s, struct stall_reading *w, const struct stall_cut *cut,
			const struct reading_time *time)
{
	struct reading_time t = *time;
	size_t i;

	if (!t.ns) {
		t.ns = max_t(uint64_t, w->end_ns - w->begin_ns, 1);
		t.before_ns = min_t(uint64_t, xpu_ns_between(w->begin_ns, cut->begin_ns), t.ns);
		t.until_ns = min_t(uint64_t, xpu_ns_between(w->begin_ns, cut->end_ns), t.ns);
	}
	w->samples = 0;
	for (i = w->first; i < w->first + w->nr; i++) {
		struct stall_count *c = &s->counts.v[i];

		c->samples = part_of(c->samples, t.until_ns, t.ns) -
			     part_of(c->samples, t.before_ns, t.ns);
		c->not_issued = part_of(c->not_issued, t.until_ns, t.ns) -
				part_of(c->not_issued, t.before_ns, t.ns);
		/* Both numbers are rounded separately. */
		c->not_issued = min_t(uint64_t, c->not_issued, c->samples);
		w->samples += c->samples;
	}
}

/*
 * Return: whether a leaf's name is the function's name, perhaps followed by a shape (--by shape).
 */
static bool is_name_of(const char *function, const char *leaf)
{
	size_t len = strlen(function);

	return function == leaf ||
	       (!strncmp(leaf, function, len) && !strncmp(leaf + len, "<<<", 3));
}

/* Finds the function of a kernel by its stream and leaf. */
static int find_function(const struct stalls *s, const struct model *m, const struct kept_work *w,
			 struct idmap *known, uint32_t *function)
{
	const struct stream *stream = &m->streams.v[w->stream];
	const char *name = m->leaves.v[w->kernel].name;
	size_t i;

	if (idmap__get(known, ID_KEY(w->stream, w->kernel), function))
		return 0;
	*function = NO_INDEX;
	for (i = 0; i < s->functions.nr && *function == NO_INDEX; i++)
		if (s->functions.v[i].proc == stream->proc &&
		    s->functions.v[i].context == stream->context &&
		    is_name_of(s->functions.v[i].name, name))
			*function = i;
	return idmap__put(known, ID_KEY(w->stream, w->kernel), *function);
}

static int reading__cmp_end(const void *va, const void *vb, void *ctx)
{
	const struct stalls *s = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return cmp3(s->readings.v[a].end_ns, s->readings.v[b].end_ns) ?: cmp3(a, b);
}

/*
 * Adds a share for each reading that has none: the share goes to the function's latest work before
 * the reading's end.
 */
static int add_latest(stall_shares_t *shares, const struct stalls *s, const uint32_t *readings,
		      size_t *nr, size_t nr_readings, uint64_t ns,
		      const struct kept_work *const *latest)
{
	for (; *nr < nr_readings; ++*nr) {
		const struct stall_reading *reading = &s->readings.v[readings[*nr]];
		const struct kept_work *w = latest[reading->function];

		if (reading->end_ns > ns)
			return 0;
		if (w && array_push(shares,
				    ((struct stall_share){ readings[*nr], w->chain, w->leaf, 0 })))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Handles samples that were read so late that they belong to an earlier launch of their function.
 * The last launch that began before the end of the reading gets them, with a time of 0 ns. @order:
 * room for all readings
 */
static int share_late(stall_shares_t *shares, const struct stalls *s, const struct model *m,
		      const struct kept_work *works, size_t nr_works, struct idmap *known,
		      uint32_t *order)
{
	const struct kept_work **latest = calloc(s->functions.nr + 1, sizeof(*latest));
	size_t i, k = 0, nr = 0, done = 0;
	uint32_t function;
	int err = 0;

	if (!latest)
		return -ENOMEM;
	for (i = 0; i < s->readings.nr; i++) {
		while (k < shares->nr && shares->v[k].reading < i)
			k++;
		if (!s->readings.v[i].correlation_id && s->readings.v[i].samples &&
		    (k == shares->nr || shares->v[k].reading != i))
			order[nr++] = i;
	}
	qsort_r(order, nr, sizeof(*order), reading__cmp_end, (void *)s);
	for (i = 0; i < nr_works && nr && !err; i++) {
		if (works[i].kernel == NO_INDEX)
			continue;
		err = add_latest(shares, s, order, &done, nr, works[i].start_ns, latest) ?:
		      find_function(s, m, &works[i], known, &function);
		if (!err && function != NO_INDEX)
			latest[function] = &works[i];
	}
	err = err ?: add_latest(shares, s, order, &done, nr, UINT64_MAX, latest);
	free(latest);
	return err;
}

/* ---- how much of the device time has samples ------------------------------------------------- */

static int span__cmp_context(const struct stall_span *a, const struct stall_span *b)
{
	return cmp3(a->proc, b->proc) ?: cmp3(a->context, b->context);
}

static int span__cmp(const void *va, const void *vb)
{
	const struct stall_span *a = va, *b = vb;

	return span__cmp_context(a, b) ?: cmp3(a->begin_ns, b->begin_ns) ?:
	       cmp3(a->end_ns, b->end_ns);
}

/* Sorts spans, and joins spans that touch. Return: how many are left. */
static size_t join_spans(struct stall_span *v, size_t nr)
{
	size_t i, last = 0;

	if (!nr)
		return 0;
	qsort(v, nr, sizeof(*v), span__cmp);
	for (i = 1; i < nr; i++) {
		if (span__cmp_context(&v[last], &v[i]) || v[i].begin_ns > v[last].end_ns)
			v[++last] = v[i];
		else
			v[last].end_ns = max_t(uint64_t, v[last].end_ns, v[i].end_ns);
	}
	return last + 1;
}

/*
 * Return: how many ns of some work the spans cover. @at: the times and context of the work. Spans
 * must neither touch nor overlap.
 */
static uint64_t covered(const struct stall_span *v, size_t nr, const struct stall_span *at)
{
	size_t low = 0, high = nr, middle;
	uint64_t ns = 0;

	while (low < high) {
		middle = low + (high - low) / 2;
		if ((span__cmp_context(&v[middle], at) ?: v[middle].end_ns <= at->begin_ns ?
		     -1 : 1) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < nr && !span__cmp_context(&v[low], at) && v[low].begin_ns < at->end_ns; low++)
		ns += min_t(uint64_t, v[low].end_ns, at->end_ns) -
		      max_t(uint64_t, v[low].begin_ns, at->begin_ns);
	return ns;
}

/*
 * Sums up the time of kernels, and the part of this time that has samples. Kernels that the filter
 * leaves out are not counted. Return: 0 or -ENOMEM.
 */
static int sum_covered(struct stall_sums *s, const struct stalls *stalls, const struct model *m,
		       const struct kept_work *works, size_t nr_works)
{
	size_t nr = stalls->spans.nr, i;
	struct stall_span *v = malloc((nr + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	if (nr)
		memcpy(v, stalls->spans.v, nr * sizeof(*v));
	nr = join_spans(v, nr);
	for (i = 0; i < nr_works; i++) {
		const struct kept_work *w = &works[i];
		const struct stream *stream = &m->streams.v[w->stream];

		if (w->kernel == NO_INDEX || w->leaf == NO_INDEX || w->end_ns <= w->start_ns)
			continue;
		s->kernels_ns += w->end_ns - w->start_ns;
		s->covered_ns += covered(v, nr, &(struct stall_span){
			.proc = stream->proc, .context = stream->context, .begin_ns = w->start_ns,
			.end_ns = w->end_ns,
		});
	}
	free(v);
	return 0;
}

/* Cuts all readings, if the filter has times. */
static void cut_readings(struct stalls *s, const struct stall_cut *cut)
{
	size_t i;

	for (i = 0; cut->times && i < s->readings.nr; i++)
		cut_reading(s, &s->readings.v[i], cut, &cut->times[i]);
}

int stall_sums__finish(struct stall_sums *s, struct stalls *stalls, const struct model *m,
		       const struct filter *filter, const struct works *all)
{
	const struct kept_work *works = all->list.v;
	size_t nr_works = all->list.nr;
	struct stall_cut cut = {
		.begin_ns = filter__begin_ns(filter, m->start_ns),
		.end_ns = filter__end_ns(filter, m->start_ns),
	};
	stall_shares_t shares = { 0 };
	struct idmap known = { 0 };
	uint32_t *order, function;
	size_t i;
	int err = stalls->knows_spans ? sum_covered(s, stalls, m, works, nr_works) : 0;

	if (err || !stalls->readings.nr)
		return err;
	order = malloc(stalls->readings.nr * sizeof(*order));
	if (filter__is_timed(filter))
		cut.times = calloc(stalls->readings.nr, sizeof(*cut.times));
	if (!order || (filter__is_timed(filter) && !cut.times)) {
		free(order);
		free(cut.times);
		return -ENOMEM;
	}
	for (i = 0; i < stalls->readings.nr; i++)
		order[i] = i;
	qsort_r(order, stalls->readings.nr, sizeof(*order), reading__cmp, stalls);
	for (i = 0; i < nr_works && !err; i++) {
		if (works[i].kernel == NO_INDEX)
			continue;
		err = find_function(stalls, m, &works[i], &known, &function);
		if (!err && function != NO_INDEX)
			err = add_work(&shares, stalls, order, &cut, function, &works[i]);
		if (shares.nr > (1u << 22))
			merge_shares(&shares);
	}
	merge_shares(&shares);
	cut_readings(stalls, &cut);
	err = err ?: share_late(&shares, stalls, m, works, nr_works, &known, order);
	merge_shares(&shares);
	err = err ?: share_readings(s, stalls, &shares);
	merge_parts(s);
	idmap__free(&known);
	array_free(&shares);
	free(order);
	free(cut.times);
	return err;
}

const struct stall_part *stall_sums__of(const struct stall_sums *s, uint32_t chain, uint32_t leaf,
					size_t *nr)
{
	size_t low = 0, high = s->parts.nr, middle, i;

	while (low < high) {
		middle = low + (high - low) / 2;
		if ((cmp3(s->parts.v[middle].chain, chain) ?:
		     cmp3(s->parts.v[middle].leaf, leaf)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low; i < s->parts.nr && s->parts.v[i].chain == chain && s->parts.v[i].leaf == leaf;
	     i++)
		;
	*nr = i - low;
	return &s->parts.v[low];
}
