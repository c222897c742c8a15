// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/results.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "memory/place_allocs.h"
#include "memory/state.h"
#include "memory/views.h"
#include "write/section.h"
#include "write/shorten.h"
#include "xpu_time.h"

#define GROWS_PARTS	3		/* memory grows if at least this many of the
					 * HEAP_GROWTH_PARTS left memory allocated */

/* ---- devices --------------------------------------------------------------------------------- */

/* a device, or the host, of one recording */
struct place_row {
	const struct heap *heap;
	const struct heap_place *place;
};

static int memory_devices__collect(struct section_rows *to)
{
	const struct memory_state *memory = memory_state__of(&to->s->model);
	ARRAY(struct place_row) rows = { 0 };
	size_t i, k;
	int err = 0;

	for (i = 0; i < memory->heaps.nr; i++)
		for (k = 0; k < memory->heaps.v[i].places.nr && !err; k++)
			if (memory->heaps.v[i].places.v[k].reserved.peak)
				err = array_push(&rows, ((struct place_row){
					&memory->heaps.v[i], &memory->heaps.v[i].places.v[k],
				}));
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void memory_devices__head(const struct section_rows *rows, FILE *f)
{
	const struct memory_state *memory = memory_state__of(&rows->s->model);
	uint64_t nr_totals = 0, nr_wrong = 0, nr_events = 0;
	size_t i;

	for (i = 0; i < memory->heaps.nr; i++) {
		nr_totals += memory->heaps.v[i].nr_totals;
		nr_wrong += memory->heaps.v[i].nr_wrong_totals;
		nr_events += memory->heaps.v[i].nr_events;
	}
	fprintf(f, "memory: %" PRIu64 " event%s; used: blocks of allocators, and memory outside of "
		"allocators; times since the start", nr_events, PLURAL(nr_events, "", "s"));
	if (nr_totals)
		fprintf(f, "; %" PRIu64 " total%s of the allocator's own compared, %" PRIu64 " %s",
			nr_totals, PLURAL(nr_totals, "", "s"), nr_wrong,
			PLURAL(nr_wrong, "differs", "differ"));
	fputc('\n', f);
}

static void place__name(const struct model *m, const struct heap_place *p, char name[32])
{
	if (p->gpu == NO_INDEX)
		snprintf(name, 32, "host");
	else
		snprintf(name, 32, "GPU %" PRIu32, m->gpus.list.v[p->gpu].number);
}

static int memory_devices__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct place_row *row = vrow;
	const struct heap_place *p = row->place;
	const struct model *m = &rows->s->model;
	uint64_t peak_ns = xpu_ns_between(m->start_ns, p->used.peak_ns);
	char name[32];

	place__name(m, p, name);
	return table__row(t, (struct cell[]){
		{ .n = p->used.peak }, { .n = peak_ns }, { .n = p->reserved.peak },
		{ .n = p->blocks.peak }, { .n = p->segments.peak },
		{ .s = name },
	});
}

static const struct column memory_devices_columns[] = {
	{ "used, peak", "used_peak", COLUMN_BYTES, 0 },
	{ "at", "used_peak_ns", COLUMN_TIME, 1 },
	{ "reserved, peak", "reserved_peak", COLUMN_BYTES, 0 },
	{ "blocks, peak", "blocks_peak", COLUMN_BYTES, 0 },
	{ "segments, peak", "segments_peak", COLUMN_BYTES, 0 },
	{ "device", "device", COLUMN_NAME, 0 },
};

SECTION(memory_devices, struct place_row, .in_bytes = true,
	.from = "xpuload --memory records them");

