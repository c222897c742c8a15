// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * xpumerge - join, symbolize and write out what xpuload recorded
 */
#include <errno.h>
#include <inttypes.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmdline.h"
#include "complain.h"
#include "model/feature.h"
#include "write/diff.h"
#include "write/gate.h"
#include "import/importer.h"
#include "names_command.h"
#include "now.h"
#include "options.h"
#include "write/output.h"
#include "picture.h"
#include "write/terminal.h"
#include "write/text.h"
#include "read/reader.h"
#include "join/session.h"
#include "split_command.h"
#include "symbols/recorded_names.h"
#include "top.h"
#include "writers.h"

enum {
	EXIT_OK		= 0,
	EXIT_LOSS	= 1,		/* the recording is incomplete, --strict found a loss, or
					 * --fail-over found growth; the output is written
					 * nevertheless */
	EXIT_BAD	= 2,		/* the command line, the input or the output is bad */
};

#define MAX_OWN_MESSAGES	32	/* maximum number of messages shown for one process */
#define MAX_MESSAGES		64	/* maximum number of messages shown for all processes */

struct progress {
	uint64_t start_ns;
	bool tty;
	unsigned int percent;		/* percentage shown last; 0: nothing shown yet */
};

/* ---- signals and progress ------------------------------------------------------------------- */

static void on_signal(int sig)
{
	static const char cut[] =
		"xpumerge: a file became shorter while it was being read: nothing written\n";
	ssize_t written;

	output__abort_from_signal();
	if (sig == SIGBUS) {
		written = write(STDERR_FILENO, cut, sizeof(cut) - 1);
		(void)written;
		_exit(EXIT_BAD);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGBUS, SIGHUP, SIGINT, SIGTERM };
	struct sigaction old, sa = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

static void progress__show(void *ctx, unsigned int permille)
{
	struct progress *p = ctx;

	if (!p->tty || permille / 10 == p->percent)
		return;
	/* Show no progress for a merge shorter than a second. */
	if (!p->percent && now_ns(CLOCK_MONOTONIC) - p->start_ns < 1000000000)
		return;
	p->percent = permille / 10;
	fprintf(stderr, "\rxpumerge: %3u %%", p->percent);
}

static void progress__clear(struct progress *p)
{
	if (p->percent)
		fputs("\r\033[K", stderr);
	p->percent = 0;
}

/* ---- merge ---------------------------------------------------------------------------------- */

static void warn_root(const char *path)
{
	struct stat st;

	if (geteuid() || stat(path, &st) || !st.st_uid)
		return;
	complain("%s belongs to uid %u: root can read any file that it names: merge as that user "
		 "instead", path, (unsigned int)st.st_uid);
}

/*
 * Reports warnings of the recorded processes, but not all: a hostile process may have sent any
 * number.
 */
static void report_messages(const struct model *m)
{
	uint32_t *shown = calloc(m->machine.procs.nr + 1, sizeof(*shown));
	uint64_t nr_shown = 0, nr_hidden = 0;
	const struct shim_message *msg;

	for (msg = m->messages.v; shown && msg < m->messages.v + m->messages.nr; msg++) {
		if (msg->level < XPU_MESSAGE_WARNING)
			continue;
		if (shown[msg->proc] >= MAX_OWN_MESSAGES || nr_shown >= MAX_MESSAGES) {
			nr_hidden++;
			continue;
		}
		shown[msg->proc]++;
		nr_shown++;
		complain("%s (pid %" PRIu32 "): %s", model__proc_name(m, msg->proc),
			 m->machine.procs.v[msg->proc].pid, msg->text);
	}
	if (nr_hidden)
		complain("%" PRIu64 " more %s not shown: xpumerge dump shows %s", nr_hidden,
			 PLURAL(nr_hidden, "message from a process is",
				"messages from processes are"),
			 PLURAL(nr_hidden, "it", "them"));
	free(shown);
}

/*
 * Prints the account of losses, and messages, to standard error.
 *
 * @said: the output has the account of losses, and is on the same terminal as standard error
 * @again: print only the messages about this output, since the rest was printed for an earlier
 *	output
 */
static void report(const struct session *s, const struct folded_result *folded, bool said,
		   bool again)
{
	if (!again) {
		complain_msgs(&s->msgs);
		report_messages(&s->model);
	}
	if (folded->nr_rounded_away)
		complain("%" PRIu64 " %s, %" PRIu64 " ns in all: --unit ns shows %s",
			 folded->nr_rounded_away,
			 PLURAL(folded->nr_rounded_away, "line shows 0 for less than half a unit",
				"lines show 0 for less than half a unit each"),
			 folded->rounded_away_ns, PLURAL(folded->nr_rounded_away, "it", "them"));
	if (folded->nr_without_bytes)
		complain("%" PRIu64 " %s 0: only copies and sets have bytes",
			 folded->nr_without_bytes,
			 PLURAL(folded->nr_without_bytes, "line of a kernel shows",
				"lines of kernels show"));
	if (!said && !again)
		session__print_loss(s, stderr);
}

/* ---- the terminal ---------------------------------------------------------------------------- */

/* how the output is shown */
struct screen {
	pid_t pager;
	bool said;			/* the user sees the account of losses in the summary */
};

static struct screen screen__open(struct options *o)
{
	const struct format *format = o->format->format;
	bool both = !o->output && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
	struct screen screen = { 0 };

	screen.said = both && format == format__find("text")->format && !o->write.table &&
		      !o->write.table_format && !o->dump;
	o->write.width = options__given(o, "width") ? o->width : o->output ? 0 : terminal__width();
	o->write.color = o->color == COLOR_ALWAYS ||
			 (o->color == COLOR_AUTO && !o->output && terminal__has_color());
	if (!o->output && !o->no_pager && !format->binary)
		screen.pager = pager__start();
	return screen;
}

/* Return: how many CPUs this process may run on, at least 1. */
static uint32_t nr_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
}

