// SPDX-License-Identifier: MIT
#include "wire/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/call.h"
#include "base/clock.h"
#include "base/libc.h"
#include "base/memory.h"
#include "base/walk_fp.h"
#include "xpu_record.h"
#include "xpu_shm.h"

#define SETTLE_NS	1000000000ull	/* how long threads may take to finish their records */
#define LOOK_NS		1000000000ull	/* after this long without progress, check whether the
					 * reader exists */
#define AGAIN_NS	10000000ll	/* time between attempts to hand the memory over at the
					 * end */
#define AHEAD		(256u << 10)	/* bytes of the ring that get memory in advance */
#define HIGH_FD		512		/* lowest number for a descriptor that is kept; programs
					 * that choose numbers themselves choose lower numbers */

#ifndef MADV_POPULATE_WRITE		/* not in the headers of every supported distribution */
#define MADV_POPULATE_WRITE	23
#endif

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		8u
#endif

_Static_assert(XPU_LOST_NR <= XPU_SHM_NR_LOST, "each kind has a counter");
_Static_assert(XPU_SHM_PAGE == PAGE, "pages are mapped");
_Static_assert(XPU_SHM_RECORD_MAX + sizeof(struct xpu_shm_word) <= AHEAD,
	       "a step has room for a record");

enum { NOT_STARTED, STARTING, OPEN, NO_MEMORY, FORKED };

/*
 * SENT: xpuload has the id of a segment, but has not attached it yet. TAKEN: the memory outlives
 * this process, since it is in a message or xpuload has it. REFUSED: xpuload will never take the
 * memory.
 */
enum { NOT_SENT, SENT, TAKEN, REFUSED };

static struct {
	struct sockaddr_un address;	/* the socket in the abstract namespace */
	socklen_t address_bytes;
	uint8_t token[XPU_SHM_TOKEN_BYTES];
	unsigned int wants;		/* XPU_SHM_WANTS_* */
	bool wants_maps;
	int counts_id;			/* shmat() id of the page with @counts, or -1 */
	pid_t recorder;			/* xpuload's pid in this process's pid namespace, or 0 */

	struct xpu_shm_hello hello;
	int sent;			/* this and the members down to @counts are used by one
					 * thread at a time */
	bool again;			/* the descriptor is kept for the next recording */
	int memory;			/* the file's descriptor; -1: it was sent, or there is no
					 * file */
	int segment;			/* the id of the segment, or -1 */
	dev_t dev;			/* dev and ino show whether the program has closed the
					 * file */
	ino_t ino;
	uint64_t nr_before;		/* number of launches before this recording */
	uint64_t nr_told;		/* number of launches that @counts includes */
	struct xpu_shm_counts *counts;	/* NULL: missing, or no longer needed */

	atomic_int started;
	struct xpu_shm_reader *reader;	/* this and the members below are valid in the state OPEN */
	struct xpu_shm_writer *writer;
	uint8_t *threads;		/* the pages of threads */
	uint8_t *ring;			/* mapped twice, so that no record is split */
	uint64_t ring_bytes;
	atomic_uint_fast64_t populated;	/* number of bytes at the ring's start that have memory;
					 * UINT64_MAX: all */
	atomic_uint_fast64_t limit;	/* the head may advance to this value before the tail must
					 * be read again */
	uint16_t given[XPU_SHM_NR_THREADS];	/* numbers of threads whose pages can be used again;
						 * protected by the caller's lock */
	unsigned int nr_given;
} shm = { .memory = -1, .segment = -1, .counts_id = -1 };

static bool is_open_memory(void)
{
	return atomic_load_explicit(&shm.started, memory_order_acquire) == OPEN;
}

/* ---- making the memory ----------------------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_token(const char *digits)
{
	int i, high, low;

	for (i = 0; i < XPU_SHM_TOKEN_BYTES; i++) {
		high = digit(digits[2 * i]);
		low = high < 0 ? -1 : digit(digits[2 * i + 1]);
		if (low < 0)
			return false;
		shm.token[i] = high << 4 | low;
	}
	return digits[2 * XPU_SHM_TOKEN_BYTES] == ':';
}

/* Reads a number and the colon after it, if any, and moves *@at past them. */
static bool read_number(const char **at, uint64_t *nr)
{
	const char *p = *at;

	for (*nr = 0; digit(*p) >= 0 && !(*nr >> 60); p++)
		*nr = *nr << 4 | (uint64_t)digit(*p);
	if (p == *at || (*p && *p != ':'))
		return false;
	*at = *p ? p + 1 : p;
	return true;
}

