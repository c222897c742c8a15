/* SPDX-License-Identifier: MIT */
/*
 * cmdline.h - what a command line should have been, in one line; of xpuload, too
 */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include <getopt.h>
#include <stddef.h>

/* A word that people bring along from another tool. */
struct cmdline_habit {
	const char *word;		/* an option with its dashes, or a command; NULL: the last */
	const char *here;		/* what there is in its place, as a sentence goes on */
};

/* Return: what there is in place of @word, or NULL. */
const char *cmdline__habit(const struct cmdline_habit *habits, const char *word);

/**
 * cmdline__explain - say what getopt_long() did not like
 * @line: the text goes here, without a newline
 * @c: what it returned: '?', or ':', for its short options began with ':'
 * @argv: the arguments that it was given
 * @longs: its long options, with a value of their own or that of the short one
 * @habits: of other tools
 *
 * An unknown option that resembles one of @longs brings that to mind.
 */
void cmdline__explain(char *line, size_t size, int c, char *const argv[],
		      const struct option *longs, const struct cmdline_habit *habits);

#endif /* LIB_CMDLINE_H */
