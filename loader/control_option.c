// SPDX-License-Identifier: GPL-3.0-or-later
#include "control_option.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/msg.h"
#include "safefile.h"

/* Parses "CTL[,ACK]". control__open() opens the FIFOs later, as the invoker. */
static int parse_fifos(struct control *c, const char *names)
{
	c->fifos = names;
	return strlen(names) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int open_fifo(const char *name)
{
	int fd = safefile__open_fifo(name);

	if (fd == -ENOTSUP)
		msg__error("--control: %s is not a FIFO: make one with mkfifo", name);
	else if (fd < 0)
		msg__error("--control: cannot open %s: %s", name, strerror(-fd));
	return fd;
}

static int open_fifos(struct control *c)
{
	char names[PATH_MAX], *ack;

	strcpy(names, c->fifos);
	ack = strchr(names, ',');
	if (ack)
		*ack++ = '\0';
	c->fd = open_fifo(names);
	if (c->fd >= 0 && ack)
		c->ack_fd = open_fifo(ack);
	return c->fd < 0 || (ack && c->ack_fd < 0) ? -EINVAL : 0;
}

/* Whether xpuload would read its own answers as commands, in an endless loop. */
static bool is_loop(const struct control *c)
{
	struct stat in, out;

	return c->ack_fd >= 0 && !fstat(c->fd, &in) && !fstat(c->ack_fd, &out) &&
	       S_ISFIFO(in.st_mode) && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

int control__open(struct control *c)
{
	int err = c->fifos ? open_fifos(c) : 0;

	if (!err && is_loop(c)) {
		msg__error("--control: commands and answers need two FIFOs, not the same one");
		err = -EINVAL;
	}
	return err;
}

static int take_fd(const char **at, int *fd)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	n = strtoul(*at, &end, 10);
	*at = end;
	if (n > INT16_MAX || fcntl(n, F_SETFD, FD_CLOEXEC))
		return -EBADF;
	*fd = n;
	return 0;
}

int control__parse(struct control *c, const char *arg)
{
	const char *at = arg + 3;
	int err;

	if (!strncmp(arg, "fifo:", 5) && arg[5] && arg[5] != ',')
		return parse_fifos(c, arg + 5);
	err = strncmp(arg, "fd:", 3) ? -EINVAL : take_fd(&at, &c->fd);
	if (!err && *at == ',') {
		at++;
		err = take_fd(&at, &c->ack_fd);
	}
	if (err == -EBADF)
		msg__error("--control %s: the descriptor is not open", arg);
	else if (err || *at)
		msg__error("--control %s: expected fifo:CTL[,ACK] or fd:CTL[,ACK]", arg);
	return err || *at ? -EINVAL : 0;
}
