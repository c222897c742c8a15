// SPDX-License-Identifier: MIT
#include "launch/calls.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/hot.h"
#include "base/libc.h"
#include "wire/probe.h"
#include "xpu_record.h"

#define NR_ENTRIES	248u		/* as one record they take 4 KB in the recorder's ring */

/*
 * The open call was left by a jump, such as longjmp(), if a new call has the same frame address, or
 * a frame further up the stack. If the two calls are in different domains, only a frame that is at
 * least this many bytes further up proves a jump.
 */
#define OTHER_DOMAIN_BYTES	16384

/* Ids of the strings that name functions, far above the ids of wire.c, which count from 1. */
#define NAME_ID(domain, call) \
	(0xc0000000u | XPU_API(domain) << 20 | XPU_WITHOUT_API(domain) << 16 | (call))

struct call_entry {
	uint64_t start, end;		/* CLOCK_MONOTONIC, ns; with XPU_LOG_TICKS, ticks */
	uint32_t correlation_id;
	uint16_t cbid;			/* as in struct xpu_call */
	uint16_t reserved;
};

/*
 * Room for the records of a log's calls. If years lie between the calls, each one needs its own
 * record.
 */
#define OUT_BYTES	(NR_ENTRIES * (sizeof(struct xpu_record_calls) + sizeof(struct xpu_call)))

struct call_log {
	/* The call in progress, written only by the thread. */
	_Alignas(64) atomic_uint open;	/* the value of "opening" when the call began; 0: no call */
	uint32_t correlation_id;
	uint64_t start;
	const void *frame;
	uint16_t cbid;
	atomic_bool inside;		/* the thread is changing the log, so its signal handlers
					 * must not change the log */
	atomic_bool busy;		/* a thread sends or empties the log */
	atomic_bool by_ticks;		/* entries have ticks of the log's clock */
	uint32_t tid;
	uint64_t head, tail;		/* as in struct xpu_log */
	uint64_t end;			/* the log has room for the entries before this number */
	uint64_t nr_alone;		/* number of calls sent without being logged */
	unsigned int clock;		/* index of the clock that turns ticks into ns */
	struct xpu_clock clocks[2];
	struct call_entry entries[NR_ENTRIES];
	_Alignas(8) uint8_t out[OUT_BYTES];	/* under busy */
};

/* The manual explains these rules, too. A word is a part of a name that begins with a capital. */
static const char *const trivial[] = {		/* the names of trivial calls have one of these
						 * words ... */
	"Can", "Choose", "Compute", "Configure", "Current", "Elapsed", "Exchange", "Get", "Is",
	"Occupancy", "Peek", "Pop", "Push", "Query", "Setup", NULL,
};
static const char *const never_trivial[] = {	/* ... except calls with these words, which may load
						 * code or wait */
	"Count", "External", "Func", "Function", "Graph", "Ipc", "Kernel", "Library", "Mem",
	"Module", "Properties", "Symbol", NULL,
};
static const char *const taking_time[] = {	/* nontrivial calls with these words take time;
						 * a call without any word of the three lists
						 * is unknown */
	"Acquire", "Add", "Advise", "Alloc", "Array", "Attach", "Batch", "Begin", "Bind",
	"Checkpoint", "Compile", "Complete", "Connect", "Copy", "Create", "Destroy", "Detach",
	"Disable", "Disconnect", "Dump", "Enable", "End", "Exit", "Export", "Flush", "Free", "From",
	"Generate", "Host", "Import", "Init", "Initialize", "Launch", "Load", "Lock", "Malloc",
	"Map", "Memcpy", "Memory", "Memset", "Param", "Prefetch", "Present", "Record", "Register",
	"Release", "Reset", "Restore", "Retain", "Return", "Set", "Signal", "Start", "Stop",
	"Synchronize", "Unbind", "Unload", "Unlock", "Unmap", "Unregister", "Update", "Wait",
	"Write", NULL,
};

