// SPDX-License-Identifier: GPL-3.0-or-later
#include "align.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NR_BINS		(1u << 20)	/* of the histogram of time differences */
#define NR_SCALES	5		/* peaks are looked for 1, 4, 16, 64, 256 bins wide */
#define PEAKS		4		/* kept for each scale and window */
#define NR_WINDOWS	2		/* places in the recording that are asked for an offset */
#define WINDOW_EVENTS	1024
#define FIT_EVENTS	256		/* of them, that candidates are compared by */
#define DENSE		16		/* more launches than that in a peak's width: no use */
#define MAX_CANDIDATES	(NR_WINDOWS * NR_SCALES * PEAKS)
#define MAX_TRACKS	16		/* candidates that are followed through the recording */
#define FEW_BINS	(1u << 12)
#define NEAR_BINS	(1u << 15)	/* of the histogram of differences near an offset */
#define SLACK		0.02		/* a share of the stacks that tells nothing */
#define MASS_MIN	0.75		/* of the smaller side, that an offset must pair */
#define CHUNK		256		/* stacks that share one offset */
#define REACH		8.0		/* how far out a match may be, in jitters */
#define NR_DECAY	1024		/* exp(-x) as a table, up to REACH */
#define JITTER_MIN	100.0		/* ns: clocks are read no finer */
#define NR_SHAPE	128		/* bins of the distribution of distances */
#define NOISE		0.05		/* share of the stacks that may have no launch */
#define DRIFT_MAX	200e-6
#define BAND		16		/* launches to either side that a stack may be of */
#define NR_EDGES	24		/* the same for those that match as sets */
#define NR_SWEEPS	40
#define NR_ANSWERS	4		/* different labels that are told apart at one launch */

/* Times in ns since the first event of each side. */
struct side {
	const struct align_side *in;
	double *time;
	double span;
};

struct candidate {
	double offset;
	double jitter;
	double score;
	uint32_t at;			/* stack around which it was found */
};

/* A candidate followed through the recording. */
struct track {
	struct candidate c;
	double *offsets;		/* of each chunk */
	double score;
	double mass;			/* how many stacks it finds a launch for */
};

struct aligner {
	struct align *out;
	const struct align_opts *opts;
	struct side cpu, gpu;
	bool tids_agree;		/* threads have the same ids on both sides */
	/*
	 * Launches that a stack may be of, times aside, are a group. By group, then by time:
	 */
	double *time;
	uint32_t *launch;		/* which one it is */
	uint32_t *begin;		/* by group, and one more: where it begins */
	uint32_t *group;		/* by stack */
	uint32_t nr_groups;
	uint32_t *cursor;		/* by group: see aligner__seek() */
	double rate;			/* launches that a stack may be of, per ns */
	uint32_t nr_chunks;
	uint32_t nr_bins;
	uint32_t *histogram;
	double *stack_time;		/* of each stack, by the launches' clock */
	double decay[NR_DECAY + 2];
	double jitter;
	double reach;			/* of the shape, ns */
	double shape[NR_SHAPE];		/* probability density of a distance, per ns */
	double p_stack;			/* that a launch has a stack */
	double stray_rate;		/* stacks without launch, per ns */
	struct answers {
		uint32_t label[NR_ANSWERS];
		uint32_t best[NR_ANSWERS];	/* most probable stack with that label */
		float p_best[NR_ANSWERS];
		float p[NR_ANSWERS];
		float p_any;
	} *answers;			/* by launch */
	float *p_stack_matched;		/* by stack */
};

/* ---- sides ---------------------------------------------------------------------------------- */

static int side__init(struct side *s, const struct align_side *in)
{
	uint32_t i;

	s->in = in;
	s->time = calloc(in->nr + 1, sizeof(*s->time));
	if (!s->time)
		return -ENOMEM;
	for (i = 0; i < in->nr; i++)
		s->time[i] = in->events[i].time_ns - in->events[0].time_ns;
	s->span = in->nr ? s->time[in->nr - 1] : 0;
	return 0;
}

/* A pass over stacks in order of time begins. */
static void aligner__rewind(struct aligner *al)
{
	memset(al->cursor, 0xff, al->nr_groups * sizeof(*al->cursor));
}

/*
 * Return: where in al->time the launches begin that @stack may be of, at @time or later; they end
 * with *@end. @time must not be less than at the last call for that group.
 */
static inline uint32_t aligner__seek(struct aligner *al, uint32_t stack, double time, uint32_t *end)
{
	uint32_t group = al->group[stack], from = al->cursor[group], to, mid;

	*end = to = al->begin[group + 1];
	if (from == NO_INDEX) {
		from = al->begin[group];
		while (from < to) {
			mid = from + (to - from) / 2;
			if (al->time[mid] < time)
				from = mid + 1;
			else
				to = mid;
		}
	}
	while (from < *end && al->time[from] < time)
		from++;
	return al->cursor[group] = from;
}

/*
 * Thread ids are believed if nearly all events of either side are of threads that the other one
 * knows, too, and with about as many events. One that took the process's id for each thread's has
 * more than its share under it.
 */
static int aligner__compare_tids(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	uint32_t *nr_cpu = calloc(cpu->nr_threads + gpu->nr_threads + 1, sizeof(*nr_cpu));
	uint32_t *nr_gpu = nr_cpu + cpu->nr_threads, i, k;
	uint64_t cpu_shared = 0, gpu_shared = 0;
	bool fit = true;

	if (!nr_cpu)
		return -ENOMEM;
	for (i = 0; i < cpu->nr; i++)
		nr_cpu[cpu->events[i].thread]++;
	for (k = 0; k < gpu->nr; k++)
		nr_gpu[gpu->events[k].thread]++;
	for (i = 0; i < cpu->nr_threads; i++) {
		for (k = 0; k < gpu->nr_threads; k++) {
			if (cpu->tids[i] != gpu->tids[k])
				continue;
			cpu_shared += nr_cpu[i];
			gpu_shared += nr_gpu[k];
			fit = fit && nr_cpu[i] <= 2ull * nr_gpu[k] + 16;
		}
	}
	al->tids_agree = fit && cpu_shared >= cpu->nr * 0.9 && gpu_shared >= gpu->nr * 0.9;
	free(nr_cpu);
	return 0;
}

struct group_key {
	uint64_t tid;
	uint32_t kind;
	uint32_t event;			/* launches first, then stacks */
};

