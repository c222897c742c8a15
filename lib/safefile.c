// SPDX-License-Identifier: MIT
#include "safefile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "invoker.h"

#define MAX_LINKS	40		/* maximum number of links to follow, as in Linux */
#define MAX_STEM	200		/* maximum bytes of the file's name in a temporary name;
					 * NAME_MAX is 255 */
#define RANDOM_DIGITS	16
#define TMP_SUFFIX	".tmp"

/* ---- names ----------------------------------------------------------------------------------- */

const char *safefile__name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t safefile__stem(const char *name)
{
	size_t len = strlen(name), suffix = 1 + RANDOM_DIGITS + strlen(TMP_SUFFIX);
	const char *p = name + len - suffix;
	size_t i;

	if (len <= suffix || *p != '.' || strcmp(p + 1 + RANDOM_DIGITS, TMP_SUFFIX))
		return len;
	for (i = 1; i <= RANDOM_DIGITS; i++)
		if (!isdigit((unsigned char)p[i]) && (p[i] < 'a' || p[i] > 'f'))
			return len;
	return len - suffix;
}

/* Clears the name before it frees the memory, for a signal handler that reads the name. */
static void forget_tmp(struct safefile *f)
{
	char *tmp = f->tmp;

	f->tmp = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	free(tmp);
}

static void forget_unnamed(struct safefile *f)
{
	if (f->link_fd > 0)
		close(f->link_fd);
	f->link_fd = 0;
}

