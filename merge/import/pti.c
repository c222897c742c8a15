// SPDX-License-Identifier: GPL-3.0-or-later
/* pti.c - links device work with calls in the Chrome JSON of Intel's tools */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/gputrace.h"

#define FLOW		"Flow_H2D_"

uint32_t pti__device(struct pti *p, uint32_t pid)
{
	uint32_t device;

	if (idmap__get(&p->device_ids, pid, &device))
		return device;
	device = p->devices.nr;
	if (idmap__put(&p->device_ids, pid, device) ||
	    array_push(&p->devices, (struct pti_device){ 0 }))
		return NO_INDEX;
	return device;
}

/*
 * Return: the number of a key that consists of three parts, which may be empty; NO_INDEX if memory
 * is short.
 */
static uint32_t pti__key(struct pti *p, struct span before, struct span id, struct span after)
{
	const char *key = strpool__internf(&p->keys, "%.*s%.*s%.*s", (int)before.len,
					   before.s ?: "", (int)id.len, id.s ?: "",
					   (int)after.len, after.s ?: "");

	return key ? strpool__id(key) : NO_INDEX;
}

int pti__add_flow(struct pti *p, struct span category, uint32_t pid, uint64_t tid, uint64_t time_ns,
		  bool begins, uint32_t nr_calls)
{
	const char *flow = category.s ? memmem(category.s, category.len, FLOW, strlen(FLOW)) : NULL;
	const char *id = flow ? flow + strlen(FLOW) : NULL, *end, *stop;
	struct pti_device form;
	struct pti_flow f = { nr_calls, time_ns, tid, pid, 0 };
	uint32_t device;

	if (!flow || (flow > category.s && flow - category.s != 3) || category.len > 64)
		return 0;
	stop = category.s + category.len;
	for (end = id; end < stop && isdigit((unsigned char)*end); end++)
		;
	if (end == id)
		return 0;
	form.before = (struct span){ category.s, id - category.s };
	form.after = (struct span){ end, stop - end };
	if (!begins) {
		device = pti__device(p, pid);
		if (device == NO_INDEX)
			return -ENOMEM;
		p->devices.v[device] = form;
		return 1;
	}
	if (!p->first.before.s)
		p->first = form;
	p->several |= form.before.len != p->first.before.len ||
		      form.after.len != p->first.after.len ||
		      memcmp(form.after.s, p->first.after.s, form.after.len);
	f.key = pti__key(p, form.before, (struct span){ id, end - id }, form.after);
	if (f.key == NO_INDEX || array_push(&p->flows, f))
		return -ENOMEM;
	return 1;
}

int pti__add_call(struct pti *p, uint32_t call, struct span keys)
{
	const char *stop = keys.s + keys.len, *end;
	uint32_t key;
	int err = 0;

	for (; keys.s < stop && err >= 0; keys.s = end + 1) {
		end = memchr(keys.s, ',', stop - keys.s) ?: stop;
		keys.len = min_t(size_t, end - keys.s, 64);
		/* Calls without device work have the key 0. */
		if (!keys.len || span__is(keys, "0"))
			continue;
		key = pti__key(p, (struct span){ 0 }, keys, (struct span){ 0 });
		err = key == NO_INDEX ? -ENOMEM : idmap__add(&p->calls, key, call);
	}
	return min_t(int, err, 0);
}

int pti__add_work(struct pti *p, uint32_t work, uint32_t device, struct span id)
{
	struct pti_work w = { .work = work, .device = device, .id = id };

	return id.len && id.len <= 64 ? array_push(&p->works, w) : 0;
}

/* ---- links ----------------------------------------------------------------------------------- */

static int place__compare(const void *a, const void *b, void *ctx)
{
	const struct gpu_call *calls = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct gpu_call *x = &calls[i], *y = &calls[k];

	/* If several calls begin together, a call that queues device work comes first. */
	return cmp3(x->pid, y->pid) ?: cmp3(x->tid, y->tid) ?: cmp3(x->start_ns, y->start_ns) ?:
	       cmp3(!x->kind, !y->kind) ?: cmp3(i, k);
}

