// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory shared with a process. Records come out once, in order, even around the end of the ring,
 * as soon as they are complete. If the process was killed, all complete records come out, and
 * incomplete records are counted. Impossible contents end the reading. Memory that may shrink, and
 * files that are not memory, are refused. fuzz_shm tries everything else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "record/shm_reader.h"
#include "shm_memory.h"
#include "tap.h"
#include "xpu_slot.h"

static struct shm_reader *r;
static uint8_t *map;
static uint64_t ring_at, bytes, ring_bytes;
static uint64_t nr_taken, last_id, nr_wrong;
static struct xpu_ring_log last_log;

static struct xpu_shm_writer *writer(void)
{
	return (struct xpu_shm_writer *)(map + XPU_SHM_PAGE);
}

static struct xpu_shm_reader *reader(void)
{
	return (struct xpu_shm_reader *)map;
}

static void start(void)
{
	int fd;

	ring_bytes = shm_reader__ring_bytes(0);
	ring_at = xpu_shm__ring_at();
	bytes = xpu_shm__bytes(ring_bytes);
	fd = shm_memory__new(ring_bytes, &map);
	if (fd < 0 || shm_reader__new(&(struct shm_memory){ .fd = fd }, ring_bytes, &r))
		exit(1);
	close(fd);
	nr_taken = last_id = nr_wrong = 0;
}

static void stop(void)
{
	shm_reader__free(r);
	is_int(reader()->state, XPU_SHM_CLOSED, "the process can see that the reader has ended");
	munmap(map, bytes);
}

static void on_record(void *ctx, struct xpu_record *record, size_t size)
{
	const struct xpu_ring_launch *launch = (const struct xpu_ring_launch *)record;

	(void)ctx;
	nr_taken++;
	if (record->type == XPU_RECORD_LOG) {
		memcpy(&last_log, record, sizeof(last_log));
		return;
	}
	nr_wrong += size != sizeof(*launch) + launch->nr_frames * 8 ||
		    launch->graph_node_id != last_id + 1 ||
		    (launch->nr_frames && launch->frames[launch->nr_frames - 1] != last_id + 1);
	last_id = launch->graph_node_id;
}

static void put(uint64_t at, const void *data, size_t size)
{
	const uint8_t *from = data;

	for (; size; size--)
		map[ring_at + at++ % ring_bytes] = *from++;
}

/* Reserves space as the shim does. @state: the state word; 0: not written */
static void put_launch(uint64_t id, uint32_t nr_frames, unsigned int state)
{
	static uint64_t record[sizeof(struct xpu_ring_launch) / 8 + 64];
	struct xpu_ring_launch *launch = (struct xpu_ring_launch *)record;
	uint32_t size = sizeof(*launch) + nr_frames * 8;
	struct xpu_shm_word word = { size, state };
	uint64_t head = writer()->head;

	*launch = (struct xpu_ring_launch){
		.hdr = { XPU_RECORD_LAUNCH, 0, size }, .graph_node_id = id, .nr_frames = nr_frames,
	};
	if (nr_frames)
		launch->frames[nr_frames - 1] = id;
	writer()->head += sizeof(word) + size;
	if (!state)
		return;
	put(head, &word, sizeof(word));
	put(head + sizeof(word), record, size);
}

static void finish_last(uint64_t head)
{
	uint32_t state = XPU_SHM_DONE;

	put(head + 4, &state, sizeof(state));
}

static void check_order(void)
{
	uint64_t i, head;

	start();
	for (i = 1; i <= 20000; i++) {
		put_launch(i, i % 60, XPU_SHM_DONE);
		if (i % 100 == 0 && !shm_reader__drain(r, on_record, NULL))
			break;
	}
	is_int(nr_taken, 20000, "many times the ring's size: all records are read");
	is_int(nr_wrong, 0, "many times the ring's size: each record is unchanged and in order");
	is_int(reader()->tail, writer()->head, "the process can see how far the ring was read");

	head = writer()->head;
	put_launch(20001, 3, XPU_SHM_BUSY);
	put_launch(20002, 3, XPU_SHM_DONE);
	ok(!shm_reader__drain(r, on_record, NULL) && nr_taken == 20000,
	   "neither a record that is being written nor a later one is read");
	finish_last(head);
	ok(shm_reader__drain(r, on_record, NULL) && nr_taken == 20002 && !nr_wrong,
	   "the later records are read when that record is written");
	stop();
}

