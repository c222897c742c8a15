// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Page migrations of managed memory, by the call path that allocated the pages. A migration belongs
 * to the allocation that was live at the migration's address and time, if exactly one call path had
 * memory in the migrated pages. Otherwise the migration is counted by the reason why its allocation
 * is unknown.
 */
#include "model/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "human.h"
#include "join/second_pass.h"
#include "join/session.h"
#include "join/wanted.h"
#include "model/addresses.h"
#include "model/remap.h"
#include "read/collect.h"
#include "write/section.h"
#include "write/shorten.h"
#include "write/tables/tables_recording.h"

/* whether the allocation is known, and if not, why */
enum known { KNOWN, IN_NONE, IN_SEVERAL, UNTIMED, NR_KNOWN };

static const char *const whys[NR_KNOWN] = {
	[IN_NONE] = "[in no managed memory whose allocation is recorded]",
	[IN_SEVERAL] = "[in managed memory of several call paths]",
	[UNTIMED] = "[at a time that is not known]",
};

static const char *const whats[] = {
	[XPU_MIGRATION_TO_DEVICE] = "to_device", [XPU_MIGRATION_TO_HOST] = "to_host",
	[XPU_MIGRATION_BETWEEN] = "between", [XPU_MIGRATION_GPU_FAULTS] = "gpu_faults",
	[XPU_MIGRATION_CPU_FAULT] = "cpu_fault", [XPU_MIGRATION_THRASHING] = "thrashing",
};

#define NR_WHATS	ARRAY_SIZE(whats)
#define MAX_VALUE	(1ull << 40)	/* limit on each value, because a process may report
					 * anything */

static bool is_move(uint16_t what)
{
	return what == XPU_MIGRATION_TO_DEVICE || what == XPU_MIGRATION_TO_HOST ||
	       what == XPU_MIGRATION_BETWEEN;
}

struct migration {
	uint64_t start_ns;		/* on the common clock; 0: not known */
	uint64_t duration_ns, address, value;
	uint32_t proc;
	uint32_t source, target;	/* indices in gpus.list, or NO_INDEX */
	uint32_t chain;			/* chain of the allocation; NO_INDEX: see @known */
	uint16_t what;			/* XPU_MIGRATION_* */
	uint8_t known;
	bool wanted;			/* the filter keeps the migration */
};

struct managed_event {
	struct feature_memory e;
	size_t number;			/* index of the event before events were sorted by
					 * process */
};

struct migration_sum {
	uint32_t chain;			/* NO_INDEX: see known */
	uint8_t known;
	uint64_t value[NR_WHATS];	/* sums, by enum xpu_migration */
	uint64_t nr_moves, moves_ns;
};

struct migrations {
	ARRAY(struct migration) list;
	size_t nr_settled;		/* number of migrations of earlier recordings */
	ARRAY(struct managed_event) events;	/* allocation events of the recording that is being
						 * read */
	struct idmap next;		/* for each process: the number of its next record */
	ARRAY(struct migration_sum) sums;
	struct idmap by_chain;		/* maps a chain to an index in @sums; without a chain, the
					 * key is NO_INDEX minus @known of the sum */
};

static void *migrations__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct migrations));
}

