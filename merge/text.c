// SPDX-License-Identifier: GPL-3.0-or-later
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "escape.h"
#include "util.h"

/* Of a call path this many frames are shown, the innermost ones. */
#define SHOWN_FRAMES	6

/* A line of a table: what the aggregates of one group sum up to. */
struct row {
	uintptr_t group[3];		/* equal: one row */
	const struct aggregate *a;	/* one of them, for its names */
	uint64_t nr;
	uint64_t sum_ns;
	uint64_t min_ns, max_ns;
	uint64_t bytes;
};

typedef ARRAY(struct row) rows_t;

static int row__cmp_group(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(a->group[0], b->group[0]) ?: cmp3(a->group[1], b->group[1]) ?:
	       cmp3(a->group[2], b->group[2]);
}

/* Longest first; what is equally long, in order of appearance, not of addresses in memory. */
static int row__cmp_sum(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(b->sum_ns, a->sum_ns) ?: cmp3(b->nr, a->nr) ?: cmp3(a->a, b->a);
}

static int rows__add(rows_t *rows, const struct aggregate *a, uintptr_t g0, uintptr_t g1,
		     uintptr_t g2)
{
	return array_push(rows, ((struct row){ { g0, g1, g2 }, a, a->nr, a->sum_ns, a->min_ns,
					       a->max_ns, a->bytes }));
}

static void rows__group(rows_t *rows)
{
	size_t i, nr = 0;

	if (!rows->nr)
		return;
	qsort(rows->v, rows->nr, sizeof(*rows->v), row__cmp_group);
	for (i = 1; i < rows->nr; i++) {
		struct row *to = &rows->v[nr], *from = &rows->v[i];

		if (row__cmp_group(to, from)) {
			rows->v[++nr] = *from;
			continue;
		}
		to->nr += from->nr;
		to->sum_ns += from->sum_ns;
		to->bytes += from->bytes;
		to->min_ns = min_t(uint64_t, to->min_ns, from->min_ns);
		to->max_ns = max_t(uint64_t, to->max_ns, from->max_ns);
		if (from->a < to->a)
			to->a = from->a;
	}
	rows->nr = nr + 1;
	qsort(rows->v, rows->nr, sizeof(*rows->v), row__cmp_sum);
}

static uint64_t rows__sum_ns(const rows_t *rows)
{
	uint64_t sum_ns = 0;
	size_t i;

	for (i = 0; i < rows->nr; i++)
		sum_ns += rows->v[i].sum_ns;
	return sum_ns;
}

static const char *unit__name(enum unit unit)
{
	return unit == UNIT_NS ? "ns" : unit == UNIT_MS ? "ms" : "us";
}

static void print_more(FILE *f, size_t shown, size_t nr)
{
	if (shown < nr)
		fprintf(f, "  ... and %zu more\n", nr - shown);
}

static size_t text__nr_rows(const struct text_opts *opts, size_t nr)
{
	return opts->max_rows && opts->max_rows < nr ? opts->max_rows : nr;
}

/* ---- sections ------------------------------------------------------------------------------- */

static void print_args(FILE *f, const struct xpu_record_info *info)
{
	uint32_t i, from = 0;

	/* NUL between the arguments; the last one may lack its own. */
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
		if (s->infos.v[i]->key == key)
			return s->infos.v[i];
	return NULL;
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
	uint64_t span_ns = s->last_ns - s->first_ns;
	uint64_t from_ns = s->first_ns > s->start_ns ? s->first_ns - s->start_ns : 0;
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
	/* UTC, so that one recording reads the same everywhere. */
	if (start && gmtime_r(&start, &tm) && strftime(date, sizeof(date), "%F %T UTC", &tm))
		fprintf(f, "start: %s\n", date);
	/* Of all of them, so once. */
	if (in == &s->inputs.v[s->inputs.nr - 1])
		fprintf(f, "first to last launch or device work: %" PRIu64 ".%06u s, from %" PRIu64
			".%06u s on\n", span_ns / 1000000000,
			(unsigned int)(span_ns / 1000 % 1000000), from_ns / 1000000000,
			(unsigned int)(from_ns / 1000 % 1000000));
	if (!in->ended)
		fputs("end: the recording was not closed in good order\n", f);
	else if (WIFSIGNALED(in->wait_status))
		fprintf(f, "end: the command was killed by signal %d\n", WTERMSIG(in->wait_status));
	else
		fprintf(f, "end: the command exited with status %d\n", WEXITSTATUS(in->wait_status));
}

/* ---- tables of device work ------------------------------------------------------------------- */

/* All leaves of one name: it may have run on several GPUs. */
struct leaf_row {
	const struct leaf *leaf;	/* the first of them */
	struct leaf_stats stats;
};

typedef ARRAY(struct leaf_row) leaf_rows_t;

