// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/keeper.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/host_clock.h"
#include "target/copy.h"
#include "invoker.h"
#include "base/numbers.h"
#include "base/mapped.h"
#include "safefile.h"
#include "base/entry_table.h"

#define HELD_MAX	400		/* maximum number of files held open and checked at the
					 * end */
#define WAIT_NS		50000000	/* time between two checks whether to stop waiting */
#define HANG_NS		2000000000ull	/* after this time the file system counts as hung */
#define NAME_MAX_BYTES	128		/* ".build-id/xx/yyyy/elf", "perf-PID.map" */

/* A process with generated code and perhaps its own /tmp. */
struct jit {
	pid_t pid;
	int tmp_fd;			/* the process's /tmp; -1: it is the same as ours, or
					 * unknown */
	bool unknown;			/* tmp_fd is -1 because /tmp is unknown */
	pid_t ns_pid;			/* @pid in the process's own pid namespace */
	UT_hash_handle hh;
};

/*
 * A file for the thread to examine and to copy. A thread does this because opening a path may take
 * forever if a program runs the file system.
 */
struct job {
	struct job *next;
	enum {
		JOB_COPY,		/* copy @fd */
		JOB_LOOK,		/* copy @fd, unless xpuload itself sees this file at
					 * @path */
		JOB_JIT,		/* copy perf-@ns_pid.map, if it exists, from the directory
					 * @fd, or from @pid's /tmp if @fd is -1 */
	} kind;
	int fd;				/* an O_PATH descriptor; JOB_LOOK: -1 means that the thread
					 * must open @path in @pid */
	pid_t pid, ns_pid;
	char *path;
	char name[NAME_MAX_BYTES];	/* name of the copy in the keeper's directory */
};

struct keeper {
	int dir_fd;			/* the recording's directory */
	char *name;			/* the name of the directory for the copies */
	int kept_fd;			/* the directory for the copies, opened by the thread; -1:
					 * not made yet */
	struct numbers seen;		/* files that were mapped before: each is examined once */
	struct job *held;		/* JOB_LOOK jobs for files that are still at their paths */
	unsigned int nr_held;
	struct jit *jits;
	pthread_t thread;
	bool running, finished;
	bool abandoned;			/* the thread hangs, and now owns everything */
	atomic_bool cancel;		/* stop copying */
	pthread_mutex_t lock;		/* guards the members below */
	unsigned int nr_jobs;
	pthread_cond_t more;
	struct job *first, **last;
	bool stop;
	struct keeper_stats stats;
};

/* ---- copying --------------------------------------------------------------------------------- */

/* Return: a descriptor of the directory of @path, below @dir_fd. Makes missing directories. */
static int make_dirs(int dir_fd, const char *path)
{
	const char *slash = strchr(path, '/');
	char name[NAME_MAX_BYTES];
	int fd, next;

	if (!slash)
		return fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
	fd = safefile__open_dir(dir_fd, name, true);
	if (fd < 0)
		return fd;
	next = make_dirs(fd, slash + 1);
	close(fd);
	return next;
}

/* Return: a descriptor of the directory for the copy @name. */
static int keeper__open_dir(struct keeper *k, const char *name)
{
	if (k->kept_fd < 0)
		k->kept_fd = safefile__open_dir(k->dir_fd, k->name, true);
	return k->kept_fd < 0 ? k->kept_fd : make_dirs(k->kept_fd, name);
}

