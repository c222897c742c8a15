// SPDX-License-Identifier: GPL-3.0-or-later
#include "inject/inject.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "inject/borrow.h"

#define WAIT_MS		120000

struct answer {
	int32_t err;
	struct inject_result result;
};

/*
 * Checks or traces the process with the rights of the invoker, so that Linux checks these rights.
 * Drops the capabilities that come from xpuload's file.
 */
static _Noreturn void run_child(pid_t pid, const char *shim, int fd, pid_t parent)
{
	static struct answer a;

	if (child__settle(fd, parent, "xpuload-inject") || (geteuid() && privileges__drop(0)))
		_exit(1);
	/*
	 * Run at high priority, because a thread will be stopped meanwhile. Only root may raise the
	 * priority; other users run without that.
	 */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
			       &(struct sched_param){ .sched_priority = 1 }))
		setpriority(PRIO_PROCESS, 0, -20);
	a.err = borrow__run(pid, shim, &a.result);
	send(CHILD_FD, &a, sizeof(a), MSG_NOSIGNAL);
	_exit(0);
}

/*
 * Kills the child, and waits a while for its end. A child that waits for a file system run by the
 * process cannot be killed, and is left behind.
 */
static void end_child(pid_t child)
{
	int i;

	kill(child, SIGKILL);
	for (i = 0; i < 200 && !waitpid(child, NULL, WNOHANG); i++)
		usleep(5000);
}

int inject__into(pid_t pid, const char *shim, struct inject_result *result)
{
	struct pollfd p = { .events = POLLIN };
	struct answer a = { .err = -EIO };
	pid_t parent = getpid(), child;
	int fds[2];

	strcpy(a.result.why, "xpuload-inject, which puts it there, has failed");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		snprintf(result->why, INJECT_WHY, "socketpair: %s", strerror(errno));
		return -errno;
	}
	fflush(NULL);
	child = fork();
	if (!child)
		run_child(pid, shim, fds[1], parent);
	close(fds[1]);
	p.fd = fds[0];
	if (child > 0 && poll(&p, 1, WAIT_MS) > 0 && recv(fds[0], &a, sizeof(a), 0) != sizeof(a))
		a.err = -EIO;
	close(fds[0]);
	if (child > 0)
		end_child(child);
	*result = a.result;
	return a.err;
}

int inject__check(pid_t pid, char *why)
{
	struct inject_result result;
	int err = inject__into(pid, NULL, &result);

	memcpy(why, result.why, INJECT_WHY);
	return err;
}
