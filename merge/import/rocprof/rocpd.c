// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * rocpd.c - the SQLite databases of AMD's tools
 *
 * rocprofv3 and rocprofiler-systems write schema 3. Each process has its own set of tables, whose
 * names have the same suffix: rocpd_string_UUID. A call or an activity record refers to an event,
 * which holds its category and its correlation ids (stack_id and parent_stack_id).
 *
 * rocmProfileData (RPD) writes schema 2: one set of tables for all processes. The names of these
 * tables have no suffix. rocpd_api_ops maps calls to the device work that they queued.
 *
 * Source: rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql, and
 * source/lib/output/generateRocpd.cpp; rocmProfileData, rocpd_python/rocpd/schema.py.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/database.h"
#include "import/json.h"
#include "import/rocprof/rocprof.h"

#define SUFFIX_MAX	64		/* maximum length of the suffix of table names */
#define TABLE_MAX	(SUFFIX_MAX + 32)

struct rocpd_event {
	uint64_t id, ancestor;
	struct span category, message;
};

/* A set of tables whose names have the same suffix. */
struct rocpd {
	struct gputrace *t;
	struct database *db;
	char suffix[SUFFIX_MAX];
	char table[TABLE_MAX];		/* the table being read */
	struct idmap string_ids, event_ids, tids;
	ARRAY(struct span) strings;
	ARRAY(struct rocpd_event) events;
	rocprof_pmcs_t pmcs;		/* hardware counters of all processes */
};

/* A process of the tables. */
struct rocpd_process {
	uint64_t key;			/* its id in the tables */
	uint32_t pid;
	struct span command;
};

/* ---- columns --------------------------------------------------------------------------------- */

static uint64_t column__u64(sqlite3_stmt *stmt, int i)
{
	sqlite3_int64 v = sqlite3_column_int64(stmt, i);

	return v < 0 ? 0 : v;
}

/* Return: the text in a column, kept in the trace's names; .s is NULL if memory is short. */
static struct span rocpd__text(struct rocpd *d, sqlite3_stmt *stmt, int i)
{
	const char *s = (const char *)sqlite3_column_text(stmt, i) ?: "";

	s = strpool__intern(&d->t->names, s, strlen(s));
	return s ? span__of(s) : (struct span){ 0 };
}

/* Return: the string that a column refers to; .s is NULL if it is unknown. */
static struct span rocpd__string(const struct rocpd *d, sqlite3_stmt *stmt, int i)
{
	uint32_t idx;

	return idmap__get(&d->string_ids, sqlite3_column_int64(stmt, i), &idx) ?
	       d->strings.v[idx] : (struct span){ 0 };
}

/* Selects rows of the table whose name is rocpd_, @name and the suffix. */
static int rocpd__select(struct rocpd *d, const char *name, const char *columns,
			 unsigned int nr_needed, const char *rest, sqlite3_stmt **stmt)
{
	snprintf(d->table, sizeof(d->table), "rocpd_%s%s", name, d->suffix);
	return database__select(d->db, d->table, columns, nr_needed, rest, stmt);
}

/* Return: the end of an SQL statement that selects the rows of one process. */
static const char *where_pid(const struct rocpd_process *p, char buf[64])
{
	snprintf(buf, 64, "WHERE pid = %lld", (long long)p->key);
	return buf;
}

/* ---- tables that others refer to ------------------------------------------------------------- */

static int rocpd__read_strings(struct rocpd *d)
{
	sqlite3_stmt *stmt;
	struct span s;
	int err, added;

	err = rocpd__select(d, "string", "id string", 2, "", &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		s = rocpd__text(d, stmt, 1);
		added = idmap__add(&d->string_ids, sqlite3_column_int64(stmt, 0), d->strings.nr);
		err = !s.s ? -ENOMEM : added > 0 ? array_push(&d->strings, s) : added;
	}
	return err;
}

/*
 * Return: the member "message" of a JSON object, kept in the trace's names; .s is NULL if it is
 * missing.
 */
static struct span rocpd__message(struct rocpd *d, const char *json, int *err)
{
	struct span key, raw = { 0 };
	struct json j;
	const char *s;

