/* SPDX-License-Identifier: MIT */
/*
 * libc.h - functions that only glibc, or only newer versions of glibc, have
 *
 * The environment may bring the shim into programs of another C library, such as musl, whose
 * dynamic loader ends a program if a library needs a function that is missing. So these symbols are
 * weak, and where they are missing the shim does nothing: see libc__is_glibc().
 */
#ifndef XPU_PRELOAD_LIBC_H
#define XPU_PRELOAD_LIBC_H

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WEAK __attribute__((weak))

extern const char *gnu_get_libc_version(void) WEAK;
extern __typeof__(dladdr1) dladdr1 WEAK;
extern void *__libc_stack_end WEAK;

/*
 * Declared here, because pthread_atfork() and at_quick_exit() would call these functions through
 * symbols that are not weak.
 */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *dso) WEAK;
extern int __cxa_at_quick_exit(void (*function)(void *), void *dso) WEAK;
extern void *__dso_handle __attribute__((visibility("hidden")));

static inline bool libc__is_glibc(void)
{
	return gnu_get_libc_version != NULL;
}

/* Return: the thread's id. glibc has gettid() only since 2.30. */
static inline pid_t libc__tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/*
 * Finds the functions that older versions of glibc lack. Must be called before the functions below.
 */
void libc__init(void);

/* Waits as sem_timedwait() does, until @deadline by CLOCK_MONOTONIC. */
int libc__wait_until(sem_t *sem, const struct timespec *deadline);

/* Return: whether @sem was posted before @seconds were over. */
bool libc__wait_seconds(sem_t *sem, int seconds);

#undef WEAK

#endif /* XPU_PRELOAD_LIBC_H */
