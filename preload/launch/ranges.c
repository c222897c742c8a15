// SPDX-License-Identifier: MIT
#include "launch/ranges.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/clock.h"
#include "launch/launcher.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/all_threads.h"
#include "xpu_record.h"
#include "xpu_utf8.h"

/*
 * Paths are kept in one of two halves. When this half is full, open paths move to the other half
 * and all other paths are forgotten, because programs that number their iterations make new names
 * without end. The first half is small, for threads with few paths.
 */
#define HALF_BYTES	(1u << 20)
#define FIRST_BYTES	(64u << 10)
#define BUCKETS		1024		/* a power of two */
#define MAX_WAITING	65536		/* maximum number of events that wait for a log or for room
					 * in it */
#define MAX_ENDED	16		/* maximum number of this thread's ranges that other threads
					 * end before this thread notices */

struct domain {
	UT_hash_handle hh;
	char name[];
};

struct string {
	UT_hash_handle hh;
	char text[];
};

/* A path: a range that was opened while the ranges of its parent path were open. */
struct node {
	struct node *next;		/* in the same bucket */
	struct node *then;		/* the path that followed this path most recently */
	uint32_t hash;
	bool told;
	const struct domain *domain;
	struct xpu_record_range record;
};

struct open {
	struct node *node;
	uint32_t serial;		/* 0: the range was pushed, not started */
};

struct ended {
	atomic_uint serial;		/* 0: free */
	uint64_t time_ns;
};

struct ranges {
	struct ranges *next;		/* under lock */
	uint32_t number;		/* this struct's number, unique in the process */
	atomic_uint session;		/* the global session that the list belongs to */
	uint32_t last_serial;
	unsigned int nr_open, nr_started;
	unsigned int nr_over;		/* number of open ranges that have no room in the list;
					 * these are popped first */
	atomic_bool inside;		/* the thread is in a function of this file */
	atomic_bool busy;		/* the half is being switched, or another thread reads it */
	atomic_uint nr_ended;
	atomic_uint *logged;		/* see launcher__range_logged() */
	struct node *last;		/* the path opened last */
	bool early;			/* some events happened before the process used CUDA */
	atomic_size_t nr_waiting;	/* written by the thread itself */
	unsigned int half;
	atomic_size_t used;		/* bytes used in the current half */
	uint8_t *halves[2];
	size_t half_bytes[2];		/* size of each half in bytes */
	struct xpu_log_entry *waiting;	/* MAX_WAITING entries; NULL until one is needed */
	struct ended ended[MAX_ENDED];
	struct open open[XPU_RANGE_DEPTH];
	struct node *buckets[BUCKETS];
	char text[XPU_RANGE_NAME_MAX];	/* for converting a name; stacks may be small */
	_Alignas(64) uint8_t first[FIRST_BYTES];
};

#define NODE_BYTES_MAX (sizeof(struct node) + XPU_RANGE_NAME_MAX + XPU_RANGE_DOMAIN_MAX + 8 + \
			sizeof(struct xpu_range_payload))
_Static_assert((XPU_RANGE_DEPTH + 2) * NODE_BYTES_MAX < HALF_BYTES, "what is open leaves room");
_Static_assert(NODE_BYTES_MAX < FIRST_BYTES, "there is room for any");

static __thread struct ranges *this_ranges __attribute__((tls_model("initial-exec")));

_Atomic enum ranges_mode ranges__mode = RANGES_WAIT;
static atomic_uint session;			/* incremented when all listeners have left */
static atomic_bool missed;			/* a thread has missed an event */
static atomic_uint last_id, last_number;
static atomic_uint_fast64_t nr_dropped;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* see lock.h */
static struct ranges *all;
static struct domain *domains;
static struct string *strings;

/* The lock is held during a fork, so that the child's copy of the data is consistent. */
static sigset_t before_fork;		/* under lock */

void ranges__forking(void)
{
	sigset_t old;

	lock__take(&lock, &old);
	before_fork = old;
}

