/* SPDX-License-Identifier: MIT */
/*
 * safefile.h - makes, renames and removes files in directories where other users may do so at the
 * same time
 *
 * Every file that the programs make goes through here. A new file gets a random temporary name,
 * which does not exist yet, in its own directory, and then takes its own name by rename: no
 * existing file is written to, whatever links there are. All of it is done with the rights of the
 * invoker (invoker.h).
 *
 * Links in place of a directory on the way are followed, as by any program; the invoker's rights
 * decide where they may lead.
 *
 * A file that is not a regular one (a FIFO, a device) is written in place, and never created.
 * /dev/stdout and the like mean the descriptors that the program was given.
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
	int fd;			/* open for writing; the caller closes it */
	int dir_fd;		/* of the directory that @name is in, for functions here; or -1 */
	char *name;		/* NULL: written in place */
	char *tmp;		/* its temporary name until safefile__commit(), then NULL */
	dev_t dev;		/* identity of the file that was made */
	ino_t ino;
};

enum {
	SAFEFILE_PRIVATE = 1,	/* mode 0600; else 0666 less umask */
	SAFEFILE_LINKS = 2,	/* follow a symbolic link of the invoker's or of root's, and replace
				 * the file that it leads to */
	SAFEFILE_NO_WAIT = 4,	/* a FIFO without a reader fails with -ENXIO */
};

/**
 * safefile__open - begin a file
 * @f: closed by safefile__close()
 * @dir_fd: what a relative @path is relative to, or AT_FDCWD
 * @flags: SAFEFILE_*
 *
 * A file that exists at @path stays until safefile__commit().
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
 * Return: 1 if an old file was kept, 0 if there was none, or a negative errno.
 */
int safefile__keep_old(struct safefile *f, const char *suffix);

/*
 * Gives the file its name and replaces the file that has it. A file written in place has its name
 * already.
 */
int safefile__commit(struct safefile *f);

/* Removes a committed file, if its name still names it. */
void safefile__remove(const struct safefile *f);

/*
 * Opens a committed file to write on, cut off after @bytes. Return: a descriptor, or a negative errno;
 * -ENOENT also if its name does not name it any more or it is shorter.
 */
int safefile__shorten(const struct safefile *f, off_t bytes);

/* Forgets the file and closes all but @f->fd. Removes the file if it was not committed. */
void safefile__close(struct safefile *f);

/* For a signal handler: removes the file if it was not committed. */
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

/**
 * safefile__result_dir - open a directory for results, and make it if it does not exist
 * @flags: SAFEFILE_LINKS: a link is followed, as any program does, and the directory may be anybody's
 *
 * It is made with mode 0777 less umask. Without SAFEFILE_LINKS it has to be the invoker's own.
 *
 * Return: a descriptor, -EPERM if somebody else owns it, or another negative errno.
 */
int safefile__result_dir(int dir_fd, const char *name, unsigned int flags);

/* Like renameat(2) and unlinkat(2). Return: 0 or a negative errno. */
int safefile__rename(int dir_fd, const char *from, const char *to);
int safefile__unlink(int dir_fd, const char *name, int flags);

/* Return: the length of @name without the part that makes it a temporary name. */
size_t safefile__stem(const char *name);

/* Return: the text for a negative errno of these functions. */
const char *safefile__strerror(int err);

/*
 * Opens a FIFO that is there already, as the invoker, for both directions, so that a writer that goes is
 * no end. Return: a descriptor that does not block, or a negative errno; -ENOTSUP: it is no FIFO.
 */
int safefile__open_fifo(const char *name);

#endif /* LIB_SAFEFILE_H */