static bool has_heaps(const struct session *s)
{
	return memory_state__of(&s->model)->heaps.nr;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* a device, or the host, of one recording at a moment */
struct instant_row {
	const struct heap_place *place;
	uint64_t at_ns;			/* CELL_NONE: the moment is the last refusal */
	struct heap_parts parts;
	uint64_t segments;		/* CELL_NONE: unknown */
	bool knows_rest;
};

typedef ARRAY(struct instant_row) instant_rows_t;

/*
 * Adds the rows of the requested moments. At the last moment, the rest of a device is computed for
 * all recordings together. At the other moments, each recording counts the memory of other
 * recordings as rest.
 * Return: 0 or -ENOMEM.
 */
static int instant_rows__add_asked(instant_rows_t *rows, const struct session *s,
				   const struct heap *h, const struct heap_parts *last)
{
	bool is_alone = memory_state__of(&s->model)->heaps.nr == 1;
	int err = 0;

	array_each_while(&h->instants, at, !err) {
		bool is_last = at->moment == h->nr_at - 1;

		err = array_push(rows, ((struct instant_row){
			.place = &h->places.v[at->place],
			.parts = is_last ? last[at->place] : at->parts,
			.at_ns = h->asked_is_failure ? CELL_NONE : h->at_ns[at->moment],
			.segments = at->segments, .knows_rest = is_last || is_alone,
		}));
	}
	return err;
}

/*
 * Adds rows for the places that --memory peak shows: all at the recording's peak, or each at its
 * own peak. Return: 0 or -ENOMEM.
 */
static int instant_rows__add_peak(instant_rows_t *rows, const struct session *s,
				  const struct heap *h, const struct heap_parts *parts)
{
	enum heap_moment moment;
	uint64_t time_ns;
	size_t i;
	int err = 0;

	for (i = 0; i < h->places.nr && !err; i++)
		if (heap__shows_peak(h, &s->opts, i, &moment) &&
		    heap__moment(h, &h->places.v[i], moment, &time_ns))
			err = array_push(rows, ((struct instant_row){
				.place = &h->places.v[i],
				.at_ns = xpu_ns_between(s->model.start_ns, time_ns),
				.parts = parts[i], .segments = CELL_NONE, .knows_rest = true,
			}));
	return err;
}

/* Adds the rows of the requested moments, or of the peak. Return: 0 or -ENOMEM. */
static int instant_rows__add(instant_rows_t *rows, const struct session *s, const struct heap *h,
			     bool peak)
{
	struct heap_parts *parts = calloc(h->places.nr + 1, sizeof(*parts));
	enum heap_moment moment = HEAP_ASKED;
	int err;

	if (!parts)
		return -ENOMEM;
	if (peak && h->places.nr)
		heap__shows_peak(h, &s->opts, 0, &moment);
	heap__parts_at(h, moment, parts);
	err = peak ? instant_rows__add_peak(rows, s, h, parts) :
	      instant_rows__add_asked(rows, s, h, parts);
	free(parts);
	return err;
}

static int memory_moments__collect(struct section_rows *to)
{
	const struct memory_state *memory = memory_state__of(&to->s->model);
	instant_rows_t rows = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < memory->heaps.nr && !err; i++)
		err = instant_rows__add(&rows, to->s, &memory->heaps.v[i],
					!memory__moments(&to->s->opts).nr);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void memory_moments__head(const struct section_rows *rows, FILE *f)
{
	struct moments moments = memory__moments(&rows->s->opts);

	fprintf(f, "memory at %s: used = blocks + outside of allocators, reserved = used + "
		"fragmentation + unused in pools, held = reserved + rest of the device\n",
		moments.at_failure ? "the last refusal" :
		moments.nr ? "the moments asked for" : "the peak");
}

static int memory_moments__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct instant_row *row = vrow;
	const struct heap_parts *p = &row->parts;
	char name[32];

	place__name(&rows->s->model, row->place, name);
	return table__row(t, (struct cell[]){
		{ .n = row->at_ns }, { .n = heap_parts__used(p) }, { .n = heap_parts__reserved(p) },
		{ .n = p->blocks }, { .n = row->segments }, { .n = p->outside },
		{ .n = p->fragmentation }, { .n = p->unused },
		{ .n = row->knows_rest ? p->rest : CELL_NONE },
		{ .n = row->knows_rest ? heap_parts__held(p) : CELL_NONE }, { .s = name },
	});
}