static void migrations__free(void *state)
{
	struct migrations *s = state;

	array_free(&s->list);
	array_free(&s->events);
	array_free(&s->sums);
	idmap__free(&s->next);
	idmap__free(&s->by_chain);
	free(s);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_migration(void *state, struct collect *c, uint32_t proc,
			  const struct xpu_record *r)
{
	const struct xpu_record_migration *rec = (const void *)r;
	struct migrations *s = state;
	uint32_t *next = idmap__find(&s->next, proc);
	int err = 0;

	/* A number below the expected number is impossible: count nothing if it occurs. */
	if (next && (int32_t)(rec->number - *next) > 0)
		c->loss->missing_works += rec->number - *next;
	if (next)
		*next = rec->number + 1;
	else
		err = idmap__put(&s->next, proc, rec->number + 1);
	if (rec->value > MAX_VALUE) {
		c->loss->bad_allocs++;
		return err;
	}
	c->loss->bad_times += !rec->start_ns;
	return err ?: array_push(&s->list, ((struct migration){
		.start_ns = rec->start_ns, .duration_ns = rec->duration_ns,
		.address = rec->address, .value = rec->value, .proc = proc,
		.source = rec->source, .target = rec->target, .chain = NO_INDEX,
		.what = rec->hdr.misc,
	}));
}

static const struct feature_record records[] = {
	{ XPU_RECORD_MIGRATION, false, take_migration },
	{ 0 },
};

/* ---- the allocation of a migration ----------------------------------------------------------- */

static int by_proc_and_number(const void *va, const void *vb)
{
	const struct managed_event *a = va, *b = vb;

	return cmp3(a->e.proc, b->e.proc) ?: cmp3(a->number, b->number);
}

static int by_proc_and_time(const void *va, const void *vb)
{
	const struct migration *a = va, *b = vb;

	return cmp3(a->proc, b->proc) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a->address, b->address) ?: cmp3(a->what, b->what);
}

/* the live allocations of a process, which do not overlap: indices in migrations.events */
struct live {
	const struct migrations *s;
	struct addresses at;
};

/* Return: the first live allocation with memory between the addresses, or NULL. */
static const struct managed_event *live__first(const struct live *l, uint64_t from, uint64_t to)
{
	struct addresses_at at = addresses__before(&l->at, from);
	const struct address *a;
	const struct managed_event *e;

	while ((a = addresses__next(&l->at, &at)) && a->address < to) {
		e = &l->s->events.v[a->idx];
		if (e->e.bytes > from - min_t(uint64_t, from, a->address))
			return e;
	}
	return NULL;
}

static void live__remove(struct live *l, const struct managed_event *e)
{
	addresses__remove(&l->at, e->e.address, e - l->s->events.v);
}

static void live__end_context(struct live *l, uint32_t context)
{
	const struct managed_event *e;
	const struct address *a;
	struct addresses_at at;
	uint64_t from = 0;

	for (;;) {
		at = addresses__before(&l->at, from);
		while ((a = addresses__next(&l->at, &at)) &&
		       (a->address < from || l->s->events.v[a->idx].e.extra != context))
			;
		if (!a)
			return;
		e = &l->s->events.v[a->idx];
		from = a->address;
		live__remove(l, e);
	}
}

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
	return address + min_t(uint64_t, bytes, UINT64_MAX - address);
}

/* Applies an event to the live allocations. Return: 0 or -ENOMEM. */
static int live__take(struct live *l, const struct managed_event *e)
{
	uint64_t end = end_of(e->e.address, e->e.bytes);
	const struct managed_event *old;

	switch (e->e.what) {
	case XPU_ALLOC_FREED:
		old = live__first(l, e->e.address, end_of(e->e.address, 1));
		if (old && old->e.address == e->e.address)
			live__remove(l, old);
		return 0;
	case XPU_ALLOC_CONTEXT_END:
		live__end_context(l, e->e.extra);
		return 0;
	default:
		/*
		 * Memory that is still live there must have been freed, but no free was recorded.
		 */
		while ((old = live__first(l, e->e.address, end)))
			live__remove(l, old);
		return e->e.bytes ? addresses__add(&l->at, e->e.address, e - l->s->events.v) : 0;
	}
}

/* Finds the allocation of a migration, and sets *@owner to the allocation's event. */
static void live__find(const struct live *l, struct migration *m,
		       const struct managed_event **owner)
{
	bool has_range = is_move(m->what) || m->what == XPU_MIGRATION_THRASHING;
	uint64_t end = end_of(m->address, has_range ? m->value : 1);
	const struct managed_event *e = live__first(l, m->address, end);

	*owner = e;
	m->known = e ? KNOWN : IN_NONE;
	m->chain = e ? e->e.chain : NO_INDEX;
	for (; e; e = live__first(l, end_of(e->e.address, e->e.bytes), end)) {
		if (e->e.chain == m->chain)
			continue;
		m->known = IN_SEVERAL;
		m->chain = NO_INDEX;
		return;
	}
}