static int leaf_row__cmp_time(const void *va, const void *vb)
{
	const struct leaf_row *a = va, *b = vb;

	return cmp3(b->stats.ns.sum, a->stats.ns.sum) ?: cmp3(b->stats.ns.nr, a->stats.ns.nr) ?:
	       cmp3(a->leaf, b->leaf);
}

static int leaf_row__cmp_bytes(const void *va, const void *vb)
{
	const struct leaf_row *a = va, *b = vb;

	return cmp3(b->stats.bytes.sum, a->stats.bytes.sum) ?: leaf_row__cmp_time(va, vb);
}

static void leaf_rows__free(leaf_rows_t *rows)
{
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		stats__free(&rows->v[i].stats.ns);
		stats__free(&rows->v[i].stats.bytes);
	}
	array_free(rows);
}

/* The rows of kernels, or else of copies and sets. Return: 0 or -ENOMEM. */
static int leaf_rows__collect(leaf_rows_t *rows, const struct session *s, bool kernels)
{
	struct idmap by_name = { 0 };
	int err = 0;
	size_t i;

	for (i = 0; i < s->leaf_stats.nr && !err; i++) {
		const struct leaf_stats *stats = &s->leaf_stats.v[i];
		const struct leaf *leaf = &s->leaves.v[i];
		/* Names are interned; a set has none, as no copy has. */
		uint64_t key = (uintptr_t)leaf->name;
		uint32_t idx;

		if (!stats->ns.nr || (leaf->kind == LEAF_KERNEL) != kernels)
			continue;
		if (!idmap__get(&by_name, key, &idx)) {
			idx = rows->nr;
			err = array_push(rows, ((struct leaf_row){ .leaf = leaf }));
			if (!err)
				err = idmap__put(&by_name, key, idx);
		}
		if (!err)
			err = stats__merge(&rows->v[idx].stats.ns, &stats->ns) ?:
			      stats__merge(&rows->v[idx].stats.bytes, &stats->bytes);
	}
	idmap__free(&by_name);
	return err;
}

static void leaf_row__name(const struct leaf_row *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", row->leaf->kind == LEAF_MEMCPY ? "memcpy" : "memset",
		 *row->leaf->name ? " " : "", row->leaf->name);
}

/* Where the line of text above a table is wanted. */
static bool text__wants_head(const struct text_opts *opts)
{
	return opts->format == TABLE_TEXT;
}

static int text__kernels(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "time %", "time_percent", COLUMN_SHARE }, { "total", "total_ns", COLUMN_TIME },
		{ "instances", "instances", COLUMN_COUNT }, { "avg", "avg_ns", COLUMN_TIME },
		{ "med", "median_ns", COLUMN_TIME }, { "min", "min_ns", COLUMN_TIME },
		{ "max", "max_ns", COLUMN_TIME }, { "stddev", "stddev_ns", COLUMN_TIME },
		{ "name", "name", COLUMN_NAME },
	};
	leaf_rows_t rows = { 0 };
	uint64_t sum_ns = 0;
	size_t i, shown;
	int err;

	err = leaf_rows__collect(&rows, s, true);
	if (err)
		goto out;
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), leaf_row__cmp_time);
	for (i = 0; i < rows.nr; i++)
		sum_ns += rows.v[i].stats.ns.sum;
	if (text__wants_head(opts))
		fprintf(t->f, "\nkernels: %" PRIu64 " of %zu names, times in %s\n",
			s->nr_works[LEAF_KERNEL], rows.nr, unit__name(opts->unit));
	if (text__wants_head(opts) && !rows.nr)
		goto out;
	table__begin(t, "kernels", columns, ARRAY_SIZE(columns));
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown; i++) {
		const struct stats *ns = &rows.v[i].stats.ns;

		table__row(t, (struct cell[]){
			{ .n = table__share(ns->sum, sum_ns) }, { .n = ns->sum }, { .n = ns->nr },
			{ .n = stats__mean(ns) }, { .n = stats__median(ns) }, { .n = ns->min },
			{ .n = ns->max }, { .n = stats__stddev(ns) },
			{ .s = rows.v[i].leaf->name },
		});
	}
	table__end(t);
	if (text__wants_head(opts))
		print_more(t->f, shown, rows.nr);
out:
	leaf_rows__free(&rows);
	return err;
}

