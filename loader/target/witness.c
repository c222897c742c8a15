// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host_clock.h"

struct witness {
	pid_t pid;
	int fd;				/* the pipe on which the witness reports signals */
	struct xpu_signal signals[XPU_SIGNALS];
};

/* The message that the witness sends for a signal. */
struct told {
	int sig;
	pid_t sender_pid;
	uint64_t time_ns;
};

/* Becomes the witness. It ends when xpuload ends, which closes the other end of the pipe. */
static _Noreturn void be_witness(int fd, pid_t parent)
{
	struct told told;
	siginfo_t info;
	sigset_t all;

	if (child__settle(fd, parent, "xpuload-signals") || privileges__drop(0))
		_exit(0);
	sigfillset(&all);
	for (;;) {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		told = (struct told){ info.si_signo, info.si_pid, clock__now() };
		if (write(CHILD_FD, &told, sizeof(told)) != sizeof(told) && errno == EPIPE)
			_exit(0);
	}
}

struct witness *witness__new(void)
{
	struct witness *w = calloc(1, sizeof(*w));
	pid_t parent = getpid();
	int fds[2];

	if (!w || pipe2(fds, O_CLOEXEC | O_NONBLOCK)) {
		free(w);
		return NULL;
	}
	w->pid = fork();
	if (!w->pid) {
		close(fds[0]);
		be_witness(fds[1], parent);
	}
	close(fds[1]);
	w->fd = fds[0];
	if (w->pid > 0)
		return w;
	close(fds[0]);
	free(w);
	return NULL;
}

void witness__free(struct witness *w)
{
	if (!w)
		return;
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	close(w->fd);
	free(w);
}

void witness__signal(struct witness *w, int sig, struct xpu_signal *s)
{
	struct told told;

	while (read(w->fd, &told, sizeof(told)) == sizeof(told)) {
		if (told.sig < 1 || told.sig >= XPU_SIGNALS)
			continue;
		w->signals[told.sig].sender_pid = told.sender_pid;
		w->signals[told.sig].time_ns = told.time_ns;
		w->signals[told.sig].nr++;
	}
	*s = w->signals[sig];
}
