// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/sideband.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/caps.h"
#include "base/host_clock.h"
#include "target/build_ids.h"
#include "target/keeper.h"
#include "target/known_code.h"
#include "attach/permit.h"
#include "target/pyfind.h"
#include "target/recent.h"
#include "target/running.h"
#include "base/entry_table.h"
#include "base/numbers.h"
#include "util.h"
#include "record/writer.h"
#include "xpu_shm.h"
#include "xpu_time.h"

#define VERDICT_NS	5000000000ull	/* maximum delay of a report about an exec */
#define SWEEP_NS	(2 * VERDICT_NS)	/* maximum delay of events after a process's end */
/*
 * Number of pages of the ring of a CPU, a power of two. While Linux detaches probes, which takes
 * longer on a busy machine, the ring must hold the mapping events of the whole machine. If the
 * invoker may not lock that much memory, the rings have FEW_RING_PAGES, so that perf_event_mlock_kb
 * allows two rings.
 */
#define RING_PAGES	256
#define MAX_KNOWN	(1u << 18)	/* maximum number of mappings kept for a process */
#define LOOK_PAUSES	4		/* after reading /proc for 1 ms, do not read it for 4 ms */
#define FEW_RING_PAGES	64
#define SCAN_NS		1000000000ull	/* time between two searches for CPUs that come online */
#define MAX_TOLD	(1u << 17)	/* maximum number of records that an image may send about
					 * itself */
#define MAX_TOLD_PATH	8192

/* Not in the headers of every supported distribution. */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID	(1 << 14)
#endif

struct cpu_ring {
	int cpu, fd;
	struct perf_event_mmap_page *page;
	uint64_t head, tail;		/* bounds of the part that is being drained */
	uint64_t next_ns;		/* timestamp of the event at tail */
};

struct adopted {
	UT_hash_handle hh;
	pid_t pid;
	uint64_t since_ns;
	uint64_t ended_ns;		/* 0: not ended */
	/* If restricted: when the BPF programs last reported one of these facts, or 0. */
	uint64_t allowed_ns;		/* the invoker may read the process's image */
	uint64_t stopped_ns;		/* the invoker may no longer read the process's image */
	bool denied;			/* no longer recorded */
	bool missing;			/* ended before its mappings were read */
};

/* A process without events. It is read from /proc instead. */
struct viewed {
	UT_hash_handle hh;
	pid_t pid;
	struct numbers known;		/* hashes of mappings and thread names that were written */
	struct known_code code;		/* mappings and frames of the current image */
	uint64_t next_ns;		/* do not read the process again before this time */
	uint32_t nr_taken;		/* number of records that the process itself has made */
	bool missed;			/* /proc could not be read after launches from new call
					 * paths */
};

struct sideband {
	bool restricted;		/* see caps__restricted() */
	bool chooses;			/* records only events of adopted processes */
	bool waits;			/* events wait for a report from the BPF programs */
	bool over;			/* no more reports will come */
	bool no_children;		/* do not adopt children of adopted processes */
	struct adopted *adopted;
	int epoll_fd;
	int nr_cpus, nr_rings;
	struct cpu_ring *rings;		/* CPUs that are offline have none */
	pid_t pid;			/* whose events the rings get; -1: all processes */
	uint64_t scan_ns;		/* when CPUs without a ring were last tried */
	size_t ring_pages;
	uint64_t swept_ns;		/* time of the last sideband__sweep() */
	uint64_t nr_lost, nr_missing;
	struct recent *recent;		/* if @chooses: events of processes that are not adopted */
	uint8_t *event;			/* copy of an event that wraps around a ring's end */
	struct build_ids *build_ids;
	struct keeper *keeper;		/* owned by the caller, or NULL */
	struct pyfind *pyfind;		/* owned by the caller, or NULL */
	sideband_mmap_fn mmap;		/* called for executable mappings; or NULL */
	void *mmap_ctx;
	sideband_task_fn task;		/* called for forks, execs and ends of threads; or NULL */
	void *task_ctx;
	struct viewed *viewed;		/* used if Linux sends no events */
	struct viewed *viewing;		/* the process that is being read, or NULL */
};

