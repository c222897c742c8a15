// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "escape.h"
#include "model/feature.h"
#include "model/loss.h"
#include "profile.pb-c.h"
#include "util.h"

#define GZIP_WINDOW	(15 + 16)	/* the largest window, with gzip's header */
#define CHUNK_BYTES	(64 * 1024)
#define INLINED		" (inlined)"	/* callchain.h appends this to the names of inlined
					 * functions */

/* The order is as in Sample.value. */
enum value {
	VALUE_GPU,
	VALUE_CPU,
	VALUE_LAUNCHES,
	VALUE_BYTES,
	VALUE_WAIT,
	VALUE_STALL,
	NR_VALUES
};

/* Memory profiles have these values instead of enum value, in the order of Go's heap profiles. */
enum memory_value {
	VALUE_ALLOC_OBJECTS,
	VALUE_ALLOC_SPACE,
	VALUE_INUSE_OBJECTS,
	VALUE_INUSE_SPACE,
	NR_MEMORY_VALUES
};

struct value_type {
	const char *type, *unit;
};

struct gzip {
	FILE *f;
	z_stream z;
	size_t nr_in;
	uint8_t in[CHUNK_BYTES], out[CHUNK_BYTES];
};

/*
 * Concatenated protobuf messages of one type are read as one message with all their repeated
 * fields. Therefore each item is written at once, in a profile message of its own, and only the
 * item's ID is kept.
 */
struct pprof {
	const struct session *s;
	struct gzip gzip;
	struct strpool names;
	struct strpool groups;		/* groups of frames that share one location */
	struct idmap strings;		/* maps an address in names to an index in the string
					 * table */
	struct idmap functions;		/* maps the strings of a function's name and file to its
					 * id */
	struct idmap mappings;		/* dso -> id */
	struct idmap locations;		/* maps a frame, or a group, to an id */
	uint64_t *leaf_locations;	/* for each leaf: its location; 0: not yet written */
	uint32_t nr_locations;
	ARRAY(char) escaped;
	ARRAY(uint8_t) packed;
	ARRAY(uint64_t) stack;
	unsigned int nr_values;
	enum profile_kind kind;		/* kind of the values; NR_PROFILE_KINDS: all values of enum
					 * value */
	const struct profile_time *time;	/* the time span of the profile; NULL: from the
						 * first event to the last */
	int err;			/* -ENOMEM once memory was short; everything after that is
					 * ignored */
};

static void gzip__put(struct gzip *gz, int flush)
{
	gz->z.next_in = gz->in;
	gz->z.avail_in = gz->nr_in;
	do {
		gz->z.next_out = gz->out;
		gz->z.avail_out = sizeof(gz->out);
		deflate(&gz->z, flush);
		fwrite(gz->out, 1, sizeof(gz->out) - gz->z.avail_out, gz->f);
	} while (!gz->z.avail_out);
	gz->nr_in = 0;
}

static void gzip__append(struct gzip *gz, const uint8_t *data, size_t len)
{
	size_t n;

	for (; len; len -= n, data += n) {
		if (gz->nr_in == sizeof(gz->in))
			gzip__put(gz, Z_NO_FLUSH);
		n = min_t(size_t, len, sizeof(gz->in) - gz->nr_in);
		memcpy(gz->in + gz->nr_in, data, n);
		gz->nr_in += n;
	}
}

static void pprof__put(struct pprof *p, const Perftools__Profiles__Profile *profile)
{
	size_t size = perftools__profiles__profile__get_packed_size(profile);

	if (p->err || array_reserve(&p->packed, size)) {
		p->err = -ENOMEM;
		return;
	}
	perftools__profiles__profile__pack(profile, p->packed.v);
	gzip__append(&p->gzip, p->packed.v, size);
}

static uintptr_t address(const void *p)
{
	return (uintptr_t)p;
}

/* Return: index of @s in the string table. */
static int64_t pprof__string(struct pprof *p, const char *s)
{
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	const char *name;
	char out[ESCAPE_MAX], *text;
	uint32_t idx;
	size_t len;

	p->escaped.nr = 0;
	while ((len = escape__next(&s, ESCAPE_TEXT, out))) {
		if (array_reserve(&p->escaped, p->escaped.nr + len))
			goto nomem;
		memcpy(p->escaped.v + p->escaped.nr, out, len);
		p->escaped.nr += len;
	}
	name = strpool__intern(&p->names, p->escaped.nr ? p->escaped.v : "", p->escaped.nr);
	if (!name)
		goto nomem;
	if (idmap__get(&p->strings, address(name), &idx))
		return idx;
	idx = p->strings.nr;
	if (idmap__put(&p->strings, address(name), idx))
		goto nomem;
	text = (char *)name;
	profile.n_string_table = 1;
	profile.string_table = &text;
	pprof__put(p, &profile);
	return idx;
nomem:
	p->err = -ENOMEM;
	return 0;
}

