// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/shared.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/entry_table.h"
#include "base/msg.h"
#include "record/shm_reader.h"
#include "xpu_slot.h"

#define MAX_CALLERS	128		/* connections that have not said what they want */
#define CALLER_NS	1000000000ull	/* that long they may take */
#define MAX_ACCEPTS	64		/* connections that are taken before rings are read */
#define DEAF_NS		20000000ull	/* without room for connections, they are left that long */
#define MAX_READERS	1024		/* processes that share memory at a time */
#define MAX_LOSSES	(1 << 14)	/* processes whose losses are known apart */
#define MAX_TASKS	4096		/* threads that are looked at in one process */
#define MAX_THREADS	(4 * MAX_TASKS)	/* whose numbers are remembered of one process */
#define LOOK_NS		20000000ll	/* that long may looking at threads take at once, */
#define LOOK_SHARE	16		/* and this part of the time in the long run */
#define MAX_EVENTS	64
#define MIN_PAUSE_MS	2
#define MAX_PAUSE_MS	50
#define FIRST_PAUSE_MS	10

#ifndef P_PIDFD
#define P_PIDFD		3
#endif

/* A thread of a process in another pid namespace. */
struct thread {
	UT_hash_handle hh;
	pid_t ns_tid;			/* as its own pid namespace numbers it */
	pid_t tid;			/* as ours does; @ns_tid if it was not found */
};

/* A process of the recorded tree, with the image that it runs now. */
struct member {
	UT_hash_handle hh;
	pid_t pid;			/* as our pid namespace numbers it */
	uint32_t proc_id;
	int pid_fd;			/* -1: its end is not seen */
	uint64_t exit_ns;		/* when a thread of it ended last, if that is reported */
	bool ended;
	struct shm_reader *reader;	/* NULL: the image has not connected */
	uint64_t image;			/* of its hello */
	uint64_t heard_round;		/* in which it got memory last; see hear() */
	pid_t ns_pid;			/* as its own pid namespace numbers it */
	struct thread *threads;
	int64_t look_ns;		/* that long may they be looked for, */
	uint64_t look_set_ns;		/* as was found at this time */
	uint64_t paths_ns;		/* when the first new call path came; 0: none did */
	uint64_t nr_lost[XPU_LOST_NR];	/* as far as they are in the sums */
	struct shared *shared;
};

struct loss {
	UT_hash_handle hh;
	uint32_t proc_id;
	struct xpu_loss loss;
};

struct caller {
	int fd;				/* -1: free */
	pid_t pid;
	uid_t uid;
	uint64_t since_ns;
};

struct shared {
	struct shared_options opts;
	struct shared_listener listener;
	int listen_fd, epoll_fd;
	uint8_t token[XPU_SHM_TOKEN_BYTES];
	char env[128];
	struct member *members;
	struct loss *losses;
	uint32_t last_proc_id;
	uint32_t nr_readers;
	bool reports;
	bool leaving;
	bool told_many;
	uint64_t round;			/* of shared__drain() */
	int pause_ms;			/* see shared__pause_ms() */
	double fullest;			/* ring of this round, as a share of its size */
	uint64_t nr_lost[XPU_LOST_NR];
	uint64_t deaf_ns;		/* since when there is no room for connections; 0: there is */
	unsigned int nr_callers;
	struct caller callers[MAX_CALLERS];
};

/* The data of epoll events: the kind is in the upper half. */
#define EVENT_LISTEN	0ull
#define EVENT_CALLER	1ull
#define EVENT_END	2ull
#define EVENT(kind, nr)	((kind) << 32 | (uint32_t)(nr))

/* ---- the socket ------------------------------------------------------------------------------ */

static int watch(struct shared *s, int fd, uint64_t event)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = event };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/*
 * The socket is in the abstract namespace: it needs no directory, and it is gone when xpuload is.
 * Its name is no secret, so callers must know the token, which only the target's environment has.
 */