static const struct column memory_moments_columns[] = {
	{ "at", "at_ns", COLUMN_TIME, 0 }, { "used", "used", COLUMN_BYTES, 0 },
	{ "reserved", "reserved", COLUMN_BYTES, 0 }, { "blocks", "blocks", COLUMN_BYTES, 1 },
	{ "segments", "segments", COLUMN_BYTES, 3 }, { "outside", "outside", COLUMN_BYTES, 2 },
	{ "fragmentation", "fragmentation", COLUMN_BYTES, 1 },
	{ "unused", "unused", COLUMN_BYTES, 2 }, { "rest", "rest", COLUMN_BYTES, 1 },
	{ "held", "held", COLUMN_BYTES, 0 }, { "device", "device", COLUMN_NAME, 0 },
};

SECTION(memory_moments, struct instant_row, .in_bytes = true,
	.from = "xpuload --memory records them");

/* ---- holders --------------------------------------------------------------------------------- */

/* all holders with one call path and kind of memory */
struct holder_row {
	const struct stack *stack;
	uint32_t gpu, kind;
	uint64_t bytes, nr;		/* at the shown moment */
	uint64_t made_bytes, nr_made, nr_freed, lived_ns;
	uint64_t left_bytes, nr_left;	/* never freed */
	uint64_t first_ns, last_ns;
	uint64_t low[HEAP_PARTS];
	struct heap_growth growth;
};

struct holder_rows {
	ARRAY(struct holder_row) list;
	struct hashes by_group;
	uint64_t secret;
};

static bool holder_row__is(const struct holder_row *a, const struct holder_row *b)
{
	return a->stack == b->stack && a->gpu == b->gpu && a->kind == b->kind;
}

static int holder_rows__get(struct holder_rows *rows, const struct stack *stack, uint32_t gpu,
			    uint32_t kind, struct holder_row **row)
{
	uint32_t hash = hash__mix((uintptr_t)stack, ID_KEY(gpu, kind), rows->secret), i;
	const struct holder_row new = { .stack = stack, .gpu = gpu, .kind = kind };
	int err;

	err = hashes_get(&rows->by_group, hash, &rows->list, i,
			 holder_row__is(&rows->list.v[i], &new), new);
	*row = err ? NULL : &rows->list.v[i];
	return err;
}

static int holder_rows__add(struct holder_rows *rows, const struct session *s, const struct heap *h,
			    const struct holder *holder, bool peak)
{
	static const struct heap_sum none;
	enum heap_moment moment;
	bool has_peak = heap__shows_peak(h, &s->opts, holder->key.place, &moment);
	struct heap_sum sum = h->has_asked && !peak ? holder__at(h, holder, HEAP_ASKED) :
			      has_peak ? holder__at(h, holder, moment) : none;
	struct holder_row *row;
	size_t i;
	int err;

	err = holder_rows__get(rows, s->model.chains.v[holder->key.chain].stack,
			       h->places.v[holder->key.place].gpu, holder->key.kind, &row);
	if (err)
		return err;
	row->bytes += sum.bytes;
	row->nr += sum.nr;
	if (holder->key.elsewhen)
		return 0;
	row->made_bytes += holder->made.bytes;
	row->nr_made += holder->made.nr;
	row->nr_freed += holder->nr_freed;
	row->lived_ns += holder->lived_ns;
	if (holder->never_freed.nr) {
		row->first_ns = row->nr_left ? min_t(uint64_t, row->first_ns, holder->first_ns) :
				holder->first_ns;
		row->last_ns = max_t(uint64_t, row->last_ns, holder->last_ns);
		row->left_bytes += holder->never_freed.bytes;
		row->nr_left += holder->never_freed.nr;
	}
	for (i = 0; i < HEAP_PARTS; i++)
		row->low[i] += holder->low[i];
	return 0;
}

/*
 * Collects the rows for which @wants is true, in the order of @compare. @peak: show the peak, even
 * if another moment was requested
 */