static bool flow__is_at(const struct pti_flow *f, const struct gpu_call *c)
{
	return c->pid == f->pid && c->tid == f->tid && c->start_ns == f->time_ns;
}

/*
 * Finds the call that began at the time of the flow event, in the same thread. unitrace writes the
 * flow event after the call, but programs that edit traces may change the order.
 */
static uint32_t flow__call(const struct pti_flow *f, const struct gputrace *t,
			   const uint32_t *sorted)
{
	size_t from = 0, to = t->calls.nr, middle;
	const struct gpu_call *c;
	int order;

	if (f->nr_before && flow__is_at(f, &t->calls.v[f->nr_before - 1]))
		return f->nr_before - 1;
	while (from < to) {
		middle = from + (to - from) / 2;
		c = &t->calls.v[sorted[middle]];
		order = cmp3(c->pid, f->pid) ?: cmp3(c->tid, f->tid) ?:
			cmp3(c->start_ns, f->time_ns);
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < t->calls.nr && flow__is_at(f, &t->calls.v[sorted[from]]) ? sorted[from] :
										 NO_INDEX;
}

static int pti__find_flows(struct pti *p, const struct gputrace *t)
{
	uint32_t *sorted = malloc((t->calls.nr + 1) * sizeof(*sorted)), call;
	int err = sorted ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < t->calls.nr && !err; i++)
		sorted[i] = i;
	if (!err)
		array__sort(sorted, t->calls.nr, sizeof(*sorted), place__compare, t->calls.v);
	for (i = 0; i < p->flows.nr && err >= 0; i++) {
		call = flow__call(&p->flows.v[i], t, sorted);
		if (call != NO_INDEX)
			err = idmap__add(&p->calls, p->flows.v[i].key, call);
	}
	free(sorted);
	return min_t(int, err, 0);
}

/* Return: prefix and suffix of the keys of the device that executed @w. */
static struct pti_device work__form(const struct pti *p, const struct pti_work *w)
{
	if (w->device == NO_INDEX)
		return (struct pti_device){ 0 };
	return p->devices.v[w->device].before.s || p->several ? p->devices.v[w->device] : p->first;
}

/* Finds the call of an activity record. Return: 0 or -ENOMEM. */
static int pti__call_of(struct pti *p, const struct pti_work *w, uint32_t *call)
{
	struct pti_device form = work__form(p, w);
	struct span id = w->id;
	const char *dot;
	uint32_t key;

	*call = NO_INDEX;
	key = pti__key(p, form.before, id, form.after);
	if (key == NO_INDEX)
		return -ENOMEM;
	dot = memchr(id.s, '.', id.len);
	if (idmap__get(&p->calls, key, call) || !dot)
		return 0;
	/*
	 * The call appended the operation to an immediate command list, so the call's key has no
	 * dot.
	 */
	id.len = dot - id.s;
	key = pti__key(p, form.before, id, form.after);
	if (key == NO_INDEX)
		return -ENOMEM;
	idmap__get(&p->calls, key, call);
	return 0;
}

int pti__link(struct pti *p, struct gputrace *t)
{
	uint32_t call, nr = 0;
	int err = p->flows.nr ? pti__find_flows(p, t) : 0;
	size_t i;

	for (i = 0; i < p->works.nr && !err; i++) {
		struct gpu_work *w = &t->works.v[p->works.v[i].work];

		/* OpenCL keys have the prefix "CL_" before FLOW. */
		w->api = work__form(p, &p->works.v[i]).before.len > strlen(FLOW) ?
			 XPU_API_OPENCL : XPU_API_LEVEL_ZERO;
		err = pti__call_of(p, &p->works.v[i], &call);
		if (err || call == NO_INDEX)
			continue;
		if (!t->calls.v[call].correlation_id)
			t->calls.v[call].correlation_id = ++nr;
		w->w.correlation_id = t->calls.v[call].correlation_id;
		w->pid = t->calls.v[call].pid;
	}
	return err ?: p->works.nr > 0 || p->flows.nr > 0;
}

