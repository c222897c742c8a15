/* SPDX-License-Identifier: GPL-3.0-or-later */
/* invoker.h - the user who called sudo: whose the files are that we make */
#ifndef XPU_LOADER_INVOKER_H
#define XPU_LOADER_INVOKER_H

#include <sys/types.h>

/* Gives the file away to that user, if it is one. */
void invoker__own(int fd);

/*
 * This thread makes and opens files with that user's rights from here on, until invoker__leave().
 * Return: whose they are.
 */
uid_t invoker__enter(void);
void invoker__leave(void);

/* Becomes that user for good. Return: 0 or a negative errno. */
int invoker__become(void);

#endif /* XPU_LOADER_INVOKER_H */
