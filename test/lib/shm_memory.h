/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shm_memory.h - shared memory as the shim makes it, for tests of its reader: see xpu_shm.h */
#ifndef XPU_TEST_SHM_MEMORY_H
#define XPU_TEST_SHM_MEMORY_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xpu_shm.h"

#define SHM_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Return: a memfd of @bytes, with @flags and @seals; or -1 */
static inline int shm_memory__file(unsigned int flags, uint64_t bytes, int seals)
{
	int fd = memfd_create("shim", MFD_CLOEXEC | flags);

	if (fd >= 0 && (ftruncate(fd, bytes) || (seals && fcntl(fd, F_ADD_SEALS, seals)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Return: the descriptor of memory with a ring of @ring_bytes, mapped at *@map; or -1. */
static inline int shm_memory__new(uint64_t ring_bytes, uint8_t **map)
{
	uint64_t bytes = xpu_shm__bytes(ring_bytes);
	int fd = shm_memory__file(MFD_ALLOW_SEALING, bytes, SHM_SEALS);

	if (fd < 0)
		return -1;
	*map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*map == MAP_FAILED) {
		close(fd);
		return -1;
	}
	((struct xpu_shm_reader *)*map)->state = XPU_SHM_OPEN;
	return fd;
}

#endif /* XPU_TEST_SHM_MEMORY_H */