bool shm__start(const char *where)
{
	const char *at = strchr(where, ':');
	size_t len = at ? at - where : 0;
	uint64_t flags, counts;

	if (!len || len >= sizeof(shm.address.sun_path) || !read_token(at + 1))
		return false;
	at += 2 * XPU_SHM_TOKEN_BYTES + 2;
	if (!read_number(&at, &flags) || !read_number(&at, &shm.ring_bytes) ||
	    !read_number(&at, &counts) || shm.ring_bytes < XPU_SHM_MIN_RING ||
	    shm.ring_bytes > XPU_SHM_MAX_RING || (shm.ring_bytes & (shm.ring_bytes - 1)))
		return false;
	shm.wants = flags;
	shm.counts_id = (int)(uint32_t)counts;
	shm.address.sun_family = AF_UNIX;
	memcpy(shm.address.sun_path + 1, where, len);
	shm.address_bytes = offsetof(struct sockaddr_un, sun_path) + 1 + len;
	return true;
}

bool shm__wants(unsigned int wanted)
{
	return shm.wants & wanted;
}

/*
 * Counts this process in xpuload's counters, so that xpuload notices if the process cannot hand
 * over its memory.
 */
static void count_process(void)
{
	long at = shm.counts_id < 0 ? -EINVAL : CALL(shmat, shm.counts_id, NULL, 0, 0, 0);
	struct xpu_shm_counts *counts = (struct xpu_shm_counts *)at;

	shm.wants_maps = true;		/* unless xpuload says otherwise */
	if (at < 0)
		return;
	if (memcmp(counts->token, shm.token, sizeof(shm.token))) {
		CALL(shmdt, counts, 0, 0, 0, 0);
		return;
	}
	shm.wants_maps = __atomic_load_n(&counts->flags, __ATOMIC_RELAXED) & XPU_SHM_WANTS_MAPS;
	__atomic_fetch_add(&counts->nr_processes, 1, __ATOMIC_RELAXED);
	shm.counts = counts;
	shm.hello.flags |= XPU_SHM_HELLO_COUNTED;
}

/*
 * Allocates shared pages now, because a page without memory would raise SIGBUS when it is first
 * touched.
 * Return: 0 or a negative errno, -EINVAL before Linux 5.14.
 */
static int populate(const void *at, uint64_t bytes)
{
	return CALL(madvise, at, bytes, MADV_POPULATE_WRITE, 0, 0);
}

/* Maps the file @memory, or the segment if @memory is -1. */
static int map(int memory, uint64_t ring_at, uint64_t bytes)
{
	bool has_file = memory >= 0;
	long again = 0;
	uint8_t *at;

	at = mmap(NULL, bytes + shm.ring_bytes, has_file ? PROT_READ | PROT_WRITE : PROT_NONE,
		  has_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, memory, 0);
	if (at == MAP_FAILED)
		return -errno;
	if (!has_file)
		again = CALL(shmat, shm.segment, at, SHM_REMAP, 0, 0);
	/* With an old size of 0, mremap() makes a second mapping of the same pages. */
	if (again >= 0)
		again = CALL(mremap, at + ring_at, 0, shm.ring_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			     at + bytes);
	if (again < 0) {
		munmap(at, bytes + shm.ring_bytes);
		return again;
	}
	shm.reader = (struct xpu_shm_reader *)at;
	shm.writer = (struct xpu_shm_writer *)(at + PAGE);
	shm.threads = at + xpu_shm__thread_at(0);
	shm.ring = at + ring_at;
	madvise(at, bytes + shm.ring_bytes, MADV_DONTDUMP);
	return 0;
}

/*
 * Allocates memory for the first records; for all records if memory cannot be added later. Return:
 * whether this succeeded.
 */
static bool fill(int memory, uint64_t bytes)
{
	int err = populate(shm.reader, 2 * PAGE);

	if (err == -EINVAL && !CALL(fallocate, memory, 0, 0, bytes, 0))
		atomic_store(&shm.populated, UINT64_MAX);
	else if (err)
		return false;
	shm__populate();
	return true;
}

/*
 * Sets the size of the file. If the size exceeds RLIMIT_FSIZE, Linux also sends SIGXFSZ to this
 * thread. That signal is meant for the program's own files, so the pending signal is removed.
 */
