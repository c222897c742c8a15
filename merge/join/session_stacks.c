// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_stacks.h"

#include <errno.h>

#include "join/session_collect.h"
#include "join/session_tables.h"

static bool session__pycode(void *ctx, uint32_t id, struct pycode *code)
{
	const struct xpu_record_pycode *rec;
	struct session *s = ctx;
	uint32_t proc = s->tables->path_proc, idx;
	const struct pysource *source;

	if (id & PYSOURCE_ID) {
		source = pysources__find(&s->pysources, id);
		if (source)
			*code = (struct pycode){ source->name, source->filename };
		return source;
	}
	if (!idmap__get(&s->tables->pycodes, ID_KEY(proc, id), &idx))
		return false;
	rec = s->tables->pycode_defs.v[idx];
	code->name = session__string(s, proc, rec->name);
	code->filename = session__string(s, proc, rec->filename);
	return code->name && code->filename;
}

static const char *session__frame_string(void *ctx, uint32_t id)
{
	struct session *s = ctx;

	return session__string(s, s->tables->path_proc, id);
}

static const char *session__jit(void *ctx, const struct image *image, bool ran_before,
				uint64_t addr)
{
	struct session *s = ctx;
	const char *name = NULL;

	/* A forked process goes on with its parent's code. */
	for (; image && !name; image = image->parent)
		name = jitmaps__find(&s->jitmaps, image->pid, ran_before ? 0 : image->time_ns,
				     session__exit_ns(s, image->pid, image->time_ns), addr);
	return name;
}

void session__init_stacks(struct session *s)
{
	s->callchains.pycode = session__pycode;
	s->callchains.jit = session__jit;
	s->callchains.kallsyms = &s->kallsyms;
	s->callchains.string = session__frame_string;
	s->callchains.lookup_ctx = s;
}

int session__resolve_chains(struct session *s)
{
	size_t i;

	s->callchains.nr_frames = s->callchains.nr_unsymbolized = 0;
	for (i = s->tables->first_chain; i < s->chains.nr; i++) {
		struct chain *chain = &s->chains.v[i];
		const struct path *path = NULL;

		if (chain->launched != NO_INDEX) {
			/* Both are of lower indices. */
			chain->stack = callchains__concat(&s->callchains,
							  s->chains.v[chain->launched].stack,
							  "[captured at]",
							  s->chains.v[chain->captured].stack);
			if (!chain->stack)
				return -ENOMEM;
			continue;
		}
		if (chain->path != NO_INDEX)
			path = &s->paths.v[chain->path];
		s->tables->path_proc = chain->proc;
		if (chain->no_launch)
			chain->stack = callchains__label(&s->callchains, chain->no_launch);
		else if (chain->range != NVTX_NO_RANGE)
			chain->stack = s->chains.v[chain->in_range].stack;	/* is lower */
		else
			chain->stack = callchains__resolve(&s->callchains, path ? path->rec : NULL,
							   path ? path->image : NULL, chain->epoch,
							   path ? path->api : NULL);
		if (!chain->stack)
			return -ENOMEM;
		if (chain->no_launch) {
			s->loss.samples_no_stack += chain->nr_samples;
			continue;
		}
		if (!path || !path->rec->nr_frames || path->rec->hdr.misc & XPU_CHAIN_FAILED) {
			s->loss.no_stack += chain->nr_launches + chain->nr_nodes;
			s->loss.samples_no_stack += chain->nr_samples;
		} else if (path->rec->hdr.misc & XPU_CHAIN_TRUNCATED) {
			s->loss.truncated += chain->nr_launches + chain->nr_nodes;
			s->loss.samples_truncated += chain->nr_samples;
		}
	}
	s->loss.nr_frames = s->callchains.nr_frames;
	s->loss.unsymbolized = s->callchains.nr_unsymbolized;
	return 0;
}
