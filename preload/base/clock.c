// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/hot.h"
#include "timens.h"

#define SOURCE	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

#define READINGS	8		/* number of attempts; the closest pair of readings is
					 * taken */
/* If the two readings of a pair are closer than this, about 0.1 us, no further pair is read. */
#define CLOSE_TICKS	arch__ticks_at_3ghz(300)
/*
 * If the readings of every pair are further apart than this, no pair is used: the thread was
 * interrupted at each attempt.
 */
#define APART_TICKS	arch__ticks_at_3ghz(5000)
#define RATE_NS		50000000ull	/* a rate is measured over at least this time */
#define STEADY		2		/* required number of consecutive readings in which the
					 * counter has the expected value */

static bool usable;
static struct xpu_clock watched;	/* the last reading of the shim's own thread */
static unsigned int nr_steady;
/* The rate of struct xpu_clock; 0: the counter must not be used. */
static atomic_uint_fast64_t rate;

/*
 * Whether the counter shows the same ticks on all CPUs, and runs at one rate at all CPU frequencies
 * and in sleep states. Linux knows best, so this checks whether Linux's own clock source uses the
 * counter.
 */
static bool is_usable(void)
{
	static const char *const by_counter[] = { ARCH_CLOCKS };
	char name[64] = "";
	size_t i;
	int fd;

	if (!arch__is_steady())
		return false;
	fd = open(SOURCE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	for (i = 0; i < sizeof(by_counter) / sizeof(by_counter[0]); i++)
		if (!strcmp(name, by_counter[i]))
			return true;
	return false;
}

HOT_DATA _Atomic int64_t clock__ahead_ns;

void clock__find_namespace(void)
{
	atomic_store(&clock__ahead_ns, timens__offset_ns());
}

void clock__init(void)
{
	static bool done;

	clock__find_namespace();
	if (!done)
		usable = is_usable();
	done = true;
	/* The machine has slept: begin the measurement again. */
	memset(&watched, 0, sizeof(watched));
	nr_steady = 0;
	atomic_store(&rate, 0);
	clock__watch();
}

/*
 * Reads ticks and ns at one instant, and does not set the rate. Return: whether both could be read
 * close together.
 */
static bool read_both(struct xpu_clock *c)
{
	uint64_t before, ns, apart, least = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < READINGS && least > CLOSE_TICKS; i++) {
		before = clock__ticks();
		ns = clock__ns();
		apart = clock__ticks() - before;
		if (apart >= least)
			continue;
		least = apart;
		c->ticks = before + apart / 2;
		c->ns = ns;
	}
	return least <= APART_TICKS;
}

/*
 * Whether the time of @now, as predicted from @last, is wrong by more than 3 us plus 30 us per
 * elapsed second.
 */
static bool misses(const struct xpu_clock *last, const struct xpu_clock *now)
{
	int64_t off = xpu_clock__ns(last, now->ticks) - now->ns, elapsed = now->ns - last->ns;

	return elapsed < 0 || (off < 0 ? -off : off) > 3000 + (elapsed >> 15);
}

static uint64_t rate_between(const struct xpu_clock *from, const struct xpu_clock *to)
{
	return ((unsigned __int128)(to->ns - from->ns) << XPU_CLOCK_SHIFT) /
	       (to->ticks - from->ticks);
}

void clock__watch(void)
{
	struct xpu_clock now;

	if (!usable || !read_both(&now))
		return;
	if (!watched.ticks || now.ticks <= watched.ticks) {
		now.rate = 0;
		watched = now;
		return;
	}
	if (now.ns < watched.ns + RATE_NS)
		return;
	now.rate = rate_between(&watched, &now);
	if (watched.rate && misses(&watched, &now)) {
		nr_steady = 0;
		atomic_store(&rate, 0);
	} else if (atomic_load(&rate) || (watched.rate && ++nr_steady >= STEADY)) {
		nr_steady = 0;
		atomic_store(&rate, now.rate);
	}
	watched = now;
}

bool clock__next(const struct xpu_clock *last, struct xpu_clock *next, bool good)
{
	uint64_t measured = atomic_load_explicit(&rate, memory_order_relaxed);

	*next = *last;
	if (!measured)
		return false;
	if (!read_both(next)) {
		*next = *last;
		return good;
	}
	next->rate = measured;
	if (!good)
		return true;
	if (next->ticks <= last->ticks || misses(last, next)) {
		/* For the entries logged since @last, @last is as exact as @next. */
		*next = *last;
		atomic_store(&rate, 0);
		return false;
	}
	if (next->ns - last->ns >= RATE_NS)
		next->rate = rate_between(last, next);
	return true;
}