/* The data that Linux adds to the end of every event, for sample_id_all with TID and TIME. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct mmap2_event {
	struct perf_event_header hdr;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_size;
			uint8_t reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char filename[];
};

struct comm_event {
	struct perf_event_header hdr;
	uint32_t pid, tid;
	char comm[];
};

struct task_event {
	struct perf_event_header hdr;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

struct lost_event {
	struct perf_event_header hdr;
	uint64_t id, nr;
};

static size_t page_bytes(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int open_event(pid_t pid, int cpu, bool build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		/*
		 * Wake up for each event, so that the keeper finds the process alive; if all
		 * processes are followed, wake up only now and then.
		 */
		.wakeup_watermark = pid == -1 ? FEW_RING_PAGES * page_bytes() / 4 : 1,
		.build_id = build_id,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int cpu_ring__open(struct sideband *s, pid_t pid, int cpu)
{
	struct cpu_ring *ring = &s->rings[s->nr_rings];
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = s->nr_rings };
	void *page;
	int err;

	caps__raise();
	ring->fd = open_event(pid, cpu, true);
	if (ring->fd < 0 && errno == EINVAL)
		ring->fd = open_event(pid, cpu, false);	/* before Linux 5.12, events have no
							 * build-ids */
	err = ring->fd < 0 ? -errno : 0;
	caps__lower();
	if (err)
		return err == -ENODEV ? 0 : err;	/* an offline CPU */
	page = mmap(NULL, (s->ring_pages + 1) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
		    ring->fd, 0);
	if (page == MAP_FAILED) {
		err = -errno;
		close(ring->fd);
		return err;
	}
	ring->page = page;
	ring->cpu = cpu;
	s->nr_rings++;
	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring->fd, &ev) ? -errno : 0;
}

static void close_rings(struct sideband *s)
{
	while (s->nr_rings) {
		s->nr_rings--;
		munmap(s->rings[s->nr_rings].page, (s->ring_pages + 1) * page_bytes());
		close(s->rings[s->nr_rings].fd);
	}
}

static bool has_ring(const struct sideband *s, int cpu)
{
	int i;

	for (i = 0; i < s->nr_rings; i++)
		if (s->rings[i].cpu == cpu)
			return true;
	return false;
}

/* Opens a ring for each CPU that has none and is online. */
static int open_missing(struct sideband *s)
{
	int cpu, err = 0;

	s->scan_ns = clock__now();
	for (cpu = 0; cpu < s->nr_cpus && !err; cpu++)
		if (!has_ring(s, cpu))
			err = cpu_ring__open(s, s->pid, cpu);
	return err;
}

static int open_rings(struct sideband *s, size_t pages)
{
	int err;

	s->ring_pages = pages;
	err = open_missing(s);
	if (err)
		close_rings(s);
	return err;
}

static int open_sideband(pid_t pid, bool restricted, int nr_cpus, struct sideband **sp)
{
	struct sideband *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->restricted = restricted;
	s->chooses = pid == -1 || s->restricted;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0) {
		err = -errno;
		goto out;
	}
	s->pid = pid;
	s->nr_cpus = nr_cpus;
	s->rings = calloc(nr_cpus + 1, sizeof(*s->rings));
	s->event = malloc(UINT16_MAX + 1);
	s->recent = recent__new();
	s->build_ids = build_ids__new();
	if (!s->rings || !s->event || !s->recent || !s->build_ids)
		goto out;
	err = open_rings(s, RING_PAGES);
	if (err == -EPERM)
		err = open_rings(s, FEW_RING_PAGES);
	if (err)
		goto out;
	*sp = s;
	return 0;
out:
	sideband__close(s);
	return err;
}

int sideband__open(pid_t pid, struct sideband **sp)
{
	return open_sideband(pid, caps__restricted(), sysconf(_SC_NPROCESSORS_CONF), sp);
}

int sideband__open_own(pid_t pid, struct sideband **sp)
{
	return open_sideband(pid, false, sysconf(_SC_NPROCESSORS_CONF), sp);
}

int sideband__open_blind(struct sideband **sp)
{
	return open_sideband(0, false, 0, sp);
}

static void viewed__free_inside(struct viewed *v)
{
	numbers__free(&v->known);
	known_code__free(&v->code);
}

void sideband__close(struct sideband *s)
{
	if (!s)
		return;
	table_free(s->adopted, table_free_nothing);
	table_free(s->viewed, viewed__free_inside);
	recent__free(s->recent);
	build_ids__free(s->build_ids);
	close_rings(s);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s->rings);
	free(s->event);
	free(s);
}

void sideband__set_children(struct sideband *s, bool adopted)
{
	s->no_children = !adopted;
}

void sideband__set_keeper(struct sideband *s, struct keeper *k)
{
	s->keeper = k;
}

void sideband__set_pyfind(struct sideband *s, struct pyfind *f)
{
	s->pyfind = f;
}

void sideband__set_mmap(struct sideband *s, sideband_mmap_fn fn, void *ctx)
{
	s->mmap = fn;
	s->mmap_ctx = ctx;
}

void sideband__set_task(struct sideband *s, sideband_task_fn fn, void *ctx)
{
	s->task = fn;
	s->task_ctx = ctx;
}

int sideband__fd(const struct sideband *s)
{
	return s->epoll_fd;
}

uint64_t sideband__nr_lost(const struct sideband *s)
{
	return s->nr_lost;
}

