/* SPDX-License-Identifier: MIT */
/*
 * objects.h - finds the object, the program or a library, that a code address belongs to
 *
 * In glibc 2.35 and later, _dl_find_object() does this. It takes no lock and is safe in signal
 * handlers.
 *
 * For older libraries this file keeps a table of all objects, which is valid for one generation of
 * the process's code. A thread that finds the table outdated makes a new table with
 * dl_iterate_phdr(), which takes the loader's lock. Every C++ exception takes this lock with these
 * libraries, too. A thread makes a table only when it meets an address that it has no rule for. A
 * lookup in a valid table takes no lock. The table lacks objects that dlmopen() has loaded into
 * other namespaces.
 */
#ifndef XPU_PRELOAD_OBJECTS_H
#define XPU_PRELOAD_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct object {
	uint64_t start, end;		/* its mapping */
	uint64_t eh_frame_hdr;		/* address of the sorted unwind table; never 0 */
};

/*
 * Chooses the C library's function if that function finds the shim's own code, otherwise the table.
 * Must be called after generation__find() and before the first objects__find(). Return: whether the
 * shim's code is found.
 */
bool objects__init(void);

/*
 * Finds the object with code at @pc. Return: whether an object with unwind information was found.
 * Safe in signal handlers.
 */
bool objects__find(uint64_t pc, struct object *o);

#endif /* XPU_PRELOAD_OBJECTS_H */
