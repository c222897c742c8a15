// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SEGMENT	(1u << 20)	/* no allocator has smaller segments */
#define TRACK_POINTS	20000		/* the time of a place's track is divided into this many
					 * spans, of at most two points each */

/*
 * Limits how many mappings are searched: LOOKS_EACH per event on average, plus LOOKS_MORE. One
 * block may lie in many mappings: a block of 40 GB lies in 20,000 mappings of 2 MB.
 */
#define LOOKS_EACH	1000
#define LOOKS_MORE	10000000

const char *heap_kind__name(enum heap_kind kind)
{
	static const char *const names[HEAP_NR_KINDS] = {
		[HEAP_DEVICE] = "device", [HEAP_MANAGED] = "managed", [HEAP_POOL] = "pool",
		[HEAP_PINNED] = "pinned", [HEAP_REGISTERED] = "registered",
		[HEAP_PHYSICAL] = "physical", [HEAP_ARRAY] = "array", [HEAP_BLOCK] = "block",
		[HEAP_FRAGMENTATION] = "fragmentation", [HEAP_BEFORE] = "before",
		[HEAP_GRAPHS] = "graphs", [HEAP_UNUSED] = "unused", [HEAP_REST] = "rest",
		[HEAP_FAILED] = "failed",
	};

	return names[kind];
}

bool heap_kind__is_programs(enum heap_kind kind)
{
	return kind < HEAP_FRAGMENTATION;
}

void heap_parts__add(struct heap_parts *p, enum heap_kind kind, uint64_t bytes)
{
	switch (kind) {
	case HEAP_BLOCK:
	case HEAP_BEFORE:
		p->blocks += bytes;
		break;
	case HEAP_FRAGMENTATION:
		p->fragmentation += bytes;
		break;
	case HEAP_UNUSED:
		p->unused += bytes;
		break;
	case HEAP_REST:
		p->rest += bytes;
		break;
	case HEAP_FAILED:
	case HEAP_NR_KINDS:
		break;
	default:
		p->outside += bytes;
		break;
	}
}

uint64_t heap_parts__used(const struct heap_parts *p)
{
	return p->blocks + p->outside;
}

uint64_t heap_parts__reserved(const struct heap_parts *p)
{
	return heap_parts__used(p) + p->fragmentation + p->unused;
}

uint64_t heap_parts__held(const struct heap_parts *p)
{
	return heap_parts__reserved(p) + p->rest;
}

/* Return: the kind of memory in a space; HEAP_NR_KINDS if the space has no memory of its own. */
static enum heap_kind kind_of(uint8_t space)
{
	static const uint8_t kinds[XPU_SPACE_NR] = {
		[XPU_SPACE_DEVICE] = HEAP_DEVICE, [XPU_SPACE_MANAGED] = HEAP_MANAGED,
		[XPU_SPACE_POOL] = HEAP_POOL, [XPU_SPACE_PINNED] = HEAP_PINNED,
		[XPU_SPACE_REGISTERED] = HEAP_REGISTERED, [XPU_SPACE_PHYSICAL] = HEAP_PHYSICAL,
		[XPU_SPACE_MAPPING] = HEAP_NR_KINDS, [XPU_SPACE_ARRAY] = HEAP_ARRAY,
		[XPU_SPACE_IMPORTED] = HEAP_NR_KINDS, [XPU_SPACE_BLOCK] = HEAP_BLOCK,
		[XPU_SPACE_GRAPHS] = HEAP_NR_KINDS, [XPU_SPACE_UNUSED] = HEAP_NR_KINDS,
		[XPU_SPACE_REST] = HEAP_NR_KINDS,
	};

	return kinds[space];
}

bool heap_space__is_counted(uint8_t space)
{
	return space == XPU_SPACE_PHYSICAL || space == XPU_SPACE_IMPORTED;
}

/*
 * Return: the space whose addresses @space uses. The first three spaces and graph nodes share one
 * range of addresses. Physical memory exported by another process is released, retained and mapped
 * like the process's own memory.
 */
static uint8_t addresses_of(uint8_t space)
{
	if (heap_space__is_counted(space))
		return XPU_SPACE_PHYSICAL;
	return space <= XPU_SPACE_POOL || space == XPU_SPACE_GRAPHS ? XPU_SPACE_DEVICE : space;
}

void heap__init(struct heap *h, uint32_t first_proc)
{
	memset(h, 0, sizeof(*h));
	h->secret = secret();
	h->first_proc = first_proc;
	h->is_last = h->has_peak = true;
	h->until_ns = h->end_ns = UINT64_MAX;
	h->free_alloc = NO_INDEX;
}

static void heap__forget_allocs(struct heap *h)
{
	array_free(&h->allocs);
	free(h->slots);
	array_free(&h->owners);
	idmap__free(&h->by_context);
	h->slots = NULL;
	h->nr_slots = h->nr_live = 0;
	h->free_alloc = NO_INDEX;
}

void heap__exit(struct heap *h)
{
	size_t i;

	heap__forget_allocs(h);
	for (i = 0; i < h->procs.nr; i++) {
		addresses__free(&h->procs.v[i].segments);
		array_free(&h->procs.v[i].allocators);
		array_free(&h->procs.v[i].cuda);
	}
	array_free(&h->procs);
	array_free(&h->holders);
	hashes__free(&h->by_key);
	for (i = 0; i < h->places.nr; i++) {
		array_free(&h->places.v[i].track);
		array_free(&h->places.v[i].asked);
	}
	array_free(&h->places);
	idmap__free(&h->by_gpu);
	idmap__free(&h->segment_paths);
	array_free(&h->failures);
	array_free(&h->instants);
	array_free(&h->steps);
}

void heap__start(struct heap *h, enum heap_pass pass)
{
	size_t i;

	heap__forget_allocs(h);
	for (i = 0; i < h->procs.nr; i++) {
		addresses__free(&h->procs.v[i].segments);
		h->procs.v[i].allocators.nr = h->procs.v[i].cuda.nr = 0;
		h->procs.v[i].late = h->procs.v[i].ended = false;
		h->procs.v[i].nr_events = 0;
		h->procs.v[i].handle_order = 0;
		h->procs.v[i].first_owner = h->procs.v[i].owner = NO_INDEX;
	}
	h->nr_events = h->nr_before = h->nr_unknown = h->nr_bad = 0;
	h->nr_looked_at = h->nr_crowded = h->made_bytes = h->refused_bytes = 0;
	h->steps.nr = h->step = 0;
	h->pass = pass;
}

int heap__place(struct heap *h, uint32_t gpu, uint32_t *place)
{
	if (idmap__get(&h->by_gpu, gpu, place))
		return 0;
	*place = h->places.nr;
	return idmap__put(&h->by_gpu, gpu, *place) ?:
	       array_push(&h->places, ((struct heap_place){
		       .gpu = gpu, .rest = NO_INDEX, .has_peak = true,
	       }));
}

