// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/gate.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "json_out.h"
#include "write/folded.h"
#include "write/shorten.h"
#include "write/student_t.h"
#include "write/tree.h"

#define LEAST_SHARE	0.005		/* paths with a smaller share of time are not judged */
#define LEAST_NOISE	0.0005		/* lower limit of the noise: clocks and averages are not
					 * more exact */
#define DIFFER		0.05		/* launch counts differ if their relative difference is
					 * larger */
#define SHOWN_CONFIDENCE	0.95	/* confidence of the printed interval */

enum { A, B };

/* The kinds of values. */
enum gate_kind { GATE_DEVICE, GATE_WAIT, GATE_CALL, GATE_CPU, GATE_OFF_CPU, GATE_WHOLE };

static const char *const kind_names[] = {
	[GATE_DEVICE] = "device", [GATE_WAIT] = "wait", [GATE_CALL] = "call", [GATE_CPU] = "cpu",
	[GATE_OFF_CPU] = "off_cpu", [GATE_WHOLE] = "whole",
};

static const char *const kind_words[] = {
	[GATE_DEVICE] = "device work", [GATE_WAIT] = "waiting for a GPU",
	[GATE_CALL] = "a call of the API", [GATE_CPU] = "CPU time for each launch",
	[GATE_OFF_CPU] = "time off the CPU for each launch",
	[GATE_WHOLE] = "the program's time for each launch",
};

static const char *const verdict_names[] = {
	[GATE_SAME] = "same", [GATE_FASTER] = "faster", [GATE_SLOWER] = "slower",
	[GATE_UNKNOWN] = "unknown",
};

/* Whether values of a kind are divided by the number of all launches of the recording. */
static bool is_for_each_launch(uint32_t kind)
{
	return kind >= GATE_CPU;
}

/* ---- values --------------------------------------------------------------------------------- */

/*
 * Adds a value, and takes ownership of @path, which is NULL if memory is short. Return: 0 or
 * -ENOMEM.
 */
static int add_value(struct gate *g, unsigned int side, uint32_t kind, char *path, uint64_t ns,
		     uint64_t nr)
{
	char *key = path ? strdup(path) : NULL, *to = key, *at;
	struct gate_value value = {
		.key = key, .path = path, .kind = kind, .side = side,
		.recording = g->launches[side].nr, .ns = ns, .nr = nr,
	};

	if (!key || array_push(&g->values, value)) {
		free(path);
		free(key);
		return -ENOMEM;
	}
	/*
	 * An edit moves lines and addresses: "model.py:step:41" is the same place as
	 * "model.py:step:43".
	 */
	for (at = key; *at; ) {
		size_t len = 0;

		if (*at == ':')
			len = strspn(at + 1, "0123456789") + 1;
		else if (!strncmp(at, "+0x", 3))
			len = strspn(at + 3, "0123456789abcdef") + 3;
		if (len > 1 && (!at[len] || at[len] == SHORTEN_FRAME))
			at += len;
		else
			*to++ = *at++;
	}
	*to = '\0';
	return 0;
}

