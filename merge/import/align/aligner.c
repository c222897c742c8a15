// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/align/aligner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_WRONG		0.001		/* share of wrong answers if only names decide */
#define SPACING_LAUNCHES	16384		/* launches that suffice to measure the spacing */

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

/* Sets *@value to the number of @key. A new key gets the next number. Return: 0 or -ENOMEM. */
static int number(struct idmap *numbers, uint64_t key, uint32_t *value)
{
	if (idmap__get(numbers, key, value))
		return 0;
	*value = numbers->nr;
	return idmap__put(numbers, key, *value);
}

/*
 * Decides whether to trust thread ids: nearly all events of each side must belong to threads that
 * the other side also has, with about as many events. A tool that recorded the process id as each
 * thread id has too many events under that id.
 * @threads: set to a number for each thread of the launches, then for each thread of the stacks. If
 * ids are trusted, equal ids get equal numbers; otherwise all numbers are 0
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

#define NAMELESS	NO_INDEX

/*
 * Lists the launches of each group. A name's group has the launches of that name; the group for
 * stacks without a name has all launches of the group's kind and thread.
 * @places: the kind and thread of each launch
 */
static int aligner__list(struct aligner *al, const struct idmap *groups, const uint32_t *places)
{
	const struct align_side *gpu = al->gpu.in;
	uint32_t i, k, at, group;
	size_t nr_listed = 0;

	/*
	 * begin[group + 2] first holds the number of the group's launches. Prefix sums turn
	 * begin[group + 1] into the group's start, and listing the launches moves it to the group's
	 * end.
	 */
	for (i = 0; i < gpu->nr; i++)
		for (k = 0; k < 2; k++)
			if (idmap__get(groups, ID_KEY(places[i], k ? 0 : gpu->events[i].name ?:
						       NAMELESS), &group)) {
				al->begin[group + 2]++;
				nr_listed++;
			}
	for (i = 2; i < al->nr_groups + 2; i++)
		al->begin[i] += al->begin[i - 1];
	al->time = malloc((nr_listed + 1) * sizeof(*al->time));
	al->launch = malloc((nr_listed + 1) * sizeof(*al->launch));
	if (!al->time || !al->launch)
		return -ENOMEM;
	for (i = 0; i < gpu->nr; i++)
		for (k = 0; k < 2; k++)
			if (idmap__get(groups, ID_KEY(places[i], k ? 0 : gpu->events[i].name ?:
						       NAMELESS), &group)) {
				at = al->begin[group + 1]++;
				al->launch[at] = i;
				al->time[at] = al->gpu.time[i];
			}
	for (i = 0; i < al->nr_groups; i++)
		al->group_rate[i] = fmax(al->begin[i + 1] - al->begin[i], 1) /
				    fmax(al->gpu.span, 1e6);
	return 0;
}

/*
 * Puts launches and stacks into groups. A group has one kind, one thread if ids are trusted, and
 * one name if names are known. A stack without a name may belong to any launch, and a launch
 * without a name may own any stack.
 */
static int aligner__group(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	uint32_t *threads = calloc(gpu->nr_threads + cpu->nr_threads + 1, sizeof(*threads));
	uint32_t *places = malloc(gpu->nr * sizeof(*places)), *cpu_threads, i, place;
	struct idmap numbers = { 0 }, groups = { 0 };
	uint32_t nr_nameless = 0;
	bool named;
	int err;

	al->group = malloc(cpu->nr * sizeof(*al->group));
	al->nameless = malloc(cpu->nr * sizeof(*al->nameless));
	cpu_threads = threads + gpu->nr_threads;
	err = threads && places && al->group && al->nameless ? 0 : -ENOMEM;
	err = err ?: aligner__compare_tids(al, threads);
	for (i = 0; i < gpu->nr && !err; i++) {
		err = number(&numbers, (uint64_t)threads[gpu->events[i].thread] << 32 |
			     gpu->events[i].kind, &places[i]);
		nr_nameless += !gpu->events[i].name;
	}
	/* Names do not help to find the offset if many launches lack a name. */
	named = nr_nameless <= gpu->nr / 5;
	for (i = 0; i < cpu->nr && !err; i++) {
		uint32_t name = named ? cpu->events[i].name : 0;

		err = number(&numbers, (uint64_t)cpu_threads[cpu->events[i].thread] << 32 |
			     cpu->events[i].kind, &place);
		err = err ?: number(&groups, ID_KEY(place, name), &al->group[i]);
		al->nameless[i] = NO_INDEX;
		if (!err && name && nr_nameless)
			err = number(&groups, ID_KEY(place, NAMELESS), &al->nameless[i]);
	}
	al->nr_groups = groups.nr;
	al->begin = calloc(al->nr_groups + 2, sizeof(*al->begin));
	al->cursor = calloc(al->nr_groups + 1, sizeof(*al->cursor));
	al->group_rate = calloc(al->nr_groups + 1, sizeof(*al->group_rate));
	if (!al->begin || !al->cursor || !al->group_rate)
		err = -ENOMEM;
	err = err ?: aligner__list(al, &groups, places);
	idmap__free(&groups);
	idmap__free(&numbers);
	free(places);
	free(threads);
	return err;
}

