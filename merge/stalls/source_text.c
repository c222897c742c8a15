// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/source_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

#define MAX_DIRS	64
#define MAX_FILE	(16 << 20)	/* maximum size in bytes of a file that is read */
#define MAX_TEXT	240		/* bytes of a line that are kept */
#define MAX_UNREAD	8		/* messages about files that cannot be read */

/* a line that a place names */
struct wanted {
	const char *file;		/* points into @place; not terminated */
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
	off_t size;
	bool several;			/* different files have the name */
	bool newer;			/* changed after the recording's start */
};

struct text {
	char *v;
	size_t len;			/* bytes */
};

struct search {
	uint64_t start_ns;		/* CLOCK_REALTIME of the recording's start; 0: unknown */
	struct msgs *msgs;
	size_t nr_unread;		/* files and directories that cannot be read */
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

/* Compares the name of the file s->files.v[i] with @name. */
static int compare(const struct search *s, size_t i, const char *name)
{
	const struct wanted *w = &s->lines.v[s->files.v[i].first];

	return name__cmp(w->file, w->len, name, strlen(name));
}

static struct wanted_file *find(struct search *s, const char *name)
{
	size_t at = sorted_count(s->files.nr, i, compare(s, i, name) < 0);

	return at < s->files.nr && !compare(s, at, name) ? &s->files.v[at] : NULL;
}

/* Adds a message; after MAX_UNREAD messages, only counts the files. */
static void cannot_read(struct search *s, const char *path, int err)
{
	if (s->nr_unread++ < MAX_UNREAD)
		msgs__add(s->msgs, "--source: cannot read %s: %s", path, strerror(err));
}

/*
 * Reads a file in the user's directories. The caller frees text->v. Return: 0, -EFBIG if the file
 * is larger than MAX_FILE, -ESTALE if the path now leads to another file, or another negative
 * errno.
 */
static int read_file(const char *path, dev_t dev, ino_t ino, struct text *text)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), err = 0;
	struct stat st;
	ssize_t got;

	*text = (struct text){ 0 };
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_dev != dev || st.st_ino != ino)
		err = -ESTALE;
	else if (st.st_size > MAX_FILE)
		err = -EFBIG;
	else if (!(text->v = malloc(st.st_size + 1)))
		err = -ENOMEM;
	while (!err && text->len < (size_t)st.st_size) {
		got = read(fd, text->v + text->len, st.st_size - text->len);
		if (got < 0)
			err = -errno;
		if (got <= 0)
			break;
		text->len += got;
	}
	close(fd);
	return err;
}

/*
 * Return: 1 if a file has the same contents as the file that was found before, otherwise 0; or
 * -ENOMEM.
 */
static int is_copy(const struct wanted_file *f, const char *path, const struct stat *st)
{
	struct text a = { 0 }, b = { 0 };
	int err;

	if (st->st_size != f->size)
		return 0;
	err = read_file(f->path, f->dev, f->ino, &a) ?:
	      read_file(path, st->st_dev, st->st_ino, &b);
	if (err)
		err = err == -ENOMEM ? err : 0;
	else
		err = a.len == b.len && !memcmp(a.v, b.v, a.len);
	free(a.v);
	free(b.v);
	return err;
}

/* Notes a file in the user's directories, if a place names it. Return: 0 or -ENOMEM. */
static int take(struct search *s, const FTSENT *e)
{
	struct wanted_file *f = find(s, e->fts_name);
	const struct stat *st = e->fts_statp;
	bool newer = s->start_ns &&
		     st->st_mtim.tv_sec * 1000000000ull + st->st_mtim.tv_nsec > s->start_ns;
	int copy;

	if (!f || f->several || (f->path && f->dev == st->st_dev && f->ino == st->st_ino))
		return 0;
	if (f->path) {
		copy = is_copy(f, e->fts_path, st);
		f->several = !copy;
		f->newer = f->newer && newer;	/* an older copy has the same lines */
		return copy < 0 ? copy : 0;
	}
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->newer = newer;
	f->path = strdup(e->fts_path);
	return f->path ? 0 : -ENOMEM;
}

