// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/metric_sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "metrics/metric_pool.h"
#include "metrics/solve.h"

#define MOST_UNKNOWN	0.05		/* a value of a kernel or call path is unknown if it is
					 * unknown in more than this fraction of the time */
/*
 * A value whose error is below this limit is never unknown. For a percentage, the limit is in
 * percentage points; for another value, the limit is a percentage of metered__highest().
 */
#define SMALL_PERCENT	1.0

void metric_sums__exit(struct metric_sums *s)
{
	array_free(&s->checks);
	array_free(&s->uses);
	array_free(&s->idle);
	idmap__free(&s->by_leaf);
	idmap__free(&s->by_chain);
	roofs__exit(&s->roofs);
}

static int work__cmp(const void *va, const void *vb)
{
	const struct kept_work *a = va, *b = vb;

	return cmp3(a->gpu, b->gpu) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a->end_ns, b->end_ns) ?: cmp3(a->leaf, b->leaf) ?: cmp3(a->chain, b->chain);
}

/* the device work of one GPU, with one of its metric sets */
struct metered {
	struct metric_sums *sums;
	const struct metric_set *set;
	uint32_t set_idx;
	const struct kept_work *works;
	size_t nr;
};

/* Finds or adds the uses of a leaf or chain. Return: 0 or -ENOMEM. */
static int metered__uses(const struct metered *m, struct idmap *map, uint32_t of, uint32_t *at)
{
	static const struct metric_use none;
	struct metric_sums *s = m->sums;
	uint64_t key = ID_KEY(of, m->set_idx);
	uint32_t i;
	int err;

	if (idmap__get(map, key, at))
		return 0;
	*at = s->uses.nr;
	err = array_reserve(&s->uses, s->uses.nr + m->set->nr) ?: idmap__put(map, key, *at);
	for (i = 0; i < m->set->nr && !err; i++)
		err = array_push(&s->uses, none);
	return err;
}

/* Finds or adds the uses of the leaf and of the chain of @w. Return: 0 or -ENOMEM. */
static int metered__of_work(const struct metered *m, const struct kept_work *w, uint32_t at[2])
{
	return metered__uses(m, &m->sums->by_leaf, w->leaf, &at[0]) ?:
	       metered__uses(m, &m->sums->by_chain, w->chain, &at[1]);
}

static void metered__use(const struct metered *m, const uint32_t at[2], uint32_t metric, double ns,
			 double sum)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		m->sums->uses.v[at[i] + metric].ns += ns;
		m->sums->uses.v[at[i] + metric].sum += sum;
	}
}

static bool metered__is_amount(const struct metered *m, const struct metrics *metrics,
			       uint32_t metric)
{
	return metrics->names.v[m->set->names[metric]].kind == XPU_METRIC_SUM;
}

bool metric__is_solved(const struct metric_name *name)
{
	static const char *const states[] = { "MHz", "W", "C" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(name->unit, states[i]))
			return false;
	return name->kind == XPU_METRIC_MEAN;
}

static const struct metric_name *metered__name(const struct metered *m,
					       const struct metrics *metrics, uint32_t metric)
{
	return &metrics->names.v[m->set->names[metric]];
}

/* Gives a piece of work the values of its kind. Return: 0 or -ENOMEM. */
static int metered__take_solved(const struct metered *m, const struct kept_work *w, uint32_t kind,
				const struct solved *solved, const bool *wanted)
{
	double ns = w->end_ns - w->start_ns;
	uint32_t at[2], i, k;
	int err;

	if (w->leaf == NO_INDEX)
		return 0;
	err = metered__of_work(m, w, at);
	for (i = 0; i < 2 && !err; i++) {
		for (k = 0; k < m->set->nr; k++) {
			const struct solved_value *v = &solved->values[kind * m->set->nr + k];
			struct metric_use *use = &m->sums->uses.v[at[i] + k];

			if (!wanted[k])
				continue;
			if (solved->together[kind])
				use->together = m->sums->nr_together + solved->together[kind];
			if (isnan(v->value)) {
				use->unknown_ns += ns;
				continue;
			}
			use->ns += ns;
			use->sum += ns * v->value;
			use->error += ns * v->error;
		}
	}
	return err;
}

