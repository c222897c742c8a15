// SPDX-License-Identifier: MIT
#include "gpu/opencl/clocks.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "gpu/opencl/objects.h"

#define READ_NS		100000000ull	/* time between two readings of a device's timer */
#define DRIFT		2000		/* the rates of two clocks differ by less than 1 / DRIFT */

/* The bounds of an offset at a given time. */
struct bounds {
	int64_t lo, hi;
	uint64_t at_ns;			/* 0: no bounds are known */
};

struct device_clock {
	/* Written by the thread that has set the flag @reads; read by the shim's thread. */
	atomic_bool reads;
	atomic_uint_fast64_t next_ns;	/* time of the next reading; UINT64_MAX: the driver cannot
					 * read the timer */
	atomic_int_fast64_t lo, hi;
	atomic_uint_fast64_t at_ns;

	struct bounds bounds;		/* this and the members below are used only by the shim's
					 * thread */
	int64_t shift;
	uint64_t worst, told;		/* largest distance of the shift from its bounds so far; the
					 * distance that was last reported */
	bool has_shift, from_timer;
};

static struct device_clock clocks[OPENCL_MAX_DEVICES];

/* ---- the driver's timer ---------------------------------------------------------------------- */

static __attribute__((noinline, cold)) void read_timer(struct device_clock *c, uint16_t ordinal)
{
	cl_ulong device = 0, host = 0;
	uint64_t before, after;

	if (atomic_exchange(&c->reads, true))
		return;			/* another thread is reading the timer */
	before = clock__ns();
	if (!opencl.clGetDeviceAndHostTimer || !objects__device_can(ordinal, DEVICE_HAS_TIMER) ||
	    opencl.clGetDeviceAndHostTimer(objects__device(ordinal), &device, &host) || !device) {
		atomic_store(&c->next_ns, UINT64_MAX);
		atomic_store(&c->reads, false);
		return;
	}
	after = clock__ns();
	atomic_store(&c->at_ns, 0);
	atomic_store(&c->lo, (int64_t)(before - device));
	atomic_store(&c->hi, (int64_t)(after - device));
	atomic_store(&c->at_ns, after);
	atomic_store(&c->next_ns, after + READ_NS);
	atomic_store(&c->reads, false);
}

void clocks__read(uint16_t ordinal, uint64_t now)
{
	struct device_clock *c = &clocks[ordinal];

	if (__builtin_expect(now >= atomic_load_explicit(&c->next_ns, memory_order_relaxed), 0))
		read_timer(c, ordinal);
}

static bool has_timer(const struct device_clock *c)
{
	uint64_t next = atomic_load(&c->next_ns);

	return next && next != UINT64_MAX;
}

/*
 * Sets *@b to the last reading. Return: false if nothing was read yet, or if the reading is being
 * replaced.
 */
static bool last_reading(const struct device_clock *c, struct bounds *b)
{
	b->at_ns = atomic_load(&c->at_ns);
	b->lo = atomic_load(&c->lo);
	b->hi = atomic_load(&c->hi);
	return b->at_ns && b->at_ns == atomic_load(&c->at_ns);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Intersects @b with a new reading, or replaces @b if the clock was set. */
static void bounds__add(struct bounds *b, const struct bounds *reading)
{
	int64_t age = reading->at_ns - b->at_ns, drift = age / DRIFT, new_drift = 0;

	if (reading->lo > reading->hi)
		return;
	if (age < 0) {			/* the new reading is older than @b */
		new_drift = -drift;
		age = drift = 0;
	}
	if (!b->at_ns || reading->lo - new_drift > b->hi + drift ||
	    reading->hi + new_drift < b->lo - drift) {
		*b = *reading;
		return;
	}
	b->lo = larger(b->lo - drift, reading->lo - new_drift);
	b->hi = -larger(-(b->hi + drift), -(reading->hi + new_drift));
	b->at_ns += age;
}

void clocks__learn(uint16_t ordinal, const struct clock_times *t)
{
	struct device_clock *c = &clocks[ordinal];
	struct bounds b;

	if (has_timer(c) || !t->queued || !t->seen_ns)
		return;
	b.lo = (int64_t)(t->begin_ns - t->queued);
	b.hi = (int64_t)(t->end_ns - t->queued);
	if (t->end && (int64_t)(t->seen_ns - t->end) < b.hi)
		b.hi = (int64_t)(t->seen_ns - t->end);
	b.at_ns = t->begin_ns;
	bounds__add(&c->bounds, &b);
}

static void settle(struct device_clock *c)
{
	struct bounds reading;
	int64_t below, above;

	if (has_timer(c) && last_reading(c, &reading)) {
		if (!c->from_timer)
			c->bounds.at_ns = 0;
		c->from_timer = true;
		bounds__add(&c->bounds, &reading);
	}
	if (!c->bounds.at_ns)
		return;
	/* The offset is changed as little as the bounds allow, so that times stay in order. */
	if (!c->has_shift)
		c->shift = c->bounds.lo + (c->bounds.hi - c->bounds.lo) / 2;
	else if (c->shift < c->bounds.lo)
		c->shift = c->bounds.lo;
	else if (c->shift > c->bounds.hi)
		c->shift = c->bounds.hi;
	c->has_shift = true;
	below = c->shift - c->bounds.lo;
	above = c->bounds.hi - c->shift;
	if (below < above)
		below = above;
	if ((uint64_t)below > c->worst)
		c->worst = below;
}

void clocks__settle(void)
{
	unsigned int nr = objects__nr_devices(), i;

	for (i = 0; i < nr; i++)
		settle(&clocks[i]);
}

int64_t clocks__shift(uint16_t ordinal)
{
	return clocks[ordinal].shift;
}

uint64_t clocks__bound_to_tell(uint16_t ordinal, bool *from_timer)
{
	struct device_clock *c = &clocks[ordinal];

	*from_timer = c->from_timer;
	if (!c->worst || c->worst < 2 * c->told)
		return 0;
	c->told = c->worst;
	return c->worst;
}