static uint64_t pprof__function(struct pprof *p, const char *name, const char *file)
{
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function f = PERFTOOLS__PROFILES__FUNCTION__INIT, *pf = &f;
	uint32_t id;

	f.name = f.system_name = pprof__string(p, name);
	f.filename = pprof__string(p, file);
	if (idmap__get(&p->functions, (uint64_t)f.filename << 32 | f.name, &id))
		return id;
	f.id = id = p->functions.nr + 1;
	if (idmap__put(&p->functions, (uint64_t)f.filename << 32 | f.name, id))
		p->err = -ENOMEM;
	profile.n_function = 1;
	profile.function = &pf;
	pprof__put(p, &profile);
	return id;
}

static uint64_t pprof__mapping(struct pprof *p, const struct dso *dso)
{
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping m = PERFTOOLS__PROFILES__MAPPING__INIT, *pm = &m;
	char hex[2 * XPU_BUILD_ID_LEN + 1] = "";
	uint32_t id, i;

	if (!dso)
		return 0;
	if (idmap__get(&p->mappings, address(dso), &id))
		return id;
	for (i = 0; i < dso->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", dso->build_id[i]);
	m.id = id = p->mappings.nr + 1;
	m.filename = pprof__string(p, dso->path);
	m.build_id = pprof__string(p, hex);
	/*
	 * Set the flag even if names are only file and offset: pprof could not find better names.
	 */
	m.has_functions = true;
	m.has_inline_frames = p->s->callchains.show_inline;
	m.has_filenames = m.has_line_numbers = p->s->callchains.show_srcline;
	if (idmap__put(&p->mappings, address(dso), id))
		p->err = -ENOMEM;
	profile.n_mapping = 1;
	profile.mapping = &pm;
	pprof__put(p, &profile);
	return id;
}

/* Writes a location in @dso with @nr functions, the innermost inlined one first. */
static uint64_t pprof__put_location(struct pprof *p, Perftools__Profiles__Line **lines, size_t nr,
				    const struct dso *dso)
{
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location l = PERFTOOLS__PROFILES__LOCATION__INIT, *pl = &l;

	l.id = ++p->nr_locations;
	l.mapping_id = pprof__mapping(p, dso);
	l.n_line = nr;
	l.line = lines;
	profile.n_location = 1;
	profile.location = &pl;
	pprof__put(p, &profile);
	return l.id;
}

static uint64_t pprof__new_location(struct pprof *p, const char *name)
{
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *pline = &line;

	line.function_id = pprof__function(p, name, "");
	return pprof__put_location(p, &pline, 1, NULL);
}

static bool frame__is_inlined(const struct frame *f)
{
	size_t len = strlen(f->name), tail = strlen(INLINED);

	return f->dso && len > tail && !strcmp(f->name + len - tail, INLINED);
}

/* Splits a frame's name, which callchain.h composes: "function (file.c:12) (inlined)". */
static void pprof__line(struct pprof *p, const struct frame *f, Perftools__Profiles__Line *line)
{
	char *name = strdup(f->name), *file = NULL, *colon;
	size_t len;

	if (!name) {
		p->err = -ENOMEM;
		return;
	}
	len = strlen(name);
	if (frame__is_inlined(f))
		name[len -= strlen(INLINED)] = 0;
	if (p->s->callchains.show_srcline && len && name[len - 1] == ')') {
		colon = strrchr(name, ':');
		file = strrchr(name, '(');
		if (file && file > name && file[-1] == ' ' && colon > file &&
		    strspn(colon + 1, "0123456789") == strlen(colon + 1) - 1) {
			line->line = strtoull(colon + 1, NULL, 10);
			file[-1] = *colon = 0;
			file++;
		} else {
			file = NULL;
		}
	}
	line->function_id = pprof__function(p, name, file ? file : "");
	free(name);
}

/*
 * Writes the location of @nr frames, outermost first: a function and the functions inlined in it.
 */
static uint64_t pprof__location(struct pprof *p, const struct frame *const *frames, uint32_t nr)
{
	Perftools__Profiles__Line *lines, **ptrs;
	const void *key = frames[0];
	uint32_t id, i;

	if (nr > 1)
		key = strpool__intern(&p->groups, (const char *)frames, nr * sizeof(*frames));
	if (key && idmap__get(&p->locations, address(key), &id))
		return id;
	lines = calloc(nr, sizeof(*lines));
	ptrs = calloc(nr, sizeof(*ptrs));
	if (!key || !lines || !ptrs) {
		p->err = -ENOMEM;
		id = 0;
		goto out;
	}
	for (i = 0; i < nr; i++) {
		perftools__profiles__line__init(&lines[i]);
		pprof__line(p, frames[nr - 1 - i], &lines[i]);
		ptrs[i] = &lines[i];
	}
	id = pprof__put_location(p, ptrs, nr, frames[0]->dso);
	if (idmap__put(&p->locations, address(key), id))
		p->err = -ENOMEM;
out:
	free(ptrs);
	free(lines);
	return id;
}

#define MAX_PLACE_LINES	(LEAF_MAX_FRAMES + 2)

/*
 * Makes the places and the reason of a kernel's stall look as if they were inlined in the kernel;
 * the innermost comes first.
 */
static uint64_t pprof__place(struct pprof *p, const struct leaf_place *place, const char *kernel)
{
	Perftools__Profiles__Line lines[MAX_PLACE_LINES], *ptrs[MAX_PLACE_LINES];
	size_t i = MAX_PLACE_LINES, first;
	const char *at = place->place;
	char *name;

	for (first = 0; first < MAX_PLACE_LINES; first++) {
		perftools__profiles__line__init(&lines[first]);
		ptrs[first] = &lines[first];
	}
	lines[--i].function_id = pprof__function(p, kernel, "");
	while (i > 1 && (name = leaf_place__frame(&at))) {
		lines[--i].function_id = pprof__function(p, name, "");
		free(name);
	}
	if (at && *at)
		p->err = -ENOMEM;
	if (asprintf(&name, "%s%s", place->label, place->reason) < 0) {
		p->err = -ENOMEM;
		return 0;
	}
	lines[--i].function_id = pprof__function(p, name, "");
	free(name);
	return pprof__put_location(p, &ptrs[i], MAX_PLACE_LINES - i, NULL);
}

/* Return: the location of the work itself, or 0 for CPU time, which has only a call path. */
static uint64_t pprof__leaf(struct pprof *p, uint32_t idx, bool numbered)
{
	const struct leaf *leaf = &p->s->model.leaves.v[idx];
	char label[LEAF_LABEL_MAX], *name;
	const struct leaf_part *part;

	if (leaf->kind == LEAF_CPU || p->leaf_locations[idx])
		return p->leaf_locations[idx];
	leaf__label(&p->s->model.gpus, leaf, numbered, label);
	if (asprintf(&name, "%s%s", label, leaf->name) < 0) {
		p->err = -ENOMEM;
		return 0;
	}
	part = leaf__part(&p->s->model.leaves, leaf);
	p->leaf_locations[idx] = part ? pprof__place(p, part->place, name) :
				 pprof__new_location(p, name);
	free(name);
	return p->leaf_locations[idx];
}

#define MAX_LABELS	(7 + LABELS_NR_NUMBERS + LABELS_NR_TEXTS)

struct sample_labels {
	Perftools__Profiles__Label v[MAX_LABELS];
	Perftools__Profiles__Label *p[MAX_LABELS];
	size_t nr;
};

static void sample_labels__add(struct sample_labels *l, struct pprof *p, const char *key,
			       const char *value)
{
	Perftools__Profiles__Label *label = &l->v[l->nr];

	perftools__profiles__label__init(label);
	label->key = pprof__string(p, key);
	label->str = pprof__string(p, value);
	l->p[l->nr++] = label;
}

static void sample_labels__add_number(struct sample_labels *l, struct pprof *p, const char *key,
				      uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	sample_labels__add(l, p, key, text);
}

/* Adds a label such as "step;forward", the outermost range first. */
static void pprof__range_label(struct pprof *p, uint32_t range, struct sample_labels *l)
{
	uint32_t path[XPU_RANGE_DEPTH + 1], nr = ranges__path(&p->s->model.ranges, range, path), i;
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!nr)
		return;
	f = open_memstream(&text, &size);
	if (!f) {
		p->err = -ENOMEM;
		return;
	}
	for (i = 0; i < nr; i++) {
		fputs(i ? ";" : "", f);
		escape__print(f, ranges__name(&p->s->model.ranges, path[i]), ESCAPE_FOLDED);
	}
	if (fclose(f))
		p->err = -ENOMEM;
	else
		sample_labels__add(l, p, "nvtx", text);
	free(text);
}

