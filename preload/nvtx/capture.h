/* SPDX-License-Identifier: MIT */
/*
 * capture.h - the windows of a recording that the program itself opens and closes
 *
 * XPU_CAPTURE_ENV says what opens them: cudaProfilerStart(), an NVTX range, or the number of a
 * launch. The shim is then awake as soon as the process uses a GPU, and the vendor reports only
 * what opens and closes windows. The window opens or closes on the thread that makes such a call,
 * before the call continues. So the order of the program's calls decides which launches, of any
 * thread, are in the window.
 */
#ifndef XPU_PRELOAD_CAPTURE_H
#define XPU_PRELOAD_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct range;

/*
 * Reads XPU_CAPTURE_ENV. Only the first call does anything. Return: a message for the user that
 * says why the value cannot be used and everything is recorded; or NULL.
 */
const char *capture__init(void);

/* Whether the recording has windows. */
bool capture__is_armed(void);

/*
 * Keeps other threads from opening and closing windows, and blocks signals. The shim also takes
 * this lock when it starts or stops recording.
 */
void capture__lock(void);
void capture__unlock(void);

/*
 * Sets functions to call when a window opens and closes. The functions run on the thread that opens
 * or closes the window, under capture__lock(), and thus with signals blocked.
 */
void capture__call_at_windows(void (*opens)(void), void (*closes)(void));

/*
 * Opens the first window if it begins at once. Called under the lock when the shim becomes awake.
 * Return: whether a window is open; if so, the caller must begin it.
 */
bool capture__watch(void);

/* Whether the callbacks of launches are needed outside of windows, too. */
bool capture__counts_launches(void);

/*
 * Whether launch numbers open windows. If so, a vendor calls the next functions for each launch of
 * the calling thread; launches of signal handlers are nested in other launches.
 * capture__launch_begins() and capture__launch_is_inside() return whether the innermost launch
 * belongs to a window.
 */
bool capture__by_launches(void);
bool capture__launch_begins(void);
bool capture__launch_is_inside(void);
void capture__launch_ends(void);

/*
 * Whether the program's calls of the profiler API open windows. The next function handles such a
 * call.
 */
bool capture__by_profiler(void);
void capture__profiler(bool start);

/*
 * Whether NVTX ranges open windows: ranges that the calling thread pushes, or that the process
 * starts. capture__pushed() and capture__starts() are called before the event is recorded.
 * capture__popped(), capture__started() and capture__ended() are called after it is recorded.
 */
bool capture__watches_ranges(void);
void capture__pushed(struct range *range);
void capture__popped(const void *domain);
bool capture__starts(struct range *range);	/* if true, capture__started() must follow */
void capture__started(uint64_t id);
void capture__ended(uint64_t id);

/* Makes the lock usable in a forked child that can use CUDA, because its parent has not used it. */
void capture__has_forked(void);
/* Ends all windows in a forked child that cannot use CUDA, because its parent has used it. */
void capture__forked(void);

#endif /* XPU_PRELOAD_CAPTURE_H */
