/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - the state of the feature stalls: all PC samples */
#ifndef MERGE_STALLS_STATE_H
#define MERGE_STALLS_STATE_H

#include "model/feature.h"
#include "model/model.h"
#include "stalls/definitions.h"
#include "stalls/source_text.h"
#include "stalls/stall_sums.h"
#include "stalls/stalls.h"

struct stalls_opts {			/* what the user wants */
	const char *source;		/* directories of the source, separated by ":"; or NULL */
};

struct stalls_state {
	struct stalls stalls;
	struct stall_sums sums;		/* complete after finish() */
	struct source_text source;	/* complete after finish() */
	struct stall_defs defs;		/* definitions of the recording that is being read */
};

/* Return: the state; it is empty if the recordings have no PC samples. */
const struct stalls_state *stalls_state__of(const struct model *m);

static inline const struct stalls *stalls__of(const struct model *m)
{
	return &stalls_state__of(m)->stalls;
}

/* text_stalls.c */
extern const struct section section_stalls;

/* page_stalls.c: prints samples by kernel, place and reason, over all call paths. */
int stalls__page(const struct session *s, struct json_out *j);

#endif /* MERGE_STALLS_STATE_H */
