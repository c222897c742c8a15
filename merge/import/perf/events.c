// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/perf/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/span.h"

#define MAX_DISTANCES	(1u << 20)	/* maximum number of distances between samples to examine */
#define USUAL_NS	250000		/* time between samples at perf's default rate, used if the
					 * file does not contain the rate */
#define NR_CLASSES	(PERF_OTHER + 1)

/*
 * Return: whether the text after an event's name consists of perf's modifiers, and is not the end
 * of a tracepoint's name.
 */
static bool is_modifiers(const char *s, size_t len)
{
	return strspn(s, "ukhGHDpPSeWIRbX:") >= len;
}

enum perf_class perf_event__class(const char *name)
{
	static const struct {
		const char *name;
		enum perf_class class;
	} known[] = {
		{ "cpu-clock", PERF_CPU_CLOCK }, { "task-clock", PERF_TASK_CLOCK },
		{ "cycles", PERF_CYCLES }, { "cpu-cycles", PERF_CYCLES },
		{ "cpu_cycles", PERF_CYCLES }, { "ref-cycles", PERF_REF_CYCLES },
	};
	struct span s = span__of(name);
	const char *p = memchr(s.s, '/', s.len);
	size_t i;

	if (!s.len)
		return PERF_UNNAMED;
	if (p) {
		s.len -= p + 1 - s.s;
		s.s = p + 1;
		s.len = strcspn(s.s, "/,");
	} else {
		p = memchr(s.s, ':', s.len);
		if (p && !is_modifiers(p, s.len - (p - s.s)))
			return PERF_OTHER;
		s.len = p ? (size_t)(p - s.s) : s.len;
	}
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (span__is(s, known[i].name))
			return known[i].class;
	return PERF_OTHER;
}

static int u64__compare(const void *a, const void *b)
{
	return cmp3(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Sets *@ns to the usual time between two samples of one thread. Return: 0 or -ENOMEM. */
static int perf_samples__distance(const struct perf_event *events,
				  const struct perf_sample *samples, size_t nr, uint32_t *ns)
{
	ARRAY(uint64_t) distances = { 0 };
	ARRAY(uint64_t) last = { 0 };
	struct idmap threads = { 0 };
	uint32_t thread;
	size_t i;
	int err = 0;

	*ns = USUAL_NS;
	for (i = 0; i < nr && !err && distances.nr < MAX_DISTANCES; i++) {
		const struct perf_sample *s = &samples[i];

		if (!events[s->event].used)
			continue;
		if (!idmap__get(&threads, ID_KEY(s->pid, s->tid), &thread)) {
			err = idmap__put(&threads, ID_KEY(s->pid, s->tid), last.nr);
			err = err ?: array_push(&last, s->time_ns);
			continue;
		}
		if (s->time_ns > last.v[thread])
			err = array_push(&distances, s->time_ns - last.v[thread]);
		last.v[thread] = s->time_ns;
	}
	if (!err && distances.nr) {
		array_qsort(&distances, u64__compare);
		*ns = min_t(uint64_t, distances.v[distances.nr / 2], UINT32_MAX);
	}
	array_free(&distances);
	array_free(&last);
	idmap__free(&threads);
	return err;
}

int perf_events__settle(struct perf_event *events, size_t nr_events,
			const struct perf_sample *samples, size_t nr)
{
	bool seen[NR_CLASSES] = { false }, has_periods = true, guess = false;
	enum perf_class chosen = 0;
	uint32_t distance_ns = 0;
	size_t i;
	int err;

	for (i = 0; i < nr_events; i++)
		seen[events[i].class] |= events[i].nr != 0;
	while (chosen < PERF_OTHER && !seen[chosen])
		chosen++;
	for (i = 0; i < nr; i++)
		has_periods &= samples[i].period || events[samples[i].event].class != chosen;
	for (i = 0; i < nr_events; i++) {
		struct perf_event *e = &events[i];

		e->used = e->nr && chosen < PERF_OTHER && e->class == chosen;
		if (!e->used || (chosen <= PERF_TASK_CLOCK && has_periods))
			continue;
		if (e->freq_hz)
			e->sample_ns = min_t(uint64_t, 1000000000 / e->freq_hz, UINT32_MAX) ?: 1;
		guess |= e->guessed = !e->freq_hz;
	}
	if (!guess)
		return 0;
	err = perf_samples__distance(events, samples, nr, &distance_ns);
	for (i = 0; i < nr_events; i++)
		if (events[i].guessed)
			events[i].sample_ns = distance_ns;
	return err;
}

void perf_events__complain(const struct perf_event *events, size_t nr, const char *path,
			   struct msgs *msgs)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct perf_event *e = &events[i];
		const char *name = *e->name ? e->name : "an event that it does not name";

		if (e->used && e->guessed)
			msgs__add(msgs, "%s does not say how long a sample of %s stands for: each "
				  "counts as %.6f ms, the usual time between two samples of a "
				  "thread (perf record -e cpu-clock records it)", path, name,
				  e->sample_ns / 1e6);
		else if (e->nr && !e->used)
			msgs__add(msgs, "%s: %" PRIu64 " %s of %s left out: %s", path, e->nr,
				  PLURAL(e->nr, "sample", "samples"), name,
				  e->class == PERF_OTHER ? "not time on a CPU" :
				  "another event tells the time on CPUs");
	}
}

uint32_t perf_event__ns(const struct perf_event *e, const struct perf_sample *s)
{
	return e->sample_ns ?: min_t(uint64_t, s->period, UINT32_MAX);
}
