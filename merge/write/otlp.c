// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "escape.h"
#include "opentelemetry/proto/collector/profiles/v1development/profiles_service.pb-c.h"
#include "util.h"
#include "version.h"

/* These shorten the names that protoc-c makes. */
#define PROFILES(T)	Opentelemetry__Proto__Profiles__V1development__##T
#define COMMON(T)	Opentelemetry__Proto__Common__V1__##T
#define INIT(t)		opentelemetry__proto__profiles__v1development__##t##__init
#define COLLECTOR(t)	opentelemetry__proto__collector__profiles__v1development__##t
#define INIT_REQUEST	COLLECTOR(export_profiles_service_request__init)
typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceRequest
	request_msg;
typedef PROFILES(ProfilesDictionary) dictionary_msg;
typedef PROFILES(ResourceProfiles) resource_profiles_msg;
typedef PROFILES(ScopeProfiles) scope_profiles_msg;
typedef PROFILES(Profile) profile_msg;
typedef PROFILES(Sample) sample_msg;
typedef PROFILES(Mapping) mapping_msg;
typedef PROFILES(Location) location_msg;
typedef PROFILES(Line) line_msg;
typedef PROFILES(Function) function_msg;
typedef PROFILES(Link) link_msg;
typedef PROFILES(Stack) stack_msg;
typedef PROFILES(ValueType) value_type_msg;
typedef PROFILES(KeyValueAndUnit) attribute_msg;
typedef COMMON(KeyValue) key_value_msg;
typedef COMMON(AnyValue) any_value_msg;
typedef COMMON(InstrumentationScope) scope_msg;
typedef Opentelemetry__Proto__Resource__V1__Resource resource_msg;

#define MAX_ATTRIBUTES	4		/* maximum number of attributes of a sample */
#define MAX_RESOURCE	(4 + LABELS_NR_NUMBERS + LABELS_NR_TEXTS)

/* A sample's identity: samples with equal identities are merged. */
struct identity {
	uint32_t proc;
	uint32_t kind;
	int32_t stack;
	int32_t attributes[MAX_ATTRIBUTES];	/* 0: none */
};

/* the profiles of one process */
struct process_profiles {
	uint32_t proc;
	profile_msg *kinds[NR_PROFILE_KINDS];	/* NULL: the process has no such profile */
	ARRAY(sample_msg *) samples[NR_PROFILE_KINDS];
};

struct otlp {
	const struct session *s;
	const struct profile_time *time;
	struct arena arena;		/* the memory of all messages */
	struct strpool names;		/* escaped strings; keys of the tables below */
	struct idmap string_ids, function_ids, mapping_ids, location_ids, stack_ids, attribute_ids;
	ARRAY(char *) strings;
	ARRAY(function_msg *) functions;
	ARRAY(mapping_msg *) mappings;
	ARRAY(location_msg *) locations;
	ARRAY(stack_msg *) stacks;
	ARRAY(attribute_msg *) attributes;
	int32_t *leaves;		/* for each leaf: its location; 0: not yet made */
	struct idmap process_ids;
	struct idmap sample_ids;	/* maps a struct identity in @names to an index in
					 * all_samples */
	ARRAY(sample_msg *) all_samples;
	ARRAY(struct process_profiles) processes;
	ARRAY(resource_profiles_msg *) resources;
	ARRAY(int32_t) path;
	ARRAY(char) escaped;
	int err;			/* -ENOMEM once memory was short; everything after that is
					 * ignored */
};

/*
 * Return: zeroed memory for a message. It is never NULL: once memory is short, all messages share
 * one dummy.
 */
static void *otlp__alloc(struct otlp *o, size_t bytes)
{
	static _Thread_local uint64_t dummy[64];
	void *v = arena__alloc(&o->arena, bytes);

	if (v)
		return v;
	o->err = -ENOMEM;
	return bytes <= sizeof(dummy) ? memset(dummy, 0, sizeof(dummy)) : NULL;
}

/* Makes an initialized message of a type. */
#define NEW(o, type, init)	({ type *new_ = otlp__alloc(o, sizeof(type)); init(new_); new_; })

#define TRY(o, call)	((o)->err = (o)->err ?: (call))

