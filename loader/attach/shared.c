// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/shared.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/entry_table.h"
#include "base/host_clock.h"
#include "base/msg.h"
#include "record/shm_reader.h"
#include "xpu_slot.h"

#define MAX_CALLERS	128		/* maximum number of connections that have sent nothing */
#define CALLER_NS	1000000000ull	/* how long a connection may stay silent */
#define ACCEPT_NS	100000000ull	/* maximum time to accept connections without a break */
#define DEAF_NS		20000000ull	/* pause before listening again if there was no room */
#define MAX_READERS	1024		/* maximum number of processes whose memory is mapped;
					 * further processes wait */
#define SPARE_FILES	32		/* descriptors reserved for connections */
#define MAX_MISSING	(1u << 20)	/* maximum number of missing processes; no honest
					 * count is larger */
#define MAX_LAUNCHES	(1ull << 48)	/* maximum number of launches of missing processes */
#define MAX_LOSSES	(1 << 14)	/* maximum number of processes whose losses are counted
					 * separately */
#define MAX_TASKS	4096		/* maximum number of threads to look at in a process */
#define MAX_THREADS	(4 * MAX_TASKS)	/* maximum number of threads of a process whose numbers are
					 * kept */
#define LOOK_NS		20000000ll	/* how long one search for threads may take, ... */
#define LOOK_SHARE	16		/* ... and all searches may take 1/16 of the time */
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
	pid_t ns_tid;			/* in its own pid namespace */
	pid_t tid;			/* in xpuload's pid namespace; @ns_tid if not found */
};

/* A process of the recorded tree, with its current image. */
struct member {
	UT_hash_handle hh;
	pid_t pid;			/* in xpuload's pid namespace */
	uint32_t proc_id;
	int pid_fd;			/* -1: the process's end will not be noticed */
	uint64_t exit_ns;		/* when a thread last ended, if that was reported */
	uint64_t ended_ns;		/* when the end was noticed; 0: not ended */
	struct shm_reader *reader;	/* NULL: the image has not connected */
	uint64_t image;			/* the image's number, from its hello */
	bool said_last;			/* the image's shim has marked the newest batch as the last
					 * one */
	bool attached;			/* its first hello comes from the image that is already
					 * known */
	uint64_t begin_ns;		/* when the image began */
	pid_t ns_pid;			/* the process's number in its own pid namespace */
	struct thread *threads;
	int64_t look_ns;		/* time that is left for searches for threads */
	uint64_t look_set_ns;		/* when look_ns was computed */
	uint64_t paths_ns;		/* when the first new call path arrived; 0: none has
					 * arrived */
	uint64_t nr_lost[XPU_LOST_NR];	/* number of losses of each kind already added to the
					 * sums */
	struct shared *shared;
};

struct loss {
	UT_hash_handle hh;
	uint32_t proc_id;
	struct xpu_loss loss;
};

struct caller {
	int fd;				/* -1: the slot is free */
	pid_t pid;
	uid_t uid;
	uint64_t since_ns;
};

