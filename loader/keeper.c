// SPDX-License-Identifier: GPL-3.0-or-later
#include "keeper.h"

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
#include <unistd.h>

#include "invoker.h"
#include "mapped.h"
#include "safefile.h"
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
	int dir_fd;			/* of the directory that the recording is in */
	char *name;			/* of the directory for what is kept */
	int kept_fd;			/* of that one, for the thread; -1: not made yet */
	struct seen *seen;
	unsigned int nr_held;
	struct jit *jits;
	pthread_t thread;
	bool running, finished;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t more;
	struct job *first, **last;
	bool stop;
	struct keeper_stats stats;
};

/* ---- copying --------------------------------------------------------------------------------- */

/* Return: a descriptor of the directory, below @dir_fd, that @path is in; it is made. */
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

/* Return: a descriptor of the directory that @name is kept in. */
static int keeper__open_dir(struct keeper *k, const char *name)
{
	if (k->kept_fd < 0)
		k->kept_fd = safefile__open_dir(k->dir_fd, k->name, true);
	return k->kept_fd < 0 ? k->kept_fd : make_dirs(k->kept_fd, name);
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
	struct safefile f;
	char self[64];
	int dir_fd, from, err;

	/* A plain file by now: it is safe to open. */
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
	err = copy_bytes(from, f.fd, bytes);
	if (close(f.fd) && !err)
		err = -errno;
	if (!err)
		err = safefile__commit(&f);
	safefile__close(&f);
close_dir:
	close(dir_fd);
close_from:
	close(from);
	return err;
}

static void *keeper__thread(void *arg)
{
	struct keeper *k = arg;
	struct job *job;
	uint64_t bytes;
	int entered, err;

	entered = invoker__enter();	/* for good: it reads what is the invoker's to read */
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
		err = entered ?: keeper__copy(k, job, &bytes);
		close(job->fd);
		free(job);
		pthread_mutex_lock(&k->lock);
		if (err) {
			k->stats.nr_failed++;
			k->stats.error = k->stats.error ?: -err;
			continue;
		}
		k->stats.nr_files++;
		k->stats.bytes += bytes;
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

/* Return: what the keeper makes of this name, so many directories below its own. */
static enum kept kept_name(const char *name, int depth)
{
	size_t len = safefile__stem(name);	/* it may have been killed while it copied */

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

/* Removes the files below @fd that the keeper makes, and with @dirs its directories, too. */
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

/* Removes the directory @name; with anything else in it, it stays. */
static int remove_kept(int dir_fd, const char *name, int depth)
{
	int fd = safefile__open_dir(dir_fd, name, false), err;

	if (fd < 0)
		return fd;
	err = remove_entries(fd, depth, true);
	close(fd);
	return err ?: safefile__unlink(dir_fd, name, AT_REMOVEDIR);
}

/* Names of generated code are of one recording; an older one of this name has left its own. */
static void forget_jit_maps(const struct keeper *k)
{
	int fd = safefile__open_dir(k->dir_fd, k->name, false);

	if (fd < 0)
		return;
	remove_entries(fd, 0, false);
	close(fd);
}

/* ---- outside --------------------------------------------------------------------------------- */

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
	/* Nothing that is another's is moved, either. */
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
	keeper__finish(k, &stats);
	table_free(k->seen, table_free_nothing);
	table_free(k->jits, jit__close);
	if (k->kept_fd >= 0)
		close(k->kept_fd);
	close(k->dir_fd);
	free(k->name);
	free(k);
}
