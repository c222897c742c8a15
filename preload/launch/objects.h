/* SPDX-License-Identifier: MIT */
/*
 * objects.h - finds the object that an address of code belongs to: the program or a library
 *
 * From glibc 2.35 on, _dl_find_object() does that. It takes no lock and may be called from a signal
 * handler.
 *
 * For older libraries there is a table of all objects here. It is good for one generation of the
 * process's code, and a thread that finds it out of date makes it anew, by dl_iterate_phdr(). That
 * takes the loader's lock, as every C++ exception does with these libraries, and happens only when a
 * thread meets an address that it has no rule for. To look an address up in a table that is up to
 * date takes no lock. The table is not shared between namespaces: objects that dlmopen() has loaded
 * are not in it.
 */
#ifndef XPU_PRELOAD_OBJECTS_H
#define XPU_PRELOAD_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct object {
	uint64_t start, end;		/* its mapping */
	uint64_t eh_frame_hdr;		/* the sorted table of its unwind information; never 0 */
};

/*
 * Chooses between the two, after generation__find() and before the first objects__find(): the
 * C library's function if that finds the shim's own code. Return: whether the shim's code is found.
 */
bool objects__init(void);

/*
 * Finds the object with code at @pc. Return: whether there is one that has unwind information.
 * Safe in signal handlers.
 */
bool objects__find(uint64_t pc, struct object *o);

#endif /* XPU_PRELOAD_OBJECTS_H */
