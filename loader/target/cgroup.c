// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "target/cgroup_name.h"
#include "util.h"

#define MAX_MOUNTS	32
#define MAX_DEPTH	32		/* maximum depth of the search for cgroups */
#define MIN_ID_LEN	4		/* minimum number of digits of a shortened id */

/* A mounted hierarchy. */
struct hierarchy {
	char path[PATH_MAX];
	dev_t dev;
	uint32_t number;		/* 0: cgroup v2 */
};

struct hierarchies {
	struct hierarchy h[MAX_MOUNTS];
	size_t nr;
};

/* ---- what is mounted ------------------------------------------------------------------------- */

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = list; (at = strstr(at, word)); at++)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

/*
 * Return: the number of the cgroup v1 hierarchy that is mounted with @options, or 0. Ignores
 * hierarchies without a controller, because BPF programs cannot see a thread's cgroup in them.
 */
static uint32_t number_of(const char *options)
{
	char *line = NULL, *controllers, *end;
	uint32_t number = 0;
	size_t cap = 0;
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && !number && getline(&line, &cap, f) > 0) {
		controllers = strchr(line, ':');
		end = controllers ? strchr(++controllers, ':') : NULL;
		if (!end || end == controllers || !strncmp(controllers, "name=", 5))
			continue;
		*end = '\0';
		controllers[strcspn(controllers, ",")] = '\0';
		if (has_word(options, controllers))
			number = strtoul(line, NULL, 10);
	}
	free(line);
	if (f)
		fclose(f);
	return number;
}

/* Decodes the escapes of /proc/self/mountinfo, such as "\040" for a blank. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && isdigit((unsigned char)s[1]) && isdigit((unsigned char)s[2]) &&
		    isdigit((unsigned char)s[3])) {
			*to++ = (s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0';
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* Adds the hierarchy in a line of /proc/self/mountinfo. */
static void add_mount(struct hierarchies *all, char *line)
{
	char *path, *type, *options;
	struct hierarchy *h = &all->h[all->nr];
	unsigned int major, minor;
	int at;

	type = strstr(line, " - cgroup");
	if (!type || all->nr == MAX_MOUNTS ||
	    sscanf(line, "%*d %*d %u:%u %*s %n", &major, &minor, &at) != 2)
		return;
	path = line + at;
	*type = '\0';
	type += 3;
	path[strcspn(path, " ")] = '\0';
	unescape(path);
	line[strcspn(line, "\n")] = '\0';
	options = strrchr(type, ' ');
	if (!options)
		return;
	options++;
	options[strcspn(options, "\n")] = '\0';
	h->number = 0;
	if (strncmp(type, "cgroup2 ", 8)) {
		h->number = number_of(options);
		if (!h->number)
			return;
	}
	h->dev = makedev(major, minor);
	snprintf(h->path, sizeof(h->path), "%s", path);
	all->nr++;
}

static int compare(const void *a, const void *b)
{
	const struct hierarchy *p = a, *q = b;

	return p->number < q->number ? -1 : p->number > q->number;
}

/*
 * Return: all hierarchies, with cgroup v2 first, for the caller to free(); NULL if memory runs
 * out.
 */
static struct hierarchies *read_hierarchies(void)
{
	struct hierarchies *all = calloc(1, sizeof(*all));
	FILE *f = all ? fopen("/proc/self/mountinfo", "re") : NULL;
	char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		add_mount(all, line);
	free(line);
	if (f)
		fclose(f);
	if (all)
		qsort(all->h, all->nr, sizeof(all->h[0]), compare);
	return all;
}

/* ---- by path --------------------------------------------------------------------------------- */