static int group_key__compare(const void *a, const void *b)
{
	const struct group_key *x = a, *y = b;

	return cmp3(x->tid, y->tid) ?: cmp3(x->kind, y->kind) ?: cmp3(x->event, y->event);
}

static int aligner__group(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	uint32_t nr = gpu->nr + cpu->nr, i, n = 0;
	struct group_key *keys = calloc(nr + 1, sizeof(*keys));

	al->time = calloc(gpu->nr + 1, sizeof(*al->time));
	al->launch = calloc(gpu->nr + 1, sizeof(*al->launch));
	al->group = calloc(cpu->nr + 1, sizeof(*al->group));
	al->begin = calloc(nr + 1, sizeof(*al->begin));
	if (!keys || !al->time || !al->launch || !al->group || !al->begin) {
		free(keys);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		const struct align_side *side = i < gpu->nr ? gpu : cpu;
		const struct align_event *e = &side->events[i < gpu->nr ? i : i - gpu->nr];

		keys[i].tid = al->tids_agree ? side->tids[e->thread] : 0;
		keys[i].kind = e->kind;
		keys[i].event = i;
	}
	qsort(keys, nr, sizeof(*keys), group_key__compare);
	for (i = 0; i < nr; i++) {
		if (!i || keys[i].tid != keys[i - 1].tid || keys[i].kind != keys[i - 1].kind)
			al->begin[al->nr_groups++] = n;
		if (keys[i].event < gpu->nr) {
			al->launch[n] = keys[i].event;
			al->time[n++] = al->gpu.time[keys[i].event];
		} else {
			al->group[keys[i].event - gpu->nr] = al->nr_groups - 1;
		}
	}
	al->begin[al->nr_groups] = n;
	free(keys);
	al->cursor = calloc(al->nr_groups + 1, sizeof(*al->cursor));
	return al->cursor ? 0 : -ENOMEM;
}

/* ---- clock offset --------------------------------------------------------------------------- */

/*
 * aligner__fit - how well an offset explains some stacks, and a better one
 * @offset, @jitter: the guess, moved towards a better one if @learn
 * @scores: of each stack, or NULL
 *
 * Each stack is either at some launch, off by the offset and a bit, or it is stray. The score is the
 * logarithm of how much more probable that makes their times than if they had nothing to do with
 * one another; 0 tells nothing.
 */
static double aligner__fit(struct aligner *al, uint32_t from, uint32_t to, double *offset,
			   double *jitter, bool learn, double *mass, double *scores)
{
	double b = *jitter, o = *offset, score = 0, sum_r = 0, sum_d = 0, sum_abs = 0, d, f, s, sd, sa;
	double norm = (1 - NOISE) / (2 * b * al->rate), inverse = NR_DECAY / (REACH * b);
	uint32_t i, k, end;

	aligner__rewind(al);
	for (i = from; i < to; i++) {
		double at = al->cpu.time[i] - o;

		s = sd = sa = 0;
		for (k = aligner__seek(al, i, at - REACH * b, &end);
		     k < end && al->time[k] <= at + REACH * b; k++) {
			d = at - al->time[k];
			/* Where times are so large that REACH * b is rounded off, d may be more. */
			f = al->decay[(uint32_t)min_t(double, fabs(d) * inverse, NR_DECAY + 1)];
			s += f;
			sd += f * d;
			sa += f * fabs(d);
		}
		s *= norm;
		f = norm / (NOISE + s);
		sum_r += s / (NOISE + s);
		sum_d += sd * f;
		sum_abs += sa * f;
		d = log(NOISE + s);
		score += d;
		if (scores)
			scores[i] = d;
	}
	if (mass)
		*mass = sum_r;
	if (learn && sum_r > 0) {
		*offset += sum_d / sum_r;
		*jitter = fmax(sum_abs / sum_r, JITTER_MIN);
	}
	return score;
}

/* The same up to @times, until there is little left to learn. */
static void aligner__learn(struct aligner *al, uint32_t from, uint32_t to, double *offset,
			   double *jitter, double min_jitter, uint32_t times, double *mass)
{
	double moved, widened;
	uint32_t i;

	for (i = 0; i < times; i++) {
		moved = *offset;
		widened = *jitter;
		aligner__fit(al, from, to, offset, jitter, true, mass, NULL);
		*jitter = fmax(*jitter, min_jitter);
		if (fabs(*offset - moved) + fabs(*jitter - widened) < 0.01 * *jitter)
			break;
	}
}

static int candidate__compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return cmp3(y->score, x->score);
}

/* The highest peaks of the histogram as candidates around stack @at. Return: how many. */
static uint32_t aligner__peaks(const struct aligner *al, double from, double bin,
			       uint32_t nr_bins, uint32_t at, struct candidate *out)
{
	uint32_t nr = 0, scale, width = 1, i, k, n;
	const uint32_t *sums = al->histogram;		/* of the bins before each */

	for (scale = 0; scale < NR_SCALES; scale++, width *= 4) {
		struct candidate top[PEAKS];

		if (scale && al->rate * width * bin > DENSE)
			break;
		memset(top, 0, sizeof(top));
		for (i = 0; i + width <= nr_bins; i += (width + 1) / 2) {
			uint32_t a = i > 2048 ? i - 2048 : 0;
			uint32_t z = min_t(uint32_t, i + 2048, nr_bins);
			double votes = sums[i + width] - sums[i], expected;
			struct candidate c;

			/* No score is larger than its votes, and few have many. */
			if (votes < 1 || votes <= top[PEAKS - 1].score)
				continue;
			expected = (double)(sums[z] - sums[a]) * width / (z - a);
			c = (struct candidate){
				.offset = from + (i + width / 2.0) * bin,
				.jitter = fmax(width * bin / 4, JITTER_MIN),
				.score = (votes - expected) / sqrt(expected + 1),
				.at = at,
			};
			if (c.score <= top[PEAKS - 1].score)
				continue;
			/* One for each peak. */
			for (k = 0; k < PEAKS - 1; k++)
				if (top[k].score && fabs(top[k].offset - c.offset) <= 2 * width * bin)
					break;
			if (top[k].score >= c.score)
				continue;
			top[k] = c;
			qsort(top, PEAKS, sizeof(*top), candidate__compare);
		}
		for (n = 0; n < PEAKS && top[n].score > 0; n++)
			out[nr++] = top[n];
	}
	return nr;
}

