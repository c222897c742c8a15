/* SPDX-License-Identifier: MIT */
/*
 * xpu_shm.h - the contract between the shim and xpuload where BPF may not be used
 *
 * A process that uses CUDA makes its own memory file: a memfd whose size is sealed. From its first
 * launch it writes to the file. It connects to the socket that XPU_SHM_ENV names, sends a struct
 * xpu_shm_hello with the descriptor of the file, and closes both. It does not wait for an answer,
 * and may have ended before xpuload receives the hello: a message in a socket's queue outlives its
 * sender. Instead of calling probe sites, the process writes into the file the records that the BPF
 * programs would have made.
 *
 * A process that cannot make such a file, for example under a limit on the size of files, makes a
 * segment of System V shared memory instead, marks it as removed, and sends its id. Before xpuload
 * has attached the segment, it disappears with the process. So at its end, the process waits until
 * xpuload has attached the segment, but no longer than it waits for room in a full queue.
 *
 * A queue can be full, and a process may not be allowed to connect. So before it connects, each
 * process counts itself in a page of System V shared memory, struct xpu_shm_counts, and its hello
 * says so. At the end, xpuload therefore knows how many processes did not connect. The parts of the
 * file:
 *
 *	one page	struct xpu_shm_reader, written by xpuload
 *	one page	struct xpu_shm_writer, written by the process
 *	XPU_SHM_NR_THREADS times XPU_SHM_THREAD_BYTES
 *			each has the first pages of a launching thread, with its struct xpu_log
 *	ring_bytes	the ring
 *
 * A record in the ring is a word, struct xpu_shm_word, followed by as many bytes as the word says.
 * Many threads write at once. Each moves the head by the bytes that it needs, writes the word with
 * XPU_SHM_BUSY, the bytes, and then the word with XPU_SHM_DONE. The reader zeroes the bytes that it
 * has read, and then moves the tail. So a word that is not written yet is 0. If a writer was killed
 * before it could write its word, the next nonzero word begins the next record.
 *
 * If xpuload has no perf events (XPU_SHM_WANTS_MAPS), the process also writes its executable
 * mappings as MMAP records: all mappings before its first launch, and added mappings later. A
 * timestamp of 0 means that the mapping may be as old as the image; any other timestamp means that
 * the mapping did not exist at that time. A thread writes its name as a COMM record before its
 * first launch. The pids of these records are 0.
 *
 * Entries that are still in a thread's log when its process ends are read from the thread's pages.
 *
 * A process that records itself, as the Python package does, is not started by xpuload. It passes
 * XPU_SHM_ENV's value to the shim at run time: see xpuload_share() of preload/shim.c. A later
 * recording gets the same memory, which the process empties first.
 */
#ifndef XPU_SHM_H
#define XPU_SHM_H

#include <linux/types.h>

/*
 * "NAME:TOKEN:FLAGS:RING:COUNTS". NAME is the socket in the abstract namespace. The other parts are
 * hexadecimal numbers: the token, the flags, ring_bytes, and the id of the struct xpu_shm_counts,
 * or ffffffff.
 */
#define XPU_SHM_ENV		"XPUSHIM_SHM"
#define XPU_SHM_ENV_BYTES	128	/* room for the value */
#define XPU_SHM_TOKEN_BYTES	16

#define XPU_SHM_WANTS_RANGES	1	/* flags: NVTX ranges are recorded */
/* Flags for a process that records itself: its environment has no options for these. */
#define XPU_SHM_WANTS_API	2	/* calls of the API */
#define XPU_SHM_WANTS_MEMORY	4	/* events of memory */
#define XPU_SHM_WANTS_STALLS	8	/* PC samples */

/*
 * A process in another network and IPC namespace, or of another user, may be unable to connect and
 * to count itself. Then its shim's thread gets this name, which perf events report.
 */
#define XPU_SHM_UNHEARD		"xpushim-unheard"

#define XPU_SHM_MAGIC		0x6d687378	/* xshm */
#define XPU_SHM_VERSION		7
#define XPU_SHM_PAGE		4096
#define XPU_SHM_THREAD_BYTES	(4 * XPU_SHM_PAGE)
#define XPU_SHM_NR_THREADS	1024	/* maximum number of threads that share their logs at a
					 * time */

