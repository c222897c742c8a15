// SPDX-License-Identifier: GPL-3.0-or-later
#include "waits/idle.h"

#include <stdlib.h>
#include <string.h>

#include "model/remap.h"

/*
 * Maximum number of pieces of work to keep. Beyond it, pieces without a gap between them are
 * joined.
 */
#define MAX_SPANS	(1u << 20)

struct idle_span {
	uint64_t start_ns, end_ns;
	uint64_t short_ns;		/* sum of the short gaps inside */
	uint32_t thread;		/* the thread that launched the span's first work */
};

struct idle_spans {
	ARRAY(struct idle_span) list;
	size_t compact_at;
};

struct idle_deed {
	uint64_t start_ns, end_ns;
	const char *kind;
	uint32_t thread;
	uint32_t chain;
	enum idle_doing doing;
};

struct idle_sample {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t chain;
};

void idles__init(struct idles *i)
{
	memset(i, 0, sizeof(*i));
	i->end_ns = UINT64_MAX;
}

static void idles__forget(struct idles *i)
{
	size_t k;

	for (k = 0; k < i->spans.nr; k++)
		array_free(&i->spans.v[k].list);
	array_free(&i->spans);
	array_free(&i->deeds);
	array_free(&i->samples);
}

void idles__exit(struct idles *i)
{
	idles__forget(i);
	array_free(&i->gpus);
	array_free(&i->rows);
}

static int span__cmp(const void *va, const void *vb)
{
	const struct idle_span *a = va, *b = vb;

	return cmp3(a->start_ns, b->start_ns) ?: cmp3(a->end_ns, b->end_ns) ?:
	       cmp3(a->thread, b->thread);
}

/*
 * A gap, or the part of a gap from idles.begin_ns to idles.end_ns. nr is the number of gaps to
 * count: 0 if the gap began before begin_ns.
 */
struct idle_gap {
	uint64_t from_ns, to_ns, nr;
	uint32_t gpu, thread;
};

/*
 * @i->begin_ns and @i->end_ns divide time into three stretches. Return: the end of the stretch that
 * contains @time_ns.
 */
static uint64_t idles__stretch_end(const struct idles *i, uint64_t time_ns)
{
	return time_ns < i->begin_ns ? i->begin_ns : time_ns < i->end_ns ? i->end_ns : UINT64_MAX;
}

/* Sorts the spans. Joins spans in the same stretch if they are less than IDLE_MIN_NS apart. */
static void spans__compact(const struct idles *idles, struct idle_spans *spans)
{
	size_t i, nr = 0;

	if (!spans->list.nr)
		return;
	array_qsort(&spans->list, span__cmp);
	for (i = 1; i < spans->list.nr; i++) {
		struct idle_span *last = &spans->list.v[nr], *next = &spans->list.v[i];

		if ((next->start_ns > last->end_ns &&
		     next->start_ns - last->end_ns >= IDLE_MIN_NS) ||
		    next->start_ns >= idles__stretch_end(idles, last->start_ns)) {
			spans->list.v[++nr] = *next;
			continue;
		}
		last->short_ns += next->short_ns;
		if (next->start_ns > last->end_ns)
			last->short_ns += next->start_ns - last->end_ns;
		last->end_ns = max_t(uint64_t, last->end_ns, next->end_ns);
	}
	spans->list.nr = nr + 1;
}

int idles__work(struct idles *i, uint32_t gpu, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	struct idle_spans *spans;
	uint64_t until_ns;
	int err = 0;

	if (!i->wanted)
		return 0;
	while (!err && i->spans.nr <= gpu)
		err = array_push(&i->spans, ((struct idle_spans){ .compact_at = MAX_SPANS }));
	if (err)
		return err;
	spans = &i->spans.v[gpu];
	if (spans->list.nr >= spans->compact_at) {
		spans__compact(i, spans);
		spans->compact_at = 2 * spans->list.nr + MAX_SPANS;
	}
	do {
		until_ns = min_t(uint64_t, end_ns, idles__stretch_end(i, start_ns));
		err = array_push(&spans->list, ((struct idle_span){
			.start_ns = start_ns, .end_ns = until_ns, .thread = thread,
		}));
		start_ns = until_ns;
	} while (start_ns < end_ns && !err);
	return err;
}

int idles__did(struct idles *i, uint32_t thread, enum idle_doing doing, const char *kind,
	       uint32_t chain, uint64_t start_ns, uint64_t end_ns)
{
	if (!i->wanted || end_ns <= start_ns)
		return 0;
	return array_push(&i->deeds, ((struct idle_deed){
		.start_ns = start_ns, .end_ns = end_ns, .kind = kind, .thread = thread,
		.chain = chain, .doing = doing,
	}));
}

