// SPDX-License-Identifier: GPL-3.0-or-later
/* Attaches to running processes: chooses them, and checks whether they may be recorded. */
#include "recording.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/caps.h"
#include "attach/permit.h"
#include "attach/probes.h"
#include "attach/shared.h"
#include "attach/shim_file.h"
#include "base/bounds.h"
#include "base/entry_table.h"
#include "base/host_clock.h"
#include "base/msg.h"
#include "inject/inject.h"
#include "injections.h"
#include "options.h"
#include "target/running.h"
#include "util.h"
#include "target/sideband.h"

#define MAX_ROUNDS	16		/* maximum number of passes over /proc to find new
					 * children */
#define DRAIN_NS	50000000ull	/* time between two drains while attaching */
#define INJECT_NS	60000000000ull	/* how long attaching waits for the shim to be put into
					 * processes */
#define INJECT_POLL_MS	50
#define MAX_FILES	1048576		/* limit of open files: three for each process */

/* ---- which processes ------------------------------------------------------------------------- */

bool recording__has_ended(int pid_fd)
{
	struct pollfd fd = { .fd = pid_fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* Whether a line of a file in /proc/PID, such as maps, contains @word and, after it, @after. */
static bool mentions(pid_t pid, const char *file, int separator, const char *word,
		     const char *after)
{
	char path[64], *text = NULL, *at;
	bool found = false;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "re");
	while (f && !found && (n = getdelim(&text, &cap, separator, f)) > 0)
		found = (at = strstr(text, word)) && strstr(at, after);
	free(text);
	if (f)
		fclose(f);
	return found;
}

int recording__open_process(pid_t pid, int *pid_fd)
{
	char why[256];
	int err, fd;

	if (pid == getpid()) {
		msg__error("pid %d is xpuload itself", pid);
		return STATUS_FAILED;
	}
	fd = *pid_fd = syscall(SYS_pidfd_open, pid, 0);
	err = fd < 0 ? -errno : 0;
	if (err == -EINVAL || err == -ENOENT) {
		msg__error("pid %d is a thread: attach to its process, see Tgid in "
			   "/proc/%d/status", pid, pid);
		return STATUS_FAILED;
	}
	err = err ?: permit__check(pid);
	if (err == -EACCES && !recording__has_ended(fd)) {
		permit__explain(pid, why, sizeof(why));
		msg__error("pid %d may not be recorded: %s", pid, why);
		return STATUS_FAILED;
	}
	if (fd >= 0 && recording__has_ended(fd))
		err = -ESRCH;
	if (err)
		msg__error("pid %d: %s%s", pid, strerror(-err),
			   err == -EACCES && geteuid() ? ": attach as root" : "");
	return err ? STATUS_FAILED : 0;
}

static int find_cgroup(struct recording *r)
{
	const struct options *opts = r->opts;
	const char *name = opts->container ?: opts->cgroup;
	char why[2 * PATH_MAX + 128];
	int err = 0;

	if (opts->container)
		err = cgroup__find_container(&r->cgroup, name, why, sizeof(why));
	else if (opts->cgroup)
		err = cgroup__find(&r->cgroup, name, why, sizeof(why));
	if (err)
		msg__error("%s %s: %s", opts->container ? "--container" : "--cgroup", name, why);
	return err ? STATUS_FAILED : 0;
}

/* The running processes, and which of them are chosen. */
struct choice {
	const struct recording *r;
	struct running running;
};

static void choose(void *ctx, pid_t pid)
{
	struct choice *c = ctx;
	struct running_process *p = running__find(&c->running, pid);
	const char *comm = c->r->opts->comm;

	if (p && !(comm && strncmp(p->comm, comm, sizeof(p->comm) - 1)))
		p->chosen = true;
}

/*
 * Lists the running processes, and chooses those that the options name. running__free() frees the
 * list.
 */
static int choice__make(struct choice *c)
{
	const struct options *opts = c->r->opts;
	int err = running__read(&c->running);
	size_t i;

	if (err)
		return err;
	if (opts->mode == PROBES_PID) {
		for (i = 0; i < opts->nr_pids; i++)
			choose(c, opts->pids[i]);
	} else if (c->r->cgroup.id) {
		/* Ignore errors: a cgroup that was removed meanwhile has no processes. */
		cgroup__each_process(&c->r->cgroup, choose, c);
	} else {
		for (i = 0; i < c->running.nr; i++)
			choose(c, c->running.all[i].pid);
	}
	if (!opts->no_children)
		running__choose_children(&c->running, getpid());
	return 0;
}

/* ---- programs without the shim --------------------------------------------------------------- */

/* Whether xpuload puts the shim into processes without it. */
static bool injects(const struct options *opts)
{
	if (opts->cpu_only || opts->no_inject || opts->own_target || opts->invites)
		return false;
	return opts->mode == PROBES_PID || opts->inject;
}

static bool is_root(const struct options *opts, pid_t pid)
{
	size_t i;

	for (i = 0; i < opts->nr_pids; i++)
		if (opts->pids[i] == pid)
			return true;
	return false;
}

/* Whether a process is a helper of xpuload, such as xpuload-metrics. */
static bool is_helper(pid_t pid)
{
	char comm[XPU_COMM_LEN];

	return !strncmp(running__comm(pid, comm), "xpuload", strlen("xpuload"));
}

/*
 * Whether xpuload shall put the shim into this process, which has no shim. If CUDA_INJECTION64_PATH
 * names the shim, libcuda.so itself loads it. LD_PRELOAD would have loaded the shim before
 * libcuda.so. A process that inherited libcuda.so when it was forked cannot use CUDA, so it gets
 * the shim only if the user names the process.
 */
static bool wants_shim(const struct recording *r, pid_t pid)
{
	return injects(r->opts) && mentions(pid, "maps", '\n', "/libcuda.so", "") &&
	       !mentions(pid, "environ", '\0', "CUDA_INJECTION64_PATH=", "/libxpushim.so") &&
	       !is_helper(pid) &&
	       (is_root(r->opts, pid) || !running__inherits(pid, "/libcuda.so"));
}

/*
 * Prints an error if a process uses CUDA, has no shim and cannot get the shim. It is no error if a
 * process does not use CUDA, because its children may have the shim. Return: whether there was an
 * error.
 */
static bool lacks_shim(const struct recording *r, pid_t pid)
{
	const struct options *opts = r->opts;
	int fd = shim_file__open_mapped(pid, opts->shim);
	char why[INJECT_WHY];

	if (fd >= 0) {
		close(fd);
		return false;
	}
	if (fd == -ESTALE) {
		msg__error("pid %d runs with a libxpushim.so of another version; start it with "
			   "LD_PRELOAD=%s", pid, opts->shim);
		return true;
	}
	if (running__is_kernel_thread(pid)) {
		msg__error("pid %d is a thread of the kernel: only --cpu-only records it", pid);
		return true;
	}
	if (!opts->no_children && !mentions(pid, "maps", '\n', "/libcuda.so", ""))
		return false;
	if (injects(opts)) {
		if (!inject__check(pid, why))
			return false;
		msg__error("pid %d runs without the shim, which cannot be put into it: %s; "
			   "start it with LD_PRELOAD=%s", pid, why, opts->shim);
		return true;
	}
	msg__error("pid %d runs without the shim; start it with LD_PRELOAD=%s, or leave out "
		   "--no-inject", pid, opts->shim);
	return true;
}

/* Prints an error if no process has or can get the shim. Return: 0, or the status to exit with. */
static int check_shims(const struct recording *r)
{
	const struct options *opts = r->opts;
	struct choice c = { .r = r };
	struct running_process *p;
	bool found = false;		/* the process has a shim, or will have one */
	char why[INJECT_WHY];
	size_t i;
	int fd;

	if (choice__make(&c))
		return 0;			/* attaching will print the error */
	for (p = c.running.all; p < c.running.all + c.running.nr && !found; p++) {
		if (!p->chosen || p->ended || permit__check(p->pid))
			continue;
		fd = shim_file__open_mapped(p->pid, opts->shim);
		if (fd >= 0)
			close(fd);
		found = fd >= 0 || (fd == -ENOENT &&
				    (mentions(p->pid, "environ", '\0', "/libxpushim.so", "") ||
				     (wants_shim(r, p->pid) && !inject__check(p->pid, why))));
	}
	running__free(&c.running);
	for (i = 0; i < opts->nr_pids && !found; i++)
		if (lacks_shim(r, opts->pids[i]))
			return STATUS_FAILED;
	if (!found && !opts->own_target)
		msg__warn("no process has the shim yet: programs that start with LD_PRELOAD=%s%s "
			  "will be recorded", opts->shim, injects(opts) ? ", or load CUDA," : "");
	return 0;
}

int recording__find_processes(struct recording *r)
{
	struct epoll_event ev = { .events = EPOLLIN };
	const struct options *opts = r->opts;
	int status = 0;
	size_t i;

	if (opts->mode != PROBES_PID)
		return find_cgroup(r);
	r->ends_fd = epoll_create1(EPOLL_CLOEXEC);
	r->pid_fds = malloc(opts->nr_pids * sizeof(*r->pid_fds));
	if (r->ends_fd < 0 || !r->pid_fds) {
		msg__error("cannot watch processes: %s", strerror(errno));
		return STATUS_FAILED;
	}
	for (i = 0; i < opts->nr_pids; i++)
		r->pid_fds[i] = -1;
	for (i = 0; i < opts->nr_pids && !status; i++) {
		status = recording__open_process(opts->pids[i], &r->pid_fds[i]);
		ev.data.u64 = i;
		if (!status && epoll_ctl(r->ends_fd, EPOLL_CTL_ADD, r->pid_fds[i], &ev)) {
			msg__error("cannot watch pid %d: %s", opts->pids[i], strerror(errno));
			status = STATUS_FAILED;
		}
	}
	r->nr_running = opts->nr_pids;
	/* An invited process has a shim; its hello names the shim's version. */
	return status || opts->cpu_only || opts->invites ? status : check_shims(r);
}

void recording__note_ends(struct recording *r)
{
	struct epoll_event ev;

	while (epoll_wait(r->ends_fd, &ev, 1, 0) == 1) {
		close(r->pid_fds[ev.data.u64]);		/* also removes it from ends_fd */
		r->pid_fds[ev.data.u64] = -1;
		r->stop |= !--r->nr_running;
	}
}

/* ---- attaching to the processes -------------------------------------------------------------- */

struct taken {
	UT_hash_handle hh;
	pid_t pid;
	uint64_t start;
};

struct taking {
	struct recording *r;
	struct taken *taken;
	size_t nr;
	size_t nr_queued;		/* part of @nr: processes that shall get the shim */
	size_t nr_inherited;		/* processes that are left alone: see wants_shim() */
	struct running_process first_denied;	/* set if r->nr_denied is not 0 */
	uint64_t drained_ns;
};

void recording__follow(struct recording *r, pid_t pid, pid_t ppid, bool hello)
{
	char whose[32] = "";
	int err;

	if (r->opts->mode != PROBES_PID || permit__check(pid) == -EACCES)
		return;
	err = probes__follow(r->probes, pid, hello);
	if (!err || err == -ESRCH)	/* the process may have ended */
		return;
	/* Limit the messages: a target may fork any number of children. */
	if (r->nr_not_followed++ >= LIMIT_MESSAGES)
		return;
	if (ppid)
		snprintf(whose, sizeof(whose), ", a child of %d", ppid);
	msg__warn("cannot attach to pid %d%s: %s", pid, whose, strerror(-err));
}

/*
 * Searches a process for the shim. @any: accept any copy of this version of the shim, and attach to
 * that copy. Without @any, accept only the installed file; this is for processes that the user did
 * not name. Return: 0 if the process has the shim, -ENOENT if it has no shim, or another negative
 * errno, which is counted.
 */
static int find_shim(struct recording *r, pid_t pid, bool any)
{
	const struct options *opts = r->opts;
	int fd = shim_file__open_mapped(pid, opts->shim), err;
	struct stat ours, its;

	if (fd == -ENOENT || fd == -ESRCH)
		return fd;
	r->nr_not_followed += fd < 0;
	if (fd == -ESTALE)
		msg__warn("pid %d runs with a libxpushim.so of another version: its launches are "
			  "not recorded", pid);
	else if (fd < 0 && r->nr_not_followed <= LIMIT_MESSAGES)
		msg__warn("cannot look for libxpushim.so in pid %d: %s", pid, strerror(-fd));
	if (fd < 0)
		return fd;
	if (!any) {
		err = fstat(fd, &its) || stat(opts->shim, &ours) || its.st_dev != ours.st_dev ||
		      its.st_ino != ours.st_ino;
		close(fd);
		return err ? -EXDEV : 0;
	}
	err = probes__add_shim(r->probes, fd);
	r->nr_not_followed += !!err;
	if (err)
		msg__warn("cannot attach to the libxpushim.so of pid %d: %s", pid,
			  err == -E2BIG ? "there are too many copies of it" : strerror(-err));
	return err;
}

/*
 * Counts a process that may not be recorded. Prints a warning for each child of a process that the
 * user named. In a group, such as a cgroup, most processes may belong to other users, so take_all()
 * prints only their number.
 */
static void deny(struct taking *t, const struct running_process *p)
{
	char why[256];

	if (!t->r->nr_denied++ && t->r->opts->mode == PROBES_ALL)
		t->first_denied = *p;
	if (t->r->opts->mode == PROBES_ALL || t->r->nr_denied > LIMIT_MESSAGES)
		return;
	permit__explain(p->pid, why, sizeof(why));
	msg__warn("pid %d (%s), a child of %d, may not be recorded: %s", p->pid, p->comm, p->ppid,
		  why);
}

static void drain_now_and_then(struct taking *t)
{
	if (clock__now() - t->drained_ns < DRAIN_NS)
		return;
	recording__drain(t->r);
	t->drained_ns = clock__now();
}

/* Attaches to one process. Return: 0, also if the process has ended, or a negative errno. */
static int take(struct taking *t, const struct running_process *p)
{
	struct recording *r = t->r;
	struct taken *taken;
	int err, denied;
	bool lacks, wants;

	table_find(t->taken, pid, p->pid, taken);
	if (taken && taken->start == p->start)
		return 0;
	table_get(t->taken, pid, p->pid, taken);
	if (!taken)
		return -ENOMEM;
	taken->start = p->start;

	err = denied = permit__check(p->pid);
	if (err && err != -EACCES)
		return 0;			/* the process has ended */
	err = probes__want(r->probes, p->pid, denied);
	if (err)
		return err;
	if (!running__is_there(p)) {
		probes__unwant(r->probes, p->pid);
		return 0;
	}
	if (denied) {
		deny(t, p);
		return 0;
	}
	lacks = !r->opts->cpu_only && find_shim(r, p->pid, true) == -ENOENT;
	wants = lacks && wants_shim(r, p->pid);
	t->nr_queued += wants;
	t->nr_inherited += lacks && !wants && injects(r->opts) &&
			   running__inherits(p->pid, "/libcuda.so");
	if (wants)
		injections__add(r->injections, p->pid, false);	/* followed later */
	else
		recording__follow(r, p->pid, is_root(r->opts, p->pid) ? 0 : p->ppid, true);
	sideband__adopt_idle(r->sideband, p->pid, r->writer);
	t->nr++;
	drain_now_and_then(t);
	return 0;
}

/*
 * Prints how many processes of a group may not be recorded, and the reason for the first of
 * them.
 */
static void say_denied(const struct taking *t)
{
	const struct running_process *p = &t->first_denied;
	uint64_t nr = t->r->nr_denied;
	char why[256];

	if (!nr || t->r->opts->mode != PROBES_ALL)
		return;
	permit__explain(p->pid, why, sizeof(why));
	msg__warn("%llu running process%s may not be recorded, such as pid %d (%s): %s",
		  (unsigned long long)nr, nr == 1 ? "" : "es", p->pid, p->comm, why);
}

/* Attaches to the chosen processes, and repeats this until it finds no new process. */
static int take_all(struct taking *t)
{
	struct choice c = { .r = t->r };
	struct running_process *p;
	size_t nr, round;
	int err = 0;

	for (round = 0; round < MAX_ROUNDS && !err; round++) {
		nr = HASH_COUNT(t->taken);
		err = choice__make(&c);
		for (p = c.running.all; p < c.running.all + c.running.nr && !err; p++)
			if (p->chosen && !p->ended)
				err = take(t, p);
		running__free(&c.running);
		if (HASH_COUNT(t->taken) == nr)
			break;
	}
	table_free(t->taken, table_free_nothing);
	say_denied(t);
	return err;
}

/*
 * Counts running processes. With -a alone, the BPF programs find the processes, so this only counts
 * them. With --cpu-only, this also reads the processes' mappings, as perf does, because a process
 * may end or fork at any time. If xpuload is restricted, the mappings are not read yet, because a
 * BPF program must allow that first.
 */
static int count_all(struct taking *t)
{
	struct recording *r = t->r;
	struct running_process *p;
	struct running running;
	int status = running__read(&running), err;

	for (p = running.all; p < running.all + running.nr; p++) {
		if (p->ended || p->pid == getpid() || permit__check(p->pid))
			continue;
		err = r->opts->cpu_only ? 0 : find_shim(r, p->pid, false);
		if (err == -ENOENT && wants_shim(r, p->pid))
			injections__add(r->injections, p->pid, false);
		if (err)
			continue;
		t->nr++;
		if (r->opts->cpu_only && !caps__restricted())
			sideband__adopt_idle(r->sideband, p->pid, r->writer);
		drain_now_and_then(t);
	}
	running__free(&running);
	return status;
}

/* ---- putting the shim into them -------------------------------------------------------------- */

void recording__meet_cuda(struct recording *r, pid_t pid)
{
	int fd = wants_shim(r, pid) ? shim_file__open_mapped(pid, r->opts->shim) : -ESTALE;

	if (fd == -ENOENT)
		injections__add(r->injections, pid, true);
	else if (fd >= 0)
		close(fd);
}

void recording__inject(struct recording *r, int timeout_ms)
{
	pid_t pid = injections__step(r->injections, timeout_ms);

	if (!pid)
		return;
	find_shim(r, pid, true);
	recording__follow(r, pid, 0, true);
}

/*
 * Puts the shim into processes, and meanwhile receives the records of other processes. After
 * INJECT_NS, the remaining processes get the shim while the recording runs.
 */
static void inject_all(struct recording *r)
{
	uint64_t end = clock__now() + INJECT_NS;

	while (injections__wait(r->injections) && !r->stop && clock__now() < end) {
		recording__inject(r, INJECT_POLL_MS);
		recording__take_signals(r);
		recording__drain(r);
	}
	if (injections__wait(r->injections) && !r->stop)
		msg__warn("putting the shim into processes takes long: some processes are "
			  "recorded later");
}

/* ---- both steps ------------------------------------------------------------------------------ */

/* Raises the limit of open files: xpuload needs descriptors for each process that it follows. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= MAX_FILES)
		return;
	limit.rlim_cur = limit.rlim_max < MAX_FILES ? limit.rlim_max : MAX_FILES;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int recording__take_processes(struct recording *r)
{
	char comm[XPU_COMM_LEN];
	struct taking t = { .r = r, .drained_ns = clock__now() };
	const struct options *opts = r->opts;
	bool choosy = opts->mode == PROBES_PID || opts->comm || r->cgroup.id;
	uint64_t nr_refused;
	int err;

	if (r->shared) {
		shared__start(r->shared, opts->pids[0], true, false);
		return 0;
	}
	raise_file_limit();
	err = choosy ? take_all(&t) : count_all(&t);
	if (err) {
		msg__error("cannot attach to processes: %s", strerror(-err));
		return STATUS_FAILED;
	}
	inject_all(r);
	nr_refused = injections__nr_refused(r->injections);
	if (t.nr && t.nr == t.nr_queued && nr_refused >= t.nr && opts->mode == PROBES_PID) {
		msg__error("no process can be recorded: the shim could not be put into any");
		return STATUS_FAILED;
	}
	if (t.nr_queued)
		t.nr -= nr_refused < t.nr ? nr_refused : 0;
	if (t.nr_inherited)
		msg__info("%zu process%s CUDA only from the process that forked %s, and "
			  "get%s no shim; -p PID names such a process", t.nr_inherited,
			  PLURAL(t.nr_inherited, " has", "es have"),
			  PLURAL(t.nr_inherited, "it", "them"),
			  PLURAL(t.nr_inherited, "s", ""));
	/*
	 * Print this last, because people and scripts trust that nothing is missed after this
	 * line.
	 */
	if (t.nr == 1 && opts->nr_pids == 1)
		msg__info("attached to 1 process, %d (%s), Ctrl-C ends", (int)opts->pids[0],
			  running__comm(opts->pids[0], comm));
	else if (!t.nr && opts->mode == PROBES_ALL && !opts->cpu_only && !opts->own_target)
		msg__info("attached to 0 processes, Ctrl-C ends: waits for programs that are "
			  "started with LD_PRELOAD=%s", opts->shim);
	else if (t.nr || !opts->own_target)
		msg__info("attached to %zu process%s, Ctrl-C ends", t.nr, t.nr == 1 ? "" : "es");
	return 0;
}