static void text__memory_time(struct table *t, const leaf_rows_t *rows, size_t shown)
{
	static const struct column columns[] = {
		{ "time %", "time_percent", COLUMN_SHARE }, { "total", "total_ns", COLUMN_TIME },
		{ "count", "count", COLUMN_COUNT }, { "avg", "avg_ns", COLUMN_TIME },
		{ "med", "median_ns", COLUMN_TIME }, { "min", "min_ns", COLUMN_TIME },
		{ "max", "max_ns", COLUMN_TIME }, { "stddev", "stddev_ns", COLUMN_TIME },
		{ "operation", "operation", COLUMN_NAME },
	};
	uint64_t sum_ns = 0;
	char name[64];
	size_t i;

	for (i = 0; i < rows->nr; i++)
		sum_ns += rows->v[i].stats.ns.sum;
	table__begin(t, "memory_time", columns, ARRAY_SIZE(columns));
	for (i = 0; i < shown; i++) {
		const struct stats *ns = &rows->v[i].stats.ns;

		leaf_row__name(&rows->v[i], name, sizeof(name));
		table__row(t, (struct cell[]){
			{ .n = table__share(ns->sum, sum_ns) }, { .n = ns->sum }, { .n = ns->nr },
			{ .n = stats__mean(ns) }, { .n = stats__median(ns) }, { .n = ns->min },
			{ .n = ns->max }, { .n = stats__stddev(ns) }, { .s = name },
		});
	}
	table__end(t);
}

static void text__memory_size(struct table *t, const leaf_rows_t *rows, size_t shown)
{
	static const struct column columns[] = {
		{ "total", "total_bytes", COLUMN_BYTES }, { "count", "count", COLUMN_COUNT },
		{ "avg", "avg_bytes", COLUMN_BYTES }, { "med", "median_bytes", COLUMN_BYTES },
		{ "min", "min_bytes", COLUMN_BYTES }, { "max", "max_bytes", COLUMN_BYTES },
		{ "stddev", "stddev_bytes", COLUMN_BYTES },
		{ "operation", "operation", COLUMN_NAME },
	};
	char name[64];
	size_t i;

	table__begin(t, "memory_size", columns, ARRAY_SIZE(columns));
	for (i = 0; i < shown; i++) {
		const struct stats *bytes = &rows->v[i].stats.bytes;

		leaf_row__name(&rows->v[i], name, sizeof(name));
		table__row(t, (struct cell[]){
			{ .n = bytes->sum }, { .n = bytes->nr }, { .n = stats__mean(bytes) },
			{ .n = stats__median(bytes) }, { .n = bytes->min }, { .n = bytes->max },
			{ .n = stats__stddev(bytes) }, { .s = name },
		});
	}
	table__end(t);
}

static int text__memory(const struct session *s, struct table *t, const struct text_opts *opts,
			bool size)
{
	leaf_rows_t rows = { 0 };
	size_t shown;
	int err;

	err = leaf_rows__collect(&rows, s, false);
	if (err || (text__wants_head(opts) && !rows.nr))
		goto out;
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v),
		      size ? leaf_row__cmp_bytes : leaf_row__cmp_time);
	if (text__wants_head(opts) && size)
		fputs("\nmemory operations by size, in bytes\n", t->f);
	else if (text__wants_head(opts))
		fprintf(t->f, "\nmemory operations: %" PRIu64 " copies, %" PRIu64
			" sets, times in %s\n", s->nr_works[LEAF_MEMCPY], s->nr_works[LEAF_MEMSET],
			unit__name(opts->unit));
	shown = text__nr_rows(opts, rows.nr);
	if (size)
		text__memory_size(t, &rows, shown);
	else
		text__memory_time(t, &rows, shown);
	if (text__wants_head(opts))
		print_more(t->f, shown, rows.nr);
out:
	leaf_rows__free(&rows);
	return err;
}

static int text__memory_by_time(const struct session *s, struct table *t,
				const struct text_opts *opts)
{
	return text__memory(s, t, opts, false);
}

static int text__memory_by_size(const struct session *s, struct table *t,
				const struct text_opts *opts)
{
	return text__memory(s, t, opts, true);
}

/* ---- launch sites, devices, streams ----------------------------------------------------------- */

/* For people: the innermost frames. */
static void print_stack(FILE *f, const struct stack *stack)
{
	uint32_t i = stack->nr > SHOWN_FRAMES ? stack->nr - SHOWN_FRAMES : 0;

	if (i)
		fputs("... > ", f);
	for (; i < stack->nr; i++) {
		escape__print(f, stack->frames[i]->name, ESCAPE_TEXT);
		fputs(i + 1 < stack->nr ? " > " : "", f);
	}
}

/* For programs: all of them, as a folded line has them. */
static void print_folded(FILE *f, const struct stack *stack)
{
	uint32_t i;

	for (i = 0; i < stack->nr; i++) {
		fputs(i ? ";" : "", f);
		escape__print(f, stack->frames[i]->name, ESCAPE_FOLDED);
	}
}

