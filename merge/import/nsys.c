// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/nsys.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "import/gputrace.h"
#include "model/leaf.h"

#define BEFORE_MAX_NS	(24 * 3600 * UINT64_C(1000000000))	/* longest time by which an event
								 * may precede the session */
#define TIME_MAX_NS	(INT64_MAX / 2)

/* ---- times ----------------------------------------------------------------------------------- */

bool nsys__is_time(const struct nsys *n, sqlite3_stmt *stmt, int i, uint64_t *ns)
{
	sqlite3_int64 time = sqlite3_column_int64(stmt, i);

	if (column__is_null(stmt, i) || time < -(sqlite3_int64)n->before_ns || time > TIME_MAX_NS)
		return false;
	*ns = time + n->before_ns;
	return true;
}

bool nsys__time(struct nsys *n, sqlite3_stmt *stmt, int i, uint64_t *ns)
{
	bool is_time = nsys__is_time(n, stmt, i, ns);

	n->db.nr_strange += !is_time;
	return is_time;
}

bool nsys__times(struct nsys *n, sqlite3_stmt *stmt, int i, uint64_t *start_ns, uint64_t *end_ns)
{
	if (!nsys__time(n, stmt, i, start_ns) || !nsys__time(n, stmt, i + 1, end_ns))
		return false;
	if (*end_ns < *start_ns) {
		n->db.nr_strange++;
		return false;
	}
	n->last_ns = max_t(uint64_t, n->last_ns, *end_ns);
	return true;
}

/*
 * nsys__read_before - find the earliest time of all tables
 *
 * Time 0 of an export is close to the start of the session; earlier events have negative times.
 */
static int nsys__read_before(struct nsys *n)
{
	static const char *const tables[] = {
		"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
		"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
		"CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
		"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUDA_GRAPH_NODE_EVENTS", "NVTX_EVENTS",
		"COMPOSITE_EVENTS", "SCHED_EVENTS", "OSRT_API",
	};
	sqlite3_stmt *stmt;
	char order[96];
	int err = 0;
	size_t i;

	snprintf(order, sizeof(order), "WHERE start < 0 AND start >= %lld ORDER BY 1 LIMIT 1",
		 -(long long)BEFORE_MAX_NS);
	for (i = 0; i < ARRAY_SIZE(tables) && !err; i++) {
		if (!database__has_column(&n->db, tables[i], "start"))
			continue;
		err = database__select(&n->db, tables[i], "start", 0, order, &stmt);
		while (database__next(&n->db, &stmt, tables[i], &err))
			n->before_ns = max_t(uint64_t, n->before_ns,
					     -sqlite3_column_int64(stmt, 0));
	}
	/* Only the times of these tables were read. */
	strpool__free(&n->db.selected);
	if (n->before_ns && !err)
		msgs__add(n->msgs, "%s: the first event is %" PRIu64 ".%03u us before the session "
			  "began: times count from that event", n->path, n->before_ns / 1000,
			  (unsigned int)(n->before_ns % 1000));
	return err;
}

/* ---- enumerations ---------------------------------------------------------------------------- */

struct enum_word {
	const char *word;		/* last letters of a name, in capitals */
	uint32_t value;
};

static bool enum__is(const char *name, const char *word)
{
	size_t len = strlen(name), nr = strlen(word);

	while (len && nr) {
		char c = name[--len];

		if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
			continue;
		if ((c & ~0x20) != word[--nr])
			return false;
	}
	return !nr;
}

/*
 * nsys__read_enum - read the names that an export gives to the numbers of an enumeration
 * @words: the last entry has no word; the values are the numbers that this program uses
 * @values: gets the value of each number whose name is known
 *
 * Numbers differ between versions of Nsight Systems; newer exports have a table of names.
 */
static int nsys__read_enum(struct nsys *n, const char *table, const struct enum_word *words,
			   struct idmap *values)
{
	const struct enum_word *w;
	sqlite3_stmt *stmt;
	const char *name;
	int err, i;

	err = database__select(&n->db, table, "id name label", 0, "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		i = 1;
		do {
			name = (const char *)sqlite3_column_text(stmt, i) ?: "";
			for (w = words; w->word && !enum__is(name, w->word); w++)
				;
		} while (!w->word && ++i < 3);
		if (w->word)
			err = min_t(int,
				    idmap__add(values, sqlite3_column_int64(stmt, 0), w->value), 0);
	}
	return err;
}

/*
 * Return: this program's value for a number of the export. If the export does not name the number,
 * returns the number itself.
 */
