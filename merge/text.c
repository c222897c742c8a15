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

/* ---- cells ---------------------------------------------------------------------------------- */

static const char *unit__name(enum unit unit)
{
	return unit == UNIT_NS ? "ns" : unit == UNIT_MS ? "ms" : "us";
}

/* A time in integers: no digit is rounded away but in ms, where three stay. */
static void print_ns(FILE *f, uint64_t ns, enum unit unit)
{
	char cell[32];

	if (unit == UNIT_NS)
		snprintf(cell, sizeof(cell), "%" PRIu64, ns);
	else if (unit == UNIT_MS)
		snprintf(cell, sizeof(cell), "%" PRIu64 ".%03u", ns / 1000000,
			 (unsigned int)(ns / 1000 % 1000));
	else
		snprintf(cell, sizeof(cell), "%" PRIu64 ".%03u", ns / 1000,
			 (unsigned int)(ns % 1000));
	fprintf(f, " %14s", cell);
}

static void print_share(FILE *f, uint64_t part, uint64_t whole)
{
	/* In tenths of a percent; 128 bits because a sum of ns times 1000 may need them. */
	uint64_t tenths = whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;

	fprintf(f, "  %3u.%u%%", (unsigned int)(tenths / 10), (unsigned int)(tenths % 10));
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

static int text__kernels(const struct session *s, FILE *f, const struct text_opts *opts)
{
	const char *unit = unit__name(opts->unit);
	rows_t rows = { 0 };
	uint64_t sum_ns;
	size_t i, shown;
	int err = 0;

	for (i = 0; i < s->aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->aggregates.v[i];
		const struct leaf *leaf = &s->leaves.v[a->leaf];

		if (leaf->kind == LEAF_KERNEL)
			err = rows__add(&rows, a, (uintptr_t)leaf->name, 0, 0);
	}
	if (err)
		goto out;
	rows__group(&rows);
	sum_ns = rows__sum_ns(&rows);
	fprintf(f, "\nkernels: %" PRIu64 " of %zu names, times in %s\n", s->nr_works[LEAF_KERNEL],
		rows.nr, unit);
	if (rows.nr)
		fprintf(f, "  %6s %14s %10s %14s %14s %14s  %s\n", "share", "total", "count",
			"mean", "min", "max", "name");
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown; i++) {
		const struct row *row = &rows.v[i];

		print_share(f, row->sum_ns, sum_ns);
		print_ns(f, row->sum_ns, opts->unit);
		fprintf(f, " %10" PRIu64, row->nr);
		print_ns(f, row->sum_ns / row->nr, opts->unit);
		print_ns(f, row->min_ns, opts->unit);
		print_ns(f, row->max_ns, opts->unit);
		fputs("  ", f);
		escape__print(f, s->leaves.v[row->a->leaf].name, ESCAPE_TEXT);
		fputc('\n', f);
	}
	print_more(f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
}

static int text__memory(const struct session *s, FILE *f, const struct text_opts *opts)
{
	rows_t rows = { 0 };
	size_t i, shown;
	int err = 0;

	for (i = 0; i < s->aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->aggregates.v[i];
		const struct leaf *leaf = &s->leaves.v[a->leaf];

		if (leaf->kind == LEAF_MEMCPY || leaf->kind == LEAF_MEMSET)
			err = rows__add(&rows, a, leaf->kind, (uintptr_t)leaf->name, 0);
	}
	if (err || !rows.nr)
		goto out;
	rows__group(&rows);
	fprintf(f, "\nmemory operations: %" PRIu64 " copies, %" PRIu64 " sets, times in %s\n",
		s->nr_works[LEAF_MEMCPY], s->nr_works[LEAF_MEMSET], unit__name(opts->unit));
	fprintf(f, "  %14s %10s %14s %14s %16s  %s\n", "total", "count", "mean", "max", "bytes",
		"kind");
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown; i++) {
		const struct row *row = &rows.v[i];
		const struct leaf *leaf = &s->leaves.v[row->a->leaf];

		fputc(' ', f);
		print_ns(f, row->sum_ns, opts->unit);
		fprintf(f, " %10" PRIu64, row->nr);
		print_ns(f, row->sum_ns / row->nr, opts->unit);
		print_ns(f, row->max_ns, opts->unit);
		fprintf(f, " %16" PRIu64 "  %s%s%s\n", row->bytes,
			leaf->kind == LEAF_MEMCPY ? "memcpy" : "memset", *leaf->name ? " " : "",
			leaf->name);
	}
	print_more(f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
}

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

static int text__paths(const struct session *s, FILE *f, const struct text_opts *opts)
{
	rows_t rows = { 0 };
	uint64_t sum_ns;
	size_t i, shown;
	int err = 0;

	for (i = 0; i < s->aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->aggregates.v[i];
		enum leaf_kind kind = s->leaves.v[a->leaf].kind;

		if (leaf_kind__is_device(kind) || kind == LEAF_PENDING)
			err = rows__add(&rows, a, (uintptr_t)s->chains.v[a->chain].stack,
					(uintptr_t)a->comm, kind == LEAF_PENDING);
	}
	if (err)
		goto out;
	rows__group(&rows);
	sum_ns = rows__sum_ns(&rows);
	fprintf(f, "\nlaunch paths: %zu, device time in %s\n", rows.nr, unit__name(opts->unit));
	if (rows.nr)
		fprintf(f, "  %6s %14s %10s  %s\n", "share", "total", "count", "path");
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown; i++) {
		const struct row *row = &rows.v[i];

		print_share(f, row->sum_ns, sum_ns);
		print_ns(f, row->sum_ns, opts->unit);
		fprintf(f, " %10" PRIu64 "  ", row->nr);
		escape__print(f, *row->a->comm ? row->a->comm : "[unknown]", ESCAPE_TEXT);
		fputs(": ", f);
		print_stack(f, s->chains.v[row->a->chain].stack);
		fputs(row->group[2] ? " (pending)\n" : "\n", f);
	}
	print_more(f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
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

static int text__devices(const struct session *s, FILE *f, const struct text_opts *opts)
{
	ARRAY(struct stream_row) rows = { 0 };
	const struct gpu *gpu = NULL;
	size_t i, shown;
	int err = 0;

	for (i = 0; i < s->streams.nr && !err; i++)
		if (s->streams.v[i].nr_works)
			err = array_push(&rows, ((struct stream_row){ s, &s->streams.v[i] }));
	if (err || !rows.nr)
		goto out;
	qsort(rows.v, rows.nr, sizeof(*rows.v), stream_row__cmp);
	fprintf(f, "\ndevices and streams: device time in %s\n", unit__name(opts->unit));
	fprintf(f, "  %14s %10s\n", "total", "count");
	shown = text__nr_rows(opts, rows.nr);
	for (i = 0; i < shown; i++) {
		const struct stream *stream = rows.v[i].stream;

		if (gpu != &s->gpus.list.v[stream->gpu]) {
			gpu = &s->gpus.list.v[stream->gpu];
			fputc(' ', f);
			print_ns(f, gpu->busy_ns, opts->unit);
			fprintf(f, " %10" PRIu64 "  GPU %" PRIu32 "%s", gpu->nr_works, gpu->number,
				gpu->name ? " " : "");
			escape__print(f, gpu->name ? gpu->name : "", ESCAPE_TEXT);
			fputc('\n', f);
		}
		fputc(' ', f);
		print_ns(f, stream->busy_ns, opts->unit);
		fprintf(f, " %10" PRIu64 "    ", stream->nr_works);
		if (stream->known)
			fprintf(f, "context %" PRIu32 " stream %" PRIu32, stream->context,
				stream->stream);
		else
			fputs("unknown stream", f);
		fputs(" of ", f);
		escape__print(f, session__proc_name(s, stream->proc), ESCAPE_TEXT);
		fprintf(f, " (pid %" PRIu32 ")\n", s->machine.procs.v[stream->proc].pid);
	}
	print_more(f, shown, rows.nr);
out:
	array_free(&rows);
	return err;
}

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

int text__write(const struct session *s, FILE *f, const struct text_opts *opts)
{
	size_t i;
	int err;

	for (i = 0; i < s->inputs.nr; i++) {
		text__write_head(s, &s->inputs.v[i], f);
		fputc('\n', f);
	}
	session__print_loss(s, f);
	err = text__kernels(s, f, opts);
	if (!err)
		err = text__memory(s, f, opts);
	if (!err)
		err = text__paths(s, f, opts);
	if (!err)
		err = text__devices(s, f, opts);
	if (err)
		return err;
	text__stacks(s, f);
	if (s->messages.nr)
		fputs("\nmessages of the shim:\n", f);
	text__write_messages(s, f, "  ");
	return 0;
}
