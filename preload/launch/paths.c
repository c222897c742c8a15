// SPDX-License-Identifier: MIT
#include "launch/paths.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/environment.h"
#include "base/libc.h"
#include "launch/allocs.h"
#include "wire/probe.h"
#include "xpu_record.h"

/*
 * Memory is allocated as paths are added: a training step of PyTorch has about 500 paths of 65
 * frames, 300 KB. When PATHS_MAX bytes are in use, all paths are forgotten, and paths still needed
 * are added again.
 */
#define PATHS_MAX	(2u << 20)
#define TRACES_MAX	(8u << 20)
#define BUCKETS		4096		/* a power of two */

#define MAX_PLACES	16		/* maximum number of a path's places */
#define MAX_BETWEEN	4		/* maximum number of events between a launch and an event
					 * that shares the launch's trace */
#define MAX_TRIES	16		/* maximum number of attempts to share a trace, for each
					 * generation of the code */

struct path {
	struct path *next;		/* in the same bucket */
	struct path *older;
	uint64_t hash;
	struct place *places;
	uint32_t nr_places;
	uint32_t id;
	uint32_t cbid;
	uint16_t domain, flags;
	uint32_t nr_frames;
	bool wait;			/* the path of a call that waited: it has no number and is
					 * never defined */
	uint64_t frames[];
};

/*
 * A path may be reached in several ways: by two calls in one line of Python, or by one function
 * from two stacks of different size. Each way is a place in the loop that the program runs. One
 * cache line has all that a launch from the expected place needs.
 *
 * The place of a memory event may have a base: the place of a launch whose traces it shares. The
 * base's traces may be rewritten, which changes the base's version. They are freed only together
 * with all places.
 */
struct place {
	_Alignas(64) struct place *then;	/* the place of the launch that followed this
						 * place's last launch */
	const struct unwind_trace *unwind;	/* the place's trace, or its base's trace; NULL:
						 * unknown */
	union {
		const struct python_trace *python;	/* without a base: the trace of Python's
							 * frames, unless mode is PYTHON_OFF */
		struct unwind_trace *inner;	/* with a base: the words that differ from the
						 * base's trace */
	};
	struct path *path;
	uint32_t id, cbid;		/* the path's number; the function called */
	uint16_t domain;
	uint8_t mode;			/* enum python_mode, and PLACE_EVENT */
	uint8_t nr_tries;		/* number of attempts to share a trace, up to MAX_TRIES */
	uint32_t traced_bytes;		/* size of both traces, which begin at unwind */
	uint64_t version;		/* rises when the traces are written; with a base, the
					 * base's version */
	const struct place *base;	/* NULL: none */
	struct place *next;		/* the next place of the same path */
	uint64_t key;			/* differs between the places of a path */
	uint32_t trace_bytes;		/* room for both traces */
};

#define PLACE_EVENT	0x80		/* the place of a memory event: launches are never compared
					 * with it */

_Static_assert(offsetof(struct place, base) + sizeof(struct place *) == 64, "one line");

/*
 * If a stack word once differed from a guess, this maps the word to the place whose trace had the
 * word. A wrong place only costs time, since whole traces are compared.
 */
struct other {
	uint64_t hash;			/* hash of the word, of its address and of the function
					 * called */
	struct place *place;		/* NULL: none */
};

#define NR_SETS		128u		/* a power of two */
#define NR_WAYS		4		/* places in a set, which fills a cache line; the latest is
					 * first */
#define MAX_MISSES	4

/* The members that every launch needs are in one cache line, with the log's head. */
struct paths {
	_Alignas(64) struct place *last;	/* the place of the last launch; NULL: unknown */
	uint64_t end;			/* number of the first entry without room in the log */
	uint32_t listeners;		/* the global variable listeners at the last launch */
	atomic_bool by_ticks;		/* entries have ticks of the log's clock */
	atomic_bool has_ranges;		/* the log has entries of ranges */
	atomic_bool busy;
	uint8_t nr_misses;
	struct place *guess;		/* the place that the current launch is compared with */
	_Alignas(16) struct xpu_log log;
	struct xpu_log_entry entries[XPU_LOG_ENTRIES];
	struct place *wait;		/* the place of the last call that waited */
	uint64_t misses[MAX_MISSES];	/* hashes of the words that differed from guesses */
	_Alignas(64) struct other others[NR_SETS][NR_WAYS];	/* by hash */
	struct path *_Atomic newest;
	struct path *buckets[BUCKETS];
	struct arena arena;		/* memory of paths */
	struct arena traces;		/* memory of places and their traces */
};