static sqlite3_int64 enum__value(const struct idmap *values, sqlite3_int64 number)
{
	uint32_t value;

	return idmap__get(values, number, &value) ? value : number;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int nsys__read_strings(struct nsys *n)
{
	sqlite3_stmt *stmt;
	int err = database__select(&n->db, "StringIds", "id value", 2, "", &stmt);
	const char *s;
	uint32_t known;

	while (database__next(&n->db, &stmt, "StringIds", &err)) {
		uint64_t id = sqlite3_column_int64(stmt, 0);

		if (idmap__get(&n->string_ids, id, &known))
			continue;
		s = (const char *)sqlite3_column_text(stmt, 1) ?: "";
		s = strpool__intern(&n->strings, s, strlen(s));
		err = s ? idmap__put(&n->string_ids, id, n->string_values.nr) : -ENOMEM;
		err = err ?: array_push(&n->string_values, s);
	}
	return err;
}

const char *nsys__string(const struct nsys *n, sqlite3_stmt *stmt, int i)
{
	uint32_t idx;

	if (column__is_null(stmt, i) ||
	    !idmap__get(&n->string_ids, sqlite3_column_int64(stmt, i), &idx))
		return NULL;
	return n->string_values.v[idx];
}

int nsys__proc(struct nsys *n, uint64_t global, uint32_t *proc)
{
	struct nsys_proc new = { .id = global >> NSYS_PROC_SHIFT };
	int err;

	if (idmap__get(&n->proc_ids, new.id, proc))
		return 0;
	*proc = n->procs.nr;
	err = idmap__put(&n->proc_ids, new.id, *proc);
	return err ?: array_push(&n->procs, new);
}

static int nsys__read_names(struct nsys *n)
{
	sqlite3_stmt *stmt;
	const char *name;
	uint32_t proc, known;
	int err = database__select(&n->db, "PROCESSES", "globalPid name", 2, "", &stmt);

	while (database__next(&n->db, &stmt, "PROCESSES", &err)) {
		err = nsys__proc(n, sqlite3_column_int64(stmt, 0), &proc);
		name = (const char *)sqlite3_column_text(stmt, 1);
		if (err || !name)
			continue;
		name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
		n->procs.v[proc].name = strpool__intern(&n->strings, name, strlen(name));
		if (!n->procs.v[proc].name)
			err = -ENOMEM;
	}
	if (!err)
		err = database__select(&n->db, "ThreadNames", "globalTid nameId priority", 2,
				       "ORDER BY 3 DESC", &stmt);
	else
		stmt = NULL;
	while (database__next(&n->db, &stmt, "ThreadNames", &err)) {
		uint64_t tid = sqlite3_column_int64(stmt, 0);

		/* The first name wins. */
		if (!nsys__string(n, stmt, 1) || idmap__get(&n->thread_names, tid, &known) ||
		    !idmap__get(&n->string_ids, sqlite3_column_int64(stmt, 1), &known))
			continue;
		err = idmap__put(&n->thread_names, tid, known);
	}
	return err;
}

static int nsys__add_work(struct nsys *n, sqlite3_stmt *stmt, struct nsys_work *w)
{
	struct nsys_proc *p;
	int err = 0;

	if (!nsys__times(n, stmt, 0, &w->start_ns, &w->end_ns))
		return 0;
	w->device = column__u32(stmt, 2);
	w->context = column__u32(stmt, 3);
	w->stream = column__u32(stmt, 4);
	w->correlation_id = column__u32(stmt, 5);
	w->proc = w->next = NO_INDEX;
	if (!column__is_null(stmt, 6))
		err = nsys__proc(n, sqlite3_column_int64(stmt, 6), &w->proc);
	else if (n->procs.nr == 1)
		w->proc = 0;
	if (err)
		return err;
	if (w->proc != NO_INDEX) {
		p = &n->procs.v[w->proc];
		if (w->type == XPU_RECORD_KERNEL) {
			if (!p->nr_devices)
				p->device = w->device;
			if (p->nr_devices < 2 && (!p->nr_devices || p->device != w->device))
				p->nr_devices++;
		}
	}
	return array_push(&n->works, *w);
}

/* Makes the ids of calls and device work unique, if correlation ids restart in a process. */
static int nsys__renumber(struct nsys *n)
{
	struct epoch_call *calls = calloc(n->calls.nr + 1, sizeof(*calls));
	struct epoch_work *works = calloc(n->works.nr + 1, sizeof(*works));
	int err = calls && works ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < n->calls.nr && !err; i++) {
		const struct nsys_call *c = &n->calls.v[i];
		enum call_kind kind = cuda_api__kind(c->name, strlen(c->name));

		calls[i] = (struct epoch_call){
			.start_ns = c->start_ns, .end_ns = c->end_ns, .tid = c->tid,
			.proc = 1 + c->proc, .id = c->correlation_id,
			.driver = strncmp(c->name, "cuda", 4) != 0,
			.works = call_kind__works(kind, c->name),
		};
	}
	for (i = 0; i < n->works.nr && !err; i++) {
		const struct nsys_work *w = &n->works.v[i];

		works[i] = (struct epoch_work){
			.start_ns = w->start_ns, .id = w->proc == NO_INDEX ? 0 : w->correlation_id,
			.proc = 1 + w->proc, .kernel = w->type == XPU_RECORD_KERNEL,
		};
	}
	err = err ?: epochs__renumber(&n->epochs, calls, n->calls.nr, works, n->works.nr);
	for (i = 0; i < n->calls.nr && !err; i++) {
		n->calls.v[i].file_id = n->calls.v[i].correlation_id;
		n->calls.v[i].correlation_id = calls[i].id;
	}
	for (i = 0; i < n->works.nr && !err; i++)
		if (n->works.v[i].proc != NO_INDEX)
			n->works.v[i].correlation_id = works[i].id;
	free(works);
	free(calls);
	return err;
}

/*
 * Indexes calls and activity records by their ids. A graph launch has either one activity record
 * for each node, or one for the whole graph.
 */