int heap__move_places(struct heap *h, const uint32_t *gpus)
{
	size_t i;
	int err = 0;

	idmap__free(&h->by_gpu);
	for (i = 0; i < h->places.nr && !err; i++) {
		if (h->places.v[i].gpu != NO_INDEX)
			h->places.v[i].gpu = gpus[h->places.v[i].gpu];
		err = idmap__put(&h->by_gpu, h->places.v[i].gpu, i);
	}
	return err;
}

static int heap__proc(struct heap *h, uint32_t proc, struct heap_proc **p)
{
	static const struct heap_proc none = { .first_owner = NO_INDEX, .owner = NO_INDEX };
	int err = 0;

	while (!err && h->procs.nr <= proc - h->first_proc)
		err = array_push(&h->procs, none);
	if (!err)
		*p = &h->procs.v[proc - h->first_proc];
	return err;
}

/* ---- live allocations, by owner -------------------------------------------------------------- */

/* Finds or makes the owner for a context of a process. Return: 0 or -ENOMEM. */
static int heap__owner(struct heap *h, struct heap_proc *p, uint32_t proc, uint32_t context,
		       uint32_t *idx)
{
	uint64_t key = ID_KEY(proc, context);
	int err = 0;

	if (p->owner == NO_INDEX || p->context != context) {
		p->context = context;
		if (!idmap__get(&h->by_context, key, &p->owner)) {
			p->owner = NO_INDEX;
			*idx = h->owners.nr;
			/*
			 * Reserve the entry first: the map may only have owners that are in the
			 * array.
			 */
			err = array_reserve(&h->owners, h->owners.nr + 1) ?:
			      idmap__put(&h->by_context, key, *idx);
			if (err)
				return err;
			h->owners.v[h->owners.nr++] = (struct heap_owner){
				NO_INDEX, p->first_owner
			};
			p->owner = p->first_owner = *idx;
		}
	}
	*idx = p->owner;
	return 0;
}

static void heap__give(struct heap *h, uint32_t owner, uint32_t idx)
{
	struct heap_alloc *a = &h->allocs.v[idx];

	a->owner = owner;
	a->prev = NO_INDEX;
	a->next = h->owners.v[owner].first;
	if (a->next != NO_INDEX)
		h->allocs.v[a->next].prev = idx;
	h->owners.v[owner].first = idx;
}

static void heap__take_away(struct heap *h, uint32_t idx)
{
	const struct heap_alloc *a = &h->allocs.v[idx];

	if (a->prev != NO_INDEX)
		h->allocs.v[a->prev].next = a->next;
	else
		h->owners.v[a->owner].first = a->next;
	if (a->next != NO_INDEX)
		h->allocs.v[a->next].prev = a->prev;
}

/* ---- live allocations, by address ------------------------------------------------------------ */

static uint32_t heap__hash(const struct heap *h, uint32_t proc, uint8_t space, uint64_t address)
{
	return hash__mix(address, (uint64_t)proc << 8 | addresses_of(space), h->secret);
}

/*
 * Return: the slot of the allocation at that address, or a free slot if there is no allocation. The
 * table always has a free slot.
 */
static size_t heap__slot(const struct heap *h, uint32_t hash, uint32_t proc, uint8_t space,
			 uint64_t address)
{
	size_t i = slots__home(hash, h->nr_slots);
	const struct heap_alloc *a;

	for (; h->slots[i] != NO_INDEX; i = slots__next(i, h->nr_slots)) {
		a = &h->allocs.v[h->slots[i]];
		if (a->address == address && a->proc == proc &&
		    addresses_of(a->space) == addresses_of(space))
			break;
	}
	return i;
}

static uint32_t heap__find(const struct heap *h, uint32_t proc, uint8_t space, uint64_t address)
{
	if (!h->nr_slots)
		return NO_INDEX;
	return h->slots[heap__slot(h, heap__hash(h, proc, space, address), proc, space, address)];
}

static int heap__grow(struct heap *h)
{
	size_t nr = slots__more(h->nr_slots), i, at;
	uint32_t *slots;

	if (!slots__full(h->nr_live + 1, h->nr_slots))
		return 0;
	slots = malloc(nr * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, nr * sizeof(*slots));
	for (i = 0; i < h->nr_slots; i++) {
		if (h->slots[i] == NO_INDEX)
			continue;
		at = slots__home(h->allocs.v[h->slots[i]].hash, nr);
		while (slots[at] != NO_INDEX)
			at = slots__next(at, nr);
		slots[at] = h->slots[i];
	}
	free(h->slots);
	h->slots = slots;
	h->nr_slots = nr;
	return 0;
}

/* Makes an allocation for @owner that can be found by its address. Return: 0 or -ENOMEM. */
static int heap__add(struct heap *h, uint32_t owner, const struct heap_alloc *alloc, uint32_t *idx)
{
	struct heap_alloc *a;
	int err = heap__grow(h);

	if (err)
		return err;
	*idx = h->free_alloc;
	if (*idx == NO_INDEX) {
		*idx = h->allocs.nr;
		err = array_push(&h->allocs, *alloc);
		if (err)
			return err;
	} else {
		h->free_alloc = h->allocs.v[*idx].target;
		h->allocs.v[*idx] = *alloc;
	}
	a = &h->allocs.v[*idx];
	a->live = a->findable = true;
	a->hash = heap__hash(h, a->proc, a->space, a->address);
	h->slots[heap__slot(h, a->hash, a->proc, a->space, a->address)] = *idx;
	h->nr_live++;
	heap__give(h, owner, *idx);
	return 0;
}

/* Return: whether a search that starts at slot @home and ends at slot @at passes @between. */
static bool is_passed(size_t home, size_t between, size_t at)
{
	return home <= at ? home <= between && between <= at : home <= between || between <= at;
}

/* Hides an allocation, so that it is no longer found by its address. */
static void heap__hide(struct heap *h, uint32_t idx)
{
	struct heap_alloc *a = &h->allocs.v[idx];
	size_t hole, i;

	if (!a->findable)
		return;
	a->findable = false;
	hole = heap__slot(h, a->hash, a->proc, a->space, a->address);
	h->nr_live--;
	/* Move up allocations that are in a later slot because this slot was taken. */
	for (i = slots__next(hole, h->nr_slots); h->slots[i] != NO_INDEX;
	     i = slots__next(i, h->nr_slots)) {
		if (!is_passed(slots__home(h->allocs.v[h->slots[i]].hash, h->nr_slots), hole, i))
			continue;
		h->slots[hole] = h->slots[i];
		hole = i;
	}
	h->slots[hole] = NO_INDEX;
}

static void heap__drop(struct heap *h, uint32_t idx)
{
	heap__hide(h, idx);
	heap__take_away(h, idx);
	h->allocs.v[idx].live = false;
	h->allocs.v[idx].target = h->free_alloc;
	h->free_alloc = idx;
}

/* ---- segments ------------------------------------------------------------------------------- */

/* Return: the memory of a segment: the segment itself, or the memory that it maps; or NULL. */
static struct heap_alloc *heap__memory_of(struct heap *h, uint32_t segment)
{
	struct heap_alloc *a = &h->allocs.v[segment];

