// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/text_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "human.h"
#include "model/feature.h"
#include "write/section.h"
#include "write/shorten.h"
#include "xpu_time.h"

#define SHOWN_GPUS	4		/* with more GPUs, only the least and the most busy GPU are
					 * shown */
#define PERMILLE	"%" PRIu64 ".%" PRIu64 " %%"
#define PERMILLE_OF(n)	(n) / 10, (n) % 10

/* ---- how long the program took, and how busy the GPUs were ----------------------------------- */

/* a GPU that ran something */
struct busy_gpu {
	uint32_t number;
	uint64_t busy_ns, permille;
};

typedef ARRAY(struct busy_gpu) busy_gpus_t;

static int busy_gpu__cmp(const void *va, const void *vb)
{
	const struct busy_gpu *a = va, *b = vb;

	return cmp3(a->number, b->number);
}

static int busy_gpus__collect(busy_gpus_t *gpus, const struct session *s, uint64_t span_ns)
{
	int err = 0;
	size_t i;

	for (i = 0; i < s->sums.busy.nr && !err; i++) {
		uint64_t ns = busy__ns(&s->sums.busy.v[i]);

		if (ns)
			err = array_push(gpus, ((struct busy_gpu){
				s->model.gpus.list.v[i].number, ns, table__share(ns, span_ns),
			}));
	}
	array_qsort(gpus, busy_gpu__cmp);
	return err;
}

static void print_busy(FILE *f, const busy_gpus_t *gpus)
{
	const struct busy_gpu *least = gpus->v, *most = gpus->v;
	uint64_t sum = 0;
	size_t i;

	if (gpus->nr <= SHOWN_GPUS) {
		for (i = 0; i < gpus->nr; i++)
			fprintf(f, "%sGPU %" PRIu32 " busy " PERMILLE, i ? ", " : "",
				gpus->v[i].number, PERMILLE_OF(gpus->v[i].permille));
		return;
	}
	for (i = 0; i < gpus->nr; i++) {
		sum += gpus->v[i].permille;
		least = gpus->v[i].permille < least->permille ? &gpus->v[i] : least;
		most = gpus->v[i].permille > most->permille ? &gpus->v[i] : most;
	}
	sum /= gpus->nr;
	fprintf(f,
		"%zu GPUs busy " PERMILLE ", from " PERMILLE " (GPU %" PRIu32 ") to " PERMILLE
		" (GPU %" PRIu32 ")",
		gpus->nr, PERMILLE_OF(sum), PERMILLE_OF(least->permille), least->number,
		PERMILLE_OF(most->permille), most->number);
}

/* Writes the lines of features. */
static void write_answers(const struct session *s, FILE *f, const busy_gpus_t *gpus,
			  uint64_t span_ns, unsigned int width)
{
	struct feature_answer a = { .nr_gpus = gpus->nr, .width = width };
	size_t i;

	for (i = 0; i < gpus->nr; i++)
		a.idle_ns += xpu_ns_between(gpus->v[i].busy_ns, span_ns);
	for (i = 0; features[i]; i++)
		if (features[i]->answer)
			features[i]->answer(s, f, &a);
}

/* Return: the CPU time that all samples represent. */
static uint64_t cpu_ns(const struct session *s)
{
	uint64_t sum_ns = 0;
	size_t i;

	for (i = 0; i < s->sums.aggregates.nr; i++)
		if (s->model.leaves.v[s->sums.aggregates.v[i].leaf].kind == LEAF_CPU)
			sum_ns += s->sums.aggregates.v[i].sum_ns;
	return sum_ns;
}

/* ---- the largest kernel and call path -------------------------------------------------------- */

/*
 * Return: a copy of @text that is safe for terminals and, unless @width is 0, at most @width
 * characters long; NULL if memory is short. The caller frees it.
 */