static int nsys__index(struct nsys *n)
{
	uint32_t i, k, head, nr = 0;
	int err = 0;

	for (i = 0; i < n->calls.nr && !err; i++) {
		const struct nsys_call *c = &n->calls.v[i];

		/* Calls are sorted by time, so an outer call comes before its inner calls. */
		if (c->correlation_id)
			err = min_t(int,
				    idmap__add(&n->call_ids, ID_KEY(c->proc, c->correlation_id), i),
				    0);
	}
	for (i = 0; i < n->works.nr && !err; i++) {
		struct nsys_work *w = &n->works.v[i];
		uint64_t key = ID_KEY(w->proc, w->correlation_id);

		k = nr++;
		n->works.v[k] = *w;
		w = &n->works.v[k];
		if (w->proc == NO_INDEX || !w->correlation_id)
			continue;
		if (!idmap__get(&n->work_ids, key, &head)) {
			err = idmap__put(&n->work_ids, key, k);
		} else if (w->graph_id && !n->works.v[head].graph_id) {
			n->nr_graphs_twice++;
			nr--;
		} else {
			w->next = n->works.v[head].next;
			n->works.v[head].next = k;
		}
	}
	n->works.nr = nr;
	return err;
}

/*
 * Return: the graph node of an activity record if the export records the node's creation; otherwise
 * 0.
 */
static uint64_t nsys__known_node(const struct nsys *n, sqlite3_stmt *stmt, int i)
{
	uint64_t id = sqlite3_column_int64(stmt, i);
	uint32_t known;

	return idmap__get(&n->node_ids, id, &known) ? id : 0;
}

/*
 * Reads the creations and copies of graph nodes, as recorded by nsys profile
 * --cuda-graph-trace=node.
 */
static int nsys__read_nodes(struct nsys *n)
{
	static const char table[] = "CUDA_GRAPH_NODE_EVENTS";
	sqlite3_stmt *stmt;
	int err;

	err = database__select(&n->db, table, "start globalTid graphNodeId originalGraphNodeId", 0,
			       "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_node node = {
			.tid = sqlite3_column_int64(stmt, 1),
			.id = sqlite3_column_int64(stmt, 2),
			.original = sqlite3_column_int64(stmt, 3),
		};

		if (!nsys__time(n, stmt, 0, &node.time_ns))
			continue;
		if (column__is_null(stmt, 1) || !node.id) {
			n->db.nr_strange++;
			continue;
		}
		err = nsys__proc(n, node.tid, &node.proc);
		err = err ?: min_t(int, idmap__add(&n->node_ids, node.id, 0), 0);
		err = err ?: array_push(&n->nodes, node);
	}
	return err;
}

static int nsys__read_kernels(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_KERNEL";
	sqlite3_stmt *stmt;
	int err, i;

	err = database__select(&n->db, table, "start end deviceId contextId streamId "
			       "correlationId globalPid shortName demangledName mangledName gridX "
			       "gridY gridZ blockX blockY blockZ registersPerThread "
			       "staticSharedMemory dynamicSharedMemory graphNodeId clusterX "
			       "clusterY clusterZ localMemoryPerThread", 2, "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_work w = { .type = XPU_RECORD_KERNEL };

		w.full_name = nsys__string(n, stmt, 8) ?: nsys__string(n, stmt, 9);
		w.name = nsys__string(n, stmt, 7) ?: w.full_name ?: "[unknown]";
		for (i = 0; i < 3; i++) {
			w.grid[i] = column__u32(stmt, 10 + i);
			w.block[i] = column__u32(stmt, 13 + i);
			w.cluster[i] = column__u32(stmt, 20 + i);
		}
		w.registers = column__u32(stmt, 16);
		w.shared_bytes = (uint64_t)column__u32(stmt, 17) + column__u32(stmt, 18);
		w.dynamic_bytes = column__u32(stmt, 18);
		w.local_bytes = column__u32(stmt, 23);
		w.graph_node_id = nsys__known_node(n, stmt, 19);
		err = nsys__add_work(n, stmt, &w);
	}
	return err;
}

enum { FIRST_PAGES = 11 };		/* CUDA_MEMCPY_KIND_UVM_HTOD */

/*
 * Sets the kind of a copy from a value of ENUM_CUDA_MEMCPY_OPER: a CUpti_ActivityMemcpyKind, or a
 * page migration of managed memory, which the export has among the copies.
 */
static void nsys_work__set_copy(struct nsys_work *w, sqlite3_int64 oper)
{
	static const struct {
		uint8_t copy_kind, migration;
	} pages[] = {
		{ 1, XPU_MIGRATION_TO_DEVICE }, { 2, XPU_MIGRATION_TO_HOST },
		{ 8, XPU_MIGRATION_BETWEEN },
	};
	w->copy_kind = oper >= 0 && oper < NR_MEMCPY_KINDS ? oper : 0;
	if (oper >= FIRST_PAGES && oper < FIRST_PAGES + (int)ARRAY_SIZE(pages)) {
		w->copy_kind = pages[oper - FIRST_PAGES].copy_kind;
		w->migration = pages[oper - FIRST_PAGES].migration;
		w->correlation_id = 0;		/* no call asked for the migration */
	}
}

/*
 * Reads the executions of whole graphs, as recorded by nsys profile --cuda-graph-trace=graph, the
 * default.
 */