static void check_kill(void)
{
	struct xpu_log *log;

	start();
	put_launch(1, 2, XPU_SHM_DONE);
	put_launch(0, 5, 0);
	put_launch(2, 2, XPU_SHM_DONE);
	put_launch(0, 5, XPU_SHM_BUSY | XPU_LOST_BATCH);
	put_launch(3, 2, XPU_SHM_DONE);
	put_launch(0, 5, 0);
	shm_reader__drain(r, on_record, NULL);
	is_int(nr_taken, 1, "killed while it wrote a record: earlier records are read");

	writer()->nr_threads = 3;
	writer()->log_at = 128;
	log = (struct xpu_log *)(map + xpu_shm__thread_at(2) + 128);
	log->size = XPU_LOG_BYTES;
	log->id = 7;
	log->tid = 99;
	log->head = 133;
	log->tail = 130;
	shm_reader__finish(r, on_record, NULL);
	is_int(last_id, 3, "killed: all complete records are read");
	is_int(nr_wrong, 0, "killed: each record is unchanged");
	is_int(shm_reader__nr_lost(r, XPU_LOST_BATCH), 1,
	       "killed: the incomplete record is counted as a lost batch");
	ok(nr_taken == 4 && last_log.nr == 3 && last_log.first == 130 && last_log.log_id == 7 &&
	   last_log.ns_tid == 99, "the log of a killed thread is read to its end");
	stop();
}

/*
 * Return: the number of batches that count as lost if a writer is killed after it reserved @size
 * bytes.
 */
static uint64_t lost_in_hole(uint64_t size)
{
	uint64_t nr;

	start();
	writer()->head += sizeof(struct xpu_shm_word) + size;
	shm_reader__finish(r, on_record, NULL);
	nr = shm_reader__nr_lost(r, XPU_LOST_BATCH);
	stop();
	return nr;
}

static void check_hole(void)
{
	const uint64_t log =
		sizeof(struct xpu_ring_log) + XPU_LOG_ENTRIES * sizeof(struct xpu_log_entry);

	is_int(lost_in_hole(log), 0,
	       "killed before a log was written: nothing is lost, because the log is in "
	       "the thread's pages");
	is_int(lost_in_hole(log + 8), 1,
	       "more missing bytes than a log can have count as a lost batch");
}

/* Puts a record of @type, of @size bytes. */
static void put_other(uint16_t type, uint32_t size)
{
	struct {
		struct xpu_record record;
		uint64_t rest[64];
	} out = { .record = { type, 0, 8 } };
	struct xpu_shm_word word = { size, XPU_SHM_DONE };
	uint64_t head = writer()->head;

	writer()->head += sizeof(word) + size;
	put(head, &word, sizeof(word));
	put(head + sizeof(word), &out, size);
}

static void on_other(void *ctx, struct xpu_record *record, size_t size)
{
	(void)ctx;
	nr_wrong += record->size != size ||
		    (record->type != XPU_RECORD_MMAP && record->type != XPU_RECORD_COMM);
	nr_taken++;
}

static void check_maps(void)
{
	start();
	put_other(XPU_RECORD_MMAP, sizeof(struct xpu_record_mmap) + 8);
	put_other(XPU_RECORD_COMM, sizeof(struct xpu_record_comm));
	put_other(XPU_RECORD_MMAP, sizeof(struct xpu_record_mmap));
	put_other(XPU_RECORD_COMM, sizeof(struct xpu_record_comm) - 8);
	put_other(XPU_RECORD_PROCESS, 128);
	shm_reader__drain(r, on_other, NULL);
	ok(nr_taken == 2 && !nr_wrong, "mappings and names are read, with their true size");
	is_int(shm_reader__nr_lost(r, XPU_LOST_READ), 3,
	       "short mappings, and records that a process may not send, are counted");
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_NONE,
	       "a process has sent no mappings until it says so");
	writer()->maps = XPU_SHM_MAPS_SENT;
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_SENT, "a process has sent its mappings");
	writer()->met_unloads = 5;
	writer()->told_unloads = 4;
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_NONE,
	       "a launch after code was unloaded may need other mappings");
	writer()->told_unloads = 6;
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_SENT,
	       "the mappings are valid once they are sent again");
	writer()->maps = XPU_SHM_MAPS_LAST + 1;
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_NONE, "an unknown state counts as no mappings");
	writer()->maps = XPU_SHM_MAPS_LAST;
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_LAST, "a process has sent its last mappings");
	writer()->dropped[XPU_LOST_SIDEBAND] = 2;
	is_int(shm_reader__nr_lost(r, XPU_LOST_SIDEBAND), 2, "mappings without space are counted");
	writer()->head = ring_bytes * 3;
	shm_reader__drain(r, on_other, NULL);
	is_int(shm_reader__maps(r), XPU_SHM_MAPS_NONE, "invalid memory counts as no mappings");
	stop();
}

static void check_broken(void)
{
	start();
	put_launch(1, 2, XPU_SHM_DONE);
	writer()->head = ring_bytes + 8;
	ok(shm_reader__drain(r, on_record, NULL) && shm_reader__is_broken(r) && !nr_taken,
	   "an impossible head ends the reading");
	is_int(shm_reader__nr_lost(r, XPU_LOST_READ), 1, "an impossible head is counted");
	writer()->dropped[XPU_LOST_LAUNCH] = UINT64_MAX;
	ok(shm_reader__nr_lost(r, XPU_LOST_LAUNCH) <= 1ull << 48,
	   "forged counts make no sum overflow");
	writer()->dropped[XPU_LOST_PROCESS] = 5;
	is_int(shm_reader__nr_lost(r, XPU_LOST_PROCESS), 0,
	       "only losses that a process can count itself are read from its memory");
	writer()->nr_threads = UINT32_MAX;
	writer()->log_at = UINT32_MAX;
	shm_reader__finish(r, on_record, NULL);
	is_int(nr_taken, 0, "no log is read beyond the memory");
	stop();
}

