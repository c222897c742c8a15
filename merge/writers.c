// SPDX-License-Identifier: GPL-3.0-or-later
#include "writers.h"

#include <errno.h>
#include <string.h>

#include "complain.h"
#include "write/output.h"

/* the input and the options of one output */
struct job {
	struct options *o;
	const struct session *session;
	const struct diff *diff;
	const struct gate *gate;
	const void *command;
	const struct reader *reader;
	void *events;
	struct folded_result *folded;
	struct dump_result *dump;
	const struct session_opts *opts;
	struct names_result *names;
	struct msgs *msgs;
};

typedef int (*write_fn)(const struct job *job, FILE *f);

/*
 * Opens the output, calls @write to write it, and closes it. @write: returns 0, or -errno after a
 * message. An error in writing @f only sets the error flag of @f.
 */
static int write_output(const char *path, const struct job *job, write_fn write)
{
	struct output out;
	int err;

	/* A recording written here is as private as one that xpuload makes. */
	err = output__open(&out, path ?: "-", job->o->format->format->imported);
	if (!err && job->o->compress) {
		err = output__compress(&out);
		if (err)
			output__abort(&out);
	}
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
	struct options *o = job->o;
	int err = o->format->format->write(job->session, f, &o->write, job->events, job->folded);

	return complain_error(&o->memory, o->inputs[0], err);
}

int writers__open(struct options *o, struct session_opts *opts, void **events)
{
	const struct format *format = o->format->format;
	int err = 0;

	*events = NULL;
	if (format->open)
		err = format->open(o->output, opts, &opts->sink, events);
	else if (format->listen)
		err = (*events = format->listen(&opts->sink)) ? 0 : -ENOMEM;
	if (err == -ENOMEM)
		complain_error(&o->memory, o->inputs[0], err);
	else if (err)
		complain("%s: cannot be written: %s", o->output, format->error(err));
	if (err)
		writers__close(o, *events);
	return err;
}

void writers__close(struct options *o, void *events)
{
	if (events)
		o->format->format->free(events);
}

int writers__error(struct options *o, const char *input, void *events, int err)
{
	const struct format *format = o->format->format;
	const char *why = format->failed && events ? format->failed(events) : NULL;

	if (err && why)
		complain("%s: cannot be written: %s", o->output, why);
	else
		complain_error(&o->memory, input, err);
	return err;
}

int writers__write(struct options *o, const struct session *s, void *events,
		   struct folded_result *result)
{
	const struct job job = { .o = o, .session = s, .events = events, .folded = result };
	const struct format *format = o->format->format;

	if (format->open)
		return writers__error(o, o->inputs[0], events,
				      format->write(s, NULL, &o->write, events, result));
	return write_output(o->output, &job, write_session);
}

static int write_diff(const struct job *job, FILE *f)
{
	struct options *o = job->o;

	return complain_error(&o->memory, o->inputs[0],
			      o->format->format->write_diff(job->diff, f, &o->write, job->folded));
}

int writers__write_diff(struct options *o, const struct diff *d,
			struct folded_result *result)
{
	const struct job job = { .o = o, .diff = d, .folded = result };

	return write_output(o->output, &job, write_diff);
}

static int write_gate(const struct job *job, FILE *f)
{
	struct options *o = job->o;

	return complain_error(&o->memory, o->inputs[0],
			      gate__write_json(job->gate, f, o->write.max_rows));
}

int writers__write_gate(struct options *o, const struct gate *g)
{
	const struct job job = { .o = o, .gate = g };

	return write_output(o->output, &job, write_gate);
}

static int write_command(const struct job *job, FILE *f)
{
	struct options *o = job->o;

	return complain_error(&o->memory, o->inputs[0],
			      options__command_writer(o)->write(job->command, f, &o->write));
}

int writers__write_command(struct options *o, const void *command)
{
	const struct job job = { .o = o, .command = command };

	return write_output(o->output, &job, write_command);
}

static int write_dump(const struct job *job, FILE *f)
{
	return complain_error(&job->o->memory, job->reader->name,
			      dump__write(job->reader, f, job->dump));
}

int writers__write_dump(struct options *o, const struct reader *r, struct dump_result *result)
{
	const struct job job = { .o = o, .reader = r, .dump = result };

	memset(result, 0, sizeof(*result));
	return write_output(o->output, &job, write_dump);
}

static int write_names(const struct job *job, FILE *f)
{
	return complain_error(&job->o->memory, job->reader->name,
			      names__write(job->reader, job->opts, true, NULL, f, job->names,
					   job->msgs));
}

int writers__write_names(struct options *o, const struct reader *r,
			 const struct session_opts *opts, struct names_result *result,
			 struct msgs *msgs)
{
	const struct job job = {
		.o = o, .reader = r, .opts = opts, .names = result, .msgs = msgs,
	};

	return write_output(o->output, &job, write_names);
}

static int write_import(const struct job *job, FILE *f)
{
	struct importer *importer = &job->o->importer;
	struct msgs msgs = { 0 };
	int err;

	if (!importer->opts.events_only)
		return complain_error(&job->o->memory, importer__name(importer),
				      importer__write_recording(importer, f));
	err = importer__write_events(importer, f, &msgs);
	complain_msgs(&msgs);
	if (err == -ENOMEM || !msgs.lines.nr)
		complain_error(&job->o->memory, importer__name(importer), err);
	msgs__free(&msgs);
	return err;
}

int writers__write_import(struct options *o)
{
	const struct job job = { .o = o };

	return write_output(o->output, &job, write_import);
}