static int nsys__read_graphs(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
	sqlite3_stmt *stmt;
	int err;

	err = database__select(&n->db, table, "start end deviceId contextId streamId "
			       "correlationId globalPid graphId", 2, "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_work w = { .type = XPU_RECORD_KERNEL };

		w.graph_id = column__u32(stmt, 7);
		w.name = strpool__internf(&n->strings, "CUDA graph %" PRIu32, w.graph_id);
		w.graph_id += !w.graph_id;
		err = w.name ? nsys__add_work(n, stmt, &w) : -ENOMEM;
	}
	return err;
}

static int nsys__read_memory(struct nsys *n, const char *table, uint8_t type)
{
	static const struct enum_word words[] = {
		{ "UVMHTOD", FIRST_PAGES }, { "UVMDTOH", FIRST_PAGES + 1 },
		{ "UVMDTOD", FIRST_PAGES + 2 },
		{ "HTOD", 1 }, { "DTOH", 2 }, { "HTOA", 3 }, { "ATOH", 4 }, { "ATOA", 5 },
		{ "ATOD", 6 }, { "DTOA", 7 }, { "DTOD", 8 }, { "HTOH", 9 }, { "PTOP", 10 }, { 0 },
	};
	struct idmap kinds = { 0 };
	sqlite3_stmt *stmt = NULL;
	int err = nsys__read_enum(n, "ENUM_CUDA_MEMCPY_OPER", words, &kinds);

	err = err ?: database__select(&n->db, table, "start end deviceId contextId streamId "
				      "correlationId globalPid bytes copyKind graphNodeId "
				      "virtualAddress", 2, "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_work w = { .type = type };

		w.bytes = sqlite3_column_int64(stmt, 7);
		w.graph_node_id = nsys__known_node(n, stmt, 9);
		w.name = "Memset";
		if (type == XPU_RECORD_MEMCPY) {
			nsys_work__set_copy(&w, enum__value(&kinds, sqlite3_column_int64(stmt, 8)));
			w.address = sqlite3_column_int64(stmt, 10);
			w.name = strpool__internf(&n->strings, "Memcpy %s",
						  memcpy_kind__name(w.copy_kind));
		}
		err = w.name ? nsys__add_work(n, stmt, &w) : -ENOMEM;
	}
	idmap__free(&kinds);
	return err;
}

void nsys__frame(const struct nsys *n, sqlite3_stmt *stmt, int kernel_mode, struct nsys_frame *f)
{
	/* Frames are compared as bytes, so set the padding to 0. */
	memset(f, 0, sizeof(*f));
	f->symbol = nsys__string(n, stmt, 1);
	f->module = nsys__string(n, stmt, 3);
	f->unresolved = sqlite3_column_int64(stmt, 4) != 0;
	f->kernel = kernel_mode && sqlite3_column_int64(stmt, kernel_mode);
}

/* Reads the call chains of CUDA calls or of system calls. */
static int nsys__read_chains(struct nsys *n, const char *table, nsys_chains_t *chains,
			     nsys_frames_t *frames, struct idmap *ids)
{
	struct nsys_chain *chain = NULL;
	sqlite3_stmt *stmt;
	int err;

	err = database__select(&n->db, table, "id symbol stackDepth module unresolved", 3,
			       "ORDER BY 1, 3", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		uint64_t id = sqlite3_column_int64(stmt, 0);
		struct nsys_frame frame;

		nsys__frame(n, stmt, 0, &frame);
		if (!chain || chain->id != id) {
			struct nsys_chain new = { .id = id, .first = frames->nr };

			err = idmap__put(ids, id, chains->nr);
			err = err ?: array_push(chains, new);
			if (err)
				continue;
			chain = &chains->v[chains->nr - 1];
		}
		if (chain->nr == NSYS_FRAMES_MAX)
			continue;
		chain->nr++;
		err = array_push(frames, frame);
	}
	return err;
}

static int nsys__read_calls(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
	sqlite3_stmt *stmt;
	int err;

	err = database__select(&n->db, table,
			       "start end globalTid correlationId nameId callchainId returnValue",
			       2, "ORDER BY 1, 2 DESC", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_call c = { .callchain = NO_INDEX };

		if (!nsys__times(n, stmt, 0, &c.start_ns, &c.end_ns))
			continue;
		c.tid = sqlite3_column_int64(stmt, 2);
		c.correlation_id = column__u32(stmt, 3);
		c.name = nsys__string(n, stmt, 4) ?: "[unknown]";
		c.result = column__u32(stmt, 6);
		if (!column__is_null(stmt, 5))
			idmap__get(&n->chain_ids, sqlite3_column_int64(stmt, 5), &c.callchain);
		err = nsys__proc(n, c.tid, &c.proc);
		if (!err)
			n->procs.v[c.proc].traced = true;
		err = err ?: array_push(&n->calls, c);
	}
	return err;
}

static int nsys__read_samples(struct nsys *n)
{
	static const char table[] = "COMPOSITE_EVENTS";
	sqlite3_stmt *stmt;
	uint32_t known, proc;
	int err = database__select(&n->db, table, "id start globalTid cpu", 3, "ORDER BY 2", &stmt);

	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_sample s = { .tid = sqlite3_column_int64(stmt, 2),
					 .cpu = column__u32(stmt, 3) };
		uint64_t id = sqlite3_column_int64(stmt, 0);

		if (!nsys__time(n, stmt, 1, &s.time_ns))
			continue;
		if (idmap__get(&n->sample_ids, id, &known)) {
			n->db.nr_strange++;
			continue;
		}
		err = nsys__proc(n, s.tid, &proc);
		err = err ?: idmap__put(&n->sample_ids, id, n->samples.nr);
		err = err ?: array_push(&n->samples, s);
	}
	return err;
}