/* Adopts @pid. Return: whether it was not adopted before. */
static bool adopt(struct sideband *s, pid_t pid, uint64_t time_ns)
{
	struct adopted *a;

	table_get(s->adopted, pid, pid, a);
	s->nr_lost += !a;
	if (!a || a->since_ns)
		return false;
	a->since_ns = time_ns;
	return true;
}

/* Removes ended processes whose pids were not reused. */
static void sideband__sweep(struct sideband *s, uint64_t now_ns)
{
	struct adopted *a, *next;

	if (now_ns - s->swept_ns < SWEEP_NS)
		return;
	s->swept_ns = now_ns;
	HASH_ITER(hh, s->adopted, a, next)
		if (a->ended_ns && a->since_ns <= a->ended_ns && a->allowed_ns <= a->ended_ns &&
		    !a->missing && now_ns > a->ended_ns && now_ns - a->ended_ns > SWEEP_NS)
			table_remove(s->adopted, a);
}

/* Return: the entry of @pid if it is adopted, or NULL. */
static struct adopted *find_adopted(const struct sideband *s, pid_t pid)
{
	struct adopted *a;

	table_find(s->adopted, pid, pid, a);
	return a && a->since_ns ? a : NULL;
}

/* Clears an entry if its process ended before @time_ns and the pid was reused. */
static void adopted__forget(struct adopted *a, uint64_t time_ns)
{
	if (a->since_ns < time_ns) {
		a->since_ns = 0;
		a->denied = false;
	}
	if (a->allowed_ns < time_ns)
		a->allowed_ns = 0;
	if (a->stopped_ns < time_ns)
		a->stopped_ns = 0;
	if (a->ended_ns < time_ns)
		a->ended_ns = 0;
}

/*
 * Whether the child @c of @p must be adopted, too. If xpuload is restricted, and the fork came
 * before the adoption of @p, the child is adopted only if the BPF programs have reported the child.
 * The BPF programs record only children that they report.
 */
static bool takes_child(const struct sideband *s, const struct adopted *p, const struct adopted *c,
			uint64_t time_ns)
{
	if (!p || s->no_children || p->denied || (p->stopped_ns && p->stopped_ns <= time_ns))
		return false;
	return !s->restricted || time_ns >= p->since_ns || (c && c->allowed_ns);
}

/*
 * Handles a new process, which may be a child of an adopted process, or have the pid of an ended
 * process.
 */
static void adopt_child(struct sideband *s, const struct task_event *fork)
{
	struct adopted *p = find_adopted(s, fork->ppid), *c;
	pid_t child = fork->pid;

	table_find(s->adopted, pid, child, c);
	if (c)
		adopted__forget(c, fork->time_ns);
	if (takes_child(s, p, c, fork->time_ns))
		adopt(s, child, fork->time_ns);
	else if (c && !c->since_ns && !c->allowed_ns && !c->stopped_ns && !c->ended_ns)
		table_remove(s->adopted, c);
}

static uint64_t event_time(const struct perf_event_header *hdr)
{
	const struct sample_id *id = (const void *)((const uint8_t *)hdr + hdr->size - sizeof(*id));

	return id->time_ns;
}

static bool is_exec(const struct perf_event_header *hdr)
{
	return hdr->type == PERF_RECORD_COMM && (hdr->misc & PERF_RECORD_MISC_COMM_EXEC);
}

/*
 * Whether a mapping has a build-id. The build-id is zero for a mapping without a file, such as
 * [vdso] and JIT code.
 */
static bool has_build_id(const struct mmap2_event *e)
{
	static const uint8_t none[sizeof(e->build_id)];

	return (e->hdr.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	       memcmp(e->build_id, none, sizeof(none));
}

/*
 * Adds the build-id of our own vdso to the vdso of another process. Linux reports the vdso without
 * a build-id, but gives every 64-bit process the same vdso. With the build-id, xpumerge can check
 * whether its own vdso is the same. A 32-bit process has another vdso.
 */
static void add_vdso_build_id(struct xpu_record_mmap *r)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR), *note, *end;
	const ElfW(Ehdr) *ehdr = (const void *)base;
	const ElfW(Phdr) *phdr = (const void *)(base + (base ? ehdr->e_phoff : 0));
	const ElfW(Nhdr) *n;
	size_t i;

	if (!base || strcmp(r->filename, "[vdso]") || r->start <= UINT32_MAX)
		return;
	for (i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type != PT_NOTE)
			continue;
		end = base + phdr[i].p_offset + phdr[i].p_filesz;
		for (note = base + phdr[i].p_offset; note + sizeof(*n) <= end;
		     note += sizeof(*n) + ((n->n_namesz + 3) & ~3u) + ((n->n_descsz + 3) & ~3u)) {
			n = (const void *)note;
			if (n->n_type != NT_GNU_BUILD_ID || n->n_descsz > XPU_BUILD_ID_LEN)
				continue;
			r->hdr.misc |= XPU_MISC_MMAP_BUILD_ID;
			r->build_id_len = n->n_descsz;
			memcpy(r->build_id, note + sizeof(*n) + ((n->n_namesz + 3) & ~3u),
			       n->n_descsz);
			return;
		}
	}
}

