/* SPDX-License-Identifier: MIT */
/* requests.h - requests of other threads to the shim's thread */
#ifndef XPU_PRELOAD_REQUESTS_H
#define XPU_PRELOAD_REQUESTS_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

struct request {
	void (*fn)(void);		/* runs on the shim's thread */
	struct request *next;
	atomic_uint nr_wanted;
	unsigned int nr_done;
	sem_t done;
};

/* Initializes a request, once, before request__ask(). */
void request__init(struct request *r);

/*
 * Asks the shim's thread to run @r, and waits for it. Gives up after @seconds without progress; see
 * requests__wait(). May be called in signal handlers.
 */
void request__ask(struct request *r, int seconds);

/*
 * Runs @r once for each request__ask() that was not served yet. Only the shim's thread calls this.
 */
void request__serve(struct request *r);

/*
 * Return: whether the shim's thread posted @sem. Gives up after @seconds in which no device work
 * arrived and none was packed. While there is progress it keeps waiting, because on a busy machine
 * a flush may produce thousands of buffers; but never longer than MAX_WAIT_S, because the program's
 * other threads may keep launching.
 */
bool requests__wait(sem_t *sem, int seconds);

#endif /* XPU_PRELOAD_REQUESTS_H */
