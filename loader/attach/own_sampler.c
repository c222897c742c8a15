// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/own_sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arch.h"

/*
 * Pages of a ring, a power of two. If the invoker may not lock the largest ring, smaller rings are
 * tried. perf_event_mlock_kb allows two of the smallest rings on each CPU.
 */
#define RING_PAGES	1024
#define FEW_RING_PAGES	64
#define MAX_STACK	(24u << 10)	/* so that several samples fit into a small ring */
#define MAX_EVENT	(UINT16_MAX + 1)

static const uint8_t regs[XPU_NR_REGS] = { ARCH_PERF_REGS };

struct own_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct own_sampler {
	int epoll_fd;
	int nr_rings;
	struct own_ring *rings;
	size_t ring_pages;
	bool copies;			/* samples copy the stack; false: they follow frame
					 * pointers */
	uint64_t nr_taken, nr_lost;
	uint8_t event[MAX_EVENT] __attribute__((aligned(8)));	/* copy of an event that wraps
								 * around the ring's end */
	uint8_t sample[sizeof(struct xpu_ring_sample) + MAX_EVENT] __attribute__((aligned(8)));
};

/* A sample: the fixed members, then words that depend on the kind of sample. */
struct sample_event {
	struct perf_event_header hdr;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t words[];
};

static size_t page_bytes(void)
{
	return sysconf(_SC_PAGESIZE);
}

static uint64_t regs_mask(void)
{
	uint64_t mask = 0;
	int i;

	for (i = 0; i < XPU_NR_REGS; i++)
		mask |= 1ull << regs[i];
	return mask;
}

static int open_event(pid_t pid, int cpu, uint64_t period_ns, uint32_t stack_bytes, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			(stack_bytes ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER :
				       PERF_SAMPLE_CALLCHAIN),
		.sample_regs_user = stack_bytes ? regs_mask() : 0,
		.sample_stack_user = stack_bytes,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.exclude_kernel = !kernel,
		.exclude_callchain_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = FEW_RING_PAGES * page_bytes() / 2,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int own_ring__open(struct own_sampler *s, pid_t pid, int cpu, uint64_t period_ns,
			  uint32_t stack_bytes)
{
	struct own_ring *ring = &s->rings[s->nr_rings];
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	ring->fd = open_event(pid, cpu, period_ns, stack_bytes, true);
	if (ring->fd < 0 && errno == EACCES)	/* perf_event_paranoid is 2 or more */
		ring->fd = open_event(pid, cpu, period_ns, stack_bytes, false);
	if (ring->fd < 0)
		return errno == ENODEV ? 0 : -errno;	/* an offline CPU */
	ring->page = mmap(NULL, (s->ring_pages + 1) * page_bytes(), PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		err = -errno;
		close(ring->fd);
		return err;
	}
	s->nr_rings++;
	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring->fd, &ev) ? -errno : 0;
}

static void close_rings(struct own_sampler *s)
{
	for (; s->nr_rings; s->nr_rings--) {
		munmap(s->rings[s->nr_rings - 1].page, (s->ring_pages + 1) * page_bytes());
		close(s->rings[s->nr_rings - 1].fd);
	}
}

int own_sampler__open(pid_t pid, uint64_t period_ns, uint32_t stack_bytes,
		      struct own_sampler **sp)
{
	int nr_cpus = sysconf(_SC_NPROCESSORS_CONF), cpu, err = 0;
	struct own_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->copies = stack_bytes;
	s->rings = calloc(nr_cpus, sizeof(*s->rings));
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!s->rings || s->epoll_fd < 0)
		err = -ENOMEM;
	if (stack_bytes > MAX_STACK)
		stack_bytes = MAX_STACK;
	s->ring_pages = RING_PAGES;
	for (cpu = 0; cpu < nr_cpus && !err; cpu++) {
		err = own_ring__open(s, pid, cpu, period_ns, stack_bytes);
		if (err != -EPERM || s->ring_pages == FEW_RING_PAGES)
			continue;
		close_rings(s);
		s->ring_pages /= 4;
		err = 0;
		cpu = -1;		/* start over with smaller rings */
	}
	if (err) {
		own_sampler__close(s);
		return err;
	}
	*sp = s;
	return 0;
}

void own_sampler__close(struct own_sampler *s)
{
	if (!s)
		return;
	close_rings(s);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s->rings);
	free(s);
}

int own_sampler__fd(const struct own_sampler *s)
{
	return s->epoll_fd;
}

uint64_t own_sampler__nr_taken(const struct own_sampler *s)
{
	return s->nr_taken;
}

uint64_t own_sampler__nr_lost(const struct own_sampler *s)
{
	return s->nr_lost;
}

/*
 * Makes a sample with registers and a stack copy. The words are: ABI, registers, size, stack,
 * copied size. Return: the sample's bytes.
 */
