// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/jitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"

#define MAP_BYTES_MAX	(512ull * 1024 * 1024)
#define MAX_LIVE	16		/* maximum number of functions to compare at one address */
#define SLACK_NS	2000000000ull	/* tolerance when a file's modification time is compared
					 * with recorded times */

struct jitmap_entry {
	struct {
		uint64_t from_ns;
		uint64_t pid;
	} key;
	struct jitmap map;
	UT_hash_handle hh;
};

static int jit_symbol__cmp(const void *va, const void *vb)
{
	const struct jit_symbol *a = va, *b = vb;

	return cmp3(a->start, b->start) ?: cmp3(a->nr, b->nr);
}

/* The functions at one address, in the order of their lines. */
struct live {
	struct jit_symbol v[MAX_LIVE];
	size_t nr;
};

/* Adds a function. If the list is full, drops the function whose line comes first. */
static void live__add(struct live *l, const struct jit_symbol *s)
{
	size_t at;

	if (l->nr == MAX_LIVE)
		memmove(l->v, l->v + 1, --l->nr * sizeof(*l->v));
	for (at = l->nr++; at && l->v[at - 1].nr > s->nr; at--)
		l->v[at] = l->v[at - 1];
	l->v[at] = *s;
}

static void live__end(struct live *l, uint64_t addr)
{
	size_t i, nr = 0;

	for (i = 0; i < l->nr; i++)
		if (l->v[i].end > addr)
			l->v[nr++] = l->v[i];
	l->nr = nr;
}

/* Return: the next address at which a function ends. */
static uint64_t live__next_end(const struct live *l)
{
	uint64_t end = UINT64_MAX;
	size_t i;

	for (i = 0; i < l->nr; i++)
		end = min_t(uint64_t, end, l->v[i].end);
	return end;
}

/*
 * Return: the function of the last line, marked uncertain if another function in @l has another
 * name.
 */
static struct jit_symbol live__last(const struct live *l)
{
	struct jit_symbol last = l->v[l->nr - 1];
	size_t i;

	for (i = 0; i < l->nr; i++)
		last.uncertain |= strcmp(l->v[i].name, last.name) != 0;
	return last;
}

/* Adds the functions between the addresses @from and @to. Return: 0 or -ENOMEM. */
static int jitmap__advance(struct jitmap *m, struct live *l, uint64_t from, uint64_t to)
{
	struct jit_symbol s;
	int err = 0;

	for (; l->nr && from < to && !err; live__end(l, from)) {
		s = live__last(l);
		s.start = from;
		from = s.end = min_t(uint64_t, live__next_end(l), to);
		err = array_push(&m->symbols, s);
	}
	return err;
}

/* Makes the functions of all lines disjoint. Return: 0 or -ENOMEM. */
static int jitmap__settle(struct jitmap *m, struct jit_symbol *v, size_t nr)
{
	struct live live = { .nr = 0 };
	int err = 0;
	size_t i;

	if (nr)
		qsort(v, nr, sizeof(*v), jit_symbol__cmp);
	for (i = 0; i < nr && !err; i++) {
		err = i ? jitmap__advance(m, &live, v[i - 1].start, v[i].start) : 0;
		live__add(&live, &v[i]);
	}
	return err || !nr ? err : jitmap__advance(m, &live, v[nr - 1].start, UINT64_MAX);
}

int jitmap__parse(struct jitmap *m, char *text, size_t bytes)
{
	char *line, *next, *end = text + bytes, *p;
	ARRAY(struct jit_symbol) lines = { 0 };
	struct jit_symbol s = { 0 };
	int err = 0;

	m->text = text;
	for (line = text; line < end && !err; line = next) {
		next = memchr(line, '\n', end - line);
		next = next ? next + 1 : end;
		/* The last line may be half written; a NUL always follows the text. */
		if (next[-1] == '\n')
			next[-1] = 0;
		errno = 0;
		s.start = strtoull(line, &p, 16);
		if (errno || p == line || *p != ' ')
			continue;
		line = p;
		s.end = s.start + strtoull(line, &p, 16);
		if (errno || p == line || *p != ' ' || s.end <= s.start || !p[1])
			continue;
		s.name = p + 1;
		s.nr = lines.nr;
		err = array_push(&lines, s);
	}
	err = err ?: jitmap__settle(m, lines.v, lines.nr);
	array_free(&lines);
	return err;
}