	json__init(&j, json, strlen(json));
	if (json__peek(&j) != '{')
		return raw;
	json__enter(&j, '{');
	while (json__next_key(&j, &key))
		if (span__is(key, "message") && json__peek(&j) == '"')
			json__string(&j, &raw);
		else
			json__skip(&j);
	if (!raw.s)
		return raw;
	s = gputrace__name(d->t, raw);
	*err = s ? 0 : -ENOMEM;
	return span__of(s ?: "");
}

static int rocpd__read_events(struct rocpd *d)
{
	sqlite3_stmt *stmt;
	const char *json;
	int err, added;

	err = rocpd__select(d, "event", "id stack_id parent_stack_id category_id extdata", 2, "",
			    &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocpd_event e = {
			.id = column__u64(stmt, 1), .ancestor = column__u64(stmt, 2),
			.category = rocpd__string(d, stmt, 3),
		};

		json = (const char *)sqlite3_column_text(stmt, 4);
		if (json && strlen(json) > 2)
			e.message = rocpd__message(d, json, &err);
		added = idmap__add(&d->event_ids, sqlite3_column_int64(stmt, 0), d->events.nr);
		err = err ?: added > 0 ? array_push(&d->events, e) : added;
	}
	return err;
}

/* Return: the event that a column refers to; an event without ids if it is unknown. */
static const struct rocpd_event *rocpd__event(const struct rocpd *d, sqlite3_stmt *stmt, int i)
{
	static const struct rocpd_event none;
	uint32_t idx;

	return idmap__get(&d->event_ids, sqlite3_column_int64(stmt, i), &idx) ?
	       &d->events.v[idx] : &none;
}

static int rocpd__read_threads(struct rocpd *d)
{
	sqlite3_stmt *stmt;
	int err = rocpd__select(d, "info_thread", "id tid", 2, "", &stmt);

	while (database__next(d->db, &stmt, d->table, &err))
		err = min_t(int, idmap__add(&d->tids, sqlite3_column_int64(stmt, 0),
					    column__u32(stmt, 1)), 0);
	return err;
}

static uint64_t rocpd__tid(const struct rocpd *d, sqlite3_stmt *stmt, int i)
{
	uint32_t tid;

	return idmap__get(&d->tids, sqlite3_column_int64(stmt, i), &tid) ? tid :
	       column__u64(stmt, i);
}

static int rocpd__read_agents(struct rocpd *d, struct rocprof *r, const char *rest)
{
	sqlite3_stmt *stmt;
	const char *type;
	int err, name;

	err = rocpd__select(d, "info_agent", "id type type_index product_name model_name name", 2,
			    rest, &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_agent a = {
			.handle = column__u64(stmt, 0), .number = column__u64(stmt, 2),
			.numbered = !column__is_null(stmt, 2) && sqlite3_column_int64(stmt, 2) >= 0,
		};

		type = (const char *)sqlite3_column_text(stmt, 1);
		a.gpu = type && !strcmp(type, "GPU");
		for (name = 3; name < 5 && !sqlite3_column_bytes(stmt, name); name++)
			;
		a.name = rocpd__text(d, stmt, name);
		err = a.name.s ? array_push(&r->agents, a) : -ENOMEM;
	}
	return err;
}

static int rocpd__read_kernels(struct rocpd *d, struct rocprof *r, const char *rest)
{
	sqlite3_stmt *stmt;
	struct span name;
	int err;

	err = rocpd__select(d, "info_kernel_symbol", "id display_name kernel_name", 1, rest, &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		name = rocpd__text(d, stmt, sqlite3_column_bytes(stmt, 1) ? 1 : 2);
		err = !name.s ? -ENOMEM :
		      name.len ? rocprof_texts__add(&r->kernels, column__u64(stmt, 0), name) : 0;
	}
	return err;
}

/* ---- calls and device work: schema 3 --------------------------------------------------------- */

/* Reads the columns "event_id start end tid", the first columns of all event tables. */
static struct rocprof_call rocpd__call(const struct rocpd *d, sqlite3_stmt *stmt)
{
	const struct rocpd_event *e = rocpd__event(d, stmt, 0);

