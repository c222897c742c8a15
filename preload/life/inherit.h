/* SPDX-License-Identifier: MIT */
/*
 * inherit.h - lets the parent's listener record a forked child until a listener has attached to the
 * child itself
 */
#ifndef XPU_PRELOAD_INHERIT_H
#define XPU_PRELOAD_INHERIT_H

/* Notices forks. Called when the shim is loaded. */
void inherit__init(void);

/* Called periodically. After some time, the parent's listener no longer records the child. */
void inherit__look(void);

#endif /* XPU_PRELOAD_INHERIT_H */
