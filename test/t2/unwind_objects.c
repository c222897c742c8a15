// SPDX-License-Identifier: MIT
/*
 * The table of loaded objects, which replaces _dl_find_object() before glibc 2.35: what it finds,
 * when it is rebuilt, and whether its answers are always current while libraries are loaded and
 * unloaded.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launch/cfi.h"
#include "launch/generation.h"
#include "launch/objects.h"
#include "tap.h"

#define NR_FAKES	5000		/* more than fit into the table */
#define FAKE_BYTES	0x1000
#define NR_LOADS	1000

/* This program defines the function, so the table is used with any C library. */
int _dl_find_object(void *pc, struct dl_find_object *result)
{
	(void)pc;
	(void)result;
	return -1;
}

void launch(void);
void launch(void)			/* called by plug-ins when they are loaded */
{
}

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer sees the loader's memory, but not its lock. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:ld-linux";
}
#endif

typedef int phdr_fn(struct dl_phdr_info *info, size_t size, void *data);

static atomic_int nr_iterations;
static bool with_fakes;

static uint64_t fake_address(int i)
{
	/* Descending addresses, so that the table must be sorted. */
	return 0x100000000ull + (uint64_t)(NR_FAKES - i) * 4 * FAKE_BYTES;
}

static int add_fakes(phdr_fn *f, void *data)
{
	ElfW(Phdr) phdrs[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = FAKE_BYTES },
		{ .p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x10 },
	};
	struct dl_phdr_info info = { .dlpi_name = "fake", .dlpi_phdr = phdrs, .dlpi_phnum = 2 };
	int i, ret = 0;

	for (i = 0; i < NR_FAKES && !ret; i++) {
		info.dlpi_addr = fake_address(i);
		ret = f(&info, sizeof(info), data);
	}
	return ret;
}

/* Sanitizer runtimes call this function before they are initialized. */
__attribute__((no_sanitize("thread", "address"))) int dl_iterate_phdr(phdr_fn *f, void *data)
{
	static int (*real)(phdr_fn *f, void *data);
	int ret;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	atomic_fetch_add(&nr_iterations, 1);
	ret = real(f, data);
	return !ret && with_fakes ? add_fakes(f, data) : ret;
}

/* ---- what is found --------------------------------------------------------------------------- */

struct comparison {
	int nr, nr_wrong;
};

/* Looks up the first and the last byte of each object's code, and the bytes next to them. */
static int compare_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct comparison *c = data;
	uint64_t hdr = 0, start = UINT64_MAX, end = 0, at;
	struct object o;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_GNU_EH_FRAME)
			hdr = at;
		if (p->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + p->p_memsz > end ? at + p->p_memsz : end;
	}
	for (i = 0; hdr && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		at = info->dlpi_addr + p->p_vaddr;
		c->nr++;
		c->nr_wrong += !objects__find(at, &o) || o.start != start || o.end != end ||
			       o.eh_frame_hdr != hdr;
		c->nr_wrong += !objects__find(at + p->p_memsz - 1, &o) || o.eh_frame_hdr != hdr;
		c->nr_wrong += objects__find(at - 1, &o) && o.eh_frame_hdr == hdr;
		c->nr_wrong += objects__find(at + p->p_memsz, &o) && o.eh_frame_hdr == hdr;
	}
	return 0;
}

static void test_finding(void)
{
	struct comparison c = { 0, 0 };
	struct object o;
	int before;

	dl_iterate_phdr(compare_object, &c);
	note("%d stretches of code", c.nr);
	ok(c.nr >= 3, "the program, the loader and the libraries are found");
	is_int(c.nr_wrong, 0,
	       "all code of the program and the libraries is found, and no other memory");
	ok(!objects__find(0, &o) && !objects__find(UINT64_MAX, &o) &&
	   !objects__find((uintptr_t)&c, &o), "addresses outside of code are not found");

	before = nr_iterations;
	objects__find((uintptr_t)test_finding, &o);
	objects__find((uintptr_t)strlen, &o);
	objects__find(1, &o);
	is_int(nr_iterations, before, "while nothing is loaded, the loader is not asked again");
}

static void *load(const char *name, uint64_t *work)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;
	void *handle;

	path[len < 0 ? 0 : len] = 0;
	slash = strstr(path, "/test/t2/");
	if (!slash)
		return NULL;
	snprintf(slash, sizeof(path) - (size_t)(slash - path), "/workload/%s", name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*work = handle ? (uintptr_t)dlsym(handle, "plugin_work") : 0;
	return handle;
}

