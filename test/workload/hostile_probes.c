// SPDX-License-Identifier: MIT
/*
 * hostile_probes.c - a target that tries to harm its recorder
 *
 *	hostile_probes [-s SEED] [-d SECONDS] [-r MB_PER_SECOND] [-p PID] [-u UID]
 *
 * It has the shim loaded, as any target has, and calls the probe sites itself, at random: with
 * slots, logs and batches that are unmapped, cut off by the end of a page, changed by another
 * thread meanwhile, or full of nonsense; with IDs of other processes; with Python frames that form
 * cycles. It has threads whose stack pointer and thread pointer are invalid, processes that fork,
 * exec and exit, names and files with control characters, and many mappings.
 *
 *	-s	equal seeds give equal runs, apart from thread timing
 *	-r	the maximum rate into the ring buffer (20); 0: as much as it can
 *	-p	a process whose ID it often sends in place of its own IDs
 *	-u	becomes that user first (65534)
 *
 * It exits with status 0, even if some of its children have died.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xpu_record.h"
#include "xpu_slot.h"

#define PAGE		4096u
#define NR_PAGES	32u
#define NR_THREADS	3
#define NS		1000000000ull

typedef void (*site_fn)(const void *a, uint64_t b);

/*
 * Both sets of probe sites: for processes that xpuload starts, and for processes that it attaches
 * to.
 */
static const char *const site_names[] = {
	XPU_SITE_LAUNCH, XPU_SITE_LIVE_LAUNCH, XPU_SITE_LAUNCH, XPU_SITE_LIVE_LAUNCH,
	XPU_SITE_BATCH, XPU_SITE_LIVE_BATCH, XPU_SITE_LOG, XPU_SITE_LIVE_LOG, XPU_SITE_PATH,
	XPU_SITE_LIVE_PATH, XPU_SITE_RANGE, XPU_SITE_LIVE_RANGE, XPU_SITE_EARLY,
};

#define NR_SITES	(sizeof(site_names) / sizeof(site_names[0]))

static site_fn sites[NR_SITES];
static uint64_t end_ns;
static uint64_t bytes_per_s = 20 << 20;
static uint64_t nr_bytes;		/* bytes put into the ring by all threads, roughly */
static uint64_t begin_ns;
static unsigned int victim;
static volatile bool over;
static uint8_t *pages;			/* NR_PAGES mapped pages, and then as many unmapped ones */
static char program[4096];

struct prng {
	uint64_t state;
};

