/* SPDX-License-Identifier: MIT */
/* ends.h - handles a process that ends without exit handlers: see ends.c */
#ifndef XPU_PRELOAD_ENDS_H
#define XPU_PRELOAD_ENDS_H

/* Prepares for the process's end; called when the shim is loaded. */
void ends__init(void);

#endif /* XPU_PRELOAD_ENDS_H */
