// SPDX-License-Identifier: GPL-3.0-or-later
#include "picture.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complain.h"
#include "own_files.h"
#include "util.h"

int picture__open(char name[PICTURE_MAX_NAME])
{
	int fd = memfd_create("folded", 0);

	if (fd < 0)
		return -errno;
	snprintf(name, PICTURE_MAX_NAME, "/proc/self/fd/%d", fd);
	return fd;
}

int picture__draw(int fd, const char *output, const char *input, const char *unit)
{
	const char *file = strrchr(input, '/');
	char tool[PATH_MAX], lines[PICTURE_MAX_NAME], title[NAME_MAX + 1];
	int status = 0, err;
	pid_t pid;

	file = file ? file + 1 : input;
	snprintf(lines, sizeof(lines), "/proc/self/fd/%d", fd);
	snprintf(title, sizeof(title), "%.*s",
		 (int)(strlen(file) - (has_suffix(file, ".data") ? strlen(".data") : 0)), file);
	err = own_files__find("fold.sh", tool, sizeof(tool));
	if (err) {
		complain("%s: cannot be drawn: fold.sh is neither next to xpumerge nor in "
			 "../lib/xpuload", output);
		close(fd);
		return err;
	}
	pid = fork();
	if (!pid) {
		execl(tool, tool, "--svg", "--folded", lines, "--title", title, "--unit", unit,
		      "-o", output, NULL);
		complain("cannot run %s: %s", tool, strerror(errno));
		_exit(1);
	}
	close(fd);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}