struct shared {
	struct shared_options opts;
	struct shared_listener listener;
	int listen_fd, epoll_fd;
	uint8_t token[XPU_SHM_TOKEN_BYTES];
	char env[XPU_SHM_ENV_BYTES];
	struct member *members;
	struct loss *losses;
	uint32_t last_proc_id;
	uint32_t nr_readers;
	uint64_t start_ns;
	uint64_t now_ns;		/* connections made before this time are accepted, or are
					 * being accepted */
	uint64_t ring_bytes;
	struct xpu_shm_counts *counts;	/* a page shared with all processes, or NULL */
	uint64_t nr_came;		/* number of connected processes that @counts includes */
	uint64_t nr_unheard;		/* number of processes that could reach neither us nor
					 * @counts */
	int max_fd;			/* the largest of all pid_fds */
	bool reports;
	bool leaving;
	bool over;
	bool told_lost;
	int pause_ms;			/* see shared__pause_ms() */
	double fullest;			/* how full the fullest ring was in this round, 0 to 1 */
	uint64_t nr_lost[XPU_LOST_NR];
	uint64_t deaf_ns;		/* when listening was paused for lack of room; 0: it is not
					 * paused */
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
 * Makes the page in which processes count themselves. Processes attach it by its System V id,
 * because a program may close any descriptor. The page is marked as removed, so that it disappears
 * with the last process that attached it. Return: the id; -1 if the page cannot be made: processes
 * that cannot connect are then not counted.
 */
static int make_counts(struct shared *s)
{
	int id = shmget(IPC_PRIVATE, sizeof(*s->counts), 0600);
	void *counts = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	if (counts == (void *)-1) {
		msg__warn("no System V shared memory: processes that cannot connect will not be "
			  "counted: %s", strerror(errno));
		return -1;
	}
	s->counts = counts;
	memcpy(s->counts->token, s->token, sizeof(s->token));
	return id;
}

/*
 * Opens a socket in the abstract namespace: it needs no directory, and disappears with xpuload. Its
 * name is not secret, so callers must know the token, which is only in the target's environment.
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
	sprintf(s->env + strlen(s->env), ":%x:%llx:%x", s->opts.wants,
		(unsigned long long)s->ring_bytes, (unsigned int)make_counts(s));

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
	struct rlimit files;
	int i, err;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->ring_bytes = shm_reader__ring_bytes(opts->ring_bytes);
	s->start_ns = s->now_ns = clock__now();
	s->max_fd = getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur > INT_MAX ? INT_MAX :
		    (int)files.rlim_cur - SPARE_FILES;
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
	if (s->counts)
		shmdt(s->counts);
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
 * Return: the number of a thread in its innermost pid namespace, read from the status file @path; 0
 * if it cannot be read.
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
 * Finds the numbers of all threads of @m, within a limited time: otherwise a process could keep us
 * busy by sending unknown numbers. Return: whether the time sufficed.
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

/*
 * Return: a thread's number in xpuload's pid namespace. @ns_tid: its number in its own pid
 * namespace
 */
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
	/* A thread that has ended is not found; it keeps the number from its own namespace. */
	if (!t)
		member__set_thread(m, ns_tid, ns_tid);
	return t ? t->tid : ns_tid;
}

/* Whether a batch is the last batch of its shim, according to the counters at its start. */
static bool is_last(const struct xpu_record_batch *batch)
{
	const struct xpu_record *counters = (const struct xpu_record *)batch->records;

	return batch->bytes >= sizeof(*counters) && counters->type == XPU_RECORD_COUNTERS &&
	       counters->misc & XPU_MISC_COUNTERS_LAST;
}

/* Sets the members that a process cannot know itself, and passes the record on. */
static void on_record(void *ctx, struct xpu_record *record, size_t size)
{
	struct xpu_ring_launch *launch = (struct xpu_ring_launch *)record;
	struct xpu_record_batch *batch = (struct xpu_record_batch *)record;
	struct xpu_ring_log *log = (struct xpu_ring_log *)record;
	struct xpu_record_mmap *map = (struct xpu_record_mmap *)record;
	struct xpu_record_comm *comm = (struct xpu_record_comm *)record;
	struct member *m = ctx;
	struct shared *s = m->shared;
	uint64_t now;

	switch (record->type) {
	case XPU_RECORD_LOG:
		log->proc_id = m->proc_id;
		log->tid = m->ns_pid == m->pid ? log->ns_tid : 0;
		break;
	case XPU_RECORD_BATCH:
		batch->proc_id = m->proc_id;
		batch->tid = member__tid(m, batch->ns_tid);
		m->said_last = is_last(batch);
		/*
		 * Correct an impossible timestamp: readers trust it as if the recorder had set
		 * it.
		 */
		now = clock__now();
		if (batch->time_ns < s->start_ns || batch->time_ns > now)
			batch->time_ns = now;
		break;
	case XPU_RECORD_MMAP:
		map->pid = map->tid = m->pid;
		s->listener.mapped(s->listener.ctx, record, size, m->begin_ns);
		return;
	case XPU_RECORD_COMM:
		comm->pid = m->pid;
		comm->tid = member__tid(m, comm->tid);
		s->listener.mapped(s->listener.ctx, record, size, m->begin_ns);
		return;
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
		if (launch->nr_frames <= XPU_MAX_FRAMES &&
		    size >= sizeof(*launch) + launch->nr_frames * sizeof(launch->frames[0]))
			s->listener.frames(s->listener.ctx, m->pid, launch->frames,
					   launch->nr_frames);
	}
	s->listener.record(s->listener.ctx, record, size);
}

