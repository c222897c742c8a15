// SPDX-License-Identifier: MIT
#include "launch/generation.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>

#include "base/hot.h"
#include "base/libc.h"

HOT_DATA const volatile uint64_t *generation__nr_loads;
HOT_DATA const volatile uint32_t *generation__nr_loaded;

static uint64_t met;
_Atomic(uint64_t *) generation__met = &met;
atomic_uint_fast64_t generation__nr_other;

struct counts {
	uint64_t loads, loaded;
};

static int get_counts(struct dl_phdr_info *info, size_t size, void *data)
{
	struct counts *c = data;

	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return -1;
	c->loads = info->dlpi_adds;
	c->loaded = info->dlpi_adds - info->dlpi_subs;
	return 1;
}

#define MAX_GLOBAL	16384

/*
 * Copies the loader's variables. Return: whether no object was loaded meanwhile. *@c: the numbers
 * of objects, as in struct counts.
 */
static bool take_picture(const uint64_t *global, size_t nr, uint64_t *picture, struct counts *c)
{
	struct counts before;
	size_t i;

	if (dl_iterate_phdr(get_counts, &before) != 1)
		return false;
	for (i = 0; i < nr; i++)
		picture[i] = ((const volatile uint64_t *)global)[i];
	/* Another thread may have loaded an object meanwhile. */
	return dl_iterate_phdr(get_counts, c) == 1 && c->loads == before.loads &&
	       c->loaded == before.loaded;
}

/* Loads @name, and checks which of the loader's variables count the load. */
static bool try_generation(const uint64_t *global, size_t nr, const char *name)
{
	static uint64_t pictures[3][MAX_GLOBAL / sizeof(uint64_t)];
	struct counts c[3];
	size_t i, nr_found = 0, nr_loaded_found = 0;
	bool good[3];
	void *handle;

	handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
	if (handle) {
		dlclose(handle);
		return false;		/* the library is loaded already, so loading it changes
					 * nothing */
	}
	good[0] = take_picture(global, nr, pictures[0], &c[0]);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;
	good[1] = take_picture(global, nr, pictures[1], &c[1]);
	dlclose(handle);
	good[2] = take_picture(global, nr, pictures[2], &c[2]);
	if (!good[0] || !good[1] || !good[2] || c[1].loads == c[0].loads ||
	    c[2].loads != c[1].loads || c[2].loaded == c[1].loaded)
		return false;

	for (i = 0; i < nr; i++) {
		if (pictures[0][i] == c[0].loads && pictures[1][i] == c[1].loads &&
		    pictures[2][i] == c[2].loads) {
			generation__nr_loads = &global[i];
			nr_found++;
		}
		if ((uint32_t)pictures[0][i] == c[0].loaded &&
		    (uint32_t)pictures[1][i] == c[1].loaded &&
		    (uint32_t)pictures[2][i] == c[2].loaded) {
			generation__nr_loaded = (const volatile uint32_t *)&global[i];
			nr_loaded_found++;
		}
	}
	if (nr_loaded_found != 1)
		generation__nr_loaded = NULL;
	return nr_found == 1;
}

bool generation__find(void)
{
	/* Small parts of the C library that hardly any program loads. */
	static const char *const names[] = {
		"libanl.so.1", "libBrokenLocale.so.1", "libutil.so.1", "libthread_db.so.1",
		"libnss_compat.so.2", "librt.so.1",
	};
	const uint64_t *global = dlsym(RTLD_DEFAULT, "_rtld_global");
	const ElfW(Sym) *symbol = NULL;
	bool found = false;
	Dl_info info;
	size_t i, nr;

	if (!global || !dladdr1(global, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return false;
	nr = symbol->st_size / sizeof(*global);
	if (nr > MAX_GLOBAL / sizeof(*global))
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		found = try_generation(global, nr, names[i]);
	dlerror();			/* hide the error from the application */
	return found;
}

void generation__meet(void)
{
	uint64_t *newest = atomic_load(&generation__met), now = generation__nr_unloads();
	uint64_t before = __atomic_load_n(newest, __ATOMIC_RELAXED);

	while (before < now && !__atomic_compare_exchange_n(newest, &before, now, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
