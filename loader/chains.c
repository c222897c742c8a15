// SPDX-License-Identifier: GPL-3.0-or-later
#include "chains.h"

#include <stdlib.h>
#include <string.h>

#include "ksyms.h"
#include "table.h"
#include "writer.h"

struct key {
	struct chain chain;
	__u64 frames[];
};

struct entry {
	UT_hash_handle hh;
	uint32_t path_id;
	struct key key;
};

struct chains {
	struct writer *writer;
	struct ksyms *ksyms;
	struct entry *entries;
	uint32_t last_id;
	uint32_t nr_others;		/* of what is no launch */
	struct key key;			/* to look one up; its frames: */
	__u64 key_frames[XPU_MAX_FRAMES];
};

struct chains *chains__new(struct writer *w)
{
	struct chains *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->writer = w;
	c->ksyms = ksyms__new();
	if (c->ksyms)
		return c;
	free(c);
	return NULL;
}

void chains__free(struct chains *c)
{
	if (!c)
		return;
	table_free(c->entries, table_free_nothing);
	ksyms__free(c->ksyms);
	free(c);
}

void chains__tell(struct chains *c, const struct chain *chain, const __u64 *frames,
		  uint64_t time_ns, uint32_t path_id)
{
	size_t frames_bytes = chain->nr_frames * sizeof(*frames);
	struct xpu_record_callchain *r = writer__reserve(c->writer, sizeof(*r) + frames_bytes);

	if (!r)
		return;
	*r = (struct xpu_record_callchain){
		.hdr = { XPU_RECORD_CALLCHAIN, chain->flags, sizeof(*r) + frames_bytes },
		.path_id = path_id,
		.proc_id = chain->proc_id,
		.time_ns = time_ns,
		.cbid = chain->cbid,
		.domain = chain->domain,
		.nr_frames = chain->nr_frames,
	};
	memcpy(r->frames, frames, frames_bytes);
}

uint32_t chains__promise(struct chains *c)
{
	return ++c->last_id;
}

uint32_t chains__add(struct chains *c, const struct chain *chain, const __u64 *frames,
		     uint64_t time_ns, bool launch)
{
	uint32_t i;

	c->nr_others += !launch;
	/* Frames of launches come from the target: it does not get to ask for the kernel's names. */
	for (i = 0; i < chain->nr_frames && chain->flags & XPU_CHAIN_CPU &&
		    XPU_FRAME_IS_KERNEL(frames[i]); i++)
		ksyms__write(c->ksyms, frames[i], c->writer);
	chains__tell(c, chain, frames, time_ns, ++c->last_id);
	return c->last_id;
}

uint32_t chains__id(struct chains *c, const struct chain *chain, const __u64 *frames,
		    uint64_t time_ns, bool launch)
{
	size_t frames_bytes = chain->nr_frames * sizeof(*frames);
	size_t key_bytes = sizeof(c->key) + frames_bytes;
	struct entry *e;

	c->key.chain = *chain;
	memcpy(c->key.frames, frames, frames_bytes);
	HASH_FIND(hh, c->entries, &c->key, key_bytes, e);
	if (e)
		return e->path_id;

	e = malloc(sizeof(*e) + frames_bytes);
	if (!e)
		return 0;
	memcpy(&e->key, &c->key, key_bytes);
	HASH_ADD_KEYPTR(hh, c->entries, &e->key, key_bytes, e);
	if (!e->hh.tbl) {
		free(e);
		return 0;
	}
	e->path_id = chains__add(c, chain, frames, time_ns, launch);
	return e->path_id;
}

uint32_t chains__nr_launching(const struct chains *c)
{
	return c->last_id - c->nr_others;
}

void chains__finish(struct chains *c)
{
	ksyms__finish(c->ksyms, c->writer);
}
