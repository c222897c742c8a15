// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/event_packer.h"

#include <stdlib.h>
#include <string.h>

#include "record/writer.h"

#define MAX_LAUNCHES	4096		/* launches in one record: 64 KiB */
#define MAX_SAMPLES	1024		/* samples in one record: 20 KiB */
#define MAX_RANGES	1024		/* range events in one record: 16 KiB */
#define MAX_ALLOCS	1024		/* memory events in one record: 48 KiB */

/* The events of one record. Their timestamps are differences from the record's timestamp. */
struct pack {
	uint64_t base_ns;
	uint32_t nr;
};

struct event_packer {
	struct writer *writer;
	uint32_t sample_period_ns;

	struct pack launches;
	bool in_ranges;			/* some launches are in an NVTX range */
	struct xpu_launch launch[MAX_LAUNCHES];
	uint32_t launch_range[MAX_LAUNCHES];

	struct pack ranges;
	struct xpu_range_event range[MAX_RANGES];

	struct pack samples;
	bool has_ran;			/* for some samples, the thread's CPU time is known */
	struct xpu_sample sample[MAX_SAMPLES];
	uint32_t ran_ns[MAX_SAMPLES];

	struct pack allocs;
	uint32_t alloc_proc_id;
	uint64_t alloc_order;
	struct xpu_alloc alloc[MAX_ALLOCS];
};

struct event_packer *event_packer__new(struct writer *w, uint32_t sample_period_ns)
{
	struct event_packer *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->writer = w;
	e->sample_period_ns = sample_period_ns;
	return e;
}

void event_packer__free(struct event_packer *e)
{
	free(e);
}

static void event_packer__flush_launches(struct event_packer *e)
{
	size_t bytes = e->launches.nr * sizeof(e->launch[0]);
	size_t range_bytes = e->in_ranges ? e->launches.nr * sizeof(e->launch_range[0]) : 0;
	size_t size = (sizeof(struct xpu_record_launches) + bytes + range_bytes + 7) & ~(size_t)7;
	struct xpu_record_launches *r;

	if (!e->launches.nr)
		return;
	r = writer__reserve(e->writer, size);
	if (r) {
		*r = (struct xpu_record_launches){
			.hdr = { XPU_RECORD_LAUNCHES, e->in_ranges ? XPU_MISC_LAUNCHES_RANGES : 0,
				 size },
			.time_ns = e->launches.base_ns,
			.nr = e->launches.nr,
		};
		memcpy(r->launches, e->launch, bytes);
		/* Range ids have 4 bytes, so half of the last 8 bytes may be unused. */
		memset((char *)r + size - 8, 0, range_bytes ? 8 : 0);
		memcpy(r->launches + e->launches.nr, e->launch_range, range_bytes);
	}
	e->launches.nr = 0;
	e->in_ranges = false;
}

static void event_packer__flush_ranges(struct event_packer *e)
{
	size_t bytes = e->ranges.nr * sizeof(e->range[0]);
	struct xpu_record_ranges *r;

	if (!e->ranges.nr)
		return;
	r = writer__reserve(e->writer, sizeof(*r) + bytes);
	if (r) {
		*r = (struct xpu_record_ranges){
			.hdr = { XPU_RECORD_RANGES, 0, sizeof(*r) + bytes },
			.time_ns = e->ranges.base_ns,
			.nr = e->ranges.nr,
		};
		memcpy(r->events, e->range, bytes);
	}
	e->ranges.nr = 0;
}

static void event_packer__flush_samples(struct event_packer *e)
{
	size_t bytes = e->samples.nr * sizeof(e->sample[0]);
	size_t ran_bytes = e->has_ran ? e->samples.nr * sizeof(e->ran_ns[0]) : 0;
	size_t size = (sizeof(struct xpu_record_samples) + bytes + ran_bytes + 7) & ~(size_t)7;
	struct xpu_record_samples *r;

	if (!e->samples.nr)
		return;
	r = writer__reserve(e->writer, size);
	if (r) {
		*r = (struct xpu_record_samples){
			.hdr = { XPU_RECORD_SAMPLES, e->has_ran ? XPU_MISC_SAMPLES_RAN : 0, size },
			.time_ns = e->samples.base_ns,
			.nr = e->samples.nr,
			.period_ns = e->sample_period_ns,
		};
		memcpy(r->samples, e->sample, bytes);
		/* Half of the last 8 bytes may be unused. */
		memset((char *)r + size - 8, 0, ran_bytes ? 8 : 0);
		memcpy(r->samples + e->samples.nr, e->ran_ns, ran_bytes);
	}
	e->samples.nr = 0;
	e->has_ran = false;
}