/* Return: the roof of each kind of work, which the caller frees; NULL: no memory. */
static struct roof *roofs_of_kinds(const struct metered *m, const struct metrics *metrics,
				   const struct solved *solved, size_t nr_kinds)
{
	struct roof *roofs = calloc(nr_kinds + 1, sizeof(*roofs));
	size_t i;

	for (i = 0; roofs && i < nr_kinds; i++)
		roofs[i] = roof__of(metrics, m->set, &solved->values[i * m->set->nr]);
	return roofs;
}

/* Adds the roof of a piece of work, if it is a kernel. Return: 0 or -ENOMEM. */
static int metered__take_roof(const struct metered *m, const struct kept_work *w,
			      const struct roof *roof, bool together)
{
	if (w->leaf == NO_INDEX || w->kernel == NO_INDEX)
		return 0;
	return roofs__add(&m->sums->roofs, w->leaf, w->chain, w->end_ns - w->start_ns, roof,
			  together);
}

/* Return: the length of the part of a metric's name that names the unit of the GPU: "dram__". */
static size_t family_length(const char *name)
{
	const char *end = strstr(name, "__");

	return end ? (size_t)(end - name) + 2 : strlen(name) + 1;
}

/*
 * Return: the highest finite sample of all metrics of the pool that belong to the same hardware
 * unit as metric @k and have the same unit of measurement.
 */
static double metered__highest(const struct metered *m, const struct metrics *metrics,
			       const struct metric_pool *p, uint32_t k)
{
	const struct metric_name *of = metered__name(m, metrics, k);
	uint32_t nr = m->set->nr;
	double highest = 0;
	uint32_t i;
	size_t row;

	for (i = 0; i < nr; i++) {
		const struct metric_name *name = metered__name(m, metrics, i);

		if (name->unit != of->unit ||
		    strncmp(name->name, of->name, family_length(of->name)))
			continue;
		for (row = 0; row < p->rows.nr; row++) {
			float sample = p->values.v[row * nr + i];

			highest = isfinite(sample) ? fmax(highest, sample) : highest;
		}
	}
	return highest;
}

/*
 * Gives all work of a pool its values. @has_roof: for each piece of work, whether it has a roof.
 * Return: 0 or -ENOMEM.
 */
static int metered__take(const struct metered *m, const struct metrics *metrics,
			 const struct metric_pool *p, const struct solved *solved,
			 const bool *wanted, bool *has_roof)
{
	struct roof *roofs = roofs_of_kinds(m, metrics, solved, p->total_ns.nr);
	size_t i;
	int err = roofs ? 0 : -ENOMEM;

	for (i = 0; i < p->pieces.nr && !err; i++) {
		const struct kept_work *w = &m->works[p->works.v[i]];
		uint32_t kind = p->pieces.v[i].kind;

		err = metered__take_solved(m, w, kind, solved, wanted);
		if (!err && !has_roof[p->works.v[i]])
			err = metered__take_roof(m, w, &roofs[kind], solved->together[kind]);
		has_roof[p->works.v[i]] = true;
	}
	free(roofs);
	return err;
}

static void metered__check(const struct metered *m, const struct metric_pool *p,
			   const struct solved *solved, const bool *wanted)
{
	uint32_t i, k, nr = m->set->nr;

	for (i = 0; i < p->sets.nr; i++)
		for (k = 0; k < nr; k++)
			if (wanted[k])
				m->sums->checks.v[p->sets.v[i] * XPU_MAX_METRICS + k] =
					(struct metric_check){ solved->measured[i * nr + k],
							       solved->explained[i * nr + k],
							       solved->residue[k] };
}

/*
 * Solves those metrics of a pool that are counters of work; see solve.h. @m has the pool's first
 * set, and all work. Return: 0 or -ENOMEM.
 */
static int metered__solve(const struct metered *m, const struct metrics *metrics,
			  const struct model *model, const struct works *works,
			  struct metric_pool *p, bool *has_roof)
{
	bool wanted[XPU_MAX_METRICS] = { false }, any = false;
	double small[XPU_MAX_METRICS] = { 0 }, most[XPU_MAX_METRICS];
	struct solved solved = { 0 };
	uint32_t k, last = 0;
	size_t i;
	int err;