/* Candidates out of some stacks around one place, offsets within [@from, @to]. */
static uint32_t aligner__vote(struct aligner *al, uint32_t first, uint32_t nr_events, double from,
			      double to, uint32_t nr_bins, struct candidate *out)
{
	double bin = (to - from) / nr_bins, per_ns = nr_bins / (to - from);
	uint32_t i, k, votes = 0, sum = 0, last, nr, at = 0, end;

	aligner__rewind(al);
	memset(al->histogram, 0, (nr_bins + 1) * sizeof(*al->histogram));
	for (i = first; i < first + nr_events && votes < 12 * nr_bins; i++) {
		for (k = aligner__seek(al, i, al->cpu.time[i] - to, &end); k < end; k++, votes++) {
			double d = al->cpu.time[i] - al->time[k] - from;

			if (d < 0)
				break;
			at = d * per_ns;
			al->histogram[min_t(uint32_t, at, nr_bins - 1)]++;
		}
	}
	last = min_t(uint32_t, i, first + FIT_EVENTS);
	for (i = 0; i <= nr_bins; i++) {
		at = al->histogram[i];
		al->histogram[i] = sum;
		sum += at;
	}
	nr = aligner__peaks(al, from, bin, nr_bins, first + (last - first) / 2, out);
	for (i = 0; i < nr; i++) {
		aligner__learn(al, first, last, &out[i].offset, &out[i].jitter, 0, 8, NULL);
		/* Comparable between windows of more and fewer stacks. */
		out[i].score = aligner__fit(al, first, last, &out[i].offset, &out[i].jitter, false,
					    NULL, NULL) / (last - first);
	}
	return nr;
}

/* Return: the offset of a track at a time of the stacks' clock. */
static double track__offset(const struct aligner *al, const struct track *t, double time,
			    uint32_t chunk)
{
	const double *c = al->cpu.time;
	uint32_t nr = al->cpu.in->nr, other, from = chunk * CHUNK, to;
	double here, there;

	to = min_t(uint32_t, from + CHUNK, nr);
	here = (c[from] + c[to - 1]) / 2;
	other = time < here ? chunk - 1 : chunk + 1;
	if (other >= al->nr_chunks)
		return t->offsets[chunk];
	to = min_t(uint32_t, (other + 1) * CHUNK, nr);
	there = (c[other * CHUNK] + c[to - 1]) / 2;
	if (there == here)
		return t->offsets[chunk];
	return t->offsets[chunk] +
	       (t->offsets[other] - t->offsets[chunk]) * (time - here) / (there - here);
}

/* One chunk, from what its neighbour has. */
static double aligner__track_chunk(struct aligner *al, struct track *t, uint32_t chunk,
				   double offset, double gap)
{
	uint32_t from = chunk * CHUNK, to = min_t(uint32_t, from + CHUNK, al->cpu.in->nr);
	double wide = t->c.jitter + gap * DRIFT_MAX / 4, guess = offset, jitter = wide, mass = 0;

	aligner__learn(al, from, to, &guess, &jitter, t->c.jitter, 4, &mass);
	/* Too little to learn from, or further off than clocks drift. */
	if (mass < (to - from) * 0.2 || fabs(guess - offset) > 4 * wide)
		return offset;
	return guess;
}

static int aligner__track(struct aligner *al, struct track *t, const struct candidate *c)
{
	uint32_t start = c->at / CHUNK, i, from, to;
	double jitter = 0, mass = 0, chunk_mass, chunk_jitter, slope = 0, gap;
	const double *time = al->cpu.time;

	t->c = *c;
	t->offsets = calloc(al->nr_chunks + 1, sizeof(*t->offsets));
	if (!t->offsets)
		return -ENOMEM;
	t->offsets[start] = aligner__track_chunk(al, t, start, c->offset, 0);
	for (i = start + 1; i < al->nr_chunks; i++) {
		gap = time[i * CHUNK] - time[(i - 1) * CHUNK];
		t->offsets[i] = aligner__track_chunk(al, t, i, t->offsets[i - 1] + slope * gap, gap);
		/* After a while the slope is known better than from one chunk to the next. */
		if (i >= start + 4)
			slope = (t->offsets[i] - t->offsets[start]) /
				fmax(time[i * CHUNK] - time[start * CHUNK], 1);
		slope = fmax(fmin(slope, DRIFT_MAX), -DRIFT_MAX);
	}
	for (i = start; i--;) {
		gap = time[(i + 1) * CHUNK] - time[i * CHUNK];
		t->offsets[i] = aligner__track_chunk(al, t, i, t->offsets[i + 1] - slope * gap, gap);
	}
	/* One jitter for all of it. */
	for (i = 0; i < al->nr_chunks; i++) {
		from = i * CHUNK;
		to = min_t(uint32_t, from + CHUNK, al->cpu.in->nr);
		chunk_jitter = t->c.jitter;
		gap = t->offsets[i];
		aligner__fit(al, from, to, &gap, &chunk_jitter, true, &chunk_mass, NULL);
		jitter += chunk_jitter * chunk_mass;
		mass += chunk_mass;
	}
	if (mass > 0)
		t->c.jitter = fmax(jitter / mass, JITTER_MIN);
	t->mass = mass;
	return 0;
}

static void aligner__score_track(struct aligner *al, struct track *t, double jitter)
{
	uint32_t i;

	t->score = 0;
	for (i = 0; i < al->nr_chunks; i++) {
		double offset = t->offsets[i], b = jitter;

		t->score += aligner__fit(al, i * CHUNK,
					 min_t(uint32_t, (i + 1) * CHUNK, al->cpu.in->nr), &offset,
					 &b, false, NULL, NULL);
	}
}

static int track__compare(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	return cmp3(y->score, x->score);
}

/* Offsets in [@from, @to] that are worth following, the best first. */
static uint32_t aligner__candidates(struct aligner *al, double from, double to, uint32_t nr_bins,
				    struct candidate *out)
{
	uint32_t nr_events = al->cpu.in->nr, nr = 0, i, k, first, kept = 0, w;
	uint32_t per_window = min_t(uint32_t, nr_events, WINDOW_EVENTS);
	uint32_t nr_windows = nr_events <= WINDOW_EVENTS ? 1 : NR_WINDOWS;

