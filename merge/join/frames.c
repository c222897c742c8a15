// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/frames.h"

#include <errno.h>

#include "symbols/name_keeper.h"

/* The recording's own sources of function names: Python and JIT compilers. */
struct frames {
	const struct found *found;
	struct jitmaps *jitmaps;
	struct callchains *callchains;
	uint32_t proc;			/* the process whose chain is being resolved */
};

static bool frames__pycode(void *ctx, uint32_t id, struct pycode *code)
{
	const struct xpu_record_pycode *rec;
	const struct frames *s = ctx;
	uint32_t proc = s->proc, idx;
	const struct pysource *source;

	if (id & PYSOURCE_ID) {
		source = pysources__find(&s->found->pysources, id);
		if (source)
			*code = (struct pycode){ source->name, source->filename };
		return source;
	}
	if (!idmap__get(&s->found->pycodes, ID_KEY(proc, id), &idx))
		return false;
	rec = s->found->pycode_defs.v[idx];
	code->name = found__string(s->found, proc, rec->name);
	code->filename = found__string(s->found, proc, rec->filename);
	return code->name && code->filename;
}

static const char *frames__string(void *ctx, uint32_t id)
{
	const struct frames *s = ctx;

	return found__string(s->found, s->proc, id);
}

static const char *frames__jit(void *ctx, const struct image *image, bool ran_before,
			       uint64_t addr)
{
	const struct frames *s = ctx;
	const char *name = NULL;

	/* A forked process still has the generated code of its parent. */
	for (; image && !name; image = image->parent)
		name = jitmaps__find(s->jitmaps, image->pid, ran_before ? 0 : image->time_ns,
				     found__exit_ns(s->found, image->pid, image->time_ns), addr);
	return name;
}

static enum path_how path__how(const struct xpu_record_callchain *rec)
{
	if (rec->nr_frames && XPU_FRAME_IS_NAMED(rec->frames[0]))
		return PATH_NAMED;
	if (!rec->nr_frames && !(rec->hdr.misc & XPU_CHAIN_FAILED))
		return PATH_NONE;
	if (rec->hdr.misc & XPU_CHAIN_SHIM)
		return PATH_SHIM;
	return rec->nr_frames ? PATH_KERNEL : PATH_NO_STACK;
}

/* Names the frames of a chain. Return: 0 or -ENOMEM. */
static int frames__resolve(struct frames *s, struct model *m, struct chain *chain)
{
	struct callchains *c = s->callchains;
	struct path *path = chain->path != NO_INDEX ? &m->paths.v[chain->path] : NULL;

	s->proc = chain->proc;
	if (path)
		path->how = path__how(path->rec);
	if (chain->launched != NO_INDEX)	/* the chains @launched and @captured have lower
						 * indices, so their stacks are set */
		chain->stack = callchains__concat(c, m->chains.v[chain->launched].stack,
						  "[captured at]",
						  m->chains.v[chain->captured].stack);
	else if (chain->no_launch)
		chain->stack = callchains__label(c, chain->no_launch);
	else if (chain->range != NO_RANGE)
		chain->stack = m->chains.v[chain->in_range].stack;	/* in_range also has a lower
									 * index */
	else
		chain->stack = callchains__resolve(c, path ? path->rec : NULL,
						   path ? path->image : NULL, chain->epoch,
						   path ? path->api : NULL);
	return chain->stack ? 0 : -ENOMEM;
}

/* Counts a chain's stack if it is missing or incomplete. */
static void frames__count(const struct model *m, const struct chain *chain, struct loss *loss)
{
	const struct path *path = chain->path != NO_INDEX ? &m->paths.v[chain->path] : NULL;

	if (chain->launched != NO_INDEX)
		return;
	if (chain->no_launch) {
		loss->samples_no_stack += chain->nr_samples;
	} else if (!path || !path->rec->nr_frames || path->rec->hdr.misc & XPU_CHAIN_FAILED) {
		loss->no_stack += chain->nr_launches + chain->nr_makers;
		loss->samples_no_stack += chain->nr_samples;
	} else if (path->rec->hdr.misc & XPU_CHAIN_TRUNCATED) {
		loss->truncated += chain->nr_launches + chain->nr_makers;
		loss->samples_truncated += chain->nr_samples;
	}
}

/*
 * Resolves the chains of the recording, until the time limit of the name keeper expires. Return: 0
 * or -errno.
 */
static int frames__resolve_all(struct frames *s, struct model *m, struct loss *loss)
{
	struct name_keeper *keeper = s->callchains->keeper;
	size_t i;
	int err = 0;

	for (i = s->found->first_chain; i < m->chains.nr && !err; i++) {
		if (keeper && name_keeper__is_over(keeper)) {
			keeper->nr_left += m->chains.nr - i;
			break;
		}
		if (keeper)
			err = name_keeper__flush_if_due(keeper);
		err = err ?: frames__resolve(s, m, &m->chains.v[i]);
		frames__count(m, &m->chains.v[i], loss);
	}
	return err;
}

int frames__run(struct callchains *callchains, const struct found *found, struct jitmaps *jitmaps,
		struct model *m, struct loss *loss)
{
	struct frames s = { .found = found, .jitmaps = jitmaps, .callchains = callchains };
	int err;

	callchains->pycode = frames__pycode;
	callchains->jit = frames__jit;
	callchains->kallsyms = &found->kallsyms;
	callchains->string = frames__string;
	callchains->lookup_ctx = &s;
	callchains->nr_frames = callchains->nr_unsymbolized = callchains->nr_uncertain = 0;
	callchains->names = &found->names;
	callchains__next(callchains);
	err = frames__resolve_all(&s, m, loss);
	callchains->lookup_ctx = NULL;
	callchains__next(callchains);
	callchains->names = NULL;
	loss->nr_frames = callchains->nr_frames;
	loss->unsymbolized = callchains->nr_unsymbolized;
	loss->uncertain = callchains->nr_uncertain;
	return err;
}