/* Return: the options of a session. @side: the side of diff, 1 or 2; 0: no diff */
static struct session_opts options__session(struct options *o, unsigned int side,
					    struct progress *progress)
{
	const struct format *format = o->format->format;
	struct session_opts opts = {
		.by_thread = format->by_thread || options__has_by(o, BY_TID),
		.by_stream = format->by_stream || options__has_by(o, BY_STREAM),
		.by_range = format->by_range || options__has_by(o, BY_RANGE) ||
			    filter__given(&o->filter, FILTER_RANGE),
		.by_time = format->by_time,
		.times_by_path = !options__has_by(o, BY_TID) && !options__has_by(o, BY_RANGE),
		.by_shape = options__has_by(o, BY_SHAPE),
		.with_shapes = format->with_shapes,
		.stats = format->stats,
		.trim = !o->no_trim,
		.own_threads = o->own_threads,
		.side = side,
		.with_made = format->with_made,
		.without = (o->gpu_only ? LEAVES_CPU : 0) | (o->cpu_only ? LEAVES_DEVICE : 0),
		.python_style = o->python_style,
		.filter = &o->filter,
		.show_inline = o->show_inline,
		.show_srcline = o->show_srcline,
		.symfs = o->symfs,
		.debug_dirs = o->debug_dirs,
		.buildid_dir = o->buildid_dir,
		.jobs = o->jobs ?: nr_cpus(),
		.progress = progress__show,
		.progress_ctx = progress,
	};
	unsigned int i;

	for (i = 0; features[i]; i++) {
		opts.values[i] = o->values[i];
		if (features[i]->options && features[i]->options->apply)
			features[i]->options->apply(o->values[i], &opts);
	}
	return opts;
}

/* Whether --window is the only filter and matches windows, even if nothing was launched in them. */
static bool session__has_windows(const struct session *s)
{
	enum filter_kind kind;

	for (kind = 0; kind < NR_FILTERS; kind++)
		if (kind != FILTER_WINDOW && filter__given(s->opts.filter, kind))
			return false;
	return s->sums.nr_windows;
}

/* Whether a filter left out everything in the recording. */
static bool session__is_empty(const struct session *s)
{
	const struct loss *l = &s->sums.loss;

	return filter__active(s->opts.filter) && !s->sums.aggregates.nr && !s->sums.nr_calls &&
	       !s->sums.nr_accounts && !session__has_windows(s) && !features__recorded(s) &&
	       (l->nr_works || l->nr_launches || s->model.threads.nr);
}

/* Return: the exit status for a session whose results were written. */
static int session__exit_status(const struct session *s, bool strict)
{
	if (s->status)
		return EXIT_BAD;
	if (s->sums.loss.cut_bytes || s->sums.loss.not_closed ||
	    (strict && !loss__clean(&s->sums.loss)))
		return EXIT_LOSS;
	return EXIT_OK;
}

