// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * This is the command "split", which makes several files of one recording. xpuload runs it as a
 * child for --every, with the recording on its standard input.
 */
#include "split_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"
#include "cmdline.h"
#include "complain.h"
#include "profiles.h"
#include "split_journal.h"
#include "stream/split.h"
#include "util.h"
#include "version.h"

#define EXIT_BAD	2

struct options {
	const char *output;
	uint32_t keep, level;
	const char *push, *labels, *program;
	bool remove;
	uint32_t journal;		/* a file descriptor; 0: no journal */
};

static int complain_number(const struct cmdline_given *given)
{
	return complain("--%s %s: expected a number from %" PRIu32 " to %" PRIu32,
			given->option->name, given->arg, given->option->min, given->option->max);
}

static int set_number(void *target, const struct cmdline_given *given)
{
	char *end;
	unsigned long long value = strtoull(given->arg, &end, 10);

	if (*end || end == given->arg || *given->arg == '-' || value < given->option->min ||
	    value > given->option->max)
		return complain_number(given);
	*(uint32_t *)((char *)target + given->option->member) = value;
	return 0;
}

static const struct cmdline_option rows[] = {
	{ "output", 'o', "FILE", CMDLINE_STRING(output),
	  .help = "name the files; %n is a file's number (without %n, the number is\n"
		  "the suffix; default xpu.data)" },
	{ "keep", 0, "N", .set = set_number, CMDLINE_RANGE(keep, 1, 1000000),
	  .help = "keep only the last N files" },
	{ "compression-level", 'z', "N", .set = set_number,
	  CMDLINE_RANGE(level, 0, BLOCK_LEVEL_MAX),
	  .help = "compress the files: 1 (default) to 22; 0: do not compress" },
	{ "push", 0, "URL", CMDLINE_STRING(push),
	  .help = "send profiles of each file to this server" },
	{ "push-labels", 0, "LIST", CMDLINE_STRING(labels),
	  .help = "add labels to the profiles, KEY=VALUE,KEY=VALUE" },
	{ "push-program", 0, "FILE", CMDLINE_STRING(program),
	  .help = "the path of xpuload-push, which sends them" },
	{ "remove", CMDLINE_FLAG(remove),
	  .help = "with --push: remove each file after its profiles are made" },
	{ "journal", 0, "FD", .set = set_number, CMDLINE_RANGE(journal, 3, 1000000),
	  .help = "used by xpuload: a memory file, with which a second xpumerge can go on" },
	{ "version", 'V', .set = cmdline__version, .help = "print the version" },
	{ "help", 'h', .set = cmdline__help, .help = "print this" },
};

static void complain_invalid(const struct cmdline_option *option, const char *arg)
{
	complain("--%s %s: not known", option->name, arg);
}

static const struct cmdline cmdline = {
	.version = "xpumerge " XPU_VERSION,
	.usage = "usage: xpumerge split [OPTION...] [FILE]\n"
		 "Splits the recording FILE, or the one at standard input, into files that can be "
		 "read alone.\n\n",
	.footer = "",
	.column = 25, .columns = 97,
	.options = rows,
	.nr_options = ARRAY_SIZE(rows),
	.error = complain,
	.invalid = complain_invalid,
};

static void report(const struct split_result *result)
{
	if (result->nr_damaged)
		complain("%" PRIu64 " %s: passed on as %s", result->nr_damaged,
			 PLURAL(result->nr_damaged, "batch is damaged", "batches are damaged"),
			 PLURAL(result->nr_damaged, "it is", "they are"));
	if (result->nr_forced)
		complain("%" PRIu64 " %s, because of a limit: they may be in different files",
			 result->nr_forced, PLURAL(result->nr_forced,
			 "launch or device record was not kept until its counterpart came",
			 "launches and device records were not kept until their counterparts "
			 "came"));
	if (result->nr_beyond)
		complain("%" PRIu64
			 " %s not repeated in later files, because of a limit: names are "
			 "missing there",
			 result->nr_beyond,
			 PLURAL(result->nr_beyond, "definition is", "definitions are"));
}

static void on_whole(void *ctx, char *name, uint64_t start_ns, uint64_t duration_ns,
		     uint64_t *waits)
{
	profiles__add(ctx, name, &(struct profile_time){ start_ns, duration_ns }, waits);
}

static void on_overdue(void *ctx, const uint64_t *waits)
{
	profiles__give_up(ctx, waits);
}

static void on_idle(void *ctx)
{
	profiles__poll(ctx);
}

static void on_trouble(void *ctx, const char *text)
{
	(void)ctx;
	complain("%s", text);
}

/*
 * Return: the profile counts so far, or NULL on failure. If there is a journal, the counts outlive
 * this process.
 */
static struct profile_counts *map_counts(int journal_fd)
{
	int flags = journal_fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	struct split_journal *told;
	struct stat st;

	if (journal_fd >= 0 && (fstat(journal_fd, &st) || (st.st_size < (off_t)sizeof(*told) &&
							   ftruncate(journal_fd, sizeof(*told)))))
		return NULL;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, flags, journal_fd, 0);
	return told == MAP_FAILED ? NULL : &told->profiles;
}

static int split(const struct options *o, const char *input)
{
	struct split_opts opts = {
		.pattern = o->output, .level = o->level, .keep = o->keep, .trouble = on_trouble,
		.journal_fd = o->journal ? (int)o->journal : -1,
	};
	struct profile_counts *counts;
	struct split_result result;
	int fd = strcmp(input, "-") ? open(input, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
	int err;

	if (fd < 0) {
		complain("%s cannot be opened: %s", input, strerror(errno));
		return EXIT_BAD;
	}
	if (o->push) {
		counts = map_counts(opts.journal_fd);
		opts.ctx = counts ?
			   profiles__new(o->push, o->labels, o->program ?: "xpuload-push",
					 o->remove, counts) : NULL;
		if (!opts.ctx)
			return EXIT_BAD;
		opts.whole = on_whole;
		opts.overdue = on_overdue;
		opts.idle = on_idle;
	}
	err = split__run(fd, &opts, &result);
	if (err)
		complain("%s: %s", strcmp(input, "-") ? input : "standard input", result.what);
	report(&result);
	if (opts.ctx)
		profiles__finish(opts.ctx);
	if (fd != STDIN_FILENO)
		close(fd);
	return err ? EXIT_BAD : result.nr_lost || result.nr_skipped;
}

int split_command(int argc, char **argv)
{
	struct options o = { .output = "xpu.data", .level = BLOCK_LEVEL_DEFAULT };
	int err = cmdline__parse(&cmdline, &o, argc, argv, NULL);

	if (err)
		return err > 0 ? 0 : EXIT_BAD;
	if (argc - optind > 1) {
		complain("split takes one recording: xpumerge split FILE");
		return EXIT_BAD;
	}
	return split(&o, optind < argc ? argv[optind] : "-");
}