/* Return: the path to @node, for the caller to free(), or NULL. */
static char *path_of(const struct tree *t, uint32_t node)
{
	uint32_t nr = t->nodes.v[node].depth, i;
	const char **names = calloc(nr + 1, sizeof(*names));
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!names)
		return NULL;
	for (; node != TREE_ROOT; node = t->nodes.v[node].parent)
		names[t->nodes.v[node].depth - 1] = t->frames.v[t->nodes.v[node].frame].name;
	f = open_memstream(&text, &size);
	for (i = 0; f && i < nr; i++)
		fprintf(f, "%s%s", i ? (char[]){ SHORTEN_FRAME, '\0' } : "", names[i]);
	free(names);
	if (f && fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int add_cell(struct gate *g, const struct tree *t, const struct tree_cell *cell,
		    unsigned int side)
{
	static const uint8_t kinds[] = {
		[LEAF_CPU] = GATE_CPU, [LEAF_OFF_CPU] = GATE_OFF_CPU, [LEAF_GPU_WAIT] = GATE_WAIT,
	};
	const struct tree_value v = tree__value(t, cell, 0);
	bool device = leaf_kind__is_device(cell->kind);

	if (!v.nr || (!device && !(LEAVES_CPU & 1u << cell->kind)))
		return 0;
	return add_value(g, side, device ? GATE_DEVICE : kinds[cell->kind],
			 path_of(t, cell->node), v.ns, v.nr);
}

int gate__add(struct gate *g, const struct session *s, unsigned int side)
{
	const struct sums *sums = &s->sums;
	const struct by_list by = { 0 };
	struct tree t;
	size_t i;
	int err = tree__init(&t) ?: tree__add(&t, s, 0, &by, 0) ?: tree__sort(&t);

	for (i = 0; i < t.cells.nr && !err; i++)
		err = add_cell(g, &t, &t.cells.v[i], side);
	tree__exit(&t);
	for (i = 0; i < sums->calls.nr && !err; i++)
		if (sums->calls.v[i].ns.nr)
			err = add_value(g, side, GATE_CALL, strdup(sums->calls.v[i].name),
					stats__sum(&sums->calls.v[i].ns), sums->calls.v[i].ns.nr);
	err = err ?: add_value(g, side, GATE_WHOLE, strdup("the whole recording"),
			       sums->last_ns - sums->first_ns, 1);
	g->nr_lost[side] += loss__lost(&sums->loss);
	err = err ?: changed_counters__add(&g->counters, s, side);
	return err ?: array_push(&g->launches[side], sums->loss.nr_launches);
}

/* ---- judging -------------------------------------------------------------------------------- */

/* sums of the logarithms of a row's values */
struct sample {
	uint32_t nr[GATE_SIDES];
	double sum[GATE_SIDES], squares;	/* squares: sum of the squared differences from the
						 * means */
};

/* A row before it is judged. */
struct group {
	size_t first, nr;		/* range of the group's values in gate.values */
	double ns[GATE_SIDES];		/* sums of the values' times */
};

static int value__cmp(const void *va, const void *vb)
{
	const struct gate_value *a = va, *b = vb;

	return cmp3(a->kind, b->kind) ?: strcmp(a->key, b->key) ?: cmp3(a->side, b->side) ?:
	       cmp3(a->recording, b->recording) ?: cmp3(b->ns, a->ns);
}

/* Adds up values with equal keys within each recording, such as the values of one function. */
static void unite_values(struct gate *g)
{
	size_t i, nr = 0;

	for (i = 1; i < g->values.nr; i++) {
		struct gate_value *to = &g->values.v[nr], *from = &g->values.v[i];

		if (from->kind != to->kind || from->side != to->side ||
		    from->recording != to->recording || strcmp(from->key, to->key)) {
			g->values.v[++nr] = *from;
			continue;
		}
		to->ns += from->ns;
		to->nr += from->nr;
		if (strcmp(to->path, from->path))
			strcpy(to->path, to->key);	/* the values belong to several lines of
							 * code, so the path names no line */
		free(from->key);
		free(from->path);
	}
	if (g->values.nr)
		g->values.nr = nr + 1;
}

/* Return: the value to compare: an average time, or, with @more, the number of records. */
static double measure(const struct gate *g, const struct gate_value *v, bool more)
{
	if (more)
		return v->nr;
	if (is_for_each_launch(v->kind))
		return (double)v->ns / max_t(uint64_t, g->launches[v->side].v[v->recording], 1);
	return (double)v->ns / v->nr;
}

static struct sample take_sample(const struct gate *g, const struct group *group, bool more)
{
	struct sample s = { 0 };
	unsigned int side;
	double y;
	size_t i;

	for (i = group->first; i < group->first + group->nr; i++) {
		const struct gate_value *v = &g->values.v[i];

		s.sum[v->side] += log(fmax(measure(g, v, more), 1e-3));
		s.nr[v->side]++;
	}
	for (i = group->first; i < group->first + group->nr; i++) {
		const struct gate_value *v = &g->values.v[i];

		side = v->side;
		y = log(fmax(measure(g, v, more), 1e-3)) - s.sum[side] / s.nr[side];
		s.squares += y * y;
	}
	return s;
}

/*
 * Judges one row. @nr_tests: number of judged rows, for the Bonferroni correction. Return: the
 * verdict; GATE_UNKNOWN if the noise is unknown.
 */
static enum gate_verdict judge(const struct gate *g, const struct sample *s, size_t nr_tests,
			       struct gate_row *row)
{
	double df = (double)s->nr[A] + s->nr[B] - 2, noise, width, change;
	double margin = log1p(g->fail_over / 100), alpha = 1 - GATE_CONFIDENCE / 100.0;

	change = s->sum[B] / s->nr[B] - s->sum[A] / s->nr[A];
	row->mean[A] = exp(s->sum[A] / s->nr[A]);
	row->mean[B] = exp(s->sum[B] / s->nr[B]);
	row->change = 100 * expm1(change);
	row->error = NAN;
	if (df < 1)
		return GATE_UNKNOWN;
	noise = fmax(sqrt(s->squares / df), LEAST_NOISE) * sqrt(1.0 / s->nr[A] + 1.0 / s->nr[B]);
	row->error = 100 * expm1(student_t__exceeded(1 - SHOWN_CONFIDENCE, df) * noise);
	width = student_t__exceeded(alpha / nr_tests, df) * noise;
	if (change - width > margin)
		return GATE_SLOWER;
	return change + width < -margin ? GATE_FASTER : GATE_SAME;
}

static int row__cmp(const void *va, const void *vb)
{
	static const int order[] = {
		[GATE_SLOWER] = 0, [GATE_UNKNOWN] = 1, [GATE_FASTER] = 2, [GATE_SAME] = 3,
	};
	const struct gate_row *a = va, *b = vb;

	return cmp3(order[a->verdict], order[b->verdict]) ?:
	       cmp3(b->share * fabs(b->change), a->share * fabs(a->change)) ?:
	       strcmp(a->path, b->path);
}

/* Adds the row of a group that only one side has. */
static int add_lone(struct gate *g, const struct group *group, struct gate_row *row)
{
	unsigned int side = g->values.v[group->first].side;

	if (row->nr[side] != g->launches[side].nr)
		return 0;		/* some recordings of the side lack the path, maybe by
					 * chance */
	row->verdict = side == B ? GATE_SLOWER : GATE_SAME;
	row->mean[side] = measure(g, &g->values.v[group->first], false);
	row->change = side == B ? INFINITY : -100;
	row->error = NAN;
	return array_push(&g->rows, *row);
}

/*
 * Judges the number of records. If the sides ran different numbers of steps, most paths have
 * g->scale times as many records in B, but paths of work that is done once have equally many. The
 * verdict must hold with and without this factor.
 */
static enum gate_verdict judge_number(const struct gate *g, const struct group *group,
				      size_t nr_tests, struct gate_row *row)
{
	struct sample s = take_sample(g, group, true);
	enum gate_verdict raw = judge(g, &s, nr_tests, row), scaled;
	bool grew = row->change > g->fail_over;

	s.sum[B] -= s.nr[B] * log(g->scale);
	scaled = judge(g, &s, nr_tests, row);
	grew &= row->change > g->fail_over;
	return raw == scaled && grew && raw != GATE_FASTER ? raw : GATE_SAME;
}

static int add_row(struct gate *g, const struct group *group, size_t nr_tests, double share)
{
	const struct gate_value *last = &g->values.v[group->first + group->nr - 1];
	struct gate_row row = { .path = last->path, .kind = last->kind, .share = share }, more;
	struct sample s = take_sample(g, group, false);

	row.nr[A] = s.nr[A];
	row.nr[B] = s.nr[B];
	if (!s.nr[A] || !s.nr[B])
		return last->kind == GATE_DEVICE ? add_lone(g, group, &row) : 0;
	row.verdict = judge(g, &s, nr_tests, &row);
	more = row;
	more.more = true;
	more.verdict = last->kind == GATE_DEVICE ? judge_number(g, group, nr_tests, &more) :
		       GATE_SAME;
	return (more.verdict != GATE_SAME ? array_push(&g->rows, more) : 0) ?:
	       array_push(&g->rows, row);
}

struct ratio {
	double ratio, weight;
};

static int ratio__cmp(const void *va, const void *vb)
{
	const struct ratio *a = va, *b = vb;

	return cmp3(a->ratio, b->ratio);
}

/*
 * Computes, for each path, the ratio of its number of records in B to its number in A. Sets
 * g->scale to the median of these ratios, weighted by time. Return: 0 or -ENOMEM.
 */
static int find_scale(struct gate *g, const struct group *groups, size_t nr)
{
	struct ratio *v = calloc(nr + 1, sizeof(*v));
	double weight = 0, half = 0;
	size_t i, nr_ratios = 0;
	struct sample s;

	if (!v)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (g->values.v[groups[i].first].kind != GATE_DEVICE)
			continue;
		s = take_sample(g, &groups[i], true);
		if (!s.nr[A] || !s.nr[B])
			continue;
		v[nr_ratios++] = (struct ratio){
			exp(s.sum[B] / s.nr[B] - s.sum[A] / s.nr[A]), groups[i].ns[A],
		};
		weight += groups[i].ns[A];
	}
	qsort(v, nr_ratios, sizeof(*v), ratio__cmp);
	g->scale = 1;
	for (i = 0; i < nr_ratios && half <= weight / 2; i++) {
		g->scale = v[i].ratio;
		half += v[i].weight;
	}
	free(v);
	return 0;
}