	if (to <= from)
		return 0;
	for (w = 0; w < nr_windows; w++) {
		first = (uint64_t)(nr_events - per_window) * (2 * w + 1) / (2 * nr_windows);
		nr += aligner__vote(al, first, per_window, from, to, nr_bins, out + nr);
	}
	qsort(out, nr, sizeof(*out), candidate__compare);
	for (i = 0; i < nr && kept < MAX_TRACKS; i++) {
		for (k = 0; k < kept; k++)
			if (fabs(out[k].offset - out[i].offset) <=
			    3 * fmax(out[k].jitter, out[i].jitter))
				break;
		if (k == kept && out[i].score >= out[0].score * 0.7)
			out[kept++] = out[i];
	}
	return kept;
}

/* Follows candidates and keeps those that lead elsewhere than the ones before. */
static int aligner__add_tracks(struct aligner *al, struct track *tracks, uint32_t *nr,
			       const struct candidate *candidates, uint32_t nr_candidates)
{
	uint32_t i, k, middle = al->nr_chunks / 2;
	int err;

	for (i = 0; i < nr_candidates && *nr < MAX_TRACKS; i++) {
		struct track *t = &tracks[*nr];

		err = aligner__track(al, t, &candidates[i]);
		if (err)
			return err;
		for (k = 0; k < *nr; k++)
			if (fabs(tracks[k].offsets[middle] - t->offsets[middle]) <=
			    3 * fmin(tracks[k].c.jitter, t->c.jitter))
				break;
		if (k < *nr)
			free(t->offsets);
		else
			++*nr;
	}
	return 0;
}

/* Scores all tracks by the jitter of the best one, and puts that first. */
static void aligner__compare_tracks(struct aligner *al, struct track *tracks, uint32_t nr)
{
	uint32_t i, pass;

	al->jitter = tracks[0].c.jitter;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < nr; i++)
			aligner__score_track(al, &tracks[i], al->jitter);
		qsort(tracks, nr, sizeof(*tracks), track__compare);
		if (al->jitter == tracks[0].c.jitter)
			break;
		al->jitter = tracks[0].c.jitter;
	}
}

/* A few events more or less, as at the ends of the recording, decide nothing. */
static double aligner__limit(const struct aligner *al, const struct track *tracks)
{
	double n = al->cpu.in->nr;

	return tracks[0].score - fmax(fmin(60, 2.5 * n), 0.005 * n);
}

/*
 * Looks for other offsets as good as the first track's: launches that follow one another in equal
 * times, or steps that repeat, fit just as well one further. So it looks near, then ever farther.
 */
static int aligner__find_others(struct aligner *al, struct track *tracks, uint32_t *nr,
				struct candidate *candidates)
{
	double best = tracks[0].offsets[al->nr_chunks / 2], gap = 1 / al->rate, range, off;
	uint32_t i, k, n;
	int err = 0;

	for (range = 4 * gap; !err && range < 8 * al->opts->max_offset_ns; range *= 8) {
		n = aligner__candidates(al, best - range, best + range,
					min_t(uint32_t, al->nr_bins, NEAR_BINS), candidates);
		for (i = k = 0; i < n; i++) {
			off = fabs(candidates[i].offset - best);
			if (off > 3 * al->jitter && off <= range)
				candidates[k++] = candidates[i];
		}
		if (!k)
			continue;
		err = aligner__add_tracks(al, tracks, nr, candidates, min_t(uint32_t, k, 2));
		aligner__compare_tracks(al, tracks, *nr);
		/* One is enough to know; or this one is better, and has to be looked around, too. */
		if (tracks[1].score >= aligner__limit(al, tracks) ||
		    tracks[0].offsets[al->nr_chunks / 2] != best)
			break;
	}
	return err;
}

/*
 * A thread that launches in a loop is at its next launch always the same time after the last one, so
 * each stack may fit the call before its own even better. But not all do: what finds a launch for
 * more stacks is right, if it is any good. Puts that first.
 */
static void aligner__prefer_mass(struct aligner *al, struct track *tracks, uint32_t nr)
{
	uint32_t best = 0, i;
	struct track first;

	for (i = 1; i < nr; i++)
		if (tracks[i].score >= tracks[0].score / 2 &&
		    tracks[i].mass > tracks[best].mass + SLACK * al->cpu.in->nr)
			best = i;
	first = tracks[best];
	tracks[best] = tracks[0];
	tracks[0] = first;
	al->jitter = first.c.jitter;
}

