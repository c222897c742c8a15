// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/views.h"

#include <errno.h>
#include <string.h>

#include "cmdline.h"
#include "model/leaf.h"
#include "write/format.h"
#include "write/text.h"

static const struct memory_opts *memory_opts(const struct session_opts *opts)
{
	static const struct memory_opts none;

	return opts->values[FEATURE_memory] ?: &none;
}

enum memory_view memory_view(const struct session_opts *opts)
{
	return memory_opts(opts)->view;
}

struct moments memory__moments(const struct session_opts *opts)
{
	const struct memory_opts *o = memory_opts(opts);
	size_t nr = opts->side ? o->nr_at != 0 : o->nr_at;
	size_t first = nr && opts->side ? min_t(size_t, opts->side, o->nr_at) - 1 : 0;

	return (struct moments){ o->at_ns + first, nr, nr && o->at_failure[first + nr - 1] };
}

/* ---- the command line ------------------------------------------------------------------------ */

static const char *const memory_names[] = {	/* in the order of enum memory_view */
	"live", "peak", "allocated", "leaked", "failed", NULL,
};

static int set_memory(void *values, const struct cmdline_given *given)
{
	struct memory_opts *o = values;
	int i = cmdline__find_name(given, given->arg);

	if (i < 0)
		return i;
	o->view = MEMORY_NONE + 1 + i;
	return 0;
}

/* Reads moments, separated by commas. */
static int set_at(void *values, const struct cmdline_given *given)
{
	struct memory_opts *o = values;
	const char *at = given->arg;
	char text[64], why[128];
	size_t len;

	o->at = at;
	for (o->nr_at = 0; o->nr_at < MAX_MOMENTS; at += len + 1) {
		len = strcspn(at, ",");
		snprintf(text, sizeof(text), "%.*s", (int)min_t(size_t, len, sizeof(text)), at);
		o->at_failure[o->nr_at] = !strcmp(text, "failed");
		if (!o->at_failure[o->nr_at] && filter__read_time(&o->at_ns[o->nr_at], text, why)) {
			given->cmdline->error("--at: %s, or failed", why);
			return -EINVAL;
		}
		o->nr_at++;
		if (!at[len])
			return 0;
	}
	given->cmdline->error("--at: expected at most %d moments", MAX_MOMENTS);
	return -EINVAL;
}

static const struct cmdline_option rows[] = {
	{ "memory", 0, "WHAT", .set = set_memory, .names = memory_names, .group = FORMAT_MERGED,
	  .help = "show memory by call path, not time: live (held at the end, or\n"
		  "--at a time), peak (held at the maximum), allocated (in all),\n"
		  "leaked (never freed), failed (refused by CUDA)" },
	{ "at", 0, "TIME,...", .set = set_at, .group = FORMAT_MERGED,
	  .help = "with --memory live: at TIME, as for --from, or at failed: when\n"
		  "CUDA last refused an allocation. Of several times, the table\n"
		  "memory_moments shows all, other results the last; diff takes\n"
		  "one for A and one for B" },
};

/* Checks the moments of a merge, or the moments of both sides of diff. */
static int check_moments(const struct memory_opts *o, const struct feature_line *line)
{
	size_t i;

	for (i = 1; i < o->nr_at && !line->diff; i++) {
		if (o->at_ns[i] < o->at_ns[i - 1])
			return line->complain("--at %s: expected moments one after the other",
					      o->at);
		if (o->at_failure[i] || o->at_failure[i - 1])
			return line->complain("--at %s: expected failed alone, or times", o->at);
	}
	if (o->nr_at && o->view != MEMORY_LIVE)
		return line->complain("--at is for --memory live");
	if (line->diff && o->nr_at > TREE_SIDES)
		return line->complain("--at: diff has two moments at most: of A, and of B");
	return 0;
}

/* Checks the options of the output. Memory is counted in bytes, or in allocations. */
static int check_output(const struct feature_line *line)
{
	const struct format *format = line->format->format;
	uint32_t known = line->diff ? format->diff_units : format->units;
	struct write_opts *write = line->write;

	if (format->times_only)
		return line->complain("--memory is not for -f %s%s", line->format->name,
				      !strcmp(line->format->name, "chrome") ||
				      !strcmp(line->format->name, "pftrace") ?
				      ": timelines have tracks of memory without it" : "");
	if (write->table && !text__is_in_bytes(write->table))
		return line->complain("--memory shows memory alone: it cannot be combined with "
				      "--table %s", write->table);
	if (write->sort && !text__has_column(NULL, write->sort, true))
		return line->complain("--sort %s: no table of memory has such a column, and "
				      "--memory shows no other", write->sort);
	if (write->unit_given && write->unit != UNIT_BYTES && write->unit != UNIT_COUNT)
		return line->complain("--memory is in bytes: expected --unit bytes, or count");
	if (!write->unit_given && known & 1u << UNIT_BYTES) {
		write->unit = UNIT_BYTES;
		write->unit_given = true;
	}
	return 0;
}

static int memory__check(const void *values, const struct feature_line *line)
{
	const struct memory_opts *o = values;
	const char *other = line->gpu_only ? "gpu-only" : line->cpu_only ? "cpu-only" : NULL;

	if (check_moments(o, line))
		return -EINVAL;
	if (!o->view)
		return 0;
	if (other)
		return line->complain("--memory shows memory alone: it cannot be combined with "
				      "--%s", other);
	if (line->by_shape)
		return line->complain("--by shape tells kernels apart: it cannot be combined with "
				      "--memory");
	return check_output(line);
}

static void memory__apply(const void *values, struct session_opts *opts)
{
	const struct memory_opts *o = values;

	if (!o->view)
		return;
	opts->in_bytes = true;
	opts->without = ~(1u << LEAF_MEMORY);
}

const struct feature_options memory_options = {
	.rows = rows,
	.nr = ARRAY_SIZE(rows),
	.after = "cpu-only",
	.bytes = sizeof(struct memory_opts),
	.check = memory__check,
	.apply = memory__apply,
};
