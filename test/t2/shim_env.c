// SPDX-License-Identifier: MIT
/*
 * The CUDA driver loads the shim into a process with threads. The shim must not change the
 * environment, which these threads may be reading. This test is linked with another copy of the
 * shim, which was loaded before.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "listener.h"
#include "tap.h"
#include "xpu_slot.h"

static sem_t may_end;

static void *wait_for_end(void *arg)
{
	(void)arg;
	sem_wait(&may_end);
	return NULL;
}

/* The environment's pointers, and a copy of each variable. */
struct picture {
	char **environ;
	char *variables[1024];
	size_t nr;
};

static void take_picture(struct picture *p)
{
	p->environ = environ;
	for (p->nr = 0; p->nr < 1024 && environ[p->nr]; p->nr++)
		p->variables[p->nr] = environ[p->nr];
}

static bool is_as_it_was(const struct picture *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (environ[i] != p->variables[i])
			return false;
	return environ == p->environ && !environ[p->nr];
}

/* Loads the shim in a child process that has @nr_threads additional threads. */
static int load(const char *shim, int nr_threads)
{
	struct picture before;
	pthread_t thread;
	bool same;

	sem_init(&may_end, 0, 0);
	if (nr_threads && pthread_create(&thread, NULL, wait_for_end, NULL))
		return 2;
	unsetenv("NVTX_INJECTION64_PATH");
	unsetenv(XPU_INJECTION_ENV);	/* set by the copy of the shim in this test */
	take_picture(&before);
	if (!dlopen(shim, RTLD_NOW | RTLD_LOCAL))
		return 3;
	same = is_as_it_was(&before);
	if (nr_threads) {
		sem_post(&may_end);
		pthread_join(thread, NULL);
		return same ? 0 : 4;
	}
	return !same && getenv(XPU_INJECTION_ENV) &&
	       !strcmp(getenv(XPU_INJECTION_ENV), shim) ? 0 : 5;
}

int main(int argc, char **argv)
{
	const char *build = getenv("XPU_BUILD");
	char path[PATH_MAX], shim[PATH_MAX];

	if (argc > 1)
		return load(getenv("TEST_SHIM"), !strcmp(argv[1], "threads"));
	snprintf(path, sizeof(path), "%s/libxpushim.so", build ? build : "build");
	if (!realpath(path, shim))
		bail("%s is not there", path);
	is_int(listener__run(argv[0], "threads", "TEST_SHIM", shim), 0,
	       "loaded into a process with threads, the shim leaves the environment unchanged");
	is_int(listener__run(argv[0], "alone", "TEST_SHIM", shim), 0,
	       "loaded into a process without threads, the shim names itself to the driver");
	return done_testing();
}
