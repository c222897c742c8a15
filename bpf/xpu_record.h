/* SPDX-License-Identifier: MIT */
/*
 * xpu_record.h - the records of the ring buffer and of xpu.data
 *
 * One definition for the shim, the BPF programs, the loader and the merger. Everything is native
 * endian, little endian in practice; struct xpu_file_header.endian tells.
 *
 * Rules of the format:
 *  - A record starts with struct xpu_record; its size covers header, payload and padding and is a
 *    multiple of 8. Records follow one another without gaps.
 *  - Structures grow only at their end. A reader uses what it knows, takes fields beyond .size as
 *    zero, skips unknown types by .size, and refuses a file whose major version is newer.
 *  - Version 1: the records follow the file's header. Version 2: blocks follow it, struct
 *    xpu_record_block and nothing else, and the records are in them. Readers know both.
 *  - Strings, streams, API names, threads and call chains are interned: defined once per process
 *    (and possibly again, identically), referred to by id. Id 0 means "none" everywhere. A
 *    definition may come after its first use: a reader collects definitions before it resolves.
 *  - Times are CLOCK_MONOTONIC in ns. They order and weigh events; they never join them.
 *  - A process is named by its proc_id, unique in a recording: one process image, from its fork or
 *    exec to its exit or next exec. Correlation ids are unique within a proc_id, so
 *    (proc_id, correlation_id) stays exact when the kernel uses a pid twice or a process execs.
 */
#ifndef XPU_RECORD_H
#define XPU_RECORD_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Suffix of the directory beside FILE that keeps copies of files that its processes had mapped. */
#define XPU_KEPT_SUFFIX		".files"

#define XPU_FILE_MAGIC		"XPUDATA"	/* 8 bytes with its NUL */
#define XPU_FILE_ENDIAN		0x01020304u
#define XPU_VERSION_MAJOR	2
#define XPU_VERSION_MINOR	10
#define XPU_VERSION_PLAIN	1		/* the last major version without blocks ... */
#define XPU_VERSION_PLAIN_MINOR	2

#define XPU_COMM_LEN		16
#define XPU_BUILD_ID_LEN	20
#define XPU_MAX_FRAMES		1000		/* in one call chain, at most: 8 KB in the kernel */
#define XPU_DEFAULT_FRAMES	512		/* the default */
#define XPU_FP_FRAMES		127		/* along frame pointers: bpf_get_stack's limit */
#define XPU_STRING_MAX		16384		/* longest interned string, NUL included */
#define XPU_BATCH_MAX		(64 * 1024 - 64)	/* bytes in one xpu_batch() call */

struct xpu_file_header {
	char	magic[8];
	__u32	endian;
	__u16	version_major;
	__u16	version_minor;
	__u32	header_bytes;		/* offset of the first record */
	__u32	clockid;		/* CLOCK_MONOTONIC */
	__u64	start_mono_ns;		/* the same instant on the two clocks */
	__u64	start_real_ns;
	__u32	nr_cpus;
	__u32	crc;			/* version 2: of header_bytes with this field as 0; every
					 * CRC here is zlib's CRC-32 */
	__u64	reserved2[2];
};

struct xpu_record {
	__u16	type;			/* enum xpu_record_type */
	__u16	misc;			/* XPU_MISC_*, by type */
	__u32	size;			/* bytes, this header included, multiple of 8 */
};

enum xpu_record_type {
	/* top level of xpu.data */
	XPU_RECORD_INFO		= 1,
	XPU_RECORD_PROCESS	= 2,
	XPU_RECORD_PROCESS_EXIT	= 3,
	XPU_RECORD_THREAD	= 4,
	XPU_RECORD_MMAP		= 5,
	XPU_RECORD_COMM		= 6,
	XPU_RECORD_FORK		= 7,
	XPU_RECORD_EXIT		= 8,
	XPU_RECORD_CALLCHAIN	= 9,
	XPU_RECORD_LAUNCHES	= 10,
	XPU_RECORD_BATCH	= 11,
	XPU_RECORD_LOST		= 12,
	XPU_RECORD_END		= 13,
	XPU_RECORD_GRAPH_NODE	= 14,
	XPU_RECORD_SAMPLES	= 15,
	XPU_RECORD_KSYM		= 16,
	XPU_RECORD_STACK	= 17,
	XPU_RECORD_WAIT		= 18,
	XPU_RECORD_OFF_CPU	= 19,
	XPU_RECORD_OFF		= 20,
	XPU_RECORD_ACCOUNT	= 21,
	XPU_RECORD_BLOCK	= 22,	/* version 2: the file consists of these */

	XPU_RECORD_PYSOURCE	= 24,
	XPU_RECORD_METRIC	= 25,
	XPU_RECORD_METRICS	= 26,
	XPU_RECORD_METRICS_END	= 27,
	XPU_RECORD_RANGES	= 28,
	XPU_RECORD_PROCESS_LABEL = 29,
	XPU_RECORD_ALLOCS	= 30,

	/* a recording in several files; since 2.6 */
	XPU_RECORD_CUT		= 40,	/* on the way to the files: the next one begins */
	XPU_RECORD_PART		= 41,
	XPU_RECORD_EARLIER	= 42,	/* struct xpu_record_launches */
	XPU_RECORD_CARRIED	= 43,

	/* ring buffer only: the loader turns these into CALLCHAIN, THREAD, LAUNCHES and WAIT */
	XPU_RECORD_LAUNCH	= 32,
	XPU_RECORD_SAMPLE	= 33,	/* becomes CALLCHAIN, THREAD, KSYM and SAMPLES or STACK */
	XPU_RECORD_LAUNCH_WAIT	= 35,
	XPU_RECORD_LOG		= 36,
	XPU_RECORD_RING_OFF	= 37,	/* becomes OFF_CPU */
	XPU_RECORD_OFF_STACK	= 38,	/* becomes KSYM and CALLCHAIN */
	XPU_RECORD_RING_ACCOUNT	= 39,	/* becomes ACCOUNT */

	/* inside a BATCH only: written by the shim */
	XPU_RECORD_STRING	= 64,
	XPU_RECORD_API		= 65,
	XPU_RECORD_STREAM	= 66,
	XPU_RECORD_KERNEL	= 67,
	XPU_RECORD_MEMCPY	= 68,
	XPU_RECORD_MEMSET	= 69,
	XPU_RECORD_COUNTERS	= 70,
	XPU_RECORD_MESSAGE	= 71,
	XPU_RECORD_DEVICE	= 72,
	XPU_RECORD_GRAPH_CLONE	= 73,
	XPU_RECORD_PYCODE	= 74,
	XPU_RECORD_PYTHON	= 75,	/* for the loader: it is not written to the file */
	XPU_RECORD_CALLS	= 76,
	XPU_RECORD_REFUSED	= 78,
	XPU_RECORD_RANGE	= 80,
	XPU_RECORD_SHAPE	= 81,
	XPU_RECORD_STALL_REASON	= 82,
	XPU_RECORD_STALLS	= 83,
	XPU_RECORD_STALLS_ACCOUNT = 84,
	XPU_RECORD_CUBIN	= 85,
	XPU_RECORD_WINDOW	= 86,
	XPU_RECORD_LABEL	= 87,
	XPU_RECORD_ALLOC	= 88,	/* for the loader, alone in its batch: becomes ALLOCS */
};

