// SPDX-License-Identifier: MIT
#include "wire/wire.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/launcher_labels.h"
#include "wire/probe.h"

/* A definition, kept as a finished record that is repeated for each new listener. */
struct definition {
	struct definition *next;
	struct xpu_record record[];
};

struct string {
	UT_hash_handle hh;		/* by data */
	uint32_t id;
	char data[];
};

/* A kernel's name and how it is launched. */
struct kernel {
	UT_hash_handle hh;		/* by key */
	struct {
		uint32_t name;		/* id of the string with the name alone */
		struct xpu_shape shape;
	} key;
	uint32_t id;			/* id of the string with name and shape */
};

struct stream {
	UT_hash_handle hh;		/* by key */
	struct {
		uint32_t api, device, context, stream;
	} key;
	uint32_t id;
};

struct api {
	UT_hash_handle hh;
	struct {
		uint32_t domain, cbid;
	} key;
};

/*
 * A vendor returns the same pointer each time for a kernel's name. This cache saves hashing the
 * name; the text is still compared.
 */
#define NAME_CACHE	256		/* a power of two */

/* Beyond these limits kernels are recorded without the shapes of their launches. */
#define MAX_SHAPES	16384
#define MAX_SHAPE_BYTES	(8u << 20)	/* limit on the total bytes of kernel names */

struct xpu_record_counters wire__counters;

static _Alignas(8) uint8_t batch[XPU_BATCH_MAX];
static uint32_t batch_bytes;

static struct definition *definitions, **definitions_tail = &definitions;
static struct string *strings;
static struct stream *streams;
static struct api *apis;
static uint32_t last_string_id, last_stream_id;
static struct kernel *kernels;
static size_t shape_bytes;		/* total bytes of the names of kernels with shapes */

static struct {
	const char *pointer;
	const struct string *string;
	const struct kernel *kernel;	/* the last kernel with that name, or NULL */
} name_cache[NAME_CACHE];

