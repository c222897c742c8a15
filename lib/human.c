// SPDX-License-Identifier: MIT
#include "human.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* Prints @n in the first of the units in which it is below 1000, or in the last one. */
static char *human__print(char buf[HUMAN_MAX], uint64_t n, const char *const *units)
{
	double value = n;
	size_t i = 0;

	if (n < 1000) {
		snprintf(buf, HUMAN_MAX, "%" PRIu64 "%s", n, n ? units[0] : "");
		return buf;
	}
	/* 999.5 would be printed as 1000. */
	while (units[i + 1] && value >= 999.5) {
		value /= 1000;
		i++;
	}
	snprintf(buf, HUMAN_MAX, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i]);
	return buf;
}

char *human__time(char buf[HUMAN_MAX], uint64_t ns)
{
	static const char *const units[] = { " ns", " us", " ms", " s", NULL };

	return human__print(buf, ns, units);
}

char *human__bytes(char buf[HUMAN_MAX], uint64_t bytes)
{
	static const char *const units[] = { " B", " kB", " MB", " GB", " TB", NULL };

	return human__print(buf, bytes, units);
}

char *human__count(char buf[HUMAN_MAX], uint64_t n)
{
	static const char *const units[] = { "", " k", " M", " G", " T", NULL };

	if (n >= 100000)
		return human__print(buf, n, units);
	snprintf(buf, HUMAN_MAX, "%" PRIu64, n);
	return buf;
}
