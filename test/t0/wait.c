// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A wait's time is divided only among the work that the thread waited for. The shares are equal at
 * each instant, and exact to the nanosecond.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "waits/waits.h"

#define US		1000
#define MAX_WAITS	64
#define MAX_WORKS	400
#define NR_LEAVES	8
#define IDLE		NR_LEAVES
#define OTHER		(NR_LEAVES + 1)

/* The results of waits__share(), by the wait's path id, and how often each result was reported. */
static struct told {
	uint64_t ns[NR_LEAVES + 2], part_ns[NR_LEAVES + 2], when_ns[NR_LEAVES + 2];
	int nr[NR_LEAVES + 2];
} told[MAX_WAITS];
static const struct filter *filter;	/* the filter that waits__share() gets */

static struct xpu_record_wait recs[MAX_WAITS];
static int nr_recs;
static struct waits waits;

static int tell(void *ctx, const struct wait *wait, uint32_t leaf, uint64_t ns, uint64_t part_ns)
{
	uint32_t i = leaf == WAIT_LEAF_IDLE ? IDLE : leaf == WAIT_LEAF_OTHER ? OTHER : leaf;

	told[wait->rec->path_id].ns[i] += ns;
	told[wait->rec->path_id].part_ns[i] += part_ns;
	told[wait->rec->path_id].nr[i]++;
	return *(int *)ctx;
}

/* Checks that each span of a share is reported by one call. */
static int when(void *ctx, const struct wait *wait, uint32_t leaf, const struct filter_span *s)
{
	uint32_t i = leaf == WAIT_LEAF_IDLE ? IDLE : leaf == WAIT_LEAF_OTHER ? OTHER : leaf;
	struct filter_span part = *s;

	(void)ctx;
	if (filter__cut(filter, 0, &part))
		told[wait->rec->path_id].when_ns[i] += part.ns;
	return 0;
}

static void begin(void)
{
	memset(told, 0, sizeof(told));
	nr_recs = 0;
	waits__init(&waits);
}

static int add(uint16_t flags, uint64_t start_ns, uint64_t duration_ns, uint32_t stream,
	       uint32_t correlation_id)
{
	recs[nr_recs] = (struct xpu_record_wait){
		.hdr = { XPU_RECORD_WAIT, flags, sizeof(recs[0]) },
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.path_id = nr_recs,
		.context = 1,
		.stream = stream,
		.correlation_id = correlation_id,
	};
	return waits__add(&waits, 0, start_ns, &recs[nr_recs++]);
}

static void work(uint32_t context, uint32_t stream, uint32_t leaf, uint64_t start_ns,
		 uint64_t end_ns, uint32_t correlation_id, bool kernel)
{
	struct wait_work w = {
		start_ns, end_ns, 0, context, stream, correlation_id, leaf, kernel,
	};

	if (waits__work(&waits, &w))
		bail("out of memory");
}

static int share(int status)
{
	int err = waits__share(&waits, &(struct waits_listener){
		.filter = filter, .share = tell, .when = when, .ctx = &status,
	});

	waits__exit(&waits);
	return err;
}

/*
 * Tests shares in time windows: a window has only shares of work that ran in it, and the shares of
 * all windows add up to the shares without a window.
 */
static void windows(void)
{
	static const char *const edges[] = { "0", "1100ns", "1151ns", "1400ns", "1801ns", "1s" };
	uint64_t sum_ns[NR_LEAVES + 2] = { 0 };
	struct filter f;
	char why[128];
	size_t i, k;

	for (i = 0; i + 1 < sizeof(edges) / sizeof(edges[0]); i++) {
		memset(&f, 0, sizeof(f));
		filter__set(&f, FILTER_FROM, edges[i], why);
		filter__set(&f, FILTER_TO, edges[i + 1], why);
		filter = &f;
		begin();
		add(0, 1000, 1000, 0, 0);
		waits__ready(&waits);
		work(1, 7, 0, 500, 1200, 0, true);
		work(1, 7, 1, 1100, 1200, 0, true);
		work(1, 8, 2, 1150, 1403, 0, true);
		is_int(share(0), 0, "from %s: the time of the wait is divided", edges[i]);
		filter = NULL;
		filter__free(&f);
		for (k = 0; k < NR_LEAVES + 2; k++) {
			sum_ns[k] += told[0].part_ns[k];
			is_int(told[0].when_ns[k], told[0].part_ns[k],
			       "from %s, leaf %zu: times add up to the leaf's part", edges[i], k);
		}
		if (!i)
			is_int(told[0].part_ns[0], 100,
			       "the first window has only the first work");
		if (i == 3)
			is_int(told[0].part_ns[IDLE], 398,
			       "a later window has the time when the device was idle");
	}
	for (k = 0; k < NR_LEAVES + 2; k++)
		is_int(sum_ns[k], told[0].ns[k],
		       "leaf %zu: the parts in all windows add up to its share", k);
}