/* Finds the offset, and which others are about as good. Return: 0 or -ENOMEM. */
static int aligner__find_offset(struct aligner *al)
{
	struct candidate *candidates = calloc(MAX_CANDIDATES, sizeof(*candidates));
	double limit, from, to, ahead, range = al->opts->max_offset_ns, *best;
	struct track tracks[MAX_TRACKS + 1];
	uint32_t nr = 0, nr_tracks = 0, i;
	int err = candidates ? 0 : -ENOMEM;

	if (err)
		return err;
	memset(tracks, 0, sizeof(tracks));
	/* How much later by its clock the first stack is than the first launch by its own. */
	ahead = al->cpu.in->events[0].time_ns >= al->gpu.in->events[0].time_ns ?
		(double)(al->cpu.in->events[0].time_ns - al->gpu.in->events[0].time_ns) :
		-(double)(al->gpu.in->events[0].time_ns - al->cpu.in->events[0].time_ns);
	from = fmax(-range - ahead, -al->gpu.span - 1e6);
	to = fmin(range - ahead, al->cpu.span + 1e6);
	/* Few differences need no fine histogram: one of them is alone in its bin anyway. */
	al->nr_bins = FEW_BINS;
	while (al->nr_bins < NR_BINS && al->nr_bins < 16ull * al->cpu.in->nr * al->gpu.in->nr)
		al->nr_bins *= 2;
	nr = aligner__candidates(al, from, to, al->nr_bins, candidates);
	/* Clocks that have nothing in common: whatever brings the two recordings together. */
	if (!nr || candidates[0].score < 0.1)
		nr = aligner__candidates(al, -al->gpu.span - 1e6, al->cpu.span + 1e6,
					 al->nr_bins, candidates);
	err = aligner__add_tracks(al, tracks, &nr_tracks, candidates, min_t(uint32_t, nr, 4));
	if (err || !nr_tracks)
		goto out;
	aligner__compare_tracks(al, tracks, nr_tracks);
	do {
		best = tracks[0].offsets;
		err = aligner__find_others(al, tracks, &nr_tracks, candidates);
		if (err)
			goto out;
	} while (tracks[0].offsets != best && nr_tracks < MAX_TRACKS);
	aligner__prefer_mass(al, tracks, nr_tracks);
	limit = aligner__limit(al, tracks);
	for (i = al->out->nr_offsets = 1; i < nr_tracks; i++)
		if (tracks[i].score >= limit &&
		    tracks[i].mass > tracks[0].mass - SLACK * al->cpu.in->nr &&
		    al->out->nr_offsets++ == 1)
			al->out->other_offset_ns = llround(tracks[i].offsets[0] + ahead);
	/* Either side may have lost much, but hardly both of them. */
	if (al->out->nr_offsets == 1 &&
	    (tracks[0].score <= 0 ||
	     tracks[0].mass < MASS_MIN * fmin(al->cpu.in->nr, al->gpu.in->nr)))
		al->out->nr_offsets = 0;
	for (i = 0; i < al->cpu.in->nr; i++) {
		double t = al->cpu.time[i];

		al->stack_time[i] = t - track__offset(al, &tracks[0], t, i / CHUNK);
		if (i)
			al->stack_time[i] = fmax(al->stack_time[i], al->stack_time[i - 1]);
	}
	al->out->offset_ns = llround(al->cpu.time[0] - al->stack_time[0] + ahead);
	al->out->jitter_ns = al->jitter;
	if (al->nr_chunks > 1)
		al->out->drift_ppm = (tracks[0].offsets[al->nr_chunks - 1] - tracks[0].offsets[0]) /
				     fmax(al->cpu.span, 1) * 1e6;
out:
	for (i = 0; i < MAX_TRACKS + 1; i++)
		free(i < nr_tracks ? tracks[i].offsets : NULL);
	free(candidates);
	return err;
}

/* ---- distances ------------------------------------------------------------------------------ */

static double aligner__density(const struct aligner *al, double d)
{
	double r = al->reach, tail = 0.005 * r / ((r + fabs(d)) * (r + fabs(d)));
	double x = (d / r + 1) * (NR_SHAPE / 2);

	if (x < 0 || x >= NR_SHAPE)
		return tail;
	return tail + 0.99 * al->shape[(uint32_t)x];
}

/*
 * Learns how far stacks are from their launches: which one is a stack's is a matter of probability,
 * which the distances tell, which that tells, and so on until it settles.
 */