static _Atomic(calls_name_fn) name_of[XPU_APIS];
static unsigned int apis;		/* one bit for each API whose calls are wanted */
static HOT_DATA atomic_uint opening;	/* 0: no calls are wanted; otherwise the number of the
					 * current recording */
static unsigned int last_opening;
static atomic_uchar named[1 << 16];	/* whether the name of each function was sent; numbered as
					 * in struct xpu_call */
static atomic_uint_fast64_t nr_bad;

static __thread bool is_shims __attribute__((tls_model("initial-exec")));

/* ---- which calls are recorded ---------------------------------------------------------------- */

static bool has_word(const char *name, const char *const *words)
{
	const char *at;

	for (; *words; words++)
		for (at = name; (at = strstr(at, *words)); at++)
			if (at[strlen(*words)] < 'a' || at[strlen(*words)] > 'z')
				return true;
	return false;
}

enum call_weight calls__weigh(const char *name)
{
	if (has_word(name, never_trivial))
		return CALL_TAKES_TIME;
	if (has_word(name, trivial))
		return CALL_TRIFLE;
	return has_word(name, taking_time) ? CALL_TAKES_TIME : CALL_UNKNOWN;
}

bool calls__is_wanted(enum calls_wanted wanted, const char *name)
{
	return wanted == CALLS_ALL ||
	       (wanted == CALLS_TIMED && calls__weigh(name) != CALL_TRIFLE);
}

void calls__open(unsigned int api, calls_name_fn name)
{
	atomic_store(&name_of[api], name);
	apis |= 1u << api;
	if (calls__are_wanted())
		return;
	if (!++last_opening)		/* after 2^32 openings */
		last_opening = 1;
	atomic_store(&opening, last_opening);
}

void calls__close(unsigned int api)
{
	apis &= ~(1u << api);
	if (!apis)
		atomic_store(&opening, 0);
}

bool calls__are_wanted(void)
{
	return atomic_load_explicit(&opening, memory_order_acquire) != 0;
}

void calls__leave_me_out(void)
{
	is_shims = true;
}

uint64_t calls__nr_bad(void)
{
	return atomic_load(&nr_bad);
}

void calls__count_bad(void)
{
	atomic_fetch_add(&nr_bad, 1);
}

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Sends the name of a function, as a batch of its own: the launching thread must not wait for the
 * lock of wire.c.
 */
static void send_name(uint16_t call)
{
	struct {
		struct xpu_record_api api;
		struct xpu_record_string string;
		char room[128];		/* longer than any name */
	} batch;
	uint32_t domain, number;
	const char *name = atomic_load(&name_of[XPU_CALL_API(call)])(call, &domain, &number);
	size_t len, bytes;

	if (!name)
		return;
	len = strnlen(name, sizeof(batch.room) - 1);
	bytes = (sizeof(batch.string) + len + 1 + 7) & ~7ul;
	memset(&batch, 0, sizeof(batch));
	batch.api = (struct xpu_record_api){
		.hdr = { XPU_RECORD_API, 0, sizeof(batch.api) },
		.domain = domain,
		.cbid = number,
		.name = NAME_ID(domain, number),
	};
	batch.string.hdr = (struct xpu_record){ XPU_RECORD_STRING, 0, bytes };
	batch.string.id = batch.api.name;
	batch.string.bytes = len + 1;
	memcpy(batch.string.data, name, len);
	probe__batch(&batch, sizeof(batch.api) + bytes);
}

static inline bool is_named(uint16_t call)
{
	return atomic_load_explicit(&named[call], memory_order_relaxed);
}

static __attribute__((noinline, cold)) void name_call(uint16_t call)
{
	if (!atomic_exchange(&named[call], 1))
		send_name(call);
}

void calls__repeat_definitions(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (is_named(i))
			send_name(i);
}

/* ---- the log --------------------------------------------------------------------------------- */

size_t call_log__bytes(void)
{
	return sizeof(struct call_log);
}

