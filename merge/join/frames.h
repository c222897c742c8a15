/* SPDX-License-Identifier: GPL-3.0-or-later */
/* frames.h - finds names for the frames of all chains */
#ifndef MERGE_FRAMES_H
#define MERGE_FRAMES_H

#include "model/model.h"
#include "read/found.h"
#include "symbols/callchain.h"
#include "symbols/jitmap.h"

/**
 * frames__run - set chain.stack of each chain of this recording, after the last pass
 *
 * Counts in @loss the stacks that are missing or incomplete, and the frames without a name.
 *
 * Return: 0 or -ENOMEM.
 */
int frames__run(struct callchains *callchains, const struct found *found, struct jitmaps *jitmaps,
		struct model *m, struct loss *loss);

#endif /* MERGE_FRAMES_H */