/* xorshift64 */
static uint64_t any(struct prng *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

static uint64_t below(struct prng *r, uint64_t n)
{
	return any(r) % n;
}

static bool one_in(struct prng *r, uint64_t n)
{
	return !below(r, n);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS + ts.tv_nsec;
}

/* Waits until the rate allows @bytes more in the ring buffer. */
static void spend(uint64_t bytes)
{
	uint64_t all = __atomic_add_fetch(&nr_bytes, bytes, __ATOMIC_RELAXED);
	struct timespec ms = { 0, 1000000 };

	while (bytes_per_s && !over && all > (now_ns() - begin_ns) / 1000 * bytes_per_s / 1000000)
		nanosleep(&ms, NULL);
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t odd_value(struct prng *r)
{
	static const uint64_t values[] = {
		0, 1, 2, 7, 8, 64, 127, 128, 129, 255, 256, 999, 1000, 1001, 4095, 4096, 65535,
		65536, XPU_BATCH_MAX, XPU_BATCH_MAX + 8, XPU_MAX_PATHS, XPU_MAX_PATHS + 1,
		0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff, 0x100000000, 0x7fffffffffff,
		0x800000000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffff888000000000,
		0xffffffff81000000, 0xfffffffffffffff8, 0xffffffffffffffff,
	};

	switch (below(r, 4)) {
	case 0:		return any(r);
	case 1:		return below(r, 64);
	case 2:		return victim;
	default:	return values[below(r, sizeof(values) / sizeof(values[0]))];
	}
}

/*
 * Return: an address to read from. Most of these addresses are mapped. The data at other addresses
 * is cut off by the end of a page, misaligned, unmapped, or in the kernel.
 */
static void *place(struct prng *r, size_t bytes)
{
	switch (below(r, 10)) {
	case 0:		return (void *)(uintptr_t)odd_value(r);
	case 1:		return pages + NR_PAGES * PAGE - below(r, bytes + 16);
	case 2:		return pages + below(r, NR_PAGES) * PAGE - below(r, bytes + 8);
	case 3:		return pages + below(r, NR_PAGES * PAGE - 8);
	case 4:		return pages + (NR_PAGES + below(r, NR_PAGES)) * PAGE;
	default:	return pages + below(r, (NR_PAGES - 18) * PAGE / 64) * 64;
	}
}

/* Return: whether this program can write @bytes at @at. */
static bool is_there(const void *at, size_t bytes)
{
	const uint8_t *p = at;

	return p >= pages && p <= pages + NR_PAGES * PAGE && bytes <= (size_t)(pages +
	       NR_PAGES * PAGE - p);
}

/* Changes some words of a record. */
static void spoil(struct prng *r, void *record, size_t bytes)
{
	unsigned int nr = below(r, 5);
	uint64_t value;
	size_t at;

	for (; nr; nr--) {
		value = odd_value(r);
		at = below(r, bytes / 4) * 4;
		memcpy((uint8_t *)record + at, &value, bytes - at < 8 ? 4 : 4u << below(r, 2));
	}
}

/* ---- data that goes through the probes ------------------------------------------------------- */

static void call_site(struct prng *r, unsigned int first, const void *a, uint64_t b, uint64_t bytes)
{
	site_fn fn = sites[first + below(r, 2)];

	spend(bytes);
	if (fn)
		fn(a, b);
}

static void send_slot(struct prng *r)
{
	struct xpu_slot slot = {
		.size = sizeof(slot),
		.correlation_id = 1 + below(r, 1000),
		.cbid = 307,
		.domain = 1,
		.flags = any(r),
		.path_id = one_in(r, 2) ? below(r, 100) : 0,
		.nr_frames = one_in(r, 2) ? below(r, 64) : 0,
		.frames = (uintptr_t)place(r, 512),
		.graph_node_id = one_in(r, 8) ? below(r, 50) : 0,
		.wait_start_ns = now_ns(),
		.wait_ns = one_in(r, 4) ? below(r, 1000000) : 0,
		.range_id = below(r, 8),
	};
	void *at = place(r, sizeof(slot));

	if (one_in(r, 3))
		slot.home = slot.log = (uintptr_t)place(r, 512);
	spoil(r, &slot, sizeof(slot));
	if (is_there(at, sizeof(slot)))
		memcpy(at, &slot, sizeof(slot));
	call_site(r, one_in(r, 6) ? 8 : 0, at, any(r), 2048);
}

static void send_log(struct prng *r)
{
	struct xpu_log log = {
		.size = XPU_LOG_BYTES,
		.tid = one_in(r, 2) ? victim : syscall(SYS_gettid),
		.id = below(r, 4),
		.tail = below(r, 1000),
		.range_id = below(r, 8),
	};
	void *at = place(r, XPU_LOG_BYTES);
	struct xpu_log_entry *e;
	unsigned int i;

	log.head = log.tail + below(r, XPU_LOG_ENTRIES + 2);
	spoil(r, &log, sizeof(log));
	if (is_there(at, XPU_LOG_BYTES)) {
		memcpy(at, &log, sizeof(log));
		e = (struct xpu_log_entry *)((uint8_t *)at + sizeof(log));
		for (i = 0; i < XPU_LOG_ENTRIES; i++) {
			struct xpu_log_entry entry = {
				now_ns(), below(r, 1000), below(r, 200),
			};

			if (one_in(r, 16))
				spoil(r, &entry, sizeof(entry));
			memcpy(e + i, &entry, sizeof(entry));
		}
	}
	call_site(r, 6, at, one_in(r, 2) ? 0 : one_in(r, 2) ? log.head : odd_value(r), 2200);
}

/* Writes one record to @to. Return: its length. */
static size_t put_record(struct prng *r, uint8_t *to, size_t room)
{
	static const char text[] = "\x1b]0;owned\x07\x1b[31m\xc2\x9b" "31m\nxpuload: all is well";
	struct xpu_record_message message = { .bytes = sizeof(text) };
	struct xpu_record hdr;		/* copied: @to may be at any address */
	size_t bytes = 16 + below(r, 16) * 8, i;

	if (bytes > room)
		return 0;
	for (i = 0; i < bytes; i += 8) {
		uint64_t word = one_in(r, 3) ? odd_value(r) : below(r, 100) << 32 | below(r, 100);

		memcpy(to + i, &word, 8);
	}
	hdr = (struct xpu_record){
		.type = one_in(r, 4) ? below(r, 100) : XPU_RECORD_STRING + below(r, 17),
		.misc = one_in(r, 2) ? 0 : any(r), .size = bytes,
	};
	memcpy(to, &hdr, sizeof(hdr));
	if (hdr.type == XPU_RECORD_MESSAGE && bytes >= 104) {
		message.hdr = hdr;
		message.hdr.misc = 1 + below(r, 2);
		memcpy(to, &message, sizeof(message));
		memcpy(to + sizeof(message), text, sizeof(text));
	}
	if (one_in(r, 30)) {
		memcpy(&hdr, to, sizeof(hdr));
		hdr.size = odd_value(r);
		memcpy(to, &hdr, sizeof(hdr));
	}
	return bytes;
}

static void send_batch(struct prng *r)
{
	size_t bytes = one_in(r, 20) ? XPU_BATCH_MAX : below(r, one_in(r, 4) ? 16384 : 1024) & ~7ul;
	uint8_t *at = place(r, bytes ? bytes : 8);
	uint64_t size = one_in(r, 10) ? odd_value(r) : bytes;
	struct xpu_record_counters counters = {
		.hdr = { XPU_RECORD_COUNTERS, any(r), sizeof(counters) }, .nr_batches = below(r, 9),
		.nr_launches = below(r, 100),
	};
	size_t used = 0, n;

	if (is_there(at, bytes) && bytes >= sizeof(counters)) {
		if (one_in(r, 8))
			spoil(r, &counters, sizeof(counters));
		/* xpuload reads counters, and a message after them, only at a batch's start. */
		if (one_in(r, 2)) {
			memcpy(at, &counters, sizeof(counters));
			used = sizeof(counters);
		}
		for (; (n = put_record(r, at + used, bytes - used)); used += n)
			;
		memset(at + used, 0, bytes - used);
	}
	if (one_in(r, 8))
		call_site(r, 10, at, size, size <= XPU_BATCH_MAX ? 16384 : 0);
	else
		call_site(r, 4, at, size, size <= 960 ? 1024 : size <= 16300 ? 16384 : 65536);
}

/*
 * Sends a PYTHON record that makes an unwinder go in circles: most pointers lead back to the start
 * of one page.
 */
static void send_python(struct prng *r)
{
	struct xpu_record_python p = {
		.hdr = { XPU_RECORD_PYTHON, 0, sizeof(p) },
		.python = {
			.minor = 8 + below(r, 6), .has_cframe = below(r, 2), .runtime_main = 8,
			.interp_threads = 16, .ts_thread_id = 24, .ts_frame = 32, .ts_cframe = 40,
			.cframe_frame = 0, .cframe_previous = 8, .f_code = 0, .f_previous = 8,
			.f_instr = 16, .f_entry = 24, .f_owner = 25, .co_name = 0, .co_filename = 8,
			.co_firstlineno = 16, .co_linetable = 24, .co_code = 32, .co_bytes = 64,
			.ascii_bytes = 40, .compact_bytes = 56,
		},
	};
	uint64_t *at = (uint64_t *)(pages + below(r, NR_PAGES - 1) * PAGE);
	unsigned int i;

	for (i = 0; i < PAGE / 8; i++)
		at[i] = one_in(r, 8) ? odd_value(r) : (uintptr_t)at + below(r, 64) * 8;
	at[3] = (uintptr_t)pthread_self();
	p.python.runtime = p.python.code_type = p.python.unicode_type = (uintptr_t)at;
	spoil(r, &p, sizeof(p));
	p.hdr = (struct xpu_record){ XPU_RECORD_PYTHON, 0, sizeof(p) };
	memcpy(at + PAGE / 16, &p, sizeof(p));
	call_site(r, 4, at + PAGE / 16, sizeof(p), 1024);
}

/* ---- registers ------------------------------------------------------------------------------- */

/* Runs for some 20 ms with invalid stack and thread pointers, so that samples hit it. */
static void run_nowhere(struct prng *r)
{
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	uint64_t sp = one_in(r, 2) ? odd_value(r) : (uintptr_t)place(r, 64);
	uint64_t fs = one_in(r, 2) ? odd_value(r) : (uintptr_t)place(r, 64);
	uint64_t own_fs, steps = 20000000;
	sigset_t all, old;

	/*
	 * The kernel refuses other values of fs, and the processor refuses a stack pointer that is
	 * not a canonical address.
	 */
	fs &= 0x7fffffffffff;
	sp = (int64_t)(sp << 16) >> 16;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	__asm__ volatile("mov %%fs:0, %0" : "=r"(own_fs));
	__asm__ volatile(
		"mov %%rsp, %%r12\n\t"
		"mov %%rbp, %%r13\n\t"
		"mov %[own], %%r14\n\t"
		"mov $158, %%eax\n\t"		/* arch_prctl(ARCH_SET_FS, fs) */
		"mov $0x1002, %%edi\n\t"
		"mov %[fs], %%rsi\n\t"
		"syscall\n\t"
		"mov %[sp], %%rsp\n\t"
		"mov %[sp], %%rbp\n"
		"1:\n\t"
		"dec %[steps]\n\t"
		"jnz 1b\n\t"
		"mov %%r12, %%rsp\n\t"
		"mov %%r13, %%rbp\n\t"
		"mov $158, %%eax\n\t"
		"mov $0x1002, %%edi\n\t"
		"mov %%r14, %%rsi\n\t"
		"syscall\n\t"
		: [steps] "+b"(steps)
		: [sp] "r"(sp), [fs] "r"(fs), [own] "r"(own_fs)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r11", "r12", "r13", "r14", "memory", "cc");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
#else
	(void)r;
#endif
}

/* ---- processes, threads, names, files -------------------------------------------------------- */

static void *short_life(void *arg)
{
	struct prng r = { (uintptr_t)arg };

	send_slot(&r);
	send_log(&r);
	if (one_in(&r, 2))
		syscall(SYS_exit, 0);		/* no destructor runs */
	return NULL;
}

static void make_threads(struct prng *r)
{
	pthread_attr_t attr;
	pthread_t thread;
	unsigned int i;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (i = 0; i < 4; i++)
		if (pthread_create(&thread, &attr, short_life, (void *)(uintptr_t)(any(r) | 1)))
			break;
	pthread_attr_destroy(&attr);
}

/* Acts as a child, which may lack the page of a uprobe trampoline that its code calls. */
static void child(struct prng *r)
{
	char seed[32];
	int i;

	alarm(2);
	for (i = 0; i < 4; i++) {
		send_slot(r);
		send_batch(r);
	}
	if (one_in(r, 2)) {
		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)any(r) >> 1);
		execl(program, one_in(r, 2) ? "\x1b[2J" : "", "-x", seed, NULL);
	}
	if (one_in(r, 4))
		kill(getpid(), SIGKILL);
	_exit(0);
}

static void make_processes(struct prng *r)
{
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++) {
		struct prng own = { any(r) | 1 };

		pids[i] = fork();
		if (!pids[i])
			child(&own);
	}
	for (i = 0; i < 4; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
}

static void rename_self(struct prng *r)
{
	static const unsigned char odd[] = "\x1b\n;\r\t\x7f\x9b";
	char name[16];
	unsigned int i;

	for (i = 0; i < sizeof(name) - 1; i++)
		name[i] = (char)(one_in(r, 3) ? odd[below(r, sizeof(odd) - 1)] : 1 + below(r, 255));
	name[i] = 0;
	prctl(PR_SET_NAME, name);
}

/* Maps executable files with strange, long names, and unlinks them. */
static void map_files(struct prng *r)
{
	static const char *const names[] = {
		"new\nline", "\x1b[31mred", "\xc2\x9b" "31m", "a;b c", "x (deleted)", "\xff\xfe",
		"perf-1.map", "libpython3.12.so", "python3", "libxpushim.so", "[vdso]", "..",
	};
	const char *name = names[below(r, sizeof(names) / sizeof(names[0]))];
	int self = open(program, O_RDONLY | O_CLOEXEC), fd, i;
	static __thread char buf[65536];
	char path[128];
	ssize_t n;
	void *map;

	if (one_in(r, 3)) {
		fd = memfd_create(name, MFD_CLOEXEC);
		path[0] = 0;
	} else {
		snprintf(path, sizeof(path), "/tmp/hostile.%d.%s", getpid(), name);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
	}
	/* The files begin with this program, so they have a build-id; half of them are damaged. */
	n = self < 0 ? 0 : read(self, buf, sizeof(buf));
	if (n > 1024 && one_in(r, 2))
		spoil(r, buf + below(r, 1024), 512);
	if (fd >= 0 && n > 0 && write(fd, buf, n) == n &&
	    !ftruncate(fd, one_in(r, 2) ? (off_t)64 << 20 : n)) {
		for (i = 0; i < 3; i++) {
			map = mmap(NULL, PAGE * (1 + below(r, 4)), PROT_READ | PROT_EXEC,
				   MAP_PRIVATE, fd, below(r, 3) * PAGE);
			if (map != MAP_FAILED)
				munmap(map, PAGE);
		}
	}
	if (path[0] && fd >= 0)
		unlink(path);
	if (fd >= 0)
		close(fd);
	if (self >= 0)
		close(self);
}

/* Maps the same addresses again and again, with a file or without one. */
static void map_much(struct prng *r)
{
	void *at = mmap(NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int self = open(program, O_RDONLY | O_CLOEXEC), i;

	for (i = 0; i < 1000 && at != MAP_FAILED; i++)
		mmap((uint8_t *)at + below(r, 60) * PAGE, PAGE * (1 + below(r, 4)),
		     PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | MAP_FIXED | (i & 1 ? MAP_ANONYMOUS : 0), i & 1 ? -1 : self, 0);
	if (at != MAP_FAILED)
		munmap(at, 64 * PAGE);
	if (self >= 0)
		close(self);
}

/* ---- threads of this program ----------------------------------------------------------------- */

static void act(struct prng *r)
{
	unsigned int what = below(r, 1000);

	if (what < 350)
		send_slot(r);
	else if (what < 600)
		send_log(r);
	else if (what < 930)
		send_batch(r);
	else if (what < 945)
		send_python(r);
	else if (what < 955)
		make_threads(r);
	else if (what < 970)
		rename_self(r);
	else if (what < 985)
		map_files(r);
	else if (what < 990)
		map_much(r);
	else if (what < 992)
		run_nowhere(r);
	else if (what < 996)
		madvise(pages + below(r, NR_PAGES) * PAGE, PAGE, MADV_DONTNEED);
	else if (what < 998)
		make_processes(r);
}

static void *worker(void *arg)
{
	struct prng r = { (uintptr_t)arg };

	while (!over)
		act(&r);
	return NULL;
}

/* Changes the data of the other threads while these data are read. */
static void *scribbler(void *arg)
{
	struct prng r = { (uintptr_t)arg };
	struct timespec us = { 0, 50000 };
	volatile uint64_t *at;

	while (!over) {
		at = (volatile uint64_t *)(pages + below(&r, NR_PAGES * PAGE / 8) * 8);
		*at = odd_value(&r);
		if (one_in(&r, 16))
			nanosleep(&us, NULL);
	}
	return NULL;
}

static void find_sites(void)
{
	bool found = false;
	unsigned int i;

	for (i = 0; i < NR_SITES; i++) {
		*(void **)&sites[i] = dlsym(RTLD_DEFAULT, site_names[i]);
		found |= sites[i] != NULL;
	}
	if (!found) {
		fputs("hostile: no probe sites: is the shim loaded?\n", stderr);
		exit(2);
	}
}

static void become(unsigned int uid)
{
	if (!geteuid() && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) {
		perror("hostile: setresuid");
		exit(2);
	}
	prctl(PR_SET_DUMPABLE, 1);	/* setuid() has cleared it */
}

static void allocate(void)
{
	pages = mmap(NULL, 2 * NR_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + NR_PAGES * PAGE, NR_PAGES * PAGE, PROT_NONE)) {
		perror("hostile: mmap");
		exit(2);
	}
}

static uint64_t number(const char *s)
{
	char *end;
	uint64_t value = strtoull(s, &end, 0);

	if (*end || !*s) {
		fprintf(stderr, "hostile: %s is not a number\n", s);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS + 1];
	struct timespec tenth = { 0, 100000000 };
	uint64_t seed = 1, seconds = 10;
	unsigned int uid = 65534, i;
	bool brief = false;
	int opt;

	while ((opt = getopt(argc, argv, "s:d:r:p:u:x:")) != -1) {
		switch (opt) {
		case 's':	seed = number(optarg); break;
		case 'd':	seconds = number(optarg); break;
		case 'r':	bytes_per_s = number(optarg) << 20; break;
		case 'p':	victim = number(optarg); break;
		case 'u':	uid = number(optarg); break;
		case 'x':	seed = number(optarg); brief = true; break;
		default:	return 2;
		}
	}
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return 2;
	find_sites();
	become(uid);
	allocate();
	begin_ns = now_ns();
	end_ns = begin_ns + seconds * NS;
	if (brief) {				/* a child, after its exec */
		struct prng r = { seed | 1 };

		alarm(2);
		for (i = 0; i < 8; i++) {
			send_slot(&r);
			send_log(&r);
			send_batch(&r);
		}
		return 0;
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(
			&threads[i], NULL, worker,
			(void *)(uintptr_t)((seed * 31 + i + 1) * 0x9e3779b97f4a7c15ull | 1));
	pthread_create(&threads[i], NULL, scribbler, (void *)(uintptr_t)(seed * 77 + 1));
	while (now_ns() < end_ns)
		nanosleep(&tenth, NULL);
	over = true;
	for (i = 0; i <= NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("hostile: seed %llu, %llu MB\n", (unsigned long long)seed,
	       (unsigned long long)nr_bytes >> 20);
	return 0;
}
