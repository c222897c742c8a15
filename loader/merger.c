// SPDX-License-Identifier: GPL-3.0-or-later
#include "merger.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/msg.h"
#include "options.h"
#include "output_name.h"
#include "own_files.h"
#include "target/target.h"
#include "util.h"

#define MERGE_INCOMPLETE	1	/* exit status of xpumerge: results are incomplete */

/* Prints the command to @buf, shortened to fit, as a picture's title. */
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

/* Return: merged output number @nr, or NULL. */
static const char *merged_output(const struct options *opts, size_t nr)
{
	if (opts->merge && !nr)
		return opts->output;
	nr -= opts->merge;
	return nr < opts->nr_more ? opts->more_outputs[nr] : NULL;
}

static void become_user(void)
{
	if (child__become_invoker(CHILD_FILE_CAPS))
		_exit(STATUS_FAILED);
	target__restore();
}

/* Draws one picture. */
static _Noreturn void run_fold(const struct options *opts, const char *tool, const char *output)
{
	char title[120];

	become_user();
	print_title(opts, title, sizeof(title));
	execl(tool, tool, "--svg", "--title", title, "-o", output, opts->data,
	      opts->off_cpu ? "--waits" : NULL, NULL);
	_exit(STATUS_FAILED);
}

/* Makes all results except pictures. @window: the window's number; 0: the whole recording */
static _Noreturn void run_xpumerge(const struct options *opts, const char *tool, uint32_t window)
{
	const char *args[2 * (MAX_MORE_OUTPUTS + 1) + 8] = { tool, "-i", opts->data }, *output;
	char number[16];
	size_t nr = 3, i;

	become_user();
	for (i = 0; (output = merged_output(opts, i)); i++) {
		if (has_suffix(output, ".svg"))
			continue;
		args[nr++] = "-o";
		args[nr++] = window ? output_name__of_row(output, window) : output;
		if (!args[nr - 1])
			_exit(STATUS_FAILED);
	}
	if (window) {
		snprintf(number, sizeof(number), "%" PRIu32, window);
		args[nr++] = "--window";
		args[nr++] = number;
	}
	if (opts->off_cpu)
		args[nr++] = "--waits";
	args[nr] = opts->strict ? "--strict" : NULL;
	execv(tool, (char *const *)args);
	_exit(STATUS_FAILED);
}

/*
 * Draws the picture @output. If @output is NULL, makes all results of @window that are not
 * pictures. Return: whether the results are written and complete.
 */
static bool run_tool(const struct options *opts, const char *output, uint32_t window)
{
	const char *name = output ? "fold.sh" : "xpumerge";
	char tool[PATH_MAX];
	int status = 0;
	pid_t pid;

	if (own_files__find(name, tool, sizeof(tool))) {
		msg__error("cannot find %s: the recording stays in %s", name, opts->data);
		return false;
	}
	pid = fork();
	if (!pid && output)
		run_fold(opts, tool, output);
	if (!pid)
		run_xpumerge(opts, tool, window);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == MERGE_INCOMPLETE)
		msg__error("%s is incomplete: the recording stays in %s",
			   output ?: merged_output(opts, 0), opts->data);
	else
		msg__error("%s failed: the recording stays in %s", name, opts->data);
	return false;
}

size_t merger__nr_results(const struct options *opts)
{
	size_t nr = 0;

	while (merged_output(opts, nr))
		nr++;
	return nr;
}

bool merger__wanted(const struct options *opts)
{
	return merged_output(opts, 0);
}

bool merger__run(const struct options *opts, uint32_t nr_windows)
{
	bool all = true, others = false;
	const char *output;
	uint32_t window;
	size_t i;

	if (opts->capture.each) {
		for (window = 1; window <= nr_windows && all; window++)
			all = run_tool(opts, NULL, window);
		if (!nr_windows)
			msg__warn("--capture: no window was opened, so there are no results");
		return all;
	}
	for (i = 0; (output = merged_output(opts, i)); i++) {
		if (has_suffix(output, ".svg"))
			all &= run_tool(opts, output, 0);
		else
			others = true;
	}
	return (!others || run_tool(opts, NULL, 0)) && all;
}
