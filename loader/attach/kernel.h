/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernel.h - what this kernel has */
#ifndef XPU_LOADER_KERNEL_H
#define XPU_LOADER_KERNEL_H

#include <stdbool.h>

/* Whether it is old: of before @major.@minor. */
bool kernel__is_before(int major, int minor);

bool kernel__has_btf(void);

/* Whether /proc/kallsyms tells us where the kernel's functions are. */
bool kernel__shows_addresses(void);

#endif /* XPU_LOADER_KERNEL_H */