/*
 * Looks up @key; a new key gets the value @next. Sets *@id to the key's value. Return: whether the
 * key is new.
 */
static bool otlp__is_new(struct otlp *o, struct idmap *ids, uint64_t key, uint32_t next,
			 uint32_t *id)
{
	if (o->err || idmap__get(ids, key, id))
		return false;
	*id = next;
	TRY(o, idmap__put(ids, key, next));
	return !o->err;
}

/* ---- the dictionary -------------------------------------------------------------------------- */

/* Return: @s without control characters and bytes that are not UTF-8; NULL if memory is short. */
static char *otlp__text(struct otlp *o, const char *s)
{
	char out[ESCAPE_MAX];
	const char *text;
	size_t len;

	o->escaped.nr = 0;
	while ((len = escape__next(&s, ESCAPE_TEXT, out)) && !o->err) {
		TRY(o, array_reserve(&o->escaped, o->escaped.nr + len));
		if (!o->err)
			memcpy(o->escaped.v + o->escaped.nr, out, len);
		o->escaped.nr += len;
	}
	text = o->err ? NULL :
	       strpool__intern(&o->names, o->escaped.nr ? o->escaped.v : "", o->escaped.nr);
	if (!text)
		o->err = -ENOMEM;
	return (char *)text;
}

/* Return: the index of @s in the table of strings. */
static int32_t otlp__string(struct otlp *o, const char *s)
{
	char *text = otlp__text(o, s);
	uint32_t id = 0;

	if (text && otlp__is_new(o, &o->string_ids, (uintptr_t)text, o->strings.nr, &id))
		TRY(o, array_push(&o->strings, text));
	return id;
}

/* Makes a value: @text, or @number if @text is NULL. */
static any_value_msg *otlp__value(struct otlp *o, char *text, int64_t number)
{
	any_value_msg *v = NEW(o, any_value_msg, opentelemetry__proto__common__v1__any_value__init);

	if (text) {
		v->value_case = OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE;
		v->string_value = text;
	} else {
		v->value_case = OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE;
		v->int_value = number;
	}
	return v;
}

/* Adds an attribute with the value @text, or @number if @text is NULL. Return: its index. */
static int32_t otlp__attribute(struct otlp *o, const char *key, const char *text, uint32_t number)
{
	char *value = text ? otlp__text(o, text) : NULL;
	int32_t key_id = otlp__string(o, key);
	uint64_t value_id = value ? strpool__id(value) : number;
	attribute_msg *a;
	uint32_t id = 0;

	if (!otlp__is_new(o, &o->attribute_ids,
			  (uint64_t)key_id << 33 | (uint64_t)!value << 32 | value_id,
			  o->attributes.nr, &id))
		return id;
	a = NEW(o, attribute_msg, INIT(key_value_and_unit));
	a->key_strindex = key_id;
	a->value = otlp__value(o, value, number);
	TRY(o, array_push(&o->attributes, a));
	return id;
}

static int32_t otlp__function(struct otlp *o, const char *name)
{
	int32_t name_id = otlp__string(o, name);
	function_msg *f;
	uint32_t id = 0;

	if (!otlp__is_new(o, &o->function_ids, name_id, o->functions.nr, &id))
		return id;
	f = NEW(o, function_msg, INIT(function));
	f->name_strindex = f->system_name_strindex = name_id;
	TRY(o, array_push(&o->functions, f));
	return id;
}

static int32_t *otlp__list(struct otlp *o, const int32_t *v, size_t nr)
{
	int32_t *list = otlp__alloc(o, nr * sizeof(*v));

	if (list && !o->err)
		memcpy(list, v, nr * sizeof(*v));
	return o->err ? NULL : list;
}