/*
 * Reads the clock, for the entries in the log and for the next entries. The caller has set @busy.
 */
static void call_log__read_clock(struct call_log *l)
{
	unsigned int next = !l->clock;
	bool good = atomic_load_explicit(&l->by_ticks, memory_order_relaxed);

	good = clock__next(&l->clocks[l->clock], &l->clocks[next], good);
	__atomic_store_n(&l->clock, next, __ATOMIC_RELEASE);
	atomic_store_explicit(&l->by_ticks, good, memory_order_release);
}

void call_log__start(struct call_log *l)
{
	l->tid = libc__tid();
	l->end = NR_ENTRIES;
	call_log__read_clock(l);
}

/* Return: the current time, in the unit of the log's entries. */
static inline uint64_t call_log__now(const struct call_log *l)
{
	if (__builtin_expect(atomic_load_explicit(&l->by_ticks, memory_order_acquire), 1))
		return clock__ticks() | XPU_LOG_TICKS;
	return clock__ns();
}

static bool call_log__take(struct call_log *l)
{
	return !atomic_exchange_explicit(&l->busy, true, memory_order_acquire);
}

static void call_log__leave(struct call_log *l)
{
	atomic_store_explicit(&l->busy, false, memory_order_release);
}

/* Appends @e to the records in @out. @r: the last record, or NULL. Return: the record of @e. */
static struct xpu_record_calls *add(struct xpu_record_calls *r, void *out,
				    const struct xpu_clock *clock, uint32_t tid,
				    const struct call_entry *e)
{
	uint64_t start_ns = xpu_log__ns(clock, e->start);
	int64_t took = xpu_log__ns(clock, e->end) - start_ns, delta = r ? start_ns - r->time_ns : 0;
	uint64_t duration_ns = took < 0 ? 0 : took;

	if (duration_ns > XPU_CALL_MAX_NS)
		duration_ns = XPU_CALL_MAX_NS;
	if (!r || delta != (int32_t)delta) {
		r = r ? (void *)((char *)r + r->hdr.size) : out;
		*r = (struct xpu_record_calls){
			.hdr = { XPU_RECORD_CALLS, 0, sizeof(*r) },
			.time_ns = start_ns,
			.tid = tid,
		};
		delta = 0;
	}
	r->calls[r->nr++] = (struct xpu_call){
		.delta_ns = delta,
		.correlation_id = e->correlation_id,
		.duration_ns = duration_ns,
		.duration_high = duration_ns >> 32,
		.cbid = e->cbid,
	};
	r->hdr.size += sizeof(r->calls[0]);
	return r;
}

/* Sends the log's entries. The caller has set l->busy. */
static void send(struct call_log *l)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE), i;
	struct xpu_record_calls *r = NULL;

	if (head == l->tail)
		return;
	call_log__read_clock(l);
	for (i = l->tail; i < head; i++)
		r = add(r, l->out, &l->clocks[l->clock], l->tid, &l->entries[i % NR_ENTRIES]);
	probe__batch(l->out, (uint8_t *)r + r->hdr.size - l->out);
	__atomic_store_n(&l->tail, head, __ATOMIC_RELEASE);
}

void call_log__send(struct call_log *l)
{
	if (!call_log__take(l))
		return;
	send(l);
	call_log__leave(l);
}

