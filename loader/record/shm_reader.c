// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/shm_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "xpu_slot.h"

#define MAX_LOST	(1ull << 48)	/* maximum number of losses of one kind in one process */

#define LARGEST_LAUNCH	(sizeof(struct xpu_ring_launch) + XPU_MAX_FRAMES * sizeof(__u64))
#define LARGEST_LOG	(sizeof(struct xpu_ring_log) + \
			 XPU_LOG_ENTRIES * sizeof(struct xpu_log_entry))

/* In the ring, only a batch can be larger than this. */
#define LARGEST_OTHER	(sizeof(struct xpu_shm_word) + \
			 (LARGEST_LAUNCH > LARGEST_LOG ? LARGEST_LAUNCH : LARGEST_LOG))

struct shm_reader {
	uint8_t *map;
	uint64_t map_bytes;
	struct xpu_shm_reader *reader;
	struct xpu_shm_writer *writer;
	uint8_t *ring;			/* the ring, mapped twice so that no record is split */
	uint64_t ring_bytes, tail;
	bool broken;
	uint64_t nr_lost[XPU_LOST_NR];	/* number of losses that the reader noticed */
};

/* Copy of a record, to be passed on. Only one reader at a time uses it. */
static __u64 copy[XPU_SHM_RECORD_MAX / sizeof(__u64)];

uint64_t shm_reader__ring_bytes(uint64_t bytes)
{
	uint64_t size = XPU_SHM_MIN_RING;

	while (size < bytes && size < XPU_SHM_MAX_RING)
		size *= 2;
	return size;
}

/*
 * Whether the file is memory of @bytes that nobody can shorten: reading beyond its end would raise
 * SIGBUS. Refuses huge pages, since none may be available when one is needed. A process can still
 * punch holes; Linux fills a hole with zeroes, unless no memory is left. Checks the seals first,
 * since only memory has seals: any other call might take forever in a user-space file system.
 */
static bool is_sealed_memory(int fd, uint64_t bytes)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	return seals >= 0 && (seals & wanted) == wanted && !fstatfs(fd, &fs) &&
	       fs.f_type == TMPFS_MAGIC && !fstat(fd, &st) && st.st_size >= 0 &&
	       (uint64_t)st.st_size == bytes;
}

/*
 * Attaches a segment at @at, and checks that @owner made it, because a process may send any id.
 * Must check after attaching, because ids are reused. Return: 0 or a negative errno.
 */
static int attach_segment(void *at, int segment, const struct ucred *owner, uint64_t bytes)
{
	struct shmid_ds ds;

	if (shmat(segment, at, SHM_REMAP) == (void *)-1)
		return -errno;
	return !shmctl(segment, IPC_STAT, &ds) && ds.shm_cpid == owner->pid &&
	       ds.shm_perm.cuid == owner->uid && ds.shm_perm.uid == owner->uid &&
	       ds.shm_segsz == bytes ? 0 : -EPROTO;
}

static int map_memory(struct shm_reader *r, const struct shm_memory *memory)
{
	const int prot = PROT_READ | PROT_WRITE;
	uint64_t ring_at = xpu_shm__ring_at(), bytes = xpu_shm__bytes(r->ring_bytes);
	bool has_file = memory->fd >= 0;
	int err = 0;

	if (has_file && !is_sealed_memory(memory->fd, bytes))
		return -EPROTO;
	r->map_bytes = bytes + r->ring_bytes;
	r->map = mmap(NULL, r->map_bytes, has_file ? prot : PROT_NONE,
		      has_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      memory->fd, 0);
	if (r->map == MAP_FAILED)
		return -errno;
	if (!has_file)
		err = attach_segment(r->map, memory->segment, &memory->owner, bytes);
	/*
	 * With an old size of 0, mremap() makes a second mapping of the same pages. For huge pages,
	 * mremap() fails, because the ring does not begin at a huge page.
	 */
	if (!err && mremap(r->map + ring_at, 0, r->ring_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			   r->map + bytes) == MAP_FAILED)
		err = -errno;
	if (err)
		munmap(r->map, r->map_bytes);
	return err;
}

int shm_reader__new(const struct shm_memory *memory, uint64_t ring_bytes,
		    struct shm_reader **reader)
{
	struct shm_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->ring_bytes = ring_bytes;
	err = map_memory(r, memory);
	if (err) {
		free(r);
		return err;
	}
	r->reader = (struct xpu_shm_reader *)r->map;
	r->writer = (struct xpu_shm_writer *)(r->map + XPU_SHM_PAGE);
	r->ring = r->map + xpu_shm__ring_at();
	__atomic_store_n(&r->reader->taken, 1, __ATOMIC_RELEASE);
	*reader = r;
	return 0;
}