/* Adds the new losses of @m to the sums. */
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
		else if (kind == XPU_LOST_ALLOC)
			l->loss.nr_allocs += more;
		else if (kind == XPU_LOST_LAUNCH)
			l->loss.nr_launches += more;
	}
}

/*
 * Takes the available records; if @over, also the last records of the image. Return: whether all
 * were taken.
 */
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
		msg__warn("pid %d has overwritten the memory that it shares with xpuload: xpuload "
			  "stopped recording it", m->pid);
	/* After the end of the image, its pid may belong to another image. */
	if (m->paths_ns && !over && s->listener.paths(s->listener.ctx, m->pid, m->paths_ns))
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

/* Ends the current image of @m: takes its last records. */
static void member__leave_image(struct shared *s, struct member *m)
{
	if (!m->reader)
		return;
	member__read(s, m, true);
	/* Mappings that did not fit into the ring are already counted as lost. */
	s->listener.left(s->listener.ctx, m->pid, m->paths_ns,
			 m->nr_lost[XPU_LOST_SIDEBAND] ? XPU_SHM_MAPS_LAST :
			 shm_reader__maps(m->reader));
	shm_reader__free(m->reader);
	m->reader = NULL;
	memset(m->nr_lost, 0, sizeof(m->nr_lost));
	m->paths_ns = 0;
	s->nr_readers--;
}

/*
 * Begins a new image of @m at @time_ns. @how: XPU_MISC_PROCESS_*; @hello: the image's hello, or
 * NULL
 */
static void member__enter_image(struct shared *s, struct member *m, uint16_t how,
				uint32_t parent_proc_id, uint64_t time_ns,
				const struct xpu_shm_hello *hello)
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
	m->begin_ns = time_ns;
	/* Use the hello's name: by now the process may run another program, or have ended. */
	if (hello && hello->comm[0])
		memcpy(r.comm, hello->comm, sizeof(r.comm) - 1);
	else
		read_comm(m->pid, r.comm);
	s->listener.record(s->listener.ctx, &r, sizeof(r));
}

/* Adds a process, and watches for its end. Return: the process, or NULL if memory runs out. */
static struct member *add_member(struct shared *s, pid_t pid)
{
	struct member *m;

	table_get(s->members, pid, pid, m);
	if (!m)
		return NULL;
	m->shared = s;
	m->pid_fd = syscall(SYS_pidfd_open, pid, 0);
	if (m->pid_fd < 0 && errno == ESRCH)
		m->ended_ns = clock__now();
	if (m->pid_fd >= s->max_fd) {
		close(m->pid_fd);
		m->pid_fd = -1;
	}
	if (m->pid_fd >= 0)
		watch(s, m->pid_fd, EVENT(EVENT_END, pid));
	return m;
}

/*
 * Return: how our child ended, as wait(2) encodes it; 0 for other processes, whose exit status we
 * cannot get.
 */
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

void shared__start(struct shared *s, pid_t pid, bool attached, bool reports)
{
	struct member *m = add_member(s, pid);

	s->reports = reports;
	if (s->counts)
		s->counts->flags = reports ? 0 : XPU_SHM_WANTS_MAPS;
	if (!m)
		return;
	m->attached = attached;
	member__enter_image(s, m, attached ? XPU_MISC_PROCESS_ATTACH : XPU_MISC_PROCESS_ROOT, 0,
			    clock__now(), NULL);
}

static void add_fork(struct shared *s, pid_t pid, const struct member *parent, uint64_t time_ns)
{
	struct member *m = find_member(s, pid);

	if (m)				/* its pid belongs to a new process */
		end_member(s, m, m->exit_ns ?: time_ns);
	m = add_member(s, pid);
	if (!m)
		return;
	member__enter_image(s, m, XPU_MISC_PROCESS_FORK, parent ? parent->proc_id : 0, time_ns,
			    NULL);
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
			member__enter_image(s, m, XPU_MISC_PROCESS_EXEC, m->proc_id, time_ns, NULL);
		break;
	case SHARED_EXIT:
		if (m)
			m->exit_ns = time_ns;
		/* Without a pid_fd, the end of the process is noticed here. */
		if (m && m->pid_fd < 0 && kill(pid, 0) && errno == ESRCH)
			m->ended_ns = clock__now();
		break;
	case SHARED_UNHEARD:
		s->nr_unheard++;
		break;
	}
}