/* Return: the reason if an option has nothing to show in this recording; otherwise NULL. */
static const char *session__lacks(const struct session *s, const struct options *o)
{
	const char *why;
	unsigned int i;

	for (i = 0; features[i]; i++) {
		why = features[i]->lacks ? features[i]->lacks(s) : NULL;
		if (why)
			return why;
	}
	/* Formats of single events may have events without sums. */
	if (s->opts.sink || s->sums.aggregates.nr || s->sums.nr_calls || s->sums.nr_accounts)
		return NULL;
	if (o->cpu_only)
		return "no CPU samples and no waits in the recording, and --cpu-only leaves out "
		       "all else";
	return o->gpu_only ?
	       "no work of GPUs in the recording, and --gpu-only leaves out all else" : NULL;
}

/* Reports that the requested table or column has no rows. Return: the exit status. */
static int report_no_rows(const struct options *o, const struct session *s)
{
	const char *table = o->write.table, *why;

	if (!table) {
		complain("--sort %s: no table that is shown has such a column", o->write.sort);
		return EXIT_LOSS;
	}
	if (o->gpu_only || o->cpu_only) {
		complain("--table %s: no rows; --%s may leave them out", table,
			 o->gpu_only ? "gpu-only" : "cpu-only");
		return EXIT_LOSS;
	}
	if (text__why_no_rows(table, s, &why) && !filter__active(&o->filter)) {
		complain("--table %s: no rows", table);
		return EXIT_OK;
	}
	complain("--table %s: no rows in the recording%s%s%s%s", table,
		 filter__active(&o->filter) ? " match " : "",
		 filter__active(&o->filter) ? o->filter.text.v : "", why ? "; " : "", why ?: "");
	return EXIT_LOSS;
}

#define MAX_NAMED	3		/* maximum number of kernels that a message names */

/* Names the kernels with most device time, the largest first. */
static void print_largest_kernels(const struct session *s, char *buf, size_t size)
{
	const char *names[MAX_NAMED + 1] = { NULL };
	uint64_t *ns = calloc(s->model.leaves.nr + 1, sizeof(*ns));
	const struct leaf *leaves = s->model.leaves.v;
	size_t i, k, best;

	for (i = 0; ns && i < s->sums.aggregates.nr; i++)
		if (leaves[s->sums.aggregates.v[i].leaf].kind == LEAF_KERNEL)
			ns[s->sums.aggregates.v[i].leaf] += s->sums.aggregates.v[i].sum_ns;
	for (k = 0; ns && k < MAX_NAMED; k++) {
		for (i = best = 0; i < s->model.leaves.nr; i++)
			if (ns[i] > ns[best])
				best = i;
		if (!s->model.leaves.nr || !ns[best])
			break;
		names[k] = leaves[best].name;
		ns[best] = 0;
	}
	cmdline__join(buf, size, names, " and ");
	free(ns);
}

/*
 * Reads the recordings a second time, without filters, and names their largest kernels.
 * @buf: gets "" if there is no kernel, or if the recordings cannot be read
 */
static void find_largest_kernels(struct options *o, const struct reader *r, char *buf, size_t size)
{
	struct progress progress = { 0 };
	struct session_opts opts = options__session(o, 0, &progress);
	struct session s;

	*buf = '\0';
	opts.filter = NULL;
	if (session__init(&s, &opts))
		return;
	if (!session__process(&s, r, o->nr_inputs))
		print_largest_kernels(&s, buf, size);
	session__exit(&s);
}

/* Prints that nothing passes the filters, and names kernels and GPUs that would pass. */
static void report_nothing(struct options *o, const struct session *s, const struct reader *r)
{
	char there[1024] = "", gpus[256] = "";
	size_t i, len;

	if (filter__given(&o->filter, FILTER_KERNEL))
		find_largest_kernels(o, r, there, sizeof(there));
	for (i = len = 0; i < s->model.gpus.list.nr && len < sizeof(gpus); i++)
		if (s->model.gpus.list.v[i].used)
			len += snprintf(gpus + len, sizeof(gpus) - len, "%s%" PRIu32,
					len ? ", " : "", s->model.gpus.list.v[i].number);
	if (!filter__given(&o->filter, FILTER_DEVICE))
		*gpus = '\0';
	complain("nothing in the recording matches %s%s%s%s%s", o->filter.text.v,
		 *there ? ": the largest kernels are " : "", there,
		 *gpus ? ": the GPUs of the recording are " : "", gpus);
}

