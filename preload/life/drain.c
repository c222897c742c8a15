// SPDX-License-Identifier: MIT
#include "life/drain.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "gpu/vendor.h"
#include "launch/allocs.h"
#include "launch/calls.h"
#include "launch/clones.h"
#include "launch/launcher.h"
#include "launch/ranges.h"
#include "launch/refused.h"
#include "python/python.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "wire/wire.h"

static const struct vendor *vendors[MAX_VENDORS];
static atomic_uint nr_gpus;

bool drain__add(const struct vendor *vendor)
{
	unsigned int nr = atomic_load(&nr_gpus);

	if (nr == MAX_VENDORS)
		return false;
	vendors[nr] = vendor;
	atomic_store(&nr_gpus, nr + 1);
	return true;
}

const struct vendor *const *drain__vendors(unsigned int *nr)
{
	*nr = atomic_load(&nr_gpus);
	return vendors;
}

static void repeat_launches(void)
{
	launcher__repeat_definitions();
	if (probe__ranges_wanted())
		ranges__repeat();
	calls__repeat_definitions();
}

static void send_launches(void)
{
	struct launch_totals totals;

	launcher__send(&totals);
	wire__counters.nr_launches = totals.nr_launches;
	wire__counters.nr_slots = totals.nr_threads;
	wire__counters.nr_ranges = totals.nr_ranges;
	wire__counters.nr_allocs = totals.nr_allocs;
	wire__counters.nr_calls = totals.nr_calls;
	wire__counters.nr_bad_calls = calls__nr_bad();
	wire__counters.nr_dropped_ranges = ranges__nr_dropped();
}

/*
 * Sends everything that is available. @taken: for each vendor, set to NULL if there was no work.
 * Return: the number of vendors.
 */
static unsigned int drain(bool last, void *taken[MAX_VENDORS])
{
	unsigned int nr = atomic_load(&nr_gpus), i;
	bool done_any = false;
	sigset_t old;

	sender__lock(&old);
	/*
	 * Device work is taken before launches are sent, and is sent after them: other threads
	 * launch all the time, and no device work may be sent before its launch.
	 */
	for (i = 0; i < nr; i++) {
		taken[i] = vendors[i]->take();
		done_any |= taken[i] != NULL;
	}
	send_launches();
	done_any |= python__drain();
	done_any |= clones__drain();
	done_any |= refused__drain();
	for (i = 0; i < nr; i++)
		vendors[i]->pack(taken[i]);
	if (last) {
		wire__repeat_definitions();
		repeat_launches();
	}
	wire__counters.hdr.misc = last ? XPU_MISC_COUNTERS_LAST : 0;
	wire__counters.nr_dropped_shim = clones__nr_lost() + atomic_load(&launcher__nr_lost_waits);
	if (done_any || last)
		wire__flush();
	sender__unlock(&old);
	return nr;
}

void life__drain(bool last)
{
	void *taken[MAX_VENDORS];
	unsigned int nr = drain(last, taken), i;

	for (i = 0; i < nr; i++)
		if (vendors[i]->drained)
			vendors[i]->drained(taken[i], last);
}

void life__send(void)
{
	void *taken[MAX_VENDORS];

	drain(false, taken);
}

void life__repeat_definitions(void)
{
	unsigned int nr = atomic_load(&nr_gpus), i;
	sigset_t old;

	sender__lock(&old);
	wire__repeat_definitions();
	wire__flush();
	repeat_launches();
	sender__unlock(&old);
	allocs__repeat();
	for (i = 0; i < nr; i++)
		if (vendors[i]->repeat_definitions)
			vendors[i]->repeat_definitions();
}

unsigned int drain__progress(void)
{
	unsigned int nr = atomic_load(&nr_gpus), i, progress = 0;

	for (i = 0; i < nr; i++)
		progress += vendors[i]->progress();
	return progress;
}