/* Adds the process's labels: rank, node, pod and so on. */
static void pprof__process_labels(struct pprof *p, const struct labels *from,
				  struct sample_labels *l)
{
	uint32_t i;

	for (i = 0; i < LABELS_NR_NUMBERS; i++)
		if (from->numbers[i])
			sample_labels__add_number(l, p, label__name(i + 1), from->numbers[i] - 1);
	for (i = 0; i < LABELS_NR_TEXTS; i++)
		if (from->texts[i])
			sample_labels__add(l, p, label__name(LABELS_FIRST_TEXT + i),
					   from->texts[i]);
}

static void pprof__labels(struct pprof *p, const struct aggregate *a, struct sample_labels *l)
{
	const struct session *s = p->s;
	const struct owner *owner = aggregate__owner(&s->sums.aggregates, a);
	uint32_t proc = s->model.chains.v[a->chain].proc, pid = s->model.machine.procs.v[proc].pid;
	const struct leaf *leaf = &s->model.leaves.v[a->leaf];

	l->nr = 0;
	sample_labels__add(l, p, "comm", *owner->comm ? owner->comm : "[unknown]");
	if (pid)
		sample_labels__add_number(l, p, "pid", pid);
	if (owner->thread != NO_INDEX)
		sample_labels__add_number(l, p, "tid", s->model.threads.v[owner->thread].tid);
	if (leaf_kind__is_device(leaf->kind))
		sample_labels__add_number(l, p, "device", s->model.gpus.list.v[leaf->gpu].number);
	if (owner->stream != NO_INDEX && s->model.streams.v[owner->stream].known)
		sample_labels__add_number(l, p, "stream", s->model.streams.v[owner->stream].stream);
	pprof__range_label(p, s->model.chains.v[a->chain].range, l);
	pprof__process_labels(p, model__labels(&s->model, proc), l);
	if (*model__host(&s->model, proc))
		sample_labels__add(l, p, "host", model__host(&s->model, proc));
}