/* ---- blocks --------------------------------------------------------------------------------- */

#define XPU_BLOCK_MAGIC	"XPUBLOCK"	/* 8 bytes, without a NUL; readers search for it */
#define XPU_BLOCK_MAX	(8u << 20)	/* bytes of records in a block; no record spans two */
/*
 * The largest ratio of a block's records to its stored bytes, so that a small file cannot keep its
 * reader busy for hours. Records that would pack closer are stored unpacked.
 */
#define XPU_BLOCK_RATIO	256

enum {	/* misc of BLOCK; a reader skips blocks with bits that it does not know */
	XPU_MISC_BLOCK_ZSTD	= 1,	/* data is one frame of Zstandard */
	XPU_MISC_BLOCK_COLUMNS	= 2,	/* below that, data is struct xpu_columns */
};

/*
 * A block: whole records, raw_bytes in all, perhaps packed. data ends where the block's record
 * ends, padded to 8 bytes; the header is all that stands before data. Damage costs the records of
 * one block: the next one is where .size says, or, if the header itself is damaged, where the next
 * magic has a header_crc that is right. .number and .launches_before tell how many blocks and
 * launches are missing between two blocks.
 */
struct xpu_record_block {
	struct xpu_record hdr;
	__u8	magic[8];
	__u32	header_crc;		/* of the header with this field as 0 */
	__u32	crc;			/* of data: stored_bytes, without the padding */
	__u32	stored_bytes;
	__u32	packed_bytes;		/* with ZSTD: the bytes before compression; else
					 * stored_bytes */
	__u32	raw_bytes;		/* of records; equal to packed_bytes without COLUMNS */
	__u32	nr_launches;		/* in the block's LAUNCHES records */
	__u64	number;			/* of blocks before it */
	__u64	launches_before;	/* nr_launches of all blocks before it */
	__u8	data[];
};

/*
 * The most frequent records are rows of equal size. They are stored column by column: tables of
 * 32-bit words, and pieces that say how to rebuild the records. Each piece takes the next so many
 * bytes of the literals and, behind them, the next so many rows of a table.
 *
 * In the order of data: this, pieces, tables with their columns, literals, planes. A column has up
 * to four planes: the lowest byte of each of its numbers, then all the next bytes, and so on; what
 * has no plane is 0. The planes follow in the order of the tables, their columns, and from the
 * lowest byte. The number n is the zigzag code of a difference, n >> 1 ^ -(n & 1) modulo 2^32: to
 * the word above, which is base for the first row, with XPU_COLUMN_DELTA; else to base.
 */
struct xpu_columns {
	__u32	nr_pieces;
	__u32	nr_tables;		/* XPU_TABLES_MAX at most */
	__u32	literal_bytes;
	__u32	reserved;
};

struct xpu_piece {
	__u32	literal_bytes;
	__u16	table;
	__u16	nr_rows;
};

struct xpu_table {
	__u32	nr_rows;
	__u32	nr_columns;		/* 1 to XPU_COLUMNS_MAX: of struct xpu_column, behind this */
};

struct xpu_column {
	__u32	base;
	__u16	nr_planes;		/* 0 to 4 */
	__u16	flags;			/* XPU_COLUMN_* */
};

#define XPU_COLUMN_DELTA	1
#define XPU_TABLES_MAX		32
#define XPU_COLUMNS_MAX		16

/* ---- top level ------------------------------------------------------------------------------ */

enum xpu_info_key {
	XPU_INFO_VERSION	= 1,	/* of xpuload */
	XPU_INFO_HOSTNAME	= 2,
	XPU_INFO_OS_RELEASE	= 3,
	XPU_INFO_ARCH		= 4,
	XPU_INFO_CMDLINE	= 5,	/* the target's, NUL between the arguments */
	XPU_INFO_OPTIONS	= 6,	/* xpuload's own, NUL between the arguments */
};

struct xpu_record_info {
	struct xpu_record hdr;
	__u32	key;			/* enum xpu_info_key */
	__u32	bytes;			/* of data, without the padding */
	char	data[];
};

enum {	/* misc of PROCESS: how the image came to be */
	XPU_MISC_PROCESS_ROOT	= 1,	/* started by xpuload; its exec follows */
	XPU_MISC_PROCESS_FORK	= 2,
	XPU_MISC_PROCESS_EXEC	= 3,
	XPU_MISC_PROCESS_ATTACH	= 4,	/* ran before the recording began */
};

enum {	/* misc of PROCESS_EXIT */
	XPU_MISC_EXIT_STOPPED	= 1,	/* the process lives on, but the invoker may no longer
					 * record it */
};

struct xpu_record_process {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	proc_id;
	__u32	pid;			/* as the pid namespace of xpuload numbers it */
	__u32	parent_proc_id;		/* FORK: the forking image; EXEC: the image replaced */
	__u32	reserved;
	char	comm[XPU_COMM_LEN];
};

struct xpu_record_process_exit {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	proc_id;
	__u32	pid;
	__u32	exit_code;		/* as wait(2) encodes it */
	__u32	reserved;
};

struct xpu_record_thread {
	struct xpu_record hdr;
	__u32	thread_id;		/* interned, unique in the recording */
	__u32	proc_id;
	__u32	tid;
	__u32	ns_tid;			/* the thread's number in its own pid namespace, if it
					 * differs and is known, else 0; a later definition may add
					 * it */
};

enum {	/* misc of MMAP */
	XPU_MISC_MMAP_BUILD_ID	= 1,	/* build_id is there */
	XPU_MISC_MMAP_SYNTH	= 2,	/* read from /proc/PID/maps, not seen happening */
};

struct xpu_record_mmap {		/* an executable mapping */
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	pid;
	__u32	tid;
	__u64	start;
	__u64	len;
	__u64	pgoff;			/* bytes into the file */
	__u64	ino;			/* 0 where the kernel gave a build-id in its place */
	__u32	dev_major;
	__u32	dev_minor;
	__u32	prot;
	__u32	flags;
	__u8	build_id_len;
	__u8	build_id[XPU_BUILD_ID_LEN];
	__u8	reserved[3];
	char	filename[];		/* NUL-terminated, padded */
};

#define XPU_MISC_COMM_EXEC	1	/* of COMM: the name came with an exec; all maps are gone */

struct xpu_record_comm {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	pid;
	__u32	tid;
	char	comm[XPU_COMM_LEN];
};

struct xpu_record_task {		/* FORK (threads too), EXIT (of a thread) */
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	pid;
	__u32	tid;
	__u32	ppid;
	__u32	ptid;
};

enum {	/* misc of CALLCHAIN, flags of struct xpu_ring_launch */
	XPU_CHAIN_TRUNCATED	= 1,	/* deeper than nr_frames says */
	XPU_CHAIN_SHIM		= 2,	/* unwound in process; else by bpf_get_stack */
	XPU_CHAIN_FAILED	= 4,	/* no stack could be read: nr_frames is 0 */
	XPU_CHAIN_CPU		= 8,	/* of a thread that ran, not of a launch: cbid means
					 * nothing, and kernel frames, XPU_FRAME_IS_KERNEL, may come
					 * first */
	XPU_CHAIN_NO_LAUNCH	= 16,	/* slot and ring only: this defines the chain, and is no
					 * launch */
	XPU_CHAIN_STACK		= 32,	/* in the ring only: a copy of the stack, not user frames */
	XPU_CHAIN_OFF		= 64,	/* beside CPU: it stopped running there, in the scheduler */
};

