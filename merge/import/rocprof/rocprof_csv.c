// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * rocprof_csv.c - the CSV files of AMD's rocprofv3 (--output-format csv)
 *
 * A process has a file for each kind of record: PREFIX_kernel_trace.csv, PREFIX_hip_api_trace.csv,
 * and so on. These files are read together, because calls and their device work are in different
 * files. Columns are identified by their names, ignoring case. Files converted from a database
 * contain several processes, distinguished by the column Guid.
 *
 * Source: rocprofiler-sdk, source/lib/output/generateCSV.cpp.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "import/rocprof/rocprof.h"

#define COLUMNS_MAX	128

enum csv_column {
	GUID, KIND, NAME, PROCESS, THREAD, CORRELATION, START, END, AGENT, SRC_AGENT, DST_AGENT,
	QUEUE, STREAM, LDS, SCRATCH, VGPRS, BLOCK_X, BLOCK_Y, BLOCK_Z, GRID_X, GRID_Y, GRID_Z,
	DISPATCH, COUNTER, VALUE, ADDRESS, BYTES, SAMPLE, NODE, AGENT_TYPE, AGENT_NAME, PRODUCT,
	NR_COLUMNS,
};

static const struct {
	const char *name;
	enum csv_column column;
} columns[] = {
	{ "Guid", GUID }, { "Kind", KIND }, { "Domain", KIND }, { "Function", NAME },
	{ "Kernel_Name", NAME }, { "Direction", NAME }, { "Process_Id", PROCESS },
	{ "Thread_Id", THREAD }, { "Correlation_Id", CORRELATION }, { "Start_Timestamp", START },
	{ "End_Timestamp", END }, { "Agent_Id", AGENT }, { "Source_Agent_Id", SRC_AGENT },
	{ "Destination_Agent_Id", DST_AGENT }, { "Queue_Id", QUEUE }, { "Stream_Id", STREAM },
	{ "LDS_Block_Size", LDS }, { "Scratch_Size", SCRATCH }, { "VGPR_Count", VGPRS },
	{ "Workgroup_Size_X", BLOCK_X }, { "Workgroup_Size_Y", BLOCK_Y },
	{ "Workgroup_Size_Z", BLOCK_Z }, { "Grid_Size_X", GRID_X }, { "Grid_Size_Y", GRID_Y },
	{ "Grid_Size_Z", GRID_Z }, { "Dispatch_Id", DISPATCH }, { "Counter_Name", COUNTER },
	{ "Counter_Value", VALUE },
	{ "Operation", NAME }, { "Address", ADDRESS }, { "Allocation_Size", BYTES },
	{ "Sample_Timestamp", SAMPLE }, { "Node_Id", NODE }, { "Agent_Type", AGENT_TYPE },
	{ "Name", AGENT_NAME },
	{ "Product_Name", PRODUCT },
};

/* The files of one process have the same prefix and these suffixes. */
static const char *const suffixes[] = {
	"agent_info.csv", "hip_api_trace.csv", "hsa_api_trace.csv", "kernel_trace.csv",
	"memory_copy_trace.csv", "marker_api_trace.csv", "rccl_api_trace.csv",
	"counter_collection.csv", "memory_allocation_trace.csv", "pc_sampling_host_trap.csv",
	"pc_sampling_stochastic.csv",
};

struct csv {
	struct gputrace *t;
	struct strpool guids;
	ARRAY(struct rocprof) processes;	/* by Guid */
	bool kernels;			/* kernels were traced */
	struct idmap counted;		/* dispatches that only the counter file contains */
	enum csv_column place[COLUMNS_MAX];	/* by position in a row */
	struct span row[NR_COLUMNS];	/* the current row; .s is NULL: the column is missing */
	const char *p, *end;
};

/* ---- rows ------------------------------------------------------------------------------------ */

/*
 * Reads a field and moves past it. A quote ends a field if a comma or the end of the line follows.
 * Return: whether the row has another field.
 */
static bool csv__field(struct csv *c, struct span *out)
{
	const char *from = c->p;

	if (c->p < c->end && *c->p == '"') {
		for (c->p++; c->p < c->end && *c->p != '\n'; c->p++) {
			if (*c->p != '"')
				continue;
			if (c->p + 1 == c->end || strchr(",\r\n", c->p[1]))
				break;
			c->p += c->p[1] == '"';		/* "" in the text means one quote */
		}
		*out = (struct span){ from + 1, c->p - from - 1 };
		c->p += c->p < c->end && *c->p == '"';
	} else {
		while (c->p < c->end && !strchr(",\r\n", *c->p))
			c->p++;
		*out = (struct span){ from, c->p - from };
	}
	while (c->p < c->end && *c->p == '\r')
		c->p++;
	if (c->p < c->end && *c->p == ',') {
		c->p++;
		return true;
	}
	while (c->p < c->end && *c->p != '\n')
		c->p++;
	c->p += c->p < c->end;
	return false;
}

static enum csv_column column__of(struct span name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(columns); i++)
		if (name.len == strlen(columns[i].name) &&
		    !strncasecmp(name.s, columns[i].name, name.len))
			return columns[i].column;
	return NR_COLUMNS;
}

