// SPDX-License-Identifier: MIT
/*
 * Sends data that a hostile process may send through the shim's probe sites:
 *
 *	hostile WHAT [N]
 *
 *	paths	N launches, each from its own path of 500 frames
 *	entries	N log entries that no shim makes, and N entries of undefined paths
 *	numbers	N children in turn, whose only path has the highest number
 *	unread	N slots and N batches that cannot be read
 *	batches	N batches of 64 KB, as fast as possible
 *	says	N messages for the user, with terminal control characters
 *	map FILE	maps FILE, executable, and unlinks it; then waits for a line
 *
 * It needs the shim preloaded, and uses the probe sites for attached processes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../record/xpu_record.h"
#include "../../bpf/xpu_slot.h"

typedef void (*site_fn)(const void *, unsigned long);

static site_fn launch_site, batch_site, log_site;

static site_fn find(const char *name)
{
	site_fn fn = (site_fn)(uintptr_t)dlsym(RTLD_DEFAULT, name);

	if (fn)
		return fn;
	fprintf(stderr, "hostile: no %s: preload the shim\n", name);
	exit(99);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static struct xpu_slot slot_of(uint32_t id, const uint64_t *frames, uint32_t nr)
{
	return (struct xpu_slot){
		.size = sizeof(struct xpu_slot), .correlation_id = id, .cbid = 307, .domain = 2,
		.nr_frames = nr, .frames = (uintptr_t)frames, .time_ns = now_ns(),
	};
}

static void send_paths(long n)
{
	static uint64_t frames[500];
	struct xpu_slot slot;
	long i;

	for (i = 0; i < 500; i++)
		frames[i] = 0x400000 + 16 * i;
	for (i = 0; i < n; i++) {
		frames[i % 500] += 1 + i % 3;
		slot = slot_of(i + 1, frames, 500);
		launch_site(&slot, 0);
	}
}

static void send_entries(long n)
{
	static uint64_t memory[XPU_LOG_BYTES / 8];
	struct xpu_log *log = (struct xpu_log *)memory;
	struct xpu_log_entry *e;
	long i;

	log->size = XPU_LOG_BYTES;
	log->tid = syscall(SYS_gettid);
	log->id = 4711;
	for (i = 0; i < 2 * n; i++) {
		log->head = i + 1;
		log->tail = i;
		e = &log->entries[i % XPU_LOG_ENTRIES];
		e->time = now_ns();
		e->correlation_id = i + 1;
		e->path_id = i >= n ? 1000 + i : i % 2 ? 0 : XPU_LOG_RANGE;
		log_site(log, log->head);
	}
}

static void send_number(void)
{
	static uint64_t frames[3] = { 0x400000, 0x400100, 0x400200 };
	struct xpu_slot slot = slot_of(1, frames, 3);

	slot.path_id = XPU_MAX_PATHS;
	launch_site(&slot, 0);
}

static void send_numbers(long n)
{
	pid_t pid;

	for (; n > 0; n--) {
		pid = fork();
		if (!pid) {
			send_number();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			exit(98);
	}
}

static void send_unread(long n)
{
	struct xpu_slot slot = slot_of(1, NULL, 0);

	slot.size = 1;
	for (; n > 0; n--) {
		launch_site(&slot, 0);
		batch_site((const void *)(uintptr_t)(4096 + 8), 64);
	}
}

/* Sends batches that begin with false values of the shim's counters. */
static void send_batches(long n, const char *text)
{
	static uint64_t memory[XPU_BATCH_MAX / 8];
	struct xpu_record_counters *c = (struct xpu_record_counters *)memory;
	struct xpu_record_message *m = (struct xpu_record_message *)(c + 1);
	size_t rest = sizeof(memory) - sizeof(*c);

	*c = (struct xpu_record_counters){
		.hdr = { XPU_RECORD_COUNTERS, 0, sizeof(*c) }, .nr_launches = UINT64_MAX,
		.nr_batches = UINT64_MAX,
	};
	m->hdr = (struct xpu_record){ XPU_RECORD_MESSAGE, XPU_MESSAGE_WARNING, rest };
	if (text) {
		rest = (sizeof(*m) + strlen(text) + 8) & ~7ul;
		m->hdr.size = rest;
		m->bytes = strlen(text) + 1;
		strcpy(m->data, text);
	} else {
		m->hdr.type = 0xffff;
	}
	for (; n > 0; n--)
		batch_site(memory, sizeof(*c) + rest);
}

static int map_and_unlink(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char line[16];
	void *p;

	if (fd < 0 || fstat(fd, &st))
		return 97;
	p = mmap(NULL, st.st_size < 1 << 20 ? st.st_size : 1 << 20, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return 96;
	unlink(path);
	puts("ready");
	fflush(stdout);
	return read(0, line, sizeof(line)) < 0 ? 95 : 0;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "map") && argc > 2)
		return map_and_unlink(argv[2]);
	launch_site = find(XPU_SITE_LIVE_LAUNCH);
	batch_site = find(XPU_SITE_LIVE_BATCH);
	log_site = find(XPU_SITE_LIVE_LOG);
	if (!strcmp(what, "paths"))
		send_paths(n);
	else if (!strcmp(what, "entries"))
		send_entries(n);
	else if (!strcmp(what, "numbers"))
		send_numbers(n);
	else if (!strcmp(what, "unread"))
		send_unread(n);
	else if (!strcmp(what, "batches"))
		send_batches(n, NULL);
	else if (!strcmp(what, "says"))
		send_batches(n, "\x1b]0;title\x07 \xc2\x9b" "31m \x9b" "31m \xe2\x80\xae end\n");
	else
		return 94;
	return 0;
}