static void tell_of_mmap(struct sideband *s, const struct xpu_record_mmap *r)
{
	if (s->keeper)
		keeper__mmap(s->keeper, r);
	if (s->pyfind)
		pyfind__mmap(s->pyfind, r);
	if (s->mmap)
		s->mmap(s->mmap_ctx, r);
}

static void write_mmap(struct sideband *s, const struct mmap2_event *e, struct writer *w)
{
	/* Linux terminates the name with a NUL and pads it; the sample id follows. */
	size_t len = strnlen(e->filename, e->hdr.size - sizeof(*e)) + 1;
	size_t size = (sizeof(struct xpu_record_mmap) + len + 7) & ~(size_t)7;
	struct xpu_record_mmap *r = writer__reserve(w, size);

	if (!r)
		return;
	memset(r, 0, size);
	r->hdr.type = XPU_RECORD_MMAP;
	r->hdr.size = size;
	r->time_ns = event_time(&e->hdr);
	r->pid = e->pid;
	r->tid = e->tid;
	r->start = e->start;
	r->len = e->len;
	r->pgoff = e->pgoff;
	r->prot = e->prot;
	r->flags = e->flags;
	if (has_build_id(e)) {
		r->hdr.misc = XPU_MISC_MMAP_BUILD_ID;
		r->build_id_len = e->build_id_size > XPU_BUILD_ID_LEN ? XPU_BUILD_ID_LEN :
			e->build_id_size;
		memcpy(r->build_id, e->build_id, r->build_id_len);
	} else if (!(e->hdr.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		r->dev_major = e->maj;
		r->dev_minor = e->min;
		r->ino = e->ino;
	}
	memcpy(r->filename, e->filename, len - 1);
	if (!r->build_id_len)
		add_vdso_build_id(r);
	tell_of_mmap(s, r);
}

static void write_comm(const struct comm_event *e, struct writer *w)
{
	struct xpu_record_comm *r = writer__reserve(w, sizeof(*r));

	if (!r)
		return;
	memset(r, 0, sizeof(*r));
	r->hdr.type = XPU_RECORD_COMM;
	r->hdr.misc = e->hdr.misc & PERF_RECORD_MISC_COMM_EXEC ? XPU_MISC_COMM_EXEC : 0;
	r->hdr.size = sizeof(*r);
	r->time_ns = event_time(&e->hdr);
	r->pid = e->pid;
	r->tid = e->tid;
	strncpy(r->comm, e->comm, sizeof(r->comm) - 1);
}

static void write_task(const struct task_event *e, struct writer *w)
{
	struct xpu_record_task *r = writer__reserve(w, sizeof(*r));

	if (!r)
		return;
	memset(r, 0, sizeof(*r));
	r->hdr.type = e->hdr.type == PERF_RECORD_FORK ? XPU_RECORD_FORK : XPU_RECORD_EXIT;
	r->hdr.size = sizeof(*r);
	r->time_ns = e->time_ns;
	r->pid = e->pid;
	r->tid = e->tid;
	r->ppid = e->ppid;
	r->ptid = e->ptid;
}

/*
 * Whether an event of an adopted process belongs to the recording. After an exec, events wait until
 * the BPF programs report whether the invoker may read the new image. If the invoker can no longer
 * read a process, the process's events wait until the BPF programs report when the invoker lost the
 * right.
 */
static bool allowed(struct sideband *s, struct adopted *a, const struct perf_event_header *hdr)
{
	bool exec = is_exec(hdr);
	uint64_t time_ns = event_time(hdr);

	if (!s->restricted)
		return true;
	/* Mappings from before the adoption were read from /proc. */
	if (a->denied || time_ns < a->since_ns || (a->stopped_ns && time_ns >= a->stopped_ns))
		return false;
	if ((!exec || time_ns < a->allowed_ns) &&
	    (a->stopped_ns || permit__check(a->pid) != -EACCES))
		return true;
	s->waits = !s->over && !a->stopped_ns && time_ns > a->ended_ns &&
		   clock__now() < time_ns + VERDICT_NS;
	a->denied = !s->waits;
	return false;
}

/* Reports forks, execs and ends of threads to the caller. */
static void tell_of_task(struct sideband *s, const struct perf_event_header *hdr)
{
	const struct task_event *task = (const void *)hdr;
	const struct comm_event *name = (const void *)hdr;

	if (!s->task)
		return;
	if (hdr->type == PERF_RECORD_COMM &&
	    !strncmp(name->comm, XPU_SHM_UNHEARD, sizeof(XPU_SHM_UNHEARD)))
		s->task(s->task_ctx, SIDEBAND_UNHEARD, name->pid, 0, event_time(hdr));
	if (is_exec(hdr))
		s->task(s->task_ctx, SIDEBAND_EXEC, task->pid, 0, event_time(hdr));
	else if (hdr->type == PERF_RECORD_EXIT)
		s->task(s->task_ctx, SIDEBAND_EXIT, task->pid, task->tid, task->time_ns);
	else if (hdr->type == PERF_RECORD_FORK && task->pid != task->ppid)
		s->task(s->task_ctx, SIDEBAND_FORK, task->pid, task->ppid, task->time_ns);
}

static void write_event(struct sideband *s, const struct perf_event_header *hdr, struct writer *w)
{
	tell_of_task(s, hdr);
	switch (hdr->type) {
	case PERF_RECORD_MMAP2:
		write_mmap(s, (const void *)hdr, w);
		break;
	case PERF_RECORD_COMM:
		write_comm((const void *)hdr, w);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		write_task((const void *)hdr, w);
		break;
	case PERF_RECORD_LOST:
		s->nr_lost += ((const struct lost_event *)hdr)->nr;
		break;
	default:
		break;
	}
}

/* ---- processes that ended before their mappings were read ------------------------------------ */

struct claim {
	struct sideband *s;
	struct writer *w;
	uint64_t since_ns;
	bool first, whole;
};

/* Writes only events up to the report: a later image may belong to another user. */
static void claim_event(void *ctx, const struct perf_event_header *hdr)
{
	struct claim *c = ctx;
	bool before = event_time(hdr) <= c->since_ns;

	if (c->first)
		c->whole = before;
	c->first = false;
	if (before || !c->s->restricted)
		write_event(c->s, hdr, c->w);
	else
		c->s->nr_lost++;
}

/* Writes the kept events of @a. All events up to a->since_ns must have been read. */
static void claim_events(struct sideband *s, struct adopted *a, struct writer *w)
{
	struct claim c = { .s = s, .w = w, .since_ns = a->since_ns, .first = true };

	recent__take(s->recent, a->pid, claim_event, &c);
	s->nr_lost += !c.whole;
	a->missing = false;
	s->nr_missing--;
}

static void claim_all(struct sideband *s, uint64_t until_ns, struct writer *w)
{
	struct adopted *a;

	for (a = s->adopted; a && s->nr_missing; a = a->hh.next)
		if (a->missing && a->since_ns < until_ns)
			claim_events(s, a, w);
}

/* ---- the rings ------------------------------------------------------------------------------- */

/*
 * Whether to write the event. Adopts children of adopted processes. Keeps the events of other
 * processes, because these processes may be adopted later.
 */
static bool wanted(struct sideband *s, const struct perf_event_header *hdr, struct writer *w)
{
	const struct task_event *task = (const void *)hdr;
	uint64_t time_ns;
	struct adopted *a;

	if (!s->chooses || hdr->type == PERF_RECORD_LOST)
		return true;
	if (hdr->type != PERF_RECORD_MMAP2 && hdr->type != PERF_RECORD_COMM &&
	    hdr->type != PERF_RECORD_FORK && hdr->type != PERF_RECORD_EXIT)
		return false;
	time_ns = event_time(hdr);
	a = find_adopted(s, task->pid);		/* every kind of event here begins with the pid */
	if (a && a->missing && time_ns > a->since_ns)
		claim_events(s, a, w);
	if (hdr->type == PERF_RECORD_FORK && task->pid != task->ppid) {
		adopt_child(s, task);
		recent__forget(s->recent, task->pid);
		a = find_adopted(s, task->pid);
	}
	if (!a || a->missing) {
		recent__add(s->recent, task->pid, is_exec(hdr), time_ns, hdr);
		return false;
	}
	return allowed(s, a, hdr);
}

/* Return: the next event, in one piece. */
static const struct perf_event_header *cpu_ring__next(const struct cpu_ring *ring, uint8_t *buf)
{
	const uint8_t *data = (const uint8_t *)ring->page + page_bytes();
	size_t size = ring->page->data_size, at = ring->tail % size, head_room = size - at;
	const struct perf_event_header *hdr = (const void *)(data + at);	/* never split */

	if (hdr->size <= head_room)
		return hdr;
	memcpy(buf, hdr, head_room);
	memcpy(buf + head_room, data, hdr->size - head_room);
	return (const void *)buf;
}

/* Return: the ring with the oldest event; NULL if there are no events. */
static struct cpu_ring *sideband__oldest(struct sideband *s)
{
	struct cpu_ring *ring, *oldest = NULL;

	for (ring = s->rings; ring < s->rings + s->nr_rings; ring++)
		if (ring->tail < ring->head && (!oldest || ring->next_ns < oldest->next_ns))
			oldest = ring;
	return oldest;
}

static void sideband__peek(struct sideband *s, struct cpu_ring *ring)
{
	if (ring->tail < ring->head)
		ring->next_ns = event_time(cpu_ring__next(ring, s->event));
}

/*
 * Opens rings for CPUs that have come online. Counts each as a loss: earlier events of the CPU may
 * be missing.
 */
static void sideband__rescan(struct sideband *s)
{
	int nr_rings = s->nr_rings;

	if (nr_rings == s->nr_cpus || clock__now() - s->scan_ns < SCAN_NS)
		return;
	s->nr_lost += !!open_missing(s);
	s->nr_lost += s->nr_rings - nr_rings;
}

/*
 * Takes events in the order of their timestamps, because an earlier event on another CPU may decide
 * whether a process is adopted.
 */
void sideband__drain(struct sideband *s, uint64_t until_ns, struct writer *w)
{
	const struct perf_event_header *hdr;
	struct cpu_ring *ring;

	s->waits = false;
	sideband__rescan(s);
	for (ring = s->rings; ring < s->rings + s->nr_rings; ring++) {
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		sideband__peek(s, ring);
	}
	while ((ring = sideband__oldest(s)) && ring->next_ns < until_ns) {
		hdr = cpu_ring__next(ring, s->event);
		if (wanted(s, hdr, w))
			write_event(s, hdr, w);
		if (s->waits)
			break;
		ring->tail += hdr->size;
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
		sideband__peek(s, ring);
	}
	if (!s->waits)
		claim_all(s, until_ns, w);
	sideband__sweep(s, clock__now());
}

void sideband__finish(struct sideband *s, struct writer *w)
{
	s->over = true;
	sideband__drain(s, UINT64_MAX, w);
}

/* ---- processes that are already running ------------------------------------------------------ */

/* Notes @words for the process that is being read. Return: whether they were already noted. */
static bool is_known(struct sideband *s, const uint64_t *words, size_t nr)
{
	struct numbers_key key;

	if (!s->viewing)
		return false;
	key = numbers__hash((const __u64 *)words, nr);
	if (numbers__find(&s->viewing->known, key))
		return true;
	numbers__add(&s->viewing->known, key, 1);
	return false;
}

/* Makes an MMAP record from one line of /proc/PID/maps, if the mapping is executable. */
static void synthesize_mmap(struct sideband *s, pid_t pid, const char *line, int maps_fd,
			    uint64_t time_ns, struct writer *w)
{
	uint64_t start, end, pgoff, ino;
	unsigned int major, minor;
	struct xpu_record_mmap *r;
	size_t len, size;
	char prot[5];
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, prot, &pgoff, &major, &minor, &ino, &name) < 7 || prot[2] != 'x')
		return;
	if (s->viewing)
		known_code__map(&s->viewing->code, start, end);
	if (!line[name])
		line = "//anon";		/* perf gives the mapping this name */
	else
		line += name;
	if (is_known(s, (uint64_t[]){ start, end, pgoff, ino, (uint64_t)major << 32 | minor }, 5))
		return;
	len = strcspn(line, "\n") + 1;
	size = (sizeof(*r) + len + 7) & ~(size_t)7;
	r = writer__reserve(w, size);
	if (!r)
		return;
	memset(r, 0, size);
	r->hdr.type = XPU_RECORD_MMAP;
	r->hdr.misc = XPU_MISC_MMAP_SYNTH;
	r->hdr.size = size;
	r->time_ns = time_ns;
	r->pid = pid;
	r->tid = pid;
	r->start = start;
	r->len = end - start;
	r->pgoff = pgoff;
	r->ino = ino;
	r->dev_major = major;
	r->dev_minor = minor;
	r->prot = PROT_EXEC | (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0);
	r->flags = prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	memcpy(r->filename, line, len - 1);
	add_vdso_build_id(r);
	if (ino && maps_fd >= 0 && !r->build_id_len)
		r->build_id_len = build_ids__read(s->build_ids, maps_fd, start,
						  (uint64_t)major << 32 | minor, r->filename,
						  r->build_id);
	if (r->build_id_len)
		r->hdr.misc |= XPU_MISC_MMAP_BUILD_ID;
	tell_of_mmap(s, r);
}