_Static_assert(offsetof(struct paths, entries) ==
	       offsetof(struct paths, log) + offsetof(struct xpu_log, entries), "the log's own");
_Static_assert(offsetof(struct paths, log) + offsetof(struct xpu_log, tail) <= 64, "one line");
_Static_assert(offsetof(struct paths, wait) <= PATHS_LOG_END, "the log ends there");

HOT_DATA bool paths__enabled;
static atomic_uint last_path_id, last_log_id;
static HOT_DATA atomic_uint listeners;		/* number of listeners so far */

void paths__init(void)
{
	const char *mode = environment__get(XPU_PROBE_ENV);
	static bool done;

	if (!done)
		paths__enabled = !mode || strcmp(mode, "launch");
	done = true;
}

size_t paths__bytes(void)
{
	return sizeof(struct paths);
}

size_t paths__log_at(void)
{
	return offsetof(struct paths, log);
}

/* Reads the clock, for the entries in the log and for the next entries. The caller holds @busy. */
static void paths__read_clock(struct paths *p)
{
	struct xpu_log *log = &p->log;
	unsigned int next = !log->clock;
	bool good = atomic_load_explicit(&p->by_ticks, memory_order_relaxed);

	good = clock__next(&log->clocks[log->clock], &log->clocks[next], good);
	__atomic_store_n(&log->clock, next, __ATOMIC_RELEASE);
	atomic_store_explicit(&p->by_ticks, good, memory_order_release);
}

void paths__start(struct paths *p, struct xpu_slot *slot)
{
	p->log.size = XPU_LOG_BYTES;
	p->log.tid = libc__tid();
	p->log.id = atomic_fetch_add(&last_log_id, 1) + 1;
	p->end = XPU_LOG_ENTRIES;
	p->arena.max = PATHS_MAX;
	p->traces.max = TRACES_MAX;
	paths__read_clock(p);
	slot->log = (uintptr_t)&p->log;
}

void paths__free(struct paths *p)
{
	arena__free(&p->arena);
	arena__free(&p->traces);
}

static bool paths__take(struct paths *p)
{
	return !atomic_exchange_explicit(&p->busy, true, memory_order_acquire);
}

