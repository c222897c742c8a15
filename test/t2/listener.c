// SPDX-License-Identifier: MIT
#include "listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cupti.h>

#include "base/arena.h"
#include "base/lock.h"
#include "launch/allocs.h"
#include "wire/probe.h"

struct listener listener;
void (*listener__interrupt)(void);
void (*listener__interrupt_log)(void);

/* xpuload did not start the tests, so the shim uses the live semaphores. */
volatile unsigned short xpu_launch_semaphore, xpu_batch_semaphore;
volatile unsigned short xpu_live_launch_semaphore, xpu_live_batch_semaphore;
volatile unsigned short xpu_hello_semaphore, xpu_live_api_semaphore, xpu_live_stalls_semaphore;
volatile unsigned short xpu_live_memory_semaphore;
volatile unsigned short xpu_range_semaphore, xpu_live_range_semaphore;

#define COUNT(counter, nr)	__atomic_fetch_add(&listener.counter, nr, __ATOMIC_SEQ_CST)

atomic_uint listener__batch_ms;
pthread_mutex_t listener__lock = PTHREAD_MUTEX_INITIALIZER;	/* taken in lock__take() */

void listener__attach(void)
{
	__atomic_store_n(&xpu_live_batch_semaphore, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&xpu_live_launch_semaphore, 1, __ATOMIC_SEQ_CST);
}

void listener__want_ranges(bool on)
{
	__atomic_store_n(&xpu_live_range_semaphore, on, __ATOMIC_SEQ_CST);
}

void listener__hello(bool on)
{
	__atomic_store_n(&xpu_hello_semaphore, on, __ATOMIC_SEQ_CST);
}

void listener__detach(void)
{
	__atomic_store_n(&xpu_live_launch_semaphore, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&xpu_live_batch_semaphore, 0, __ATOMIC_SEQ_CST);
}

void listener__want_calls(bool on)
{
	__atomic_store_n(&xpu_live_api_semaphore, on, __ATOMIC_SEQ_CST);
}

void listener__want_memory(bool on)
{
	__atomic_store_n(&xpu_live_memory_semaphore, on, __ATOMIC_SEQ_CST);
}

bool listener__wait(const volatile uint32_t *counter, uint32_t nr)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (__atomic_load_n(counter, __ATOMIC_SEQ_CST) >= nr)
			return true;
		pause_ms(10);
	}
	return false;
}

uint32_t listener__settle(void)
{
	uint32_t nr = 0, was;
	int quiet;

	for (quiet = 0; quiet < 5; quiet++) {
		pause_ms(100);
		was = nr;
		nr = heard(nr_launches) + heard(nr_range_events);
		if (nr != was)
			quiet = -1;
	}
	return heard(nr_launches);
}

static int by_id(const void *a, const void *b)
{
	const struct listener_launch *x = a, *y = b;

	return (x->correlation_id > y->correlation_id) - (x->correlation_id < y->correlation_id);
}

uint32_t listener__sort_launches(uint32_t from)
{
	uint32_t nr = heard(nr_launches) - from;

	qsort(&listener.launches[from], nr, sizeof(listener.launches[0]), by_id);
	return nr;
}

static bool sender_waits, sender_may_go;

void listener__hold(void)
{
	__atomic_store_n(&sender_waits, true, __ATOMIC_SEQ_CST);
	while (!__atomic_exchange_n(&sender_may_go, false, __ATOMIC_SEQ_CST))
		pause_ms(1);
}

void listener__wait_held(void)
{
	while (!__atomic_exchange_n(&sender_waits, false, __ATOMIC_SEQ_CST))
		pause_ms(1);
}

void listener__let_go(void)
{
	__atomic_store_n(&sender_may_go, true, __ATOMIC_SEQ_CST);
}

static bool in_child;

