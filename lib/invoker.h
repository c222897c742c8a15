/* SPDX-License-Identifier: MIT */
/*
 * invoker.h - the user for whom a privileged program handles files
 *
 * Under sudo, or installed set-user-ID, a program has more rights than the user who called it.
 * That user is its invoker. Between invoker__enter() and invoker__leave() files are opened, made,
 * renamed and removed with the invoker's rights, so that the program does to no file what its
 * invoker could not do. Any other program is its own invoker, and these functions do nothing.
 */
#ifndef LIB_INVOKER_H
#define LIB_INVOKER_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * invoker__find - find out who called this program
 * @why: what is wrong, as a sentence to print
 *
 * To be called once, before there are threads. Real ids that differ from the effective ones come
 * first: SUDO_UID is the caller's own to choose then. Else it is SUDO_UID, for root.
 *
 * Return: 0, or a negative errno: nothing may be done for an unknown user.
 */
int invoker__find(const char **why);

/* Whether the invoker is another user than the one that this program runs as. */
bool invoker__is_other(void);

uid_t invoker__uid(void);

/*
 * From here on this thread has the invoker's rights to files, until invoker__leave(). Calls nest.
 * Return: 0, or a negative errno: then the thread is as it was.
 */
int invoker__enter(void);
void invoker__leave(void);

/* Becomes the invoker for good: for a program to exec. Return: 0 or a negative errno. */
int invoker__become(void);

#endif /* LIB_INVOKER_H */