/* Whether the filter keeps the migration. @owner: its allocation, if known. */
static int is_wanted(const struct second_pass *p, const struct migration *m,
		     const struct managed_event *owner)
{
	struct filter *f = p->opts->filter;
	uint32_t gpu = m->target != NO_INDEX ? m->target : m->source;
	struct filter_span span = { .from_ns = m->start_ns, .to_ns = m->start_ns };

	if (!filter__active(f))
		return 1;
	if (filter__is_timed(f) && (!m->start_ns || !wanted__cut(f, p->model, &span)))
		return 0;
	if (m->known == KNOWN)
		return wanted__memory(f, p->model, m->chain, owner->e.thread, owner->e.comm,
				      m->start_ns, gpu);
	return filter__has_only_moments(f) ? filter__keeps(f, &(struct filter_event){
		.timed = true, .time_ns = f->from_ns, .stream = NO_INDEX, .tid = NO_INDEX,
		.device = gpu != NO_INDEX ? p->model->gpus.list.v[gpu].number : NO_INDEX,
	}) : 0;
}

static void sum__add(struct migration_sum *to, const struct migration_sum *from)
{
	size_t i;

	for (i = 0; i < NR_WHATS; i++)
		to->value[i] += from->value[i];
	to->nr_moves += from->nr_moves;
	to->moves_ns += from->moves_ns;
}

/* Finds or makes the sum of an allocation. Return: 0 or -ENOMEM. */
static int get_sum(struct migrations *s, uint32_t chain, uint8_t known, struct migration_sum **sum)
{
	uint32_t key = known == KNOWN ? chain : NO_INDEX - known, idx;
	int err = 0;

	if (!idmap__get(&s->by_chain, key, &idx)) {
		idx = s->sums.nr;
		err = idmap__put(&s->by_chain, key, idx) ?:
		      array_push(&s->sums, ((struct migration_sum){
			.chain = chain, .known = known,
		}));
	}
	if (!err)
		*sum = &s->sums.v[idx];
	return err;
}

static int add_migration(struct migrations *s, const struct migration *m)
{
	struct migration_sum *sum;
	int err = get_sum(s, m->chain, m->known, &sum);

	if (err)
		return err;
	sum->value[m->what] += m->value;
	if (is_move(m->what)) {
		sum->nr_moves++;
		sum->moves_ns += m->duration_ns;
	}
	return 0;
}

static int settle_one(struct migrations *s, const struct second_pass *p, const struct live *l,
		      struct migration *m)
{
	const struct managed_event *owner = NULL;
	int wanted;

	if (m->what >= NR_WHATS || !whats[m->what]) {
		p->sums->loss.unknown_records++;	/* of a newer version of the shim */
		return 0;
	}
	if (m->start_ns)
		live__find(l, m, &owner);
	else
		m->known = UNTIMED;
	wanted = is_wanted(p, m, owner);
	m->wanted = wanted > 0;
	return wanted > 0 ? add_migration(s, m) : wanted;
}

/* Finds the allocations of the recording's migrations, process by process. */
static int migrations__settle(void *state, struct second_pass *p)
{
	struct migrations *s = state;
	struct migration *m = s->list.v + s->nr_settled, *end = s->list.v + s->list.nr;
	const struct managed_event *e = s->events.v, *last = e + s->events.nr;
	struct live live = { .s = s };
	uint32_t proc;
	int err = 0;

	array_qsort(&s->events, by_proc_and_number);
	if (m < end)
		qsort(m, end - m, sizeof(*m), by_proc_and_time);
	while (m < end && !err) {
		proc = m->proc;
		for (; e < last && e->e.proc < proc; e++)
			;
		for (; m < end && m->proc == proc && !err; m++) {
			for (; e < last && e->e.proc == proc && e->e.time_ns <= m->start_ns && !err;
			     e++)
				err = live__take(&live, e);
			err = err ?: settle_one(s, p, &live, m);
		}
		addresses__free(&live.at);
		live.at = (struct addresses){ 0 };
	}
	s->nr_settled = s->list.nr;
	s->events.nr = 0;
	return err;
}

