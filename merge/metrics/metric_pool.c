// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/metric_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_NS 100000 /* the clocks of samples and of work differ by less than this */

/* ---- which sets belong together -------------------------------------------------------------- */

static bool same_metrics(const struct metric_set *a, const struct metric_set *b)
{
	return a->nr == b->nr && !memcmp(a->names, b->names, a->nr * sizeof(*a->names));
}

static bool same_kind(const struct model *m, uint32_t a, uint32_t b)
{
	const struct gpu *x = &m->gpus.list.v[a], *y = &m->gpus.list.v[b];

	return x->name && y->name && !strcmp(x->name, y->name) &&
	       !memcmp(&x->limits, &y->limits, sizeof(x->limits));
}

static bool has_gpu(const struct metric_pool *p, const struct metrics *metrics, uint32_t gpu)
{
	array_each(&p->sets, set)
		if (metrics->sets.v[*set].gpu == gpu)
			return true;
	return false;
}

static bool has_time(const struct metric_pool *p, const struct metrics *metrics,
		     const struct metric_set *of)
{
	array_each(&p->sets, set)
		if (metric_set__same_time(&metrics->sets.v[*set], of))
			return true;
	return false;
}

/* Return: the pool that takes a set; NULL: no pool takes it. */
static struct metric_pool *find_pool(const metric_pools_t *pools, const struct metrics *metrics,
				     const struct model *m, const struct metric_set *set)
{
	array_each(pools, p)
		if (same_metrics(&metrics->sets.v[p->sets.v[0]], set) &&
		    has_gpu(p, metrics, set->gpu))
			return p;
	array_each(pools, p)
		if (same_metrics(&metrics->sets.v[p->sets.v[0]], set) &&
		    same_kind(m, metrics->sets.v[p->sets.v[0]].gpu, set->gpu) &&
		    !has_time(p, metrics, set))
			return p;
	return NULL;
}

int metric_pools__find(metric_pools_t *pools, const struct metrics *metrics,
		       const struct model *model)
{
	static const struct metric_pool none;
	uint32_t i;
	int err = 0;

	for (i = 0; i < metrics->sets.nr && !err; i++) {
		struct metric_pool *p = find_pool(pools, metrics, model,
						  &metrics->sets.v[i]);

		if (!p) {
			err = array_push(pools, none);
			p = err ? NULL : &pools->v[pools->nr - 1];
		}
		err = err ?: array_push(&p->sets, i);
	}
	return err;
}

void metric_pools__exit(metric_pools_t *pools)
{
	array_each(pools, p) {
		metric_pool__empty(p);
		array_free(&p->sets);
	}
	array_free(pools);
}

/* ---- samples and work ------------------------------------------------------------------------ */

#define COPY (NO_INDEX - 2) /* work that is not a kernel has this number instead of a shape */

/* the pieces of a GPU */
struct pool_gpu {
	uint32_t gpu;
	size_t piece, nr;
};

struct filling {
	struct metric_pool *p;
	const struct model *model;
	const struct works *works;
	struct idmap kinds;
	ARRAY(struct pool_gpu) gpus;
};

/* Finds or adds the kind of a piece of work. Return: 0 or -ENOMEM. */
static int filling__kind(struct filling *f, const struct kept_work *w, uint32_t *kind)
{
	/* A kernel's leaves on different GPUs differ, but their name is the same string. */
	uint64_t key = w->kernel == NO_INDEX ? ID_KEY(w->leaf, COPY) :
		       ID_KEY(strpool__id(f->model->leaves.v[w->kernel].name), w->shape);

	if (idmap__get(&f->kinds, key, kind))
		return 0;
	*kind = f->p->total_ns.nr;
	return idmap__put(&f->kinds, key, *kind) ?: array_push(&f->p->total_ns, 0) ?:
	       array_push(&f->p->mean_ns, 0);
}

