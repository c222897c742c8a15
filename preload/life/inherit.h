/* SPDX-License-Identifier: MIT */
/*
 * inherit.h - lets the parent's listener record a forked child until a listener has attached to the
 * child itself
 */
#ifndef XPU_PRELOAD_INHERIT_H
#define XPU_PRELOAD_INHERIT_H

/* Notices forks. Called when the shim is loaded. */
void inherit__init(void);

/* After a while, ends the recording by the parent's listener; called periodically. */
void inherit__look(void);

#endif /* XPU_PRELOAD_INHERIT_H */
