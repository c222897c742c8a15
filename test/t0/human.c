// SPDX-License-Identifier: MIT
/* Numbers in units that fit: three digits, and never 1000 of a unit if a larger unit exists. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "human.h"
#include "tap.h"
#include "util.h"

static void times(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0" }, { 1, "1 ns" }, { 999, "999 ns" }, { 1000, "1.00 us" },
		{ 1005, "1.00 us" }, { 3034, "3.03 us" }, { 9994, "9.99 us" }, { 9996, "10.0 us" },
		{ 99940, "99.9 us" }, { 99960, "100 us" }, { 999499, "999 us" },
		{ 999500, "1.00 ms" }, { 1050000000, "1.05 s" }, { 999600000, "1.00 s" },
		{ 86400000000000, "86400 s" },
	};
	char buf[HUMAN_MAX];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(human__time(buf, cases[i].ns), cases[i].text, "%s", cases[i].text);
	ok(strlen(human__time(buf, UINT64_MAX)) < HUMAN_MAX, "the longest time fits: %s", buf);
}

int main(void)
{
	static const struct {
		double value, error;
		const char *text;
	} errors[] = {
		{ 90.2, 0.314, "90.20+-0.31" }, { 55.9, 1.94, "55.9+-1.9" },
		{ 131, 12.4, "131+-12" }, { 0.0169, 0.00041, "0.01690+-0.00041" },
		/* Without an error, each digit of a count matters. */
		{ 5, 0, "5+-0" }, { 5.25, 0, "5.2+-0.0" }, { 123456789, 0, "123456789+-0" },
		{ 123456789, NAN, "123456789+-0" }, { -1e40, 0, "-1e+40+-0" },
		/* With a prefix, the error would have more than six digits after the point. */
		{ 123456789, 0.5, "123456789.00+-0.50" }, { 1e40, 0.5, "1e+40+-0.5" },
		{ 2.0432e12, 1.2e10, "2.043+-0.012 T" },
		/* The larger of the two numbers determines the prefix. */
		{ 85e6, 93e9, "0+-93 G" }, { 1e-9, 1e-12, "1e-09+-1e-12" },
		{ 123456789, 1e-8, "123456789+-1e-08" },
	};
	size_t i;
	char buf[HUMAN_MAX];

	times();
	is_str(human__bytes(buf, 0), "0", "no bytes are 0");
	is_str(human__bytes(buf, 464), "464 B", "bytes have no decimals");
	is_str(human__bytes(buf, 1023), "1023 B", "1023 bytes are not yet KiB");
	is_str(human__bytes(buf, 4194304), "4.00 MiB", "a MiB has 1024 KiB");
	is_str(human__bytes(buf, 1048575), "1.00 MiB",
	       "1024 of a unit are shown as 1 of the next unit");
	is_str(human__bytes(buf, 1104451072), "1.03 GiB", "GiB have two decimals");
	is_str(human__bytes(buf, UINT64_MAX), "16777216 TiB", "the largest number of bytes fits");
	is_str(human__count(buf, 99999), "99999", "a number of five digits is shown as it is");
	is_str(human__count(buf, 742458), "742 k", "a larger number is shown in thousands");
	is_str(human__count(buf, 5000000), "5.00 M", "an even larger number is shown in millions");
	is_str(human__number(buf, -99999, 1), "-99999.0", "a number of five digits has no prefix");
	is_str(human__number(buf, 2.04e12, 1), "2.0 T", "a large number has a prefix");
	for (i = 0; i < ARRAY_SIZE(errors); i++)
		is_str(human__with_error(buf, errors[i].value, errors[i].error), errors[i].text,
		       "a number has two digits of its error");
	return done_testing();
}
