/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bounds.h - limits on what a target can make xpuload keep, write and print
 *
 * xpuload trusts nothing that a target sends. Beside each number stand its reason and what happens
 * beyond it; xpuload(1) lists the limits under LIMITS.
 */
#ifndef XPU_LOADER_BOUNDS_H
#define XPU_LOADER_BOUNDS_H

#include <stdint.h>

/*
 * Entries in the tables of living processes: for one process, and for all together. When all
 * together have reached their limit, each process may still have so many entries of its own
 * ("floor"), so that a flood from one process takes nothing from the others. An entry is 32 to 64
 * bytes (see map.h), so all tables of one process take at most 300 MB, and those of all processes
 * 500 MB, plus the floors.
 */
#define LIMIT_ROWS(row)								\
	/* Call chains that are known when they come again. Beyond: the table is	\
	 * begun afresh, and chains are written again, under other ids: nothing is lost. */	\
	row(CHAINS,	1 << 18,	1 << 21,	1 << 12)		\
	/* Numbers that a shim has given to call paths. Beyond: launches from there are	\
	 * recorded without a call path, and counted. */				\
	row(PATHS,	1 << 20,	1 << 21,	1 << 12)		\
	/* Threads. Beyond: they count as one thread, 0, and their launches are counted. */	\
	row(THREADS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Threads with another number in their pid namespace. Beyond: named by that number. */ \
	row(NS_THREADS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Logs of threads. Beyond: entries that are sent twice are recorded twice. */	\
	row(LOGS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Stacks of blocked threads. Beyond: their time is without a stack, and counted. */ \
	row(OFF_STACKS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Python code objects that samples met. Beyond: frames of unknown code, counted. */ \
	row(CODES,	1 << 18,	1 << 20,	1 << 12)

/*
 * Bytes of call chains that one process has written to the file. Beyond: launches and samples are
 * recorded without a call path, and counted. 500 frames at each of 262,144 launches come to this;
 * a program whose call paths come again is far below it however long it runs.
 */
#define LIMIT_CHAIN_BYTES	(1ull << 30)

/*
 * Bytes of names and line tables of Python code that one process has written. Beyond: frames of
 * unknown code, counted.
 */
#define LIMIT_CODE_BYTES	(1ull << 28)

/*
 * Unreadable Python code objects in one sample: each costs system calls. Beyond: the sample's other
 * frames are of unknown code.
 */
#define LIMIT_BAD_CODES		16

/* Lines that shims print for the user: of one process, and of all. Beyond: counted. */
#define LIMIT_MESSAGES		32
#define LIMIT_ALL_MESSAGES	64

/* Processes that the report names because they lost something. Beyond: counted. */
#define LIMIT_BLAMED		8

/*
 * Ended processes whose threads and stacks are kept, since the account of time off the CPU may need
 * them.
 */
#define LIMIT_ENDED		(1 << 14)

/*
 * Copies, beside the recording, of mapped files that are not at their paths here: bytes of data of
 * one file and of all files, and the number of files. Libraries of CUDA and PyTorch are below 2 GB.
 * Holes are not data and stay holes. Half of the file system's free space is always left. Beyond:
 * counted, and functions in those files have no names.
 */
#define LIMIT_KEPT_FILE		(2ull << 30)
#define LIMIT_KEPT_SIZE		(1ull << 40)	/* of one file with its holes */
#define LIMIT_KEPT_BYTES	(8ull << 30)
#define LIMIT_KEPT_FILES	4096

/* Mapped files that are examined; and files that wait to be copied, each held open. */
#define LIMIT_MAPPED_FILES	(1 << 16)
#define LIMIT_KEEPING		256

/* Processes with generated code and a /tmp of their own, each held open. */
#define LIMIT_JITS		256

/* How long files are copied after the end of the recording; Ctrl-C ends that at once. */
#define LIMIT_KEEPING_NS	30000000000ull

#endif /* XPU_LOADER_BOUNDS_H */