	return (struct rocprof_call){
		.id = e->id, .ancestor = e->ancestor, .start_ns = sqlite3_column_int64(stmt, 1),
		.end_ns = sqlite3_column_int64(stmt, 2), .tid = rocpd__tid(d, stmt, 3),
	};
}

static int rocpd__read_regions(struct rocpd *d, struct rocprof *r, const char *rest)
{
	const struct rocpd_event *e;
	rocprof_calls_t *to;
	sqlite3_stmt *stmt;
	int err = rocpd__select(d, "region", "event_id start end tid name_id", 5, rest, &stmt);

	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_call c = rocpd__call(d, stmt);

		e = rocpd__event(d, stmt, 0);
		to = rocprof__calls(r, e->category);
		c.name = to == &r->ranges && e->message.len ? e->message :
			 rocpd__string(d, stmt, 4);
		err = array_push(to, c);
	}
	return err;
}

static int rocpd__read_dispatches(struct rocpd *d, struct rocprof *r, const char *rest)
{
	sqlite3_stmt *stmt;
	int err;

	err = rocpd__select(d, "kernel_dispatch", "event_id start end tid kernel_id agent_id "
			    "queue_id stream_id group_segment_size private_segment_size "
			    "workgroup_size_x workgroup_size_y workgroup_size_z "
			    "grid_size_x grid_size_y grid_size_z region_name_id", 6, rest, &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_work w = {
			.c = rocpd__call(d, stmt), .kernel = column__u64(stmt, 4),
			.agent = column__u64(stmt, 5), .queue = column__u64(stmt, 6),
			.stream = column__u64(stmt, 7), .has_stream = !column__is_null(stmt, 7),
			.shared_bytes = column__u32(stmt, 8), .local_bytes = column__u32(stmt, 9),
			.block = { column__u32(stmt, 10), column__u32(stmt, 11),
				   column__u32(stmt, 12) },
			.grid = { column__u32(stmt, 13), column__u32(stmt, 14),
				  column__u32(stmt, 15) },
			.dispatch = column__is_null(stmt, 0) ? NO_DISPATCH : column__u64(stmt, 0),
		};

		/*
		 * rocprofv3 leaves this name empty without --kernel-rename. rocprofiler-systems
		 * writes the kernel's name.
		 */
		w.c.name = rocpd__string(d, stmt, 16);
		err = array_push(&r->dispatches, w);
	}
	return err;
}

static int rocpd__read_copies(struct rocpd *d, struct rocprof *r, const char *rest)
{
	sqlite3_stmt *stmt;
	int err;

	err = rocpd__select(d, "memory_copy", "event_id start end tid name_id dst_agent_id "
			    "src_agent_id size queue_id stream_id", 5, rest, &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_work w = {
			.c = rocpd__call(d, stmt), .agent = column__u64(stmt, 5),
			.src_agent = column__u64(stmt, 6), .bytes = column__u64(stmt, 7),
			.queue = column__u64(stmt, 8), .stream = column__u64(stmt, 9),
			.has_stream = !column__is_null(stmt, 9),
		};

		w.c.name = rocpd__string(d, stmt, 4);
		err = array_push(&r->copies, w);
	}
	return err;
}

static int rocpd__read_memory(struct rocpd *d, struct rocprof *r, const char *rest)
{
	sqlite3_stmt *stmt;
	const char *word;
	bool freed, handle;
	int err;

	err = rocpd__select(d, "memory_allocate", "event_id start end tid type level agent_id "
			    "address size", 9, rest, &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_work w = {
			.c = rocpd__call(d, stmt), .agent = column__is_null(stmt, 6) ? UINT64_MAX :
			column__u64(stmt, 6), .address = sqlite3_column_int64(stmt, 7),
			.bytes = column__u64(stmt, 8),
		};

		word = (const char *)sqlite3_column_text(stmt, 5) ?: "";
		if (!strcmp(word, "SCRATCH")) {
			d->t->nr_unread[UNREAD_SCRATCH]++;
			continue;
		}
		handle = !strcmp(word, "VIRTUAL");
		word = (const char *)sqlite3_column_text(stmt, 4) ?: "";
		freed = !strcmp(word, "FREE");
		w.c.name = span__of(freed && handle ? "VMEM_FREE" : freed ? "FREE" :
				    strcmp(word, "ALLOC") ? "" : handle ? "VMEM_ALLOCATE" :
				    "ALLOCATE");
		err = array_push(&r->memory, w);
	}
	return err;
}

