// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/shorten.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define GAP		"..."
#define BETWEEN		" > "
#define LEAST		8		/* minimum width of a frame that is cut */
#define MAX_COMPARED	4096		/* maximum number of texts that are compared with each
					 * other */
#define ROUNDS		3		/* maximum number of attempts to tell apart texts that look
					 * alike */

/* ---- characters ------------------------------------------------------------------------------ */

/*
 * Characters that terminals show two columns wide, or without width because they combine with the
 * previous character.
 */
static const struct {
	uint32_t first, last;
	size_t columns;
} odd_widths[] = {
	{ 0x300, 0x36f, 0 }, { 0x1100, 0x115f, 2 }, { 0x200b, 0x200f, 0 }, { 0x20d0, 0x20ff, 0 },
	{ 0x2e80, 0x303e, 2 }, { 0x3041, 0xa4cf, 2 }, { 0xa960, 0xa97f, 2 }, { 0xac00, 0xd7a3, 2 },
	{ 0xf900, 0xfaff, 2 }, { 0xfe00, 0xfe0f, 0 }, { 0xfe10, 0xfe19, 2 }, { 0xfe20, 0xfe2f, 0 },
	{ 0xfe30, 0xfe6f, 2 }, { 0xff00, 0xff60, 2 }, { 0xffe0, 0xffe6, 2 },
	{ 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 },
	{ 0x20000, 0x3fffd, 2 },
};

/* Return: how many bytes the character at @s has, at most @len. *@columns: its width */
static size_t character(const char *s, size_t len, size_t *columns)
{
	uint32_t c = (uint8_t)*s;
	size_t i, bytes = 1;

	*columns = *s == SHORTEN_FRAME ? strlen(BETWEEN) : 1;
	if (c < 0xc0)
		return bytes;
	c &= c < 0xe0 ? 0x1f : c < 0xf0 ? 0xf : 7;
	for (; bytes < len && (s[bytes] & 0xc0) == 0x80; bytes++)
		c = c << 6 | (s[bytes] & 0x3f);
	for (i = 0; i < ARRAY_SIZE(odd_widths); i++)
		if (c >= odd_widths[i].first && c <= odd_widths[i].last)
			*columns = odd_widths[i].columns;
	return bytes;
}

/* Return: the end of the longest prefix of @s that is at most @width wide. */
static const char *within(const char *s, size_t width)
{
	size_t columns, bytes;

	for (; *s; s += bytes, width -= columns) {
		bytes = character(s, 4, &columns);
		if (columns > width)
			break;
	}
	return s;
}

/*
 * Return: the rest of @s after its first @width columns, without a character that is half inside
 * these columns.
 */
static const char *behind(const char *s, size_t width)
{
	size_t columns, bytes;

	for (; *s; s += bytes, width -= min_t(size_t, columns, width)) {
		bytes = character(s, 4, &columns);
		if (!width && columns)
			break;
	}
	return s;
}

static size_t width_of(const char *s, size_t len)
{
	size_t at, columns, width = 0;

	for (at = 0; at < len; width += columns)
		at += character(s + at, len - at, &columns);
	return width;
}

