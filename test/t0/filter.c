// SPDX-License-Identifier: GPL-3.0-or-later
/* The values of a filter's options, and the events that pass it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter.h"
#include "tap.h"

static const struct {
	enum filter_kind kind;
	const char *arg;
} bad[] = {
	{ FILTER_PID, "" }, { FILTER_PID, "x" }, { FILTER_PID, "1," }, { FILTER_PID, ",1" },
	{ FILTER_PID, "-1" }, { FILTER_PID, " 1" }, { FILTER_PID, "1 2" },
	{ FILTER_TID, "4294967295" }, { FILTER_TID, "99999999999999999999999" },
	{ FILTER_COMM, "" }, { FILTER_COMM, "a," }, { FILTER_KERNEL, "a(" },
	{ FILTER_FROM, "" }, { FILTER_FROM, "-1" }, { FILTER_FROM, "1h" }, { FILTER_FROM, "ms" },
	{ FILTER_FROM, "nan" }, { FILTER_TO, "inf" }, { FILTER_TO, "1e30" }, { FILTER_TO, "1 s" },
};

static const struct {
	const char *arg;
	uint64_t ns;
} times[] = {
	{ "0", 0 }, { "1", 1000000000 }, { "1.5s", 1500000000 }, { "0.000000001", 1 },
	{ "2m", 120000000000 }, { "1.5ms", 1500000 }, { "7us", 7000 },
	{ "12345678901ns", 12345678901 },
};

static const struct {
	enum filter_kind kind;
	const char *arg;
	bool a, b;			/* whether events a and b pass */
} cases[] = {
	{ FILTER_PID, "10", true, false }, { FILTER_PID, "11,10", true, true },
	{ FILTER_PID, "1", false, false }, { FILTER_TID, "21", false, true },
	{ FILTER_COMM, "main", true, false }, { FILTER_COMM, "x,a b,y", false, true },
	{ FILTER_COMM, "mai", false, false }, { FILTER_DEVICE, "0", true, false },
	{ FILTER_STREAM, "7", true, false }, { FILTER_KERNEL, "add", true, false },
	{ FILTER_KERNEL, "^vector", true, false }, { FILTER_KERNEL, "^add", false, false },
	{ FILTER_KERNEL, "sub|Add", false, false }, { FILTER_KERNEL, "", true, false },
	{ FILTER_FROM, "100ns", true, false }, { FILTER_FROM, "101ns", false, false },
	{ FILTER_TO, "100ns", false, false }, { FILTER_TO, "101ns", true, false },
};

/*
 * Adjacent windows share a span: each part of the span is in one window, and the parts add up to
 * the span.
 */
static void test_cut(void)
{
	static const char *const edges[] = { "0", "90ns", "100ns", "101ns", "133ns", "150ns",
					     "200ns", "1" };
	static const struct filter_span spans[] = {
		{ 100, 200, 37, 5 }, { 100, 200, 100, 1 }, { 100, 200, UINT64_MAX, UINT64_MAX },
		{ 133, 133, 0, 1 },
	};
	struct filter f = { 0 };
	char why[128];
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(spans); i++) {
		struct filter_span sum = { 0 }, s;

		for (k = 0; k + 1 < ARRAY_SIZE(edges); k++) {
			memset(&f, 0, sizeof(f));
			filter__set(&f, FILTER_FROM, edges[k], why);
			filter__set(&f, FILTER_TO, edges[k + 1], why);
			s = spans[i];
			if (filter__cut(&f, 0, &s)) {
				sum.ns += s.ns;
				sum.nr += s.nr;
				sum.to_ns += s.to_ns - s.from_ns;
				ok(s.from_ns >= f.from_ns && s.to_ns <= f.to_ns,
				   "span %zu, window from %s: the part is inside", i, edges[k]);
			}
			filter__free(&f);
		}
		ok(sum.ns == spans[i].ns && sum.nr == spans[i].nr,
		   "span %zu: the ns and counts of its parts add up", i);
		is_int(sum.to_ns, spans[i].to_ns - spans[i].from_ns,
		       "span %zu: the times of its parts add up", i);
	}
	memset(&f, 0, sizeof(f));
	filter__set(&f, FILTER_FROM, "150ns", why);
	ok(filter__cut(&f, 0, &(struct filter_span){ 100, 200, 100, 1 }),
	   "a span that ends after the window's begin is kept");
	ok(!filter__cut(&f, 0, &(struct filter_span){ 100, 150, 50, 1 }),
	   "a span that ends where the window begins is dropped");
	ok(!filter__cut(&f, 50, &(struct filter_span){ 100, 200, 100, 1 }),
	   "a window's times count from the recording's start");
	ok(filter__cut(NULL, 0, &(struct filter_span){ 0 }), "without a filter a span is kept");
	filter__free(&f);
}

int main(void)
{
	const struct filter_event a = {
		.pid = 10, .tid = 20, .comm = "main", .timed = true, .time_ns = 100,
		.kernel = "vector_add(float*)",
		.stream = 7,
	}, b = {
		/* An event without device work and without a timestamp. */
		.pid = 11, .tid = 21, .comm = "a b", .device = NO_INDEX, .stream = NO_INDEX,
	};
	struct filter f = { 0 };
	char why[128];
	size_t i;

	test_cut();
	ok(!filter__active(NULL) && !filter__active(&f), "without values a filter is not active");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		why[0] = 0;
		is_int(filter__set(&f, bad[i].kind, bad[i].arg, why), -EINVAL,
		       "--%s '%s' is refused", filter_kind__name(bad[i].kind), bad[i].arg);
		ok(why[0], "a refused option has a reason: %s", why);
		filter__free(&f);
		memset(&f, 0, sizeof(f));
	}
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		is_int(filter__set(&f, FILTER_FROM, times[i].arg, why), 0, "--from %s is accepted",
		       times[i].arg);
		ok(f.from_ns == times[i].ns,
		   "--from %s is the expected number of ns", times[i].arg);
	}
	filter__free(&f);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(&f, 0, sizeof(f));
		is_int(filter__set(&f, cases[i].kind, cases[i].arg, why), 0, "--%s %s is accepted",
		       filter_kind__name(cases[i].kind), cases[i].arg);
		is_int(filter__keeps(&f, &a), cases[i].a,
		       "--%s %s: event a is kept or dropped as expected",
		       filter_kind__name(cases[i].kind), cases[i].arg);
		is_int(filter__keeps(&f, &a), cases[i].a,
		       "--%s %s: event a, a second time, as before",
		       filter_kind__name(cases[i].kind), cases[i].arg);
		is_int(filter__keeps(&f, &b), cases[i].b,
		       "--%s %s: event b is kept or dropped as expected",
		       filter_kind__name(cases[i].kind), cases[i].arg);
		filter__free(&f);
	}
	memset(&f, 0, sizeof(f));
	filter__set(&f, FILTER_PID, "10", why);
	filter__set(&f, FILTER_TID, "21", why);
	filter__set(&f, FILTER_PID, "11", why);
	ok(filter__active(&f), "several options make the filter active");
	is_str(f.text.v, "--pid 10 --tid 21 --pid 11", "options are printed as they were given");
	is_int(filter__keeps(&f, &a), 0,
	       "an event that does not match one of the options is not kept");
	is_int(filter__keeps(&f, &b), 1, "an option given twice keeps events with either value");
	is_int(filter__set(&f, FILTER_KERNEL, "a", why), 0, "a regular expression is accepted");
	is_int(filter__set(&f, FILTER_KERNEL, "b", why), -EINVAL,
	       "a second regular expression is refused");
	filter__free(&f);
	return done_testing();
}
