// SPDX-License-Identifier: MIT
#include "wire/sender.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "base/hot.h"
#include "base/libc.h"
#include "base/lock.h"
#include "wire/probe.h"
#include "wire/wire.h"

HOT_DATA uint8_t probe__way = PROBE_RUN;
HOT_DATA atomic_bool probe__inherited;

static sem_t wakeup;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* see lock.h */

void sender__init(void)
{
	sem_init(&wakeup, 0, 0);
}

void sender__lock(sigset_t *old)
{
	lock__take(&lock, old);
}

void sender__unlock(const sigset_t *old)
{
	lock__give(&lock, old);
}

void sender__pack(void (*pack)(void *ctx), void *ctx)
{
	sigset_t old;

	lock__take(&lock, &old);
	pack(ctx);
	lock__give(&lock, &old);
}

void sender__message(int level, const char *text)
{
	sigset_t old;

	lock__take(&lock, &old);
	wire__message(level, text);
	lock__give(&lock, &old);
}

void sender__name_api(uint32_t domain, uint32_t number, enum xpu_call_class class,
		      const char *name)
{
	sigset_t old;

	lock__take(&lock, &old);
	wire__api(domain, number, class, name);
	lock__give(&lock, &old);
}

void sender__wait(long timeout_ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += timeout_ns;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	while (libc__wait_until(&wakeup, &ts) && errno == EINTR)
		;
	while (!sem_trywait(&wakeup))	/* one drain serves all wakeups */
		;
}

void sender__wake(void)
{
	sem_post(&wakeup);
}