struct xpu_record_callchain {
	struct xpu_record hdr;
	__u32	path_id;		/* interned, unique in the recording */
	__u32	proc_id;
	__u64	time_ns;		/* the time of its first launch */
	__u32	cbid;			/* what was called, in CUPTI's numbers ... */
	__u16	domain;			/* ... of this CUpti_CallbackDomain */
	__u16	nr_frames;
	__u64	frames[];		/* return addresses, innermost first; or XPU_FRAME_* */
};

/*
 * A frame of a call chain that is no return address: one of Python's, in the place of the frame of
 * its interpreter's evaluation loop. No user address has a top byte.
 *
 *	63  56 55 54    32 31   0
 *	 0xf5   0   line    code
 *
 * line is 0 where it is not known; code is the id of an XPU_RECORD_PYCODE of the process, or one
 * of:
 */
#define XPU_FRAME_PYTHON	(0xf5ull << 56)
#define XPU_FRAME_IS_PYTHON(f)	((f) >> 56 == 0xf5)
#define XPU_FRAME_LINE(f)	((__u32)((f) >> 32 & 0x7fffff))
#define XPU_FRAME_CODE(f)	((__u32)(f))
#define XPU_FRAME_LINE_MAX	0x7fffff
#define XPU_FRAME_IS_KERNEL(f)	((f) >> 56 == 0xff)
#define XPU_CODE_NATIVE		0		/* not Python, in a chain of Python frames only */
#define XPU_CODE_UNKNOWN	0xffffffffu	/* Python, but it is not known which code */

/*
 * A frame that comes with its name, as importers of other tools' recordings make them: the low half
 * is the id of an XPU_RECORD_STRING of the process.
 */
#define XPU_FRAME_NAMED		(0xf6ull << 56)
#define XPU_FRAME_IS_NAMED(f)	((f) >> 56 == 0xf6)
#define XPU_FRAME_STRING(f)	((__u32)(f))

struct xpu_launch {
	__u32	correlation_id;
	__u32	path_id;
	__s32	delta_ns;		/* to the record's time_ns; may be negative */
	__u32	thread_id;
};

#define XPU_MISC_LAUNCHES_RANGES	1	/* of LAUNCHES: __u32 range_id[nr] follows them */

struct xpu_record_launches {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	nr;
	__u32	reserved;
	struct xpu_launch launches[];
};

/*
 * NVTX ranges. The ranges that are open on a thread at a time form a path, which begins with the
 * range that was opened first. An XPU_RECORD_RANGE describes the last range of a path, and names
 * the path that the range was opened in. So one id names all open ranges, and a launch's range_id
 * is exact whatever else is lost.
 */
enum xpu_range_what {
	XPU_RANGE_PUSH		= 1,	/* range_id's last was opened */
	XPU_RANGE_POP		= 2,	/* the one at place was closed, and range_id is left */
	XPU_RANGE_START		= 3,	/* START and END: as PUSH and POP, for ranges that any
					 * thread may close */
	XPU_RANGE_END		= 4,
	XPU_RANGE_MARK		= 5,	/* range_id's last is no range but a moment */
	XPU_RANGE_SET		= 6,	/* events are missing, or the thread has ended */
};

struct xpu_range_event {
	__u32	range_id;		/* of the thread's process; 0: none is open */
	__u32	thread_id;
	__s32	delta_ns;		/* to the record's time_ns; may be negative */
	__u16	what;			/* enum xpu_range_what */
	__u16	place;			/* among those that were open, from 0 */
};

struct xpu_record_ranges {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	nr;
	__u32	reserved;
	struct xpu_range_event events[];
};

/*
 * Memory, for --memory; since 2.6. Every event has a number, unique in its process, and the numbers are
 * an order in which the events may have happened: a free takes its number before CUDA is asked, an
 * allocation when CUDA has answered. So of one address, each allocation comes behind the free that made
 * room for it, whatever thread made either. Numbers have no gaps.
 */
enum xpu_alloc_what {
	XPU_ALLOC_NONE		= 0,	/* nothing: fills up a log */
	XPU_ALLOC_MADE		= 1,
	XPU_ALLOC_FREED		= 2,
	XPU_ALLOC_FAILED	= 3,	/* to make it: address is what was free on the device then,
					 * or ~0; extra CUDA's result */
	XPU_ALLOC_NOT_FREED	= 4,	/* CUDA refused to free it; extra is its result */
	XPU_ALLOC_CONTEXT_END	= 5,	/* all that context extra owns is freed */
	XPU_ALLOC_TOTALS	= 6,	/* of an allocator for a device, with the event before this one
					 * on that device: address what is allocated of it, bytes what
					 * it has reserved */
	XPU_ALLOC_START		= 7,	/* the recording begins with this number. bytes: 1 if the
					 * process had used CUDA before */
	XPU_ALLOC_HANDLE	= 8,	/* of the MAPPING that has the next number: address, and
					 * bytes into it */
	XPU_ALLOC_RETAINED	= 9,	/* one more reference to a PHYSICAL */
	XPU_ALLOC_LEVEL		= 10,	/* since 2.7: GRAPHS, UNUSED and REST have so many bytes now; of
					 * REST, address is the size of the device. The shim's own */
	XPU_ALLOC_SEGMENTS	= 11,	/* since 2.8: an allocator has its segments by path_id */
	XPU_ALLOC_NR
};

enum xpu_alloc_space {
	XPU_SPACE_DEVICE	= 0,	/* these three have addresses in common */
	XPU_SPACE_MANAGED	= 1,
	XPU_SPACE_POOL		= 2,	/* of a pool, in the order of a stream */
	XPU_SPACE_PINNED	= 3,	/* of the host */
	XPU_SPACE_REGISTERED	= 4,	/* the program's own, pinned later */
	XPU_SPACE_PHYSICAL	= 5,	/* cuMemCreate: the address is a handle */
	XPU_SPACE_MAPPING	= 6,	/* of such memory, which it keeps alive; takes none itself */
	XPU_SPACE_ARRAY		= 7,	/* the address is a handle */
	XPU_SPACE_IMPORTED	= 8,	/* another process's: takes none itself */
	XPU_SPACE_BLOCK		= 9,	/* of a framework's allocator, cut from memory that it has
					 * of CUDA */
	XPU_SPACE_GRAPHS	= 10,	/* since 2.7: of nodes of CUDA graphs. MADE: the node, which takes
					 * none itself. LEVEL: what a device's graphs have */
	XPU_SPACE_UNUSED	= 11,	/* what the pools of a device have reserved and do not use */
	XPU_SPACE_REST		= 12,	/* all that is used of a device, by anybody */
	XPU_SPACE_NR
};

#define XPU_ALLOC_NO_DEVICE	0x3ff	/* the host's */

