// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/rocprof/rocprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what readers add ------------------------------------------------------------------------ */

static bool span__has(struct span s, const char *word)
{
	size_t len = strlen(word), i;

	for (i = 0; i + len <= s.len; i++)
		if (!strncasecmp(s.s + i, word, len))
			return true;
	return false;
}

rocprof_calls_t *rocprof__calls(struct rocprof *r, struct span domain)
{
	if (span__has(domain, "marker") || span__has(domain, "roctx"))
		return &r->ranges;
	if (span__has(domain, "hip") && !span__has(domain, "hipfile"))
		return &r->hip;
	return span__has(domain, "hsa") ? &r->hsa : &r->functions;
}

int rocprof_texts__add(struct rocprof_texts *t, uint64_t id, struct span text)
{
	int err = idmap__add(&t->ids, id, t->v.nr);

	return err > 0 ? array_push(&t->v, text) : err;
}

/* Return: the text of an id; .s is NULL if it is unknown. */
static struct span rocprof_texts__get(const struct rocprof_texts *t, uint64_t id)
{
	uint32_t i;

	return idmap__get(&t->ids, id, &i) ? t->v.v[i] : (struct span){ 0 };
}

static void rocprof_texts__free(struct rocprof_texts *t)
{
	idmap__free(&t->ids);
	array_free(&t->v);
}

int rocprof__add_pmc(struct gputrace *t, rocprof_pmcs_t *pmcs, struct rocprof_pmc pmc)
{
	t->nr_unread[UNREAD_PMCS]++;
	return array_push(pmcs, pmc);
}

int rocprof__number_gpus(struct rocprof *r)
{
	const rocprof_works_t *const all[] = { &r->dispatches, &r->copies, &r->fills };
	size_t k, i;
	int err = 0;

	for (k = 0; k < ARRAY_SIZE(all); k++)
		for (i = 0; i < all[k]->nr && err >= 0; i++) {
			struct rocprof_agent a = {
				.handle = all[k]->v[i].agent, .gpu = true, .numbered = true,
				.number = all[k]->v[i].agent,
			};

			err = idmap__add(&r->gpus, a.handle, r->agents.nr);
			if (err > 0)
				err = array_push(&r->agents, a);
		}
	return min_t(int, err, 0);
}

/* ---- adding to the trace --------------------------------------------------------------------- */

/* Return: a text, kept in the trace's names; NULL if memory is short. */
static const char *rocprof__text(const struct rocprof *r, struct span s)
{
	return r->escaped ? gputrace__name(r->t, s) :
	       strpool__intern(&r->t->names, s.s, strnlen(s.s, s.len));
}

/* Return: the name of a record's operation; .s is NULL if it is unknown. */
static struct span rocprof__name(const struct rocprof *r, const struct rocprof_call *c)
{
	const struct rocprof_kind *kind;

	if (c->name.s || c->kind >= r->kinds.nr)
		return c->name;
	kind = &r->kinds.v[c->kind];
	if (c->operation >= kind->nr)
		return c->name;
	return r->operations.v[kind->first + c->operation];
}

/*
 * rocprof__check - check the times and ids of a record, and count the record if they are impossible
 *
 * Correlation ids have 64 bits. Ids of more than 31 bits are mapped to smaller numbers.
 */
static int rocprof__check(struct rocprof *r, const struct rocprof_call *c, bool *good, uint32_t *id)
{
	int err = 0;

	*good = c->end_ns >= c->start_ns && c->end_ns <= INT64_MAX && c->tid <= UINT32_MAX;
	*id = c->id;
	if (!*good) {
		r->t->nr_strange++;
	} else if (c->id > INT32_MAX) {
		err = min_t(int, idmap__add(&r->wide_ids, c->id, r->wide_ids.nr), 0);
		if (!err && idmap__get(&r->wide_ids, c->id, id))
			*id |= 1u << 31;
	}
	return err;
}

static int rocprof__add_call(struct rocprof *r, const struct rocprof_call *call, bool *good)
{
	struct gpu_call c = {
		.start_ns = call->start_ns, .end_ns = call->end_ns, .tid = call->tid,
		.pid = call->pid ?: r->pid,
	};
	struct span raw = rocprof__name(r, call);
	const char *name;
	int err = rocprof__check(r, call, good, &c.correlation_id);

	if (err || !*good)
		return err;
	name = raw.len ? rocprof__text(r, raw) : "[unknown]";
	return name ? gputrace__add_call(r->t, &c, span__of(name)) : -ENOMEM;
}

