/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sqlite_memory.h - notices when SQLite gets no memory
 *
 * When memory is short, SQLite may report another error, such as a missing table, or ignore the
 * failure.
 */
#ifndef MERGE_SQLITE_MEMORY_H
#define MERGE_SQLITE_MEMORY_H

/* Call this before the process's first call of SQLite; later calls do nothing. */
void sqlite_memory__watch(void);

/* Return: how often SQLite got no memory. */
unsigned long sqlite_memory__failures(void);

#endif /* MERGE_SQLITE_MEMORY_H */
