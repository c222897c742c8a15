/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * check.h - xpuload --check: prints what can be recorded on this machine, and how to get what is
 * missing
 */
#ifndef XPU_LOADER_CHECK_H
#define XPU_LOADER_CHECK_H

/* Return: 0 if launches can be recorded here, 1 if a requirement is missing. */
int check__run(const char *shim);

#endif /* XPU_LOADER_CHECK_H */