static int rocprof__add_calls(struct rocprof *r)
{
	bool good;
	size_t i;
	int err = 0;

	for (i = 0; i < r->hip.nr && !err; i++) {
		err = rocprof__add_call(r, &r->hip.v[i], &good);
		if (!err && good)
			err = min_t(int, idmap__add(&r->hip_ids, r->hip.v[i].id, i), 0);
	}
	for (i = 0; i < r->hsa.nr && !err; i++)
		err = min_t(int, idmap__add(&r->hsa_ids, r->hsa.v[i].id, i), 0);
	return err;
}

/*
 * Sets the correlation id of device work to the id of the call that queued the work. HSA calls are
 * added only if they queued device work.
 */
static int rocprof__find_call(struct rocprof *r, struct rocprof_call *work)
{
	const struct rocprof_call *hsa;
	uint32_t i;
	bool good;
	int err;

	if (!work->id || idmap__get(&r->hip_ids, work->id, &i))
		return 0;
	if (work->ancestor && idmap__get(&r->hip_ids, work->ancestor, &i)) {
		work->id = work->ancestor;
		return 0;
	}
	if (!idmap__get(&r->hsa_ids, work->id, &i))
		return 0;
	hsa = &r->hsa.v[i];
	if (hsa->ancestor && idmap__get(&r->hip_ids, hsa->ancestor, &i)) {
		work->id = hsa->ancestor;
		return 0;
	}
	err = idmap__add(&r->told, work->id, 0);
	return err <= 0 ? err : rocprof__add_call(r, hsa, &good);
}

/* Return: the GPU with that handle, or NULL. */
static const struct rocprof_agent *rocprof__gpu(const struct rocprof *r, uint64_t handle)
{
	uint32_t i;

	return idmap__get(&r->gpus, handle, &i) ? &r->agents.v[i] : NULL;
}

static bool rocprof__is_cpu(const struct rocprof *r, uint64_t handle)
{
	size_t i;

	for (i = 0; i < r->agents.nr; i++)
		if (r->agents.v[i].handle == handle)
			return !r->agents.v[i].gpu;
	return false;
}

/* Sets the launch shape of a kernel, if it is known. Return: 0 or -ENOMEM. */
static int rocprof__shape(struct rocprof *r, const struct rocprof_work *work, struct gpu_work *w)
{
	struct xpu_shape shape = {
		.registers = work->registers, .static_bytes = work->shared_bytes,
		.local_bytes = work->local_bytes,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(work->block); i++) {
		if (!work->block[i])
			return 0;
		shape.block[i] = work->block[i];
		shape.grid[i] = work->grid[i] / work->block[i] +
				!!(work->grid[i] % work->block[i]);
	}
	w->w.shape = strpool__intern(&r->t->names, (const char *)&shape, sizeof(shape));
	return w->w.shape ? 0 : -ENOMEM;
}

static int pmc__compare(const void *a, const void *b, void *ctx)
{
	const struct rocprof_pmc *x = a, *y = b;

	(void)ctx;
	return cmp3(x->dispatch, y->dispatch) ?:
	       cmp3(strpool__id(x->name), strpool__id(y->name));
}

/*
 * Finds the names of all counter values, and sorts the values by dispatch and name. Return: 0 or
 * -ENOMEM.
 */
static int rocprof__sort_pmcs(struct rocprof *r)
{
	struct span name;

	array_each(&r->pmcs, pmc) {
		name = rocprof_texts__get(&r->counters, pmc->counter);
		if (!pmc->name)
			pmc->name = name.s ? rocprof__text(r, name) :
				    strpool__intern(&r->t->names, "[unknown]", 9);
		if (!pmc->name)
			return -ENOMEM;
	}
	array__sort(r->pmcs.v, r->pmcs.nr, sizeof(*r->pmcs.v), pmc__compare, NULL);
	return 0;
}

/*
 * Adds the counter values of a kernel: the sum of the values of each counter. If several kernels
 * have the same dispatch number, the values belong to the first.
 */
