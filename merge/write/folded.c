// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "util.h"

const char *const by_names[NR_BY + 1] = {
	[BY_COMM] = "comm", [BY_HOST] = "host", [BY_PID] = "pid", [BY_TID] = "tid",
	[BY_DEVICE] = "device", [BY_STREAM] = "stream", [BY_RANGE] = "nvtx",
	[BY_RANK] = "rank", [BY_NODE] = "node", [BY_POD] = "pod", [BY_CONTAINER] = "container",
	[BY_JOB] = "job", [BY_SHAPE] = "shape",
};

struct line_sum {
	uint64_t sum_ns;
	uint64_t nr;
	uint64_t bytes;
	uint64_t nr_samples;		/* number of the line's CPU samples, whose time is
					 * samples_ns */
	uint64_t samples_ns;
	bool has_bytes;
};

/* Equal call paths have one line, even if their addresses or their recordings differ. */
struct line {
	const char *text;
	struct line_sum sum;
};

typedef folded_text_t buf_t;

static int buf__put(buf_t *buf, const char *s, size_t len)
{
	int err = array_reserve(buf, buf->nr + len);

	if (err || !len)
		return err;		/* the buffer may not have been allocated yet */
	memcpy(buf->v + buf->nr, s, len);
	buf->nr += len;
	return 0;
}

static int buf__put_name(buf_t *buf, const char *name)
{
	char out[ESCAPE_MAX];
	size_t len;
	int err;

	for (;;) {
		len = escape__plain(name);
		err = len ? buf__put(buf, name, len) : 0;
		name += len;
		len = err ? 0 : escape__next(&name, ESCAPE_FOLDED, out);
		if (!len)
			return err;
		err = buf__put(buf, out, len);
		if (err)
			return err;
	}
}

/* Appends the frames of @place, which are already separated by ";". */
static int buf__put_frames(buf_t *buf, const char *place)
{
	int err = 0;
	char *name;

	while (!err && (name = leaf_place__frame(&place))) {
		err = buf__put_name(buf, name) ?: *place ? buf__put(buf, ";", 1) : 0;
		free(name);
	}
	return err ?: place ? -ENOMEM : 0;
}

static int buf__put_leaf(buf_t *buf, const struct session *s, const struct leaf *leaf,
			 bool numbered)
{
	const struct leaf_part *part = leaf__part(&s->model.leaves, leaf);
	char label[LEAF_LABEL_MAX];
	int err;

	leaf__label(&s->model.gpus, leaf, numbered, label);
	err = buf__put(buf, label, strlen(label)) ?: buf__put_name(buf, leaf->name);
	if (!err && part)
		err = buf__put(buf, ";", 1) ?: buf__put_frames(buf, part->place->place) ?:
		      *part->place->place ? buf__put(buf, ";", 1) : 0;
	if (!err && part)
		err = buf__put(buf, part->place->label, strlen(part->place->label)) ?:
		      buf__put_name(buf, part->place->reason);
	return err;
}

uint32_t folded__nr_roots(const struct session *s, const struct aggregate *a, enum by by)
{
	uint32_t path[XPU_RANGE_DEPTH + 1];

	return by == BY_RANGE ?
	       ranges__path(&s->model.ranges, s->model.chains.v[a->chain].range, path) ?: 1 : 1;
}

/* Appends a frame for an NVTX range. @nr: index of the open range; the outermost range has 0 */
static int buf__put_range(buf_t *buf, const struct session *s, uint32_t range, uint32_t nr)
{
	uint32_t path[XPU_RANGE_DEPTH + 1];

	if (nr >= ranges__path(&s->model.ranges, range, path))
		return buf__put(buf, "[no NVTX range]", 15);
	return buf__put(buf, "[NVTX]", 6) ?:
	       buf__put_name(buf, ranges__name(&s->model.ranges, path[nr]));
}

/* Appends "[node n1]". */
static int buf__put_label(buf_t *buf, const struct session *s, uint32_t proc, enum by by)
{
	static const struct {
		const char *what;
		enum process_label label;
	} labels[NR_BY] = {
		[BY_NODE] = { "node", PROCESS_NODE },
		[BY_POD] = { "pod", PROCESS_POD },
		[BY_CONTAINER] = { "container", PROCESS_CONTAINER },
		[BY_JOB] = { "job", PROCESS_JOB },
	};
	char *text = model__process_label(&s->model, proc, labels[by].label);
	int err;

	err = buf__put(buf, "[", 1) ?: buf__put(buf, labels[by].what, strlen(labels[by].what)) ?:
	      buf__put(buf, " ", 1) ?: buf__put_name(buf, text ?: "unknown") ?:
	      buf__put(buf, "]", 1);
	free(text);
	return err;
}

