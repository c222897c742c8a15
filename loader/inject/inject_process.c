// SPDX-License-Identifier: GPL-3.0-or-later
#include "inject/inject_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mapped.h"
#include "inject/result.h"

#define REFUSE(why, err, ...)	(snprintf((why), INJECT_WHY, __VA_ARGS__), (err))

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return fopen(path, "re");
}

static bool starts(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* ---- its state ------------------------------------------------------------------------------- */

struct status {
	char state;
	pid_t parent, tracer;
	bool seccomp_strict, seccomp_filter;
	bool shadow_stack;
};

static bool status__read(struct status *s, pid_t pid)
{
	FILE *f = open_proc(pid, "status");
	unsigned int seccomp = 0;
	char line[512];

	memset(s, 0, sizeof(*s));
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", &s->state);
		sscanf(line, "PPid: %d", &s->parent);
		sscanf(line, "TracerPid: %d", &s->tracer);
		sscanf(line, "Seccomp: %u", &seccomp);
		if (!strncmp(line, "x86_Thread_features:", 20))
			s->shadow_stack = strstr(line, "shstk");
	}
	fclose(f);
	s->seccomp_strict = seccomp == 1;
	s->seccomp_filter = seccomp == 2;
	return s->state;
}

int process__seccomp(pid_t pid, pid_t tid)
{
	char file[64], line[512];
	int mode = 0;
	FILE *f;

	snprintf(file, sizeof(file), "task/%d/status", tid);
	f = open_proc(pid, file);
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Seccomp: %d", &mode);
	fclose(f);
	return mode;
}

uint32_t process__inner_tid(pid_t pid, pid_t tid)
{
	char file[64], line[512], *last;
	uint32_t inner = tid;
	FILE *f;

	snprintf(file, sizeof(file), "task/%d/status", tid);
	f = open_proc(pid, file);
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t');
		inner = last ? strtoul(last + 1, NULL, 10) : inner;
		break;
	}
	if (f)
		fclose(f);
	return inner;
}

pid_t process__find_thread(pid_t pid, uint32_t inner)
{
	char path[64];
	pid_t found = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		if (process__inner_tid(pid, atoi(e->d_name)) == inner)
			found = atoi(e->d_name);
	if (d)
		closedir(d);
	return found;
}

#define RIGHTS_BYTES	4096

/*
 * Copies the lines of a thread's status that describe its rights. Return: whether they could be
 * read.
 */
static bool read_rights(pid_t pid, pid_t tid, char to[RIGHTS_BYTES])
{
	static const char *const keys[] = { "Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:",
					    "Seccomp" };
	char file[64], line[1024];
	size_t len = 0, k, n;
	FILE *f;

	snprintf(file, sizeof(file), "task/%d/status", tid);
	f = open_proc(pid, file);
	while (f && fgets(line, sizeof(line), f))
		for (k = 0, n = strlen(line); k < sizeof(keys) / sizeof(keys[0]); k++)
			if (starts(line, keys[k]) && len + n < RIGHTS_BYTES) {
				memcpy(to + len, line, n);
				len += n;
			}
	if (f)
		fclose(f);
	to[len] = '\0';
	return len;
}

bool process__same_rights(pid_t pid, pid_t a, pid_t b)
{
	char of_a[RIGHTS_BYTES], of_b[RIGHTS_BYTES];

	return read_rights(pid, a, of_a) && read_rights(pid, b, of_b) && !strcmp(of_a, of_b);
}

/* Whether a thread waits for its child after vfork() or a similar call. */
static bool waits_for_vfork(pid_t pid)
{
	char path[64];
	bool found = false;
	struct dirent *e;
	long nr;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "task/%d/syscall", atoi(e->d_name));
		f = open_proc(pid, path);
		found = f && fscanf(f, "%ld", &nr) == 1 &&
			(nr == SYS_clone || nr == SYS_clone3
#ifdef SYS_vfork
			 || nr == SYS_vfork
#endif
			);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* If kcmp() is forbidden, as in containers, returns true when in doubt: the process is refused. */