void ranges__has_forked(void)
{
	sigset_t old = before_fork;

	lock__give(&lock, &old);
}

static void drop(uint64_t nr)
{
	atomic_fetch_add_explicit(&nr_dropped, nr, memory_order_relaxed);
}

/* Counts the events that still wait when recording stops. */
static void give_up(void)
{
	struct ranges *r;
	sigset_t old;

	lock__take(&lock, &old);
	for (r = all; r; r = r->next)
		if (r->session == atomic_load(&session))
			drop(atomic_load(&r->nr_waiting));
	lock__give(&lock, &old);
}

void ranges__set_mode(enum ranges_mode new)
{
	enum ranges_mode before = atomic_exchange(&ranges__mode, new);

	if (new != RANGES_OFF)
		return;
	if (before == RANGES_RECORD)
		give_up();
	atomic_fetch_add(&session, 1);
}

void ranges__miss(void)
{
	if (atomic_load_explicit(&missed, memory_order_relaxed) || atomic_exchange(&missed, true))
		return;
	atomic_fetch_add(&session, 1);
	launcher__forget_ranges();
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *ranges__narrow(const wchar_t *s, char *buf, size_t size)
{
	char *to = buf;

	for (; *s && (size_t)(to - buf) + 4 < size; s++) {
		uint32_t c = *s;

		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		to = utf8__put(to, c);
	}
	*to = '\0';
	return buf;
}

struct domain *ranges__domain(const char *name)
{
	size_t len = strnlen(name, XPU_RANGE_DOMAIN_MAX - 1);
	struct domain *d;
	sigset_t old;

	lock__take(&lock, &old);
	HASH_FIND(hh, domains, name, len, d);
	if (!d && (d = calloc(1, sizeof(*d) + len + 1))) {
		memcpy(d->name, name, len);
		HASH_ADD_KEYPTR(hh, domains, d->name, len, d);
		if (!d->hh.tbl) {
			free(d);
			d = NULL;
		}
	}
	lock__give(&lock, &old);
	return d;
}

const char *ranges__domain_name(const struct domain *domain)
{
	return domain ? domain->name : "";
}

const char *ranges__string(const char *text)
{
	size_t len = strnlen(text, XPU_RANGE_NAME_MAX - 1);
	struct string *s;
	sigset_t old;

	lock__take(&lock, &old);
	HASH_FIND(hh, strings, text, len, s);
	if (!s && (s = calloc(1, sizeof(*s) + len + 1))) {
		memcpy(s->text, text, len);
		HASH_ADD_KEYPTR(hh, strings, s->text, len, s);
		if (!s->hh.tbl) {
			free(s);
			s = NULL;
		}
	}
	lock__give(&lock, &old);
	return s ? s->text : NULL;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void ranges__free(struct ranges *r)
{
	int i;

	for (i = 0; i < 2; i++)
		if (r->halves[i] && r->halves[i] != r->first)
			munmap(r->halves[i], HALF_BYTES);
	if (r->waiting)
		munmap(r->waiting, MAX_WAITING * sizeof(*r->waiting));
	munmap(r, sizeof(*r));
}

static __attribute__((noinline, cold)) struct ranges *ranges__new(void)
{
	int saved_errno = errno;
	struct ranges *r;
	sigset_t old;

	lock__take(&lock, &old);
	r = this_ranges;
	if (r)
		goto out;		/* a signal handler made the struct meanwhile */
	r = all_threads__watch_end() ? memory__map(sizeof(*r)) : NULL;
	if (!r)
		goto out;
	r->number = atomic_fetch_add(&last_number, 1) + 1;
	r->session = atomic_load(&session);
	r->halves[0] = r->first;
	r->half_bytes[0] = sizeof(r->first);
	r->next = all;
	all = r;
	this_ranges = r;
out:
	lock__give(&lock, &old);
	errno = saved_errno;
	return r;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static size_t node__bytes(const struct node *n)
{
	return offsetof(struct node, record) + n->record.hdr.size;
}

/* Return: the path's payload, or NULL. */
static const struct xpu_range_payload *node__payload(const struct node *n)
{
	return n->record.payload_bytes ? (const void *)((const char *)&n->record +
		n->record.hdr.size - n->record.payload_bytes) : NULL;
}

static bool node__is(const struct node *n, uint32_t parent, const struct range *range)
{
	const struct xpu_range_payload *payload = node__payload(n);

	if (n->record.parent != parent || n->domain != range->domain ||
	    strcmp(n->record.data, range->name) || !payload != !range->payload)
		return false;
	return !payload || !memcmp(payload, range->payload, sizeof(*payload));
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const char *bytes = data;
	uint64_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes + i, len - i);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static uint32_t range__hash(const struct range *range, uint32_t parent, size_t len)
{
	uint64_t hash = hash_bytes(parent ^ (uintptr_t)range->domain, range->name, len);

	return range->payload ? hash_bytes(hash, range->payload, sizeof(*range->payload)) : hash;
}

static bool ranges__take(struct ranges *r)
{
	return !atomic_exchange_explicit(&r->busy, true, memory_order_acquire);
}

static void ranges__give(struct ranges *r)
{
	atomic_store_explicit(&r->busy, false, memory_order_release);
}

static void node__link(struct ranges *r, struct node *n)
{
	n->next = r->buckets[n->hash % BUCKETS];
	n->then = NULL;
	r->buckets[n->hash % BUCKETS] = n;
}

/*
 * Forgets all paths except open paths, which move to the other half. Pointers to names stay valid
 * until the next call.
 */
static __attribute__((noinline, cold)) bool ranges__clear(struct ranges *r)
{
	unsigned int i, half;
	uint8_t *memory;
	size_t used = 0;

	if (!ranges__take(r))
		return false;
	half = r->half ^ 1;
	if (r->half_bytes[half] < HALF_BYTES) {
		memory = memory__map(HALF_BYTES);
		if (!memory) {
			ranges__give(r);
			return false;
		}
		r->halves[half] = memory;
		r->half_bytes[half] = HALF_BYTES;
	}
	if (r->early) {			/* the paths of the waiting events were never sent */
		drop(r->nr_waiting);
		r->nr_waiting = 0;
	}
	r->half = half;
	memset(r->buckets, 0, sizeof(r->buckets));
	r->last = NULL;
	for (i = 0; i < r->nr_open; i++) {
		struct node *n = (struct node *)(r->halves[half] + used);

		memcpy(n, r->open[i].node, node__bytes(r->open[i].node));
		used += node__bytes(n);
		r->open[i].node = n;
		node__link(r, n);
	}
	atomic_store_explicit(&r->used, used, memory_order_release);
	ranges__give(r);
	return true;
}

/* Return: a new path, or NULL if no room can be made now. */
static __attribute__((noinline, cold)) struct node *ranges__add(struct ranges *r, uint32_t parent,
								const struct range *range,
								size_t len, uint32_t hash)
{
	const char *domain = range->domain ? range->domain->name : "";
	size_t domain_bytes = strlen(domain) + 1, used;
	uint32_t size = (sizeof(struct xpu_record_range) + len + 1 + domain_bytes + 7) & ~7u;
	uint32_t payload_bytes = range->payload ? sizeof(*range->payload) : 0;
	struct node *n;

	size += payload_bytes;
	used = atomic_load_explicit(&r->used, memory_order_relaxed);
	if (r->half_bytes[r->half] - used < offsetof(struct node, record) + size) {
		if (!ranges__clear(r))
			return NULL;
		used = atomic_load_explicit(&r->used, memory_order_relaxed);
	}
	n = (struct node *)(r->halves[r->half] + used);
	memset(n, 0, offsetof(struct node, record) + size);
	n->hash = hash;
	n->domain = range->domain;
	n->record.hdr.type = XPU_RECORD_RANGE;
	n->record.hdr.size = size;
	n->record.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	n->record.parent = parent;
	n->record.payload_bytes = payload_bytes;
	n->record.name_bytes = len + 1;
	n->record.domain_bytes = domain_bytes;
	memcpy(n->record.data, range->name, len);
	memcpy(n->record.data + len + 1, domain, domain_bytes);
	if (payload_bytes)
		memcpy((char *)&n->record + size - payload_bytes, range->payload, payload_bytes);
	node__link(r, n);
	atomic_store_explicit(&r->used, used + node__bytes(n), memory_order_release);
	return n;
}

static struct node *ranges__find(struct ranges *r, uint32_t parent, const struct range *range)
{
	struct range whole = *range;
	struct node *n;
	uint32_t hash;
	size_t len;

	len = strnlen(whole.name, XPU_RANGE_NAME_MAX);
	if (len == XPU_RANGE_NAME_MAX) {
		/* Do not cut in the middle of a character. */
		for (len--; len && (whole.name[len] & 0xc0) == 0x80; len--)
			;
		memcpy(r->text, whole.name, len);
		r->text[len] = '\0';
		whole.name = r->text;
	}
	hash = range__hash(&whole, parent, len);
	for (n = r->buckets[hash % BUCKETS]; n; n = n->next)
		if (n->hash == hash && node__is(n, parent, &whole))
			return n;
	return ranges__add(r, parent, &whole, len, hash);
}

static uint32_t ranges__innermost(const struct ranges *r)
{
	return r->nr_open ? r->open[r->nr_open - 1].node->record.id : 0;
}

/*
 * Return: the thread's path once @range is open, or NULL. Programs run in loops, so the path that
 * followed r->last the previous time is tried first.
 */
static struct node *ranges__path(struct ranges *r, struct range *range)
{
	uint32_t parent = ranges__innermost(r);
	struct node *last = r->last, *n = last ? last->then : NULL;

	if (__builtin_expect(range->wide != NULL, 0))
		range->name = ranges__narrow(range->wide, r->text, sizeof(r->text));

	if (!n || !node__is(n, parent, range)) {
		n = ranges__find(r, parent, range);
		if (!n)
			return NULL;
		if (r->last)		/* ranges__find() may have cleared r->last */
			r->last->then = n;
	}
	r->last = n;
	return n;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void tell(struct node *n)
{
	probe__range(&n->record, n->record.hdr.size);
	n->told = true;
}

static void ranges__wait(struct ranges *r, uint64_t time_ns, uint32_t id, uint32_t code)
{
	if (!r->waiting)
		r->waiting = memory__map(MAX_WAITING * sizeof(*r->waiting));
	if (!r->waiting || r->nr_waiting == MAX_WAITING) {
		drop(1);
		return;
	}
	r->waiting[r->nr_waiting++] = (struct xpu_log_entry){ time_ns ?: clock__ns(), id, code };
}

/* Moves the waiting events to the log. Return: whether all of them are in the log. */
static bool ranges__flush(struct ranges *r)
{
	size_t nr = atomic_load_explicit(&r->nr_waiting, memory_order_relaxed), done;

	if (__builtin_expect(!nr, 1))
		return true;
	for (done = 0; done < nr; done++)
		if (!launcher__log_range(r->waiting[done].time, r->waiting[done].correlation_id,
				       r->waiting[done].path_id))
			break;
	memmove(r->waiting, r->waiting + done, (nr - done) * sizeof(r->waiting[0]));
	r->nr_waiting = nr - done;
	return done == nr;
}

/*
 * Logs an event. @time_ns: 0 for the current time; @n: a path that may have to be sent first, or
 * NULL
 */
static void ranges__log(struct ranges *r, uint64_t time_ns, struct node *n, uint32_t id,
			unsigned int what, unsigned int place)
{
	uint32_t code = XPU_LOG_RANGE | place << 8 | what;

	if (__builtin_expect(atomic_load_explicit(&ranges__mode, memory_order_acquire) ==
			     RANGES_WAIT, 0)) {
		r->early = true;
		ranges__wait(r, time_ns, id, code);
		return;
	}
	if (__builtin_expect(r->early, 0) && launcher__make_log())
		ranges__have_log();
	if (n && __builtin_expect(!n->told, 0))
		tell(n);
	if (!ranges__flush(r) || !launcher__log_range(time_ns, id, code))
		ranges__wait(r, time_ns, id, code);
	launcher__set_range(ranges__innermost(r), !r->nr_waiting);
}

/* Closes the range at @place, which changes the paths of the ranges opened after it. */
static void ranges__close(struct ranges *r, unsigned int place, uint64_t time_ns)
{
	unsigned int what = r->open[place].serial ? XPU_RANGE_END : XPU_RANGE_POP, i;
	struct node *n = NULL;

	r->nr_started -= what == XPU_RANGE_END;
	r->nr_open--;
	memmove(&r->open[place], &r->open[place + 1], (r->nr_open - place) * sizeof(r->open[0]));
	for (i = place; i < r->nr_open; i++) {
		const struct node *old = r->open[i].node;
		struct range range = { .domain = old->domain, .name = old->record.data,
				       .payload = node__payload(old) };

		n = ranges__find(r, i ? r->open[i - 1].node->record.id : 0, &range);
		if (!n) {
			drop(1);	/* the closed range stays in the path of this range */
			continue;
		}
		r->open[i].node = n;
		if (!n->told && atomic_load(&ranges__mode) == RANGES_RECORD)
			tell(n);
	}
	ranges__log(r, time_ns, n, ranges__innermost(r), what, place);
}

static __attribute__((noinline, cold)) void ranges__take_ended(struct ranges *r)
{
	unsigned int i, k, serial;

	for (i = 0; i < MAX_ENDED; i++) {
		uint64_t time_ns;

		serial = atomic_load(&r->ended[i].serial);
		if (!serial)
			continue;
		time_ns = r->ended[i].time_ns;
		atomic_store(&r->ended[i].serial, 0);
		atomic_fetch_sub(&r->nr_ended, 1);
		for (k = r->nr_open; k--;)
			if (r->open[k].serial == serial) {
				ranges__close(r, k, time_ns);
				break;
			}
	}
}

/* Return: the calling thread's ranges, or NULL if the call is not recorded. */
static struct ranges *enter(void)
{
	struct ranges *r = this_ranges;
	unsigned int now;

	if (atomic_load_explicit(&ranges__mode, memory_order_relaxed) == RANGES_OFF)
		return NULL;
	if (__builtin_expect(!r, 0) && !(r = ranges__new())) {
		drop(1);
		return NULL;
	}
	if (__builtin_expect(atomic_load_explicit(&r->inside, memory_order_relaxed) ||
			     launcher__inside(), 0)) {
		drop(1);
		return NULL;
	}
	atomic_store_explicit(&r->inside, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&missed, memory_order_relaxed), 0))
		atomic_store(&missed, false);
	now = atomic_load_explicit(&session, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&r->session, memory_order_relaxed) != now, 0)) {
		r->session = now;
		r->nr_open = r->nr_started = r->nr_over = 0;
		r->nr_waiting = 0;
	}
	if (__builtin_expect(atomic_load_explicit(&r->nr_ended, memory_order_acquire), 0))
		ranges__take_ended(r);
	return r;
}