static int listen_for_callers(struct shared *s)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint64_t name;
	size_t len, i;

	if (getrandom(&name, sizeof(name), 0) != sizeof(name) ||
	    getrandom(s->token, sizeof(s->token), 0) != sizeof(s->token))
		return -errno;
	len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "xpuload-%016llx",
		       (unsigned long long)name);
	snprintf(s->env, sizeof(s->env), "%s:", address.sun_path + 1);
	for (i = 0; i < sizeof(s->token); i++)
		sprintf(s->env + strlen(s->env), "%02x", s->token[i]);
	sprintf(s->env + strlen(s->env), ":%d", s->opts.ranges ? XPU_SHM_WANTS_RANGES : 0);

	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd < 0 ||
	    bind(s->listen_fd, (struct sockaddr *)&address,
		 offsetof(struct sockaddr_un, sun_path) + 1 + len) ||
	    listen(s->listen_fd, SOMAXCONN))
		return -errno;
	return watch(s, s->listen_fd, EVENT(EVENT_LISTEN, 0));
}

int shared__open(const struct shared_options *opts, const struct shared_listener *listener,
		 struct shared **sp)
{
	struct shared *s = calloc(1, sizeof(*s));
	int i, err;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->listener = *listener;
	s->listen_fd = -1;
	s->pause_ms = FIRST_PAUSE_MS;
	for (i = 0; i < MAX_CALLERS; i++)
		s->callers[i].fd = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll_fd < 0 ? -errno : listen_for_callers(s);
	if (err) {
		shared__close(s);
		return err;
	}
	*sp = s;
	return 0;
}

static void member__free_inside(struct member *m)
{
	shm_reader__free(m->reader);
	table_free(m->threads, table_free_nothing);
	if (m->pid_fd >= 0)
		close(m->pid_fd);
}