static char *fit(const char *text, size_t width)
{
	char *out = NULL, *safe = NULL, c[ESCAPE_MAX];
	size_t size;
	FILE *f = open_memstream(&safe, &size);

	if (!f)
		return NULL;
	while (*text) {
		if (*text == SHORTEN_FRAME)
			fputc(*text++, f);
		else if (escape__next(&text, ESCAPE_TEXT, c))
			fputs(c, f);
	}
	if (!fclose(f) && safe && shorten__column((const char *const *)&safe, 1, width, &out))
		out = NULL;
	free(safe);
	return out;
}

/* Prints two names, each with its share, in one line. Return: 0 or -ENOMEM. */
static int print_largest(FILE *f, unsigned int width, const char *what, const char *name,
			 uint64_t permille, const char *path, uint64_t path_permille)
{
	static const char form[] = "largest %s " PERMILLE " ";
	static const char path_form[] = "; call path " PERMILLE " ";
	size_t taken = snprintf(NULL, 0, form, what, PERMILLE_OF(permille)) +
		       snprintf(NULL, 0, path_form, PERMILLE_OF(path_permille));
	size_t rest = width > taken + 20 ? width - taken : 20, half = 0;
	char *fit_name, *fit_path;
	int err = -ENOMEM;

	/* The name gets half of the line, plus the room that the path does not need. */
	if (width) {
		half = shorten__width(path) < rest ? rest - shorten__width(path) : 0;
		half = max_t(size_t, half, rest / 2);
		half = min_t(size_t, half, shorten__width(name));
	}
	fit_name = fit(name, half);
	fit_path = fit(path, width ? rest - half : 0);
	if (fit_name && fit_path) {
		fprintf(f, form, what, PERMILLE_OF(permille));
		fprintf(f, "%s", fit_name);
		fprintf(f, path_form, PERMILLE_OF(path_permille));
		fprintf(f, "%s\n", fit_path);
		err = 0;
	}
	free(fit_name);
	free(fit_path);
	return err;
}

static int write_largest(const struct session *s, FILE *f, unsigned int width)
{
	uint64_t permille = 0, path_permille = 0;
	const char *name, *what = "kernel";
	char *path;
	int err;

	err = kernels__largest(s, &name, &permille) ?:
	      launch_sites__largest(s, &path, &path_permille);
	if (err)
		return err;
	if (name && path) {
		err = print_largest(f, width, what, name, permille, path, path_permille);
	} else {
		err = cpu_functions__largest(s, &name, &permille);
		if (!err && name) {
			fprintf(f, "most CPU time in ");
			escape__print(f, name, ESCAPE_TEXT);
			fprintf(f, ", " PERMILLE "\n", PERMILLE_OF(permille));
		}
	}
	free(path);
	return err;
}

int text__write_answer(const struct session *s, FILE *f, unsigned int width)
{
	uint64_t span_ns = sums__span_ns(&s->sums), ran_ns = cpu_ns(s);
	char time[HUMAN_MAX], cpu[HUMAN_MAX];
	busy_gpus_t gpus = { 0 };
	int err = busy_gpus__collect(&gpus, s, span_ns);

	if (err)
		goto out;
	fputs(span_ns ? human__time(time, span_ns) : "no time", f);
	if (s->sums.nr_windows)
		fprintf(f, " in %zu window%s", s->sums.nr_windows,
			s->sums.nr_windows == 1 ? "" : "s");
	if (gpus.nr || ran_ns || !s->opts.in_bytes)
		fputs(": ", f);
	print_busy(f, &gpus);
	if (ran_ns)
		fprintf(f, "%s%s of CPU time", gpus.nr ? ", " : "", human__time(cpu, ran_ns));
	if (!gpus.nr && !s->opts.in_bytes)
		fprintf(f, "%s%s", ran_ns ? ", " : "",
			s->sums.loss.nr_works ? "GPU work that took no time" :
			ran_ns || features__recorded(s) ? "no GPU work" : "nothing was recorded");
	fputc('\n', f);
	if (gpus.nr)
		write_answers(s, f, &gpus, span_ns, width);
	err = write_largest(s, f, width);
out:
	array_free(&gpus);
	return err;
}
