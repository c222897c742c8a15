/* SPDX-License-Identifier: MIT */
/*
 * tap.h - the Test Anything Protocol, for tests in C and C++
 *
 *	int main(void)
 *	{
 *		plan(2);				or done_testing() prints the plan
 *		ok(1 + 1 == 2, "sum of %d and %d", 1, 1);
 *		is_int(strlen("abc"), 3, "length");
 *		return done_testing();
 *	}
 *
 * Each check prints its line at once and returns its result, so that diag() can say more. stdout is
 * flushed at every line: the output shows where a test crashed, and a forked child repeats nothing.
 */
#ifndef TEST_LIB_TAP_H
#define TEST_LIB_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap {
	int planned;		/* 0: the plan is printed at the end */
	int run;
	int failed;
};

static struct tap tap;

#define TAP_PRINTF(fmt, args)	__attribute__((unused, format(printf, fmt, args)))

__attribute__((unused)) static inline void plan(int nr_tests)
{
	tap.planned = nr_tests;
	printf("1..%d\n", nr_tests);
	fflush(stdout);
}

/* A comment line; prove -v shows it. */
TAP_PRINTF(1, 2) static inline void note(const char *fmt, ...)
{
	va_list args;

	fputs("# ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* Explains why a check failed; prints to stderr, which prove always shows. */
TAP_PRINTF(1, 2) static inline void diag(const char *fmt, ...)
{
	va_list args;

	fputs("# ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	putc('\n', stderr);
}

static inline void tap_line(int pass, const char *fmt, va_list args)
{
	tap.run++;
	if (!pass)
		tap.failed++;
	printf("%sok %d - ", pass ? "" : "not ", tap.run);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
}

TAP_PRINTF(4, 5)
static inline int tap_ok(int pass, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_line(pass, fmt, args);
	va_end(args);
	if (!pass)
		diag("failed at %s:%d", file, line);
	return pass;
}

TAP_PRINTF(5, 6)
static inline int tap_is_int(long long got, long long want, const char *file, int line,
			     const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_line(got == want, fmt, args);
	va_end(args);
	if (got != want)
		diag("failed at %s:%d: got %lld, expected %lld", file, line, got, want);
	return got == want;
}

TAP_PRINTF(5, 6)
static inline int tap_is_str(const char *got, const char *want, const char *file, int line,
			     const char *fmt, ...)
{
	int pass = got == want || (got && want && !strcmp(got, want));
	va_list args;

	va_start(args, fmt);
	tap_line(pass, fmt, args);
	va_end(args);
	if (!pass)
		diag("failed at %s:%d: got '%s', expected '%s'", file, line,
		     got ? got : "(null)", want ? want : "(null)");
	return pass;
}

#define ok(cond, ...)		tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)	tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...)	tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

/* Skips @nr_tests checks that cannot run here, and says why. */
TAP_PRINTF(2, 3) static inline void skip(int nr_tests, const char *fmt, ...)
{
	va_list args;

	while (nr_tests-- > 0) {
		printf("ok %d # SKIP ", ++tap.run);
		va_start(args, fmt);
		vprintf(fmt, args);
		va_end(args);
		putchar('\n');
	}
	fflush(stdout);
}

/* Skips the whole test; call it only before plan() and the first check. */
TAP_PRINTF(1, 2) __attribute__((noreturn))
static inline void skip_all(const char *fmt, ...)
{
	va_list args;

	fputs("1..0 # SKIP ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	exit(0);
}

/* Stops the whole run, other tests included, because something that all tests need is missing. */
TAP_PRINTF(1, 2) __attribute__((noreturn))
static inline void bail(const char *fmt, ...)
{
	va_list args;

	fputs("Bail out! ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	exit(255);
}

/* Return: main's exit status, 0 if every check passed and as many ran as were planned. */
__attribute__((unused, warn_unused_result)) static inline int done_testing(void)
{
	if (!tap.planned)
		printf("1..%d\n", tap.run);
	else if (tap.planned != tap.run)
		diag("planned %d checks but ran %d", tap.planned, tap.run);
	if (tap.failed)
		diag("%d of %d checks failed", tap.failed, tap.run);
	fflush(stdout);
	return tap.failed || (tap.planned && tap.planned != tap.run);
}

#endif /* TEST_LIB_TAP_H */