static size_t take_copies(const struct sample_event *e, size_t nr_words, struct xpu_ring_sample *r)
{
	const uint64_t *w = e->words, *values = w + 1;
	uint64_t mask = regs_mask(), bytes, copied;
	size_t nr_regs = w[0] ? XPU_NR_REGS : 0, at = 1 + nr_regs;
	int i;

	if (!nr_regs || at >= nr_words)
		return 0;
	bytes = w[at];
	if (bytes / 8 > nr_words - at - 1)
		return 0;
	copied = bytes && bytes / 8 + 1 <= nr_words - at - 1 ? w[at + 1 + bytes / 8] : 0;
	if (copied > bytes)
		copied = bytes;
	r->flags = XPU_CHAIN_CPU | XPU_CHAIN_STACK;
	/*
	 * Linux sorts the requested registers by number, so a register's index is the number of
	 * requested registers below it.
	 */
	for (i = 0; i < XPU_NR_REGS; i++)
		r->frames[i] = values[__builtin_popcountll(mask & ((1ull << regs[i]) - 1))];
	r->stack_bytes = copied & ~7ull;
	memcpy(&r->frames[XPU_NR_REGS], &w[at + 1], r->stack_bytes);
	return sizeof(*r) + XPU_NR_REGS * sizeof(__u64) + r->stack_bytes;
}

/*
 * Makes a sample with a call chain, without the markers (PERF_CONTEXT_*) between the chain's parts.
 * Return: the sample's bytes.
 */
static size_t take_chain(const struct sample_event *e, size_t nr_words, struct xpu_ring_sample *r)
{
	uint64_t nr = nr_words ? e->words[0] : 0, i;

	for (i = 1; i <= nr && i < nr_words && r->nr_frames < XPU_DEFAULT_FRAMES; i++)
		if (e->words[i] < (uint64_t)PERF_CONTEXT_MAX)
			r->frames[r->nr_frames++] = e->words[i];
	r->flags = XPU_CHAIN_CPU | (r->nr_frames ? 0 : XPU_CHAIN_FAILED);
	return sizeof(*r) + r->nr_frames * sizeof(__u64);
}

static void take(struct own_sampler *s, const struct sample_event *e, own_sample_fn fn, void *ctx)
{
	struct xpu_ring_sample *r = (struct xpu_ring_sample *)s->sample;
	size_t nr_words = (e->hdr.size - sizeof(*e)) / sizeof(uint64_t), size;

	*r = (struct xpu_ring_sample){
		.time_ns = e->time_ns,
		.tid = e->tid,
		.cpu = e->cpu,
	};
	size = s->copies ? take_copies(e, nr_words, r) : take_chain(e, nr_words, r);
	s->nr_taken++;
	if (!size) {			/* a 32-bit program, or a process that is ending */
		r->flags = XPU_CHAIN_CPU | XPU_CHAIN_FAILED;
		size = sizeof(*r);
	}
	r->hdr.type = XPU_RECORD_SAMPLE;
	r->hdr.size = size;
	fn(ctx, e->pid, r, size);
}

/* Return: the event at @tail, in one piece. */
static const struct perf_event_header *next(struct own_sampler *s, const struct own_ring *ring,
					    uint64_t tail)
{
	const uint8_t *data = (const uint8_t *)ring->page + page_bytes();
	size_t size = s->ring_pages * page_bytes(), at = tail % size, room = size - at;
	const struct perf_event_header *hdr = (const void *)(data + at);	/* never split */

	if (hdr->size <= room)
		return hdr;
	memcpy(s->event, hdr, room);
	memcpy(s->event + room, data, hdr->size - room);
	return (const void *)s->event;
}

static void own_ring__drain(struct own_sampler *s, struct own_ring *ring, uint64_t until_ns,
			    own_sample_fn fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	const struct perf_event_header *hdr;

	for (; tail < head; tail += hdr->size) {
		hdr = next(s, ring, tail);
		if (hdr->type == PERF_RECORD_SAMPLE && hdr->size >= sizeof(struct sample_event)) {
			if (((const struct sample_event *)hdr)->time_ns >= until_ns)
				break;
			take(s, (const struct sample_event *)hdr, fn, ctx);
		} else if (hdr->type == PERF_RECORD_LOST) {
			/* The header is followed by an id and the number of lost samples. */
			s->nr_lost += ((const uint64_t *)hdr)[2];
			s->nr_taken += ((const uint64_t *)hdr)[2];
		}
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

void own_sampler__drain(struct own_sampler *s, uint64_t until_ns, own_sample_fn fn, void *ctx)
{
	int i;

	for (i = 0; i < s->nr_rings; i++)
		own_ring__drain(s, &s->rings[i], until_ns, fn, ctx);
}