static void leave(struct ranges *r)
{
	/*
	 * A thread that ends a range of this thread marks this thread's log as outdated, but this
	 * thread may just have cleared that mark.
	 */
	if (__builtin_expect(r->nr_started, 0)) {
		atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load(&r->nr_ended))
			ranges__take_ended(r);
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&r->inside, false, memory_order_relaxed);
}

/* Opens @range. Return: its place, or -1. */
static int ranges__open(struct ranges *r, struct range *range, uint32_t serial)
{
	struct node *n = NULL;

	if (!r->nr_over && r->nr_open < XPU_RANGE_DEPTH)
		n = ranges__path(r, range);
	if (!n) {
		drop(1);
		return -1;
	}
	r->open[r->nr_open++] = (struct open){ n, serial };
	r->nr_started += serial != 0;
	ranges__log(r, 0, n, n->record.id, serial ? XPU_RANGE_START : XPU_RANGE_PUSH, 0);
	return r->nr_open - 1;
}

/* Return: how many pushed ranges of @domain are before @place in the list. */
static int ranges__level(const struct ranges *r, const struct domain *domain, int place)
{
	int i, level = 0;

	for (i = 0; i < place; i++)
		level += r->open[i].node->domain == domain && !r->open[i].serial;
	return level;
}

int ranges__push(struct range *range)
{
	struct ranges *r = enter();
	int level = -1, place;

	if (!r)
		return -1;
	place = ranges__open(r, range, 0);
	if (place < 0)
		r->nr_over++;
	else
		level = ranges__level(r, range->domain, place);
	leave(r);
	return level;
}