const struct jit_symbol *jitmap__find(const struct jitmap *m, uint64_t addr)
{
	size_t lo = sorted_count(m->symbols.nr, i, m->symbols.v[i].end <= addr);

	return lo < m->symbols.nr && m->symbols.v[lo].start <= addr ? &m->symbols.v[lo] : NULL;
}

void jitmap__free(struct jitmap *m)
{
	array_free(&m->symbols);
	free(m->text);
	m->text = NULL;
}

/* ---- files ---------------------------------------------------------------------------------- */

/*
 * Reads a plain file that belongs to root, to our user or to the recording's owner. Return: its
 * text, with a NUL at the end; or NULL.
 */
static char *read_map(const struct jitmaps *j, const char *path, uint64_t from_ns, uint64_t to_ns,
		      bool check_time, size_t *bytes)
{
	uint64_t mtime_ns;
	char *text = NULL;
	struct stat st;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > MAP_BYTES_MAX ||
	    (st.st_uid && st.st_uid != geteuid() && st.st_uid != j->owner))
		goto out;
	mtime_ns = st.st_mtim.tv_sec * 1000000000ull + st.st_mtim.tv_nsec;
	if (check_time && ((from_ns && mtime_ns + SLACK_NS < from_ns + j->real_ns) ||
			   (to_ns != UINT64_MAX && mtime_ns > to_ns + j->real_ns + SLACK_NS)))
		goto out;
	text = malloc(st.st_size + 1);
	for (*bytes = 0; text && *bytes < (size_t)st.st_size; *bytes += got) {
		got = read(fd, text + *bytes, st.st_size - *bytes);
		if (got <= 0)
			break;
	}
	if (text)
		text[*bytes] = 0;
out:
	close(fd);
	return text;
}

/* Finds the map that the loader kept, or otherwise the map in /tmp. */
static char *find_map(const struct jitmaps *j, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
		      size_t *bytes)
{
	char path[4096], *text = NULL;

	if (j->kept && snprintf(path, sizeof(path), "%s/perf-%u.map", j->kept, pid) <
		       (int)sizeof(path))
		text = read_map(j, path, from_ns, to_ns, false, bytes);
	if (!text && j->here) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		text = read_map(j, path, from_ns, to_ns, true, bytes);
	}
	return text;
}

/* Return: the name to show; NULL if memory is short. */
static const char *jitmaps__name(struct jitmaps *j, const struct jit_symbol *s)
{
	if (!s->uncertain)
		return s->name;
	free(j->name);
	if (asprintf(&j->name, "%s" JIT_UNCERTAIN, s->name) < 0)
		j->name = NULL;
	return j->name;
}

const char *jitmaps__find(struct jitmaps *j, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
			  uint64_t addr)
{
	const struct jit_symbol *s;
	struct jitmap_entry *e, key = { .key = { from_ns, pid } };
	size_t bytes;
	char *text;

	HASH_FIND(hh, j->entries, &key.key, sizeof(key.key), e);
	if (!e) {
		e = HASH_NEW(j->entries, key, key.key);
		if (!e)
			return NULL;
		text = find_map(j, pid, from_ns, to_ns, &bytes);
		if (text && jitmap__parse(&e->map, text, bytes))
			jitmap__free(&e->map);
	}
	s = jitmap__find(&e->map, addr);
	return s ? jitmaps__name(j, s) : NULL;
}

void jitmaps__exit(struct jitmaps *j)
{
	struct jitmap_entry *e, *tmp;

	free(j->name);
	HASH_ITER(hh, j->entries, e, tmp) {
		HASH_DEL(j->entries, e);
		jitmap__free(&e->map);
		free(e);
	}
}