/*
 * Return: whether all mappings of the process were read. An ended process has none. If the image
 * ends meanwhile, the rest is missing.
 */
static bool synthesize_maps(struct sideband *s, pid_t pid, uint64_t time_ns, struct writer *w)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	bool any;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (any = false; getline(&line, &cap, f) > 0; any = true)
		synthesize_mmap(s, pid, line, fd, time_ns, w);
	rewind(f);
	any = any && getline(&line, &cap, f) > 0;
	free(line);
	if (fd >= 0)
		close(fd);
	fclose(f);
	return any;
}

/* Writes the name of a thread. @comm: at most XPU_COMM_LEN bytes; @misc: XPU_MISC_COMM_* */
static void write_name(struct sideband *s, pid_t pid, pid_t tid, uint64_t time_ns, uint16_t misc,
		       const char *comm, struct writer *w)
{
	uint64_t words[1 + XPU_COMM_LEN / 8] = { tid };
	struct xpu_record_comm *r;

	strncpy((char *)(words + 1), comm, XPU_COMM_LEN - 1);
	if (is_known(s, words, sizeof(words) / sizeof(words[0])))
		return;
	r = writer__reserve(w, sizeof(*r));
	if (!r)
		return;
	*r = (struct xpu_record_comm){
		.hdr = { XPU_RECORD_COMM, misc, sizeof(*r) },
		.time_ns = time_ns,
		.pid = pid,
		.tid = tid,
	};
	memcpy(r->comm, words + 1, sizeof(r->comm));
}