/* Return: the place of the range of @domain that was pushed last, or -1. */
static int ranges__last_pushed(const struct ranges *r, const struct domain *domain)
{
	int i;

	for (i = (int)r->nr_open - 1; i >= 0; i--)
		if (!r->open[i].serial && r->open[i].node->domain == domain)
			break;
	return i;
}

int ranges__pop(const struct domain *domain)
{
	struct ranges *r = enter();
	int place, level = -1;

	if (!r)
		return -1;
	if (__builtin_expect(r->nr_over, 0)) {
		r->nr_over--;
		drop(1);
		goto out;
	}
	place = ranges__last_pushed(r, domain);
	if (place >= 0) {
		level = ranges__level(r, domain, place);
		ranges__close(r, place, 0);
	}
out:
	leave(r);
	return level;
}

uint64_t ranges__start(struct range *range)
{
	struct ranges *r = enter();
	uint64_t id = 0;

	if (!r)
		return 0;
	if (!++r->last_serial)
		r->last_serial = 1;
	if (ranges__open(r, range, r->last_serial) >= 0) {
		id = (uint64_t)r->number << 32 | r->last_serial;
		r->logged = launcher__range_logged();
	}
	leave(r);
	return id;
}

/* Tells the thread that started a range that the range has ended. */
static __attribute__((noinline, cold)) void end_elsewhere(uint32_t number, uint32_t serial)
{
	struct ranges *r;
	sigset_t old;
	size_t i;

	lock__take(&lock, &old);
	for (r = all; r && r->number != number; r = r->next)
		;
	for (i = 0; r && i < MAX_ENDED; i++) {
		if (atomic_load(&r->ended[i].serial))
			continue;
		r->ended[i].time_ns = clock__ns();
		atomic_store(&r->ended[i].serial, serial);
		atomic_fetch_add(&r->nr_ended, 1);
		if (r->logged)
			atomic_store(r->logged, LAUNCH_RANGE_UNKNOWN);
		break;
	}
	lock__give(&lock, &old);
	if (i == MAX_ENDED)
		drop(1);
}

