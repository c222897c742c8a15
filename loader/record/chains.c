// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/ksyms.h"
#include "record/processes.h"
#include "record/writer.h"

struct chains {
	struct writer *writer;
	struct processes *processes;
	struct ksyms *ksyms;
	uint32_t last_id;
	uint32_t nr_others;		/* number of chains that belong to no launch */
	/* buffer for the words to hash */
	__u64 words[sizeof(struct chain) / sizeof(uint64_t) + 1 + XPU_MAX_FRAMES];
};

struct chains *chains__new(struct writer *w, struct processes *ps)
{
	struct chains *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->writer = w;
	c->processes = ps;
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
	ksyms__free(c->ksyms);
	free(c);
}

static size_t record_bytes(const struct chain *chain)
{
	return sizeof(struct xpu_record_callchain) + chain->nr_frames * sizeof(__u64);
}

void chains__tell(struct chains *c, struct process *p, const struct chain *chain,
		  const __u64 *frames, uint64_t time_ns, uint32_t path_id)
{
	size_t bytes = record_bytes(chain);
	struct xpu_record_callchain *r = writer__reserve(c->writer, bytes);

	p->chain_bytes += bytes;
	if (!r)
		return;
	*r = (struct xpu_record_callchain){
		.hdr = { XPU_RECORD_CALLCHAIN, chain->flags, bytes },
		.path_id = path_id,
		.proc_id = chain->proc_id,
		.time_ns = time_ns,
		.cbid = chain->cbid,
		.domain = chain->domain,
		.nr_frames = chain->nr_frames,
	};
	memcpy(r->frames, frames, bytes - sizeof(*r));
}

uint32_t chains__promise(struct chains *c)
{
	return ++c->last_id;
}

uint32_t chains__add(struct chains *c, struct process *p, const struct chain *chain,
		     const __u64 *frames, uint64_t time_ns, bool launch)
{
	uint32_t i;

	c->nr_others += !launch;
	/*
	 * Write names of kernel functions only for samples: the target chooses the frames of
	 * launches and waits.
	 */
	for (i = 0; i < chain->nr_frames && chain->flags & XPU_CHAIN_CPU &&
		    XPU_FRAME_IS_KERNEL(frames[i]); i++)
		ksyms__write(c->ksyms, frames[i], c->writer);
	chains__tell(c, p, chain, frames, time_ns, ++c->last_id);
	return c->last_id;
}

static struct numbers_key chains__key(struct chains *c, const struct chain *chain,
				      const __u64 *frames)
{
	size_t chain_words = (sizeof(*chain) + 7) / 8;

	c->words[chain_words - 1] = 0;
	memcpy(c->words, chain, sizeof(*chain));
	memcpy(c->words + chain_words, frames, chain->nr_frames * sizeof(*frames));
	return numbers__hash(c->words, chain_words + chain->nr_frames);
}

uint32_t chains__id(struct chains *c, struct process *p, const struct chain *chain,
		    const __u64 *frames, uint64_t time_ns, bool launch)
{
	const struct numbers_key key = chains__key(c, chain, frames);
	const uint64_t *id = process__find(p, MAP_CHAINS, key);
	int err;

	if (id)
		return *id;
	if (chain->nr_frames && p->chain_bytes + record_bytes(chain) > LIMIT_CHAIN_BYTES) {
		p->nr_beyond++;
		return chains__unknown(c, p, chain, time_ns, launch);
	}
	err = processes__add(c->processes, p, MAP_CHAINS, key, c->last_id + 1);
	if (err == -ENOSPC) {
		/* A removed chain is written again when it is used again. */
		processes__forget(c->processes, p, MAP_CHAINS);
		err = processes__add(c->processes, p, MAP_CHAINS, key, c->last_id + 1);
	}
	return err ? 0 : chains__add(c, p, chain, frames, time_ns, launch);
}

uint32_t chains__unknown(struct chains *c, struct process *p, const struct chain *chain,
			 uint64_t time_ns, bool launch)
{
	struct chain unknown = *chain;

	unknown.flags |= XPU_CHAIN_FAILED;
	unknown.nr_frames = 0;
	return chains__id(c, p, &unknown, c->words, time_ns, launch);
}

uint32_t chains__nr_launching(const struct chains *c)
{
	return c->last_id - c->nr_others;
}

void chains__finish(struct chains *c)
{
	ksyms__finish(c->ksyms, c->writer);
}
