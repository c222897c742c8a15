// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "invoker.h"
#include "privileges.h"

int child__settle(int fd, pid_t parent, const char *name)
{
	sigset_t all;
	int null, i;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -ESRCH;
	prctl(PR_SET_NAME, name);
	fd = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FD + 1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (i = 0; i < CHILD_FD; i++)
		if (dup2(null, i) < 0)
			return -errno;
	if (dup2(fd, CHILD_FD) < 0 || syscall(SYS_close_range, CHILD_FD + 1, ~0u, 0))
		return -errno;
	return 0;
}

int child__become_invoker(uint64_t keep)
{
	keep = invoker__is_other() ? 0 : keep;
	/* Change the bounding set first: only root can change it. */
	return privileges__bound(keep) ?: invoker__become() ?: privileges__drop(keep);
}