/* Return: what a row is called, for the caller to free(), or NULL. */
static char *text__path_name(const struct session *s, const struct row *row,
			     const struct text_opts *opts)
{
	const struct stack *stack = s->chains.v[row->a->chain].stack;
	char *name = NULL;
	size_t size;
	FILE *f = open_memstream(&name, &size);

	if (!f)
		return NULL;
	if (opts->format == TABLE_TEXT) {
		fprintf(f, "%s: ", *row->a->comm ? row->a->comm : "[unknown]");
		print_stack(f, stack);
		fputs(row->group[2] ? " (pending)" : "", f);
	} else {
		print_folded(f, stack);
	}
	if (fclose(f)) {
		free(name);
		return NULL;
	}
	return name;
}

static int text__path_rows(rows_t *rows, const struct session *s)
{
	size_t i;
	int err = 0;

	for (i = 0; i < s->aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->aggregates.v[i];
		enum leaf_kind kind = s->leaves.v[a->leaf].kind;

		if (leaf_kind__is_device(kind) || kind == LEAF_PENDING)
			err = rows__add(rows, a, (uintptr_t)s->chains.v[a->chain].stack,
					(uintptr_t)a->comm, kind == LEAF_PENDING);
	}
	if (!err)
		rows__group(rows);
	return err;
}

static int text__paths(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "time %", "time_percent", COLUMN_SHARE }, { "total", "total_ns", COLUMN_TIME },
		{ "instances", "instances", COLUMN_COUNT }, { "avg", "avg_ns", COLUMN_TIME },
		{ NULL, "min_ns", COLUMN_TIME }, { NULL, "max_ns", COLUMN_TIME },
		{ NULL, "pending", COLUMN_COUNT }, { NULL, "comm", COLUMN_NAME },
		{ "path", "path", COLUMN_NAME },
	};
	rows_t rows = { 0 };
	uint64_t sum_ns;
	size_t i, shown;
	char *name;
	int err;

	err = text__path_rows(&rows, s);
	if (err)
		goto out;
	sum_ns = rows__sum_ns(&rows);
	if (text__wants_head(opts))
		fprintf(t->f, "\nlaunch paths: %zu, device time in %s\n", rows.nr,
			unit__name(opts->unit));
	if (text__wants_head(opts) && !rows.nr)
		goto out;
	table__begin(t, "launch_sites", columns, ARRAY_SIZE(columns));
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown && !err; i++) {
		const struct row *row = &rows.v[i];
		uint64_t nr_works = row->group[2] ? 0 : row->nr;

		name = text__path_name(s, row, opts);
		if (!name) {
			err = -ENOMEM;
			break;
		}
		table__row(t, (struct cell[]){
			{ .n = table__share(row->sum_ns, sum_ns) }, { .n = row->sum_ns },
			{ .n = row->nr }, { .n = row->sum_ns / row->nr },
			{ .n = nr_works ? row->min_ns : 0 }, { .n = row->max_ns },
			{ .n = row->nr - nr_works }, { .s = row->a->comm }, { .s = name },
		});
		free(name);
	}
	table__end(t);
	if (text__wants_head(opts))
		print_more(t->f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
}

/* Where threads ran: CPU time by the function that was innermost in the samples. */
static int text__functions(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "time %", "time_percent", COLUMN_SHARE }, { "total", "total_ns", COLUMN_TIME },
		{ "samples", "samples", COLUMN_COUNT }, { "function", "function", COLUMN_NAME },
	};
	rows_t rows = { 0 };
	uint64_t sum_ns;
	size_t i, shown;
	int err = 0;

	for (i = 0; i < s->aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->aggregates.v[i];
		const struct stack *stack = s->chains.v[a->chain].stack;

		if (s->leaves.v[a->leaf].kind == LEAF_CPU)
			err = rows__add(&rows, a, (uintptr_t)stack->frames[stack->nr - 1]->name, 0, 0);
	}
	if (err)
		goto out;
	rows__group(&rows);
	sum_ns = rows__sum_ns(&rows);
	if (text__wants_head(opts)) {
		if (!rows.nr)
			goto out;
		fprintf(t->f, "\nCPU time: %" PRIu64 " samples in %zu functions, times in %s\n",
			s->nr_samples, rows.nr, unit__name(opts->unit));
	}
	table__begin(t, "cpu_functions", columns, ARRAY_SIZE(columns));
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown; i++)
		table__row(t, (struct cell[]){
			{ .n = table__share(rows.v[i].sum_ns, sum_ns) }, { .n = rows.v[i].sum_ns },
			{ .n = rows.v[i].nr }, { .s = (const char *)rows.v[i].group[0] },
		});
	table__end(t);
	if (text__wants_head(opts))
		print_more(t->f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
}

