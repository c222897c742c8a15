/* SPDX-License-Identifier: MIT */
/* ends.h - ends of the process without exit handlers: see ends.c */
#ifndef XPU_PRELOAD_ENDS_H
#define XPU_PRELOAD_ENDS_H

/* Prepares for the process's end; called when the shim is loaded. */
void ends__init(void);

#endif /* XPU_PRELOAD_ENDS_H */
