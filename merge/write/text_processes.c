// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

/* the work of a process, on devices and on CPUs */
struct process_row {
	uint32_t proc, rank;
	uint64_t gpu_ns, nr_works, nr_pending, cpu_ns;
};

static int process_row__cmp(const void *va, const void *vb)
{
	const struct process_row *a = va, *b = vb;

	return cmp3(a->rank, b->rank) ?: cmp3(b->gpu_ns, a->gpu_ns) ?: cmp3(a->proc, b->proc);
}

static void process_row__add(struct process_row *row, const struct aggregate *a,
			     enum leaf_kind kind)
{
	if (leaf_kind__is_device(kind)) {
		row->gpu_ns += a->sum_ns;
		row->nr_works += a->nr;
	} else if (kind == LEAF_PENDING) {
		row->nr_pending += a->nr;
	} else if (kind == LEAF_CPU) {
		row->cpu_ns += a->sum_ns;
	}
}

/* Makes no rows for a single process without labels. */
static int processes__collect(struct section_rows *rows)
{
	const struct session *s = rows->s;
	const struct model *m = &s->model;
	size_t nr = m->machine.procs.nr, i;
	struct process_row *all = calloc(nr + 1, sizeof(*all)), *row;
	bool labels = false;

	if (!all)
		return -ENOMEM;
	array_each(&s->sums.aggregates, a) {
		process_row__add(&all[m->chains.v[a->chain].proc], a, m->leaves.v[a->leaf].kind);
	}
	for (i = 0; i < nr; i++) {
		row = &all[rows->nr];
		*row = all[i];
		row->proc = i;
		row->rank = labels__number(model__labels(m, i), XPU_LABEL_RANK);
		if (!row->nr_works && !row->nr_pending && !row->cpu_ns)
			continue;
		labels |= labels__any(model__labels(m, i));
		rows->sum_ns += row->gpu_ns;
		rows->nr++;
	}
	if (rows->nr < 2 && !labels)
		rows->nr = 0;
	qsort(all, rows->nr, sizeof(*all), process_row__cmp);
	rows->v = all;
	return 0;
}

static void processes__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "processes: %zu, by rank and device time%s\n", rows->nr, rows->times);
}

/* Return: "app (node n1, job 4711)", which the caller frees, or NULL. */
static char *process__name(const struct model *m, uint32_t proc)
{
	char *labels, *name = NULL;

	if (m->nr_hosts < 2 && !labels__any(model__labels(m, proc)))
		return strdup(model__proc_name(m, proc));
	labels = model__process_labels(m, proc);

	if (labels &&
	    asprintf(&name, *labels ? "%s (%s)" : "%s%s", model__proc_name(m, proc), labels) < 0)
		name = NULL;
	free(labels);
	return name;
}

static uint64_t cell_number(const struct labels *l, enum xpu_label label)
{
	uint32_t number = labels__number(l, label);

	return number == NO_INDEX ? CELL_NONE : number;
}

static int processes__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct model *m = &rows->s->model;
	const struct process_row *row = vrow;
	const struct labels *l = model__labels(m, row->proc);
	char *name = t->format == TABLE_TEXT ? process__name(m, row->proc) : NULL;

	if (t->format == TABLE_TEXT && !name)
		return -ENOMEM;
	table__row(t, (struct cell[]){
		{ .n = table__share(row->gpu_ns, rows->sum_ns) }, { .n = row->gpu_ns },
		{ .n = row->nr_works },
		{ .n = row->nr_pending }, { .n = row->cpu_ns },
		{ .n = cell_number(l, XPU_LABEL_RANK) },
		{ .n = cell_number(l, XPU_LABEL_LOCAL_RANK) },
		{ .n = cell_number(l, XPU_LABEL_WORLD_SIZE) },
		{ .n = cell_number(l, XPU_LABEL_LOCAL_SIZE) },
		{ .n = cell_number(l, XPU_LABEL_NODE_RANK) },
		{ .n = m->machine.procs.v[row->proc].pid }, { .s = model__node(m, row->proc) },
		{ .s = labels__text(l, XPU_LABEL_JOB) ?: "" },
		{ .s = labels__text(l, XPU_LABEL_STEP) ?: "" },
		{ .s = labels__text(l, XPU_LABEL_RUN) ?: "" },
		{ .s = labels__text(l, XPU_LABEL_POD) ?: "" },
		{ .s = labels__text(l, XPU_LABEL_NAMESPACE) ?: "" },
		{ .s = labels__text(l, XPU_LABEL_POD_UID) ?: "" },
		{ .s = labels__text(l, XPU_LABEL_CONTAINER) ?: "" },
		{ .s = name ?: model__proc_name(m, row->proc) },
	});
	free(name);
	return 0;
}

static const struct column processes_columns[] = {
	{ "time %", "time_percent", COLUMN_SHARE, 2 }, { "total", "total_ns", COLUMN_TIME, 0 },
	{ "count", "instances", COLUMN_COUNT, 1 }, { NULL, "pending", COLUMN_COUNT, 0 },
	{ NULL, "cpu_ns", COLUMN_TIME, 0 }, { "rank", "rank", COLUMN_COUNT, 0 },
	{ NULL, "local_rank", COLUMN_COUNT, 0 }, { NULL, "world_size", COLUMN_COUNT, 0 },
	{ NULL, "local_size", COLUMN_COUNT, 0 }, { NULL, "node_rank", COLUMN_COUNT, 0 },
	{ "pid", "pid", COLUMN_COUNT, 0 }, { NULL, "node", COLUMN_NAME, 0 },
	{ NULL, "job", COLUMN_NAME, 0 }, { NULL, "step", COLUMN_NAME, 0 },
	{ NULL, "run", COLUMN_NAME, 0 }, { NULL, "pod", COLUMN_NAME, 0 },
	{ NULL, "namespace", COLUMN_NAME, 0 }, { NULL, "pod_uid", COLUMN_NAME, 0 },
	{ NULL, "container", COLUMN_NAME, 0 }, { "process", "name", COLUMN_NAME, 0 },
};

/* Whether processes were recorded. Even then there may be no rows: see processes__collect(). */
static bool has_processes(const struct session *s)
{
	return s->model.machine.procs.nr;
}

SECTION(processes, struct process_row, .was_recorded = has_processes);