static bool shares_memory(pid_t pid, pid_t parent)
{
	int ret = syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0);

	return ret >= 0 ? !ret : errno != ESRCH && waits_for_vfork(parent);
}

static int check_status(pid_t pid, bool *filtered, char *why)
{
	struct status s;

	if (!status__read(&s, pid))
		return REFUSE(why, -ESRCH, "it has ended");
	switch (s.state) {
	case 'Z':
	case 'X':
		return REFUSE(why, -ESRCH, "it has ended");
	case 'T':
		return REFUSE(why, -EBUSY, "it is stopped by a signal: continue it (kill -CONT)");
	}
	if (s.tracer)
		return REFUSE(why, -EBUSY, "pid %d traces it, such as a debugger or strace: end "
			      "that first", s.tracer);
	if (s.seccomp_strict)
		return REFUSE(why, -EPERM, "seccomp forbids nearly all of its system calls");
	if (s.shadow_stack)
		return REFUSE(why, -ENOTSUP, "it has a shadow stack, which forbids calls from "
			      "outside");
	/* A child of vfork() runs in the memory and on the stack of its parent. */
	if (s.parent > 1 && shares_memory(pid, s.parent))
		return REFUSE(why, -EBUSY, "it shares its memory with pid %d until it executes a "
			      "program (vfork)", s.parent);
	*filtered = s.seccomp_filter;
	if (s.seccomp_filter && geteuid())
		return REFUSE(why, -EPERM, "seccomp filters its system calls, and only root "
			      "can see the filters");
	return 0;
}

/* ---- its mappings ---------------------------------------------------------------------------- */

static enum module_kind kind_of(const char *path, const char *name)
{
	static const char *const driver[] = { "libcuda.so", "libnvidia-", "libcudart.so",
					      "libcupti.so", "libnvrtc", "libcudadebugger",
					      "libnvcuvid" };
	static const char *const libc[] = { "libc.so.6", "libc-2.", "libpthread.so.0",
					    "libpthread-2.", "libdl.so.2", "libdl-2.", "librt.so.1",
					    "librt-2." };
	size_t i;

	if (*path != '/')
		return MODULE_NAMELESS;
	for (i = 0; i < sizeof(driver) / sizeof(driver[0]); i++)
		if (starts(name, driver[i]))
			return MODULE_DRIVER;
	for (i = 0; i < sizeof(libc) / sizeof(libc[0]); i++)
		if (starts(name, libc[i]))
			return MODULE_LIBC;
	if (starts(name, "ld-linux") || starts(name, "ld-2."))
		return MODULE_LOADER;
	return MODULE_OTHER;
}

struct maps_line {
	uint64_t start, end, pgoff;
	char perms[5];
	const char *path, *name;	/* inside the line; "" if the mapping has no path */
};

static bool maps_line__parse(struct maps_line *l, char *line)
{
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &l->start, &l->end,
		   l->perms, &l->pgoff, &at) < 4 || !at)
		return false;
	line[strcspn(line, "\n")] = '\0';
	l->path = line + at;
	l->name = strrchr(l->path, '/');
	l->name = l->name ? l->name + 1 : l->path;
	return true;
}

struct seen {
	bool musl, loader, loader32, libcuda, shim, libc;
	const struct module *main;	/* libc.so.6 */
	bool two;			/* the process has a second libc.so.6, as after dlmopen() */
};

/* Notes a mapping of libc.so.6, whose code may have been split into several mappings. */
static void note_libc(struct seen *seen, const struct module *m)
{
	if (!seen->main)
		seen->main = m;
	else if (strcmp(m->path, seen->main->path) || m->pgoff == seen->main->pgoff)
		seen->two = true;
}