static int collect_holders(struct section_rows *to, bool (*wants)(const struct holder_row *row),
			   int (*compare)(const void *a, const void *b), bool peak)
{
	struct holder_rows rows = { .secret = secret() };
	const struct memory_state *memory = memory_state__of(&to->s->model);
	size_t i, k;
	int err = 0;

	for (i = 0; i < memory->heaps.nr; i++)
		for (k = 0; k < memory->heaps.v[i].holders.nr && !err; k++)
			err = holder_rows__add(&rows, to->s, &memory->heaps.v[i],
					       &memory->heaps.v[i].holders.v[k], peak);
	hashes__free(&rows.by_group);
	for (i = 0; i < rows.list.nr; i++)
		rows.list.v[i].growth = heap_growth__of(rows.list.v[i].low);
	for (i = k = 0; i < rows.list.nr; i++)
		if (wants(&rows.list.v[i]))
			rows.list.v[k++] = rows.list.v[i];
	if (k)
		qsort(rows.list.v, k, sizeof(*rows.list.v), compare);
	to->v = rows.list.v;
	to->nr = k;
	for (i = 0; i < k; i++)
		to->sum_ns += rows.list.v[i].bytes;
	return err;
}

/* Return: the path and the kind of memory, for the caller to free(), or NULL. */
static char *holder_row__name(const struct session *s, const struct holder_row *row,
			      enum table_format format)
{
	const struct leaf leaf = { .kind = LEAF_MEMORY, .gpu = row->gpu };
	bool numbered = gpus__nr_used(&s->model.gpus) > 1;
	char *path = stack__path(row->stack, format, NULL), *name = NULL;
	char label[LEAF_LABEL_MAX];

	leaf__label(&s->model.gpus, &leaf, numbered, label);
	if (path &&
	    asprintf(&name, "%s%c%s%s", path, format == TABLE_TEXT ? SHORTEN_FRAME : ';', label,
		     heap_kind__name(row->kind)) < 0)
		name = NULL;
	free(path);
	return name;
}

static bool held_at_moment(const struct holder_row *row)
{
	return row->bytes && row->kind != HEAP_FAILED;
}

static int by_bytes(const void *va, const void *vb)
{
	const struct holder_row *a = va, *b = vb;

	return cmp3(b->bytes, a->bytes) ?: cmp3(b->nr, a->nr) ?: cmp3(a->kind, b->kind);
}

static int memory_holders__collect(struct section_rows *to)
{
	return collect_holders(to, held_at_moment, by_bytes, false);
}

static void memory_holders__head(const struct section_rows *rows, FILE *f)
{
	const struct session_opts *o = &rows->s->opts;

	fprintf(f, "memory holders: %zu, %s\n", rows->nr,
		memory__moments(o).nr ? "at the moment asked for" :
		filter__given(o->filter, FILTER_DEVICE) ? "at the peak of each device" :
		"at the peak of all devices together");
}

static int holders__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct holder_row *row = vrow;
	char *name = holder_row__name(rows->s, row, t->format);

	return table__row_free(t, name, (struct cell[]){
		{ .n = table__share(row->bytes, rows->sum_ns) }, { .n = row->bytes },
		{ .n = row->nr }, { .n = row->made_bytes }, { .n = row->nr_made },
		{ .n = row->nr_freed ? row->lived_ns / row->nr_freed : CELL_NONE }, { .s = name },
	});
}

#define HOLDER_COLUMNS { \
	{ "held %", "held_percent", COLUMN_SHARE, 0 }, { "held", "held_bytes", COLUMN_BYTES, 0 }, \
	{ "pieces", "pieces", COLUMN_COUNT, 0 }, \
	{ "allocated", "allocated_bytes", COLUMN_BYTES, 3 }, \
	{ "times", "times", COLUMN_COUNT, 3 }, { "avg life", "avg_life_ns", COLUMN_TIME, 2 }, \
	{ "path", "path", COLUMN_PATH, 0 }, \
}

static const struct column memory_holders_columns[] = HOLDER_COLUMNS;
#define memory_holders__row	holders__row
SECTION(memory_holders, struct holder_row, .in_bytes = true,
	.from = "xpuload --memory records them", .was_recorded = has_heaps);

/* Return: whether the row's calls allocate again and again, while their memory is freed soon. */
static bool is_churn(const struct holder_row *row)
{
	return row->nr_freed > 1 && row->kind != HEAP_FAILED;
}

