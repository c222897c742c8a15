/* SPDX-License-Identifier: MIT */
/*
 * lock.h - a mutex that the program's threads take, too
 *
 * A signal handler may launch or open a range, and so take any of the shim's locks, even if the
 * interrupted thread already holds that lock. So a thread that holds a lock blocks signals.
 */
#ifndef XPU_PRELOAD_LOCK_H
#define XPU_PRELOAD_LOCK_H

#include <pthread.h>
#include <signal.h>

static inline void signals__block(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

static inline void signals__restore(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* Takes a lock, with signals blocked. @old: filled in for lock__give() */
static inline void lock__take(pthread_mutex_t *lock, sigset_t *old)
{
	signals__block(old);
	pthread_mutex_lock(lock);
}

static inline void lock__give(pthread_mutex_t *lock, const sigset_t *old)
{
	pthread_mutex_unlock(lock);
	signals__restore(old);
}

#endif /* XPU_PRELOAD_LOCK_H */
