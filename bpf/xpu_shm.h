/* SPDX-License-Identifier: MIT */
/*
 * xpu_shm.h - the contract between the shim and xpuload where BPF may not be used
 *
 * A process that uses CUDA makes a memory file of its own: a memfd, sealed against any other size. It
 * writes there from its first launch on, connects to the socket that XPU_SHM_ENV names, sends a struct
 * xpu_shm_hello with the descriptor of the file, and closes both. It waits for no answer, so it may
 * have ended before xpuload hears of it: what is in the queue of a socket outlives its sender. What the
 * process would have given to the probe sites it writes into the file, in the same records as the BPF
 * programs would have made of it; see XPU_SHM_* below for where.
 *
 * A queue can be full, and a process can be forbidden to connect. So each process counts itself in a
 * page of System V shared memory, struct xpu_shm_counts, before it connects, and says so in its hello.
 * At the end xpuload knows how many have not come.
 *
 *	one page	struct xpu_shm_reader, written by xpuload
 *	one page	struct xpu_shm_writer, written by the process
 *	XPU_SHM_NR_THREADS times XPU_SHM_THREAD_BYTES	each the first pages of a thread that launches, with
 *			its struct xpu_log
 *	ring_bytes	the ring
 *
 * A record in the ring is a word, struct xpu_shm_word, and behind it the bytes that the word tells.
 * Many threads write at once: each moves the head by what it needs, writes the word with
 * XPU_SHM_BUSY, the bytes, and then the word with XPU_SHM_DONE. The reader zeroes what it has read
 * before it moves the tail. So a word that is not there yet is 0, and if its writer was killed
 * before it could write the word, the next word that is not 0 is the next record's.
 *
 * Entries that are still in the log of a thread when its process ends are read from its pages.
 */
#ifndef XPU_SHM_H
#define XPU_SHM_H

#include <linux/types.h>

/*
 * "NAME:TOKEN:FLAGS:RING:COUNTS": the socket in the abstract namespace; in hexadecimal digits the
 * token, the flags, ring_bytes, and the id of the struct xpu_shm_counts, ffffffff without one
 */
#define XPU_SHM_ENV		"XPUSHIM_SHM"
#define XPU_SHM_TOKEN_BYTES	16

#define XPU_SHM_WANTS_RANGES	1	/* of FLAGS: NVTX ranges are recorded */

#define XPU_SHM_MAGIC		0x6d687378	/* xshm */
#define XPU_SHM_VERSION		3
#define XPU_SHM_PAGE		4096
#define XPU_SHM_THREAD_BYTES	(4 * XPU_SHM_PAGE)
#define XPU_SHM_NR_THREADS	1024	/* that launch at the same time, with their logs shared */

struct xpu_shm_hello {
	__u32	magic;
	__u32	version;
	__u8	token[XPU_SHM_TOKEN_BYTES];
	__u64	image;			/* CLOCK_MONOTONIC, when this image of the process began */
	__u32	pid;			/* as the process's own pid namespace numbers it */
	__u32	flags;			/* XPU_SHM_HELLO_* */
};

#define XPU_SHM_HELLO_COUNTED	1	/* the process is in nr_processes of xpu_shm_counts */

/* Without a descriptor, a hello says that the process could make no memory, and is not recorded. */

struct xpu_shm_counts {
	__u8	token[XPU_SHM_TOKEN_BYTES];	/* an id may have come to be of other memory */
	__u64	nr_processes;		/* images that began to use CUDA */
	__u64	nr_launches;		/* of processes that ended without having come */
};

enum xpu_shm_state {
	XPU_SHM_OPEN	= 1,		/* xpuload records */
	XPU_SHM_LEAVING	= 2,		/* it waits for the device work of earlier launches */
	XPU_SHM_CLOSED	= 3,		/* it reads nothing more */
};

struct xpu_shm_reader {
	__u64	tail;			/* bytes that were read since the beginning */
	__u32	state;			/* enum xpu_shm_state */
	__u32	reserved;
};

#define XPU_SHM_NR_LOST		16	/* not less than XPU_LOST_NR */

struct xpu_shm_writer {
	__u64	head;			/* bytes that writers have taken since the beginning */
	__u32	nr_threads;		/* how many threads' pages have been used so far */
	__u32	log_at;			/* where a struct xpu_log is in the pages of each */
	__u64	dropped[XPU_SHM_NR_LOST];	/* because the ring was full, by enum xpu_lost_kind */
};

struct xpu_shm_word {
	__u32	bytes;			/* that follow: a multiple of 8 */
	__u32	state;			/* XPU_SHM_BUSY or XPU_SHM_DONE, with an enum xpu_lost_kind:
					 * what is lost if the record does not come */
};

#define XPU_SHM_BUSY		(1u << 8)
#define XPU_SHM_DONE		(1u << 9)
#define XPU_SHM_KIND(state)	((state) & 0xff)

/* No record is larger. */
#define XPU_SHM_RECORD_MAX	(64u * 1024)
#define XPU_SHM_MIN_RING	(256u * 1024)
#define XPU_SHM_MAX_RING	(2ull << 30)

/* Where the pages of thread number @i are; @i from 0 on. */
static inline __u64 xpu_shm__thread_at(__u32 i)
{
	return 2 * XPU_SHM_PAGE + (__u64)i * XPU_SHM_THREAD_BYTES;
}

static inline __u64 xpu_shm__ring_at(void)
{
	return xpu_shm__thread_at(XPU_SHM_NR_THREADS);
}

/* The size of the file with a ring of @ring_bytes: a power of two. */
static inline __u64 xpu_shm__bytes(__u64 ring_bytes)
{
	return xpu_shm__ring_at() + ring_bytes;
}

_Static_assert(sizeof(struct xpu_shm_hello) == 40, "an ABI");
_Static_assert(sizeof(struct xpu_shm_counts) == 32, "an ABI");
_Static_assert(sizeof(struct xpu_shm_writer) == 144, "an ABI");
_Static_assert(sizeof(struct xpu_shm_word) == 8, "an ABI");

#endif /* XPU_SHM_H */
