/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - the NVTX ranges that are open on a thread
 *
 * Each thread keeps a list of the ranges that it pushed and has not popped, and of the ranges that
 * it started and nobody has ended. That list, from first to last, is a path and has a number. The
 * thread remembers the paths that it has met, and sends each new path through a probe site. An
 * event is then an entry in the thread's log of launches (paths.h), with the number of the path
 * that is open after the event. So the log's order, not times, says which launches are in which
 * ranges.
 *
 * A warm thread takes no lock, allocates nothing and makes no system call. While nobody listens to
 * ranges, none of these functions is called.
 *
 * Before the process uses CUDA, no probe site may be called (see XPU_SITE_EARLY): events wait in
 * the thread until it has a log. A range that was opened while nobody listened is unknown, and its
 * end is ignored.
 *
 * These are dropped and counted: ranges opened inside XPU_RANGE_DEPTH other ranges, calls that a
 * signal handler makes while it interrupts a launch or one of these functions, and events before
 * the first use of CUDA, if there are too many or their thread has ended by then. Events also wait
 * in the thread while another thread sends the full log; even then, the ranges of each launch are
 * recorded.
 */
#ifndef XPU_PRELOAD_RANGES_H
#define XPU_PRELOAD_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "base/hot.h"
#include "wire/probe.h"
#include "xpu_record.h"

enum ranges_mode {
	RANGES_WAIT,			/* the process has not used CUDA yet */
	RANGES_RECORD,
	RANGES_OFF,
};

/*
 * Sets the mode for later events. The shim calls this when listeners come and go. Events that still
 * wait for room when recording stops are dropped.
 */
void ranges__set_mode(enum ranges_mode mode);
extern _Atomic enum ranges_mode ranges__mode HIDDEN;

/* Notes that a range was opened or closed while nobody listened. */
void ranges__miss(void);

/*
 * Whether to record an event. Also checks for listeners: they may come and go before the shim's own
 * thread notices.
 */
static inline bool ranges__wanted(void)
{
	if (__builtin_expect(probe__ranges_wanted(), 0))
		return true;
	if (__builtin_expect(
		    atomic_load_explicit(&ranges__mode, memory_order_relaxed) != RANGES_OFF, 0))
		ranges__miss();
	return false;
}

/* Return: the only domain with that name, never freed; NULL if memory is short. */
struct domain;
struct domain *ranges__domain(const char *name);

/* Return: the domain's name; "" for NULL, which is NVTX's own domain. */
const char *ranges__domain_name(const struct domain *domain);

/* Return: the only copy of @text, never freed; NULL if memory is short. */
const char *ranges__string(const char *text);

/* Converts @s to UTF-8, cut to @size. Return: @buf. */
const char *ranges__narrow(const wchar_t *s, char *buf, size_t size);

struct range {
	const struct domain *domain;	/* NULL: NVTX's own domain, without a name */
	const char *name;
	const wchar_t *wide;		/* if not NULL, used instead of the name */
	const struct xpu_range_payload *payload; /* or NULL */
};

/* Return: how many other pushed ranges of the domain are open on this thread, or -1. */
int ranges__push(struct range *range);
int ranges__pop(const struct domain *domain);

/* Return: an id for ranges__end(), which any thread may call; or 0. */
uint64_t ranges__start(struct range *range);
void ranges__end(uint64_t id);

void ranges__mark(struct range *range);

/*
 * Records a mark in the last pushed range of @domain, with @payload and the range's name. Used for
 * a payload that is known only when the range is popped.
 */
void ranges__mark_payload(const struct domain *domain, const struct xpu_range_payload *payload);

/*
 * Ends the ranges of the calling thread, which is about to end. Must be called before
 * launcher__exit(), because the ends go into the log.
 */
void ranges__exit(void);

/* Moves the waiting range events into this thread's new log. */
void ranges__have_log(void);

/*
 * Makes this thread's log agree with its slot, after another thread has ended a range, or while
 * events wait for room in the log. Return: whether all events are in the log now.
 */
bool ranges__sync(void);

/* Sends the definition of every path of ranges again. May be called on any thread. */
void ranges__repeat(void);

uint64_t ranges__nr_dropped(void);

/* Prepare for a fork, and continue after it in the parent and in the child. */
void ranges__forking(void);
void ranges__has_forked(void);
void ranges__forked(void);

#endif /* XPU_PRELOAD_RANGES_H */