void shared__close(struct shared *s)
{
	int i;

	if (!s)
		return;
	table_free(s->members, member__free_inside);
	table_free(s->losses, table_free_nothing);
	for (i = 0; i < MAX_CALLERS; i++)
		if (s->callers[i].fd >= 0)
			close(s->callers[i].fd);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

const char *shared__env(const struct shared *s)
{
	return s->env;
}

int shared__fd(const struct shared *s)
{
	return s->epoll_fd;
}

/* ---- records --------------------------------------------------------------------------------- */

/*
 * Return: the number of the thread whose status is in the file @path, in the innermost pid namespace
 * that it is in; 0 if that cannot be read.
 */
static pid_t read_ns_tid(const char *path)
{
	char line[256], *last;
	pid_t tid = 0;
	FILE *f = fopen(path, "re");

	while (f && !tid && fgets(line, sizeof(line), f)) {
		last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		tid = last ? atoi(last) : 0;
	}
	if (f)
		fclose(f);
	return tid;
}

static void member__set_thread(struct member *m, pid_t ns_tid, pid_t tid)
{
	struct thread *t;

	if (HASH_COUNT(m->threads) >= MAX_THREADS)
		table_free(m->threads, table_free_nothing);
	table_get(m->threads, ns_tid, ns_tid, t);
	if (t)
		t->tid = tid;
}

/*
 * Finds the numbers of all threads of @m. The process tells which it wants to know, so it could make
 * us do nothing else. Return: whether there was time for it.
 */
static bool member__find_threads(struct member *m)
{
	uint64_t now = clock__now();
	char path[64];
	struct dirent *d;
	pid_t tid, ns_tid;
	int nr = 0;
	DIR *dir;

	m->look_ns += (now - m->look_set_ns) / LOOK_SHARE;
	m->look_set_ns = now;
	if (m->look_ns > LOOK_NS)
		m->look_ns = LOOK_NS;
	if (m->look_ns <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task", m->pid);
	dir = opendir(path);
	while (dir && nr++ < MAX_TASKS && (d = readdir(dir))) {
		tid = atoi(d->d_name);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", m->pid, tid);
		ns_tid = tid ? read_ns_tid(path) : 0;
		if (ns_tid)
			member__set_thread(m, ns_tid, tid);
	}
	if (dir)
		closedir(dir);
	m->look_ns -= clock__now() - now;
	return true;
}

/* Return: the number in our pid namespace of the thread that has @ns_tid in its process's own. */
static pid_t member__tid(struct member *m, pid_t ns_tid)
{
	struct thread *t;

	if (m->ns_pid == m->pid)
		return ns_tid;
	if (m->ns_pid == ns_tid)
		return m->pid;
	table_find(m->threads, ns_tid, ns_tid, t);
	if (t)
		return t->tid;
	if (!member__find_threads(m))
		return ns_tid;
	table_find(m->threads, ns_tid, ns_tid, t);
	/* One that has ended already keeps the number that it had there. */
	if (!t)
		member__set_thread(m, ns_tid, ns_tid);
	return t ? t->tid : ns_tid;
}

/* Sets what a process cannot tell of itself, and hands the record on. */
static void on_record(void *ctx, struct xpu_record *record, size_t size)
{
	struct xpu_ring_launch *launch = (struct xpu_ring_launch *)record;
	struct xpu_record_batch *batch = (struct xpu_record_batch *)record;
	struct xpu_ring_log *log = (struct xpu_ring_log *)record;
	struct member *m = ctx;
	struct shared *s = m->shared;

	switch (record->type) {
	case XPU_RECORD_LOG:
		log->proc_id = m->proc_id;
		log->tid = m->ns_pid == m->pid ? log->ns_tid : 0;
		break;
	case XPU_RECORD_BATCH:
		batch->proc_id = m->proc_id;
		batch->tid = member__tid(m, batch->ns_tid);
		break;
	default:
		launch->proc_id = m->proc_id;
		launch->tid = member__tid(m, launch->ns_tid);
		if (s->opts.max_frames && launch->nr_frames > s->opts.max_frames &&
		    !(launch->flags & XPU_CHAIN_SHIM)) {
			launch->nr_frames = s->opts.max_frames;
			launch->flags |= XPU_CHAIN_TRUNCATED;
		}
		if (launch->nr_frames && !m->paths_ns)
			m->paths_ns = launch->time_ns ?: 1;
	}
	s->listener.record(s->listener.ctx, record, size);
}

/* Adds what @m has lost since the last time to the sums. */
static void member__count_losses(struct shared *s, struct member *m)
{
	uint64_t more, nr;
	struct loss *l;
	int kind;

	for (kind = 1; kind < XPU_LOST_NR; kind++) {
		nr = shm_reader__nr_lost(m->reader, kind);
		if (nr <= m->nr_lost[kind])
			continue;
		more = nr - m->nr_lost[kind];
		m->nr_lost[kind] = nr;
		s->nr_lost[kind] += more;
		if (HASH_COUNT(s->losses) < MAX_LOSSES)
			table_get(s->losses, proc_id, m->proc_id, l);
		else
			table_find(s->losses, proc_id, m->proc_id, l);
		if (!l)
			continue;
		if (kind == XPU_LOST_READ)
			l->loss.nr_unread += more;
		else if (kind == XPU_LOST_RANGE)
			l->loss.nr_ranges += more;
		else if (kind == XPU_LOST_BATCH)
			l->loss.nr_batches += more;
		else if (kind == XPU_LOST_WAIT)
			l->loss.nr_waits += more;
		else if (kind == XPU_LOST_LAUNCH)
			l->loss.nr_launches += more;
	}
}

/* Takes what is there; all there ever will be if @over. Return: whether all was taken. */
static bool member__read(struct shared *s, struct member *m, bool over)
{
	bool was_broken, all = true;
	double full;

	if (!m->reader)
		return true;
	full = shm_reader__fullness(m->reader);
	if (full > s->fullest)
		s->fullest = full;
	was_broken = shm_reader__is_broken(m->reader);
	if (over)
		shm_reader__finish(m->reader, on_record, m);
	else
		all = shm_reader__drain(m->reader, on_record, m);
	member__count_losses(s, m);
	if (shm_reader__is_broken(m->reader) && !was_broken)
		msg__warn("pid %d has overwritten the memory that it shares with xpuload: it is "
			  "recorded no further", m->pid);
	if (m->paths_ns && s->listener.paths(s->listener.ctx, m->pid, m->paths_ns))
		m->paths_ns = 0;
	return all;
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct member *find_member(const struct shared *s, pid_t pid)
{
	struct member *m;

	table_find(s->members, pid, pid, m);
	return m;
}

uint32_t shared__proc_id(const struct shared *s, pid_t pid)
{
	const struct member *m = find_member(s, pid);

	return m ? m->proc_id : 0;
}

static void read_comm(pid_t pid, char comm[XPU_COMM_LEN])
{
	char path[64];
	FILE *f;

	memset(comm, 0, XPU_COMM_LEN);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(comm, XPU_COMM_LEN, f))
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	fclose(f);
}

/* The image of @m is over: takes its last records. */
static void member__leave_image(struct shared *s, struct member *m)
{
	if (!m->reader)
		return;
	member__read(s, m, true);
	shm_reader__free(m->reader);
	m->reader = NULL;
	memset(m->nr_lost, 0, sizeof(m->nr_lost));
	m->paths_ns = 0;
	s->nr_readers--;
}

/* @m runs a new image from @time_ns on. @how: XPU_MISC_PROCESS_* */
static void member__enter_image(struct shared *s, struct member *m, uint16_t how,
				uint32_t parent_proc_id, uint64_t time_ns)
{
	struct xpu_record_process r = {
		.hdr = { XPU_RECORD_PROCESS, how, sizeof(r) },
		.time_ns = time_ns,
		.proc_id = ++s->last_proc_id,
		.pid = m->pid,
		.parent_proc_id = parent_proc_id,
	};

	member__leave_image(s, m);
	m->proc_id = r.proc_id;
	read_comm(m->pid, r.comm);
	s->listener.record(s->listener.ctx, &r, sizeof(r));
}

/* Return: the new process, whose end will be noticed; NULL without memory. */
static struct member *add_member(struct shared *s, pid_t pid)
{
	struct member *m;

	table_get(s->members, pid, pid, m);
	if (!m)
		return NULL;
	m->shared = s;
	m->pid_fd = syscall(SYS_pidfd_open, pid, 0);
	if (m->pid_fd >= 0)
		watch(s, m->pid_fd, EVENT(EVENT_END, pid));
	m->ended = m->pid_fd < 0 && errno == ESRCH;
	return m;
}

/* Return: how our child ended, as wait(2) encodes it; 0 for others, of which we cannot know. */
static uint32_t exit_code(const struct member *m)
{
	siginfo_t info = { 0 };

	if (m->pid_fd < 0 || waitid(P_PIDFD, m->pid_fd, &info, WEXITED | WNOHANG | WNOWAIT) ||
	    !info.si_pid)
		return 0;
	if (info.si_code == CLD_EXITED)
		return (info.si_status & 0xff) << 8;
	return info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

static void end_member(struct shared *s, struct member *m, uint64_t time_ns)
{
	struct xpu_record_process_exit r = {
		.hdr = { XPU_RECORD_PROCESS_EXIT, 0, sizeof(r) },
		.time_ns = time_ns,
		.proc_id = m->proc_id,
		.pid = m->pid,
		.exit_code = exit_code(m),
	};

	member__leave_image(s, m);
	s->listener.record(s->listener.ctx, &r, sizeof(r));
	member__free_inside(m);
	table_remove(s->members, m);
}

void shared__start(struct shared *s, pid_t pid, bool reports)
{
	struct member *m = add_member(s, pid);

	s->reports = reports;
	if (m)
		member__enter_image(s, m, XPU_MISC_PROCESS_ROOT, 0, clock__now());
}

static void add_fork(struct shared *s, pid_t pid, const struct member *parent, uint64_t time_ns)
{
	struct member *m = find_member(s, pid);

	if (m)				/* its pid is another's now */
		end_member(s, m, m->exit_ns ?: time_ns);
	m = add_member(s, pid);
	if (!m)
		return;
	member__enter_image(s, m, XPU_MISC_PROCESS_FORK, parent ? parent->proc_id : 0, time_ns);
}

void shared__report(struct shared *s, enum shared_report what, pid_t pid, pid_t parent,
		    uint64_t time_ns)
{
	struct member *m = find_member(s, pid);

	switch (what) {
	case SHARED_FORK:
		add_fork(s, pid, find_member(s, parent), time_ns);
		break;
	case SHARED_EXEC:
		if (m)
			member__enter_image(s, m, XPU_MISC_PROCESS_EXEC, m->proc_id, time_ns);
		break;
	case SHARED_EXIT:
		if (m)
			m->exit_ns = time_ns;
		/* If descriptors are short, its end is looked for here. */
		if (m && m->pid_fd < 0 && kill(pid, 0) && errno == ESRCH)
			m->ended = true;
		break;
	}
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Sends @reply with the descriptor @memory. */
static int send_reply(int fd, const struct xpu_shm_reply *reply, int memory)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {
		.hdr = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
			 .cmsg_len = CMSG_LEN(sizeof(int)) },
	};
	struct iovec iov = { (void *)reply, sizeof(*reply) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.hdr), &memory, sizeof(memory));
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Return: the caller's process, with the image that called; NULL without memory. */
static struct member *find_caller(struct shared *s, pid_t pid, const struct xpu_shm_hello *hello)
{
	struct member *m;

	s->listener.settle(s->listener.ctx);
	m = find_member(s, pid);
	if (!m) {
		/* Whose child it is was not reported. */
		m = add_member(s, pid);
		if (m)
			member__enter_image(s, m, XPU_MISC_PROCESS_FORK, 1, clock__now());
		return m;
	}
	if (m->reader && m->image == hello->image)
		member__leave_image(s, m);	/* it has not got our reply, and has written nothing */
	else if (m->reader || !s->reports)
		member__enter_image(s, m, XPU_MISC_PROCESS_EXEC, m->proc_id, clock__now());
	return m;
}

static void give_memory(struct shared *s, int fd, pid_t pid, const struct xpu_shm_hello *hello)
{
	struct xpu_shm_reply reply;
	struct member *m;
	char path[64];
	int memory, err;

	if (s->leaving)
		return;
	m = find_caller(s, pid, hello);
	if (!m)
		return;
	m->heard_round = s->round;
	err = s->nr_readers >= MAX_READERS ? -EUSERS :
	      shm_reader__new(s->opts.ring_bytes, &reply, &memory, &m->reader);
	if (err) {
		if (!s->told_many)
			msg__warn("no memory to share with pid %d, which is not recorded: %s", pid,
				  err == -EUSERS ? "too many processes" : strerror(-err));
		s->told_many = true;
		s->nr_lost[XPU_LOST_PROCESS]++;
		return;
	}
	s->nr_readers++;
	s->pause_ms = FIRST_PAUSE_MS;
	m->image = hello->image;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	m->ns_pid = read_ns_tid(path) ?: pid;
	err = send_reply(fd, &reply, memory);
	close(memory);
	if (err)
		msg__debug("no reply to pid %d: %s", pid, strerror(-err));
}

static void hang_up(struct shared *s, struct caller *c)
{
	close(c->fd);
	c->fd = -1;
	s->nr_callers--;
}

/* Whether @a and @b are equal, in a time that does not tell how much of them is. */
static bool same_token(const uint8_t *a, const uint8_t *b)
{
	uint8_t differ = 0;
	int i;

	for (i = 0; i < XPU_SHM_TOKEN_BYTES; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* A process gets memory once in a round: who calls again and again keeps us from nobody else. */
static void hear(struct shared *s, struct caller *c)
{
	const struct member *m = find_member(s, c->pid);
	struct xpu_shm_hello hello = { 0 };
	ssize_t n;

	if (m && m->heard_round == s->round)
		return;
	n = recv(c->fd, &hello, sizeof(hello), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == sizeof(hello) && hello.magic == XPU_SHM_MAGIC &&
	    hello.version == XPU_SHM_VERSION && same_token(hello.token, s->token))
		give_memory(s, c->fd, c->pid, &hello);
	hang_up(s, c);
}

static void drop_callers_of(struct shared *s, pid_t pid)
{
	struct caller *c;

	for (c = s->callers; s->nr_callers && c < s->callers + MAX_CALLERS; c++)
		if (c->fd >= 0 && c->pid == pid)
			hang_up(s, c);
}

/*
 * Whether a connection of @uid is taken. Only root records other users' processes, and there none of
 * them can have all places.
 */
static bool may_call(const struct shared *s, uid_t uid)
{
	const struct caller *c;
	unsigned int nr = 0;

	if (geteuid())
		return uid == geteuid();
	for (c = s->callers; c < s->callers + MAX_CALLERS; c++)
		nr += c->fd >= 0 && c->uid == uid;
	return nr < MAX_CALLERS / 2;
}

/* Connections that cannot be taken must not wake us all the time. drop_slow_callers() listens again. */
static void stop_listening(struct shared *s)
{
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->listen_fd, NULL);
	s->deaf_ns = clock__now();
}

static void take_callers(struct shared *s)
{
	struct caller *c = s->callers;
	struct ucred peer;
	int fd, nr;

	for (nr = 0; nr < MAX_ACCEPTS && s->nr_callers < MAX_CALLERS; nr++) {
		fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			       errno == ENOBUFS))
			stop_listening(s);
		if (fd < 0)
			return;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){ sizeof(peer) }) ||
		    peer.pid <= 0 || !may_call(s, peer.uid)) {
			close(fd);
			continue;
		}
		/* Of a process that waits no longer, or of the image that it ran before. */
		drop_callers_of(s, peer.pid);
		for (c = s->callers; c->fd >= 0; c++)
			;
		c->fd = fd;
		c->pid = peer.pid;
		c->uid = peer.uid;
		c->since_ns = clock__now();
		s->nr_callers++;
		if (watch(s, fd, EVENT(EVENT_CALLER, c - s->callers)))
			hang_up(s, c);
		else
			hear(s, c);
	}
	if (s->nr_callers == MAX_CALLERS)
		stop_listening(s);
}

