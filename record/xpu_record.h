/* SPDX-License-Identifier: MIT */
/*
 * xpu_record.h - the records of the ring buffer and of xpu.data
 *
 * records.def defines every record, for the shim, the BPF programs, the loader and the merger. This
 * header makes structures and assertions from it. Everything is native endian (little endian in
 * practice); struct xpu_file_header.endian has the byte order.
 *
 * Rules of the format:
 * - A record starts with struct xpu_record. Its size includes header, payload and padding, and is a
 *   multiple of 8. Records follow one another without gaps.
 * - Structures grow only at their end. A reader uses the fields that it knows, takes fields beyond
 *   .size as zero, skips unknown types by .size, and refuses a file whose major version is newer.
 * - In version 1, the records follow the file's header. In version 2, only blocks (struct
 *   xpu_record_block) follow it, and they contain the records. Readers know both versions.
 * - Strings, streams, API names, threads and call chains are interned: defined once per process
 *   (and possibly again, identically), and referred to by id. Id 0 always means "none". A
 *   definition may come after its first use, so a reader collects all definitions before it
 *   resolves ids.
 * - Times are CLOCK_MONOTONIC in ns. They order and weigh events, but never match one event to
 *   another.
 * - A proc_id, unique in a recording, stands for one process image, from its fork or exec to its
 *   exit or next exec. Correlation ids are unique within a proc_id and an API, so (proc_id, API,
 *   correlation_id) stays unique when the kernel reuses a pid or a process execs.
 */
#ifndef XPU_RECORD_H
#define XPU_RECORD_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/*
 * The directory FILE.files, next to FILE, has copies of files that the recorded processes had
 * mapped.
 */
#define XPU_KEPT_SUFFIX		".files"

#define XPU_FILE_MAGIC		"XPUDATA"	/* 8 bytes with its NUL */
#define XPU_FILE_ENDIAN		0x01020304u
#define XPU_VERSION_PLAIN	1		/* the last version without blocks */
#define XPU_VERSION_PLAIN_MINOR	2

#define XPU_COMM_LEN		16
#define XPU_BUILD_ID_LEN	20
#define XPU_MAX_FRAMES		1000		/* maximum frames in one chain: 8 KB in Linux */
#define XPU_DEFAULT_FRAMES	512		/* frames if the user does not choose a number */
#define XPU_FP_FRAMES		127		/* maximum frames by frame pointers: the limit of
						 * bpf_get_stack() */
#define XPU_STRING_MAX		16384		/* bytes of the longest interned string, NUL
						 * included */
#define XPU_BATCH_MAX		(64 * 1024 - 64)	/* maximum bytes in one xpu_batch() call */

struct xpu_file_header {
	char	magic[8];
	__u32	endian;
	__u16	version_major;
	__u16	version_minor;
	__u32	header_bytes;		/* offset of the first record */
	__u32	clockid;		/* CLOCK_MONOTONIC */
	__u64	start_mono_ns;		/* the same instant as start_real_ns, on another clock */
	__u64	start_real_ns;
	__u32	nr_cpus;
	__u32	crc;			/* since version 2: CRC-32 of the header's header_bytes,
					 * with this field as 0. Every CRC here is as in zlib. */
	__u64	reserved2[2];
};

struct xpu_record {
	__u16	type;			/* enum xpu_record_type */
	__u16	misc;			/* XPU_MISC_*, depending on the type */
	__u32	size;			/* bytes including this header, a multiple of 8 */
};

#define XPU_BLOCK_MAGIC	"XPUBLOCK"	/* 8 bytes, without a NUL; readers search for them */
#define XPU_BLOCK_MAX	(8u << 20)	/* maximum bytes of records in a block; no record spans two
					 * blocks */
/*
 * The largest ratio of a block's record bytes to its stored bytes, so that a small file cannot keep
 * its reader busy for hours. Records with a larger ratio are stored unpacked.
 */
#define XPU_BLOCK_RATIO	256

