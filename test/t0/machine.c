// SPDX-License-Identifier: GPL-3.0-or-later
/* Processes, names and maps over time: what an address referred to at the time of a launch. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gen.h"
#include "model/machine.h"
#include "read/reader.h"
#include "tap.h"

struct fixture {
	struct gen g;
	struct reader r;
	struct strpool strings;
	struct machine m;
};

static void fixture__begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	gen__header(&f->g);
}

/* Reads the generated records into a machine. */
static void fixture__read(struct fixture *f)
{
	const struct xpu_record *rec;
	struct record_iter it;

	machine__init(&f->m, &f->strings);
	if (reader__open_mem(&f->r, f->g.v, f->g.nr, "test"))
		bail("the generated recording is not readable");
	reader__rewind(&f->r, &it);
	while ((rec = record_iter__next(&it))) {
		if (rec->type == XPU_RECORD_PROCESS)
			machine__add_process(&f->m, (const void *)rec);
		else if (rec->type == XPU_RECORD_PROCESS_EXIT)
			machine__add_process_exit(&f->m, (const void *)rec);
		else
			machine__add_event(&f->m, rec);
	}
	is_int(machine__finish(&f->m), 0, "events are sorted by time");
}

static void fixture__end(struct fixture *f)
{
	machine__exit(&f->m);
	strpool__free(&f->strings);
	gen__free(&f->g);
}

/* Return: file and offset of @addr, as "name+0x10"; "" if nothing is mapped there. */
static const char *at(struct fixture *f, uint32_t pid, uint64_t time_ns, uint64_t addr)
{
	struct image *image = machine__image(&f->m, pid, time_ns);
	struct map *map = NULL;

	if (image)
		map = image__find_map(image, image__epoch(image, time_ns), addr);
	if (!map)
		return "";
	return strpool__internf(&f->strings, "%s+0x%llx", map->rec->filename,
				(unsigned long long)(addr - map->start + map->pgoff));
}

static uint32_t nr_epochs(struct fixture *f, uint32_t pid)
{
	return machine__image(&f->m, pid, UINT64_MAX)->epochs.nr;
}

static void test_lookup(void)
{
	struct fixture f;

	fixture__begin(&f);
	/* Mappings that are sorted neither by time nor by address. */
	gen__mmap(&f.g, 30, 1, 0x9000, 0x1000, 0, "c", NULL, 0);
	gen__mmap(&f.g, 10, 1, 0x5000, 0x2000, 0x100, "a", NULL, 0);
	gen__mmap(&f.g, 20, 1, 0x7000, 0x1000, 0, "b", NULL, 0);
	gen__mmap(&f.g, 20, 2, 0x5000, 0x1000, 0, "other", NULL, 0);
	fixture__read(&f);
	is_str(at(&f, 1, 99, 0x5000), "a+0x100", "the first byte of a map is in its file");
	is_str(at(&f, 1, 99, 0x6fff), "a+0x20ff", "the last byte of a map is in its file");
	is_str(at(&f, 1, 99, 0x7000), "b+0x0",
	       "the first byte of the next map is in the next file");
	is_str(at(&f, 1, 99, 0x4fff), "", "an address below all maps has no file");
	is_str(at(&f, 1, 99, 0x8000), "", "an address between maps has no file");
	is_str(at(&f, 1, 99, 0xa000), "", "an address above all maps has no file");
	is_str(at(&f, 2, 99, 0x5000), "other+0x0",
	       "an equal address in another process has that process's file");
	is_str(at(&f, 3, 99, 0x5000), "", "an address in an unknown process has no file");
	is_int(nr_epochs(&f, 1), 0, "maps that do not overlap are not a remap");
	fixture__end(&f);

	/* Each CPU has its own buffer, so a later event may be read first. */
	fixture__begin(&f);
	gen__mmap(&f.g, 200, 1, 0x1000, 0x1000, 0, "new", NULL, 0);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "old", NULL, 0);
	fixture__read(&f);
	is_str(at(&f, 1, 150, 0x1000), "old+0x0",
	       "at the earlier time the earlier mapping counts, although it is read later");
	is_str(at(&f, 1, 250, 0x1000), "new+0x0",
	       "at the later time the later mapping counts, although it is read first");
	fixture__end(&f);
}