struct xpu_alloc {
	__u32	path_id;		/* 0: not known */
	__u32	thread_id;
	__u32	range_id;		/* as a launch's */
	__s32	delta_ns;		/* to the record's time_ns; may be negative */
	__s32	delta_order;		/* to the record's order; may be negative */
	__u8	what;			/* enum xpu_alloc_what */
	__u8	space;			/* enum xpu_alloc_space */
	__u16	device;			/* the process's ordinal */
	__u32	extra;			/* of MADE: CUPTI's id of the context that owns it; 0: none */
	__u32	reserved;
	__u64	address;
	__u64	bytes;
};

/*
 * Of ALLOCS, since 2.8: all that was live when the file of a recording began, which is in earlier files,
 * too. The events have the numbers before those of the file. REST has what was not reserved by any process.
 */
#define XPU_MISC_ALLOCS_CARRIED	1

struct xpu_record_allocs {		/* of one process */
	struct xpu_record hdr;
	__u64	time_ns;
	__u64	order;
	__u32	proc_id;
	__u32	nr;
	struct xpu_alloc events[];
};

/*
 * CPU samples: each stands for period_ns of its thread on a CPU. Their chains have XPU_CHAIN_CPU.
 * If the thread was in the kernel, its innermost user frame is the place where it entered the
 * kernel. That frame and the chain's first frame are addresses of instructions, not return
 * addresses.
 */
struct xpu_sample {
	__u32	path_id;
	__u32	thread_id;
	__s32	delta_ns;		/* to the record's time_ns; may be negative */
	__u16	cpu;
	__u16	reserved;
};

struct xpu_record_samples {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	nr;
	__u32	period_ns;
	struct xpu_sample samples[];
};

/*
 * A CPU sample whose user stack is to be unwound: the registers, and the top of the stack as it
 * was. The record has .bytes of the stack, from the stack pointer on, in blocks of XPU_STACK_BLOCK
 * bytes at multiples of that size; the part of a block outside of these bytes is 0. data begins
 * with a bitmap, in whole words, lowest bit and address first, of the blocks that follow it. Blocks
 * that are missing, with XPU_MISC_STACK_DELTA only, are equal to those at the same addresses in the
 * thread's last STACK record.
 */
#define XPU_STACK_BLOCK		64
#define XPU_STACK_MAX		(256 * 1024)	/* bytes */
#define XPU_MISC_STACK_DELTA	1

/*
 * Registers of a STACK record, by the machine that XPU_INFO_ARCH names. As many for each, and the frame
 * pointer, the stack pointer and the instruction pointer have the same places.
 */
enum {	/* x86_64: numbered as its DWARF has it */
	XPU_REG_AX, XPU_REG_DX, XPU_REG_CX, XPU_REG_BX, XPU_REG_SI, XPU_REG_DI, XPU_REG_BP,
	XPU_REG_SP, XPU_REG_R8, XPU_REG_R9, XPU_REG_R10, XPU_REG_R11, XPU_REG_R12, XPU_REG_R13,
	XPU_REG_R14, XPU_REG_R15, XPU_REG_IP,
	XPU_NR_REGS
};

enum {	/* aarch64: x19 to x24; x29, SP; x25 to x28; x30; x15, x16 and x17, which stubs use; PC */
	XPU_REG_X19 = 0, XPU_REG_X25 = 8, XPU_REG_LR = 12, XPU_REG_X15, XPU_REG_X16, XPU_REG_X17,
};

/*
 * A word of Python's frames in a STACK record, innermost first. It is an instruction of a code
 * object, as PYSOURCE's id and half the instruction's offset; or, behind the frames of one
 * evaluation loop, an address in the stack frame of that loop.
 */
#define XPU_WORD_PYTHON		(0xf7ull << 56)
#define XPU_WORD_IS_PYTHON(w)	((w) >> 56 == 0xf7)
#define XPU_WORD_WHERE(w)	(((w) >> 32 & 0xffffff) * 2)
#define XPU_WORD_CODE(w)	((__u32)(w))
#define XPU_MAX_PYTHON		2046		/* of both kinds */

struct xpu_record_stack {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	path_id;		/* the kernel's frames, if it was there; else 0 */
	__u32	thread_id;
	__u32	period_ns;		/* 0: no sample, but a stack off the CPU. Frame pointers
					 * gave path_id, which may lack callers of its innermost
					 * user frame: this record has them. If path_id has kernel
					 * frames only, and with nr_python, this record has all
					 * other frames */
	__u16	cpu;
	__u16	reserved;
	__u32	bytes;
	__u32	nr_python;		/* words, before the bitmap in data */
	__u64	regs[XPU_NR_REGS];
	__u64	data[];
};

/*
 * A Python code object that samples have met, copied from memory. data has, one behind the other,
 * its name (qualified from Python 3.11 on), its file name, and its line table. The widths are the
 * bytes of a character.
 */
struct xpu_record_pysource {
	struct xpu_record hdr;
	__u32	id;			/* unique in the recording */
	__u32	first_line;
	__u16	minor;			/* of Python 3 */
	__u8	name_width;		/* 1, 2, 4 */
	__u8	file_width;
	__u32	name_bytes;
	__u32	file_bytes;
	__u32	table_bytes;
	__u8	data[];
};

struct xpu_record_ksym {		/* a kernel function that a call chain contains */
	struct xpu_record hdr;
	__u64	start, end;		/* [start, end); end is where the next one begins */
	__u32	bytes;			/* of name: with the NUL, without the padding */
	__u32	reserved;
	char	name[];
};

/*
 * A graph node was made, either by a launch that was captured instead of run, and that then owns no
 * device work itself, or by an explicit call. The node's device work belongs under this call path.
 */
struct xpu_record_graph_node {
	struct xpu_record hdr;
	__u64	time_ns;
	__u64	node_id;
	__u32	proc_id;
	__u32	correlation_id;		/* of the captured launch; 0: made by an explicit call */
	__u32	path_id;
	__u32	thread_id;
};

enum {	/* misc of WAIT: the object that the call waited for */
	XPU_WAIT_STREAM		= 1,	/* for that stream; else for all streams of the context */
	XPU_WAIT_OTHERS		= 2,	/* for other streams of the context too, while that stream
					 * has no work */
	XPU_WAIT_WORK		= 4,	/* the call (a launch, a copy) also does other things, so it
					 * waited only while the device worked */
	XPU_WAIT_LAUNCH		= 8,	/* for the stream of launch correlation_id, which was full;
					 * or for that copy itself */
};

/*
 * A thread was in a CUDA call while the device had work that the call waited for, or may have
 * waited for. The call's time is to be shared out among that work.
 */
struct xpu_record_wait {
	struct xpu_record hdr;
	__u64	start_ns;
	__u64	duration_ns;
	__u32	path_id;
	__u32	thread_id;
	__u32	context;		/* CUPTI's ids */
	__u32	stream;
	__u32	correlation_id;		/* of a launch or copy; 0: none */
	__u32	range_id;		/* as a launch's */
};

enum xpu_off_kind {			/* why a thread did not run */
	XPU_OFF_LOCK		= 0,
	XPU_OFF_IO		= 1,
	XPU_OFF_SLEEP		= 2,
	XPU_OFF_POLL		= 3,	/* for any of several events, or a timeout */
	XPU_OFF_CHILD		= 4,	/* for a process to end */
	XPU_OFF_OTHER		= 5,
	XPU_OFF_RUNNABLE	= 6,	/* it was ready to run, but no CPU was free */
	XPU_OFF_CALL		= 7,	/* any of the above, in a CUDA call that may wait */
	XPU_OFF_NR
};

