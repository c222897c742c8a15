/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * build_ids.h - has the kernel read the build-ids of files that running processes have mapped
 *
 * A process of our own asks it: the kernel waits for the file system, which may be one that a user
 * runs (FUSE), or one whose server is gone (NFS).
 */
#ifndef XPU_LOADER_BUILD_IDS_H
#define XPU_LOADER_BUILD_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct build_ids;

/* Return: NULL if there is no memory. */
struct build_ids *build_ids__new(void);

/* Ends the process, and waits for it only if that takes no time. */
void build_ids__free(struct build_ids *b);

/*
 * Reads the build-id of the file that is mapped at @addr in the process whose /proc/PID/maps @maps_fd
 * is. Waits for two seconds at most: then a warning names @path, and @device is not asked again.
 * Return: bytes in @id; 0 if there is none, or the kernel (before Linux 6.11) tells none.
 */
size_t build_ids__read(struct build_ids *b, int maps_fd, uint64_t addr, uint64_t device,
		       const char *path, uint8_t id[XPU_BUILD_ID_LEN]);

#endif /* XPU_LOADER_BUILD_IDS_H */