static int rocprof__tell_pmcs(struct rocprof *r, uint64_t dispatch, struct gpu_work *w)
{
	size_t i = sorted_count(r->pmcs.nr, k, r->pmcs.v[k].dispatch < dispatch);
	struct gputrace *t = r->t;
	int err = 0;

	w->first_pmc = t->pmcs.nr;
	for (; i < r->pmcs.nr && r->pmcs.v[i].dispatch == dispatch && dispatch != NO_DISPATCH;
	     i++) {
		struct rocprof_pmc *pmc = &r->pmcs.v[i];

		if (pmc->told)
			continue;
		if (t->pmcs.nr > w->first_pmc && t->pmcs.v[t->pmcs.nr - 1].name == pmc->name)
			t->pmcs.v[t->pmcs.nr - 1].value += pmc->value;
		else
			err = array_push(&t->pmcs, ((struct gpu_pmc){ pmc->name, pmc->value }));
		if (err)
			return err;
		pmc->told = true;
		t->nr_unread[UNREAD_PMCS]--;
	}
	w->nr_pmcs = t->pmcs.nr - w->first_pmc;
	return 0;
}

/*
 * Return: the name of a kernel. With --kernel-rename, the name is the innermost ROCTX range around
 * the launch. The kernel's external correlation id identifies this range.
 */
static struct span rocprof__kernel_name(const struct rocprof *r, const struct rocprof_work *work)
{
	struct span name = { 0 };

	if (work->external)
		name = rocprof_texts__get(&r->renames, work->external);
	if (!name.len)
		name = work->c.name;
	return name.len ? name : rocprof_texts__get(&r->kernels, work->kernel);
}

static int rocprof__add_work(struct rocprof *r, struct rocprof_work *work, enum gpu_work_kind kind)
{
	const struct rocprof_agent *gpu = rocprof__gpu(r, work->agent) ?:
					  rocprof__gpu(r, work->src_agent);
	struct gpu_work w = {
		.kind = kind, .pid = work->c.pid ?: r->pid, .device = gpu ? gpu->number : 0,
		.stream = (uint32_t)(work->has_stream ? work->stream : work->queue),
		.w = { .start_ns = work->c.start_ns, .bytes = work->bytes },
	};
	struct span name = kind == WORK_KERNEL ? rocprof__kernel_name(r, work) :
						 rocprof__name(r, &work->c);
	const char *text = "[unknown]";
	bool good;
	int err;

	/* HIP has at least one context for each device. */
	w.context = w.device + 1;
	err = rocprof__find_call(r, &work->c);
	err = err ?: rocprof__check(r, &work->c, &good, &w.w.correlation_id);
	if (err || !good)
		return err;
	if (kind == WORK_MEMCPY)
		w.w.copy_kind = name.len ? import__copy_kind(name.s, name.len) : 0;
	if (kind != WORK_KERNEL)
		text = "";
	else if (name.s)
		text = rocprof__text(r, name);
	err = kind == WORK_KERNEL ? rocprof__shape(r, work, &w) ?:
				    rocprof__tell_pmcs(r, work->dispatch, &w) : 0;
	if (err || !text)
		return -ENOMEM;
	return gputrace__add_work(r->t, &w, work->c.end_ns, span__of(text));
}

static int rocprof__add_works(struct rocprof *r, rocprof_works_t *works, enum gpu_work_kind kind)
{
	size_t i;
	int err = 0;

	for (i = 0; i < works->nr && !err; i++)
		err = rocprof__add_work(r, &works->v[i], kind);
	return err;
}

/*
 * Adds an allocation or a free. For VMEM, the address is a handle of physical memory. AMD's tools
 * do not record whether a call failed. A record without an address, or of an agent that the file
 * does not describe, counts as strange.
 */
static int rocprof__add_memory(struct rocprof *r, struct rocprof_work *work)
{
	const struct rocprof_agent *gpu = rocprof__gpu(r, work->agent);
	struct span name = rocprof__name(r, &work->c);
	struct gpu_memory m = {
		.tid = work->c.tid, .address = work->address, .bytes = work->bytes,
		.pid = work->c.pid ?: r->pid, .freed = span__has(name, "FREE"),
		.device = gpu ? gpu->number : XPU_ALLOC_NO_DEVICE, .space = XPU_SPACE_DEVICE,
	};
	bool good, cpu = !gpu && rocprof__is_cpu(r, work->agent);
	int err;

	err = rocprof__find_call(r, &work->c) ?:
	      rocprof__check(r, &work->c, &good, &m.correlation_id);
	if (err || !good || (m.freed && !m.address))
		return err;
	if (!m.freed && (!m.address || !(gpu || cpu) || !span__has(name, "ALLOCATE"))) {
		r->t->nr_strange++;
		return 0;
	}
	if (span__has(name, "VMEM"))
		m.space = XPU_SPACE_PHYSICAL;
	else if (cpu)
		m.space = XPU_SPACE_PINNED;
	m.time_ns = m.freed ? work->c.start_ns : work->c.end_ns;
	return array_push(&r->t->memory, m);
}