/*
 * A thread was off the CPU: nr times for sum_ns in all. Chains have XPU_CHAIN_CPU. The kind is the
 * record's misc. Before version 2.10 a record has the sum of the whole recording, and no span.
 */
struct xpu_record_off_cpu {
	struct xpu_record hdr;
	__u64	last_ns;		/* when the last interval began */
	__u64	nr;
	__u64	sum_ns;
	__u64	max_ns;
	__u32	path_id;
	__u32	thread_id;
	__u64	first_ns;		/* when the first interval began; 0: not known */
	__u64	end_ns;			/* when the last interval ended */
};

/* One interval, which the sums have, too: a long one before version 2.10, or one that has no sum. */
struct xpu_record_off {
	struct xpu_record hdr;
	__u64	start_ns;
	__u64	duration_ns;
	__u32	path_id;
	__u32	thread_id;
};

struct xpu_thread_time {
	__u64	run_ns;
	__u64	nr_switches;		/* how often it stopped running */
	__u64	off_ns[XPU_OFF_NR];
};

/*
 * The life of a thread in one process image, or the part of it that is in the recording. The times
 * add up to that life.
 */
struct xpu_record_account {
	struct xpu_record hdr;
	__u64	start_ns;
	__u64	end_ns;
	__u32	thread_id;
	__u32	reserved;
	struct xpu_thread_time time;
};

struct xpu_record_batch {		/* one xpu_batch() call of one process */
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	proc_id;
	__u32	tid;
	__u32	bytes;			/* of records; the rest of hdr.size is padding to ignore */
	__u32	ns_tid;			/* tid, as its own pid namespace numbers it; 0: not known */
	__u8	records[];
};

enum xpu_lost_kind {
	XPU_LOST_LAUNCH		= 1,	/* launch records: ring full */
	XPU_LOST_BATCH		= 2,	/* batches: ring full */
	XPU_LOST_PROCESS	= 3,	/* process records: ring or process table full */
	XPU_LOST_READ		= 4,	/* slots or batches the BPF program could not read */
	XPU_LOST_SCRATCH	= 5,	/* launches without memory for a call chain */
	XPU_LOST_SIDEBAND	= 6,	/* mmap, comm, fork, exit events: perf ring full */
	XPU_LOST_DISK		= 7,	/* bytes that could not be written */
	XPU_LOST_WAIT		= 8,	/* waits for the device: ring full */
	XPU_LOST_SAMPLE		= 9,	/* CPU samples: ring full */
	XPU_LOST_OFF_CPU	= 10,	/* off-CPU intervals: maps or ring full */
	XPU_LOST_ACCOUNT	= 11,	/* threads' accounts: maps or ring full */
	XPU_LOST_RANGE		= 12,	/* events of NVTX ranges: ring full */
	XPU_LOST_MALFORMED	= 13,	/* entries that no shim makes: ignored */
	XPU_LOST_ALLOC		= 14,	/* events of memory: ring full */
	XPU_LOST_NR
};

struct xpu_record_lost {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	kind;			/* enum xpu_lost_kind */
	__u32	reserved;
	__u64	count;			/* since the last LOST record of the kind */
};

#define XPU_MISC_END_CONTINUES	1	/* of END, since 2.6: in another file; see PART */

struct xpu_record_end {			/* the recording was closed in good order */
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	wait_status;		/* the target's, as wait(2) encodes it */
	__u32	reserved;
};

/*
 * A recording may be a row of files, each of which can be read alone: see xpumerge split. A launch is in
 * the file that has its first device record; one without any is in the file of its process's end, or in
 * the last one. Definitions are in each file in which they may be referred to, in batches with
 * XPU_MISC_BATCH_CARRIED. EARLIER has launches that count in an earlier file and that own device records
 * in this one, too.
 */
struct xpu_record_part {
	struct xpu_record hdr;
	__u64	time_ns;		/* the file has what came since */
	__u64	number;			/* of the file, from 1 */
	__u64	first_mono_ns;		/* start_mono_ns of the first file: equal in all of them */
	char	first_name[];		/* NUL-terminated, padded, without a directory: the directory
					 * of kept files is beside that one */
};

struct xpu_record_cut {
	struct xpu_record hdr;
	__u64	time_ns;
};

#define XPU_MISC_BATCH_CARRIED	1	/* of BATCH: its records came in batches of earlier files */

/* ---- ring buffer only ----------------------------------------------------------------------- */

struct xpu_ring_launch {		/* LAUNCH, and LAUNCH_WAIT with XPU_WAIT_* as its misc */
	struct xpu_record hdr;
	__u64	time_ns;		/* LAUNCH_WAIT: of its begin */
	__u32	proc_id;
	__u32	tid;
	__u32	correlation_id;
	__u32	cbid;
	__u16	domain;
	__u16	flags;			/* XPU_CHAIN_* */
	__u32	nr_frames;
	__u64	graph_node_id;		/* not 0: no launch, but a graph node made */
	__u64	wait_ns;		/* LAUNCH_WAIT */
	__u32	wait_context;
	__u32	wait_stream;
	__u32	path_id;		/* the number of this chain in the shim's logs; 0: none */
	__u32	ns_tid;			/* tid, as the thread's own pid namespace numbers it */
	__u32	range_id;
	__u32	reserved;
	__u64	frames[];
};

struct xpu_ring_log {			/* launches from one thread's struct xpu_log */
	struct xpu_record hdr;
	__u64	first;			/* entries that the log has held before these */
	__u64	clock_ticks;		/* struct xpu_clock, for entries with XPU_LOG_TICKS */
	__u64	clock_ns;
	__u64	clock_rate;
	__u32	proc_id;
	__u32	tid;			/* 0: not known, but ns_tid is */
	__u32	ns_tid;
	__u32	log_id;
	__u32	nr;
	__u32	range_id;		/* the range before the first entry */
	__u8	entries[];		/* nr of struct xpu_log_entry, see xpu_slot.h */
};

/* A Python frame on its way to the loader; with code 0 it marks the end of one loop's frames. */
struct xpu_python_frame {
	__u64	code;
	__u64	where;			/* bytes into the code; the loop's address */
	__u64	print;			/* XPU_PYTHON_PRINT of code */
};

#define XPU_PYTHON_PRINT(name, table, line) ((name) ^ (table) << 1 ^ (__u64)(line) << 40)

struct xpu_ring_sample {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	proc_id;
	__u32	tid;
	__u32	cpu;
	__u16	flags;			/* XPU_CHAIN_* */
	__u16	nr_frames;
	__u32	stack_bytes;		/* XPU_CHAIN_STACK: behind the registers */
	__u32	nr_python;		/* struct xpu_python_frame, before them */
	__u64	frames[];		/* the kernel's, then the user's; or the kernel's, then
					 * Python's, XPU_NR_REGS registers and stack_bytes of the
					 * stack */
};

struct xpu_ring_off_stack {
	struct xpu_record hdr;
	__u64	time_ns;
	__u64	hash[2];		/* of all frames; later records name the stack by it */
	__u32	proc_id;
	__u16	flags;			/* XPU_CHAIN_* */
	__u16	nr_frames;
	__u32	tid;
	__u32	stack_bytes;		/* XPU_CHAIN_STACK: behind the registers */
	__u32	nr_python;		/* struct xpu_python_frame, before them */
	__u32	reserved;
	__u64	frames[];		/* the kernel's, then the user's; then Python's, XPU_NR_REGS
					 * registers and stack_bytes of the stack */
};