/*
 * The most frequent records are rows of equal size. They are stored column by column, in tables of
 * 32-bit words. Pieces say how to rebuild the records: each piece gives a number of bytes to take
 * from the literals, and then a number of rows to take from a table. Both are taken in order.
 *
 * data has, in this order: struct xpu_columns, the pieces, the tables with their columns, the
 * literals, the planes. A column has up to four planes: the lowest byte of each of its numbers,
 * then the next byte of each, and so on. Bytes without a plane are 0. The planes are sorted by
 * table, then by column, then from the lowest byte. A number n is the zigzag code of a difference,
 * n >> 1 ^ -(n & 1) modulo 2^32. With XPU_COLUMN_DELTA, this is the difference from the word above
 * or, in the first row, from base; otherwise it is the difference from base.
 */
struct xpu_columns {
	__u32	nr_pieces;
	__u32	nr_tables;		/* number of tables, XPU_TABLES_MAX at most */
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
	__u32	nr_columns;		/* 1 to XPU_COLUMNS_MAX struct xpu_column follow */
};

struct xpu_column {
	__u32	base;
	__u16	nr_planes;		/* 0 to 4 */
	__u16	flags;			/* XPU_COLUMN_* */
};

#define XPU_COLUMN_DELTA	1
#define XPU_TABLES_MAX		32
#define XPU_COLUMNS_MAX		16

/*
 * A frame of a call chain may be a Python frame instead of a return address. A Python frame
 * replaces the frame of the interpreter's evaluation loop that ran the Python code. Its top byte is
 * 0xf5, whereas the top byte of a user address is always 0.
 *
 *	63  56 55 54    32 31   0
 *	 0xf5   0   line    code
 *
 * line is 0 if unknown. code is the id of an XPU_RECORD_PYCODE of the process, or XPU_CODE_*.
 */
#define XPU_FRAME_PYTHON	(0xf5ull << 56)
#define XPU_FRAME_IS_PYTHON(f)	((f) >> 56 == 0xf5)
#define XPU_FRAME_LINE(f)	((__u32)((f) >> 32 & 0x7fffff))
#define XPU_FRAME_CODE(f)	((__u32)(f))
#define XPU_FRAME_LINE_MAX	0x7fffff
#define XPU_FRAME_IS_KERNEL(f)	((f) >> 56 == 0xff)
#define XPU_CODE_NATIVE		0		/* a native frame, in a chain that otherwise has
						 * only Python frames */
#define XPU_CODE_UNKNOWN	0xffffffffu	/* Python, but unknown code */

/*
 * A frame that has a name instead of an address. Importers of other tools' recordings make these.
 * The low half is the id of an XPU_RECORD_STRING of the process.
 */
#define XPU_FRAME_NAMED		(0xf6ull << 56)
#define XPU_FRAME_IS_NAMED(f)	((f) >> 56 == 0xf6)
#define XPU_FRAME_STRING(f)	((__u32)(f))

#define XPU_ALLOC_NO_DEVICE	0x3ff	/* host memory; ordinals of devices are smaller */

/*
 * A STACK record is a CPU sample whose user stack the merger unwinds, from the registers and a copy
 * of the stack's top. The copy has .bytes, beginning at the stack pointer. It is stored in blocks
 * of XPU_STACK_BLOCK bytes at multiples of that size; bytes of the first and last block outside of
 * the copy are zero. data has nr_python words, then a bitmap of whole words, then blocks. The
 * bitmap says which blocks follow; its lowest bit stands for the block at the lowest address. With
 * XPU_MISC_STACK_DELTA, blocks may be missing: a missing block is equal to the block at its address
 * in the thread's last STACK record.
 */
#define XPU_STACK_BLOCK		64
#define XPU_STACK_MAX		(256 * 1024)	/* bytes */

/*
 * Registers of a STACK record, for the machine that XPU_INFO_ARCH names. Both machines have equally
 * many registers, with the frame, stack and instruction pointers at the same indices.
 */
enum {	/* x86_64: DWARF's register numbers */
	XPU_REG_AX, XPU_REG_DX, XPU_REG_CX, XPU_REG_BX, XPU_REG_SI, XPU_REG_DI, XPU_REG_BP,
	XPU_REG_SP, XPU_REG_R8, XPU_REG_R9, XPU_REG_R10, XPU_REG_R11, XPU_REG_R12, XPU_REG_R13,
	XPU_REG_R14, XPU_REG_R15, XPU_REG_IP,
	XPU_NR_REGS
};