/* Return: 0 or -ENOMEM. */
static int walk(struct search *s, char *const *dirs)
{
	FTS *fts = fts_open(dirs, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *e = NULL;
	int err = 0;

	while (fts && !err && (e = fts_read(fts))) {
		if (e->fts_level && e->fts_name[0] == '.')
			fts_set(fts, e, FTS_SKIP);	/* for example .git */
		else if (e->fts_info == FTS_F)
			err = take(s, e);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
			 (e->fts_info == FTS_NS && !e->fts_level))
			cannot_read(s, e->fts_path, e->fts_errno);
	}
	if (!err && !e && errno) {
		err = errno == ENOMEM ? -ENOMEM : 0;
		msgs__add(s->msgs, "--source: the search ended early: %s", strerror(errno));
	}
	if (fts)
		fts_close(fts);
	return err;
}

/* Return: a copy of the line without the spaces around it; NULL if memory is short. */
static char *trim(const char *line, size_t len)
{
	char *text;

	for (; len && isspace((unsigned char)*line); line++)
		len--;
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (len <= MAX_TEXT)
		return strndup(line, len);
	len = MAX_TEXT - strlen("...");
	while (len && (line[len] & 0xc0) == 0x80)	/* inside a UTF-8 character */
		len--;
	return asprintf(&text, "%.*s...", (int)len, line) < 0 ? NULL : text;
}

static int add_text(struct source_text *t, const char *place, const char *line, size_t len)
{
	uint32_t idx;
	char *text;
	int err;

	if (idmap__get(&t->by_place, (uintptr_t)place, &idx))
		return 0;
	text = trim(line, len);
	err = text ? array_push(&t->lines, text) : -ENOMEM;
	if (err) {
		free(text);
		return err;
	}
	return idmap__put(&t->by_place, (uintptr_t)place, t->lines.nr - 1);
}

/* Reads the lines of a file. Return: 0, also if the file cannot be read, or -ENOMEM. */
static int read_lines(struct search *s, const struct wanted_file *file, struct source_text *t)
{
	const struct wanted *w = &s->lines.v[file->first], *end = w + file->nr;
	const char *line, *after, *newline;
	uint64_t number = 0;
	struct text text;
	int err = read_file(file->path, file->dev, file->ino, &text);

	if (err && err != -ENOMEM) {
		cannot_read(s, file->path, -err);
		free(text.v);
		return 0;
	}
	after = text.v + text.len;
	for (line = text.v; w < end && line < after && !err; line = newline + 1) {
		newline = memchr(line, '\n', after - line) ?: after;
		for (number++; w < end && w->line == number && !err; w++)
			err = add_text(t, w->place, line, newline - line);
	}
	free(text.v);
	return err;
}

/* Adds a message if several different files have the same name. */
static void tell_several(const struct search *s)
{
	const struct wanted *first = NULL;
	char others[64] = "";
	size_t i, nr = 0;

	for (i = 0; i < s->files.nr; i++)
		if (s->files.v[i].several && !nr++)
			first = &s->lines.v[s->files.v[i].first];
	if (nr > 1)
		snprintf(others, sizeof(others), " (and %zu other name%s)", nr - 1,
			 nr > 2 ? "s" : "");
	if (nr)
		msgs__add(s->msgs, "--source: several different files are called %.*s%s: their "
			  "lines are not shown", (int)first->len, first->file, others);
}

static int read_files(struct search *s, const char *dirs, struct source_text *t)
{
	size_t i, nr_found = 0;
	int err = 0;

	for (i = 0; i < s->files.nr && !err; i++) {
		const struct wanted_file *f = &s->files.v[i];

		nr_found += f->path != NULL;
		if (!f->path || f->several)
			continue;
		if (f->newer)
			msgs__add(s->msgs, "--source: %s is newer than the recording: its lines "
				  "may have moved", f->path);
		err = read_lines(s, f, t);
	}
	tell_several(s);
	if (s->files.nr && !nr_found)
		msgs__add(s->msgs, "--source: no file below %s has the name of a recorded source "
			  "file, such as %.*s", dirs, (int)s->lines.v->len, s->lines.v->file);
	if (s->nr_unread > MAX_UNREAD)
		msgs__add(s->msgs, "--source: %zu other files or directories cannot be read",
			  s->nr_unread - MAX_UNREAD);
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
	if (dir)
		msgs__add(msgs, "--source: only the first %d directories are searched", MAX_DIRS);
	err = err ?: read_files(&s, dirs, t);
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
