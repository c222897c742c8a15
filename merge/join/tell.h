/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tell.h - where the second pass puts what it has joined: the sums, and the sink of single events
 *
 * Each returns 0, or -ENOMEM or what the sink returned. What the options leave out goes nowhere.
 */
#ifndef MERGE_TELL_H
#define MERGE_TELL_H

#include "join/second_pass.h"

/* See sums__add(). */
int tell__sum(struct second_pass *p, uint32_t chain, const char *comm, uint32_t thread,
	      uint32_t leaf, const struct work *w);

int tell__placed(struct second_pass *p, const struct placed *placed);
int tell__slice(struct second_pass *p, const struct slice *slice);
int tell__launch(struct second_pass *p, uint64_t key, const struct launch *l);
int tell__work(struct second_pass *p, uint64_t key, const struct work *w, const struct launch *l,
	       uint32_t made, bool first);

#endif /* MERGE_TELL_H */
