// SPDX-License-Identifier: MIT
#include "human.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#define MOST_DIGITS	6		/* after the point */

/* Prints @n in the first unit that makes it smaller than @base, otherwise in the last unit. */
static char *human__print(char buf[HUMAN_MAX], uint64_t n, unsigned int base,
			  const char *const *units)
{
	double value = n;
	size_t i = 0;

	if (n < base) {
		snprintf(buf, HUMAN_MAX, "%" PRIu64 "%s", n, n ? units[0] : "");
		return buf;
	}
	/* Without the 0.5, the value 999.5 would be printed as 1000. */
	while (units[i + 1] && value >= base - 0.5) {
		value /= base;
		i++;
	}
	snprintf(buf, HUMAN_MAX, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value,
		 units[i]);
	return buf;
}

char *human__time(char buf[HUMAN_MAX], uint64_t ns)
{
	static const char *const units[] = { " ns", " us", " ms", " s", NULL };

	return human__print(buf, ns, 1000, units);
}

char *human__bytes(char buf[HUMAN_MAX], uint64_t bytes)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", NULL };

	return human__print(buf, bytes, 1024, units);
}

static const char *const prefixes[] = { "", " k", " M", " G", " T", NULL };

char *human__count(char buf[HUMAN_MAX], uint64_t n)
{
	if (n >= 100000)
		return human__print(buf, n, 1000, prefixes);
	snprintf(buf, HUMAN_MAX, "%" PRIu64, n);
	return buf;
}

/* Return: the factor of the prefix that a number has, 1 to 1e12. Sets *@prefix. */
static double find_prefix(double value, const char **prefix)
{
	double factor = 1;
	size_t i = 0;

	if (fabs(value) >= 100000)
		for (; prefixes[i + 1] && fabs(value) >= 999.5 * factor; i++)
			factor *= 1000;
	*prefix = prefixes[i];
	return factor;
}

char *human__number(char buf[HUMAN_MAX], double value, int digits)
{
	const char *prefix;
	double factor = find_prefix(value, &prefix);

	snprintf(buf, HUMAN_MAX, "%.*f%s", digits, value / factor, prefix);
	return buf;
}

/* Return: the number of decimal places that show two digits of @error, which is above 0. */
static int error_digits(double error)
{
	int digits;

	for (digits = 0; error < 10 && digits <= MOST_DIGITS; digits++)
		error *= 10;
	return digits;
}

char *human__with_error(char buf[HUMAN_MAX], double value, double error)
{
	const char *prefix = "";
	double factor = 1;
	int digits = fabs(value) < 1e15 && value != (int64_t)value, len;

	if (error > 0) {
		factor = find_prefix(fabs(value) > error ? value : error, &prefix);
		digits = error_digits(error / factor);
	} else {
		error = 0;
	}
	if (digits > MOST_DIGITS) {
		factor = 1;
		prefix = "";
		digits = error_digits(error);
	}
	len = snprintf(buf, HUMAN_MAX, "%.*f+-%.*f%s", digits, value / factor, digits,
		       error / factor, prefix);
	if (len >= HUMAN_MAX || digits > MOST_DIGITS)
		snprintf(buf, HUMAN_MAX, "%.10g+-%.2g", value, error);
	return buf;
}
