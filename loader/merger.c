// SPDX-License-Identifier: GPL-3.0-or-later
#include "merger.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invoker.h"
#include "base/msg.h"
#include "options.h"
#include "base/own_files.h"
#include "target/target.h"
#include "util.h"

#define MERGE_INCOMPLETE	1	/* exit status: the result is written, but incomplete */

/* Prints the command to @buf, cut to the width of a picture. */
static void print_title(const struct options *opts, char *buf, size_t size)
{
	size_t used = 0;
	char **arg;

	if (opts->mode == PROBES_RUN)
		for (arg = opts->argv; *arg && used < size; arg++)
			used += snprintf(buf + used, size - used, "%s%s", used ? " " : "", *arg);
	else if (opts->mode == PROBES_PID)
		snprintf(buf, size, opts->nr_pids > 1 ? "pid %d and others" : "pid %d",
			 opts->pids[0]);
	else if (opts->container || opts->cgroup || opts->comm)
		snprintf(buf, size, "%s", opts->container ?: opts->cgroup ?: opts->comm);
	else if (opts->cpu_only)
		snprintf(buf, size, "all processes");
	else
		snprintf(buf, size, "all programs with the shim");
	if (used >= size)
		strcpy(buf + size - sizeof("..."), "...");
}

static _Noreturn void run_tool(const struct options *opts, const char *tool, bool svg)
{
	char title[120];

	if (invoker__become())
		_exit(STATUS_FAILED);
	target__restore();
	print_title(opts, title, sizeof(title));
	if (svg)
		execl(tool, tool, "--svg", "--title", title, "-o", opts->output, opts->data, NULL);
	else
		execl(tool, tool, "-i", opts->data, "-o", opts->output,
		      opts->strict ? "--strict" : NULL, NULL);
	_exit(STATUS_FAILED);
}

bool merger__run(const struct options *opts)
{
	bool svg = has_suffix(opts->output, ".svg");
	const char *name = svg ? "fold.sh" : "xpumerge";
	char tool[PATH_MAX];
	int status = 0;
	pid_t pid;

	if (own_files__find(name, tool, sizeof(tool))) {
		msg__error("cannot find %s: the recording stays in %s", name, opts->data);
		return false;
	}
	pid = fork();
	if (!pid)
		run_tool(opts, tool, svg);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == MERGE_INCOMPLETE)
		msg__error("%s is incomplete: the recording stays in %s", opts->output,
			   opts->data);
	else
		msg__error("%s failed: the recording stays in %s", name, opts->data);
	return false;
}
