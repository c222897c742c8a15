// SPDX-License-Identifier: MIT
#include "life/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/all_threads.h"
#include "base/clock.h"
#include "base/libc.h"
#include "base/lock.h"
#include "launch/launcher.h"
#include "launch/ranges.h"
#include "life/ends.h"
#include "life/inherit.h"
#include "life/sharing.h"
#include "nvtx/capture.h"
#include "nvtx/nvtx_injection.h"
#include "python/python.h"
#include "wire/probe.h"
#include "wire/shm.h"
#include "xpu_shm.h"

static char path[PATH_MAX];
static bool has_path;

/* Called when the calling thread is about to end: ends its recording. */
static void thread_ends(void)
{
	ranges__exit();
	launcher__exit();
}

/*
 * Whether no other thread can be reading the environment, so that setenv() may move it and free the
 * old copy. glibc 2.32 and later have a flag for single-threaded processes. Otherwise the number of
 * links of /proc/self/task is the number of threads plus two.
 */
static bool is_single_threaded(void)
{
	const char *known = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
	struct stat tasks;

	dlerror();
	if (known)
		return *known;
	/* glibc has had stat() as a function only since 2.33. */
	return !syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) &&
	       tasks.st_nlink == 3;
}

/*
 * Decides where records go. Called at load, since NVTX ranges may open before the process uses a
 * GPU and connects to xpuload.
 */
static void choose_way(void)
{
	const char *where = getenv(XPU_SHM_ENV);

	probe__way = getenv(XPU_RUN_ENV) ? PROBE_RUN : PROBE_LIVE;
	if (probe__way != PROBE_RUN || !where || !shm__start(where))
		return;
	probe__way = PROBE_SHM;
	sharing__want();
}

const char *load__path(bool *may_set)
{
	*may_set = is_single_threaded();
	return has_path ? path : NULL;
}

static void load(void)
{
	bool may_set;
	Dl_info self;

	ends__init();
	if (!libc__is_glibc())
		return;
	libc__init();
	clock__find_namespace();
	all_threads__call_at_end(thread_ends);
	choose_way();
	inherit__init();
	has_path = dladdr((const void *)&xpu_launch_semaphore, &self) &&
		   realpath(self.dli_fname, path);
	if (load__path(&may_set))
		nvtx__init(path, may_set);
	capture__init();		/* programs may open ranges before they use a GPU */
	if (probe__way == PROBE_RUN)
		python__tell(true);
}

void shim__load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved_errno = errno;
	sigset_t old;

	signals__block(&old);		/* otherwise a signal handler might call this, too, and wait
					 * forever */
	pthread_once(&once, load);
	signals__restore(&old);
	errno = saved_errno;
}
