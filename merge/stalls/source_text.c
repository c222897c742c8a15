// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/source_text.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

#define MAX_DIRS	64
#define MAX_TEXT	240		/* bytes of a line that are kept */

/* a line that a place names */
struct wanted {
	const char *file;		/* in the place, not terminated */
	size_t len;			/* length of the file's name */
	uint64_t line;			/* counted from 1 */
	const char *place;		/* interned */
};

/* the lines of one file, wanted.v[first] to wanted.v[first + nr - 1] */
struct wanted_file {
	size_t first, nr;
	char *path;			/* NULL: not found */
	dev_t dev;
	ino_t ino;
	bool several;			/* different files have the name */
	bool newer;			/* changed after the recording's start */
};

struct search {
	uint64_t start_ns;		/* CLOCK_REALTIME of the recording's start; 0: unknown */
	struct msgs *msgs;
	ARRAY(struct wanted) lines;	/* sorted by file and line */
	ARRAY(struct wanted_file) files;
};

static int name__cmp(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return strncmp(a, b, min_t(size_t, a_len, b_len)) ?: cmp3(a_len, b_len);
}

static int wanted__cmp(const void *va, const void *vb)
{
	const struct wanted *a = va, *b = vb;

	return name__cmp(a->file, a->len, b->file, b->len) ?: cmp3(a->line, b->line);
}

/* Reads "a.cu:9" or "f(int) at b.h:3" at the end of a place. Return: whether it names a line. */
static bool wanted__parse(struct wanted *w, const char *place)
{
	const char *frame = strrchr(place, ';'), *at, *colon;
	char *end;

	frame = frame ? frame + 1 : place;
	for (at = strstr(frame, " at "); at; at = strstr(frame, " at "))
		frame = at + strlen(" at ");
	colon = strrchr(frame, ':');
	if (!colon || colon == frame || memchr(frame, '/', colon - frame))
		return false;
	w->file = frame;
	w->len = colon - frame;
	w->line = strtoull(colon + 1, &end, 10);
	return isdigit((unsigned char)colon[1]) && !*end && w->line;
}

static int collect(struct search *s, const struct stalls *stalls)
{
	struct wanted w = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < stalls->places.nr && !err; i++) {
		w.place = stalls->places.v[i].place;
		if (wanted__parse(&w, w.place))
			err = array_push(&s->lines, w);
	}
	array_qsort(&s->lines, wanted__cmp);
	for (i = 0; i < s->lines.nr && !err; i++) {
		const struct wanted *line = &s->lines.v[i];

		if (!i || name__cmp(line[-1].file, line[-1].len, line->file, line->len))
			err = array_push(&s->files, ((struct wanted_file){ .first = i }));
		if (!err)
			s->files.v[s->files.nr - 1].nr++;
	}
	return err;
}

static struct wanted_file *find(struct search *s, const char *name)
{
	size_t low = 0, high = s->files.nr, mid, len = strlen(name);
	const struct wanted *w;
	int c;

