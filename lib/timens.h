/* SPDX-License-Identifier: MIT */
/*
 * timens.h - by how much the CLOCK_MONOTONIC of a process differs from the machine's
 *
 * In a time namespace the clock is shifted by an offset. The times of BPF programs and of perf events are
 * those of the initial namespace, so a program that compares its own times with them subtracts its offset.
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

/* Reads digits at *@text. Return: false if there are none, or too many. */
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
 * timens__read - find the clock's line in a text as /proc/PID/timens_offsets has it
 * @text: lines of a clock's name (its number in Linux 5.6), seconds, which may be negative, and ns
 *
 * Return: the offset of CLOCK_MONOTONIC in ns; 0 if the text has none.
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
	if (!timens__digits(&text, &ns) || __builtin_mul_overflow(below_zero ? -s : s, 1000000000, &sum) ||
	    __builtin_add_overflow(sum, ns, &sum))
		return 0;
	return sum;
}

/*
 * Whether the file below tells the offsets of this process: it has those that its next children get, which
 * differ in a process that has made a namespace for them.
 */
static inline bool timens__is_own(void)
{
	char own[64] = "", next[64] = "";

	return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
	       readlink("/proc/self/ns/time_for_children", next, sizeof(next) - 1) > 0 && !strcmp(own, next);
}

/*
 * Return: what the CLOCK_MONOTONIC of this process is ahead of the machine's, in ns. 0 where /proc does not
 * tell. A handler of fork() may call it.
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
