/* SPDX-License-Identifier: MIT */
/*
 * xpu_slot.h - the contract between the shim and the BPF programs
 *
 * A thread that launches owns one struct xpu_slot. Before a launch, and when a CUDA graph gets a
 * new node, the shim fills the slot and calls the probe site xpu_launch(slot). The BPF program on
 * that site reads the slot at that instant, on that thread. Finished device work is sent through
 * the probe site xpu_batch(records, bytes), with the records of xpu_record.h.
 *
 * With XPUSHIM_PROBE=path the shim calls xpu_launch(slot) only for the first launch of each call
 * path, and slot.path_id defines the path's number. Later launches from the path go into the
 * thread's struct xpu_log with that number. The log's entries are sent through the probe site
 * xpu_log(log, end) when the log is full, and from time to time; if the thread is killed, the BPF
 * programs that run at the thread's end send the last entries. The probe site xpu_path(slot)
 * repeats the definition of a path's number, without a launch, for listeners that came late or lost
 * the definition.
 *
 * Each site has a semaphore of 16 bits (ref_ctr_offset), which is 1 while at least one uprobe is
 * attached, and otherwise 0. If the semaphore is 0, nobody listens, and the shim does no work.
 */
#ifndef XPU_SLOT_H
#define XPU_SLOT_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

struct xpu_slot {
	__u32	size;			/* sizeof(struct xpu_slot) when the shim was compiled */
	__u32	correlation_id;		/* the API's id of the launch that is about to happen */
	__u32	cbid;			/* the number of the API's function; 0: no call, the thread
					 * only announces its slot */
	__u16	domain;			/* the API's domain, XPU_WITH_API() */
	__u16	flags;			/* XPU_CHAIN_* flags of the frames */
	__u64	time_ns;		/* CLOCK_MONOTONIC; 0: the BPF program takes the time */
	__u32	path_id;		/* not 0: the number of this call path in logs */
	__u32	nr_frames;		/* 0: the BPF program walks the stack */
	__u64	frames;			/* address of nr_frames return addresses, innermost first;
					 * for an instruction that a signal interrupted, its address
					 * plus one */
	__u64	graph_node_id;		/* not 0: this is no launch, but a new graph node. The
					 * node was made by the captured launch with the id in
					 * correlation_id, or explicitly if correlation_id is 0 */
	/* If wait_ns is not 0, the slot has a call that waited for the device, not a launch. */
	__u64	wait_start_ns;		/* CLOCK_MONOTONIC */
	__u64	wait_ns;
	__u32	wait_context;		/* the API's ids of the context and stream waited for */
	__u32	wait_stream;
	__u32	wait_flags;		/* XPU_WAIT_* */
	__u32	in_call;		/* in the home slot: not 0 while the thread is in a call
					 * that may wait; readable at any time */
	__u64	home;			/* the thread's permanent slot; may be this slot */
	__u64	log;			/* address of the thread's struct xpu_log, or 0 */
	__u32	range_id;		/* the id of the thread's innermost open NVTX range, from
					 * XPU_RECORD_RANGE, or 0 */
	__u32	reserved;
};

/* The CPU's tick counter and CLOCK_MONOTONIC, read at the same instant. */
struct xpu_clock {
	__u64	ticks;
	__u64	ns;
	__u64	rate;			/* ns per tick, times 2^XPU_CLOCK_SHIFT; 0: the two clocks
					 * were never read */
};

#define XPU_CLOCK_SHIFT	40

/* A launch from a defined call path, or an event of NVTX ranges or of memory. */
struct xpu_log_entry {
	__u64	time;			/* CLOCK_MONOTONIC, ns; with XPU_LOG_TICKS, ticks */
	__u32	correlation_id;		/* a range's id, with XPU_LOG_RANGE */
	__u32	path_id;		/* the path's number, as in a slot. For an event, it has
					 * XPU_LOG_RANGE and members of struct xpu_range_event. */
};

#define XPU_LOG_TICKS	(1ull << 63)

#define XPU_LOG_RANGE		(1u << 31)
#define XPU_LOG_RANGE_WHAT(path_id)	((__u16)((path_id) & 0xff))
#define XPU_LOG_RANGE_PLACE(path_id)	((__u16)((path_id) >> 8 & 0xff))