/*
 * Sets @kind according to a value of ENUM_NSYS_EVENT_TYPE. Return: whether @type is an NVTX value.
 */
static bool nsys_range__kind(sqlite3_int64 type, bool has_end, enum nsys_range_kind *kind)
{
	switch (type) {
	case 0:			/* an export without types */
		*kind = has_end ? NSYS_RANGE_PUSH_POP : NSYS_RANGE_MARK;
		return true;
	case 34:		/* NvtxMark */
		*kind = NSYS_RANGE_MARK;
		return true;
	case 59:		/* NvtxPushPopRange */
	case 71:		/* NvtxtPushPopRange: read from a text file */
		*kind = NSYS_RANGE_PUSH_POP;
		return true;
	case 60:		/* NvtxStartEndRange */
	case 72:		/* NvtxtStartEndRange */
		*kind = NSYS_RANGE_START_END;
		return true;
	default:
		return false;
	}
}

static int nsys__add_range(struct nsys *n, sqlite3_stmt *stmt, enum nsys_range_kind kind,
			   const char *name)
{
	struct nsys_range r = {
		.kind = kind, .name = name, .tid = sqlite3_column_int64(stmt, 3),
		.domain = column__u32(stmt, 6),
		.open = kind != NSYS_RANGE_MARK && column__is_null(stmt, 1),
	};
	int err;

	if (column__is_null(stmt, 3)) {
		n->nr_ranges_nowhere++;
		return 0;
	}
	if (r.open || kind == NSYS_RANGE_MARK ? !nsys__time(n, stmt, 0, &r.start_ns) :
						!nsys__times(n, stmt, 0, &r.start_ns, &r.end_ns))
		return 0;
	if (r.open || kind == NSYS_RANGE_MARK)
		r.end_ns = r.start_ns;
	err = nsys__proc(n, r.tid, &r.proc);
	return err ?: array_push(&n->ranges, r);
}

static int nsys__read_ranges(struct nsys *n)
{
	static const char table[] = "NVTX_EVENTS";
	enum { DOMAIN_CREATE = 75 };
	static const struct enum_word words[] = {
		{ "MARK", 34 }, { "PUSHPOPRANGE", 59 }, { "STARTENDRANGE", 60 },
		{ "DOMAINCREATE", DOMAIN_CREATE }, { 0 },
	};
	struct idmap types = { 0 };
	enum nsys_range_kind kind;
	sqlite3_stmt *stmt = NULL;
	int err;

	n->has_nvtx = database__has_table(&n->db, table);
	err = nsys__read_enum(n, "ENUM_NSYS_EVENT_TYPE", words, &types);
	/* Select in time order, outer ranges first. */
	err = err ?: database__select(&n->db, table,
				      "start end eventType globalTid text textId domainId", 2,
				      "ORDER BY 1, \"end\" IS NOT NULL, 2 DESC", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		const char *text = (const char *)sqlite3_column_text(stmt, 4);
		sqlite3_int64 type = enum__value(&types, sqlite3_column_int64(stmt, 2));
		const char *name;

		name = text ? strpool__intern(&n->strings, text, strlen(text)) :
			      nsys__string(n, stmt, 5) ?: strpool__intern(&n->strings, "", 0);
		if (!name)
			err = -ENOMEM;
		else if (nsys_range__kind(type, !column__is_null(stmt, 1), &kind))
			err = nsys__add_range(n, stmt, kind, name);
		else if (type == DOMAIN_CREATE && *name) {
			struct nsys_domain d = {
				.id = column__u32(stmt, 6), .name = name, .proc = NO_INDEX,
			};

			if (!column__is_null(stmt, 3))
				err = nsys__proc(n, sqlite3_column_int64(stmt, 3), &d.proc);
			err = err ?: array_push(&n->domains, d);
		} else if (type != DOMAIN_CREATE) {
			/* Rows without an end name categories, threads and domains. */
			n->nr_ranges_unknown += !column__is_null(stmt, 1);
		}
	}
	idmap__free(&types);
	return err;
}

/* Reads the work of the decompression engine. In the export, this work has no name. */
static int nsys__read_decompressions(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS";
	sqlite3_stmt *stmt;
	int err;

	err = database__select(&n->db, table,
			       "start end deviceId contextId streamId correlationId globalPid", 2,
			       "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_work w = { .type = XPU_RECORD_KERNEL,
				       .name = "[memory decompression]" };

		err = nsys__add_work(n, stmt, &w);
	}
	return err;
}

/*
 * Reads the streams on which events were recorded: a wait for an event waits for the event's
 * stream.
 */