static void test_remap(void)
{
	struct fixture f;

	/* dlclose() and dlopen(): since time 200, another file is at this address. */
	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x4000, 0, "old", NULL, 0);
	gen__mmap(&f.g, 200, 1, 0x2000, 0x1000, 0x500, "new", NULL, 0);
	gen__mmap(&f.g, 250, 1, 0x9000, 0x1000, 0, "late", NULL, 0);
	fixture__read(&f);
	is_int(nr_epochs(&f, 1), 1, "a remap begins a new epoch");
	is_str(at(&f, 1, 199, 0x2000), "old+0x1000", "before the remap the old file is found");
	is_str(at(&f, 1, 200, 0x2000), "new+0x500", "since the remap the new file is found");
	is_str(at(&f, 1, 200, 0x2fff), "new+0x14ff",
	       "the last byte of the new mapping is in the new file");
	is_str(at(&f, 1, 200, 0x1fff), "old+0xfff",
	       "below the new mapping there is still the old file");
	is_str(at(&f, 1, 200, 0x3000), "old+0x2000",
	       "above the new mapping there is still the old file, at the right offset");
	is_str(at(&f, 1, 199, 0x3000), "old+0x2000",
	       "above the new mapping the old file was also there before");
	is_str(at(&f, 1, 150, 0x9000), "late+0x0",
	       "a range that was mapped once is found at any time");
	fixture__end(&f);

	/* Repeated mappings, each of which covers several earlier mappings. */
	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "a", NULL, 0);
	gen__mmap(&f.g, 100, 1, 0x2000, 0x1000, 0, "b", NULL, 0);
	gen__mmap(&f.g, 200, 1, 0x1800, 0x1000, 0, "c", NULL, 0);
	gen__mmap(&f.g, 300, 1, 0x0000, 0x4000, 0, "d", NULL, 0);
	gen__mmap(&f.g, 400, 1, 0x1000, 0x1000, 0, "a", NULL, 0);
	fixture__read(&f);
	is_int(nr_epochs(&f, 1), 3, "three remaps are counted");
	is_str(at(&f, 1, 100, 0x1900), "a+0x900", "epoch 0: mapping a is found");
	is_str(at(&f, 1, 100, 0x2700), "b+0x700", "epoch 0: mapping b is found");
	is_str(at(&f, 1, 200, 0x1900), "c+0x100", "epoch 1: c is found where it covers a");
	is_str(at(&f, 1, 200, 0x1700), "a+0x700", "epoch 1: the rest of a is found");
	is_str(at(&f, 1, 200, 0x2700), "c+0xf00", "epoch 1: c is found where it covers b");
	is_str(at(&f, 1, 200, 0x2900), "b+0x900", "epoch 1: the rest of b is found");
	is_str(at(&f, 1, 300, 0x1900), "d+0x1900", "epoch 2: d is found where it covers c");
	is_str(at(&f, 1, 300, 0x2900), "d+0x2900", "epoch 2: d is found where it covers b");
	is_str(at(&f, 1, 400, 0x1900), "a+0x900", "epoch 3: a is found again");
	is_str(at(&f, 1, 400, 0x2900), "d+0x2900", "epoch 3: the rest of d is found");
	is_str(at(&f, 1, 0, 0x1900), "a+0x900", "a time before all mappings is in epoch 0");
	fixture__end(&f);
}

