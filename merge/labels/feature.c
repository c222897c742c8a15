// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline.h"
#include "join/second_pass.h"
#include "model/labels.h"
#include "model/remap.h"
#include "read/collect.h"
#include "write/format.h"

/* the labels of a process, and their sources */
struct process_labels {
	struct labels labels;
	bool by_shim, by_recorder;	/* the shim, or the recorder, reported labels of the
					 * process itself; the process then inherits no labels
					 * that only this source reports */
};

/* the labels of all processes with labels */
struct labels_state {
	ARRAY(struct process_labels) list;
	ARRAY(uint32_t) by_proc;	/* 1 + index in list; 0: the process has no labels */
};

static void *state__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct labels_state));
}

static void state__free(void *state)
{
	struct labels_state *s = state;

	array_free(&s->list);
	array_free(&s->by_proc);
	free(s);
}

/* Return: the labels of a process, valid until state__make(); NULL if it has none. */
static struct process_labels *state__find(const struct labels_state *s, uint32_t proc)
{
	uint32_t idx = proc < s->by_proc.nr ? s->by_proc.v[proc] : 0;

	return idx ? &s->list.v[idx - 1] : NULL;
}

/* Finds or makes the labels of a process. Return: NULL if memory is short. */
static struct process_labels *state__make(struct labels_state *s, uint32_t proc)
{
	static const struct process_labels none;
	int err = 0;

	while (!err && s->by_proc.nr <= proc)
		err = array_push(&s->by_proc, 0);
	if (!err && !s->by_proc.v[proc]) {
		err = array_push(&s->list, none);
		if (!err)
			s->by_proc.v[proc] = s->list.nr;
	}
	return err ? NULL : &s->list.v[s->by_proc.v[proc] - 1];
}

/* ---- records --------------------------------------------------------------------------------- */

/*
 * Takes a label. The first value stays, but a text from the recorder replaces an earlier text.
 * Return: 0 or -ENOMEM.
 */
static int take_label(struct labels_state *s, struct strpool *strings, uint32_t proc,
		      const struct xpu_record_label *rec, bool by_recorder)
{
	struct process_labels *own = state__make(s, proc);
	uint32_t text = rec->label - LABELS_FIRST_TEXT;
	const char **to;

	if (!own)
		return -ENOMEM;
	if (rec->label && rec->label <= LABELS_NR_NUMBERS) {
		if (rec->number <= LABELS_MAX_NUMBER && !own->labels.numbers[rec->label - 1])
			own->labels.numbers[rec->label - 1] = rec->number + 1;
	} else if (XPU_LABEL_IS_TEXT(rec->label) && text < LABELS_NR_TEXTS && rec->bytes > 1) {
		to = &own->labels.texts[text];
		if (!*to || by_recorder)
			*to = strpool__intern(strings, rec->data, strlen(rec->data));
		if (!*to)
			return -ENOMEM;
	} else {
		return 0;
	}
	*(by_recorder ? &own->by_recorder : &own->by_shim) = true;
	return 0;
}

static int take_shim_label(void *state, struct collect *c, uint32_t proc,
			   const struct xpu_record *rec)
{
	return take_label(state, &c->model->strings, proc, (const void *)rec, false);
}

static int take_recorder_label(void *state, struct collect *c, uint32_t proc,
			       const struct xpu_record *r)
{
	const struct xpu_record_label *rec = (const void *)r;
	int err = machine__proc(&c->model->machine, rec->proc_id, &proc);

	return err ?: take_label(state, &c->model->strings, proc, rec, true);
}

static const struct feature_record records[] = {
	{ XPU_RECORD_LABEL, false, take_shim_label },
	{ XPU_RECORD_PROCESS_LABEL, false, take_recorder_label },
	{ 0 },
};

/* ---- a recording ----------------------------------------------------------------------------- */

static void inherit_text(struct labels *l, const struct labels *parent, enum xpu_label label)
{
	uint32_t i = label - LABELS_FIRST_TEXT;

	if (!l->texts[i])
		l->texts[i] = parent->texts[i];
}

