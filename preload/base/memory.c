// SPDX-License-Identifier: MIT
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/libc.h"

void *memory__map(size_t bytes)
{
	int saved_errno = errno;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved_errno;
	return p == MAP_FAILED ? NULL : p;
}

bool memory__readable(uint64_t addr)
{
	addr &= ~(PAGE - 1);
	if (addr < PAGE || addr >= USER_MAX)
		return false;
	return arch__try_sigset(addr, _NSIG / 8) != -EFAULT;
}

bool memory__readable_span(uint64_t from, uint64_t to)
{
	for (from &= ~(PAGE - 1); from < to; from += PAGE)
		if (!memory__readable(from))
			return false;
	return true;
}

/*
 * Return: the end of the calling thread's stack. The C library keeps its per-thread data at the top
 * of the stack, and an unreadable page below the stack.
 */
uint64_t memory__own_stack_end(uint64_t sp)
{
	uint64_t end = getpid() == libc__tid() ? (uintptr_t)__libc_stack_end :
					      (uintptr_t)__builtin_thread_pointer();

	if (end - sp >= STACK_MAX || !memory__readable_span(sp, end))
		return 0;
	return (end + PAGE) & ~(PAGE - 1);
}

struct readable *readables__add(struct readables *spans, uint64_t addr)
{
	struct readable *s;
	uint64_t end;
	size_t i;

	if (addr >= USER_MAX - 8 || !memory__readable_span(addr, addr + 8))
		return NULL;
	for (i = 0; i < NR_SPANS; i++) {
		s = &spans->v[i];
		if (addr < s->lo && s->lo - addr < STACK_MAX &&
		    memory__readable_span(addr, s->lo)) {
			s->lo = addr & ~(PAGE - 1);
			return s;
		}
	}
	end = memory__own_stack_end(addr);
	s = &spans->v[spans->next++ % NR_SPANS];
	s->lo = addr & ~(PAGE - 1);
	s->hi = end ? end : (addr + 8 + PAGE - 1) & ~(PAGE - 1);
	s->own = end;
	s->closed = false;
	return s;
}

bool readable__extend(struct readable *s, uint64_t addr)
{
	if (s->closed || addr < s->lo || addr - s->lo > STACK_MAX)
		return false;
	while (addr + 8 > s->hi) {
		if (!memory__readable(s->hi)) {
			s->closed = s->own;
			return false;
		}
		s->hi += PAGE;
	}
	return true;
}
