/* SPDX-License-Identifier: MIT */
/* privileges.h - drops privileges for good, before a process reads or runs other people's files */
#ifndef LIB_PRIVILEGES_H
#define LIB_PRIVILEGES_H

#include <stdint.h>

#define CAP_BIT(cap)	(1ull << (cap))

/*
 * Limits this process to the capabilities in @keep, a mask of CAP_BIT(), permanently, starting with
 * its next exec. Until then it keeps the capabilities that it has. Return: 0 or a negative errno.
 */
int privileges__bound(uint64_t keep);

/*
 * Drops all capabilities except @keep, now and in all programs executed later. Return: 0 or a
 * negative errno.
 */
int privileges__drop(uint64_t keep);

#endif /* LIB_PRIVILEGES_H */