struct xpu_ring_off {			/* its misc: the kind */
	struct xpu_record hdr;
	__u64	first_ns;		/* these as in OFF_CPU */
	__u64	last_ns;
	__u64	end_ns;
	__u64	nr;
	__u64	sum_ns;
	__u64	max_ns;
	__u64	hash[2];
	__u32	proc_id;
	__u32	tid;
};

struct xpu_ring_account {
	struct xpu_record hdr;
	__u64	start_ns;
	__u64	end_ns;
	__u32	proc_id;
	__u32	tid;
	struct xpu_thread_time time;
};

/* ---- inside a batch: the shim writes these --------------------------------------------------- */

struct xpu_record_string {
	struct xpu_record hdr;
	__u32	id;
	__u32	bytes;			/* with the NUL, without the padding */
	char	data[];
};

struct xpu_record_api {			/* the name of a CUPTI callback id */
	struct xpu_record hdr;
	__u32	domain;
	__u32	cbid;
	__u32	name;			/* string id */
	__u32	reserved;
};

/* The limits that decide how many blocks of a kernel a multiprocessor holds. */
struct xpu_device_limits {
	__u32	capability;		/* 10 * major + minor */
	__u32	nr_multiprocessors;
	__u32	warp_threads;
	__u32	max_threads;		/* of a multiprocessor, as the next three */
	__u32	max_blocks;
	__u32	registers;
	__u32	shared_bytes;
	__u32	block_registers;	/* that a block may have */
	__u32	block_reserved_bytes;	/* shared memory that the system takes of each block's */
	__u32	reserved;
};

struct xpu_record_device {
	struct xpu_record hdr;
	__u32	device;			/* CUDA's ordinal in that process */
	__u32	name;			/* string id */
	__u8	uuid[16];
	struct xpu_device_limits limits;	/* since 2.2; all 0: not known */
};

/*
 * How a kernel was launched; since 2.2. Each way has a string of its own with the kernel's name, whose
 * id KERNEL.name has: readers that do not know this record see the name.
 */
struct xpu_shape {
	__u32	grid[3];		/* in blocks */
	__u32	block[3];		/* in threads */
	__u32	cluster[3];		/* in blocks; 0: none, or CUPTI is older than 11.8 */
	__u32	registers;		/* of a thread */
	__u32	static_bytes;		/* of shared memory, of a block, as the next one */
	__u32	dynamic_bytes;
	__u32	local_bytes;		/* of a thread */
};

struct xpu_record_shape {
	struct xpu_record hdr;
	__u32	name;			/* string id */
	struct xpu_shape shape;
};

struct xpu_record_stream {		/* where device work ran */
	struct xpu_record hdr;
	__u32	id;
	__u32	device;
	__u32	context;
	__u32	stream;
};

#define XPU_MISC_GRAPH_NODE	1	/* of KERNEL, MEMCPY, MEMSET: graph_node_id is there */
#define XPU_MISC_BAD_TIME	2	/* of the same three: CUPTI gave no times; both are 0 */

struct xpu_record_kernel {
	struct xpu_record hdr;
	__u64	start_ns;
	__u64	duration_ns;
	__u32	correlation_id;
	__u32	name;			/* string id, mangled */
	__u32	stream;			/* stream id */
	__u32	graph_id;
	__u64	graph_node_id[];	/* one with XPU_MISC_GRAPH_NODE */
};

struct xpu_record_memory {		/* MEMCPY and MEMSET */
	struct xpu_record hdr;
	__u64	start_ns;
	__u64	duration_ns;
	__u32	correlation_id;
	__u32	stream;			/* stream id */
	__u64	bytes;
	__u8	copy_kind;		/* MEMCPY: CUpti_ActivityMemcpyKind */
	__u8	src_kind;		/* CUpti_ActivityMemoryKind */
	__u8	dst_kind;
	__u8	is_async;
	__u32	graph_id;
	__u64	graph_node_id[];
};

/* One call of CUDA's API, of the runtime or, outside of it, of the driver. */
struct xpu_call {
	__s32	delta_ns;		/* when it began, to the record's time_ns */
	__u32	correlation_id;
	__u32	duration_ns;		/* the lower 32 bits ... */
	__u16	duration_high;		/* ... and the upper 16 */
	__u16	cbid;			/* CUPTI's: the runtime's with XPU_CALL_RUNTIME, else the
					 * driver's */
};

#define XPU_CALL_RUNTIME	0x8000
#define XPU_CALL_MAX_NS		((1ull << 48) - 1)

/*
 * The calls of one thread, by when they ended. A thread sends them itself, too, in batches without COUNTERS;
 * and so the names of functions, as they are called for the first time.
 */
struct xpu_record_calls {
	struct xpu_record hdr;
	__u64	time_ns;
	__u32	tid;			/* gettid() in the process's pid namespace: see BATCH's
					 * ns_tid */
	__u32	nr;
	struct xpu_call calls[];
};

/* The copy of a node, in a graph that is cloned or instantiated. */
struct xpu_record_graph_clone {
	struct xpu_record hdr;
	__u64	node_id;
	__u64	original_id;
};

/* A launch call returned an error, or copied or set no bytes: it put nothing on a device. */
struct xpu_record_refused {
	struct xpu_record hdr;
	__u32	correlation_id;
	__u32	result;			/* CUresult, or the following */
};

#define XPU_REFUSED_NO_BYTES	0xffffffffu

/*
 * The address of this process's interpreter and the offsets of its members, in bytes, for BPF
 * programs that walk its frames. The names are CPython's. This is the only record of its batch.
 */
struct xpu_python {
	__u64	runtime;		/* address of _PyRuntime */
	__u64	code_type, unicode_type;	/* addresses of PyCode_Type, PyUnicode_Type */
	__u32	interp_threads;		/* the first PyThreadState, in PyInterpreterState */
	__u16	minor;			/* of Python 3 */
	__u16	has_cframe;
	__u16	runtime_main;		/* interpreters.main, in _PyRuntime */
	__u16	ts_thread_id, ts_frame, ts_cframe;
	__u16	cframe_frame, cframe_previous;
	__u16	f_code, f_previous, f_instr, f_entry, f_owner;
	__u16	co_name, co_filename, co_firstlineno, co_linetable, co_code, co_bytes;
	__u16	ascii_bytes, compact_bytes;
	__u16	reserved;
};

struct xpu_record_python {
	struct xpu_record hdr;
	struct xpu_python python;
};

struct xpu_record_pycode {		/* a Python code object */
	struct xpu_record hdr;
	__u32	id;
	__u32	name;			/* string id: qualified from Python 3.11 on */
	__u32	filename;		/* string id, as Python spells it */
	__u32	first_line;
};

#define XPU_RANGE_NAME_MAX	4096	/* bytes, NUL included */
#define XPU_RANGE_DOMAIN_MAX	256
#define XPU_RANGE_DEPTH		128	/* open on one thread at a time */

