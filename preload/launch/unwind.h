/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - the call chain of the launching thread, from the unwind tables of its code
 *
 * Compilers leave frame pointers out and write .eh_frame in their place: for every address of a
 * function, it says where the caller's stack begins and where the return address and the saved
 * registers are. To read that takes some 200 ns a frame. So each thread remembers a rule of 8
 * bytes, all that a walk needs, for each return address that it has met. A walk over known frames
 * reads one rule and two stack words a frame, and nothing else: no lock, no allocation, no system
 * call. It ends where it meets the last walk; from there outwards it compares the words that the
 * last walk has read.
 *
 * Code is found by objects.h: with a glibc from 2.35 on, that takes no lock and may be called from a
 * signal handler; so may everything here but unwind__init(). libunwind is not used:
 * its frame cache does not notice that a library was unloaded and another library was loaded at its
 * address, and on a cache miss it takes locks, the dynamic loader's among them.
 *
 * Whatever the tables say, memory is read only if it is known to be readable.
 */
#ifndef XPU_PRELOAD_UNWIND_H
#define XPU_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_slot.h"

struct unwinder;	/* a thread's rules, and room for its chains */

/*
 * All input of a walk. While the input is unchanged, the chain is, too; and because all addresses
 * are known beforehand, comparing takes a fraction of a walk's time.
 */
struct unwind_trace {
	uint64_t generation;		/* of the rules */
	uint64_t sp, bp;		/* where the walk began */
	uint64_t top;			/* the end of the highest word */
	uint32_t nr;			/* number of words that were read, but for those of outer */
	bool bp_matters;
	uint16_t nr_outer;		/* so many of the outermost words of ... */
	const struct unwind_trace *outer;	/* ... this trace belong here, too */
	uint64_t words[];		/* values, innermost first; then their offsets from sp in
					 * words, of 16 bits */
};

/* The first word by which a stack differs from a trace: its address, and its value. */
struct unwind_miss {
	uint64_t where, value;
};

/*
 * Return: another trace to compare with, of a chain that had that word where an earlier one differed; or
 * NULL. The first question is for a stack pointer, with @where 0, if there was no trace.
 */
typedef const struct unwind_trace *(*unwind_other_fn)(void *ctx, const struct unwind_miss *miss);

#define UNWIND_LEVELS	4	/* launches in progress at once on one thread, by signal handlers */

/*
 * Decides, from the environment and the C library's functions, whether chains are unwound here. To
 * be called before any launch is tagged; only the first call does anything.
 *
 *   XPUSHIM_CALL_GRAPH=auto|fp|dwarf	dwarf: here; fp: by the BPF program, along frame pointers;
 *					auto, the default: dwarf where that is possible
 *   XPUSHIM_MAX_FRAMES=N		XPU_DEFAULT_FRAMES without it, at most XPU_MAX_FRAMES
 */
void unwind__init(void);

/*
 * Return: one line for the user if the choice is not what the user asked for or expects, with
 * *@level set to its XPU_MESSAGE_*; or NULL.
 */
const char *unwind__message(int *level);

/*
 * Return: the bytes of a struct unwinder, for which the caller maps pages; 0 if chains are not
 * unwound here.
 */
size_t unwinder__bytes(void);

/**
 * unwinder__chain - find the return addresses of the calling thread, innermost first
 * @u: the calling thread's, unwinder__bytes() of memory, zero before its first use
 * @level: how many launches of this thread this one interrupts; each has room of its own
 * @slot: gets frames, nr_frames and flags
 * @trace: of an earlier chain of the calling function, or NULL
 * @other: asked for other traces if it is not that one; or NULL
 * @ctx: for @other
 *
 * Return: true if the chain is that of the trace, or the last that @other told; then nothing else is set.
 *
 * The caller's own frame is left out. The address of an instruction that a signal interrupted,
 * which is no return address, is given plus one: subtract one from every address to look up its
 * symbol. XPU_CHAIN_TRUNCATED is set if the chain goes on behind its last frame, because it is too
 * deep or because code cannot be unwound. Without any frame, nr_frames is 0.
 */
bool unwinder__chain(struct unwinder *u, unsigned int level, struct xpu_slot *slot,
		     const struct unwind_trace *trace, unwind_other_fn other, void *ctx);

/**
 * unwind_trace__share - leave a trace's outer words to another trace that has them, too
 * @trace: holds just now, and is whole; cut down where it is
 * @outer: whole. As long as it is neither changed nor freed, @trace demands what it did before
 *
 * Return: whether that pays; if not, nothing is changed.
 */
bool unwind_trace__share(struct unwind_trace *trace, const struct unwind_trace *outer);

/*
 * Return: the bytes of the trace of the last chain at level 0; 0 if the chain depends on more than
 * a trace can hold.
 */
size_t unwinder__trace_bytes(const struct unwinder *u);

/*
 * Return: a key of the last chain's trace. Equal traces have equal keys; different traces may, too.
 */
uint64_t unwinder__trace_key(const struct unwinder *u);

/* Return: the generation of that trace. */
uint64_t unwinder__generation(const struct unwinder *u);

/* Writes the trace of the last chain at level 0 to @trace. */
void unwinder__trace(const struct unwinder *u, struct unwind_trace *trace);

/*
 * Return: for each frame of the last chain at @level, the stack pointer of its function after the
 * return. So the function's own part of the stack is from there to the next frame's value.
 */
const uint64_t *unwinder__stack(const struct unwinder *u, unsigned int level);

#endif /* XPU_PRELOAD_UNWIND_H */
