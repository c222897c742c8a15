/* SPDX-License-Identifier: MIT */
/* ends.h - the ends of a process that run no exit handlers: see ends.c */
#ifndef XPU_PRELOAD_ENDS_H
#define XPU_PRELOAD_ENDS_H

/* Prepares for the ends of the process; called when the shim is loaded. */
void ends__init(void);

#endif /* XPU_PRELOAD_ENDS_H */