static void test_same(void)
{
	static const uint8_t id[20] = { 1, 2, 3 }, other_id[20] = { 3, 2, 1 };
	struct fixture f;

	/*
	 * A mapping that is read from /proc and also seen as an event, then events for parts of it
	 * that change nothing: no new epoch.
	 */
	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x4000, 0x1000, "lib", NULL, 0);
	gen__mmap(&f.g, 200, 1, 0x1000, 0x4000, 0x1000, "lib", NULL, 0);
	gen__mmap(&f.g, 300, 1, 0x2000, 0x1000, 0x2000, "lib", NULL, 0);
	gen__mmap(&f.g, 400, 1, 0x3000, 0x4000, 0x3000, "lib", NULL, 0);
	fixture__read(&f);
	is_int(nr_epochs(&f, 1), 0, "the same mapping again is not a remap");
	is_str(at(&f, 1, 100, 0x1000), "lib+0x1000",
	       "equal mappings: the part that only the first mapping has is found");
	is_str(at(&f, 1, 100, 0x4fff), "lib+0x4fff",
	       "equal mappings: the part that several mappings have is found");
	is_str(at(&f, 1, 100, 0x6fff), "lib+0x6fff",
	       "equal mappings: the part that only the last mapping has is found");
	fixture__end(&f);

	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "lib", NULL, 0);
	gen__mmap(&f.g, 200, 1, 0x1000, 0x1000, 0x1000, "lib", NULL, 0);
	fixture__read(&f);
	is_int(nr_epochs(&f, 1), 1, "another part of the same file is a remap");
	is_str(at(&f, 1, 100, 0x1000), "lib+0x0",
	       "before that remap the first part of the file is found");
	is_str(at(&f, 1, 200, 0x1000), "lib+0x1000",
	       "since that remap the other part of the file is found");
	fixture__end(&f);

	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "lib", id, 20);
	gen__mmap(&f.g, 200, 1, 0x1000, 0x1000, 0, "renamed", id, 20);
	gen__mmap(&f.g, 300, 1, 0x1000, 0x1000, 0, "renamed", other_id, 20);
	fixture__read(&f);
	is_int(nr_epochs(&f, 1), 1, "files with different build-ids are different");
	fixture__end(&f);

	/*
	 * A file is mapped over another file, and then again at the same address, with more bytes.
	 */
	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "a", NULL, 0);
	gen__mmap(&f.g, 200, 1, 0x1000, 0x1000, 0, "b", NULL, 0);
	gen__mmap(&f.g, 300, 1, 0x1000, 0x3000, 0, "b", NULL, 0);
	fixture__read(&f);
	is_int(nr_epochs(&f, 1), 1, "a file mapped again, with more bytes: no further epoch");
	is_str(at(&f, 1, 100, 0x1000), "a+0x0",
		"a file mapped again, with more bytes: before that, the old file is found");
	is_str(at(&f, 1, 250, 0x1000), "b+0x0",
	       "a file mapped again, with more bytes: the file is found since its first mapping");
	is_str(at(&f, 1, 350, 0x3000), "b+0x2000",
	       "a file mapped again, with more bytes: the new part is found");
	fixture__end(&f);
}

static void test_fork(void)
{
	struct fixture f;

	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "a", NULL, 0);
	gen__fork(&f.g, 200, 2, 2, 1, 1);
	gen__mmap(&f.g, 300, 1, 0x1000, 0x1000, 0, "parent", NULL, 0);
	gen__mmap(&f.g, 400, 2, 0x1000, 0x0800, 0, "child", NULL, 0);
	gen__mmap(&f.g, 450, 2, 0x5000, 0x1000, 0, "own", NULL, 0);
	gen__fork(&f.g, 500, 3, 3, 2, 2);
	gen__fork(&f.g, 510, 4, 4, 3, 3);
	gen__fork(&f.g, 520, 1, 11, 1, 1);
	fixture__read(&f);
	is_str(at(&f, 2, 250, 0x1000), "a+0x0", "a child has its parent's maps");
	is_str(at(&f, 2, 350, 0x1000), "a+0x0",
	       "a child's maps are the parent's maps at the time of the fork");
	is_str(at(&f, 1, 350, 0x1000), "parent+0x0",
	       "a child does not have its parent's later maps");
	is_str(at(&f, 2, 450, 0x1000), "child+0x0",
	       "a parent does not have its child's later maps");
	is_str(at(&f, 2, 450, 0x1900), "a+0x900", "inherited maps stay next to the child's own");
	is_int(nr_epochs(&f, 2), 1, "a child that maps over an inherited map has a remap");
	is_str(at(&f, 4, 550, 0x1900), "a+0x900", "a grandchild inherits from its grandparent");
	is_str(at(&f, 4, 550, 0x1000), "child+0x0", "a grandchild inherits from its parent");
	is_str(at(&f, 4, 550, 0x5000), "own+0x0", "a grandchild has its own map");
	ok(machine__image(&f.m, 1, 100) == machine__image(&f.m, 1, 600),
	   "a new thread does not begin a new address space");
	fixture__end(&f);
}

