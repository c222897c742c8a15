/* SPDX-License-Identifier: MIT */
/* notes.h - notes that launching threads leave for activity.c to send */
#ifndef XPU_PRELOAD_NOTES_H
#define XPU_PRELOAD_NOTES_H

#include <stdint.h>

/* Notes that graph node @node_id is a copy of @original_id. On any thread; never waits. */
void activity__graph_clone(uint64_t node_id, uint64_t original_id);

/* Ends activity__wait(), because there is something to send. */
void activity__wake(void);

#endif /* XPU_PRELOAD_NOTES_H */