/* ---- the passes ------------------------------------------------------------------------------ */

/* Replaces a process's ordinal for a GPU with the index in gpus.list. Return: 0 or -ENOMEM. */
static int place(struct model *m, uint32_t proc, uint32_t *gpu)
{
	int err;

	if (*gpu >= XPU_ALLOC_NO_DEVICE) {
		*gpu = NO_INDEX;
		return 0;
	}
	err = gpus__get(&m->gpus, proc, *gpu, gpu);
	if (!err)
		m->gpus.list.v[*gpu].used = true;
	return err;
}

static int migrations__begin(void *state, struct second_pass *p)
{
	struct migrations *s = state;
	size_t i;
	int err = 0;

	for (i = s->nr_settled; i < s->list.nr && !err; i++) {
		struct migration *m = &s->list.v[i];

		err = place(p->model, m->proc, &m->source) ?: place(p->model, m->proc, &m->target);
		if (m->start_ns && !found__has_time(p->found, m->start_ns,
						    m->start_ns + m->duration_ns)) {
			p->sums->loss.outside_works++;
			m->start_ns = m->duration_ns = 0;
		}
		m->start_ns += m->start_ns ? p->found->shift_ns : 0;
	}
	return err;
}

static int migrations__memory(void *state, struct second_pass *p, const struct feature_memory *e)
{
	struct migrations *s = state;

	(void)p;
	if (!(e->what == XPU_ALLOC_MADE && e->space == XPU_SPACE_MANAGED) &&
	    !(e->what == XPU_ALLOC_FREED && e->space <= XPU_SPACE_POOL) &&
	    e->what != XPU_ALLOC_CONTEXT_END)
		return 0;
	return array_push(&s->events, ((struct managed_event){ *e, s->events.nr }));
}

/* ---- all recordings -------------------------------------------------------------------------- */

static int migrations__absorb(void *state, void *from_state, struct remap *r)
{
	struct migrations *s = state, *from = from_state;
	struct migration_sum *sum;
	int err = 0;

	array_each_while(&from->sums, more, !err) {
		err = get_sum(s, remap__move(more->chain, r->chain), more->known, &sum);
		if (!err)
			sum__add(sum, more);
	}
	return err;
}

/* ---- the summary ----------------------------------------------------------------------------- */

struct migration_row {
	const struct stack *stack;	/* NULL: see sum.known */
	struct migration_sum sum;
};

static uint64_t moved_bytes(const struct migration_sum *sum)
{
	return sum->value[XPU_MIGRATION_TO_DEVICE] + sum->value[XPU_MIGRATION_TO_HOST] +
	       sum->value[XPU_MIGRATION_BETWEEN];
}

static uint64_t nr_faults(const struct migration_sum *sum)
{
	return sum->value[XPU_MIGRATION_GPU_FAULTS] + sum->value[XPU_MIGRATION_CPU_FAULT];
}

static int by_bytes(const void *va, const void *vb)
{
	const struct migration_sum *a = &((const struct migration_row *)va)->sum;
	const struct migration_sum *b = &((const struct migration_row *)vb)->sum;

	return cmp3(moved_bytes(b), moved_bytes(a)) ?: cmp3(nr_faults(b), nr_faults(a)) ?:
	       cmp3(a->chain, b->chain) ?: cmp3(a->known, b->known);
}

