/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * build_ids.h - asks the kernel for the build-ids of files that running processes have mapped
 *
 * A helper process makes the system calls, in which Linux may wait for the file system: a user may
 * run the file system (FUSE), or its server may be gone (NFS).
 */
#ifndef XPU_LOADER_BUILD_IDS_H
#define XPU_LOADER_BUILD_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct build_ids;

/* Makes the state; the helper process is not started yet. Return: NULL if memory runs out. */
struct build_ids *build_ids__new(void);

/* Kills the helper process, and reaps it only if it ends at once. */
void build_ids__free(struct build_ids *b);

/*
 * Reads the build-id of the file that is mapped at @addr in a process. @maps_fd: the process's
 * /proc/PID/maps. Waits for two seconds at most. After that time, prints a warning with @path, and
 * never reads from @device again. Return: bytes in @id; 0 if the file has no build-id, or if Linux
 * is older than 6.11.
 */
size_t build_ids__read(struct build_ids *b, int maps_fd, uint64_t addr, uint64_t device,
		       const char *path, uint8_t id[XPU_BUILD_ID_LEN]);

#endif /* XPU_LOADER_BUILD_IDS_H */