	while (low < high) {
		mid = low + (high - low) / 2;
		w = &s->lines.v[s->files.v[mid].first];
		c = name__cmp(name, len, w->file, w->len);
		if (!c)
			return &s->files.v[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* Notes a file of the directories, if a place names it. Return: 0 or -ENOMEM. */
static int take(struct search *s, const FTSENT *e)
{
	struct wanted_file *f = find(s, e->fts_name);

	if (!f || (f->path && f->dev == e->fts_statp->st_dev && f->ino == e->fts_statp->st_ino))
		return 0;
	f->several = f->path != NULL;
	if (f->several)
		return 0;
	f->dev = e->fts_statp->st_dev;
	f->ino = e->fts_statp->st_ino;
	f->newer = s->start_ns && e->fts_statp->st_mtim.tv_sec * 1000000000ull +
				  e->fts_statp->st_mtim.tv_nsec > s->start_ns;
	f->path = strdup(e->fts_path);
	return f->path ? 0 : -ENOMEM;
}

static int walk(struct search *s, char *const *dirs)
{
	FTS *fts = fts_open(dirs, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *e;
	int err = 0;

	if (!fts)
		return -errno;
	while (!err && (e = fts_read(fts))) {
		if (e->fts_info == FTS_D && e->fts_level && e->fts_name[0] == '.')
			fts_set(fts, e, FTS_SKIP);	/* for example .git */
		else if (e->fts_info == FTS_F)
			err = take(s, e);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
			 (e->fts_info == FTS_NS && !e->fts_level))
			msgs__add(s->msgs, "--source: cannot read %s: %s", e->fts_path,
				  strerror(e->fts_errno));
	}
	fts_close(fts);
	return err;
}

/* Return: a copy of the line without the spaces around it; NULL if memory is short. */
static char *trim(const char *line)
{
	size_t len;

	while (isspace((unsigned char)*line))
		line++;
	for (len = strnlen(line, MAX_TEXT); len && isspace((unsigned char)line[len - 1]); len--)
		;
	return strndup(line, len);
}

static int add_text(struct source_text *t, const char *place, const char *line)
{
	uint32_t idx;
	char *text;
	int err;

	if (idmap__get(&t->by_place, (uintptr_t)place, &idx))
		return 0;
	text = trim(line);
	err = text ? array_push(&t->lines, text) : -ENOMEM;
	if (err) {
		free(text);
		return err;
	}
	return idmap__put(&t->by_place, (uintptr_t)place, t->lines.nr - 1);
}

/* Reads the lines of a file. Return: 0, also if the file cannot be read, or -ENOMEM. */
static int read_lines(const struct search *s, const struct wanted_file *file,
		      struct source_text *t)
{
	const struct wanted *w = &s->lines.v[file->first], *end = w + file->nr;
	FILE *f = fopen(file->path, "re");
	uint64_t number = 0;
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	if (!f) {
		msgs__add(s->msgs, "--source: cannot read %s: %s", file->path, strerror(errno));
		return 0;
	}
	while (w < end && !err && getline(&line, &cap, f) >= 0)
		for (number++; w < end && w->line == number && !err; w++)
			err = add_text(t, w->place, line);
	free(line);
	fclose(f);
	return err;
}

static int read_files(const struct search *s, struct source_text *t)
{
	const struct wanted *first = NULL;
	size_t i, nr_several = 0;
	int err = 0;

	for (i = 0; i < s->files.nr && !err; i++) {
		const struct wanted_file *f = &s->files.v[i];

		if (f->several && !nr_several++)
			first = &s->lines.v[f->first];
		if (!f->path || f->several)
			continue;
		if (f->newer)
			msgs__add(s->msgs, "--source: %s is newer than the recording: its lines "
				  "may have moved", f->path);
		err = read_lines(s, f, t);
	}
	if (nr_several)
		msgs__add(s->msgs, "--source: several files are called %.*s%s: their lines are not "
			  "shown", (int)first->len, first->file,
			  nr_several > 1 ? ", and others have one name, too" : "");
	return err;
}

int source_text__read(struct source_text *t, const char *dirs, const struct stalls *stalls,
		      uint64_t start_ns, struct msgs *msgs)
{
	char *copy = strdup(dirs), *list[MAX_DIRS + 1] = { NULL }, *dir, *save;
	struct search s = { .start_ns = start_ns, .msgs = msgs };
	size_t i, nr = 0;
	int err = copy ? collect(&s, stalls) : -ENOMEM;

	for (dir = copy ? strtok_r(copy, ":", &save) : NULL; dir && nr < MAX_DIRS;
	     dir = strtok_r(NULL, ":", &save))
		list[nr++] = dir;
	if (!err && s.files.nr && nr)
		err = walk(&s, list);
	err = err ?: read_files(&s, t);
	for (i = 0; i < s.files.nr; i++)
		free(s.files.v[i].path);
	array_free(&s.files);
	array_free(&s.lines);
	free(copy);
	return err;
}

void source_text__exit(struct source_text *t)
{
	size_t i;

	for (i = 0; i < t->lines.nr; i++)
		free(t->lines.v[i]);
	array_free(&t->lines);
	idmap__free(&t->by_place);
}

const char *source_text__of(const struct source_text *t, const char *place)
{
	uint32_t idx;

	return idmap__get(&t->by_place, (uintptr_t)place, &idx) ? t->lines.v[idx] : "";
}