static void aggregate__values(const struct session *s, const struct aggregate *a,
			      enum leaf_kind kind, int64_t *values)
{
	uint64_t nr = 0, bytes = 0;
	unsigned int i;

	memset(values, 0, NR_VALUES * sizeof(*values));
	switch (kind) {
	case LEAF_KERNEL:
	case LEAF_MEMCPY:
	case LEAF_MEMSET:
	case LEAF_PENDING:
		values[VALUE_GPU] = a->sum_ns;
		values[VALUE_LAUNCHES] = a->nr;
		values[VALUE_BYTES] = aggregate__spread(&s->sums.aggregates, a).bytes;
		break;
	case LEAF_CPU:
		values[VALUE_CPU] = a->sum_ns;
		break;
	case LEAF_OFF_CPU:
	case LEAF_GPU_WAIT:
		values[VALUE_WAIT] = a->sum_ns;
		break;
	case LEAF_MEMORY:
		for (i = 0; features[i]; i++)
			if (features[i]->made)
				features[i]->made(s, a - s->sums.aggregates.v, &nr, &bytes);
		values[VALUE_ALLOC_OBJECTS] = nr;
		values[VALUE_ALLOC_SPACE] = bytes;
		values[VALUE_INUSE_OBJECTS] = a->nr;
		values[VALUE_INUSE_SPACE] = aggregate__spread(&s->sums.aggregates, a).bytes;
		break;
	case NR_LEAF_KINDS:
		break;
	}
}

