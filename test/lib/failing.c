// SPDX-License-Identifier: MIT
/*
 * failing - a preloaded library that makes calls of xpuload fail, as they do if resources run out
 *
 * XPU_FAILING has one of these words:
 *
 *	everywhere	no probe can watch all processes after a probe has watched one process
 *	shim		the shim's file cannot be opened in other processes
 *	MAP=N		the BPF map MAP has at most N entries
 *	accounts	xpuload makes the file "paused" and waits for the file "go" before it reads
 *			the entries of a BPF map
 *	offline		CPU 1 is offline until the file "online" exists
 *	maps		a process ends after the first line of its mappings was read
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {				/* of linux/bpf.h; older headers lack some of them */
	MAP_CREATE = 0,
	MAP_GET_NEXT_KEY = 4,
	LINK_CREATE = 28,
	UPROBE_MULTI = 48,
	PERF_TYPES = 6,		/* of linux/perf_event.h; probes have a larger type */
};

struct map_create {		/* the beginning of union bpf_attr */
	uint32_t type, key_size, value_size, max_entries, flags, inner_fd, node;
	char name[16];
};

struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t nr, multi_flags, pid;
};

static bool fails(const char *word)
{
	const char *words = getenv("XPU_FAILING");

	return words && !strcmp(words, word) &&
	       !strcmp(program_invocation_short_name, "xpuload");
}

static void shrink(struct map_create *map)
{
	const char *words = getenv("XPU_FAILING");
	size_t len = strnlen(map->name, sizeof(map->name));

	if (words && len && !strncmp(words, map->name, len) && words[len] == '=')
		map->max_entries = atoi(words + len + 1);
}

/* Whether to refuse a probe in the process @pid, or in all processes if @pid is not positive. */
static bool refuses_probe(int pid)
{
	static bool has_one;

	has_one |= pid > 0;
	return has_one && pid <= 0 && fails("everywhere");
}

static bool refuses_link(const struct link_create *link)
{
	return link->attach_type == UPROBE_MULTI && refuses_probe(link->pid);
}

/* Before Linux 6.6, a probe is a perf event. @type: the first member of its attributes */
static bool refuses_event(const uint32_t *type, int pid)
{
	return *type >= PERF_TYPES && refuses_probe(pid);
}

static void wait_for_go(void)
{
	close(creat("paused", 0600));
	while (access("go", F_OK))
		usleep(10000);
}

long syscall(long nr, ...)
{
	static long (*real)(long nr, ...);
	long args[6];
	va_list list;
	int i;

	va_start(list, nr);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (nr == SYS_bpf && args[0] == MAP_CREATE)
		shrink((void *)args[1]);
	if (nr == SYS_bpf && args[0] == MAP_GET_NEXT_KEY && fails("accounts"))
		wait_for_go();
	if (nr == SYS_perf_event_open && (int)args[2] == 1 && access("online", F_OK) &&
	    fails("offline")) {
		errno = ENODEV;
		return -1;
	}
	if ((nr == SYS_bpf && args[0] == LINK_CREATE && refuses_link((void *)args[1])) ||
	    (nr == SYS_perf_event_open && refuses_event((void *)args[0], args[1])) ||
	    (nr == SYS_openat2 && strstr((const char *)args[1], "/libxpushim.so") &&
	     fails("shim"))) {
		errno = EMFILE;
		return -1;
	}
	return real(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int open(const char *path, int flags, ...)
{
	static int (*real)(const char *path, int flags, ...);
	va_list list;
	int mode;

	va_start(list, flags);
	mode = va_arg(list, int);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "open");
	if (strstr(path, "/map_files/") && fails("shim")) {
		errno = EMFILE;
		return -1;
	}
	return real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *path, const char *mode);
	const char *name = strrchr(path, '/');
	char line[512];
	int fds[2];
	FILE *f;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	f = real(path, mode);
	if (!f || !name || strcmp(name, "/maps") || !fails("maps"))
		return f;
	if (!fgets(line, sizeof(line), f) || pipe(fds) || write(fds[1], line, strlen(line)) < 0)
		abort();
	close(fds[1]);
	fclose(f);
	return fdopen(fds[0], "r");
}
