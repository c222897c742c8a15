/* SPDX-License-Identifier: GPL-3.0-or-later */
/* check.h - xpuload --check: what this machine allows, and what to do about the rest */
#ifndef XPU_LOADER_CHECK_H
#define XPU_LOADER_CHECK_H

/* Return: 0 when launches can be recorded here, 1 when something needed is missing. */
int check__run(const char *shim);

#endif /* XPU_LOADER_CHECK_H */