static int text__devices(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "total", "total_ns", COLUMN_TIME }, { "count", "count", COLUMN_COUNT },
		{ "GPU", "device", COLUMN_COUNT }, { "name", "name", COLUMN_NAME },
	};
	uint64_t nr_used = 0;
	size_t i;

	for (i = 0; i < s->gpus.list.nr; i++)
		nr_used += s->gpus.list.v[i].nr_works > 0;
	if (text__wants_head(opts) && !nr_used)
		return 0;
	if (text__wants_head(opts))
		fprintf(t->f, "\ndevices: device time in %s\n", unit__name(opts->unit));
	table__begin(t, "devices", columns, ARRAY_SIZE(columns));
	for (i = 0; i < s->gpus.list.nr; i++) {
		const struct gpu *gpu = &s->gpus.list.v[i];

		if (gpu->nr_works)
			table__row(t, (struct cell[]){
				{ .n = gpu->busy_ns }, { .n = gpu->nr_works },
				{ .n = gpu->number }, { .s = gpu->name ? gpu->name : "" },
			});
	}
	table__end(t);
	return 0;
}

struct stream_row {
	const struct session *s;
	const struct stream *stream;
};

static int stream_row__cmp(const void *va, const void *vb)
{
	const struct stream_row *a = va, *b = vb;

	const struct gpu *gpus = a->s->gpus.list.v;

	return cmp3(gpus[a->stream->gpu].number, gpus[b->stream->gpu].number) ?:
	       cmp3(b->stream->busy_ns, a->stream->busy_ns) ?: cmp3(a->stream, b->stream);
}

static int text__stream_row(const struct session *s, struct table *t, const struct stream *stream)
{
	const char *process = session__proc_name(s, stream->proc);
	uint32_t pid = s->machine.procs.v[stream->proc].pid;
	char *name;
	int len;

	if (stream->known)
		len = asprintf(&name, "context %" PRIu32 " stream %" PRIu32 " of %s (pid %" PRIu32
			       ")", stream->context, stream->stream, process, pid);
	else
		len = asprintf(&name, "unknown stream of %s (pid %" PRIu32 ")", process, pid);
	if (len < 0)
		return -ENOMEM;
	table__row(t, (struct cell[]){
		{ .n = stream->busy_ns }, { .n = stream->nr_works },
		{ .n = s->gpus.list.v[stream->gpu].number },
		{ .n = stream->known ? stream->context : CELL_NONE },
		{ .n = stream->known ? stream->stream : CELL_NONE }, { .n = pid },
		{ .s = process }, { .s = name },
	});
	free(name);
	return 0;
}

static int text__streams(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "total", "total_ns", COLUMN_TIME }, { "count", "count", COLUMN_COUNT },
		{ "GPU", "device", COLUMN_COUNT }, { NULL, "context", COLUMN_COUNT },
		{ NULL, "stream", COLUMN_COUNT }, { NULL, "pid", COLUMN_COUNT },
		{ NULL, "process", COLUMN_NAME }, { "stream", "name", COLUMN_NAME },
	};
	ARRAY(struct stream_row) rows = { 0 };
	size_t i, shown;
	int err = 0;

	for (i = 0; i < s->streams.nr && !err; i++)
		if (s->streams.v[i].nr_works)
			err = array_push(&rows, ((struct stream_row){ s, &s->streams.v[i] }));
	if (err || (text__wants_head(opts) && !rows.nr))
		goto out;
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), stream_row__cmp);
	if (text__wants_head(opts))
		fprintf(t->f, "\nstreams: device time in %s\n", unit__name(opts->unit));
	table__begin(t, "streams", columns, ARRAY_SIZE(columns));
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown && !err; i++)
		err = text__stream_row(s, t, rows.v[i].stream);
	table__end(t);
	if (text__wants_head(opts))
		print_more(t->f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
}

/* ---- accounts ------------------------------------------------------------------------------- */

/* Where a thread's life went. Waiting for the device is taken out of what it looked like. */
struct life {
	uint64_t life_ns, on_cpu_ns, wait_ns, sum_ns;
	uint64_t off_ns[XPU_OFF_NR];
};

static struct life thread_account__life(const struct session *s, const struct thread_account *a)
{
	const struct xpu_thread_time *t = &a->rec->time;
	struct life l = {
		.life_ns = a->rec->end_ns - a->rec->start_ns,
		.on_cpu_ns = t->run_ns,
		.wait_ns = s->threads.v[a->thread].gpu_wait_ns,
	};
	uint64_t spun_ns;
	int kind;

	memcpy(l.off_ns, t->off_ns, sizeof(l.off_ns));
	/* It slept in the calls that waited, and what it did not sleep it spun. */
	spun_ns = l.wait_ns - min_t(uint64_t, l.wait_ns, l.off_ns[XPU_OFF_CALL]);
	l.off_ns[XPU_OFF_OTHER] += l.off_ns[XPU_OFF_CALL] -
				   min_t(uint64_t, l.wait_ns, l.off_ns[XPU_OFF_CALL]);
	l.off_ns[XPU_OFF_CALL] = 0;
	l.on_cpu_ns -= min_t(uint64_t, l.on_cpu_ns, spun_ns);
	l.sum_ns = l.on_cpu_ns + l.wait_ns;
	for (kind = 0; kind < XPU_OFF_NR; kind++)
		l.sum_ns += l.off_ns[kind];
	return l;
}