/* ---- connections ----------------------------------------------------------------------------- */

static void lose(struct shared *s, pid_t pid, const char *why)
{
	if (!s->told_lost)
		msg__warn("pid %d is not recorded: %s", pid, why);
	s->told_lost = true;
	s->nr_lost[XPU_LOST_PROCESS]++;
}

/*
 * Return: the process of the caller, whose current image is now the image that called; NULL if
 * memory runs out. Takes reports only up to the time of the hello, because the process may have
 * changed its image or ended since.
 */
static struct member *find_caller(struct shared *s, pid_t pid, const struct xpu_shm_hello *hello)
{
	uint64_t now = clock__now(), time_ns = hello->image;
	struct member *m;

	if (time_ns < s->start_ns || time_ns > now)
		time_ns = now;
	s->listener.settle(s->listener.ctx, time_ns);
	m = find_member(s, pid);
	if (!m) {
		/* The process's clock may differ from ours. */
		s->listener.settle(s->listener.ctx, now);
		m = find_member(s, pid);
	}
	if (!m) {
		/* Nobody reported the fork: make the process a child of the root. */
		m = add_member(s, pid);
		if (m)
			member__enter_image(s, m, XPU_MISC_PROCESS_FORK, 1, time_ns, hello);
	} else if (m->reader || (!s->reports && !m->attached)) {
		member__enter_image(s, m, XPU_MISC_PROCESS_EXEC, m->proc_id, time_ns, hello);
	}
	return m;
}

/* Return: why shm_reader__new() failed with @err. */
static const char *why_not_taken(int err)
{
	switch (err) {
	case -EPROTO:
		return "it sent memory that no shim made";
	case -EINVAL:
	case -EIDRM:
		return "xpuload could not find its memory: it ended early, or is in another IPC "
		       "namespace";
	default:
		return strerror(-err);
	}
}

/* Maps the memory that the caller @c has sent: the file @fd, or a segment if @fd is -1. */
static void take_memory(struct shared *s, const struct caller *c, const struct xpu_shm_hello *hello,
			int fd)
{
	const struct shm_memory memory = {
		.fd = fd, .segment = hello->segment, .owner = { .pid = c->pid, .uid = c->uid },
	};
	struct member *m = find_caller(s, c->pid, hello);
	char path[64];
	int err = m ? shm_reader__new(&memory, s->ring_bytes, &m->reader) : -ENOMEM;

	if (err) {
		lose(s, c->pid, why_not_taken(err));
		return;
	}
	s->nr_readers++;
	s->pause_ms = FIRST_PAUSE_MS;
	m->image = hello->image;
	m->attached = false;
	snprintf(path, sizeof(path), "/proc/%d/status", c->pid);
	m->ns_pid = read_ns_tid(path) ?: (pid_t)hello->pid;
	if (s->leaving)
		shm_reader__set_state(m->reader, XPU_SHM_LEAVING);
}

/* Whether @a and @b are equal, in a time that does not depend on where they differ. */
static bool same_token(const uint8_t *a, const uint8_t *b)
{
	uint8_t differ = 0;
	int i;

	for (i = 0; i < XPU_SHM_TOKEN_BYTES; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/*
 * Receives the hello again, this time with its descriptor. The buffer has room for one descriptor;
 * Linux closes further descriptors.
 */
static int receive_memory(int fd)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct xpu_shm_hello hello;
	struct iovec iov = { &hello, sizeof(hello) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	int memory = -1;

	if (recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) >= 0 &&
	    msg.msg_controllen >= CMSG_LEN(sizeof(int)) && control.hdr.cmsg_level == SOL_SOCKET &&
	    control.hdr.cmsg_type == SCM_RIGHTS)
		memcpy(&memory, CMSG_DATA(&control.hdr), sizeof(memory));
	return memory;
}

/*
 * Handles a caller's hello. Receives no descriptor from a caller that does not know the token.
 * Return: false if the caller has sent nothing yet.
 */
static bool hear(struct shared *s, const struct caller *c)
{
	struct xpu_shm_hello hello = { 0 };
	ssize_t n = recv(c->fd, &hello, sizeof(hello), MSG_DONTWAIT | MSG_PEEK);
	const struct member *m;
	int memory;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != sizeof(hello) || hello.magic != XPU_SHM_MAGIC ||
	    !same_token(hello.token, s->token))
		return true;
	if (hello.version != XPU_SHM_VERSION) {
		lose(s, c->pid, "its shim and xpuload have different versions");
		return true;
	}
	/* An image sends its memory only once. */
	m = find_member(s, c->pid);
	if (m && m->reader && m->image == hello.image)
		return true;
	s->nr_came += hello.flags & XPU_SHM_HELLO_COUNTED ? 1 : 0;
	if (geteuid() && c->uid != geteuid()) {
		lose(s, c->pid, "it belongs to another user: run xpuload as root");
		return true;
	}
	if (s->over) {
		lose(s, c->pid, "the recording had ended");
		return true;
	}
	memory = receive_memory(c->fd);
	if (memory < 0 && !(hello.flags & XPU_SHM_HELLO_SEGMENT)) {
		lose(s, c->pid, "it could not create shared memory");
		return true;
	}
	take_memory(s, c, &hello, memory);
	if (memory >= 0)
		close(memory);
	return true;
}

