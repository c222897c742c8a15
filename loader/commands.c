// SPDX-License-Identifier: GPL-3.0-or-later
#include "commands.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmdline.h"
#include "invoker.h"
#include "base/msg.h"
#include "own_files.h"
#include "options.h"
#include "util.h"

struct command {
	const char *name;
	const char *args[3];		/* arguments for xpumerge, NULL-terminated; if empty, print
					 * @instead */
	const char *instead;
};

/* Options that perf and xpumerge use in different ways. */
static const struct cmdline_habit letters[] = {
	{ "-F", "xpumerge --csv and --json have all columns" },
	{ "-g", "call paths are always shown" },
	{ "-s",
	  "xpumerge --by LIST, --table NAME and --sort COLUMN choose the sums and their order" },
	{ NULL, NULL },
};

static const struct command commands[] = {
	{ "report", { "xpumerge" }, NULL },
	{ "script", { "xpumerge", "-f", "perf" }, NULL },
	{ "diff", { "xpumerge", "diff" }, NULL },
	{ "evlist", { NULL }, "the summary of xpumerge begins with that" },
	{ "help", { NULL }, "xpuload --help, xpumerge --help, and their manual pages" },
	{ "list", { NULL }, "launches, device work, NVTX ranges and CPU samples are always "
	  "recorded; --api, --memory, --stalls, --gpu-metrics and --off-cpu add to that" },
	{ "mem", { NULL }, "xpuload --memory COMMAND records who holds memory of GPUs; "
	  "xpumerge --memory peak shows it" },
	{ "sched", { NULL }, "xpuload --off-cpu COMMAND records where threads are blocked" },
	{ "trace", { NULL }, "xpuload --api -o x.pftrace COMMAND records CUDA's calls" },
	{ "annotate", { NULL }, "record with --stalls, then xpumerge --table stalls has the lines "
	  "of kernels, and xpumerge --srcline the lines of call paths" },
	{ "stat", { NULL }, "xpuload -o FILE.txt COMMAND counts launches, copies and waits, and "
	  "prints how long they took" },
	{ "stats", { NULL },
	  "xpumerge prints the tables of nsys stats; --csv, --json and --table pick" },
};

/* Becomes xpumerge. Returns only on failure, after a message: the status to exit with. */
static int run_xpumerge(const struct command *c, int argc, char **argv)
{
	const char **args = calloc(argc + ARRAY_SIZE(c->args) + 1, sizeof(*args)), *why;
	char tool[PATH_MAX];
	size_t nr = 0;
	int i;

	if (!args) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	while (nr < ARRAY_SIZE(c->args) && c->args[nr]) {
		args[nr] = c->args[nr];
		nr++;
	}
	for (i = 2; i < argc; i++) {
		args[nr++] = argv[i];
		why = cmdline__habit(letters, argv[i]);
		if (!why)
			continue;
		msg__error("%s %s: %s", c->name, argv[i], why);
		free(args);
		return STATUS_FAILED;
	}
	if (own_files__find("xpumerge", tool, sizeof(tool)))
		msg__error("cannot find xpumerge, which shows recordings");
	else if (invoker__find(&why))
		msg__error("%s", why);
	else if (invoker__become())
		msg__error("cannot switch to the user who called xpuload");
	else if (execv(tool, (char *const *)args))
		msg__error("cannot run %s: %s", tool, strerror(errno));
	free(args);
	return STATUS_FAILED;
}

int commands__run(int argc, char **argv)
{
	const struct command *c;

	for (c = commands; argc > 1 && c < commands + ARRAY_SIZE(commands); c++) {
		if (strcmp(argv[1], c->name))
			continue;
		if (c->args[0])
			return run_xpumerge(c, argc, argv);
		msg__error("%s: %s; run a program with this name as xpuload -- %s", c->name,
			   c->instead, c->name);
		return STATUS_FAILED;
	}
	return -1;
}