static int merge(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	struct session_opts opts = options__session(o, 0, &progress);
	struct folded_result folded = { 0 };
	void *events;
	const char *lacks;
	struct screen screen;
	bool nothing;
	struct session s;
	int err, ret = EXIT_BAD;

	if (writers__open(o, &opts, &events))
		return EXIT_BAD;
	progress.start_ns = now_ns(CLOCK_MONOTONIC);
	err = session__init(&s, &opts);
	if (err) {
		complain_error(&o->memory, o->inputs[0], err);
		goto out_events;
	}
	err = session__process(&s, r, o->nr_inputs);
	progress__clear(&progress);
	if (err) {
		writers__error(o, o->inputs[s.passes.input], events, err);
		goto out_session;
	}

	nothing = session__is_empty(&s);
	if (nothing && !o->output && o->format->format == format__find("text")->format) {
		report_nothing(o, &s, r);
		ret = EXIT_LOSS;
		goto out_session;
	}
	screen = screen__open(o);
	err = writers__write(o, &s, events, &folded);
	if (!err)
		report(&s, &folded, screen.said, o->which > 0);
	pager__finish(screen.pager);
	if (err)
		goto out_session;
	if (nothing)
		report_nothing(o, &s, r);
	ret = session__exit_status(&s, o->strict);
	if (importer__damaged(&o->importer))
		ret = EXIT_BAD;
	else if (o->strict && ret == EXIT_OK && !importer__clean(&o->importer))
		ret = EXIT_LOSS;
	lacks = nothing ? NULL : session__lacks(&s, o);
	if (lacks)
		complain("%s", lacks);
	if (nothing || lacks)
		ret = max_t(int, ret, EXIT_LOSS);
	else if (folded.no_rows && ret != EXIT_BAD)
		ret = max_t(int, ret, report_no_rows(o, &s));
out_session:
	session__exit(&s);
out_events:
	writers__close(o, events);
	return ret;
}

/* Writes the recording again, with the names of its call paths. Return: the exit status. */
static int add_names(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	struct session_opts opts = options__session(o, 0, &progress);
	struct names_result result = { 0 };
	struct msgs msgs = { 0 };
	int err;

	progress.start_ns = now_ns(CLOCK_MONOTONIC);
	err = writers__write_names(o, r, &opts, &result, &msgs);
	progress__clear(&progress);
	complain_msgs(&msgs);
	msgs__free(&msgs);
	if (err)
		return EXIT_BAD;
	if (result.nr_cut)
		complain("%" PRIu64 " names are beyond the limit of %u MiB, and left out",
			 result.nr_cut, RECORDED_NAMES_MAX >> 20);
	return result.nr_cut ? EXIT_LOSS : EXIT_OK;
}

/* Prints the call paths that grew too much. Return: the exit status. */
static int compare_growth(struct options *o, const struct diff *d)
{
	int64_t nr = diff__print_grown(d, stderr, o->fail_over);

	if (nr < 0)
		complain_error(&o->memory, o->inputs[0], nr);
	return nr < 0 ? EXIT_BAD : nr ? EXIT_LOSS : EXIT_OK;
}

#define UNEQUAL_PERCENT	10		/* runs whose launch counts differ by more are unequal */

/* Warns if the numbers of launches of the two runs differ too much. */
static void report_unequal(const struct loss *a, const struct loss *b)
{
	uint64_t less = min_t(uint64_t, a->nr_launches, b->nr_launches);
	uint64_t more = max_t(uint64_t, a->nr_launches, b->nr_launches);

	if (!less || (more - less) * 100 <= less * UNEQUAL_PERCENT)
		return;
	complain("B made %.3g times as many launches as A: --normalize launches compares per "
		 "launch", (double)b->nr_launches / a->nr_launches);
}

/* Whether the command "diff" gives a verdict. */
static bool has_verdict(const struct options *o)
{
	return o->nr_inputs > TREE_SIDES || o->write.table_format ||
	       (options__given(o, "fail-over") && !options__given(o, "normalize"));
}