/* Reads the values of hardware counters, which belong to the event of a kernel dispatch. */
static int rocpd__read_pmcs(struct rocpd *d)
{
	struct idmap ids = { 0 };
	ARRAY(const char *) names = { 0 };
	sqlite3_stmt *stmt = NULL;
	const char *name;
	uint32_t i;
	int err, added;

	err = rocpd__select(d, "info_pmc", "id symbol name", 1, "", &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		name = rocpd__text(d, stmt, sqlite3_column_bytes(stmt, 1) ? 1 : 2).s;
		added = idmap__add(&ids, sqlite3_column_int64(stmt, 0), names.nr);
		err = !name ? -ENOMEM : added > 0 ? array_push(&names, name) : added;
	}
	err = err ?: rocpd__select(d, "pmc_event", "event_id pmc_id value", 1, "", &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_pmc pmc = {
			.dispatch = column__is_null(stmt, 0) ? NO_DISPATCH : column__u64(stmt, 0),
			.value = sqlite3_column_double(stmt, 2),
		};

		if (idmap__get(&ids, sqlite3_column_int64(stmt, 1), &i))
			pmc.name = names.v[i];
		if (column__is_null(stmt, 2) || !isfinite(pmc.value))
			d->t->nr_strange++;
		else
			err = rocprof__add_pmc(d->t, &d->pmcs, pmc);
	}
	idmap__free(&ids);
	array_free(&names);
	return err;
}

static int rocpd__read_process(struct rocpd *d, const struct rocpd_process *p)
{
	struct rocprof r = { .t = d->t, .pid = p->pid, .command = p->command };
	char rest[64];
	int err, told = 0;

	where_pid(p, rest);
	err = rocpd__read_agents(d, &r, rest) ?: rocpd__read_kernels(d, &r, rest) ?:
	      rocpd__read_regions(d, &r, rest) ?: rocpd__read_dispatches(d, &r, rest) ?:
	      rocpd__read_copies(d, &r, rest) ?: rocpd__read_memory(d, &r, rest);
	/*
	 * If the file is damaged, rocprof__tell() adds all records before the damage. The counter
	 * values belong to all processes.
	 */
	r.pmcs.v = d->pmcs.v;
	r.pmcs.nr = d->pmcs.nr;
	if (err != -ENOMEM)
		told = rocprof__tell(&r);
	r.pmcs.v = NULL;
	rocprof__exit(&r);
	return told ?: err;
}

/* Counts the rows of processes that the table of processes does not have. */
static int rocpd__count_homeless(struct rocpd *d)
{
	static const char *const tables[] = {
		"region", "kernel_dispatch", "memory_copy", "memory_allocate",
	};
	char rest[TABLE_MAX + 64];
	sqlite3_stmt *stmt;
	int err = 0;
	size_t i;

	snprintf(rest, sizeof(rest), "rocpd_info_process%s", d->suffix);
	if (database__has_table(d->db, rest))
		snprintf(rest, sizeof(rest), "WHERE pid IS NULL OR pid NOT IN (SELECT id FROM "
			 "\"rocpd_info_process%s\")", d->suffix);
	else
		*rest = 0;
	for (i = 0; i < ARRAY_SIZE(tables) && !err; i++) {
		err = rocpd__select(d, tables[i], "pid", 0, rest, &stmt);
		while (database__next(d->db, &stmt, d->table, &err))
			d->t->nr_unread[UNREAD_ROWS]++;
	}
	return err;
}