void ranges__end(uint64_t id)
{
	struct ranges *r = this_ranges;
	unsigned int i;

	if (!id || atomic_load_explicit(&ranges__mode, memory_order_relaxed) == RANGES_OFF)
		return;
	if (!r || r->number != id >> 32) {
		end_elsewhere(id >> 32, id);
		return;
	}
	r = enter();
	if (!r)
		return;
	for (i = r->nr_open; i--;)
		if (r->open[i].serial == (uint32_t)id) {
			ranges__close(r, i, 0);
			break;
		}
	leave(r);
}

void ranges__mark(struct range *range)
{
	struct ranges *r = enter();
	struct node *n;

	if (!r)
		return;
	n = ranges__path(r, range);
	if (n)
		ranges__log(r, 0, n, n->record.id, XPU_RANGE_MARK, 0);
	else
		drop(1);
	leave(r);
}

void ranges__mark_payload(const struct domain *domain, const struct xpu_range_payload *payload)
{
	struct ranges *r = enter();
	int place = r && !r->nr_over ? ranges__last_pushed(r, domain) : -1;
	struct range range = { .domain = domain, .payload = payload };
	struct node *n;

	if (place >= 0) {
		range.name = r->open[place].node->record.data;
		n = ranges__path(r, &range);
		if (n)
			ranges__log(r, 0, n, n->record.id, XPU_RANGE_MARK, 0);
		else
			drop(1);
	}
	if (r)
		leave(r);
}

