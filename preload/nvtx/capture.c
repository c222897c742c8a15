// SPDX-License-Identifier: MIT
#include "nvtx/capture.h"

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/lock.h"
#include "base/number.h"
#include "launch/capture_window.h"
#include "launch/ranges.h"
#include "xpu_record.h"
#include "xpu_slot.h"

/*
 * If a window begins at a launch number, the vendor starts to collect when EARLY launches are left
 * before this number. These early launches and their device work are not recorded.
 */
#define EARLY		256u

#define MAX_DOMAINS	8		/* maximum number of domains in which a thread has an open
					 * matching range */
#define MAX_STARTED	256		/* maximum number of matching ranges that have been started
					 * but not ended */
#define NR_KNOWN	1024u		/* number of names for which the result is remembered; a
					 * power of two */

enum what { NOTHING, PROFILER, RANGES, LAUNCHES };

static struct {
	enum what what;
	unsigned int most;		/* maximum number of windows; 0: no limit */
	unsigned int nr_closed;		/* number of windows that have closed; used under lock */
	bool over;			/* no window opens any more; this and nr_open are used under
					 * lock */
	unsigned int nr_open;		/* number of reasons for the window to be open */
	bool is_open;
	const char *message;

	void (*opens)(void);		/* called when a window opens or closes; NULL: none */
	void (*closes)(void);

	uint64_t first, last;		/* with LAUNCHES: numbers of launches; the first launch
					 * is 1 */
	atomic_uint_fast64_t nr_launches;
	atomic_uint_fast64_t nr_left;	/* number of launches, from @first to @last + 1, that have
					 * not ended */
	atomic_bool opened;

	regex_t regex;			/* RANGES */
	uint64_t started[MAX_STARTED];
	atomic_uint nr_started;
} capture;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t before_lock;		/* under lock */

/*
 * The ranges that match the pattern and that this thread has pushed, by domain. @depth counts the
 * matching range and the ranges pushed inside it.
 */
static __thread struct {
	const void *domain;
	unsigned int depth;		/* 0: free */
} pushed[MAX_DOMAINS] __attribute__((tls_model("initial-exec")));

void capture__lock(void)
{
	sigset_t old;

	lock__take(&lock, &old);
	before_lock = old;
}

void capture__unlock(void)
{
	sigset_t old = before_lock;

	lock__give(&lock, &old);
}

void capture__call_at_windows(void (*opens)(void), void (*closes)(void))
{
	capture.opens = opens;
	capture.closes = closes;
}