/* Judges the recordings, and prints or writes the verdict. Return: the exit status. */
static int give_verdict(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	struct gate g = { .fail_over = o->fail_over };
	int err = 0, ret = EXIT_OK;
	struct session s;
	size_t i;

	for (i = 0; i < o->nr_inputs && !err; i++) {
		struct session_opts opts = options__session(o, i < o->nr_before ? 1 : 2, &progress);

		opts.stats = true;
		progress.start_ns = now_ns(CLOCK_MONOTONIC);
		err = session__init(&s, &opts);
		if (err)
			break;
		err = session__process(&s, &r[i], 1) ?: gate__add(&g, &s, i >= o->nr_before);
		progress__clear(&progress);
		ret = max_t(int, ret, session__exit_status(&s, o->strict));
		session__exit(&s);
	}
	err = err ?: gate__judge(&g);
	if (err)
		complain_error(&o->memory, o->inputs[min_t(size_t, i, o->nr_inputs - 1)], err);
	else if (o->write.table_format)
		err = writers__write_gate(o, &g);
	if (!err && !o->which)
		err = gate__print(&g, stderr, o->write.max_rows);
	if (!err && options__given(o, "fail-over") && gate__fails(&g))
		ret = max_t(int, ret, EXIT_LOSS);
	gate__exit(&g);
	return err ? EXIT_BAD : ret;
}

/* Runs the command "diff". @r: the recordings, A before B. */
static int compare(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	const struct diff_opts diff_opts = {
		.normalize = o->normalize, .unit = o->write.unit, .max_rows = o->write.max_rows,
		.by = o->write.by,
	};
	struct folded_result folded = { 0 }, none = { 0 };
	struct session s[TREE_SIDES];
	struct screen screen = { 0 };
	int err = 0, ret = EXIT_BAD, verdict;
	const size_t sizes[] = { o->nr_before, o->nr_inputs - o->nr_before };
	struct diff d;
	size_t i, nr;

	verdict = has_verdict(o) ? give_verdict(o, r) : EXIT_OK;
	if (o->write.table_format || verdict == EXIT_BAD)
		return verdict;
	progress.start_ns = now_ns(CLOCK_MONOTONIC);
	for (nr = 0; nr < TREE_SIDES && !err; nr++) {
		struct session_opts opts = options__session(o, nr + 1, &progress);

		err = session__init(&s[nr], &opts);
		if (err)
			break;
		err = session__process(&s[nr], r + (nr ? o->nr_before : 0), sizes[nr]);
		progress__clear(&progress);
	}
	if (err) {
		complain_error(&o->memory, o->inputs[nr ? nr - 1 : 0], err);
		goto out;
	}
	err = diff__init(&d, &s[0], &s[1], &diff_opts);
	if (err == -EDOM)
		complain("%s: cannot find anything to normalize by: use --normalize none",
			 o->inputs[0]);
	else if (err)
		complain_error(&o->memory, o->inputs[0], err);
	if (err)
		goto out_diff;
	screen = screen__open(o);
	if (writers__write_diff(o, &d, &folded))
		goto out_diff;
	ret = verdict;
	for (i = 0; i < TREE_SIDES; i++) {
		if (!o->which && sizes[i] > 1)
			complain("%c is %zu recordings, the first is %s", 'A' + (int)i, sizes[i],
				 o->inputs[i ? o->nr_before : 0]);
		else if (!o->which)
			complain("%c is %s", 'A' + (int)i, o->inputs[i ? o->nr_before : 0]);
		report(&s[i], i ? &folded : &none, screen.said, o->which > 0);
		ret = max_t(int, ret, session__exit_status(&s[i], o->strict));
	}
	if (session__is_empty(&s[0]) && session__is_empty(&s[1])) {
		complain("nothing in the recordings matches %s", o->filter.text.v);
		ret = max_t(int, ret, EXIT_LOSS);
	}
	if (!o->which && o->normalize == NORMALIZE_NONE && !has_verdict(o))
		report_unequal(&s[0].sums.loss, &s[1].sums.loss);
	if (options__given(o, "fail-over") && !has_verdict(o) && !o->which)
		ret = max_t(int, ret, compare_growth(o, &d));
out_diff:
	pager__finish(screen.pager);
	diff__exit(&d);
out:
	while (nr--)
		session__exit(&s[nr]);
	return ret;
}