static void scopes(void)
{
	begin();
	add(XPU_WAIT_STREAM, 1000, 1000, 7, 0);
	add(XPU_WAIT_STREAM | XPU_WAIT_OTHERS, 1000, 1000, 7, 0);
	add(0, 1000, 1000, 0, 0);
	add(XPU_WAIT_STREAM | XPU_WAIT_OTHERS | XPU_WAIT_WORK, 1000, 1000, 7, 0);
	add(XPU_WAIT_STREAM | XPU_WAIT_OTHERS | XPU_WAIT_WORK, 1000, 600, 7, 0);
	waits__ready(&waits);
	work(1, 7, 0, 500, 1200, 0, true);
	work(1, 7, 1, 1100, 1200, 0, true);
	work(1, 8, 2, 1150, 1400, 0, true);
	work(2, 7, 3, 0, 9000, 0, true);	/* work of another context */
	work(1, 7, 4, 2000, 2100, 0, true);	/* work after the wait */
	work(1, 7, 5, 900, 1000, 0, true);	/* work before the wait */
	is_int(share(0), 0, "times of waits are divided");
	is_int(told[0].ns[0], 150,
	       "stream wait: work that ran alone, then with other work, has its part");
	is_int(told[0].ns[1], 50,
	       "stream wait: the stream's other work gets its share of the wait");
	is_int(told[0].ns[2], 0, "stream wait: work of another stream gets nothing");
	is_int(told[0].ns[OTHER], 200,
	       "stream wait: time in which only another stream worked is counted separately");
	is_int(told[0].ns[IDLE], 600,
	       "stream wait: time in which nothing worked is counted separately");
	is_int(told[1].ns[2], 200,
	       "NULL stream wait: other streams' work counts while the NULL stream has none");
	is_int(told[1].ns[0] + told[1].ns[1], 200,
	       "NULL stream wait: work of the NULL stream has its part");
	is_int(told[1].ns[OTHER], 0, "NULL stream wait: no time goes to other streams");
	is_int(told[2].ns[0], 100 + 25 + 50 / 3 + 1,
	       "context wait: each instant is divided among all running device work");
	is_int(told[2].ns[2], 200 + 16, "context wait: the last work gets the remainder");
	is_int(told[2].ns[IDLE], 600, "context wait: idle time is counted separately");
	is_int(told[3].ns[0] + told[3].ns[2] + told[3].ns[IDLE], 0,
	       "a copy is not a wait if the device worked less than half of the time");
	is_int(told[4].ns[0] + told[4].ns[1] + told[4].ns[2], 400,
	       "a copy is a wait if the device worked at least half of the time");
	is_int(told[4].ns[IDLE], 200, "if a copy counts as a wait, all of its time counts");
	is_int(told[0].ns[3] + told[2].ns[3] + told[2].ns[4] + told[2].ns[5], 0,
	       "work of other contexts, earlier work and later work get nothing");
}

static void launches(void)
{
	begin();
	add(XPU_WAIT_LAUNCH | XPU_WAIT_WORK, 1000, 1000, 0, 42);	/* waits for a kernel */
	add(XPU_WAIT_LAUNCH | XPU_WAIT_WORK, 1000, 1000, 0, 43);	/* waits for a copy */
	add(XPU_WAIT_LAUNCH | XPU_WAIT_WORK, 1000, 1000, 0, 44);	/* waits for work that is
									 * not recorded */
	waits__ready(&waits);
	work(1, 7, 0, 1000, 1700, 41, true);
	work(1, 7, 1, 1800, 3000, 42, true);
	work(1, 8, 2, 1200, 1800, 43, false);
	is_int(share(0), 0, "times of launches are divided");
	is_int(told[0].ns[0], 700, "a waiting launch waits for earlier work in its stream");
	is_int(told[0].ns[1], 0, "a waiting launch does not wait for its own kernel");
	is_int(told[0].ns[2], 0, "a waiting launch does not wait for another stream");
	is_int(told[0].ns[OTHER], 100, "the time of another stream's work is counted separately");
	is_int(told[0].ns[IDLE], 200, "the time in which nothing worked is counted separately");
	is_int(told[1].ns[2], 600, "a waiting copy may wait for itself");
	is_int(told[1].ns[0], 0, "a waiting copy does not wait for another stream");
	is_int(told[2].ns[0] + told[2].ns[1] + told[2].ns[2] + told[2].ns[IDLE], 0,
	       "a waiting launch without device work has no shares");
}

static void nonsense(void)
{
	begin();
	is_int(add(0, UINT64_MAX - 10, 20, 0, 0), -EINVAL,
	       "a wait that ends after the largest timestamp is refused");
	is_int(add(0, 0, 20, 0, 0), -EINVAL, "a wait without a start is refused");
	is_int(add(0, 100, 0, 0, 0), 0, "a wait without a duration is accepted");
	is_int(waits__ready(&waits), 0, "waits are ready");
	work(1, 0, 0, 50, 150, 0, true);
	is_int(share(0), 0, "the time of a wait without a duration is divided");
	is_int(told[2].ns[0] + told[2].ns[IDLE], 0,
	       "a wait without a duration gives no time to any work");
	begin();
	add(0, 100, 10, 0, 0);
	waits__ready(&waits);
	is_int(share(-EIO), -EIO, "a callback's error stops the sharing");
}