static void synthesize_comm(struct sideband *s, pid_t pid, pid_t tid, uint64_t time_ns,
			    struct writer *w)
{
	char path[64], comm[XPU_COMM_LEN + 1] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	write_name(s, pid, tid, time_ns, 0, comm, w);
}

/*
 * Notes that the adopted process @pid has ended before its mappings were read. Its pid may have
 * been reused, and some of its last events may still be in the rings.
 */
static void adopt_ended(struct sideband *s, pid_t pid)
{
	struct adopted *a = find_adopted(s, pid);

	if (!a)
		return;
	a->missing = true;
	s->nr_missing++;
}

/* Writes the names of a process's threads. */
static void synthesize_comms(struct sideband *s, pid_t pid, uint64_t time_ns, struct writer *w)
{
	struct dirent *d;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			synthesize_comm(s, pid, atoi(d->d_name), time_ns, w);
	if (dir)
		closedir(dir);
}

/*
 * Adopts a running process. @ended_counts: also adopt an ended process, and count its mappings as
 * missing
 */
static void adopt_running(struct sideband *s, pid_t pid, uint64_t since_ns, struct writer *w,
			  bool ended_counts)
{
	/*
	 * Give the mappings an earlier timestamp, so that they apply to launches whose records are
	 * still in the rings, and to children that were forked while the time @since_ns was taken.
	 */
	uint64_t time_ns = xpu_ns_between(1000000000, since_ns);
	struct adopted *a;

	if (permit__check(pid) == -EACCES || !adopt(s, pid, since_ns))
		return;
	if (synthesize_maps(s, pid, time_ns, w)) {
		recent__forget(s->recent, pid);
	} else if (!running__is_kernel_thread(pid)) {
		if (ended_counts) {
			adopt_ended(s, pid);
		} else {
			a = find_adopted(s, pid);
			a->since_ns = 0;
		}
		return;
	}
	synthesize_comms(s, pid, time_ns, w);
}

