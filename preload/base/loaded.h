/* SPDX-License-Identifier: MIT */
/*
 * loaded.h - symbols of loaded objects
 *
 * Unlike dlsym(), these functions never wait for an object that is being loaded: the dynamic loader
 * holds the lock of dlsym() while constructors run, and a constructor may run for a long time, or
 * end the program. They find no symbols in objects without DT_GNU_HASH.
 */
#ifndef XPU_PRELOAD_LOADED_H
#define XPU_PRELOAD_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct symbol {
	uintptr_t address;		/* 0: the symbol was not found */
	uint64_t bytes;
	bool in_program;		/* the program itself defines it, not a library */
};

/*
 * Finds a function or variable that one object defines, in a callback of dl_iterate_phdr(). @s: set
 * if the symbol is found
 */
void symbol__find_in(const struct dl_phdr_info *info, const char *name, struct symbol *s);

/* Finds a function or variable in all objects, in the order in which they were loaded. */
struct symbol symbol__find(const char *name);

#endif /* XPU_PRELOAD_LOADED_H */
