// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Finds the offset between two clocks. Time differences vote for candidate offsets. The candidates
 * are followed through the recording and compared by how well they explain it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/align/aligner.h"

#define NR_BINS		(1u << 20)	/* maximum number of bins for time differences */
#define FEW_BINS	(1u << 12)	/* minimum number of bins for time differences */
#define BINS_PER_GAP	64		/* bins per mean gap between launches, in a wide range */
#define VOTES		12		/* mean number of differences per bin that suffices */
#define NEAR_BINS	(1u << 14)	/* bins in the histogram of differences near an offset */
#define NR_SCALES	4		/* number of peak widths: 1, 4, 16 and 64 bins */
#define PEAKS		4		/* peaks to keep for each width and excerpt */
#define NR_EXCERPTS	2		/* parts of the recording in which to search for offsets */
#define EXCERPT_EVENTS	1024
#define FIT_EVENTS	256		/* events of an excerpt used to compare candidates */
#define CLEAR		1.0		/* score per stack that leaves no doubt */
#define DENSE		16		/* largest mean number of launches within a peak's width */
#define MAX_CANDIDATES	(NR_EXCERPTS * NR_SCALES * PEAKS)
#define MAX_TRACKS	16		/* candidates to follow through the recording */
#define WORTH		0.4		/* a rival has at least this share of the best score */
#define SLACK		0.02		/* differences below this share of the stacks are ignored */
#define CHUNK		256		/* number of stacks that share one offset */
#define REACH		8.0		/* largest distance of a match, in jitters */
#define NR_DECAY	1024		/* size of the table of exp(-x), for x up to REACH */
#define JITTER_MIN	100.0		/* in ns: the resolution of clocks */
#define NOISE		0.05		/* assumed share of stacks without a launch */
#define REST_MIN	16		/* shorter runs of stacks without a launch are ignored */
#define REST_MASS	0.5		/* share of a run's stacks that another offset must fit */
#define REST_SCORE	30.0		/* minimum score of another offset for a run */
#define SET_MIN_NS	400000.0	/* setting a clock changes it by more than this */
#define REST_CLEAR	0.5		/* maximum second best score, relative to the best score */
#define DRIFT_MAX	200e-6
#define DRIFT_USUAL	50e-6

struct candidate {
	double offset;
	double jitter;
	double score;
	uint32_t at;			/* the stack near which the candidate was found */
};

/* A candidate that is followed through the recording. */
struct track {
	struct candidate c;
	double *offsets;		/* by chunk */
	double score;
	double scored_by;		/* the jitter used for its score */
	double mass;			/* number of stacks that have a launch under the offsets of
					 * this track */
};

struct finder {
	struct aligner *al;
	uint32_t nr_chunks;
	uint32_t *histogram;
	double decay[NR_DECAY + 2];
	struct track tracks[MAX_TRACKS];
	uint32_t nr_tracks;
	bool steady;			/* the clocks drift steadily according to the first track */
};

/*
 * finder__fit - compute how well an offset explains some stacks, and improve the offset
 * @offset, @jitter: initial guess, improved if @learn is set
 * @mass: set to the number of stacks near a launch
 *
 * After correction by the offset, each stack is either near some launch or stray. The score is a
 * log-likelihood ratio: how much more probable the times are under this offset than if the two
 * sides were unrelated. A score of 0 proves nothing.
 */
static double finder__fit(struct finder *f, uint32_t from, uint32_t to, double *offset,
			  double *jitter, bool learn, double *mass)
{
	struct aligner *al = f->al;
	double b = *jitter, o = *offset, score = 0, product = 1, sum_r = 0, sum_d = 0, sum_abs = 0;
	double inverse = NR_DECAY / (REACH * b);
	double at, d, w, p, s, sd, sa, norm;
	uint32_t i, k, end;

	aligner__rewind(al);
	for (i = from; i < to; i++) {
		at = al->cpu.time[i] - o;
		s = sd = sa = 0;
		for (k = aligner__near(al, i, at, REACH * b, &end); k < end; k++) {
			d = at - al->time[k];
			/*
			 * With very large times, rounding may make the distance exceed REACH * b.
			 */
			w = f->decay[min_t(uint32_t, fabs(d) * inverse, NR_DECAY + 1)];
			s += w;
			sd += w * d;
			sa += w * fabs(d);
		}
		norm = (1 - NOISE) / (2 * b * al->group_rate[al->group[i]]);
		p = NOISE + s * norm;
		w = norm / p;
		sum_r += s * w;
		sum_d += sd * w;
		sum_abs += sa * w;
		/* Take one logarithm of the product of several factors. */
		product *= p;
		if (i % 8 == 0 || i == to - 1) {
			score += log(product);
			product = 1;
		}
	}
	*mass = sum_r;
	if (learn && sum_r > 0) {
		*offset += sum_d / sum_r;
		*jitter = fmax(sum_abs / sum_r, JITTER_MIN);
	}
	return score;
}