size_t shorten__width(const char *text)
{
	return width_of(text, strlen(text));
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Return: the length of a C++ name without its arguments. */
static size_t without_arguments(const char *s, size_t len)
{
	static const char constant[] = " const", clone[] = " [clone ";
	const char *suffix = memmem(s, len, clone, strlen(clone));
	size_t end = suffix && suffix > s ? (size_t)(suffix - s) : len, at, depth = 0;

	len = end;
	if (end > strlen(constant) &&
	    !strncmp(s + end - strlen(constant), constant, strlen(constant)))
		end -= strlen(constant);
	if (!end || s[end - 1] != ')')
		return len;
	for (at = end; at--;) {
		depth += s[at] == ')';
		if (s[at] == '(' && !--depth)
			break;
	}
	/* "f (inlined)", "operator()" and "(anonymous namespace)" have no arguments. */
	if (at == SIZE_MAX || !at || s[at - 1] == ' ' ||
	    (at >= 8 && !strncmp(s + at - 8, "operator", 8)))
		return len;
	return at;
}

/* Puts the head and the tail of a name into @f, with GAP between them. */
static void put_middle(FILE *f, const char *s, size_t len, size_t width)
{
	size_t nr = width_of(s, len), head, tail;
	const char *at;

	if (nr <= width) {
		fwrite(s, 1, len, f);
		return;
	}
	if (width <= strlen(GAP)) {
		fprintf(f, "%.*s", (int)width, GAP);
		return;
	}
	head = width / 2;
	tail = width - head - strlen(GAP);
	at = within(s, head);
	fwrite(s, 1, at - s, f);
	fputs(GAP, f);
	at = behind(s, nr - tail);
	fwrite(at, 1, s + len - at, f);
}

/* Puts a frame. If it is too wide, leaves out its outer namespaces, then, if needed, its middle. */
static void put_frame(FILE *f, const char *s, size_t len, size_t width)
{
	const char *at = s, *end = s + len;

	/* Do not cut inside template arguments. */
	while (width_of(at, end - at) > width) {
		const char *colons = memmem(at, end - at, "::", 2),
			   *other = memchr(at, '<', end - at);

		if (!colons || (other && other < colons) || end - colons < 3)
			break;
		at = colons + 2;
	}
	put_middle(f, at, end - at, width);
}

/* Puts the head of a name, and its part after column @from, into @f. */
static void put_from(FILE *f, const char *s, size_t len, size_t width, size_t from)
{
	size_t nr = width_of(s, len), head = width / 4, room;
	const char *at;

	if (nr <= width || width < 4 * strlen(GAP) || from <= head + strlen(GAP)) {
		put_middle(f, s, len, width);
		return;
	}
	from -= 2;
	room = width - head - strlen(GAP);
	if (from + room > nr)
		from = nr - room;
	at = within(s, head);
	fwrite(s, 1, at - s, f);
	fputs(GAP, f);
	s = behind(s, from);
	if (nr - from > room) {
		at = within(s, room - strlen(GAP));
		fwrite(s, 1, at - s, f);
		fputs(GAP, f);
	} else {
		fputs(s, f);
	}
}

/* ---- call paths ------------------------------------------------------------------------------ */

struct frame_text {
	const char *s;
	size_t len;
};

/* A text, with the parts of it that must stay visible. */
struct line {
	const char *text;
	struct frame_text *frames;
	bool *kept;			/* for each frame: it must be shown, because another line
					 * has a different frame */
	size_t nr;
	size_t differs;			/* for a name: the column where it begins to differ from
					 * others; 0: it does not differ */
	char *out;
};

/* Return: the width of a frame without its arguments. */
static size_t line__frame_width(const struct line *l, size_t i)
{
	return width_of(l->frames[i].s, without_arguments(l->frames[i].s, l->frames[i].len));
}

/* Return: the width of a line with the @shown frames, if each frame is cut to the width @most. */
static size_t line__shown_width(const struct line *l, const bool *shown, size_t most)
{
	size_t i, width = 0;
	bool gap = false;

	for (i = 0; i < l->nr; i++) {
		if (!shown[i]) {
			width += gap ? 0 : strlen(GAP) + strlen(BETWEEN);
			gap = true;
			continue;
		}
		gap = false;
		width += min_t(size_t, line__frame_width(l, i), most) +
			 (i + 1 < l->nr ? strlen(BETWEEN) : 0);
	}
	return width;
}

/*
 * Return: the index of the innermost Python frame, such as train.py:step:41; l->nr: no such frame.
 */
static size_t line__python(const struct line *l)
{
	size_t i = l->nr;

	while (i--)
		if (memmem(l->frames[i].s, l->frames[i].len, ".py:", strlen(".py:")))
			return i;
	return l->nr;
}

/*
 * Chooses the frames to show: the innermost one, the innermost Python frame, frames that differ,
 * and as many inner frames as fit.
 */
static void line__choose(const struct line *l, bool *shown, size_t width, size_t *most)
{
	size_t python = line__python(l), i;

	for (i = 0; i < l->nr; i++)
		shown[i] = l->kept[i] || i + 1 == l->nr || i == python;
	/* If the frames that must stay visible are too wide, cut them. */
	*most = line__shown_width(l, shown, SIZE_MAX) > width ? width : SIZE_MAX;
	while (*most != SIZE_MAX && *most > LEAST && line__shown_width(l, shown, *most) > width)
		--*most;
	for (i = l->nr - 1; i--;) {
		if (shown[i])
			continue;
		shown[i] = true;
		if (line__shown_width(l, shown, *most) > width) {
			shown[i] = false;
			break;
		}
	}
}

static void line__put_path(const struct line *l, FILE *f, size_t width, bool *shown)
{
	bool gap = false;
	size_t i, most;

	line__choose(l, shown, width, &most);
	for (i = 0; i < l->nr; i++) {
		const struct frame_text *t = &l->frames[i];

		if (!shown[i]) {
			fputs(gap ? "" : GAP BETWEEN, f);
			gap = true;
			continue;
		}
		gap = false;
		put_frame(f, t->s, without_arguments(t->s, t->len), most);
		fputs(i + 1 < l->nr ? BETWEEN : "", f);
	}
}

/* Puts the whole text. */
static void line__put_all(const struct line *l, FILE *f)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		fprintf(f, "%s%.*s", i ? BETWEEN : "", (int)l->frames[i].len, l->frames[i].s);
}

static void line__put_name(const struct line *l, FILE *f, size_t width)
{
	static const char result[] = "void ";
	size_t nr = strlen(result);
	const char *s = l->text;
	size_t len = without_arguments(s, strlen(s));

	/* Names of template instances begin with their result type. */
	if (len > nr && !strncmp(s, result, nr)) {
		s += nr;
		len -= nr;
	}
	if (l->differs)
		put_from(f, s, len, width,
			 l->differs - min_t(size_t, l->differs, l->text == s ? 0 : nr));
	else
		put_middle(f, s, len, width);
}

