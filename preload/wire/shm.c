// SPDX-License-Identifier: MIT
#include "wire/shm.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/libc.h"
#include "base/memory.h"
#include "base/walk_fp.h"
#include "xpu_record.h"
#include "xpu_shm.h"

#define REPLY_NS	2000000000ll	/* xpuload answers within this time, or is asked again */
#define RETRY_NS	1000000000ull
#define MAX_THREADS	(1u << 14)
#define MAX_RING	(2ull << 30)

#ifndef MADV_POPULATE_WRITE		/* not in the headers of every supported distribution */
#define MADV_POPULATE_WRITE	23
#endif

_Static_assert(XPU_LOST_NR <= XPU_SHM_NR_LOST, "each kind has a counter");
_Static_assert(XPU_SHM_PAGE == PAGE, "pages are mapped");

enum { NOT_CONNECTED, CONNECTING, CONNECTED, GIVEN_UP };

static struct {
	struct sockaddr_un address;	/* in the abstract namespace */
	socklen_t address_bytes;
	uint8_t token[XPU_SHM_TOKEN_BYTES];
	bool wants_ranges;
	uint64_t image;
	uint64_t retry_ns;		/* written by whoever connects */
	pid_t recorder;			/* as this process's pid namespace numbers it, or 0 */

	atomic_int connected;
	struct xpu_shm_reader *reader;	/* valid once connected, as all below */
	struct xpu_shm_writer *writer;
	uint8_t *threads;		/* their pages */
	uint8_t *ring;			/* mapped twice, so that no record is split */
	uint64_t ring_bytes;
	uint32_t nr_threads;
	uint16_t given[MAX_THREADS];	/* whose pages are to be used again; under the caller's lock */
	unsigned int nr_given;
} shm;

static bool is_connected(void)
{
	return atomic_load_explicit(&shm.connected, memory_order_acquire) == CONNECTED;
}

/* ---- getting the memory ---------------------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool shm__start(const char *where)
{
	const char *token = strstr(where, ":");
	size_t len = token ? token - where : 0, i;
	int high, low;

	if (!len || len >= sizeof(shm.address.sun_path) ||
	    strlen(token) != 2 * XPU_SHM_TOKEN_BYTES + 3 ||
	    token[2 * XPU_SHM_TOKEN_BYTES + 1] != ':')
		return false;
	for (i = 0; i < XPU_SHM_TOKEN_BYTES; i++) {
		high = digit(token[1 + 2 * i]);
		low = digit(token[2 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		shm.token[i] = high << 4 | low;
	}
	shm.wants_ranges = digit(token[2 * XPU_SHM_TOKEN_BYTES + 2]) & XPU_SHM_WANTS_RANGES;
	shm.address.sun_family = AF_UNIX;
	memcpy(shm.address.sun_path + 1, where, len);
	shm.address_bytes = offsetof(struct sockaddr_un, sun_path) + 1 + len;
	return true;
}

bool shm__wants_ranges(void)
{
	return shm.wants_ranges;
}

/* The C library's functions would be points at which a thread can be cancelled. */
static long call(long nr, long a, long b, long c, long d, long e)
{
	long ret = syscall(nr, a, b, c, d, e);

	return ret < 0 ? -errno : ret;
}

