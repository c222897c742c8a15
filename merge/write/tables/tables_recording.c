// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/tables_recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "read/reader.h"
#include "safefile.h"
#include "xpu_time.h"

/* Return: the rank of a process, or TABLES_NO_RANK. */
static int64_t process__rank(const struct model *m, uint32_t proc)
{
	uint32_t rank = labels__number(model__labels(m, proc), XPU_LABEL_RANK);

	return rank == NO_INDEX ? TABLES_NO_RANK : (int64_t)rank;
}

/* ---- ids ------------------------------------------------------------------------------------ */

/*
 * Ids are hashes of 63 bits, so that they fit the signed integers of all engines. The odds that two
 * of a million processes have the same id are 1 to 18 million.
 */
static uint64_t spread(uint64_t h)
{
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return h ^ h >> 31;
}

uint64_t tables_recording__hash(uint64_t seed, const void *v, size_t nr)
{
	const uint8_t *bytes = v;
	uint64_t h = seed ^ 0xcbf29ce484222325ull;
	size_t i;

	/* The hash is FNV-1a. */
	for (i = 0; i < nr; i++)
		h = (h ^ bytes[i]) * 0x100000001b3ull;
	return spread(h) >> 1;
}

int64_t tables_recording__process_id(const struct tables_recording *r, uint32_t proc_id)
{
	return spread(r->hash + proc_id * 0x9e3779b97f4a7c15ull) >> 1;
}

/* Return: a hash of the properties that identify a recording: its host, clocks and processes. */
static uint64_t identify(const struct model *m, uint32_t nr, uint32_t first_proc)
{
	const struct input *in = &m->inputs.v[nr];
	const struct xpu_file_header *h = &in->reader->header;
	const char *name = safefile__name(in->reader->name);
	uint64_t times[] = { h->start_mono_ns, h->start_real_ns }, hash;
	const struct proc *proc;

	hash = tables_recording__hash(0, times, sizeof(times));
	hash = tables_recording__hash(hash, in->host, strlen(in->host));
	if (first_proc < m->machine.procs.nr) {
		proc = &m->machine.procs.v[first_proc];
		hash = tables_recording__hash(hash, &proc->pid, sizeof(proc->pid));
		hash = tables_recording__hash(hash, &proc->time_ns, sizeof(proc->time_ns));
	}
	/* An import has no clocks. */
	return h->start_real_ns ? hash : tables_recording__hash(hash, name, strlen(name));
}

/* ---- the begin and the end of a recording ---------------------------------------------------- */

int tables_recording__begin(struct tables_recording *r, const struct model *m, uint32_t nr)
{
	uint32_t unused;

	while (r->first_proc < m->machine.procs.nr &&
	       m->machine.procs.v[r->first_proc].recording < nr)
		r->first_proc++;
	while (r->first_chain < m->chains.nr &&
	       m->machine.procs.v[m->chains.v[r->first_chain].proc].recording < nr)
		r->first_chain++;
	r->nr = nr;
	r->shift_ns = m->inputs.v[nr].shift_ns;
	r->hash = identify(m, nr, r->first_proc);
	r->partitions.recording = r->hash;
	r->procs.nr = 0;
	return partitions__find(&r->partitions, tables_recording__rank(r, m), &unused);
}

int64_t tables_recording__rank(const struct tables_recording *r, const struct model *m)
{
	int64_t rank = TABLES_NO_RANK, of;
	size_t i;

	for (i = r->first_proc; i < m->machine.procs.nr && m->machine.procs.v[i].recording == r->nr;
	     i++) {
		of = process__rank(m, i);
		if (of != TABLES_NO_RANK && rank != TABLES_NO_RANK && of != rank)
			return TABLES_NO_RANK;
		rank = of != TABLES_NO_RANK ? of : rank;
	}
	return rank;
}

