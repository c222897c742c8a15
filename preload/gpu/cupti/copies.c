// SPDX-License-Identifier: MIT
#include "gpu/cupti/copies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "gpu/cupti/buffers.h"
#include "gpu/cupti/program.h"

#define BLOCK_BYTES	(256 * 1024)
#define MAX_BLOCKS	1024
#define NR_TAKEN	16		/* number of latest spans that are kept for each kind */
#define CLOCKS_NS	1000000		/* the two readings for a rate must be at least this far
					 * apart */
#define DELIVER_NS	1000000000ull	/* how long to wait for another thread that delivers */

/*
 * Offsets of the members that the shim needs in a kind's records; 0: the kind lacks the member. The
 * leading members are the same in all versions.
 */
static const struct place {
	bool known;
	uint8_t start, end, completed, id;
} places[CUPTI_ACTIVITY_KIND_COUNT] = {
#define TIMES(type, i)	{ true, offsetof(type, start), offsetof(type, end), 0, i }
#define WITH_ID(type)	TIMES(type, offsetof(type, correlationId))
#define KERNEL		{ true, offsetof(CUpti_ActivityKernel10, start),		\
	offsetof(CUpti_ActivityKernel10, end), offsetof(CUpti_ActivityKernel10, completed),	\
	offsetof(CUpti_ActivityKernel10, correlationId) }
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = KERNEL,
	[CUPTI_ACTIVITY_KIND_MEMCPY] = WITH_ID(CUpti_ActivityMemcpy6),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = WITH_ID(CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_MEMSET] = WITH_ID(CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_RUNTIME] = WITH_ID(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_DRIVER] = WITH_ID(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = TIMES(CUpti_ActivitySynchronization2, 0),
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = TIMES(CUpti_ActivityOverhead3, 0),
	/* Records of these kinds have no times. */
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = { .known = true },
	[CUPTI_ACTIVITY_KIND_DEVICE] = { .known = true },
	[CUPTI_ACTIVITY_KIND_CONTEXT] = { .known = true },
	[CUPTI_ACTIVITY_KIND_NAME] = { .known = true },
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = { .known = true },
#undef TIMES
#undef WITH_ID
#undef KERNEL
};

struct taken_span {
	uint64_t from_ns, to_ns;	/* to_ns is UINT64_MAX while the span is open */
	uint32_t from_id, to_id;	/* ids in (from_id, to_id] belong to the span */
};

struct block {
	struct block *next;
	size_t used;
	uint8_t data[BLOCK_BYTES];
};

struct reading { uint64_t ns, theirs; };

struct theirs {				/* a buffer of the program */
	uint8_t *data;
	size_t bytes, used, nr, max_records;
	bool refused;			/* the program gave no buffer: do not ask again at each
					 * record */
};

static atomic_uint latest_id;
static atomic_uint_fast64_t kinds;
static atomic_bool wanted;
static atomic_int nr_blocks;
static atomic_uint_fast64_t nr_dropped;
static atomic_int nr_delivering;
static atomic_bool buffer_wanted;	/* a kind was enabled: the program must be asked for a
					 * buffer */
static atomic_bool complete_wanted;	/* the next delivery must flush */

/* Guards everything below. The program is never called with this lock held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct taken_span taken[CUPTI_ACTIVITY_KIND_COUNT][NR_TAKEN];
static unsigned int nr_taken[CUPTI_ACTIVITY_KIND_COUNT];
static uint32_t forgotten_id[CUPTI_ACTIVITY_KIND_COUNT];	/* the latest id in dropped spans */
static struct block *first_block, **last_block = &first_block;
static struct theirs current;		/* the buffer that the program believes CUPTI is filling */
static struct reading readings[2];	/* [1] is the later reading */
static CUpti_TimestampCallbackFunc clock_read;

static struct block *filling;		/* only the packer uses it */

bool copies__know(CUpti_ActivityKind kind)
{
	return kind < CUPTI_ACTIVITY_KIND_COUNT && places[kind].known;
}