	for (k = 0; k < m->set->nr; k++) {
		wanted[k] = metric__is_solved(metered__name(m, metrics, k));
		any |= wanted[k];
	}
	if (!any)
		return 0;
	err = metric_pool__fill(p, metrics, model, works);
	for (k = 0; k < m->set->nr && !err; k++) {
		most[k] = strcmp(metered__name(m, metrics, k)->unit, "%") ? INFINITY : 100;
		small[k] = SMALL_PERCENT;
		if (wanted[k] && isinf(most[k]))
			small[k] = SMALL_PERCENT / 100 * metered__highest(m, metrics, p, k);
	}
	if (!err && p->pieces.nr) {
		err = solve(&solved, &(struct solve_of){
			.of = p->of, .values = p->values.v, .nr_metrics = m->set->nr,
			.wanted = wanted, .small = small, .most = most,
			.total_ns = p->total_ns.v,
		}) ?: metered__take(m, metrics, p, &solved, wanted, has_roof);
		if (!err)
			metered__check(m, p, &solved, wanted);
		for (i = 0; i < p->total_ns.nr && !err; i++)
			last = max_t(uint32_t, last, solved.together[i]);
		m->sums->nr_together += last;
		solved__exit(&solved);
	}
	metric_pool__empty(p);
	return err;
}

/* Return: how many rates of a roof the metrics of a pool determine. */
static uint32_t count_rates(const struct metric_pool *p, const struct metrics *metrics)
{
	static const struct solved_value zeros[XPU_MAX_METRICS];
	const struct metric_set *set = &metrics->sets.v[p->sets.v[0]];
	uint32_t rate, nr = 0;

	for (rate = 0; rate < NR_ROOF_RATES; rate++)
		nr += !isnan(roof__rate(metrics, set, zeros, rate).value);
	return nr;
}

/*
 * Solves all pools. Work that several pools have in common gets its roof from the pool with the
 * most rates. Return: 0 or -ENOMEM.
 */
static int metric_sums__solve(struct metric_sums *s, const struct metrics *metrics,
			      const struct model *model, const struct works *works)
{
	bool *has_roof = calloc(works->list.nr + 1, sizeof(*has_roof));
	metric_pools_t pools = { 0 };
	uint32_t rates;
	int err = has_roof ? metric_pools__find(&pools, metrics, model) : -ENOMEM;

	for (rates = NR_ROOF_RATES + 1; rates-- && !err;) {
		array_each_while(&pools, p, !err) {
			struct metered m = {
				.sums = s, .set = &metrics->sets.v[p->sets.v[0]],
				.set_idx = p->sets.v[0], .works = works->list.v,
				.nr = works->list.nr,
			};

			if (count_rates(p, metrics) == rates)
				err = metered__solve(&m, metrics, model, works, p, has_roof);
		}
	}
	metric_pools__exit(&pools);
	free(has_roof);
	return err;
}

/* For each piece of work, averages the GPU's states over the work's time. */
static int metered__means(const struct metered *m, const struct metrics *metrics)
{
	const struct metric_set *set = m->set;
	uint32_t at[2], k;
	size_t i, row;
	int err = 0;

	for (i = 0; i < m->nr && !err; i++) {
		const struct kept_work *w = &m->works[i];

		if (w->leaf == NO_INDEX)
			continue;
		row = metric_set__after(set, w->start_ns);
		if (row < set->rows.nr && set->rows.v[row].begin_ns < w->end_ns)
			err = metered__of_work(m, w, at);
		for (; !err && row < set->rows.nr && set->rows.v[row].begin_ns < w->end_ns; row++) {
			const struct metric_row *r = &set->rows.v[row];
			const float *values = metric_set__row(set, row);
			double ns = min_t(uint64_t, r->end_ns, w->end_ns) -
				    max_t(uint64_t, r->begin_ns, w->start_ns);

			for (k = 0; k < set->nr; k++)
				if (isfinite(values[k]) && !metered__is_amount(m, metrics, k) &&
				    !metric__is_solved(metered__name(m, metrics, k)))
					metered__use(m, at, k, ns, ns * values[k]);
		}
	}
	return err;
}

struct metric_event {
	uint64_t ns;
	uint32_t work;
	bool begin;
};

static int event__cmp(const void *va, const void *vb)
{
	const struct metric_event *a = va, *b = vb;

	return cmp3(a->ns, b->ns) ?: cmp3(a->begin, b->begin) ?: cmp3(a->work, b->work);
}

/*
 * A walk through the time of a GPU. @part: the amount that a piece of work would have now, if it
 * had been running since the walk began.
 */