/* LeakSanitizer calls this function. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return in_child;
}

pid_t listener__fork(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	in_child = !pid;
	return pid;
}

int listener__run(const char *program, const char *arg, const char *name, const char *value)
{
	int status = -1;
	pid_t pid = listener__fork();

	if (!pid) {
		setenv(name, value, 1);
		execl(program, program, arg, NULL);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void xpu_launch(const struct xpu_slot *slot)
{
	(void)slot;
	COUNT(nr_bad, 1);
}

void xpu_batch(const void *records, size_t bytes)
{
	(void)records;
	(void)bytes;
	COUNT(nr_bad, 1);
}

void xpu_range(const void *records, size_t bytes)
{
	(void)records;
	(void)bytes;
	COUNT(nr_bad, 1);
}

void xpu_early(const void *records, size_t bytes)
{
	(void)records;
	(void)bytes;
	COUNT(nr_bad, 1);
}

void xpu_log(const struct xpu_log *log, uint64_t end)
{
	(void)log;
	(void)end;
	COUNT(nr_bad, 1);
}

void xpu_path(const struct xpu_slot *slot)
{
	(void)slot;
	COUNT(nr_bad, 1);
}

/*
 * Return: a copy of the slot's frames, which is never freed. The caller holds the lock. malloc() is
 * not called, because a signal handler may launch.
 */
static const uint64_t *copy_frames(const struct xpu_slot *slot)
{
	static struct arena arena = { .max = (size_t)4 << 30 };
	size_t bytes = slot->nr_frames * sizeof(uint64_t);
	void *copy = arena__alloc(&arena, bytes + 1);

	if (!copy)
		abort();
	return memcpy(copy, (const void *)(uintptr_t)slot->frames, bytes);
}

/*
 * Receives a path, with the lock held. A path number may be sent again, but only with the same
 * path.
 */
static void hear_path(const struct xpu_slot *slot)
{
	uint16_t flags = slot->flags & ~XPU_CHAIN_NO_LAUNCH;
	struct listener_path *p;

	if (slot->path_id >= LISTENER_PATHS || !slot->nr_frames) {
		COUNT(nr_bad, 1);
		return;
	}
	p = &listener.paths[slot->path_id];
	if (p->frames) {
		COUNT(nr_repeated_paths, 1);
		COUNT(nr_bad, p->cbid != slot->cbid || p->nr_frames != slot->nr_frames ||
		      p->flags != flags || memcmp(p->frames, (void *)(uintptr_t)slot->frames,
						  p->nr_frames * sizeof(*p->frames)));
		return;
	}
	p->cbid = slot->cbid;
	p->nr_frames = slot->nr_frames;
	p->flags = flags;
	p->frames = copy_frames(slot);
	COUNT(nr_paths, 1);
}

void xpu_live_init(unsigned long heard)
{
	(void)heard;
}

void xpu_live_path(const struct xpu_slot *slot)
{
	sigset_t old;

	lock__take(&listener__lock, &old);
	COUNT(nr_bad, !slot->path_id || !(slot->flags & XPU_CHAIN_NO_LAUNCH));
	hear_path(slot);
	lock__give(&listener__lock, &old);
}

void xpu_live_range(const void *records, size_t bytes)
{
	const struct xpu_record_range *r = records;
	struct listener_range *to;
	sigset_t old;

	lock__take(&listener__lock, &old);
	if (r->hdr.type != XPU_RECORD_RANGE || r->hdr.size != bytes || bytes % 8 || !r->id ||
	    r->id >= LISTENER_RANGES || r->parent >= r->id ||
	    r->name_bytes != strlen(r->data) + 1 ||
	    r->domain_bytes != strlen(r->data + r->name_bytes) + 1 ||
	    bytes < sizeof(*r) + r->name_bytes + r->domain_bytes + r->payload_bytes ||
	    (r->payload_bytes && r->payload_bytes != sizeof(to->payload))) {
		COUNT(nr_bad, 1);
		goto out;
	}
	to = &listener.ranges[r->id];
	if (to->name) {
		COUNT(nr_repeated_ranges, 1);
		COUNT(nr_bad, to->parent != r->parent || strcmp(to->name, r->data) ||
		      strcmp(to->domain, r->data + r->name_bytes));
		goto out;
	}
	if (r->payload_bytes)
		memcpy(&to->payload, (const char *)r + bytes - sizeof(to->payload),
		       sizeof(to->payload));
	to->parent = r->parent;
	to->name = strdup(r->data);
	to->domain = strdup(r->data + r->name_bytes);
	COUNT(nr_ranges, 1);
out:
	lock__give(&listener__lock, &old);
}

