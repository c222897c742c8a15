// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/closing_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "read/reader.h"
#include "safefile.h"
#include "write/section.h"
#include "write/tables/tables_recording.h"
#include "xpu_time.h"

#define PATHS_AT_ONCE	4096		/* number of paths whose texts are in memory at one time */

static int64_t known_time(uint64_t ns)
{
	return ns && ns <= INT64_MAX ? (int64_t)ns : PARQUET_NULL;
}

/* ---- processes ------------------------------------------------------------------------------ */

/*
 * Return: the command of a recording, as typed in a shell, interned; NULL if it is unknown or
 * memory is short.
 */
static const char *recording_command(struct tables_recording *r, const struct model *m)
{
	const struct input *in = &m->inputs.v[r->nr];
	const char *command = NULL;
	uint32_t i, k;
	char *text;

	for (i = in->first_info; i < in->first_info + in->nr_infos; i++) {
		const struct xpu_record_info *info = m->infos.v[i];

		if (info->key != XPU_INFO_CMDLINE)
			continue;
		text = malloc(info->bytes + 1);
		if (!text)
			return NULL;
		for (k = 0; k < info->bytes; k++)
			text[k] = info->data[k] ?: ' ';
		while (k && text[k - 1] == ' ')
			k--;
		command = strpool__intern(&r->strings, text, k);
		free(text);
	}
	return command;
}

/*
 * Return: the exit code, or 128 + the signal that ended the process, as in shells; PARQUET_NULL if
 * no exit was recorded.
 */
static int64_t exit_cell(const struct proc *proc)
{
	if (!proc->exited)
		return PARQUET_NULL;
	return WIFSIGNALED(proc->exit_code) ? 128 + WTERMSIG(proc->exit_code) :
	       WEXITSTATUS(proc->exit_code);
}

static int64_t known_number(const struct labels *labels, enum xpu_label label)
{
	uint32_t n = labels__number(labels, label);

	return n == NO_INDEX ? PARQUET_NULL : (int64_t)n;
}

static int put_processes(struct tables_recording *r, const struct model *m)
{
	const struct input *in = &m->inputs.v[r->nr];
	const struct xpu_file_header *h = &in->reader->header;
	const char *command = recording_command(r, m), *name = safefile__name(in->reader->name);
	struct row_process row;
	int err = 0;
	size_t i;

	for (i = r->first_proc; i < m->machine.procs.nr && !err; i++) {
		const struct labels *labels = model__labels(m, i);
		const struct proc *proc = &m->machine.procs.v[i];

		if (proc->recording != r->nr)
			break;
		err = tables_recording__process(r, m, i, &row);
		if (err)
			break;
		err = partitions__put(&r->partitions, row.partition, tables_processes, (int64_t[]){
			row.id, proc->pid ? (int64_t)proc->pid : PARQUET_NULL,
			proc->parent_proc_id ?
			tables_recording__process_id(r, proc->parent_proc_id) : PARQUET_NULL,
			parquet__string(model__proc_name(m, i)), parquet__known(in->host),
			known_time(proc->time_ns), known_time(proc->exit_ns), exit_cell(proc),
			h->start_real_ns ?
			(int64_t)xpu_ns_between(h->start_mono_ns, h->start_real_ns) : PARQUET_NULL,
			parquet__string(name), parquet__known(command),
			known_number(labels, XPU_LABEL_LOCAL_RANK),
			known_number(labels, XPU_LABEL_WORLD_SIZE),
			parquet__known(labels__text(labels, XPU_LABEL_NODE)),
			parquet__known(labels__text(labels, XPU_LABEL_JOB)),
			parquet__known(labels__text(labels, XPU_LABEL_POD)),
			parquet__known(labels__text(labels, XPU_LABEL_NAMESPACE)),
			parquet__known(labels__text(labels, XPU_LABEL_CONTAINER)),
		});
	}
	return err;
}

/* ---- paths and their frames ----------------------------------------------------------------- */

static int put_frames(struct tables_recording *r, const struct row_process *row, int64_t path_id,
		      const struct stack *stack)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < stack->nr && !err; i++) {
		const struct frame *f = stack->frames[i];

		err = partitions__put(&r->partitions, row->partition, tables_frames, (int64_t[]){
			row->id, path_id, i, parquet__string(f->name),
			f->dso ? parquet__known(f->dso->path) : PARQUET_NULL, f->symbolized,
		});
	}
	return err;
}

static int put_path(struct tables_recording *r, const struct model *m, uint32_t chain,
		    struct strpool *texts)
{
	const struct stack *stack = m->chains.v[chain].stack;
	const struct frame *place = stack__place(stack);
	int64_t path_id = tables_recording__path(r, m, chain), hash;
	char *path = stack__path(stack, TABLE_CSV, NULL);
	struct row_process row;
	const char *text;
	int err;

