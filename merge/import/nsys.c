// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/nsys.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "import/gputrace.h"
#include "import/nest.h"
#include "model/leaf.h"

#define STRING_BYTES	(16 << 20)	/* limit of a name's length */
#define FRAMES_MAX	4096
#define PROC_SHIFT	24		/* globalTid has 8 bits hardware, 8 VM, 24 process, 24
					 * thread */
#define TID(global)	((uint32_t)((global) & 0xffffff))
#define PID(proc_id)	((uint32_t)((proc_id) & 0xffffff))

/* ---- SQLite ------------------------------------------------------------------------------------- */

static int nsys__fail(struct nsys *n, const char *what)
{
	int err = sqlite3_errcode(n->db);

	if (err == SQLITE_NOMEM)
		return -ENOMEM;
	msgs__add(n->msgs, "%s: %s: %s", n->path, what, n->db ? sqlite3_errmsg(n->db) : "no memory");
	return -EINVAL;
}

/*
 * Return: whether there is a real table of that name. A view does not count, because it would run
 * any code of the file's author.
 */
static bool nsys__has_table(struct nsys *n, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(n->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 "
			       "AND rootpage > 0", -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
		found = sqlite3_step(stmt) == SQLITE_ROW;
	}
	n->no_memory |= sqlite3_errcode(n->db) == SQLITE_NOMEM;
	sqlite3_finalize(stmt);
	return found;
}

static bool nsys__has_column(struct nsys *n, const char *table, const char *column)
{
	int status = sqlite3_table_column_metadata(n->db, NULL, table, column, NULL, NULL, NULL,
						   NULL, NULL);

	n->no_memory |= status == SQLITE_NOMEM;
	return status == SQLITE_OK;
}

/*
 * nsys__select - select all rows of a table
 * @columns: separated by blanks. NULL replaces columns that the table lacks, except the first
 *	     @nr_needed
 * @order: ORDER BY, or ""
 *
 * Return: 0, with *@stmt NULL if there is no such table; or -errno.
 */
static int nsys__select(struct nsys *n, const char *table, const char *columns,
			unsigned int nr_needed, const char *order, sqlite3_stmt **stmt)
{
	char *copy = strdup(columns), *sql = NULL, *name, *rest = NULL;
	unsigned int nr = 0;
	size_t size;
	FILE *f;
	int err = 0;

	*stmt = NULL;
	if (!copy)
		return -ENOMEM;
	if (!nsys__has_table(n, table)) {
		err = n->no_memory ? -ENOMEM : 0;
		goto out;
	}
	f = open_memstream(&sql, &size);
	if (!f) {
		err = -ENOMEM;
		goto out;
	}
	for (name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest), nr++) {
		bool there = nsys__has_column(n, table, name);

		if (!there && nr < nr_needed && !err && !n->no_memory) {
			msgs__add(n->msgs, "%s: table %s: the column %s is missing: unknown version of "
				  "Nsight Systems", n->path, table, name);
			err = -EINVAL;
		}
		fprintf(f, there ? "%s \"%s\"" : "%s NULL", nr ? "," : "SELECT", name);
	}
	fprintf(f, " FROM \"%s\" %s", table, order);
	if (fclose(f) || n->no_memory)
		err = -ENOMEM;
	if (!err && sqlite3_prepare_v2(n->db, sql, -1, stmt, NULL) != SQLITE_OK)
		err = nsys__fail(n, table);
out:
	free(sql);
	free(copy);
	return err;
}

/* Return: whether there is another row; if not, *@err is 0 or the error. */
static bool nsys__next(struct nsys *n, sqlite3_stmt *stmt, const char *table, int *err)
{
	int status;

	if (!stmt || *err)
		return false;
	status = sqlite3_step(stmt);
	if (status == SQLITE_ROW)
		return true;
	if (status != SQLITE_DONE)
		*err = nsys__fail(n, table);
	return false;
}

static bool column__is_null(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_type(stmt, i) == SQLITE_NULL;
}

static uint32_t column__u32(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_int64(stmt, i);
}

