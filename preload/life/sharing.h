/* SPDX-License-Identifier: MIT */
/*
 * sharing.h - counts xpuload as a listener while it shares memory with the process
 *
 * All functions are for the thread that calls states__follow(). With shared memory, Linux counts no
 * listeners in the semaphores.
 */
#ifndef XPU_PRELOAD_SHARING_H
#define XPU_PRELOAD_SHARING_H

#include <stdbool.h>

/* An answer of xpuload_share() of shim.c. */
enum sharing_answer {
	SHARING_AWAKE		= 1,	/* launches are recorded */
	SHARING_LATER		= 0,	/* launches are recorded once the process uses a GPU */
	SHARING_NO_GPU		= -1,	/* CUPTI is unavailable; a message says why */
	SHARING_TAKEN		= -2,	/* another xpuload records this process */
	SHARING_NO_MEMORY	= -3,	/* the memory of the last recording cannot be used again */
	SHARING_BUSY		= -4,	/* the shim's thread has not answered in time: ask again */
};

/*
 * Adds xpuload as a listener to the records that it wants. Called as soon as xpuload's address is
 * known, because ranges may open before GPUs are used.
 */
void sharing__want(void);

/*
 * Adds xpuload as a listener when it begins to record, and removes it when it leaves. Return:
 * whether it has left, so that another xpuload may take its place.
 */
bool sharing__follow(void);

/*
 * Shares memory with the xpuload that waits at @where. Return: SHARING_LATER; after a failure, the
 * reason.
 */
enum sharing_answer sharing__start(const char *where);

/* Ends sharing, so that other listeners can attach. */
void sharing__stop(void);

#endif /* XPU_PRELOAD_SHARING_H */
