// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/sqlite_memory.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

static sqlite3_mem_methods system_memory;
static atomic_ulong nr_failures;

static void *watch(void *p)
{
	if (!p)
		atomic_fetch_add(&nr_failures, 1);
	return p;
}

static void *watched_malloc(int size)
{
	return watch(system_memory.xMalloc(size));
}

static void *watched_realloc(void *p, int size)
{
	return watch(system_memory.xRealloc(p, size));
}

void sqlite_memory__watch(void)
{
	sqlite3_mem_methods watched;

	if (system_memory.xMalloc || sqlite3_config(SQLITE_CONFIG_GETMALLOC, &watched) != SQLITE_OK)
		return;
	system_memory = watched;
	watched.xMalloc = watched_malloc;
	watched.xRealloc = watched_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &watched);
}

unsigned long sqlite_memory__failures(void)
{
	return atomic_load(&nr_failures);
}
