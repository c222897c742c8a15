// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* device work by a line of Python */
struct line {
	const char *name;		/* interned */
	const struct aggregate *last;	/* the aggregate that was added last; a recursive line
					 * counts only once in an aggregate */
	uint64_t nr;			/* number of records that the line launched itself */
	uint64_t own_ns;		/* time of these records */
	uint64_t total_ns;		/* own_ns plus the time of records launched below the
					 * line */
};

struct lines {
	ARRAY(struct line) list;
	struct idmap by_name;		/* maps an interned name to an index in list */
};

static int line__cmp(const void *va, const void *vb)
{
	const struct line *a = va, *b = vb;

	return cmp3(b->own_ns, a->own_ns) ?: cmp3(b->total_ns, a->total_ns) ?:
	       strcmp(a->name, b->name);
}

/* Finds or adds the line called @name. Return: 0 or -ENOMEM. */
static int lines__get(struct lines *lines, const char *name, struct line **line)
{
	uint32_t idx;
	int err;

	if (!idmap__get(&lines->by_name, (uintptr_t)name, &idx)) {
		idx = lines->list.nr;
		err = array_push(&lines->list, ((struct line){ .name = name })) ?:
		      idmap__put(&lines->by_name, (uintptr_t)name, idx);
		if (err)
			return err;
	}
	*line = &lines->list.v[idx];
	return 0;
}

/* Adds the work of @a to all lines of its call path. Return: 0 or -ENOMEM. */
static int lines__add(struct lines *lines, const struct aggregate *a, const struct stack *stack)
{
	bool innermost = true;
	struct line *line;
	uint32_t i;
	int err;

	for (i = stack->nr; i--;) {
		if (!frame__is_python(stack->frames[i]))
			continue;
		err = lines__get(lines, stack->frames[i]->name, &line);
		if (err)
			return err;
		line->nr += innermost ? a->nr : 0;
		line->own_ns += innermost ? a->sum_ns : 0;
		line->total_ns += line->last == a ? 0 : a->sum_ns;
		line->last = a;
		innermost = false;
	}
	return 0;
}

static int python_lines__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	struct lines lines = { 0 };
	int err = 0;

	array_each_while(&s->sums.aggregates, a, !err) {
		if (!leaf_kind__is_device(s->model.leaves.v[a->leaf].kind))
			continue;
		to->sum_ns += a->sum_ns;
		err = lines__add(&lines, a, s->model.chains.v[a->chain].stack);
	}
	idmap__free(&lines.by_name);
	array_qsort(&lines.list, line__cmp);
	to->v = lines.list.v;
	to->nr = lines.list.nr;
	return err;
}

static void python_lines__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "lines of Python: %zu, by device time that each launched itself (own)%s\n",
		rows->nr, rows->times);
}

static int python_lines__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct line *line = row;

	return table__row(t, (struct cell[]){
		{ .n = table__share(line->own_ns, rows->sum_ns) }, { .n = line->own_ns },
		{ .n = table__share(line->total_ns, rows->sum_ns) }, { .n = line->total_ns },
		{ .n = line->nr }, { .s = line->name },
	});
}

static const struct column python_lines_columns[] = {
	{ "own %", "own_percent", COLUMN_SHARE, 0 }, { "own", "own_ns", COLUMN_TIME, 1 },
	{ "total %", "total_percent", COLUMN_SHARE, 0 }, { "total", "total_ns", COLUMN_TIME, 1 },
	{ "count", "instances", COLUMN_COUNT, 2 }, { "line", "line", COLUMN_NAME, 0 },
};

SECTION(python_lines, struct line);