struct xpu_record_range {		/* see XPU_RECORD_RANGES; alone in its batch */
	struct xpu_record hdr;
	__u32	id;			/* unique in the process */
	__u32	parent;			/* the path that it was opened in; 0: none */
	__u32	payload_bytes;		/* since 2.6; 0: none */
	__u16	name_bytes;		/* with its NUL */
	__u16	domain_bytes;		/* the same */
	char	data[];			/* the name, behind it the domain's; UTF-8, most likely; then, at a
					 * multiple of 8, the payload */
};

/*
 * An operation of NCCL, as NVTX's extended payload describes it; since 2.6. Two ranges with
 * different payloads are two ranges, as if their names differed.
 */
enum xpu_collective_fields {
	XPU_COLLECTIVE_COMM	= 1,
	XPU_COLLECTIVE_BYTES	= 2,
	XPU_COLLECTIVE_RANK	= 4,
	XPU_COLLECTIVE_NR_RANKS	= 8,
	XPU_COLLECTIVE_PEER	= 16,
	XPU_COLLECTIVE_ROOT	= 32,
	XPU_COLLECTIVE_OP	= 64,
	XPU_COLLECTIVE_KEY	= 128,	/* since 2.7, of ncclCommSplit(): root has the key, ... */
	XPU_COLLECTIVE_PARENT	= 256,	/* ... bytes the communicator that is split, rank the rank in it */
};
struct xpu_range_payload {
	__u64	comm;			/* the communicator: one number on all of its ranks */
	__u64	bytes;			/* of the message, on this rank; or the parent of a split */
	__u32	fields;			/* XPU_COLLECTIVE_*, or'ed: those that it has; others are 0 */
	__s32	rank, nr_ranks;		/* of the communicator, where it is made */
	__s32	peer;			/* the rank that is sent to or received from */
	__s32	root;			/* or the key of a split */
	__s32	op;			/* ncclRedOp_t */
};

/*
 * A GPU's own counters and NVML's over time, for --gpu-metrics; since 2.3. Metrics that are sampled
 * together are a set, of one GPU; a row has a value for each.
 */
#define XPU_MAX_METRICS		64	/* of a set */
#define XPU_MAX_METRIC_SETS	256
#define XPU_METRIC_NAME_MAX	256	/* bytes, NUL included; of the unit, too */

enum xpu_metric_kind {
	XPU_METRIC_MEAN		= 1,	/* of the row's time */
	XPU_METRIC_SUM		= 2,	/* an amount in the row's time */
};

struct xpu_record_metric {		/* defines one; before its rows */
	struct xpu_record hdr;
	__u16	set;			/* from 1 */
	__u16	index;			/* in the set, each once, from 0 without gaps */
	__u32	kind;
	__u8	uuid[16];		/* of the GPU; the same for the whole set */
	__u16	name_bytes;		/* with its NUL */
	__u16	unit_bytes;		/* the same */
	__u32	reserved;
	char	data[];			/* the name, behind it the unit */
};

/* Rows are words: begin in ns after time_ns, duration in ns, then the values: float, NaN for none. */
struct xpu_record_metrics {
	struct xpu_record hdr;
	__u16	set;
	__u16	nr_metrics;
	__u32	nr_rows;
	__u64	time_ns;
	__u32	words[];
};

#define XPU_METRICS_ROW_WORDS(nr_metrics)	(2u + (nr_metrics))

struct xpu_record_metrics_end {		/* a set's account, behind its last row */
	struct xpu_record hdr;
	__u16	set;
	__u16	reserved;
	__u32	nr_overflows;		/* the hardware's buffer was full */
	__u64	nr_rows;
	__u64	lost_ns;		/* between rows, without one */
};

/*
 * CUPTI's PC samples, for --stalls; since 2.4. Samples know their function and no launch, but for those
 * that were taken while each kernel ran alone. One that issued nothing counts under two reasons: that of
 * the stall, and the same with _not_issued.
 */
struct xpu_record_stall_reason {
	struct xpu_record hdr;
	__u32	index;			/* CUPTI's, in the process */
	__u32	name;			/* string id: "smsp__pcsamp_warps_issue_stalled_wait" */
};

struct xpu_stall {
	__u32	pc;			/* bytes from the function's beginning */
	__u32	reason;			/* index */
	__u32	samples;
	__u32	reserved;
};

#define XPU_MISC_STALLS_LAUNCH	1	/* of STALLS, since 2.5: samples of one launch */

struct xpu_record_stalls {		/* of one function, as they were read in one go */
	struct xpu_record hdr;
	union {
		__u64	begin_ns;	/* they were taken since */
		__u64	correlation_id;	/* of one launch's: that launch */
	};
	__u64	end_ns;
	__u64	cubin_crc;		/* CUPTI's, of the function's module */
	__u32	device;			/* the process's ordinal */
	__u32	context;
	__u32	function;		/* string id, mangled */
	__u32	nr;
	struct xpu_stall stalls[];
};

/*
 * The source lines of a module's file: behind the functions their names, each with its NUL, and
 * .debug_line, in which the function's address stands at the offset; then, since 2.5 and up to the end,
 * .debug_str, where it has the names of inlined functions.
 */
struct xpu_cubin_function {
	__u32	offset;
	__u32	name;			/* offset in the names; mangled */
};

struct xpu_cubin_lines {
	__u32	nr_functions;
	__u32	names_bytes;
	__u32	line_bytes;
	struct xpu_cubin_function functions[];
};

#define XPU_CUBIN_MAX	(64u << 20)	/* bytes of that */

struct xpu_record_cubin {		/* a piece of it; all of them in order */
	struct xpu_record hdr;
	__u64	crc;			/* CUPTI's */
	__u32	total_bytes;
	__u32	offset;
	__u32	bytes;
	__u32	reserved;
	__u8	data[];
};

/* Running totals of a context, as CUPTI counts. */
struct xpu_record_stalls_account {
	struct xpu_record hdr;
	__u32	device;
	__u32	context;
	__u64	total;			/* samples, with all of the following */
	__u64	others;			/* of kernels that are not this process's */
	__u64	dropped;		/* by the hardware */
	__u64	nr_full;		/* times the hardware's memory was full */
	__u64	interval_cycles;
	__u64	recorded;		/* in records of STALLS, those with _not_issued apart */
	__u64	begin_ns, end_ns;	/* since 2.9: samples of all kernels between are recorded; a context
					 * may have several such spans. Both 0: not known */
};

#define XPU_MISC_WINDOW_OPEN	1	/* of WINDOW: it opens; else it has closed */

/*
 * A part of the process's life that is recorded, and nothing else of it is: see XPU_CAPTURE_ENV. The
 * shim sends each as the second record of a batch that has no third. If the process is killed, its last
 * one may have no end.
 */
struct xpu_record_window {
	struct xpu_record hdr;
	__u64	time_ns;		/* now */
	__u64	open_ns;		/* when it opened */
	__u32	number;			/* from 1 on */
	__u32	reserved;
	__u64	nr_launches;		/* 0: it has none, or it has just opened */
};

/*
 * An event of memory that could not go into its thread's log; path_id is the shim's number. On its way to
 * the loader only.
 */
struct xpu_record_alloc {
	struct xpu_record hdr;
	__u64	time_ns;
	__u64	order;
	struct xpu_alloc event;		/* thread_id and both deltas are 0 */
};