static void inherit(struct process_labels *own, const struct labels *parent)
{
	struct labels *l = &own->labels;
	size_t i;

	if (!own->by_shim) {
		for (i = 0; i < LABELS_NR_NUMBERS; i++)
			if (!l->numbers[i])
				l->numbers[i] = parent->numbers[i];
		inherit_text(l, parent, XPU_LABEL_RUN);
		inherit_text(l, parent, XPU_LABEL_NODE);
		inherit_text(l, parent, XPU_LABEL_POD);
		inherit_text(l, parent, XPU_LABEL_NAMESPACE);
	}
	if (!own->by_recorder) {
		inherit_text(l, parent, XPU_LABEL_POD_UID);
		inherit_text(l, parent, XPU_LABEL_CONTAINER);
	}
	/*
	 * The job and the step have two sources: the shim, from Slurm's environment variables, and
	 * the recorder, from Slurm's cgroup.
	 */
	if (!own->by_shim || !own->by_recorder) {
		inherit_text(l, parent, XPU_LABEL_JOB);
		inherit_text(l, parent, XPU_LABEL_STEP);
	}
}

/* Copies to a process the labels that it inherits from its parent. Return: 0 or -ENOMEM. */
static int inherit_labels(struct labels_state *s, uint32_t proc, uint32_t parent)
{
	struct process_labels *own;

	if (!state__find(s, parent))
		return 0;
	own = state__make(s, proc);
	if (!own)
		return -ENOMEM;
	inherit(own, &state__find(s, parent)->labels);
	return 0;
}

/* Gives each process the labels that it inherits. A parent may come after its children. */
static int labels__begin(void *state, struct second_pass *p)
{
	const struct machine *m = &p->model->machine;
	size_t first = p->found->first_proc, nr = m->procs.nr - first, i;
	uint8_t *done = calloc(nr + 1, 1);
	ARRAY(uint32_t) line = { 0 };
	uint32_t proc, parent;
	int err = done ? 0 : -ENOMEM;

	for (i = 0; i < nr && !err; i++) {
		for (proc = first + i; !err && !done[proc - first]; proc = parent) {
			done[proc - first] = 1;
			err = array_push(&line, proc);
			if (!idmap__get(&m->procs_by_id, m->procs.v[proc].parent_proc_id, &parent))
				break;
		}
		for (; line.nr; line.nr--) {
			proc = line.v[line.nr - 1];
			if (idmap__get(&m->procs_by_id, m->procs.v[proc].parent_proc_id, &parent))
				err = err ?: inherit_labels(state, proc, parent);
		}
	}
	array_free(&line);
	free(done);
	return err;
}

/* ---- all recordings -------------------------------------------------------------------------- */

static int labels__absorb(void *state, void *from_state, struct remap *r)
{
	const struct labels_state *from = from_state;
	const struct process_labels *old;
	struct process_labels *own;
	size_t i, k;

	for (i = 0; i < from->by_proc.nr; i++) {
		old = state__find(from, i);
		if (!old)
			continue;
		own = state__make(state, r->proc + i);
		if (!own)
			return -ENOMEM;
		*own = *old;
		for (k = 0; k < LABELS_NR_TEXTS; k++)
			own->labels.texts[k] = remap__text(r, old->labels.texts[k]);
	}
	return r->no_memory ? -ENOMEM : 0;
}

static const struct labels *labels__of(const void *state, uint32_t proc)
{
	const struct process_labels *own = state__find(state, proc);

	return own ? &own->labels : NULL;
}

static const struct cmdline_option rows[] = {
	{ "rank", 0, "LIST", .value = FILTER_RANK, .many = true, .group = FORMAT_MERGED },
};

static const struct feature_options options = {
	.rows = rows, .nr = ARRAY_SIZE(rows), .after = "pid",
};

const struct feature labels_feature = {
	.name = "labels",
	.new = state__new,
	.free = state__free,
	.records = records,
	.begin = labels__begin,
	.absorb = labels__absorb,
	.labels = labels__of,
	.options = &options,
};
