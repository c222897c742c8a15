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
#define SLACK_NS	2000000000ull	/* tolerance when two clocks and file times are compared */

struct jitmap_entry {
	struct {
		uint64_t from_ns;
		uint64_t pid;
	} key;
	struct jitmap map;
	UT_hash_handle hh;
};

/* Sorts by address. If addresses are equal, the symbol written last comes last. */
static int jit_symbol__cmp(const void *va, const void *vb)
{
	const struct jit_symbol *a = va, *b = vb;

	return cmp3(a->start, b->start) ?: cmp3(a->nr, b->nr);
}

/*
 * Makes symbols disjoint: each ends where the next begins. If several begin at the same address,
 * the last one stays.
 */
static void jitmap__settle(struct jitmap *m)
{
	struct jit_symbol *v = m->symbols.v;
	size_t i, nr = 0;

	if (!m->symbols.nr)
		return;
	qsort(v, m->symbols.nr, sizeof(*v), jit_symbol__cmp);
	for (i = 0; i < m->symbols.nr; i++) {
		if (i + 1 < m->symbols.nr && v[i + 1].start == v[i].start)
			continue;
		if (i + 1 < m->symbols.nr && v[i + 1].start < v[i].end)
			v[i].end = v[i + 1].start;
		v[nr++] = v[i];
	}
	m->symbols.nr = nr;
}

int jitmap__parse(struct jitmap *m, char *text, size_t bytes)
{
	char *line, *next, *end = text + bytes, *p;
	struct jit_symbol s;
	size_t nr = 0;
	int err;

	m->text = text;
	for (line = text; line < end; line = next) {
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
		s.nr = nr++;
		err = array_push(&m->symbols, s);
		if (err)
			return err;
	}
	jitmap__settle(m);
	return 0;
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
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
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

const char *jitmaps__find(struct jitmaps *j, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
			  uint64_t addr)
{
	const struct jit_symbol *s;
	struct jitmap_entry *e, key = { .key = { from_ns, pid } };
	bool oom = false;
	size_t bytes;
	char *text;

	HASH_FIND(hh, j->entries, &key.key, sizeof(key.key), e);
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return NULL;
		e->key = key.key;
		text = find_map(j, pid, from_ns, to_ns, &bytes);
		if (text && jitmap__parse(&e->map, text, bytes))
			jitmap__free(&e->map);
		HASH_ADD(hh, j->entries, key, sizeof(e->key), e);
		if (oom) {
			jitmap__free(&e->map);
			free(e);
			return NULL;
		}
	}
	s = jitmap__find(&e->map, addr);
	return s ? s->name : NULL;
}

void jitmaps__exit(struct jitmaps *j)
{
	struct jitmap_entry *e, *tmp;

	HASH_ITER(hh, j->entries, e, tmp) {
		HASH_DEL(j->entries, e);
		jitmap__free(&e->map);
		free(e);
	}
}