/* Reads the times of a row. Return: whether they have an end and are not negative. */
static bool nsys__times(struct nsys *n, sqlite3_stmt *stmt, uint64_t *start_ns, uint64_t *end_ns)
{
	sqlite3_int64 start = sqlite3_column_int64(stmt, 0), end = sqlite3_column_int64(stmt, 1);

	if (start < 0 || end < start) {
		n->nr_strange++;
		return false;
	}
	*start_ns = start;
	*end_ns = end;
	if ((uint64_t)end > n->last_ns)
		n->last_ns = end;
	return true;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static int nsys__read_strings(struct nsys *n)
{
	sqlite3_stmt *stmt;
	int err = nsys__select(n, "StringIds", "id value", 2, "", &stmt);
	const char *s;
	uint32_t known;

	while (nsys__next(n, stmt, "StringIds", &err)) {
		uint64_t id = sqlite3_column_int64(stmt, 0);

		if (idmap__get(&n->string_ids, id, &known))
			continue;
		s = (const char *)sqlite3_column_text(stmt, 1) ?: "";
		s = strpool__intern(&n->strings, s, strlen(s));
		err = s ? idmap__put(&n->string_ids, id, n->string_values.nr) : -ENOMEM;
		if (!err)
			err = array_push(&n->string_values, s);
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Return: the string that a column refers to, or NULL. */
static const char *nsys__string(const struct nsys *n, sqlite3_stmt *stmt, int i)
{
	uint32_t idx;

	if (column__is_null(stmt, i) ||
	    !idmap__get(&n->string_ids, sqlite3_column_int64(stmt, i), &idx))
		return NULL;
	return n->string_values.v[idx];
}

/* Finds the process of a globalTid or globalPid. */
static int nsys__proc(struct nsys *n, uint64_t global, uint32_t *proc)
{
	struct nsys_proc new = { .id = global >> PROC_SHIFT };
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
	int err;

	err = nsys__select(n, "PROCESSES", "globalPid name", 2, "", &stmt);
	while (nsys__next(n, stmt, "PROCESSES", &err)) {
		err = nsys__proc(n, sqlite3_column_int64(stmt, 0), &proc);
		name = (const char *)sqlite3_column_text(stmt, 1);
		if (err || !name)
			continue;
		name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
		n->procs.v[proc].name = strpool__intern(&n->strings, name, strlen(name));
		if (!n->procs.v[proc].name)
			err = -ENOMEM;
	}
	sqlite3_finalize(stmt);
	if (!err)
		err = nsys__select(n, "ThreadNames", "globalTid nameId priority", 2,
				   "ORDER BY 3 DESC", &stmt);
	else
		stmt = NULL;
	while (nsys__next(n, stmt, "ThreadNames", &err)) {
		uint64_t tid = sqlite3_column_int64(stmt, 0);

		/* The first name has the highest priority. */
		if (!nsys__string(n, stmt, 1) || idmap__get(&n->thread_names, tid, &known) ||
		    !idmap__get(&n->string_ids, sqlite3_column_int64(stmt, 1), &known))
			continue;
		err = idmap__put(&n->thread_names, tid, known);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int nsys__add_work(struct nsys *n, sqlite3_stmt *stmt, struct nsys_work *w)
{
	struct nsys_proc *p;
	uint64_t key;
	uint32_t head;
	int err = 0;

	if (!nsys__times(n, stmt, &w->start_ns, &w->end_ns))
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
		key = ID_KEY(w->proc, w->correlation_id);
		if (!w->correlation_id) {
			/* The work belongs to no call. */
		} else if (idmap__get(&n->work_ids, key, &head)) {
			w->next = n->works.v[head].next;
			n->works.v[head].next = n->works.nr;
		} else {
			err = idmap__put(&n->work_ids, key, n->works.nr);
		}
	}
	return err ?: array_push(&n->works, *w);
}

static int nsys__read_kernels(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_KERNEL";
	sqlite3_stmt *stmt;
	int err, i;

	err = nsys__select(n, table, "start end deviceId contextId streamId correlationId globalPid "
			   "shortName demangledName mangledName gridX gridY gridZ blockX blockY blockZ "
			   "registersPerThread staticSharedMemory dynamicSharedMemory", 2, "", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_work w = { .type = XPU_RECORD_KERNEL };

		w.full_name = nsys__string(n, stmt, 8) ?: nsys__string(n, stmt, 9);
		w.name = nsys__string(n, stmt, 7) ?: w.full_name ?: "[unknown]";
		for (i = 0; i < 3; i++) {
			w.grid[i] = column__u32(stmt, 10 + i);
			w.block[i] = column__u32(stmt, 13 + i);
		}
		w.registers = column__u32(stmt, 16);
		w.shared_bytes = (uint64_t)column__u32(stmt, 17) + column__u32(stmt, 18);
		err = nsys__add_work(n, stmt, &w);
	}
	sqlite3_finalize(stmt);
	return err;
}

/*
 * Return: the CUpti_ActivityMemcpyKind for a value of ENUM_CUDA_MEMCPY_OPER. The values are equal,
 * except the latter's own ones for pages of unified memory that move: to the device, to the host,
 * from device to device.
 */
static uint8_t copy_kind(sqlite3_int64 oper)
{
	static const uint8_t pages[] = { 1, 2, 8 };
	enum { FIRST_PAGES = 11 };

	if (oper >= FIRST_PAGES && oper < FIRST_PAGES + (int)ARRAY_SIZE(pages))
		return pages[oper - FIRST_PAGES];
	return oper >= 0 && oper < NR_MEMCPY_KINDS ? oper : 0;
}

/*
 * Reads the work of whole graphs, from nsys profile --cuda-graph-trace=graph, which is the default.
 */
static int nsys__read_graphs(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
	uint32_t proc, known;
	sqlite3_stmt *stmt;
	int err;

	err = nsys__select(n, table, "start end deviceId contextId streamId correlationId globalPid "
			   "graphId", 2, "", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_work w = { .type = XPU_RECORD_KERNEL };

		/* A launch has either its nodes' work or one work for the whole graph. */
		if (!column__is_null(stmt, 6) && column__u32(stmt, 5)) {
			err = nsys__proc(n, sqlite3_column_int64(stmt, 6), &proc);
			if (!err && idmap__get(&n->work_ids, ID_KEY(proc, column__u32(stmt, 5)),
					       &known) && !n->works.v[known].graph_id) {
				n->nr_graphs_twice++;
				continue;
			}
		}
		w.graph_id = column__u32(stmt, 7);
		w.name = strpool__internf(&n->strings, "CUDA graph %" PRIu32, w.graph_id);
		w.graph_id += !w.graph_id;
		if (!err)
			err = w.name ? nsys__add_work(n, stmt, &w) : -ENOMEM;
	}
	sqlite3_finalize(stmt);
	return err;
}

static int nsys__read_memory(struct nsys *n, const char *table, uint8_t type)
{
	sqlite3_stmt *stmt;
	int err;

	err = nsys__select(n, table, "start end deviceId contextId streamId correlationId globalPid "
			   "bytes copyKind", 2, "", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_work w = { .type = type };

		w.bytes = sqlite3_column_int64(stmt, 7);
		w.name = "Memset";
		if (type == XPU_RECORD_MEMCPY) {
			w.copy_kind = copy_kind(sqlite3_column_int64(stmt, 8));
			w.name = strpool__internf(&n->strings, "Memcpy %s",
						  memcpy_kind__name(w.copy_kind));
		}
		err = w.name ? nsys__add_work(n, stmt, &w) : -ENOMEM;
	}
	sqlite3_finalize(stmt);
	return err;
}

/*
 * Reads a frame, whose columns are as in the queries below. @kernel_mode: the column of that name,
 * or 0
 */
static void nsys__frame(const struct nsys *n, sqlite3_stmt *stmt, int kernel_mode,
			struct nsys_frame *f)
{
	/* Frames are compared as bytes, so padding must be 0. */
	memset(f, 0, sizeof(*f));
	f->symbol = nsys__string(n, stmt, 1);
	f->module = nsys__string(n, stmt, 3);
	f->unresolved = sqlite3_column_int64(stmt, 4) != 0;
	f->kernel = kernel_mode && sqlite3_column_int64(stmt, kernel_mode);
}

static int nsys__read_chains(struct nsys *n)
{
	static const char table[] = "CUDA_CALLCHAINS";
	struct nsys_chain *chain = NULL;
	sqlite3_stmt *stmt;
	int err;

	err = nsys__select(n, table, "id symbol stackDepth module unresolved", 3, "ORDER BY 1, 3",
			   &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		uint64_t id = sqlite3_column_int64(stmt, 0);
		struct nsys_frame frame;

		nsys__frame(n, stmt, 0, &frame);
		if (!chain || chain->id != id) {
			struct nsys_chain new = { .id = id, .first = n->frames.nr };

			err = idmap__put(&n->chain_ids, id, n->chains.nr);
			if (!err)
				err = array_push(&n->chains, new);
			if (err)
				break;
			chain = &n->chains.v[n->chains.nr - 1];
		}
		if (chain->nr == FRAMES_MAX)
			continue;
		chain->nr++;
		err = array_push(&n->frames, frame);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int nsys__read_calls(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
	sqlite3_stmt *stmt;
	uint32_t other;
	uint64_t key;
	int err;

	err = nsys__select(n, table, "start end globalTid correlationId nameId callchainId "
			   "returnValue", 2, "ORDER BY 1, 2 DESC", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_call c = { .callchain = NO_INDEX };

		if (!nsys__times(n, stmt, &c.start_ns, &c.end_ns))
			continue;
		c.tid = sqlite3_column_int64(stmt, 2);
		c.correlation_id = column__u32(stmt, 3);
		c.name = nsys__string(n, stmt, 4) ?: "[unknown]";
		c.result = column__u32(stmt, 6);
		if (!column__is_null(stmt, 5))
			idmap__get(&n->chain_ids, sqlite3_column_int64(stmt, 5), &c.callchain);
		err = nsys__proc(n, c.tid, &c.proc);
		key = ID_KEY(c.proc, c.correlation_id);
		/* Calls are in order of time, so an outer call comes before its inner calls. */
		if (!err && c.correlation_id && !idmap__get(&n->call_ids, key, &other))
			err = idmap__put(&n->call_ids, key, n->calls.nr);
		if (!err)
			err = array_push(&n->calls, c);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int nsys__read_samples(struct nsys *n)
{
	static const char table[] = "COMPOSITE_EVENTS";
	sqlite3_stmt *stmt;
	uint32_t known, proc;
	int err;

	err = nsys__select(n, table, "id start globalTid cpu", 3, "ORDER BY 2", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_sample s = { .tid = sqlite3_column_int64(stmt, 2),
					 .cpu = column__u32(stmt, 3) };
		uint64_t id = sqlite3_column_int64(stmt, 0);

		if (sqlite3_column_int64(stmt, 1) < 0 || idmap__get(&n->sample_ids, id, &known)) {
			n->nr_strange++;
			continue;
		}
		s.time_ns = sqlite3_column_int64(stmt, 1);
		err = nsys__proc(n, s.tid, &proc);
		if (!err)
			err = idmap__put(&n->sample_ids, id, n->samples.nr);
		if (!err)
			err = array_push(&n->samples, s);
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Sets @kind by the NVTX values of ENUM_NSYS_EVENT_TYPE. Return: whether @type is one of them. */
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
	case 71:		/* NvtxtPushPopRange: of a text file */
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
	if (r.open || kind == NSYS_RANGE_MARK)
		r.start_ns = r.end_ns = max_t(sqlite3_int64, sqlite3_column_int64(stmt, 0), 0);
	else if (!nsys__times(n, stmt, &r.start_ns, &r.end_ns))
		return 0;
	err = nsys__proc(n, r.tid, &r.proc);
	return err ?: array_push(&n->ranges, r);
}

static int nsys__read_ranges(struct nsys *n)
{
	static const char table[] = "NVTX_EVENTS";
	enum { DOMAIN_CREATE = 75 };
	enum nsys_range_kind kind;
	sqlite3_stmt *stmt;
	int err;

	n->has_nvtx = nsys__has_table(n, table);
	/* In order of time, outer ranges first. */
	err = nsys__select(n, table, "start end eventType globalTid text textId domainId", 2,
			   "ORDER BY 1, \"end\" IS NOT NULL, 2 DESC", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		const char *text = (const char *)sqlite3_column_text(stmt, 4);
		sqlite3_int64 type = sqlite3_column_int64(stmt, 2);
		const char *name;

		name = text ? strpool__intern(&n->strings, text, strlen(text)) :
			      nsys__string(n, stmt, 5) ?: "";
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
		}
	}
	sqlite3_finalize(stmt);
	return err;
}

/*
 * Reads waits, by CUPTI_ActivitySynchronizationType. A stream's wait for an event blocks no thread.
 */
static int nsys__read_syncs(struct nsys *n)
{
	static const char table[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
	enum { STREAM_WAIT_EVENT = 2, STREAM_SYNCHRONIZE = 3 };
	sqlite3_stmt *stmt;
	int err;

	err = nsys__select(n, table, "start end contextId streamId correlationId globalPid syncType "
			   "deprecatedSyncType", 2, "", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_sync s = {
			.context = column__u32(stmt, 2), .stream = column__u32(stmt, 3),
			.correlation_id = column__u32(stmt, 4),
		};
		uint32_t type = column__u32(stmt, 6) ?: column__u32(stmt, 7);

		if (type == STREAM_WAIT_EVENT || !nsys__times(n, stmt, &s.start_ns, &s.end_ns))
			continue;
		s.of_stream = type == STREAM_SYNCHRONIZE && !column__is_null(stmt, 3) &&
			      s.stream != UINT32_MAX;
		if (!column__is_null(stmt, 5))
			err = nsys__proc(n, sqlite3_column_int64(stmt, 5), &s.proc);
		else if (n->procs.nr != 1)
			continue;
		if (!err)
			err = array_push(&n->syncs, s);
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Reads the host's name, the time of day and the devices' names. */
static int nsys__read_target(struct nsys *n)
{
	sqlite3_stmt *stmt;
	const char *text;
	int err;

	err = nsys__select(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", 0, "", &stmt);
	if (nsys__next(n, stmt, "TARGET_INFO_SESSION_START_TIME", &err))
		n->epoch_ns = max_t(sqlite3_int64, sqlite3_column_int64(stmt, 0), 0);
	sqlite3_finalize(stmt);
	if (err)
		return err;
	err = nsys__select(n, "TARGET_INFO_SYSTEM_ENV", "name value", 0, "", &stmt);
	while (nsys__next(n, stmt, "TARGET_INFO_SYSTEM_ENV", &err)) {
		text = (const char *)sqlite3_column_text(stmt, 0);
		if (n->host || !text || strcmp(text, "Hostname"))
			continue;
		text = (const char *)sqlite3_column_text(stmt, 1) ?: "";
		n->host = strpool__intern(&n->strings, text, strlen(text));
		err = n->host ? 0 : -ENOMEM;
	}
	sqlite3_finalize(stmt);
	if (err)
		return err;
	err = nsys__select(n, "TARGET_INFO_GPU", "id name uuid", 0, "", &stmt);
	while (nsys__next(n, stmt, "TARGET_INFO_GPU", &err)) {
		struct nsys_gpu g = { .id = sqlite3_column_int64(stmt, 0) };

		text = (const char *)sqlite3_column_text(stmt, 1);
		if (!text)
			continue;
		g.name = strpool__intern(&n->strings, text, strlen(text));
		text = (const char *)sqlite3_column_text(stmt, 2);
		g.uuid = text ? strpool__intern(&n->strings, text, strlen(text)) : NULL;
		err = g.name && (g.uuid || !text) ? array_push(&n->gpus, g) : -ENOMEM;
	}
	sqlite3_finalize(stmt);
	if (err)
		return err;
	err = nsys__select(n, "TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid", 0, "", &stmt);
	while (nsys__next(n, stmt, "TARGET_INFO_CUDA_DEVICE", &err)) {
		struct nsys_device d = {
			.gpu = sqlite3_column_int64(stmt, 0), .device = column__u32(stmt, 1),
			.pid = column__u32(stmt, 2),
		};

		if (!column__is_null(stmt, 0))
			err = array_push(&n->devices, d);
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Reads Nsight Systems' own messages: a loss that it reports is reported here, too. */
static int nsys__read_diagnostics(struct nsys *n)
{
	static const char table[] = "DIAGNOSTIC_EVENT";
	enum { WARNING = 2, SAID_MAX = 8 };
	struct strpool said = { 0 };
	uint64_t nr_more = 0;
	sqlite3_stmt *stmt;
	const char *text;
	size_t nr;
	int err;

	err = nsys__select(n, table, "severity text", 0, "", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		text = (const char *)sqlite3_column_text(stmt, 1);
		if (sqlite3_column_int64(stmt, 0) < WARNING || !text || !*text)
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
	sqlite3_finalize(stmt);
	strpool__free(&said);
	if (nr_more)
		msgs__add(n->msgs, "%s: and %" PRIu64 " more such warnings", n->path, nr_more);
	return err;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static int nsys__read(struct nsys *n)
{
	size_t i;
	int err;

	if (!n->db)
		return -ENOMEM;
	sqlite3_limit(n->db, SQLITE_LIMIT_LENGTH, STRING_BYTES);
	sqlite3_limit(n->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(n->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (sqlite3_exec(n->db, "PRAGMA cell_size_check = 1; PRAGMA query_only = 1; "
			 "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK)
		return nsys__fail(n, "cannot be read as an SQLite file (nsys export --type sqlite "
				  "makes one)");
	if (!nsys__has_table(n, "StringIds") && n->no_memory)
		return -ENOMEM;
	if (!nsys__has_table(n, "StringIds")) {
		msgs__add(n->msgs, "%s: not an export of Nsight Systems: the table StringIds is missing "
			  "(nsys export --type sqlite makes one)", n->path);
		return -EINVAL;
	}
	err = nsys__read_strings(n);
	if (!err)
		err = nsys__read_names(n);
	if (!err)
		err = nsys__read_chains(n);
	if (!err)
		err = nsys__read_calls(n);
	if (!err)
		err = nsys__read_kernels(n);
	if (!err)
		err = nsys__read_memory(n, "CUPTI_ACTIVITY_KIND_MEMCPY", XPU_RECORD_MEMCPY);
	if (!err)
		err = nsys__read_memory(n, "CUPTI_ACTIVITY_KIND_MEMSET", XPU_RECORD_MEMSET);
	if (!err)
		err = nsys__read_graphs(n);
	if (!err)
		err = nsys__read_ranges(n);
	if (!err)
		err = nsys__read_syncs(n);
	if (!err)
		err = nsys__read_samples(n);
	if (!err)
		err = nsys__read_target(n);
	if (!err)
		err = nsys__read_diagnostics(n);
	if (err)
		return err;
	/* A range that was never popped lasts to the end. */
	for (i = 0; i < n->ranges.nr; i++)
		if (n->ranges.v[i].open)
			n->ranges.v[i].end_ns = max_t(uint64_t, n->last_ns, n->ranges.v[i].start_ns);
	if (n->nr_strange)
		msgs__add(n->msgs, "%s: %" PRIu64 " rows with impossible times ignored", n->path,
			  n->nr_strange);
	if (n->nr_ranges_nowhere)
		msgs__add(n->msgs, "%s: %" PRIu64 " NVTX ranges of no thread ignored", n->path,
			  n->nr_ranges_nowhere);
	if (n->nr_graphs_twice)
		msgs__add(n->msgs, "%s: %" PRIu64 " launches of graphs are in it as a whole, too: "
			  "their nodes count", n->path, n->nr_graphs_twice);
	return 0;
}

static void nsys__init(struct nsys *n, const char *path, struct msgs *msgs)
{
	memset(n, 0, sizeof(*n));
	n->path = path;
	n->msgs = msgs;
}

int nsys__open(struct nsys *n, const char *path, struct msgs *msgs)
{
	char *uri, *p;

	nsys__init(n, path, msgs);
	/*
	 * The file is opened so that SQLite writes nothing, not even a journal beside it. '%'
	 * quotes in a URI.
	 */
	uri = malloc(3 * strlen(path) + 64);
	if (!uri)
		return -ENOMEM;
	p = stpcpy(uri, *path == '/' ? "file://" : "file:");
	for (; *path; path++)
		p += strchr("?#%", *path) ? sprintf(p, "%%%02x", *path) : (*p = *path, 1);
	strcpy(p, "?mode=ro&immutable=1");
	if (sqlite3_open_v2(uri, &n->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK) {
		free(uri);
		return nsys__fail(n, "cannot be opened");
	}
	free(uri);
	return nsys__read(n);
}

int nsys__open_mem(struct nsys *n, void *buf, size_t size, struct msgs *msgs)
{
	nsys__init(n, "memory", msgs);
	if (sqlite3_open_v2(":memory:", &n->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_deserialize(n->db, "main", buf, size, size, SQLITE_DESERIALIZE_READONLY) !=
	    SQLITE_OK)
		return nsys__fail(n, "cannot be opened");
	return nsys__read(n);
}

void nsys__close(struct nsys *n)
{
	array_free(&n->samples);
	array_free(&n->regions);
	array_free(&n->frames);
	array_free(&n->chains);
	array_free(&n->procs);
	array_free(&n->devices);
	array_free(&n->gpus);
	array_free(&n->syncs);
	array_free(&n->domains);
	array_free(&n->ranges);
	array_free(&n->calls);
	array_free(&n->works);
	array_free(&n->string_values);
	idmap__free(&n->sample_ids);
	idmap__free(&n->thread_names);
	idmap__free(&n->work_ids);
	idmap__free(&n->call_ids);
	idmap__free(&n->chain_ids);
	idmap__free(&n->proc_ids);
	idmap__free(&n->string_ids);
	strpool__free(&n->strings);
	sqlite3_close(n->db);
	n->db = NULL;
}

/* ---- as a recording ----------------------------------------------------------------------------- */

static const char *nsys__thread_name(const struct nsys *n, uint64_t tid, uint32_t proc)
{
	uint32_t idx;

	if (idmap__get(&n->thread_names, tid, &idx))
		return n->string_values.v[idx];
	return n->procs.v[proc].name;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/*
 * Return: whether a frame is CUDA's or the profiler's own; callchain.c trims such frames from our
 * own stacks.
 */
static bool nsys_frame__is_cuda(const struct nsys_frame *f)
{
	static const char *const modules[] = {
		"libcuda.so", "libcudart", "libcupti", "libToolsInjection", "libnvidia",
	};
	const char *name;
	size_t i, len;

	for (i = 0; f->module && i < ARRAY_SIZE(modules); i++)
		if (!strncmp(base_name(f->module), modules[i], strlen(modules[i])))
			return true;
	return f->symbol && cuda_api__parse(f->symbol, strlen(f->symbol), &name, &len);
}

static const char *nsys__frame_name(struct nsys *n, const struct nsys_frame *f)
{
	if (f->symbol && !f->unresolved)
		return f->kernel ? strpool__internf(&n->strings, "%s_[k]", f->symbol) : f->symbol;
	/* Addresses in the recorded process mean nothing here, so show the module. */
	return f->module ? strpool__internf(&n->strings, "[%s]", base_name(f->module)) : NULL;
}

struct nsys_importer {
	struct nsys *n;
	struct import *im;
	struct idmap threads;		/* from globalTid to thread of the recording */
	struct idmap paths;		/* from the interned description of a path to the path */
	ARRAY(struct span) names;
	ARRAY(uint64_t) sweep_tids;	/* globalTids by number, for nest__sweep() */
	struct idmap sweep_ids;		/* from globalTid to that number */
	struct paths range_paths;
};

static uint32_t nsys_importer__proc(const struct nsys_importer *i, uint32_t proc)
{
	return i->n->procs.v[proc].import_proc;
}

/* Return: the recording's thread for a globalTid. */
static uint32_t nsys_importer__thread(struct nsys_importer *i, uint64_t tid, uint32_t proc)
{
	const char *name = nsys__thread_name(i->n, tid, proc);
	uint32_t thread;
	int err;

	if (idmap__get(&i->threads, tid, &thread))
		return thread;
	thread = import__thread(i->im, nsys_importer__proc(i, proc), TID(tid));
	err = idmap__put(&i->threads, tid, thread);
	i->im->err = i->im->err ?: err;
	if (name)
		import__comm(i->im, PID(i->n->procs.v[proc].id), TID(tid), 0, name);
	return thread;
}

/* Puts frames, given innermost first, into i->names, root first. */
static void nsys_importer__names(struct nsys_importer *i, const struct nsys_frame *frames,
				 uint32_t nr)
{
	const char *name;
	int err = 0;

	i->names.nr = 0;
	for (; nr && !err; nr--) {
		name = nsys__frame_name(i->n, &frames[nr - 1]);
		err = array_push(&i->names, name ? span__of(name) : (struct span){ 0 });
	}
	i->im->err = i->im->err ?: err;
}

/* Return: the path of a call, which is made once for each chain and function. */
static uint32_t nsys_importer__path(struct nsys_importer *i, const struct nsys_call *c)
{
	const struct nsys_chain *chain =
		c->callchain == NO_INDEX ? NULL : &i->n->chains.v[c->callchain];
	const struct nsys_frame *frames = chain ? &i->n->frames.v[chain->first] : NULL;
	uint32_t nr = chain ? chain->nr : 0, path = 0;
	const char *api = c->name, *key;
	size_t len = strlen(api);
	int err;

	cuda_api__parse(api, len, &api, &len);
	api = strpool__intern(&i->n->strings, api, len);
	/* Equal values give one interned string, and so one address. */
	key = strpool__internf(&i->n->strings, "%" PRIu32 " %" PRIu32 " %p", c->callchain, c->proc,
			       (const void *)api);
	if (!api || !key) {
		i->im->err = -ENOMEM;
		return 0;
	}
	if (idmap__get(&i->paths, (uintptr_t)key, &path))
		return path;
	for (; nr && nsys_frame__is_cuda(frames); nr--)
		frames++;
	nsys_importer__names(i, frames, nr);
	path = import__path(i->im, nsys_importer__proc(i, c->proc), c->start_ns, api, i->names.v,
			    i->names.nr);
	err = idmap__put(&i->paths, (uintptr_t)key, path);
	i->im->err = i->im->err ?: err;
	return path;
}

static void nsys_importer__calls(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	uint32_t k, outer, work;

	for (k = 0; k < n->calls.nr && !i->im->err; k++) {
		const struct nsys_call *c = &n->calls.v[k];
		uint64_t key = ID_KEY(c->proc, c->correlation_id);

		if (!idmap__get(&n->call_ids, key, &outer) || outer != k)
			continue;
		if (!idmap__get(&n->work_ids, key, &work) &&
		    cuda_api__kind(c->name, strlen(c->name)) == CALL_OTHER)
			continue;
		import__launch_in(i->im, c->start_ns, c->correlation_id, nsys_importer__path(i, c),
				  nsys_importer__thread(i, c->tid, c->proc), c->range);
		if (c->result && !idmap__get(&n->work_ids, key, &work))
			import__refused(i->im, nsys_importer__proc(i, c->proc), c->correlation_id,
					c->result);
	}
}

/* ---- ranges ------------------------------------------------------------------------------------- */

static uint32_t nsys_importer__sweep_id(struct nsys_importer *i, uint64_t tid)
{
	uint32_t id = i->sweep_tids.nr;

	if (i->im->err || idmap__get(&i->sweep_ids, tid, &id))
		return id;
	i->im->err = idmap__put(&i->sweep_ids, tid, id);
	i->im->err = i->im->err ?: array_push(&i->sweep_tids, tid);
	return id;
}

static uint32_t nsys_importer__root(void *ctx, uint32_t thread)
{
	struct nsys_importer *i = ctx;
	uint32_t proc = 0;
	int err = nsys__proc(i->n, i->sweep_tids.v[thread], &proc);

	i->im->err = i->im->err ?: err;
	return paths__root(&i->range_paths, proc);
}

static const char *nsys__domain(const struct nsys *n, uint32_t proc, uint32_t id)
{
	size_t k;

	for (k = 0; k < n->domains.nr; k++)
		if (n->domains.v[k].id == id &&
		    (n->domains.v[k].proc == proc || n->domains.v[k].proc == NO_INDEX))
			return n->domains.v[k].name;
	return "";
}

static uint32_t nsys_importer__enter(void *ctx, uint32_t node, const struct nest_range *range)
{
	struct nsys_importer *i = ctx;
	const struct nsys_range *r = &i->n->ranges.v[range->item];
	const char *domain = nsys__domain(i->n, r->proc, r->domain), *name = r->name;
	struct path_node *p;
	uint32_t parent;

	if (*domain)
		name = strpool__internf(&i->n->strings, "%s:%s", domain, name);
	if (!name) {
		i->im->err = -ENOMEM;
		return 0;
	}
	node = paths__child(&i->range_paths, node, name);
	if (!node)
		return 0;
	p = &i->range_paths.nodes.v[node];
	parent = i->range_paths.nodes.v[p->parent].value;
	if (!p->value)
		p->value = import__range(i->im, nsys_importer__proc(i, r->proc), parent,
					 span__of(r->name), span__of(domain));
	return node;
}

static void nsys_importer__range_event(void *ctx, const struct nest_range *range, bool opened,
				       uint64_t time_ns, uint32_t node, uint32_t place)
{
	struct nsys_importer *i = ctx;
	const struct nsys_range *r = &i->n->ranges.v[range->item];
	bool any_thread = r->kind == NSYS_RANGE_START_END;

	/* A range that was never closed is open at the end. */
	if ((!opened && r->open) || i->range_paths.err)
		return;
	import__range_event(i->im, time_ns, nsys_importer__thread(i, r->tid, r->proc),
			    i->range_paths.nodes.v[node].value,
			    opened ? any_thread ? XPU_RANGE_START : XPU_RANGE_PUSH :
				     any_thread ? XPU_RANGE_END : XPU_RANGE_POP, place);
}

/* Finds the ranges that were open at each call and at each mark. */
static int nsys_importer__ranges(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	struct nest nest = {
		/* A mark can be in as many ranges as can be open, and counts as one more. */
		.max_depth = XPU_RANGE_DEPTH, .root = nsys_importer__root,
		.enter = nsys_importer__enter, .event = nsys_importer__range_event, .ctx = i,
	};
	size_t nr_points = n->calls.nr, nr_ranges = 0, k;
	struct nest_range *ranges = calloc(n->ranges.nr + 1, sizeof(*ranges));
	struct nest_point *points = calloc(n->calls.nr + n->ranges.nr + 1, sizeof(*points));
	int err = ranges && points ? 0 : -ENOMEM;

	for (k = 0; k < n->calls.nr && !err; k++)
		points[k] = (struct nest_point){
			.time_ns = n->calls.v[k].start_ns, .item = k,
			.thread = nsys_importer__sweep_id(i, n->calls.v[k].tid),
		};
	for (k = 0; k < n->ranges.nr && !err; k++) {
		const struct nsys_range *r = &n->ranges.v[k];
		uint32_t thread = nsys_importer__sweep_id(i, r->tid);

		if (r->kind == NSYS_RANGE_MARK)
			points[nr_points++] = (struct nest_point){
				.time_ns = r->start_ns, .item = n->calls.nr + k, .thread = thread,
			};
		else
			ranges[nr_ranges++] = (struct nest_range){
				r->start_ns, r->open ? UINT64_MAX : r->end_ns, thread, k,
			};
	}
	if (!err && n->ranges.nr)
		err = i->im->err ?: nest__sweep(&nest, ranges, nr_ranges, points, nr_points);
	n->nr_too_deep = nest.nr_too_deep;
	for (k = 0; k < nr_points && n->ranges.nr && !err; k++) {
		struct nest_range mark = { .item = points[k].item - n->calls.nr };
		uint32_t node = points[k].node;

		err = i->im->err ?: i->range_paths.err;
		if (err || points[k].item < n->calls.nr) {
			if (!err)
				n->calls.v[points[k].item].range =
					i->range_paths.nodes.v[node].value;
			continue;
		}
		node = nsys_importer__enter(i, node, &mark);
		if (node)
			import__range_event(i->im, points[k].time_ns,
					    nsys_importer__thread(i, n->ranges.v[mark.item].tid,
								  n->ranges.v[mark.item].proc),
					    i->range_paths.nodes.v[node].value, XPU_RANGE_MARK, 0);
	}
	if (!err && n->nr_too_deep)
		msgs__add(n->msgs, "%s: %" PRIu64 " NVTX ranges are within more than %d others: passed "
			  "over", n->path, n->nr_too_deep, XPU_RANGE_DEPTH);
	free(points);
	free(ranges);
	return err ?: i->im->err ?: i->range_paths.err;
}

/* ---- waits, devices, calls and work ------------------------------------------------------------- */

static void nsys_importer__waits(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	uint32_t k, call;

	for (k = 0; k < n->syncs.nr && !i->im->err; k++) {
		const struct nsys_sync *s = &n->syncs.v[k];
		struct import_wait w = {
			.start_ns = s->start_ns, .duration_ns = s->end_ns - s->start_ns,
			.context = s->context, .stream = s->stream,
			.flags = s->of_stream ? XPU_WAIT_STREAM : 0,
		};
		const struct nsys_call *c;

		/* Without the call, the thread that waited is unknown. */
		if (!w.duration_ns || !s->correlation_id ||
		    !idmap__get(&n->call_ids, ID_KEY(s->proc, s->correlation_id), &call))
			continue;
		c = &n->calls.v[call];
		w.path = nsys_importer__path(i, c);
		w.thread = nsys_importer__thread(i, c->tid, c->proc);
		w.range = c->range;
		import__wait(i->im, &w);
	}
}

/* Parses "GPU-01234567-89ab-...", with or without "GPU-". Return: whether @s is a UUID. */
static bool uuid__parse(const char *s, uint8_t uuid[16])
{
	unsigned int nr = 0, digit;

	if (!s)
		return false;
	if (!strncmp(s, "GPU-", 4))
		s += 4;
	memset(uuid, 0, 16);
	for (; *s && nr < 32; s++) {
		if (*s == '-')
			continue;
		if (*s >= '0' && *s <= '9')
			digit = *s - '0';
		else if ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'f')
			digit = (*s | 0x20) - 'a' + 10;
		else
			return false;
		uuid[nr / 2] |= digit << (nr % 2 ? 0 : 4);
		nr++;
	}
	return nr == 32;
}

/*
 * Return: the GPU that process @proc numbers @device. If the export does not tell, it is the GPU
 * with that number.
 */
static const struct nsys_gpu *nsys__gpu(const struct nsys *n, uint32_t proc, uint32_t device)
{
	uint32_t pid = PID(n->procs.v[proc].id);
	uint64_t id = device;
	size_t k;

	for (k = 0; k < n->devices.nr; k++)
		if (n->devices.v[k].device == device && n->devices.v[k].pid == pid)
			id = n->devices.v[k].gpu;
	for (k = 0; k < n->gpus.nr; k++)
		if (n->gpus.v[k].id == id)
			return &n->gpus.v[k];
	return NULL;
}

static void nsys_importer__devices(struct nsys_importer *i)
{
	const struct nsys *n = i->n;
	const struct nsys_gpu *g;
	struct idmap told = { 0 };
	uint8_t uuid[16];
	uint32_t k;
	int added;

	for (k = 0; k < n->works.nr && n->gpus.nr && !i->im->err; k++) {
		const struct nsys_work *w = &n->works.v[k];

		if (w->proc == NO_INDEX)
			continue;
		added = idmap__add(&told, ID_KEY(w->proc, w->device), 0);
		if (added < 0)
			i->im->err = added;
		g = added > 0 ? nsys__gpu(n, w->proc, w->device) : NULL;
		if (!g)
			continue;
		if (!uuid__parse(g->uuid, uuid))
			memset(uuid, 0, sizeof(uuid));
		import__device(i->im, nsys_importer__proc(i, w->proc), w->device, g->name, uuid);
	}
	idmap__free(&told);
}

/* Imports all calls, except driver calls inside a call with the same id. */
static void nsys_importer__api(struct nsys_importer *i)
{
	const struct nsys *n = i->n;
	uint32_t k, outer;

	for (k = 0; k < n->calls.nr && !i->im->err; k++) {
		const struct nsys_call *c = &n->calls.v[k];
		const char *name = c->name;
		size_t len = strlen(name);

		if (c->correlation_id &&
		    idmap__get(&n->call_ids, ID_KEY(c->proc, c->correlation_id), &outer) && outer != k)
			continue;
		cuda_api__parse(name, len, &name, &len);
		name = strpool__intern(&i->n->strings, name, len);
		if (!name)
			i->im->err = -ENOMEM;
		nsys_importer__thread(i, c->tid, c->proc);
		import__call(i->im, nsys_importer__proc(i, c->proc), TID(c->tid), c->start_ns,
			     c->end_ns - c->start_ns, c->correlation_id, name);
	}
}

static void nsys_importer__works(struct nsys_importer *i)
{
	uint32_t k, unknown = 0, proc;

	for (k = 0; k < i->n->works.nr && !i->im->err; k++) {
		const struct nsys_work *from = &i->n->works.v[k];
		struct import_work w = {
			/* In the export, time 0 is the session's begin; here 0 means "no time". */
			.start_ns = from->start_ns + !from->start_ns,
			.duration_ns = from->end_ns - from->start_ns,
			.correlation_id = from->correlation_id,
			.bytes = from->bytes,
			.copy_kind = from->copy_kind,
			.graph_id = from->graph_id,
		};

		/* With several processes, the work's process is unknown. */
		if (from->proc == NO_INDEX && !unknown)
			unknown = import__process(i->im, 0, "", 0);
		proc = from->proc == NO_INDEX ? unknown : nsys_importer__proc(i, from->proc);
		w.stream = import__stream(i->im, proc, from->device, from->context, from->stream);
		if (from->type == XPU_RECORD_KERNEL)
			import__kernel(i->im, proc, &w, span__of(from->full_name ?: from->name));
		else if (from->type == XPU_RECORD_MEMCPY)
			import__memcpy(i->im, proc, &w);
		else
			import__memset(i->im, proc, &w);
	}
}

/* Imports one sample. Its frames are compared as bytes, so they must have no padding. */
static int nsys_importer__sample(struct nsys_importer *i, const struct nsys_sample *s,
				 const struct nsys_frame *frames, uint32_t nr, uint32_t period_ns)
{
	uint32_t path = 0, proc = 0;
	const char *bytes;
	int err;

	err = nsys__proc(i->n, s->tid, &proc);
	if (err)
		return err;
	if (nr) {
		bytes = strpool__intern(&i->n->strings, (const char *)frames, nr * sizeof(*frames));
		/* Within a process, the string's address in the pool identifies the stack. */
		bytes = bytes ? strpool__internf(&i->n->strings, "%" PRIu32 " %p", proc,
						 (const void *)bytes) : NULL;
		if (!bytes)
			return -ENOMEM;
		if (!idmap__get(&i->paths, (uintptr_t)bytes, &path)) {
			nsys_importer__names(i, frames, nr);
			path = import__cpu_path(i->im, nsys_importer__proc(i, proc), s->time_ns,
						i->names.v, i->names.nr);
			err = idmap__put(&i->paths, (uintptr_t)bytes, path);
		}
	}
	import__sample(i->im, s->time_ns, path, nsys_importer__thread(i, s->tid, proc), s->cpu,
		       period_ns);
	return err ?: i->im->err;
}

static int gap__compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return cmp3(*x, *y);
}

/*
 * nsys__sample_period - find the period between samples of a running thread
 *
 * The export does not contain the period, and a thread that is off the CPU between samples has
 * longer gaps. So the period is the median of all gaps.
 */
static int nsys__sample_period(const struct nsys *n, uint32_t *period_ns)
{
	uint64_t *gaps = calloc(n->samples.nr + 1, sizeof(*gaps));
	struct idmap threads = { 0 };
	ARRAY(uint64_t) last = { 0 };
	uint32_t i, thread;
	size_t nr = 0;
	int err = gaps ? 0 : -ENOMEM;

	for (i = 0; i < n->samples.nr && !err; i++) {
		const struct nsys_sample *s = &n->samples.v[i];

		if (idmap__get(&threads, s->tid, &thread)) {
			gaps[nr++] = s->time_ns - last.v[thread];
			last.v[thread] = s->time_ns;
			continue;
		}
		err = idmap__put(&threads, s->tid, last.nr);
		if (!err)
			err = array_push(&last, s->time_ns);
	}
	if (nr)
		qsort(gaps, nr, sizeof(*gaps), gap__compare);
	*period_ns = nr ? min_t(uint64_t, gaps[nr / 2], 1000000000) : 1000000;
	array_free(&last);
	idmap__free(&threads);
	free(gaps);
	return err;
}

/* Imports CPU samples, one chain at a time, because there may be many chains. */
static int nsys_importer__samples(struct nsys_importer *i)
{
	static const char table[] = "SAMPLING_CALLCHAINS";
	ARRAY(struct nsys_frame) frames = { 0 };
	struct nsys *n = i->n;
	uint32_t period_ns, at = NO_INDEX, k, next;
	sqlite3_stmt *stmt = NULL;
	bool *done = NULL;
	int err = 0;

	if (!n->samples.nr)
		return 0;
	err = nsys__sample_period(n, &period_ns);
	done = calloc(n->samples.nr, sizeof(*done));
	if (!done)
		err = -ENOMEM;
	if (!err)
		err = nsys__select(n, table, "id symbol stackDepth module unresolved kernelMode", 3,
				   "ORDER BY 1, 3", &stmt);
	while (nsys__next(n, stmt, table, &err)) {
		struct nsys_frame frame;

		if (!idmap__get(&n->sample_ids, sqlite3_column_int64(stmt, 0), &next))
			continue;
		if (next != at) {
			if (at != NO_INDEX)
				err = nsys_importer__sample(i, &n->samples.v[at], frames.v,
							    frames.nr, period_ns);
			frames.nr = 0;
			at = next;
			done[at] = true;
		}
		if (err || frames.nr == FRAMES_MAX)
			continue;
		nsys__frame(n, stmt, 5, &frame);
		err = array_push(&frames, frame);
	}
	if (!err && at != NO_INDEX)
		err = nsys_importer__sample(i, &n->samples.v[at], frames.v, frames.nr, period_ns);
	for (k = 0; k < n->samples.nr && !err; k++)
		if (!done[k])
			err = nsys_importer__sample(i, &n->samples.v[k], NULL, 0, period_ns);
	sqlite3_finalize(stmt);
	array_free(&frames);
	free(done);
	if (!err)
		msgs__add(n->msgs, "%s: each of %zu CPU samples stands for %" PRIu32 " us, the median "
			  "time between two in one thread", n->path, n->samples.nr, period_ns / 1000);
	return err;
}

int nsys__import(struct nsys *n, struct import *im)
{
	struct nsys_importer i = { .n = n, .im = im };
	uint32_t k;
	int err;

	if (n->host)
		import__info(im, XPU_INFO_HOSTNAME, span__of(n->host));
	if (n->epoch_ns)
		import__clock(im, 0, n->epoch_ns);
	for (k = 0; k < n->procs.nr; k++) {
		struct nsys_proc *p = &n->procs.v[k];

		p->import_proc = import__process(im, PID(p->id), p->name ?: "", 0);
	}
	err = im->err ?: nsys_importer__ranges(&i);
	if (!err) {
		nsys_importer__calls(&i);
		nsys_importer__waits(&i);
		nsys_importer__api(&i);
		nsys_importer__devices(&i);
		nsys_importer__works(&i);
		err = im->err ?: nsys_importer__samples(&i);
	}
	paths__free(&i.range_paths);
	idmap__free(&i.sweep_ids);
	array_free(&i.sweep_tids);
	array_free(&i.names);
	idmap__free(&i.paths);
	idmap__free(&i.threads);
	return err ?: im->err;
}
