// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/pyfind.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/confine.h"
#include "base/mapped.h"
#include "base/msg.h"
#include "target/pyelf.h"

struct request {			/* sent together with a file's descriptor */
	uint64_t time_ns, start, pgoff;
	uint32_t pid;
	uint32_t minor;
};

struct answer {
	uint64_t time_ns;
	uint32_t pid;
	int32_t err;
	struct xpu_python python;
};

struct pyfind {
	pid_t pid;
	int fd;				/* -1: the child has ended */
};

/* ---- the child ------------------------------------------------------------------------------- */

/* Return: the request's descriptor, -1 for a request without a descriptor, or -2 at the end */
static int take_request(struct request *r)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { r, sizeof(*r) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fd = -1;
	ssize_t n = recvmsg(CHILD_FD, &msg, MSG_CMSG_CLOEXEC);

	if (n != sizeof(*r))
		return -2;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static _Noreturn void run_child(int fd, pid_t parent)
{
	struct request r;
	struct answer a;
	char path[64];
	int file;

	if (child__settle(fd, parent, "xpuload-python") || confine__process(16))
		_exit(1);
	while ((fd = take_request(&r)) != -2) {
		memset(&a, 0, sizeof(a));
		a.pid = r.pid;
		a.time_ns = r.time_ns;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		a.err = file < 0 ? -errno :
			pyelf__find(file, r.start, r.pgoff, r.minor, &a.python);
		if (file >= 0)
			close(file);
		if (fd >= 0)
			close(fd);
		if (send(CHILD_FD, &a, sizeof(a), 0) != sizeof(a))
			break;
	}
	_exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

struct pyfind *pyfind__new(void)
{
	struct pyfind *f = calloc(1, sizeof(*f));
	pid_t parent = getpid();
	int fds[2];

	if (!f)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		free(f);
		return NULL;
	}
	fflush(NULL);
	f->pid = fork();
	if (!f->pid)
		run_child(fds[1], parent);
	close(fds[1]);
	f->fd = fds[0];
	if (f->pid > 0)
		return f;
	close(f->fd);
	free(f);
	return NULL;
}

static void pyfind__end(struct pyfind *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
}

void pyfind__free(struct pyfind *f)
{
	if (!f)
		return;
	pyfind__end(f);
	free(f);
}

int pyfind__fd(const struct pyfind *f)
{
	return f ? f->fd : -1;
}

/*
 * Return: whether @path is a name for CPython. *@minor: the minor version of Python 3; 0 if the
 * name has none.
 */
static bool is_python(const char *path, uint32_t *minor)
{
	const char *name = strrchr(path, '/');

	*minor = 0;
	if (!name)
		return false;
	name++;
	if (!strncmp(name, "lib", 3))
		name += 3;
	if (strncmp(name, "python", 6))
		return false;
	if (!strncmp(name, "python3.", 8))
		*minor = strtoul(name + 8, NULL, 10) & 0xff;
	return true;
}

void pyfind__mmap(struct pyfind *f, const struct xpu_record_mmap *r)
{
	struct request request = {
		.time_ns = r->time_ns, .start = r->start, .pgoff = r->pgoff, .pid = r->pid,
	};
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &request, sizeof(request) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd;

	if (f->fd < 0 || !is_python(r->filename, &request.minor))
		return;
	fd = mapped__open(r->pid, r->start, r->len, r->filename, true);
	if (fd < 0)
		return;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(f->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		msg__debug("no Python frames of pid %u: %s", r->pid, strerror(errno));
	close(fd);
}

void pyfind__drain(struct pyfind *f, pyfind_fn fn, void *ctx)
{
	struct answer a;
	ssize_t n;

	if (!f || f->fd < 0)
		return;
	while ((n = recv(f->fd, &a, sizeof(a), MSG_DONTWAIT)) == sizeof(a)) {
		if (!a.err)
			fn(ctx, a.pid, a.time_ns, &a.python);
		else if (a.err != -ENOENT)	/* -ENOENT: the interpreter is in a library */
			msg__debug("no Python frames of pid %u: %s", a.pid, strerror(-a.err));
	}
	if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		msg__warn("the process that finds Python has ended: new processes have no Python "
			  "frames");
		pyfind__end(f);
	}
}