static uint32_t round_up(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

void wire__flush(void)
{
	if (batch_bytes <= sizeof(wire__counters))
		return;
	wire__counters.nr_batches++;
	wire__counters.hdr.type = XPU_RECORD_COUNTERS;
	wire__counters.hdr.size = sizeof(wire__counters);
	memcpy(batch, &wire__counters, sizeof(wire__counters));
	probe__batch(batch, batch_bytes);
	batch_bytes = 0;
}

void *wire__reserve(uint16_t type, uint16_t misc, uint32_t size)
{
	struct xpu_record *r;

	size = round_up(size);
	if (batch_bytes + size > sizeof(batch))
		wire__flush();
	if (!batch_bytes)
		batch_bytes = sizeof(wire__counters);	/* filled in when the batch is sent */
	r = (struct xpu_record *)(batch + batch_bytes);
	batch_bytes += size;
	memset(r, 0, size);
	r->type = type;
	r->misc = misc;
	r->size = size;
	return r;
}

static void send_definition(const struct definition *d)
{
	memcpy(wire__reserve(d->record->type, d->record->misc, d->record->size), d->record,
	       d->record->size);
}

/*
 * Return: a definition of @size bytes, with its header filled in, for the caller to complete and
 * send; NULL if memory is short.
 */
static struct definition *definition__new(uint16_t type, uint32_t size)
{
	struct definition *d = calloc(1, sizeof(*d) + round_up(size));

	if (!d)
		return NULL;
	d->record->type = type;
	d->record->size = round_up(size);
	*definitions_tail = d;
	definitions_tail = &d->next;
	return d;
}

void wire__repeat_definitions(void)
{
	const struct definition *d;

	for (d = definitions; d; d = d->next)
		send_definition(d);
}

/*
 * Return: a new interned string, already sent; NULL if memory is short. The caller has limited
 * @len.
 */
static struct string *string__new(const char *name, size_t len)
{
	struct string *s = malloc(sizeof(*s) + len + 1);
	struct xpu_record_string *r;
	struct definition *d;

	if (!s)
		return NULL;
	memcpy(s->data, name, len);
	s->data[len] = '\0';
	s->id = last_string_id + 1;
	HASH_ADD(hh, strings, data, len, s);
	if (!s->hh.tbl) {
		free(s);
		return NULL;
	}
	d = definition__new(XPU_RECORD_STRING, sizeof(*r) + len + 1);
	if (!d) {
		HASH_DEL(strings, s);
		free(s);
		return NULL;
	}
	r = (struct xpu_record_string *)d->record;
	r->id = s->id;
	r->bytes = len + 1;
	memcpy(r->data, s->data, len + 1);
	send_definition(d);
	last_string_id++;
	return s;
}

uint32_t wire__string(const char *name)
{
	size_t slot = ((uintptr_t)name >> 4) % NAME_CACHE, len;
	struct string *s;

	if (!name)
		return 0;
	if (name_cache[slot].pointer == name && !strcmp(name_cache[slot].string->data, name))
		return name_cache[slot].string->id;

	len = strnlen(name, XPU_STRING_MAX - 1);
	HASH_FIND(hh, strings, name, len, s);
	if (!s)
		s = string__new(name, len);
	if (!s)
		return 0;
	if (!name[len]) {		/* the cache would never match a shortened name */
		name_cache[slot].pointer = name;
		name_cache[slot].string = s;
		name_cache[slot].kernel = NULL;
	}
	return s->id;
}

/* Sends the definitions of a kernel. Return: whether there was memory for them. */
static bool kernel__define(struct kernel *k, const char *name, size_t len)
{
	struct xpu_record_string *r;
	struct xpu_record_shape *shape;
	struct definition *string, *d;

	d = definition__new(XPU_RECORD_SHAPE, sizeof(*shape));
	string = d ? definition__new(XPU_RECORD_STRING, sizeof(*r) + len + 1) : NULL;
	if (!string) {			/* a reader cannot use a shape without a name */
		k->id = 0;
		return false;
	}
	k->id = ++last_string_id;
	shape = (struct xpu_record_shape *)d->record;
	shape->name = k->id;
	shape->shape = k->key.shape;
	r = (struct xpu_record_string *)string->record;
	r->id = k->id;
	r->bytes = len + 1;
	memcpy(r->data, name, len);
	send_definition(d);
	send_definition(string);
	return true;
}

/*
 * Return: the new kernel, owned by the table; NULL if there are too many kernels or memory is
 * short.
 */
static struct kernel *kernel__new(const struct kernel *key, const char *name)
{
	size_t len = strnlen(name, XPU_STRING_MAX - 1);
	struct kernel *k;

	if (HASH_COUNT(kernels) >= MAX_SHAPES || shape_bytes + len > MAX_SHAPE_BYTES)
		return NULL;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->key = key->key;
	HASH_ADD(hh, kernels, key, sizeof(k->key), k);
	if (!k->hh.tbl || !kernel__define(k, name, len)) {
		if (k->hh.tbl)
			HASH_DEL(kernels, k);
		free(k);
		return NULL;
	}
	shape_bytes += len;
	return k;
}

uint32_t wire__kernel(const char *name, const struct xpu_shape *shape)
{
	size_t slot = ((uintptr_t)name >> 4) % NAME_CACHE;
	uint32_t id = wire__string(name);
	const struct kernel *last = name_cache[slot].kernel;
	struct kernel key = { .key.name = id, .key.shape = *shape }, *k;

	if (!id)
		return 0;
	if (last && !memcmp(&last->key, &key.key, sizeof(key.key)))
		return last->id;
	HASH_FIND(hh, kernels, &key.key, sizeof(key.key), k);
	if (!k)
		k = kernel__new(&key, name);
	if (name_cache[slot].pointer == name)
		name_cache[slot].kernel = k;
	return k ? k->id : id;
}

void wire__device(unsigned int api, const struct xpu_record_device *device, const char *name)
{
	uint32_t name_id = wire__string(name);
	struct definition *d = definition__new(XPU_RECORD_DEVICE, sizeof(*device));
	struct xpu_record_device *r;
	struct xpu_record hdr;

	if (!d)
		return;
	r = (struct xpu_record_device *)d->record;
	hdr = r->hdr;
	*r = *device;
	r->hdr = hdr;
	r->hdr.misc = XPU_WITH_API(api, 0);
	r->name = name_id;
	send_definition(d);
}

uint32_t wire__stream(unsigned int api, uint32_t device, uint32_t context, uint32_t stream)
{
	static const struct stream *last;
	struct stream key = { .key = { api, device, context, stream } }, *s;
	struct xpu_record_stream *r;
	struct definition *d;

	if (last && !memcmp(&last->key, &key.key, sizeof(key.key)))
		return last->id;
	HASH_FIND(hh, streams, &key.key, sizeof(key.key), s);
	if (s) {
		last = s;
		return s->id;
	}

	s = calloc(1, sizeof(*s));
	if (!s)
		return 0;
	s->key = key.key;
	s->id = last_stream_id + 1;
	HASH_ADD(hh, streams, key, sizeof(s->key), s);
	if (!s->hh.tbl)
		goto free_stream;
	d = definition__new(XPU_RECORD_STREAM, sizeof(*r));
	if (!d)
		goto del_stream;
	r = (struct xpu_record_stream *)d->record;
	r->hdr.misc = XPU_WITH_API(api, 0);
	r->id = s->id;
	r->device = device;
	r->context = context;
	r->stream = stream;
	send_definition(d);
	last_stream_id++;
	last = s;
	return s->id;

del_stream:
	HASH_DEL(streams, s);
free_stream:
	free(s);
	return 0;
}

void wire__api(uint32_t domain, uint32_t cbid, enum xpu_call_class class, const char *name)
{
	struct api key = { .key = { domain, cbid } }, *a;
	uint32_t name_id = wire__string(name);
	struct xpu_record_api *r;
	struct definition *d;

	HASH_FIND(hh, apis, &key.key, sizeof(key.key), a);
	if (a || !name_id)
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	a->key = key.key;
	HASH_ADD(hh, apis, key, sizeof(a->key), a);
	if (!a->hh.tbl) {
		free(a);
		return;			/* readers show the callback id instead of the name */
	}
	d = definition__new(XPU_RECORD_API, sizeof(*r));
	if (!d) {
		HASH_DEL(apis, a);	/* try again next time: there may be enough memory then */
		free(a);
		return;
	}
	r = (struct xpu_record_api *)d->record;
	r->domain = domain;
	r->cbid = cbid;
	r->name = name_id;
	r->class = class;
	send_definition(d);
}

void wire__graph_clone(unsigned int api, uint64_t node_id, uint64_t original_id)
{
	struct xpu_record_graph_clone *r;

	r = wire__reserve(XPU_RECORD_GRAPH_CLONE, XPU_WITH_API(api, 0), sizeof(*r));
	r->node_id = node_id;
	r->original_id = original_id;
}

void wire__pycode(uint32_t id, const char *name, const char *filename, uint32_t first_line)
{
	uint32_t name_id = wire__string(name), filename_id = wire__string(filename);
	struct definition *d = definition__new(XPU_RECORD_PYCODE, sizeof(struct xpu_record_pycode));
	struct xpu_record_pycode *r;

	if (!d)
		return;			/* the frame has no name then */
	r = (struct xpu_record_pycode *)d->record;
	r->id = id;
	r->name = name_id;
	r->filename = filename_id;
	r->first_line = first_line;
	send_definition(d);
}

void wire__labels(const struct launcher_labels *labels)
{
	struct xpu_record_label *r;
	struct definition *d;
	uint32_t bytes;
	size_t i;

	for (i = 0; i < labels->nr; i++) {
		bytes = XPU_LABEL_IS_TEXT(labels->v[i].label) ? strlen(labels->v[i].text) + 1 : 0;
		d = definition__new(XPU_RECORD_LABEL, sizeof(*r) + bytes);
		if (!d)
			return;
		r = (struct xpu_record_label *)d->record;
		r->hdr.misc = labels->v[i].source;
		r->label = labels->v[i].label;
		r->number = labels->v[i].number;
		r->bytes = bytes;
		memcpy(r->data, labels->v[i].text, bytes);
	}
}

void wire__message(uint16_t level, const char *text)
{
	size_t len = strnlen(text, 1000);
	struct xpu_record_message *r;

	wire__flush();			/* a message is the second record of its batch */
	r = wire__reserve(XPU_RECORD_MESSAGE, level, sizeof(*r) + len + 1);
	r->bytes = len + 1;
	memcpy(r->data, text, len);
	wire__flush();
}

void wire__window(const struct xpu_record_window *window)
{
	/* The BPF program looks at the second record of the batch. */
	wire__flush();
	memcpy(wire__reserve(XPU_RECORD_WINDOW, window->hdr.misc, sizeof(*window)), window,
	       sizeof(*window));
	wire__flush();
}
