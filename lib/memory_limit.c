// SPDX-License-Identifier: MIT
#include "memory_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util.h"

#define MAX_PATH	8192

/* Even reading a file of a few bytes takes this much memory. */
#define LEAST_BYTES	(32ull << 20)

#define LARGE_BYTES	(1 << 20)

/* ---- what is free --------------------------------------------------------------------------- */

/*
 * Return: the number after @key in a file of lines "KEY NUMBER ...", or, if @key is NULL, the only
 * number in the file. Returns @none if the number is missing.
 */
static uint64_t read_number(const char *path, const char *key, uint64_t none)
{
	FILE *f = fopen(path, "re");
	char line[256], name[64];
	uint64_t value;
	int nr;

	while (f && fgets(line, sizeof(line), f)) {
		nr = key ? sscanf(line, "%63s %" SCNu64, name, &value) :
			   1 + sscanf(line, "%" SCNu64, &value);
		if (nr == 2 && (!key || !strcmp(name, key))) {
			fclose(f);
			return value;
		}
	}
	if (f)
		fclose(f);
	return none;
}

/* Names of a control group's files in cgroup v1 or v2. */
struct cgroup_files {
	const char *mount, *limit, *usage, *inactive, *active;
};

static const struct cgroup_files cgroup_v1 = {
	"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	"total_inactive_file", "total_active_file",
};

static const struct cgroup_files cgroup_v2 = {
	"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file",
};

static uint64_t cgroup__read(const char *dir, const char *name, const char *key, uint64_t none)
{
	char path[MAX_PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return read_number(path, key, none);
}

static uint64_t cgroup__free(const struct cgroup_files *files, const char *dir)
{
	uint64_t limit = cgroup__read(dir, files->limit, NULL, UINT64_MAX);
	uint64_t used, cached;

	if (limit == UINT64_MAX)
		return limit;
	used = cgroup__read(dir, files->usage, NULL, 0);
	cached = cgroup__read(dir, "memory.stat", files->inactive, 0) +
		 cgroup__read(dir, "memory.stat", files->active, 0);
	used -= min_t(uint64_t, cached, used);
	return limit - min_t(uint64_t, used, limit);
}

/*
 * Return: the least memory that is free in the group at @path and in the groups that contain it.
 * Inside a container, outer groups may be invisible.
 */
static uint64_t cgroups__free(const char *root, const struct cgroup_files *files, char *path)
{
	uint64_t least = UINT64_MAX;
	char dir[MAX_PATH];
	char *slash;

	for (;;) {
		snprintf(dir, sizeof(dir), "%s%s%s", root, files->mount, path);
		least = min_t(uint64_t, least, cgroup__free(files, dir));
		slash = strrchr(path, '/');
		if (!slash)
			return least;
		*slash = 0;
	}
}

/* Return: whether the word is in a list like "cpu,memory". */
static bool list__has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, len) && (!list[len] || list[len] == ','))
			return true;
	}
	return false;
}

static uint64_t all_cgroups__free(const char *root)
{
	char line[MAX_PATH], *controllers, *path;
	uint64_t least = UINT64_MAX;
	FILE *f;

	snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
	f = fopen(line, "re");
	/* Lines are "4:memory:/path" in cgroup v1 and "0::/path" in v2. */
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = 0;
		*path++ = 0;
		if (!*controllers)
			least = min_t(uint64_t, least, cgroups__free(root, &cgroup_v2, path));
		else if (list__has(controllers, "memory"))
			least = min_t(uint64_t, least, cgroups__free(root, &cgroup_v1, path));
	}
	if (f)
		fclose(f);
	return least;
}

/*
 * Return: how much more memory a ulimit allows. @key: the line of /proc/self/status with the memory
 * that the process has now.
 */
static uint64_t ulimit__free(int resource, const char *key)
{
	struct rlimit limit;
	uint64_t used;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	used = read_number("/proc/self/status", key, 0) << 10;
	return limit.rlim_cur - min_t(uint64_t, limit.rlim_cur, used);
}

uint64_t memory_limit__available(const char *root)
{
	char path[MAX_PATH];
	uint64_t kib, bytes;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	kib = read_number(path, "MemAvailable:", UINT64_MAX);
	bytes = kib > UINT64_MAX >> 10 ? UINT64_MAX : kib << 10;
	bytes = min_t(uint64_t, bytes, all_cgroups__free(root));
	bytes = min_t(uint64_t, bytes, ulimit__free(RLIMIT_AS, "VmSize:"));
	return min_t(uint64_t, bytes, ulimit__free(RLIMIT_DATA, "VmData:"));
}

/* ---- the limit ------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS	0
#else
#define LIMITS	1
#endif

/*
 * Limits the memory that the process may write to: RLIMIT_DATA counts this memory, but not files
 * that are mapped for reading.
 */
static void set_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (!LIMITS || getrlimit(RLIMIT_DATA, &limit))
		return;
	limit.rlim_cur = min_t(uint64_t, bytes, limit.rlim_max);
	setrlimit(RLIMIT_DATA, &limit);
}

void memory_limit__set(struct memory_limit *l, uint64_t bytes)
{
	struct rlimit space, data;
	uint64_t may = UINT64_MAX;

	*l = (struct memory_limit){ .bytes = bytes, .by_default = !bytes };
	if (l->by_default) {
		l->bytes = memory_limit__available("");
		if (l->bytes == UINT64_MAX)
			return;
		l->bytes = max_t(uint64_t, l->bytes / 2, LEAST_BYTES);
	} else {
		if (!getrlimit(RLIMIT_AS, &space))
			may = space.rlim_cur;
		if (!getrlimit(RLIMIT_DATA, &data))
			may = min_t(uint64_t, may, data.rlim_cur);
		l->by_ulimit = may < bytes;
		l->bytes = min_t(uint64_t, bytes, may);
	}
	set_limit(l->bytes);
}

void memory_limit__map_large(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BYTES);
}

/* Prints a size, such as "512M" or "11.7G". */
static void print_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double n = bytes / 1024.0;
	size_t i;

	for (i = 0; n >= 1024 && units[i + 1]; i++)
		n /= 1024;
	snprintf(buf, size, n == (uint64_t)n ? "%.0f%c" : "%.1f%c", n, units[i]);
}

const char *memory_limit__why(struct memory_limit *l, int err)
{
	char bytes[32];

	if (err != -ENOMEM || l->bytes == UINT64_MAX || !l->bytes)
		return strerror(-err);
	set_limit(UINT64_MAX);
	print_bytes(bytes, sizeof(bytes), l->bytes);
	if (l->by_default)
		snprintf(l->text, sizeof(l->text), "needs more than %s of memory, half of the free "
						   "memory: --max-memory SIZE sets another "
						   "limit", bytes);
	else
		snprintf(l->text, sizeof(l->text),
			 "needs more than the %s of memory that %s allows",
			 bytes, l->by_ulimit ? "ulimit" : "--max-memory");
	return l->text;
}
