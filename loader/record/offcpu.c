// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/offcpu.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "record/chains.h"
#include "record/processes.h"
#include "record/recorder_parts.h"
#include "record/samples.h"
#include "record/threads.h"
#include "record/writer.h"

#define NO_PATH	(1ull << 32)		/* in place of an id, if memory was short */

struct offcpu {
	struct recorder_parts parts;
	struct samples *samples;
};

struct offcpu *offcpu__new(const struct recorder_parts *parts, struct samples *samples)
{
	struct offcpu *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->parts = *parts;
	o->samples = samples;
	return o;
}

void offcpu__free(struct offcpu *o)
{
	free(o);
}

/* Return: the key of a stack, from the BPF programs' hash. */
static struct numbers_key stack_key(const __u64 *hash)
{
	return (struct numbers_key){ hash[0], hash[1] };
}

/* Return: the id of a blocked thread's stack; 0 if the stack is unknown. */
static uint32_t process__off_path(const struct process *p, const __u64 *hash)
{
	const uint64_t *path_id = process__find(p, MAP_OFF_STACKS, stack_key(hash));

	return path_id && *path_id != NO_PATH ? *path_id : 0;
}

void offcpu__take_stack(struct offcpu *o, const struct xpu_ring_off_stack *stack, size_t size)
{
	const struct chain chain = {
		.proc_id = stack->proc_id, .flags = stack->flags & ~XPU_CHAIN_STACK,
		.nr_frames = stack->nr_frames,
	};
	size_t bytes = sizeof(*stack) + stack->nr_frames * sizeof(stack->frames[0]);
	struct process *p = processes__get(o->parts.processes, stack->proc_id);
	bool copied = stack->flags & XPU_CHAIN_STACK, own;
	uint32_t thread_id, path_id;
	int err = 0;

	if (copied)
		bytes += samples__copy_bytes(stack->nr_python, stack->stack_bytes);
	if (stack->nr_frames > XPU_MAX_FRAMES || stack->stack_bytes > XPU_STACK_MAX ||
	    stack->nr_python > XPU_MAX_PYTHON || size < bytes)
		return;
	if (!p || process__off_path(p, stack->hash))
		return;			/* the process is unknown, or the stack is already known */
	/* Reserve an entry in the map first, so that the limit applies. */
	if (!process__find(p, MAP_OFF_STACKS, stack_key(stack->hash)))
		err = processes__add(o->parts.processes, p, MAP_OFF_STACKS,
				     stack_key(stack->hash), NO_PATH);
	p->nr_beyond += !!err;
	if (err)
		return;
	/*
	 * Add a copied stack without a search, because stacks with equal frames may have different
	 * copies.
	 */
	own = copied && (!stack->nr_frames ||
			 XPU_FRAME_IS_KERNEL(stack->frames[stack->nr_frames - 1]));
	path_id = own ?
		chains__add(o->parts.chains, p, &chain, stack->frames, stack->time_ns, false) :
		chains__id(o->parts.chains, p, &chain, stack->frames, stack->time_ns, false);
	if (path_id)
		*process__find(p, MAP_OFF_STACKS, stack_key(stack->hash)) = path_id;
	thread_id = threads__id(o->parts.threads, p, stack->tid);
	p->nr_beyond += !path_id || (copied && !thread_id);
	if (copied && path_id && thread_id)
		samples__take_off_stack(o->samples, stack, thread_id, path_id);
}

void offcpu__take_sum(struct offcpu *o, const struct xpu_ring_off *off)
{
	struct process *p = processes__get(o->parts.processes, off->proc_id);
	uint32_t thread_id = p ? threads__id(o->parts.threads, p, off->tid) : 0;
	struct xpu_record_off_cpu *r = writer__reserve(o->parts.writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_off_cpu){
			.hdr = { XPU_RECORD_OFF_CPU, off->hdr.misc, sizeof(*r) },
			.last_ns = off->last_ns,
			.nr = off->nr,
			.sum_ns = off->sum_ns,
			.max_ns = off->max_ns,
			.path_id = p ? process__off_path(p, off->hash) : 0,
			.thread_id = thread_id,
			.first_ns = off->first_ns,
			.end_ns = off->end_ns,
		};
}

void offcpu__take_account(struct offcpu *o, const struct xpu_ring_account *account)
{
	struct process *p = processes__get(o->parts.processes, account->proc_id);
	uint32_t thread_id = p ? threads__id(o->parts.threads, p, account->tid) : 0;
	struct xpu_record_account *r = writer__reserve(o->parts.writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_account){
			.hdr = { XPU_RECORD_ACCOUNT, 0, sizeof(*r) },
			.start_ns = account->start_ns,
			.end_ns = account->end_ns,
			.thread_id = thread_id,
			.time = account->time,
		};
}

static void offcpu__take_state(struct offcpu *o, const struct xpu_thread_state *t,
			       const struct xpu_off_sum *sum)
{
	if (sum->nr && sum->sum_ns && sum->kind < XPU_OFF_CALL)
		offcpu__take_sum(o, &(struct xpu_ring_off){
			.hdr.misc = sum->kind,
			.first_ns = sum->first_ns,
			.last_ns = sum->last_ns,
			.end_ns = sum->end_ns,
			.nr = sum->nr,
			.sum_ns = sum->sum_ns,
			.max_ns = sum->max_ns,
			.hash = { sum->hash[0], sum->hash[1] },
			.proc_id = t->proc_id,
			.tid = t->tid,
		});
}

/* Adds an interval in which @t was off the CPU because of @kind. */
static void offcpu__take_part(struct offcpu *o, const struct xpu_thread_state *t, uint32_t kind,
			      uint64_t start_ns, uint64_t end_ns)
{
	offcpu__take_state(o, t, &(struct xpu_off_sum){
		.hash = { t->hash[0], t->hash[1] }, .first_ns = start_ns, .last_ns = start_ns,
		.end_ns = end_ns, .sum_ns = end_ns - start_ns, .max_ns = end_ns - start_ns,
		.kind = kind, .nr = 1,
	});
}

void offcpu__take_living(struct offcpu *o, const struct xpu_thread_state *living, uint64_t end_ns)
{
	struct xpu_thread_state t = *living;
	struct xpu_off_time off;
	int i;

	for (i = 0; i < XPU_OFF_SUMS; i++)
		offcpu__take_state(o, &t, &t.sums[i]);
	/* End the thread's current state now, as if the state changed. */
	if (t.state == XPU_THREAD_RUNNING) {
		xpu_thread__ran(&t, end_ns);
	} else {
		off = xpu_thread__begin(&t, end_ns);
		offcpu__take_part(o, &t, t.kind, off.start_ns, off.woken_ns);
		if (t.kind != XPU_OFF_CALL)
			offcpu__take_part(o, &t, XPU_OFF_RUNNABLE, off.woken_ns, off.end_ns);
	}
	offcpu__take_account(o, &(struct xpu_ring_account){
		.start_ns = t.start_ns,
		.end_ns = t.since_ns,
		.proc_id = t.proc_id,
		.tid = t.tid,
		.time = t.time,
	});
}
