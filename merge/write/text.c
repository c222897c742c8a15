// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "escape.h"
#include "human.h"
#include "json_out.h"
#include "write/page_json.h"
#include "write/section.h"
#include "write/text_answer.h"
#include "util.h"
#include "xpu_time.h"

#define PAGE_WIDTH	140		/* maximum width of a table in the html page, in
					 * characters */
#define MAX_PAGE_ROWS	20		/* maximum number of rows of a table in the html page */
#define MAX_SECTIONS	64

/* The tables are in the order of the output; --help and xpumerge(1) also list them. */
static const struct section *const sections[] = {
	&section_kernels,
	&section_memory_time,
	&section_memory_size,
	&section_api_calls,
	&section_launch_sites,
	&section_python_lines,
	&section_cpu_functions,
	&section_processes,
	&section_devices,
	&section_streams,
};

static const char *unit__name(enum unit unit)
{
	return unit == UNIT_NS ? "ns" : unit == UNIT_MS ? "ms" : "us";
}

/* ---- what a recording says of itself --------------------------------------------------------- */

static void print_args(FILE *f, const struct xpu_record_info *info)
{
	uint32_t i, from = 0;

	/* NULs separate the arguments; the last argument may have no NUL. */
	for (i = 0; i < info->bytes; i++) {
		if (info->data[i])
			continue;
		fputs(from ? " " : "", f);
		escape__print(f, info->data + from, ESCAPE_TEXT);
		from = i + 1;
	}
	if (from < info->bytes) {
		char *last = strndup(info->data + from, info->bytes - from);

		fputs(from ? " " : "", f);
		escape__print(f, last ? last : "?", ESCAPE_TEXT);
		free(last);
	}
}

static const struct xpu_record_info *session__info(const struct session *s,
						   const struct input *in, uint32_t key)
{
	uint32_t i;

	for (i = in->first_info; i < in->first_info + in->nr_infos; i++)
		if (s->model.infos.v[i]->key == key)
			return s->model.infos.v[i];
	return NULL;
}

/* Prints "windows: 3, 4.20 s of 60.0 s recorded". */
static void write_windows(const struct session *s, FILE *f)
{
	char some[HUMAN_MAX], all[HUMAN_MAX];
	uint64_t whole_ns = 0;

	array_each(&s->model.inputs, in) {
		whole_ns = max_t(uint64_t, whole_ns,
				 xpu_ns_between(in->reader->header.start_mono_ns, in->end_ns));
	}
	fprintf(f, "windows: %zu, %s", s->sums.nr_windows,
		human__time(some, sums__span_ns(&s->sums)));
	if (whole_ns >= sums__span_ns(&s->sums))
		fprintf(f, " of %s", human__time(all, whole_ns));
	fputs(" recorded\n", f);
}

void text__write_head(const struct session *s, const struct input *in, FILE *f)
{
	static const struct {
		uint32_t key;
		const char *label;
	} infos[] = {
		{ XPU_INFO_CMDLINE, "command" },
		{ XPU_INFO_HOSTNAME, "host" },
		{ XPU_INFO_OS_RELEASE, "kernel" },
		{ XPU_INFO_VERSION, "recorded by xpuload" },
		{ XPU_INFO_OPTIONS, "options" },
	};
	time_t start = in->reader->header.start_real_ns / 1000000000;
	const struct xpu_record_info *info;
	uint64_t span_ns = s->sums.to_ns - s->sums.from_ns;
	uint64_t from_ns = xpu_ns_between(s->model.start_ns, s->sums.from_ns);
	char date[64];
	struct tm tm;
	size_t i;

	fputs("recording: ", f);
	escape__print(f, in->reader->name, ESCAPE_TEXT);
	fputc('\n', f);
	for (i = 0; i < ARRAY_SIZE(infos); i++) {
		info = session__info(s, in, infos[i].key);
		if (!info)
			continue;
		fprintf(f, "%s: ", infos[i].label);
		print_args(f, info);
		fputc('\n', f);
	}
	/* Use UTC, so that a recording reads the same everywhere. */
	if (start && gmtime_r(&start, &tm) && strftime(date, sizeof(date), "%F %T UTC", &tm))
		fprintf(f, "start: %s\n", date);
	/* The span covers all recordings, so print it once. */
	if (in == &s->model.inputs.v[s->model.inputs.nr - 1] && (span_ns || from_ns))
		fprintf(f, "first to last event: %" PRIu64 ".%06u s, from %" PRIu64 ".%06u s on\n",
			span_ns / 1000000000, (unsigned int)(span_ns / 1000 % 1000000),
			from_ns / 1000000000, (unsigned int)(from_ns / 1000 % 1000000));
	if (s->sums.nr_windows && in == &s->model.inputs.v[s->model.inputs.nr - 1])
		write_windows(s, f);
	if (!in->ended)
		fputs("end: the recording was not closed properly\n", f);
	else if (in->attached)
		fputs("end: detached\n", f);
	else if (WIFSIGNALED(in->wait_status))
		fprintf(f, "end: the command was killed by signal %d\n", WTERMSIG(in->wait_status));
	else if (start)			/* an import has no start, and no command */
		fprintf(f, "end: the command exited with status %d\n",
			WEXITSTATUS(in->wait_status));
}