/*
 * Ends a connection without losing a hello: a hello that has arrived is handled, and a later send
 * fails.
 */
static void let_go(struct shared *s, const struct caller *c)
{
	shutdown(c->fd, SHUT_RDWR);
	hear(s, c);
	close(c->fd);
}

static void free_caller(struct shared *s, struct caller *c)
{
	c->fd = -1;
	s->nr_callers--;
}

static void let_go_of(struct shared *s, pid_t pid)
{
	struct caller *c;

	for (c = s->callers; s->nr_callers && c < s->callers + MAX_CALLERS; c++)
		if (c->fd >= 0 && c->pid == pid) {
			let_go(s, c);
			free_caller(s, c);
		}
}

/*
 * Stops listening, so that connections that we cannot take do not keep waking us.
 * drop_slow_callers() starts listening again.
 */
static void stop_listening(struct shared *s)
{
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->listen_fd, NULL);
	s->deaf_ns = clock__now();
}

/* Keeps a connection until it sends something. One user can have at most half of the slots. */
static void keep_caller(struct shared *s, const struct caller *new)
{
	struct caller *c, *place = NULL;
	unsigned int nr = 0;

	for (c = s->callers; c < s->callers + MAX_CALLERS; c++)
		if (c->fd < 0)
			place = c;
		else
			nr += c->uid == new->uid;
	if (!place || nr >= MAX_CALLERS / 2 ||
	    watch(s, new->fd, EVENT(EVENT_CALLER, place - s->callers))) {
		let_go(s, new);
		return;
	}
	*place = *new;
	s->nr_callers++;
}

