// SPDX-License-Identifier: MIT
#include "launch/objects.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "launch/generation.h"

/*
 * Declared here for headers older than glibc 2.35: a shim built with old headers may run with a
 * newer library, and vice versa.
 */
#if !__GLIBC_PREREQ(2, 35)
struct dl_find_object {
	unsigned long long dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	void *dlfo_link_map;
	void *dlfo_eh_frame;
	unsigned long long reserved[7];
};
#endif

/*
 * The C library's _dl_find_object(). NULL: the table is used instead. Looked up with dlsym(),
 * because a shim that is linked to this function would not load with older libraries.
 */
static int (*dl_find)(void *pc, struct dl_find_object *result);

static const struct r_debug *loader;	/* the loader's data for debuggers; NULL: unknown */

/* ---- the table ------------------------------------------------------------------------------- */

#define MAX_SEGMENTS	4096

/*
 * A piece of an object's executable memory, with atomic members since readers may run during a
 * change.
 */
struct segment {
	_Atomic uint64_t lo, hi;
	_Atomic uint64_t start, end, eh_frame_hdr;	/* as in struct object */
};

static struct {
	/*
	 * Odd while a thread changes the table. A reader that notices a change does not use the
	 * table.
	 */
	atomic_uint version;
	_Atomic uint64_t generation;		/* the table is valid in this generation; 0: in
						 * none */
	atomic_uint nr;
	atomic_bool partial;			/* not all segments fit */
	struct segment segments[MAX_SEGMENTS];	/* sorted by lo */
} table;

static inline uint64_t get(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static inline void put(_Atomic uint64_t *v, uint64_t to)
{
	atomic_store_explicit(v, to, memory_order_relaxed);
}

static void segment__copy(struct segment *to, const struct segment *from)
{
	put(&to->lo, get(&from->lo));
	put(&to->hi, get(&from->hi));
	put(&to->start, get(&from->start));
	put(&to->end, get(&from->end));
	put(&to->eh_frame_hdr, get(&from->eh_frame_hdr));
}

/*
 * Return: whether the object that contains @at can be read. The loader unmaps an object first, then
 * removes it from the list and counts the removal. Linux is asked only while the loader changes the
 * list.
 */
static bool is_mapped(uint64_t at)
{
	if (loader && *(const volatile int *)&loader->r_state == RT_CONSISTENT)
		return true;
	return memory__readable(at);
}

/* Fills in *@o. Return: whether the object has unwind information. */
static bool describe(const struct dl_phdr_info *info, struct object *o)
{
	const ElfW(Phdr) *p, *last = info->dlpi_phdr + info->dlpi_phnum;

	*o = (struct object){ .start = UINT64_MAX };
	for (p = info->dlpi_phdr; p < last; p++) {
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD) {
			o->start = at < o->start ? at : o->start;
			o->end = at + p->p_memsz > o->end ? at + p->p_memsz : o->end;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			o->eh_frame_hdr = at;
		}
	}
	return o->eh_frame_hdr >= o->start && o->eh_frame_hdr < o->end;
}

static bool is_code(const ElfW(Phdr) *p)
{
	return p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_memsz;
}

/*
 * Adds the object's code. Called with the loader's lock held. Return: nonzero if the table is full.
 */
static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	unsigned int *nr = data, i;
	struct segment *s;
	struct object o;
	uint64_t lo;

	(void)size;
	/*
	 * The lock keeps objects from being loaded or unloaded, so this generation is right for all
	 * objects.
	 */
	put(&table.generation, generation());
	/* This may run in a signal handler that interrupted the unloading of this object. */
	if (!is_mapped((uintptr_t)info->dlpi_phdr) || !describe(info, &o))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		if (!is_code(&info->dlpi_phdr[i]))
			continue;
		if (*nr == MAX_SEGMENTS)
			return 1;
		s = &table.segments[(*nr)++];
		lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		put(&s->lo, lo);
		put(&s->hi, lo + info->dlpi_phdr[i].p_memsz);
		put(&s->start, o.start);
		put(&s->end, o.end);
		put(&s->eh_frame_hdr, o.eh_frame_hdr);
	}
	return 0;
}

