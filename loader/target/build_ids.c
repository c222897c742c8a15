// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/build_ids.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host_clock.h"
#include "base/msg.h"

#define WAIT_MS		2000
#define MAX_SILENT	8

/* Not in the headers of the supported distributions. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

#define PROCMAP_QUERY_IOCTL	_IOWR('f', 17, struct procmap_query)

struct answer {
	int32_t err;
	uint32_t len;
	uint8_t id[XPU_BUILD_ID_LEN];
};

struct build_ids {
	pid_t pid;			/* the helper process, or 0 */
	int fd;
	bool unsupported;
	size_t nr_silent;
	uint64_t silent[MAX_SILENT];	/* devices that did not answer */
};

/* ---- the process that asks ------------------------------------------------------------------- */

static void ask(int maps_fd, uint64_t addr, struct answer *a)
{
	uint8_t id[64] = { 0 };
	struct procmap_query q = {
		.size = sizeof(q),
		.query_addr = addr,
		.build_id_size = sizeof(id),
		.build_id_addr = (uintptr_t)id,
	};

	if (ioctl(maps_fd, PROCMAP_QUERY_IOCTL, &q)) {
		a->err = -errno;
		return;
	}
	a->len = q.build_id_size < sizeof(a->id) ? q.build_id_size : sizeof(a->id);
	memcpy(a->id, id, a->len);
}

/* Room for the descriptor that is sent with a request. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static _Noreturn void run_child(int fd, pid_t parent)
{
	union control control;
	uint64_t addr;
	struct iovec iov = { &addr, sizeof(addr) };
	struct msghdr msg;
	struct cmsghdr *c;
	struct answer a;
	int maps_fd;

	if (child__settle(fd, parent, "xpuload-ids") || privileges__drop(0))
		_exit(1);
	for (;;) {
		msg = (struct msghdr){
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = &control, .msg_controllen = sizeof(control),
		};
		if (recvmsg(CHILD_FD, &msg, MSG_CMSG_CLOEXEC) != sizeof(addr))
			_exit(0);
		c = CMSG_FIRSTHDR(&msg);
		if (!c || c->cmsg_type != SCM_RIGHTS)
			_exit(1);
		memcpy(&maps_fd, CMSG_DATA(c), sizeof(maps_fd));
		memset(&a, 0, sizeof(a));
		ask(maps_fd, addr, &a);
		close(maps_fd);
		if (send(CHILD_FD, &a, sizeof(a), MSG_NOSIGNAL) != sizeof(a))
			_exit(1);
	}
}

/* ---- xpuload --------------------------------------------------------------------------------- */

struct build_ids *build_ids__new(void)
{
	return calloc(1, sizeof(struct build_ids));
}

static int build_ids__start(struct build_ids *b)
{
	pid_t parent = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	b->pid = fork();
	if (!b->pid)
		run_child(fds[1], parent);
	close(fds[1]);
	b->fd = fds[0];
	if (b->pid > 0)
		return 0;
	b->pid = 0;
	close(b->fd);
	return -EAGAIN;
}

/* Kills the helper process without waiting, because it may hang in the kernel. */
static void build_ids__end(struct build_ids *b)
{
	if (!b->pid)
		return;
	close(b->fd);
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, WNOHANG);
	b->pid = 0;
}

void build_ids__free(struct build_ids *b)
{
	if (!b)
		return;
	build_ids__end(b);
	free(b);
}

static bool send_request(const struct build_ids *b, int maps_fd, uint64_t addr)
{
	union control control = { 0 };
	struct iovec iov = { &addr, sizeof(addr) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(maps_fd));
	memcpy(CMSG_DATA(c), &maps_fd, sizeof(maps_fd));
	return sendmsg(b->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(addr);
}

/* Receives an answer. Return: 1; 0 if the process has ended; or -ETIMEDOUT. */
static int take_answer(const struct build_ids *b, struct answer *a)
{
	uint64_t end_ns = clock__now() + WAIT_MS * 1000000ull, now_ns;
	struct pollfd p = { .fd = b->fd, .events = POLLIN };

	for (;;) {
		now_ns = clock__now();
		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		if (poll(&p, 1, (end_ns - now_ns) / 1000000 + 1) > 0)
			return recv(b->fd, a, sizeof(*a), MSG_DONTWAIT) == sizeof(*a);
	}
}

static bool may_ask(const struct build_ids *b, uint64_t device)
{
	size_t i;

	for (i = 0; i < b->nr_silent; i++)
		if (b->silent[i] == device)
			return false;
	return !b->unsupported && b->nr_silent < MAX_SILENT;
}

size_t build_ids__read(struct build_ids *b, int maps_fd, uint64_t addr, uint64_t device,
		       const char *path, uint8_t id[XPU_BUILD_ID_LEN])
{
	struct answer a;
	int ret;

	if (!may_ask(b, device) || (!b->pid && build_ids__start(b)))
		return 0;
	ret = send_request(b, maps_fd, addr) ? take_answer(b, &a) : 0;
	if (ret != 1) {
		build_ids__end(b);
		if (ret)
			msg__warn("%s: its file system does not answer: its files have no "
				  "build-ids",
				  path);
		b->silent[b->nr_silent++] = device;
		return 0;
	}
	b->unsupported = a.err == -ENOTTY;
	if (a.err || a.len > XPU_BUILD_ID_LEN)
		return 0;
	memcpy(id, a.id, a.len);
	return a.len;
}