static void aligner__learn_shape(struct aligner *al)
{
	double next[NR_SHAPE], smooth[NR_SHAPE], bin, mass = 0, all, sum;
	uint32_t i, k, first, end, pass, n;

	al->reach = fmin(REACH * al->jitter, fmax(al->opts->tolerance_ns, 1));
	bin = 2 * al->reach / NR_SHAPE;
	for (i = 0; i < NR_SHAPE; i++)
		al->shape[i] = exp(-fabs((i + 0.5) * bin - al->reach) / al->jitter) /
			       (2 * al->jitter);
	for (pass = 0; pass < 6; pass++) {
		memset(next, 0, sizeof(next));
		mass = 0;
		aligner__rewind(al);
		for (i = 0; i < al->cpu.in->nr; i++) {
			double at = al->stack_time[i];

			first = aligner__seek(al, i, at - al->reach, &end);
			sum = NOISE * al->rate;
			for (k = first; k < end && al->time[k] <= at + al->reach; k++)
				sum += (1 - NOISE) * aligner__density(al, at - al->time[k]);
			for (k = first; k < end && al->time[k] <= at + al->reach; k++) {
				double d = at - al->time[k], r;

				r = (1 - NOISE) * aligner__density(al, d) / sum;
				n = fmin((d / al->reach + 1) * (NR_SHAPE / 2), NR_SHAPE - 1);
				next[n] += r;
				mass += r;
			}
		}
		if (mass < 0.5)
			break;
		/* Few events make a rough shape: smooth it the more. */
		for (n = mass < 1000 ? 6 : mass < 10000 ? 3 : 1; n; n--) {
			for (i = 0; i < NR_SHAPE; i++)
				smooth[i] = (next[i ? i - 1 : 0] + 2 * next[i] +
					     next[i + 1 < NR_SHAPE ? i + 1 : i]) / 4;
			memcpy(next, smooth, sizeof(next));
		}
		for (i = 0, all = 0; i < NR_SHAPE; i++)
			all += next[i];
		for (i = 0; i < NR_SHAPE; i++)
			al->shape[i] = next[i] / (all * bin);
	}
	al->p_stack = fmax(fmin(mass / al->gpu.in->nr, 0.9995), 0.05);
	sum = fmax(al->cpu.in->nr - mass, 0.0005 * al->cpu.in->nr);
	al->stray_rate = sum / fmax(fmax(al->cpu.span, al->gpu.span), 1);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Sets al->out->pair. */
static int aligner__pair_threads(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	size_t nr_a = cpu->nr_threads, nr_b = gpu->nr_threads;
	uint32_t *pair = al->out->pair, i, k, first, end, a, b, best_a, best_b;
	double *votes = calloc(nr_a * nr_b + nr_a + nr_b + 1, sizeof(*votes)), sum;
	double *nr_cpu = votes + nr_a * nr_b, *nr_gpu = nr_cpu + nr_a;

	if (!votes)
		return -ENOMEM;
	for (i = 0; i < cpu->nr; i++)
		nr_cpu[cpu->events[i].thread]++;
	for (k = 0; k < gpu->nr; k++)
		nr_gpu[gpu->events[k].thread]++;
	aligner__rewind(al);
	for (i = 0; i < cpu->nr; i++) {
		double at = al->stack_time[i];

		first = aligner__seek(al, i, at - al->reach, &end);
		sum = NOISE * al->rate;
		for (k = first; k < end && al->time[k] <= at + al->reach; k++)
			sum += aligner__density(al, at - al->time[k]);
		for (k = first; k < end && al->time[k] <= at + al->reach; k++)
			votes[cpu->events[i].thread * nr_b +
			      gpu->events[al->launch[k]].thread] +=
				aligner__density(al, at - al->time[k]) / sum;
	}
	for (b = 0; b < nr_b; b++) {
		pair[b] = NO_INDEX;
		for (a = best_a = 0; a < nr_a; a++)
			if (votes[a * nr_b + b] / fmax(nr_cpu[a], 1) >
			    votes[best_a * nr_b + b] / fmax(nr_cpu[best_a], 1))
				best_a = a;
		for (k = best_b = 0; k < nr_b; k++)
			if (votes[best_a * nr_b + k] / fmax(nr_gpu[k], 1) >
			    votes[best_a * nr_b + best_b] / fmax(nr_gpu[best_b], 1))
				best_b = k;
		if (best_b != b || !nr_a || votes[best_a * nr_b + b] <= 0)
			continue;
		/* More stacks than launches: they are of other threads, too. */
		if (nr_cpu[best_a] <= 1.2 * nr_gpu[b] + 8 && nr_gpu[b] <= 4 * nr_cpu[best_a] + 8)
			pair[b] = best_a;
	}
	free(votes);
	return 0;
}

/* ---- matching ------------------------------------------------------------------------------- */

static void aligner__answer(struct aligner *al, uint32_t stack, uint32_t launch, double p)
{
	uint32_t label = al->cpu.in->events[stack].label, i, worst = 0;
	struct answers *a = &al->answers[launch];

	if (!(p > 1e-4))
		return;
	a->p_any += p;
	al->p_stack_matched[stack] += p;
	for (i = 0; i < NR_ANSWERS; i++) {
		if (a->p[i] > 0 && a->label[i] == label)
			break;
		if (a->p[i] < a->p[worst])
			worst = i;
	}
	if (i == NR_ANSWERS) {
		if (p <= a->p[worst])
			return;
		i = worst;
		a->label[i] = label;
		a->p[i] = a->p_best[i] = 0;
	}
	a->p[i] += p;
	if (p > a->p_best[i]) {
		a->p_best[i] = p;
		a->best[i] = stack;
	}
}

/* The stacks and launches of one pair of threads, each in order of time, with its row of the table. */
struct lane {
	uint32_t *stacks, *launches;
	uint32_t nr_stacks, nr_launches;
	uint32_t *lo, *hi;		/* by stack: the launches that it may be of, [lo, hi) */
	size_t *row;			/* by stack, and one more: where its row begins */
	double *cells;			/* see lane__match() */
	double *scale;			/* by stack: what its row was divided by */
};

static void lane__exit(struct lane *l)
{
	free(l->stacks);
	free(l->launches);
	free(l->lo);
	free(l->hi);
	free(l->row);
	free(l->cells);
	free(l->scale);
}

/* Which launches each stack may be of; both bounds only ever grow. */
static int lane__bound(struct lane *l, const struct aligner *al)
{
	double reach, mean_gap;
	uint32_t i, lo = 0, hi = 0;
	size_t cells = 0;

	l->lo = calloc(l->nr_stacks + 1, sizeof(*l->lo));
	l->hi = calloc(l->nr_stacks + 1, sizeof(*l->hi));
	l->row = calloc(l->nr_stacks + 2, sizeof(*l->row));
	if (!l->lo || !l->hi || !l->row)
		return -ENOMEM;
	mean_gap = (al->gpu.time[l->launches[l->nr_launches - 1]] - al->gpu.time[l->launches[0]]) /
		   l->nr_launches;
	reach = fmin(fmax(al->reach, BAND * mean_gap), fmax(al->opts->tolerance_ns, 1));
	for (i = 0; i < l->nr_stacks; i++) {
		double at = al->stack_time[l->stacks[i]];
		uint32_t mid;

		while (lo < l->nr_launches && al->gpu.time[l->launches[lo]] < at - reach)
			lo++;
		hi = max_t(uint32_t, hi, lo);
		while (hi < l->nr_launches && al->gpu.time[l->launches[hi]] <= at + reach)
			hi++;
		/* Bursts are denser than the mean. */
		for (mid = lo; mid < hi && al->gpu.time[l->launches[mid]] < at; mid++)
			;
		l->lo[i] = mid > lo + 4 * BAND ? mid - 4 * BAND : lo;
		l->hi[i] = min_t(uint32_t, hi, mid + 4 * BAND);
		if (i) {
			l->lo[i] = max_t(uint32_t, l->lo[i], l->lo[i - 1]);
			l->hi[i] = max_t(uint32_t, l->hi[i], l->hi[i - 1]);
		}
		l->hi[i] = max_t(uint32_t, l->hi[i], l->lo[i]);
		l->row[i] = cells;
		cells += l->hi[i] - l->lo[i] + 1;
	}
	l->row[l->nr_stacks] = cells;
	l->cells = calloc(cells + 1, sizeof(*l->cells));
	l->scale = calloc(l->nr_stacks + 1, sizeof(*l->scale));
	return l->cells && l->scale ? 0 : -ENOMEM;
}

static double lane__weight(const struct lane *l, const struct aligner *al, uint32_t i, uint32_t k)
{
	uint32_t stack = l->stacks[i], launch = l->launches[k];

	if (al->cpu.in->events[stack].kind != al->gpu.in->events[launch].kind)
		return 0;
	return al->p_stack * aligner__density(al, al->stack_time[stack] - al->gpu.time[launch]);
}

/*
 * lane__match - probabilities of all matches in one pair of threads
 *
 * Cell (i, k) sums the alignments of the stacks up to i whose last match is launch k - 1; those in
 * lo[i] have their last match there or before. Stack i is stray, or it is of a launch behind the
 * last one matched, with those between them left out. So each alignment is one path. Rows are
 * scaled to a sum of 1, and only these are kept; the way back needs one row at a time.
 */
static int lane__match(struct lane *l, struct aligner *al)
{
	double u = al->stray_rate, v = 1 - al->p_stack, sum, before, g, *back, *next;
	uint32_t i, k, lo, hi, plo, phi, width = 0;
	const double *prev;
	double *row;
	int err = lane__bound(l, al);

	if (err)
		return err;
	for (i = 0; i < l->nr_stacks; i++) {
		lo = l->lo[i];
		hi = l->hi[i];
		plo = i ? l->lo[i - 1] : lo;
		phi = i ? l->hi[i - 1] : lo;
		row = l->cells + l->row[i];
		prev = i ? l->cells + l->row[i - 1] : NULL;
		width = max_t(uint32_t, width, hi - lo + 1);
		/* What comes from before this row: with launches that are out of reach left out. */
		before = i ? 0 : 1;
		for (k = plo; i && k < lo; k++)
			before = (before + (k <= phi ? prev[k - plo] : 0)) * v;
		g = 0;
		sum = 0;
		for (k = lo; k <= hi; k++) {
			double here = i && k <= phi ? prev[k - plo] : 0;

			if (k == lo)
				here += before;
			row[k - lo] = here * u;
			if (k > lo)
				row[k - lo] += g * lane__weight(l, al, i, k - 1);
			g = g * v + here;
			sum += row[k - lo];
		}
		if (!(sum > 0)) {
			/* Out of the range of numbers: begin anew. */
			for (k = lo; k <= hi; k++)
				row[k - lo] = 1;
			sum = hi - lo + 1;
		}
		for (k = lo; k <= hi; k++)
			row[k - lo] /= sum;
		l->scale[i] = sum;
	}
	back = calloc(2 * (width + 1), sizeof(*back));
	if (!back)
		return -ENOMEM;
	next = back + width + 1;
	i = l->nr_stacks - 1;
	for (k = l->hi[i] + 1, g = 1; k-- > l->lo[i]; g *= v)
		back[k - l->lo[i]] = g;
	for (;; i--) {
		double total = 0, h = 0, *swap;

		lo = l->lo[i];
		hi = l->hi[i];
		plo = i ? l->lo[i - 1] : lo;
		phi = i ? l->hi[i - 1] : lo;
		row = l->cells + l->row[i];
		prev = i ? l->cells + l->row[i - 1] : NULL;
		for (k = lo; k <= hi; k++)
			total += row[k - lo] * back[k - lo];
		total *= l->scale[i];
		before = i ? 0 : 1;
		for (k = plo; i && k < lo; k++)
			before = (before + (k <= phi ? prev[k - plo] : 0)) * v;
		for (g = 0, k = lo; k < hi && total > 0; k++) {
			double here = i && k <= phi ? prev[k - plo] : 0;

			if (k == lo)
				here += before;
			g = g * v + here;
			aligner__answer(al, l->stacks[i], l->launches[k],
					g * lane__weight(l, al, i, k) * back[k + 1 - lo] / total);
		}
		if (!i)
			break;
		/* The row before, from its end; what is left of lo only leaves launches out. */
		sum = 0;
		for (k = hi + 1; k-- > plo;) {
			double here;

			if (k >= lo) {
				if (k < hi)
					h = h * v + lane__weight(l, al, i, k) * back[k + 1 - lo];
				here = u * back[k - lo] + h;
			} else {
				here = h = h * v;
			}
			if (k == lo)
				h = here;
			if (k <= phi) {
				next[k - plo] = here;
				sum += here;
			}
		}
		for (k = plo; k <= phi; k++)
			next[k - plo] /= sum > 0 ? sum : 1;
		swap = back;
		back = next;
		next = swap;
	}
	free(back < next ? back : next);
	return 0;
}

/* A stack and a launch near one another; what either hears from the other. */
struct edge {
	uint32_t stack, launch;
	float weight;
	float from_stack, from_launch;	/* probability that it has no other */
};

/*
 * Matches those that are in no pair as sets: each stack has one launch at most, each launch one
 * stack. Messages go both ways along the edges until they settle.
 */
static int aligner__match_sets(struct aligner *al, const uint32_t *stacks, uint32_t nr_stacks,
			       const bool *launch_left)
{
	const double scale = al->p_stack / ((1 - al->p_stack) * al->stray_rate);
	double *at_stack = calloc(al->cpu.in->nr + 1, sizeof(*at_stack));
	double *at_launch = calloc(al->gpu.in->nr + 1, sizeof(*at_launch));
	double reach = fmin(al->reach, fmax(al->opts->tolerance_ns, 1));
	ARRAY(struct edge) edges = { 0 };
	uint32_t i, k, end, hi, sweep;
	int err = at_stack && at_launch ? 0 : -ENOMEM;
	size_t n;

	aligner__rewind(al);
	for (i = 0; i < nr_stacks && !err; i++) {
		double at = al->stack_time[stacks[i]];
		uint32_t mid;

		k = mid = aligner__seek(al, stacks[i], at - reach, &end);
		while (mid < end && al->time[mid] < at)
			mid++;
		for (hi = mid; hi < end && al->time[hi] <= at + reach; hi++)
			;
		k = mid > k + NR_EDGES ? mid - NR_EDGES : k;
		hi = min_t(uint32_t, hi, mid + NR_EDGES);
		for (; k < hi && !err; k++) {
			struct edge e = { .stack = stacks[i], .launch = al->launch[k],
					  .from_stack = 1, .from_launch = 1 };

			if (!launch_left[e.launch])
				continue;
			e.weight = scale * aligner__density(al, at - al->time[k]);
			if (e.weight > 1e-6)
				err = array_push(&edges, e);
		}
	}
	for (sweep = 0; sweep < NR_SWEEPS && !err; sweep++) {
		float change = 0, new;

		memset(at_stack, 0, al->cpu.in->nr * sizeof(*at_stack));
		for (n = 0; n < edges.nr; n++)
			at_stack[edges.v[n].stack] += edges.v[n].weight * edges.v[n].from_launch;
		memset(at_launch, 0, al->gpu.in->nr * sizeof(*at_launch));
		for (n = 0; n < edges.nr; n++) {
			struct edge *e = &edges.v[n];

			new = 1 / (1 + fmax(at_stack[e->stack] - e->weight * e->from_launch, 0));
			change = fmaxf(change, fabsf(new - e->from_stack));
			e->from_stack = (e->from_stack + new) / 2;
			at_launch[e->launch] += e->weight * e->from_stack;
		}
		for (n = 0; n < edges.nr; n++) {
			struct edge *e = &edges.v[n];

			new = 1 / (1 + fmax(at_launch[e->launch] - e->weight * e->from_stack, 0));
			e->from_launch = (e->from_launch + new) / 2;
		}
		if (change < 1e-3)
			break;
	}
	for (n = 0; n < edges.nr && !err; n++) {
		struct edge *e = &edges.v[n];
		double w = (double)e->weight * e->from_stack * e->from_launch;

		aligner__answer(al, e->stack, e->launch, w / (1 + w));
	}
	array_free(&edges);
	free(at_launch);
	free(at_stack);
	return err;
}

static int aligner__match(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	bool *launch_left = calloc(gpu->nr + 1, sizeof(*launch_left));
	uint32_t *stacks = calloc(cpu->nr + 1, sizeof(*stacks)), nr_stacks = 0, i, k, b;
	bool *paired = calloc(cpu->nr_threads + 1, sizeof(*paired));
	int err = launch_left && stacks && paired ? 0 : -ENOMEM;

	for (b = 0; b < gpu->nr_threads && !err; b++) {
		uint32_t a = al->out->pair[b];
		struct lane l = { 0 };

		if (a == NO_INDEX)
			continue;
		paired[a] = true;
		l.stacks = calloc(cpu->nr + 1, sizeof(*l.stacks));
		l.launches = calloc(gpu->nr + 1, sizeof(*l.launches));
		if (!l.stacks || !l.launches)
			err = -ENOMEM;
		for (i = 0; i < cpu->nr && !err; i++)
			if (cpu->events[i].thread == a)
				l.stacks[l.nr_stacks++] = i;
		for (k = 0; k < gpu->nr && !err; k++)
			if (gpu->events[k].thread == b)
				l.launches[l.nr_launches++] = k;
		if (!err && l.nr_stacks && l.nr_launches)
			err = lane__match(&l, al);
		lane__exit(&l);
	}
	for (i = 0; i < cpu->nr && !err; i++)
		if (!paired[cpu->events[i].thread])
			stacks[nr_stacks++] = i;
	for (k = 0; k < gpu->nr && !err; k++)
		launch_left[k] = al->out->pair[gpu->events[k].thread] == NO_INDEX;
	if (!err && nr_stacks)
		err = aligner__match_sets(al, stacks, nr_stacks, launch_left);
	free(paired);
	free(stacks);
	free(launch_left);
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void aligner__decide(struct aligner *al)
{
	uint32_t i, k, n;

	for (i = 0; i < al->cpu.in->nr; i++)
		al->out->match_back[i] = al->p_stack_matched[i] <= 1 - ALIGN_CERTAIN ?
			ALIGN_NONE : ALIGN_UNCERTAIN;
	for (k = 0; k < al->gpu.in->nr; k++) {
		const struct answers *a = &al->answers[k];

		al->out->match[k] = a->p_any <= 1 - ALIGN_CERTAIN ? ALIGN_NONE : ALIGN_UNCERTAIN;
		for (n = 0; n < NR_ANSWERS; n++) {
			if (a->p[n] < ALIGN_CERTAIN)
				continue;
			al->out->match[k] = a->best[n];
			al->out->match_back[a->best[n]] = k;
		}
	}
}

/* No offset is right, or better than another: nothing is certain, unless all stacks are the same. */
static void aligner__refuse(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	bool same = al->out->nr_offsets > 1;
	uint32_t i;

	for (i = 0; i < cpu->nr; i++) {
		al->out->match_back[i] = ALIGN_UNCERTAIN;
		same = same && cpu->events[i].label == cpu->events[0].label &&
		       cpu->events[i].kind == cpu->events[0].kind;
	}
	for (i = 0; i < gpu->nr; i++)
		al->out->match[i] = same && gpu->events[i].kind == cpu->events[0].kind ?
			0 : ALIGN_UNCERTAIN;
}

static int align__alloc(struct align *a, uint32_t nr_stacks, uint32_t nr_launches,
			uint32_t nr_threads)
{
	uint32_t i;

	a->match = calloc(nr_launches + 1, sizeof(*a->match));
	a->match_back = calloc(nr_stacks + 1, sizeof(*a->match_back));
	a->pair = calloc(nr_threads + 1, sizeof(*a->pair));
	if (!a->match || !a->match_back || !a->pair)
		return -ENOMEM;
	for (i = 0; i < nr_launches; i++)
		a->match[i] = ALIGN_NONE;
	for (i = 0; i < nr_stacks; i++)
		a->match_back[i] = ALIGN_NONE;
	for (i = 0; i < nr_threads; i++)
		a->pair[i] = NO_INDEX;
	return 0;
}

int align__run(struct align *a, const struct align_side *stacks,
	       const struct align_side *launches, const struct align_opts *opts)
{
	struct aligner al = { .out = a, .opts = opts };
	uint32_t i;
	int err;

	memset(a, 0, sizeof(*a));
	err = align__alloc(a, stacks->nr, launches->nr, launches->nr_threads);
	if (err || !stacks->nr || !launches->nr)
		return err;
	for (i = 0; i < ARRAY_SIZE(al.decay); i++)
		al.decay[i] = exp(-(i + 0.5) * REACH / NR_DECAY);
	al.nr_chunks = (stacks->nr + CHUNK - 1) / CHUNK;
	al.histogram = calloc(NR_BINS + 1, sizeof(*al.histogram));
	al.stack_time = calloc(stacks->nr, sizeof(*al.stack_time));
	al.answers = calloc(launches->nr, sizeof(*al.answers));
	al.p_stack_matched = calloc(stacks->nr, sizeof(*al.p_stack_matched));
	if (!al.histogram || !al.stack_time || !al.answers || !al.p_stack_matched)
		err = -ENOMEM;
	if (!err)
		err = side__init(&al.cpu, stacks);
	if (!err)
		err = side__init(&al.gpu, launches);
	if (!err)
		err = aligner__compare_tids(&al);
	al.rate = launches->nr / fmax(al.gpu.span, 1e6);
	if (al.tids_agree)
		al.rate /= launches->nr_threads;
	if (!err)
		err = aligner__group(&al);
	if (!err)
		err = aligner__find_offset(&al);
	if (err)
		goto out;
	if (a->nr_offsets != 1) {
		aligner__refuse(&al);
		goto out;
	}
	aligner__learn_shape(&al);
	err = aligner__pair_threads(&al);
	if (!err)
		err = aligner__match(&al);
	if (!err)
		aligner__decide(&al);
out:
	free(al.p_stack_matched);
	free(al.answers);
	free(al.stack_time);
	free(al.histogram);
	free(al.cursor);
	free(al.begin);
	free(al.group);
	free(al.launch);
	free(al.time);
	free(al.gpu.time);
	free(al.cpu.time);
	return err;
}

void align__exit(struct align *a)
{
	free(a->match);
	free(a->match_back);
	free(a->pair);
	memset(a, 0, sizeof(*a));
}