static int rocpd__read_processes(struct rocpd *d)
{
	ARRAY(struct rocpd_process) processes = { 0 };
	sqlite3_stmt *stmt = NULL;
	size_t i;
	int err, pmc_err = 0;

	err = rocpd__read_strings(d) ?: rocpd__read_events(d) ?: rocpd__read_threads(d);
	if (!err)
		pmc_err = rocpd__read_pmcs(d);
	/* If the counters are damaged, everything else is still read. */
	if (pmc_err == -ENOMEM)
		err = pmc_err;
	err = err ?: rocpd__select(d, "info_process", "id pid command", 2, "", &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocpd_process p = { column__u64(stmt, 0), column__u32(stmt, 1),
					   rocpd__text(d, stmt, 2) };
		const char *blank;

		/* A command includes its arguments. */
		blank = p.command.s ? memchr(p.command.s, ' ', p.command.len) : NULL;
		p.command.len = blank ? (size_t)(blank - p.command.s) : p.command.len;
		err = p.command.s ? array_push(&processes, p) : -ENOMEM;
	}
	for (i = 0; i < processes.nr && !err; i++)
		err = rocpd__read_process(d, &processes.v[i]);
	err = err ?: rocpd__count_homeless(d);
	array_free(&processes);
	return err ?: pmc_err;
}

/* ---- calls and device work: schema 2 --------------------------------------------------------- */

static int rocpd__read_apis(struct rocpd *d, struct rocprof *r)
{
	static const char roctx[] = "UserMarker";
	sqlite3_stmt *stmt;
	struct span name;
	int err = rocpd__select(d, "api", "id start end tid pid apiName_id args_id", 6, "", &stmt);

	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_call c = {
			.id = column__u64(stmt, 0), .start_ns = sqlite3_column_int64(stmt, 1),
			.end_ns = sqlite3_column_int64(stmt, 2), .tid = column__u64(stmt, 3),
			.pid = column__u32(stmt, 4),
		};

		name = rocpd__string(d, stmt, 5);
		c.name = span__is(name, roctx) ? rocpd__string(d, stmt, 6) : name;
		err = span__is(name, roctx) ? array_push(&r->ranges, c) :
		      name.len > 3 && !memcmp(name.s, "hip", 3) ? array_push(&r->hip, c) :
		      array_push(&r->functions, c);
	}
	return err;
}

/* Fills @calls, which maps the id of device work to the call that queued the work. */
static int rocpd__read_api_ops(struct rocpd *d, struct idmap *calls)
{
	sqlite3_stmt *stmt;
	int err = rocpd__select(d, "api_ops", "op_id api_id", 2, "", &stmt);

	while (database__next(d->db, &stmt, d->table, &err))
		err = min_t(int, idmap__add(calls, sqlite3_column_int64(stmt, 0),
					    column__u32(stmt, 1)), 0);
	return err;
}

static int rocpd__read_ops(struct rocpd *d, struct rocprof *r, const struct idmap *calls,
			   const struct idmap *pids)
{
	sqlite3_stmt *stmt;
	struct span type;
	uint32_t v;
	int err;

	err = rocpd__select(d, "op", "id start end gpuId queueId description_id opType_id", 7, "",
			    &stmt);
	while (database__next(d->db, &stmt, d->table, &err)) {
		struct rocprof_work w = {
			.c = { .start_ns = sqlite3_column_int64(stmt, 1),
			       .end_ns = sqlite3_column_int64(stmt, 2) },
			.agent = column__u64(stmt, 3), .queue = column__u64(stmt, 4),
		};

		if (idmap__get(calls, sqlite3_column_int64(stmt, 0), &v)) {
			w.c.id = v;
			w.c.pid = idmap__get(pids, v, &v) ? v : 0;
		}
		type = rocpd__string(d, stmt, 6);
		w.c.name = rocpd__string(d, stmt, 5);
		if (type.len > 4 && !memcmp(type.s, "Copy", 4)) {
			w.c.name = type;
			err = array_push(&r->copies, w);
		} else if (type.len > 4 && !memcmp(type.s, "Fill", 4)) {
			err = array_push(&r->fills, w);
		} else {
			w.c.name = w.c.name.len ? w.c.name : type;
			err = array_push(&r->dispatches, w);
		}
	}
	return err;
}

