// SPDX-License-Identifier: MIT
#include "json_out.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int json_out__init(struct json_out *j, FILE *f, enum escape how)
{
	*j = (struct json_out){ .f = f, .how = how };
	j->buf = malloc(JSON_OUT_BYTES);
	return j->buf ? 0 : -ENOMEM;
}

void json_out__exit(struct json_out *j)
{
	if (j->nr)
		json_out__flush(j);
	free(j->buf);
	j->buf = NULL;
}

void json_out__flush(struct json_out *j)
{
	fwrite(j->buf, 1, j->nr, j->f);
	j->nr = 0;
}

void json_out__raw(struct json_out *j, const char *s, size_t len)
{
	char *p;

	if (len > JSON_OUT_BYTES) {
		json_out__flush(j);
		fwrite(s, 1, len, j->f);
		return;
	}
	p = json_out__room(j, len);
	memcpy(p, s, len);
	json_out__end_at(j, p + len);
}

void json_out__end_line(struct json_out *j)
{
	json_out__raw(j, "\n", 1);
}

void json_out__key_u64(struct json_out *j, uint64_t key)
{
	json_out__open_string(j);
	json_out__add_u64(j, key);
	json_out__raw(j, "\": ", 2 + j->spaced);
	j->comma = false;
}

void json_out__string(struct json_out *j, const char *s)
{
	json_out__open_string(j);
	json_out__add(j, s);
	json_out__close_string(j);
}

void json_out__u64(struct json_out *j, uint64_t n)
{
	json_out__end_at(j, json_out__digits(json_out__item(j, JSON_OUT_DIGITS), n));
	j->comma = true;
}

void json_out__double(struct json_out *j, double v, int digits)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*g", digits, v);
	json_out__literal(j, isfinite(v) ? text : "null");
}

void json_out__thousandths(struct json_out *j, uint64_t n)
{
	char *p = json_out__item(j, JSON_OUT_THOUSANDTHS);

	json_out__end_at(j, json_out__in_thousandths(p, n));
	j->comma = true;
}

void json_out__add(struct json_out *j, const char *s)
{
	char out[ESCAPE_MAX];
	size_t len;

	for (;;) {
		/* Most names need no escapes at all. */
		len = escape__plain(s);
		json_out__raw(j, s, len);
		s += len;
		len = *s ? escape__next(&s, j->how, out) : 0;
		if (!len)
			return;
		json_out__raw(j, out, len);
	}
}

void json_out__add_u64(struct json_out *j, uint64_t n)
{
	json_out__end_at(j, json_out__digits(json_out__room(j, JSON_OUT_DIGITS), n));
}