static void threads(void)
{
	int i, bad = 0;

	begin();
	for (i = 0; i < 60; i++) {
		add(0, 1000 + i * 10, 5, 0, 0);
		recs[i].thread_id = i % 3 + 5;
	}
	waits__ready(&waits);
	for (i = 0; i < 60; i++) {
		const struct wait *at = waits__at(&waits, i % 3 + 5, 1000 + i * 10 + 4);

		bad += !at || at->rec != &recs[i] ||
		       waits__at(&waits, i % 3 + 5, 1000 + i * 10 + 5) ||
		       waits__at(&waits, i % 3 + 5, 1000 + i * 10 - 1) ||
		       waits__at(&waits, (i + 1) % 3 + 5, 1000 + i * 10 + 1);
	}
	is_int(bad, 0, "each wait is found by its thread, from its start to its end");
	ok(!waits__at(&waits, 4, 1004) && !waits__at(&waits, 9, 1004),
	   "waits at other times and of other threads are not found");
	waits__exit(&waits);
}

static struct {
	uint64_t start_ns, end_ns;
	uint32_t leaf, stream;
} works[MAX_WORKS];

/*
 * Computes the shares microsecond by microsecond, in units of 1/840 us: 840 is divisible by 1 to 8.
 */
static void by_instants(int w, int nr_works, uint64_t *parts)
{
	const struct xpu_record_wait *rec = &recs[w];
	uint64_t t;
	int i;

	for (t = rec->start_ns; t < rec->start_ns + rec->duration_ns; t += US) {
		int own = 0, all = 0;

		for (i = 0; i < nr_works; i++) {
			if (works[i].start_ns > t || works[i].end_ns <= t)
				continue;
			all++;
			own += !(rec->hdr.misc & XPU_WAIT_STREAM) ||
			       works[i].stream == rec->stream;
		}
		for (i = 0; i < nr_works; i++) {
			bool mine = !(rec->hdr.misc & XPU_WAIT_STREAM) ||
				    works[i].stream == rec->stream;

			if (works[i].start_ns > t || works[i].end_ns <= t)
				continue;
			if (own ? mine : rec->hdr.misc & XPU_WAIT_OTHERS)
				parts[works[i].leaf] += 840 / (own ?: all);
		}
		if (!all)
			parts[IDLE] += 840;
		else if (!own && !(rec->hdr.misc & XPU_WAIT_OTHERS))
			parts[OTHER] += 840;
	}
}

/* Tests random waits and work, in random order. At most eight pieces of work run at once. */
static void compare(unsigned int seed)
{
	static const uint16_t flags[] = {
		0, XPU_WAIT_STREAM, XPU_WAIT_STREAM | XPU_WAIT_OTHERS,
	};
	uint64_t lane_ns[8] = { 0 }, sum;
	int i, k, nr_works = 0, bad_sum = 0, bad_share = 0, bad_nr = 0;

	begin();
	for (i = 0; i < MAX_WAITS; i++)
		add(flags[rand_r(&seed) % 3], (1 + rand_r(&seed) % 3000) * US,
		    rand_r(&seed) % 900 * US,
		    rand_r(&seed) % 3, 0);
	waits__ready(&waits);
	for (; nr_works < MAX_WORKS; nr_works++) {
		int lane = rand_r(&seed) % 8;

		works[nr_works].start_ns = lane_ns[lane] + rand_r(&seed) % 100 * US;
		lane_ns[lane] = works[nr_works].start_ns + rand_r(&seed) % 100 * US;
		works[nr_works].end_ns = lane_ns[lane];
		works[nr_works].leaf = rand_r(&seed) % NR_LEAVES;
		works[nr_works].stream = rand_r(&seed) % 3;
	}
	for (i = 0; i < nr_works; i++) {
		k = i * 7 % nr_works;	/* i * 7 visits each activity once: 400 and 7 are coprime */
		work(1, works[k].stream, works[k].leaf, works[k].start_ns, works[k].end_ns, 0,
		     true);
	}
	share(0);
	for (i = 0; i < MAX_WAITS; i++) {
		uint64_t parts[NR_LEAVES + 2] = { 0 };

		by_instants(i, nr_works, parts);
		for (k = 0, sum = 0; k < NR_LEAVES + 2; k++) {
			uint64_t a = told[i].ns[k], b = parts[k] * US / 840;

			sum += told[i].ns[k];
			/*
			 * At each change of the set of running activities, rounding loses less than
			 * 1 ns per piece.
			 */
			bad_share += (a > b ? a - b : b - a) > 200;
			bad_nr += told[i].nr[k] > 1 || (told[i].ns[k] && !told[i].nr[k]);
		}
		bad_sum += sum != recs[i].duration_ns;
	}
	is_int(bad_sum, 0, "the shares of each wait add up to it, exactly");
	is_int(bad_share, 0, "the shares equal sums that are counted microsecond by microsecond");
	is_int(bad_nr, 0, "each wait is shared once");
}

int main(void)
{
	unsigned int seed;

	scopes();
	windows();
	launches();
	nonsense();
	threads();
	for (seed = 1; seed <= 5; seed++)
		compare(seed);
	return done_testing();
}