/*
 * A memory event is three consecutive entries, written at once:
 *
 *	time		correlation_id	path_id, with the flags
 *	when		path		what, space << 4, device << 8, api << 18
 *	address		order		order >> 32
 *	bytes		extra
 *
 * with the values of struct xpu_alloc. Entries with XPU_LOG_ALLOC_MORE that do not follow a first
 * entry are padding at the end of the array.
 *
 * Most events have no extra, a size of less than 2^29 units of 512 bytes, and an address below
 * 2^48. Such an event takes two entries, the first also with XPU_LOG_ALLOC_SHORT:
 *
 *	when		path		what, space << 4, device << 8, api << 18
 *	address,	order		order >> 32,
 *	units / 2^13			units % 2^13
 *	  << 48				  << 16
 */
#define XPU_LOG_ALLOC		(1u << 30)
#define XPU_LOG_ALLOC_MORE	(1u << 29)
#define XPU_LOG_ALLOC_SHORT	(1u << 28)
#define XPU_LOG_IS_ALLOC(path_id) \
	(((path_id) & (XPU_LOG_RANGE | XPU_LOG_ALLOC)) == XPU_LOG_ALLOC)
#define XPU_LOG_ALLOC_ENTRIES	3	/* maximum number of entries of an event */

/* Holds the values of the entries after the first entry of a memory event. */
struct xpu_log_alloc {
	__u64	address, bytes;
	__u64	order;
	__u32	extra;
};

/* Functions of allocators have a domain of their own, in addition to CUPTI's domains. */
#define XPU_DOMAIN_ALLOCATORS	64
#define XPU_ALLOCATOR_TORCH	1

/*
 * A log has as many entries as possible, because each sending of a log evicts the program from the
 * CPU's caches. The entries and the data before them must fit into XPU_SHM_THREAD_BYTES. A copy of
 * them must fit into the scratch memory that Linux keeps for each thread. The size of this memory
 * is a power of two: four pages.
 */
#define XPU_LOG_ENTRIES	992

/*
 * The unsent launches of a thread: the entries with numbers in [tail, head). Entry n is in
 * entries[n % XPU_LOG_ENTRIES], and the unsent entries never wrap around the array's end.
 */
struct xpu_log {
	__u32	size;			/* XPU_LOG_BYTES */
	__u32	tid;			/* gettid() in the thread's own pid namespace */
	__u32	id;			/* the log's number, unique in the process */
	__u32	clock;			/* index of the clock that converts ticks; the other clock
					 * may be changing */
	__u64	head;			/* raised by the thread after it has written an entry */
	__u64	tail;			/* raised after entries have been sent */
	__u32	range_id;		/* the slot's range_id at the time of the entry at tail */
	__u32	reserved;
	struct xpu_clock clocks[2];
	struct xpu_log_entry entries[];
};

#define XPU_LOG_BYTES	(sizeof(struct xpu_log) + XPU_LOG_ENTRIES * sizeof(struct xpu_log_entry))

#ifndef __VMLINUX_H__
/* Return: the time in ns at @ticks, which may be before or after @clock was read. */
static inline __u64 xpu_clock__ns(const struct xpu_clock *clock, __u64 ticks)
{
	return clock->ns + (__u64)((__int128)(__s64)(ticks - clock->ticks) * clock->rate >>
				   XPU_CLOCK_SHIFT);
}

static inline int xpu_log_alloc__is_short(const struct xpu_log_alloc *a)
{
	return !(a->extra | a->bytes % 512 | a->bytes >> (9 + 29) | a->address >> 48);
}

/* Writes the entries that follow the first entry, @e. @is_short: whether the event is short. */
static inline void xpu_log_alloc__write(const struct xpu_log_alloc *a, struct xpu_log_entry *e,
					int is_short)
{
	e[1].time = a->address;
	e[1].correlation_id = a->order;
	e[1].path_id = XPU_LOG_ALLOC | XPU_LOG_ALLOC_MORE | (a->order >> 32 & 0xffff);
	if (is_short) {
		e[1].time |= a->bytes >> (9 + 13) << 48;
		e[1].path_id |= (a->bytes >> 9 & 0x1fff) << 16;
	} else {
		e[2].time = a->bytes;
		e[2].correlation_id = a->extra;
		e[2].path_id = XPU_LOG_ALLOC | XPU_LOG_ALLOC_MORE;
	}
}

/*
 * Reads the event that begins at entry @e; @nr entries are left. Return: how many entries the event
 * takes; 0 if it is incomplete.
 */
