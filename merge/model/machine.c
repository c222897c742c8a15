// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/api.h"
#include "hash.h"

/*
 * Maximum number of forks, without an exec between them, that a lookup follows back. Only a damaged
 * or hostile file has more, and each of them slows down every lookup.
 */
#define IMAGE_MAX_DEPTH	64

/*
 * Maximum number of replaced maps kept for each image. A lookup may go through all of them;
 * programs that unload libraries have only a few.
 */
#define IMAGE_MAX_DEAD	4096

/* A thread, and its names in order of time. Most threads have one name. */
struct machine_task {
	struct comm_at { uint64_t time_ns; const char *comm; } first;
	ARRAY(struct comm_at) later;
};

struct machine_pid {
	uint32_t pid;
	ARRAY(struct image *) images;		/* in order of time */
	UT_hash_handle hh;
};

void machine__init(struct machine *m, struct strpool *strings)
{
	memset(m, 0, sizeof(*m));
	m->strings = strings;
}

void machine__next(struct machine *m)
{
	struct machine_pid *pid, *tmp_pid;
	size_t i;

	for (i = 0; i < m->tasks.nr; i++)
		array_free(&m->tasks.v[i].later);
	array_free(&m->tasks);
	idmap__free(&m->tasks_by_id);
	HASH_ITER(hh, m->pids, pid, tmp_pid) {
		HASH_DEL(m->pids, pid);
		for (i = 0; i < pid->images.nr; i++) {
			array_free(&pid->images.v[i]->dead);
			array_free(&pid->images.v[i]->epochs);
		}
		array_free(&pid->images);
	}
	free(m->events);
	m->events = NULL;
	m->nr_events = m->cap_events = 0;
	m->nr_crowded = 0;
	idmap__free(&m->procs_by_id);
	arena__free(&m->arena);
	m->recording++;
}

void machine__exit(struct machine *m)
{
	machine__next(m);
	array_free(&m->procs);
}

int machine__add_event(struct machine *m, const struct xpu_record *rec)
{
	const uint64_t *time_ns = (const uint64_t *)(rec + 1);
	int err;

	/* All four kinds of events begin with their time. */
	if (m->nr_events == m->cap_events) {
		err = array__reserve(&m->events, &m->cap_events, m->nr_events + 1,
				     sizeof(*m->events));
		if (err)
			return err;
	}
	m->events[m->nr_events] = (struct machine_event){ *time_ns, m->nr_events, rec };
	m->nr_events++;
	return 0;
}

int machine__proc(struct machine *m, uint32_t proc_id, uint32_t *idx)
{
	struct proc proc = { .proc_id = proc_id, .recording = m->recording };
	int err;

	if (idmap__get(&m->procs_by_id, proc_id, idx))
		return 0;
	*idx = m->procs.nr;
	err = m->procs.nr < SCOPE_PROCS ? array_push(&m->procs, proc) : -ENOMEM;
	err = err ?: idmap__put(&m->procs_by_id, proc_id, *idx);
	return err;
}

int machine__add_process(struct machine *m, const struct xpu_record_process *rec)
{
	struct proc *p;
	uint32_t idx;
	int err = machine__proc(m, rec->proc_id, &idx);

	if (err)
		return err;
	p = &m->procs.v[idx];
	if (p->comm)
		return 0;
	p->comm = strpool__intern(m->strings, rec->comm, strnlen(rec->comm, XPU_COMM_LEN));
	if (!p->comm)
		return -ENOMEM;
	p->pid = rec->pid;
	p->parent_proc_id = rec->parent_proc_id;
	p->how = rec->hdr.misc;
	p->time_ns = rec->time_ns;
	return 0;
}

