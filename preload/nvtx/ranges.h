/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - the NVTX ranges that are open on a thread
 *
 * Each thread keeps a list of its own: the ranges that it pushed and has not popped, and those that
 * it started and nobody has ended. That list, from first to last, is a path and has a number. The
 * thread remembers the paths that it has met, and sends each new path through a probe site. An
 * event is then an entry in the thread's log of launches (paths.h), with the number of the path
 * that is open from then on. So the launches behind the entry in the log are in those ranges: by
 * their order, not by their times.
 *
 * A warm thread takes no lock, allocates nothing and makes no system call. While nobody listens to
 * ranges, none of this is called.
 *
 * Before the process uses CUDA, no probe site may be called (see XPU_SITE_EARLY): events wait in
 * the thread until it has a log. A range that was opened while nobody listened is not known, and
 * its end is ignored.
 *
 * Dropped and counted are: ranges that are opened inside of XPU_RANGE_DEPTH others; calls of a
 * signal handler that interrupts a launch or one of these functions; events before the first use of
 * CUDA, if they are too many or if their thread has ended by then. Events also wait in the thread
 * if the log has no room because another thread is sending it; the ranges of a launch are recorded
 * in any case.
 */
#ifndef XPU_PRELOAD_RANGES_H
#define XPU_PRELOAD_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "wire/probe.h"
#include "xpu_record.h"

enum ranges_mode {
	RANGES_WAIT,			/* the process has not used CUDA yet */
	RANGES_RECORD,
	RANGES_OFF,
};

/* Called by the shim's life cycle: later events are for the present listeners. */
void ranges__set_mode(enum ranges_mode mode);
extern _Atomic enum ranges_mode ranges__mode;

/* Notes that a range was opened or closed while nobody listened. */
void ranges__miss(void);

/*
 * Whether an event is to be recorded. Listeners may leave and others come before the shim's own
 * thread notices.
 */
static inline bool ranges__wanted(void)
{
	if (__builtin_expect(probe__ranges_wanted(), 0))
		return true;
	if (__builtin_expect(atomic_load_explicit(&ranges__mode, memory_order_relaxed) != RANGES_OFF, 0))
		ranges__miss();
	return false;
}

/*
 * Return: the domain of that name, which is never freed; NULL without memory. Each name has one
 * domain.
 */
struct domain;
struct domain *ranges__domain(const char *name);

/* Return: its name, "" for NULL, which is NVTX's own domain. */
const char *ranges__domain_name(const struct domain *domain);

/* Return: a copy of @text, which is never freed, one for each text; NULL without memory. */
const char *ranges__string(const char *text);

/* Converts @s to UTF-8, cut to @size. Return: @buf. */
const char *ranges__narrow(const wchar_t *s, char *buf, size_t size);

struct range {
	const struct domain *domain;	/* NULL: NVTX's own, without a name */
	const char *name;
	const wchar_t *wide;		/* used in place of the name, or NULL */
	const struct xpu_range_payload *payload; /* NULL: none */
};

/* Return: how many ranges of the domain were open before on this thread, or -1. */
int ranges__push(struct range *range);
int ranges__pop(const struct domain *domain);

/* Return: an id to end the range by, on any thread; or 0. */
uint64_t ranges__start(struct range *range);
void ranges__end(uint64_t id);

void ranges__mark(struct range *range);

/*
 * A moment in the range of @domain that was pushed last, with its name and a payload: for a payload
 * that is known only when the range is popped.
 */
void ranges__mark_payload(const struct domain *domain, const struct xpu_range_payload *payload);

/*
 * This thread ends, and so do its ranges. To be called before launch__exit(), because their ends go
 * into the log.
 */
void ranges__exit(void);

/* The process ends: drops the events that still wait for room. */
void ranges__give_up(void);

uint64_t ranges__nr_dropped(void);

/* Called around a fork: before it, and then in the parent and in the child. */
void ranges__forking(void);
void ranges__has_forked(void);
void ranges__forked(void);

#endif /* XPU_PRELOAD_RANGES_H */
