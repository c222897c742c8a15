// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tests the join: whatever the order of the records, every device record is matched with its own
 * launch, and all records are counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join/join.h"
#include "tap.h"

/*
 * The join's results as text, in order: "m3/30 " says that record 30 matched launch 3, and so on.
 */
static char said[4096];

/* Takes the join's results. @more: the result of the call that added a launch or a record */
static void take(struct join *j, int more)
{
	const struct match *m;
	size_t len;

	if (more < 0)
		bail("out of memory");
	while (more && (m = join__next(j))) {
		len = strlen(said);
		if (m->kind == MATCH_WORK)
			snprintf(said + len, sizeof(said) - len, "%s%u/%u ", m->first ? "m" : "+",
				 m->launch.chain, m->work.leaf);
		else if (m->kind == MATCH_PENDING)
			snprintf(said + len, sizeof(said) - len, "p%u ", m->launch.chain);
		else
			snprintf(said + len, sizeof(said) - len, "o%u ", m->work.leaf);
	}
	ok(!join__next(j), "all matches were taken");
}

static void begin(struct join *j)
{
	said[0] = 0;
	join__init(j);
}

/* Adds a launch. Its chain is set to @number, which stands for the launch in said[]. */
static void launch(struct join *j, uint32_t proc, uint32_t id, uint32_t number, bool one_record)
{
	struct launch l = { .chain = number };

	take(j, join__add_launch(j, JOIN_KEY(proc, id), &l, one_record));
}

static void work(struct join *j, uint32_t proc, uint32_t id, uint32_t number)
{
	struct work w = { .leaf = number };

	take(j, join__add_work(j, JOIN_KEY(proc, id), &w));
}

static void again(struct join *j, uint32_t proc, uint32_t id, uint32_t number)
{
	struct launch l = { .chain = number };

	take(j, join__rescan_launch(j, JOIN_KEY(proc, id), &l));
}

static void end(struct join *j, const char *expected, const char *name)
{
	take(j, join__finish(j));
	is_str(said, expected, "%s", name);
	is_int(j->nr_launches, j->nr_matched + j->nr_pending,
	       "%s: each launch is matched or pending", name);
	is_int(j->nr_works, j->nr_works_matched + j->nr_orphans,
	       "%s: each record is matched or an orphan", name);
	is_int(j->nr_waiting, 0, "%s: no launch or record is left waiting", name);
}

static void test_order(void)
{
	struct join j;

	begin(&j);
	launch(&j, 1, 10, 1, true);
	launch(&j, 1, 11, 2, true);
	work(&j, 1, 11, 110);
	work(&j, 1, 10, 100);
	end(&j, "m2/110 m1/100 ", "launches first, completed out of order: all match");
	join__exit(&j);

	begin(&j);
	work(&j, 1, 11, 110);
	work(&j, 1, 10, 100);
	launch(&j, 1, 10, 1, true);
	launch(&j, 1, 11, 2, true);
	end(&j, "m1/100 m2/110 ", "records first: all match");
	join__exit(&j);

	begin(&j);
	launch(&j, 1, 10, 1, true);
	work(&j, 1, 11, 110);
	work(&j, 1, 10, 100);
	launch(&j, 1, 11, 2, true);
	end(&j, "m1/100 m2/110 ", "launches and records mixed: all match");
	is_int(j.nr_forgotten, 2, "launches of one record are removed when they are matched");
	join__exit(&j);
}

static void test_many(void)
{
	struct join j;

	begin(&j);
	work(&j, 1, 10, 100);
	work(&j, 1, 10, 101);
	launch(&j, 1, 10, 1, false);
	work(&j, 1, 10, 102);
	launch(&j, 1, 20, 2, false);
	work(&j, 1, 20, 200);
	work(&j, 1, 10, 103);
	end(&j, "m1/100 +1/101 +1/102 m2/200 +1/103 ", "one launch, many records: all match");
	is_int(j.nr_matched, 2, "one launch, many records: the launches count as matched");
	is_int(j.nr_works_matched, 5, "one launch, many records: the records count as matched");
	is_int(j.nr_forgotten, 0, "one launch, many records: no launch is removed");
	join__exit(&j);
}

static void test_missing(void)
{
	struct join j;

	begin(&j);
	launch(&j, 1, 10, 1, true);
	work(&j, 1, 11, 110);
	work(&j, 1, 11, 111);
	launch(&j, 1, 12, 3, true);
	work(&j, 1, 12, 120);
	end(&j, "m3/120 p1 o110 o111 ",
	    "a launch or record without its counterpart is pending or an orphan");
	is_int(j.nr_pending, 1, "pending launches are counted");
	is_int(j.nr_orphans, 2, "records without a launch are counted");
	join__exit(&j);

	/* Correlation ID 0 means no ID: two launches without an ID do not match each other. */
	begin(&j);
	launch(&j, 1, 0, 1, true);
	work(&j, 1, 0, 100);
	end(&j, "p1 o100 ", "id 0 matches nothing");
	is_int(j.nr_duplicates, 0, "id 0 is not a duplicate");
	join__exit(&j);
}

