// SPDX-License-Identifier: MIT
#include "base/libc.h"

#include <errno.h>

static int (*clockwait)(sem_t *sem, clockid_t clock, const struct timespec *deadline);

void libc__init(void)
{
	*(void **)&clockwait = dlsym(RTLD_DEFAULT, "sem_clockwait");	/* since glibc 2.30 */
	dlerror();			/* hide the error from the application */
}

static bool has_passed(const struct timespec *deadline)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec != deadline->tv_sec ? now.tv_sec > deadline->tv_sec :
						now.tv_nsec >= deadline->tv_nsec;
}

/*
 * Polls, since sem_timedwait() uses CLOCK_REALTIME and would wait longer if that clock were set
 * back meanwhile.
 */
static int poll_until(sem_t *sem, const struct timespec *deadline)
{
	const long longest = 4000000;
	struct timespec pause = { 0, 50000 };

	while (sem_trywait(sem)) {
		if (errno != EAGAIN)
			return -1;
		if (has_passed(deadline)) {
			errno = ETIMEDOUT;
			return -1;
		}
		if (nanosleep(&pause, NULL))
			return -1;
		pause.tv_nsec = pause.tv_nsec < longest / 2 ? 2 * pause.tv_nsec : longest;
	}
	return 0;
}

int libc__wait_until(sem_t *sem, const struct timespec *deadline)
{
	return clockwait ? clockwait(sem, CLOCK_MONOTONIC, deadline) : poll_until(sem, deadline);
}

bool libc__wait_seconds(sem_t *sem, int seconds)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += seconds;
	while (libc__wait_until(sem, &deadline))
		if (errno != EINTR)
			return false;
	return true;
}
