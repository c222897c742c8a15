// SPDX-License-Identifier: MIT
/*
 * nowhere - a preloaded library that hides _dl_find_object(), which glibc before 2.35 lacks
 *
 * The function works only if libgcc_s calls it: libgcc_s was built for this glibc, and needs the
 * function.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct answer {			/* struct dl_find_object, which older headers lack */
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *map;
	void *rest[8];
};

typedef int find_fn(void *pc, struct answer *result);

int _dl_find_object(void *pc, struct answer *result);

static find_fn *real;

static __attribute__((constructor)) void find_real(void)
{
	*(void **)&real = dlsym(RTLD_NEXT, "_dl_find_object");
	dlerror();
}

int _dl_find_object(void *pc, struct answer *result)
{
	struct answer caller;

	if (!real || real(__builtin_return_address(0), &caller) ||
	    !strstr(caller.map->l_name, "/libgcc_s"))
		return -1;
	return real(pc, result);
}