static int by_times(const void *va, const void *vb)
{
	const struct holder_row *a = va, *b = vb;

	return cmp3(b->nr_made, a->nr_made) ?: cmp3(b->made_bytes, a->made_bytes) ?:
	       cmp3(a->kind, b->kind);
}

static int memory_churn__collect(struct section_rows *to)
{
	return collect_holders(to, is_churn, by_times, false);
}

static void memory_churn__head(const struct section_rows *rows, FILE *f)
{
	const struct memory_state *memory = memory_state__of(&rows->s->model);
	const struct holder_row *row = rows->v;
	uint64_t nr = 0, bytes = 0, ns = 0;
	char rate[HUMAN_MAX];
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		nr += row[i].nr_made;
		bytes += row[i].made_bytes;
	}
	array_each(&memory->heaps, h) {
		ns += xpu_ns_between(max_t(uint64_t, h->from_ns, h->begin_ns),
				     min_t(uint64_t, h->to_ns, h->end_ns));
	}
	fprintf(f, "memory churn: %" PRIu64 " allocation%s of call paths that free again, %.0f a "
		"second, %s a second\n", nr, PLURAL(nr, "", "s"), ns ? nr * 1e9 / ns : 0,
		human__bytes(rate, ns ? bytes * 1e9 / ns : 0));
}

static const struct column memory_churn_columns[] = HOLDER_COLUMNS;
#define memory_churn__row	holders__row
SECTION(memory_churn, struct holder_row, .in_bytes = true,
	.from = "xpuload --memory records them", .was_recorded = has_heaps);

/* ---- leaks ----------------------------------------------------------------------------------- */

static uint64_t grown_bytes(const struct holder_row *row)
{
	return row->growth.nr_parts >= GROWS_PARTS ? row->growth.bytes : 0;
}

/*
 * Return: whether memory leaks: it was never freed, or it grew all the time, even if it was freed
 * at the end.
 */
static bool is_left(const struct holder_row *row)
{
	return (row->nr_left || grown_bytes(row)) && heap_kind__is_programs(row->kind);
}

static int by_growth(const void *va, const void *vb)
{
	const struct holder_row *a = va, *b = vb;

	return cmp3(grown_bytes(b), grown_bytes(a)) ?: cmp3(b->left_bytes, a->left_bytes) ?:
	       cmp3(b->nr_left, a->nr_left) ?: cmp3(a->kind, b->kind);
}

static int memory_leaks__collect(struct section_rows *to)
{
	return collect_holders(to, is_left, by_growth, false);
}

static void memory_leaks__head(const struct section_rows *rows, FILE *f)
{
	const struct holder_row *row = rows->v;
	uint64_t nr = 0, bytes = 0;
	size_t i, grow = 0;

	for (i = 0; i < rows->nr; i++) {
		nr += row[i].nr_left;
		bytes += row[i].left_bytes;
		grow += grown_bytes(&row[i]) != 0;
	}
	fprintf(f,
		"memory never freed: %" PRIu64 " bytes in %" PRIu64
		" piece%s; %zu of %zu call path%s "
		"grew steadily, in %d or more of %d parts of the second half, and stand first\n",
		bytes, nr, PLURAL(nr, "", "s"), grow, rows->nr, PLURAL(rows->nr, "", "s"),
		GROWS_PARTS, HEAP_GROWTH_PARTS);
}

static int memory_leaks__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct holder_row *row = vrow;
	uint64_t start_ns = rows->s->model.start_ns;
	char *name = holder_row__name(rows->s, row, t->format);

	return table__row_free(t, name, (struct cell[]){
		{ .n = grown_bytes(row) }, { .n = row->growth.nr_parts },
		{ .n = row->left_bytes }, { .n = row->nr_left },
		{ .n = row->nr_left ? xpu_ns_between(start_ns, row->first_ns) : CELL_NONE },
		{ .n = row->nr_left ? xpu_ns_between(start_ns, row->last_ns) : CELL_NONE },
		{ .n = row->nr_made }, { .s = name },
	});
}

