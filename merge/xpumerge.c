// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * xpumerge - join, symbolize and write out what xpuload recorded
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chrome.h"
#include "escape.h"
#include "folded.h"
#include "output.h"
#include "reader.h"
#include "session.h"
#include "text.h"
#include "version.h"

enum {
	EXIT_OK		= 0,
	EXIT_LOSS	= 1,		/* --strict, and something is missing */
	EXIT_BAD	= 2,		/* usage, input or output */
};

enum format {
	FORMAT_NONE,
	FORMAT_FOLDED,
	FORMAT_CHROME,
	FORMAT_TEXT,
};

struct options {
	const char *input;
	const char *output;		/* NULL: stdout */
	enum format format;
	bool unit_given;
	enum unit unit;
	uint32_t freq_hz;
	uint32_t max_rows;
	bool trim;
	bool strict;
};

struct progress {
	struct timespec start;
	bool tty;
	unsigned int percent;		/* shown last, 0: nothing yet */
};

static const char usage[] =
"usage: xpumerge [-i FILE] [-f FORMAT] [-o FILE] [OPTION...] [FILE]\n"
"\n"
"Joins the launches and the device work of a recording made by xpuload, and writes\n"
"a summary, folded stacks or a timeline.\n"
"\n"
"  -i, --input FILE     the recording (default xpu.data)\n"
"  -f, --format FORMAT  folded: a line for each call path, for flame graphs\n"
"                       chrome: timeline for Perfetto or chrome://tracing\n"
"                       text: summary (default)\n"
"  -o, --output FILE    write there; .folded, .json and .txt imply the format\n"
"                       (default: standard output)\n"
"      --unit UNIT      ns, us (default) or ms of device time; folded also: count\n"
"                       of device records, samples at --freq\n"
"  -F, --freq HZ        for --unit samples (default 99)\n"
"      --no-trim        keep the frames of CUDA, CUPTI and the shim\n"
"      --limit N        rows of each table of the summary, 0: all (default 20)\n"
"      --strict         exit with status 1 if anything is lost, unmatched or unnamed\n"
"      --version        print the version\n"
"  -h, --help           print this\n"
"\n"
"Exit status: 0 fine, 1 something is missing and --strict was given, 2 bad usage,\n"
"input that cannot be read or is damaged, or output that could not be written.\n";

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *fmt, ...)
{
	va_list args;
	char *line;
	int len;

	va_start(args, fmt);
	len = vasprintf(&line, fmt, args);
	va_end(args);
	fputs("xpumerge: ", stderr);
	/* File names and what recordings say may hold anything. */
	escape__print(stderr, len < 0 ? "out of memory" : line, ESCAPE_TEXT);
	fputc('\n', stderr);
	if (len >= 0)
		free(line);
}