bool sideband__look(struct sideband *s, pid_t pid, const char *comm, uint64_t time_ns,
		    struct writer *w)
{
	uint64_t start_ns = clock__now();
	bool is_new = comm, permitted;
	struct viewed *v;

	table_get(s->viewed, pid, pid, v);
	s->nr_lost += !v;
	if (!v || (!is_new && start_ns < v->next_ns))
		return !v;
	if (is_new || v->known.nr > MAX_KNOWN)
		numbers__free(&v->known);
	if (is_new)
		v->nr_taken = 0;
	s->viewing = v;
	if (is_new)
		write_name(s, pid, pid, time_ns, XPU_MISC_COMM_EXEC, comm, w);
	permitted = permit__check(pid) != -EACCES;
	v->missed = !(permitted && synthesize_maps(s, pid, time_ns, w)) && !is_new;
	if (permitted)
		synthesize_comms(s, pid, time_ns, w);
	s->viewing = NULL;
	v->next_ns = clock__now() + LOOK_PAUSES * (clock__now() - start_ns);
	return true;
}

void sideband__meet(struct sideband *s, pid_t pid, const __u64 *frames, size_t nr)
{
	struct viewed *v;

	table_get(s->viewed, pid, pid, v);
	if (v)
		known_code__meet(&v->code, frames, nr);
}

void sideband__leave_image(struct sideband *s, pid_t pid, bool unseen,
			   enum xpu_shm_maps maps)
{
	bool replaced, lacks;
	struct viewed *v;

	table_find(s->viewed, pid, pid, v);
	if (!v)
		return;
	replaced = maps == XPU_SHM_MAPS_NONE && (v->missed || unseen);
	lacks = maps != XPU_SHM_MAPS_LAST && known_code__lacks(&v->code);
	s->nr_lost += replaced || lacks;
	v->missed = false;
	known_code__free(&v->code);
}

