// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/metrics.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void metrics__init(struct metrics *m, struct strpool *strings)
{
	memset(m, 0, sizeof(*m));
	m->strings = strings;
}

void metrics__exit(struct metrics *m)
{
	size_t i;

	for (i = 0; i < m->sets.nr; i++) {
		array_free(&m->sets.v[i].rows);
		array_free(&m->sets.v[i].values);
	}
	array_free(&m->sets);
	array_free(&m->names);
	idmap__free(&m->by_name);
	idmap__free(&m->by_set);
}

struct metric_set *metrics__set(const struct metrics *m, uint32_t recording, uint16_t id)
{
	uint32_t idx;

	return idmap__get(&m->by_set, ID_KEY(recording, id), &idx) ? &m->sets.v[idx] : NULL;
}

/* Turns a text into a key: lower-case letters, digits, and _ for all other characters. */
static void make_key(char *text)
{
	char *to = text, *begin = text;

	for (; *text; text++) {
		if (isalnum((unsigned char)*text))
			*to++ = tolower((unsigned char)*text);
		else if (to > begin && to[-1] != '_')
			*to++ = '_';
	}
	*to = 0;
}

static bool has_end(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && !strcmp(s + len - n, end);
}

/* Return: the length of a metric's name without the end that says the same as its unit. */
static size_t short_len(const struct metric_name *name)
{
	static const char *const ends[][2] = {
		{ ".sum.per_second", "/s" }, { ".avg.pct_of_peak_sustained_elapsed", "%" },
	};
	size_t i, len = strlen(name->name);

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (has_end(name->name, ends[i][0]) && has_end(name->unit, ends[i][1]))
			return len - strlen(ends[i][0]);
	return len;
}

static int metric_name__complete(struct metric_name *name, struct strpool *strings)
{
	char *key = NULL;

	if (asprintf(&key, "%s%s%s", name->name, *name->unit ? "_" : "",
		     strcmp(name->unit, "%") ? name->unit : "percent") < 0)
		return -ENOMEM;
	make_key(key);
	name->key = strpool__intern(strings, key, strlen(key));
	free(key);
	name->error_key = name->key ? strpool__internf(strings, "%s_error", name->key) : NULL;
	name->title = strpool__internf(strings, "%.*s %s", (int)short_len(name), name->name,
				       name->unit);
	return name->key && name->error_key && name->title ? 0 : -ENOMEM;
}

int metrics__add_name(struct metrics *m, const struct metric_name *name, uint32_t *idx)
{
	struct metric_name new = *name;
	uint64_t key;
	int err;

	if (!new.name || !new.unit)
		return -ENOMEM;
	key = ID_KEY(strpool__id(new.name), strpool__id(new.unit)) << 1 |
	      (new.kind == XPU_METRIC_SUM);
	if (idmap__get(&m->by_name, key, idx))
		return 0;
	*idx = m->names.nr;
	err = metric_name__complete(&new, m->strings) ?: idmap__put(&m->by_name, key, *idx);
	return err ?: array_push(&m->names, new);
}

/* Finds or adds a name. Return: 0 or -ENOMEM. */
static int metrics__name(struct metrics *m, const struct xpu_record_metric *rec, uint32_t *idx)
{
	const char *unit = rec->data + rec->name_bytes;

	return metrics__add_name(m, &(struct metric_name){
		.name = strpool__intern(m->strings, rec->data, strlen(rec->data)),
		.unit = strpool__intern(m->strings, unit, strlen(unit)),
		.kind = rec->kind,
	}, idx);
}

int metrics__add_set(struct metrics *m, const struct metric_set *set)
{
	return idmap__put(&m->by_set, ID_KEY(set->recording, set->id), m->sets.nr) ?:
	       array_push(&m->sets, *set);
}

static int metrics__new_set(struct metrics *m, uint32_t recording,
			    const struct xpu_record_metric *rec, struct metric_set **to)
{
	struct metric_set set = { .recording = recording, .id = rec->set, .gpu = NO_INDEX };
	int err;

	memcpy(set.uuid, rec->uuid, sizeof(set.uuid));
	err = metrics__add_set(m, &set);
	*to = &m->sets.v[m->sets.nr - 1];
	return err;
}

