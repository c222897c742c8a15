// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/recent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/entry_table.h"

#define MAX_BYTES	(16u << 20)	/* maximum bytes of all events */
#define MAX_OWN_BYTES	(1u << 20)	/* maximum bytes of the events of one process */
#define MAX_AGE_NS	30000000000ull

struct event {
	TAILQ_ENTRY(event) all;		/* links all events, sorted by time */
	STAILQ_ENTRY(event) own;	/* links the image's events */
	struct image *image;
	uint64_t time_ns;
	uint32_t bytes;
	/*
	 * The event's other members follow its header. The 64-bit members are aligned, as in the
	 * ring.
	 */
	_Alignas(8) struct perf_event_header hdr;
};

struct image {				/* the events of one process image, since its exec */
	UT_hash_handle hh;
	pid_t pid;
	STAILQ_HEAD(, event) events;
	uint32_t bytes;
};

struct recent {
	TAILQ_HEAD(, event) events;
	struct image *images;
	uint64_t bytes;
};

struct recent *recent__new(void)
{
	struct recent *r = calloc(1, sizeof(*r));

	if (r)
		TAILQ_INIT(&r->events);
	return r;
}

static void recent__drop_image(struct recent *r, struct image *image)
{
	struct event *e;

	while ((e = STAILQ_FIRST(&image->events))) {
		STAILQ_REMOVE_HEAD(&image->events, own);
		TAILQ_REMOVE(&r->events, e, all);
		free(e);
	}
	r->bytes -= image->bytes;
	table_remove(r->images, image);
}

void recent__free(struct recent *r)
{
	struct image *image, *next;

	if (!r)
		return;
	HASH_ITER(hh, r->images, image, next)
		recent__drop_image(r, image);
	free(r);
}

void recent__forget(struct recent *r, pid_t pid)
{
	struct image *image;

	table_find(r->images, pid, pid, image);
	if (image)
		recent__drop_image(r, image);
}

/* Drops whole images: an image without its first event is useless. */
static void recent__trim(struct recent *r, uint64_t now_ns)
{
	struct event *e;

	while ((e = TAILQ_FIRST(&r->events)) &&
	       (r->bytes > MAX_BYTES || (e->time_ns < now_ns && now_ns - e->time_ns > MAX_AGE_NS)))
		recent__drop_image(r, e->image);
}

/*
 * Return: the image that an event of @pid belongs to; NULL if the image's first event is
 * missing.
 */
static struct image *recent__image(struct recent *r, pid_t pid, bool begins)
{
	struct image *image;

	if (begins)
		recent__forget(r, pid);
	table_find(r->images, pid, pid, image);
	if (image || !begins)
		return image;
	table_get(r->images, pid, pid, image);
	if (image)
		STAILQ_INIT(&image->events);
	return image;
}

void recent__add(struct recent *r, pid_t pid, bool begins, uint64_t time_ns,
		 const struct perf_event_header *event)
{
	uint32_t bytes = offsetof(struct event, hdr) + event->size;
	struct image *image;
	struct event *e;

	recent__trim(r, time_ns);
	image = recent__image(r, pid, begins);
	if (!image)
		return;
	e = image->bytes + bytes <= MAX_OWN_BYTES ? malloc(bytes) : NULL;
	if (!e) {
		recent__drop_image(r, image);
		return;
	}
	e->image = image;
	e->time_ns = time_ns;
	e->bytes = bytes;
	memcpy(&e->hdr, event, event->size);
	TAILQ_INSERT_TAIL(&r->events, e, all);
	STAILQ_INSERT_TAIL(&image->events, e, own);
	image->bytes += bytes;
	r->bytes += bytes;
}

void recent__take(struct recent *r, pid_t pid,
		  void (*fn)(void *ctx, const struct perf_event_header *event), void *ctx)
{
	struct image *image;
	struct event *e;

	table_find(r->images, pid, pid, image);
	if (!image)
		return;
	STAILQ_FOREACH(e, &image->events, own)
		fn(ctx, &e->hdr);
	recent__drop_image(r, image);
}