static const struct column memory_leaks_columns[] = {
	{ "grown", "grown_bytes", COLUMN_BYTES, 0 }, { "in parts", "parts", COLUMN_COUNT, 0 },
	{ "left", "left_bytes", COLUMN_BYTES, 0 }, { "pieces", "pieces", COLUMN_COUNT, 0 },
	{ "first", "first_ns", COLUMN_TIME, 1 }, { "last", "last_ns", COLUMN_TIME, 1 },
	{ "of times", "times", COLUMN_COUNT, 3 }, { "path", "path", COLUMN_PATH, 0 },
};

SECTION(memory_leaks, struct holder_row, .in_bytes = true,
	.from = "xpuload --memory records them", .was_recorded = has_heaps);

/* ---- failures -------------------------------------------------------------------------------- */

struct failure_row {
	const struct heap_failure *failure;
	const struct heap *heap;
};

static int memory_failures__collect(struct section_rows *to)
{
	const struct memory_state *memory = memory_state__of(&to->s->model);
	ARRAY(struct failure_row) rows = { 0 };
	size_t i, k;
	int err = 0;

	for (i = 0; i < memory->heaps.nr; i++)
		for (k = 0; k < memory->heaps.v[i].failures.nr && !err; k++)
			err = array_push(&rows, ((struct failure_row){
				&memory->heaps.v[i].failures.v[k], &memory->heaps.v[i],
			}));
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void memory_failures__head(const struct section_rows *rows, FILE *f)
{
	const struct memory_state *memory = memory_state__of(&rows->s->model);
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < memory->heaps.nr; i++)
		nr += memory->heaps.v[i].nr_failures;
	fprintf(f, "memory refused: %" PRIu64 " times; free: on the device then; --memory live "
		"--at failed shows who held it\n", nr);
}

static int memory_failures__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct failure_row *row = vrow;
	const struct heap_failure *fail = row->failure;
	const struct stack *stack = rows->s->model.chains.v[fail->key.chain].stack;
	char *name = stack__path(stack, t->format, NULL);

	return table__row_free(t, name, (struct cell[]){
		{ .n = xpu_ns_between(rows->s->model.start_ns, fail->time_ns) },
		{ .n = min_t(uint64_t, fail->bytes, CELL_NONE - 1) },	/* fits even for
									 * cudaMalloc(&p, -1) */
		{ .n = fail->free_bytes }, { .n = fail->used }, { .n = fail->reserved },
		{ .n = fail->result }, { .s = name },
	});
}

static const struct column memory_failures_columns[] = {
	{ "at", "at_ns", COLUMN_TIME, 0 }, { "asked for", "bytes", COLUMN_BYTES, 0 },
	{ "free", "free_bytes", COLUMN_BYTES, 0 }, { "used", "used", COLUMN_BYTES, 0 },
	{ "reserved", "reserved", COLUMN_BYTES, 1 }, { "error", "error", COLUMN_COUNT, 2 },
	{ "path", "path", COLUMN_PATH, 0 },
};

SECTION(memory_failures, struct failure_row, .in_bytes = true,
	.from = "xpuload --memory records them", .was_recorded = has_heaps);

/* ---- the first lines ------------------------------------------------------------------------- */

/* memory in use on a GPU, in one recording, since time_ns */
struct common_point {
	uint64_t time_ns, used;
	uint32_t gpu;			/* a number for each GPU of each recording */
};

typedef ARRAY(struct common_point) common_points_t;

static int by_point(const void *va, const void *vb)
{
	const struct common_point *a = va, *b = vb;

	return cmp3(a->time_ns, b->time_ns) ?: cmp3(a->gpu, b->gpu);
}

/*
 * Return: the time until which an earlier file has the memory of the recording; 0: there is no
 * earlier file.
 */
static uint64_t has_before_ns(const struct memory_state *memory, const struct heap *h)
{
	const struct heap *other;
	uint64_t until_ns = 0;

	for (other = memory->heaps.v; other < memory->heaps.v + memory->heaps.nr; other++)
		if (other->recording == h->recording && other->file < h->file && !other->is_last)
			until_ns = max_t(uint64_t, until_ns, other->until_ns);
	return until_ns;
}

