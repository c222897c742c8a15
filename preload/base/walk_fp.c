// SPDX-License-Identifier: MIT
#include "base/walk_fp.h"

#include <stdbool.h>

#include "base/memory.h"

/* The part of the thread's own stack that is known to be readable. */
static __thread struct {
	uint64_t lo, hi;
} own __attribute__((tls_model("initial-exec")));

static bool can_read(uint64_t bp)
{
	if (bp >= own.lo && bp + 16 <= own.hi)
		return true;
	return bp < USER_MAX && memory__readable_span(bp, bp + 16);
}

__attribute__((noinline)) uint32_t walk_fp(uint64_t *frames, uint32_t max)
{
	uint64_t bp = (uintptr_t)__builtin_frame_address(0), next, end;
	uint32_t nr = 0;

	if (bp < own.lo || bp >= own.hi) {
		end = memory__own_stack_end(bp);
		if (end) {
			own.lo = bp;
			own.hi = end;
		}
	}
	while (nr < max && bp >= PAGE && !(bp % 8) && can_read(bp)) {
		next = arch__strip(load(bp + FRAME_RA_OFF));
		if (!next)
			break;
		frames[nr++] = next;
		next = load(bp);
		if (next <= bp)
			break;
		bp = next;
	}
	return nr;
}