static void test_unloading(void)
{
	struct object a, b;
	uint64_t work_a, work_b;
	void *handle;
	bool found;
	int before;

	handle = load("stacks_a.so", &work_a);
	ok(handle && objects__find(work_a, &a) && work_a - a.start < a.end - a.start,
	   "a plug-in is found when it was loaded");
	if (!handle)
		return;
	before = nr_iterations;
	objects__find(work_a, &a);
	is_int(nr_iterations, before, "the table that has the plug-in is kept");
	dlclose(handle);
	found = objects__find(work_a, &a);
	ok(!found, "a plug-in is not found after it was unloaded");
	handle = load("stacks_b.so", &work_b);
	ok(handle && objects__find(work_b, &b), "another plug-in is found");
	if (handle)
		dlclose(handle);
	ok(!objects__find(work_b, &b), "another plug-in is not found after it was unloaded");
}

static void test_too_many(void)
{
	int i, nr_found = 0, before;
	struct object o;
	uint64_t work;
	void *handle;

	with_fakes = true;
	handle = load("stacks_a.so", &work);
	for (i = 0; i < NR_FAKES; i += 7)
		nr_found += objects__find(fake_address(i) + FAKE_BYTES - 1, &o) &&
			    o.start == fake_address(i) && !objects__find(fake_address(i) - 1, &o);
	is_int(nr_found, (NR_FAKES + 6) / 7, "more objects than fit into the table are found");
	ok(objects__find((uintptr_t)test_too_many, &o), "the program is found, too");
	before = nr_iterations;
	objects__find((uintptr_t)test_too_many, &o);
	is_int(nr_iterations, before, "objects in the table are found without the loader");
	with_fakes = false;
	if (handle)
		dlclose(handle);
	ok(!objects__find(fake_address(NR_FAKES - 1), &o), "the next table has no such object");
}

/* ---- while libraries come and go ------------------------------------------------------------- */

static atomic_bool over;
static atomic_int nr_done;		/* threads that have loaded the library often enough */
static atomic_long nr_looked_up, nr_wrong;

/* At all times, look-ups of code in this program and in the C library find the same objects. */
static void look_up(void)
{
	static const struct object *expected[2];
	static struct object own, libc;
	struct cfi_row row;
	struct object o;
	int i;

	if (!expected[0]) {
		objects__find((uintptr_t)look_up, &own);
		objects__find((uintptr_t)strtoul, &libc);
		expected[0] = &own;
		expected[1] = &libc;
	}
	for (i = 0; i < 2; i++) {
		uint64_t pc = i ? (uintptr_t)strtoul : (uintptr_t)look_up;

		if (!objects__find(pc, &o) || o.start != expected[i]->start ||
		    o.end != expected[i]->end || o.eh_frame_hdr != expected[i]->eh_frame_hdr)
			atomic_fetch_add(&nr_wrong, 1);
		if (cfi__find(pc, &row) || row.start != pc)
			atomic_fetch_add(&nr_wrong, 1);
		atomic_fetch_add(&nr_looked_up, 1);
	}
}

static void on_signal(int sig)
{
	(void)sig;
	look_up();
}

static void *keep_looking(void *arg)
{
	while (!over)
		look_up();
	return arg;
}

static void *keep_loading(void *arg)
{
	const char *name = arg;
	struct object o;
	uint64_t work;
	void *handle;
	int i;

	for (i = 0; i < NR_LOADS; i++) {
		handle = load(name, &work);
		/* While this thread has the library open, every thread can find it. */
		if (!handle || !objects__find(work, &o) || work - o.start >= o.end - o.start)
			atomic_fetch_add(&nr_wrong, 1);
		if (handle)
			dlclose(handle);
	}
	atomic_fetch_add(&nr_done, 1);
	return NULL;
}

static void test_storm(void)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const struct timespec pause = { 0, 20000 };
	static char a[] = "stacks_a.so", b[] = "stacks_b.so";
	pthread_t looking[2], loading[2];
	int i;

	look_up();
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(&looking[i], NULL, keep_looking, NULL);
	pthread_create(&loading[0], NULL, keep_loading, a);
	pthread_create(&loading[1], NULL, keep_loading, b);
	/* Signals interrupt look-ups and rebuilding of the table. */
	while (nr_done < 2) {
		for (i = 0; i < 2; i++)
			pthread_kill(looking[i], SIGUSR1);
		nanosleep(&pause, NULL);
	}
	for (i = 0; i < 2; i++)
		pthread_join(loading[i], NULL);
	over = true;
	for (i = 0; i < 2; i++)
		pthread_join(looking[i], NULL);
	note("%ld look-ups, tables or searches: %d", atomic_load(&nr_looked_up),
	     atomic_load(&nr_iterations));
	ok(nr_looked_up > 1000,
	   "look-ups succeed while two threads load and unload and signals interrupt them");
	is_int(nr_wrong, 0, "all of these look-ups are right");
}

int main(void)
{
	if (!generation__find() || !objects__init())
		skip_all("this C library is unknown");
	test_finding();
	test_unloading();
	test_too_many();
	test_storm();
	return done_testing();
}