static void event_packer__flush_allocs(struct event_packer *e)
{
	size_t bytes = e->allocs.nr * sizeof(e->alloc[0]);
	struct xpu_record_allocs *r;

	if (!e->allocs.nr)
		return;
	r = writer__reserve(e->writer, sizeof(*r) + bytes);
	if (r) {
		*r = (struct xpu_record_allocs){
			.hdr = { XPU_RECORD_ALLOCS, 0, sizeof(*r) + bytes },
			.time_ns = e->allocs.base_ns,
			.order = e->alloc_order,
			.proc_id = e->alloc_proc_id,
			.nr = e->allocs.nr,
		};
		memcpy(r->events, e->alloc, bytes);
	}
	e->allocs.nr = 0;
}

void event_packer__flush(struct event_packer *e)
{
	event_packer__flush_launches(e);
	event_packer__flush_ranges(e);
	event_packer__flush_samples(e);
	event_packer__flush_allocs(e);
}

/*
 * Makes room for an event. Calls @flush if @pack is full, or if the event's timestamp is too far
 * from the record's timestamp. Return: the event's delta_ns.
 */
static int32_t event_packer__place(struct event_packer *e, struct pack *pack, uint32_t max,
				   uint64_t time_ns, void (*flush)(struct event_packer *e))
{
	int64_t delta = time_ns - pack->base_ns;

	if (pack->nr == max || delta > INT32_MAX || delta < INT32_MIN)
		flush(e);
	if (pack->nr)
		return delta;
	pack->base_ns = time_ns;
	return 0;
}

void event_packer__add_launch(struct event_packer *e, uint64_t time_ns, struct xpu_launch launch,
			      uint32_t range_id)
{
	launch.delta_ns = event_packer__place(e, &e->launches, MAX_LAUNCHES, time_ns,
					      event_packer__flush_launches);
	e->in_ranges |= range_id != 0;
	e->launch_range[e->launches.nr] = range_id;
	e->launch[e->launches.nr++] = launch;
}

void event_packer__add_range(struct event_packer *e, uint64_t time_ns, struct xpu_range_event range)
{
	range.delta_ns =
		event_packer__place(e, &e->ranges, MAX_RANGES, time_ns, event_packer__flush_ranges);
	e->range[e->ranges.nr++] = range;
}

void event_packer__add_sample(struct event_packer *e, uint64_t time_ns, struct xpu_sample sample,
			      uint32_t ran_ns)
{
	sample.delta_ns = event_packer__place(e, &e->samples, MAX_SAMPLES, time_ns,
					      event_packer__flush_samples);
	e->has_ran |= ran_ns != 0;
	e->ran_ns[e->samples.nr] = ran_ns ?: e->sample_period_ns;
	e->sample[e->samples.nr++] = sample;
}

void event_packer__add_alloc(struct event_packer *e, uint32_t proc_id, uint64_t time_ns,
			     uint64_t order, struct xpu_alloc alloc)
{
	int64_t delta = order - e->alloc_order;

	if (e->alloc_proc_id != proc_id || delta > INT32_MAX || delta < INT32_MIN)
		event_packer__flush_allocs(e);
	alloc.delta_ns =
		event_packer__place(e, &e->allocs, MAX_ALLOCS, time_ns, event_packer__flush_allocs);
	if (!e->allocs.nr) {
		e->alloc_proc_id = proc_id;
		e->alloc_order = order;
	}
	alloc.delta_order = order - e->alloc_order;
	e->alloc[e->allocs.nr++] = alloc;
}