static void test_exec(void)
{
	struct fixture f;

	/* The exec's own mappings have the exec's timestamp or a later one. */
	fixture__begin(&f);
	gen__mmap(&f.g, 100, 1, 0x1000, 0x1000, 0, "old", NULL, 0);
	gen__comm(&f.g, XPU_MISC_COMM_EXEC, 200, 1, 1, "new");
	gen__mmap(&f.g, 200, 1, 0x8000, 0x1000, 0, "new", NULL, 0);
	gen__comm(&f.g, 0, 300, 1, 1, "renamed");
	fixture__read(&f);
	is_str(at(&f, 1, 199, 0x1000), "old+0x0", "before the exec the old map is found");
	is_str(at(&f, 1, 200, 0x1000), "", "an exec drops all maps");
	is_str(at(&f, 1, 200, 0x8000), "new+0x0", "the new image has its own maps");
	is_str(at(&f, 1, 300, 0x8000), "new+0x0", "a new name alone drops no maps");
	is_str(at(&f, 1, 10, 0x1000), "old+0x0",
	       "a time before the first event belongs to the first image");
	fixture__end(&f);

	/* The kernel reuses a pid; the event of the fork begins a new image. */
	fixture__begin(&f);
	gen__fork(&f.g, 100, 5, 5, 1, 1);
	gen__mmap(&f.g, 110, 5, 0x1000, 0x1000, 0, "first", NULL, 0);
	gen__fork(&f.g, 500, 5, 5, 1, 1);
	gen__mmap(&f.g, 510, 5, 0x1000, 0x1000, 0, "second", NULL, 0);
	fixture__read(&f);
	is_str(at(&f, 5, 400, 0x1000), "first+0x0",
	       "pid used twice: the first process has its own map");
	is_str(at(&f, 5, 520, 0x1000), "second+0x0",
	       "pid used twice: the second process has its own map");
	is_int(nr_epochs(&f, 5), 0, "a pid that is used twice is not a remap");
	fixture__end(&f);
}

/* Tests a chain of forks that is too long to follow: the lookup fails quickly. */
static void test_deep(void)
{
	struct fixture f;
	uint32_t pid;

	fixture__begin(&f);
	for (pid = 1; pid < 5000; pid++) {
		gen__mmap(&f.g, pid * 10, pid, pid * 0x1000, 0x1000, 0, "own", NULL, 0);
		gen__fork(&f.g, pid * 10 + 5, pid + 1, pid + 1, pid, pid);
	}
	fixture__read(&f);
	is_str(at(&f, 4999, 60000, 4999 * 0x1000ull), "own+0x0",
	       "deep forks: the last process has its own map");
	is_str(at(&f, 40, 60000, 0x1000), "own+0x0",
	       "deep forks: a map from 39 generations back is found");
	is_str(at(&f, 4999, 60000, 0x1000), "",
	       "deep forks: a map from 4998 generations back is unknown");
	fixture__end(&f);

	/* Forks that map nothing do not count: a shell may fork from a fork of a fork. */
	fixture__begin(&f);
	gen__mmap(&f.g, 1, 1, 0x1000, 0x1000, 0, "sh", NULL, 0);
	for (pid = 1; pid < 1000; pid++)
		gen__fork(&f.g, pid * 10, pid + 1, pid + 1, pid, pid);
	fixture__read(&f);
	is_str(at(&f, 1000, 60000, 0x1000), "sh+0x0",
	       "a map is found after 1000 forks without further maps");
	fixture__end(&f);
}