/* Adds all work of a GPU to the pool's pieces. Return: 0 or -ENOMEM. */
static int filling__gpu(struct filling *f, uint32_t gpu)
{
	const struct kept_work *v = f->works->list.v;
	size_t i = sorted_count(f->works->list.nr, k, v[k].gpu < gpu);
	struct pool_gpu new = { .gpu = gpu, .piece = f->p->pieces.nr };
	uint32_t kind;
	int err = 0;

	for (; i < f->works->list.nr && v[i].gpu == gpu && !err; i++) {
		err = filling__kind(f, &v[i], &kind) ?:
		      array_push(&f->p->pieces,
				 ((struct piece){ v[i].start_ns, v[i].end_ns, kind })) ?:
		      array_push(&f->p->works, i);
		if (err)
			break;
		f->p->total_ns.v[kind] += v[i].end_ns - v[i].start_ns;
		f->p->mean_ns.v[kind]++;	/* for now, the number of pieces */
		new.nr++;
	}
	return err ?: array_push(&f->gpus, new);
}

/* Adds the samples of a set. @gpu: index in f->gpus. Return: 0 or -ENOMEM. */
static int filling__set(struct filling *f, const struct metric_set *set, uint32_t gpu)
{
	struct metric_pool *p = f->p;
	const struct pool_gpu *of = &f->gpus.v[gpu];
	struct mixture_source s = {
		.row = p->rows.nr, .nr_rows = set->rows.nr, .piece = of->piece, .idle = gpu,
	};
	const struct piece *v = p->pieces.v;
	int err;

	if (set->rows.nr) {
		uint64_t begin_ns = set->rows.v[0].begin_ns;
		uint64_t end_ns = set->rows.v[set->rows.nr - 1].end_ns + NEAR_NS;

		while (s.piece < of->piece + of->nr && v[s.piece].end_ns + NEAR_NS < begin_ns)
			s.piece++;
		s.nr_pieces = sorted_count(of->piece + of->nr - s.piece, i,
					   v[s.piece + i].begin_ns < end_ns);
	}
	err = array_reserve(&p->rows, p->rows.nr + set->rows.nr) ?:
	      array_reserve(&p->values, p->values.nr + set->values.nr) ?:
	      array_push(&p->sources, s);
	if (err || !set->rows.nr)
		return err;
	memcpy(p->rows.v + p->rows.nr, set->rows.v, set->rows.nr * sizeof(*set->rows.v));
	memcpy(p->values.v + p->values.nr, set->values.v, set->values.nr * sizeof(*set->values.v));
	p->rows.nr += set->rows.nr;
	p->values.nr += set->values.nr;
	return 0;
}

/* Adds all sets, and the work of their GPUs. Return: 0 or -ENOMEM. */
static int filling__all(struct filling *f, const struct metrics *metrics)
{
	uint32_t gpu;
	int err = 0;

	array_each_while(&f->p->sets, at, !err) {
		const struct metric_set *set = &metrics->sets.v[*at];

		for (gpu = 0; gpu < f->gpus.nr && f->gpus.v[gpu].gpu != set->gpu; gpu++)
			;
		if (gpu == f->gpus.nr)
			err = filling__gpu(f, set->gpu);
		err = err ?: filling__set(f, set, gpu);
	}
	return err;
}

int metric_pool__fill(struct metric_pool *p, const struct metrics *metrics,
		      const struct model *model, const struct works *works)
{
	struct filling f = { .p = p, .model = model, .works = works };
	int err = filling__all(&f, metrics);
	size_t i;

	for (i = 0; i < p->mean_ns.nr; i++)
		p->mean_ns.v[i] = p->total_ns.v[i] / p->mean_ns.v[i];
	p->of = (struct mixture_of){
		.rows = p->rows.v, .nr_rows = p->rows.nr,
		.pieces = p->pieces.v, .nr_pieces = p->pieces.nr,
		.nr_kinds = p->total_ns.nr, .mean_ns = p->mean_ns.v,
		.sources = p->sources.v, .nr_sources = p->sources.nr, .nr_idle = f.gpus.nr,
	};
	idmap__free(&f.kinds);
	array_free(&f.gpus);
	return err;
}

void metric_pool__empty(struct metric_pool *p)
{
	array_free(&p->rows);
	array_free(&p->values);
	array_free(&p->pieces);
	array_free(&p->works);
	array_free(&p->sources);
	array_free(&p->total_ns);
	array_free(&p->mean_ns);
}
