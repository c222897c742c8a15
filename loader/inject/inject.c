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
#include "base/host_clock.h"
#include "inject/borrow.h"

struct answer {
	int32_t err;
	struct inject_result result;
};

/*
 * Drops the capabilities that come from xpuload's file, so that Linux checks the rights of the
 * invoker. Then checks or traces the process.
 */
static _Noreturn void run_child(pid_t pid, const char *shim, int fd, pid_t parent)
{
	static struct answer a;

	if (child__settle(fd, parent, "xpuload-inject") || (geteuid() && privileges__drop(0)))
		_exit(1);
	/*
	 * Run at high priority, because a thread of the process will be stopped. Only root may
	 * raise the priority; for other users, it stays as it is.
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

void inject__begin(struct injection *i, pid_t pid, const char *shim)
{
	pid_t parent = getpid();
	int fds[2];

	*i = (struct injection){ .pid = pid, .child = -1, .fd = -1,
				 .end_ns = clock__now() + INJECT_MS * 1000000ull };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return;
	fflush(NULL);
	i->child = fork();
	if (!i->child)
		run_child(pid, shim, fds[1], parent);
	close(fds[1]);
	i->fd = fds[0];
}

bool inject__is_over(const struct injection *i, int timeout_ms)
{
	struct pollfd p = { .fd = i->fd, .events = POLLIN };

	return i->child < 0 || poll(&p, 1, timeout_ms) > 0 || clock__now() >= i->end_ns;
}

int inject__end(struct injection *i, struct inject_result *result)
{
	struct answer a = { .err = -EIO };

	if (clock__now() >= i->end_ns)
		snprintf(a.result.why, INJECT_WHY, "it takes more than %d s", INJECT_MS / 1000);
	else
		strcpy(a.result.why, "xpuload-inject, which puts it there, has failed");
	if (i->child > 0) {
		recv(i->fd, &a, sizeof(a), MSG_DONTWAIT);
		end_child(i->child);
	}
	if (i->fd >= 0)
		close(i->fd);
	*result = a.result;
	return a.err;
}

int inject__into(pid_t pid, const char *shim, struct inject_result *result)
{
	struct injection i;

	inject__begin(&i, pid, shim);
	while (!inject__is_over(&i, INJECT_MS))
		;
	return inject__end(&i, result);
}

int inject__check(pid_t pid, char *why)
{
	struct inject_result result;
	int err = inject__into(pid, NULL, &result);

	memcpy(why, result.why, INJECT_WHY);
	return err;
}