/* Runs the command of a feature. */
static int run_command(struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	struct session_opts opts = options__session(o, 0, &progress);
	const struct feature_command *command = o->command->command;
	struct folded_result folded = { 0 };
	void *state = command->new(&opts);
	const char *lacks;
	int err, ret = EXIT_BAD;
	struct screen screen;
	struct session s;

	if (!state) {
		complain_error(&o->memory, o->inputs[0], -ENOMEM);
		return EXIT_BAD;
	}
	progress.start_ns = now_ns(CLOCK_MONOTONIC);
	err = session__init(&s, &opts);
	if (err) {
		complain_error(&o->memory, o->inputs[0], err);
		goto out_command;
	}
	err = session__process(&s, r, o->nr_inputs) ?: command->finish(state, &s);
	progress__clear(&progress);
	if (err) {
		complain_error(&o->memory, o->inputs[s.passes.input], err);
		goto out;
	}
	lacks = command->lacks ? command->lacks(state) : NULL;
	if (lacks) {
		complain("%s: %s", o->command->name, lacks);
		ret = EXIT_LOSS;
		goto out;
	}
	screen = screen__open(o);
	if (!writers__write_command(o, state)) {
		report(&s, &folded, false, false);
		ret = session__exit_status(&s, o->strict);
	}
	pager__finish(screen.pager);
out:
	session__exit(&s);
out_command:
	command->free(state);
	return ret;
}

/* Runs the command "dump". */
static int dump(struct options *o, const struct reader *r)
{
	struct screen screen = screen__open(o);
	struct dump_result result;
	int err = writers__write_dump(o, r, &result);

	pager__finish(screen.pager);
	complain_msgs(&result.msgs);
	dump_result__free(&result);
	if (err || result.damaged)
		return EXIT_BAD;
	return result.cut ? EXIT_LOSS : EXIT_OK;
}

/* Opens the first @nr inputs. Return: 0; or -errno, with none open. */
static int open_inputs(struct options *o, struct reader *readers, size_t nr)
{
	struct stat *stats = calloc(nr + 1, sizeof(*stats));
	char instead[OPTIONS_MAX_INSTEAD];
	size_t i, k;
	int err = 0;

	if (!stats) {
		complain_error(&o->memory, o->inputs[0], -ENOMEM);
		return -ENOMEM;
	}
	for (i = 0; i < nr && !err; i++) {
		err = reader__open(&readers[i], o->inputs[i]);
		if (err == -ENOMEM) {
			complain_error(&o->memory, readers[i].name, err);
			break;
		}
		if (err) {
			complain("%s %s%s", readers[i].name, readers[i].error,
				 err == -ENOENT ? options__instead(o->inputs[i], instead) : "");
			break;
		}
		/* A dump reads no other files, so it is safe to run it as root. */
		if (!o->dump)
			warn_root(o->inputs[i]);
		if (stat(o->inputs[i], &stats[i]))
			continue;
		/* A comparison of a recording with itself is allowed. */
		for (k = 0; k < i && !err && !o->diff; k++) {
			if (stats[k].st_dev != stats[i].st_dev ||
			    stats[k].st_ino != stats[i].st_ino)
				continue;
			complain("%s: the same recording as %s: everything would count twice",
				 o->inputs[i], o->inputs[k]);
			err = -EINVAL;
		}
	}
	free(stats);
	while (err && i--)
		reader__close(&readers[i]);
	return err;
}

/*
 * Opens the import, which is the last input, and prints its messages. @beside: the first recording,
 * or NULL
 */
static int open_import(struct options *o, struct reader *reader, const struct reader *beside)
{
	struct importer *importer = &o->importer;
	struct msgs msgs = { 0 };
	int err = importer__open(importer, reader, beside, &msgs);

	complain_msgs(&msgs);
	msgs__free(&msgs);
	if (err == -ENOMEM)
		complain_error(&o->memory, importer__reading(importer), err);
	if (!err)
		importer__print(importer, stderr);
	return err;
}

static int convert(struct options *o)
{
	if (writers__write_import(o) || importer__damaged(&o->importer))
		return EXIT_BAD;
	return o->strict && !importer__clean(&o->importer) ? EXIT_LOSS : EXIT_OK;
}

/* ---- one output, or several ------------------------------------------------------------------ */