static int rocpd__read_schema_2(struct rocpd *d)
{
	struct idmap calls = { 0 }, pids = { 0 };
	struct rocprof r = { .t = d->t };
	size_t i;
	int err = rocpd__read_strings(d) ?: rocpd__read_apis(d, &r), told = 0;

	for (i = 0; i < r.hip.nr && !err; i++)
		err = min_t(int, idmap__add(&pids, r.hip.v[i].id, r.hip.v[i].pid), 0);
	err = err ?: rocpd__read_api_ops(d, &calls) ?: rocpd__read_ops(d, &r, &calls, &pids);
	if (err != -ENOMEM)
		told = rocprof__number_gpus(&r) ?: rocprof__tell(&r);
	rocprof__exit(&r);
	idmap__free(&pids);
	idmap__free(&calls);
	return told ?: err;
}

/* ---- the database ---------------------------------------------------------------------------- */

static void rocpd__exit(struct rocpd *d)
{
	array_free(&d->pmcs);
	array_free(&d->events);
	array_free(&d->strings);
	idmap__free(&d->tids);
	idmap__free(&d->event_ids);
	idmap__free(&d->string_ids);
}

/* Reads the tables with one suffix. */
static int rocpd__read_set(struct gputrace *t, struct database *db, const char *suffix)
{
	struct rocpd d = { .t = t, .db = db };
	const char *p;
	int err;

	/* A suffix consists of a UUID. */
	for (p = suffix; isalnum((unsigned char)*p) || *p == '_'; p++)
		;
	if (*p || p - suffix >= SUFFIX_MAX)
		return 0;
	strcpy(d.suffix, suffix);
	err = !*suffix && database__has_table(d.db, "rocpd_api") ? rocpd__read_schema_2(&d) :
								      rocpd__read_processes(&d);
	rocpd__exit(&d);
	return err;
}

static int rocpd__read_sets(struct gputrace *t, struct database *db)
{
	static const char first[] = "rocpd_string";
	struct strpool suffixes = { 0 };
	ARRAY(const char *) list = { 0 };
	sqlite3_stmt *stmt = NULL;
	const char *s;
	size_t i;
	int err = 0;

	if (sqlite3_prepare_v2(db->db, "SELECT name FROM sqlite_master WHERE type = 'table' AND "
			       "name GLOB 'rocpd_string*'", -1, &stmt, NULL) != SQLITE_OK)
		err = database__fail(db, first);
	while (database__next(db, &stmt, first, &err)) {
		s = (const char *)sqlite3_column_text(stmt, 0) ?: first;
		s += strlen(first);
		s = strpool__intern(&suffixes, s, strlen(s));
		err = s ? array_push(&list, s) : -ENOMEM;
	}
	for (i = 0; i < list.nr && !err; i++)
		err = rocpd__read_set(t, db, list.v[i]);
	if (!err && !list.nr) {
		msgs__add(db->msgs, database__has_table(db, "StringIds") ?
			  "%s: an export of Nsight Systems: read it with --nsys" :
			  database__has_table(db, "KERN") ?
			  "%s: a file of rocprof: only files of rocprofv3 are read" :
			  "%s: the table rocpd_string is missing", db->path);
		err = -EINVAL;
	}
	array_free(&list);
	strpool__free(&suffixes);
	return err;
}

bool rocpd__is(const char *buf, size_t size)
{
	static const char magic[16] = "SQLite format 3";

	return size >= sizeof(magic) && !memcmp(buf, magic, sizeof(magic));
}

int gputrace__read_rocpd(struct gputrace *t, const char *buf, size_t size)
{
	struct msgs msgs = { 0 };
	struct database db = { .path = "database", .tool = "rocprofv3", .msgs = &msgs };
	const char *why;
	int err = database__open_mem(&db, buf, size) ?: database__check(&db, "cannot be read");

	err = err ?: rocpd__read_sets(t, &db) ?:
	      database__unread(&db, &t->names, &t->unread_tables);
	if (database__no_memory(&db))
		err = -ENOMEM;
	database__close(&db);
	if (err == -EINVAL && msgs.lines.nr) {
		why = msgs.lines.v[0];
		why = strpool__intern(&t->names, why, strlen(why));
		t->damage = why;
		err = why ? 0 : -ENOMEM;
	}
	msgs__free(&msgs);
	return err;
}