/*
 * Adds the points of a GPU until the end of this file; the recording's next file has the later
 * points. Return: 0 or -ENOMEM.
 */
static int common_points__add(common_points_t *points, const struct heap *h,
			      const struct heap_place *p, uint32_t gpu, uint64_t before_ns)
{
	const struct heap_point *at = p->track.v, *end = at + p->track.nr;
	int err = 0;

	before_ns = max_t(uint64_t, before_ns, h->begin_ns);
	/*
	 * Some processes begin earlier in this file than other processes. Treat all processes as
	 * if they began when the earlier file ends.
	 */
	while (at + 1 < end && at[1].time_ns <= before_ns)
		at++;
	for (; at < end && at->time_ns < h->end_ns && !err; at++)
		err = array_push(points, ((struct common_point){
			max_t(uint64_t, at->time_ns, before_ns + 1), at->used, gpu,
		}));
	return err || h->is_last ? err :
	       array_push(points, ((struct common_point){ h->until_ns + 1, 0, gpu }));
}

/*
 * Finds the time at which all recordings together used the most memory, and about how much memory
 * that was. Times are compared by the recordings' clocks. Return: 0 or -ENOMEM.
 */
static int common_peak(const struct memory_state *memory, struct common_point *peak)
{
	common_points_t points = { 0 };
	uint64_t *used = NULL, all = 0;
	uint32_t nr_gpus = 0;
	size_t i, k;
	int err = 0;

	for (i = 0; i < memory->heaps.nr; i++)
		for (k = 0; k < memory->heaps.v[i].places.nr && !err; k++)
			if (memory->heaps.v[i].places.v[k].gpu != NO_INDEX)
				err = common_points__add(
					&points, &memory->heaps.v[i],
					&memory->heaps.v[i].places.v[k], nr_gpus++,
					has_before_ns(memory, &memory->heaps.v[i]));
	used = calloc(nr_gpus + 1, sizeof(*used));
	if (err || !used) {
		err = -ENOMEM;
		goto out;
	}
	array_qsort(&points, by_point);
	*peak = (struct common_point){ 0 };
	for (i = 0; i < points.nr; i++) {
		all += points.v[i].used - used[points.v[i].gpu];
		used[points.v[i].gpu] = points.v[i].used;
		if (all > peak->used)
			*peak = (struct common_point){ points.v[i].time_ns, all, 0 };
	}
out:
	array_free(&points);
	free(used);
	return err;
}

/* Return: whether the row holds a part of the used memory on GPUs. */
static bool is_used(const struct holder_row *row)
{
	struct heap_parts parts = { 0 };

	heap_parts__add(&parts, row->kind, row->bytes);
	return row->gpu != NO_INDEX && heap_parts__used(&parts);
}

/* Sums up the parts that --memory peak shows. Return: 0 or -ENOMEM. */
static int memory_peak__add_parts(struct memory_peak *peak, const struct session *s)
{
	struct heap_parts *to = &peak->parts;
	const struct memory_state *memory = memory_state__of(&s->model);
	instant_rows_t rows = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < memory->heaps.nr && !err; i++)
		err = instant_rows__add(&rows, s, &memory->heaps.v[i], true);
	for (i = 0; i < rows.nr; i++) {
		const struct heap_parts *p = &rows.v[i].parts;

		if (rows.v[i].place->gpu == NO_INDEX) {
			peak->host_bytes += heap_parts__held(p);
			continue;
		}
		to->blocks += p->blocks;
		to->outside += p->outside;
		to->fragmentation += p->fragmentation;
		to->unused += p->unused;
		to->rest += p->rest;
	}
	array_free(&rows);
	return err;
}

