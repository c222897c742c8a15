/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bounds.h - what a target can make xpuload keep, write and say, at most
 *
 * All that a target sends is from a stranger. Each number here has its reason beside it, and what
 * becomes of what is beyond it; xpuload(1) has the same under LIMITS.
 */
#ifndef XPU_LOADER_BOUNDS_H
#define XPU_LOADER_BOUNDS_H

#include <stdint.h>

/*
 * Entries in the tables of the processes that live: of one process, and of all of them together.
 * When all have that many, a process may still have so many of its own ("floor"): the flood of one
 * process takes nothing from the others. An entry is 32 to 64 bytes (see map.h), so all tables of
 * one process are at most 300 MB, those of all of them 500 MB, and what the floors add.
 */
#define LIMIT_ROWS(row)								\
	/* Call chains that are known when they come again. Beyond: the table is	\
	 * begun afresh, and they are written again, under other ids: nothing is lost. */	\
	row(CHAINS,	1 << 18,	1 << 21,	1 << 12)		\
	/* Numbers that a shim has given to call paths. Beyond: launches from there are	\
	 * recorded without a call path, and counted. */				\
	row(PATHS,	1 << 20,	1 << 21,	1 << 12)		\
	/* Threads. Beyond: they are one thread, 0, and their launches counted. */	\
	row(THREADS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Threads whose own pid namespace numbers them otherwise. Beyond: so they are called. */ \
	row(NS_THREADS,	1 << 18,	1 << 20,	1 << 12)		\
	/* Logs of threads. Beyond: what is sent twice is recorded twice. */	\
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

/* The same of names and line tables of Python code. Beyond: frames of unknown code, counted. */
#define LIMIT_CODE_BYTES	(1ull << 28)

/*
 * Python code objects that cannot be read, in one sample: each costs system calls. Beyond: its
 * other frames are of unknown code.
 */
#define LIMIT_BAD_CODES		16

/* Lines that shims have for the user: of one process, and of all. Beyond: counted. */
#define LIMIT_MESSAGES		32
#define LIMIT_ALL_MESSAGES	64

/* Processes that are named in the end for what was lost of them. Beyond: counted. */
#define LIMIT_BLAMED		8

/* Processes that have ended, whose threads and stacks the account of time off the CPU may need. */
#define LIMIT_ENDED		(1 << 14)

/*
 * Copies of mapped files that are not at their paths here, beside the recording: data of one file,
 * of all of them, and how many. Libraries of CUDA and PyTorch are below 2 GB. Holes are not data and
 * stay holes. Of what is free in the file system half is left, whatever that is. Beyond: counted,
 * and functions in those files have no names.
 */
#define LIMIT_KEPT_FILE		(2ull << 30)
#define LIMIT_KEPT_SIZE		(1ull << 40)	/* of one file with its holes */
#define LIMIT_KEPT_BYTES	(8ull << 30)
#define LIMIT_KEPT_FILES	4096

/* Mapped files that are looked at, and those of them that wait to be copied, each held open. */
#define LIMIT_MAPPED_FILES	(1 << 16)
#define LIMIT_KEEPING		256

/* Processes with generated code and a /tmp of their own, each held open. */
#define LIMIT_JITS		256

/* How long after the end of the recording files are copied; Ctrl-C ends it at once. */
#define LIMIT_KEEPING_NS	30000000000ull

#endif /* XPU_LOADER_BOUNDS_H */