enum {	/* aarch64: x19 to x24, x29, SP, x25 to x28, x30, x15 to x17 (which stubs use), PC */
	XPU_REG_X19 = 0, XPU_REG_X25 = 8, XPU_REG_LR = 12, XPU_REG_X15, XPU_REG_X16, XPU_REG_X17,
};

/*
 * A word of a STACK record that stands for a Python frame. The word names an instruction by the id
 * of a PYSOURCE and half the instruction's offset. Inner frames come first. The frames run by one
 * evaluation loop are followed by a word that is an address in the stack frame of that loop.
 */
#define XPU_WORD_PYTHON		(0xf7ull << 56)
#define XPU_WORD_IS_PYTHON(w)	((w) >> 56 == 0xf7)
#define XPU_WORD_WHERE(w)	(((w) >> 32 & 0xffffff) * 2)
#define XPU_WORD_CODE(w)	((__u32)(w))
#define XPU_MAX_PYTHON		2046		/* maximum number of words of both kinds in a
						 * record */

#define XPU_PYTHON_PRINT(name, table, line) ((name) ^ (table) << 1 ^ (__u64)(line) << 40)

/*
 * A process may use the APIs of several vendors. Each API numbers launches, nodes of graphs,
 * contexts, streams, devices and functions for itself. These numbers are therefore unique only
 * together with the API's number, enum xpu_api. The upper four bits of a domain have the API's
 * number, as have the upper four bits of misc in records of device work and in its definitions. A
 * launch has the API of its call path.
 */
#define XPU_APIS		16
#define XPU_API_SHIFT		12
#define XPU_WITH_API(api, n)	((__u16)((n) | (api) << XPU_API_SHIFT))
#define XPU_API(n)		((n) >> XPU_API_SHIFT & (XPU_APIS - 1))
#define XPU_WITHOUT_API(n)	((n) & ((1u << XPU_API_SHIFT) - 1))

/*
 * The parts of a call in struct xpu_call: the function's number, the API, and XPU_CALL_RUNTIME.
 * This bit means that the function is in the API's upper layer, as the functions of CUDA's runtime
 * are. Without this bit, the function is in the lower layer.
 */
#define XPU_CALL_RUNTIME	0x8000
#define XPU_CALL_API_SHIFT	11
#define XPU_CALL_API(call)	((call) >> XPU_CALL_API_SHIFT & (XPU_APIS - 1))
#define XPU_CALL_NUMBER(call)	((call) & 0x7ff)
#define XPU_CALL_DOMAIN(call)	XPU_WITH_API(XPU_CALL_API(call), (call) & XPU_CALL_RUNTIME ? 2 : 1)
#define XPU_CALL_MAX_NS		((1ull << 48) - 1)

#define XPU_REFUSED_NO_BYTES	0xffffffffu

#define XPU_RANGE_NAME_MAX	4096	/* bytes, NUL included */
#define XPU_RANGE_DOMAIN_MAX	256
#define XPU_RANGE_DEPTH		128	/* ranges open on one thread at a time */

/*
 * An NCCL operation, from the NVTX extended payload of its range; since 2.6. Ranges with different
 * payloads are different ranges, as if their names differed.
 */
enum xpu_collective_fields {
	XPU_COLLECTIVE_COMM	= 1,
	XPU_COLLECTIVE_BYTES	= 2,
	XPU_COLLECTIVE_RANK	= 4,
	XPU_COLLECTIVE_NR_RANKS	= 8,
	XPU_COLLECTIVE_PEER	= 16,
	XPU_COLLECTIVE_ROOT	= 32,
	XPU_COLLECTIVE_OP	= 64,
	XPU_COLLECTIVE_KEY	= 128,	/* since 2.7, for ncclCommSplit(): @root is the key */
	XPU_COLLECTIVE_PARENT	= 256,	/* since 2.7, for ncclCommSplit(): @bytes is the
					 * communicator that is split, and @rank is the rank in this
					 * communicator */
};

/*
 * Counters of a GPU and of NVML over time, for --gpu-metrics; since 2.3. The metrics of one GPU
 * that are sampled together are a set. A row has one value for each metric of the set.
 */
#define XPU_MAX_METRICS		64	/* metrics in a set */
#define XPU_MAX_METRIC_SETS	256
#define XPU_METRIC_NAME_MAX	256	/* bytes, NUL included; also for the unit */

