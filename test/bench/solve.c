// SPDX-License-Identifier: MIT
/*
 * solve [KINDS [SECONDS]]: measures the CPU time and the memory that it takes to solve 6 metrics of
 * KINDS kinds of kernels, from samples at 1 kHz: once with the kernels in a fixed order, and once
 * in random order. It also prints the ratio of this time to the time of computing the samples'
 * mixtures.
 */
#include "metrics/solve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NR_METRICS 6
#define ROW_NS 1e6

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 11) * 0x1p-53;
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

struct world {
	struct piece *pieces;
	size_t nr_pieces, nr_rows;
	struct metric_row *rows;
	float *values;
	double *ns, *truth, *total_ns;
};

static void *must(void *p)
{
	if (!p)
		exit(2);
	return p;
}

static void world__init(struct world *w, uint32_t nr_kinds, double seconds, bool random)
{
	size_t most, i, row;
	uint32_t k;
	double at = 0;

	w->nr_rows = seconds * 1e9 / ROW_NS;
	most = seconds * 1e9 / 20000;
	w->pieces = must(malloc(most * sizeof(*w->pieces)));
	w->rows = must(calloc(w->nr_rows, sizeof(*w->rows)));
	w->values = must(calloc(w->nr_rows * NR_METRICS, sizeof(*w->values)));
	w->ns = must(calloc(nr_kinds, sizeof(*w->ns)));
	w->total_ns = must(calloc(nr_kinds, sizeof(*w->total_ns)));
	w->truth = must(calloc((size_t)nr_kinds * NR_METRICS, sizeof(*w->truth)));
	for (k = 0; k < nr_kinds; k++)
		w->ns[k] = 20000 + 180000 * uniform();
	for (i = 0; i < nr_kinds * NR_METRICS; i++)
		w->truth[i] = 100 * uniform();
	for (row = 0; row < w->nr_rows; row++)
		w->rows[row] = (struct metric_row){ row * ROW_NS, (row + 1) * ROW_NS };
	for (w->nr_pieces = 0; w->nr_pieces < most; w->nr_pieces++) {
		uint32_t kind = random ? uniform() * nr_kinds : w->nr_pieces % nr_kinds;
		double ns = w->ns[kind] * (0.98 + 0.04 * uniform()), end = at + ns, part;

		if (end >= w->nr_rows * ROW_NS)
			break;
		w->pieces[w->nr_pieces] = (struct piece){ at, end, kind };
		w->total_ns[kind] += ns;
		for (row = at / ROW_NS; row * ROW_NS < end; row++) {
			part = fmin(end, (row + 1) * ROW_NS) - fmax(at, row * ROW_NS);
			for (k = 0; k < NR_METRICS; k++)
				w->values[row * NR_METRICS + k] +=
					w->truth[kind * NR_METRICS + k] * part / ROW_NS;
		}
		at = end + 5000 * uniform();
	}
	for (i = 0; i < w->nr_rows * NR_METRICS; i++)
		w->values[i] += 0.5 * uniform();
}

static void world__exit(struct world *w)
{
	free(w->pieces);
	free(w->rows);
	free(w->values);
	free(w->ns);
	free(w->total_ns);
	free(w->truth);
}

static int run(const char *name, uint32_t nr_kinds, double seconds, bool random)
{
	bool wanted[NR_METRICS];
	double small[NR_METRICS], most[NR_METRICS], mixture_s, solve_s;
	struct world w = { 0 };
	struct solved solved = { 0 };
	struct mixture m = { 0 };
	struct solve_of of;
	size_t i, nr_known = 0;
	int err;

	world__init(&w, nr_kinds, seconds, random);
	for (i = 0; i < NR_METRICS; i++) {
		wanted[i] = true;
		small[i] = 1;
		most[i] = 100;
	}
	of = (struct solve_of){
		.of = {
			.rows = w.rows, .nr_rows = w.nr_rows,
			.pieces = w.pieces, .nr_pieces = w.nr_pieces,
			.nr_kinds = nr_kinds, .mean_ns = w.ns,
		},
		.values = w.values, .nr_metrics = NR_METRICS, .wanted = wanted, .small = small,
		.most = most, .total_ns = w.total_ns,
	};
	mixture_s = cpu_s();
	err = mixture__make(&m, &of.of, &(struct mixture_as){ 0 });
	mixture_s = cpu_s() - mixture_s;
	solve_s = cpu_s();
	err = err ?: solve(&solved, &of);
	solve_s = cpu_s() - solve_s;
	for (i = 0; i < nr_kinds * NR_METRICS && !err; i++)
		nr_known += !isnan(solved.values[i].value);
	printf("solve, %s: %u kernels, %zu samples, %zu pieces of work: %.2f s of CPU, "
	       "%.1f times a mixture (%.2f s); %.1f %% known\n",
	       name, nr_kinds, w.nr_rows, w.nr_pieces, solve_s, solve_s / mixture_s, mixture_s,
	       100.0 * nr_known / (nr_kinds * NR_METRICS));
	mixture__exit(&m);
	solved__exit(&solved);
	world__exit(&w);
	return err;
}

int main(int argc, char **argv)
{
	uint32_t nr_kinds = argc > 1 ? atoi(argv[1]) : 500;
	double seconds = argc > 2 ? atof(argv[2]) : 60;
	struct rusage usage;

	if (!nr_kinds || seconds < 1 || run("fixed order", nr_kinds, seconds, false) ||
	    run("random order", nr_kinds, seconds, true))
		return 1;
	fflush(stdout);
	getrusage(RUSAGE_SELF, &usage);
	printf("solve: %ld MB at most\n", usage.ru_maxrss / 1024);
	return 0;
}