int idles__sample(struct idles *i, uint32_t thread, uint32_t chain, uint64_t time_ns)
{
	if (!i->wanted)
		return 0;
	return array_push(&i->samples, ((struct idle_sample){ time_ns, thread, chain }));
}

static int deed__cmp(const void *va, const void *vb)
{
	const struct idle_deed *a = va, *b = vb;

	return cmp3(a->thread, b->thread) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a->end_ns, b->end_ns) ?: cmp3(a->chain, b->chain);
}

static int sample__cmp(const void *va, const void *vb)
{
	const struct idle_sample *a = va, *b = vb;

	return cmp3(a->thread, b->thread) ?: cmp3(a->time_ns, b->time_ns) ?:
	       cmp3(a->chain, b->chain);
}

/*
 * Return: index of the first deed of @thread that ends after @time_ns; if no deed does, the index
 * where it would be inserted.
 */
static size_t idles__find_deed(const struct idles *i, uint32_t thread, uint64_t time_ns)
{
	size_t low = 0, high = i->deeds.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		/* A thread does one thing at a time, so starts and ends have the same order. */
		if (i->deeds.v[mid].thread < thread ||
		    (i->deeds.v[mid].thread == thread && i->deeds.v[mid].end_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t idles__find_sample(const struct idles *i, uint32_t thread, uint64_t time_ns)
{
	size_t low = 0, high = i->samples.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (i->samples.v[mid].thread < thread ||
		    (i->samples.v[mid].thread == thread && i->samples.v[mid].time_ns < time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int idles__row(struct idles *i, const struct idle_gap *gap, enum idle_doing doing,
		      const char *kind, uint32_t chain, uint64_t ns)
{
	return ns ? array_push(&i->rows, ((struct idle_row){
		gap->gpu, doing, kind, gap->thread, chain, ns, gap->nr,
	})) : 0;
}

/* Divides the rest of a gap's time among the thread's CPU samples in the gap. */
static int idles__share_rest(struct idles *i, const struct idle_gap *gap, uint64_t rest_ns)
{
	size_t first = idles__find_sample(i, gap->thread, gap->from_ns), nr, k;
	int err = 0;

	for (nr = 0; first + nr < i->samples.nr && i->samples.v[first + nr].thread == gap->thread &&
		     i->samples.v[first + nr].time_ns < gap->to_ns; nr++)
		;
	if (!nr)
		return idles__row(i, gap, IDLE_UNSEEN, "", NO_INDEX, rest_ns);
	for (k = 0; k < nr && !err; k++)
		err = idles__row(i, gap, IDLE_ON_CPU, "", i->samples.v[first + k].chain,
				 rest_ns / nr + (k < rest_ns % nr));
	return err;
}

static int idles__gap(struct idles *i, const struct idle_gap *gap)
{
	uint64_t now_ns = gap->from_ns, rest_ns = 0, start_ns, end_ns;
	size_t k;
	int err;

	if (gap->thread == NO_INDEX)
		return idles__row(i, gap, IDLE_NOBODY, "", NO_INDEX, gap->to_ns - gap->from_ns);
	for (k = idles__find_deed(i, gap->thread, gap->from_ns); k < i->deeds.nr; k++) {
		const struct idle_deed *deed = &i->deeds.v[k];

		if (deed->thread != gap->thread || deed->start_ns >= gap->to_ns)
			break;
		start_ns = max_t(uint64_t, deed->start_ns, now_ns);
		end_ns = min_t(uint64_t, deed->end_ns, gap->to_ns);
		if (end_ns <= start_ns)
			continue;
		err = idles__row(i, gap, deed->doing, deed->kind, deed->chain, end_ns - start_ns);
		if (err)
			return err;
		rest_ns += start_ns - now_ns;
		now_ns = end_ns;
		if (now_ns == gap->to_ns)	/* no time of the gap is left for later deeds */
			break;
	}
	return idles__share_rest(i, gap, rest_ns + gap->to_ns - now_ns);
}

static int row__cmp(const void *va, const void *vb)
{
	const struct idle_row *a = va, *b = vb;

	return cmp3(a->gpu, b->gpu) ?: cmp3(a->doing, b->doing) ?: cmp3(a->kind, b->kind) ?:
	       cmp3(a->thread, b->thread) ?: cmp3(a->chain, b->chain);
}

/* Joins rows with equal keys. */
static void idles__sum_rows(struct idles *i)
{
	size_t k, nr = 0;

	if (!i->rows.nr)
		return;
	array_qsort(&i->rows, row__cmp);
	for (k = 1; k < i->rows.nr; k++) {
		if (row__cmp(&i->rows.v[nr], &i->rows.v[k])) {
			i->rows.v[++nr] = i->rows.v[k];
			continue;
		}
		i->rows.v[nr].ns += i->rows.v[k].ns;
		i->rows.v[nr].nr_gaps += i->rows.v[k].nr_gaps;
	}
	i->rows.nr = nr + 1;
}

static int idles__finish_gpu(struct idles *i, uint32_t gpu)
{
	struct idle_gap gap = { .gpu = gpu }, shorts = { .gpu = gpu, .thread = NO_INDEX, .nr = 1 };
	uint64_t begin_ns = i->begin_ns, end_ns = i->end_ns, short_ns = 0, last_ns = 0;
	struct idle_spans *spans = &i->spans.v[gpu];
	struct idle_gpu *sum = &i->gpus.v[gpu];
	size_t k;
	int err = 0;

	spans__compact(i, spans);
	for (k = 0; k < spans->list.nr && !err; k++) {
		const struct idle_span *span = &spans->list.v[k];

		gap.thread = span->thread;
		gap.from_ns = max_t(uint64_t, last_ns, begin_ns);
		gap.to_ns = min_t(uint64_t, span->start_ns, end_ns);
		gap.nr = last_ns >= begin_ns;
		if (k && gap.from_ns < gap.to_ns) {
			if (span->start_ns - last_ns < IDLE_MIN_NS) {
				short_ns += gap.to_ns - gap.from_ns;
			} else {
				sum->nr_gaps += gap.nr;
				err = idles__gap(i, &gap);
			}
		}
		last_ns = max_t(uint64_t, last_ns, span->end_ns);
		if (span->start_ns >= begin_ns && span->start_ns < end_ns) {
			sum->busy_ns += span->end_ns - span->start_ns - span->short_ns;
			short_ns += span->short_ns;
		}
		if (i->rows.nr > MAX_SPANS)
			idles__sum_rows(i);
	}
	if (spans->list.nr && spans->list.v->start_ns < end_ns && last_ns > begin_ns) {
		sum->from_ns = max_t(uint64_t, spans->list.v->start_ns, begin_ns);
		sum->to_ns = min_t(uint64_t, last_ns, end_ns);
	}
	return err ?: idles__row(i, &shorts, IDLE_SHORT, "", NO_INDEX, short_ns);
}

int idles__finish(struct idles *i)
{
	uint32_t gpu;
	int err = 0;

	array_qsort(&i->deeds, deed__cmp);
	array_qsort(&i->samples, sample__cmp);
	while (!err && i->gpus.nr < i->spans.nr)
		err = array_push(&i->gpus, ((struct idle_gpu){ 0 }));
	for (gpu = 0; gpu < i->spans.nr && !err; gpu++)
		err = idles__finish_gpu(i, gpu);
	idles__sum_rows(i);
	idles__forget(i);
	i->wanted = false;
	return err;
}

int idles__absorb(struct idles *i, const struct idles *from, struct remap *r)
{
	size_t k;
	int err = 0;

	for (k = 0; k < from->gpus.nr && !err; k++) {
		const struct idle_gpu *gpu = &from->gpus.v[k];
		struct idle_gpu *sum;

		while (!err && i->gpus.nr <= r->gpus[k])
			err = array_push(&i->gpus, ((struct idle_gpu){ 0 }));
		if (err)
			break;
		sum = &i->gpus.v[r->gpus[k]];
		if (!sum->from_ns || (gpu->from_ns && gpu->from_ns < sum->from_ns))
			sum->from_ns = gpu->from_ns;
		sum->to_ns = max_t(uint64_t, sum->to_ns, gpu->to_ns);
		sum->busy_ns += gpu->busy_ns;
		sum->nr_gaps += gpu->nr_gaps;
	}
	for (k = 0; k < from->rows.nr && !err; k++) {
		struct idle_row row = from->rows.v[k];

		row.gpu = r->gpus[row.gpu];
		row.kind = remap__text(r, row.kind);
		row.thread = remap__move(row.thread, r->thread);
		row.chain = remap__move(row.chain, r->chain);
		err = array_push(&i->rows, row);
	}
	idles__sum_rows(i);
	return err;
}
