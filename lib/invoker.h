/* SPDX-License-Identifier: MIT */
/*
 * invoker.h - the user for whom a privileged program handles files
 *
 * Under sudo, or installed set-user-ID, a program has more rights than the user who called it. That
 * user is its invoker. Between invoker__enter() and invoker__leave() files are opened, made,
 * renamed and removed with the invoker's rights, so that the program does to files only what the
 * invoker could do. In any other program, these functions do nothing.
 */
#ifndef LIB_INVOKER_H
#define LIB_INVOKER_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * invoker__find - find out who called this program
 * @why: set on failure to a sentence with the reason
 *
 * Call it once, before there are threads. If the real ids differ from the effective ids, the real
 * ids name the invoker: the caller of a set-user-ID program could set SUDO_UID at will. Otherwise,
 * for root, SUDO_UID names the invoker.
 *
 * Return: 0; or a negative errno if the invoker is unknown, so that the program must do nothing.
 */
int invoker__find(const char **why);

/* Whether this program runs as another user than the invoker. */
bool invoker__is_other(void);

uid_t invoker__uid(void);

/*
 * Gives this thread the invoker's rights to files until invoker__leave(). Calls may be nested.
 * Return: 0, or a negative errno with the thread unchanged.
 */
int invoker__enter(void);
void invoker__leave(void);

/*
 * Becomes the invoker for good, before another program is executed. Return: 0 or a negative errno.
 */
int invoker__become(void);

#endif /* LIB_INVOKER_H */