static void hear_range(const struct xpu_log *log, const struct xpu_log_entry *e)
{
	uint32_t id = e->correlation_id, what = XPU_LOG_RANGE_WHAT(e->path_id);

	COUNT(nr_bad, !e->time || !what || what > XPU_RANGE_SET ||
	      (id && (id >= LISTENER_RANGES || !listener.ranges[id].name)));
	if (listener.nr_range_events < LISTENER_MAX)
		listener.range_events[listener.nr_range_events] = (struct listener_range_event){
			xpu_log__ns(&log->clocks[log->clock], e->time), id, what,
			XPU_LOG_RANGE_PLACE(e->path_id), log->tid,
		};
	COUNT(nr_range_events, 1);
}

/* @range_id: the range that contains the launch */
static void hear_logged(const struct xpu_log *log, const struct xpu_log_entry *e, uint32_t range_id)
{
	struct listener_launch *l = &listener.launches[listener.nr_launches];
	const struct listener_path *p;

	if (listener.nr_launches == LISTENER_MAX)
		return;
	if (!e->path_id || e->path_id >= LISTENER_PATHS || !e->time ||
	    !listener.paths[e->path_id].frames) {
		COUNT(nr_bad, 1);
		return;
	}
	p = &listener.paths[e->path_id];
	l->tid = log->tid;
	l->time_ns = xpu_log__ns(&log->clocks[log->clock], e->time);
	l->by_ticks = e->time & XPU_LOG_TICKS;
	l->correlation_id = e->correlation_id;
	l->cbid = p->cbid;
	l->flags = p->flags;
	l->nr_frames = p->nr_frames;
	l->frames = p->frames;
	l->path_id = e->path_id;
	l->range_id = range_id;
	COUNT(nr_launches, 1);
}

/* Receives a memory event, with the lock held. */
static void hear_alloc(const struct listener_alloc *a)
{
	if (a->path_id >= LISTENER_PATHS || (a->path_id && !listener.paths[a->path_id].frames)) {
		COUNT(nr_bad, 1);
		return;
	}
	if (listener.nr_allocs < sizeof(listener.allocs) / sizeof(listener.allocs[0]))
		listener.allocs[listener.nr_allocs] = *a;
	COUNT(nr_allocs, 1);
}

/*
 * @e: the first entry of a memory event; @nr: the number of entries from @e to the end of the log
 */
static void hear_logged_alloc(const struct xpu_log_entry *e, uint64_t nr)
{
	struct xpu_log_alloc a;

	if (!xpu_log_alloc__read(&a, e, nr)) {
		COUNT(nr_bad, 1);
		return;
	}
	hear_alloc(&(struct listener_alloc){
		.path_id = e->correlation_id,
		.what = e->path_id & 0xf,
		.space = e->path_id >> 4 & 0xf,
		.device = e->path_id >> 8 & 0x3ff,
		.extra = a.extra,
		.address = a.address,
		.bytes = a.bytes,
		.order = a.order,
	});
}

/*
 * Receives a memory event that had no room in the log of its thread, because another thread was
 * sending this log.
 */
static void hear_single_alloc(const struct xpu_record_alloc *r)
{
	COUNT(nr_bad, r->hdr.size != sizeof(*r) || !r->time_ns);
	/* Memory is recorded before START is sent. */
	COUNT(nr_bad, r->event.what == XPU_ALLOC_START && !allocs__are_on());
	hear_alloc(&(struct listener_alloc){
		.path_id = r->event.path_id,
		.what = r->event.what,
		.space = r->event.space,
		.device = r->event.device,
		.extra = r->event.extra,
		.address = r->event.address,
		.bytes = r->event.bytes,
		.order = r->order,
	});
}

void xpu_live_log(const struct xpu_log *log, uint64_t end)
{
	uint64_t tail = __atomic_load_n(&log->tail, __ATOMIC_ACQUIRE);
	uint32_t range_id = log->range_id;
	void (*interrupt)(void) = listener__interrupt_log;
	sigset_t old;

	if (interrupt) {
		listener__interrupt_log = NULL;
		interrupt();
	}
	lock__take(&listener__lock, &old);
	COUNT(nr_logs, 1);
	COUNT(nr_bad, log->size != XPU_LOG_BYTES || !log->tid || !log->id || end <= tail ||
	      tail % XPU_LOG_ENTRIES + (end - tail) > XPU_LOG_ENTRIES);
	for (; tail < end; tail++) {
		const struct xpu_log_entry *e = &log->entries[tail % XPU_LOG_ENTRIES];

		if (XPU_LOG_IS_ALLOC(e->path_id)) {
			if (!(e->path_id & XPU_LOG_ALLOC_MORE))
				hear_logged_alloc(e, end - tail);
			continue;
		}
		if (!(e->path_id & XPU_LOG_RANGE)) {
			hear_logged(log, e, range_id);
			continue;
		}
		if (XPU_LOG_RANGE_WHAT(e->path_id) != XPU_RANGE_MARK)
			range_id = e->correlation_id;
		hear_range(log, e);
	}
	lock__give(&listener__lock, &old);
}