void pti__free(struct pti *p)
{
	array_free(&p->devices);
	idmap__free(&p->device_ids);
	array_free(&p->works);
	array_free(&p->flows);
	idmap__free(&p->calls);
	strpool__free(&p->keys);
}

/* ---- names of work --------------------------------------------------------------------------- */

/* Parses a 32-bit number at *@p, followed by the character @close. */
static bool read_number(const char **p, const char *end, char close, uint64_t max, uint64_t *v)
{
	const char *q = *p;

	for (*v = 0; q < end && isdigit((unsigned char)*q) && *v <= max; q++)
		*v = *v * 10 + (*q - '0');
	if (q == *p || q == end || *q != close || *v > max)
		return false;
	*p = q + 1;
	return true;
}

/* Parses " {64; 1; 1}" at *@p. */
static bool read_three(const char **p, const char *end, uint32_t three[3])
{
	uint64_t v;
	int i;

	for (; *p < end && (**p == ' ' || **p == ','); (*p)++)
		;
	if (*p == end || *(*p)++ != '{')
		return false;
	for (i = 0; i < 3; i++) {
		if (!read_number(p, end, i < 2 ? ';' : '}', UINT32_MAX, &v))
			return false;
		three[i] = v;
		for (; *p < end && **p == ' '; (*p)++)
			;
	}
	return true;
}

/* Return: whether "[SIMD32 {1; 1; 1} {1; 1; 1}]" starts at @p and ends at @end. */
static bool read_shape(const char *p, const char *end, struct xpu_shape *shape)
{
	memset(shape, 0, sizeof(*shape));
	if (p < end && *p == '[')
		for (p++; p < end && (isalnum((unsigned char)*p) || *p == '_'); p++)
			;
	return read_three(&p, end, shape->grid) && read_three(&p, end, shape->block) &&
	       end - p == 1 && *p == ']';
}

static bool is(const struct span *name, const char *prefix)
{
	return name->len >= strlen(prefix) && !memcmp(name->s, prefix, strlen(prefix));
}

bool pti_work__parse(struct gpu_work *w, struct span *name, struct xpu_shape *shape)
{
	const char *end = name->s + name->len, *p = name->s, *open;
	enum call_kind kind;
	uint64_t tile;

	if (name->len > 6 && !memcmp(p, "Tile #", 6)) {
		p += 6;
		if (read_number(&p, end, ':', UINT8_MAX, &tile) && p < end && *p == ' ') {
			name->s = p + 1;
			name->len = end - name->s;
		}
	}
	open = name->len && end[-1] == ']' ? memrchr(name->s, '[', name->len) : NULL;
	if (gpu_api__of(name->s, name->len) != XPU_API_CUDA) {
		kind = cuda_api__kind(name->s, name->len);
		w->kind = kind == CALL_MEMCPY ? WORK_MEMCPY :
			  kind == CALL_MEMSET ? WORK_MEMSET : WORK_KERNEL;
		if (kind == CALL_MEMCPY)
			w->w.copy_kind = is(name, "clEnqueueRead") ? import__copy_kind("D2H", 3) :
					 is(name, "clEnqueueWrite") ?
					 import__copy_kind("H2D", 3) : 0;
		p = open ? open + 1 : end;
		if (open && read_number(&p, end, ']', INT64_MAX / 16, &w->w.bytes) && p == end)
			name->len = open - name->s;
		else
			w->w.bytes = 0;
		if (w->kind != WORK_KERNEL)
			return false;
	}
	if (!name->len || end[-1] != ']')
		return false;
	/* If the SIMD width is unknown, the name has no opening bracket. */
	if (!open || !read_shape(open, end, shape)) {
		open = memrchr(name->s, '{', name->len);
		open = open ? memrchr(name->s, '{', open - name->s) : NULL;
		if (!open || open == name->s || !read_shape(--open, end, shape))
			return false;
	}
	name->len = open - name->s;
	return true;
}