/* Whether the sides differ in the average number of launches of a recording. */
static bool do_launches_differ(const struct gate *g)
{
	double sum[GATE_SIDES] = { 0 };
	unsigned int side;
	size_t i;

	for (side = 0; side < GATE_SIDES; side++) {
		for (i = 0; i < g->launches[side].nr; i++)
			sum[side] += g->launches[side].v[i];
		sum[side] /= fmax(g->launches[side].nr, 1);
	}
	return fabs(sum[A] - sum[B]) > DIFFER * fmin(sum[A], sum[B]);
}

static void decide(struct gate *g)
{
	size_t i, nr[GATE_UNKNOWN + 1] = { 0 };

	for (i = 0; i < g->rows.nr; i++)
		nr[g->rows.v[i].verdict]++;
	g->verdict = nr[GATE_SLOWER] ? GATE_SLOWER :
		     nr[GATE_UNKNOWN] || !g->rows.nr ? GATE_UNKNOWN :
		     nr[GATE_FASTER] ? GATE_FASTER : GATE_SAME;
}

int gate__judge(struct gate *g)
{
	double total[GATE_WHOLE + 1][GATE_SIDES] = { { 0 } };
	ARRAY(struct group) groups = { 0 };
	size_t i, nr = 0;
	int err = 0;

	g->launches_differ = do_launches_differ(g);
	array_qsort(&g->values, value__cmp);
	unite_values(g);
	for (i = 0; i < g->values.nr && !err; i++) {
		const struct gate_value *v = &g->values.v[i], *before = v - 1;
		struct group *group;

		if (!i || v->kind != before->kind || strcmp(v->key, before->key))
			err = array_push(&groups, ((struct group){ .first = i }));
		if (err)
			break;
		group = &groups.v[groups.nr - 1];
		group->nr++;
		group->ns[v->side] += v->ns;
		total[v->kind][v->side] += v->ns;
	}
	for (i = 0; i < groups.nr && !err; i++) {
		struct group *group = &groups.v[i];
		uint32_t kind = g->values.v[group->first].kind;
		double share = fmax(group->ns[A] / fmax(total[kind][A], 1),
				    group->ns[B] / fmax(total[kind][B], 1));

		if (is_for_each_launch(kind) && g->launches_differ)
			continue;
		if (share < LEAST_SHARE)
			g->nr_small++;
		else
			groups.v[nr++] = *group;
	}
	err = err ?: find_scale(g, groups.v, nr);
	for (i = 0; i < nr && !err; i++) {
		uint32_t kind = g->values.v[groups.v[i].first].kind;

		err = add_row(g, &groups.v[i], nr,
			      fmax(groups.v[i].ns[A] / fmax(total[kind][A], 1),
				   groups.v[i].ns[B] / fmax(total[kind][B], 1)));
	}
	array_free(&groups);
	array_qsort(&g->rows, row__cmp);
	changed_counters__find(&g->counters);
	decide(g);
	return err;
}