static int set_size(int fd, uint64_t bytes)
{
	const struct timespec now = { 0, 0 };
	/* Linux's form of a set of signals. */
	const uint64_t set = 1ull << (SIGXFSZ - 1);
	uint64_t before, pending = 0;
	int err;

	CALL(rt_sigpending, &pending, sizeof(pending), 0, 0, 0);
	CALL(rt_sigprocmask, SIG_BLOCK, &set, &before, sizeof(set), 0);
	err = CALL(ftruncate, fd, bytes, 0, 0, 0);
	if (err == -EFBIG && !(pending & set))
		CALL(rt_sigtimedwait, &set, NULL, &now, sizeof(set), 0);
	CALL(rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(set), 0);
	return err;
}

/*
 * Maps the memory. The ring is at the end of the memory, and is mapped a second time right after
 * itself. Return: whether the memory is mapped and its first pages are allocated.
 */
static bool map_memory(int memory)
{
	uint64_t bytes = xpu_shm__bytes(shm.ring_bytes);

	if (map(memory, xpu_shm__ring_at(), bytes))
		return false;
	if (fill(memory, bytes)) {
		shm.reader->state = XPU_SHM_OPEN;
		return true;
	}
	munmap(shm.reader, bytes + shm.ring_bytes);
	shm.writer = NULL;
	return false;
}

/* Makes the memory file. Return: its descriptor, or a negative errno. */
static int make_file(void)
{
	struct stat st;
	int fd, err;

	fd = CALL(memfd_create, "xpushim", MFD_CLOEXEC | MFD_NOEXEC_SEAL, 0, 0, 0);
	if (fd == -EINVAL)		/* before Linux 6.3 */
		fd = CALL(memfd_create, "xpushim", MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0);
	if (fd < 0)
		return fd;
	err = set_size(fd, xpu_shm__bytes(shm.ring_bytes));
	err = err ?: CALL(fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, 0, 0);
	err = err ?: CALL(fstat, fd, &st, 0, 0, 0);
	if (!err && !map_memory(fd))
		err = -ENOMEM;
	if (err) {
		CALL(close, fd, 0, 0, 0, 0);
		return err;
	}
	shm.dev = st.st_dev;
	shm.ino = st.st_ino;
	return fd;
}

static void offer_segment(void)
{
	if (shm.segment < 0)
		return;
	shm.hello.segment = shm.segment;
	shm.hello.flags |= XPU_SHM_HELLO_SEGMENT;
}

/*
 * Makes a segment instead of a file: limits on files and a lack of file descriptors do not matter
 * then. The segment disappears with the last process that has attached it. Return: whether this
 * succeeded.
 */
static bool make_segment(void)
{
	bool mapped;

	shm.segment = CALL(shmget, IPC_PRIVATE, xpu_shm__bytes(shm.ring_bytes), 0600, 0, 0);
	if (shm.segment < 0)
		return false;
	mapped = map_memory(-1);
	CALL(shmctl, shm.segment, IPC_RMID, NULL, 0, 0);
	if (!mapped)
		return false;
	offer_segment();
	return true;
}

bool shm__read_name(const char *path, char *name, size_t len)
{
	long fd = CALL(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0, 0), n;

	if (fd < 0)
		return false;
	n = CALL(read, fd, name, len - 1, 0, 0);
	CALL(close, fd, 0, 0, 0, 0);
	name[n > 0 ? n : 0] = '\0';
	if (n > 0 && name[n - 1] == '\n')
		name[n - 1] = '\0';
	return n > 0;
}

/* ---- handing it over ------------------------------------------------------------------------- */

/*
 * Whether the descriptor still refers to the memory: the program may have closed the descriptor and
 * opened another file with the same number.
 */
static bool has_memory(void)
{
	struct stat st;

	return shm.memory >= 0 && !CALL(fstat, shm.memory, &st, 0, 0, 0) && st.st_dev == shm.dev &&
	       st.st_ino == shm.ino;
}

/*
 * Whether xpuload, or root, holds the other end: once xpuload has gone, anybody may take the
 * socket's name.
 */