/* ---- options -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *suffix;
	enum format format;
} formats[] = {
	{ "folded", ".folded", FORMAT_FOLDED },
	{ "chrome", ".json", FORMAT_CHROME },
	{ "text", ".txt", FORMAT_TEXT },
};

static const struct {
	const char *name;
	enum unit unit;
} units[] = {
	{ "ns", UNIT_NS },
	{ "us", UNIT_US },
	{ "ms", UNIT_MS },
	{ "samples", UNIT_SAMPLES },
	{ "count", UNIT_COUNT },
};

static int options__set_format(struct options *o, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name))
			continue;
		o->format = formats[i].format;
		return 0;
	}
	complain("unknown format '%s': folded, chrome and text are known", name);
	return -EINVAL;
}

static int options__set_unit(struct options *o, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].name, name))
			continue;
		o->unit = units[i].unit;
		o->unit_given = true;
		return 0;
	}
	complain("unknown unit '%s': ns, us, ms, samples and count are known", name);
	return -EINVAL;
}

static int options__set_number(uint32_t *number, const char *name, const char *arg, uint32_t min)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || value < min || value > UINT32_MAX) {
		complain("%s: '%s' is not a number from %" PRIu32 " on", name, arg, min);
		return -EINVAL;
	}
	*number = value;
	return 0;
}

static int options__complete(struct options *o, int nr_args, char **args)
{
	size_t i, len, suffix;

	if (nr_args > 1 || (nr_args && o->input)) {
		complain("one recording at a time: what is '%s'?", args[nr_args - 1]);
		return -EINVAL;
	}
	if (nr_args)
		o->input = args[0];
	if (!o->input)
		o->input = "xpu.data";
	if (!o->format && o->output && strcmp(o->output, "-")) {
		len = strlen(o->output);
		for (i = 0; i < ARRAY_SIZE(formats); i++) {
			suffix = strlen(formats[i].suffix);
			if (len > suffix && !strcmp(o->output + len - suffix, formats[i].suffix))
				o->format = formats[i].format;
		}
		if (!o->format) {
			complain("%s: .folded, .json and .txt name a format, for others give -f",
				 o->output);
			return -EINVAL;
		}
	}
	if (!o->format)
		o->format = FORMAT_TEXT;
	if (o->format == FORMAT_TEXT && (o->unit == UNIT_SAMPLES || o->unit == UNIT_COUNT)) {
		complain("--unit samples and count are for -f folded");
		return -EINVAL;
	}
	if (o->format == FORMAT_CHROME && o->unit_given) {
		complain("--unit is not for -f chrome: its times are always in microseconds");
		return -EINVAL;
	}
	return 0;
}

/* Return: 0, 1 if everything was said already, or -EINVAL. */
static int options__parse(struct options *o, int argc, char **argv)
{
	enum { OPT_UNIT = 256, OPT_NO_TRIM, OPT_LIMIT, OPT_STRICT, OPT_VERSION };
	static const struct option longs[] = {
		{ "input", required_argument, NULL, 'i' },
		{ "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "unit", required_argument, NULL, OPT_UNIT },
		{ "freq", required_argument, NULL, 'F' },
		{ "no-trim", no_argument, NULL, OPT_NO_TRIM },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int opt, err = 0;

	*o = (struct options){ .unit = UNIT_US, .freq_hz = 99, .max_rows = 20, .trim = true };
	while (!err && (opt = getopt_long(argc, argv, "i:f:o:F:h", longs, NULL)) != -1) {
		switch (opt) {
		case 'i':
			o->input = optarg;
			break;
		case 'f':
			err = options__set_format(o, optarg);
			break;
		case 'o':
			o->output = optarg;
			break;
		case OPT_UNIT:
			err = options__set_unit(o, optarg);
			break;
		case 'F':
			err = options__set_number(&o->freq_hz, "--freq", optarg, 1);
			break;
		case OPT_NO_TRIM:
			o->trim = false;
			break;
		case OPT_LIMIT:
			err = options__set_number(&o->max_rows, "--limit", optarg, 0);
			break;
		case OPT_STRICT:
			o->strict = true;
			break;
		case OPT_VERSION:
			puts("xpumerge " XPU_VERSION);
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			/* getopt_long has said what it does not like. */
			fputs("xpumerge: --help lists the options\n", stderr);
			return -EINVAL;
		}
	}
	return err ?: options__complete(o, argc - optind, argv + optind);
}

/* ---- signals and progress ------------------------------------------------------------------- */

static void on_signal(int sig)
{
	static const char cut[] =
		"xpumerge: a file became shorter while it was being read: nothing written\n";

	output__abort_from_signal();
	if (sig == SIGBUS) {
		if (write(STDERR_FILENO, cut, sizeof(cut) - 1) < 0)
			_exit(EXIT_BAD);
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
	struct timespec now;

	if (!p->tty || permille / 10 == p->percent)
		return;
	/* What is done within a second needs no progress. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!p->percent && (now.tv_sec - p->start.tv_sec) * 1000000000ll + now.tv_nsec -
			   p->start.tv_nsec < 1000000000)
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
	complain("%s belongs to uid %u: as root this reads whatever files it names; "
		 "better merge as that user", path, (unsigned int)st.st_uid);
}

static int write_format(const struct options *o, const struct session *s, struct chrome *chrome,
			FILE *f, struct folded_result *folded)
{
	const struct folded_opts folded_opts = { .unit = o->unit, .freq_hz = o->freq_hz };
	const struct text_opts text_opts = { .unit = o->unit, .max_rows = o->max_rows };

	switch (o->format) {
	case FORMAT_FOLDED:
		return folded__write(s, f, &folded_opts, folded);
	case FORMAT_CHROME:
		return chrome__write(chrome, s, f);
	default:
		return text__write(s, f, &text_opts);
	}
}

static void report(const struct session *s, const struct folded_result *folded)
{
	size_t i;

	for (i = 0; i < s->msgs.lines.nr; i++)
		complain("%s", s->msgs.lines.v[i]);
	if (s->msgs.nr_dropped)
		complain("%" PRIu64 " more messages like these", s->msgs.nr_dropped);
	for (i = 0; i < s->messages.nr; i++)
		if (s->messages.v[i].level >= XPU_MESSAGE_WARNING)
			complain("%s (pid %" PRIu32 "): %s",
				 session__proc_name(s, s->messages.v[i].proc),
				 s->machine.procs.v[s->messages.v[i].proc].pid,
				 s->messages.v[i].text);
	if (folded->nr_rounded_away)
		complain("%" PRIu64 " lines show 0 for less than half a unit each, %" PRIu64
			 " ns in all: --unit ns shows them", folded->nr_rounded_away,
			 folded->rounded_away_ns);
	loss__print(&s->loss, stderr, "");
}

static int merge(const struct options *o, const struct reader *r)
{
	struct progress progress = { .tty = isatty(STDERR_FILENO) };
	struct session_opts opts = {
		.trim = o->trim,
		.progress = progress__show,
		.progress_ctx = &progress,
	};
	const char *output = o->output ?: "-";
	struct folded_result folded = { 0 };
	struct chrome *chrome = NULL;
	struct session s;
	struct output out;
	int err, ret = EXIT_BAD;

	if (o->format == FORMAT_CHROME) {
		chrome = chrome__new();
		if (!chrome) {
			complain("out of memory");
			return EXIT_BAD;
		}
		opts.sink = chrome__sink(chrome);
	}
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	err = session__init(&s, &opts);
	if (err)
		goto out_chrome;
	err = session__process(&s, r);
	progress__clear(&progress);
	if (err)
		goto out_session;

	err = output__open(&out, output);
	if (err) {
		complain("%s: cannot be written: %s", output, strerror(-err));
		goto out_said;
	}
	err = write_format(o, &s, chrome, out.f, &folded);
	if (err) {
		output__abort(&out);
		goto out_session;
	}
	err = output__commit(&out);
	if (err) {
		complain("%s: cannot be written: %s", output, strerror(-err));
		goto out_said;
	}
	report(&s, &folded);
	if (s.status)
		ret = EXIT_BAD;
	else
		ret = o->strict && !loss__clean(&s.loss) ? EXIT_LOSS : EXIT_OK;
out_session:
	if (err)
		complain("%s: %s", o->input, strerror(-err));
out_said:
	session__exit(&s);
out_chrome:
	chrome__free(chrome);
	return ret;
}

int main(int argc, char **argv)
{
	struct options o;
	struct reader r;
	int err, ret;

	err = options__parse(&o, argc, argv);
	if (err)
		return err > 0 && !fflush(stdout) ? EXIT_OK : EXIT_BAD;
	catch_signals();
	err = reader__open(&r, o.input);
	if (err) {
		complain("%s %s", o.input, r.error);
		return EXIT_BAD;
	}
	warn_root(o.input);
	ret = merge(&o, &r);
	reader__close(&r);
	return ret;
}