void xpu_live_launch(const struct xpu_slot *slot)
{
	void (*interrupt)(void) = listener__interrupt;
	struct listener_launch *l;
	sigset_t old;

	if (interrupt) {
		listener__interrupt = NULL;
		interrupt();
	}

	lock__take(&listener__lock, &old);
	if (!slot->cbid) {
		COUNT(nr_introduced, 1);
	} else if (slot->wait_ns) {
		listener.waits[listener.nr_waits % 4096] = (struct listener_wait){
			slot->wait_start_ns, slot->wait_ns, slot->cbid, slot->wait_context,
			slot->wait_stream, slot->wait_flags,
		};
		COUNT(nr_waits, 1);
	} else if (listener.nr_launches < LISTENER_MAX) {
		listener.log = (const struct xpu_log *)(uintptr_t)slot->log;
		l = &listener.launches[listener.nr_launches];
		l->tid = gettid();
		l->correlation_id = slot->correlation_id;
		l->cbid = slot->cbid;
		l->flags = slot->flags;
		l->nr_frames = slot->nr_frames;
		l->range_id = slot->range_id;
		if (listener.keep_frames)
			l->frames = copy_frames(slot);
		COUNT(nr_bad, slot->size != sizeof(*slot) || !slot->domain);
		if (slot->path_id)
			hear_path(slot);
		COUNT(nr_launches, 1);
	}
	lock__give(&listener__lock, &old);
}

/* Receives a record about Python, which the loader uses itself and does not pass on. */
static void hear_python(const struct xpu_record_python *r)
{
	const struct xpu_python *p = &r->python;

	COUNT(nr_bad, r->hdr.size != sizeof(*r) || p->minor < 8 || p->minor > 13 || !p->runtime ||
	      !p->code_type || !p->unicode_type || !p->runtime_main || !p->interp_threads ||
	      !p->ts_frame || !p->co_bytes);
}

/* Return: the index of a string in listener.strings, or 0 if it has no index. */
static uint32_t place_of(uint32_t id)
{
	uint32_t domain = id >> 16 & 3;

	if (id < 4096)
		return id;
	if (id >> 18 != 0xc0000000u >> 18 || domain < 1 || domain > 2)
		return 0;
	return domain * 4096 + (id & 4095);
}

static void hear_string(const struct xpu_record_string *s)
{
	uint32_t place = place_of(s->id);

	COUNT(nr_string_records, 1);
	if (!place || s->bytes != strlen(s->data) + 1) {
		COUNT(nr_bad, 1);
	} else if (!listener.strings[place]) {
		listener.strings[place] = strdup(s->data);
	} else if (strcmp(listener.strings[place], s->data)) {
		COUNT(nr_bad, 1);	/* the definition was sent again with another text */
	}
}

static void hear_pycode(const struct xpu_record_pycode *c)
{
	if (!c->id || c->id >= 4096 || !c->name || !c->filename) {
		COUNT(nr_bad, 1);
	} else if (!listener.pycodes[c->id].name) {
		listener.pycodes[c->id].name = c->name;
		listener.pycodes[c->id].filename = c->filename;
	} else if (listener.pycodes[c->id].name != c->name ||
		   listener.pycodes[c->id].filename != c->filename) {
		COUNT(nr_bad, 1);
	}
}

static void hear_kernel(const struct xpu_record_kernel *k)
{
	struct listener_kernel *l = &listener.kernels[listener.nr_kernels];

	if (listener.nr_kernels == LISTENER_MAX)
		return;
	l->start_ns = k->start_ns;
	l->duration_ns = k->duration_ns;
	l->correlation_id = k->correlation_id;
	l->name = k->name;
	l->stream = k->stream;
	COUNT(nr_kernels, 1);
}

