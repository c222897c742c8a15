// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/samples.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/chains.h"
#include "record/event_packer.h"
#include "record/processes.h"
#include "record/pycode.h"
#include "record/recorder_parts.h"
#include "record/recorder_stats.h"
#include "record/stacks.h"
#include "record/threads.h"
#include "record/writer.h"

struct samples {
	struct recorder_parts parts;
	uint32_t period_ns;
	struct pycodes *pycodes;
	struct stacks *stacks;
	uint64_t nr;			/* number of received samples */
	uint64_t nr_no_memory;
	uint64_t words[XPU_MAX_PYTHON];
};

struct samples *samples__new(const struct recorder_parts *parts, uint32_t period_ns)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->parts = *parts;
	s->period_ns = period_ns;
	s->pycodes = pycodes__new(parts->writer, parts->processes);
	s->stacks = stacks__new(parts->writer);
	if (s->pycodes && s->stacks)
		return s;
	samples__free(s);
	return NULL;
}

void samples__free(struct samples *s)
{
	if (!s)
		return;
	pycodes__free(s->pycodes);
	stacks__free(s->stacks);
	free(s);
}

void samples__end_thread(struct samples *s, uint32_t thread_id)
{
	stacks__forget(s->stacks, thread_id);
}

void samples__cut(struct samples *s)
{
	stacks__cut(s->stacks);
}

void samples__stats(const struct samples *s, struct recorder_stats *stats)
{
	stats->nr_samples = s->nr;
	stats->nr_samples_no_memory = s->nr_no_memory;
}

/* Converts Python's frames to the file's format, in s->words. Return: the number of words. */
static uint32_t samples__python_words(struct samples *s, uint32_t proc_id,
				      const struct xpu_python_frame *f, uint32_t nr_frames)
{
	struct process *p = nr_frames ? processes__get(s->parts.processes, proc_id) : NULL;
	const struct xpu_python_frame *end = p ? f + nr_frames : f;
	unsigned int nr_bad = 0;
	uint32_t nr = 0, id;

	for (; f < end; f++) {
		if (!f->code) {
			s->words[nr++] = f->where >> 56 ? 0 : f->where;
			continue;
		}
		id = pycodes__id(s->pycodes, p, f, &nr_bad);
		/* An id of 0 means unknown code. */
		s->words[nr++] = XPU_WORD_PYTHON | (f->where / 2 & 0xffffff) << 32 | id;
	}
	return nr;
}

/* Writes a stack. @python: @r->nr_python frames, followed by the registers and the stack copy */
static void samples__write_stack(struct samples *s, struct xpu_record_stack *r, uint32_t proc_id,
				 const struct xpu_python_frame *python)
{
	const __u64 *regs = (const __u64 *)(python + r->nr_python);

	memcpy(r->regs, regs, sizeof(r->regs));
	/* The blocks of the copy must not wrap around the end of the address space. */
	if (r->regs[XPU_REG_SP] > UINT64_MAX - XPU_STACK_MAX - XPU_STACK_BLOCK)
		r->bytes = 0;
	r->nr_python = samples__python_words(s, proc_id, python, r->nr_python);
	stacks__write(s->stacks, r, s->words, regs + XPU_NR_REGS);
}

void samples__take_off_stack(struct samples *s, const struct xpu_ring_off_stack *stack,
			     uint32_t thread_id, uint32_t path_id)
{
	struct xpu_record_stack r = {
		.time_ns = stack->time_ns, .path_id = path_id, .thread_id = thread_id,
		.bytes = stack->stack_bytes, .nr_python = stack->nr_python,
	};

	samples__write_stack(s, &r, stack->proc_id,
			     (const void *)(stack->frames + stack->nr_frames));
}

/*
 * Writes the CPU time of a thread since its last sample. A thread without an id was never sampled,
 * or has already ended. It gets no id here, because nothing would free the id.
 */
void samples__take_rest(struct samples *s, const struct xpu_ring_cpu_rest *rest)
{
	struct process *p = processes__get(s->parts.processes, rest->proc_id);
	uint32_t thread_id = p && rest->tid ? threads__known(p, rest->tid) : 0;
	struct xpu_record_cpu_rest *r = writer__reserve(s->parts.writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_cpu_rest){
			.hdr = { XPU_RECORD_CPU_REST, 0, sizeof(*r) },
			.from_ns = rest->from_ns,
			.end_ns = rest->end_ns,
			.ns = rest->ns,
			.proc_id = rest->proc_id,
			.thread_id = thread_id,
		};
}

void samples__take(struct samples *s, const struct xpu_ring_sample *sample, size_t size)
{
	const struct chain chain = {
		.proc_id = sample->proc_id,
		.flags = sample->flags & ~XPU_CHAIN_STACK,
		.nr_frames = sample->nr_frames,
	};
	size_t bytes = sizeof(*sample) + sample->nr_frames * sizeof(sample->frames[0]);
	bool stack = sample->flags & XPU_CHAIN_STACK, has_chain = sample->nr_frames || !stack;
	struct xpu_record_stack r;
	struct process *p;
	uint32_t thread_id, path_id = 0;

	if (stack)
		bytes += samples__copy_bytes(sample->nr_python, sample->stack_bytes);
	if (sample->nr_frames > XPU_MAX_FRAMES || sample->stack_bytes > XPU_STACK_MAX ||
	    sample->nr_python > XPU_MAX_PYTHON || size < bytes)
		return;
	s->nr++;
	p = processes__get(s->parts.processes, sample->proc_id);
	thread_id = p ? threads__id(s->parts.threads, p, sample->tid) : 0;
	if (p && has_chain)
		path_id = chains__id(s->parts.chains, p, &chain, sample->frames, sample->time_ns,
				     false);
	if (!thread_id || (has_chain && !path_id)) {
		s->nr_no_memory++;
		return;
	}
	if (!stack) {
		event_packer__add_sample(s->parts.events, sample->time_ns, (struct xpu_sample){
			.path_id = path_id, .thread_id = thread_id, .cpu = sample->cpu,
		}, sample->ran_ns);
		return;
	}
	r = (struct xpu_record_stack){
		.time_ns = sample->time_ns, .path_id = path_id, .thread_id = thread_id,
		.period_ns = sample->ran_ns ?: s->period_ns, .cpu = sample->cpu,
		.bytes = sample->stack_bytes, .nr_python = sample->nr_python,
	};
	samples__write_stack(s, &r, sample->proc_id,
			     (const void *)(sample->frames + sample->nr_frames));
}