/* ---- mappings that a process itself sends ---------------------------------------------------- */

/* Whether a process can have the mapping @r. */
static bool is_possible(const struct xpu_record_mmap *r, size_t size)
{
	size_t room = size - sizeof(*r);

	return room && room <= MAX_TOLD_PATH && memchr(r->filename, 0, room) && r->filename[0] &&
	       r->len && r->start + r->len > r->start && r->build_id_len <= XPU_BUILD_ID_LEN;
}

/*
 * Return: @time_ns, a timestamp from a process; or, if it is impossible, the beginning of the
 * image.
 */
static uint64_t in_image(uint64_t time_ns, uint64_t begin_ns)
{
	return time_ns < begin_ns || time_ns > clock__now() ? begin_ns : time_ns;
}

/*
 * Writes a mapping that a process itself has sent. Does not pass it to the keeper, because a
 * process could name files that it may not read.
 */
static bool take_mmap(struct viewed *v, const struct xpu_record_mmap *told, size_t size,
		      uint64_t begin_ns, struct writer *w)
{
	const uint64_t key[] = { told->start, told->start + told->len, told->pgoff, told->ino,
				 (uint64_t)told->dev_major << 32 | told->dev_minor };
	struct xpu_record_mmap *r;

	if (!is_possible(told, size))
		return false;
	known_code__map(&v->code, told->start, told->start + told->len);
	/*
	 * Skip a mapping that was also read from /proc. Always write a later mapping, because
	 * another mapping may have been at the address meanwhile.
	 */
	if (!told->time_ns &&
	    numbers__find(&v->known, numbers__hash((const __u64 *)key, ARRAY_SIZE(key))))
		return true;
	r = writer__reserve(w, size);
	if (!r)
		return true;
	memcpy(r, told, size);
	r->hdr.misc = XPU_MISC_MMAP_SYNTH | (r->build_id_len ? XPU_MISC_MMAP_BUILD_ID : 0);
	r->hdr.size = size;
	r->time_ns = in_image(r->time_ns, begin_ns);
	r->prot = PROT_EXEC | (r->prot & (PROT_READ | PROT_WRITE));
	r->flags &= MAP_SHARED | MAP_PRIVATE;
	memset(r->reserved, 0, sizeof(r->reserved));
	if (!r->build_id_len)
		add_vdso_build_id(r);
	return true;
}

void sideband__take(struct sideband *s, const struct xpu_record *record, size_t size,
		    uint64_t begin_ns, struct writer *w)
{
	const struct xpu_record_mmap *map = (const struct xpu_record_mmap *)record;
	const struct xpu_record_comm *comm = (const struct xpu_record_comm *)record;
	struct viewed *v;

	table_get(s->viewed, pid, (pid_t)map->pid, v);
	if (!v || v->nr_taken >= MAX_TOLD) {
		s->nr_lost++;
		return;
	}
	v->nr_taken++;
	if (record->type == XPU_RECORD_MMAP) {
		s->nr_lost += !take_mmap(v, map, size, begin_ns, w);
		return;
	}
	/* Write the name even if it is known: the tid may have been reused by another thread. */
	write_name(s, comm->pid, comm->tid, in_image(comm->time_ns, begin_ns), 0, comm->comm, w);
}

void sideband__unlook(struct sideband *s, pid_t pid)
{
	struct viewed *v;

	table_find(s->viewed, pid, pid, v);
	if (!v)
		return;
	viewed__free_inside(v);
	table_remove(s->viewed, v);
}

void sideband__adopt(struct sideband *s, pid_t pid, uint64_t since_ns, struct writer *w)
{
	adopt_running(s, pid, since_ns, w, true);
}

void sideband__adopt_idle(struct sideband *s, pid_t pid, struct writer *w)
{
	adopt_running(s, pid, clock__now(), w, false);
}

void sideband__follow(struct sideband *s, pid_t pid)
{
	adopt(s, pid, clock__now());
}

void sideband__hear(struct sideband *s, pid_t pid, enum sideband_word word, uint64_t time_ns)
{
	struct adopted *a;

	if (s->restricted)
		table_get(s->adopted, pid, pid, a);
	else
		table_find(s->adopted, pid, pid, a);
	if (!a)
		return;
	switch (word) {
	case SIDEBAND_ALLOWED:
		a->allowed_ns = time_ns;
		break;
	case SIDEBAND_STOPPED:
		a->stopped_ns = time_ns;
		break;
	case SIDEBAND_ENDED:
		a->ended_ns = time_ns;
		break;
	}
}

bool sideband__waits(const struct sideband *s)
{
	return s->waits;
}