static int memory_migrations__collect(struct section_rows *to)
{
	const struct migrations *s = to->s->model.features[FEATURE_migrations];
	ARRAY(struct migration_row) rows = { 0 };
	struct idmap by_stack = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; s && i < s->sums.nr && !err; i++) {
		const struct migration_sum *sum = &s->sums.v[i];
		const struct stack *stack = sum->known == KNOWN ?
					    to->s->model.chains.v[sum->chain].stack : NULL;
		uint64_t key = stack ? (uintptr_t)stack : sum->known;
		uint32_t idx;

		if (!idmap__get(&by_stack, key, &idx)) {
			idx = rows.nr;
			err = idmap__put(&by_stack, key, idx) ?:
			      array_push(&rows, ((struct migration_row){
				stack, { .chain = sum->chain, .known = sum->known },
			}));
		}
		if (!err)
			sum__add(&rows.v[idx].sum, sum);
	}
	idmap__free(&by_stack);
	array_qsort(&rows, by_bytes);
	to->v = rows.v;
	to->nr = rows.nr;
	for (i = 0; i < rows.nr; i++)
		to->sum_ns += moved_bytes(&rows.v[i].sum);
	return err;
}

/* Prints the nonzero sums, with a comma between them. */
static void print_total(const struct migration_sum *sum, FILE *f)
{
	static const char *const texts[NR_WHATS] = {
		[XPU_MIGRATION_TO_DEVICE] = "moved to GPUs",
		[XPU_MIGRATION_TO_HOST] = "to the host",
		[XPU_MIGRATION_BETWEEN] = "between GPUs",
		[XPU_MIGRATION_GPU_FAULTS] = "page faults of GPUs",
		[XPU_MIGRATION_CPU_FAULT] = "page faults of CPUs",
	};
	const char *separator = "";
	char text[HUMAN_MAX];
	unsigned int i;

	for (i = 0; i < NR_WHATS; i++) {
		if (!texts[i] || !sum->value[i])
			continue;
		fprintf(f, "%s%s %s", separator,
			is_move(i) ? human__bytes(text, sum->value[i]) :
				     human__count(text, sum->value[i]), texts[i]);
		separator = ", ";
	}
}

static void memory_migrations__head(const struct section_rows *rows, FILE *f)
{
	const struct migration_row *row = rows->v;
	struct migration_sum all = { 0 };
	size_t i;

	for (i = 0; i < rows->nr; i++)
		sum__add(&all, &row[i].sum);
	fputs("page migrations of managed memory, by the call path that allocated it: ", f);
	print_total(&all, f);
	fputc('\n', f);
}

static int memory_migrations__row(const struct section_rows *rows, const void *vrow,
				  struct table *t)
{
	const struct migration_row *row = vrow;
	const uint64_t *value = row->sum.value;
	char *path = row->stack ? stack__path(row->stack, t->format, NULL) : NULL;

	if (row->stack && !path)
		return -ENOMEM;
	table__row(t, (struct cell[]){
		{ .n = table__share(moved_bytes(&row->sum), rows->sum_ns) },
		{ .n = value[XPU_MIGRATION_TO_DEVICE] }, { .n = value[XPU_MIGRATION_TO_HOST] },
		{ .n = value[XPU_MIGRATION_BETWEEN] }, { .n = row->sum.nr_moves },
		{ .n = row->sum.moves_ns }, { .n = value[XPU_MIGRATION_GPU_FAULTS] },
		{ .n = value[XPU_MIGRATION_CPU_FAULT] }, { .n = value[XPU_MIGRATION_THRASHING] },
		{ .s = path ?: whys[row->sum.known] },
	});
	free(path);
	return 0;
}

static const struct column memory_migrations_columns[] = {
	{ "moved %", "moved_percent", COLUMN_SHARE, 0 },
	{ "to GPU", "to_gpu_bytes", COLUMN_BYTES, 0 },
	{ "to host", "to_host_bytes", COLUMN_BYTES, 0 },
	{ "between", "between_bytes", COLUMN_BYTES, 4 }, { "moves", "moves", COLUMN_COUNT, 3 },
	{ "moving", "moving_ns", COLUMN_TIME, 3 }, { "GPU faults", "gpu_faults", COLUMN_COUNT, 1 },
	{ "CPU faults", "cpu_faults", COLUMN_COUNT, 2 },
	{ "thrashing", "thrashing_bytes", COLUMN_BYTES, 2 }, { "path", "path", COLUMN_PATH, 0 },
};