	if (a->space != XPU_SPACE_MAPPING)
		return a;
	return a->target == NO_INDEX ? NULL : &h->allocs.v[a->target];
}

/* Notes that a call path allocates segments. Return: 0 or -ENOMEM. */
static int heap__add_segment_path(struct heap *h, uint32_t path_id)
{
	return min_t(int, idmap__add(&h->segment_paths, path_id, 0), 0);
}

bool heap__has_segments_of(const struct heap *h, uint8_t space, uint32_t path_id)
{
	uint32_t unused;

	return (space <= XPU_SPACE_POOL || space == XPU_SPACE_PHYSICAL) &&
	       idmap__get(&h->segment_paths, path_id, &unused);
}

/* Return: whether the event's call path is known to allocate segments. */
static bool heap__is_segment(const struct heap *h, const struct heap_event *e)
{
	return h->pass == HEAP_SUM && heap__has_segments_of(h, e->space, e->path_id);
}

static bool may_be_segment(const struct heap *h, const struct heap_event *e,
			   const struct heap_alloc *target)
{
	if (h->pass != HEAP_SUM)
		return e->bytes >= MIN_SEGMENT || e->space == XPU_SPACE_MAPPING;
	return target ? target->is_segment : heap__is_segment(h, e);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Changes a level by @bytes. Return: whether the level has a new peak. */
static bool heap__raise(const struct heap *h, struct heap_level *l, int64_t bytes, uint64_t time_ns)
{
	l->now += bytes;
	if ((int64_t)l->now <= (int64_t)l->peak || time_ns < h->begin_ns || time_ns >= h->end_ns)
		return false;
	l->peak = l->now;
	l->peak_ns = time_ns;
	return true;
}

static uint32_t heap__version(const struct heap *h, const struct holder *holder, enum heap_moment m)
{
	return m == HEAP_DEVICE_PEAK ? h->places.v[holder->key.place].version[m] : h->version[m];
}

/*
 * Prepares a holder for a change: saves its sum for each moment that passed since its last change.
 */
static void holder__touch(const struct heap *h, struct holder *holder)
{
	enum heap_moment m;
	uint32_t version;

	for (m = 0; m < HEAP_NR_MOMENTS; m++) {
		version = heap__version(h, holder, m);
		if (holder->version[m] == version)
			continue;
		holder->version[m] = version;
		holder->at[m] = holder->live;
	}
}

struct heap_sum holder__at(const struct heap *h, const struct holder *holder,
			   enum heap_moment moment)
{
	uint32_t version = heap__version(h, holder, moment);

	if (!version)
		return (struct heap_sum){ 0 };
	return holder->version[moment] == version ? holder->at[moment] : holder->live;
}

void holder__set(const struct heap *h, struct holder *holder, enum heap_moment moment,
		 struct heap_sum sum)
{
	holder->version[moment] = heap__version(h, holder, moment);
	holder->at[moment] = sum;
}

bool heap__moment(const struct heap *h, const struct heap_place *p, enum heap_moment moment,
		  uint64_t *time_ns)
{
	if (moment == HEAP_DEVICE_PEAK)
		*time_ns = p->used.peak_ns;
	else if (moment == HEAP_PEAK)
		*time_ns = h->used.peak_ns;
	else
		*time_ns = h->asked_is_failure || !h->nr_at ? h->failed_ns :
			   h->start_ns + h->at_ns[h->nr_at - 1];
	return moment == HEAP_DEVICE_PEAK ? p->version[moment] : h->version[moment];
}

void heap__parts_at(const struct heap *h, enum heap_moment moment, struct heap_parts *parts)
{
	const struct holder *holder;
	size_t i;

	for (i = 0; i < h->holders.nr; i++) {
		holder = &h->holders.v[i];
		heap_parts__add(&parts[holder->key.place], holder->key.kind,
				holder__at(h, holder, moment).bytes);
	}
}

/* Return: how many points of the track are at or before @time_ns. */
static size_t heap_place__points_until(const struct heap_place *p, uint64_t time_ns)
{
	return sorted_count(p->track.nr, i, p->track.v[i].time_ns <= time_ns);
}

size_t heap_place__first_point(const struct heap *h, const struct heap_place *p)
{
	size_t nr = heap_place__points_until(p, h->begin_ns);

	return nr ? nr - 1 : 0;
}

uint64_t heap__reserved_at(const struct heap *h, const struct heap_place *p, uint64_t time_ns)
{
	size_t nr = time_ns > h->until_ns ? 0 : heap_place__points_until(p, time_ns);

	return nr ? p->track.v[nr - 1].reserved : 0;
}

static bool key__is(const struct holder_key *a, const struct holder_key *b)
{
	return a->chain == b->chain && a->thread == b->thread && a->comm == b->comm &&
	       a->place == b->place && a->kind == b->kind && a->elsewhen == b->elsewhen;
}

static int heap__holder(struct heap *h, const struct holder_key *key, enum heap_kind kind,
			uint32_t *idx)
{
	struct holder holder = { .key = *key };
	enum heap_moment m;
	uint32_t hash;

	holder.key.kind = kind;
	hash = hash__mix(ID_KEY(key->chain, key->thread), (uint64_t)key->place << 8 | kind,
			 h->secret);
	if (hashes_find(&h->by_key, hash, *idx, key__is(&h->holders.v[*idx].key, &holder.key)))
		return 0;
	for (m = 0; m < HEAP_NR_MOMENTS; m++)
		holder.version[m] = heap__version(h, &holder, m);
	*idx = h->holders.nr;
	return hashes_push(&h->by_key, hash, &h->holders, holder);
}

/* ---- over time ------------------------------------------------------------------------------- */

#define MAX_STEP_SUMS	(1u << 17)	/* maximum number of entries in heap.steps; with more, steps
					 * become longer */

/* Doubles the length of steps. If a step then has two sums of one holder, the later sum is kept. */
static void heap__lengthen_steps(struct heap *h)
{
	size_t i, nr = 0;

	for (i = 0; i < h->holders.nr; i++)
		h->holders.v[i].last_step = 0;
	for (i = 0; i < h->steps.nr; i++) {
		struct heap_step sum = h->steps.v[i];
		uint32_t *last = &h->holders.v[sum.holder].last_step;

		sum.step /= 2;
		if (*last && h->steps.v[*last - 1].step == sum.step) {
			h->steps.v[*last - 1].bytes = sum.bytes;
			continue;
		}
		h->steps.v[nr++] = sum;
		*last = nr;
	}
	h->steps.nr = nr;
	h->step /= 2;
	h->step_ns *= 2;
}

/* Notes the live bytes of a holder in the current step. */
static void heap__note_step(struct heap *h, uint32_t idx)
{
	struct holder *holder = &h->holders.v[idx];
	uint64_t bytes = holder->live.bytes;

	if (!h->wants_steps || h->pass != HEAP_SUM || h->at_finish)
		return;
	if (holder->last_step && h->steps.v[holder->last_step - 1].step == h->step) {
		h->steps.v[holder->last_step - 1].bytes = bytes;
		return;
	}
	if (h->steps.nr >= MAX_STEP_SUMS && h->step) {
		heap__lengthen_steps(h);
		heap__note_step(h, idx);
		return;
	}
	if (array_push(&h->steps, ((struct heap_step){ idx, h->step, bytes }))) {
		h->no_memory = true;
		return;
	}
	holder->last_step = h->steps.nr;
}

/* Sets the current step to the step at @time_ns. */
static void heap__set_step(struct heap *h, uint64_t time_ns)
{
	uint64_t last_ns = min_t(uint64_t, time_ns, h->to_ns);

	if (!h->step_ns)
		h->step_ns = (h->to_ns > h->from_ns ? h->to_ns - h->from_ns : 0) / HEAP_STEPS + 1;
	if (last_ns > h->from_ns)
		h->step = max_t(uint32_t, h->step, (last_ns - h->from_ns) / h->step_ns);
}

/* Adds bytes and allocations to the live sum of a holder; negative numbers subtract. */
static void heap__hold(struct heap *h, uint32_t idx, int64_t bytes, int nr)
{
	struct holder *holder = &h->holders.v[idx];
	struct heap_place *place = &h->places.v[holder->key.place];
	uint64_t *low;

	holder__touch(h, holder);
	heap_parts__add(&place->parts, holder->key.kind, bytes);
	place->reserved.now = heap_parts__reserved(&place->parts);
	while (holder->part < h->part)
		holder->low[++holder->part] = holder->live.bytes;
	holder->live.bytes += bytes;
	holder->live.nr += nr;
	low = &holder->low[holder->part];
	if (!h->at_end)
		*low = min_t(uint64_t, *low, holder->live.bytes);
	heap__note_step(h, idx);
}

struct heap_growth heap_growth__of(const uint64_t low[HEAP_PARTS])
{
	uint64_t stays = low[HEAP_PARTS - 2], most = 0;
	struct heap_growth g = { 0 };
	size_t i;

	for (i = HEAP_PARTS - 2; i-- > HEAP_PARTS / 2 - 1;) {
		if (low[i] >= stays)
			continue;
		g.nr_parts++;
		g.bytes += stays - low[i];
		most = max_t(uint64_t, most, stays - low[i]);
		stays = low[i];
	}
	g.bytes -= most;
	return g;
}

static void heap__use(struct heap *h, uint32_t place, int64_t bytes, uint64_t time_ns)
{
	struct heap_place *p = &h->places.v[place];

	if (heap__raise(h, &p->used, bytes, time_ns))
		p->version[HEAP_DEVICE_PEAK]++;
	if (p->gpu != NO_INDEX && heap__raise(h, &h->used, bytes, time_ns))
		h->version[HEAP_PEAK]++;
}

/* Adds the place's levels to its track. Return: 0 or -ENOMEM. */
static int heap__track(struct heap *h, uint32_t place, uint64_t time_ns)
{
	uint64_t width_ns = (h->to_ns > h->from_ns ? h->to_ns - h->from_ns : 0) / TRACK_POINTS + 1;
	struct heap_place *p = &h->places.v[place];
	struct heap_point now = { time_ns, p->used.now, p->reserved.now }, *last;
	int err = 0;

	/*
	 * Check for a peak only here: in the middle of an event, both a block and the fragmentation
	 * that the block replaces may be counted.
	 */
	heap__raise(h, &p->reserved, 0, time_ns);
	last = p->track.nr ? &p->track.v[p->track.nr - 1] : NULL;
	if (last && time_ns < last->time_ns + width_ns) {
		last->used = max_t(uint64_t, last->used, now.used);
		last->reserved = max_t(uint64_t, last->reserved, now.reserved);
		p->skipped = now;
		p->has_skipped = true;
		return 0;
	}
	/*
	 * If the skipped point is later than the last point, add it: it has the level after a peak.
	 */
	if (p->has_skipped && p->skipped.time_ns > last->time_ns)
		err = array_push(&p->track, p->skipped);
	p->has_skipped = false;
	return err ?: array_push(&p->track, now);
}

/* Saves the current state of all places. Return: 0 or -ENOMEM. */
static int heap__note_instant(struct heap *h, size_t moment)
{
	const struct heap_place *p;
	size_t i;
	int err = 0;

	for (i = 0; i < h->places.nr && !err; i++) {
		p = &h->places.v[i];
		err = array_push(&h->instants, ((struct heap_instant){
			moment, i, p->parts, p->segments.now,
		}));
	}
	return err;
}

static int heap__let_go(struct heap *h, struct heap_proc *p, uint64_t time_ns);

/*
 * Removes the memory of the processes whose memory at @time_ns belongs to the next file. Return: 0
 * or -ENOMEM.
 */
static int heap__hand_over(struct heap *h, uint64_t time_ns)
{
	size_t i;
	int err = 0;

	if (h->until_ns == UINT64_MAX)
		return 0;
	h->at_finish = true;
	for (i = 0; i < h->procs.nr && !err; i++)
		if (!h->procs.v[i].ended && h->procs.v[i].until_ns &&
		    h->procs.v[i].until_ns < time_ns)
			err = heap__let_go(h, &h->procs.v[i], time_ns);
	h->at_finish = false;
	return err;
}

/*
 * Begins the time range in which peaks are noted. The memory that is held at the start of the range
 * is the first peak.
 */
static int heap__begin(struct heap *h)
{
	int err = heap__hand_over(h, h->begin_ns);

	h->has_begun = true;
	array_each(&h->places, p) {
		p->version[HEAP_DEVICE_PEAK] += heap__raise(h, &p->used, 0, h->begin_ns);
		heap__raise(h, &p->reserved, 0, h->begin_ns);
		heap__raise(h, &p->blocks, 0, h->begin_ns);
		heap__raise(h, &p->segments, 0, h->begin_ns);
	}
	h->version[HEAP_PEAK] += heap__raise(h, &h->used, 0, h->begin_ns);
	return err;
}

/*
 * Notes the state at the requested moments before the next event, which is at @time_ns. Return: 0
 * or -ENOMEM.
 */
static int heap__pass_time(struct heap *h, uint64_t time_ns)
{
	uint64_t moment_ns;
	int err = h->no_memory ? -ENOMEM : 0;

	heap__set_step(h, time_ns);
	if (!err && h->pass == HEAP_SUM && !h->has_begun && time_ns >= h->begin_ns)
		err = heap__begin(h);
	while (!err && h->pass == HEAP_SUM && !h->asked_is_failure && h->next_at < h->nr_at &&
	       time_ns > (moment_ns = h->start_ns + h->at_ns[h->next_at])) {
		err = heap__hand_over(h, moment_ns) ?: heap__note_instant(h, h->next_at);
		if (++h->next_at == h->nr_at)
			h->version[HEAP_ASKED]++;
	}
	return err;
}

/* ---- allocators ------------------------------------------------------------------------------ */

static int proc__allocator(struct heap_proc *p, uint32_t place, struct heap_allocator **a)
{
	size_t i;
	int err;

	for (i = 0; i < p->allocators.nr; i++)
		if (p->allocators.v[i].place == place)
			break;
	err = i < p->allocators.nr ? 0 :
	      array_push(&p->allocators, ((struct heap_allocator){ .place = place }));
	if (!err)
		*a = &p->allocators.v[i];
	return err;
}

/*
 * Return: how much of a segment no block uses. If events that free memory were lost, blocks overlap
 * and may use more than the whole segment.
 */
static uint64_t unused_of(const struct heap_alloc *segment)
{
	return segment->bytes - min_t(uint64_t, segment->used, segment->bytes);
}

/*
 * Updates the used bytes of each segment that a block is in, when the block is @made or freed.
 * Return: 0 or -ENOMEM.
 */
static int heap__cover(struct heap *h, struct heap_proc *p, const struct heap_alloc *block,
		       bool made, uint64_t *covered)
{
	struct addresses_at at = addresses__before(&p->segments, block->address);
	const struct address *segment;
	uint64_t end = block->address + block->bytes, from, to, unused;
	struct heap_alloc *memory;
	int err = 0;

	if (block->is_apart)
		return 0;
	while (!err && (segment = addresses__next(&p->segments, &at))) {
		const struct heap_alloc *s = &h->allocs.v[segment->idx];

		h->nr_looked_at++;
		from = max_t(uint64_t, s->address, block->address);
		to = min_t(uint64_t, s->address + s->bytes, end);
		if (s->address >= end)
			break;
		memory = heap__memory_of(h, segment->idx);
		/* A segment that was allocated here after the block does not contain the block. */
		if (from >= to || !memory || s->order > block->order)
			continue;
		*covered += to - from;
		if (h->pass != HEAP_SUM) {
			err = heap__add_segment_path(h, memory->path_id);
			continue;
		}
		unused = unused_of(memory);
		memory->used += made ? to - from : from - to;
		if (memory->holder != NO_INDEX)
			heap__hold(h, memory->holder, unused_of(memory) - unused, 0);
	}
	return err;
}

/*
 * Recomputes the fragmentation of the segments that were made before the attach. Called after a
 * change of segments or blocks.
 */
static void heap__cover_before(struct heap *h, struct heap_allocator *a)
{
	uint64_t blocks = a->blocks_before + a->uncovered, unused;

	if (!a->has_before)
		return;
	unused = a->segments_before > blocks ? a->segments_before - blocks : 0;
	heap__hold(h, a->before_fragmentation, unused - a->fragmentation_before, 0);
	a->fragmentation_before = unused;
}

static int heap__block(struct heap *h, struct heap_proc *p, const struct heap_alloc *block,
		       bool made, uint64_t time_ns)
{
	struct heap_allocator *a;
	uint64_t covered = 0;
	int64_t bytes = made ? block->bytes : -block->bytes;
	int err = heap__cover(h, p, block, made, &covered) ?: proc__allocator(p, block->place, &a);

	if (err || h->pass != HEAP_SUM)
		return err;
	a->blocks += bytes;
	if (covered < block->bytes)
		a->uncovered += made ? block->bytes - covered : covered - block->bytes;
	heap__cover_before(h, a);
	heap__raise(h, &h->places.v[block->place].blocks, bytes, time_ns);
	heap__use(h, block->place, bytes, time_ns);
	return 0;
}

/* ---- memory of CUDA -------------------------------------------------------------------------- */

static int heap__reserve(struct heap *h, struct heap_proc *p, const struct heap_alloc *a, bool made,
			 uint64_t time_ns)
{
	struct heap_place *place = &h->places.v[a->place];
	int64_t bytes = made ? a->bytes : -a->bytes;
	struct heap_allocator *allocator;
	int err;

	if (!a->is_segment) {
		heap__use(h, a->place, bytes, time_ns);
		return 0;
	}
	heap__raise(h, &place->segments, bytes, time_ns);
	err = proc__allocator(p, a->place, &allocator);
	if (!err)
		allocator->segments += bytes;
	return err;
}

/*
 * Adds to the holder's never_freed. If the process runs on after the recording, also adds to
 * unfinished.
 */
static void heap__leave(struct heap *h, uint32_t idx, uint64_t bytes, int64_t nr)
{
	struct holder *holder = &h->holders.v[idx];

	holder->never_freed.bytes += bytes;
	holder->never_freed.nr += nr;
	holder->unfinished.bytes += h->at_finish ? bytes : 0;
	holder->unfinished.nr += h->at_finish ? nr : 0;
}

static void holder__see_end(struct heap *h, const struct heap_alloc *a)
{
	struct holder *holder = &h->holders.v[a->holder];
	uint64_t bytes = a->is_segment ? unused_of(a) : a->bytes;

	if (!holder->never_freed.nr || a->time_ns < holder->first_ns)
		holder->first_ns = a->time_ns;
	holder->last_ns = max_t(uint64_t, holder->last_ns, a->time_ns);
	heap__leave(h, a->holder, bytes, 1);
}

static int heap__release(struct heap *h, struct heap_proc *p, uint32_t idx, uint64_t time_ns,
			 bool at_end);

static void heap__retain(struct heap *h, uint32_t idx)
{
	h->allocs.v[idx].nr_refs++;
	h->allocs.v[idx].nr_handles++;
}

/* Drops one reference to physical memory. */
static int heap__put(struct heap *h, struct heap_proc *p, uint32_t idx, uint64_t time_ns)
{
	struct heap_alloc *a = &h->allocs.v[idx];

	if (!a->nr_refs || --a->nr_refs)
		return 0;
	return heap__release(h, p, idx, time_ns, false);
}

/* Subtracts an allocation from the sums, and forgets it. Return: 0 or -ENOMEM. */
static int heap__release(struct heap *h, struct heap_proc *p, uint32_t idx, uint64_t time_ns,
			 bool at_end)
{
	struct heap_alloc a = h->allocs.v[idx];
	struct holder *holder;
	int err = 0;

	if (a.is_segment || a.space == XPU_SPACE_MAPPING || h->pass != HEAP_SUM)
		addresses__remove(&p->segments, a.address, idx);
	if (a.space == XPU_SPACE_BLOCK)
		err = heap__block(h, p, &a, false, time_ns);
	if (a.holder != NO_INDEX) {
		if (at_end && !a.is_segment)
			holder__see_end(h, &a);
		holder = &h->holders.v[a.holder];
		heap__hold(h, a.holder, -(int64_t)(a.is_segment ? unused_of(&a) : a.bytes), -1);
		if (!at_end && !a.carried) {
			holder->nr_freed++;
			holder->lived_ns += time_ns > a.time_ns ? time_ns - a.time_ns : 0;
		}
		if (a.space != XPU_SPACE_BLOCK)
			err = err ?: heap__reserve(h, p, &a, false, time_ns);
	}
	heap__drop(h, idx);
	if (a.space == XPU_SPACE_MAPPING && a.target != NO_INDEX)
		err = err ?: heap__put(h, p, a.target, time_ns);
	return err;
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Adds to a sum of bytes, unless the sum would exceed INT64_MAX, which no real program reaches.
 * Return: whether it would exceed INT64_MAX.
 */
static bool is_too_much(uint64_t *sum, uint64_t bytes)
{
	if (bytes > INT64_MAX - *sum)
		return true;
	*sum += bytes;
	return false;
}

static int heap__made(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	struct heap_alloc a = {
		.address = e->address, .bytes = e->bytes, .order = e->order, .time_ns = e->made_ns,
		.proc = e->proc, .place = e->key.place, .path_id = e->path_id,
		.thread_id = e->thread_id, .range_id = e->range_id, .device = e->device,
		.context = e->extra, .holder = NO_INDEX, .target = NO_INDEX, .space = e->space,
		.nr_refs = heap_space__is_counted(e->space),
		.nr_handles = heap_space__is_counted(e->space), .carried = e->carried &&
			   (e->made_ns >= e->time_ns || e->made_ns < h->start_ns),
		.is_apart = h->nr_looked_at > h->nr_events * LOOKS_EACH + LOOKS_MORE,
	};
	enum heap_kind kind = kind_of(e->space);
	const struct heap_alloc *target = NULL;
	uint32_t idx = heap__find(h, e->proc, e->space, e->address), owner;
	bool segment = false;
	int err;

	if (a.address > UINT64_MAX - a.bytes ||
	    (h->pass == HEAP_KEEP ? a.bytes > INT64_MAX : is_too_much(&h->made_bytes, a.bytes))) {
		h->nr_bad++;
		return 0;
	}
	h->nr_crowded += a.is_apart && e->space == XPU_SPACE_BLOCK;
	/* Blocks and virtual memory do not belong to a context. */
	err = heap__owner(h, p, e->proc,
			  e->space == XPU_SPACE_BLOCK || e->space == XPU_SPACE_PHYSICAL ||
			  e->space == XPU_SPACE_MAPPING ? 0 : e->extra, &owner);
	if (err)
		return err;
	/* Memory that is imported twice has one address or handle, which is freed twice. */
	if (idx != NO_INDEX && e->space == XPU_SPACE_IMPORTED &&
	    h->allocs.v[idx].space == XPU_SPACE_IMPORTED) {
		heap__retain(h, idx);
		return 0;
	}
	if (idx != NO_INDEX) {		/* the event that frees the memory is missing, unless a
					 * graph node holds the memory */
		h->nr_bad += h->allocs.v[idx].space != XPU_SPACE_GRAPHS;
		err = heap__release(h, p, idx, e->time_ns, false);
		if (err)
			return err;
	}
	if (e->space == XPU_SPACE_MAPPING && p->handle_order + 1 == e->order)
		a.target = heap__find(h, e->proc, XPU_SPACE_PHYSICAL, p->handle);
	if (a.target != NO_INDEX) {
		h->allocs.v[a.target].nr_refs++;
		target = &h->allocs.v[a.target];
	}
	if (e->space <= XPU_SPACE_POOL || e->space == XPU_SPACE_MAPPING)
		segment = may_be_segment(h, e, target);
	a.is_segment = heap__is_segment(h, e);
	if (h->pass == HEAP_SUM && kind != HEAP_NR_KINDS) {
		err = heap__holder(h, &e->key, a.is_segment ? HEAP_FRAGMENTATION : kind, &a.holder);
		if (err)
			return err;
		if (!e->carried) {
			h->holders.v[a.holder].made.bytes += a.bytes;
			h->holders.v[a.holder].made.nr++;
		}
		heap__hold(h, a.holder, a.bytes, 1);
	}
	err = heap__add(h, owner, &a, &idx);
	if (!err && segment)
		err = addresses__add(&p->segments, a.address, idx);
	if (err)
		return err;
	if (e->space == XPU_SPACE_BLOCK)
		return heap__block(h, p, &h->allocs.v[idx], true, e->time_ns);
	return a.holder == NO_INDEX ? 0 : heap__reserve(h, p, &h->allocs.v[idx], true, e->time_ns);
}

/*
 * Takes an event that frees an unknown allocation. For a block from before the attach, the event
 * has the size. Return: 0 or -ENOMEM.
 */
static int heap__freed_unknown(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	struct heap_allocator *a;
	uint64_t bytes = e->bytes;
	int err;

	if (p->late)
		h->nr_before++;
	else
		h->nr_unknown++;
	if (e->space != XPU_SPACE_BLOCK || !p->late || h->pass != HEAP_SUM)
		return 0;
	err = proc__allocator(p, e->key.place, &a);
	if (err || !a->has_totals)
		return err;
	bytes = min_t(uint64_t, bytes, a->blocks_before);
	a->blocks_before -= bytes;
	heap__hold(h, a->before, -bytes, -1);
	heap__cover_before(h, a);
	heap__raise(h, &h->places.v[e->key.place].blocks, -bytes, e->time_ns);
	heap__use(h, e->key.place, -bytes, e->time_ns);
	return 0;
}

static int heap__freed(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	uint64_t address = e->address, end = e->address + e->bytes, bytes;
	uint32_t idx;
	int err = 0;

	do {
		idx = heap__find(h, e->proc, e->space, address);
		if (idx == NO_INDEX)
			return address == e->address ? heap__freed_unknown(h, p, e) : 0;
		bytes = h->allocs.v[idx].bytes;
		/* A graph node gets its memory back when the graph is launched again. */
		if (h->allocs.v[idx].space == XPU_SPACE_GRAPHS)
			return 0;
		if (heap_space__is_counted(e->space)) {
			/* Mappings keep the memory alive, but its handle may be reused. */
			if (h->allocs.v[idx].nr_refs > 1 && !--h->allocs.v[idx].nr_handles)
				heap__hide(h, idx);
			err = heap__put(h, p, idx, e->time_ns);
		} else {
			err = heap__release(h, p, idx, e->time_ns, false);
		}
		/* An unmap may cover several adjacent mappings. */
	} while (e->space == XPU_SPACE_MAPPING && bytes && (address += bytes) < end && !err);
	return err;
}

static int heap__end_context(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	uint32_t owner, i, next;
	int err = 0;

	if (!e->extra || !idmap__get(&h->by_context, ID_KEY(e->proc, e->extra), &owner))
		return 0;
	for (i = h->owners.v[owner].first; i != NO_INDEX && !err; i = next) {
		next = h->allocs.v[i].next;
		err = heap__release(h, p, i, e->time_ns, false);
	}
	return err;
}

static int heap__set_rest(struct heap *h, struct heap_place *p, uint64_t rest, uint64_t time_ns)
{
	const struct heap_sum live = h->holders.v[p->rest].live;

	heap__hold(h, p->rest, rest - live.bytes, (rest != 0) - live.nr);
	return array_push(&p->asked, ((struct heap_asked){ time_ns, rest }));
}

/* Reduces the rest by memory from before the attach, which an allocator's totals have now shown. */
static int heap__take_from_rest(struct heap *h, struct heap_place *p, uint64_t bytes,
				uint64_t time_ns)
{
	uint64_t rest = p->rest == NO_INDEX ? 0 : h->holders.v[p->rest].live.bytes;

	return rest ? heap__set_rest(h, p, rest - min_t(uint64_t, rest, bytes), time_ns) : 0;
}

static int heap__totals(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	struct heap_place *place = &h->places.v[e->key.place];
	uint64_t allocated = e->address, reserved = e->bytes;
	struct heap_allocator *a;
	bool is_first;
	int64_t more;
	int err = proc__allocator(p, e->key.place, &a);

	if (err || h->pass != HEAP_SUM)
		return err;
	is_first = p->late && !a->has_totals && allocated >= a->blocks &&
		   allocated - a->blocks < INT64_MAX;
	if (is_first) {
		a->blocks_before = allocated - a->blocks;
		err = heap__holder(h, &e->key, HEAP_BEFORE, &a->before) ?:
		      heap__holder(h, &e->key, HEAP_FRAGMENTATION, &a->before_fragmentation);
		if (err)
			return err;
		a->has_before = true;
		heap__hold(h, a->before, a->blocks_before, 0);
		heap__raise(h, &place->blocks, a->blocks_before, e->time_ns);
		if (reserved > a->segments)
			err = heap__take_from_rest(h, place, reserved - a->segments, e->time_ns);
	}
	a->has_totals = true;
	if (p->late && reserved >= a->segments && reserved - a->segments < INT64_MAX) {
		more = reserved - a->segments - a->segments_before;
		a->segments_before += more;
		heap__raise(h, &place->segments, more, e->time_ns);
	}
	heap__cover_before(h, a);
	/* Do this last: it may set a new peak, and then all holders must be up to date. */
	if (is_first)
		heap__use(h, e->key.place, a->blocks_before, e->time_ns);
	h->nr_totals++;
	h->nr_wrong_totals += allocated != a->blocks + a->blocks_before;
	h->nr_wrong_reserved += reserved != a->segments + a->segments_before;
	return err;
}

static int proc__cuda(struct heap *h, struct heap_proc *p, const struct heap_event *e,
		      struct heap_cuda **c)
{
	size_t i;
	int err = 0;

	for (i = 0; i < p->cuda.nr; i++)
		if (p->cuda.v[i].place == e->key.place && p->cuda.v[i].space == e->space)
			break;
	if (i == p->cuda.nr)
		err = array_push(&p->cuda, ((struct heap_cuda){
			.place = e->key.place, .space = e->space,
		})) ?: heap__holder(h, &e->key,
				    e->space == XPU_SPACE_GRAPHS ? HEAP_GRAPHS : HEAP_UNUSED,
				    &p->cuda.v[i].holder);
	if (!err)
		*c = &p->cuda.v[i];
	return err;
}

static void heap__set_cuda(struct heap *h, struct heap_cuda *c, uint64_t bytes, uint64_t time_ns)
{
	int64_t more = bytes - c->bytes;

	heap__hold(h, c->holder, more, (bytes != 0) - (c->bytes != 0));
	if (c->space == XPU_SPACE_GRAPHS)
		heap__use(h, c->place, more, time_ns);
	c->bytes = bytes;
}

/*
 * Sets the rest: all used bytes of a device, minus the bytes known to be reserved. A carried event
 * already holds the difference. Return: 0 or -ENOMEM.
 */
static int heap__rest(struct heap *h, const struct heap_event *e)
{
	struct heap_place *p = &h->places.v[e->key.place];
	uint64_t known = e->carried ? 0 : p->reserved.now,
		 rest = e->bytes > known ? e->bytes - known : 0;
	int err = p->rest != NO_INDEX || !rest ? 0 : heap__holder(h, &e->key, HEAP_REST, &p->rest);

	return err || p->rest == NO_INDEX ? err : heap__set_rest(h, p, rest, e->time_ns);
}

static int heap__level(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	struct heap_cuda *c;
	int err;

	if (h->pass != HEAP_SUM)
		return 0;
	if (e->bytes > INT64_MAX || (e->space != XPU_SPACE_GRAPHS && e->space != XPU_SPACE_UNUSED &&
				     e->space != XPU_SPACE_REST)) {
		h->nr_bad++;
		return 0;
	}
	if (e->space == XPU_SPACE_REST)
		return heap__rest(h, e);
	err = proc__cuda(h, p, e, &c);
	if (!err)
		heap__set_cuda(h, c, e->bytes, e->time_ns);
	return err;
}

static int heap__failed(struct heap *h, const struct heap_event *e)
{
	const struct heap_place *p = &h->places.v[e->key.place];
	struct heap_failure f = {
		.time_ns = e->time_ns, .bytes = e->bytes, .free_bytes = e->address,
		.used = p->used.now, .reserved = p->reserved.now, .result = e->extra, .key = e->key,
	};
	uint32_t idx;
	int err;

	if (h->pass != HEAP_SUM)
		return 0;
	err = heap__holder(h, &e->key, HEAP_FAILED, &idx);
	if (err)
		return err;
	/* Leave out an absurd size, as in cudaMalloc(&p, -1); the table of failures shows it. */
	if (!is_too_much(&h->refused_bytes, e->bytes))
		h->holders.v[idx].made.bytes += e->bytes;
	h->holders.v[idx].made.nr++;
	h->nr_failures++;
	h->failed_ns = e->time_ns;
	if (h->asked_is_failure) {
		h->version[HEAP_ASKED]++;
		h->instants.nr = 0;
		err = heap__note_instant(h, h->nr_at - 1);
		if (err)
			return err;
	}
	return h->failures.nr < HEAP_MAX_FAILURES ? array_push(&h->failures, f) : 0;
}

static int heap__take(struct heap *h, struct heap_proc *p, const struct heap_event *e)
{
	uint32_t idx;

	switch (e->what) {
	case XPU_ALLOC_MADE:
		return heap__made(h, p, e);
	case XPU_ALLOC_FREED:
		return heap__freed(h, p, e);
	case XPU_ALLOC_FAILED:
		return heap__failed(h, e);
	case XPU_ALLOC_CONTEXT_END:
		return heap__end_context(h, p, e);
	case XPU_ALLOC_TOTALS:
		return heap__totals(h, p, e);
	case XPU_ALLOC_LEVEL:
		return heap__level(h, p, e);
	case XPU_ALLOC_START:
		p->late |= e->bytes != 0;
		return 0;
	case XPU_ALLOC_HANDLE:
		p->handle = e->address;
		p->handle_order = e->order;
		return 0;
	case XPU_ALLOC_RETAINED:
		idx = heap__find(h, e->proc, XPU_SPACE_PHYSICAL, e->address);
		if (idx != NO_INDEX)
			heap__retain(h, idx);
		return 0;
	case XPU_ALLOC_SEGMENTS:
		return heap__add_segment_path(h, e->path_id);
	default:
		return 0;
	}
}

int heap__expect(struct heap *h, uint32_t proc, uint64_t nr)
{
	struct heap_proc *p;
	int err = heap__proc(h, proc, &p);

	if (!err)
		p->nr_expected = min_t(uint64_t, nr, UINT64_MAX / HEAP_PARTS);
	return err;
}

int heap__until(struct heap *h, uint32_t proc, uint64_t time_ns)
{
	struct heap_proc *p;
	int err = heap__proc(h, proc, &p);

	if (!err)
		p->until_ns = time_ns;
	h->until_ns = max_t(uint64_t, h->until_ns, time_ns);
	return err;
}

int heap__count(struct heap *h, uint32_t proc)
{
	struct heap_proc *p;
	int err = heap__proc(h, proc, &p);

	if (err)
		return err;
	h->part = p->nr_events >= p->nr_expected ? HEAP_PARTS - 1 :
		  p->nr_events * HEAP_PARTS / p->nr_expected;
	p->nr_events++;
	return 0;
}

int heap__event(struct heap *h, const struct heap_event *e)
{
	struct heap_proc *p;
	int err = heap__proc(h, e->proc, &p);

	if (err || p->ended)
		return err;
	h->nr_events += !e->carried;
	err = heap__pass_time(h, e->time_ns) ?: heap__take(h, p, e);
	return err || h->pass != HEAP_SUM ? err : heap__track(h, e->key.place, e->time_ns);
}

/* The order in which the memory of an ending process is removed. */
enum end_step {
	END_SEE_SEGMENTS,		/* notes the unused parts of segments, while the blocks in
					 * the segments still exist */
	END_BLOCKS,
	END_SEGMENTS,
	END_MAPPINGS,			/* mappings, whose memory is already gone */
	NR_END_STEPS
};

static int heap__end_alloc(struct heap *h, struct heap_proc *p, uint32_t idx, enum end_step step,
			   uint64_t time_ns)
{
	const struct heap_alloc *a = &h->allocs.v[idx];
	bool is_mapping = a->space == XPU_SPACE_MAPPING;

	if (step == END_SEE_SEGMENTS && a->is_segment)
		holder__see_end(h, a);
	if ((step == END_BLOCKS && !is_mapping && !a->is_segment) ||
	    (step == END_SEGMENTS && a->is_segment))
		return heap__release(h, p, idx, time_ns, true);
	if (step == END_MAPPINGS) {
		addresses__remove(&p->segments, a->address, idx);
		heap__drop(h, idx);
	}
	return 0;
}

static int heap__end_allocs(struct heap *h, struct heap_proc *p, enum end_step step,
			    uint64_t time_ns)
{
	uint32_t owner, i, next;
	int err = 0;

	for (owner = p->first_owner; owner != NO_INDEX; owner = h->owners.v[owner].next)
		for (i = h->owners.v[owner].first; i != NO_INDEX && !err; i = next) {
			next = h->allocs.v[i].next;
			err = heap__end_alloc(h, p, i, step, time_ns);
		}
	return err;
}

/*
 * Notes the fragmentation of the segments that were made before the attach, while the blocks in
 * these segments still exist.
 */
static void heap__leave_before(struct heap *h, struct heap_allocator *a)
{
	if (!a->has_before)
		return;
	heap__leave(h, a->before_fragmentation, a->fragmentation_before, 0);
	heap__hold(h, a->before_fragmentation, -a->fragmentation_before, 0);
	a->has_before = false;
}

/* Notes and removes all memory that a process has not freed. Return: 0 or -ENOMEM. */
static int heap__let_go(struct heap *h, struct heap_proc *p, uint64_t time_ns)
{
	struct heap_allocator *a;
	enum end_step step;
	int err = 0;
	size_t i;

	p->ended = h->at_end = true;
	h->part = HEAP_PARTS - 1;
	for (i = 0; i < p->allocators.nr && h->pass == HEAP_SUM; i++)
		heap__leave_before(h, &p->allocators.v[i]);
	for (step = 0; step < NR_END_STEPS && !err; step++)
		err = heap__end_allocs(h, p, step, time_ns);
	for (i = 0; i < p->allocators.nr && h->pass == HEAP_SUM; i++) {
		a = &p->allocators.v[i];
		if (a->blocks_before) {
			heap__leave(h, a->before, a->blocks_before, 0);
			heap__hold(h, a->before, -a->blocks_before, 0);
		}
		heap__raise(h, &h->places.v[a->place].blocks, -a->blocks_before, time_ns);
		heap__raise(h, &h->places.v[a->place].segments, -a->segments_before, time_ns);
		heap__use(h, a->place, -a->blocks_before, time_ns);
	}
	for (i = 0; i < p->cuda.nr; i++) {
		heap__leave(h, p->cuda.v[i].holder, p->cuda.v[i].bytes, 0);
		heap__set_cuda(h, &p->cuda.v[i], 0, time_ns);
	}
	h->at_end = false;
	return err;
}

int heap__end_process(struct heap *h, uint32_t proc, uint64_t time_ns)
{
	struct heap_proc *p;
	size_t i;
	int err = heap__proc(h, proc, &p);

	if (err || p->ended)
		return err;
	err = heap__pass_time(h, time_ns) ?: heap__let_go(h, p, time_ns);
	for (i = 0; i < h->places.nr && !err && h->pass == HEAP_SUM; i++)
		err = heap__track(h, i, time_ns);
	return err;
}

int heap__forget_process(struct heap *h, uint32_t proc)
{
	struct heap_proc *p;
	int err = heap__end_process(h, proc, 0) ?: heap__proc(h, proc, &p);

	if (err)
		return err;
	p->ended = p->late = false;
	p->handle_order = 0;
	p->allocators.nr = 0;
	return 0;
}

int heap__each(const struct heap *h, uint32_t proc, heap_alloc_fn fn, void *ctx)
{
	uint32_t owner, i;
	int err = 0;

	if (proc - h->first_proc >= h->procs.nr)
		return 0;
	owner = h->procs.v[proc - h->first_proc].first_owner;
	for (; owner != NO_INDEX && !err; owner = h->owners.v[owner].next)
		for (i = h->owners.v[owner].first; i != NO_INDEX && !err; i = h->allocs.v[i].next)
			err = fn(ctx, &h->allocs.v[i], i);
	return err;
}

static void heap__leave_rest(struct heap *h, uint32_t idx)
{
	const struct heap_sum live = h->holders.v[idx].live;

	heap__leave(h, idx, live.bytes, live.nr);
	heap__hold(h, idx, -live.bytes, -live.nr);
}

int heap__finish(struct heap *h, uint64_t time_ns)
{
	size_t i;
	int err = heap__pass_time(h, h->until_ns == UINT64_MAX ? UINT64_MAX : h->until_ns + 1);

	for (i = 0; i < h->places.nr && !err && h->pass == HEAP_SUM; i++)
		if (h->places.v[i].has_skipped)
			err = array_push(&h->places.v[i].track, h->places.v[i].skipped);
	h->at_finish = true;
	for (i = 0; i < h->procs.nr && !err; i++)
		if (!h->procs.v[i].ended)
			err = heap__let_go(h, &h->procs.v[i], time_ns);
	for (i = 0; i < h->places.nr && !err; i++)
		if (h->places.v[i].rest != NO_INDEX)
			heap__leave_rest(h, h->places.v[i].rest);
	return err ?: heap__pass_time(h, UINT64_MAX);
}