static inline __u32 xpu_log_alloc__read(struct xpu_log_alloc *a, const struct xpu_log_entry *e,
					__u32 nr)
{
	int is_short = (e->path_id & XPU_LOG_ALLOC_SHORT) != 0;
	__u32 i, nr_own = XPU_LOG_ALLOC_ENTRIES - is_short;
	__u64 units;

	if (nr < nr_own)
		return 0;
	for (i = 1; i < nr_own; i++)
		if (!XPU_LOG_IS_ALLOC(e[i].path_id) || !(e[i].path_id & XPU_LOG_ALLOC_MORE))
			return 0;
	a->address = e[1].time;
	a->order = e[1].correlation_id | (__u64)(e[1].path_id & 0xffff) << 32;
	if (is_short) {
		units = a->address >> 48 << 13 | (e[1].path_id >> 16 & 0x1fff);
		a->address &= (1ull << 48) - 1;
		a->bytes = units * 512;
		a->extra = 0;
	} else {
		a->bytes = e[2].time;
		a->extra = e[2].correlation_id;
	}
	return nr_own;
}

/* Return: a log entry's @time in ns, by the log's @clock. */
static inline __u64 xpu_log__ns(const struct xpu_clock *clock, __u64 time)
{
	return time & XPU_LOG_TICKS ? xpu_clock__ns(clock, time & ~XPU_LOG_TICKS) : time;
}
#endif

/* Call paths are numbered from 1, and a process never uses a number twice. */
#define XPU_MAX_PATHS	(1u << 28)

_Static_assert(sizeof(struct xpu_slot) == 104, "xpu_slot is an ABI");
_Static_assert(sizeof(struct xpu_log_entry) == 16, "xpu_log is an ABI");
_Static_assert(sizeof(struct xpu_log) == 88, "xpu_log is an ABI");

/*
 * Symbols that the shim exports for the loader: probe sites and their semaphores. There are two
 * sets, so that a recording that starts its own target wakes no other process on the machine. One
 * is for processes that xpuload started, which have XPU_RUN_ENV in their environment; the other is
 * for processes that were started with the shim preloaded and that xpuload may attach to.
 */
#define XPU_SITE_LAUNCH		"xpu_launch"
#define XPU_SITE_BATCH		"xpu_batch"
#define XPU_SITE_LOG		"xpu_log"
#define XPU_SITE_PATH		"xpu_path"
#define XPU_SITE_LIVE_LAUNCH	"xpu_live_launch"
#define XPU_SITE_LIVE_BATCH	"xpu_live_batch"
#define XPU_SITE_LIVE_LOG	"xpu_live_log"
#define XPU_SITE_LIVE_PATH	"xpu_live_path"
#define XPU_SEMAPHORE_SUFFIX	"_semaphore"

/*
 * Each site has a switch next to it, an instruction that is never run. The loader attaches to the
 * site in every process, without a semaphore, so that calls of the site are never missed. It
 * attaches to the switch, with the site's semaphore, only in processes that should be awake. So a
 * forked child, which inherits the semaphores of its recorded parent, loses nothing before the
 * loader knows the child.
 */
#define XPU_SWITCH_SUFFIX	"_switch"

/*
 * Like XPU_SITE_BATCH, with a single XPU_RECORD_RANGE. While nobody is attached here, the shim
 * ignores NVTX ranges.
 */
#define XPU_SITE_RANGE		"xpu_range"
#define XPU_SITE_LIVE_RANGE	"xpu_live_range"

/*
 * Like XPU_SITE_BATCH, for processes that xpuload started and that have not called CUDA yet. They
 * may fork children that call CUDA, and if a parent has called one of the sites above, its child
 * must not call that site: the kernel may have rewritten it as a call into a page that the child
 * does not have.
 */
#define XPU_SITE_EARLY		"xpu_early"

/*
 * A loader that attaches to running processes also attaches here for XPU_HELLO_NS. A shim that
 * another loader keeps awake cannot notice the new loader otherwise; it repeats its definitions
 * while this site has a listener.
 */
#define XPU_SITE_HELLO		"xpu_hello"
#define XPU_HELLO_NS		500000000ull

/*
 * A loader that attaches to running processes and records calls of CUDA's API stays attached here
 * while it records.
 */
#define XPU_SITE_LIVE_API	"xpu_live_api"

/* A loader that attaches to running processes and takes PC samples also attaches to this site. */
#define XPU_SITE_LIVE_STALLS	"xpu_live_stalls"

/* A loader that records memory events of running processes stays attached here. */
#define XPU_SITE_LIVE_MEMORY	"xpu_live_memory"

/*
 * A program that xpuload did not start calls this site once, when it initializes CUDA. The argument
 * says whether the program's semaphores were already raised; if not, launches may be missing. The
 * site is a plain nop, like XPU_SITE_EARLY.
 */
