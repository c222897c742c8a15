// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/pysource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_pyline.h"
#include "xpu_utf8.h"

void pysources__init(struct pysources *p, struct strpool *strings)
{
	memset(p, 0, sizeof(*p));
	p->strings = strings;
}

void pysources__exit(struct pysources *p)
{
	idmap__free(&p->ids);
	array_free(&p->list);
}

/* Return: characters of @width bytes as an interned string; NULL if memory is short. */
static const char *pysources__text(struct pysources *p, const uint8_t *raw, size_t bytes,
				   unsigned int width)
{
	char *utf8 = malloc(bytes * 4 + 1), *to = utf8;
	const char *text;
	uint32_t c;
	size_t i;

	if (!utf8)
		return NULL;
	for (i = 0; i + width <= bytes; i += width) {
		c = 0;
		memcpy(&c, raw + i, width);
		to = utf8__put_python(to, c);
	}
	text = strpool__intern(p->strings, utf8, to - utf8);
	free(utf8);
	return text;
}

int pysources__add(struct pysources *p, const struct xpu_record_pysource *rec)
{
	struct pysource s = { .rec = rec };
	uint32_t idx;
	int err;

	if (!rec->id || rec->id & PYSOURCE_ID || idmap__get(&p->ids, rec->id, &idx))
		return 0;
	s.name = pysources__text(p, rec->data, rec->name_bytes, rec->name_width);
	s.filename = pysources__text(p, rec->data + rec->name_bytes, rec->file_bytes,
				     rec->file_width);
	if (!s.name || !s.filename)
		return -ENOMEM;
	err = idmap__put(&p->ids, rec->id, p->list.nr);
	return err ?: array_push(&p->list, s);
}

const struct pysource *pysources__find(const struct pysources *p, uint32_t id)
{
	uint32_t idx;

	return idmap__get(&p->ids, id & ~PYSOURCE_ID, &idx) ? &p->list.v[idx] : NULL;
}

uint64_t pysources__frame(const struct pysources *p, uint64_t word)
{
	const struct pysource *s = pysources__find(p, XPU_WORD_CODE(word));
	const uint8_t *table, *end, *stop;
	int line, where = XPU_WORD_WHERE(word);

	if (!s)
		return XPU_FRAME_PYTHON | XPU_CODE_UNKNOWN;
	table = s->rec->data + s->rec->name_bytes + s->rec->file_bytes;
	end = table + s->rec->table_bytes;
	if (s->rec->minor < 10)
		line = line__lnotab(table, end, s->rec->first_line, where, &stop);
	else if (s->rec->minor == 10)
		line = line__linetable(table, end, s->rec->first_line, where, &stop);
	else
		line = line__locations(table, end, s->rec->first_line, where, &stop);
	/* The table may be empty only before 3.10, for code on a single line. */
	if (line < 0 || line > XPU_FRAME_LINE_MAX || (!s->rec->table_bytes && s->rec->minor >= 10))
		line = 0;
	return XPU_FRAME_PYTHON | (uint64_t)line << 32 | PYSOURCE_ID | s->rec->id;
}