int tables_recording__commit(struct tables_recording *r, const struct model *m)
{
	const struct xpu_file_header *h = &m->inputs.v[r->nr].reader->header;
	char schema[16], offset[24], hash[24];
	const struct parquet_pair pairs[] = {
		{ "xpuload.schema", schema },
		{ "xpuload.recording", hash },
		{ "xpuload.host", m->inputs.v[r->nr].host },
		{ "xpuload.clock", "CLOCK_MONOTONIC" },
		{ "xpuload.realtime_ns", offset },
	};
	int err;

	snprintf(schema, sizeof(schema), "%d", TABLES_SCHEMA);
	snprintf(hash, sizeof(hash), "%016" PRIx64, r->hash);
	snprintf(offset, sizeof(offset), "%" PRIu64, (uint64_t)(
		 h->start_real_ns ? xpu_ns_between(h->start_mono_ns, h->start_real_ns) : 0));
	err = partitions__commit(&r->partitions, tables_recording__rank(r, m), pairs,
				 ARRAY_SIZE(pairs));
	r->nvtx.nr = 0;
	strpool__free(&r->strings);
	return err;
}

void tables_recording__exit(struct tables_recording *r)
{
	partitions__close(&r->partitions);
	array_free(&r->procs);
	array_free(&r->nvtx);
	strpool__free(&r->strings);
}

/* ---- what rows refer to --------------------------------------------------------------------- */

int tables_recording__process(struct tables_recording *r, const struct model *m, uint32_t proc,
			      struct row_process *p)
{
	struct row_process next;
	int err = 0;

	while (!err && r->procs.nr <= proc - r->first_proc) {
		uint32_t nr = r->first_proc + r->procs.nr;

		next.id = tables_recording__process_id(r, m->machine.procs.v[nr].proc_id);
		err = partitions__find(&r->partitions, process__rank(m, nr), &next.partition) ?:
		      array_push(&r->procs, next);
	}
	if (!err)
		*p = r->procs.v[proc - r->first_proc];
	return err;
}

/* Return: the text of the ranges of a path, interned; or NULL. */
static const char *nvtx_text(struct tables_recording *r, const struct model *m, uint32_t range)
{
	uint32_t path[MAX_RANGES], nr = ranges__path(&m->ranges, range, path), i;
	const char *interned;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (i = 0; i < nr; i++) {
		fputs(i ? ";" : "", f);
		escape__print(f, ranges__name(&m->ranges, path[i]), ESCAPE_FOLDED);
	}
	interned = fclose(f) ? NULL : strpool__intern(&r->strings, text, size);
	free(text);
	return interned;
}

static int make_ranges(struct tables_recording *r, const struct model *m, uint32_t range,
		       struct row_ranges *of)
{
	const struct xpu_range_payload *payload = NULL;
	uint32_t i;

	for (i = range; i != NO_RANGE && !payload; i = m->ranges.list.v[i].parent)
		payload = m->ranges.list.v[i].rec ? range__payload(m->ranges.list.v[i].rec) : NULL;
	of->text = nvtx_text(r, m, range);
	of->communicator = payload && payload->fields & XPU_COLLECTIVE_COMM ?
			   (int64_t)payload->comm : PARQUET_NULL;
	of->message_bytes = payload && payload->fields & XPU_COLLECTIVE_BYTES ?
			    (int64_t)payload->bytes : PARQUET_NULL;
	return of->text ? 0 : -ENOMEM;
}

int tables_recording__range_names(struct tables_recording *r, const struct model *m, uint32_t range,
			   struct row_ranges *of)
{
	static const struct row_ranges none = { NULL, PARQUET_NULL, PARQUET_NULL };
	int err = 0;

	*of = none;
	if (range == NO_RANGE)
		return 0;
	while (!err && r->nvtx.nr <= range)
		err = array_push(&r->nvtx, none);
	if (!err && !r->nvtx.v[range].text)
		err = make_ranges(r, m, range, &r->nvtx.v[range]);
	if (!err)
		*of = r->nvtx.v[range];
	return err;
}
