/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terminal.h - the terminal that standard output is, if it is one, and the pager before it */
#ifndef MERGE_TERMINAL_H
#define MERGE_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Return: how many characters a line may have, as git finds it: $COLUMNS, or else that of the terminal, or
 * else 80.
 */
unsigned int terminal__width(void);

/* Return: whether to write escapes for colors: on a terminal that is not "dumb", unless NO_COLOR is set. */
bool terminal__has_color(void);

/* Whether standard output is a terminal that knows more than lines of text. */
bool terminal__has_codes(void);

/**
 * pager__start - let a pager show what is written to standard output, and to standard error
 *
 * As git does it: only if standard output is a terminal; $PAGER, which a shell runs, or else less; none if it
 * is "" or "cat". LESS is set to FRX, and LV to -c, if they are not set: less ends at once if all fits.
 *
 * Return: its process, for pager__finish(), or 0 if there is none.
 */
pid_t pager__start(void);

/* Waits until the user has seen enough. */
void pager__finish(pid_t pager);

#endif /* MERGE_TERMINAL_H */
