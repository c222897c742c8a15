/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bounds.h - limits on the data that a target can make xpuload keep, write and print
 *
 * xpuload trusts nothing that a target sends. The comment on a limit says what happens when the
 * limit is exceeded ("Beyond"); xpuload(1) lists the limits under LIMITS.
 */
#ifndef XPU_LOADER_BOUNDS_H
#define XPU_LOADER_BOUNDS_H

#include <stdint.h>

/*
 * Limits on entries in the tables of living processes: for one process, for all processes together,
 * and a floor. Once all processes together have reached their limit, each of them may still have as
 * many entries as the floor, so that one process cannot crowd out the others. An entry takes 32 to
 * 64 bytes (see numbers.h), so the tables of one process take at most 300 MB, and the tables of all
 * processes 500 MB plus the floors.
 */
#define LIMIT_ROWS(row)								\
	/* Known call chains. Beyond: the table is emptied, and chains are written	\
	 * again, under other ids; nothing is lost. */					\
	row(CHAINS,	1 << 18,	1 << 21,	1 << 12)		\
	/* Call paths that a shim has numbered. Beyond: launches from further paths	\
	 * are recorded without a call path, and counted. */				\
	row(PATHS,	1 << 20,	1 << 21,	1 << 12)		\
	/* Threads. Beyond: new threads count as thread 0, and their launches are counted. */	\
	row(THREADS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Threads numbered by another pid namespace. Beyond: new threads have only the	\
	 * number in that namespace. */							\
	row(NS_THREADS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Logs of threads. Beyond: entries that are sent twice are recorded twice. */	\
	row(LOGS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Stacks of blocked threads. Beyond: new stacks are only counted, and their	\
	 * time has no stack. */							\
	row(OFF_STACKS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Python code in samples. Beyond: frames have unknown code, and are counted. */	\
	row(CODES,	1 << 18,	1 << 20,	1 << 12)

/*
 * Bytes of a process's call chains in the file. Beyond this limit, launches and samples are
 * recorded without a call path, and counted. The limit allows 500 frames for each of 262,144
 * launches. A program whose call paths repeat stays far below the limit, however long it runs.
 */
#define LIMIT_CHAIN_BYTES	(1ull << 30)

/*
 * Bytes that the names and line tables of a process's Python code have in the file. Beyond: frames
 * have unknown code, and are counted.
 */
#define LIMIT_CODE_BYTES	(1ull << 28)

/*
 * Unreadable Python code objects in a sample, each of which costs system calls. Beyond: the
 * sample's remaining frames have unknown code.
 */
#define LIMIT_BAD_CODES		16

/*
 * Lines that shims print for the user, in one process and in all processes together. Beyond:
 * further lines are only counted.
 */
#define LIMIT_MESSAGES		32
#define LIMIT_ALL_MESSAGES	64

/*
 * Processes that the report names because they lost something. Further processes are only counted.
 */
#define LIMIT_BLAMED		8

/* Ended processes whose threads and stacks are kept for the account of off-CPU time. */
#define LIMIT_ENDED		(1 << 14)

/*
 * Mapped files that xpuload does not find at their paths are copied next to the recording. The
 * limits apply to the data of one file, the data of all files, and the number of files. Libraries
 * of CUDA and PyTorch are below 2 GB. Holes are not data and stay holes. Half of the file system's
 * free space is always left. Beyond: further files are only counted, and their functions have no
 * names.
 */
#define LIMIT_KEPT_FILE		(2ull << 30)
#define LIMIT_KEPT_SIZE		(1ull << 40)	/* a file's size, holes included */
#define LIMIT_KEPT_BYTES	(8ull << 30)
#define LIMIT_KEPT_FILES	4096

/* Limits on the mapped files that are examined, and on the open files that wait to be copied. */
#define LIMIT_MAPPED_FILES	(1 << 16)
#define LIMIT_KEEPING		256

/* Processes with generated code and their own /tmp, which is held open. */
#define LIMIT_JITS		256

/* How long files are copied after the end of the recording. Ctrl-C stops the copying at once. */
#define LIMIT_KEEPING_NS	30000000000ull

#endif /* XPU_LOADER_BOUNDS_H */
