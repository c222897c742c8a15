/* SPDX-License-Identifier: GPL-3.0-or-later */
/* confine.h - makes a child process harmless before it reads other people's files */
#ifndef XPU_LOADER_CONFINE_H
#define XPU_LOADER_CONFINE_H

/*
 * Drops for good all rights with which this process could do harm: capabilities, root's user ID,
 * most system calls, and unlimited memory and CPU time. Call after child__settle(). The process may
 * still read and map files whose descriptors it receives, @nr_files at a time. Return: 0 or a
 * negative errno.
 */
int confine__process(unsigned int nr_files);

#endif /* XPU_LOADER_CONFINE_H */
