// SPDX-License-Identifier: MIT
/*
 * Which counters of kernels changed: Student's t is used if the error is the spread of a few
 * recordings, and the normal distribution is used if the recordings state their errors.
 */
#include "write/changed_counters.h"

#include <math.h>

#include "tap.h"
#include "write/student_t.h"

/* Adds a value of a recording to a side, with the recording's own error. */
static void add(struct counter_side *s, double value, double error)
{
	s->nr++;
	s->sum += value;
	s->squares += value * value;
	s->errors += error * error;
}

/*
 * Return: whether a counter that differs by @change is reported. Each side has @nr recordings,
 * whose values are @apart from each other.
 */
static bool changes(double change, unsigned int nr, double apart, double error)
{
	struct changed_counter v = { .kernel = "k", .counter = "c", .unit = "%" };
	struct changed_counters c = { 0 };
	unsigned int i;
	bool changed;

	for (i = 0; i < nr; i++) {
		add(&v.sides[0], 10 + i * apart, error);
		add(&v.sides[1], 10 + i * apart + change, error);
	}
	if (array_push(&c.list, v))
		return false;
	changed_counters__find(&c);
	changed = c.list.nr;
	changed_counters__exit(&c);
	return changed;
}

int main(void)
{
	ok(fabs(student_t__probability(3, INFINITY) - 0.0026998) < 1e-6,
	   "three normal errors have a probability of 0.27 %%");
	ok(fabs(student_t__probability(2.776445, 4) - 0.05) < 1e-6 &&
	   fabs(student_t__exceeded(0.05, 4) - 2.776445) < 1e-5,
	   "Student's t with 4 degrees of freedom is as in tables");
	ok(fabs(student_t__probability(3, 1e7) - 0.0026998) < 1e-6,
	   "many degrees of freedom are the normal distribution");
	ok(changes(3.1 * sqrt(2), 1, 0, 1) && !changes(2.9 * sqrt(2), 1, 0, 1),
	   "a change of more than three errors of two recordings counts");
	/* The standard error of two values is half of their difference. */
	ok(!changes(6 * sqrt(0.5), 2, 1, 0.01),
	   "six errors are no change if the error is the spread of two recordings a side");
	ok(changes(30 * sqrt(0.5), 2, 1, 0.01), "thirty errors are a change then");
	ok(changes(3.1, 2, 0.1, 1) && !changes(2.9, 2, 0.1, 1),
	   "three errors suffice if the recordings' own errors are larger than the spread");
	return done_testing();
}