#define XPU_METRICS_ROW_WORDS(nr_metrics)	(2u + (nr_metrics))

#define XPU_MISC_STALLS_LAUNCH	1	/* STALLS has samples of one launch; since 2.5 */

#define XPU_CUBIN_MAX	(64u << 20)	/* bytes of struct xpu_cubin_lines and all data after it */

/*
 * The place of a process in a job of many processes; since 2.6. The shim reads variables that
 * launchers set in the process's environment, and writes LABEL into a batch. The recorder reads the
 * process's cgroup, and writes PROCESS_LABEL. A label is a number or a text. Unknown labels are
 * left out. A process without labels from one of these two sources inherits its parent's labels of
 * that source.
 */
enum xpu_label {
	XPU_LABEL_RANK		= 1,	/* labels below 32 are numbers; ranks begin at 0 */
	XPU_LABEL_LOCAL_RANK	= 2,	/* rank among the processes on its node */
	XPU_LABEL_WORLD_SIZE	= 3,
	XPU_LABEL_LOCAL_SIZE	= 4,
	XPU_LABEL_NODE_RANK	= 5,	/* the node's number */

	XPU_LABEL_JOB		= 32,	/* labels from 32 are texts */
	XPU_LABEL_STEP		= 33,	/* the step of the job */
	XPU_LABEL_RUN		= 34,	/* the run, as torchrun names it */
	XPU_LABEL_NODE		= 35,
	XPU_LABEL_POD		= 36,
	XPU_LABEL_NAMESPACE	= 37,	/* the pod's namespace */
	XPU_LABEL_POD_UID	= 38,
	XPU_LABEL_CONTAINER	= 39,	/* the ID; or the name, if the runtime gives no ID */
};

#define XPU_LABEL_IS_TEXT(label)	((label) >= XPU_LABEL_JOB)
#define XPU_LABEL_TEXT_MAX	256	/* bytes, NUL included */

#ifdef __cplusplus
#define XPU_STATIC_ASSERT(c) static_assert(c, #c)
#define XPU_ASSERT_BEGIN static_assert(
#else
#define XPU_STATIC_ASSERT(c) _Static_assert(c, #c)
#define XPU_ASSERT_BEGIN _Static_assert(
#endif

/* ---- from records.def ----------------------------------------------------------------------- */

#define ENUM(tag, prefix)	enum tag {
#define VALUE(id, nr, ...)	id = nr,
#define VALUE_AS(id, nr, ...)	id = nr,
#define LAST(id)		id
#define END_ENUM		};
#include "records.def"

enum xpu_record_type {
#define RECORD(NAME, nr, ...)	XPU_RECORD_##NAME = nr,
#include "records.def"
};

#define XPU_RECORD_TYPES	128	/* all type numbers are smaller */

#define RECORD(NAME, nr, tag, ...)		struct tag { struct xpu_record hdr;
#define ALSO(...)
#define STRUCT(tag, bytes)			struct tag {
#define FIELD(type, name, ...)			type name;
#define FIELDS(type, name, nr, ...)		type name[nr];
#define EITHER(type, name, other, ...)		union { type name; type other; };
#define TAIL(type, name, ...)			type name[];
#define END_RECORD				};
#include "records.def"

/* No structure has a hole, so the fields' sizes must add up to the structure's size. */
#define STRUCT(tag, bytes)	XPU_ASSERT_BEGIN sizeof(struct tag) == (bytes) && (bytes) == 0
#define RECORD(NAME, nr, tag, bytes, ...)					\
	XPU_STATIC_ASSERT((bytes) % 8 == 0);					\
	STRUCT(tag, bytes) + sizeof(struct xpu_record)
#define ALSO(...)
#define FIELD(type, ...)		+ sizeof(type)
#define FIELDS(type, name, nr, ...)	+ sizeof(type[nr])
#define END_RECORD			, "the bytes of a record are those of its fields");
#include "records.def"

XPU_STATIC_ASSERT(sizeof(struct xpu_file_header) == 64);
XPU_STATIC_ASSERT(sizeof(struct xpu_record) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_columns) == 16);
XPU_STATIC_ASSERT(sizeof(struct xpu_piece) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_table) == 8);
XPU_STATIC_ASSERT(sizeof(struct xpu_column) == 8);

#endif /* XPU_RECORD_H */