int memory__peak(const struct session *s, struct memory_peak *peak)
{
	struct section_rows rows = { .s = s };
	const struct memory_state *memory = memory_state__of(&s->model);
	const struct heap *h, *most = memory->heaps.v;
	const struct holder_row *first;
	int err;

	*peak = (struct memory_peak){ 0 };
	if (!memory->heaps.nr)
		return 0;
	for (h = memory->heaps.v; h < memory->heaps.v + memory->heaps.nr; h++)
		if (h->used.peak > most->used.peak)
			most = h;
	if (!most->used.peak)
		return 0;
	peak->bytes = most->used.peak;
	peak->at_ns = xpu_ns_between(s->model.start_ns, most->used.peak_ns);
	for (h = memory->heaps.v; h < memory->heaps.v + memory->heaps.nr; h++)
		peak->nr_recordings += h->is_last;
	peak->by_device = filter__given(s->opts.filter, FILTER_DEVICE);
	err = memory_peak__add_parts(peak, s) ?: collect_holders(&rows, is_used, by_bytes, true);
	first = rows.v;
	if (!err && rows.nr) {
		peak->holder_bytes = first->bytes;
		peak->holder = holder_row__name(s, first, TABLE_TEXT);
		err = peak->holder ? 0 : -ENOMEM;
	}
	free(rows.v);
	return err;
}

static void print_path(FILE *f, const char *path)
{
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, (const char[]){ SHORTEN_FRAME, '\0' });
		fprintf(f, "%.*s", (int)len, path);
		if (!path[len])
			return;
		fputs(" > ", f);
	}
}

/* Prints "300 bytes" or "1104451072 bytes (1.03 GiB)". */
static void print_bytes(FILE *f, uint64_t bytes)
{
	char text[HUMAN_MAX];

	fprintf(f, "%" PRIu64 " bytes", bytes);
	if (bytes >= 1024)
		fprintf(f, " (%s)", human__bytes(text, bytes));
}

/* Prints the parts that --memory peak shows, with the names of struct heap_parts. */
static void print_parts(FILE *f, const struct memory_peak *peak)
{
	const struct heap_parts *p = &peak->parts;
	const struct {
		const char *sum;	/* the name of a sum that begins with this part; NULL: the
					 * part belongs to the same sum as the part before it */
		const char *part;
		uint64_t bytes;
	} parts[] = {
		{ "", "reserved", heap_parts__reserved(p) },
		{ NULL, "rest of the devices", p->rest }, { NULL, "of the host", peak->host_bytes },
		{ "; reserved", "used", heap_parts__used(p) },
		{ NULL, "fragmentation", p->fragmentation },
		{ NULL, "unused in pools", p->unused },
		{ "; used", "in blocks", p->blocks }, { NULL, "outside of allocators", p->outside },
	};
	char text[HUMAN_MAX];
	size_t i;

	fprintf(f, "held %s: ", peak->by_device ? "at the peak of each device" :
		peak->nr_recordings > 1 ? "at the peaks of the recordings" : "then");
	print_bytes(f, heap_parts__held(p) + peak->host_bytes);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].sum || parts[i].bytes)
			fprintf(f, "%s%s %s %s", parts[i].sum ?: "", parts[i].sum ? " =" : " +",
				human__bytes(text, parts[i].bytes), parts[i].part);
	fputc('\n', f);
}

void memory__summary(const struct session *s, FILE *f)
{
	struct common_point all;
	struct memory_peak peak;

	if (memory__peak(s, &peak) || !peak.bytes)
		goto out;
	fputs("memory: at most ", f);
	print_bytes(f, peak.bytes);
	fprintf(f, " of GPU memory were used%s, %.3f s after the start\n",
		peak.nr_recordings > 1 ? " in one recording" : "", peak.at_ns / 1e9);
	print_parts(f, &peak);
	if (peak.nr_recordings > 1 && !common_peak(memory_state__of(&s->model), &all)) {
		fprintf(f, "memory of the %zu recordings together: about ", peak.nr_recordings);
		print_bytes(f, all.used);
		fprintf(f, " used, by their clocks: --memory live --at %" PRIu64 "ns\n",
			(uint64_t)xpu_ns_between(s->model.start_ns, all.time_ns));
	}
	if (peak.holder) {
		fputs("largest holder then: ", f);
		print_bytes(f, peak.holder_bytes);
		fputs(": ", f);
		print_path(f, peak.holder);
		fputc('\n', f);
	}
out:
	free(peak.holder);
}