int folded__put_root(folded_text_t *buf, const struct session *s, const struct aggregate *a,
		     enum by by, uint32_t nr)
{
	const struct owner *owner = aggregate__owner(&s->sums.aggregates, a);
	const struct leaf *leaf = &s->model.leaves.v[a->leaf];
	uint32_t number = 0, proc = s->model.chains.v[a->chain].proc;
	const char *what = NULL, *host = "";
	bool known = false;
	char label[64];
	int len, err;

	switch (by) {
	case BY_PID:
		what = "pid";
		number = s->model.machine.procs.v[proc].pid;
		known = number;
		host = model__host(&s->model, proc);
		break;
	case BY_HOST:
		host = s->model.inputs.v[s->model.machine.procs.v[proc].recording].host;
		err = buf__put(buf, "[host ", 6);
		err = err ?: buf__put_name(buf, *host ? host : "unknown");
		return err ?: buf__put(buf, "]", 1);
	case BY_RANK:
		what = "rank";
		number = model__rank(&s->model, proc);
		known = number != NO_INDEX;
		break;
	case BY_NODE:
	case BY_POD:
	case BY_CONTAINER:
	case BY_JOB:
		return buf__put_label(buf, s, proc, by);
	case BY_TID:
		what = "tid";
		known = owner->thread != NO_INDEX;
		number = known ? s->model.threads.v[owner->thread].tid : 0;
		break;
	case BY_DEVICE:
		what = "GPU";
		known = leaf_kind__is_device(leaf->kind);
		number = known ? s->model.gpus.list.v[leaf->gpu].number : 0;
		break;
	case BY_STREAM:
		what = "stream";
		known = owner->stream != NO_INDEX && s->model.streams.v[owner->stream].known;
		number = known ? s->model.streams.v[owner->stream].stream : 0;
		break;
	case BY_RANGE:
		return buf__put_range(buf, s, s->model.chains.v[a->chain].range, nr);
	default:
		return buf__put_name(buf, *owner->comm ? owner->comm : "[unknown]");
	}
	if (known)
		len = snprintf(label, sizeof(label), "[%s %" PRIu32, what, number);
	else
		len = snprintf(label, sizeof(label), "[%s unknown", what);
	err = buf__put(buf, label, len);
	if (!err && *host)
		err = buf__put(buf, " on ", 4) ?: buf__put_name(buf, host);
	return err ?: buf__put(buf, "]", 1);
}

/* Appends comm;frame;...;leaf, with a NUL. */
static int buf__put_line(buf_t *buf, const struct session *s, const struct aggregate *a,
			 const struct folded_opts *opts, bool numbered)
{
	const struct stack *stack = s->model.chains.v[a->chain].stack;
	bool wait = LEAVES_WAIT & 1u << s->model.leaves.v[a->leaf].kind;
	uint32_t i, k;
	int err = wait ? buf__put(buf, FOLDED_WAITS ";", strlen(FOLDED_WAITS ";")) : 0;

	for (i = 0; i < by_list__nr(&opts->by); i++) {
		enum by by = opts->by.v[i];

		for (k = 0; k < folded__nr_roots(s, a, by) && !err; k++) {
			if (i || k)
				err = buf__put(buf, ";", 1);
			err = err ?: folded__put_root(buf, s, a, by, k);
		}
	}
	for (i = 0; i < stack->nr && !err; i++) {
		err = buf__put(buf, ";", 1);
		err = err ?: buf__put_name(buf, stack->frames[i]->name);
	}
	if (!err && s->model.leaves.v[a->leaf].kind != LEAF_CPU)
		err = buf__put(buf, ";", 1) ?:
		      buf__put_leaf(buf, s, &s->model.leaves.v[a->leaf], numbered);
	return err ?: buf__put(buf, "", 1);
}

static int line__cmp(const void *va, const void *vb)
{
	const struct line *a = va, *b = vb;

	return strcmp(a->text, b->text);
}