void copies__note_id(uint32_t id)
{
	uint32_t was = atomic_load_explicit(&latest_id, memory_order_relaxed);

	while ((int32_t)(id - was) > 0 &&
	       !atomic_compare_exchange_weak_explicit(&latest_id, &was, id, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

bool copies__are_wanted(void)
{
	return atomic_load(&wanted);
}

bool copies__are_waiting(void)
{
	return atomic_load(&nr_blocks) || atomic_load(&complete_wanted) || copies__want_buffer();
}

bool copies__want_buffer(void)
{
	return atomic_load(&buffer_wanted);
}

uint64_t copies__kinds(void)
{
	return atomic_load(&kinds);
}

void copies__enable(CUpti_ActivityKind kind)
{
	struct taken_span *w;
	sigset_t old;

	copies__read_clocks();
	lock__take(&lock, &old);
	if (!(atomic_fetch_or(&kinds, UINT64_C(1) << kind) & UINT64_C(1) << kind)) {
		w = &taken[kind][nr_taken[kind]++ % NR_TAKEN];
		if (nr_taken[kind] > NR_TAKEN)
			forgotten_id[kind] = w->to_id;
		atomic_store(&wanted, true);
		w->from_ns = clock__ns();
		w->to_ns = UINT64_MAX;
		w->from_id = atomic_load(&latest_id);
		atomic_store(&buffer_wanted, !current.data);
	}
	lock__give(&lock, &old);
}

void copies__disable(CUpti_ActivityKind kind)
{
	struct taken_span *w;
	sigset_t old;

	lock__take(&lock, &old);
	if (atomic_fetch_and(&kinds, ~(UINT64_C(1) << kind)) & UINT64_C(1) << kind) {
		w = &taken[kind][(nr_taken[kind] - 1) % NR_TAKEN];
		w->to_ns = clock__ns();
		w->to_id = atomic_load(&latest_id);
	}
	lock__give(&lock, &old);
}

/* ---- the program's clock --------------------------------------------------------------------- */

static uint64_t read_clock(CUpti_TimestampCallbackFunc clock)
{
	return clock ? clock() : now_ns(CLOCK_REALTIME);
}

uint64_t copies__now(void)
{
	return read_clock(program__clock());
}

static struct reading read_both(CUpti_TimestampCallbackFunc clock)
{
	uint64_t before = clock__ns(), theirs = read_clock(clock);

	return (struct reading){ before + (clock__ns() - before) / 2, theirs };
}

void copies__read_clocks(void)
{
	CUpti_TimestampCallbackFunc clock = program__clock();
	struct reading now = read_both(clock);
	sigset_t old;

	lock__take(&lock, &old);
	if (clock != clock_read || !readings[1].ns) {
		clock_read = clock;
		readings[0] = readings[1] = now;
	} else if (now.ns - readings[1].ns > CLOCKS_NS) {
		readings[0] = readings[1];
		readings[1] = now;
	}
	lock__give(&lock, &old);
}

struct mapping {
	struct reading at;
	long double rate;
};

/*
 * Return: how to convert times to the program's clock, according to a reading made now and a
 * reading made at least CLOCKS_NS earlier.
 */
static struct mapping map_now(void)
{
	const struct timespec pause = { 0, 2 * CLOCKS_NS };
	struct reading before;
	struct mapping map;
	sigset_t old;

	copies__read_clocks();
	lock__take(&lock, &old);
	before = readings[0];
	lock__give(&lock, &old);
	map.at = read_both(program__clock());
	while (map.at.ns - before.ns < CLOCKS_NS) {	/* a signal ends nanosleep() early */
		nanosleep(&pause, NULL);
		map.at = read_both(program__clock());
	}
	map.rate = (long double)(int64_t)(map.at.theirs - before.theirs) /
		   (int64_t)(map.at.ns - before.ns);
	return map;
}

static void map_time(const struct mapping *map, uint8_t *at)
{
	uint64_t t;

	memcpy(&t, at, sizeof(t));
	if (!t)
		return;
	t = map->at.theirs - (int64_t)((int64_t)(map->at.ns - t) * map->rate);
	memcpy(at, &t, sizeof(t));
}

static void map_times(const struct mapping *map, CUpti_Activity *record)
{
	const struct place *p = &places[record->kind];
	uint8_t *at = (uint8_t *)record;

	if (p->start)
		map_time(map, at + p->start);
	if (p->end)
		map_time(map, at + p->end);
	if (p->completed)
		map_time(map, at + p->completed);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool taken_span__has(const struct taken_span *w, uint64_t start, uint32_t id)
{
	if (!w->from_ns)
		return false;
	if (id)
		return (int32_t)(id - w->from_id) > 0 &&
		       (w->to_ns == UINT64_MAX || (int32_t)(w->to_id - id) >= 0);
	return !start || (start >= w->from_ns && start <= w->to_ns);
}

/*
 * Whether the program had enabled the record's kind when the record's call was made. CUPTI records
 * kinds that the shim does not collect only if the program enabled them.
 */
static bool is_theirs(const CUpti_Activity *record)
{
	const struct place *p = &places[record->kind];
	const uint8_t *at = (const uint8_t *)record;
	uint64_t start = 0;
	uint32_t id = 0;
	bool is = false;
	int i;

	if (!activity__has_kind(record->kind))
		return true;
	memcpy(&start, at + p->start, sizeof(start));
	memcpy(&id, at + p->id, sizeof(id));
	pthread_mutex_lock(&lock);	/* a plain lock: the packer has blocked signals already */
	for (i = 0; i < NR_TAKEN && !is; i++)
		is = taken_span__has(&taken[record->kind][i], start, id);
	if (!is && id && nr_taken[record->kind] > NR_TAKEN &&
	    (int32_t)(forgotten_id[record->kind] - id) >= 0)
		atomic_fetch_add(&nr_dropped, 1);	/* its span was dropped, so it is unknown
							 * whether the program wants the record */
	pthread_mutex_unlock(&lock);
	return is;
}

void copies__kept(void)
{
	struct block *b = filling;
	sigset_t old;

	if (!b)
		return;
	filling = NULL;
	lock__take(&lock, &old);
	*last_block = b;
	last_block = &b->next;
	nr_blocks++;
	lock__give(&lock, &old);
}

void copies__keep(const CUpti_Activity *record, size_t bytes)
{
	size_t room = sizeof(uint64_t) + ((bytes + 7) & ~(size_t)7);

	if (!copies__know(record->kind) || !is_theirs(record))
		return;
	if (filling && filling->used + room > BLOCK_BYTES)
		copies__kept();
	if (!filling && bytes && room <= BLOCK_BYTES && atomic_load(&nr_blocks) < MAX_BLOCKS) {
		filling = malloc(sizeof(*filling));
		if (filling) {
			filling->next = NULL;
			filling->used = 0;
		}
	}
	if (!filling || !bytes || room > BLOCK_BYTES) {
		atomic_fetch_add(&nr_dropped, 1);
		return;
	}
	memcpy(filling->data + filling->used, &(uint64_t){ bytes }, sizeof(uint64_t));
	memcpy(filling->data + filling->used + sizeof(uint64_t), record, bytes);
	filling->used += room;
}

void copies__forked(void)
{
	pthread_mutex_init(&lock, NULL);
	current = (struct theirs){ 0 };
	atomic_store(&buffer_wanted, false);
	filling = first_block = NULL;
	last_block = &first_block;
	atomic_store(&nr_blocks, 0);
	atomic_store(&nr_delivering, 0);
}

/* ---- delivering ------------------------------------------------------------------------------ */

static void complete(struct theirs *t)
{
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc fn;

	program__callbacks(&request, &fn);
	if (t->data && fn)
		fn(NULL, 0, t->data, t->bytes, t->used);
	t->data = NULL;
}

static void ask_for(struct theirs *t)
{
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc fn;

	program__callbacks(&request, &fn);
	if (t->data || !request || t->refused)
		return;
	*t = (struct theirs){ 0 };
	request(&t->data, &t->bytes, &t->max_records);
	t->refused = !t->data;
}

static struct theirs take_current(void)
{
	struct theirs t;
	sigset_t old;

	lock__take(&lock, &old);
	t = current;
	current = (struct theirs){ 0 };
	lock__give(&lock, &old);
	t.refused = false;
	return t;
}

/* Keeps the buffer; gives it back to the program if another thread got a buffer meanwhile. */
static void keep_current(struct theirs *t)
{
	sigset_t old;

	lock__take(&lock, &old);
	if (!current.data) {
		current = *t;
		t->data = NULL;
	}
	lock__give(&lock, &old);
	complete(t);
}

static void add(struct theirs *t, const CUpti_Activity *record, size_t bytes)
{
	if (t->data && (t->used + bytes > t->bytes || (t->max_records && t->nr == t->max_records)))
		complete(t);
	ask_for(t);
	if (!t->data || t->used + bytes > t->bytes) {
		atomic_fetch_add(&nr_dropped, 1);
		return;
	}
	memcpy(t->data + t->used, record, bytes);
	t->used += bytes;
	t->nr++;
}

static void deliver(struct block *b, const struct mapping *map, struct theirs *t)
{
	CUpti_Activity *record;
	uint64_t bytes;
	size_t at;

	t->refused = false;
	for (at = 0; at < b->used; at += sizeof(bytes) + ((bytes + 7) & ~(size_t)7)) {
		memcpy(&bytes, b->data + at, sizeof(bytes));
		record = (CUpti_Activity *)(b->data + at + sizeof(bytes));
		map_times(map, record);
		add(t, record, bytes);
	}
}

static struct block *take_block(void)
{
	struct block *b;
	sigset_t old;

	lock__take(&lock, &old);
	b = first_block;
	if (b) {
		first_block = b->next;
		if (!first_block)
			last_block = &first_block;
		nr_blocks--;
	}
	lock__give(&lock, &old);
	return b;
}

/*
 * Like CUPTI, the shim holds a buffer of the program from the time when the first kind is enabled
 * until the program flushes. If CUPTI has none of Kineto's buffers, Kineto does not flush, and
 * drops records.
 */
static void deliver_all(void)
{
	struct theirs t = take_current();
	struct mapping map;
	struct block *b;
	int nr = 0;

	while ((b = take_block())) {
		if (!nr++)
			map = map_now();
		deliver(b, &map, &t);
		free(b);
	}
	if (nr || copies__kinds())
		ask_for(&t);
	keep_current(&t);
	atomic_store(&buffer_wanted, false);
}

/* Completes the current buffer, after waiting for other threads that deliver records. */
static void complete_current(void)
{
	const struct timespec pause = { 0, 200000 };
	uint64_t end = clock__ns() + DELIVER_NS;
	struct theirs t;

	while (atomic_load(&nr_delivering) && clock__ns() < end)
		nanosleep(&pause, NULL);
	t = take_current();
	complete(&t);
	atomic_store(&buffer_wanted, copies__kinds());
}

void copies__deliver(bool flush)
{
	static __thread bool delivers __attribute__((tls_model("initial-exec")));

	if (delivers)			/* this thread is in a callback of the program, and that
					 * callback flushes */
		return;
	delivers = true;
	atomic_fetch_add(&nr_delivering, 1);
	flush |= atomic_exchange(&complete_wanted, false);
	deliver_all();
	atomic_fetch_sub(&nr_delivering, 1);
	if (flush)
		complete_current();
	delivers = false;
}

void copies__flush_later(void)
{
	atomic_store(&complete_wanted, true);
}

uint64_t copies__take_nr_dropped(void)
{
	return atomic_exchange(&nr_dropped, 0);
}