/* Copies the file behind @job->fd. The copy gets its name when it is complete. */
static int keeper__copy(struct keeper *k, const struct job *job, uint64_t max_bytes,
			uint64_t *bytes)
{
	struct safefile f;
	char self[64];
	int dir_fd, from, err;

	/* Safe to open, since it was checked to be a plain file. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", job->fd);
	from = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (from < 0)
		return -errno;
	dir_fd = keeper__open_dir(k, job->name);
	if (dir_fd < 0) {
		err = dir_fd;
		goto close_from;
	}
	err = safefile__open(&f, dir_fd, safefile__name(job->name), SAFEFILE_PRIVATE);
	if (err)
		goto close_dir;
	err = copy__file(from, f.fd, max_bytes, &k->cancel, bytes);
	if (close(f.fd) && !err)
		err = -errno;
	err = err ?: safefile__commit(&f);
	safefile__close(&f);
close_dir:
	close(dir_fd);
close_from:
	close(from);
	return err;
}

static void job__free(struct job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	free(job->path);
	free(job);
}

/*
 * Return: 1 if the file behind @fd is at @path here, 0 if not, or a negative errno if the answer is
 * unknown.
 */
static int is_here(int fd, const char *path, bool cached)
{
	struct stat st, here;
	int here_fd, err;

	err = mapped__stat(fd, &st);
	if (err)
		return err;
	here_fd = mapped__open_here(path, cached);
	if (here_fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	err = mapped__stat(here_fd, &here);
	close(here_fd);
	return err ?: here.st_dev == st.st_dev && here.st_ino == st.st_ino;
}

static bool is_regular(int fd)
{
	struct stat st;

	return !mapped__stat(fd, &st) && S_ISREG(st.st_mode);
}

/* Opens the file of a job. Return: 1; 0 if there is nothing to copy; or a negative errno. */
static int job__find(struct job *job)
{
	char name[NAME_MAX_BYTES];
	int fd, here;

	switch (job->kind) {
	case JOB_COPY:
		return 1;
	case JOB_LOOK:
		if (job->fd < 0)
			job->fd = mapped__open_in_root(job->pid, job->path, 0, false);
		if (job->fd < 0)	/* the process has ended, but the same file may be here */
			return access(job->path, F_OK) ? -ESRCH : 0;
		here = is_regular(job->fd) ? is_here(job->fd, job->path, false) : 1;
		return here < 0 ? here : !here;
	case JOB_JIT:
		if (job->fd < 0)
			job->fd = mapped__open_in_root(job->pid, "tmp", O_DIRECTORY, false);
		if (job->fd < 0)
			return 0;
		snprintf(name, sizeof(name), "perf-%d.map", job->ns_pid);
		fd = openat(job->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		close(job->fd);
		job->fd = fd;
		return fd >= 0 && is_regular(fd);
	}
	return 0;
}

/*
 * Carries out a job. Return: 1 if a file was copied, 0 if there is nothing to copy, or a negative
 * errno.
 */
static int keeper__do(struct keeper *k, struct job *job, uint64_t left, uint64_t *bytes)
{
	int err;

	*bytes = 0;
	if (k->cancel)
		return -EINTR;
	err = job__find(job);
	if (err <= 0)
		return err;
	if (!left)
		return -EFBIG;
	return keeper__copy(k, job, left < LIMIT_KEPT_FILE ? left : LIMIT_KEPT_FILE, bytes) ?: 1;
}

/* Counts a finished job by @err, the result of keeper__do(). */
static void keeper__count(struct keeper *k, int err, uint64_t bytes)
{
	k->nr_jobs--;
	k->stats.nr_files += err > 0;
	k->stats.bytes += err > 0 ? bytes : 0;
	if (err >= 0)
		return;
	if (err == -EFBIG || err == -ENOSPC || err == -EINTR) {
		k->stats.nr_refused++;
		return;
	}
	k->stats.nr_failed++;
	k->stats.error = k->stats.error ?: -err;
}

static void *keeper__thread(void *arg)
{
	struct keeper *k = arg;
	struct job *job;
	uint64_t bytes = 0, left;
	int entered, err;

	entered = invoker__enter();	/* the thread keeps the invoker's rights */
	pthread_mutex_lock(&k->lock);
	for (;;) {
		while (!k->first && !k->stop)
			pthread_cond_wait(&k->more, &k->lock);
		job = k->first;
		if (!job)
			break;
		k->first = job->next;
		if (!k->first)
			k->last = &k->first;
		left = k->stats.nr_files >= LIMIT_KEPT_FILES ||
		       k->stats.bytes >= LIMIT_KEPT_BYTES ? 0 : LIMIT_KEPT_BYTES - k->stats.bytes;
		pthread_mutex_unlock(&k->lock);
		err = entered ?: keeper__do(k, job, left, &bytes);
		job__free(job);
		pthread_mutex_lock(&k->lock);
		keeper__count(k, err, bytes);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static void keeper__refuse(struct keeper *k, uint64_t *counter, int error)
{
	pthread_mutex_lock(&k->lock);
	(*counter)++;
	k->stats.error = k->stats.error ?: error;
	pthread_mutex_unlock(&k->lock);
}

/* Takes over @job, and queues it. @job is NULL if memory ran out: that counts as a failure. */
static void keeper__add(struct keeper *k, struct job *job)
{
	sigset_t all, old;
	bool full;

	if (job && !k->running) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		k->running = !pthread_create(&k->thread, NULL, keeper__thread, k);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (!job || !k->running) {
		keeper__refuse(k, &k->stats.nr_failed, ENOMEM);
		if (job)
			job__free(job);
		return;
	}
	job->next = NULL;
	pthread_mutex_lock(&k->lock);
	full = k->nr_jobs >= LIMIT_KEEPING;
	if (full) {
		k->stats.nr_refused++;
	} else {
		k->nr_jobs++;
		*k->last = job;
		k->last = &job->next;
		pthread_cond_signal(&k->more);
	}
	pthread_mutex_unlock(&k->lock);
	if (full)
		job__free(job);
}

/* ---- which files to keep --------------------------------------------------------------------- */

/* Return: whether this is the first mapping of the file. */
static bool keeper__meet(struct keeper *k, const struct xpu_record_mmap *r)
{
	__u64 words[(XPU_BUILD_ID_LEN + PATH_MAX) / 8 + 2] = { 0 };
	size_t path = strnlen(r->filename, PATH_MAX);
	struct numbers_key key;

	memcpy(words, r->build_id, sizeof(r->build_id));
	memcpy((char *)words + sizeof(r->build_id), r->filename, path);
	key = numbers__hash(words, (sizeof(r->build_id) + path) / 8 + 1);
	if (numbers__find(&k->seen, key))
		return false;
	if (k->seen.nr < LIMIT_MAPPED_FILES && !numbers__add(&k->seen, key, 1))
		return true;
	keeper__refuse(k, &k->stats.nr_refused, 0);
	return false;
}

/* Return: a job that owns @fd, or NULL if memory runs out, with @fd closed. */
static struct job *job__new(const struct xpu_record_mmap *r, int fd)
{
	struct job *job = calloc(1, sizeof(*job));
	size_t i, at;

	if (job)
		job->path = strdup(r->filename);
	if (!job || !job->path) {
		free(job);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	job->kind = JOB_LOOK;
	job->fd = fd;
	job->pid = r->pid;
	at = snprintf(job->name, sizeof(job->name), ".build-id/%02x/", r->build_id[0]);
	for (i = 1; i < r->build_id_len; i++)
		at += snprintf(job->name + at, sizeof(job->name) - at, "%02x", r->build_id[i]);
	snprintf(job->name + at, sizeof(job->name) - at, "/elf");
	return job;
}

static void keeper__hold(struct keeper *k, struct job *job)
{
	if (k->nr_held >= HELD_MAX) {
		job__free(job);
		return;
	}
	job->next = k->held;
	k->held = job;
	k->nr_held++;
}

/*
 * Decides whether to copy the file of @job now, to check it again at the end, or to ignore it.
 * @hold: whether a check at the end is possible
 */
static void keeper__look(struct keeper *k, struct job *job, bool hold)
{
	int here = is_here(job->fd, job->path, true);

	if (here <= 0) {
		job->kind = here ? JOB_LOOK : JOB_COPY;
		keeper__add(k, job);
	} else if (hold) {
		keeper__hold(k, job);
	} else {
		job__free(job);
	}
}

static void keeper__file(struct keeper *k, const struct xpu_record_mmap *r)
{
	struct job *job;
	int fd, here_fd;

	if (!keeper__meet(k, r))
		return;
	fd = mapped__open(r->pid, r->start, r->len, r->filename, true);
	if (fd < 0 && errno != EAGAIN) {
		/*
		 * The process has ended. This does not matter if xpuload itself sees the file at
		 * the same path.
		 */
		here_fd = mapped__open_here(r->filename, true);
		if (here_fd >= 0) {
			close(here_fd);
			return;
		}
	}
	if (fd >= 0 && !is_regular(fd)) {
		close(fd);
		return;
	}
	job = job__new(r, fd);
	if (job && fd >= 0)
		keeper__look(k, job, true);
	else
		keeper__add(k, job);
}

/* Copies the held files that have been unlinked or replaced. */
static void keeper__look_again(struct keeper *k)
{
	struct job *job;

	while ((job = k->held)) {
		k->held = job->next;
		keeper__look(k, job, false);
	}
}

/* Return: process @pid's number in its own pid namespace, the last number in the NSpid line. */
static pid_t innermost_pid(pid_t pid)
{
	char path[64], line[256];
	pid_t ns_pid = pid;
	char *word;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return pid;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		line[strcspn(line, "\n")] = 0;
		word = strrchr(line, '\t');
		ns_pid = word ? atoi(word + 1) : pid;
	}
	fclose(f);
	return ns_pid;
}

static void jit__close(struct jit *j)
{
	if (j->tmp_fd >= 0)
		close(j->tmp_fd);
}

/* Opens the /tmp of a process with generated code, where the map of the code's names will be. */
static void keeper__jit(struct keeper *k, pid_t pid)
{
	struct jit *j;

	table_find(k->jits, pid, pid, j);
	if (j)
		return;
	if (HASH_COUNT(k->jits) >= LIMIT_JITS) {
		keeper__refuse(k, &k->stats.nr_refused, 0);
		return;
	}
	table_get(k->jits, pid, pid, j);
	if (!j)
		return;
	j->ns_pid = innermost_pid(pid);
	j->tmp_fd = mapped__open_in_root(pid, "tmp", O_DIRECTORY, true);
	j->unknown = j->tmp_fd < 0 && errno == EAGAIN;
	if (j->tmp_fd >= 0 && j->ns_pid == pid && is_here(j->tmp_fd, "/tmp", true) == 1) {
		close(j->tmp_fd);
		j->tmp_fd = -1;
	}
}

void keeper__mmap(struct keeper *k, const struct xpu_record_mmap *r)
{
	if (r->filename[0] == '/' && r->filename[1] != '/' && r->build_id_len > 1)
		keeper__file(k, r);
	else if (!strncmp(r->filename, "//anon", 6) || !strncmp(r->filename, "/memfd:", 7))
		keeper__jit(k, r->pid);
}

/*
 * Queues a job to copy the map of a process's generated code, if the map exists. Takes over the
 * descriptor of the process's /tmp.
 */
static void keeper__jit_map(struct keeper *k, struct jit *j)
{
	struct job *job;

	if (j->tmp_fd < 0 && !j->unknown)
		return;
	job = calloc(1, sizeof(*job));
	if (!job) {
		jit__close(j);
	} else {
		job->kind = JOB_JIT;
		job->fd = j->tmp_fd;
		job->pid = j->pid;
		job->ns_pid = j->ns_pid;
		snprintf(job->name, sizeof(job->name), "perf-%d.map", j->pid);
	}
	keeper__add(k, job);
	j->tmp_fd = -1;
}

void keeper__process_exit(struct keeper *k, pid_t pid)
{
	struct jit *j;

	table_find(k->jits, pid, pid, j);
	if (!j)
		return;
	keeper__jit_map(k, j);
	table_remove(k->jits, j);
}

/* ---- removing -------------------------------------------------------------------------------- */

enum kept { KEPT_NONE, KEPT_FILE, KEPT_DIR };

static bool all_hex(const char *s)
{
	size_t i;

	for (i = 0; isdigit((unsigned char)s[i]) || (s[i] >= 'a' && s[i] <= 'f'); i++)
		;
	return i && !s[i] && i <= 2 * XPU_BUILD_ID_LEN;
}

/* Return: whether @name, of @len bytes, is perf-PID.map. */
static bool is_jit_map(const char *name, size_t len)
{
	size_t i = strlen("perf-"), end = len - strlen(".map");

	if (len < i + strlen("1.map") || strncmp(name, "perf-", i) ||
	    strncmp(name + end, ".map", strlen(".map")))
		return false;
	while (i < end && isdigit((unsigned char)name[i]))
		i++;
	return i == end;
}

/* Return: the kind of the entry @name, which is @depth directories below the keeper's directory. */
static enum kept kept_name(const char *name, int depth)
{
	size_t len = safefile__stem(name);	/* interrupted copies have other names */

	switch (depth) {
	case 0:
		if (is_jit_map(name, len))
			return KEPT_FILE;
		return strcmp(name, ".build-id") ? KEPT_NONE : KEPT_DIR;
	case 1:
		return all_hex(name) && strlen(name) == 2 ? KEPT_DIR : KEPT_NONE;
	case 2:
		return all_hex(name) ? KEPT_DIR : KEPT_NONE;
	default:
		return len == 3 && !strncmp(name, "elf", 3) ? KEPT_FILE : KEPT_NONE;
	}
}

static int remove_kept(int dir_fd, const char *name, int depth);

/* Removes the keeper's files below @fd; with @dirs, also the keeper's directories. */
static int remove_entries(int fd, int depth, bool dirs)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), err;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	enum kept kept;

	if (!d) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	while ((e = readdir(d))) {
		kept = kept_name(e->d_name, depth);
		if (kept == KEPT_FILE)
			safefile__unlink(fd, e->d_name, 0);
		else if (kept == KEPT_DIR && dirs)
			remove_kept(fd, e->d_name, depth + 1);
	}
	closedir(d);
	return 0;
}

/* Removes the directory @name, unless it has files that the keeper did not make. */
static int remove_kept(int dir_fd, const char *name, int depth)
{
	int fd = safefile__open_dir(dir_fd, name, false), err;

	if (fd < 0)
		return fd;
	err = remove_entries(fd, depth, true);
	close(fd);
	return err ?: safefile__unlink(dir_fd, name, AT_REMOVEDIR);
}

/*
 * If an older recording has this name, removes its maps of generated code, which apply only to the
 * older recording.
 */
static void forget_jit_maps(const struct keeper *k)
{
	int fd = safefile__open_dir(k->dir_fd, k->name, false);

	if (fd < 0)
		return;
	remove_entries(fd, 0, false);
	close(fd);
}

/* ---- functions for the recorder -------------------------------------------------------------- */

int keeper__new(const char *path, struct keeper **kp)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	k->kept_fd = -1;
	if (asprintf(&k->name, "%s" XPU_KEPT_SUFFIX, safefile__name(path)) < 0) {
		err = -ENOMEM;
		goto free_keeper;
	}
	k->dir_fd = safefile__open_parent(path);
	if (k->dir_fd < 0) {
		err = k->dir_fd;
		goto free_name;
	}
	forget_jit_maps(k);
	k->last = &k->first;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->more, NULL);
	*kp = k;
	return 0;

free_name:
	free(k->name);
free_keeper:
	free(k);
	return err;
}

/* Waits for the thread. Return: false if it hangs. */
static bool keeper__join(struct keeper *k, keeper_stop_fn stopped, void *ctx)
{
	uint64_t start_ns = clock__now(), cancel_ns = 0, now = start_ns;
	struct timespec until;

	for (;;) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAIT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (!pthread_timedjoin_np(k->thread, NULL, &until))
			return true;
		now = clock__now();
		if (!cancel_ns &&
		    (now - start_ns > LIMIT_KEEPING_NS || (stopped && stopped(ctx)))) {
			k->cancel = true;
			cancel_ns = now;
		}
		if (cancel_ns && now - cancel_ns > HANG_NS)
			return false;
	}
}