#define XPU_SITE_LIVE_INIT	"xpu_live_init"

#define XPU_RUN_ENV		"XPUSHIM_RUN"

/*
 * The CUDA driver finds the shim by the first variable. The second variable saves the user's own
 * value of the first variable: the name of a library that the shim then loads, too.
 */
#define XPU_INJECTION_ENV	"CUDA_INJECTION64_PATH"
#define XPU_CHAIN_ENV		"XPUSHIM_CHAIN_INJECTION"

/* The variables with the shim's options, described below. The shim reads them once. */
#define XPU_SHIM_VARIABLES								\
	XPU_CALL_GRAPH_ENV, XPU_MAX_FRAMES_ENV, XPU_PROBE_ENV, XPU_PYTHON_ENV,		\
	XPU_SAMPLES_ENV, XPU_WAITS_ENV, XPU_API_ENV, XPU_CUPTI_ENV, XPU_STALLS_ENV,	\
	XPU_CAPTURE_ENV, XPU_MEMORY_ENV, XPU_MIGRATIONS_ENV

/*
 * How the shim makes call chains: "auto", "fp" or "dwarf". The second variable is the maximum
 * number of frames in a chain.
 */
#define XPU_CALL_GRAPH_ENV	"XPUSHIM_CALL_GRAPH"
#define XPU_MAX_FRAMES_ENV	"XPUSHIM_MAX_FRAMES"

/*
 * "launch": the shim calls the BPF program for each launch; "path": only for each new path and for
 * logs.
 */
#define XPU_PROBE_ENV		"XPUSHIM_PROBE"

/* Whether call chains have Python's frames: "on", "off", or "only" Python frames. */
#define XPU_PYTHON_ENV		"XPUSHIM_PYTHON"

/* Set if CPU samples need Python's frames: the shim then reports where the interpreter is. */
#define XPU_SAMPLES_ENV		"XPUSHIM_SAMPLES"

/* "off": the shim does not report calls that wait. */
#define XPU_WAITS_ENV		"XPUSHIM_WAITS"

/*
 * "on": the shim reports the calls of CUDA's API that can take time, in processes that xpuload
 * started; "all": it reports every call, also in processes that xpuload attaches to.
 */
#define XPU_API_ENV		"XPUSHIM_API"

/*
 * "on": in processes that xpuload started, the shim reports memory events; "only": it reports only
 * memory events.
 */
#define XPU_MEMORY_ENV		"XPUSHIM_MEMORY"

/* "on": where memory is recorded, page migrations of managed memory are recorded as well. */
#define XPU_MIGRATIONS_ENV	"XPUSHIM_MIGRATIONS"
#define XPU_MEMORY_ONLY		"only"

/*
 * "share": the shim keeps CUPTI, and serves a profiler in the program; otherwise it yields CUPTI to
 * the profiler.
 */
#define XPU_CUPTI_ENV		"XPUSHIM_CUPTI_FOR"

/*
 * "N" or "N,exact": the shim samples the program counter of each SM once in 2^N cycles; exact:
 * kernels run one at a time.
 */
#define XPU_STALLS_ENV		"XPUSHIM_STALLS"
#define XPU_STALLS_EXACT	",exact"
#define XPU_STALLS_PERIOD	"18"	/* the period used with XPU_SITE_LIVE_STALLS */

/*
 * Names the event that opens windows in the program; nothing is recorded outside of windows. The
 * value is "cuda-profiler-api", "nvtx:REGEX", which matches "DOMAIN:NAME", or "launch:N-M", for the
 * launches N to M of each process. With "most:N," in front, only the first N windows are recorded.
 */
#define XPU_CAPTURE_ENV		"XPUSHIM_CAPTURE"
#define XPU_CAPTURE_MOST	"most:"
#define XPU_CAPTURE_PROFILER	"cuda-profiler-api"
#define XPU_CAPTURE_NVTX	"nvtx:"
#define XPU_CAPTURE_LAUNCH	"launch:"
#define XPU_CAPTURE_REGEX_MAX	1024	/* in bytes: regcomp() uses stack for each group */

/*
 * Whether an expression refers back to a group, like "(a*)\\1". POSIX does not allow that in
 * extended expressions, but the C library does, and may then take hours to match a name.
 */
static inline int xpu_capture__refers_back(const char *regex)
{
	for (; *regex; regex++) {
		if (*regex != '\\')
			continue;
		regex++;
		if (*regex >= '1' && *regex <= '9')
			return 1;
		if (!*regex)
			break;
	}
	return 0;
}

#endif /* XPU_SLOT_H */