bool capture__is_armed(void)
{
	return capture.what != NOTHING;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/*
 * Adds or removes a reason for the window to be open, and opens or closes the window accordingly.
 * Called with the lock held.
 */
static void change(bool more)
{
	if (!more && !capture.nr_open)
		return;
	capture.nr_open += more ? 1 : -1;
	if (more == capture.is_open || (more ? capture.over : capture.nr_open))
		return;
	capture.is_open = more;
	capture.nr_closed += !more;
	capture.over = !more && capture.most && capture.nr_closed >= capture.most;
	if (more ? capture.opens : capture.closes)
		(more ? capture.opens : capture.closes)();
}

static void change_now(bool more)
{
	capture__lock();
	change(more);
	capture__unlock();
}

/* ---- launches, by their number --------------------------------------------------------------- */

/*
 * One bit for each launch that this thread is in: whether the launch belongs to the window. The
 * lowest bit is for the latest launch, which may be in a signal handler that interrupted another
 * launch.
 */
static __thread uint32_t in_launches __attribute__((tls_model("initial-exec")));

/*
 * Closes the window of launches when the last of its launches has ended. So the window stays open
 * for a thread that was preempted after its launch got a number. Called when a launch of the window
 * returns, and when launch number last + 1 begins.
 */
static void launch_ended(void)
{
	if (atomic_fetch_sub(&capture.nr_left, 1) != 1)
		return;
	capture.most = 1;
	change_now(false);
}

/*
 * Opens the window of launches when launch number @nr is close enough. Return: whether launch
 * number @nr is in the window.
 */
static bool count_launch(uint64_t nr)
{
	if (nr + EARLY < capture.first || nr > capture.last + 1)
		return false;
	if (!atomic_load_explicit(&capture.opened, memory_order_acquire)) {
		capture__lock();	/* waits for a thread that is opening the window */
		if (!atomic_load(&capture.opened) && !capture.over)
			change(true);
		atomic_store(&capture.opened, true);
		capture__unlock();
	}
	if (nr == capture.last + 1)
		launch_ended();
	return nr >= capture.first && nr <= capture.last;
}

bool capture__by_launches(void)
{
	return capture.what == LAUNCHES;
}

bool capture__launch_begins(void)
{
	in_launches = in_launches << 1 |
		      count_launch(atomic_fetch_add(&capture.nr_launches, 1) + 1);
	return in_launches & 1;
}

bool capture__launch_is_inside(void)
{
	return in_launches & 1;
}

void capture__launch_ends(void)
{
	bool is_inside = in_launches & 1;

	in_launches >>= 1;
	if (is_inside)
		launch_ended();
}

/* ---- calls of the program that open and close a window --------------------------------------- */

bool capture__by_profiler(void)
{
	return capture.what == PROFILER;
}

void capture__profiler(bool start)
{
	capture__lock();
	if (start ? !capture.nr_open : capture.nr_open > 0)	/* a repeated call has no effect */
		change(start);
	capture__unlock();
}

bool capture__watch(void)
{
	if (capture.what == LAUNCHES && capture.first <= EARLY && !atomic_load(&capture.opened)) {
		atomic_store(&capture.opened, true);
		capture.nr_open = 1;
		capture.is_open = true;
	}
	return capture.is_open;
}

bool capture__counts_launches(void)
{
	return capture.what == LAUNCHES && !capture.over;
}

/* ---- NVTX ranges ----------------------------------------------------------------------------- */

bool capture__watches_ranges(void)
{
	return capture.what == RANGES;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

/*
 * Whether the expression matches "DOMAIN:NAME", or "NAME" in NVTX's own domain, by the rules of
 * xpumerge --nvtx. Results are remembered by a 63-bit hash of the name: among programs with a
 * million names each, one in 18 million has a collision.
 */
static bool matches(struct range *range)
{
	static _Atomic uint64_t known[NR_KNOWN];	/* each entry: hash << 1 | whether the name
							 * matches */
	static char text[XPU_RANGE_DOMAIN_MAX + XPU_RANGE_NAME_MAX];	/* under lock */
	char narrow[256];
	const char *domain = ranges__domain_name(range->domain), *name = range->name;
	uint64_t hash, there;

	if (range->wide)
		name = ranges__narrow(range->wide, narrow, sizeof(narrow));
	hash = hash_text(hash_text(0xcbf29ce484222325ull, domain) * 31, name) << 1;
	there = atomic_load_explicit(&known[(hash >> 32) % NR_KNOWN], memory_order_relaxed);
	if ((there & ~1ull) == hash && there)
		return there & 1;
	capture__lock();
	snprintf(text, sizeof(text), "%s%s%.*s", domain, domain[0] ? ":" : "",
		 XPU_RANGE_NAME_MAX - 1, name);
	hash |= !regexec(&capture.regex, text, 0, NULL, 0);
	capture__unlock();
	atomic_store_explicit(&known[(hash >> 32) % NR_KNOWN], hash, memory_order_relaxed);
	return hash & 1;
}

void capture__pushed(struct range *range)
{
	int i, free = -1;

	for (i = 0; i < MAX_DOMAINS; i++) {
		if (pushed[i].depth && pushed[i].domain == range->domain) {
			pushed[i].depth++;
			return;
		}
		if (!pushed[i].depth)
			free = i;
	}
	if (free < 0 || !matches(range))
		return;
	pushed[free].domain = range->domain;
	pushed[free].depth = 1;
	change_now(true);
}

void capture__popped(const void *domain)
{
	int i;

	for (i = 0; i < MAX_DOMAINS; i++)
		if (pushed[i].depth && pushed[i].domain == domain && !--pushed[i].depth)
			change_now(false);
}

bool capture__starts(struct range *range)
{
	if (!matches(range))
		return false;
	change_now(true);
	return true;
}

void capture__started(uint64_t id)
{
	int i;

	capture__lock();
	for (i = 0; i < MAX_STARTED && capture.started[i]; i++)
		;
	if (id && i < MAX_STARTED) {
		capture.started[i] = id;
		atomic_fetch_add(&capture.nr_started, 1);
	} else {
		change(false);		/* the end of the range could not be recognized */
	}
	capture__unlock();
}

void capture__ended(uint64_t id)
{
	int i;

	if (!id || !atomic_load(&capture.nr_started))
		return;
	capture__lock();
	for (i = 0; i < MAX_STARTED; i++) {
		if (capture.started[i] != id)
			continue;
		capture.started[i] = 0;
		atomic_fetch_sub(&capture.nr_started, 1);
		change(false);
		break;
	}
	capture__unlock();
}

/* ---- the option ------------------------------------------------------------------------------ */

static bool parse_launches(const char *text)
{
	unsigned int first, last = UINT32_MAX;

	if (!number__read(&text, &first) || !first)
		return false;
	capture.first = first;
	if (!*text)
		last = first;
	else if (*text++ != '-' || (*text && !number__read(&text, &last)) || *text || last < first)
		return false;
	capture.last = last;
	atomic_store(&capture.nr_left, capture.last - capture.first + 2);
	return true;
}

static bool parse(const char *text)
{
	if (!strncmp(text, XPU_CAPTURE_MOST, strlen(XPU_CAPTURE_MOST))) {
		text += strlen(XPU_CAPTURE_MOST);
		if (!number__read(&text, &capture.most) || !capture.most || *text++ != ',')
			return false;
	}
	if (!strcmp(text, XPU_CAPTURE_PROFILER)) {
		capture.what = PROFILER;
	} else if (!strncmp(text, XPU_CAPTURE_NVTX, strlen(XPU_CAPTURE_NVTX))) {
		text += strlen(XPU_CAPTURE_NVTX);
		if (strlen(text) <= XPU_CAPTURE_REGEX_MAX && !xpu_capture__refers_back(text) &&
		    !regcomp(&capture.regex, text, REG_EXTENDED | REG_NOSUB))
			capture.what = RANGES;
	} else if (!strncmp(text, XPU_CAPTURE_LAUNCH, strlen(XPU_CAPTURE_LAUNCH))) {
		if (parse_launches(text + strlen(XPU_CAPTURE_LAUNCH)))
			capture.what = LAUNCHES;
	}
	return capture.what != NOTHING;
}

const char *capture__init(void)
{
	static bool done;
	const char *text;

	if (done)
		return capture.message;
	done = true;
	text = environment__get(XPU_CAPTURE_ENV);
	if (!text)
		return NULL;
	if (!parse(text))
		capture.message = XPU_CAPTURE_ENV " is invalid: everything is recorded";
	capture_window__are_used = capture__is_armed();
	return capture.message;
}

void capture__has_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void capture__forked(void)
{
	capture.what = NOTHING;
	capture_window__are_used = false;
}