static SECTION(memory_migrations, struct migration_row, .in_bytes = true, .on_page = true,
	       .from = "xpuload --memory records them, if a program has managed memory");

static const struct section *const sections[] = { &section_memory_migrations, NULL };

static void migrations__summary(const struct session *session, FILE *f)
{
	const struct migrations *s = session->model.features[FEATURE_migrations];
	struct migration_sum all = { 0 };
	size_t i;

	for (i = 0; s && i < s->sums.nr; i++)
		sum__add(&all, &s->sums.v[i]);
	if (!s || !(moved_bytes(&all) || nr_faults(&all)))
		return;
	fputs("managed memory: ", f);
	print_total(&all, f);
	fputs(": --table memory_migrations\n", f);
}

/* ---- the table for query engines ------------------------------------------------------------- */

#define MIGRATIONS_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(what, STRING, DICTIONARY, false)		\
	C(start_ns, INT64, DELTA, true)			\
	C(duration_ns, INT64, DICTIONARY, true)		\
	C(source_gpu, INT64, DICTIONARY, true)		\
	C(target_gpu, INT64, DICTIONARY, true)		\
	C(address, INT64, DELTA, false)			\
	C(bytes, INT64, DICTIONARY, true)		\
	C(faults, INT64, DICTIONARY, true)		\
	C(allocation, STRING, DICTIONARY, false)	\
	C(path_id, INT64, DICTIONARY, true)

static const struct parquet_column columns[] = { MIGRATIONS_COLUMNS(TABLES_COLUMN) };

static int64_t gpu_cell(const struct model *m, uint32_t gpu)
{
	return gpu == NO_INDEX ? PARQUET_NULL : (int64_t)m->gpus.list.v[gpu].number;
}

static int put_migration(const struct model *m, struct tables_recording *r,
			 const struct migration *x)
{
	static const char *const known[NR_KNOWN] = { "known", "none", "several", "no_time" };
	bool faults = x->what == XPU_MIGRATION_GPU_FAULTS || x->what == XPU_MIGRATION_CPU_FAULT;
	struct row_process proc;
	int err = tables_recording__process(r, m, x->proc, &proc);

	return err ?: partitions__put(&r->partitions, proc.partition, FEATURE_migrations,
				      (int64_t[]){
		proc.id, parquet__string(whats[x->what]),
		x->start_ns ? tables_recording__time(r, x->start_ns) : PARQUET_NULL,
		x->start_ns ? (int64_t)x->duration_ns : PARQUET_NULL,
		gpu_cell(m, x->source), gpu_cell(m, x->target), x->address,
		faults ? PARQUET_NULL : (int64_t)x->value,
		faults ? (int64_t)x->value : PARQUET_NULL, parquet__string(known[x->known]),
		x->known == KNOWN ? tables_recording__path(r, m, x->chain) : PARQUET_NULL,
	});
}

static int put_migrations(const struct model *m, struct tables_recording *r, uint32_t partition)
{
	const struct migrations *s = m->features[FEATURE_migrations];
	int err = 0;

	(void)partition;
	array_each_while(&s->list, x, !err) {
		if (x->wanted && m->machine.procs.v[x->proc].recording == r->nr)
			err = put_migration(m, r, x);
	}
	return err;
}

static const struct feature_table table = {
	.columns = columns, .nr = ARRAY_SIZE(columns), .put = put_migrations,
};

const struct feature migrations_feature = {
	.name = "migrations",
	.needs = "memory",
	.new = migrations__new,
	.free = migrations__free,
	.records = records,
	.begin = migrations__begin,
	.memory = migrations__memory,
	.settle = migrations__settle,
	.absorb = migrations__absorb,
	.summary = migrations__summary,
	.sections = sections,
	.table = &table,
};