/* Writes a sample with the call path of @a. @leaf_idx: what ran there */
static void pprof__sample(struct pprof *p, const struct aggregate *a, uint32_t leaf_idx,
			  int64_t *values, bool numbered)
{
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *ps = &sample;
	const struct stack *stack = p->s->model.chains.v[a->chain].stack;
	struct sample_labels labels;
	uint64_t leaf;
	uint32_t i, nr;

	if (array_reserve(&p->stack, stack->nr + 1)) {
		p->err = -ENOMEM;
		return;
	}
	p->stack.nr = 0;
	leaf = pprof__leaf(p, leaf_idx, numbered);
	if (leaf)
		p->stack.v[p->stack.nr++] = leaf;
	for (i = stack->nr; i; i -= nr) {
		for (nr = 1; nr < i && frame__is_inlined(stack->frames[i - nr]) &&
		     stack->frames[i - nr - 1]->dso == stack->frames[i - nr]->dso; nr++)
			;
		p->stack.v[p->stack.nr++] = pprof__location(p, &stack->frames[i - nr], nr);
	}
	pprof__labels(p, a, &labels);
	sample.n_location_id = p->stack.nr;
	sample.location_id = p->stack.v;
	sample.n_value = p->kind < NR_PROFILE_KINDS ? 1 : p->nr_values;
	sample.value = values;
	sample.n_label = labels.nr;
	sample.label = labels.p;
	profile.n_sample = 1;
	profile.sample = &ps;
	pprof__put(p, &profile);
}

/*
 * Writes the time of a part of a kernel twice. The first sample has it as time of the kernel, so
 * that lists of functions include kernels. The second sample has it as time of a stall, with the
 * part's place and reason as frames.
 */
static void pprof__aggregate(struct pprof *p, const struct aggregate *a, bool numbered)
{
	const struct leaves *leaves = &p->s->model.leaves;
	const struct leaf *leaf = &leaves->v[a->leaf];
	const struct leaf_part *part = leaf__part(leaves, leaf);
	int64_t values[NR_VALUES] = { a->sum_ns };

	if (p->kind < NR_PROFILE_KINDS) {
		pprof__sample(p, a, a->leaf, values, numbered);
		return;
	}
	aggregate__values(p->s, a, leaf->kind, values);
	pprof__sample(p, a, part ? part->kernel : a->leaf, values, numbered);
	if (!part)
		return;
	memset(values, 0, sizeof(values));
	values[VALUE_STALL] = a->sum_ns;
	pprof__sample(p, a, a->leaf, values, numbered);
}

/*
 * Readers assume that the first mapping is the program, so it must be the file that has main(). If
 * no main() is known, it must be the file that has _start().
 */
static void pprof__main_mapping(struct pprof *p)
{
	const struct session *s = p->s;
	const struct dso *program = NULL;
	size_t i;
	uint32_t k;

	for (i = 0; i < s->sums.aggregates.nr; i++) {
		const struct stack *stack = s->model.chains.v[s->sums.aggregates.v[i].chain].stack;

		for (k = 0; k < stack->nr; k++) {
			const struct frame *f = stack->frames[k];

			if (!f->dso || !f->symbolized)
				continue;
			if (!strcmp(f->name, "main")) {
				pprof__mapping(p, f->dso);
				return;
			}
			if (!program && !strcmp(f->name, "_start"))
				program = f->dso;
		}
	}
	pprof__mapping(p, program);
}

static void pprof__head(struct pprof *p)
{
	static const struct value_type times[NR_VALUES] = {
		[VALUE_GPU] = { "gpu", "nanoseconds" },
		[VALUE_CPU] = { "cpu", "nanoseconds" },
		[VALUE_LAUNCHES] = { "launches", "count" },
		[VALUE_BYTES] = { "bytes", "bytes" },
		[VALUE_WAIT] = { "wait", "nanoseconds" },
		[VALUE_STALL] = { "stall", "nanoseconds" },
	};
	static const struct value_type memory[NR_MEMORY_VALUES] = {
		[VALUE_ALLOC_OBJECTS] = { "alloc_objects", "count" },
		[VALUE_ALLOC_SPACE] = { "alloc_space", "bytes" },
		[VALUE_INUSE_OBJECTS] = { "inuse_objects", "count" },
		[VALUE_INUSE_SPACE] = { "inuse_space", "bytes" },
	};
	const struct value_type *types = p->s->opts.in_bytes ? memory : times;
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType v[NR_VALUES], *pv[NR_VALUES] = { 0 };
	const struct session *s = p->s;
	const struct xpu_file_header *h = &s->model.inputs.v[0].reader->header;
	bool all = p->kind == NR_PROFILE_KINDS;
	const uint32_t freq = model__freq_hz(&s->model);
	char account[128];
	int64_t comment;
	size_t i;

	pprof__string(p, "");		/* the table begins with an empty string */
	for (i = 0; i < p->nr_values; i++) {
		perftools__profiles__value_type__init(&v[i]);
		v[i].type = pprof__string(p, all ? types[i].type : profile_kind__name(p->kind));
		v[i].unit = pprof__string(p, types[i].unit);
		pv[i] = &v[i];
		if (!all)
			break;
	}
	profile.n_sample_type = all ? p->nr_values : 1;
	profile.sample_type = pv;
	profile.default_sample_type = pv[all && s->opts.in_bytes ?
					 VALUE_INUSE_SPACE : VALUE_GPU]->type;
	/* The values are exact, not sampled: the period is 1 ns, which some servers require. */
	profile.period_type = pv[all && s->opts.in_bytes ? VALUE_INUSE_SPACE : VALUE_GPU];
	profile.period = p->kind == PROFILE_CPU && freq ? 1000000000 / freq : 1;
	profile.time_nanos = s->sums.from_ns;
	if (!s->model.realtime)
		profile.time_nanos += h->start_real_ns - h->start_mono_ns;
	profile.duration_nanos = s->sums.to_ns - s->sums.from_ns;
	if (p->time) {
		profile.time_nanos = p->time->start_ns;
		profile.duration_nanos = p->time->duration_ns;
	}
	snprintf(account, sizeof(account), "launches %" PRIu64 " matched %" PRIu64 " unmatched %"
		 PRIu64 " lost %" PRIu64, s->sums.loss.nr_launches, s->sums.loss.nr_matched,
		 loss__unmatched(&s->sums.loss), loss__lost(&s->sums.loss));
	comment = pprof__string(p, account);
	profile.n_comment = 1;
	profile.comment = &comment;
	pprof__put(p, &profile);
}

