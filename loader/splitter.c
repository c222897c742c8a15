// SPDX-License-Identifier: GPL-3.0-or-later
#include "splitter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/msg.h"
#include "base/own_files.h"
#include "options.h"
#include "target/target.h"

#define PIPE_BYTES	(1 << 20)	/* the most that is allowed without privileges */

/* Becomes what shows the recording; it ends with the pipe, or at a key of the user's. */
static _Noreturn void run_top(const struct options *opts, int fd, const char *path)
{
	const char *args[8] = { path, "top" };
	char frames[16];
	unsigned int nr = 2;

	snprintf(frames, sizeof(frames), "%u", opts->frames);
	if (opts->batch)
		args[nr++] = "--batch";
	if (opts->frames) {
		args[nr++] = "--frames";
		args[nr++] = frames;
	}
	/* It makes no files, and reads the symbols of programs wherever root may. */
	if (child__become_invoker(CAP_BIT(CAP_DAC_READ_SEARCH)) || dup2(fd, STDIN_FILENO) < 0)
		_exit(STATUS_FAILED);
	target__restore();
	signal(SIGINT, SIG_IGN);	/* xpuload detaches at Ctrl-C, and closes the pipe */
	signal(SIGQUIT, SIG_IGN);
	execv(path, (char **)args);
	_exit(STATUS_FAILED);
}

static _Noreturn void run_child(const struct options *opts, int fd, const char *path)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	const char *args[24] = { path, "split", "-o", opts->output };
	char keep[16], level[16];
	char pusher[PATH_MAX];
	unsigned int nr = 4;
	size_t i;

	snprintf(keep, sizeof(keep), "%u", opts->keep);
	snprintf(level, sizeof(level), "%d", opts->level);
	args[nr++] = "-z";
	args[nr++] = level;
	if (opts->keep) {
		args[nr++] = "--keep";
		args[nr++] = keep;
	}
	if (opts->push) {
		if (own_files__find("xpuload-push", pusher, sizeof(pusher)))
			_exit(STATUS_FAILED);
		args[nr++] = "--push";
		args[nr++] = opts->push;
		args[nr++] = "--push-program";
		args[nr++] = pusher;
		if (opts->push_labels) {
			args[nr++] = "--push-labels";
			args[nr++] = opts->push_labels;
		}
		if (!opts->output_given && !opts->keep)
			args[nr++] = "--remove";
	}
	if (child__become_invoker(CHILD_FILE_CAPS) || dup2(fd, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(STATUS_FAILED);
	target__restore();
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	args[nr] = NULL;
	execv(path, (char **)args);
	_exit(STATUS_FAILED);
}

int splitter__start(const struct options *opts, int *fd, pid_t *pid)
{
	char path[PATH_MAX];
	int fds[2], err;

	if (opts->push && own_files__find("xpuload-push", path, sizeof(path))) {
		msg__error("--push: xpuload-push is neither beside xpuload nor in ../lib/xpuload: it "
			   "is built where libcurl's headers are (libcurl4-openssl-dev)");
		return -ENOENT;
	}
	err = own_files__find("xpumerge", path, sizeof(path));
	if (!err && pipe2(fds, O_CLOEXEC))
		err = -errno;
	if (err) {
		msg__error("cannot run xpumerge, which writes the files: %s", strerror(-err));
		return err;
	}
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	fflush(NULL);
	*pid = fork();
	if (!*pid && opts->top)
		run_top(opts, fds[0], path);
	if (!*pid)
		run_child(opts, fds[0], path);
	err = *pid < 0 ? -errno : 0;
	close(fds[0]);
	*fd = fds[1];
	if (!err)
		return 0;
	close(fds[1]);
	msg__error("cannot run xpumerge: %s", strerror(-err));
	return err;
}

bool splitter__finish(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}
