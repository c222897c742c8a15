/* SPDX-License-Identifier: MIT */
/*
 * timens.h - how far a process's CLOCK_MONOTONIC is from the machine's clock
 *
 * A time namespace shifts the clock by an offset. BPF programs and perf events use the clock of the
 * initial namespace. To compare its own times with their timestamps, a program must subtract the
 * offset from its own times.
 */
#ifndef TIMENS_H
#define TIMENS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static inline const char *timens__skip_blanks(const char *text)
{
	while (*text == ' ')
		text++;
	return text;
}

/* Reads digits at *@text. Return: false if there are no digits, or too many digits. */
static inline bool timens__digits(const char **text, int64_t *n)
{
	const char *p = *text;

	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(*n, 10, n) || __builtin_add_overflow(*n, *p - '0', n))
			return false;
	if (p == *text)
		return false;
	*text = p;
	return true;
}

/**
 * timens__read - find the offset of CLOCK_MONOTONIC in the text of /proc/PID/timens_offsets
 * @text: lines with a clock's name (its number in Linux 5.6), seconds (may be negative), and ns
 *
 * Return: the offset in ns; 0 if the text has none.
 */
static inline int64_t timens__read(const char *text)
{
	static const char *const names[] = { "monotonic ", "1 " };
	int64_t s, ns, sum;
	bool below_zero;
	size_t i;

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strncmp(text, names[i], strlen(names[i])))
				break;
		if (i < sizeof(names) / sizeof(names[0]))
			break;
	}
	if (!text)
		return 0;
	text = timens__skip_blanks(text + strlen(names[i]));
	below_zero = *text == '-';
	text += below_zero;
	if (!timens__digits(&text, &s))
		return 0;
	text = timens__skip_blanks(text);
	if (!timens__digits(&text, &ns) ||
	    __builtin_mul_overflow(below_zero ? -s : s, 1000000000, &sum) ||
	    __builtin_add_overflow(sum, ns, &sum))
		return 0;
	return sum;
}

/*
 * Whether /proc/self/timens_offsets has the offsets of this process. The file has the offsets of
 * future children; these differ if this process has made a time namespace for its children.
 */
static inline bool timens__is_own(void)
{
	char own[64] = "", next[64] = "";

	return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
	       readlink("/proc/self/ns/time_for_children", next, sizeof(next) - 1) > 0 &&
	       !strcmp(own, next);
}

/*
 * Return: how many ns this process's CLOCK_MONOTONIC is ahead of the machine's clock; 0 if /proc
 * does not show this. A handler of fork() may call this function.
 */
static inline int64_t timens__offset_ns(void)
{
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	char text[256] = "";
	int64_t ns = 0;

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) > 0)
		ns = timens__read(text);
	close(fd);
	return ns && timens__is_own() ? ns : 0;
}

#endif /* TIMENS_H */
