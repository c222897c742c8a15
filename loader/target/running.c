// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/running.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PF_KTHREAD	0x00200000	/* from Linux's include/linux/sched.h */

bool running__look(struct running_process *p, pid_t pid)
{
	char path[64], text[1024], state, *comm, *end;
	unsigned int flags;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name may hold blanks and parentheses. */
	comm = strchr(text, '(');
	end = strrchr(text, ')');
	if (!comm || !end || end < comm)
		return false;
	memset(p, 0, sizeof(*p));
	p->pid = pid;
	*end = '\0';
	snprintf(p->comm, sizeof(p->comm), "%s", comm + 1);
	if (sscanf(end + 1, " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		   "%*d %*d %" SCNu64, &state, &p->ppid, &flags, &p->start) != 4)
		return false;
	p->ended = state == 'Z' || state == 'X';
	p->kernel = flags & PF_KTHREAD;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct running_process *p = a, *q = b;

	return p->pid < q->pid ? -1 : p->pid > q->pid;
}

int running__read(struct running *r)
{
	struct running_process *more;
	struct dirent *d;
	size_t max = 0;
	int err = 0;
	DIR *dir;

	*r = (struct running){ 0 };
	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (!err && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		if (r->nr == max) {
			max = max ? 2 * max : 256;
			more = reallocarray(r->all, max, sizeof(*more));
			if (!more) {
				err = -ENOMEM;
				break;
			}
			r->all = more;
		}
		r->nr += running__look(&r->all[r->nr], atoi(d->d_name));
	}
	closedir(dir);
	if (r->nr)
		qsort(r->all, r->nr, sizeof(*r->all), by_pid);
	return err;
}

void running__free(struct running *r)
{
	free(r->all);
	*r = (struct running){ 0 };
}

struct running_process *running__find(const struct running *r, pid_t pid)
{
	struct running_process key = { .pid = pid };

	return r->nr ? bsearch(&key, r->all, r->nr, sizeof(*r->all), by_pid) : NULL;
}

void running__choose_children(struct running *r, pid_t except)
{
	struct running_process *p, *parent, *self = running__find(r, except);
	bool more = true;

	if (self)
		self->chosen = false;
	/* Most parents come before their children, so few rounds are needed. */
	while (more) {
		more = false;
		for (p = r->all; p < r->all + r->nr; p++) {
			parent = p->chosen || p == self ? NULL : running__find(r, p->ppid);
			if (parent && parent->chosen)
				p->chosen = more = true;
		}
	}
}

const char *running__comm(pid_t pid, char comm[XPU_COMM_LEN])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, XPU_COMM_LEN, f))
		strcpy(comm, "?");
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	return comm;
}

bool running__is_kernel_thread(pid_t pid)
{
	struct running_process p;

	return running__look(&p, pid) && p.kernel;
}

bool running__is_there(const struct running_process *p)
{
	struct running_process now;

	return running__look(&now, p->pid) && now.start == p->start && !now.ended;
}

/* Return: the address of the first mapping of a library in a process; 0: none. */
static uint64_t address_of(pid_t pid, const char *library)
{
	char path[64], *line = NULL;
	uint64_t address = 0;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !address && getline(&line, &cap, f) > 0)
		if (strstr(line, library))
			address = strtoull(line, NULL, 16);
	free(line);
	if (f)
		fclose(f);
	return address;
}

bool running__inherits(pid_t pid, const char *library)
{
	uint64_t address = address_of(pid, library);
	struct running_process p;

	return address && running__look(&p, pid) && address_of(p.ppid, library) == address;
}