/* Return: whether the text starts with the names of columns that rocprofv3 writes. */
static bool csv__begin(struct csv *c, const char *buf, size_t size)
{
	bool known[NR_COLUMNS + 1] = { false }, more = true;
	struct span name;
	size_t i;

	c->p = buf;
	c->end = buf + size;
	for (i = 0; i < COLUMNS_MAX; i++)
		c->place[i] = NR_COLUMNS;
	for (i = 0; more; i++) {
		more = csv__field(c, &name);
		if (i == COLUMNS_MAX)
			return false;
		c->place[i] = column__of(name);
		known[c->place[i]] = true;
	}
	return known[SAMPLE] ||
	       (known[START] && known[END] && known[CORRELATION] && known[NAME]) ||
	       (known[NODE] && known[AGENT_TYPE]);
}

/* Return: whether a row was read. */
static bool csv__next(struct csv *c)
{
	struct span field;
	bool more = true;
	size_t i;

	memset(c->row, 0, sizeof(c->row));
	while (c->p < c->end && (*c->p == '\n' || *c->p == '\r'))
		c->p++;
	if (c->p == c->end)
		return false;
	for (i = 0; more; i++) {
		more = csv__field(c, &field);
		if (i < COLUMNS_MAX && c->place[i] < NR_COLUMNS)
			c->row[c->place[i]] = field;
	}
	return true;
}

/*
 * Return: the number in a field, which may follow a word, as in "Agent 4"; 0 if the field has no
 * number.
 */
static uint64_t csv__u64(const struct csv *c, enum csv_column column)
{
	struct span s = c->row[column];
	uint64_t v = 0;
	size_t i = 0;

	while (i < s.len && (isalpha((unsigned char)s.s[i]) || s.s[i] == ' '))
		i++;
	for (; i < s.len; i++)
		if (!isdigit((unsigned char)s.s[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, s.s[i] - '0', &v))
			return 0;
	return v;
}

/* Return: the text of a field, kept in the trace's names; .s is NULL if memory is short. */
static struct span csv__text(struct csv *c, enum csv_column column)
{
	struct span s = c->row[column];
	char *copy = malloc(s.len + 1), *to = copy;
	const char *text;
	size_t i;

	if (!copy)
		return (struct span){ 0 };
	for (i = 0; i < s.len && s.s[i]; i++) {
		*to++ = s.s[i];
		i += s.s[i] == '"' && i + 1 < s.len && s.s[i + 1] == '"';
	}
	text = strpool__intern(&c->t->names, copy, to - copy);
	free(copy);
	return text ? span__of(text) : (struct span){ 0 };
}

/* ---- records --------------------------------------------------------------------------------- */

/* Return: the process of the row, or NULL if memory is short. */
static struct rocprof *csv__process(struct csv *c)
{
	struct rocprof new = { .t = c->t };
	const char *guid = strpool__intern(&c->guids, c->row[GUID].s ?: "", c->row[GUID].len);
	struct rocprof *r;

	if (!guid || (strpool__id(guid) == c->processes.nr && array_push(&c->processes, new)))
		return NULL;
	r = &c->processes.v[strpool__id(guid)];
	r->pid = r->pid ?: (uint32_t)csv__u64(c, PROCESS);
	return r;
}

static int csv__agent(struct csv *c, struct rocprof *r)
{
	struct rocprof_agent a = {
		.handle = csv__u64(c, NODE), .gpu = span__is(c->row[AGENT_TYPE], "GPU"),
		.name = csv__text(c, c->row[PRODUCT].len ? PRODUCT : AGENT_NAME),
	};

	return a.name.s ? array_push(&r->agents, a) : -ENOMEM;
}

/* Adds the value of a hardware counter. Return: 0 or -ENOMEM. */
static int csv__pmc(struct csv *c, struct rocprof *r, uint64_t dispatch)
{
	struct rocprof_pmc pmc = { .dispatch = dispatch, .name = csv__text(c, COUNTER).s };

	if (!pmc.name)
		return -ENOMEM;
	if (!span__real(c->row[VALUE], &pmc.value)) {
		c->t->nr_strange++;
		return 0;
	}
	return rocprof__add_pmc(c->t, &r->pmcs, pmc);
}

static int csv__record(struct csv *c, struct rocprof *r)
{
	struct rocprof_work w = {
		.c = { .name = csv__text(c, NAME), .start_ns = csv__u64(c, START),
		       .end_ns = csv__u64(c, END), .tid = csv__u64(c, THREAD),
		       .id = csv__u64(c, CORRELATION) },
		.agent = csv__u64(c, c->row[AGENT].s ? AGENT : DST_AGENT),
		.src_agent = csv__u64(c, SRC_AGENT), .queue = csv__u64(c, QUEUE),
		.stream = csv__u64(c, STREAM), .has_stream = c->row[STREAM].s,
		.bytes = csv__u64(c, BYTES), .address = span__hex(c->row[ADDRESS]),
		.shared_bytes = csv__u64(c, LDS), .local_bytes = csv__u64(c, SCRATCH),
		.registers = csv__u64(c, VGPRS),
		.block = { csv__u64(c, BLOCK_X), csv__u64(c, BLOCK_Y), csv__u64(c, BLOCK_Z) },
		.grid = { csv__u64(c, GRID_X), csv__u64(c, GRID_Y), csv__u64(c, GRID_Z) },
		.dispatch = c->row[DISPATCH].s ? csv__u64(c, DISPATCH) : NO_DISPATCH,
	};
	int added;

	if (!w.c.name.s)
		return -ENOMEM;
	if (c->row[COUNTER].s) {
		added = csv__pmc(c, r, w.dispatch);
		/* A dispatch has a row for each counter. The kernel file was read before. */
		if (!added && !c->kernels)
			added = idmap__add(&c->counted, ID_KEY(r - c->processes.v,
							       (uint32_t)w.dispatch), 0);
		return added > 0 ? array_push(&r->dispatches, w) : added;
	}
	if (span__is(c->row[KIND], "KERNEL_DISPATCH")) {
		c->kernels = true;
		return array_push(&r->dispatches, w);
	}
	if (span__is(c->row[KIND], "MEMORY_COPY"))
		return array_push(&r->copies, w);
	if (span__is(c->row[KIND], "MEMORY_ALLOCATION"))
		return array_push(&r->memory, w);
	return array_push(rocprof__calls(r, c->row[KIND]), w.c);
}

static int csv__read(struct csv *c, const char *buf, size_t size)
{
	struct rocprof *r;
	int err = 0;

	if (!csv__begin(c, buf, size))
		return 0;
	while (!err && csv__next(c)) {
		if (c->row[SAMPLE].s) {
			c->t->nr_unread[UNREAD_PC_SAMPLES]++;
			continue;
		}
		if (!c->row[NODE].s && (!c->row[END].s || !csv__u64(c, START))) {
			c->t->nr_strange++;
			continue;
		}
		r = csv__process(c);
		err = !r ? -ENOMEM : c->row[NODE].s ? csv__agent(c, r) : csv__record(c, r);
	}
	return err;
}

/* ---- sets of files --------------------------------------------------------------------------- */

bool rocprof_csv__is(const char *buf, size_t size)
{
	struct csv c = { 0 };

	return csv__begin(&c, buf, size);
}

/*
 * Return: the length of the prefix that the files of a process share; 0 if the name has another
 * form.
 */
static size_t csv__prefix(const char *path)
{
	size_t len = strlen(path), n, i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		n = strlen(suffixes[i]);
		if (len > n && !strcmp(path + len - n, suffixes[i]) &&
		    (path[len - n - 1] == '_' || path[len - n - 1] == '/'))
			return len - n;
	}
	return 0;
}

