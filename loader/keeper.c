// SPDX-License-Identifier: GPL-3.0-or-later
#include "keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "clock.h"
#include "copy.h"
#include "invoker.h"
#include "map.h"
#include "mapped.h"
#include "table.h"

#define HELD_MAX	400		/* files held open: are they still there at the end? */
#define WAIT_NS		50000000	/* between two looks at whether to stop */
#define HANG_NS		2000000000ull	/* after that: in a file system that does not answer */
#define NAME_MAX_BYTES	128		/* ".build-id/xx/yyyy/elf", "perf-PID.map" */

/* A process that has generated code and perhaps a /tmp of its own. */
struct jit {
	pid_t pid;
	int tmp_fd;			/* its /tmp; -1: the one here ... */
	bool unknown;			/* ... or it is not known */
	pid_t ns_pid;			/* what it calls itself */
	UT_hash_handle hh;
};

/*
 * A file to look at and to copy. Looking at a path may take for ever, where its file system is a
 * program: that is the thread's to do.
 */
struct job {
	struct job *next;
	enum {
		JOB_COPY,		/* @fd */
		JOB_LOOK,		/* the same, unless it is at @path here */
		JOB_JIT,		/* perf-@ns_pid.map in the directory @fd, or -1: in
					 * @pid's /tmp; if it is there */
	} kind;
	int fd;				/* opened with O_PATH; of JOB_LOOK, -1: by @path in @pid */
	pid_t pid, ns_pid;
	char *path;
	char name[NAME_MAX_BYTES];	/* below the directory */
};

struct keeper {
	char *dir;
	struct map seen;		/* files: each is looked at once */
	struct job *held;		/* JOB_LOOK: files that are at their paths so far */
	unsigned int nr_held;
	struct jit *jits;
	pthread_t thread;
	bool running, finished;
	bool abandoned;			/* the thread hangs; it has all of this */
	atomic_bool cancel;		/* copy nothing more */
	pthread_mutex_t lock;		/* of what follows */
	unsigned int nr_jobs;
	pthread_cond_t more;
	struct job *first, **last;
	struct job *done;
	bool stop;
	struct keeper_stats stats;
};

/* ---- copying --------------------------------------------------------------------------------- */