static int pprof__open(struct pprof *p, const struct session *s, FILE *f)
{
	bool has_wait = false, has_stall = false;
	size_t i;

	memset(p, 0, sizeof(*p));
	p->s = s;
	p->gzip.f = f;
	if (deflateInit2(&p->gzip.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	/* Allocate one element more than needed, because calloc(0) may return NULL. */
	p->leaf_locations = calloc(s->model.leaves.nr + 1, sizeof(*p->leaf_locations));
	if (!p->leaf_locations) {
		deflateEnd(&p->gzip.z);
		return -ENOMEM;
	}
	for (i = 0; i < s->sums.aggregates.nr; i++) {
		const struct leaf *leaf = &s->model.leaves.v[s->sums.aggregates.v[i].leaf];

		has_wait |= leaf->kind == LEAF_OFF_CPU || leaf->kind == LEAF_GPU_WAIT;
		has_stall |= leaf__part(&s->model.leaves, leaf) != NULL;
	}
	p->nr_values = s->opts.in_bytes ? NR_MEMORY_VALUES : has_stall ? NR_VALUES :
		       has_wait ? VALUE_WAIT + 1 : VALUE_WAIT;
	return 0;
}

static void pprof__close(struct pprof *p)
{
	gzip__put(&p->gzip, Z_FINISH);
	deflateEnd(&p->gzip.z);
	array_free(&p->stack);
	array_free(&p->escaped);
	array_free(&p->packed);
	free(p->leaf_locations);
	idmap__free(&p->locations);
	idmap__free(&p->mappings);
	idmap__free(&p->functions);
	idmap__free(&p->strings);
	strpool__free(&p->groups);
	strpool__free(&p->names);
}

static bool pprof__has(const struct pprof *p, const struct aggregate *a)
{
	return p->kind == NR_PROFILE_KINDS ||
	       profile_kind__of(p->s->model.leaves.v[a->leaf].kind) == p->kind;
}

int pprof__write(const struct session *s, FILE *f)
{
	return pprof__write_kind(s, NR_PROFILE_KINDS, NULL, f);
}

int pprof__write_kind(const struct session *s, enum profile_kind kind,
		      const struct profile_time *time, FILE *f)
{
	bool numbered = gpus__nr_used(&s->model.gpus) > 1;
	struct pprof *p = malloc(sizeof(*p));
	size_t i;
	int err;

	if (!p)
		return -ENOMEM;
	err = pprof__open(p, s, f);
	if (err)
		goto out;
	p->kind = kind;
	p->time = time;
	pprof__head(p);
	pprof__main_mapping(p);
	for (i = 0; i < s->sums.aggregates.nr && !p->err; i++)
		if (pprof__has(p, &s->sums.aggregates.v[i]))
			pprof__aggregate(p, &s->sums.aggregates.v[i], numbered);
	pprof__close(p);
	err = p->err;
out:
	free(p);
	return err;
}
