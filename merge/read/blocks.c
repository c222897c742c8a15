// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/blocks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "block.h"

#define NR_SLOTS	4		/* number of unpacked blocks, including the block in use */
#define RELEASE_BYTES	(8u << 20)	/* bytes before the current offset that stay in memory */

/* A part of the file that is ready for the caller. */
struct slot {
	enum slot_kind {
		SLOT_BLOCK,
		SLOT_DAMAGED,		/* data that cannot be unpacked as a block */
		SLOT_END,
		SLOT_NO_MEMORY,
	} kind;
	uint64_t offset, bytes;		/* offset and size of the part in the file */
	const char *what;		/* for SLOT_DAMAGED: the reason */
	bool cut;			/* for SLOT_END: see blocks__is_cut() */
	uint8_t *records;
	size_t room;
	bool has_header;
	struct xpu_record_block header;
};

struct blocks {
	const uint8_t *base;
	size_t size;
	bool mapped;
	struct damages damages;
	struct arena kept, held;

	/* Used by the thread if it runs, otherwise by the caller. */
	struct block_unpacker *unpacker;
	uint64_t offset, released;

	/* Used only by the caller. */
	struct slot slots[NR_SLOTS];
	uint64_t number, nr_launches;	/* counts expected in the next block's header */
	struct slot *last;
	unsigned int nr_asked;

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;		/* protects the members below */
	pthread_cond_t changed;
	uint64_t nr_filled, nr_taken;	/* number of slots that were filled, and number of slots
					 * that were taken; the slot taken last is in use */
	bool stop;
};

struct blocks *blocks__new(const uint8_t *base, size_t size, bool mapped)
{
	struct blocks *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->unpacker = block_unpacker__new();
	if (!b->unpacker) {
		free(b);
		return NULL;
	}
	b->base = base;
	b->size = size;
	b->mapped = mapped;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	return b;
}

static void blocks__stop(struct blocks *b)
{
	if (!b->threaded)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	b->threaded = false;
}