static void test_processes(void)
{
	struct join j;

	/* One pid used twice, or two processes: different proc_ids with equal correlation IDs. */
	begin(&j);
	launch(&j, 1, 10, 1, true);
	launch(&j, 2, 10, 2, true);
	work(&j, 2, 10, 210);
	work(&j, 1, 10, 110);
	work(&j, 3, 10, 310);
	end(&j, "m2/210 m1/110 o310 ", "equal ids in different processes do not match");
	join__exit(&j);
}

static void test_duplicates(void)
{
	struct join j;

	begin(&j);
	launch(&j, 1, 10, 1, true);
	launch(&j, 1, 10, 2, true);
	work(&j, 1, 10, 100);
	end(&j, "p2 m1/100 ", "an id in use stays with its first launch");
	is_int(j.nr_duplicates, 1, "the duplicate is counted");
	is_int(j.nr_pending, 1, "the duplicate is pending");
	join__exit(&j);

	begin(&j);
	join__add_launch(&j, JOIN_KEY(1, 10), &(struct launch){ .chain = 1 }, true);
	join__add_launch(&j, JOIN_KEY(1, 10), &(struct launch){ .chain = 1 }, true);
	ok(join__next(&j)->duplicate, "a duplicate is marked, unlike launches that are only late");
	join__exit(&j);

	/*
	 * Correlation IDs are 32 bits and wrap around: an ID may be reused once its launch is
	 * matched.
	 */
	begin(&j);
	launch(&j, 1, 10, 1, true);
	work(&j, 1, 10, 100);
	launch(&j, 1, 10, 2, true);
	work(&j, 1, 10, 101);
	end(&j, "m1/100 m2/101 ", "an id can be used again once its launch is done");
	is_int(j.nr_duplicates, 0,
	       "an id that is used again after its work ended is not a duplicate");
	join__exit(&j);
}

static void test_forgotten(void)
{
	struct join j;

	begin(&j);
	launch(&j, 1, 10, 1, true);
	work(&j, 1, 10, 100);
	ok(!join__wants_rescan(&j), "without late records no rescan is requested");
	work(&j, 1, 10, 101);
	work(&j, 1, 11, 110);
	ok(join__wants_rescan(&j), "a second record for a removed launch requests a rescan");
	again(&j, 1, 10, 1);
	again(&j, 1, 12, 3);
	end(&j, "m1/100 +1/101 o110 ", "the rescan matches the late record");
	is_int(j.nr_launches, 1, "the rescan counts no launch twice");
	is_int(j.nr_matched, 1, "the rescan counts no match twice");
	is_int(j.nr_late, 1, "the rescan counts the late record");
	join__exit(&j);

	begin(&j);
	launch(&j, 1, 12, 1, true);
	work(&j, 1, 11, 110);
	ok(!join__wants_rescan(&j),
	   "an orphan requests no rescan if no launch was removed");
	end(&j, "o110 p1 ", "an orphan without a launch stays one");
	join__exit(&j);
}

/*
 * Tests many launches in flight, in random order, with reused slots: each record matches its own
 * launch.
 */

struct check {
	uint64_t nr_right, nr_wrong;
};

static void check(struct check *check, struct join *j, int more)
{
	const struct match *m;

	if (more < 0)
		bail("out of memory");
	while (more && (m = join__next(j))) {
		if (m->kind == MATCH_WORK && m->launch.time_ns == m->key &&
		    m->work.start_ns == m->key)
			check->nr_right++;
		else
			check->nr_wrong++;
	}
}

static void test_storm(void)
{
	enum { NR = 200000, WINDOW = 5000, STEP = 4 };
	static uint64_t window[WINDOW];
	struct check c = { 0 };
	size_t nr_window = 0, at;
	unsigned int seed = 1;
	struct join j;
	uint64_t key;
	int i, early;

	join__init(&j);
	for (i = 0; i < NR || nr_window; i++) {
		if (i < NR) {
			/* IDs increase in steps, as CUPTI's IDs do, across three processes. */
			key = JOIN_KEY(i % 3, (uint32_t)(i / 3 + 1) * STEP);
			early = rand_r(&seed) % 8 == 0;
			if (early)
				check(&c, &j, join__add_work(&j, key,
							     &(struct work){ .start_ns = key }));
			check(&c, &j, join__add_launch(&j, key,
						       &(struct launch){ .time_ns = key }, true));
			if (!early)
				window[nr_window++] = key;
		}
		while (nr_window == WINDOW || (i >= NR && nr_window)) {
			at = rand_r(&seed) % nr_window;
			key = window[at];
			window[at] = window[--nr_window];
			check(&c, &j, join__add_work(&j, key,
						     &(struct work){ .start_ns = key }));
		}
	}
	check(&c, &j, join__finish(&j));
	is_int(c.nr_right, NR, "storm: each record is matched with its own launch");
	is_int(c.nr_wrong, 0, "storm: no record is matched with another launch");
	is_int(j.nr_matched, NR, "storm: all launches are matched");
	join__exit(&j);
}

int main(void)
{
	test_order();
	test_many();
	test_missing();
	test_processes();
	test_duplicates();
	test_forgotten();
	test_storm();
	return done_testing();
}
