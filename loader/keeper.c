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
#include <unistd.h>

#include "invoker.h"
#include "mapped.h"
#include "table.h"

#define HELD_MAX	400		/* files held open: are they still there at the end? */
#define NAME_MAX_BYTES	128		/* ".build-id/xx/yyyy/elf", "perf-PID.map" */

/* A mapped file, by its build-id and the path that a process has for it: looked at once. */
struct seen {
	UT_hash_handle hh;
	int fd;				/* of one that is at its path so far; -1: none */
	uint8_t build_id_len;
	uint8_t key[];			/* build-id, path and its NUL */
};

/* A process that has generated code and a /tmp of its own. */
struct jit {
	pid_t pid;
	int tmp_fd;			/* its /tmp; -1: the one here */
	pid_t ns_pid;			/* what it calls itself */
	UT_hash_handle hh;
};

struct job {
	struct job *next;
	int fd;				/* to copy, opened with O_PATH */
	char name[NAME_MAX_BYTES];	/* below the directory */
};

struct keeper {
	char *dir;
	struct seen *seen;
	unsigned int nr_held;
	struct jit *jits;
	pthread_t thread;
	bool running, finished;
	pthread_mutex_t lock;		/* of what follows */
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

static int copy_bytes(int from, int to, uint64_t *bytes)
{
	char buf[65536];
	ssize_t n, put, at;

	*bytes = 0;
	/* Shares the blocks where the file system can; not between all of them. */
	while ((n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0)
		*bytes += n;
	if (!n && *bytes)
		return 0;
	while ((n = read(from, buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; at += put) {
			put = write(to, buf + at, n - at);
			if (put < 0)
				return -errno;
		}
		*bytes += n;
	}
	return n < 0 ? -errno : 0;
}

/* Copies the file behind @job->fd to its name, which appears when all of it is there. */
static int keeper__copy(struct keeper *k, const struct job *job, uint64_t *bytes)
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
	err = copy_bytes(from, to, bytes);
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

static void *keeper__thread(void *arg)
{
	struct keeper *k = arg;
	struct job *job;
	uint64_t bytes;
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
		pthread_mutex_unlock(&k->lock);
		bytes = 0;
		err = keeper__copy(k, job, &bytes);
		close(job->fd);
		pthread_mutex_lock(&k->lock);
		if (err) {
			k->stats.nr_failed++;
			k->stats.error = k->stats.error ?: -err;
			free(job);
			continue;
		}
		k->stats.nr_files++;
		k->stats.bytes += bytes;
		job->next = k->done;
		k->done = job;
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static void keeper__fail(struct keeper *k, int error)
{
	pthread_mutex_lock(&k->lock);
	k->stats.nr_failed++;
	k->stats.error = k->stats.error ?: error;
	pthread_mutex_unlock(&k->lock);
}

/* Takes @fd, to be copied to @name. */
static void keeper__add(struct keeper *k, int fd, const char *name)
{
	struct job *job = calloc(1, sizeof(*job));
	sigset_t all, old;

	if (job && !k->running) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		k->running = !pthread_create(&k->thread, NULL, keeper__thread, k);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (!job || !k->running) {
		keeper__fail(k, ENOMEM);
		close(fd);
		free(job);
		return;
	}
	job->fd = fd;
	snprintf(job->name, sizeof(job->name), "%s", name);
	pthread_mutex_lock(&k->lock);
	*k->last = job;
	k->last = &job->next;
	pthread_cond_signal(&k->more);
	pthread_mutex_unlock(&k->lock);
}

/* ---- what to keep ---------------------------------------------------------------------------- */

static bool same_file(const char *path, const struct stat *st)
{
	struct stat here;

	return !stat(path, &here) && here.st_dev == st->st_dev && here.st_ino == st->st_ino;
}

/* Return: the file, or NULL if it was met before (or memory is out). */
static struct seen *keeper__meet(struct keeper *k, const struct xpu_record_mmap *r)
{
	size_t path = strlen(r->filename) + 1, bytes = sizeof(r->build_id) + path;
	struct seen *s = malloc(sizeof(*s) + bytes), *old;

	if (!s)
		return NULL;
	s->fd = -1;
	s->build_id_len = r->build_id_len;
	memcpy(s->key, r->build_id, sizeof(r->build_id));
	memcpy(s->key + sizeof(r->build_id), r->filename, path);
	HASH_FIND(hh, k->seen, s->key, bytes, old);
	if (!old)
		HASH_ADD_KEYPTR(hh, k->seen, s->key, bytes, s);
	if (!old && s->hh.tbl)
		return s;
	free(s);
	return NULL;
}

static const char *seen__path(const struct seen *s)
{
	return (const char *)s->key + XPU_BUILD_ID_LEN;
}

/* Has the file, which @fd is, copied. */
static void keeper__keep(struct keeper *k, const struct seen *s, int fd)
{
	char name[NAME_MAX_BYTES];
	size_t i, at;

	at = snprintf(name, sizeof(name), ".build-id/%02x/", s->key[0]);
	for (i = 1; i < s->build_id_len; i++)
		at += snprintf(name + at, sizeof(name) - at, "%02x", s->key[i]);
	snprintf(name + at, sizeof(name) - at, "/elf");
	keeper__add(k, fd, name);
}

static void keeper__file(struct keeper *k, const struct xpu_record_mmap *r)
{
	struct seen *s = keeper__meet(k, r);
	struct stat st;
	int fd;

	if (!s)
		return;
	fd = mapped__open(r->pid, r->start, r->len, r->filename);
	if (fd < 0) {
		/* It is gone already. That does not matter if its file is here. */
		if (stat(r->filename, &st))
			keeper__fail(k, ESRCH);
	} else if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
	} else if (!same_file(r->filename, &st)) {
		keeper__keep(k, s, fd);
	} else if (k->nr_held < HELD_MAX) {
		s->fd = fd;
		k->nr_held++;
	} else {
		close(fd);
	}
}

/* Copies those that have been unlinked or replaced since. */
static void keeper__look_again(struct keeper *k)
{
	struct seen *s;
	struct stat st;

	for (s = k->seen; s; s = s->hh.next) {
		if (s->fd < 0)
			continue;
		if (fstat(s->fd, &st) || same_file(seen__path(s), &st))
			close(s->fd);
		else
			keeper__keep(k, s, s->fd);
		s->fd = -1;
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
	struct stat st;
	struct jit *j;

	table_find(k->jits, pid, pid, j);
	if (j)
		return;
	table_get(k->jits, pid, pid, j);
	if (!j)
		return;
	j->ns_pid = innermost_pid(pid);
	j->tmp_fd = mapped__open_in_root(pid, "tmp", O_DIRECTORY);
	if (j->tmp_fd >= 0 && j->ns_pid == pid && !fstat(j->tmp_fd, &st) &&
	    same_file("/tmp", &st)) {
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

/* Copies the names of the generated code of one process, if it has left any. */
static void keeper__jit_map(struct keeper *k, const struct jit *j)
{
	char name[NAME_MAX_BYTES];
	struct stat st;
	int fd;

	if (j->tmp_fd < 0)
		return;
	snprintf(name, sizeof(name), "perf-%d.map", j->ns_pid);
	fd = openat(j->tmp_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return;
	}
	snprintf(name, sizeof(name), "perf-%d.map", j->pid);
	keeper__add(k, fd, name);
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

void keeper__finish(struct keeper *k, struct keeper_stats *stats)
{
	struct jit *j;

	*stats = k->stats;
	if (k->finished)
		return;
	k->finished = true;
	keeper__look_again(k);
	for (j = k->jits; j; j = j->hh.next)
		keeper__jit_map(k, j);
	if (k->running) {
		pthread_mutex_lock(&k->lock);
		k->stop = true;
		pthread_cond_signal(&k->more);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
		k->running = false;
	}
	*stats = k->stats;
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
	keeper__finish(k, &stats);
	table_free(k->seen, table_free_nothing);
	table_free(k->jits, jit__close);
	while ((job = k->done)) {
		k->done = job->next;
		free(job);
	}
	free(k->dir);
	free(k);
}