static void test_extremes(void)
{
	struct fixture f;

	fixture__begin(&f);
	gen__mmap(&f.g, 1, 1, UINT64_MAX - 0xfff, 0x1000, 0, "[vsyscall]", NULL, 0);
	gen__mmap(&f.g, 2, 1, UINT64_MAX - 0xff, UINT64_MAX, UINT64_MAX, "wraps", NULL, 0);
	gen__mmap(&f.g, 3, 1, 0x1000, 0, 0, "empty", NULL, 0);
	gen__mmap(&f.g, 4, 1, 0, UINT64_MAX, 0, "everything", NULL, 0);
	fixture__read(&f);
	is_str(at(&f, 1, 1, UINT64_MAX - 0xfff), "[vsyscall]+0x0",
	       "a map at the end of memory is found");
	is_str(at(&f, 1, 3, 0x1000), "", "an empty map has no bytes");
	is_str(at(&f, 1, 4, 0x1000), "everything+0x1000", "a map of all memory is found");
	fixture__end(&f);
}

/* Tests maps against a table of each page's contents at each time. */
static void test_model(void)
{
	enum { PAGES = 48, STEPS = 600, FORK = STEPS / 2, PIDS = 2, FILES = 3, PAGE = 0x1000 };
	static const char *const files[FILES] = { "a", "b", "c" };
	/* @file: 0 if nothing is mapped, otherwise 1 + index in files. @offset: in pages */
	struct page { uint8_t file, offset; };
	struct page (*model)[PIDS][PAGES] = calloc(STEPS + 1, sizeof(*model));
	uint32_t step, pid, page, nr_wrong = 0, nr_looked_up = 0;
	struct fixture f;
	char want[32];

	if (!model)
		bail("no memory");
	srandom(7);
	fixture__begin(&f);
	for (step = 1; step <= STEPS; step++) {
		uint32_t start = random() % PAGES, nr = 1 + random() % 6, file = random() % FILES;
		/* Often maps the current contents again, or part of them. */
		uint32_t offset = random() % 3 ? start : random() % 4, i;

		memcpy(model[step], model[step - 1], sizeof(*model));
		pid = step > FORK ? random() % PIDS : 0;
		if (step == FORK) {
			gen__fork(&f.g, step, 2, 2, 1, 1);
			memcpy(model[step][1], model[step][0], sizeof(model[step][0]));
			continue;
		}
		nr = nr < PAGES - start ? nr : PAGES - start;
		gen__mmap(&f.g, step, pid + 1, (1 + start) * PAGE, nr * PAGE, offset * PAGE,
			  files[file], NULL, 0);
		for (i = 0; i < nr; i++)
			model[step][pid][start + i] = (struct page){ 1 + file, offset + i };
	}
	fixture__read(&f);
	for (step = 1; step <= STEPS; step++)
		for (pid = 0; pid < (step < FORK ? 1 : PIDS); pid++)
			for (page = 0; page < PAGES; page++) {
				struct page p = model[step][pid][page];

				/*
				 * Where nothing is mapped yet, the machine reports the address of
				 * the next mapping.
				 */
				if (!p.file)
					continue;
				snprintf(want, sizeof(want), "%s+0x%x", files[p.file - 1],
					 p.offset * PAGE + 8);
				nr_wrong += !!strcmp(at(&f, pid + 1, step, (1 + page) * PAGE + 8),
						     want);
				nr_looked_up++;
			}
	ok(!nr_wrong && nr_looked_up > 10000, "%u of %u pages at some time differ from the table",
	   nr_wrong, nr_looked_up);
	fixture__end(&f);
	free(model);
}

/*
 * Tests mappings in the kernel's order, which is downwards: each mapping is inserted before all
 * others.
 */
