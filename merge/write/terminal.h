/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terminal.h - the terminal on standard output, and the pager */
#ifndef MERGE_TERMINAL_H
#define MERGE_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Return: how many characters a line may have, by the same rule as in git: $COLUMNS, otherwise the
 * width of the terminal, otherwise 80.
 */
unsigned int terminal__width(void);

/*
 * Return: whether to write escapes for colors: on a terminal that is not "dumb", unless NO_COLOR is
 * set.
 */
bool terminal__has_color(void);

/* Whether standard output is a terminal that understands escape codes. */
bool terminal__has_codes(void);

/**
 * pager__start - let a pager show standard output and standard error
 *
 * Works as in git. A pager is used only if standard output is a terminal. A shell runs the command
 * in $PAGER. If PAGER is unset, less(1) is the pager. If PAGER is "" or "cat", no pager is used.
 * Sets LESS to FRX and LV to -c if they are unset: less(1) then ends at once if everything fits.
 *
 * Return: the pager's process, for pager__finish(), or 0 if no pager was started.
 */
pid_t pager__start(void);

/* Waits until the user leaves the pager. */
void pager__finish(pid_t pager);

#endif /* MERGE_TERMINAL_H */