static int read_modules(pid_t pid, struct modules *m, struct seen *seen)
{
	FILE *f = open_proc(pid, "maps");
	enum module_kind kind;
	struct maps_line l;
	char *line = NULL, exe[4096] = "", link[64];
	struct module *to;
	size_t cap = 0;
	int err = 0;

	m->nr = 0;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	if (readlink(link, exe, sizeof(exe) - 1) < 0)
		exe[0] = '\0';
	memset(seen, 0, sizeof(*seen));
	if (!f)
		return -errno;
	while (!err && getline(&line, &cap, f) > 0) {
		if (!maps_line__parse(&l, line))
			continue;
		seen->musl |= starts(l.name, "ld-musl-") || !strcmp(l.name, "libc.so");
		seen->loader32 |= starts(l.name, "ld-linux.so.2");
		seen->libcuda |= starts(l.name, "libcuda.so");
		seen->shim |= starts(l.name, "libxpushim.so");
		kind = kind_of(l.path, l.name);
		if (l.perms[2] != 'x')
			continue;
		to = &m->all[m->nr];
		if (m->nr == MAX_MODULES) {
			err = -E2BIG;
			break;
		}
		*to = (struct module){ .start = l.start, .end = l.end, .pgoff = l.pgoff,
				       .kind = kind };
		to->is_program = !strcmp(l.path, exe);
		to->path = strdup(l.path);
		to->name = to->path ? to->path + (l.name - l.path) : "";
		if (to->path && (starts(l.name, "libc.so") || starts(l.name, "libc-2.")))
			note_libc(seen, to);
		seen->loader |= to->kind == MODULE_LOADER;
		seen->libc |= to->kind == MODULE_LIBC;
		m->nr++;
	}
	free(line);
	fclose(f);
	return err;
}

const struct module *modules__find(const struct modules *m, uint64_t addr)
{
	uint32_t lo = 0, hi = m->nr, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (addr < m->all[mid].start)
			hi = mid;
		else if (addr >= m->all[mid].end)
			lo = mid + 1;
		else
			return &m->all[mid];
	}
	return NULL;
}

uint64_t process__stack(pid_t pid, uint64_t addr, uint64_t *end)
{
	FILE *f = open_proc(pid, "maps");
	struct maps_line l;
	uint64_t start = 0;
	char *line = NULL;
	size_t cap = 0;

	while (f && !start && getline(&line, &cap, f) > 0) {
		if (!maps_line__parse(&l, line) || addr < l.start || addr >= l.end)
			continue;
		if (l.perms[0] != 'r' || l.perms[1] != 'w')
			break;
		start = l.start;
		*end = l.end;
	}
	free(line);
	if (f)
		fclose(f);
	return start;
}

int module__open(pid_t pid, const struct module *m)
{
	return mapped__open(pid, m->start, m->end - m->start, m->path, true);
}

int process__look(pid_t pid, struct modules *m, char *why)
{
	struct seen seen;
	int err = check_status(pid, &m->filtered, why);

	if (err)
		return err;
	err = read_modules(pid, m, &seen);
	if (err == -E2BIG)
		return REFUSE(why, err, "it has more than %d executable mappings", MAX_MODULES);
	if (err)
		return REFUSE(why, err, "its mappings cannot be read: %s", strerror(-err));
	if (seen.shim)
		return REFUSE(why, -EEXIST, "it has a libxpushim.so already");
	if (seen.musl)
		return REFUSE(why, -ENOTSUP, "its C library is musl: the shim needs glibc");
	if (seen.loader32)
		return REFUSE(why, -ENOTSUP, "it is a 32-bit program");
	if (!seen.loader || !seen.libc)
		return REFUSE(why, -ENOTSUP, "it is a static program, or its C library is not "
			      "glibc: it cannot load the shim");
	if (seen.two)
		return REFUSE(why, -ENOTSUP, "it has more than one C library");
	if (!seen.libcuda)
		return REFUSE(why, -ENOENT, "it has not loaded CUDA (libcuda.so)");
	return 0;
}