static int32_t otlp__mapping(struct otlp *o, const struct dso *dso)
{
	char hex[2 * XPU_BUILD_ID_LEN + 1] = "";
	mapping_msg *m;
	uint32_t id = 0, i;
	int32_t attribute;

	if (!dso || !otlp__is_new(o, &o->mapping_ids, (uintptr_t)dso, o->mappings.nr, &id))
		return id;
	m = NEW(o, mapping_msg, INIT(mapping));
	m->filename_strindex = otlp__string(o, dso->path);
	for (i = 0; i < dso->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", dso->build_id[i]);
	if (*hex) {
		attribute = otlp__attribute(o, "process.executable.build_id.gnu", hex, 0);
		m->attribute_indices = otlp__list(o, &attribute, 1);
		m->n_attribute_indices = m->attribute_indices != NULL;
	}
	TRY(o, array_push(&o->mappings, m));
	return id;
}

/* Adds a location for a frame. @type: a profile.frame.type, or NULL. */
static int32_t otlp__new_location(struct otlp *o, const char *name, const struct dso *dso,
				  const char *type)
{
	location_msg *l = NEW(o, location_msg,
			      INIT(location));
	line_msg *line = NEW(o, line_msg, INIT(line));
	int32_t attribute;

	line->function_index = otlp__function(o, name);
	l->mapping_index = otlp__mapping(o, dso);
	l->lines = otlp__alloc(o, sizeof(line));
	if (!o->err) {
		l->lines[0] = line;
		l->n_lines = 1;
	}
	if (type) {
		attribute = otlp__attribute(o, "profile.frame.type", type, 0);
		l->attribute_indices = otlp__list(o, &attribute, 1);
		l->n_attribute_indices = l->attribute_indices != NULL;
	}
	TRY(o, array_push(&o->locations, l));
	return o->locations.nr - 1;
}

/* Return: the well-known value of profile.frame.type for a frame of a call path, or NULL. */
static const char *frame__type(const struct frame *f)
{
	size_t len = strlen(f->name);

	if (len > 4 && !strcmp(f->name + len - 4, "_[k]"))
		return "kernel";
	if (f->dso)
		return "native";
	if (strstr(f->name, ".py:"))
		return "cpython";
	return *f->name == '[' ? NULL : "native";
}

static int32_t otlp__location(struct otlp *o, const struct frame *f)
{
	uint32_t id = 0;

	if (otlp__is_new(o, &o->location_ids, (uintptr_t)f, o->locations.nr, &id))
		otlp__new_location(o, f->name, f->dso, frame__type(f));
	return id;
}

/* Return: the location of the work itself, or 0 for CPU time, which has only a call path. */
static int32_t otlp__leaf(struct otlp *o, uint32_t idx)
{
	const struct leaf *leaf = &o->s->model.leaves.v[idx];
	char label[LEAF_LABEL_MAX], *name;
	bool numbered = gpus__nr_used(&o->s->model.gpus) > 1;

	if (leaf->kind == LEAF_CPU || o->leaves[idx])
		return o->leaves[idx];
	leaf__label(&o->s->model.gpus, leaf, numbered, label);
	if (asprintf(&name, "%s%s", leaf->kind == LEAF_KERNEL ? "" : label, leaf->name) < 0) {
		o->err = -ENOMEM;
		return 0;
	}
	o->leaves[idx] = otlp__new_location(o, name, NULL,
					    leaf_kind__is_device(leaf->kind) ? "cuda" : NULL);
	free(name);
	return o->leaves[idx];
}

static int32_t otlp__stack(struct otlp *o, const struct aggregate *a)
{
	const struct stack *stack = o->s->model.chains.v[a->chain].stack;
	int32_t leaf = otlp__leaf(o, a->leaf);
	const char *key;
	stack_msg *s;
	uint32_t id = 0, i;

	o->path.nr = 0;
	TRY(o, array_reserve(&o->path, stack->nr + 1));
	if (o->err)
		return 0;
	if (leaf)
		o->path.v[o->path.nr++] = leaf;
	for (i = stack->nr; i--;)
		o->path.v[o->path.nr++] = otlp__location(o, stack->frames[i]);
	key = strpool__intern(&o->names, (const char *)o->path.v, o->path.nr * sizeof(*o->path.v));
	if (!key)
		o->err = -ENOMEM;
	if (!otlp__is_new(o, &o->stack_ids, (uintptr_t)key, o->stacks.nr, &id))
		return id;
	s = NEW(o, stack_msg, INIT(stack));
	s->location_indices = otlp__list(o, o->path.v, o->path.nr);
	s->n_location_indices = s->location_indices ? o->path.nr : 0;
	TRY(o, array_push(&o->stacks, s));
	return id;
}

/* Begins each table with a zero value, because index 0 means "no value". */
static void otlp__begin(struct otlp *o)
{
	otlp__string(o, "");
	TRY(o, array_push(&o->functions,
		NEW(o, function_msg, INIT(function))));
	TRY(o, array_push(&o->mappings,
		NEW(o, mapping_msg, INIT(mapping))));
	TRY(o, array_push(&o->locations,
		NEW(o, location_msg, INIT(location))));
	TRY(o, array_push(&o->stacks,
		NEW(o, stack_msg, INIT(stack))));
	TRY(o, array_push(&o->attributes,
		NEW(o, attribute_msg, INIT(key_value_and_unit))));
	o->leaves = calloc(o->s->model.leaves.nr + 1, sizeof(*o->leaves));
	if (!o->leaves)
		o->err = -ENOMEM;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static struct process_profiles *otlp__process(struct otlp *o, uint32_t proc)
{
	uint32_t id = 0;

	if (otlp__is_new(o, &o->process_ids, proc, o->processes.nr, &id))
		TRY(o, array_push(&o->processes, ((struct process_profiles){ .proc = proc })));
	return o->err ? NULL : &o->processes.v[id];
}

static value_type_msg *otlp__type(struct otlp *o, enum profile_kind kind)
{
	value_type_msg *t = NEW(o, value_type_msg,
				INIT(value_type));

	t->type_strindex = otlp__string(o, profile_kind__name(kind));
	t->unit_strindex = otlp__string(o, "nanoseconds");
	return t;
}

static profile_msg *otlp__profile(struct otlp *o, enum profile_kind kind)
{
	profile_msg *p = NEW(o, profile_msg, INIT(profile));
	const uint32_t freq = model__freq_hz(&o->s->model);

	p->sample_type = otlp__type(o, kind);
	p->time_unix_nano = o->time->start_ns;
	p->duration_nano = o->time->duration_ns;
	/* All values are exact, except values from samples. */
	p->period_type = otlp__type(o, kind);
	p->period = kind == PROFILE_CPU && freq ? 1000000000 / freq : 1;
	p->profile_id.data = otlp__alloc(o, 16);
	if (!o->err && getrandom(p->profile_id.data, 16, 0) == 16)
		p->profile_id.len = 16;
	return p;
}

/* Return: the sample with that identity; NULL if it is new, and the caller has to add it. */
static sample_msg *otlp__same(struct otlp *o, const struct identity *identity)
{
	const char *key = strpool__intern(&o->names, (const char *)identity, sizeof(*identity));
	uint32_t id = 0;

	if (!key)
		o->err = -ENOMEM;
	if (otlp__is_new(o, &o->sample_ids, (uintptr_t)key, o->all_samples.nr, &id) || o->err)
		return NULL;
	return o->all_samples.v[id];
}

static void otlp__sample(struct otlp *o, const struct aggregate *a, enum profile_kind kind)
{
	const struct session *s = o->s;
	const struct owner *owner = aggregate__owner(&s->sums.aggregates, a);
	const struct leaf *leaf = &s->model.leaves.v[a->leaf];
	struct identity id = { .proc = s->model.chains.v[a->chain].proc, .kind = kind };
	struct process_profiles *p = otlp__process(o, id.proc);
	int32_t *attributes = id.attributes;
	sample_msg *sample;
	size_t nr = 0;

	if (!p)
		return;
	if (!p->kinds[kind])
		p->kinds[kind] = otlp__profile(o, kind);
	attributes[nr++] = otlp__attribute(o, "thread.name",
					   *owner->comm ? owner->comm : "[unknown]", 0);
	if (owner->thread != NO_INDEX)
		attributes[nr++] = otlp__attribute(o, "thread.id", NULL,
						   s->model.threads.v[owner->thread].tid);
	if (leaf_kind__is_device(leaf->kind))
		attributes[nr++] = otlp__attribute(o, "device", NULL,
						   s->model.gpus.list.v[leaf->gpu].number);
	if (owner->stream != NO_INDEX && s->model.streams.v[owner->stream].known)
		attributes[nr++] = otlp__attribute(o, "stream", NULL,
						   s->model.streams.v[owner->stream].stream);
	id.stack = otlp__stack(o, a);
	sample = otlp__same(o, &id);
	if (sample) {
		sample->values[0] += a->sum_ns;
		return;
	}
	sample = NEW(o, sample_msg, INIT(sample));
	sample->stack_index = id.stack;
	sample->attribute_indices = otlp__list(o, attributes, nr);
	sample->n_attribute_indices = sample->attribute_indices ? nr : 0;
	sample->values = otlp__alloc(o, sizeof(*sample->values));
	if (o->err)
		return;
	sample->values[0] = a->sum_ns;
	sample->n_values = 1;
	TRY(o, array_push(&p->samples[kind], sample));
	TRY(o, array_push(&o->all_samples, sample));
}

static key_value_msg *otlp__key_value(struct otlp *o, const char *key, const char *text,
				      uint32_t number)
{
	key_value_msg *kv =
		NEW(o, key_value_msg, opentelemetry__proto__common__v1__key_value__init);

	kv->key = otlp__text(o, key);
	kv->value = otlp__value(o, text ? otlp__text(o, text) : NULL, number);
	return kv;
}

/*
 * Return: the name of a label in OpenTelemetry's conventions, or the label's own name if the
 * conventions lack this label.
 */
static const char *label__attribute(uint32_t label)
{
	switch (label) {
	case XPU_LABEL_NODE:
		return "k8s.node.name";
	case XPU_LABEL_POD:
		return "k8s.pod.name";
	case XPU_LABEL_NAMESPACE:
		return "k8s.namespace.name";
	case XPU_LABEL_POD_UID:
		return "k8s.pod.uid";
	case XPU_LABEL_CONTAINER:
		return "container.id";
	default:
		return label__name(label);
	}
}

/* Adds the process's labels: rank, node, pod and so on. */
static void otlp__labels(struct otlp *o, const struct labels *l, resource_msg *r)
{
	uint32_t label;

	for (label = 1; label <= LABELS_NR_NUMBERS; label++)
		if (labels__number(l, label) != NO_INDEX)
			r->attributes[r->n_attributes++] = otlp__key_value(
				o, label__attribute(label), NULL, labels__number(l, label));
	for (label = LABELS_FIRST_TEXT; label < LABELS_FIRST_TEXT + LABELS_NR_TEXTS; label++)
		if (labels__text(l, label))
			r->attributes[r->n_attributes++] = otlp__key_value(
				o, label__attribute(label), labels__text(l, label), 0);
}

static resource_msg *otlp__resource(struct otlp *o, uint32_t proc)
{
	const struct model *m = &o->s->model;
	resource_msg *r = NEW(o, resource_msg, opentelemetry__proto__resource__v1__resource__init);
	key_value_msg **kv = otlp__alloc(o, MAX_RESOURCE * sizeof(*kv));
	const char *name = model__proc_name(m, proc);
	char host[256] = "";

	if (o->err)
		return r;
	if (*m->inputs.v[0].host)
		snprintf(host, sizeof(host), "%s", m->inputs.v[0].host);
	else
		gethostname(host, sizeof(host) - 1);
	kv[r->n_attributes++] = otlp__key_value(o, "service.name", name, 0);
	kv[r->n_attributes++] = otlp__key_value(o, "host.name", host, 0);
	kv[r->n_attributes++] =
		otlp__key_value(o, "process.pid", NULL, m->machine.procs.v[proc].pid);
	kv[r->n_attributes++] = otlp__key_value(o, "process.executable.name", name, 0);
	r->attributes = kv;
	otlp__labels(o, model__labels(m, proc), r);
	return r;
}

static void otlp__add_process(struct otlp *o, struct process_profiles *p)
{
	resource_profiles_msg *r = NEW(o, resource_profiles_msg,
				       INIT(resource_profiles));
	scope_profiles_msg *sp = NEW(o, scope_profiles_msg,
				     INIT(scope_profiles));
	scope_msg *scope =
		NEW(o, scope_msg, opentelemetry__proto__common__v1__instrumentation_scope__init);
	profile_msg **profiles = otlp__alloc(o, NR_PROFILE_KINDS * sizeof(*profiles));
	enum profile_kind kind;

	if (o->err)
		return;
	scope->name = (char *)"xpuload";
	scope->version = (char *)XPU_VERSION;
	sp->scope = scope;
	sp->profiles = profiles;
	for (kind = 0; kind < NR_PROFILE_KINDS; kind++) {
		if (!p->kinds[kind])
			continue;
		p->kinds[kind]->samples = p->samples[kind].v;
		p->kinds[kind]->n_samples = p->samples[kind].nr;
		profiles[sp->n_profiles++] = p->kinds[kind];
	}
	r->resource = otlp__resource(o, p->proc);
	r->scope_profiles = otlp__alloc(o, sizeof(sp));
	if (o->err)
		return;
	r->scope_profiles[0] = sp;
	r->n_scope_profiles = 1;
	TRY(o, array_push(&o->resources, r));
}

static int otlp__pack(struct otlp *o, FILE *f)
{
	link_msg link, *links = &link;
	dictionary_msg d;
	request_msg request;
	uint8_t *packed;
	size_t size;

	INIT(link)(&link);
	INIT(profiles_dictionary)(&d);
	INIT_REQUEST(&request);
	d.string_table = o->strings.v;
	d.n_string_table = o->strings.nr;
	d.function_table = o->functions.v;
	d.n_function_table = o->functions.nr;
	d.mapping_table = o->mappings.v;
	d.n_mapping_table = o->mappings.nr;
	d.location_table = o->locations.v;
	d.n_location_table = o->locations.nr;
	d.stack_table = o->stacks.v;
	d.n_stack_table = o->stacks.nr;
	d.attribute_table = o->attributes.v;
	d.n_attribute_table = o->attributes.nr;
	d.link_table = &links;
	d.n_link_table = 1;
	request.dictionary = &d;
	request.resource_profiles = o->resources.v;
	request.n_resource_profiles = o->resources.nr;
	size = protobuf_c_message_get_packed_size(&request.base);
	packed = malloc(size ?: 1);
	if (!packed)
		return -ENOMEM;
	protobuf_c_message_pack(&request.base, packed);
	fwrite(packed, 1, size, f);
	free(packed);
	return 0;
}

static void otlp__free(struct otlp *o)
{
	enum profile_kind kind;
	size_t i;

	for (i = 0; i < o->processes.nr; i++)
		for (kind = 0; kind < NR_PROFILE_KINDS; kind++)
			array_free(&o->processes.v[i].samples[kind]);
	array_free(&o->processes);
	array_free(&o->resources);
	array_free(&o->all_samples);
	array_free(&o->strings);
	array_free(&o->functions);
	array_free(&o->mappings);
	array_free(&o->locations);
	array_free(&o->stacks);
	array_free(&o->attributes);
	array_free(&o->path);
	array_free(&o->escaped);
	idmap__free(&o->string_ids);
	idmap__free(&o->function_ids);
	idmap__free(&o->mapping_ids);
	idmap__free(&o->location_ids);
	idmap__free(&o->stack_ids);
	idmap__free(&o->attribute_ids);
	idmap__free(&o->process_ids);
	idmap__free(&o->sample_ids);
	strpool__free(&o->names);
	arena__free(&o->arena);
	free(o->leaves);
}

int otlp__write(const struct session *s, const struct profile_time *time, FILE *f)
{
	struct otlp o = { .s = s, .time = time };
	enum profile_kind kind;
	size_t i;
	int err;

	otlp__begin(&o);
	for (i = 0; i < s->sums.aggregates.nr && !o.err; i++) {
		kind = profile_kind__of(s->model.leaves.v[s->sums.aggregates.v[i].leaf].kind);
		if (kind < NR_PROFILE_KINDS)
			otlp__sample(&o, &s->sums.aggregates.v[i], kind);
	}
	for (i = 0; i < o.processes.nr && !o.err; i++)
		otlp__add_process(&o, &o.processes.v[i]);
	err = o.err ?: otlp__pack(&o, f);
	otlp__free(&o);
	return err;
}