static void test_many(void)
{
	const uint64_t top = 0x7f0000000000;
	enum { NR = 200000 };
	struct fixture f;
	clock_t start;
	uint32_t i;

	fixture__begin(&f);
	for (i = 0; i < NR; i++)
		gen__mmap(&f.g, 1 + i, 1, top - i * 0x2000ull, 0x1000, 0, "jit", NULL, 0);
	start = clock();
	fixture__read(&f);
	is_str(at(&f, 1, NR, top - (NR - 1) * 0x2000ull), "jit+0x0",
	       "many maps: the last map is found");
	is_str(at(&f, 1, NR, top), "jit+0x0", "many maps: the first map is found");
	ok(clock() - start < 10 * CLOCKS_PER_SEC,
	   "%u maps, each below the map before, are read in %.2f s", NR,
	   (double)(clock() - start) / CLOCKS_PER_SEC);
	fixture__end(&f);
}

static const char *comm(struct fixture *f, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	uint64_t from, to;
	const char *name = machine__comm(&f->m, pid, tid, time_ns, &from, &to);

	if (name && time_ns >= from && time_ns >= to)
		return "(not in its own span)";
	return name ? name : "";
}

static void test_comm(void)
{
	struct fixture f;

	fixture__begin(&f);
	gen__comm(&f.g, XPU_MISC_COMM_EXEC, 100, 1, 1, "app");
	gen__fork(&f.g, 200, 1, 11, 1, 1);
	gen__comm(&f.g, 0, 300, 1, 11, "worker");
	gen__comm(&f.g, 0, 400, 1, 1, "0123456789abcdef");
	gen__fork(&f.g, 500, 2, 2, 1, 11);
	gen__fork(&f.g, 600, 1, 11, 1, 1);
	fixture__read(&f);
	is_str(comm(&f, 1, 1, 150), "app", "since the exec a thread has the new name");
	is_str(comm(&f, 1, 1, 50), "app",
	       "before its first event a thread has its first recorded name");
	is_str(comm(&f, 1, 11, 250), "app", "a new thread has its parent's name");
	is_str(comm(&f, 1, 11, 300), "worker", "a renamed thread has its new name");
	is_str(comm(&f, 1, 1, 350), "app", "a renamed thread does not rename others");
	is_str(comm(&f, 1, 1, 450), "0123456789abcdef", "a name of 16 bytes without a NUL is read");
	is_str(comm(&f, 2, 2, 550), "worker",
	       "a new process has the name of the thread that forked it");
	is_str(comm(&f, 1, 11, 650), "0123456789abcdef",
	       "a tid used twice: the second thread has its own name");
	is_str(comm(&f, 3, 3, 100), "", "an unknown thread has no name");
	fixture__end(&f);
}

static void test_procs(void)
{
	struct fixture f;
	uint32_t idx = 99;

	fixture__begin(&f);
	gen__process(&f.g, XPU_MISC_PROCESS_ROOT, 100, 7, 1234, 0, "app");
	gen__process(&f.g, XPU_MISC_PROCESS_ROOT, 100, 7, 1234, 0, "app");
	gen__process_exit(&f.g, 900, 7, 1234, 256);
	fixture__read(&f);
	is_int(machine__proc(&f.m, 7, &idx), 0, "a process is found by its id");
	is_int(f.m.procs.v[idx].pid, 1234, "a process has its pid");
	is_str(f.m.procs.v[idx].comm, "app", "a process has its name");
	is_int(f.m.procs.v[idx].exit_code, 256, "a process has its exit code");
	is_int(f.m.procs.nr, 1, "a process that is defined twice exists once");
	is_int(machine__proc(&f.m, 8, &idx), 0, "a process without a record is added by its id");
	is_int(f.m.procs.v[idx].pid, 0, "a process without a record has no pid");
	fixture__end(&f);
}

int main(void)
{
	test_lookup();
	test_remap();
	test_same();
	test_fork();
	test_exec();
	test_deep();
	test_extremes();
	test_model();
	test_many();
	test_comm();
	test_procs();
	return done_testing();
}