/* ---- the log --------------------------------------------------------------------------------- */

void ranges__have_log(void)
{
	struct ranges *r = this_ranges;
	size_t at, used;
	struct node *n;

	if (!r || !r->early || r->session != atomic_load(&session))
		return;
	r->early = false;
	used = atomic_load(&r->used);
	for (at = 0; at < used; at += node__bytes(n)) {
		n = (struct node *)(r->halves[r->half] + at);
		if (!n->told)
			tell(n);
	}
	/* Log the open range, because the event that opened it may have been dropped. */
	if (ranges__flush(r))
		launcher__log_range(0, ranges__innermost(r), XPU_LOG_RANGE | XPU_RANGE_SET);
	launcher__set_range(ranges__innermost(r), !r->nr_waiting);
	r->logged = launcher__range_logged();
}

bool ranges__sync(void)
{
	struct ranges *r = this_ranges;
	bool logged;

	if (!r || atomic_load(&ranges__mode) != RANGES_RECORD)
		return true;
	if (atomic_load(&r->inside))
		return false;		/* this is a signal handler that interrupted a function of
					 * this file */
	r = enter();
	if (!r)
		return false;
	logged = ranges__flush(r);
	launcher__set_range(ranges__innermost(r), logged);
	leave(r);
	return logged;
}