bool rocprof_csv__same_set(const char *a, const char *b)
{
	size_t len = csv__prefix(a);

	return len && csv__prefix(b) == len && !memcmp(a, b, len);
}

/*
 * Reads another file of the process. If the file is missing, its kind of record was not traced. The
 * user did not name the file, so do not open a pipe or a device, whose input may never end.
 */
static int csv__read_other(struct csv *c, const char *path)
{
	struct input_file in = { 0 };
	struct stat st;
	int err;

	if (stat(path, &st))
		err = -errno;
	else
		err = S_ISREG(st.st_mode) ? input_file__open(&in, path) : -ENODEV;
	if (!err && !rocprof_csv__is(in.buf, in.size))
		err = -EINVAL;
	if (!err)
		err = csv__read(c, in.buf, in.size);
	else if (err != -ENOENT && err != -ENOMEM)
		c->t->damage = "another file of its process has no known columns or cannot be read";
	input_file__close(&in);
	return err == -ENOMEM ? err : 0;
}

/*
 * Reads the file @path, whose contents are at @buf, and the other files of the same process, in
 * fixed order.
 */
static int csv__read_set(struct csv *c, const char *path, const char *buf, size_t size)
{
	size_t len = path ? csv__prefix(path) : 0, i;
	char *other;
	int err = 0;

	if (!len)
		return csv__read(c, buf, size);
	for (i = 0; i < ARRAY_SIZE(suffixes) && !err; i++) {
		if (!strcmp(path + len, suffixes[i])) {
			err = csv__read(c, buf, size);
			continue;
		}
		other = malloc(len + strlen(suffixes[i]) + 1);
		if (!other)
			return -ENOMEM;
		memcpy(other, path, len);
		strcpy(other + len, suffixes[i]);
		err = csv__read_other(c, other);
		free(other);
	}
	return err;
}

int gputrace__read_rocprof_csv(struct gputrace *t, const char *path, const char *buf, size_t size)
{
	struct csv c = { .t = t };
	int err = csv__read_set(&c, path, buf, size);

	array_each(&c.processes, r) {
		if (!err && !r->agents.nr)
			err = rocprof__number_gpus(r);
		err = err ?: rocprof__tell(r);
		rocprof__exit(r);
	}
	array_free(&c.processes);
	strpool__free(&c.guids);
	idmap__free(&c.counted);
	return err;
}
