/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - the call chain of the launching thread, from the unwind tables of its code
 *
 * Compilers leave frame pointers out and write .eh_frame in their place: for every address of a
 * function, where its caller's stack begins and where the return address and the saved registers
 * are. Reading that takes some 200 ns a frame, so each thread remembers, for the return addresses
 * it has met, the little that a walk needs: a rule of 8 bytes. A walk over known frames reads one
 * rule and two stack words a frame, and nothing else: no lock, no allocation, no system call. It
 * ends where it meets the last walk: outside of there it compares the words that that one has read.
 *
 * Code is found with the C library's _dl_find_object() (glibc 2.35), which takes no lock and may be
 * called from a signal handler; so may everything here but unwind__init(). libunwind is not used:
 * its frame cache does not notice that a library was unloaded and another one sits at the same
 * address, and what it does on a miss takes locks, among them the dynamic loader's.
 *
 * Memory that is read is known to be readable before it is read, whatever the tables say.
 */
#ifndef XPU_PRELOAD_UNWIND_H
#define XPU_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_slot.h"

struct unwinder;	/* of one thread: its rules, and room for its chains */

/*
 * All that a walk was made from. While that is the same, so is the chain, and since all addresses
 * are known beforehand, comparing takes a fraction of the time of walking.
 */
struct unwind_trace {
	uint64_t generation;		/* of the rules */
	uint64_t sp, bp;		/* where the walk began */
	uint64_t top;			/* the end of the highest word */
	uint32_t nr;			/* of words that were read */
	bool bp_matters;
	uint64_t words[];		/* innermost first; then how many words from sp, 16 bits */
};

#define UNWIND_LEVELS	4	/* launches in progress at once on one thread, by signal handlers */

/*
 * Decides from the environment and from what the C library offers whether chains are unwound here.
 * Before any launch is tagged; only its first call does anything.
 *
 *   XPUSHIM_CALL_GRAPH=auto|fp|dwarf	dwarf: here; fp: by the BPF program, along frame pointers;
 *					auto, the default: dwarf where that is possible
 *   XPUSHIM_MAX_FRAMES=N		XPU_DEFAULT_FRAMES without it, at most XPU_MAX_FRAMES
 */
void unwind__init(void);

/* One line for the user when it is not as they want or expect, with its XPU_MESSAGE_*; or NULL. */
const char *unwind__message(int *level);

/* What a struct unwinder takes, in pages of the caller's; 0 when nothing is unwound here. */
size_t unwinder__bytes(void);

/**
 * unwinder__chain - the return addresses of the calling thread, innermost first
 * @u: the calling thread's, unwinder__bytes() of memory, zero before its first use
 * @level: how many launches of this thread this one interrupts; each has room of its own
 * @slot: gets frames, nr_frames and flags
 * @trace: of an earlier chain of the same caller's, or NULL
 *
 * Return: true if the chain is the one that @trace is of; nothing else is set then.
 *
 * The caller's own frame is left out. An address that is not a return address, that of an
 * instruction which a signal interrupted, is given plus one: take one from any for the symbol.
 * XPU_CHAIN_TRUNCATED is set when the chain goes on behind its last frame, be it too deep or
 * through code that cannot be unwound. Without any frame, nr_frames is 0.
 */
bool unwinder__chain(struct unwinder *u, unsigned int level, struct xpu_slot *slot,
		     const struct unwind_trace *trace);

/*
 * What the trace of the last chain at level 0 takes; 0 if that was made from more than it can
 * hold.
 */
size_t unwinder__trace_bytes(const struct unwinder *u);

/* Another one means another trace, though not the other way round. */
uint64_t unwinder__trace_key(const struct unwinder *u);

/* Writes it there. */
void unwinder__trace(const struct unwinder *u, struct unwind_trace *trace);

/* For each frame of the last chain at @level, the stack pointer in its function when that is
 * returned to; so what its function keeps on the stack is from there to the next frame's. */
const uint64_t *unwinder__stack(const struct unwinder *u, unsigned int level);

#endif /* XPU_PRELOAD_UNWIND_H */
