// SPDX-License-Identifier: MIT
#include "gpu/cupti/way.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "life/life.h"
#include "life/requests.h"

#define YIELD_WAIT_S	5		/* how long to wait for the shim's thread */

static struct request yield, join;
static _Atomic(const char *) wanted;	/* the function that the program wants to call */
static atomic_bool joining;		/* the program wants to subscribe alongside others */

void way__init(void (*yield_fn)(void), void (*join_fn)(void))
{
	yield.fn = yield_fn;
	join.fn = join_fn;
	life__add_request(&join);
	life__add_request(&yield);	/* added last, so it is served first */
}

/* Gives CUPTI to the program if the shim has no thread. */
static void yield_here(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	sigset_t old;

	lock__take(&lock, &old);
	yield.fn();
	lock__give(&lock, &old);
}

void way__yield(const char *function)
{
	enum life_ask ask = life__may_ask();
	int saved_errno = errno;

	if (ask == LIFE_NO)
		return;
	atomic_store(&wanted, function);
	if (ask == LIFE_HERE)
		yield_here();
	else
		request__ask(&yield, YIELD_WAIT_S);
	errno = saved_errno;
}

const char *way__function(void)
{
	return atomic_load(&wanted);
}

void way__make_room(const char *function)
{
	if (life__may_ask() != LIFE_ASK)
		return;
	atomic_store(&joining, true);
	way__yield(function);
}

void way__join(void)
{
	int saved_errno = errno;

	if (way__is_joining() && life__may_ask() == LIFE_ASK)
		request__ask(&join, YIELD_WAIT_S);
	errno = saved_errno;
}

bool way__is_joining(void)
{
	return atomic_load(&joining);
}

void way__has_joined(void)
{
	atomic_store(&joining, false);
}