struct sharing {
	const struct metered *m;
	uint32_t metric;
	uint64_t ns;
	size_t row;
	uint64_t nr_running;
	const double *fresh;		/* for each row: the fraction that no earlier set has;
					 * NULL: 1 for all rows */
	struct metric_use part, idle;
};

/* Advances to @ns; no work begins or ends until then. */
static void sharing__advance(struct sharing *s, uint64_t ns)
{
	const struct metric_set *set = s->m->set;
	struct metric_use *to = s->nr_running ? &s->part : &s->idle;
	uint64_t until;

	while (s->row < set->rows.nr && s->ns < ns) {
		const struct metric_row *r = &set->rows.v[s->row];
		double value = metric_set__row(set, s->row)[s->metric];

		if (r->begin_ns >= ns)
			break;
		s->ns = max_t(uint64_t, s->ns, r->begin_ns);
		until = min_t(uint64_t, r->end_ns, ns);
		if (isfinite(value) && until > s->ns) {
			double more = (until - s->ns) * (s->fresh ? s->fresh[s->row] : 1);

			to->ns += more;
			to->sum += value / (r->end_ns - r->begin_ns) * more / (s->nr_running ?: 1);
		}
		s->ns = max_t(uint64_t, s->ns, until);
		s->row += r->end_ns <= ns;
	}
	s->ns = ns;
}

/*
 * For each row of @set, subtracts from fresh[] the part of the row's time that rows of @other
 * cover.
 */
static void subtract_rows(const struct metric_set *set, const struct metric_set *other,
			  double *fresh)
{
	size_t row, i, first = 0;

	for (row = 0; row < set->rows.nr; row++) {
		const struct metric_row *r = &set->rows.v[row], *o;

		while (first < other->rows.nr && other->rows.v[first].end_ns <= r->begin_ns)
			first++;
		for (i = first; i < other->rows.nr && other->rows.v[i].begin_ns < r->end_ns; i++) {
			o = &other->rows.v[i];
			fresh[row] -= (double)(min_t(uint64_t, r->end_ns, o->end_ns) -
					       max_t(uint64_t, r->begin_ns, o->begin_ns)) /
				      (r->end_ns - r->begin_ns);
		}
		fresh[row] = fmax(fresh[row], 0);
	}
}

/*
 * Finds the part of each row's amount that no earlier set of the GPU has: another recording may
 * have sampled the GPU at the same time. Sets *@fresh to NULL if no earlier set has the metric at
 * that time. Return: 0 or -ENOMEM.
 */
static int metered__fresh(const struct metered *m, const struct metrics *metrics, uint32_t metric,
			  double **fresh)
{
	uint32_t i, k;
	size_t row;

	*fresh = NULL;
	for (i = 0; i < m->set_idx; i++) {
		const struct metric_set *other = &metrics->sets.v[i];

		for (k = 0; k < other->nr && other->names[k] != m->set->names[metric]; k++)
			;
		if (other->gpu != m->set->gpu || k == other->nr ||
		    !metric_set__same_time(other, m->set))
			continue;
		if (!*fresh) {
			*fresh = malloc((m->set->rows.nr + 1) * sizeof(**fresh));
			if (!*fresh)
				return -ENOMEM;
			for (row = 0; row < m->set->rows.nr; row++)
				(*fresh)[row] = 1;
		}
		subtract_rows(m->set, other, *fresh);
	}
	return 0;
}

/* Divides one amount among the pieces of work. Return: 0 or -ENOMEM. */
static int metered__share(const struct metered *m, uint32_t metric,
			  const struct metric_event *events, const double *fresh,
			  struct metric_use *before)
{
	struct sharing s = { .m = m, .metric = metric, .fresh = fresh };
	uint32_t at[2];
	size_t i;
	int err = 0;

	for (i = 0; i < 2 * m->nr && !err; i++) {
		const struct metric_event *e = &events[i];
		const struct kept_work *w = &m->works[e->work];

		sharing__advance(&s, e->ns);
		if (e->begin) {
			before[e->work] = s.part;
			s.nr_running++;
			continue;
		}
		s.nr_running--;
		if (w->leaf == NO_INDEX || s.part.ns <= before[e->work].ns)
			continue;
		err = metered__of_work(m, w, at);
		if (!err)
			metered__use(m, at, metric, s.part.ns - before[e->work].ns,
				     s.part.sum - before[e->work].sum);
	}
	sharing__advance(&s, UINT64_MAX);
	m->sums->idle.v[m->set_idx * XPU_MAX_METRICS + metric] = s.idle;
	return err;
}

