// SPDX-License-Identifier: GPL-3.0-or-later
#include "writers.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "write/chrome.h"
#include "complain.h"
#include "write/html.h"
#include "write/output.h"
#include "write/perfscript.h"
#include "write/pftrace.h"
#include "write/pprof.h"
#include "write/text.h"
#include "write/timeline.h"

int writers__init(struct writers *w, enum format format, struct session_sink **sink)
{
	memset(w, 0, sizeof(*w));
	*sink = NULL;
	switch (format) {
	case FORMAT_CHROME:
	case FORMAT_PFTRACE:
		w->timeline = timeline__new();
		*sink = w->timeline ? &w->timeline->sink : NULL;
		break;
	case FORMAT_PERF:
		w->perfscript = perfscript__new();
		*sink = w->perfscript ? perfscript__sink(w->perfscript) : NULL;
		break;
	default:
		return 0;
	}
	return *sink ? 0 : -ENOMEM;
}

void writers__exit(struct writers *w)
{
	timeline__free(w->timeline);
	perfscript__free(w->perfscript);
}

/* Return: the columns of the terminal that standard output is, or 0. */
static unsigned int terminal_width(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* Return: the unit that the page shows first, as its own list of them has it. */
static const char *html_unit(const struct options *o)
{
	static const char *const names[] = {
		[UNIT_NS] = "ns", [UNIT_US] = "\u00b5s", [UNIT_MS] = "ms", [UNIT_COUNT] = "count",
		[UNIT_BYTES] = "bytes",
	};

	return o->unit_given ? names[o->unit] : "auto";
}

/* What is to be written, of whom. */
struct job {
	struct options *o;
	const struct writers *writers;
	const struct session *session;
	const struct diff *diff;
	const struct reader *reader;
	struct folded_result *folded;
	struct dump_result *dump;
};

typedef int (*write_fn)(const struct job *job, FILE *f);

/* @write: returns 0, or -errno with all said; an error of @f stays in its error flag. */
static int write_output(const char *path, const struct job *job, write_fn write)
{
	struct output out;
	int err;

	/* A recording that is written here is as private as xpuload's. */
	err = output__open(&out, path ?: "-", job->o->format == FORMAT_DATA);
	if (!err) {
		err = write(job, out.f);
		if (err) {
			output__abort(&out);
			return err;
		}
		err = output__commit(&out);
	}
	if (err)
		complain("%s: cannot be written: %s", path ?: "standard output",
			 safefile__strerror(err));
	return err;
}

static int write_session(const struct job *job, FILE *f)
{
	const struct options *o = job->o;
	const struct session *s = job->session;
	const struct folded_opts folded_opts = {
		.unit = o->unit, .freq_hz = o->freq_hz, .by = o->by,
	};
	const struct text_opts text_opts = {
		.unit = o->unit, .max_rows = o->max_rows, .format = o->table_format,
		.table = o->table, .width = o->output ? 0 : terminal_width(),
	};
	const struct html_opts html_opts = {
		.unit = html_unit(o), .normalize = "", .by = o->by,
	};
	int err;

	switch (o->format) {
	case FORMAT_FOLDED:
		err = folded__write(s, f, &folded_opts, job->folded);
		break;
	case FORMAT_CHROME:
		err = chrome__write(job->writers->timeline, s, f);
		break;
	case FORMAT_PFTRACE:
		err = pftrace__write(job->writers->timeline, s, f);
		break;
	case FORMAT_PERF:
		err = perfscript__write(job->writers->perfscript, s, f);
		break;
	case FORMAT_PPROF:
		err = pprof__write(s, f);
		break;
	case FORMAT_HTML:
		err = html__write_session(f, s, &html_opts);
		break;
	default:
		err = text__write(s, f, &text_opts);
		break;
	}
	if (err)
		complain("%s: %s", o->inputs[0], strerror(-err));
	return err;
}

int writers__write(const struct writers *w, struct options *o, const struct session *s,
		   struct folded_result *result)
{
	const struct job job = { .o = o, .writers = w, .session = s, .folded = result };

	return write_output(o->output, &job, write_session);
}

static int write_diff(const struct job *job, FILE *f)
{
	const struct options *o = job->o;
	int err;

	switch (o->format) {
	case FORMAT_FOLDED:
		err = diff__write_folded(job->diff, f, job->folded);
		break;
	case FORMAT_HTML:
		err = diff__write_html(job->diff, f, html_unit(o));
		break;
	default:
		err = diff__write_text(job->diff, f);
		break;
	}
	if (err)
		complain("%s: %s", o->inputs[0], strerror(-err));
	return err;
}

int writers__write_diff(struct options *o, const struct diff *d,
			struct folded_result *result)
{
	const struct job job = { .o = o, .diff = d, .folded = result };

	return write_output(o->output, &job, write_diff);
}

static int write_dump(const struct job *job, FILE *f)
{
	int err = dump__write(job->reader, f, job->dump);

	if (err)
		complain("%s: %s", job->reader->name, strerror(-err));
	return err;
}

int writers__write_dump(struct options *o, const struct reader *r, struct dump_result *result)
{
	const struct job job = { .o = o, .reader = r, .dump = result };

	memset(result, 0, sizeof(*result));
	return write_output(o->output, &job, write_dump);
}

static int write_import(const struct job *job, FILE *f)
{
	struct importer *importer = &job->o->importer;
	struct msgs msgs = { 0 };
	int err;

	if (!importer->events_only) {
		err = importer__write_recording(importer, f);
		if (err)
			complain("%s: %s", importer__name(importer), strerror(-err));
		return err;
	}
	importer->nsys_export.msgs = &msgs;
	err = importer__write_events(importer, f);
	complain_msgs(&msgs);
	if (err && !msgs.lines.nr)
		complain("%s: %s", importer->nsys, strerror(-err));
	msgs__free(&msgs);
	return err;
}

int writers__write_import(struct options *o)
{
	const struct job job = { .o = o };

	return write_output(o->output, &job, write_import);
}