void shm_reader__free(struct shm_reader *r)
{
	if (!r)
		return;
	shm_reader__set_state(r, XPU_SHM_CLOSED);
	munmap(r->map, r->map_bytes);
	free(r);
}

void shm_reader__set_state(struct shm_reader *r, enum xpu_shm_state state)
{
	__atomic_store_n(&r->reader->state, state, __ATOMIC_RELEASE);
}

bool shm_reader__is_closed(const struct shm_reader *r)
{
	return __atomic_load_n(&r->reader->state, __ATOMIC_ACQUIRE) == XPU_SHM_CLOSED;
}

bool shm_reader__is_broken(const struct shm_reader *r)
{
	return r->broken;
}

uint64_t shm_reader__nr_lost(const struct shm_reader *r, enum xpu_lost_kind kind)
{
	uint64_t nr = 0;

	/* The process counts only losses of these kinds. */
	if (kind == XPU_LOST_LAUNCH || kind == XPU_LOST_BATCH || kind == XPU_LOST_WAIT ||
	    kind == XPU_LOST_RANGE || kind == XPU_LOST_ALLOC || kind == XPU_LOST_SIDEBAND)
		nr = __atomic_load_n(&r->writer->dropped[kind], __ATOMIC_RELAXED);
	return r->nr_lost[kind] + (nr < MAX_LOST ? nr : MAX_LOST);
}

enum xpu_shm_maps shm_reader__maps(const struct shm_reader *r)
{
	const struct xpu_shm_writer *w = r->writer;
	uint32_t maps = __atomic_load_n(&w->maps, __ATOMIC_ACQUIRE);

	if (r->broken || maps > XPU_SHM_MAPS_LAST ||
	    __atomic_load_n(&w->told_unloads, __ATOMIC_RELAXED) <
	    __atomic_load_n(&w->met_unloads, __ATOMIC_RELAXED))
		return XPU_SHM_MAPS_NONE;
	return maps;
}

double shm_reader__fullness(const struct shm_reader *r)
{
	uint64_t bytes = __atomic_load_n(&r->writer->head, __ATOMIC_ACQUIRE) - r->tail;

	return r->broken || bytes > r->ring_bytes ? 0 : (double)bytes / r->ring_bytes;
}

/* Stops reading: the boundaries of the following records are unknown. */
static void give_up(struct shm_reader *r)
{
	r->broken = true;
	r->nr_lost[XPU_LOST_READ]++;
	shm_reader__set_state(r, XPU_SHM_CLOSED);
}

static uint8_t *at_tail(const struct shm_reader *r)
{
	return r->ring + (r->tail & (r->ring_bytes - 1));
}

/* Zeroes @bytes of the ring, and returns them to the process for the next writers. */
static void give_back(struct shm_reader *r, uint64_t bytes)
{
	memset(at_tail(r), 0, bytes);
	r->tail += bytes;
	__atomic_store_n(&r->reader->tail, r->tail, __ATOMIC_RELEASE);
}

/* Passes on the copy of a record if a process may write records of this type. */
static void take(struct shm_reader *r, size_t bytes, shm_record_fn fn, void *ctx)
{
	struct xpu_record *record = (struct xpu_record *)copy;
	size_t least;

	switch (record->type) {
	case XPU_RECORD_LAUNCH:
	case XPU_RECORD_LAUNCH_WAIT:
		least = sizeof(struct xpu_ring_launch);
		break;
	case XPU_RECORD_LOG:
		least = sizeof(struct xpu_ring_log);
		break;
	case XPU_RECORD_BATCH:
		least = sizeof(struct xpu_record_batch);
		break;
	case XPU_RECORD_MMAP:
		least = sizeof(struct xpu_record_mmap) + 1;
		break;
	case XPU_RECORD_COMM:
		least = sizeof(struct xpu_record_comm);
		break;
	default:
		r->nr_lost[XPU_LOST_READ]++;
		return;
	}
	if (bytes < least) {
		r->nr_lost[XPU_LOST_READ]++;
		return;
	}
	record->size = bytes;
	fn(ctx, record, bytes);
}

/*
 * Skips space that writers reserved but did not begin to write. Only a batch can be lost there: a
 * launch is recorded before it happens, and a log's entries are still in the log.
 */