/* Cuts @s to @width. Only paths with many differing frames need it. */
static void cut_end(char *s, size_t width)
{
	*(char *)within(s, width) = '\0';
}

static int line__render(struct line *l, size_t width)
{
	bool *shown = calloc(l->nr, sizeof(*shown));
	size_t size;
	FILE *f;

	free(l->out);
	l->out = NULL;
	f = shown ? open_memstream(&l->out, &size) : NULL;
	if (f) {
		if (!width || shorten__width(l->text) <= width)
			line__put_all(l, f);
		else if (l->nr > 1)
			line__put_path(l, f, width, shown);
		else
			line__put_name(l, f, width);
		if (fclose(f)) {
			free(l->out);
			l->out = NULL;
		}
	}
	free(shown);
	if (l->out && width)
		cut_end(l->out, width);
	return l->out ? 0 : -ENOMEM;
}

static int line__init(struct line *l, const char *text)
{
	const char *at, *end;
	size_t i;

	l->text = text;
	l->nr = 1;
	for (at = text; *at; at++)
		l->nr += *at == SHORTEN_FRAME;
	l->frames = calloc(l->nr, sizeof(*l->frames));
	l->kept = calloc(l->nr, sizeof(*l->kept));
	if (!l->frames || !l->kept)
		return -ENOMEM;
	for (i = 0, at = text; i < l->nr; i++, at = end + 1) {
		end = strchrnul(at, SHORTEN_FRAME);
		l->frames[i] = (struct frame_text){ at, end - at };
	}
	return 0;
}

static void line__exit(struct line *l)
{
	free(l->frames);
	free(l->kept);
	free(l->out);
}

/* ---- lines that look alike ------------------------------------------------------------------- */

static bool frame_text__is(const struct frame_text *a, const struct frame_text *b)
{
	return a->len == b->len && !memcmp(a->s, b->s, a->len);
}

/*
 * Marks the innermost frame in which two paths that look alike differ. Return: whether a mark is
 * new.
 */
static bool lines__tell_paths(struct line *a, struct line *b)
{
	size_t nr = min_t(size_t, a->nr, b->nr), i;
	bool news;

	for (i = 1; i <= nr && frame_text__is(&a->frames[a->nr - i], &b->frames[b->nr - i]); i++)
		;
	/* One path may be a suffix of the other. */
	news = (i <= a->nr && !a->kept[a->nr - i]) || (i <= b->nr && !b->kept[b->nr - i]);
	if (i <= a->nr)
		a->kept[a->nr - i] = true;
	if (i <= b->nr)
		b->kept[b->nr - i] = true;
	return news;
}

static bool lines__tell_names(struct line *a, struct line *b)
{
	size_t same = 0, from;
	bool news;

	while (a->text[same] && a->text[same] == b->text[same])
		same++;
	from = width_of(a->text, same);
	news = from && (a->differs < from || b->differs < from);
	a->differs = max_t(size_t, a->differs, from);
	b->differs = max_t(size_t, b->differs, from);
	return news;
}

static int line__cmp(const void *va, const void *vb)
{
	const struct line *const *a = va, *const *b = vb;

	return strcmp((*a)->out, (*b)->out) ?: strcmp((*a)->text, (*b)->text) ?: cmp3(*a, *b);
}

/* Marks differences of lines that look alike. Return: whether lines must be rendered again. */
static bool lines__tell_apart(struct line **by_out, size_t nr)
{
	bool news = false;
	size_t i;

	qsort(by_out, nr, sizeof(*by_out), line__cmp);
	for (i = 1; i < nr; i++) {
		struct line *a = by_out[i - 1], *b = by_out[i];

		if (strcmp(a->out, b->out) || !strcmp(a->text, b->text))
			continue;
		news |= a->nr > 1 || b->nr > 1 ? lines__tell_paths(a, b) : lines__tell_names(a, b);
	}
	return news;
}

int shorten__column(const char *const *texts, size_t nr, size_t width, char **out)
{
	struct line *lines = calloc(nr + 1, sizeof(*lines));
	struct line **by_out = calloc(nr + 1, sizeof(*by_out));
	int err = lines && by_out ? 0 : -ENOMEM, round;
	size_t i;

	for (i = 0; i < nr && !err; i++) {
		by_out[i] = &lines[i];
		err = line__init(&lines[i], texts[i]) ?: line__render(&lines[i], width);
	}
	for (round = 0; round < ROUNDS && !err && width && nr <= MAX_COMPARED; round++) {
		if (!lines__tell_apart(by_out, nr))
			break;
		for (i = 0; i < nr && !err; i++)
			err = line__render(&lines[i], width);
	}
	for (i = 0; i < nr && lines; i++) {
		out[i] = err ? NULL : lines[i].out;
		lines[i].out = err ? lines[i].out : NULL;
		line__exit(&lines[i]);
	}
	free(by_out);
	free(lines);
	return err;
}
