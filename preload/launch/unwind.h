/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - the call chain of the launching thread, from the unwind tables of its code
 *
 * Compilers omit frame pointers and write .eh_frame instead: for every address of a function, that
 * table says where the caller's stack begins and where the return address and the saved registers
 * are. Reading it takes about 200 ns a frame. So each thread remembers a rule for each return
 * address that it has met. A rule has 8 bytes, and is all that a walk needs. A walk over known
 * frames reads one rule and two stack words a frame, and nothing else: no lock, no allocation, no
 * system call. The walk stops early at a frame of the last walk if the words that the last walk
 * read from there outwards are unchanged.
 *
 * Code is found by objects.h, which takes no lock with glibc 2.35 or later. Everything here except
 * unwind__init() may be called in signal handlers. libunwind is not used: its frame cache does not
 * notice that a library was unloaded and another one loaded at its address, and on a cache miss it
 * takes locks, including the dynamic loader's lock.
 *
 * Memory is read only if it is known to be readable, whatever the tables say.
 */
#ifndef XPU_PRELOAD_UNWIND_H
#define XPU_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_slot.h"

struct unwinder;	/* a thread's rules, and room for its chains */

/*
 * The complete input of a walk. While the input is unchanged, the chain is, too. All addresses are
 * known in advance, so comparing takes a fraction of a walk's time.
 */
struct unwind_trace {
	uint64_t generation;		/* generation of the rules */
	uint64_t sp, bp;		/* where the walk began */
	uint64_t top;			/* the end of the highest word */
	uint32_t nr;			/* number of words that were read, excluding the words
					 * shared with @outer */
	bool bp_matters;
	uint16_t nr_outer;		/* number of outermost words of @outer that also belong to
					 * this trace */
	const struct unwind_trace *outer;	/* another trace, or NULL */
	uint64_t words[];		/* values, innermost first; then their 16-bit offsets from
					 * sp, in words */
};

/* The first word in which a stack differs from a trace: its address and its value. */
struct unwind_miss {
	uint64_t where, value;
};

/*
 * Return: another trace to compare with, which has the word of @miss; or NULL. If unwinder__chain()
 * had no trace at first, @miss has the stack pointer as its value, and 0 as its address.
 */
typedef const struct unwind_trace *(*unwind_other_fn)(void *ctx, const struct unwind_miss *miss);

#define UNWIND_LEVELS	4	/* maximum number of launches in progress on one thread: signal
				 * handlers may launch, too */

/*
 * Decides from the environment and the C library's functions whether chains are unwound here. Must
 * be called before any launch is tagged; only the first call does anything. The variables:
 *
 *   XPUSHIM_CALL_GRAPH=auto|fp|dwarf	dwarf: unwound here
 *					fp: walked by the BPF program, along frame pointers
 *					auto, the default: dwarf where that is possible
 *   XPUSHIM_MAX_FRAMES=N		XPU_DEFAULT_FRAMES without it, at most XPU_MAX_FRAMES
 */
void unwind__init(void);

/*
 * Return: one line for the user if the choice is not what the user asked for or expects; otherwise
 * NULL. *@level: set to the line's XPU_MESSAGE_*
 */
const char *unwind__message(int *level);

/*
 * Return: the size of a struct unwinder, for which the caller maps pages; 0 if chains are not
 * unwound here.
 */
size_t unwinder__bytes(void);

/**
 * unwinder__chain - find the return addresses of the calling thread, innermost first
 * @u: the calling thread's unwinder, unwinder__bytes() of memory, zeroed before its first use
 * @level: how many launches of this thread this launch interrupts; each level has its own room
 * @slot: its frames, nr_frames and flags are set
 * @trace: the trace of an earlier chain of the calling function, or NULL
 * @other: called to get other traces if @trace does not match; or NULL
 * @ctx: passed to @other
 *
 * Return: true if @trace or the last trace from @other matches. @slot then has no frames.
 *
 * The caller's own frame is left out. An instruction that a signal interrupted has no return
 * address, so its own address plus one is given. Therefore, subtract one from every address to look
 * up its symbol. XPU_CHAIN_TRUNCATED is set if the outermost frames are missing, because the chain
 * is too deep or code cannot be unwound. If there is no frame, nr_frames is 0.
 */
bool unwinder__chain(struct unwinder *u, unsigned int level, struct xpu_slot *slot,
		     const struct unwind_trace *trace, unwind_other_fn other, void *ctx);

/**
 * unwind_trace__share - drop those outer words of a trace that another trace has, too
 * @trace: matches the stack now, and is complete; shortened in place
 * @outer: complete. @trace is valid only while @outer is neither changed nor freed
 *
 * Return: whether enough words are shared; if not, nothing is changed.
 */
bool unwind_trace__share(struct unwind_trace *trace, const struct unwind_trace *outer);

/*
 * Return: how many bytes the trace of the last chain at level 0 takes; 0 if the chain depends on
 * more than a trace can hold.
 */
size_t unwinder__trace_bytes(const struct unwinder *u);

/*
 * Return: a key of the last chain's trace. Equal traces have equal keys; two different traces may
 * also have equal keys.
 */
uint64_t unwinder__trace_key(const struct unwinder *u);

/* Return: the generation of the last chain's trace. */
uint64_t unwinder__generation(const struct unwinder *u);

/* Writes the trace of the last chain at level 0 to @trace. */
void unwinder__trace(const struct unwinder *u, struct unwind_trace *trace);

/*
 * Return: an array with a stack pointer for each frame of the last chain at @level. The frame's
 * function has this stack pointer after the callee returns. The function's own part of the stack
 * ends at the next frame's stack pointer.
 */
const uint64_t *unwinder__stack(const struct unwinder *u, unsigned int level);

#endif /* XPU_PRELOAD_UNWIND_H */