static int metered__amounts(const struct metered *m, const struct metrics *metrics)
{
	struct metric_event *events = NULL;
	struct metric_use *before = NULL;
	double *fresh;
	uint32_t k;
	size_t i;
	int err = 0;

	for (k = 0; k < m->set->nr && !err; k++) {
		if (!metered__is_amount(m, metrics, k))
			continue;
		if (!events) {
			events = malloc((2 * m->nr + 1) * sizeof(*events));
			before = malloc((m->nr + 1) * sizeof(*before));
			if (!events || !before) {
				err = -ENOMEM;
				break;
			}
			for (i = 0; i < m->nr; i++) {
				events[2 * i] =
					(struct metric_event){ m->works[i].start_ns, i, true };
				events[2 * i + 1] =
					(struct metric_event){ m->works[i].end_ns, i, false };
			}
			qsort(events, 2 * m->nr, sizeof(*events), event__cmp);
		}
		err = metered__fresh(m, metrics, k, &fresh) ?:
		      metered__share(m, k, events, fresh, before);
		free(fresh);
	}
	free(before);
	free(events);
	return err;
}

int metric_sums__finish(struct metric_sums *s, const struct metrics *metrics,
			const struct model *model, struct works *works)
{
	static const struct metric_use none;
	const struct kept_work *v = works->list.v;
	struct metered m = { .sums = s };
	size_t nr = works->list.nr, i, from, to;
	int err = 0;

	while (!err && s->idle.nr < metrics->sets.nr * XPU_MAX_METRICS)
		err = array_push(&s->idle, none) ?:
		      array_push(&s->checks, ((struct metric_check){ NAN, NAN, NAN }));
	if (nr)
		qsort(works->list.v, nr, sizeof(*v), work__cmp);
	err = err ?: metric_sums__solve(s, metrics, model, works);
	for (i = 0; i < metrics->sets.nr && !err; i++) {
		m.set = &metrics->sets.v[i];
		m.set_idx = i;
		for (from = 0; from < nr && v[from].gpu != m.set->gpu; from++)
			;
		for (to = from; to < nr && v[to].gpu == m.set->gpu; to++)
			;
		m.works = nr ? v + from : NULL;
		m.nr = to - from;
		err = metered__means(&m, metrics) ?: metered__amounts(&m, metrics);
	}
	return err;
}

static bool metric_sums__of(const struct metric_sums *s, const struct idmap *map,
			    const struct metrics *metrics, uint32_t of, struct metric_use *uses)
{
	bool any = false;
	uint32_t i, k, at;

	for (i = 0; i < metrics->sets.nr; i++) {
		const struct metric_set *set = &metrics->sets.v[i];

		if (!idmap__get(map, ID_KEY(of, i), &at))
			continue;
		any = true;
		for (k = 0; k < set->nr; k++) {
			const struct metric_use *from = &s->uses.v[at + k];
			struct metric_use *to = &uses[set->names[k]];

			to->ns += from->ns;
			to->sum += from->sum;
			to->error += from->error;
			to->unknown_ns += from->unknown_ns;
			to->together = to->together ?: from->together;
		}
	}
	return any;
}

bool metric_sums__of_leaf(const struct metric_sums *s, const struct metrics *metrics, uint32_t leaf,
			  struct metric_use *uses)
{
	return metric_sums__of(s, &s->by_leaf, metrics, leaf, uses);
}

bool metric_sums__of_chain(const struct metric_sums *s, const struct metrics *metrics,
			   uint32_t chain, struct metric_use *uses)
{
	return metric_sums__of(s, &s->by_chain, metrics, chain, uses);
}

double metric_use__value(const struct metric_use *use, enum xpu_metric_kind kind)
{
	if (!(use->ns > 0) || use->unknown_ns > MOST_UNKNOWN * (use->ns + use->unknown_ns))
		return NAN;
	return kind == XPU_METRIC_SUM ? use->sum : use->sum / use->ns;
}

double metric_use__error(const struct metric_use *use)
{
	return isnan(metric_use__value(use, XPU_METRIC_MEAN)) ? NAN : use->error / use->ns;
}