int machine__add_process_exit(struct machine *m, const struct xpu_record_process_exit *rec)
{
	uint32_t idx;
	int err = machine__proc(m, rec->proc_id, &idx);

	if (err)
		return err;
	m->procs.v[idx].exited = true;
	m->procs.v[idx].exit_ns = rec->time_ns;
	m->procs.v[idx].exit_code = rec->exit_code;
	return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static struct machine_task *machine__find_task(const struct machine *m, uint32_t pid, uint32_t tid)
{
	uint32_t i;

	return idmap__get(&m->tasks_by_id, ID_KEY(pid, tid), &i) ? &m->tasks.v[i] : NULL;
}

static const char *machine_task__comm(const struct machine_task *task)
{
	return !task ? NULL : task->later.nr ? task->later.v[task->later.nr - 1].comm :
					       task->first.comm;
}

static int machine__set_comm(struct machine *m, uint32_t pid, uint32_t tid, uint64_t time_ns,
			     const char *comm)
{
	struct machine_task *task = machine__find_task(m, pid, tid);
	struct comm_at at = { time_ns, comm };

	if (!task)
		return array_push(&m->tasks, (struct machine_task){ .first = at }) ?:
		       idmap__put(&m->tasks_by_id, ID_KEY(pid, tid), m->tasks.nr - 1);
	return machine_task__comm(task) == comm ? 0 : array_push(&task->later, at);
}

const char *machine__comm(const struct machine *m, uint32_t pid, uint32_t tid, uint64_t time_ns,
			  uint64_t *from, uint64_t *to)
{
	const struct machine_task *task = machine__find_task(m, pid, tid);
	const struct comm_at *at;
	size_t nr;

	*from = 0;
	*to = UINT64_MAX;
	if (!task)
		return NULL;
	/* Take the last name before time_ns; the first name also holds for earlier times. */
	nr = sorted_count(task->later.nr, i, task->later.v[i].time_ns <= time_ns);
	at = nr ? &task->later.v[nr - 1] : &task->first;
	if (nr < task->later.nr)
		*to = task->later.v[nr].time_ns;
	if (at->time_ns <= time_ns)
		*from = at->time_ns;
	return at->comm;
}

/* ---- images --------------------------------------------------------------------------------- */

static struct machine_pid *machine__find_pid(struct machine *m, uint32_t pid)
{
	struct machine_pid *p;

	HASH_FIND(hh, m->pids, &pid, sizeof(pid), p);
	return p;
}

static struct image *machine__current_image(struct machine *m, uint32_t pid)
{
	struct machine_pid *p = machine__find_pid(m, pid);

	return p ? p->images.v[p->images.nr - 1] : NULL;
}

static int machine__new_image(struct machine *m, uint32_t pid, uint64_t time_ns,
			      struct image *parent, struct image **imagep)
{
	struct machine_pid *p = machine__find_pid(m, pid);
	bool oom = false;
	int err;
	struct image *image = arena__alloc(&m->arena, sizeof(*image));

	if (!image)
		return -ENOMEM;
	image->pid = pid;
	image->time_ns = time_ns;
	/* A parent that mapped nothing itself would only add a step to every lookup. */
	while (parent && !parent->live.first[0] && !parent->dead.nr) {
		image->parent_epoch = parent->parent_epoch;
		parent = parent->parent;
		image->parent = parent;
	}
	if (parent && parent->depth < IMAGE_MAX_DEPTH) {
		if (image->parent != parent)
			image->parent_epoch = parent->epochs.nr;
		image->parent = parent;
		image->depth = parent->depth + 1;
	} else {
		image->parent = NULL;
	}
	if (!p) {
		p = arena__alloc(&m->arena, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->pid = pid;
		err = array_push(&p->images, image);
		if (err)
			return err;
		HASH_ADD(hh, m->pids, pid, sizeof(p->pid), p);
		if (oom) {
			array_free(&p->images);
			return -ENOMEM;
		}
	} else {
		err = array_push(&p->images, image);
		if (err)
			return err;
	}
	*imagep = image;
	return 0;
}

struct image *machine__image(struct machine *m, uint32_t pid, uint64_t time_ns)
{
	struct machine_pid *p = machine__find_pid(m, pid);
	size_t lo;

	if (!p)
		return NULL;
	lo = sorted_count(p->images.nr, i, p->images.v[i]->time_ns <= time_ns);
	return p->images.v[lo ? lo - 1 : 0];
}

uint32_t image__epoch(const struct image *image, uint64_t time_ns)
{
	return sorted_count(image->epochs.nr, i, image->epochs.v[i] <= time_ns);
}

/* Return: index of the first dead map that was still valid in @epoch or later. */
static size_t image__first_dead(const struct image *image, uint32_t epoch)
{
	return sorted_count(image->dead.nr, i, image->dead.v[i].epoch_to < epoch);
}

static struct map *image__find_own_map(struct image *image, uint32_t epoch, uint64_t addr)
{
	struct map_node *node = maps__first_after(&image->live, addr);
	struct map *map;
	size_t i;

	if (node && node->map.start <= addr && node->map.epoch_from <= epoch)
		return &node->map;
	/* Replaced maps are rare. */
	for (i = image__first_dead(image, epoch); i < image->dead.nr; i++) {
		map = &image->dead.v[i];
		if (map->start <= addr && addr < map->end && map->epoch_from <= epoch)
			return map;
	}
	return NULL;
}

struct map *image__find_map(struct image *image, uint32_t epoch, uint64_t addr)
{
	struct map *map;

	for (; image; epoch = image->parent_epoch, image = image->parent) {
		map = image__find_own_map(image, epoch, addr);
		if (map)
			return map;
	}
	return NULL;
}

/*
 * Return: whether both mappings are of the same file, compared by the most exact identification
 * that both have.
 */
static bool mmap__same_file(const struct xpu_record_mmap *a, const struct xpu_record_mmap *b)
{
	bool id_a = a->hdr.misc & XPU_MISC_MMAP_BUILD_ID && a->build_id_len;
	bool id_b = b->hdr.misc & XPU_MISC_MMAP_BUILD_ID && b->build_id_len;

	if (id_a && id_b)
		return a->build_id_len == b->build_id_len &&
		       !memcmp(a->build_id, b->build_id, a->build_id_len);
	return !strcmp(a->filename, b->filename);
}

/* Return: whether addresses of @old would mean the same in the new map. */
static bool map__means(const struct map *old, uint64_t start, const struct xpu_record_mmap *rec)
{
	/* This is modulo 2^64: only the difference between address and offset matters. */
	return old->start - old->pgoff == start - rec->pgoff && mmap__same_file(old->rec, rec);
}

/* Return: whether [start, end) has an inherited map that differs from the new map. */
static bool image__conflicts_inherited(const struct image *image, uint64_t start, uint64_t end,
				       const struct xpu_record_mmap *rec)
{
	uint32_t epoch = image->parent_epoch;
	const struct map_node *node;
	const struct image *from;
	size_t i;

	for (from = image->parent; from; epoch = from->parent_epoch, from = from->parent) {
		node = maps__first_after(&from->live, start);
		for (; node && node->map.start < end; node = node->next[0])
			if (node->map.epoch_from <= epoch && !map__means(&node->map, start, rec))
				return true;
		for (i = image__first_dead(from, epoch); i < from->dead.nr; i++) {
			const struct map *old = &from->dead.v[i];

			if (old->start < end && start < old->end && old->epoch_from <= epoch &&
			    !map__means(old, start, rec))
				return true;
		}
	}
	return false;
}

/*
 * Ends the part of @old in [@start, @end) because another map now covers that part. @epoch_to: the
 * last epoch of the part
 */
static int image__bury(struct machine *m, struct image *image, const struct map *old,
		       uint64_t start, uint64_t end, uint32_t epoch_to)
{
	struct map cut = *old;

	if (image->dead.nr >= IMAGE_MAX_DEAD) {
		m->nr_crowded++;
		return 0;
	}
	cut.start = max_t(uint64_t, old->start, start);
	cut.end = min_t(uint64_t, old->end, end);
	cut.pgoff += cut.start - old->start;
	cut.epoch_to = epoch_to;
	return array_push(&image->dead, cut);
}

/*
 * Removes the part of each map that is in [@start, @end); the other parts stay. Return: 0 or
 * -ENOMEM.
 */
static int image__clear(struct image *image, struct arena *arena, uint64_t start, uint64_t end)
{
	struct map_node *node = maps__first_after(&image->live, start), *next;

	for (; node && node->map.start < end; node = next) {
		struct map right = node->map;

		next = node->next[0];
		if (node->map.start < start)
			node->map.end = start;
		else
			maps__remove(&image->live, node);
		if (right.end <= end)
			continue;
		right.pgoff += end - right.start;
		right.start = end;
		return maps__insert(&image->live, arena, &right);
	}
	return 0;
}

static int image__mmap(struct machine *m, struct image *image, const struct xpu_record_mmap *rec)
{
	uint64_t start = rec->start, end = rec->start + rec->len;
	struct map_node *first, *node;
	bool conflict, covers;
	int err;

	if (end < start)
		end = UINT64_MAX;
	if (start == end)
		return 0;
	first = maps__first_after(&image->live, start);
	covers = first && first->map.start < end;
	/*
	 * The whole map is already recorded: both /proc and an event reported it, or the program
	 * mapped it twice.
	 */
	if (covers && first->map.start <= start && end <= first->map.end &&
	    map__means(&first->map, start, rec))
		return 0;

	conflict = image__conflicts_inherited(image, start, end, rec);
	for (node = first; node && node->map.start < end; node = node->next[0])
		conflict |= !map__means(&node->map, start, rec);
	if (conflict) {
		err = array_push(&image->epochs, rec->time_ns);
		if (err)
			return err;
	}
	for (node = first; node && node->map.start < end; node = node->next[0]) {
		/*
		 * A map that the new map covers ends with the previous epoch. If both maps have the
		 * same meaning, the old map ends with this epoch instead: one epoch may contain
		 * both.
		 */
		if (!conflict && node->map.epoch_from == image->epochs.nr)
			continue;
		err = image__bury(m, image, &node->map, start, end, image->epochs.nr - conflict);
		if (err)
			return err;
	}
	err = image__clear(image, &m->arena, start, end);
	return err ?: maps__insert(&image->live, &m->arena, &(struct map){
		.start = start,
		.end = end,
		.pgoff = rec->pgoff,
		.rec = rec,
		/* If nothing was mapped here before, the map may apply to earlier epochs, too. */
		.epoch_from = conflict || covers ? image->epochs.nr : 0,
		.epoch_to = UINT32_MAX,
	});
}

/* ---- events --------------------------------------------------------------------------------- */

static int machine_event__cmp(const void *va, const void *vb)
{
	const struct machine_event *a = va, *b = vb;

	return cmp3(a->time_ns, b->time_ns) ?: cmp3(a->seq, b->seq);
}

static int machine__mmap(struct machine *m, const struct xpu_record_mmap *rec)
{
	struct image *image = machine__current_image(m, rec->pid);
	int err;

	if (!image) {
		/* The fork was before the recording, or its record is lost. */
		err = machine__new_image(m, rec->pid, 0, NULL, &image);
		if (err)
			return err;
	}
	return image__mmap(m, image, rec);
}

static int machine__comm_event(struct machine *m, const struct xpu_record_comm *rec)
{
	const char *comm = strpool__intern(m->strings, rec->comm,
					   strnlen(rec->comm, XPU_COMM_LEN));
	struct image *image;
	int err;

	if (!comm)
		return -ENOMEM;
	if (rec->hdr.misc & XPU_MISC_COMM_EXEC) {
		err = machine__new_image(m, rec->pid, rec->time_ns, NULL, &image);
		if (err)
			return err;
	}
	return machine__set_comm(m, rec->pid, rec->tid, rec->time_ns, comm);
}

static int machine__fork(struct machine *m, const struct xpu_record_task *rec)
{
	const char *comm = machine_task__comm(machine__find_task(m, rec->ppid, rec->ptid));
	struct image *parent, *image;
	int err;

	if (rec->pid != rec->ppid) {
		parent = machine__current_image(m, rec->ppid);
		err = machine__new_image(m, rec->pid, rec->time_ns, parent, &image);
		if (err)
			return err;
	}
	/* A new task has its parent's name until it changes the name. */
	return comm ? machine__set_comm(m, rec->pid, rec->tid, rec->time_ns, comm) : 0;
}

int machine__finish(struct machine *m)
{
	size_t i;
	int err;

	if (m->nr_events)
		qsort(m->events, m->nr_events, sizeof(*m->events), machine_event__cmp);
	for (i = 0; i < m->nr_events; i++) {
		const struct xpu_record *rec = m->events[i].rec;

		switch (rec->type) {
		case XPU_RECORD_MMAP:
			err = machine__mmap(m, (const void *)rec);
			break;
		case XPU_RECORD_COMM:
			err = machine__comm_event(m, (const void *)rec);
			break;
		case XPU_RECORD_FORK:
			err = machine__fork(m, (const void *)rec);
			break;
		default:
			err = 0;
			break;
		}
		if (err)
			return err;
	}
	free(m->events);
	m->events = NULL;
	m->nr_events = m->cap_events = 0;
	return 0;
}