static void hear_stalls(const struct xpu_record_stalls *r)
{
	if (listener.nr_sampled == sizeof(listener.sampled) / sizeof(listener.sampled[0]))
		return;
	listener.sampled[listener.nr_sampled] = r->correlation_id;
	COUNT(nr_sampled, 1);
}

static void hear_api(const struct xpu_record_api *api)
{
	bool runtime = api->domain == CUPTI_CB_DOMAIN_RUNTIME_API;

	COUNT(nr_apis, 1);
	if (api->cbid < 4096 && (runtime || api->domain == CUPTI_CB_DOMAIN_DRIVER_API))
		listener.api_names[runtime][api->cbid] = place_of(api->name);
}

static void hear_calls(const struct xpu_record_calls *r)
{
	uint32_t i;

	COUNT(nr_bad, !r->nr || !r->tid || r->hdr.size != sizeof(*r) + r->nr * sizeof(*r->calls));
	for (i = 0; i < r->nr && listener.nr_calls < 1 << 17; i++) {
		const struct xpu_call *call = &r->calls[i];

		listener.calls[listener.nr_calls] = (struct listener_call){
			.start_ns = r->time_ns + call->delta_ns,
			.duration_ns = (uint64_t)call->duration_high << 32 | call->duration_ns,
			.correlation_id = call->correlation_id,
			.cbid = call->cbid,
			.tid = r->tid,
		};
		COUNT(nr_calls, 1);
	}
}

static void hear(const struct xpu_record *r)
{
	const struct xpu_record_message *m;

	switch (r->type) {
	case XPU_RECORD_COUNTERS:
		memcpy(&listener.counters, r, sizeof(listener.counters));
		break;
	case XPU_RECORD_STRING:
		hear_string((const void *)r);
		break;
	case XPU_RECORD_STREAM:
		COUNT(nr_streams, 1);
		break;
	case XPU_RECORD_API:
		hear_api((const void *)r);
		break;
	case XPU_RECORD_CALLS:
		hear_calls((const void *)r);
		break;
	case XPU_RECORD_ALLOC:
		hear_single_alloc((const void *)r);
		break;
	case XPU_RECORD_DEVICE:
		COUNT(nr_devices, 1);
		break;
	case XPU_RECORD_SHAPE:
		COUNT(nr_shapes, 1);
		break;
	case XPU_RECORD_KERNEL:
		hear_kernel((const void *)r);
		break;
	case XPU_RECORD_STALLS:
		hear_stalls((const void *)r);
		break;
	case XPU_RECORD_MEMCPY:
		COUNT(nr_memcpys, 1);
		break;
	case XPU_RECORD_MEMSET:
		COUNT(nr_memsets, 1);
		break;
	case XPU_RECORD_MIGRATION:
		COUNT(nr_migrations, 1);
		break;
	case XPU_RECORD_PYCODE:
		hear_pycode((const void *)r);
		break;
	case XPU_RECORD_MESSAGE:
		m = (const void *)r;
		listener.message_level = r->misc;
		strncpy(listener.message, m->data, sizeof(listener.message) - 1);
		COUNT(nr_messages, 1);
		break;
	default:
		COUNT(nr_bad, 1);
		break;
	}
}

void xpu_live_batch(const void *records, size_t bytes)
{
	const uint8_t *at = records, *end = at + bytes;
	const struct xpu_record *r;
	sigset_t old;

	lock__take(&listener__lock, &old);
	if (bytes == sizeof(struct xpu_record_python) &&
	    ((const struct xpu_record *)at)->type == XPU_RECORD_PYTHON) {
		hear_python(records);
		goto out;
	}
	COUNT(nr_bad, bytes > XPU_BATCH_MAX || bytes % 8);
	/* Threads send their calls, single memory events, and function names directly. */
	switch (((const struct xpu_record *)at)->type) {
	case XPU_RECORD_COUNTERS:
		COUNT(nr_batches, 1);
		pause_ms(listener__batch_ms);
		break;
	case XPU_RECORD_CALLS:
	case XPU_RECORD_ALLOC:
	case XPU_RECORD_API:
		break;
	default:
		COUNT(nr_bad, 1);
	}
	for (; at < end; at += r->size) {
		r = (const void *)at;
		if (r->size < sizeof(*r) || r->size % 8 || r->size > (size_t)(end - at)) {
			COUNT(nr_bad, 1);
			break;
		}
		hear(r);
	}
out:
	lock__give(&listener__lock, &old);
}