void blocks__free(struct blocks *b)
{
	size_t i;

	if (!b)
		return;
	blocks__stop(b);
	for (i = 0; i < NR_SLOTS; i++)
		free(b->slots[i].records);
	block_unpacker__free(b->unpacker);
	arena__free(&b->kept);
	arena__free(&b->held);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void blocks__start(struct blocks *b, uint64_t offset)
{
	blocks__stop(b);
	b->offset = offset;
	b->released = 0;
	b->number = b->nr_launches = 0;
	b->nr_filled = b->nr_taken = 0;
	b->nr_asked = 0;
	b->stop = false;
	b->last = NULL;
	memset(&b->damages, 0, sizeof(b->damages));
}

/* ---- the next part of the file -------------------------------------------------------------- */

static void blocks__release(struct blocks *b)
{
	uint64_t upto;

	if (!b->mapped || b->offset < b->released + 2 * RELEASE_BYTES)
		return;
	/* Release only whole huge pages, so that no huge page is split. */
	upto = (b->offset - RELEASE_BYTES) & ~(uint64_t)(RELEASE_BYTES - 1);
	madvise((void *)(b->base + b->released), upto - b->released, MADV_DONTNEED);
	b->released = upto;
}

/* Return: the offset of the next block header after @from, or 0. */
static uint64_t blocks__search(const struct blocks *b, uint64_t from)
{
	const size_t magic_at = offsetof(struct xpu_record_block, magic);
	const size_t magic_bytes = sizeof(((struct xpu_record_block *)0)->magic);
	struct xpu_record_block header;
	const uint8_t *at;

	for (from += magic_at; from < b->size; from = at - b->base + 1) {
		at = memmem(b->base + from, b->size - from, XPU_BLOCK_MAGIC, magic_bytes);
		if (!at)
			return 0;
		if (block__header(at - magic_at, b->base + b->size - (at - magic_at), &header))
			return at - magic_at - b->base;
	}
	return 0;
}

/* Return: whether the bytes at the end of the file may be the start of a header. */
static bool blocks__is_stub(const struct blocks *b, uint64_t left)
{
	const uint8_t *at = b->base + b->offset;
	const size_t magic_at = offsetof(struct xpu_record_block, magic);
	struct xpu_record rec = { 0 };

	if (left >= sizeof(struct xpu_record_block))
		return false;
	memcpy(&rec, at, min_t(size_t, left, sizeof(rec)));
	if (left >= sizeof(rec.type) && rec.type != XPU_RECORD_BLOCK)
		return false;
	return left <= magic_at ||
	       !memcmp(at + magic_at, XPU_BLOCK_MAGIC, min_t(size_t, left - magic_at, 8));
}

static int slot__unpack(struct slot *s, struct block_unpacker *u, const uint8_t *data)
{
	if (!s->records || s->room < s->header.raw_bytes) {
		free(s->records);
		s->records = malloc(s->header.raw_bytes ?: 1);
		s->room = s->records ? s->header.raw_bytes : 0;
		if (!s->records)
			return -ENOMEM;
	}
	return block_unpacker__unpack(u, &s->header, data, s->records);
}

/* Fills a slot with the part of the file at b->offset. */
static void blocks__fill(struct blocks *b, struct slot *s)
{
	uint64_t left = b->size - b->offset, found;
	const uint8_t *at = b->base + b->offset;
	size_t header_bytes;
	int err;

	s->offset = b->offset;
	s->has_header = s->cut = false;
	s->kind = SLOT_END;
	if (!left)
		return;
	header_bytes = block__header(at, left, &s->header);
	if (header_bytes && s->header.hdr.size > left) {
		s->cut = true;
		return;
	}
	if (header_bytes) {
		s->has_header = true;
		s->bytes = s->header.hdr.size;
		err = slot__unpack(s, b->unpacker, at + header_bytes);
		s->kind = !err ? SLOT_BLOCK : err == -ENOMEM ? SLOT_NO_MEMORY : SLOT_DAMAGED;
		s->what = err == -EPROTO ? "a block is packed in an unknown way" :
			  "the bytes of a block have changed since they were written";
	} else {
		found = blocks__search(b, b->offset);
		if (!found) {
			s->cut = blocks__is_stub(b, left);
			return;
		}
		s->kind = SLOT_DAMAGED;
		s->bytes = found - b->offset;
		s->what = "no block begins here";
	}
	b->offset += s->bytes;
	blocks__release(b);
}

static void *blocks__thread(void *arg)
{
	struct blocks *b = arg;
	struct slot *s;

	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		/* The slot taken last may still be in use. */
		if (b->nr_filled + 1 >= b->nr_taken + NR_SLOTS) {
			pthread_cond_wait(&b->changed, &b->lock);
			continue;
		}
		s = &b->slots[b->nr_filled % NR_SLOTS];
		pthread_mutex_unlock(&b->lock);
		blocks__fill(b, s);
		pthread_mutex_lock(&b->lock);
		b->nr_filled++;
		pthread_cond_signal(&b->changed);
		if (s->kind == SLOT_END || s->kind == SLOT_NO_MEMORY)
			break;
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/*
 * Starts the thread, unless the file has only a few blocks, which are read faster without a thread.
 */
static void blocks__start_thread(struct blocks *b)
{
	sigset_t all, old;

	if (b->nr_asked++ != NR_SLOTS)
		return;
	sigfillset(&all);
	sigdelset(&all, SIGBUS);	/* SIGBUS is raised if the file is truncated */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	b->threaded = !pthread_create(&b->thread, NULL, blocks__thread, b);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/*
 * Return: the next slot, valid until the next call. Calls after SLOT_END or SLOT_NO_MEMORY return
 * the same kind again.
 */
static struct slot *blocks__take(struct blocks *b)
{
	struct slot *s = b->last;

	if (s && (s->kind == SLOT_END || s->kind == SLOT_NO_MEMORY))
		return s;
	blocks__start_thread(b);
	if (b->threaded) {
		pthread_mutex_lock(&b->lock);
		while (b->nr_filled == b->nr_taken)
			pthread_cond_wait(&b->changed, &b->lock);
		s = &b->slots[b->nr_taken++ % NR_SLOTS];
		pthread_cond_signal(&b->changed);
		pthread_mutex_unlock(&b->lock);
	} else {
		s = &b->slots[b->nr_taken++ % NR_SLOTS];
		b->nr_filled++;
		blocks__fill(b, s);
	}
	b->last = s;
	return s;
}

/* ---- functions for the caller ---------------------------------------------------- */

static void blocks__damage(struct blocks *b, const struct damage *d)
{
	struct damages *all = &b->damages;

	if (all->nr < DAMAGES_MAX)
		all->v[all->nr] = *d;
	all->nr++;
	all->bytes += d->bytes;
	all->nr_blocks += d->nr_blocks;
	all->nr_launches += d->nr_launches;
}

/*
 * Checks the counts in a block's header against the previous blocks. Return: whether the block
 * belongs at this position.
 */
static bool blocks__follows(struct blocks *b, const struct slot *s, struct damage *before)
{
	const struct xpu_record_block *h = &s->header;

	if (h->number < b->number || h->launches_before < b->nr_launches)
		return false;
	before->nr_blocks += h->number - b->number;
	before->nr_launches += h->launches_before - b->nr_launches;
	b->number = h->number + 1;
	b->nr_launches = h->launches_before + h->nr_launches;
	return true;
}

int blocks__next(struct blocks *b, struct block *block)
{
	struct damage before = { 0 };
	struct slot *s;
	bool follows;

	for (;;) {
		s = blocks__take(b);
		if (s->kind == SLOT_NO_MEMORY)
			return -ENOMEM;
		if (s->kind == SLOT_DAMAGED && !s->has_header) {
			before = (struct damage){ s->offset, s->bytes, 0, 0, s->what };
			continue;
		}
		follows = s->has_header && blocks__follows(b, s, &before);
		/*
		 * Count one lost block if the damaged bytes do not show how many blocks are lost.
		 */
		if (before.bytes && !before.nr_blocks)
			before.nr_blocks = 1;
		if (before.nr_blocks) {
			if (!before.what) {
				before.offset = s->offset;
				before.what = "blocks are missing here";
			}
			blocks__damage(b, &before);
			before = (struct damage){ 0 };
		}
		if (s->kind == SLOT_END)
			return 0;
		if (s->kind == SLOT_BLOCK && follows)
			break;
		blocks__damage(b, &(struct damage){
			s->offset, s->bytes, follows, follows ? s->header.nr_launches : 0,
			follows ? s->what : "a block from another place or file",
		});
	}
	*block = (struct block){ s->records, s->header.raw_bytes, s->offset };
	return 1;
}

uint64_t blocks__end(const struct blocks *b)
{
	return b->last->offset;
}

bool blocks__is_cut(const struct blocks *b)
{
	return b->last->cut;
}

uint64_t blocks__whole(const struct blocks *b, uint64_t offset, uint64_t *nr_blocks,
		       uint64_t *nr_launches)
{
	struct xpu_record_block header;
	uint64_t end = offset;

	*nr_blocks = *nr_launches = 0;
	while (offset && offset < b->size) {
		if (!block__header(b->base + offset, b->size - offset, &header)) {
			offset = blocks__search(b, offset);
			continue;
		}
		if (header.hdr.size > b->size - offset)
			break;
		end = offset += header.hdr.size;
		*nr_blocks = header.number + 1;
		*nr_launches = header.launches_before + header.nr_launches;
	}
	return end;
}

uint64_t blocks__size(const struct blocks *b)
{
	return b->size;
}

void blocks__damaged_inside(struct blocks *b, const char *what)
{
	blocks__damage(b, &(struct damage){ b->last->offset, b->last->bytes, 1, 0, what });
}

const struct damages *blocks__damages(const struct blocks *b)
{
	return &b->damages;
}

static const void *keep_in(struct arena *arena, const void *part, size_t bytes)
{
	void *copy = arena__alloc(arena, bytes);

	return copy ? memcpy(copy, part, bytes) : NULL;
}

const void *blocks__keep(struct blocks *b, const void *part, size_t bytes)
{
	return keep_in(&b->kept, part, bytes);
}

const void *blocks__hold(struct blocks *b, const void *part, size_t bytes)
{
	return keep_in(&b->held, part, bytes);
}

void blocks__let_go(struct blocks *b)
{
	size_t i;

	blocks__stop(b);
	for (i = 0; i < NR_SLOTS; i++) {
		free(b->slots[i].records);
		b->slots[i].records = NULL;
	}
	arena__free(&b->held);
}
