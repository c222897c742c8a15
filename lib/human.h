/* SPDX-License-Identifier: MIT */
/* human.h - times and sizes in the unit that fits them, with three digits: "1.05 s", "12.3 MiB" */
#ifndef LIB_HUMAN_H
#define LIB_HUMAN_H

#include <stdint.h>

#define HUMAN_MAX	32		/* bytes of the longest text, NUL included */

/* Puts a time into @buf, in ns, us, ms or s: "0", "175 us", "1.05 s", "86400 s". Return: @buf. */
char *human__time(char buf[HUMAN_MAX], uint64_t ns);

/* Puts a size into @buf, in B to TiB, as the HTML page prints sizes. Return: @buf. */
char *human__bytes(char buf[HUMAN_MAX], uint64_t bytes);

/*
 * Puts a number into @buf: unchanged below 100000, above that as "742 k" or "5.00 M". Return: @buf.
 */
char *human__count(char buf[HUMAN_MAX], uint64_t n);

/*
 * Puts a number into @buf, with @digits after the point. A number of at least 100000 gets a
 * prefix of its unit, " k" to " T": "90.2", "2.0 T". Return: @buf.
 */
char *human__number(char buf[HUMAN_MAX], double value, int digits);

/*
 * Puts a number and its standard error into @buf, with two digits of the error and one prefix:
 * "90.20+-0.31", "2.043+-0.012 T". A number without an error, or with an error too small for the
 * prefix, has no prefix: "123456789+-0", "123456789.00+-0.50". Return: @buf.
 */
char *human__with_error(char buf[HUMAN_MAX], double value, double error);

#endif /* LIB_HUMAN_H */