void text__write_messages(const struct session *s, FILE *f, const char *prefix)
{
	static const char *const levels[] = {
		[XPU_MESSAGE_INFO] = "info",
		[XPU_MESSAGE_WARNING] = "warning",
		[XPU_MESSAGE_ERROR] = "error",
	};

	array_each(&s->model.messages, m) {
		fprintf(f, "%s%s: ", prefix, m->level && m->level < ARRAY_SIZE(levels) ?
			levels[m->level] : "message");
		escape__print(f, model__proc_name(&s->model, m->proc), ESCAPE_TEXT);
		fprintf(f, " (pid %" PRIu32 "): ", s->model.machine.procs.v[m->proc].pid);
		escape__print(f, m->text, ESCAPE_TEXT);
		fputc('\n', f);
	}
}

/* ---- lines that may be wider than the terminal ----------------------------------------------- */

/*
 * Writes lines. A line wider than @width continues on further lines, which are indented by two more
 * columns.
 */
static void print_wrapped(FILE *f, const char *text, size_t width)
{
	size_t column = 0, indent = 0, len;

	while (*text) {
		if (!column) {
			indent = strspn(text, " ");
			fprintf(f, "%*s", (int)indent, "");
			text += indent;
			column = indent;
		}
		len = strcspn(text, " \n");
		if (width && column > indent && column + 1 + len > width) {
			fprintf(f, "\n%*s", (int)(indent + 2), "");
			column = indent + 2;
		} else if (column > indent) {
			fputc(' ', f);
			column++;
		}
		fprintf(f, "%.*s", (int)len, text);
		column += len;
		text += len;
		if (*text == '\n') {
			fputc('\n', f);
			column = 0;
		}
		text += *text != '\0';
	}
}