#define XPU_MISC_COUNTERS_LAST	1	/* of COUNTERS: the shim stops here, at exit or detach */

/*
 * The shim's own counts, first in every batch that the shim's thread sends, which are those that are counted
 * here. They are running totals of the process, so the last record has the final ones. Whatever is counted
 * here and has not arrived is lost.
 */
struct xpu_record_counters {
	struct xpu_record hdr;
	__u64	nr_batches;		/* sent, this one included */
	__u64	nr_launches;		/* tagged: the probe site was called */
	__u64	nr_kernels;		/* records packed */
	__u64	nr_memcpys;
	__u64	nr_memsets;
	__u64	nr_dropped_cupti;	/* records CUPTI says it dropped */
	__u64	nr_dropped_shim;	/* records dropped for want of memory */
	__u64	nr_bad_times;		/* records with start 0 or end before start */
	__u64	nr_unfinished;		/* records handed out at exit before their work was done */
	__u64	nr_slots;		/* threads that have launched */
	__u64	nr_calls;		/* logged; since version 1.2, as the members below */
	__u64	nr_bad_calls;		/* without valid times, or cut off by an end: not logged */
	__u64	nr_ranges;		/* events of NVTX ranges that were logged */
	__u64	nr_dropped_ranges;	/* events that were not logged: see preload/nvtx/ranges.h */
	__u64	nr_taken;		/* records that the program collected itself; since 2.1 */
	__u64	nr_allocs;		/* events of memory that were told of; since 2.6 */
};

enum {	/* misc of CARRIED */
	XPU_MISC_CARRIED_FINAL	= 1,	/* the file has the last of the process's records */
	XPU_MISC_CARRIED_LOST	= 2,	/* since 2.9: earlier files lack records that had come */
};

/*
 * The counters of a process that is in earlier files, too. Counts of records in first are those of
 * records in earlier files; its other members, and last, are those of the latest COUNTERS there.
 * Counts can be compared in the last file, and where FINAL is.
 */
struct xpu_record_carried {
	struct xpu_record hdr;
	__u32	proc_id;
	__u32	reserved;
	struct xpu_record_counters first, last;
};

/*
 * The place of a process in a job that has many; since 2.6. The shim reads what launchers put into the
 * process's environment, and writes LABEL into a batch. The recorder reads the process's cgroup, and
 * writes PROCESS_LABEL. A label is a number or a text; one that is not known is not there. A process
 * without any of a carrier's has its parent's, if its parent has some.
 */
enum xpu_label {
	XPU_LABEL_RANK		= 1,	/* numbers, from 0 */
	XPU_LABEL_LOCAL_RANK	= 2,	/* among those on its node */
	XPU_LABEL_WORLD_SIZE	= 3,
	XPU_LABEL_LOCAL_SIZE	= 4,
	XPU_LABEL_NODE_RANK	= 5,	/* the node's own number */

	XPU_LABEL_JOB		= 32,	/* texts */
	XPU_LABEL_STEP		= 33,	/* of the job */
	XPU_LABEL_RUN		= 34,	/* as torchrun names it */
	XPU_LABEL_NODE		= 35,
	XPU_LABEL_POD		= 36,
	XPU_LABEL_NAMESPACE	= 37,	/* of the pod */
	XPU_LABEL_POD_UID	= 38,
	XPU_LABEL_CONTAINER	= 39,	/* its id; a name where the runtime tells only that */
};

#define XPU_LABEL_IS_TEXT(label)	((label) >= XPU_LABEL_JOB)
#define XPU_LABEL_TEXT_MAX	256	/* bytes, NUL included */

enum xpu_label_source {			/* misc of LABEL and PROCESS_LABEL: who told it */
	XPU_LABEL_BY_TORCH	= 1,
	XPU_LABEL_BY_JAX	= 2,
	XPU_LABEL_BY_OPEN_MPI	= 3,
	XPU_LABEL_BY_MVAPICH	= 4,
	XPU_LABEL_BY_PMI	= 5,
	XPU_LABEL_BY_PMIX	= 6,
	XPU_LABEL_BY_SLURM	= 7,
	XPU_LABEL_BY_PBS	= 8,
	XPU_LABEL_BY_LSF	= 9,
	XPU_LABEL_BY_KUBERNETES	= 10,
	XPU_LABEL_BY_CGROUP	= 11,
};

struct xpu_record_label {		/* LABEL and PROCESS_LABEL */
	struct xpu_record hdr;
	__u32	proc_id;		/* LABEL: 0, the batch's process */
	__u32	label;			/* enum xpu_label */
	__u32	number;
	__u32	bytes;			/* of a text, with its NUL; 0: none */
	char	data[];
};

enum xpu_message_level {
	XPU_MESSAGE_INFO	= 1,
	XPU_MESSAGE_WARNING	= 2,	/* something is not recorded */
	XPU_MESSAGE_ERROR	= 3,	/* nothing of this process is recorded */
};

struct xpu_record_message {		/* one line for the user; misc is the level */
	struct xpu_record hdr;
	__u32	bytes;			/* with the NUL, without the padding */
	__u32	reserved;
	char	data[];
};

#ifdef __cplusplus
#define XPU_STATIC_ASSERT(c) static_assert(c, #c)
#else
#define XPU_STATIC_ASSERT(c) _Static_assert(c, #c)
#endif

XPU_STATIC_ASSERT(sizeof(struct xpu_file_header) == 64);
XPU_STATIC_ASSERT(sizeof(struct xpu_record) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_block) == 56);
XPU_STATIC_ASSERT(sizeof(struct xpu_columns) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_piece) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_table) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_column) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_info) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_process) == 48);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_process_exit) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_thread) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_mmap) == 96);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_comm) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_task) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_callchain) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_launch) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_launches) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_range_event) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_ranges) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_graph_node) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_sample) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_samples) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_ksym) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_stack) == 176);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_pysource) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_wait) == 48);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_off_cpu) == 64);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_off) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_account) == 112);
XPU_STATIC_ASSERT(sizeof(struct xpu_ring_off_stack) == 56);
XPU_STATIC_ASSERT(sizeof(struct xpu_ring_off) == 80);
XPU_STATIC_ASSERT(sizeof(struct xpu_ring_account) == 112);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_batch) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_lost) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_end) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_part) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_cut) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_carried) == 288);
XPU_STATIC_ASSERT(sizeof(struct xpu_ring_launch) == 80);
XPU_STATIC_ASSERT(sizeof(struct xpu_ring_log) == 64);
XPU_STATIC_ASSERT(sizeof(struct xpu_ring_sample) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_python_frame) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_string) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_api) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_device) == 72);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_shape) == 64);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_stream) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_kernel) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_memory) == 48);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_graph_clone) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_refused) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_pycode) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_python) == 80);
XPU_STATIC_ASSERT(sizeof(struct xpu_call) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_calls) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_counters) == 136);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_range) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_range_payload) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_message) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_label) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_metric) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_metrics) == 24);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_metrics_end) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_stall_reason) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_stalls) == 48);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_cubin) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_stalls_account) == 80);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_window) == 40);
XPU_STATIC_ASSERT(sizeof(struct xpu_alloc) == 48);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_allocs) == 32);
XPU_STATIC_ASSERT(sizeof(struct xpu_record_alloc) == 72);

#endif /* XPU_RECORD_H */