#define CALL(nr, a, b, c, d, e)	\
	call(SYS_##nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

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

/* Receives the reply. Return: the memory file's descriptor, or a negative errno. */
static int receive(int fd, struct xpu_shm_reply *reply)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t end_ns = clock__ns() + REPLY_NS, now;
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { reply, sizeof(*reply) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct timespec ts;
	long n;
	int memory;

	while ((now = clock__ns()) < end_ns) {
		ts = (struct timespec){ (end_ns - now) / 1000000000, (end_ns - now) % 1000000000 };
		n = CALL(ppoll, &pfd, 1, &ts, NULL, 0);
		if (n > 0)
			break;
		if (n < 0 && n != -EINTR)
			return n;
	}
	n = CALL(recvmsg, fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, 0, 0);
	if (n < 0)
		return n;
	if (msg.msg_controllen < CMSG_LEN(sizeof(int)) || control.hdr.cmsg_level != SOL_SOCKET ||
	    control.hdr.cmsg_type != SCM_RIGHTS || control.hdr.cmsg_len != CMSG_LEN(sizeof(int)))
		return n ? -EPROTO : -ECONNREFUSED;
	memcpy(&memory, CMSG_DATA(&control.hdr), sizeof(memory));
	if (n == sizeof(*reply) && reply->magic == XPU_SHM_MAGIC &&
	    reply->version == XPU_SHM_VERSION && reply->nr_threads <= MAX_THREADS &&
	    reply->ring_bytes >= XPU_SHM_MIN_RING && reply->ring_bytes <= MAX_RING &&
	    !(reply->ring_bytes & (reply->ring_bytes - 1)))
		return memory;
	close(memory);
	return -EPROTO;
}

/* Maps the memory file. The ring comes last, and then once more. */
static int map(int memory, const struct xpu_shm_reply *reply)
{
	uint64_t ring_at = xpu_shm__ring_at(reply->nr_threads), bytes = ring_at + reply->ring_bytes;
	uint8_t *at, *again;

	at = mmap(NULL, bytes + reply->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (at == MAP_FAILED)
		return -errno;
	again = mmap(at + bytes, reply->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     memory, ring_at);
	if (again == MAP_FAILED) {
		munmap(at, bytes + reply->ring_bytes);
		return -ENOMEM;
	}
	shm.reader = (struct xpu_shm_reader *)at;
	shm.writer = (struct xpu_shm_writer *)(at + PAGE);
	shm.threads = at + xpu_shm__thread_at(0);
	shm.nr_threads = reply->nr_threads;
	shm.ring = at + ring_at;
	shm.ring_bytes = reply->ring_bytes;
	madvise(at, bytes + reply->ring_bytes, MADV_DONTDUMP);
	return 0;
}

/* Return: 0 with the memory mapped, or a negative errno. */
static int get_memory(void)
{
	struct xpu_shm_hello hello = {
		.magic = XPU_SHM_MAGIC, .version = XPU_SHM_VERSION, .image = shm.image,
		.pid = getpid(),
	};
	struct xpu_shm_reply reply = { 0 };
	int fd, memory, err;

	memcpy(hello.token, shm.token, sizeof(hello.token));
	fd = CALL(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0);
	if (fd < 0)
		return fd;
	err = CALL(connect, fd, &shm.address, shm.address_bytes, 0, 0);
	if (!err && !is_recorder(fd))
		err = -ECONNREFUSED;
	if (!err && syscall(SYS_sendto, fd, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT,
			    NULL, 0) != sizeof(hello))
		err = -errno;
	if (!err) {
		memory = receive(fd, &reply);
		err = memory < 0 ? memory : map(memory, &reply);
		if (memory >= 0)
			close(memory);
	}
	close(fd);
	return err;
}

bool shm__connect(void)
{
	int state = NOT_CONNECTED, saved_errno = errno, err;

	if (!shm.address_bytes || !atomic_compare_exchange_strong(&shm.connected, &state, CONNECTING))
		return state == CONNECTED;
	shm.image = shm.image ?: clock__ns();
	err = get_memory();
	/*
	 * Nobody listens there any more, or this process may not. Otherwise xpuload is busy, or has
	 * been stopped.
	 */
	state = !err ? CONNECTED : err == -ECONNREFUSED || err == -EPERM || err == -EACCES ||
		err == -EPROTO ? GIVEN_UP : NOT_CONNECTED;
	shm.retry_ns = clock__ns() + RETRY_NS;
	atomic_store(&shm.connected, state);
	errno = saved_errno;
	return state == CONNECTED;
}

enum shm_state shm__state(void)
{
	static uint64_t tail, since_ns;
	uint64_t now, read;

	if (!is_connected()) {
		if (atomic_load(&shm.connected) == NOT_CONNECTED && clock__ns() >= shm.retry_ns)
			shm__connect();
		return is_connected() ? SHM_OPEN : SHM_NONE;
	}
	switch (__atomic_load_n(&shm.reader->state, __ATOMIC_ACQUIRE)) {
	case XPU_SHM_OPEN:
		break;
	case XPU_SHM_LEAVING:
		return SHM_LEAVING;
	default:
		return SHM_GONE;
	}
	/* Killed, it could not say that it goes. */
	now = clock__ns();
	read = __atomic_load_n(&shm.reader->tail, __ATOMIC_RELAXED);
	if (read != tail || !since_ns) {
		tail = read;
		since_ns = now;
	} else if (now - since_ns >= RETRY_NS) {
		since_ns = now;
		if (shm.recorder > 0 && CALL(kill, shm.recorder, 0, 0, 0, 0) == -ESRCH)
			__atomic_store_n(&shm.reader->state, XPU_SHM_CLOSED, __ATOMIC_RELEASE);
	}
	return SHM_OPEN;
}

void shm__populate(void)
{
	static bool done;

	if (done || !is_connected())
		return;
	done = true;
	/* Before Linux 5.14 pages come as they are touched. */
	syscall(SYS_madvise, shm.ring, 2 * shm.ring_bytes, MADV_POPULATE_WRITE);
}

void shm__forked(void)
{
	if (is_connected())
		munmap(shm.reader, shm.ring + 2 * shm.ring_bytes - (uint8_t *)shm.reader);
	atomic_store(&shm.connected, GIVEN_UP);
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
	if (!is_connected())
		return true;
	shm.writer->log_at = log_at;
	if (shm.nr_given)
		number = shm.given[shm.nr_given - 1] + 1u;
	else
		number = shm.writer->nr_threads + 1;
	if (number > shm.nr_threads)
		return true;
	at = shm.threads + (size_t)(number - 1) * XPU_SHM_THREAD_BYTES;
	memset(at, 0, XPU_SHM_THREAD_BYTES);
	/* Of size 0, it makes another mapping of the same pages. */
	if (syscall(SYS_mremap, at, 0, XPU_SHM_THREAD_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, pages) == -1)
		return shm__leave_pages(pages);	/* what was there may be unmapped already */
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

/*
 * Return: room for @bytes, for commit(), or NULL. @kind: what is lost if the process is killed
 * before commit()
 */
static void *reserve(size_t bytes, enum xpu_lost_kind kind)
{
	uint64_t head, need = sizeof(struct xpu_shm_word) + bytes;
	struct xpu_shm_word word = { bytes, XPU_SHM_BUSY | kind };
	uint64_t *at, value;

	head = __atomic_load_n(&shm.writer->head, __ATOMIC_RELAXED);
	do {
		if (head + need - __atomic_load_n(&shm.reader->tail, __ATOMIC_ACQUIRE) >
		    shm.ring_bytes)
			return NULL;
	} while (!__atomic_compare_exchange_n(&shm.writer->head, &head, head + need, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	at = (uint64_t *)(shm.ring + (head & (shm.ring_bytes - 1)));
	memcpy(&value, &word, sizeof(value));
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
	/* The word comes first. */
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
	return is_connected() &&
	       __atomic_load_n(&shm.reader->state, __ATOMIC_RELAXED) != XPU_SHM_CLOSED;
}

/* Return: gettid() of the thread that the slot is of, which need not be asked of the kernel. */
static uint32_t slot_tid(const struct xpu_slot *slot)
{
	const struct xpu_slot *home = (const struct xpu_slot *)(uintptr_t)slot->home;
	const struct xpu_log *log = home ? (const struct xpu_log *)(uintptr_t)home->log : NULL;

	return log ? log->tid : 0;
}

static void put_launch(const struct xpu_slot *slot, const uint64_t *frames, uint32_t nr,
		       uint32_t flags)
{
	bool wait = slot->wait_ns != 0;
	enum xpu_lost_kind kind = wait ? XPU_LOST_WAIT : XPU_LOST_LAUNCH;
	size_t bytes = sizeof(struct xpu_ring_launch) + nr * sizeof(frames[0]);
	struct xpu_ring_launch *r;

	/* A launch that is not told of completely before a kill will not be made. */
	r = reserve(bytes, wait ? kind : 0);
	if (!r) {
		if (!(slot->flags & XPU_CHAIN_NO_LAUNCH))
			drop(kind, 1);
		return;
	}
	*r = (struct xpu_ring_launch){
		.hdr = { wait ? XPU_RECORD_LAUNCH_WAIT : XPU_RECORD_LAUNCH, slot->wait_flags, bytes },
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
	/* The shim keeps to its limit; Python's frames may come on top of that. */
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
		drop_log(e, nr);
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