static void skip_hole(struct shm_reader *r, uint64_t left)
{
	uint64_t bytes = 0;

	while (bytes < left && !*(const uint64_t *)(at_tail(r) + bytes))
		bytes += sizeof(uint64_t);
	if (bytes > LARGEST_OTHER)
		r->nr_lost[XPU_LOST_BATCH]++;
	give_back(r, bytes);
}

/*
 * Takes or skips the record at the tail. @left: bytes up to the head; @ended: no writer exists any
 * more. Return: whether there was a record.
 */
static bool next(struct shm_reader *r, uint64_t left, bool ended, shm_record_fn fn, void *ctx)
{
	uint64_t value = __atomic_load_n((const uint64_t *)at_tail(r), __ATOMIC_ACQUIRE);
	struct xpu_shm_word word;
	unsigned int kind;

	if (!value && !ended)
		return false;
	if (!value) {
		skip_hole(r, left);
		return true;
	}
	memcpy(&word, &value, sizeof(word));
	if (word.bytes % 8 || word.bytes < sizeof(struct xpu_record) ||
	    word.bytes > sizeof(copy) || word.bytes > left - sizeof(word)) {
		give_up(r);
		return false;
	}
	if (word.state & XPU_SHM_DONE) {
		memcpy(copy, at_tail(r) + sizeof(word), word.bytes);
		take(r, word.bytes, fn, ctx);
	} else if (ended) {
		kind = XPU_SHM_KIND(word.state);
		if (kind && kind < XPU_LOST_NR)
			r->nr_lost[kind]++;
	} else {
		return false;
	}
	give_back(r, sizeof(word) + word.bytes);
	return true;
}

static bool drain(struct shm_reader *r, bool ended, shm_record_fn fn, void *ctx)
{
	uint64_t end;

	if (r->broken)
		return true;
	end = __atomic_load_n(&r->writer->head, __ATOMIC_ACQUIRE);
	if (end - r->tail > r->ring_bytes || end % 8) {
		give_up(r);
		return true;
	}
	while (r->tail < end && !r->broken && next(r, end - r->tail, ended, fn, ctx))
		;
	return r->tail >= end || r->broken;
}

bool shm_reader__drain(struct shm_reader *r, shm_record_fn fn, void *ctx)
{
	return drain(r, false, fn, ctx);
}

/* Takes the last entries in a thread's log, as the BPF programs do at a thread's end. */
static void take_log(const uint8_t *shared, shm_record_fn fn, void *ctx)
{
	uint8_t bytes_of_log[XPU_LOG_BYTES] __attribute__((aligned(8)));
	const struct xpu_log *log = (const struct xpu_log *)bytes_of_log;
	struct xpu_ring_log *out = (struct xpu_ring_log *)copy;
	const struct xpu_clock *clock;
	uint64_t at, nr;
	size_t bytes;

	memcpy(bytes_of_log, shared, sizeof(bytes_of_log));
	at = log->tail % XPU_LOG_ENTRIES;
	nr = log->head - log->tail;
	if (log->size != XPU_LOG_BYTES || log->head <= log->tail || nr > XPU_LOG_ENTRIES - at)
		return;
	clock = &log->clocks[log->clock & 1];
	bytes = nr * sizeof(log->entries[0]);
	*out = (struct xpu_ring_log){
		.hdr = { XPU_RECORD_LOG, 0, sizeof(*out) + bytes },
		.first = log->tail,
		.clock_ticks = clock->ticks,
		.clock_ns = clock->ns,
		.clock_rate = clock->rate,
		.ns_tid = log->tid,
		.log_id = log->id,
		.nr = nr,
		.range_id = log->range_id,
	};
	memcpy(out->entries, &log->entries[at], bytes);
	fn(ctx, &out->hdr, sizeof(*out) + bytes);
}

void shm_reader__finish(struct shm_reader *r, shm_record_fn fn, void *ctx)
{
	uint32_t nr = __atomic_load_n(&r->writer->nr_threads, __ATOMIC_ACQUIRE), i;
	uint32_t log_at = __atomic_load_n(&r->writer->log_at, __ATOMIC_ACQUIRE);

	drain(r, true, fn, ctx);
	if (nr > XPU_SHM_NR_THREADS || log_at % 8 || log_at > XPU_SHM_THREAD_BYTES - XPU_LOG_BYTES)
		return;
	for (i = 0; i < nr && !r->broken; i++)
		take_log(r->map + xpu_shm__thread_at(i) + log_at, fn, ctx);
}
