/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - the NVTX ranges that are open on a thread
 *
 * Each thread keeps a list of its own: what it pushed and has not popped, and what it started and
 * nobody has ended. As a path, from the first to the last, that list has a number; the thread
 * remembers the paths that it has met and tells of each new one through the probe site for it. An
 * event is then an entry in the thread's log of launches (paths.h), with the number of the path
 * that is open from then on, and so the launches behind it in the log are in those ranges: by
 * order, not by time.
 *
 * A warm thread does no lock, no allocation and no system call. While nobody listens to ranges,
 * nothing of this is called.
 *
 * Before CUDA is there, no probe site may be called (see XPU_SITE_EARLY): events wait in the thread
 * until it has a log. What was opened while nobody listened is not known, and its end is ignored.
 *
 * Dropped, and counted: what is opened in XPU_RANGE_DEPTH others, what a signal handler does while
 * it interrupts a launch or one of these functions, events before CUDA that are too many or whose
 * thread has ended by then. Events for which there is no room in the log, because another thread is
 * sending it, wait in the thread as well; which ranges a launch is in is told in any case.
 */
#ifndef XPU_PRELOAD_RANGES_H
#define XPU_PRELOAD_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "wire/probe.h"

enum ranges_mode {
	RANGES_WAIT,			/* CUDA is not there yet */
	RANGES_RECORD,
	RANGES_OFF,
};

/* The shim's life: what comes is for those who listen now. */
void ranges__set_mode(enum ranges_mode mode);
extern _Atomic enum ranges_mode ranges__mode;

/* Something was opened or closed that nobody wanted to know of. */
void ranges__miss(void);

/*
 * Whether it is to be told. Listeners may leave and others come before the shim's own thread
 * notices.
 */
static inline bool ranges__wanted(void)
{
	if (__builtin_expect(probe__ranges_wanted(), 0))
		return true;
	if (__builtin_expect(atomic_load_explicit(&ranges__mode, memory_order_relaxed) != RANGES_OFF, 0))
		ranges__miss();
	return false;
}

/* Named like this; no two have the same name. They stay. NULL: no memory. */
struct domain;
struct domain *ranges__domain(const char *name);

/* A copy of @text, which stays; the same for the same text. NULL: no memory. */
const char *ranges__string(const char *text);

/* In UTF-8, cut to what fits. Return: @buf. */
const char *ranges__narrow(const wchar_t *s, char *buf, size_t size);

struct range {
	const struct domain *domain;	/* NULL: NVTX's own, without a name */
	const char *name;
	const wchar_t *wide;		/* in the place of the name, or NULL */
};

/* Return: how many of the domain were open before, on this thread; or -1. */
int ranges__push(struct range *range);
int ranges__pop(const struct domain *domain);

/* Return: what to end it by, on any thread; or 0. */
uint64_t ranges__start(struct range *range);
void ranges__end(uint64_t id);

void ranges__mark(struct range *range);

/* This thread ends: so do its ranges. Before launch__exit(), for its log hears of it. */
void ranges__exit(void);

/* The process ends: what still waits for room is dropped. */
void ranges__give_up(void);

uint64_t ranges__nr_dropped(void);

/* Around a fork: before it, and then in the parent, in the child. */
void ranges__forking(void);
void ranges__has_forked(void);
void ranges__forked(void);

#endif /* XPU_PRELOAD_RANGES_H */
