/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shm_reader.h - reads the records that a process writes into memory that it shares with xpuload
 *
 * The process may write anything at any time. So the reader copies every index and size, and checks
 * the copy. After an error, it reads nothing more from this process; other processes are not
 * affected.
 */
#ifndef XPU_LOADER_SHM_READER_H
#define XPU_LOADER_SHM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "xpu_record.h"
#include "xpu_shm.h"

struct shm_reader;

/* Takes a copy of a record. @size equals hdr.size, and the type is one that a process may write. */
typedef void (*shm_record_fn)(void *ctx, struct xpu_record *record, size_t size);

/* The memory that a process has made: see xpu_shm.h. */
struct shm_memory {
	int fd;				/* descriptor of a file of any kind that the process sent,
					 * or -1 */
	int segment;			/* without a file: the id of the segment that the process
					 * sent */
	struct ucred owner;		/* the process that sent the file or the id */
};

/* Return: the size of the smallest ring of at least @bytes; the size is a power of two. */
uint64_t shm_reader__ring_bytes(uint64_t bytes);

/**
 * shm_reader__new - map the memory that a process has made
 * @memory: the caller closes the descriptor
 * @ring_bytes: from shm_reader__ring_bytes(); the memory must have a ring of this size
 *
 * A file's size must be sealed, so that no process can make reading fail; the size of a segment
 * never changes. Return: 0, -EPROTO if the memory is not as required, or another negative errno.
 */
int shm_reader__new(const struct shm_memory *memory, uint64_t ring_bytes,
		    struct shm_reader **reader);
void shm_reader__free(struct shm_reader *r);

/*
 * Takes the complete records, at most as many as fit into the ring. Return: whether it took all
 * records that were in the ring at the call.
 */
bool shm_reader__drain(struct shm_reader *r, shm_record_fn fn, void *ctx);

/*
 * Takes the complete records, counts the incomplete records as lost, and takes the last entries of
 * the threads' logs. Must be called when the process has ended or runs another program.
 */
void shm_reader__finish(struct shm_reader *r, shm_record_fn fn, void *ctx);

/* Whether the process itself has ended the recording. */
bool shm_reader__is_closed(const struct shm_reader *r);

/* Sets the state of the recording that the process sees. */
void shm_reader__set_state(struct shm_reader *r, enum xpu_shm_state state);

/* Return: the number of losses of @kind so far. */
uint64_t shm_reader__nr_lost(const struct shm_reader *r, enum xpu_lost_kind kind);

/* Whether the reader has stopped because the process wrote invalid data. */
bool shm_reader__is_broken(const struct shm_reader *r);

/* Return: which mappings the process has sent, according to the process. */
enum xpu_shm_maps shm_reader__maps(const struct shm_reader *r);

/* Return: the unread fraction of the ring, 0 to 1. */
double shm_reader__fullness(const struct shm_reader *r);

#endif /* XPU_LOADER_SHM_READER_H */