static int make_tmp_name(const char *name, char **tmp)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	if (asprintf(tmp, "%.*s.%0*llx" TMP_SUFFIX, MAX_STEM, name, RANDOM_DIGITS,
		     (unsigned long long)number) < 0) {
		*tmp = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Return: a descriptor of the directory that the last component of @path is in. */
static int open_dir_of(int dir_fd, const char *path)
{
	size_t len = safefile__name(path) - path;
	char *dir;
	int fd;

	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	dir = len ? strndup(path, len) : strdup(".");
	if (!dir)
		return -ENOMEM;
	fd = openat(dir_fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(dir);
	return fd;
}

const char *safefile__strerror(int err)
{
	if (err == -ELOOP)
		return "it is a symbolic link: name the file itself";
	if (err == -ENOENT)
		return "No such file or directory: its directory is missing";
	return strerror(-err);
}

/* ---- opening --------------------------------------------------------------------------------- */

#define LINK_BYTES	32

static const char *link_path(int fd, char path[LINK_BYTES])
{
	snprintf(path, LINK_BYTES, "/proc/self/fd/%d", fd);
	return path;
}

/*
 * Creates a file without a name, so that nothing remains if this process is killed. Return: false
 * if the file system has no unnamed files, or if /proc does not show the file, which could then not
 * get a name later.
 */
static bool create_unnamed(struct safefile *f, mode_t mode)
{
	char path[LINK_BYTES];
	struct stat st, seen;

	f->fd = openat(f->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	if (f->fd < 0)
		return false;
	/* At least 1: link_fd 0 means that there is no unnamed file. */
	f->link_fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 1);
	if (f->link_fd > 0 && !fstat(f->link_fd, &st) &&
	    !stat(link_path(f->link_fd, path), &seen) && st.st_dev == seen.st_dev &&
	    st.st_ino == seen.st_ino)
		return true;
	close(f->fd);
	f->fd = -1;
	forget_unnamed(f);
	return false;
}

static int create_named(struct safefile *f, const char *name, mode_t mode)
{
	int err;

	do {
		forget_tmp(f);
		/*
		 * Store the name before the file exists, so that a signal handler can always remove
		 * the file.
		 */
		err = make_tmp_name(name, &f->tmp);
		if (err)
			return err;
		f->fd = openat(f->dir_fd, f->tmp,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
			       mode);
	} while (f->fd < 0 && errno == EEXIST);
	if (f->fd >= 0)
		return 0;
	err = -errno;
	forget_tmp(f);
	return err;
}

static int create(struct safefile *f, const char *name, unsigned int flags)
{
	mode_t mode = flags & SAFEFILE_PRIVATE ? 0600 : 0666;
	struct stat st;
	int err;

	f->name = strdup(name);
	if (!f->name)
		return -ENOMEM;
	err = create_unnamed(f, mode) ? 0 : create_named(f, name, mode);
	if (err)
		return err;
	if (fstat(f->fd, &st))
		return -errno;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

/*
 * Opens @name to write in place. It was not a regular file when it was checked, but may be one now.
 */
static int open_in_place(struct safefile *f, const char *name, unsigned int flags)
{
	struct stat st;

	f->fd = openat(f->dir_fd, name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC |
		       (flags & SAFEFILE_NO_WAIT ? O_NONBLOCK : 0));
	if (f->fd < 0 || fstat(f->fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		return -EEXIST;
	if (flags & SAFEFILE_NO_WAIT)
		fcntl(f->fd, F_SETFL, 0);
	return 0;
}

/*
 * Duplicates the descriptor whose number is @name, an entry of /proc/self/fd. The program inherited
 * the descriptor. Opening its file again may be forbidden, or impossible (a socket). Return:
 * whether @f now has a descriptor that can be written to.
 */
static bool take_descriptor(struct safefile *f, const char *name)
{
	struct stat st, ours;
	char *end;
	long fd = strtol(name, &end, 10);

	if (!isdigit((unsigned char)*name) || *end || fd > INT_MAX)
		return false;
	/* In the fd directory of another process, the number means that process's descriptor. */
	if (fstatat(f->dir_fd, name, &st, 0) || fstat(fd, &ours) || st.st_dev != ours.st_dev ||
	    st.st_ino != ours.st_ino || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return false;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return f->fd >= 0;
}

/*
 * Follows the link @name. Return: 1 if @path now has the link's target; 0 if @f now has a
 * descriptor of the target; or -errno.
 */
static int follow(struct safefile *f, const char *name, char *path)
{
	struct statfs fs;
	struct stat st;
	ssize_t len;
	int fd, err;

	/* Another user may replace the link between two uses of its name. */
	fd = openat(f->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || fstatfs(fd, &fs)) {
		err = -errno;
		goto out;
	}
	/* A link that another user made may lead anywhere. */
	err = -ELOOP;
	if (st.st_uid && st.st_uid != invoker__uid())
		goto out;
	if (fs.f_type == PROC_SUPER_MAGIC && take_descriptor(f, name)) {
		err = 0;
		goto out;
	}
	len = readlinkat(fd, "", path, PATH_MAX);
	err = len < 0 ? -errno : len == PATH_MAX ? -ENAMETOOLONG : 1;
	if (err > 0)
		path[len] = 0;
out:
	close(fd);
	return err;
}

/*
 * Sets @f->dir_fd to the directory that @path is in. Before the call, it is the directory to which
 * @path is relative.
 */
static int enter_dir(struct safefile *f, const char *path)
{
	int fd = open_dir_of(f->dir_fd, path);

	if (fd < 0)
		return fd;
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	f->dir_fd = fd;
	return 0;
}

/* Opens the file that @path names. Return: 1 if it is a link, with the link's target in @path. */
static int open_step(struct safefile *f, char *path, bool linked, unsigned int flags)
{
	const char *name = safefile__name(path);
	struct stat st;
	int err = enter_dir(f, path);

	if (err)
		return err;
	if (!*name)
		return *path ? -EISDIR : -ENOENT;
	if (fstatat(f->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			return -errno;
		st.st_mode = S_IFREG;		/* the file will be made, as a regular file */
	}
	if (S_ISLNK(st.st_mode))
		return follow(f, name, path);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return open_in_place(f, name, flags);
	if (linked && !(flags & SAFEFILE_LINKS))
		return -ELOOP;
	return create(f, name, flags);
}

static void reset(struct safefile *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->dir_fd = -1;
}

static int open_as_invoker(struct safefile *f, int dir_fd, const char *path, unsigned int flags)
{
	char buf[PATH_MAX];
	int i, err;

	if ((size_t)snprintf(buf, sizeof(buf), "%s", path) >= sizeof(buf))
		return -ENAMETOOLONG;
	if (dir_fd == AT_FDCWD) {
		f->dir_fd = AT_FDCWD;
	} else {
		f->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
		if (f->dir_fd < 0)
			return -errno;
	}
	err = 1;
	for (i = 0; i < MAX_LINKS && err > 0; i++)
		err = open_step(f, buf, i > 0, flags);
	return err > 0 ? -ELOOP : err;
}

int safefile__open(struct safefile *f, int dir_fd, const char *path, unsigned int flags)
{
	int err;

	reset(f);
	err = invoker__enter();
	if (err)
		return err;
	err = open_as_invoker(f, dir_fd, path, flags);
	if (err) {
		if (f->fd >= 0)
			close(f->fd);
		safefile__close(f);
	}
	invoker__leave();
	return err;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static bool is_pending(const struct safefile *f)
{
	return f->tmp || f->link_fd;
}

int safefile__keep_old(struct safefile *f, const char *suffix)
{
	struct stat st;
	char *old;
	int err;

	if (!is_pending(f))
		return 0;
	err = invoker__enter();
	if (err)
		return err;
	if (fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW)) {
		err = errno == ENOENT ? 0 : -errno;
	} else if (S_ISREG(st.st_mode) && st.st_size) {
		err = asprintf(&old, "%s%s", f->name, suffix) < 0 ? -ENOMEM : 0;
		if (!err) {
			err = renameat(f->dir_fd, f->name, f->dir_fd, old) ? -errno : 1;
			free(old);
		}
	}
	invoker__leave();
	return err;
}

/*
 * Links the unnamed file to its name. If another file has that name, the unnamed file first gets a
 * temporary name, because only a rename replaces a file. Return: 0 or a negative errno.
 */
static int link_unnamed(struct safefile *f)
{
	const char *to = f->name;
	char path[LINK_BYTES];
	int err = 0;

	link_path(f->link_fd, path);
	while (!err && linkat(AT_FDCWD, path, f->dir_fd, to, AT_SYMLINK_FOLLOW)) {
		err = errno == EEXIST ? 0 : -errno;
		forget_tmp(f);
		err = err ?: make_tmp_name(f->name, &f->tmp);
		to = f->tmp;
	}
	return err;
}

/*
 * Gives an unnamed file its final name, or a temporary name if the final name is taken. Return: 0
 * or a negative errno.
 */
static int give_name(struct safefile *f)
{
	int err = f->link_fd ? invoker__enter() : 0;

	if (err || !f->link_fd)
		return err;
	err = link_unnamed(f);
	invoker__leave();
	if (!err)
		forget_unnamed(f);
	return err;
}

int safefile__commit(struct safefile *f)
{
	int err = give_name(f);

	if (err || !f->tmp)
		return err;
	err = safefile__rename(f->dir_fd, f->tmp, f->name);
	if (!err)
		forget_tmp(f);
	return err;
}

void safefile__remove(const struct safefile *f)
{
	struct stat st;

	if (!f->name || is_pending(f) || invoker__enter())
		return;
	if (!fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == f->dev &&
	    st.st_ino == f->ino)
		unlinkat(f->dir_fd, f->name, 0);
	invoker__leave();
}

int safefile__shorten(const struct safefile *f, off_t bytes)
{
	struct stat st;
	int fd, err = invoker__enter();

	if (err)
		return err;
	fd = openat(f->dir_fd, f->name,
		    O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_dev != f->dev || st.st_ino != f->ino ||
		 st.st_size < bytes)
		err = -ENOENT;
	else if (ftruncate(fd, bytes))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	invoker__leave();
	return err ?: fd;
}

void safefile__abort_from_signal(const struct safefile *f)
{
	if (f->tmp)
		unlinkat(f->dir_fd, f->tmp, 0);
}

void safefile__close(struct safefile *f)
{
	if (f->tmp)
		safefile__unlink(f->dir_fd, f->tmp, 0);
	forget_tmp(f);
	forget_unnamed(f);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	free(f->name);
	reset(f);
}

/* ---- directories of our own ------------------------------------------------------------------ */

int safefile__open_parent(const char *path)
{
	int err = invoker__enter(), fd;

	if (err)
		return err;
	fd = open_dir_of(AT_FDCWD, path);
	invoker__leave();
	return fd;
}

/* Opens the directory @name. @mode: the mode of a new directory; 0: make none */
static int open_dir(int dir_fd, const char *name, mode_t mode, unsigned int flags)
{
	int nofollow = flags & SAFEFILE_LINKS ? 0 : O_NOFOLLOW;
	struct stat st;
	int fd, err;

	if (mode && mkdirat(dir_fd, name, mode) && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | nofollow | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (nofollow && st.st_uid != invoker__uid())
		err = -EPERM;
	else
		return fd;
	close(fd);
	return err;
}

int safefile__open_dir(int dir_fd, const char *name, bool make)
{
	int err = invoker__enter(), fd;

	if (err)
		return err;
	fd = open_dir(dir_fd, name, make ? 0700 : 0, 0);
	invoker__leave();
	return fd;
}

int safefile__result_dir(int dir_fd, const char *name, unsigned int flags)
{
	int err = invoker__enter(), fd;

	if (err)
		return err;
	fd = open_dir(dir_fd, name, 0777, flags);
	invoker__leave();
	return fd;
}

int safefile__rename(int dir_fd, const char *from, const char *to)
{
	int err = invoker__enter();

	if (err)
		return err;
	err = renameat(dir_fd, from, dir_fd, to) ? -errno : 0;
	invoker__leave();
	return err;
}

int safefile__unlink(int dir_fd, const char *name, int flags)
{
	int err = invoker__enter();

	if (err)
		return err;
	err = unlinkat(dir_fd, name, flags) ? -errno : 0;
	invoker__leave();
	return err;
}

int safefile__open_fifo(const char *name)
{
	struct stat st;
	int fd, err;

	err = invoker__enter();
	if (err)
		return err;
	fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	invoker__leave();
	if (err)
		return err;
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode)) {
		close(fd);
		return -ENOTSUP;
	}
	return fd;
}