static int nsys__read_events(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
	uint32_t proc, stream, *known;
	sqlite3_stmt *stmt;
	uint64_t key;
	int err;

	err = database__select(&n->db, table, "streamId globalPid eventId eventSyncId", 0, "",
			       &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		proc = 0;
		if (!column__is_null(stmt, 1))
			err = nsys__proc(n, sqlite3_column_int64(stmt, 1), &proc);
		else if (n->procs.nr != 1)
			continue;
		if (err || column__is_null(stmt, 0))
			continue;
		stream = column__u32(stmt, 0);
		if (column__u32(stmt, 3))
			err = idmap__add(&n->event_syncs, ID_KEY(proc, column__u32(stmt, 3)),
					 stream);
		key = ID_KEY(proc, column__u32(stmt, 2));
		known = idmap__find(&n->event_streams, key);
		if (err >= 0 && !known)
			err = idmap__put(&n->event_streams, key, stream);
		else if (known && *known != stream)
			*known = NO_INDEX;
		err = min_t(int, err, 0);
	}
	return err;
}

/*
 * Finds the stream of the event that a thread waited for. Return: whether the export contains it.
 */
static bool nsys__event_stream(const struct nsys *n, uint32_t proc, uint32_t event, uint32_t sync,
			       uint32_t *stream)
{
	return (sync && idmap__get(&n->event_syncs, ID_KEY(proc, sync), stream)) ||
	       (idmap__get(&n->event_streams, ID_KEY(proc, event), stream) && *stream != NO_INDEX);
}

enum sync_type {			/* CUpti_ActivitySynchronizationType */
	SYNC_EVENT = 1,
	SYNC_STREAM_WAIT_EVENT = 2,	/* no thread waits in this call */
	SYNC_STREAM = 3,
	SYNC_CONTEXT = 4,
};

/*
 * Return: the kind of wait, derived from the name of the waiting call. In some versions of Nsight
 * Systems, @number is not CUPTI's number, so @number is used only if the call is unknown or its
 * name does not show the kind.
 */
static enum sync_type nsys__sync_type(const struct nsys *n, const struct nsys_sync *s,
				      sqlite3_int64 number)
{
	static const struct {
		const char *word;
		enum sync_type type;
	} words[] = {
		{ "EventSynchronize", SYNC_EVENT }, { "StreamWaitEvent", SYNC_STREAM_WAIT_EVENT },
		{ "StreamSynchronize", SYNC_STREAM }, { "DeviceSynchronize", SYNC_CONTEXT },
		{ "CtxSynchronize", SYNC_CONTEXT }, { "ThreadSynchronize", SYNC_CONTEXT },
	};
	uint32_t call;
	size_t i;

	if (s->correlation_id &&
	    idmap__get(&n->call_ids, ID_KEY(s->proc, s->correlation_id), &call))
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strstr(n->calls.v[call].name, words[i].word))
				return words[i].type;
	return number;
}

static int file_id__compare(const void *a, const void *b, void *ctx)
{
	const struct nsys_call *calls = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return cmp3(calls[i].proc, calls[k].proc) ?: cmp3(calls[i].file_id, calls[k].file_id) ?:
	       cmp3(i, k);
}

/* Return: all calls, sorted by process, id in the file, and time; or NULL. */
static uint32_t *nsys__by_file_id(const struct nsys *n)
{
	uint32_t *order = calloc(n->calls.nr + 1, sizeof(*order)), i;

	for (i = 0; order && i < n->calls.nr; i++)
		order[i] = i;
	if (order)
		array__sort(order, n->calls.nr, sizeof(*order), file_id__compare, n->calls.v);
	return order;
}

/*
 * Return: the unique id of the call that contains the wait @s, or 0. In the file, several calls may
 * have the id that @s gives, but only one of these calls contains the time of the wait. @order: see
 * nsys__by_file_id().
 */