/* Writes the lines that @print prints, wrapped. Return: 0 or -ENOMEM. */
static int write_wrapped(const struct session *s, FILE *to, const struct text_opts *opts,
			 void (*print)(const struct session *s, FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	print(s, f);
	if (fclose(f) || !text) {
		free(text);
		return -ENOMEM;
	}
	print_wrapped(to, text, opts->width);
	free(text);
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * Appends the features' tables whose place is before the table @name. NULL: appends the features'
 * tables whose place is after all other tables.
 */
static void add_of_features(const struct section **all, size_t *nr, const char *name)
{
	const struct section *const *of;
	unsigned int i;

	for (i = 0; features[i]; i++)
		for (of = features[i]->sections; of && *of; of++)
			if (*nr < MAX_SECTIONS && (name && (*of)->before ?
			    !strcmp(name, (*of)->before) : !name && !(*of)->before))
				all[(*nr)++] = *of;
}

/* Return: table @i, or NULL. */
static const struct section *section__at(size_t i)
{
	static const struct section *all[MAX_SECTIONS];
	static size_t nr;
	size_t k;

	if (!nr) {
		for (k = 0; k < ARRAY_SIZE(sections); k++) {
			add_of_features(all, &nr, sections[k]->name);
			all[nr++] = sections[k];
		}
		add_of_features(all, &nr, NULL);
	}
	return i < nr ? all[i] : NULL;
}

const char *const *text__tables(void)
{
	static const char *names[MAX_SECTIONS + 1];
	size_t i;

	for (i = 0; i < MAX_SECTIONS && section__at(i); i++)
		names[i] = section__at(i)->name;
	return names;
}

bool text__has_column(const char *table, const char *column, bool in_bytes)
{
	const struct section *section;
	size_t i, k;

	for (i = 0; (section = section__at(i)); i++)
		for (k = 0; k < section->nr_columns && (section->in_bytes || !in_bytes); k++)
			if (column__is(&section->columns[k], column) &&
			    (!table || !strcmp(section->name, table)))
				return true;
	return false;
}

void text__columns(const char *table, const char *keys[TEXT_MAX_COLUMNS])
{
	const struct section *section;
	size_t i, k, nr = 0;

	for (i = 0; (section = section__at(i)); i++)
		for (k = 0; k < section->nr_columns && nr + 1 < TEXT_MAX_COLUMNS; k++)
			if (section->columns[k].key && (!table || !strcmp(section->name, table)))
				keys[nr++] = section->columns[k].key;
	keys[nr] = NULL;
}

bool text__is_in_bytes(const char *table)
{
	const struct section *section;
	size_t i;

	for (i = 0; (section = section__at(i)); i++)
		if (!strcmp(section->name, table))
			return section->in_bytes;
	return false;
}

/* Prints the lines above a table. Return: 0 or -ENOMEM. */
static int section__print_head(const struct section *section, const struct section_rows *rows,
			       const struct table *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	section->head(rows, f);
	if (fclose(f) || !text) {
		free(text);
		return -ENOMEM;
	}
	fputs(t->color ? "\n\033[1m" : "\n", t->f);
	print_wrapped(t->f, text, t->width);
	fputs(t->color ? "\033[m" : "", t->f);
	free(text);
	return 0;
}

/*
 * Writes a table. For people, a table without rows is left out; for programs, its column names are
 * written.
 */
static int section__write(const struct section *section, const struct session *s, struct table *t,
			  const struct text_opts *opts, bool *no_rows)
{
	bool people = opts->format == TABLE_TEXT;
	bool has_head = section->head_without_rows && section->was_recorded(s);
	struct section_rows rows = {
		.s = s, .times = "", .by = &opts->by, .people = opts->format == TABLE_TEXT,
	};
	char times[32];
	size_t i, shown;
	int err;

	if (!opts->human) {
		snprintf(times, sizeof(times), ", times in %s", unit__name(opts->unit));
		rows.times = times;
	}
	err = section->collect(&rows);
	*no_rows = opts->table && !rows.nr;
	if (err || (people && !rows.nr && !has_head))
		goto out;
	if (people)
		err = section__print_head(section, &rows, t);
	if (err || (people && !rows.nr))
		goto out;
	shown = opts->max_rows ? min_t(size_t, opts->max_rows, rows.nr) : rows.nr;
	table__begin(t, section->name, rows.columns ?: section->columns,
		     rows.columns ? rows.nr_columns : section->nr_columns);
	for (i = 0; i < (t->sorts ? rows.nr : shown) && !err; i++)
		err = section->row(&rows, (char *)rows.v + i * section->row_bytes, t);
	if (table__end(t))
		err = -ENOMEM;
	if (people && shown < rows.nr)
		fprintf(t->f, "  ... and %zu more\n", rows.nr - shown);
out:
	for (i = 0; i < rows.nr && section->exit_row; i++)
		section->exit_row(&rows, (char *)rows.v + i * section->row_bytes);
	free(rows.columns);
	free(rows.v);
	return err;
}

/* Writes all tables, or only the requested table. */
static int text__write_tables(const struct session *s, FILE *f, struct json_out *j,
			      const struct text_opts *opts, bool *no_rows)
{
	struct table t = {
		.f = f, .json = j, .format = opts->format, .unit = opts->unit, .human = opts->human,
		.alone = opts->table, .width = opts->width, .color = opts->color,
		.sort = opts->sort, .max_rows = opts->max_rows,
	};
	bool sorted = !opts->sort || opts->table;
	const struct section *section;
	int err = 0;
	size_t i;

	for (i = 0; (section = section__at(i)) && !err; i++, sorted |= t.sorts)
		if (opts->table ? !strcmp(opts->table, section->name) :
				  section->in_bytes || !s->opts.in_bytes)
			err = section__write(section, s, &t, opts, no_rows);
	*no_rows |= t.columns && !sorted;
	return err;
}

/* Writes the first rows of a table as text for people. Return: 0 or -ENOMEM. */
static int section__print(const struct section *section, const struct session *s, char **text)
{
	const struct text_opts opts = {
		.format = TABLE_TEXT, .human = true, .max_rows = MAX_PAGE_ROWS,
	};
	struct table t = {
		.format = TABLE_TEXT, .human = true, .width = PAGE_WIDTH, .max_rows = opts.max_rows,
	};
	bool no_rows;
	size_t size;
	int err;

	*text = NULL;
	t.f = open_memstream(text, &size);
	if (!t.f)
		return -ENOMEM;
	err = section__write(section, s, &t, &opts, &no_rows);
	return fclose(t.f) || !*text ? -ENOMEM : err;
}

int text__page(const struct session *s, struct json_out *j)
{
	const struct section *const *of;
	bool any = false;
	unsigned int i;
	char *text;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		for (of = features[i]->sections; of && *of && !err; of++) {
			if (!(*of)->on_page)
				continue;
			err = section__print(*of, s, &text);
			if (!err && text[0]) {
				if (!any)
					page__open_array(j, "tables");
				any = true;
				json_out__string(j, text + strspn(text, "\n"));
			}
			free(text);
		}
	if (any)
		json_out__close(j, ']');
	return err;
}

bool text__why_no_rows(const char *table, const struct session *s, const char **why)
{
	const struct section *section;
	size_t i;

	*why = NULL;
	for (i = 0; (section = section__at(i)); i++) {
		if (strcmp(table, section->name))
			continue;
		*why = section->from;
		return section->was_recorded && section->was_recorded(s);
	}
	return false;
}

/* ---- the whole summary ----------------------------------------------------------------------- */

static void text__stacks(const struct session *s, FILE *f)
{
	uint64_t nr_shim = 0, nr_bpf = 0, nr_named = 0, nr_imported = 0;
	uint64_t nr_launches = 0;
	enum path_how how;
	char time[HUMAN_MAX];

	array_each(&s->model.chains, chain) {
		if (chain->no_launch || !chain->nr_launches)
			continue;
		nr_launches += chain->nr_launches;
		if (chain->path == NO_INDEX)
			continue;
		how = s->model.paths.v[chain->path].how;
		nr_named += how == PATH_NAMED ? chain->nr_launches : 0;
		nr_imported += how == PATH_NAMED || how == PATH_NONE ? chain->nr_launches : 0;
		nr_shim += how == PATH_SHIM ? chain->nr_launches : 0;
		nr_bpf += how == PATH_KERNEL ? chain->nr_launches : 0;
	}
	if (!s->model.paths.nr && !s->sums.loss.nr_frames && !nr_launches)
		return;
	fprintf(f, "\nstacks: %zu call path%s", s->model.paths.nr,
		s->model.paths.nr == 1 ? "" : "s");
	if (nr_launches)
		fprintf(f, "; of %" PRIu64 " launch%s ", nr_launches, nr_launches == 1 ? "" : "es");
	if (nr_imported)
		fprintf(f, "%" PRIu64 " came with a stack", nr_named);
	else if (nr_launches)
		fprintf(f, "%" PRIu64 " unwound in the process, %" PRIu64 " by frame pointers",
			nr_shim, nr_bpf);
	if (nr_launches)
		fprintf(f, ", %" PRIu64 " without a stack, %" PRIu64 " truncated",
			s->sums.loss.no_stack, s->sums.loss.truncated);
	if (s->sums.own_ns)
		fprintf(f, "\nxpuload's own threads in the programs: %s of CPU time, left out; "
			"--own-threads shows it", human__time(time, s->sums.own_ns));
	fprintf(f, "\nframes: %" PRIu64 ", %" PRIu64 " without a function name\n",
		s->sums.loss.nr_frames, s->sums.loss.unsymbolized);
}

static int text__write_json(const struct session *s, FILE *f, const struct text_opts *opts,
			    bool *no_rows)
{
	const struct loss *l = &s->sums.loss;
	const struct {
		const char *key;
		uint64_t n;
	} account[] = {
		{ "launches", l->nr_launches }, { "matched", l->nr_matched },
		{ "unmatched", loss__unmatched(l) }, { "lost", loss__lost(l) },
	};
	struct json_out j;
	size_t i;
	int err = json_out__init(&j, f, ESCAPE_JSON);

	if (err)
		return err;
	j.spaced = true;
	json_out__open(&j, '{');
	json_out__line(&j, 0);
	json_out__key(&j, "account");
	json_out__open(&j, '{');
	for (i = 0; i < ARRAY_SIZE(account); i++) {
		json_out__key(&j, account[i].key);
		json_out__u64(&j, account[i].n);
	}
	json_out__close(&j, '}');
	err = text__write_tables(s, f, &j, opts, no_rows);
	json_out__end_line(&j);
	json_out__close(&j, '}');
	json_out__end_line(&j);
	json_out__exit(&j);
	return err;
}

int text__write(const struct session *s, FILE *f, const struct text_opts *opts, bool *no_rows)
{
	size_t i;
	int err;

	if (opts->format == TABLE_JSON)
		return text__write_json(s, f, opts, no_rows);
	if (opts->format == TABLE_CSV || opts->table)
		return text__write_tables(s, f, NULL, opts, no_rows);
	err = text__write_answer(s, f, opts->width);
	for (i = 0; features[i] && !err; i++)
		err = features[i]->summary ? write_wrapped(s, f, opts, features[i]->summary) : 0;
	if (err)
		return err;
	fputc('\n', f);
	for (i = 0; i < s->model.inputs.nr; i++) {
		text__write_head(s, &s->model.inputs.v[i], f);
		fputc('\n', f);
	}
	err = write_wrapped(s, f, opts, session__print_loss) ?:
	      text__write_tables(s, f, NULL, opts, no_rows) ?:
	      write_wrapped(s, f, opts, text__stacks);
	if (err)
		return err;
	if (s->model.messages.nr)
		fputs("\nmessages of the shim:\n", f);
	text__write_messages(s, f, "  ");
	return 0;
}
