// SPDX-License-Identifier: MIT
/* Reads texts such as the contents of /proc/PID/timens_offsets, and invalid texts. */
#include "timens.h"

#include "tap.h"

static void reads(const char *text, int64_t ns, const char *name)
{
	is_int(timens__read(text), ns, "%s", name);
}

int main(void)
{
	reads("monotonic           0         0\nboottime            0         0\n", 0, "no shift");
	reads("monotonic      100000         0\nboottime 7 0\n", 100000000000000, "ahead");
	reads("monotonic         -20         0\nboottime 0 0\n", -20000000000, "behind");
	reads("monotonic          -1 999999999\n", -1, "behind by 1 ns");
	reads("boottime -20 0\nmonotonic 5 3\n", 5000000003, "in another order");
	reads("1          86400         0\n7 5 0\n", 86400000000000, "the names of Linux 5.6");
	reads("11          86400         0\n", 0, "another clock");
	reads("", 0, "nothing");
	reads("monotonic", 0, "a name alone");
	reads("monotonic \n", 0, "no number");
	reads("monotonic  5\n", 0, "no nanoseconds");
	reads("monotonic  x 0\n", 0, "no digits");
	reads("monotonic  99999999999999999999 0\n", 0, "more than 64 bits");
	reads("monotonic  9223372037 0\n", 0, "more than 64 bits of ns");
	return done_testing();
}
