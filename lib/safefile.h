/* SPDX-License-Identifier: MIT */
/*
 * safefile.h - files that are made, renamed and removed where others may be at work, too
 *
 * Every file that the programs make goes through here. A new file gets a random temporary name in
 * the directory that it is for, in which nothing of that name exists, and then takes its own name
 * by rename: nothing that exists is written to, whatever links there are. All of it is done with
 * the rights of the invoker (invoker.h).
 *
 * Links that take the place of a directory on the way are followed, as by any program; the invoker's
 * rights decide where they may lead.
 *
 * What is no regular file (a FIFO, a device) is written in place, and never made. /dev/stdout and
 * the like are the descriptors that the program was given.
 *
 * Names are below a descriptor of a directory, or AT_FDCWD. Errors are negative errnos, which
 * safefile__strerror() explains; -ELOOP is a symbolic link that is not followed.
 */
#ifndef LIB_SAFEFILE_H
#define LIB_SAFEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct safefile {
	int fd;			/* to write to; the caller's to close */
	int dir_fd;		/* of the directory that @name is in, for these functions; or -1 */
	char *name;		/* NULL: written in place */
	char *tmp;		/* what it is called until safefile__commit(), then NULL */
	dev_t dev;		/* of what was made */
	ino_t ino;
};

enum {
	SAFEFILE_PRIVATE = 1,	/* mode 0600; else what umask leaves of 0666 */
	SAFEFILE_LINKS = 2,	/* a symbolic link of the invoker's or of root's is followed: what
				 * it leads to is replaced */
	SAFEFILE_NO_WAIT = 4,	/* a FIFO without a reader fails with -ENXIO */
};

/**
 * safefile__open - begin a file
 * @f: closed by safefile__close()
 * @dir_fd: what a relative @path is relative to, or AT_FDCWD
 * @flags: SAFEFILE_*
 *
 * What is in the place of @path stays until safefile__commit().
 *
 * Return: 0 or a negative errno; then @f holds nothing.
 */
int safefile__open(struct safefile *f, int dir_fd, const char *path, unsigned int flags);

/**
 * safefile__keep_old - rename the file that this one will replace
 * @suffix: put behind its name
 *
 * An empty file is not kept. To be called before safefile__commit().
 *
 * Return: 1 if there was one, 0 if not, or a negative errno.
 */
int safefile__keep_old(struct safefile *f, const char *suffix);

/* Gives the file its name, in the place of what is there. One written in place has it already. */
int safefile__commit(struct safefile *f);

/* Removes the file, which has its name: if that is still the name of it. */
void safefile__remove(const struct safefile *f);

/* Forgets the file and closes all but @f->fd. What was not committed is removed. */
void safefile__close(struct safefile *f);

/* From a signal handler: removes what was not committed. */
void safefile__abort_from_signal(const struct safefile *f);

/* ---- directories of our own ------------------------------------------------------------------ */

/* Return: a descriptor of the directory that @path is in, for the functions here, or -errno. */
int safefile__open_parent(const char *path);

/* Return: the last component of @path. */
const char *safefile__name(const char *path);

/*
 * Opens a directory that the invoker owns, not through a link; with @make it is made, with mode
 * 0700, if it does not exist.
 * Return: a descriptor, -EPERM if somebody else owns it, or another negative errno.
 */
int safefile__open_dir(int dir_fd, const char *name, bool make);

/* As renameat(2) and unlinkat(2) are. Return: 0 or a negative errno. */
int safefile__rename(int dir_fd, const char *from, const char *to);
int safefile__unlink(int dir_fd, const char *name, int flags);

/* Return: the length of @name, without what makes it a temporary one. */
size_t safefile__stem(const char *name);

/* Return: what a negative errno of these functions means. */
const char *safefile__strerror(int err);

#endif /* LIB_SAFEFILE_H */