struct xpu_shm_hello {
	__u32	magic;
	__u32	version;
	__u8	token[XPU_SHM_TOKEN_BYTES];
	__u64	image;			/* when this image of the process began, CLOCK_MONOTONIC */
	__u32	pid;			/* the pid in the process's own pid namespace */
	__u32	flags;			/* XPU_SHM_HELLO_* */
	char	comm[16];		/* the process's name, if XPU_SHM_WANTS_MAPS */
	__s32	segment;		/* the memory's System V id, if XPU_SHM_HELLO_SEGMENT */
	__u32	reserved;
};

#define XPU_SHM_HELLO_COUNTED	1	/* xpu_shm_counts.nr_processes includes this process */
#define XPU_SHM_HELLO_SEGMENT	2	/* the memory is a segment */

/*
 * A hello without a descriptor or segment says that the process is not recorded, because it could
 * not make the memory.
 */

#define XPU_SHM_WANTS_MAPS	1	/* xpuload gets no mappings from Linux */

struct xpu_shm_counts {
	__u8	token[XPU_SHM_TOKEN_BYTES];	/* identifies the memory, since ids are reused */
	__u64	nr_processes;		/* number of process images that began to use CUDA */
	__u64	nr_launches;		/* number of launches of processes whose memory xpuload did
					 * not get */
	__u32	flags;			/* XPU_SHM_WANTS_*, written by xpuload */
	__u32	reserved;
};

enum xpu_shm_state {
	XPU_SHM_OPEN	= 1,		/* xpuload records */
	XPU_SHM_LEAVING	= 2,		/* only device work of earlier launches is still read */
	XPU_SHM_CLOSED	= 3,		/* xpuload reads nothing more */
};

struct xpu_shm_reader {
	__u64	tail;			/* bytes read since the beginning */
	__u32	state;			/* enum xpu_shm_state */
	__u32	taken;			/* 1: xpuload has mapped the memory */
};

/* The executable mappings that a process has sent. */
enum xpu_shm_maps {
	XPU_SHM_MAPS_NONE	= 0,	/* no mappings, or other code may be at their addresses by
					 * now */
	XPU_SHM_MAPS_SENT	= 1,	/* all mappings at one moment */
	XPU_SHM_MAPS_LAST	= 2,	/* all mappings at the process's end: no other address in a
					 * call chain is code */
};

#define XPU_SHM_NR_LOST		16	/* at least XPU_LOST_NR, with room for more */

struct xpu_shm_writer {
	__u64	head;			/* bytes reserved by writers since the beginning */
	__u32	nr_threads;		/* number of threads whose pages have been used */
	__u32	log_at;			/* offset of the struct xpu_log in a thread's pages */
	__u64	dropped[XPU_SHM_NR_LOST];	/* number of losses by kind: the ring was full */
	__u64	told_unloads;		/* how many times code had been unloaded when the mappings
					 * in the ring were read */
	__u64	met_unloads;		/* highest number of code unloads that a launch has seen */
	__u32	maps;			/* enum xpu_shm_maps */
	__u32	reserved;
};

struct xpu_shm_word {
	__u32	bytes;			/* number of bytes that follow, a multiple of 8 */
	__u32	state;			/* XPU_SHM_BUSY or XPU_SHM_DONE, and the enum xpu_lost_kind
					 * to count if the record is never finished */
};

#define XPU_SHM_BUSY		(1u << 8)
#define XPU_SHM_DONE		(1u << 9)
#define XPU_SHM_KIND(state)	((state) & 0xff)

/* The largest record. */
#define XPU_SHM_RECORD_MAX	(64u * 1024)
#define XPU_SHM_MIN_RING	(256u * 1024)
#define XPU_SHM_MAX_RING	(2ull << 30)

/* Return: the offset of the pages of thread number @i, counted from 0. */
static inline __u64 xpu_shm__thread_at(__u32 i)
{
	return 2 * XPU_SHM_PAGE + (__u64)i * XPU_SHM_THREAD_BYTES;
}

static inline __u64 xpu_shm__ring_at(void)
{
	return xpu_shm__thread_at(XPU_SHM_NR_THREADS);
}

/* Return: the size of the file with a ring of @ring_bytes, a power of two. */
static inline __u64 xpu_shm__bytes(__u64 ring_bytes)
{
	return xpu_shm__ring_at() + ring_bytes;
}

_Static_assert(sizeof(struct xpu_shm_hello) == 64, "an ABI");
_Static_assert(sizeof(struct xpu_shm_counts) == 40, "an ABI");
_Static_assert(sizeof(struct xpu_shm_writer) == 168, "an ABI");
_Static_assert(sizeof(struct xpu_shm_word) == 8, "an ABI");

#endif /* XPU_SHM_H */
