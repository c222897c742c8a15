// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/shim_thread.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TASKS	4096		/* maximum number of threads to look at in a process */
/*
 * The shim's thread waits once in each round of its loop, for a tenth of a second at most, and also
 * for locks while it sends its last records. So it has had enough rounds after this many waits.
 */
#define TURN_WAITS	8
#define TURN_NS		1000000000ull

/*
 * Return: how often a thread has waited; -1 if there is no such thread, or if it has another
 * name
 */
static int64_t read_waits(pid_t pid, pid_t tid)
{
	static const char waits[] = "voluntary_ctxt_switches:";
	char path[64], line[256], name[32] = "";
	int64_t nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f) && sscanf(line, "Name: %31s", name) == 1 &&
	    !strcmp(name, "xpushim"))
		while (nr < 0 && fgets(line, sizeof(line), f))
			if (!strncmp(line, waits, strlen(waits)))
				nr = strtoll(line + strlen(waits), NULL, 10);
	fclose(f);
	return nr;
}

static void shim_thread__find(struct shim_thread *t, pid_t pid)
{
	struct dirent *d;
	int64_t nr_waits;
	char path[64];
	int nr = 0;
	DIR *dir;

	t->tid = -1;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && t->tid < 0 && nr++ < MAX_TASKS && (d = readdir(dir))) {
		nr_waits = read_waits(pid, atoi(d->d_name));
		if (nr_waits < 0)
			continue;
		t->tid = atoi(d->d_name);
		t->nr_waits = nr_waits;
	}
	if (dir)
		closedir(dir);
}

bool shim_thread__is_late(struct shim_thread *t, pid_t pid, uint64_t now_ns)
{
	int64_t nr_waits = -1;

	if (t->had_turns)
		return false;
	if (!t->tid)
		shim_thread__find(t, pid);
	if (t->tid > 0)
		nr_waits = read_waits(pid, t->tid);
	if (!t->ran_ns && (nr_waits < 0 || (uint64_t)nr_waits > t->nr_waits))
		t->ran_ns = now_ns;
	t->had_turns = t->ran_ns && now_ns - t->ran_ns >= TURN_NS &&
		       (nr_waits < 0 || (uint64_t)nr_waits >= t->nr_waits + TURN_WAITS);
	return !t->had_turns;
}