static int thread_account__cmp(const void *va, const void *vb)
{
	const struct thread_account *a = va, *b = vb;

	return cmp3(a->rec->start_ns, b->rec->start_ns) ?: cmp3(a->thread, b->thread);
}

static int text__threads(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "life", "life_ns", COLUMN_TIME }, { "on CPU", "on_cpu_ns", COLUMN_TIME },
		{ "lock", "lock_ns", COLUMN_TIME }, { "io", "io_ns", COLUMN_TIME },
		{ "sleep", "sleep_ns", COLUMN_TIME }, { "poll", "poll_ns", COLUMN_TIME },
		{ "child", "child_ns", COLUMN_TIME }, { "other", "other_ns", COLUMN_TIME },
		{ "runnable", "runnable_ns", COLUMN_TIME },
		{ "GPU wait", "gpu_wait_ns", COLUMN_TIME },
		{ "sum %", "sum_percent", COLUMN_SHARE },
		{ "switches", "switches", COLUMN_COUNT }, { NULL, "pid", COLUMN_COUNT },
		{ "tid", "tid", COLUMN_COUNT }, { "thread", "name", COLUMN_NAME },
	};
	struct thread_account *sorted;
	size_t i, shown;

	if (text__wants_head(opts) && !s->accounts.nr)
		return 0;
	sorted = malloc((s->accounts.nr + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	if (s->accounts.nr) {
		memcpy(sorted, s->accounts.v, s->accounts.nr * sizeof(*sorted));
		qsort(sorted, s->accounts.nr, sizeof(*sorted), thread_account__cmp);
	}
	if (text__wants_head(opts))
		fprintf(t->f, "\nthreads: %zu, where their lives went, in %s\n", s->accounts.nr,
			unit__name(opts->unit));
	table__begin(t, "threads", columns, ARRAY_SIZE(columns));
	shown = text__nr_rows(opts, s->accounts.nr);
	for (i = 0; i < shown; i++) {
		const struct thread_account *a = &sorted[i];
		const struct thread *thread = &s->threads.v[a->thread];
		struct life l = thread_account__life(s, a);

		table__row(t, (struct cell[]){
			{ .n = l.life_ns }, { .n = l.on_cpu_ns }, { .n = l.off_ns[XPU_OFF_LOCK] },
			{ .n = l.off_ns[XPU_OFF_IO] }, { .n = l.off_ns[XPU_OFF_SLEEP] },
			{ .n = l.off_ns[XPU_OFF_POLL] }, { .n = l.off_ns[XPU_OFF_CHILD] },
			{ .n = l.off_ns[XPU_OFF_OTHER] }, { .n = l.off_ns[XPU_OFF_RUNNABLE] },
			{ .n = l.wait_ns }, { .n = table__share(l.sum_ns, l.life_ns) },
			{ .n = a->rec->time.nr_switches },
			{ .n = s->machine.procs.v[thread->proc].pid }, { .n = thread->tid },
			{ .s = a->comm && *a->comm ? a->comm : "[unknown]" },
		});
	}
	table__end(t);
	if (text__wants_head(opts))
		print_more(t->f, shown, s->accounts.nr);
	free(sorted);
	return 0;
}

/* Where the thread was; NULL if that is not known. */
static const struct frame *idle_row__place(const struct session *s, const struct idle_row *row)
{
	return row->chain != NO_INDEX ? stack__place(s->chains.v[row->chain].stack) : NULL;
}

/* Rows of one thread in one place become one: whole stacks are too many to read. */
static int idle_row__cmp_same(const void *va, const void *vb, void *ctx)
{
	const struct idle_row *a = va, *b = vb;
	const struct session *s = ctx;

	return cmp3(a->gpu, b->gpu) ?: cmp3(a->doing, b->doing) ?: cmp3(a->kind, b->kind) ?:
	       cmp3(a->thread, b->thread) ?:
	       cmp3(idle_row__place(s, a), idle_row__place(s, b));
}

static int idle_row__cmp_time(const void *va, const void *vb)
{
	const struct idle_row *a = va, *b = vb;

	return cmp3(a->gpu, b->gpu) ?: cmp3(b->ns, a->ns) ?: cmp3(a->doing, b->doing) ?:
	       cmp3(a->thread, b->thread) ?: cmp3(a->chain, b->chain);
}

/* "io in SlowDataset.__getitem__" */
static void print_idle(const struct session *s, FILE *f, const struct idle_row *row)
{
	static const char *const doings[] = {
		[IDLE_OFF_CPU] = "", [IDLE_WAITED] = "waiting for the GPU",
		[IDLE_ON_CPU] = "on CPU", [IDLE_UNSEEN] = "unseen",
		[IDLE_NOBODY] = "nobody knows who launched next",
		[IDLE_SHORT] = "between works, less than 10 us each",
	};
	const struct frame *place = idle_row__place(s, row);

	fputs(*row->kind ? row->kind : doings[row->doing], f);
	if (place) {
		fputs(" in ", f);
		fputs(place->name, f);
	}
}

static char *text__idle_name(const struct session *s, const struct idle_row *row)
{
	const struct thread *thread;
	char *name = NULL;
	size_t size;
	FILE *f;

	f = open_memstream(&name, &size);
	if (!f)
		return NULL;
	if (row->thread != NO_INDEX) {
		thread = &s->threads.v[row->thread];
		fprintf(f, "%s (tid %" PRIu32 "): ",
			thread->comm ?: session__proc_name(s, thread->proc), thread->tid);
	}
	print_idle(s, f, row);
	if (fclose(f)) {
		free(name);
		return NULL;
	}
	return name;
}

static int text__idle_rows(const struct session *s, struct table *t, const struct idle_row *rows,
			   size_t nr)
{
	const struct idle_gpu *gpu;
	char *name;
	size_t i;

	for (i = 0; i < nr; i++) {
		gpu = &s->idles.gpus.v[rows[i].gpu];
		name = text__idle_name(s, &rows[i]);
		if (!name)
			return -ENOMEM;
		table__row(t, (struct cell[]){
			{ .n = table__share(rows[i].ns, gpu->to_ns - gpu->from_ns) },
			{ .n = rows[i].ns }, { .n = rows[i].nr_gaps },
			{ .n = s->gpus.list.v[rows[i].gpu].number }, { .s = name },
		});
		free(name);
	}
	return 0;
}

/* "GPU 0 idle 41.2 % of 9100.301 ms: 28.3 % io in load(), 12.0 % on CPU in step(), ..." */
static void text__idle_head(const struct session *s, FILE *f, uint32_t nr_gpu,
			    const struct idle_row *rows, size_t nr)
{
	const struct idle_gpu *gpu = &s->idles.gpus.v[nr_gpu];
	uint64_t span_ns = gpu->to_ns - gpu->from_ns;
	uint64_t permille = table__share(span_ns - gpu->busy_ns, span_ns);
	size_t i, told = 0;
	char *text = NULL;
	size_t size;
	FILE *m;

	fprintf(f, "\nGPU %" PRIu32 " idle %" PRIu64 ".%" PRIu64 " %% of %" PRIu64
		".%03u ms from its first to its last work", s->gpus.list.v[nr_gpu].number,
		permille / 10, permille % 10, span_ns / 1000000,
		(unsigned int)(span_ns / 1000 % 1000));
	for (i = 0; i < nr && told < 4; i++) {
		if (rows[i].gpu != nr_gpu)
			continue;
		permille = table__share(rows[i].ns, span_ns);
		m = permille ? open_memstream(&text, &size) : NULL;
		if (!m)
			break;
		print_idle(s, m, &rows[i]);
		fclose(m);
		fprintf(f, "%s %" PRIu64 ".%" PRIu64 " %% ", told++ ? "," : ":", permille / 10,
			permille % 10);
		escape__print(f, text ? text : "", ESCAPE_TEXT);
		free(text);
		text = NULL;
	}
	fputs(i < nr && rows[i].gpu == nr_gpu ? ", ...\n" : "\n", f);
}

/* What the devices did not do, and what those did who could have given them something to do. */
static int text__idle(const struct session *s, struct table *t, const struct text_opts *opts)
{
	static const struct column columns[] = {
		{ "time %", "time_percent", COLUMN_SHARE }, { "idle", "idle_ns", COLUMN_TIME },
		{ "gaps", "gaps", COLUMN_COUNT }, { "GPU", "device", COLUMN_COUNT },
		{ "while the thread that launched next was", "name", COLUMN_NAME },
	};
	size_t nr = s->idles.rows.nr, i, k, shown;
	struct idle_row *rows;
	int err;

	if (text__wants_head(opts) && !nr)
		return 0;
	rows = malloc((nr + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (nr) {
		memcpy(rows, s->idles.rows.v, nr * sizeof(*rows));
		qsort_r(rows, nr, sizeof(*rows), idle_row__cmp_same, (void *)s);
		for (i = 1, k = 0; i < nr; i++) {
			if (idle_row__cmp_same(&rows[k], &rows[i], (void *)s)) {
				rows[++k] = rows[i];
				continue;
			}
			rows[k].ns += rows[i].ns;
			rows[k].nr_gaps += rows[i].nr_gaps;
			rows[k].chain = min_t(uint32_t, rows[k].chain, rows[i].chain);
		}
		nr = k + 1;
		qsort(rows, nr, sizeof(*rows), idle_row__cmp_time);
	}
	for (i = 0; i < s->idles.gpus.nr && text__wants_head(opts); i++)
		if (s->idles.gpus.v[i].busy_ns)
			text__idle_head(s, t->f, i, rows, nr);
	table__begin(t, "idle", columns, ARRAY_SIZE(columns));
	shown = text__nr_rows(opts, nr);
	err = text__idle_rows(s, t, rows, shown);
	table__end(t);
	if (text__wants_head(opts))
		print_more(t->f, shown, nr);
	free(rows);
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void text__stacks(const struct session *s, FILE *f)
{
	uint64_t nr_shim = 0, nr_bpf = 0, nr_launches = 0;
	size_t i;

	for (i = 0; i < s->chains.nr; i++) {
		const struct chain *chain = &s->chains.v[i];

		if (chain->no_launch || !chain->nr_launches)
			continue;
		nr_launches += chain->nr_launches;
		if (chain->path == NO_INDEX)
			continue;
		if (s->paths.v[chain->path].rec->hdr.misc & XPU_CHAIN_SHIM)
			nr_shim += chain->nr_launches;
		else
			nr_bpf += chain->nr_launches;
	}
	fprintf(f, "\nstacks: %zu call paths; of %" PRIu64 " launches %" PRIu64
		" were unwound in the process, %" PRIu64 " by frame pointers, %" PRIu64
		" have no stack, %" PRIu64 " are truncated\n", s->paths.nr, nr_launches, nr_shim,
		nr_bpf, s->loss.no_stack, s->loss.truncated);
	fprintf(f, "frames: %" PRIu64 ", %" PRIu64 " without a function name\n", s->loss.nr_frames,
		s->loss.unsymbolized);
}

void text__write_messages(const struct session *s, FILE *f, const char *prefix)
{
	static const char *const levels[] = {
		[XPU_MESSAGE_INFO] = "info",
		[XPU_MESSAGE_WARNING] = "warning",
		[XPU_MESSAGE_ERROR] = "error",
	};
	size_t i;

	for (i = 0; i < s->messages.nr; i++) {
		const struct shim_message *m = &s->messages.v[i];

		fprintf(f, "%s%s: ", prefix, m->level && m->level < ARRAY_SIZE(levels) ?
			levels[m->level] : "message");
		escape__print(f, session__proc_name(s, m->proc), ESCAPE_TEXT);
		fprintf(f, " (pid %" PRIu32 "): ", s->machine.procs.v[m->proc].pid);
		escape__print(f, m->text, ESCAPE_TEXT);
		fputc('\n', f);
	}
}

static const struct {
	const char *name;
	int (*write)(const struct session *s, struct table *t, const struct text_opts *opts);
} tables[] = {
	{ "kernels", text__kernels },
	{ "memory_time", text__memory_by_time },
	{ "memory_size", text__memory_by_size },
	{ "launch_sites", text__paths },
	{ "cpu_functions", text__functions },
	{ "devices", text__devices },
	{ "streams", text__streams },
	{ "threads", text__threads },
	{ "idle", text__idle },
};

bool text__has_table(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		if (!strcmp(tables[i].name, name))
			return true;
	return false;
}

/* All tables, or the one that is asked for. */
static int text__tables(const struct session *s, FILE *f, const struct text_opts *opts)
{
	struct table t = {
		.f = f, .format = opts->format, .unit = opts->unit, .alone = opts->table,
	};
	int err = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables) && !err; i++)
		if (!opts->table || !strcmp(opts->table, tables[i].name))
			err = tables[i].write(s, &t, opts);
	return err;
}

static int text__write_json(const struct session *s, FILE *f, const struct text_opts *opts)
{
	int err;

	fprintf(f, "{\n\"account\": {\"launches\": %" PRIu64 ", \"matched\": %" PRIu64
		", \"unmatched\": %" PRIu64 ", \"lost\": %" PRIu64 "},\n", s->loss.nr_launches,
		s->loss.nr_matched, loss__unmatched(&s->loss), loss__lost(&s->loss));
	err = text__tables(s, f, opts);
	fputs("\n}\n", f);
	return err;
}

int text__write(const struct session *s, FILE *f, const struct text_opts *opts)
{
	size_t i;
	int err;

	if (opts->format == TABLE_JSON)
		return text__write_json(s, f, opts);
	if (opts->format == TABLE_CSV || opts->table)
		return text__tables(s, f, opts);
	for (i = 0; i < s->inputs.nr; i++) {
		text__write_head(s, &s->inputs.v[i], f);
		fputc('\n', f);
	}
	session__print_loss(s, f);
	err = text__tables(s, f, opts);
	if (err)
		return err;
	text__stacks(s, f);
	if (s->messages.nr)
		fputs("\nmessages of the shim:\n", f);
	text__write_messages(s, f, "  ");
	return 0;
}