static int rocprof__add_all_memory(struct rocprof *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < r->memory.nr && !err; i++)
		err = rocprof__add_memory(r, &r->memory.v[i]);
	return err;
}

/*
 * Adds a range as an annotation or a frame of its thread. A range of no duration is a mark, because
 * CSV does not distinguish them.
 */
static int rocprof__add_range(struct rocprof *r, const struct rocprof_call *c, struct span name,
			      enum gpu_op_kind kind)
{
	struct gpu_op op = {
		.start_ns = c->start_ns, .end_ns = c->end_ns, .tid = c->tid,
		.pid = c->pid ?: r->pid, .kind = kind, .mark = c->end_ns == c->start_ns,
	};
	uint32_t id;
	bool good;
	int err = rocprof__check(r, c, &good, &id);

	if (err || !good)
		return err;
	op.name = rocprof__text(r, name.len ? name : span__of("[unknown]"));
	return op.name ? array_push(&r->t->ops, op) : -ENOMEM;
}

static int rocprof__add_ranges(struct rocprof *r)
{
	struct span name;
	size_t k;
	int err = 0;

	for (k = 0; k < r->ranges.nr && !err; k++) {
		name = r->ranges.v[k].name;
		if (!name.s)
			name = rocprof_texts__get(&r->markers, r->ranges.v[k].id);
		if (!name.len)
			name = rocprof__name(r, &r->ranges.v[k]);
		err = rocprof__add_range(r, &r->ranges.v[k], name, OP_ANNOTATION);
	}
	for (k = 0; k < r->functions.nr && !err; k++)
		err = rocprof__add_range(r, &r->functions.v[k],
					 rocprof__name(r, &r->functions.v[k]), OP_CPU);
	return err;
}

static int rocprof__add_names(struct rocprof *r)
{
	struct gpu_name n = { .pid = r->pid };
	const char *slash;
	uint32_t nr = 0;
	int err = 0;
	size_t i;

	for (i = 0; i < r->agents.nr && !err; i++) {
		struct rocprof_agent *a = &r->agents.v[i];
		struct gpu_device d = { 0 };

		if (!a->gpu)
			continue;
		if (!a->numbered || a->number > UINT16_MAX)
			a->number = nr;
		nr++;
		d.id = a->number;
		d.name = rocprof__text(r, a->name.len ? a->name : span__of("GPU"));
		err = d.name ? array_push(&r->t->devices, d) : -ENOMEM;
		err = err ?: min_t(int, idmap__add(&r->gpus, a->handle, i), 0);
	}
	if (err || !r->command.len || !r->pid)
		return err;
	slash = memrchr(r->command.s, '/', r->command.len);
	if (slash) {
		r->command.len -= slash + 1 - r->command.s;
		r->command.s = slash + 1;
	}
	n.name = rocprof__text(r, r->command);
	return n.name ? array_push(&r->t->thread_names, n) : -ENOMEM;
}

int rocprof__tell(struct rocprof *r)
{
	r->t->api = XPU_API_HIP;
	return rocprof__sort_pmcs(r) ?: rocprof__add_names(r) ?: rocprof__add_calls(r) ?:
	       rocprof__add_works(r, r->dispatches.nr ? &r->dispatches : &r->counted,
				  WORK_KERNEL) ?:
	       rocprof__add_works(r, &r->copies, WORK_MEMCPY) ?:
	       rocprof__add_works(r, &r->fills, WORK_MEMSET) ?: rocprof__add_all_memory(r) ?:
	       rocprof__add_ranges(r);
}

void rocprof__exit(struct rocprof *r)
{
	idmap__free(&r->wide_ids);
	idmap__free(&r->told);
	idmap__free(&r->hsa_ids);
	idmap__free(&r->hip_ids);
	idmap__free(&r->gpus);
	array_free(&r->memory);
	array_free(&r->pmcs);
	array_free(&r->counted);
	array_free(&r->fills);
	array_free(&r->copies);
	array_free(&r->dispatches);
	array_free(&r->ranges);
	array_free(&r->functions);
	array_free(&r->hsa);
	array_free(&r->hip);
	rocprof_texts__free(&r->renames);
	rocprof_texts__free(&r->counters);
	rocprof_texts__free(&r->markers);
	rocprof_texts__free(&r->kernels);
	array_free(&r->operations);
	array_free(&r->kinds);
	array_free(&r->agents);
}
