/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * name_keeper.h - collects the names that were looked up, and makes records of them
 *
 *	struct name_keeper k = { .write = ..., .ctx = ... };
 *	name_keeper__add(&k, dso->key, &place, lines);	for each place
 *	name_keeper__add_stack(&k, rec, frames, nr, flags);
 *	name_keeper__flush(&k);			writes the records; any number of times
 *	name_keeper__exit(&k);
 */
#ifndef MERGE_NAME_KEEPER_H
#define MERGE_NAME_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/dso.h"
#include "symbols/recorded_names.h"
#include "symbols/srcline.h"
#include "util.h"

struct kept_place {
	const struct dso_key *key;	/* valid until name_keeper__exit() */
	struct dso *dso;		/* NULL: generated code */
	struct recorded_place place;
	bool pending;			/* its source lines are yet to be looked up */
};

struct kept_key;

struct name_keeper {
	/*
	 * Writes a record. If the record is NULL, no record follows for now, so the function must
	 * flush what it has written. Return: 0 or a negative errno, which ends the lookup.
	 */
	int (*write)(void *ctx, const struct xpu_record *rec);
	/* Return: whether the lookup must end now; NULL: never. */
	bool (*is_over)(void *ctx);
	void *ctx;
	ARRAY(struct kept_place) places;	/* places that are not written yet */
	struct kept_key *known;			/* the keys of all places */
	struct recorded_names stacks;		/* only the stacks and their words */
	ARRAY(const struct dso_key *) generated;	/* keys that the keeper made */
	ARRAY(struct recorded_line) lines;
	uint64_t bytes;			/* size of the records, at most RECORDED_NAMES_MAX */
	uint64_t nr_places, nr_cut;	/* number of all places and stacks; number of places and
					 * stacks dropped beyond RECORDED_NAMES_MAX */
	uint64_t nr_left;		/* call paths and source lines that were not looked up in
					 * time */
	int err;			/* the first error of write() */
	uint64_t flushed_ns;		/* when records were last written */
	ARRAY(uint8_t) data;
};

void name_keeper__exit(struct name_keeper *k);

static inline bool name_keeper__is_over(const struct name_keeper *k)
{
	return k->err || (k->is_over && k->is_over(k->ctx));
}

/**
 * name_keeper__add - keep the name of a place
 * @dso: the place's file; NULL: generated code
 * @place: has .offset, .vaddr, and .name or .function; strings must stay valid
 * @pending: its lines will be looked up later; otherwise the place has no lines
 *
 * Return: 0 or -ENOMEM.
 */
int name_keeper__add(struct name_keeper *k, struct dso *dso, const struct recorded_place *place,
		     bool pending);

/* Keeps the name of an address in generated code of a process. Return: 0 or -ENOMEM. */
int name_keeper__add_generated(struct name_keeper *k, uint32_t pid, uint64_t time_ns,
			       uint64_t addr, const char *name);

/* Keeps the chain of a STACK record. Return: 0 or -ENOMEM. */
int name_keeper__add_stack(struct name_keeper *k, const struct xpu_record_stack *rec,
			   const uint64_t *frames, uint16_t nr, uint16_t flags);

/* Looks up the pending source lines. Return: 0 or -ENOMEM. */
int name_keeper__look_up_lines(struct name_keeper *k, struct srclines *s);

/* Writes records with everything that was kept. Return: 0 or a negative errno. */
int name_keeper__flush(struct name_keeper *k);

/*
 * Writes records of complete places if the last write was some time ago, so that little is lost if
 * the lookup is killed. Return: 0 or a negative errno.
 */
int name_keeper__flush_if_due(struct name_keeper *k);

#endif /* MERGE_NAME_KEEPER_H */