/* Offers the file @fd, and closes it. Return: the reader's result. */
static int offer(int fd)
{
	struct shm_memory memory = { .fd = fd };
	int err = fd < 0 ? 1 : shm_reader__new(&memory, ring_bytes, &r);

	close(fd);
	return err;
}

static void check_memory(void)
{
	int pipe_fds[2], fd;

	is_int(shm_reader__ring_bytes(300000), 524288, "the size of a ring becomes a power of two");
	is_int(offer(shm_memory__file(MFD_ALLOW_SEALING, bytes, F_SEAL_GROW | F_SEAL_SEAL)),
	       -EPROTO, "memory that can still shrink is refused");
	is_int(offer(shm_memory__file(MFD_ALLOW_SEALING, bytes, F_SEAL_SHRINK | F_SEAL_SEAL)),
	       -EPROTO, "memory that can still grow is refused");
	is_int(offer(shm_memory__file(0, bytes, 0)), -EPROTO, "memory without seals is refused");
	is_int(offer(shm_memory__file(MFD_ALLOW_SEALING, bytes - 4096, SHM_SEALS)), -EPROTO,
	       "memory of a smaller size is refused");
	is_int(offer(shm_memory__file(MFD_ALLOW_SEALING, bytes + 4096, SHM_SEALS)), -EPROTO,
	       "memory of a larger size is refused");
	is_int(offer(shm_memory__file(MFD_ALLOW_SEALING, 1ull << 40, SHM_SEALS)), -EPROTO,
	       "memory of a huge size is refused");
	is_int(offer(shm_memory__file(MFD_ALLOW_SEALING, 0, SHM_SEALS)), -EPROTO,
	       "empty memory is refused");
	is_int(offer(open("/dev/zero", O_RDWR)), -EPROTO, "a device is refused");
	is_int(offer(open(".", O_RDONLY)), -EPROTO, "a directory is refused");
	is_int(offer(open(".", O_PATH)), -EPROTO, "a descriptor of a path is refused");
	is_int(offer(open("file", O_RDWR | O_CREAT, 0600)), -EPROTO,
	       "a file on a disk is refused");
	if (!pipe(pipe_fds)) {
		close(pipe_fds[1]);
		is_int(offer(pipe_fds[0]), -EPROTO, "a pipe is refused");
	}
	fd = shm_memory__file(MFD_ALLOW_SEALING, bytes, F_SEAL_WRITE | SHM_SEALS);
	ok(offer(fd) < 0, "memory that cannot be written to is refused");
}

/*
 * Offers the segment @id as a segment of the process @pid and the user @uid. Return: the reader's
 * result.
 */
static int offer_segment(int id, pid_t pid, uid_t uid)
{
	struct shm_memory memory = { .fd = -1, .segment = id, .owner = { .pid = pid, .uid = uid } };

	return shm_reader__new(&memory, ring_bytes, &r);
}

static void check_segment(void)
{
	int id = shmget(IPC_PRIVATE, bytes, 0600), large, gone;

	map = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	if (map == (void *)-1)
		exit(1);
	shmctl(id, IPC_RMID, NULL);
	is_int(offer_segment(id, getpid() + 1, getuid()), -EPROTO,
	       "a segment that another process made is refused");
	is_int(offer_segment(id, getpid(), getuid() + 1), -EPROTO,
	       "another user's segment is refused");
	large = shmget(IPC_PRIVATE, bytes + 4096, 0600);
	is_int(offer_segment(large, getpid(), getuid()), -EPROTO,
	       "a segment of another size is refused");
	gone = shmget(IPC_PRIVATE, bytes, 0600);
	shmctl(large, IPC_RMID, NULL);
	shmctl(gone, IPC_RMID, NULL);
	ok(offer_segment(gone, getpid(), getuid()) < 0, "a segment that is gone is refused");
	ok(!reader()->taken, "nothing that was refused has been written to");
	is_int(offer_segment(id, getpid(), getuid()), 0, "a segment marked as removed is accepted");
	ok(reader()->taken, "the process can see that its memory was accepted");
	nr_taken = last_id = nr_wrong = 0;
	put_launch(1, 2, XPU_SHM_DONE);
	ok(shm_reader__drain(r, on_record, NULL) && nr_taken == 1 && !nr_wrong,
	   "a record in a segment is read");
	shm_reader__free(r);
	shmdt(map);
}

int main(void)
{
	if (getenv("XPU_EMULATED"))
		skip_all("an emulator does not map shared memory twice");
	check_order();
	check_kill();
	check_hole();
	check_maps();
	check_broken();
	check_memory();
	check_segment();
	return done_testing();
}