/*
 * Parses the command line for one of the outputs. Return: like options__parse(). The caller calls
 * options__free() and frees *@argv_copy, even after a failure.
 */
static int parse(struct options *o, int argc, char **argv, size_t which, char ***argv_copy)
{
	size_t bytes = (argc + 1) * sizeof(*argv);

	*o = (struct options){ 0 };
	*argv_copy = malloc(bytes);
	if (!*argv_copy) {
		complain("out of memory");
		return -ENOMEM;
	}
	memcpy(*argv_copy, argv, bytes);
	optind = 0;				/* getopt begins with the first argument again */
	return options__parse(o, argc, *argv_copy, which);
}

/* Merges, compares or converts. Return: the exit status. */
static int run_once(struct options *o)
{
	struct reader *readers;
	int ret = EXIT_BAD;
	size_t i, nr_files;

	catch_signals();
	memory_limit__map_large();
	memory_limit__set(&o->memory, o->max_memory);
	readers = calloc(o->nr_inputs, sizeof(*readers));
	if (!readers) {
		complain_error(&o->memory, o->inputs[0], -ENOMEM);
		return EXIT_BAD;
	}
	nr_files = o->nr_inputs - importer__wanted(&o->importer);
	if (open_inputs(o, readers, nr_files))
		goto out;
	if (nr_files < o->nr_inputs &&
	    open_import(o, &readers[nr_files], nr_files ? readers : NULL)) {
		while (nr_files--)
			reader__close(&readers[nr_files]);
		goto out;
	}
	if (o->dump)
		ret = dump(o, readers);
	else if (o->command)
		ret = run_command(o, readers);
	else if (o->add_names)
		ret = add_names(o, readers);
	else if (o->importer.opts.events_only || o->format->format->imported)
		ret = convert(o);
	else
		ret = o->diff ? compare(o, readers) : merge(o, readers);
	for (i = 0; i < o->nr_inputs; i++)
		reader__close(&readers[i]);
out:
	free(readers);
	return ret;
}

/*
 * Runs the command and, if a picture is requested, draws the lines that the command writes. Return:
 * the exit status.
 */
static int run(struct options *o)
{
	const char *output = o->output;
	char lines[PICTURE_MAX_NAME];
	int fd, ret;

	if (!o->picture)
		return run_once(o);
	fd = picture__open(lines);
	if (fd < 0) {
		complain("%s: cannot be drawn: %s", output, strerror(-fd));
		return EXIT_BAD;
	}
	o->output = lines;
	ret = run_once(o);
	if (ret == EXIT_BAD)
		close(fd);
	else if (picture__draw(fd, output, o->inputs[0], options__unit_name(o)))
		ret = EXIT_BAD;
	return ret;
}

/*
 * Writes one of several outputs in a child process. The end of the child frees its memory for the
 * next output.
 */
static int run_apart(int argc, char **argv, size_t which)
{
	struct options o;
	char **copy;
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		status = parse(&o, argc, argv, which, &copy) ? EXIT_BAD : run(&o);
		exit(fflush(stdout) ? EXIT_BAD : status);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD;
}

/* Writes all outputs, or none if an output has bad options. Return: the worst exit status. */
static int run_all(int argc, char **argv, size_t nr)
{
	int ret = EXIT_OK;
	struct options o;
	char **copy;
	size_t i;

	for (i = 0; i < nr && ret == EXIT_OK; i++) {
		if (parse(&o, argc, argv, i, &copy))
			ret = EXIT_BAD;
		options__free(&o);
		free(copy);
	}
	for (i = 0; i < nr && ret != EXIT_BAD; i++)
		ret = max_t(int, ret, run_apart(argc, argv, i));
	return ret;
}

int main(int argc, char **argv)
{
	struct options o;
	char **copy;
	int err, ret;

	if (argc > 1 && !strcmp(argv[1], "split"))
		return split_command(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "top"))
		return top_command(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "names"))
		return names_command(argc - 1, argv + 1);
	err = parse(&o, argc, argv, 0, &copy);
	if (err)
		ret = err > 0 && !fflush(stdout) ? EXIT_OK : EXIT_BAD;
	else if (o.nr_outputs > 1)
		ret = run_all(argc, argv, o.nr_outputs);
	else
		ret = run(&o);
	options__free(&o);
	free(copy);
	return ret;
}
