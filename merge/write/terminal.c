// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_WIDTH	80
#define LEAST_WIDTH	40		/* lines wrap on narrower terminals */
#define MAX_WIDTH	100000

unsigned int terminal__width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned long width = 0;
	struct winsize size;
	char *end;

	if (columns && isdigit((unsigned char)*columns)) {
		width = strtoul(columns, &end, 10);
		if (*end || width > MAX_WIDTH)
			width = 0;
	}
	if (!width && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (!width)
		width = DEFAULT_WIDTH;
	return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

bool terminal__has_codes(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

bool terminal__has_color(void)
{
	const char *no = getenv("NO_COLOR");

	return terminal__has_codes() && !(no && *no);
}

/* Return: whether $PATH has a program called @name. */
static bool is_there(const char *name)
{
	const char *dir = getenv("PATH"), *end;
	char path[PATH_MAX];

	for (; dir && *dir; dir = *end ? end + 1 : end) {
		end = strchrnul(dir, ':');
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(end - dir), dir, name) <
			    PATH_MAX &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

/* The terminal's file descriptors, while the pager replaces them. */
static int old_stdout = -1, old_stderr = -1;

static _Noreturn void run_pager(const char *pager, int from)
{
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	if (dup2(from, STDIN_FILENO) == STDIN_FILENO)
		execl("/bin/sh", "sh", "-c", pager, NULL);
	_exit(127);
}

pid_t pager__start(void)
{
	const char *pager = getenv("PAGER");
	pid_t pid;
	int fds[2];

	if (!pager)
		pager = is_there("less") ? "less" : "";
	if (!terminal__has_codes() || !*pager || !strcmp(pager, "cat"))
		return 0;
	fflush(stdout);
	if (pipe2(fds, O_CLOEXEC))
		return 0;
	pid = fork();
	if (!pid)
		run_pager(pager, fds[0]);
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return 0;
	}
	old_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(fds[1], STDOUT_FILENO);
	if (isatty(STDERR_FILENO)) {
		old_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		dup2(fds[1], STDERR_FILENO);
	}
	close(fds[1]);
	/* Leave these signals to the pager. Once it has ended, nobody reads the output. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	return pid;
}

void pager__finish(pid_t pager)
{
	int status;

	if (pager <= 0)
		return;
	fflush(NULL);
	/* The pager sees end of file when the last copy of its pipe is closed. */
	dup2(old_stdout, STDOUT_FILENO);
	if (old_stderr >= 0)
		dup2(old_stderr, STDERR_FILENO);
	close(old_stdout);
	close(old_stderr);
	while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
}