/* Sorts with Shellsort, because qsort() may allocate. */
static void sort_segments(unsigned int nr)
{
	struct segment *v = table.segments, s;
	unsigned int gap, i, j;

	for (gap = 1; gap < nr / 3; gap = 3 * gap + 1)
		;
	for (; gap; gap /= 3)
		for (i = gap; i < nr; i++) {
			segment__copy(&s, &v[i]);
			for (j = i; j >= gap && get(&v[j - gap].lo) > get(&s.lo); j -= gap)
				segment__copy(&v[j], &v[j - gap]);
			segment__copy(&v[j], &s);
		}
}

/*
 * Calls dl_iterate_phdr() with signals blocked. This function takes a lock, and a signal handler
 * that launches device work must not take the same lock again.
 */
static int iterate(int (*f)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = dl_iterate_phdr(f, data);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

/*
 * Makes a new table. Does nothing if a table is already being made by another thread, or by code
 * that this signal handler interrupted.
 */
static void renew_table(void)
{
	unsigned int version = atomic_load(&table.version), nr = 0;

	if (get(&table.generation) == generation())
		return;
	if (version % 2 || !atomic_compare_exchange_strong(&table.version, &version, version + 1))
		return;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&table.partial, iterate(add_object, &nr), memory_order_relaxed);
	sort_segments(nr);
	atomic_store_explicit(&table.nr, nr, memory_order_relaxed);
	atomic_store_explicit(&table.version, version + 2, memory_order_release);
}

enum answer { FOUND, NOT_FOUND, NO_TABLE };

static enum answer find_in_table(uint64_t pc, struct object *o)
{
	unsigned int version = atomic_load_explicit(&table.version, memory_order_acquire);
	unsigned int lo = 0, nr, half;
	const struct segment *s;
	uint64_t now = generation();
	bool found, partial;

	if (version % 2 || get(&table.generation) != now)
		return NO_TABLE;
	nr = atomic_load_explicit(&table.nr, memory_order_relaxed);
	while (nr > 1) {
		half = nr / 2;
		if (get(&table.segments[lo + half].lo) <= pc) {
			lo += half;
			nr -= half;
		} else {
			nr = half;
		}
	}
	s = &table.segments[lo];
	found = nr && pc >= get(&s->lo) && pc < get(&s->hi);
	*o = (struct object){ get(&s->start), get(&s->end), get(&s->eh_frame_hdr) };
	partial = atomic_load_explicit(&table.partial, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&table.version, memory_order_relaxed) != version)
		return NO_TABLE;
	if (found)
		return FOUND;
	return partial ? NO_TABLE : NOT_FOUND;
}

struct search {
	uint64_t pc;
	struct object *o;
};

static int compare_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	unsigned int i;

	(void)size;
	if (!is_mapped((uintptr_t)info->dlpi_phdr))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (is_code(p) && search->pc - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return describe(info, search->o) ? 1 : -1;
	}
	return 0;
}

/* Searches without the table, which is too small or being changed by another thread. */
static bool find_alone(uint64_t pc, struct object *o)
{
	struct search search = { pc, o };

	return iterate(compare_object, &search) == 1;
}

static bool find_without_library(uint64_t pc, struct object *o)
{
	enum answer answer = find_in_table(pc, o);

	if (answer == NO_TABLE) {
		renew_table();
		answer = find_in_table(pc, o);
	}
	if (answer == NO_TABLE ? !find_alone(pc, o) : answer == NOT_FOUND)
		return false;
	/*
	 * Another thread may be unloading the object. Then no return address points to it, but some
	 * other word on a stack may.
	 */
	return is_mapped(o->eh_frame_hdr);
}

/* ---- both ------------------------------------------------------------------------------------ */

bool objects__find(uint64_t pc, struct object *o)
{
	struct dl_find_object found;

	if (!dl_find)
		return find_without_library(pc, o);
	if (dl_find((void *)pc, &found) || !found.dlfo_eh_frame)
		return false;
	o->start = (uintptr_t)found.dlfo_map_start;
	o->end = (uintptr_t)found.dlfo_map_end;
	o->eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame;
	return true;
}

bool objects__init(void)
{
	struct object o;

	loader = dlsym(RTLD_DEFAULT, "_r_debug");
	*(void **)&dl_find = dlsym(RTLD_DEFAULT, "_dl_find_object");
	dlerror();			/* hide the error from the application */
	if (dl_find && objects__find((uintptr_t)objects__init, &o))
		return true;
	dl_find = NULL;
	return objects__find((uintptr_t)objects__init, &o);
}