static uint32_t nsys__sync_call(const struct nsys *n, const uint32_t *order,
				const struct nsys_sync *s)
{
	size_t low = 0, high = n->calls.nr, middle;
	const struct nsys_call *c;

	while (low < high) {
		middle = low + (high - low) / 2;
		c = &n->calls.v[order[middle]];
		if ((cmp3(c->proc, s->proc) ?: cmp3(c->file_id, s->correlation_id) ?:
		     cmp3(c->start_ns, s->start_ns)) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	c = low ? &n->calls.v[order[low - 1]] : NULL;
	return c && c->proc == s->proc && c->file_id == s->correlation_id &&
	       s->end_ns <= c->end_ns ? c->correlation_id : 0;
}

static int nsys__read_syncs(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
	static const struct enum_word words[] = {
		{ "EVENTSYNCHRONIZE", SYNC_EVENT }, { "STREAMWAITEVENT", SYNC_STREAM_WAIT_EVENT },
		{ "STREAMSYNCHRONIZE", SYNC_STREAM }, { "CONTEXTSYNCHRONIZE", SYNC_CONTEXT }, { 0 },
	};
	uint32_t *order = n->epochs.nr_restarts ? nsys__by_file_id(n) : NULL;
	int err = n->epochs.nr_restarts && !order ? -ENOMEM : 0;
	struct idmap types = { 0 };
	sqlite3_stmt *stmt = NULL;
	enum sync_type type;

	err = err ?: nsys__read_enum(n, "ENUM_CUPTI_SYNC_TYPE", words, &types);
	err = err ?: database__select(&n->db, table, "start end contextId streamId correlationId "
				      "globalPid syncType deprecatedSyncType eventId eventSyncId",
				      2, "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_sync s = {
			.context = column__u32(stmt, 2), .stream = column__u32(stmt, 3),
			.correlation_id = column__u32(stmt, 4),
		};

		if (!column__is_null(stmt, 5))
			err = nsys__proc(n, sqlite3_column_int64(stmt, 5), &s.proc);
		else if (n->procs.nr != 1)
			s.correlation_id = 0;
		if (err)
			continue;
		if (!nsys__times(n, stmt, 0, &s.start_ns, &s.end_ns))
			continue;
		if (order && s.correlation_id)
			s.correlation_id = nsys__sync_call(n, order, &s);
		type = nsys__sync_type(n, &s, enum__value(&types, column__u32(stmt, 6) ?:
								   column__u32(stmt, 7)));
		if (type == SYNC_STREAM_WAIT_EVENT)
			continue;
		s.of_stream = type == SYNC_STREAM && !column__is_null(stmt, 3) &&
			      s.stream != UINT32_MAX;
		if (type == SYNC_EVENT)
			s.of_stream = nsys__event_stream(n, s.proc, column__u32(stmt, 8),
							 column__u32(stmt, 9), &s.stream);
		err = array_push(&n->syncs, s);
	}
	idmap__free(&types);
	free(order);
	return err;
}

/* Reads the host's name, the wall-clock time and the devices' names. */
static int nsys__read_target(struct nsys *n)
{
	sqlite3_stmt *stmt;
	const char *text;
	int err;

	err = database__select(&n->db, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", 0,
			       "LIMIT 1", &stmt);
	while (database__next(&n->db, &stmt, "TARGET_INFO_SESSION_START_TIME", &err))
		n->epoch_ns = max_t(sqlite3_int64, sqlite3_column_int64(stmt, 0) -
				    (sqlite3_int64)n->before_ns, 0);
	if (err)
		return err;
	err = database__select(&n->db, "TARGET_INFO_SYSTEM_ENV", "name value", 0, "", &stmt);
	while (database__next(&n->db, &stmt, "TARGET_INFO_SYSTEM_ENV", &err)) {
		text = (const char *)sqlite3_column_text(stmt, 0);
		if (n->host || !text || strcmp(text, "Hostname"))
			continue;
		text = (const char *)sqlite3_column_text(stmt, 1) ?: "";
		n->host = strpool__intern(&n->strings, text, strlen(text));
		err = n->host ? 0 : -ENOMEM;
	}
	if (err)
		return err;
	err = database__select(&n->db, "TARGET_INFO_GPU", "id name uuid", 0, "", &stmt);
	while (database__next(&n->db, &stmt, "TARGET_INFO_GPU", &err)) {
		struct nsys_gpu g = { .id = sqlite3_column_int64(stmt, 0) };

		text = (const char *)sqlite3_column_text(stmt, 1);
		if (!text)
			continue;
		g.name = strpool__intern(&n->strings, text, strlen(text));
		text = (const char *)sqlite3_column_text(stmt, 2);
		g.uuid = text ? strpool__intern(&n->strings, text, strlen(text)) : NULL;
		err = g.name && (g.uuid || !text) ? array_push(&n->gpus, g) : -ENOMEM;
	}
	if (err)
		return err;
	err = database__select(&n->db, "TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid", 0, "", &stmt);
	while (database__next(&n->db, &stmt, "TARGET_INFO_CUDA_DEVICE", &err)) {
		struct nsys_device d = {
			.gpu = sqlite3_column_int64(stmt, 0), .device = column__u32(stmt, 1),
			.pid = column__u32(stmt, 2),
		};

		if (!column__is_null(stmt, 0))
			err = array_push(&n->devices, d);
	}
	return err;
}

/* Reads Nsight Systems' own messages, and forwards those that report lost data. */
static int nsys__read_diagnostics(struct nsys *n)
{
	static const char table[] = "DIAGNOSTIC_EVENT";
	enum { INFO = 1, WARNING = 2, SAID_MAX = 8 };
	static const struct enum_word words[] = {
		{ "UNKNOWN", WARNING }, { "INFO", INFO }, { "INFORMATION", INFO },
		{ "VERBOSE", INFO }, { "WARNING", WARNING }, { "ERROR", WARNING },
		{ "FATAL", WARNING }, { 0 },
	};
	struct idmap severities = { 0 };
	struct strpool said = { 0 };
	uint64_t nr_more = 0;
	sqlite3_stmt *stmt = NULL;
	const char *text;
	size_t nr;
	int err = nsys__read_enum(n, "ENUM_DIAGNOSTIC_SEVERITY_LEVEL", words, &severities);

	err = err ?: database__select(&n->db, table, "severity text", 0, "", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		text = (const char *)sqlite3_column_text(stmt, 1);
		if (enum__value(&severities, sqlite3_column_int64(stmt, 0)) < WARNING || !text ||
		    !*text)
			continue;
		nr = said.nr;
		if (!strpool__intern(&said, text, strlen(text)))
			err = -ENOMEM;
		if (nr == said.nr)
			continue;
		if (nr < SAID_MAX)
			msgs__add(n->msgs, "%s: Nsight Systems says: %s", n->path, text);
		else
			nr_more++;
	}
	idmap__free(&severities);
	strpool__free(&said);
	if (nr_more)
		msgs__add(n->msgs, "%s: and %" PRIu64 " more such warnings", n->path, nr_more);
	return err;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Return: 0 if the database is an export; otherwise a negative errno, after a message. */
static int nsys__check(struct nsys *n)
{
	int err = database__check(&n->db, "cannot be read as an SQLite file (nsys export --type "
				  "sqlite makes one)");

	if (err || database__has_table(&n->db, "StringIds"))
		return err;
	if (database__no_memory(&n->db))
		return -ENOMEM;
	return msgs__refuse(n->msgs, "%s: not an export of Nsight Systems: the table StringIds is "
			    "missing (nsys export --type sqlite makes one)", n->path);
}

/* Counts the rows that were read, and adds messages about them. */
static void nsys__finish(struct nsys *n)
{
	size_t i;

	/* A range that was never popped extends to the end. */
	for (i = 0; i < n->ranges.nr; i++)
		if (n->ranges.v[i].open)
			n->ranges.v[i].end_ns =
				max_t(uint64_t, n->last_ns, n->ranges.v[i].start_ns);
	epochs__complain(&n->epochs, n->path, n->msgs);
	if (n->nr_ranges_nowhere)
		msgs__add(n->msgs, "%s: %" PRIu64 " NVTX %s without a thread ignored", n->path,
			  n->nr_ranges_nowhere, PLURAL(n->nr_ranges_nowhere, "range", "ranges"));
	if (n->nr_ranges_unknown)
		msgs__add(n->msgs, "%s: %" PRIu64 " NVTX %s of unknown types ignored", n->path,
			  n->nr_ranges_unknown, PLURAL(n->nr_ranges_unknown, "range", "ranges"));
	if (n->nr_graphs_twice)
		msgs__add(n->msgs, "%s: %" PRIu64 " %s recorded both as a whole and by node: only "
						  "the nodes count",
			  n->path, n->nr_graphs_twice,
			  PLURAL(n->nr_graphs_twice, "launch of a graph is",
				 "launches of graphs are"));
}

static int nsys__read(struct nsys *n)
{
	int err = nsys__check(n);

	err = err ?: nsys__read_before(n);
	err = err ?: nsys__read_strings(n);
	err = err ?: nsys__read_names(n);
	err = err ?: nsys__read_chains(n, "CUDA_CALLCHAINS", &n->chains, &n->frames, &n->chain_ids);
	if (!err && database__has_table(&n->db, "SCHED_EVENTS"))
		err = nsys__read_chains(n, "OSRT_CALLCHAINS", &n->os_chains, &n->os_frames,
					&n->os_chain_ids);
	err = err ?: nsys__read_calls(n);
	err = err ?: nsys__read_nodes(n);
	err = err ?: nsys__read_kernels(n);
	err = err ?: nsys__read_memory(n, "CUPTI_ACTIVITY_KIND_MEMCPY", XPU_RECORD_MEMCPY);
	err = err ?: nsys__read_memory(n, "CUPTI_ACTIVITY_KIND_MEMSET", XPU_RECORD_MEMSET);
	err = err ?: nsys__read_decompressions(n);
	err = err ?: nsys__read_graphs(n);
	err = err ?: nsys__renumber(n);
	err = err ?: nsys__index(n);
	err = err ?: nsys__read_ranges(n);
	err = err ?: nsys__read_events(n);
	err = err ?: nsys__read_syncs(n);
	err = err ?: nsys__read_samples(n);
	err = err ?: nsys__read_target(n);
	err = err ?: nsys__read_diagnostics(n);
	if (database__no_memory(&n->db))
		err = -ENOMEM;
	if (!err)
		nsys__finish(n);
	return err;
}

static void nsys__init(struct nsys *n, const char *path, struct msgs *msgs)
{
	memset(n, 0, sizeof(*n));
	n->path = path;
	n->msgs = msgs;
	n->db = (struct database){ .path = path, .tool = "Nsight Systems", .msgs = msgs };
}

int nsys__open(struct nsys *n, const char *path, struct msgs *msgs)
{
	nsys__init(n, path, msgs);
	return database__open(&n->db, path) ?: nsys__read(n);
}

int nsys__open_mem(struct nsys *n, void *buf, size_t size, struct msgs *msgs)
{
	nsys__init(n, "memory", msgs);
	return database__open_mem(&n->db, buf, size) ?: nsys__read(n);
}

void nsys__close(struct nsys *n)
{
	array_free(&n->samples);
	array_free(&n->regions);
	array_free(&n->frames);
	array_free(&n->chains);
	array_free(&n->os_frames);
	array_free(&n->os_chains);
	array_free(&n->procs);
	array_free(&n->devices);
	array_free(&n->gpus);
	array_free(&n->nodes);
	array_free(&n->syncs);
	array_free(&n->domains);
	array_free(&n->ranges);
	array_free(&n->calls);
	array_free(&n->works);
	array_free(&n->string_values);
	idmap__free(&n->event_syncs);
	idmap__free(&n->event_streams);
	idmap__free(&n->node_ids);
	idmap__free(&n->sample_ids);
	idmap__free(&n->thread_names);
	idmap__free(&n->work_ids);
	idmap__free(&n->call_ids);
	idmap__free(&n->chain_ids);
	idmap__free(&n->os_chain_ids);
	idmap__free(&n->proc_ids);
	idmap__free(&n->string_ids);
	strpool__free(&n->strings);
	database__close(&n->db);
}