void call_log__discard(struct call_log *l)
{
	if (!call_log__take(l))
		return;
	__atomic_store_n(&l->tail, __atomic_load_n(&l->head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	call_log__leave(l);
}

/* Sends @e without logging it, because the log is full and another thread is sending the log. */
static void send_alone(struct call_log *l, const struct call_entry *e)
{
	const struct xpu_clock *clock = &l->clocks[__atomic_load_n(&l->clock, __ATOMIC_ACQUIRE)];
	_Alignas(8) uint8_t out[sizeof(struct xpu_record_calls) + sizeof(struct xpu_call)];
	struct xpu_record_calls *r = add(NULL, out, clock, l->tid, e);

	probe__batch(r, r->hdr.size);
	__atomic_store_n(&l->nr_alone, l->nr_alone + 1, __ATOMIC_RELEASE);
}

/*
 * Makes room by sending the log, unless another thread has sent most of it. Return: whether there
 * is room.
 */
static __attribute__((noinline, cold)) bool make_room(struct call_log *l)
{
	if (l->head - __atomic_load_n(&l->tail, __ATOMIC_ACQUIRE) > NR_ENTRIES / 2) {
		if (!call_log__take(l))
			return false;
		send(l);
		call_log__leave(l);
	}
	l->end = __atomic_load_n(&l->tail, __ATOMIC_ACQUIRE) + NR_ENTRIES;
	return true;
}

static inline void log_call(struct call_log *l, uint64_t end)
{
	const struct call_entry e = {
		.start = l->start,
		.end = end,
		.correlation_id = l->correlation_id,
		.cbid = l->cbid,
	};
	uint64_t head = l->head;

	if (__builtin_expect(head == l->end, 0) && !make_room(l)) {
		send_alone(l, &e);
		return;
	}
	l->entries[head % NR_ENTRIES] = e;
	__atomic_store_n(&l->head, head + 1, __ATOMIC_RELEASE);
}

/*
 * Whether the open call cannot enclose the new call @cbid, and so must have been left by a jump.
 * @frame: an address in the stack frame of the new call's callback
 */
static bool was_left(const struct call_log *l, uint16_t cbid, const void *frame)
{
	size_t apart = (cbid ^ l->cbid) & XPU_CALL_RUNTIME ? OTHER_DOMAIN_BYTES : 0;

	return (uintptr_t)frame >= (uintptr_t)l->frame + apart;
}

HOT_CODE void call_log__begin(struct call_log *l, uint16_t cbid, uint32_t id, const void *frame)
{
	unsigned int now = atomic_load_explicit(&opening, memory_order_acquire);
	unsigned int open = atomic_load_explicit(&l->open, memory_order_relaxed);

	if (!now || is_shims)
		return;
	if (__builtin_expect(open == now, 0)) {
		if (!was_left(l, cbid, frame))
			return;
		calls__count_bad();
	}
	if (__builtin_expect(atomic_load_explicit(&l->inside, memory_order_relaxed), 0)) {
		calls__count_bad();	/* this is a signal handler that interrupted the lines
					 * below */
		return;
	}
	atomic_store_explicit(&l->inside, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	l->cbid = cbid;
	l->correlation_id = id;
	l->frame = frame;
	l->start = call_log__now(l);
	atomic_store_explicit(&l->open, now, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&l->inside, false, memory_order_relaxed);
}

HOT_CODE void call_log__end(struct call_log *l, uint16_t cbid, uint32_t id)
{
	unsigned int open = atomic_load_explicit(&l->open, memory_order_relaxed);
	uint64_t end;

	if (!open || l->cbid != cbid || l->correlation_id != id)
		return;			/* this is the end of an inner call, or of a call that began
					 * before the recording */
	if (__builtin_expect(atomic_load_explicit(&l->inside, memory_order_relaxed), 0))
		return;
	end = call_log__now(l);
	atomic_store_explicit(&l->inside, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(open == atomic_load_explicit(&opening, memory_order_relaxed), 1)) {
		if (__builtin_expect(!is_named(cbid), 0))
			name_call(cbid);
		log_call(l, end);
	}
	atomic_store_explicit(&l->open, 0, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&l->inside, false, memory_order_relaxed);
}

uint64_t call_log__nr(const struct call_log *l)
{
	return __atomic_load_n(&l->head, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&l->nr_alone, __ATOMIC_ACQUIRE);
}

bool call_log__is_open(const struct call_log *l)
{
	unsigned int open = atomic_load(&l->open);

	return open && open == atomic_load(&opening);
}
