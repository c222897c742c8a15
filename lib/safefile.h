/* SPDX-License-Identifier: MIT */
/*
 * safefile.h - makes, renames and removes files safely in directories where others can write
 *
 * The programs make every file with these functions. A new file has no name until it is committed,
 * so nothing remains of it if the program is killed. On file systems without unnamed files (NFS), a
 * new file gets a random, unused temporary name in its directory, and is renamed later. A file that
 * replaces another one has a temporary name only during its commit. So no existing file is written
 * to, whatever links other users make. All functions act with the rights of the invoker
 * (invoker.h).
 *
 * Links to directories within a path are followed, as in any program, with the invoker's rights.
 *
 * A FIFO or a device is written in place, and never created. /dev/stdout and the like mean the
 * descriptors that the program was given.
 *
 * A relative name starts at a descriptor of a directory, or at AT_FDCWD. Errors are negative
 * errnos, which safefile__strerror() explains. -ELOOP means a symbolic link that is not followed.
 */
#ifndef LIB_SAFEFILE_H
#define LIB_SAFEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct safefile {
	int fd;			/* open for writing; the caller closes it */
	int dir_fd;		/* the directory of @name; or -1 */
	char *name;		/* NULL if the file is written in place */
	int link_fd;		/* descriptor of the file while it has no name; 0 afterwards */
	char *tmp;		/* the temporary name until safefile__commit(), then NULL */
	dev_t dev;		/* @dev and @ino identify the file that was made */
	ino_t ino;
};

enum {
	SAFEFILE_PRIVATE = 1,	/* mode 0600, instead of 0666 less umask */
	SAFEFILE_LINKS = 2,	/* follow a symbolic link that the invoker or root owns, and replace
				 * the link's target */
	SAFEFILE_NO_WAIT = 4,	/* a FIFO without a reader fails with -ENXIO */
};

/**
 * safefile__open - begin to write a file
 * @f: to be closed by safefile__close()
 * @dir_fd: directory for a relative @path, or AT_FDCWD
 * @flags: SAFEFILE_*
 *
 * A file that exists at @path stays until safefile__commit().
 *
 * Return: 0, or a negative errno. After an error, @f holds nothing.
 */
int safefile__open(struct safefile *f, int dir_fd, const char *path, unsigned int flags);

/**
 * safefile__keep_old - rename the old file that the new file will replace
 * @suffix: appended to the old file's name
 *
 * An empty file is not kept. Call this before safefile__commit().
 *
 * Return: 1 if an old file was kept, 0 if there was none, or a negative errno.
 */
int safefile__keep_old(struct safefile *f, const char *suffix);

/*
 * Gives the file its name, replacing any file of that name. A file written in place already has its
 * name.
 */
int safefile__commit(struct safefile *f);

/* Removes a committed file, unless its name now belongs to another file. */
void safefile__remove(const struct safefile *f);

/*
 * Cuts a committed file off after @bytes, and opens it to append. Return: a descriptor, or a
 * negative errno. -ENOENT can also mean that the file is shorter, or that its name now belongs to
 * another file.
 */
int safefile__shorten(const struct safefile *f, off_t bytes);

/* Frees all of @f except @f->fd, which stays open. Removes the file if it was not committed. */
void safefile__close(struct safefile *f);

/* Removes the file if it was not committed; a signal handler may call this. */
void safefile__abort_from_signal(const struct safefile *f);

/* ---- directories of our own ------------------------------------------------------------------ */

/* Return: a descriptor of the directory that contains @path, for the functions below; or -errno. */
int safefile__open_parent(const char *path);

/* Return: the last component of @path. */
const char *safefile__name(const char *path);

/*
 * Opens a directory that the invoker owns and that is not a link. With @make, creates it with mode
 * 0700 if it does not exist.
 * Return: a descriptor, -EPERM if somebody else owns it, or another negative errno.
 */
int safefile__open_dir(int dir_fd, const char *name, bool make);

/**
 * safefile__result_dir - open a directory for results, and create it if it does not exist
 * @flags: with SAFEFILE_LINKS a link is followed, as in any program, and anyone may own the
 *	directory
 *
 * A new directory gets mode 0777 less umask. Without SAFEFILE_LINKS, the invoker must own it.
 *
 * Return: a descriptor, -EPERM if somebody else owns it, or another negative errno.
 */
int safefile__result_dir(int dir_fd, const char *name, unsigned int flags);

/* Like renameat(2) and unlinkat(2). Return: 0 or a negative errno. */
int safefile__rename(int dir_fd, const char *from, const char *to);
int safefile__unlink(int dir_fd, const char *name, int flags);

/* Return: the length of @name without the suffix of a temporary name. */
size_t safefile__stem(const char *name);

/* Return: the text for a negative errno of these functions. */
const char *safefile__strerror(int err);

/*
 * Opens an existing FIFO as the invoker, for reading and writing: because this process counts as a
 * writer, it sees no end of file when all other writers close the FIFO. Return: a descriptor that
 * does not block, or a negative errno. -ENOTSUP: not a FIFO.
 */
int safefile__open_fifo(const char *name);

#endif /* LIB_SAFEFILE_H */