/* Fills in *@c if @path is a cgroup's directory. Return: 0 or a negative errno. */
static int open_cgroup(struct cgroup *c, const char *path, const struct hierarchies *all)
{
	struct stat st;
	size_t i;

	if (stat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	for (i = 0; i < all->nr; i++) {
		if (all->h[i].dev != st.st_dev)
			continue;
		c->id = st.st_ino;
		c->hierarchy = all->h[i].number;
		snprintf(c->path, sizeof(c->path), "%s", path);
		return 0;
	}
	return -EINVAL;
}

int cgroup__find(struct cgroup *c, const char *path, char *why, size_t len)
{
	struct hierarchies *all = read_hierarchies();
	char *below = NULL;
	int err = -ENOENT, as_it_is;
	size_t i;

	if (!all) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	as_it_is = *path ? open_cgroup(c, path, all) : -ENOENT;
	if (!as_it_is) {
		free(all);
		return 0;
	}
	for (i = 0; i < all->nr && *path && err; i++) {
		if (asprintf(&below, "%s/%s", all->h[i].path, path) < 0) {
			err = -ENOMEM;
			break;
		}
		err = open_cgroup(c, below, all);
		free(below);
	}
	if (err && as_it_is == -EINVAL)
		snprintf(why, len, "not a cgroup, or a cgroup of a hierarchy without a controller: "
				   "name a cgroup of version 2, or of a controller such as memory");
	else if (err && !all->nr)
		snprintf(why, len, "no cgroups are mounted here: see cgroups(7)");
	else if (err)
		snprintf(why, len, "no such cgroup: expected a path below /sys/fs/cgroup, or a "
				   "path from /proc/PID/cgroup");
	free(all);
	return err;
}

/* ---- containers ------------------------------------------------------------------------------ */

/* Whether the cgroup @dir inside @parent belongs to the container @name. */
static bool is_container(const char *dir, const char *parent, const char *name)
{
	size_t wanted = strlen(name);
	struct cgroup_part found;
	bool is_id;

	found = cgroup_name__container((struct cgroup_part){ dir, strlen(dir) },
				       (struct cgroup_part){ parent, strlen(parent) }, &is_id);
	if (!found.len || memcmp(found.s, name, min_t(size_t, wanted, found.len)))
		return false;
	return is_id ? wanted >= MIN_ID_LEN && wanted <= found.len : wanted == found.len;
}

struct search {
	const char *name;
	char path[PATH_MAX];		/* the directory that is searched */
	char found[2][PATH_MAX];
	size_t nr;
};

/* Searches the cgroup @dir, whose path is s->path, but not the cgroups inside containers. */
static void search(struct search *s, const char *dir, unsigned int depth)
{
	size_t len = strlen(s->path);
	struct dirent *d;
	DIR *stream = depth < MAX_DEPTH ? opendir(s->path) : NULL;

	while (stream && s->nr < 2 && (d = readdir(stream))) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.' ||
		    len + 1 + strlen(d->d_name) >= sizeof(s->path))
			continue;
		sprintf(s->path + len, "/%s", d->d_name);
		if (is_container(d->d_name, dir, s->name))
			strcpy(s->found[s->nr++], s->path);
		else
			search(s, d->d_name, depth + 1);
		s->path[len] = '\0';
	}
	if (stream)
		closedir(stream);
}

int cgroup__find_container(struct cgroup *c, const char *name, char *why, size_t len)
{
	struct hierarchies *all = read_hierarchies();
	struct search *s = calloc(1, sizeof(*s));
	int err = -ENOENT;
	size_t i;

	if (!all || !s) {
		snprintf(why, len, "out of memory");
		err = -ENOMEM;
		goto out;
	}
	s->name = name;
	for (i = 0; i < all->nr && !s->nr && *name; i++) {
		strcpy(s->path, all->h[i].path);
		search(s, "", 0);
	}
	if (s->nr > 1) {
		err = -EINVAL;
		snprintf(why, len, "several containers match: %s and %s", s->found[0],
			 s->found[1]);
	} else if (s->nr) {
		err = open_cgroup(c, s->found[0], all);
		if (err)
			snprintf(why, len, "%s: %s", s->found[0], strerror(-err));
	} else {
		snprintf(why, len,
			 "no cgroup here belongs to this container: expected its id, or at least "
			 "the first %d digits of its id: see docker inspect -f '{{.Id}}' NAME",
			 MIN_ID_LEN);
	}
out:
	free(all);
	free(s);
	return err;
}

/* ---- the processes of a cgroup --------------------------------------------------------------- */

static int each_process(char *path, unsigned int depth, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	size_t len = strlen(path);
	struct dirent *d;
	DIR *dir;
	FILE *f;
	int pid;

	if (len + sizeof("/cgroup.procs") > PATH_MAX || depth >= MAX_DEPTH)
		return 0;
	strcpy(path + len, "/cgroup.procs");
	f = fopen(path, "re");
	path[len] = '\0';
	if (!f)
		return -errno;
	while (fscanf(f, "%d", &pid) == 1)
		if (pid)		/* 0: the process is in another pid namespace */
			fn(ctx, pid);
	fclose(f);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.' ||
		    len + 1 + strlen(d->d_name) >= PATH_MAX)
			continue;
		sprintf(path + len, "/%s", d->d_name);
		each_process(path, depth + 1, fn, ctx);	/* ignore errors: the cgroup may be gone */
		path[len] = '\0';
	}
	if (dir)
		closedir(dir);
	return 0;
}

int cgroup__each_process(const struct cgroup *c, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	char path[PATH_MAX];

	strcpy(path, c->path);
	return each_process(path, 0, fn, ctx);
}
