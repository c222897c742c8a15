/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sqlite_memory.h - detects when SQLite runs out of memory
 *
 * When memory is short, SQLite may report another error, such as a missing table, or ignore the
 * failure.
 */
#ifndef MERGE_SQLITE_MEMORY_H
#define MERGE_SQLITE_MEMORY_H

/* Call this before the process's first SQLite call; later calls do nothing. */
void sqlite_memory__watch(void);

/* Return: the number of times that SQLite failed to allocate memory. */
unsigned long sqlite_memory__failures(void);

#endif /* MERGE_SQLITE_MEMORY_H */