void keeper__finish(struct keeper *k, struct keeper_stats *stats, keeper_stop_fn stopped, void *ctx)
{
	struct jit *j;

	if (!k->finished) {
		k->finished = true;
		keeper__look_again(k);
		for (j = k->jits; j; j = j->hh.next)
			keeper__jit_map(k, j);
		pthread_mutex_lock(&k->lock);
		k->stop = true;
		pthread_cond_signal(&k->more);
		pthread_mutex_unlock(&k->lock);
		if (k->running && !keeper__join(k, stopped, ctx)) {
			pthread_detach(k->thread);
			k->abandoned = true;
		}
	}
	pthread_mutex_lock(&k->lock);
	*stats = k->stats;
	stats->nr_refused += k->nr_jobs;
	pthread_mutex_unlock(&k->lock);
}

void keeper__remove(struct keeper *k)
{
	if (k->kept_fd >= 0)
		remove_kept(k->dir_fd, k->name, 0);
}

int keeper__rename(int dir_fd, const char *name, const char *suffix)
{
	char *from = NULL, *to = NULL;
	int fd, err = -ENOMEM;

	if (asprintf(&from, "%s" XPU_KEPT_SUFFIX, name) < 0) {
		from = NULL;
		goto out;
	}
	if (asprintf(&to, "%s%s" XPU_KEPT_SUFFIX, name, suffix) < 0) {
		to = NULL;
		goto out;
	}
	err = remove_kept(dir_fd, to, 0);
	if (err && err != -ENOENT)
		goto out;
	/* Do not rename a directory that belongs to another user. */
	fd = safefile__open_dir(dir_fd, from, false);
	if (fd >= 0)
		close(fd);
	err = fd < 0 ? fd : safefile__rename(dir_fd, from, to);
	if (err == -ENOENT)
		err = 0;
out:
	free(from);
	free(to);
	return err;
}

void keeper__free(struct keeper *k)
{
	struct keeper_stats stats;

	if (!k)
		return;
	k->cancel = true;
	keeper__finish(k, &stats, NULL, NULL);
	if (k->abandoned)
		return;
	numbers__free(&k->seen);
	table_free(k->jits, jit__close);
	if (k->kept_fd >= 0)
		close(k->kept_fd);
	close(k->dir_fd);
	free(k->name);
	free(k);
}
