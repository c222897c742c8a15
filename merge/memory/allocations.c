// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/allocations.h"

#include "memory/state.h"
#include "memory/heap.h"
#include "write/tables/schema.h"
#include "write/tables/tables_recording.h"

#define ALLOCATIONS_COLUMNS(C)				\
	C(process_id, INT64, DICTIONARY, false)		\
	C(number, INT64, DELTA, false)			\
	C(time_ns, INT64, DELTA, false)			\
	C(what, STRING, DICTIONARY, false)		\
	C(space, STRING, DICTIONARY, false)		\
	C(gpu, INT64, DICTIONARY, true)			\
	C(address, INT64, DICTIONARY, true)		\
	C(bytes, INT64, DICTIONARY, true)		\
	C(tid, INT64, DICTIONARY, true)			\
	C(comm, STRING, DICTIONARY, true)		\
	C(path_id, INT64, DICTIONARY, true)		\
	C(nvtx, STRING, DICTIONARY, true)

static const struct parquet_column columns[] = { ALLOCATIONS_COLUMNS(TABLES_COLUMN) };

const struct feature_table allocations_table = {
	.name = "allocations", .columns = columns, .nr = ARRAY_SIZE(columns),
};

static const char *const alloc_whats[XPU_ALLOC_NR] = {
	[XPU_ALLOC_MADE] = "made", [XPU_ALLOC_FREED] = "freed", [XPU_ALLOC_FAILED] = "failed",
	[XPU_ALLOC_NOT_FREED] = "not_freed", [XPU_ALLOC_CONTEXT_END] = "context_end",
	[XPU_ALLOC_TOTALS] = "totals", [XPU_ALLOC_HANDLE] = "handle",
	[XPU_ALLOC_RETAINED] = "retained", [XPU_ALLOC_LEVEL] = "level",
};

static const char *const alloc_spaces[XPU_SPACE_NR] = {
	[XPU_SPACE_DEVICE] = "device", [XPU_SPACE_MANAGED] = "managed", [XPU_SPACE_POOL] = "pool",
	[XPU_SPACE_PINNED] = "pinned", [XPU_SPACE_REGISTERED] = "registered",
	[XPU_SPACE_PHYSICAL] = "physical", [XPU_SPACE_MAPPING] = "mapping",
	[XPU_SPACE_ARRAY] = "array", [XPU_SPACE_IMPORTED] = "imported", [XPU_SPACE_BLOCK] = "block",
	[XPU_SPACE_GRAPHS] = "graphs", [XPU_SPACE_UNUSED] = "unused", [XPU_SPACE_REST] = "rest",
};

int allocations__put(struct tables_recording *r, const struct model *m, const void *row)
{
	const struct allocation *of = row;
	const struct heap_event *e = of->event;
	uint32_t gpu = of->gpu;
	bool placed = e->what == XPU_ALLOC_MADE || e->what == XPU_ALLOC_FAILED;
	uint32_t range = placed ? m->chains.v[e->key.chain].range : NO_RANGE;
	struct row_process proc;
	struct row_ranges in;
	int err;

	if (!alloc_whats[e->what])
		return 0;
	err = tables_recording__process(r, m, e->proc, &proc) ?:
	      tables_recording__range_names(r, m, range, &in);
	return err ?: partitions__put(&r->partitions, proc.partition, FEATURE_memory, (int64_t[]){
		proc.id, e->order, e->time_ns - r->shift_ns, parquet__string(alloc_whats[e->what]),
		parquet__string(alloc_spaces[e->space]),
		gpu == NO_INDEX ? PARQUET_NULL : (int64_t)m->gpus.list.v[gpu].number,
		e->address, e->bytes, placed ? thread__cell(m, e->key.thread) : PARQUET_NULL,
		placed ? parquet__string(e->key.comm) : PARQUET_NULL,
		placed ? tables_recording__path(r, m, e->key.chain) : PARQUET_NULL,
		parquet__string(in.text),
	});
}
