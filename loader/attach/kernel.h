/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernel.h - which features this Linux has */
#ifndef XPU_LOADER_KERNEL_H
#define XPU_LOADER_KERNEL_H

#include <stdbool.h>

/* Whether this Linux is older than @major.@minor. */
bool kernel__is_before(int major, int minor);

bool kernel__has_btf(void);

/* Whether /proc/kallsyms shows us the addresses of kernel functions. */
bool kernel__shows_addresses(void);

#endif /* XPU_LOADER_KERNEL_H */