bool gate__fails(const struct gate *g)
{
	size_t i;

	for (i = 0; i < g->rows.nr; i++)
		if (g->rows.v[i].verdict == GATE_SLOWER ||
		    (g->rows.v[i].verdict == GATE_UNKNOWN && g->rows.v[i].change > g->fail_over))
			return true;
	return false;
}

/* ---- results -------------------------------------------------------------------------------- */

static int print_row(const struct gate_row *row, FILE *f)
{
	char a[HUMAN_MAX], b[HUMAN_MAX], *line = NULL;
	int err = shorten__column(&row->path, 1, 0, &line);

	if (err)
		return err;
	if (isinf(row->change))
		fprintf(f, "  new: %s: %s\n", kind_words[row->kind], line);
	else if (row->more)
		fprintf(f, "  launched %.3g times as often: %s\n", row->mean[B] / row->mean[A],
			line);
	else if (isnan(row->error))
		fprintf(f, "  %+.1f %%, noise unknown, from %s to %s: %s: %s\n", row->change,
			human__time(a, row->mean[A]), human__time(b, row->mean[B]),
			kind_words[row->kind], line);
	else
		fprintf(f, "  %s by %.1f +- %.1f %%, from %s to %s: %s: %s\n",
			verdict_names[row->verdict], fabs(row->change), row->error,
			human__time(a, row->mean[A]), human__time(b, row->mean[B]),
			kind_words[row->kind], line);
	free(line);
	return 0;
}