/* Return: the line's value in the unit, rounded to the nearest integer; halves are rounded up. */
static uint64_t line_sum__value(const struct line_sum *line, const struct folded_opts *opts,
			    uint32_t freq_hz)
{
	switch (opts->unit) {
	case UNIT_NS:
		return line->sum_ns;
	case UNIT_US:
		return line->sum_ns / 1000 + (line->sum_ns % 1000 >= 500);
	case UNIT_MS:
		return line->sum_ns / 1000000 + (line->sum_ns % 1000000 >= 500000);
	case UNIT_SAMPLES:
		return line->nr_samples + ((unsigned __int128)(line->sum_ns - line->samples_ns) *
					   freq_hz + 500000000) / 1000000000;
	case UNIT_COUNT:
		return line->nr;
	case UNIT_BYTES:
		return line->bytes;
	}
	return 0;
}

bool folded__wants(const struct session *s, enum unit unit, enum leaf_kind kind)
{
	if (kind == LEAF_MEMORY)
		return unit == UNIT_BYTES || unit == UNIT_COUNT;
	if (unit == UNIT_BYTES ||
	    (unit == UNIT_COUNT && (s->opts.without & LEAVES_DEVICE) != LEAVES_DEVICE))
		return LEAVES_DEVICE & 1u << kind;
	return true;
}

/* all lines, each once */
struct lines {
	ARRAY(struct line) list;
	struct strpool texts;
};

static void line_sum__add(struct line_sum *sum, const struct session *s, const struct aggregate *a,
			  bool as_recorded)
{
	enum leaf_kind kind = s->model.leaves.v[a->leaf].kind;

	sum->sum_ns += a->sum_ns;
	sum->nr += a->nr;
	sum->bytes += aggregate__spread(&s->sums.aggregates, a).bytes;
	sum->has_bytes = kind != LEAF_KERNEL;
	if (kind == LEAF_CPU && as_recorded) {
		sum->nr_samples += a->nr;
		sum->samples_ns += a->sum_ns;
	}
}

static int lines__add(struct lines *lines, const struct session *s, const struct aggregate *a,
		      const buf_t *text, bool as_recorded)
{
	const char *copy = strpool__intern(&lines->texts, text->v, text->nr - 1);
	int err = copy ? 0 : -ENOMEM;

	if (!err && strpool__id(copy) == lines->list.nr)
		err = array_push(&lines->list, ((struct line){ .text = copy }));
	if (!err)
		line_sum__add(&lines->list.v[strpool__id(copy)].sum, s, a, as_recorded);
	return err;
}

/* Makes the lines, and sorts them. */
static int lines__collect(struct lines *lines, const struct session *s,
			  const struct folded_opts *opts, bool as_recorded)
{
	bool numbered = gpus__nr_used(&s->model.gpus) > 1;
	buf_t buf = { 0 };
	int err = 0;

	array_each_while(&s->sums.aggregates, a, !err) {
		if (!folded__wants(s, opts->unit, s->model.leaves.v[a->leaf].kind) ||
		    (!opts->waits && LEAVES_WAIT & 1u << s->model.leaves.v[a->leaf].kind))
			continue;
		/* Skip CPU time without samples. */
		if (!a->nr &&
		    (opts->unit == UNIT_COUNT || (opts->unit == UNIT_SAMPLES && as_recorded)))
			continue;
		buf.nr = 0;
		err = buf__put_line(&buf, s, a, opts, numbered) ?:
		      lines__add(lines, s, a, &buf, as_recorded);
	}
	array_free(&buf);
	if (!err && lines->list.nr)
		array_qsort(&lines->list, line__cmp);
	return err;
}

static void lines__write(const struct lines *lines, FILE *f, const struct folded_opts *opts,
			 uint32_t freq_hz, struct folded_result *result)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < lines->list.nr; i++) {
		const struct line_sum *sum = &lines->list.v[i].sum;

		value = line_sum__value(sum, opts, freq_hz);
		fprintf(f, "%s %" PRIu64 "\n", lines->list.v[i].text, value);
		result->nr_lines++;
		if (opts->unit == UNIT_BYTES) {
			result->nr_without_bytes += !sum->has_bytes;
		} else if (!value && sum->sum_ns) {
			result->nr_rounded_away++;
			result->rounded_away_ns += sum->sum_ns;
		}
	}
}

int folded__write(const struct session *s, FILE *f, const struct folded_opts *opts,
		  struct folded_result *result)
{
	uint32_t freq_hz = opts->freq_hz ?: model__freq_hz(&s->model) ?: 99;
	struct lines lines = { 0 };
	int err;

	memset(result, 0, sizeof(*result));
	err = lines__collect(&lines, s, opts, freq_hz == model__freq_hz(&s->model));
	if (!err)
		lines__write(&lines, f, opts, freq_hz, result);
	array_free(&lines.list);
	strpool__free(&lines.texts);
	return err;
}
