// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/align/aligner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sides ---------------------------------------------------------------------------------- */

static int side__init(struct side *s, const struct align_side *in)
{
	uint32_t i;

	s->in = in;
	s->time = malloc(in->nr * sizeof(*s->time));
	if (!s->time)
		return -ENOMEM;
	for (i = 0; i < in->nr; i++)
		s->time[i] = in->events[i].time_ns - in->events[0].time_ns;
	s->span = s->time[in->nr - 1];
	return 0;
}

/* Sets *@value to the number of @key, a new one if need be. Return: 0 or -ENOMEM. */
static int number(struct idmap *numbers, uint64_t key, uint32_t *value)
{
	if (idmap__get(numbers, key, value))
		return 0;
	*value = numbers->nr;
	return idmap__put(numbers, key, *value);
}

/*
 * Thread ids are believed if nearly all events of either side belong to threads that the other side
 * knows, too, with about as many events. A tool that recorded the process's id for each thread has
 * too many events under that id.
 * @threads: by thread of the launches, then by thread of the stacks: a number, equal for equal ids
 *	if ids are believed, else 0 for all
 */
static int aligner__compare_tids(struct aligner *al, uint32_t *threads)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	uint32_t b = gpu->nr_threads, nr = b + cpu->nr_threads, i, *nr_cpu, *nr_gpu;
	uint64_t cpu_shared = 0, gpu_shared = 0;
	struct idmap ids = { 0 };
	bool fit = true;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = number(&ids, i < b ? gpu->tids[i] : cpu->tids[i - b], &threads[i]);
	nr_cpu = err ? NULL : calloc(2 * ids.nr + 1, sizeof(*nr_cpu));
	if (!nr_cpu) {
		idmap__free(&ids);
		return -ENOMEM;
	}
	nr_gpu = nr_cpu + ids.nr;
	for (i = 0; i < cpu->nr; i++)
		nr_cpu[threads[b + cpu->events[i].thread]]++;
	for (i = 0; i < gpu->nr; i++)
		nr_gpu[threads[gpu->events[i].thread]]++;
	for (i = 0; i < ids.nr; i++) {
		if (!nr_cpu[i] || !nr_gpu[i])
			continue;
		cpu_shared += nr_cpu[i];
		gpu_shared += nr_gpu[i];
		fit = fit && nr_cpu[i] <= 2ull * nr_gpu[i] + 16;
	}
	al->tids_agree = fit && cpu_shared >= cpu->nr * 0.9 && gpu_shared >= gpu->nr * 0.9;
	if (!al->tids_agree)
		memset(threads, 0, nr * sizeof(*threads));
	free(nr_cpu);
	idmap__free(&ids);
	return 0;
}

/* Groups launches and stacks by kind and, if ids are believed, by thread. */
static int aligner__group(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	uint32_t *threads = calloc(gpu->nr_threads + cpu->nr_threads + 1, sizeof(*threads));
	uint32_t *groups = malloc(gpu->nr * sizeof(*groups)), *cpu_threads, i, at;
	struct idmap numbers = { 0 };
	int err;

	al->time = malloc(gpu->nr * sizeof(*al->time));
	al->launch = malloc(gpu->nr * sizeof(*al->launch));
	al->group = malloc(cpu->nr * sizeof(*al->group));
	cpu_threads = threads + gpu->nr_threads;
	err = threads && groups && al->time && al->launch && al->group ? 0 : -ENOMEM;
	if (!err)
		err = aligner__compare_tids(al, threads);
	for (i = 0; i < gpu->nr && !err; i++)
		err = number(&numbers, (uint64_t)threads[gpu->events[i].thread] << 32 |
			     gpu->events[i].kind, &groups[i]);
	for (i = 0; i < cpu->nr && !err; i++)
		err = number(&numbers, (uint64_t)cpu_threads[cpu->events[i].thread] << 32 |
			     cpu->events[i].kind, &al->group[i]);
	al->nr_groups = numbers.nr;
	idmap__free(&numbers);
	al->begin = calloc(al->nr_groups + 2, sizeof(*al->begin));
	al->cursor = calloc(al->nr_groups + 1, sizeof(*al->cursor));
	if (!al->begin || !al->cursor)
		err = -ENOMEM;
	if (err)
		goto out;
	/*
	 * First the counts, two places on; then, summed up, where the group before begins; then
	 * where that ends.
	 */
	for (i = 0; i < gpu->nr; i++)
		al->begin[groups[i] + 2]++;
	for (i = 2; i < al->nr_groups + 2; i++)
		al->begin[i] += al->begin[i - 1];
	for (i = 0; i < gpu->nr; i++) {
		at = al->begin[groups[i] + 1]++;
		al->launch[at] = i;
		al->time[at] = al->gpu.time[i];
	}
out:
	free(groups);
	free(threads);
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Without one best offset, no match is certain, unless all stacks are equal. */
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
	int err;

	memset(a, 0, sizeof(*a));
	err = align__alloc(a, stacks->nr, launches->nr, launches->nr_threads);
	if (err || !stacks->nr || !launches->nr)
		return err;
	al.stack_time = malloc(stacks->nr * sizeof(*al.stack_time));
	if (!al.stack_time)
		err = -ENOMEM;
	if (!err)
		err = side__init(&al.cpu, stacks);
	if (!err)
		err = side__init(&al.gpu, launches);
	if (!err)
		err = aligner__group(&al);
	al.rate = launches->nr / fmax(al.gpu.span, 1e6);
	if (al.tids_agree)
		al.rate /= launches->nr_threads;
	if (!err)
		err = aligner__find_offset(&al);
	if (!err && a->nr_offsets == 1)
		err = aligner__match(&al);
	else if (!err)
		aligner__refuse(&al);
	free(al.stack_time);
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
