/* SPDX-License-Identifier: MIT */
/* life.h - functions for vendors and ends.c; life.c runs the shim in a process */
#ifndef XPU_PRELOAD_LIFE_H
#define XPU_PRELOAD_LIFE_H

#include <stdbool.h>

struct vendor;
struct request;

/*
 * Notes that the program uses @vendor's runtime, which the shim then records if somebody listens.
 * Must be called once for each vendor, on a thread of the program, before the first launch.
 */
void life__used(const struct vendor *vendor);

/*
 * Sends finished device work. Called when the process is about to end without exit handlers, or to
 * run another program. Gives up after a second without progress. Async-signal-safe; does nothing in
 * a process that does not use a GPU, in a forked or vforked child, and when nobody listens.
 */
void shim__before_end(void);

/* ---- for vendors ---- */

/* Adds a request that the shim's thread serves under capture__lock(). Call before life__used(). */
void life__add_request(struct request *r);

/*
 * Looks for listeners now, on the shim's thread, which otherwise does so ten times a second.
 * Return: 1 if launches are recorded; 0 if nobody listens or the process has not used a GPU yet; -1
 * if somebody listens, but CUPTI is unavailable, which a message explains
 */
int shim__follow(void);

/* See xpuload_share() of shim.c. Return: an enum sharing_answer */
int shim__share(const char *where);

enum life_ask {
	LIFE_ASK,			/* the shim's thread can be asked */
	LIFE_HERE,			/* the shim has no thread: the caller has to do the work */
	LIFE_NO,			/* not possible: the process is ending, is a forked child or
					 * uses no GPU, or the caller is the shim's thread */
};

enum life_ask life__may_ask(void);

#endif /* XPU_PRELOAD_LIFE_H */
