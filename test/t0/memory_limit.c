// SPDX-License-Identifier: GPL-3.0-or-later
/* How much memory the machine and control groups have free. This test writes the groups' files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory_limit.h"
#include "tap.h"

#define MIB	(1ull << 20)

static char root[64];

/* Writes a file below root, and makes the file's directories. */
static void put(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		bail("%s cannot be written", full);
}

static void begin(const char *name)
{
	snprintf(root, sizeof(root), "%s", name);
	mkdir(root, 0700);
}

static void is_free(uint64_t mib, const char *what)
{
	uint64_t got = memory_limit__available(root);

	ok(got == mib * MIB, "%s: %" PRIu64 " of %" PRIu64 " MiB", what,
	   (uint64_t)(got / MIB), mib);
}

/* A sanitizer's own allocator takes more memory than any limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void limits(void)
{
	skip(1, "a sanitizer replaces the allocator");
}
#else
static void limits(void)
{
	struct memory_limit l;
	struct rlimit before;
	uint64_t free;
	void *p;

	if (getenv("XPU_EMULATED")) {
		skip(1, "an emulator keeps no limits of memory");
		return;
	}
	getrlimit(RLIMIT_DATA, &before);
	setrlimit(RLIMIT_DATA, &(struct rlimit){ 2 * MIB << 10, before.rlim_max });
	free = memory_limit__available("nothing");
	ok(free < 2 * MIB << 10 && free > MIB << 10, "a ulimit limits free memory");
	setrlimit(RLIMIT_DATA, &before);
	memory_limit__set(&l, 64 * MIB);
	p = malloc(128 * MIB);
	ok(!p, "more memory than the limit cannot be allocated");
	is_str(memory_limit__why(&l, -EINVAL), strerror(EINVAL),
	       "another error keeps its own message");
	p = malloc(128 * MIB);
	ok(!p, "another error does not remove the limit");
	is_str(memory_limit__why(&l, -ENOMEM),
	       "needs more than the 64M of memory that --max-memory allows",
	       "the message names --max-memory");
	p = malloc(128 * MIB);
	ok(p, "memory_limit__why() removes the limit");
}
#endif

int main(void)
{
	begin("nothing");
	ok(memory_limit__available(root) == UINT64_MAX,
	   "without any files the free memory is unknown");
	begin("machine");
	put("/proc/meminfo",
	    "MemTotal:       2097152 kB\nMemFree: 1 kB\nMemAvailable:   1048576 kB\n");
	is_free(1024, "without groups the free memory is that of the machine");
	put("/proc/self/cgroup", "1:cpu:/x\n0::/\n");
	is_free(1024, "in a group without files the free memory is that of the machine");

	begin("v2");
	put("/proc/meminfo", "MemAvailable:   1048576 kB\n");
	put("/proc/self/cgroup", "0::/outer/inner\n");
	put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
	put("/sys/fs/cgroup/outer/inner/memory.current", "1048576\n");
	is_free(1024, "version 2, without a limit: the free memory is that of the machine");
	put("/sys/fs/cgroup/outer/memory.max", "536870912\n");
	put("/sys/fs/cgroup/outer/memory.current", "209715200\n");
	is_free(312, "version 2: the limit of an outer group counts");
	put("/sys/fs/cgroup/outer/memory.stat",
	    "anon 1\nfile 7\ninactive_file 52428800\nactive_file 52428800\n");
	is_free(412, "version 2: cached files count as free");
	put("/sys/fs/cgroup/outer/inner/memory.max", "10485760\n");
	is_free(9, "version 2: the smaller of both limits counts");
	put("/sys/fs/cgroup/outer/inner/memory.current", "20971520\n");
	is_free(0, "version 2: a group that uses more than its limit has no free memory");

	begin("v1");
	put("/proc/meminfo", "MemAvailable:   1048576 kB\n");
	put("/proc/self/cgroup", "3:cpu,cpuacct:/a\n2:hugetlb,memory:/docker/1\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "134217728\n");
	put("/sys/fs/cgroup/memory/memory.stat",
	    "inactive_file 1\ntotal_inactive_file 33554432\ntotal_active_file 33554432\n");
	is_free(192, "version 1: a container that sees no outer group has the limit of its own");

	limits();
	return done_testing();
}
