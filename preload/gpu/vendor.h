/* SPDX-License-Identifier: MIT */
/*
 * vendor.h - the interface between the shim and a vendor, which traces one kind of GPU
 *
 * A vendor is a folder of gpu/ with one struct vendor. It calls life__used() when the program first
 * uses its runtime. After that, the shim calls the functions below, on its own thread or under
 * capture__lock(), never inside a launch. The vendor reports through these headers:
 *
 *	launch/launch.h		calls that launch, wait, or make and free memory; graph nodes
 *	launch/clones.h		copies of graph nodes
 *	launch/allocs.h		numbers of memory events; memory that the runtime takes on its own
 *	wire/work.h		device work, its streams and devices
 *	wire/sender.h		messages, names of functions
 *	life/life.h		the runtime is used
 *	life/states.h		the vendor has to let go, or may come back
 *
 * The vendor's API has a number, defined by a line of ENUM(xpu_api) in records.def. The number is
 * part of each domain (see XPU_WITH_API()), and is passed along with device work and with the
 * definitions of devices and streams. The vendor chooses the ids of launches, graph nodes, contexts
 * and streams, which need to be unique only within the vendor.
 */
#ifndef XPU_PRELOAD_VENDOR_H
#define XPU_PRELOAD_VENDOR_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/calls.h"

enum gpu_state {
	GPU_DORMANT,			/* reports nothing; may be opened again */
	GPU_AWAKE,
	GPU_FAILED,			/* cannot report, and has said why */
};

struct gpu_wants {
	bool windows;			/* record only in windows: see capture.h */
	bool only_memory;		/* record neither launches nor device work */
};

/* Functions are required unless their comments say "may be NULL". */
struct vendor {
	const char *name;
	unsigned int api;		/* enum xpu_api */

	/* ---- coming and going ---- */

	/* Whether open() can succeed now; called several times a second. NULL: it always can. */
	bool (*may_open)(void);
	/*
	 * Called when nobody listens any more: messages that were sent once, such as "CUPTI is in
	 * use", must be sent again to the next listener. May be NULL.
	 */
	void (*forget_said)(void);
	/*
	 * Begins to report launches, and device work unless @wants says otherwise. Reports are
	 * ignored until launcher__enable(true).
	 */
	enum gpu_state (*open)(const struct gpu_wants *wants);
	/* Called when recording of launches has begun, if launches are wanted. May be NULL. */
	void (*begin)(void);
	/* Called when all recording has begun and the definitions were sent. May be NULL. */
	void (*has_begun)(void);
	/*
	 * Whether stop() and close() are allowed, now that nobody listens. NULL: they always are.
	 */
	bool (*may_close)(void);
	/* Ends all reports. Afterwards, device work that has ended is still taken. */
	void (*stop)(void);
	/* Lets go of the runtime, after the last work was taken. */
	void (*close)(void);
	/* Called in a forked child, in which the runtime is unusable. May be NULL. */
	void (*forked)(void);

	/* ---- what is wanted; each may be NULL ---- */

	void (*want_calls)(enum calls_wanted wanted);
	/*
	 * Starts or stops recording memory events; called before allocs__start(). @late: whether
	 * the program has already used the GPU.
	 */
	void (*want_memory)(bool on, bool late);
	/* Called when somebody begins to listen, and then several times a second. */
	void (*listened)(void);
	/*
	 * Called when nobody listens any more, but may_close() returned false. Return: whether to
	 * call states__drain_last().
	 */
	bool (*unheard)(void);
	/* Sends the vendor's definitions to a new listener. */
	void (*repeat_definitions)(void);
	/*
	 * Called when a window opens or closes. close_window() returns whether more device work
	 * will arrive.
	 */
	void (*open_window)(void);
	bool (*close_window)(void);
	/* Called when the last work of a window was taken. */
	void (*window_is_over)(void);

	/* ---- device work ---- */

	/* Makes finished work available to take(). */
	void (*flush)(void);
	/*
	 * Called when the process ends or may end: also makes unfinished and late work available.
	 */
	void (*flush_all)(void);
	/* Called several times a second; flushes if needed. */
	void (*look)(void);
	/* Return: the available work, for pack(); or NULL. Called before launches are sent. */
	void *(*take)(void);
	/* Sends the taken work through wire__work(). Called under the lock of sender.h. */
	void (*pack)(void *taken);
	/* Called when the packed work was sent. @last: recording stops for now. May be NULL. */
	void (*drained)(bool any, bool last);
	/* Called without a lock after each pass of the shim's thread. May be NULL. */
	void (*after)(void);
	/* Whether more work will arrive. */
	bool (*has_more)(void);
	/* Return: a number that changes as work arrives and is packed. */
	unsigned int (*progress)(void);

	/* ---- the process's end; each may be NULL ---- */

	void (*exiting)(void);
	/* Called when nothing is left to send except messages. @heard: whether somebody listens. */
	void (*over)(bool heard);
};

#endif /* XPU_PRELOAD_VENDOR_H */