int gate__print(const struct gate *g, FILE *f, uint32_t max_rows)
{
	uint32_t nr = 0;
	int err = 0;

	if (!g->rows.nr)
		fprintf(f, "verdict: unknown: the recordings have nothing that can be compared\n");
	else if (g->verdict == GATE_UNKNOWN)
		fprintf(f, "verdict: unknown: with one recording on each side the noise is "
			"unknown; give several, as in xpumerge diff A1 A2 A3 vs B1 B2 B3\n");
	else
		fprintf(f, "verdict: %s, with %d %% confidence, from %zu recordings of A and "
			"%zu of B\n",
			verdict_names[g->verdict], GATE_CONFIDENCE, g->launches[A].nr,
			g->launches[B].nr);
	if (g->launches_differ)
		fprintf(f, "  the sides differ in launches: CPU time, time off the CPU and the "
			"time of the whole program are not judged\n");
	array_each_while(&g->rows, row, !err) {
		if (row->verdict == GATE_SAME ||
		    (row->verdict == GATE_UNKNOWN && fabs(row->change) <= g->fail_over))
			continue;
		if (!max_rows || nr++ < max_rows)
			err = print_row(row, f);
	}
	if (max_rows && nr > max_rows)
		fprintf(f, "  ... and %" PRIu32 " more\n", nr - max_rows);
	return err;
}

