// SPDX-License-Identifier: GPL-3.0-or-later
#include "pysource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_pyline.h"

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

/* Python keeps a byte of a file name that is no UTF-8 as a lone surrogate. */
static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = c ? c : '?';
	} else if (c < 0x800) {
		*to++ = 0xc0 | c >> 6;
		*to++ = 0x80 | (c & 0x3f);
	} else if (c >= 0xdc80 && c <= 0xdcff) {
		*to++ = c - 0xdc00;
	} else if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) {
		*to++ = '?';
	} else if (c < 0x10000) {
		*to++ = 0xe0 | c >> 12;
		*to++ = 0x80 | (c >> 6 & 0x3f);
		*to++ = 0x80 | (c & 0x3f);
	} else {
		*to++ = 0xf0 | c >> 18;
		*to++ = 0x80 | (c >> 12 & 0x3f);
		*to++ = 0x80 | (c >> 6 & 0x3f);
		*to++ = 0x80 | (c & 0x3f);
	}
	return to;
}

/* Characters of @width bytes as an interned string; NULL without memory. */
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
		to = put_utf8(to, c);
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
	const uint8_t *table, *stop;
	int line, where = XPU_WORD_WHERE(word);

	if (!s)
		return XPU_FRAME_PYTHON | XPU_CODE_UNKNOWN;
	table = s->rec->data + s->rec->name_bytes + s->rec->file_bytes;
	if (s->rec->minor == 10)
		line = line__linetable(table, table + s->rec->table_bytes, s->rec->first_line, where,
				       &stop);
	else
		line = line__locations(table, table + s->rec->table_bytes, s->rec->first_line, where,
				       &stop);
	if (line < 0 || line > XPU_FRAME_LINE_MAX || !s->rec->table_bytes)
		line = 0;
	return XPU_FRAME_PYTHON | (uint64_t)line << 32 | PYSOURCE_ID | s->rec->id;
}