static void drop_slow_callers(struct shared *s)
{
	struct caller *c;

	for (c = s->callers; s->nr_callers && c < s->callers + MAX_CALLERS; c++)
		if (c->fd >= 0 && clock__now() - c->since_ns > CALLER_NS)
			hang_up(s, c);
	if (s->deaf_ns && s->nr_callers < MAX_CALLERS && clock__now() - s->deaf_ns > DEAF_NS &&
	    !watch(s, s->listen_fd, EVENT(EVENT_LISTEN, 0)))
		s->deaf_ns = 0;
}

/* Another process may have got the pid since the event. */
static bool has_ended(const struct member *m)
{
	struct pollfd fd = { .fd = m->pid_fd, .events = POLLIN };

	return m->pid_fd >= 0 && poll(&fd, 1, 0) > 0;
}

static void take_events(struct shared *s)
{
	struct epoll_event ev[MAX_EVENTS];
	struct member *m;
	uint32_t nr;
	int n, i;

	n = epoll_wait(s->epoll_fd, ev, MAX_EVENTS, 0);
	/* Callers first: a process that has just ended may have called before. */
	for (i = 0; i < n; i++) {
		nr = ev[i].data.u64;
		switch (ev[i].data.u64 >> 32) {
		case EVENT_LISTEN:
			take_callers(s);
			break;
		case EVENT_CALLER:
			if (s->callers[nr].fd >= 0)
				hear(s, &s->callers[nr]);
			break;
		}
	}
	for (i = 0; i < n; i++) {
		if (ev[i].data.u64 >> 32 != EVENT_END)
			continue;
		m = find_member(s, (uint32_t)ev[i].data.u64);
		if (m && has_ended(m))
			m->ended = true;
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Rings are to be some part full when they are read: not so full that a delay costs records. */
static void adapt_pause(struct shared *s)
{
	if (s->fullest > 1.0 / 16)
		s->pause_ms = s->pause_ms / 2 < MIN_PAUSE_MS ? MIN_PAUSE_MS : s->pause_ms / 2;
	else if (s->fullest < 1.0 / 64)
		s->pause_ms = s->pause_ms * 2 > MAX_PAUSE_MS ? MAX_PAUSE_MS : s->pause_ms * 2;
	s->fullest = 0;
}

bool shared__drain(struct shared *s)
{
	struct member *m = NULL, *following = NULL;
	bool all = true, any_end = false;

	s->round++;
	take_events(s);
	drop_slow_callers(s);
	for (m = s->members; m; m = m->hh.next) {
		all &= member__read(s, m, false);
		any_end |= m->ended;
	}
	adapt_pause(s);
	if (!any_end)
		return all;
	/* All reports of a process must come before its end. */
	s->listener.settle(s->listener.ctx);
	for (m = s->members; m; m = following) {
		following = m->hh.next;
		if (!m->ended)
			continue;
		drop_callers_of(s, m->pid);
		end_member(s, m, m->exit_ns ?: clock__now());
	}
	return all;
}

int shared__pause_ms(const struct shared *s)
{
	return s->pause_ms;
}

void shared__leave(struct shared *s)
{
	struct member *m;

	s->leaving = true;
	for (m = s->members; m; m = m->hh.next)
		if (m->reader)
			shm_reader__set_state(m->reader, XPU_SHM_LEAVING);
}

void shared__loss(const struct shared *s, uint32_t proc_id, struct xpu_loss *loss)
{
	struct loss *l;

	table_find(s->losses, proc_id, proc_id, l);
	if (l)
		*loss = l->loss;
}

uint64_t shared__nr_lost(const struct shared *s, enum xpu_lost_kind kind)
{
	return s->nr_lost[kind];
}