static int compare_times(const void *a, const void *b)
{
	return cmp3(*(const double *)a, *(const double *)b);
}

/*
 * Sets al->spacing and al->median to the lower quartile and the median of the gaps between launches
 * of one thread.
 */
static int aligner__find_spacing(struct aligner *al)
{
	const struct align_side *gpu = al->gpu.in;
	double *last = malloc((gpu->nr_threads + 1) * sizeof(*last)), *gaps;
	uint32_t i, nr = 0, step = 1 + gpu->nr / SPACING_LAUNCHES, t;

	gaps = malloc((gpu->nr / step + 2) * sizeof(*gaps));
	if (!last || !gaps) {
		free(gaps);
		free(last);
		return -ENOMEM;
	}
	for (t = 0; t < gpu->nr_threads; t++)
		last[t] = -1;
	for (i = 0; i < gpu->nr; i++) {
		t = gpu->events[i].thread;
		if (last[t] >= 0 && i % step == 0)
			gaps[nr++] = al->gpu.time[i] - last[t];
		last[t] = al->gpu.time[i];
	}
	qsort(gaps, nr, sizeof(*gaps), compare_times);
	al->spacing = nr ? fmax(gaps[nr / 4], 1) : 1e6;
	al->median = nr ? fmax(gaps[nr / 2], 1) : 1e6;
	free(gaps);
	free(last);
	return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int names__init(struct names *n, const struct align_side *cpu, const struct align_side *gpu)
{
	const struct name none = { .stack = NO_INDEX };
	uint32_t i, at;
	int err = 0;

	for (i = 0; i < gpu->nr && !err; i++) {
		if (!gpu->events[i].name)
			continue;
		err = number(&n->numbers, ID_KEY(gpu->events[i].kind, gpu->events[i].name), &at);
		if (!err && at == n->v.nr)
			err = array_push(&n->v, none);
		if (!err)
			n->v.v[at].nr_launches++;
	}
	for (i = 0; i < cpu->nr && !err; i++) {
		struct name *name;

		n->nameless |= !cpu->events[i].name;
		if (!idmap__get(&n->numbers, ID_KEY(cpu->events[i].kind, cpu->events[i].name), &at))
			continue;
		name = &n->v.v[at];
		if (!name->nr_stacks++)
			name->stack = i;
		else if (name->stack != NO_INDEX &&
			 cpu->events[i].label != cpu->events[name->stack].label)
			name->stack = NO_INDEX;
	}
	for (i = 0; i < n->v.nr; i++) {
		n->nr_often += n->v.v[i].nr_stacks > 1;
		n->nr_several += n->v.v[i].nr_stacks && n->v.v[i].stack == NO_INDEX;
	}
	return err;
}

static void names__exit(struct names *n)
{
	array_free(&n->v);
	idmap__free(&n->numbers);
}

const struct name *names__find(const struct names *n, const struct align_event *e)
{
	uint32_t at;

	return e->name && idmap__get(&n->numbers, ID_KEY(e->kind, e->name), &at) ?
	       &n->v.v[at] : NULL;
}

bool names__differ(const struct names *n, const struct align_event *a, const struct align_event *b)
{
	const struct name *x = names__find(n, a), *y = names__find(n, b);

	return a->kind != b->kind || (x && y && x != y && x->nr_stacks && y->nr_stacks);
}

double names__wrong(const struct names *n, const struct align_event *launch, uint32_t *stack)
{
	const struct name *name = names__find(n, launch);
	double lost;

	if (!name || n->nameless || name->stack == NO_INDEX)
		return 1;
	*stack = name->stack;
	/*
	 * An answer is wrong only if three conditions hold: the name has several call paths, the
	 * launch's own stack was lost, and no earlier stack of the name has the call path of the
	 * lost stack.
	 */
	lost = name->nr_launches > name->nr_stacks ? name->nr_launches - name->nr_stacks : 0;
	return (lost + 0.5) / (name->nr_launches + 1) / (name->nr_stacks + 1) *
	       (n->nr_several + 0.5) / (n->nr_often + 1);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/*
 * Makes all matches uncertain, because no offset fits, or several offsets may be right. Matches
 * stay certain only if all stacks have the same call path, and so many launches have a stack that
 * the lost stacks must have this call path, too.
 */
static void aligner__refuse(struct aligner *al)
{
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	double lost = gpu->nr_threads + (gpu->nr > cpu->nr ? gpu->nr - cpu->nr : 0);
	bool same = al->out->nr_offsets > 1 &&
		    lost / (cpu->nr + 1.0) <= align__allowed_wrong(gpu->nr);
	uint32_t i;

	for (i = 0; i < cpu->nr; i++) {
		al->out->match_back[i] = ALIGN_UNCERTAIN;
		same = same && cpu->events[i].label == cpu->events[0].label &&
		       cpu->events[i].kind == cpu->events[0].kind;
	}
	for (i = 0; i < gpu->nr; i++) {
		al->out->match[i] = ALIGN_UNCERTAIN;
		if (same && aligner__fit(&cpu->events[0], &gpu->events[i]))
			al->out->match[i] = 0;
	}
}

/*
 * Return: whether so few matches are certain that none can be trusted. In a short recording, a
 * clock change of about the time between two launches goes unnoticed. The stacks before or after
 * the change then seem to belong to other launches, many of which are uncertain.
 */
static bool aligner__is_doubtful(const struct aligner *al)
{
	uint32_t i, nr = 0;

	if (min_t(uint32_t, al->cpu.in->nr, al->gpu.in->nr) >= FEW)
		return false;
	for (i = 0; i < al->gpu.in->nr; i++)
		nr += al->out->match[i] == ALIGN_UNCERTAIN;
	return nr > al->gpu.in->nr / 8;
}

/*
 * Gives uncertain launches the call path of their kernel name, if the name has a single call path.
 */
static void aligner__match_names(struct aligner *al)
{
	const struct align_side *gpu = al->gpu.in;
	uint32_t i, stack;

	for (i = 0; i < gpu->nr; i++)
		if (al->out->match[i] == ALIGN_UNCERTAIN &&
		    names__wrong(al->names, &gpu->events[i], &stack) <= NAMES_WRONG)
			al->out->match[i] = stack;
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
	struct names names = { 0 };
	struct aligner al = { .out = a, .opts = opts, .names = &names };
	int err;

	memset(a, 0, sizeof(*a));
	err = align__alloc(a, stacks->nr, launches->nr, launches->nr_threads);
	if (err || !stacks->nr || !launches->nr)
		return err;
	err = align__same(a, stacks, launches);
	if (err)
		return min_t(int, err, 0);
	al.stack_time = malloc(stacks->nr * sizeof(*al.stack_time));
	if (!al.stack_time)
		err = -ENOMEM;
	err = err ?: side__init(&al.cpu, stacks);
	err = err ?: side__init(&al.gpu, launches);
	err = err ?: aligner__group(&al);
	al.rate = launches->nr / fmax(al.gpu.span, 1e6);
	if (al.tids_agree)
		al.rate /= launches->nr_threads;
	err = err ?: names__init(&names, stacks, launches);
	err = err ?: aligner__find_spacing(&al);
	err = err ?: aligner__find_offset(&al);
	if (!err && a->nr_offsets == 1)
		err = aligner__match(&al);
	else if (!err && a->nr_offsets)
		aligner__refuse(&al);
	if (!err && (!a->nr_offsets || a->nr_offsets > MAX_SHIFTS || aligner__is_doubtful(&al)))
		aligner__refuse(&al);
	if (!err)
		aligner__match_names(&al);
	names__exit(&names);
	free(al.stack_time);
	free(al.group_rate);
	free(al.cursor);
	free(al.begin);
	free(al.nameless);
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