static void put_number(struct json_out *j, const char *key, double v)
{
	char text[32];

	json_out__key(j, key);
	snprintf(text, sizeof(text), "%.3f", v);
	json_out__literal(j, isfinite(v) ? text : "null");
}

static int put_row(struct json_out *j, const struct gate_row *row)
{
	const char *parts = row->path, *end;
	char sep[] = { SHORTEN_FRAME, '\0' };

	json_out__line(j, 2);
	json_out__open(j, '{');
	json_out__key(j, "verdict");
	json_out__word(j, verdict_names[row->verdict]);
	json_out__key(j, "kind");
	json_out__word(j, kind_names[row->kind]);
	json_out__key(j, "measure");
	json_out__word(j, row->more ? "instances" : "ns");
	put_number(j, "before", row->nr[A] ? row->mean[A] : NAN);
	put_number(j, "after", row->nr[B] ? row->mean[B] : NAN);
	put_number(j, "change_percent", row->change);
	put_number(j, "error_percent", row->error);
	put_number(j, "share_percent", 100 * row->share);
	json_out__key(j, "path");
	json_out__open(j, '[');
	for (; *parts; parts = *end ? end + 1 : end) {
		char *frame;

		end = parts + strcspn(parts, sep);
		frame = strndup(parts, end - parts);
		if (!frame)
			return -ENOMEM;
		json_out__string(j, frame);
		free(frame);
	}
	json_out__close(j, ']');
	json_out__close(j, '}');
	return 0;
}

static void put_launches(struct json_out *j, const struct gate *g, const char *key,
			 unsigned int side)
{
	size_t i;

	json_out__key(j, key);
	json_out__open(j, '[');
	for (i = 0; i < g->launches[side].nr; i++)
		json_out__u64(j, g->launches[side].v[i]);
	json_out__close(j, ']');
}

int gate__write_json(const struct gate *g, FILE *f, uint32_t max_rows)
{
	size_t nr = max_rows ? min_t(size_t, max_rows, g->rows.nr) : g->rows.nr, i;
	struct json_out j;
	int err = json_out__init(&j, f, ESCAPE_JSON);

	if (err)
		return err;
	json_out__open(&j, '{');
	json_out__key(&j, "verdict");
	json_out__word(&j, verdict_names[g->verdict]);
	json_out__key(&j, "confidence_percent");
	json_out__u64(&j, GATE_CONFIDENCE);
	put_number(&j, "fail_over_percent", g->fail_over);
	put_launches(&j, g, "launches_before", A);
	put_launches(&j, g, "launches_after", B);
	json_out__key(&j, "lost_before");
	json_out__u64(&j, g->nr_lost[A]);
	json_out__key(&j, "lost_after");
	json_out__u64(&j, g->nr_lost[B]);
	json_out__key(&j, "launches_differ");
	json_out__literal(&j, g->launches_differ ? "true" : "false");
	json_out__key(&j, "paths_too_small");
	json_out__u64(&j, g->nr_small);
	json_out__key(&j, "changes_left_out");
	json_out__u64(&j, g->rows.nr - nr);
	json_out__key(&j, "changes");
	json_out__open(&j, '[');
	for (i = 0; i < nr && !err; i++)
		err = put_row(&j, &g->rows.v[i]);
	json_out__close(&j, ']');
	changed_counters__json(&g->counters, &j, max_rows);
	json_out__close(&j, '}');
	json_out__end_line(&j);
	json_out__exit(&j);
	return err;
}

void gate__exit(struct gate *g)
{
	size_t i;

	for (i = 0; i < g->values.nr; i++) {
		free(g->values.v[i].key);
		free(g->values.v[i].path);
	}
	array_free(&g->values);
	array_free(&g->rows);
	array_free(&g->launches[A]);
	array_free(&g->launches[B]);
	changed_counters__exit(&g->counters);
}