/* Accepts the connections made so far. Return: whether none is left. */
static bool take_callers(struct shared *s)
{
	uint64_t end_ns = clock__now() + ACCEPT_NS;
	struct caller c;
	struct ucred peer;

	s->now_ns = clock__now();
	while (clock__now() < end_ns) {
		c.fd = s->nr_readers < MAX_READERS || s->over ?
		       accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -ENOSPC;
		if (c.fd == -1 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (c.fd == -1 && errno == EAGAIN)
			return true;
		if (c.fd < 0) {
			stop_listening(s);
			return false;
		}
		if (getsockopt(c.fd, SOL_SOCKET, SO_PEERCRED, &peer,
			       &(socklen_t){ sizeof(peer) }) ||
		    peer.pid <= 0) {
			close(c.fd);
			continue;
		}
		c.pid = peer.pid;
		c.uid = peer.uid;
		c.since_ns = clock__now();
		/* An earlier connection of the process belongs to its earlier image. */
		let_go_of(s, c.pid);
		if (hear(s, &c))
			close(c.fd);
		else
			keep_caller(s, &c);
	}
	return false;
}

static void drop_slow_callers(struct shared *s)
{
	struct caller *c;

	for (c = s->callers; s->nr_callers && c < s->callers + MAX_CALLERS; c++)
		if (c->fd >= 0 && clock__now() - c->since_ns > CALLER_NS) {
			let_go(s, c);
			free_caller(s, c);
		}
	if (s->deaf_ns && s->nr_readers < MAX_READERS && clock__now() - s->deaf_ns > DEAF_NS &&
	    !watch(s, s->listen_fd, EVENT(EVENT_LISTEN, 0)))
		s->deaf_ns = 0;
}

/* Whether @m has really ended: the event may be about an earlier process with the same pid. */
static bool has_ended(const struct member *m)
{
	struct pollfd fd = { .fd = m->pid_fd, .events = POLLIN };

	return m->pid_fd >= 0 && poll(&fd, 1, 0) > 0;
}

/*
 * Notes the ends of processes before taking connections, because an ended process makes no more
 * connections. Return: whether there may be more events.
 */
static bool take_events(struct shared *s)
{
	struct epoll_event ev[MAX_EVENTS];
	struct caller *c;
	struct member *m;
	int n, i;

	n = epoll_wait(s->epoll_fd, ev, MAX_EVENTS, 0);
	for (i = 0; i < n; i++) {
		if (ev[i].data.u64 >> 32 != EVENT_END)
			continue;
		m = find_member(s, (uint32_t)ev[i].data.u64);
		if (!m || !has_ended(m))
			continue;
		m->ended_ns = clock__now();
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, m->pid_fd, NULL);
	}
	for (i = 0; i < n; i++) {
		if (ev[i].data.u64 >> 32 != EVENT_CALLER)
			continue;
		c = &s->callers[(uint32_t)ev[i].data.u64];
		if (c->fd >= 0 && hear(s, c)) {
			close(c->fd);
			free_caller(s, c);
		}
	}
	drop_slow_callers(s);
	return n == MAX_EVENTS;
}

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Adapts the pause between reads: rings should be partly full when they are read, with room left in
 * case a read is late.
 */
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
	bool all, any_end = false, heard;

	all = !take_events(s);
	heard = take_callers(s);
	for (m = s->members; m; m = m->hh.next) {
		all &= member__read(s, m, false);
		any_end |= m->ended_ns != 0;
	}
	adapt_pause(s);
	if (!any_end)
		return all && heard;
	/*
	 * Take the last connection of an ended process first, then all reports about the process,
	 * and then handle its end.
	 */
	s->listener.settle(s->listener.ctx, s->now_ns);
	for (m = s->members; m; m = following) {
		following = m->hh.next;
		if (!m->ended_ns)
			continue;
		if (!m->reader && (!heard || m->ended_ns > s->now_ns)) {
			all = false;
			continue;
		}
		let_go_of(s, m->pid);
		end_member(s, m, m->exit_ns ?: clock__now());
	}
	return all && heard;
}

int shared__pause_ms(const struct shared *s)
{
	return s->pause_ms;
}

unsigned int shared__nr_awake(const struct shared *s)
{
	const struct member *m;
	unsigned int nr = 0;

	for (m = s->members; m; m = m->hh.next)
		nr += m->reader && !m->said_last && !shm_reader__is_closed(m->reader) &&
		      !shm_reader__is_broken(m->reader);
	return nr;
}

void shared__leave(struct shared *s)
{
	struct member *m;

	s->leaving = true;
	for (m = s->members; m; m = m->hh.next)
		if (m->reader && !shm_reader__is_closed(m->reader))
			shm_reader__set_state(m->reader, XPU_SHM_LEAVING);
}

uint64_t shared__finish(struct shared *s)
{
	uint64_t processes = 0, launches = 0;
	struct caller *c;

	s->over = true;
	take_callers(s);
	for (c = s->callers; c < s->callers + MAX_CALLERS; c++)
		if (c->fd >= 0)
			let_go_of(s, c->pid);
	if (s->counts) {
		processes = __atomic_load_n(&s->counts->nr_processes, __ATOMIC_RELAXED);
		processes -= processes < s->nr_came ? processes : s->nr_came;
		launches = __atomic_load_n(&s->counts->nr_launches, __ATOMIC_RELAXED);
	}
	if (launches > MAX_LAUNCHES)
		launches = MAX_LAUNCHES;
	s->nr_lost[XPU_LOST_LAUNCH] += launches;
	if (processes < MAX_MISSING)
		processes += s->nr_unheard;
	if (!processes)
		return launches;
	if (processes > MAX_MISSING)
		processes = MAX_MISSING;
	msg__warn("%llu process%s used CUDA, could not reach xpuload, and %s not recorded",
		  (unsigned long long)processes, processes == 1 ? "" : "es",
		  processes == 1 ? "is" : "are");
	s->nr_lost[XPU_LOST_PROCESS] += processes;
	return launches;
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