/* Ends all open ranges of a thread that ends. */
static void ranges__leave(struct ranges *r)
{
	if (!(r->nr_open || r->nr_waiting) || atomic_load(&ranges__mode) != RANGES_RECORD ||
	    !enter())
		return;
	r->nr_open = r->nr_started = r->nr_over = 0;
	ranges__log(r, 0, NULL, 0, XPU_RANGE_SET, 0);
	leave(r);
}

void ranges__exit(void)
{
	struct ranges *r = this_ranges, **link;
	sigset_t old;

	if (!r)
		return;
	ranges__leave(r);
	this_ranges = NULL;
	lock__take(&lock, &old);
	for (link = &all; *link && *link != r; link = &(*link)->next)
		;
	if (*link)
		*link = r->next;
	lock__give(&lock, &old);
	if (r->session == atomic_load(&session))
		drop(r->nr_waiting);
	ranges__free(r);
}

void ranges__repeat(void)
{
	const struct node *n;
	struct ranges *r;
	sigset_t old;
	size_t at, used;

	lock__take(&lock, &old);
	for (r = all; r; r = r->next) {
		if (!ranges__take(r))
			continue;
		used = atomic_load_explicit(&r->used, memory_order_acquire);
		for (at = 0; at < used; at += node__bytes(n)) {
			n = (const struct node *)(r->halves[r->half] + at);
			probe__range(&n->record, n->record.hdr.size);
		}
		ranges__give(r);
	}
	lock__give(&lock, &old);
}

uint64_t ranges__nr_dropped(void)
{
	return atomic_load(&nr_dropped);
}

/*
 * Forgets all ranges in a forked child. It has a single thread, and no listener knows its ranges.
 */
void ranges__forked(void)
{
	ranges__has_forked();
	all = NULL;
	this_ranges = NULL;
}
