// SPDX-License-Identifier: MIT
#include "base/all_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/libc.h"
#include "base/number.h"

#define LOOK_PAUSE_NS	2000000
#define NR_ASLEEP	3	/* how many times a thread must be found asleep: a single sleep may
				 * be a wait for a lock or a page */
#define MOVED_NS	5000000	/* a thread that has used this much CPU time has moved; even the
				 * first callback takes less time */
#define BLIND_PAUSE_NS	20000000	/* how long to wait if threads cannot be listed */

struct other {
	pid_t tid;
	uint64_t cpu_ns;
	int nr_asleep;		/* how many times the thread was found asleep */
};

static void pause_ns(long ns)
{
	const struct timespec ts = { 0, ns };

	nanosleep(&ts, NULL);
}

/* Return: the CPU time of a thread of this process; UINT64_MAX if it has ended. */
static uint64_t cpu_time(pid_t tid)
{
	/* Linux's number for the CPU time clock of the thread @tid. */
	clockid_t clock = ~(uint32_t)tid << 3 | 6;
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return UINT64_MAX;
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Whether the thread neither runs nor waits for a CPU. */
static bool is_asleep(pid_t tid)
{
	char path[64], text[256];
	const char *name_end;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] != 'R';
}

static bool other__has_moved(struct other *o)
{
	uint64_t now = cpu_time(o->tid);

	if (now == UINT64_MAX || now - o->cpu_ns >= MOVED_NS)
		return true;
	o->nr_asleep += is_asleep(o->tid);
	return o->nr_asleep >= NR_ASLEEP;
}

/* Lists the other threads. Return: their number, or -errno. */
static int others__list(struct other **others)
{
	struct other *v = NULL, *larger;
	int nr = 0, room = 0, err = 0;
	struct dirent *entry;
	unsigned int tid;
	const char *name;
	DIR *dir;

	dir = opendir("/proc/self/task");
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		name = entry->d_name;
		if (!number__read(&name, &tid) || tid == (unsigned int)libc__tid())
			continue;	/* "." and "..", or this thread */
		if (nr == room) {
			room = room ? 2 * room : 64;
			larger = realloc(v, room * sizeof(*v));
			if (!larger) {
				err = -ENOMEM;
				break;
			}
			v = larger;
		}
		v[nr++] = (struct other){ .tid = tid, .cpu_ns = cpu_time(tid) };
	}
	closedir(dir);
	if (err) {
		free(v);
		return err;
	}
	*others = v;
	return nr;
}

int all_threads__wait_moved(uint64_t timeout_ns)
{
	uint64_t end = clock__ns() + timeout_ns;
	struct other *others = NULL;
	int i, nr, nr_left;

	nr = others__list(&others);
	if (nr < 0) {
		pause_ns(BLIND_PAUSE_NS);
		return nr;
	}
	while (nr && clock__ns() < end) {
		pause_ns(LOOK_PAUSE_NS);
		for (i = nr_left = 0; i < nr; i++)
			if (!other__has_moved(&others[i]))
				others[nr_left++] = others[i];
		nr = nr_left;
	}
	free(others);
	return nr;
}

/* linux/membarrier.h; private barriers exist since Linux 4.14. */
#define BARRIER_PRIVATE			(1 << 3)
#define BARRIER_REGISTER_PRIVATE	(1 << 4)

void all_threads__barrier(void)
{
	static atomic_bool is_registered;

	if (!atomic_load(&is_registered))
		atomic_store(&is_registered, !syscall(SYS_membarrier, BARRIER_REGISTER_PRIVATE, 0));
	if (syscall(SYS_membarrier, BARRIER_PRIVATE, 0))
		all_threads__wait_moved(BLIND_PAUSE_NS);	/* seccomp forbids the barrier, or
								 * Linux is too old */
}

static pthread_key_t end_key;
static bool have_end_key;
static void (*at_end)(void);

/*
 * Handles the end of a watched thread. @arg: the process that the thread belonged to when it was
 * first watched. A child that was made by a bare system call has not run the fork handlers. It has
 * its parent's thread memory, partly shared, and must leave that memory alone.
 */
static void ends(void *arg)
{
	if ((pid_t)(uintptr_t)arg == getpid())
		at_end();
}

void all_threads__call_at_end(void (*fn)(void))
{
	at_end = fn;
	have_end_key = !pthread_key_create(&end_key, ends);
}

bool all_threads__watch_end(void)
{
	void *process = (void *)(uintptr_t)getpid();

	return have_end_key && !pthread_setspecific(end_key, process);
}