	if (!path)
		return -ENOMEM;
	hash = tables_recording__hash(0, path, strlen(path));
	text = strpool__intern(texts, path, strlen(path));
	free(path);
	err = text ? tables_recording__process(r, m, m->chains.v[chain].proc, &row) : -ENOMEM;
	if (err)
		return err;
	err = partitions__put(&r->partitions, row.partition, tables_paths, (int64_t[]){
		row.id, path_id, parquet__string(text), hash, stack->nr,
		place ? parquet__string(place->name) : PARQUET_NULL,
	});
	return err ?: put_frames(r, &row, path_id, stack);
}

/* Writes the paths in portions, because their texts take much memory. */
static int put_paths(struct tables_recording *r, const struct model *m)
{
	struct strpool texts = { 0 };
	size_t i, nr = 0;
	int err = 0;

	for (i = r->first_chain; i < m->chains.nr && !err; i++) {
		if (m->machine.procs.v[m->chains.v[i].proc].recording != r->nr)
			break;
		if (chain__path(m, i) != i || !m->chains.v[i].stack)
			continue;
		err = put_path(r, m, i, &texts);
		if (err || ++nr % PATHS_AT_ONCE)
			continue;
		err = partitions__flush(&r->partitions, tables_paths);
		strpool__free(&texts);
	}
	err = err ?: partitions__flush(&r->partitions, tables_paths);
	strpool__free(&texts);
	return err;
}

/* ---- tables of features ---------------------------------------------------------------------- */

static int put_features(struct tables_recording *r, const struct model *m, uint32_t partition)
{
	unsigned int i;
	int err = 0;

	for (i = 0; features[i] && !err; i++)
		if (features[i]->table && features[i]->table->put && m->features[i])
			err = features[i]->table->put(m, r, partition);
	return err;
}

/* ---- windows -------------------------------------------------------------------------------- */

static int put_windows(struct tables_recording *r, const struct model *m)
{
	const struct captured *c = &m->captured;
	struct row_process row;
	int err = 0;

	array_each_while(&c->windows, w, !err) {
		if (m->machine.procs.v[w->proc].recording != r->nr)
			continue;
		err = tables_recording__process(r, m, w->proc, &row);
		err = err ?: partitions__put(&r->partitions, row.partition, tables_windows,
					     (int64_t[]){
			row.id, w->number, w->open_ns - r->shift_ns,
			w->close_ns == UINT64_MAX ? PARQUET_NULL :
			(int64_t)(w->close_ns - r->shift_ns),
			w->nr_launches,
		});
	}
	return err;
}

/* ---- losses --------------------------------------------------------------------------------- */

static int put_counter(struct tables_recording *r, const struct model *m, uint32_t partition,
		       const char *name, uint64_t count, bool loss, const char *meaning)
{
	const char *file = safefile__name(m->inputs.v[r->nr].reader->name);

	return partitions__put(&r->partitions, partition, tables_losses, (int64_t[]){
		parquet__string(file), parquet__string(name), count, loss, parquet__string(meaning),
	});
}

static int put_losses(struct tables_recording *r, const struct model *m, uint32_t partition)
{
	const struct loss *l = &m->inputs.v[r->nr].loss;
	const struct {
		const char *name, *meaning;
		uint64_t count;
	} account[] = {
		{ "launches", "launches in the recording", l->nr_launches },
		{ "matched", "of these, launches with device work", l->nr_matched },
		{ "works", "device records", l->nr_works },
		{ "unmatched", "launches without device work, and device records without a launch",
		  loss__unmatched(l) },
		{ "lost", "launches and records known to be missing", loss__lost(l) },
	};
	struct loss_counter counter;
	const char *name;
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(account) && !err; i++)
		err = put_counter(r, m, partition, account[i].name, account[i].count, false,
				  account[i].meaning);
	for (i = 0; !err && loss__counter_at(l, i, &counter); i++) {
		name = strpool__intern(&r->strings, counter.name, strlen(counter.name));
		err = !name ? -ENOMEM :
		      put_counter(r, m, partition, name, counter.count, counter.loss,
				  counter.meaning);
	}
	return err;
}

int closing_tables__write(struct tables_recording *r, const struct model *m)
{
	uint32_t partition;
	int err = partitions__find(&r->partitions, tables_recording__rank(r, m), &partition);

	return err ?: put_processes(r, m) ?: put_paths(r, m) ?: put_features(r, m, partition) ?:
	       put_windows(r, m) ?: put_losses(r, m, partition);
}