/* Makes the directories that @path goes through, below @dir_fd. */
static int make_dirs(int dir_fd, const char *path)
{
	char buf[NAME_MAX_BYTES], *slash;

	snprintf(buf, sizeof(buf), "%s", path);
	for (slash = strchr(buf, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdirat(dir_fd, buf, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Copies the file behind @job->fd to its name, which appears when all of it is there. */
static int keeper__copy(struct keeper *k, const struct job *job, uint64_t max_bytes,
			uint64_t *bytes)
{
	char self[64], tmp[NAME_MAX_BYTES + 8];
	int dir_fd, from = -1, to = -1, err;

	if (mkdir(k->dir, 0755) && errno != EEXIST)
		return -errno;
	dir_fd = open(k->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	err = make_dirs(dir_fd, job->name);
	if (err)
		goto out;
	/* A plain file by now: it is safe to open. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", job->fd);
	from = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	snprintf(tmp, sizeof(tmp), "%s.part", job->name);
	unlinkat(dir_fd, tmp, 0);
	if (from >= 0)
		to = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0644);
	if (from < 0 || to < 0) {
		err = -errno;
		goto out;
	}
	err = copy__file(from, to, max_bytes, &k->cancel, bytes);
	if (!err && renameat(dir_fd, tmp, dir_fd, job->name))
		err = -errno;
	if (err)
		unlinkat(dir_fd, tmp, 0);
out:
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	close(dir_fd);
	return err;
}

static void job__free(struct job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	free(job->path);
	free(job);
}

/* Return: 1 if the file behind @fd is at @path here, 0 if not, or a negative errno: who knows. */
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

/* Finds the file of a job. Return: 1, 0 if there is nothing to copy, or a negative errno. */
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
		if (job->fd < 0)	/* it is gone; that does not matter if its file is here */
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

/* Return: 1 if it was copied, 0 if there is nothing to copy, or a negative errno. */
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

/* One job is over, by keeper__do()'s @err. */
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
	uint64_t bytes, left;
	int err;

	invoker__enter();		/* for good: it makes nothing else */
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
		err = keeper__do(k, job, left, &bytes);
		pthread_mutex_lock(&k->lock);
		keeper__count(k, err, bytes);
		if (err <= 0) {
			job__free(job);
			continue;
		}
		close(job->fd);
		job->fd = -1;
		job->next = k->done;
		k->done = job;
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

/* Takes @job, which may be NULL without memory. */
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

/* ---- what to keep ---------------------------------------------------------------------------- */

/* Return: whether it was not met before. */
static bool keeper__meet(struct keeper *k, const struct xpu_record_mmap *r)
{
	__u64 words[(XPU_BUILD_ID_LEN + PATH_MAX) / 8 + 2] = { 0 };
	size_t path = strnlen(r->filename, PATH_MAX);
	struct map_key key;

	memcpy(words, r->build_id, sizeof(r->build_id));
	memcpy((char *)words + sizeof(r->build_id), r->filename, path);
	key = map__hash(words, (sizeof(r->build_id) + path) / 8 + 1);
	if (map__find(&k->seen, key))
		return false;
	if (k->seen.nr < LIMIT_MAPPED_FILES && !map__add(&k->seen, key, 1))
		return true;
	keeper__refuse(k, &k->stats.nr_refused, 0);
	return false;
}

/* A job that has @fd, or NULL without memory: then @fd is closed. */
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

/* @job has a file. */
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
		/* It is gone already. That does not matter if its file is here. */
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

/* Copies those that have been unlinked or replaced since. */
static void keeper__look_again(struct keeper *k)
{
	struct job *job;

	while ((job = k->held)) {
		k->held = job->next;
		keeper__look(k, job, false);
	}
}

/* Return: what @pid is called in its own pid namespace, as /proc tells it last. */
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

/* Generated code: keeps hold of where its names will be. */
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

/* Copies the names of the generated code of one process, if it has left any; it takes its /tmp. */
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

/* ---- outside --------------------------------------------------------------------------------- */

/* Names of generated code are of one recording; an older one of this name has left its own. */
static void forget_jit_maps(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "perf-", 5))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

struct keeper *keeper__new(const char *path)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	if (asprintf(&k->dir, "%s" XPU_KEPT_SUFFIX, path) < 0) {
		free(k);
		return NULL;
	}
	forget_jit_maps(k->dir);
	k->last = &k->first;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->more, NULL);
	return k;
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
		if (!cancel_ns && (now - start_ns > LIMIT_KEEPING_NS || (stopped && stopped(ctx)))) {
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
	char path[PATH_MAX], *slash;
	const struct job *job;

	for (job = k->done; job; job = job->next) {
		snprintf(path, sizeof(path), "%s/%s", k->dir, job->name);
		unlink(path);
		/* And the directories, as far as nothing else is in them. */
		while ((slash = strrchr(path, '/')) && (size_t)(slash - path) >= strlen(k->dir)) {
			*slash = 0;
			if (rmdir(path))
				break;
		}
	}
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DP ? rmdir(path) : unlink(path))
		return -1;
	return 0;
}

void keeper__rename(const char *path, const char *to)
{
	char dir[PATH_MAX], to_dir[PATH_MAX];
	struct stat st;
	uid_t uid;

	if ((size_t)snprintf(dir, sizeof(dir), "%s" XPU_KEPT_SUFFIX, path) >= sizeof(dir) ||
	    (size_t)snprintf(to_dir, sizeof(to_dir), "%s" XPU_KEPT_SUFFIX, to) >= sizeof(to_dir))
		return;
	uid = invoker__enter();
	/* In somebody else's directory nothing is removed: it may become a link meanwhile. */
	if (!lstat(to_dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == uid)
		nftw(to_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	rename(dir, to_dir);
	invoker__leave();
}

void keeper__free(struct keeper *k)
{
	struct keeper_stats stats;
	struct job *job;

	if (!k)
		return;
	k->cancel = true;
	keeper__finish(k, &stats, NULL, NULL);
	if (k->abandoned)
		return;
	map__free(&k->seen);
	table_free(k->jits, jit__close);
	while ((job = k->done)) {
		k->done = job->next;
		job__free(job);
	}
	free(k->dir);
	free(k);
}