static void paths__leave(struct paths *p)
{
	atomic_store_explicit(&p->busy, false, memory_order_release);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* Return: the log's head. Linux and other threads read it and the entries before it. */
static uint64_t paths__head(const struct paths *p)
{
	return __atomic_load_n(&p->log.head, __ATOMIC_ACQUIRE);
}

/* Makes the log begin at @head. The caller holds @busy. */
static void paths__begin(struct paths *p, uint64_t head)
{
	const struct xpu_log_entry *e;
	uint64_t i = atomic_load_explicit(&p->has_ranges, memory_order_relaxed) ? head : 0;

	for (; i > p->log.tail; i--) {
		e = &p->entries[(i - 1) % XPU_LOG_ENTRIES];
		if (e->path_id & XPU_LOG_RANGE &&
		    XPU_LOG_RANGE_WHAT(e->path_id) != XPU_RANGE_MARK) {
			p->log.range_id = e->correlation_id;
			break;
		}
	}
	__atomic_store_n(&p->log.tail, head, __ATOMIC_RELEASE);
}

/* Sends the log's entries. The caller holds @busy. */
static void send(struct paths *p)
{
	uint64_t head;

	paths__read_clock(p);
	head = paths__head(p);
	if (head == p->log.tail)
		return;
	probe__log(&p->log, head);
	paths__begin(p, head);
}

void paths__send(struct paths *p)
{
	if (!paths__take(p))
		return;
	send(p);
	paths__leave(p);
}

void paths__discard(struct paths *p)
{
	if (!paths__take(p))
		return;
	paths__begin(p, paths__head(p));
	paths__leave(p);
}

/* Sends the full log and empties it. Return: whether there is room. */
static __attribute__((noinline, cold)) bool paths__make_room(struct paths *p)
{
	if (!paths__take(p))
		return false;
	send(p);
	paths__leave(p);
	p->end += XPU_LOG_ENTRIES;
	return true;
}

/* Return: the next entry to be written. There must be room for it. */
static inline struct xpu_log_entry *paths__next(struct paths *p)
{
	return &p->entries[XPU_LOG_ENTRIES - (p->end - p->log.head)];
}

/*
 * Adds an entry to the log. @time_ns: 0 for the current time. Return: the ticks just before the
 * entry was made; 0 if there is no room.
 */
static inline uint64_t paths__log(struct paths *p, uint64_t time_ns, uint32_t correlation_id,
				  uint32_t path_id)
{
	uint64_t head = p->log.head;
	struct xpu_log_entry *e;
	uint64_t ticks;

	if (__builtin_expect(head == p->end, 0) && !paths__make_room(p))
		return 0;
	e = paths__next(p);
	e->correlation_id = correlation_id;
	e->path_id = path_id;
	ticks = clock__ticks();
	if (time_ns)
		e->time = time_ns;
	else if (__builtin_expect(atomic_load_explicit(&p->by_ticks, memory_order_acquire), 1))
		e->time = ticks | XPU_LOG_TICKS;
	else
		e->time = clock__ns();
	__atomic_store_n(&p->log.head, head + 1, __ATOMIC_RELEASE);
	return ticks;
}

bool paths__range(struct paths *p, uint64_t time_ns, uint32_t id, uint32_t code)
{
	atomic_store_explicit(&p->has_ranges, true, memory_order_relaxed);
	return paths__log(p, time_ns, id, code) != 0;
}

/*
 * Makes room at the log's start, because no event may wrap around: the entries of an event are sent
 * together. Return: whether there is room.
 */
static __attribute__((noinline, cold)) bool paths__wrap(struct paths *p)
{
	struct xpu_log_entry *e = paths__next(p);

	for (; e < p->entries + XPU_LOG_ENTRIES; e++)
		*e = (struct xpu_log_entry){ .path_id = XPU_LOG_ALLOC | XPU_LOG_ALLOC_MORE };
	__atomic_store_n(&p->log.head, p->end, __ATOMIC_RELEASE);
	return paths__make_room(p);
}

/*
 * Return: the current time. Not inlined, which keeps the clock's struct out of the stack frame of
 * paths__alloc().
 */
static __attribute__((noinline, cold)) uint64_t time_by_clock(void)
{
	return clock__ns();
}

HOT_MEMORY bool paths__is_told(const struct paths *p)
{
	return p->listeners == atomic_load_explicit(&listeners, memory_order_relaxed);
}

/*
 * Adds a memory event to the log. @is_short: whether @rest can be written as a short event; a
 * compile-time constant in each call
 */
static inline __attribute__((always_inline)) bool paths__add_alloc(struct paths *p,
								   const struct alloc *a,
								   const struct xpu_log_alloc *rest,
								   uint32_t path, bool is_short)
{
	const unsigned int nr = is_short ? 2 : XPU_LOG_ALLOC_ENTRIES;
	struct xpu_log_entry *e;

	if (__builtin_expect(p->end - p->log.head < nr, 0) && !paths__wrap(p))
		return false;
	e = paths__next(p);
	e[0].time = __builtin_expect(atomic_load_explicit(&p->by_ticks, memory_order_acquire), 1) ?
		    clock__ticks() | XPU_LOG_TICKS : time_by_clock();
	e[0].correlation_id = path;
	e[0].path_id = XPU_LOG_ALLOC | (is_short ? XPU_LOG_ALLOC_SHORT : 0) | a->what |
		       a->space << 4 | a->device << 8 | a->api << 18;
	xpu_log_alloc__write(rest, e, is_short);
	__atomic_store_n(&p->log.head, p->log.head + nr, __ATOMIC_RELEASE);
	return true;
}

static __attribute__((noinline)) bool paths__add_long(struct paths *p, const struct alloc *a,
						      uint32_t path)
{
	const struct xpu_log_alloc rest = { a->address, a->bytes, a->order, a->extra };

	return paths__add_alloc(p, a, &rest, path, false);
}

HOT_MEMORY bool paths__alloc(struct paths *p, const struct alloc *a, uint32_t path)
{
	const struct xpu_log_alloc rest = { a->address, a->bytes, a->order, a->extra };

	if (__builtin_expect(!path && !paths__is_told(p), 0))
		return false;
	if (__builtin_expect(xpu_log_alloc__is_short(&rest), 1))
		return paths__add_alloc(p, a, &rest, path, true);
	return paths__add_long(p, a, path);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static inline bool path__is(const struct path *path, const struct xpu_slot *slot)
{
	return path->nr_frames == slot->nr_frames && path->cbid == slot->cbid &&
	       path->domain == slot->domain && path->flags == slot->flags &&
	       path->wait == !!slot->wait_ns &&
	       !memcmp(path->frames, (const void *)(uintptr_t)slot->frames,
		       slot->nr_frames * sizeof(path->frames[0]));
}

/* Return: the hash to search for. It may collide, so the whole path is compared, too. */
static uint64_t hash_slot(const struct xpu_slot *slot)
{
	const uint64_t *frames = (const uint64_t *)(uintptr_t)slot->frames;
	uint64_t hash = slot->cbid;
	uint32_t i;

	for (i = 0; i < slot->nr_frames; i++)
		hash = (hash ^ frames[i]) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static struct path *paths__find(struct paths *p, const struct xpu_slot *slot, uint64_t hash)
{
	struct path *path;

	for (path = p->buckets[hash % BUCKETS]; path; path = path->next)
		if (path->hash == hash && path__is(path, slot))
			return path;
	return NULL;
}

/*
 * Sends the log and forgets all paths. The log must go first: a new listener could not get the
 * definitions of forgotten paths. Return: whether this succeeded.
 */
static bool paths__clear(struct paths *p)
{
	if (!paths__take(p))
		return false;
	send(p);
	memset(p->buckets, 0, sizeof(p->buckets));
	p->last = p->wait = NULL;
	memset(p->others, 0, sizeof(p->others));
	arena__clear(&p->traces);
	arena__clear(&p->arena);
	atomic_store_explicit(&p->newest, NULL, memory_order_release);
	paths__leave(p);
	return true;
}

/* Return: a new path, or NULL if there is no room. */
static struct path *paths__add(struct paths *p, const struct xpu_slot *slot, uint64_t hash)
{
	size_t bytes = sizeof(struct path) + slot->nr_frames * sizeof(uint64_t);
	struct path *path;

	if (atomic_load_explicit(&last_path_id, memory_order_relaxed) >= XPU_MAX_PATHS)
		return NULL;
	path = arena__alloc(&p->arena, bytes);
	if (!path && paths__clear(p))
		path = arena__alloc(&p->arena, bytes);
	if (!path)
		return NULL;
	*path = (struct path){
		.next = p->buckets[hash % BUCKETS],
		.older = atomic_load_explicit(&p->newest, memory_order_relaxed),
		.hash = hash,
		.id = slot->wait_ns ? 0 :
		      atomic_fetch_add_explicit(&last_path_id, 1, memory_order_relaxed) + 1,
		.wait = slot->wait_ns,
		.cbid = slot->cbid,
		.domain = slot->domain,
		.flags = slot->flags,
		.nr_frames = slot->nr_frames,
	};
	memcpy(path->frames, (const void *)(uintptr_t)slot->frames,
	       slot->nr_frames * sizeof(path->frames[0]));
	p->buckets[hash % BUCKETS] = path;
	atomic_store_explicit(&p->newest, path, memory_order_release);
	return path;
}

void paths__new_listener(void)
{
	atomic_fetch_add(&listeners, 1);
}

void paths__repeat(struct paths *p)
{
	struct xpu_slot slot = { .size = sizeof(slot) };
	const struct path *path;

	if (!paths__take(p))
		return;
	path = atomic_load_explicit(&p->newest, memory_order_acquire);
	for (; path; path = path->older) {
		if (path->wait)
			continue;
		slot.cbid = path->cbid;
		slot.domain = path->domain;
		slot.flags = path->flags | XPU_CHAIN_NO_LAUNCH;
		slot.path_id = path->id;
		slot.nr_frames = path->nr_frames;
		slot.frames = (uintptr_t)path->frames;
		probe__path(&slot);
	}
	paths__leave(p);
}

/* ---- traces of paths ----------------------------------------------------------------- */

/* Forgets all places and their traces, to make room: they are made again as needed. */
static void paths__forget_places(struct paths *p)
{
	struct path *path = atomic_load_explicit(&p->newest, memory_order_relaxed);

	for (; path; path = path->older) {
		path->places = NULL;
		path->nr_places = 0;
	}
	p->last = p->wait = NULL;
	memset(p->others, 0, sizeof(p->others));
	arena__clear(&p->traces);
}

/*
 * Finds the place of @path with @key. If it does not exist, adds it, or makes it from another place
 * of @path. Return: the place, or NULL without room.
 */
static struct place *paths__place(struct paths *p, struct path *path, uint64_t key)
{
	struct place *place;

	for (place = path->places; place; place = place->next)
		if (place->key == key)
			return place;
	if (path->nr_places == MAX_PLACES) {
		path->places->key = key;
		return path->places;
	}
	place = arena__alloc(&p->traces, sizeof(*place));
	if (!place)
		return NULL;
	*place = (struct place){
		.path = path,
		.id = path->id,
		.cbid = path->cbid,
		.domain = path->domain,
		.next = path->places,
		.key = key,
	};
	path->places = place;
	path->nr_places++;
	return place;
}

/*
 * Keeps the traces of the last chain in a place of the chain's path, @path. Return: the place, or
 * NULL if there is no room.
 */
static struct place *paths__keep_trace(struct paths *p, struct path *path, const struct unwinder *u,
				       const struct python *python, enum python_mode mode)
{
	size_t unwind_bytes = u && mode != PYTHON_ONLY ? unwinder__trace_bytes(u) : 0;
	size_t python_bytes = mode == PYTHON_ON ? python__trace_bytes(python) : 0;
	struct place *place;
	uint64_t key = 0;
	uint8_t *traces;
	size_t bytes;

	unwind_bytes = (unwind_bytes + 63) & ~63ul;	/* Python's trace starts at a cache line */
	if (unwind_bytes)
		key = unwinder__trace_key(u);
	if (python_bytes)
		key ^= python__trace_key(python);
	place = paths__place(p, path, key);
	if (!place || !unwind_bytes || (mode == PYTHON_ON && !python_bytes))
		return place;
	traces = place->base ? (uint8_t *)place->inner : (uint8_t *)place->unwind;
	if (traces && ((struct unwind_trace *)traces)->generation != unwinder__generation(u))
		place->nr_tries = 0;
	place->unwind = NULL;
	place->base = NULL;
	place->version++;
	if (unwind_bytes + python_bytes > place->trace_bytes) {
		/* Leave some room for growth: a trace that outgrows its room must be moved. */
		bytes = (unwind_bytes + python_bytes) * 5 / 4;
		traces = arena__alloc(&p->traces, bytes);
		if (!traces)
			return NULL;
		place->trace_bytes = bytes;
	}
	place->unwind = (struct unwind_trace *)traces;
	place->python = (struct python_trace *)(traces + unwind_bytes);
	place->traced_bytes = unwind_bytes + python_bytes;
	place->mode = mode;
	unwinder__trace(u, (struct unwind_trace *)traces);
	if (python_bytes)
		python__trace(python, (struct python_trace *)(traces + unwind_bytes));
	return place;
}

static struct place *paths__trace(struct paths *p, struct path *path, const struct unwinder *u,
				  const struct python *python, enum python_mode mode)
{
	struct place *place = paths__keep_trace(p, path, u, python, mode);

	if (place)
		return place;
	paths__forget_places(p);
	return paths__keep_trace(p, path, u, python, mode);
}

static inline const struct unwind_trace *
place__trace(const struct place *place, const struct xpu_slot *slot, enum python_mode mode)
{
	if (!place || !place->unwind || place->cbid != slot->cbid ||
	    place->domain != slot->domain || place->mode != mode ||
	    (mode == PYTHON_ON && !python__holds(place->python)))
		return NULL;
	return place->unwind;
}

HOT_CODE const struct unwind_trace *paths__guess(struct paths *p, const struct xpu_slot *slot,
					enum python_mode mode)
{
	p->guess = slot->wait_ns ? p->wait : p->last ? p->last->then : NULL;
	return place__trace(p->guess, slot, mode);
}

/* Like place__trace(), for a memory event. */
static inline const struct unwind_trace *place__event_trace(const struct place *place,
							    const struct xpu_slot *slot,
							    enum python_mode mode)
{
	const struct place *base;

	if (!place || !place->unwind || place->cbid != slot->cbid ||
	    place->domain != slot->domain || place->mode != (mode | PLACE_EVENT))
		return NULL;
	base = place->base;
	if (base && (base->version != place->version || base->mode != mode))
		return NULL;
	if (mode == PYTHON_ON && !python__holds(base ? base->python : place->python))
		return NULL;
	return base ? place->inner : place->unwind;
}

static struct other *paths__others(struct paths *p, uint64_t hash)
{
	return p->others[hash >> 32 & (NR_SETS - 1)];
}

/* Return: the place that @hash leads to, or NULL. */
static struct place *paths__other(struct paths *p, uint64_t hash)
{
	const struct other *set = paths__others(p, hash);
	int i;

	for (i = 0; i < NR_WAYS; i++)
		if (set[i].hash == hash)
			return set[i].place;
	return NULL;
}

/* @miss: a word that differs from the guess. Return: a place whose trace had this word; or NULL. */
static inline __attribute__((always_inline)) struct place *
paths__next_guess(struct paths *p, uint32_t cbid, const struct unwind_miss *miss)
{
	uint64_t hash;

	if (p->nr_misses == MAX_MISSES)
		return NULL;
	hash = (miss->where ^ cbid) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 32 ^ miss->value) * 0x9e3779b97f4a7c15ull;
	p->misses[p->nr_misses++] = hash;
	return paths__other(p, hash);
}

const struct unwind_trace *paths__guess_again(struct paths *p, const struct xpu_slot *slot,
					      enum python_mode python,
					      const struct unwind_miss *miss)
{
	p->guess = paths__next_guess(p, slot->cbid, miss);
	return place__trace(p->guess, slot, python);
}

/* Makes the words that differed from guesses lead to @place; NULL: to no place. */
static void paths__learn(struct paths *p, struct place *place)
{
	struct other *set;
	uint64_t hash;
	int i;

	while (p->nr_misses) {
		hash = p->misses[--p->nr_misses];
		set = paths__others(p, hash);
		for (i = 0; i < NR_WAYS - 1 && set[i].hash != hash; i++)
			;
		memmove(&set[1], &set[0], i * sizeof(set[0]));
		set[0] = (struct other){ hash, place };
	}
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Return: the path of a launch whose path was not guessed. Adds the path if it is new. */
static __attribute__((noinline)) struct path *paths__search(struct paths *p, struct xpu_slot *slot)
{
	uint64_t hash = hash_slot(slot);
	struct path *path = paths__find(p, slot, hash);

	if (!path) {
		path = paths__add(p, slot, hash);
		if (path)
			slot->path_id = path->id;
	}
	return path;
}

/*
 * Prefetches the data that the next launch will probably be compared with, because the program
 * evicts this data from the cache between launches.
 */
static inline void place__prefetch(const struct place *place)
{
	const char *at = (const char *)place->unwind, *end = at + place->traced_bytes;

	for (; at < end; at += 64)
		__builtin_prefetch(at, 0, 2);
}

/* Like place__prefetch(), but leaves out the @nr outermost words, which have just been read. */
static inline void place__prefetch_inner(const struct place *place, unsigned int nr)
{
	const struct unwind_trace *trace = place->unwind;
	const char *at = (const char *)trace, *end = (const char *)(trace->words + trace->nr - nr);

	for (; at < end; at += 64)
		__builtin_prefetch(at, 0, 2);
}

static void path__describe(const struct path *path, struct xpu_slot *slot)
{
	slot->frames = (uintptr_t)path->frames;
	slot->nr_frames = path->nr_frames;
	slot->flags = path->flags;
}

/* Logs a launch from @path, whose number is @id. @path: NULL if the path could not be kept */
static inline uint64_t paths__log_launch(struct paths *p, const struct path *path, uint32_t id,
					 struct xpu_slot *slot)
{
	uint64_t ticks;

	/* A new listener learns about the thread from the slot, so call the probe. */
	if (__builtin_expect(p->listeners != atomic_load_explicit(&listeners, memory_order_relaxed),
			     0)) {
		p->listeners = atomic_load_explicit(&listeners, memory_order_relaxed);
		slot->path_id = path ? id : 0;
	}
	if (__builtin_expect(path && !slot->path_id, 1)) {
		ticks = paths__log(p, 0, slot->correlation_id, id);
		if (__builtin_expect(ticks != 0, 1))
			return ticks;
	}
	if (path)
		path__describe(path, slot);
	probe__launch(slot);
	slot->path_id = 0;
	return 0;
}

/* Calls the probe, because calls that have waited are not logged. @path: the path of the call */
static __attribute__((noinline)) uint64_t paths__tell_wait(struct xpu_slot *slot,
							   const struct path *path)
{
	path__describe(path, slot);
	probe__launch(slot);
	return 0;
}

HOT_CODE uint64_t paths__tell_guessed(struct paths *p, struct xpu_slot *slot)
{
	const struct place *next;
	struct place *place;
	uint64_t ticks;

	if (__builtin_expect(slot->wait_ns != 0, 0))
		return paths__tell_wait(slot, p->wait->path);
	place = p->guess;
	next = place->then;
	p->nr_misses = 0;
	if (p->last && p->last->then != place)
		p->last->then = place;
	p->last = place;
	ticks = paths__log_launch(p, place->path, place->id, slot);
	if (next && next != place)
		place__prefetch(next);
	return ticks;
}

static __attribute__((noinline)) uint64_t paths__tell_walked_wait(struct paths *p,
								  struct xpu_slot *slot,
								  const struct unwinder *u,
								  const struct python *python,
								  enum python_mode mode)
{
	struct path *path = paths__search(p, slot);

	p->wait = path ? paths__trace(p, path, u, python, mode) : NULL;
	probe__launch(slot);
	return 0;
}

uint64_t paths__tell_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			    const struct python *python, enum python_mode mode)
{
	struct place *place = p->last ? p->last->then : NULL;
	struct path *path = place ? place->path : NULL;

	if (__builtin_expect(slot->wait_ns != 0, 0))
		return paths__tell_walked_wait(p, slot, u, python, mode);
	if (!path || !path__is(path, slot))
		path = paths__search(p, slot);
	place = path ? paths__trace(p, path, u, python, mode) : NULL;
	paths__learn(p, place);
	if (p->last)			/* the last place may have been forgotten */
		p->last->then = place;
	p->last = place;
	return paths__log_launch(p, path, path ? path->id : 0, slot);
}

/* ---- events of memory ------------------------------------------------------------------------ */

/* Return: the number of a memory event's path. @path: NULL if the path could not be kept */
static uint32_t paths__tell_path(struct paths *p, const struct path *path, struct xpu_slot *slot)
{
	uint32_t now = atomic_load_explicit(&listeners, memory_order_relaxed);
	bool untold = slot->path_id || p->listeners != now;

	p->listeners = now;
	slot->path_id = 0;
	if (!path)
		return 0;
	if (__builtin_expect(untold, 0)) {
		path__describe(path, slot);
		slot->flags |= XPU_CHAIN_NO_LAUNCH;
		slot->path_id = path->id;
		probe__path(slot);	/* this also tells the listener where the thread's log is */
		slot->path_id = 0;
	}
	return path->id;
}

uint32_t paths__define(struct paths *p, struct xpu_slot *slot)
{
	return paths__tell_path(p, p->guess->path, slot);
}

/*
 * Makes @place, whose event has just matched, share the trace of the next launch's place, as far as
 * the traces are equal. There may be other events between this event and the launch.
 */
static __attribute__((noinline, cold)) void place__share(struct place *place)
{
	struct unwind_trace *own = (struct unwind_trace *)place->unwind;
	const struct place *base = place->then;
	int i;

	place->nr_tries++;
	for (i = 0; i < MAX_BETWEEN && base && base->mode & PLACE_EVENT; i++)
		base = base->then;
	if (!base || !base->unwind || place->mode != (base->mode ^ PLACE_EVENT))
		return;
	if ((base->mode == PYTHON_ON && !python__same(place->python, base->python)) ||
	    !unwind_trace__share(own, base->unwind))
		return;
	place->inner = own;
	place->unwind = base->unwind;
	place->traced_bytes = base->traced_bytes;
	place->version = base->version;
	place->base = base;
}

/*
 * Does the work of paths__guess() for a memory event. Never inline: a compiler may duplicate the
 * call of unwinder__chain() if several branches lead to it. The call's return address is a word of
 * each trace, so a trace made on one branch would not match on another.
 */
static __attribute__((noinline)) HOT_MEMORY const struct unwind_trace *
paths__guess_event(struct paths *p, const struct xpu_slot *slot, enum python_mode mode)
{
	p->guess = p->last ? p->last->then : NULL;
	return place__event_trace(p->guess, slot, mode);
}

struct event_guess {			/* a memory event whose path is looked for */
	struct paths *paths;
	const struct xpu_slot *slot;
	enum python_mode mode;
};

/* An unwind_other_fn that guesses another path for an event after a wrong guess. */
static const struct unwind_trace *guess_event_again(void *ctx, const struct unwind_miss *miss)
{
	const struct event_guess *g = ctx;
	struct paths *p = g->paths;

	p->guess = paths__next_guess(p, g->slot->cbid, miss);
	return place__event_trace(p->guess, g->slot, g->mode);
}

HOT_MEMORY uint32_t paths__number(struct paths *p, struct unwinder *u, struct xpu_slot *slot,
				  uint32_t domain, uint32_t cbid, enum python_mode mode)
{
	struct event_guess guess = { p, slot, mode };
	const struct unwind_trace *trace;
	const struct place *next;
	struct place *place;

	slot->cbid = cbid;
	slot->domain = domain;
	slot->frames = 0;
	trace = paths__guess_event(p, slot, mode);
	if (__builtin_expect(!unwinder__chain(u, 0, slot, trace, guess_event_again, &guess), 0))
		return PATHS_WALKED;
	place = p->guess;
	next = place->then;
	p->nr_misses = 0;
	if (p->last && p->last->then != place)
		p->last->then = place;
	p->last = place;
	if (__builtin_expect(!place->base && place->nr_tries < MAX_TRIES, 0))
		place__share(place);
	if (next && next == place->base)
		place__prefetch_inner(next, place->inner->nr_outer);
	else if (next && next->unwind != place->unwind)
		place__prefetch(next);
	return __builtin_expect(paths__is_told(p), 1) ? place->id : PATHS_UNTOLD;
}

uint32_t paths__number_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			      const struct python *python, enum python_mode mode)
{
	struct place *place = p->last ? p->last->then : NULL;
	struct path *path = place ? place->path : NULL;

	if (!path || !path__is(path, slot))
		path = paths__search(p, slot);
	place = path ? paths__trace(p, path, u, python, mode) : NULL;
	if (place)
		place->mode |= PLACE_EVENT;
	paths__learn(p, place);
	if (p->last)			/* the last place may have been forgotten */
		p->last->then = place;
	p->last = place;
	return paths__tell_path(p, path, slot);
}