int metrics__define(struct metrics *m, uint32_t recording, const struct xpu_record_metric *rec)
{
	struct metric_set *set = metrics__set(m, recording, rec->set);
	uint32_t name;
	int err;

	if (!rec->set || rec->set > XPU_MAX_METRIC_SETS || rec->index >= XPU_MAX_METRICS ||
	    rec->index != (set ? set->nr : 0) ||
	    (rec->kind != XPU_METRIC_MEAN && rec->kind != XPU_METRIC_SUM) ||
	    (set && (set->rows.nr || memcmp(set->uuid, rec->uuid, sizeof(set->uuid)))))
		return -EINVAL;
	err = metrics__name(m, rec, &name);
	if (!err && !set)
		err = metrics__new_set(m, recording, rec, &set);
	if (!err)
		set->names[set->nr++] = name;
	return err;
}

/* Return: whether the row is valid and does not begin before the end of the last row. */
static bool metric_set__takes(const struct metric_set *set, const struct metric_row *row)
{
	return row->begin_ns < row->end_ns &&
	       (!set->rows.nr || row->begin_ns >= set->rows.v[set->rows.nr - 1].end_ns);
}

int metrics__add(struct metrics *m, uint32_t recording, const struct xpu_record_metrics *rec,
		 uint64_t shift_ns, uint32_t *nr_bad)
{
	struct metric_set *set = metrics__set(m, recording, rec->set);
	const uint32_t *words = rec->words;
	uint32_t i;
	int err = 0;

	*nr_bad = 0;
	if (!set || set->nr != rec->nr_metrics) {
		*nr_bad = rec->nr_rows;
		return 0;
	}
	for (i = 0; i < rec->nr_rows && !err; i++, words += XPU_METRICS_ROW_WORDS(set->nr)) {
		struct metric_row row = { .begin_ns = rec->time_ns + shift_ns + words[0] };

		row.end_ns = row.begin_ns + words[1];
		if (!metric_set__takes(set, &row)) {
			++*nr_bad;
			continue;
		}
		err = array_reserve(&set->values, set->values.nr + set->nr) ?:
		      array_push(&set->rows, row);
		if (err)
			break;
		memcpy(set->values.v + set->values.nr, words + 2, set->nr * sizeof(float));
		set->values.nr += set->nr;
	}
	return err;
}

/* Cuts @row, and scales the amounts among its @values. Return: whether anything is left. */
static bool metric_row__cut(const struct metrics *m, const struct metric_set *set,
			    struct metric_row *row, float *values, uint64_t begin_ns,
			    uint64_t end_ns)
{
	double whole_ns = row->end_ns - row->begin_ns;
	uint32_t k;

	row->begin_ns = max_t(uint64_t, row->begin_ns, begin_ns);
	row->end_ns = min_t(uint64_t, row->end_ns, end_ns);
	if (row->begin_ns >= row->end_ns)
		return false;
	for (k = 0; k < set->nr; k++)
		if (set->names[k] != NO_INDEX && m->names.v[set->names[k]].kind == XPU_METRIC_SUM)
			values[k] *= (row->end_ns - row->begin_ns) / whole_ns;
	return true;
}

void metrics__cut(struct metrics *m, uint64_t begin_ns, uint64_t end_ns)
{
	size_t k, nr;

	array_each(&m->sets, set) {
		for (k = nr = 0; k < set->rows.nr; k++) {
			struct metric_row row = set->rows.v[k];
			float *values = set->values.v + k * set->nr;

			if (!metric_row__cut(m, set, &row, values, begin_ns, end_ns))
				continue;
			set->rows.v[nr] = row;
			memmove(set->values.v + nr++ * set->nr, values, set->nr * sizeof(*values));
		}
		set->rows.nr = nr;
		set->values.nr = nr * set->nr;
	}
}

int metrics__find_gpus(struct metrics *m, uint32_t recording, struct gpus *gpus)
{
	size_t i;
	int err = 0;

	for (i = 0; i < m->sets.nr && !err; i++)
		if (m->sets.v[i].recording == recording)
			err = gpus__of_uuid(gpus, m->sets.v[i].uuid, &m->sets.v[i].gpu);
	return err;
}

bool metric_set__same_time(const struct metric_set *a, const struct metric_set *b)
{
	return a->rows.nr && b->rows.nr &&
	       a->rows.v[0].begin_ns < b->rows.v[b->rows.nr - 1].end_ns &&
	       b->rows.v[0].begin_ns < a->rows.v[a->rows.nr - 1].end_ns;
}

size_t metric_set__after(const struct metric_set *set, uint64_t ns)
{
	size_t low = 0, high = set->rows.nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (set->rows.v[middle].end_ns > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