/* Calls finder__fit() until the offset changes little, but at most @times times. */
static void finder__learn(struct finder *f, uint32_t from, uint32_t to, double *offset,
			  double *jitter, double min_jitter, uint32_t times, double *mass)
{
	double moved, widened;
	uint32_t i;

	for (i = 0; i < times; i++) {
		moved = *offset;
		widened = *jitter;
		finder__fit(f, from, to, offset, jitter, true, mass);
		*jitter = fmax(*jitter, min_jitter);
		if (fabs(*offset - moved) + fabs(*jitter - widened) < 0.01 * *jitter)
			break;
	}
}

/* ---- candidates ----------------------------------------------------------------------------- */

static int candidate__compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return cmp3(y->score, x->score);
}

/*
 * Sets @out to the highest peaks of the histogram, as candidates found around stack @at. Return:
 * the number of candidates.
 */
static uint32_t finder__peaks(const struct finder *f, double from, double bin, uint32_t nr_bins,
			      uint32_t at, struct candidate *out)
{
	uint32_t nr = 0, scale, width = 1, i, k, n;
	const uint32_t *sums = f->histogram;		/* sum of the bins before each bin */

	for (scale = 0; scale < NR_SCALES; scale++, width *= 4) {
		struct candidate top[PEAKS];

		if (scale && f->al->rate * width * bin > DENSE)
			break;
		memset(top, 0, sizeof(top));
		for (i = 0; i + width <= nr_bins; i += (width + 1) / 2) {
			double near = 2 * width * bin;
			uint32_t a = i > 2048 ? i - 2048 : 0;
			uint32_t z = min_t(uint32_t, i + 2048, nr_bins);
			double votes = sums[i + width] - sums[i], more, expected, least;
			struct candidate c;

			/*
			 * Compare squares first: only the few bins far above their surroundings
			 * need a square root.
			 */
			expected = (double)(sums[z] - sums[a]) * width / (z - a);
			more = votes - expected;
			least = top[PEAKS - 1].score;
			if (more <= 0 || more * more <= least * least * (expected + 1))
				continue;
			c = (struct candidate){
				.offset = from + (i + width / 2.0) * bin,
				.jitter = fmax(width * bin / 4, JITTER_MIN),
				.score = more / sqrt(expected + 1),
				.at = at,
			};
			/* Keep one candidate for each peak. */
			for (k = 0; k < PEAKS - 1; k++)
				if (top[k].score && fabs(top[k].offset - c.offset) <= near)
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

/*
 * Finds candidates within [@from, @to], using @nr_events stacks from stack @first. Return: the
 * number of candidates.
 */
static uint32_t finder__vote(struct finder *f, uint32_t first, uint32_t nr_events, double from,
			     double to, uint32_t nr_bins, struct candidate *out)
{
	double bin = (to - from) / nr_bins, per_ns = nr_bins / (to - from), mass;
	uint32_t i, k, votes = 0, sum = 0, last, nr, at, end, first_vote;
	struct aligner *al = f->al;

	aligner__rewind(al);
	memset(f->histogram, 0, (nr_bins + 1) * sizeof(*f->histogram));
	for (i = first; i < first + nr_events && votes < VOTES * nr_bins; i++) {
		double last_time = al->cpu.time[i] - from;

		first_vote = aligner__seek(al, al->group[i], al->cpu.time[i] - to, &end);
		for (k = first_vote; k < end && al->time[k] <= last_time; k++) {
			at = (last_time - al->time[k]) * per_ns;
			f->histogram[min_t(uint32_t, at, nr_bins - 1)]++;
		}
		votes += k - first_vote;
	}
	last = min_t(uint32_t, i, first + FIT_EVENTS);
	for (i = 0; i <= nr_bins; i++) {
		at = f->histogram[i];
		f->histogram[i] = sum;
		sum += at;
	}
	nr = finder__peaks(f, from, bin, nr_bins, first + (last - first) / 2, out);
	for (i = 0; i < nr; i++) {
		finder__learn(f, first, last, &out[i].offset, &out[i].jitter, 0, 8, &mass);
		/* Compare scores per stack, because excerpts differ in size. */
		out[i].score = finder__fit(f, first, last, &out[i].offset, &out[i].jitter, false,
					   &mass) / (last - first);
	}
	return nr;
}

/*
 * Finds offsets in [@from, @to] that are worth following, best first.
 * @wide: search everywhere for one matching offset; otherwise find all offsets near a known offset
 */
static uint32_t finder__candidates(struct finder *f, double from, double to, bool wide,
				   struct candidate *out)
{
	uint32_t nr_events = f->al->cpu.in->nr, nr = 0, i, k, first, kept = 0, w;
	uint32_t nr_bins = FEW_BINS, max_bins = wide ? NR_BINS : NEAR_BINS;
	double bin = wide ? 1 / (f->al->rate * BINS_PER_GAP) : 0;
	uint64_t differences = (uint64_t)nr_events * f->al->gpu.in->nr;
	uint32_t per_excerpt = min_t(uint32_t, nr_events, EXCERPT_EVENTS);
	uint32_t nr_excerpts = nr_events <= EXCERPT_EVENTS ? 1 : NR_EXCERPTS;

	if (to <= from)
		return 0;
	/* A few differences need no fine histogram, because each is alone in its bin. */
	while (nr_bins < max_bins && nr_bins / 16 < differences && to - from > nr_bins * bin)
		nr_bins *= 2;
	/* The first excerpt is enough if its best candidate leaves no doubt. */
	for (w = 0; w < nr_excerpts && !(wide && nr && out[0].score > CLEAR); w++) {
		first = (uint64_t)(nr_events - per_excerpt) * (2 * w + 1) / (2 * nr_excerpts);
		nr += finder__vote(f, first, per_excerpt, from, to, nr_bins, out + nr);
		qsort(out, nr, sizeof(*out), candidate__compare);
	}
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

/* ---- tracks --------------------------------------------------------------------------------- */

/* Return: the index after the last stack of a chunk. */
static uint32_t finder__chunk_end(const struct finder *f, uint32_t chunk)
{
	return min_t(uint32_t, (chunk + 1) * CHUNK, f->al->cpu.in->nr);
}

/* Return: the middle of a chunk on the stacks' clock. */
static double finder__chunk_time(const struct finder *f, uint32_t chunk)
{
	const double *time = f->al->cpu.time;

	return (time[chunk * CHUNK] + time[finder__chunk_end(f, chunk) - 1]) / 2;
}

/* Return: the offset of a track at @time on the stacks' clock. */
static double finder__offset(const struct finder *f, const struct track *t, double time,
			     uint32_t chunk)
{
	double here = finder__chunk_time(f, chunk), there;
	uint32_t other = time < here ? chunk - 1 : chunk + 1;

	/*
	 * Before the middle of the first chunk, and after the middle of the last chunk, assume the
	 * drift between the two nearest chunks.
	 */
	if (other >= f->nr_chunks)
		other = other == chunk + 1 ? chunk - 1 : chunk + 1;
	if (other >= f->nr_chunks)
		return t->offsets[chunk];
	there = finder__chunk_time(f, other);
	if (there == here)
		return t->offsets[chunk];
	return t->offsets[chunk] +
	       (t->offsets[other] - t->offsets[chunk]) * (time - here) / (there - here);
}

/*
 * Return: the offset of one chunk. The search starts at @offset, the offset of the neighboring
 * chunk.
 */
static double finder__track_chunk(struct finder *f, const struct track *t, uint32_t chunk,
				  double offset, double gap)
{
	uint32_t from = chunk * CHUNK, to = finder__chunk_end(f, chunk);
	double wide = t->c.jitter + gap * DRIFT_MAX / 4, guess = offset, jitter = wide, mass = 0;

	finder__learn(f, from, to, &guess, &jitter, t->c.jitter, 4, &mass);
	/*
	 * Keep the neighbor's offset if too few stacks match, or if clocks cannot drift that far.
	 */
	if (mass < (to - from) * 0.2 || fabs(guess - offset) > 4 * wide)
		return offset;
	return guess;
}

static int finder__track(struct finder *f, struct track *t, const struct candidate *c)
{
	uint32_t start = c->at / CHUNK, i;
	double jitter = 0, chunk_mass, chunk_jitter, slope = 0, gap;
	const double *time = f->al->cpu.time;

	*t = (struct track){ .c = *c };
	t->offsets = calloc(f->nr_chunks + 1, sizeof(*t->offsets));
	if (!t->offsets)
		return -ENOMEM;
	t->offsets[start] = finder__track_chunk(f, t, start, c->offset, 0);
	for (i = start + 1; i < f->nr_chunks; i++) {
		gap = time[i * CHUNK] - time[(i - 1) * CHUNK];
		t->offsets[i] = finder__track_chunk(f, t, i, t->offsets[i - 1] + slope * gap, gap);
		/*
		 * After several chunks, the slope over all chunks so far is more precise than the
		 * slope between two chunks.
		 */
		if (i >= start + 4)
			slope = (t->offsets[i] - t->offsets[start]) /
				fmax(time[i * CHUNK] - time[start * CHUNK], 1);
		slope = fmax(fmin(slope, DRIFT_MAX), -DRIFT_MAX);
	}
	for (i = start; i--;) {
		gap = time[(i + 1) * CHUNK] - time[i * CHUNK];
		t->offsets[i] = finder__track_chunk(f, t, i, t->offsets[i + 1] - slope * gap, gap);
	}
	/* Score all chunks with the same jitter. */
	for (i = 0; i < f->nr_chunks; i++) {
		chunk_jitter = t->c.jitter;
		gap = t->offsets[i];
		finder__fit(f, i * CHUNK, finder__chunk_end(f, i), &gap, &chunk_jitter, true,
			    &chunk_mass);
		jitter += chunk_jitter * chunk_mass;
		t->mass += chunk_mass;
	}
	if (t->mass > 0)
		t->c.jitter = fmax(jitter / t->mass, JITTER_MIN);
	return 0;
}

static void finder__score_track(struct finder *f, struct track *t, double jitter)
{
	double offset, b, mass;
	uint32_t i;

	if (t->scored_by == jitter)
		return;
	t->scored_by = jitter;
	t->score = 0;
	for (i = 0; i < f->nr_chunks; i++) {
		offset = t->offsets[i];
		b = jitter;
		t->score += finder__fit(f, i * CHUNK, finder__chunk_end(f, i), &offset, &b, false,
					&mass);
	}
}

static int track__compare(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	return cmp3(y->score, x->score);
}

/*
 * Follows candidates through the recording, and keeps each track that differs from all kept tracks.
 */
static int finder__add_tracks(struct finder *f, const struct candidate *candidates,
			      uint32_t nr_candidates)
{
	uint32_t i, k, middle = f->nr_chunks / 2;
	int err;

	for (i = 0; i < nr_candidates && f->nr_tracks < MAX_TRACKS; i++) {
		struct track *t = &f->tracks[f->nr_tracks];

		err = finder__track(f, t, &candidates[i]);
		if (err)
			return err;
		for (k = 0; k < f->nr_tracks; k++)
			if (fabs(f->tracks[k].offsets[middle] - t->offsets[middle]) <=
			    3 * fmin(f->tracks[k].c.jitter, t->c.jitter))
				break;
		if (k < f->nr_tracks)
			free(t->offsets);
		else
			f->nr_tracks++;
	}
	return 0;
}

/* Scores all tracks with the jitter of the best track, and puts the best track first. */
static void finder__compare_tracks(struct finder *f)
{
	double jitter;
	uint32_t i, pass;

	for (pass = 0; pass < 2; pass++) {
		jitter = f->tracks[0].c.jitter;
		for (i = 0; i < f->nr_tracks; i++)
			finder__score_track(f, &f->tracks[i], jitter);
		qsort(f->tracks, f->nr_tracks, sizeof(*f->tracks), track__compare);
		if (jitter == f->tracks[0].c.jitter)
			break;
	}
}

/*
 * Return: the lowest score that makes a track a rival of the first track. The score of a rival may
 * be somewhat lower, because a few events may be missing at the ends of the recording.
 */
static double finder__limit(const struct finder *f)
{
	double n = f->al->cpu.in->nr;

	return f->tracks[0].score - fmax(fmin(60, 2.5 * n), 0.005 * n);
}

/* ---- the offset ----------------------------------------------------------------------------- */

/*
 * Looks for other offsets that are as good as the first track. Launches at equal intervals, and
 * iterations of a loop, match just as well when they are shifted by one interval or iteration. The
 * search therefore starts near the first track's offset and widens.
 */
static int finder__find_others(struct finder *f, struct candidate *candidates)
{
	double best = f->tracks[0].offsets[f->nr_chunks / 2], gap = 1 / f->al->rate, range, off;
	uint32_t i, k, n;
	int err = 0;

	for (range = 4 * gap; !err && range < 8 * f->al->opts->max_offset_ns; range *= 8) {
		n = finder__candidates(f, best - range, best + range, false, candidates);
		for (i = k = 0; i < n; i++) {
			off = fabs(candidates[i].offset - best);
			if (off > 3 * f->tracks[0].c.jitter && off <= range &&
			    candidates[i].score >= WORTH * f->tracks[0].score / f->al->cpu.in->nr)
				candidates[k++] = candidates[i];
		}
		if (!k)
			continue;
		err = finder__add_tracks(f, candidates, min_t(uint32_t, k, 2));
		finder__compare_tracks(f);
		/*
		 * One rival is enough. If the rival is better than the first track,
		 * aligner__find_offset() searches around the rival.
		 */
		if (f->tracks[1].score >= finder__limit(f) ||
		    f->tracks[0].offsets[f->nr_chunks / 2] != best)
			break;
	}
	return err;
}

/*
 * Puts the right track first among the good tracks. A thread that launches in a loop reaches its
 * next launch after equal times, so each stack may fit the call before its own call even better.
 * The first stack, however, has no earlier call, so the right track gives a launch to the most
 * stacks.
 */
static void finder__prefer_mass(struct finder *f)
{
	uint32_t best = 0, i;
	struct track first;

	for (i = 1; i < f->nr_tracks; i++)
		if (f->tracks[i].score >= f->tracks[0].score / 2 &&
		    f->tracks[i].mass > f->tracks[best].mass + SLACK * f->al->cpu.in->nr)
			best = i;
	first = f->tracks[best];
	f->tracks[best] = f->tracks[0];
	f->tracks[0] = first;
}

/*
 * Clocks drift steadily, so a line through the offsets of all chunks is more precise than each
 * offset. If the offsets are farther from the line than the jitter explains, they do not change. In
 * a short recording the prior (DRIFT_USUAL) outweighs the data, and no drift is learned.
 *
 * Return: whether the offsets lie on a line with a plausible clock drift.
 */
static bool finder__straighten(struct finder *f, struct track *t)
{
	double sum = 0, x = 0, y = 0, xx = 0, xy = 0, apart = 0, noise, slope, weight, dx, dy;
	uint32_t i;

	for (i = 0; i < f->nr_chunks; i++) {
		weight = finder__chunk_end(f, i) - i * CHUNK;
		sum += weight;
		x += weight * finder__chunk_time(f, i);
		y += weight * t->offsets[i];
	}
	x /= sum;
	y /= sum;
	for (i = 0; i < f->nr_chunks; i++) {
		weight = finder__chunk_end(f, i) - i * CHUNK;
		dx = finder__chunk_time(f, i) - x;
		xx += weight * dx * dx;
		xy += weight * dx * (t->offsets[i] - y);
	}
	/* The variance of a Laplace distribution is twice the squared mean distance. */
	noise = 2 * t->c.jitter * t->c.jitter;
	slope = xy / (xx + noise / (DRIFT_USUAL * DRIFT_USUAL));
	for (i = 0; i < f->nr_chunks; i++) {
		weight = finder__chunk_end(f, i) - i * CHUNK;
		dy = t->offsets[i] - y - slope * (finder__chunk_time(f, i) - x);
		apart += weight * dy * dy;
	}
	if (apart > 9 * noise * f->nr_chunks || fabs(slope) > DRIFT_MAX)
		return false;
	for (i = 0; i < f->nr_chunks; i++)
		t->offsets[i] = y + slope * (finder__chunk_time(f, i) - x);
	return true;
}

/* Takes the first track's offset, and counts other tracks that are about as good. */
static void finder__conclude(struct finder *f, double ahead)
{
	struct aligner *al = f->al;
	struct track *t = &f->tracks[0];
	double limit = finder__limit(f), near = SHIFT_SPACINGS * al->spacing, time;
	uint32_t i, middle = f->nr_chunks / 2, nr_near = 0;

	al->jitter = t->c.jitter;
	al->out->nr_offsets = 1;
	for (i = 1; i < f->nr_tracks; i++) {
		if (f->tracks[i].score < limit ||
		    f->tracks[i].mass <= t->mass - SLACK * al->cpu.in->nr)
			continue;
		/* aligner__find_shifts() handles offsets near the first track. */
		if (fabs(f->tracks[i].offsets[middle] - t->offsets[middle]) <= near)
			nr_near++;
		else if (al->out->nr_offsets++ == 1)
			al->out->other_offset_ns = llround(f->tracks[i].offsets[0] + ahead);
	}
	/* One side may have lost many events, but it is unlikely that both sides did. */
	if (al->out->nr_offsets == 1 && !nr_near &&
	    (t->score <= 0 || t->mass < MASS_MIN * fmin(al->cpu.in->nr, al->gpu.in->nr)))
		al->out->nr_offsets = 0;
	/*
	 * If the offset cannot be straightened, either a clock was set, or the offset is wrong and
	 * fits by chance: report no offset.
	 */
	f->steady = finder__straighten(f, t);
	if (!f->steady && al->out->nr_offsets == 1)
		al->out->nr_offsets = 0;
	for (i = 0; i < al->cpu.in->nr; i++) {
		time = al->cpu.time[i];
		al->stack_time[i] = time - finder__offset(f, t, time, i / CHUNK);
		if (i)
			al->stack_time[i] = fmax(al->stack_time[i], al->stack_time[i - 1]);
	}
	al->out->offset_ns = llround(al->cpu.time[0] - al->stack_time[0] + ahead);
	al->out->jitter_ns = al->jitter;
	al->out->drift_ppm = (t->offsets[f->nr_chunks - 1] - t->offsets[0]) /
			     fmax(al->cpu.span, 1) * 1e6;
}

/* ---- clocks that were set ------------------------------------------------------------------- */

/*
 * For all stacks, uses the offset of the chunk in which the first track was found, even if a clock
 * was set before or after that chunk.
 */
static void finder__hold(struct finder *f)
{
	struct aligner *al = f->al;
	const struct track *t = &f->tracks[0];
	uint32_t chunk = t->c.at / CHUNK, i;
	double offset = t->offsets[chunk], mass;

	finder__learn(f, chunk * CHUNK, finder__chunk_end(f, chunk), &offset, &al->jitter, 0, 8,
		      &mass);
	for (i = 0; i < al->cpu.in->nr; i++)
		al->stack_time[i] = al->cpu.time[i] - offset;
	al->out->jitter_ns = al->jitter;
}

/*
 * Sets the score of each stack in @scores. The score says how well the first track (or @offset, if
 * not NULL) explains the stack's time. It is the log-likelihood ratio of two cases: a launch near
 * the stack, and no launch.
 */
static void finder__score_stacks(struct finder *f, const double *offset, double jitter,
				 double *scores)
{
	struct aligner *al = f->al;
	double inverse = NR_DECAY / (REACH * jitter), at, sum;
	uint32_t i, k, end;

	aligner__rewind(al);
	for (i = 0; i < al->cpu.in->nr; i++) {
		at = offset ? al->cpu.time[i] - *offset : al->stack_time[i];
		k = aligner__near(al, i, at, REACH * jitter, &end);
		for (sum = 0; k < end; k++)
			sum += f->decay[min_t(uint32_t, fabs(at - al->time[k]) * inverse,
					      NR_DECAY + 1)];
		scores[i] = log(NOISE + sum * (1 - NOISE) /
				(2 * jitter * al->group_rate[al->group[i]]));
	}
}

/* Finds the range [*@first, *@end) of stacks with the largest sum of scores. */
static void find_stretch(const double *scores, uint32_t nr, uint32_t *first, uint32_t *end)
{
	double sum = 0, best = 0;
	uint32_t i, start = 0;

	*first = *end = 0;
	for (i = 0; i < nr; i++) {
		sum += scores[i];
		if (sum > best) {
			best = sum;
			*first = start;
			*end = i + 1;
		}
		if (sum < 0) {
			sum = 0;
			start = i + 1;
		}
	}
}

/*
 * Return: the number of stacks before the clock was set. These stacks have better scores in
 * @before, and the later stacks have better scores in @after.
 */
static uint32_t find_split(const double *before, const double *after, uint32_t nr)
{
	double sum = 0, best = 0;
	uint32_t i, split = 0;

	for (i = 0; i < nr; i++) {
		sum += before[i] - after[i];
		if (sum > best) {
			best = sum;
			split = i + 1;
		}
	}
	return split;
}

/*
 * Finds the offset of the last stacks before *@bound or, with @late, of the first stacks after
 * *@bound. The first track does not fit these stacks. Their launches come before the launches of
 * later stacks, and after the launches of earlier stacks.
 * @main: scores of the first track
 * @scores: buffer for the scores of another offset
 * @bound: moved to the end of the stacks that the first track fits better
 *
 * Return: whether exactly one offset fits.
 */
static bool finder__find_rest(struct finder *f, bool late, const double *main, double *scores,
			      uint32_t *bound, double *offset)
{
	struct aligner *al = f->al;
	uint32_t nr_stacks = al->cpu.in->nr, i, nr, nr_bins = FEW_BINS, a, z;
	uint32_t split, best_split = 0;
	uint32_t nr_near = min_t(uint32_t, late ? nr_stacks - *bound : *bound, EXCERPT_EVENTS);
	uint32_t first = late ? *bound : *bound - nr_near, end = first + nr_near;
	double far = REACH * al->jitter, score, mass, best = REST_SCORE, second = 0, at, jitter;
	struct candidate candidates[2 * NR_SCALES * PEAKS];
	double near = SHIFT_SPACINGS * al->spacing;
	const double *time = al->cpu.time;

	while (nr_bins < NR_BINS && nr_bins / 16 < (uint64_t)nr_near * al->gpu.in->nr)
		nr_bins *= 2;
	nr = finder__vote(f, first, nr_near, -al->gpu.span - 1e6, al->cpu.span + 1e6, nr_bins,
			  candidates);
	qsort(candidates, nr, sizeof(*candidates), candidate__compare);
	/* Launches at about equal intervals match nearly as well when they are shifted. */
	if (nr && candidates[0].offset + near > candidates[0].offset - near)
		nr += finder__vote(f, first, nr_near, candidates[0].offset - near,
				   candidates[0].offset + near, NEAR_BINS, candidates + nr);
	for (i = 0; i < nr; i++) {
		at = candidates[i].offset;
		jitter = candidates[i].jitter;
		finder__learn(f, first, end, &at, &jitter, 0, 4, &mass);
		score = finder__fit(f, first, end, &at, &jitter, false, &mass);
		if (score < second || mass < REST_MASS * nr_near)
			continue;
		finder__score_stacks(f, &at, jitter, scores);
		split = late ? find_split(main, scores, nr_stacks) :
			       find_split(scores, main, nr_stacks);
		/* A few stacks near the split may be on the wrong side of the split. */
		if (split < REST_MIN / 2 || split > nr_stacks - REST_MIN / 2)
			continue;
		a = split - REST_MIN / 2;
		z = split + REST_MIN / 2 - 1;
		if (late ? time[z] - at < al->stack_time[a] - far :
			   time[a] - at > al->stack_time[z] + far)
			continue;
		if (best > REST_SCORE && fabs(at - *offset) > 3 * jitter)
			second = fmin(score, best);
		if (score > best) {
			best = score;
			*offset = at;
			best_split = split;
		}
	}
	if (best <= REST_SCORE || second > REST_CLEAR * best)
		return false;
	*bound = best_split;
	return true;
}

/*
 * Return: whether a clock was set: the two offsets differ by more than clocks drift during the
 * recording.
 */
static bool finder__was_set(const struct finder *f, double one, double other)
{
	return fabs(one - other) > SET_MIN_NS + UNSEEN_DRIFT * f->al->cpu.span;
}

/* Lists the stretches of the recording that have one offset each. */
static int finder__list_stretches(struct finder *f, double ahead)
{
	struct aligner *al = f->al;
	uint32_t nr = al->cpu.in->nr, bounds[] = { 0, 0, nr, nr }, i;
	double *main = malloc(2 * (size_t)nr * sizeof(*main)), offsets[3] = { 0 };
	bool known[] = { false, true, false };

	if (!main)
		return -ENOMEM;
	if (!f->steady)
		finder__hold(f);
	finder__score_stacks(f, NULL, al->jitter, main);
	find_stretch(main, nr, &bounds[1], &bounds[2]);
	if (bounds[1] < REST_MIN)
		bounds[1] = 0;
	else
		known[0] = finder__find_rest(f, false, main, main + nr, &bounds[1], &offsets[0]);
	if (nr - bounds[2] < REST_MIN)
		bounds[2] = nr;
	else
		known[2] = finder__find_rest(f, true, main, main + nr, &bounds[2], &offsets[2]);
	bounds[2] = max_t(uint32_t, bounds[1], bounds[2]);
	free(main);
	if (bounds[1] < bounds[2])
		offsets[1] = al->cpu.time[bounds[1]] - al->stack_time[bounds[1]];
	else
		known[1] = false;
	for (i = 0; i < 3; i++)
		al->out->was_set |= known[i] && known[(i + 1) % 3] &&
				    finder__was_set(f, offsets[i], offsets[(i + 1) % 3]);
	for (i = 0; i < 3; i++) {
		if (bounds[i] >= bounds[i + 1])
			continue;
		al->out->stretches[al->out->nr_stretches++] = (struct align_stretch){
			.nr = bounds[i + 1] - bounds[i], .known = known[i],
			.offset_ns = known[i] ? llround(offsets[i] + ahead) : 0,
		};
	}
	return 0;
}

int aligner__find_offset(struct aligner *al)
{
	struct finder *f = calloc(1, sizeof(*f));
	double from, to, ahead, range = al->opts->max_offset_ns, *best;
	struct candidate candidates[MAX_CANDIDATES];
	uint32_t nr, i;
	int err = -ENOMEM;

	if (!f)
		return -ENOMEM;
	f->al = al;
	f->nr_chunks = (al->cpu.in->nr + CHUNK - 1) / CHUNK;
	f->histogram = huge__alloc((NR_BINS + 1) * sizeof(*f->histogram));
	if (!f->histogram)
		goto out;
	for (i = 0; i < ARRAY_SIZE(f->decay); i++)
		f->decay[i] = exp(-(i + 0.5) * REACH / NR_DECAY);
	/* The time of the first stack minus the time of the first launch, each on its own clock. */
	ahead = al->cpu.in->events[0].time_ns >= al->gpu.in->events[0].time_ns ?
		(double)(al->cpu.in->events[0].time_ns - al->gpu.in->events[0].time_ns) :
		-(double)(al->gpu.in->events[0].time_ns - al->cpu.in->events[0].time_ns);
	from = fmax(-range - ahead, -al->gpu.span - 1e6);
	to = fmin(range - ahead, al->cpu.span + 1e6);
	nr = finder__candidates(f, from, to, true, candidates);
	/* The clocks are unrelated: try every offset under which the recordings overlap. */
	if (!nr || candidates[0].score < 0.1)
		nr = finder__candidates(f, -al->gpu.span - 1e6, al->cpu.span + 1e6, true,
					candidates);
	err = finder__add_tracks(f, candidates, min_t(uint32_t, nr, 4));
	if (err || !f->nr_tracks)
		goto out;
	finder__compare_tracks(f);
	do {
		best = f->tracks[0].offsets;
		err = finder__find_others(f, candidates);
		if (err)
			goto out;
	} while (f->tracks[0].offsets != best && f->nr_tracks < MAX_TRACKS);
	finder__prefer_mass(f);
	finder__conclude(f, ahead);
	err = finder__list_stretches(f, ahead);
out:
	for (i = 0; i < f->nr_tracks; i++)
		free(f->tracks[i].offsets);
	free(f->histogram);
	free(f);
	return err;
}