static bool is_recorder(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (CALL(getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    (peer.uid && peer.uid != (uid_t)CALL(geteuid, 0, 0, 0, 0, 0)))
		return false;
	shm.recorder = peer.pid;
	return true;
}

/*
 * Sends the hello message without waiting, with the descriptor of the shared memory if there is
 * one. Return: 0 or a negative errno.
 */
static int send_hello(int fd)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {
		.hdr = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
			 .cmsg_len = CMSG_LEN(sizeof(int)) },
	};
	struct iovec iov = { &shm.hello, sizeof(shm.hello) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	long n;

	if (shm.memory >= 0) {
		memcpy(CMSG_DATA(&control.hdr), &shm.memory, sizeof(shm.memory));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	n = CALL(sendmsg, fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	return n < 0 ? n : 0;
}

static void close_memory(void)
{
	if (has_memory())
		CALL(close, shm.memory, 0, 0, 0, 0);
	shm.memory = -1;
}

/* Ends the attempts to send the memory, because xpuload has it or nobody will take it. */
static void end_sending(int how)
{
	if (!shm.again)
		close_memory();
	shm.sent = how;
	if (how == TAKEN && shm.counts) {
		__atomic_fetch_sub(&shm.counts->nr_launches, shm.nr_told, __ATOMIC_RELAXED);
		CALL(shmdt, shm.counts, 0, 0, 0, 0);
		shm.counts = NULL;
	}
	if (how == REFUSED && is_open_memory())
		__atomic_store_n(&shm.reader->state, XPU_SHM_CLOSED, __ATOMIC_RELEASE);
}

/*
 * Tries to hand over the memory; called again if the socket's queue is full, the user has too many
 * descriptors in flight, or xpuload has not attached the segment yet.
 */
static void hand_over(void)
{
	int fd, err;

	if (shm.sent == SENT && __atomic_load_n(&shm.reader->taken, __ATOMIC_ACQUIRE))
		end_sending(TAKEN);
	if (shm.sent != NOT_SENT)
		return;
	if (shm.memory >= 0 && !has_memory()) {
		end_sending(REFUSED);
		return;
	}
	fd = CALL(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0);
	if (fd < 0)
		return;
	err = CALL(connect, fd, &shm.address, shm.address_bytes, 0, 0);
	/* Nobody listens at the address any more, or another program does. */
	if (err == -ECONNREFUSED || (!err && !is_recorder(fd)))
		end_sending(REFUSED);
	else if (!err && !send_hello(fd))
		end_sending(shm.hello.flags & XPU_SHM_HELLO_SEGMENT ? SENT : TAKEN);
	CALL(close, fd, 0, 0, 0, 0);
}

/* Makes the hello for a recording that begins, and counts the process. */
static void begin_hello(void)
{
	shm.hello = (struct xpu_shm_hello){
		.magic = XPU_SHM_MAGIC, .version = XPU_SHM_VERSION, .image = clock__ns(),
		.pid = getpid(),
	};
	memcpy(shm.hello.token, shm.token, sizeof(shm.token));
	count_process();
	if (shm.wants_maps)
		shm__read_name("/proc/self/comm", shm.hello.comm, sizeof(shm.hello.comm));
}

static void start(void)
{
	int state = NOT_STARTED, saved_errno = errno, high;

	if (!shm.address_bytes || !atomic_compare_exchange_strong(&shm.started, &state, STARTING))
		return;
	begin_hello();
	shm.memory = make_file();
	atomic_store(&shm.started, shm.memory >= 0 || make_segment() ? OPEN : NO_MEMORY);
	hand_over();
	high = has_memory() ? CALL(fcntl, shm.memory, F_DUPFD_CLOEXEC, HIGH_FD, 0, 0) : -1;
	if (high >= 0) {
		CALL(close, shm.memory, 0, 0, 0, 0);
		shm.memory = high;
	}
	errno = saved_errno;
}

/*
 * Waits until all records in the ring are complete: a thread that found the memory open may write
 * its record after the memory was closed. Return: whether all are complete.
 */
static bool settle(void)
{
	uint64_t at = __atomic_load_n(&shm.reader->tail, __ATOMIC_ACQUIRE), value;
	uint64_t head = __atomic_load_n(&shm.writer->head, __ATOMIC_ACQUIRE);
	uint64_t end_ns = clock__ns() + SETTLE_NS;
	struct timespec pause = { 0, AGAIN_NS };
	struct xpu_shm_word word;

	while (at < head) {
		value = __atomic_load_n((uint64_t *)(shm.ring + (at & (shm.ring_bytes - 1))),
					__ATOMIC_ACQUIRE);
		memcpy(&word, &value, sizeof(word));
		if (word.state & XPU_SHM_DONE) {
			at += sizeof(word) + word.bytes;
			continue;
		}
		if (clock__ns() >= end_ns)
			return false;
		CALL(ppoll, NULL, 0, &pause, NULL, 0);
	}
	return true;
}

/* Offers the emptied memory of the last recording. Return: like shm__start_again() */
static int empty(void)
{
	uint64_t tail = shm.reader->tail, head = shm.writer->head;

	if (shm.segment < 0 && !has_memory())
		return -ESTALE;
	if (head - tail > shm.ring_bytes || !settle())
		return -EBUSY;
	/*
	 * These bytes may extend into the second mapping of the ring, which follows the first one.
	 */
	memset(shm.ring + (tail & (shm.ring_bytes - 1)), 0, head - tail);
	memset(shm.writer->dropped, 0, sizeof(shm.writer->dropped));
	shm.writer->told_unloads = shm.writer->met_unloads = 0;
	shm.writer->maps = XPU_SHM_MAPS_NONE;
	atomic_store(&shm.limit, 0);
	__atomic_store_n(&shm.writer->head, 0, __ATOMIC_RELEASE);
	shm.reader->tail = 0;
	shm.reader->taken = 0;
	begin_hello();
	offer_segment();
	shm.sent = NOT_SENT;
	__atomic_store_n(&shm.reader->state, XPU_SHM_OPEN, __ATOMIC_RELEASE);
	hand_over();
	return 0;
}

int shm__start_again(const char *where, uint64_t nr_launches)
{
	uint64_t ring_bytes = shm.ring_bytes;
	int state = atomic_load(&shm.started);

	shm.again = true;
	shm.nr_before = nr_launches;
	shm.nr_told = 0;
	shm.recorder = 0;
	if (state == NO_MEMORY)
		atomic_store(&shm.started, NOT_STARTED);
	else if (state != NOT_STARTED && state != OPEN)
		return -ESTALE;
	if (!shm__start(where))
		return -EINVAL;
	if (state != OPEN)
		return 0;		/* shm__state() makes the memory */
	if (shm.ring_bytes != ring_bytes) {
		shm.ring_bytes = ring_bytes;
		return -ESTALE;
	}
	return empty();
}

bool shm__is_started(const char *where)
{
	size_t len = shm.address_bytes - offsetof(struct sockaddr_un, sun_path) - 1;

	return shm.address_bytes && !strncmp(where, shm.address.sun_path + 1, len) &&
	       where[len] == ':';
}

void shm__stop(void)
{
	if (is_open_memory())
		__atomic_store_n(&shm.reader->state, XPU_SHM_CLOSED, __ATOMIC_RELEASE);
	shm.address_bytes = 0;
	shm.wants_maps = false;
	if (shm.counts)
		CALL(shmdt, shm.counts, 0, 0, 0, 0);
	shm.counts = NULL;
}

void shm__tell(uint64_t nr_launches, uint64_t wait_ns)
{
	struct timespec pause = { 0, AGAIN_NS };
	uint64_t end_ns = clock__ns() + wait_ns;

	if (atomic_load(&shm.started) != OPEN && atomic_load(&shm.started) != NO_MEMORY)
		return;
	nr_launches -= shm.nr_before;
	for (;;) {
		hand_over();
		if (shm.sent != TAKEN && shm.counts) {
			__atomic_fetch_add(&shm.counts->nr_launches, nr_launches - shm.nr_told,
					   __ATOMIC_RELAXED);
			shm.nr_told = nr_launches;
		}
		if (shm.sent == TAKEN || shm.sent == REFUSED || clock__ns() >= end_ns)
			break;
		CALL(ppoll, NULL, 0, &pause, NULL, 0);
	}
}

bool shm__is_told(void)
{
	return shm.sent == TAKEN || (shm.sent == REFUSED && !shm.counts);
}

bool shm__is_unheard(void)
{
	return shm.sent == REFUSED && !shm.recorder && !(shm.hello.flags & XPU_SHM_HELLO_COUNTED);
}

enum shm_state shm__state(void)
{
	static uint64_t tail, since_ns;
	uint64_t now, read;

	start();
	if (!is_open_memory())
		return SHM_NONE;
	switch (__atomic_load_n(&shm.reader->state, __ATOMIC_ACQUIRE)) {
	case XPU_SHM_OPEN:
		break;
	case XPU_SHM_LEAVING:
		return SHM_LEAVING;
	default:
		return SHM_GONE;
	}
	/* If xpuload was killed, it could not set the state: check whether it still exists. */
	now = clock__ns();
	read = __atomic_load_n(&shm.reader->tail, __ATOMIC_RELAXED);
	if (read != tail || !since_ns) {
		tail = read;
		since_ns = now;
	} else if (now - since_ns >= LOOK_NS) {
		since_ns = now;
		if (shm.recorder > 0 && CALL(kill, shm.recorder, 0, 0, 0, 0) == -ESRCH)
			__atomic_store_n(&shm.reader->state, XPU_SHM_CLOSED, __ATOMIC_RELEASE);
	}
	return SHM_OPEN;
}

/*
 * Allocates the ring's memory up to @end, during the first pass through the ring. Return: whether
 * the ring has memory up to @end.
 */
static bool populate_to(uint64_t end)
{
	uint64_t before = atomic_load(&shm.populated), bytes;

	if (end <= before)
		return true;
	end = (end + AHEAD - 1) & ~(AHEAD - 1ull);
	if (end >= shm.ring_bytes) {
		/* A record that crosses the end is written through the second mapping. */
		end = UINT64_MAX;
		bytes = shm.ring_bytes + XPU_SHM_RECORD_MAX;
	} else {
		bytes = end;
	}
	if (populate(shm.ring + before, bytes - before))
		return false;
	/* Another thread may have allocated more meanwhile. */
	while (before < end && !atomic_compare_exchange_weak(&shm.populated, &before, end))
		;
	return true;
}

void shm__populate(void)
{
	if (shm.writer)
		populate_to(__atomic_load_n(&shm.writer->head, __ATOMIC_RELAXED) + AHEAD);
}

void shm__forked(void)
{
	int state = atomic_exchange(&shm.started, FORKED);

	if (state == OPEN)
		munmap(shm.reader, xpu_shm__bytes(shm.ring_bytes) + shm.ring_bytes);
	close_memory();
	if (shm.counts)
		CALL(shmdt, shm.counts, 0, 0, 0, 0);
	shm.counts = NULL;
	shm.writer = NULL;
}

/* ---- pages of threads ------------------------------------------------------------------------ */

bool shm__leave_pages(void *pages)
{
	return mmap(pages, XPU_SHM_THREAD_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == pages;
}

bool shm__take_pages(void *pages, size_t log_at, unsigned int *taken)
{
	unsigned int number;
	uint8_t *at;

	*taken = 0;
	if (!is_open_memory())
		return true;
	shm.writer->log_at = log_at;
	if (shm.nr_given)
		number = shm.given[shm.nr_given - 1] + 1u;
	else
		number = shm.writer->nr_threads + 1;
	if (number > XPU_SHM_NR_THREADS)
		return true;
	at = shm.threads + (size_t)(number - 1) * XPU_SHM_THREAD_BYTES;
	if (atomic_load(&shm.populated) != UINT64_MAX && populate(at, XPU_SHM_THREAD_BYTES))
		return true;
	memset(at, 0, XPU_SHM_THREAD_BYTES);
	/* With an old size of 0, mremap() makes a second mapping of the same pages. */
	if (syscall(SYS_mremap, at, 0, XPU_SHM_THREAD_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		    pages) == -1)
		return shm__leave_pages(pages);	/* the old pages may already be unmapped */
	if (shm.nr_given)
		shm.nr_given--;
	else
		__atomic_store_n(&shm.writer->nr_threads, number, __ATOMIC_RELEASE);
	*taken = number;
	return true;
}

void shm__give_pages(unsigned int number)
{
	if (!number)
		return;
	memset(shm.threads + (size_t)(number - 1) * XPU_SHM_THREAD_BYTES, 0, XPU_SHM_THREAD_BYTES);
	shm.given[shm.nr_given++] = number - 1;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static void drop(enum xpu_lost_kind kind, uint64_t nr)
{
	if (nr)
		__atomic_fetch_add(&shm.writer->dropped[kind], nr, __ATOMIC_RELAXED);
}

/* Sets the limit up to which the head may advance. Return: whether there is room for @bytes. */
static __attribute__((noinline, cold)) bool extend(size_t bytes)
{
	uint64_t head = __atomic_load_n(&shm.writer->head, __ATOMIC_RELAXED);
	uint64_t end = head + sizeof(struct xpu_shm_word) + bytes;
	uint64_t limit = __atomic_load_n(&shm.reader->tail, __ATOMIC_ACQUIRE) + shm.ring_bytes;
	uint64_t populated;
	int saved_errno = errno;

	if (end > limit || !populate_to(end)) {
		errno = saved_errno;
		return false;
	}
	errno = saved_errno;
	populated = atomic_load(&shm.populated);
	/*
	 * This may lower a limit that another thread has just raised. The next extend() raises it
	 * again.
	 */
	atomic_store_explicit(&shm.limit, limit < populated ? limit : populated,
			      memory_order_release);
	return true;
}

/*
 * Return: room for @bytes, to be passed to commit(). If the ring has no room, returns NULL, and
 * extend() may find room.
 * @kind: the kind of record that is lost if the process is killed before commit(). reserve() calls
 * no function, so that its callers need not save registers.
 */
static void *reserve(size_t bytes, enum xpu_lost_kind kind)
{
	uint64_t head, need = sizeof(struct xpu_shm_word) + bytes;
	struct xpu_shm_word word = { bytes, XPU_SHM_BUSY | kind };
	uint64_t *at, value;

	head = __atomic_load_n(&shm.writer->head, __ATOMIC_RELAXED);
	do {
		if (head + need > atomic_load_explicit(&shm.limit, memory_order_acquire))
			return NULL;
	} while (!__atomic_compare_exchange_n(&shm.writer->head, &head, head + need, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	at = (uint64_t *)(shm.ring + (head & (shm.ring_bytes - 1)));
	memcpy(&value, &word, sizeof(value));
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
	/* The word must be visible before the record. */
	atomic_thread_fence(memory_order_release);
	return at + 1;
}

static void commit(void *room)
{
	struct xpu_shm_word *word = (struct xpu_shm_word *)room - 1;

	__atomic_store_n(&word->state, (word->state & ~XPU_SHM_BUSY) | XPU_SHM_DONE,
			 __ATOMIC_RELEASE);
}

static bool is_open(void)
{
	return is_open_memory() &&
	       __atomic_load_n(&shm.reader->state, __ATOMIC_RELAXED) != XPU_SHM_CLOSED;
}

/* Return: gettid() of the slot's thread, without a system call. */
static uint32_t slot_tid(const struct xpu_slot *slot)
{
	const struct xpu_slot *home = (const struct xpu_slot *)(uintptr_t)slot->home;
	const struct xpu_log *log = home ? (const struct xpu_log *)(uintptr_t)home->log : NULL;

	return log ? log->tid : 0;
}

static void put_launch(const struct xpu_slot *slot, const uint64_t *frames, uint32_t nr,
		       uint32_t flags);

static __attribute__((noinline, cold)) void put_launch_beyond(const struct xpu_slot *slot,
							      const uint64_t *frames, uint32_t nr,
							      uint32_t flags)
{
	if (extend(sizeof(struct xpu_ring_launch) + nr * sizeof(frames[0])))
		put_launch(slot, frames, nr, flags);
	else if (!(slot->flags & XPU_CHAIN_NO_LAUNCH))
		drop(slot->wait_ns ? XPU_LOST_WAIT : XPU_LOST_LAUNCH, 1);
}

static void put_launch(const struct xpu_slot *slot, const uint64_t *frames, uint32_t nr,
		       uint32_t flags)
{
	bool wait = slot->wait_ns != 0;
	size_t bytes = sizeof(struct xpu_ring_launch) + nr * sizeof(frames[0]);
	struct xpu_ring_launch *r;

	/*
	 * Kind 0 for launches: if the process is killed before commit(), it does not make the
	 * launch, so no launch is lost.
	 */
	r = reserve(bytes, wait ? XPU_LOST_WAIT : 0);
	if (!r) {
		put_launch_beyond(slot, frames, nr, flags);
		return;
	}
	*r = (struct xpu_ring_launch){
		.hdr = { wait ? XPU_RECORD_LAUNCH_WAIT : XPU_RECORD_LAUNCH, slot->wait_flags,
			 bytes },
		.time_ns = wait ? slot->wait_start_ns : slot->time_ns ?: clock__ns(),
		.correlation_id = slot->correlation_id,
		.cbid = slot->cbid,
		.domain = slot->domain,
		.flags = flags,
		.nr_frames = nr,
		.graph_node_id = slot->graph_node_id,
		.wait_ns = slot->wait_ns,
		.wait_context = slot->wait_context,
		.wait_stream = slot->wait_stream,
		.path_id = slot->path_id,
		.ns_tid = slot_tid(slot),
		.range_id = slot->range_id,
	};
	memcpy(r->frames, frames, nr * sizeof(frames[0]));
	commit(r);
}

/* Walks along frame pointers, as the BPF programs do where the shim does not unwind. */
static __attribute__((noinline)) void walk_and_put(const struct xpu_slot *slot)
{
	uint64_t frames[XPU_FP_FRAMES];
	uint32_t nr = walk_fp(frames, XPU_FP_FRAMES), flags = slot->flags;

	if (!nr)
		flags |= XPU_CHAIN_FAILED;
	if (nr == XPU_FP_FRAMES)
		flags |= XPU_CHAIN_TRUNCATED;
	put_launch(slot, frames, nr, flags);
}

void shm__launch(const struct xpu_slot *slot)
{
	uint32_t nr = slot->nr_frames, flags = slot->flags | XPU_CHAIN_SHIM;

	if (!slot->cbid || !is_open())
		return;
	if (!nr) {
		walk_and_put(slot);
		return;
	}
	/* The frames that the shim unwound are within the limit, but Python frames add to them. */
	if (nr > XPU_MAX_FRAMES) {
		nr = XPU_MAX_FRAMES;
		flags |= XPU_CHAIN_TRUNCATED;
	}
	put_launch(slot, (const uint64_t *)(uintptr_t)slot->frames, nr, flags);
}

void shm__batch(const void *records, size_t bytes)
{
	struct xpu_record_batch *r;

	if (!is_open())
		return;
	r = bytes <= XPU_BATCH_MAX ? reserve(sizeof(*r) + bytes, XPU_LOST_BATCH) : NULL;
	while (!r && bytes <= XPU_BATCH_MAX && extend(sizeof(*r) + bytes))
		r = reserve(sizeof(*r) + bytes, XPU_LOST_BATCH);
	if (!r) {
		drop(XPU_LOST_BATCH, 1);
		return;
	}
	*r = (struct xpu_record_batch){
		.hdr = { XPU_RECORD_BATCH, 0, sizeof(*r) + bytes },
		.time_ns = clock__ns(),
		.bytes = bytes,
		.ns_tid = libc__tid(),
	};
	memcpy(r->records, records, bytes);
	commit(r);
}

/* Counts the entries of a log as lost. */
static void drop_log(const struct xpu_log_entry *e, uint32_t nr)
{
	uint32_t i, nr_ranges = 0, nr_allocs = 0, nr_launches = nr;

	for (i = 0; i < nr; i++) {
		nr_ranges += e[i].path_id >> 31;
		nr_launches -= (e[i].path_id & (XPU_LOG_RANGE | XPU_LOG_ALLOC)) != 0;
		nr_allocs += XPU_LOG_IS_ALLOC(e[i].path_id) && !(e[i].path_id & XPU_LOG_ALLOC_MORE);
	}
	drop(XPU_LOST_RANGE, nr_ranges);
	drop(XPU_LOST_ALLOC, nr_allocs);
	drop(XPU_LOST_LAUNCH, nr_launches);
}

static __attribute__((noinline, cold)) void log_beyond(const struct xpu_log *log, uint64_t end)
{
	uint32_t nr = end - log->tail;

	if (extend(sizeof(struct xpu_ring_log) + nr * sizeof(log->entries[0])))
		shm__log(log, end);
	else
		drop_log(&log->entries[log->tail % XPU_LOG_ENTRIES], nr);
}

void shm__log(const struct xpu_log *log, uint64_t end)
{
	const struct xpu_clock *clock = &log->clocks[log->clock & 1];
	const struct xpu_log_entry *e = &log->entries[log->tail % XPU_LOG_ENTRIES];
	uint32_t nr = end - log->tail;
	size_t bytes = sizeof(struct xpu_ring_log) + nr * sizeof(*e);
	struct xpu_ring_log *r;

	if (!is_open())
		return;
	/* If the process is killed before commit(), the entries are still in the log. */
	r = reserve(bytes, 0);
	if (!r) {
		log_beyond(log, end);
		return;
	}
	*r = (struct xpu_ring_log){
		.hdr = { XPU_RECORD_LOG, 0, bytes },
		.first = log->tail,
		.clock_ticks = clock->ticks,
		.clock_ns = clock->ns,
		.clock_rate = clock->rate,
		.ns_tid = log->tid,
		.log_id = log->id,
		.nr = nr,
		.range_id = log->range_id,
	};
	memcpy(r->entries, e, nr * sizeof(*e));
	commit(r);
}

/* ---- mappings -------------------------------------------------------------------------------- */

bool shm__wants_maps(void)
{
	return shm.wants_maps && is_open();
}

void shm__map(const struct xpu_record *record)
{
	void *room = reserve(record->size, XPU_LOST_SIDEBAND);

	while (!room && extend(record->size))
		room = reserve(record->size, XPU_LOST_SIDEBAND);
	if (!room) {
		shm__lose_map();
		return;
	}
	memcpy(room, record, record->size);
	commit(room);
}

void shm__lose_map(void)
{
	drop(XPU_LOST_SIDEBAND, 1);
}

uint64_t *shm__met_unloads(void)
{
	return (uint64_t *)&shm.writer->met_unloads;
}

void shm__told_maps(uint64_t nr_unloads, enum xpu_shm_maps maps)
{
	__atomic_store_n(&shm.writer->told_unloads, nr_unloads, __ATOMIC_RELAXED);
	__atomic_store_n(&shm.writer->maps, maps, __ATOMIC_RELEASE);
}
