// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/probes.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/advice.h"
#include "attach/caps.h"
#include "attach/kernel.h"
#include "base/msg.h"
#include "attach/shim_file.h"
#include "base/entry_table.h"
#include "xpu.skel.h"
#include "xpu_slot.h"

#define MIN_ENTRIES	4096

#define MAX_SHIMS	32		/* maximum number of files that are copies of our shim */
#define DETACHERS	64		/* number of threads that detach at the same time */

/*
 * With PROBES_PID, probes are attached to the switches of at most this many processes one by one:
 * in Linux the cost of attaching and detaching grows with the third power of the number of
 * processes. Beyond the limit, the probes of switches watch all processes, as with PROBES_ALL; the
 * recording is the same.
 */
#define MAX_FOLLOWED	128

/*
 * A program attached to a group of sites: by a multi link if Linux has multi links, otherwise by
 * one link for each site.
 */
struct attachment {
	int multi_fd;			/* 0: no multi link */
	struct bpf_link *links[MAX_SITES];
};

/* A file that equals our shim byte for byte, and the BPF programs on its sites in all processes. */
struct shim {
	int fd;
	dev_t dev;
	ino_t ino;
	char path[32];
	struct attachment at[NR_SITE_GROUPS];	/* has probes of switches only if
						 * probes.everywhere is set */
};

/*
 * The number of ended processes whose switches may still have probes. To detach the probe of a
 * switch, Linux visits all processes with the shim, and lowers the semaphore in each process that
 * has no probe. A child that was just forked may have no probe yet; its shim continues for two
 * seconds with lowered semaphores. So probes of switches are detached rarely, for many processes at
 * a time.
 */
#define MAX_ENDED	256

struct followed {			/* PROBES_PID: a process whose switches are watched */
	UT_hash_handle hh;
	struct followed *next;		/* links the list of ended processes */
	pid_t pid;
	struct attachment at[MAX_SHIMS][NR_SITE_GROUPS];
};

/* Limits the bytes that one call takes out of a ring. */
struct budget {
	struct probes *probes;
	uint64_t bytes, left;
};

struct probes {
	struct xpu_bpf *skel;
	struct ring_buffer *ring, *sample_ring;	/* sample_ring may be NULL */
	struct budget budget, sample_budget;
	int epoll_fd;			/* readable when either ring is */
	bool multi;
	bool everywhere;		/* the probes of switches watch all processes */
	struct sites sites;		/* sites to attach to */
	struct shim shims[MAX_SHIMS];	/* the first is our own file */
	size_t nr_shims;		/* number of entries in shims; 0: only samples are
					 * recorded */
	struct followed *followed, *ended;
	size_t nr_ended;
	probes_record_fn fn;
	void *ctx;
};

__attribute__((format(printf, 2, 0)))
static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (msg__verbosity < (level == LIBBPF_DEBUG ? 2 : 1))
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* ---- probe sites ----------------------------------------------------------------------------- */

/* Removes the sites that this recording does not attach to. */
static void choose_sites(struct sites *sites, const struct probes_options *opts)
{
	bool run = opts->mode == PROBES_RUN;
	const bool uses[] = {
		[SITE_ALWAYS] = true,
		[SITE_EARLY] = run && opts->sample,
		[SITE_RANGE] = opts->ranges,
		[SITE_API] = opts->api,
		[SITE_STALLS] = opts->stalls,
		[SITE_MEMORY] = opts->memory,
	};
	const struct site *site;
	size_t group, i, nr;

	for (group = 0; group < NR_SITE_GROUPS; group++) {
		for (i = nr = 0; i < sites->nr[group]; i++) {
			site = &sites->site[group][i];
			if (uses[site->use] && !(run && site->live))
				sites->site[group][nr++] = *site;
		}
		sites->nr[group] = nr;
	}
}

/* Return: the program for a group. A switch's program never runs, so any program will do. */
static struct bpf_program *program_for(const struct xpu_bpf *skel, enum site_group group)
{
	switch (group) {
	case SITES_LOG:
		return skel->progs.on_log;
	case SITES_PATH:
	case SITES_LAUNCH:
		return skel->progs.on_launch;
	case SITES_INIT:
		return skel->progs.on_init;
	default:
		return skel->progs.on_batch;
	}
}

/*
 * A uprobe multi link (Linux 6.6) needs only cap_bpf and cap_perfmon, and calls the program faster.
 * A perf event needs cap_sys_admin. The libbpf and the headers of the supported distributions are
 * older than the multi link, so its part of union bpf_attr is spelled out.
 */
#define UPROBE_MULTI_ATTACH	48	/* BPF_TRACE_UPROBE_MULTI */

struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, link_flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, flags, pid, reserved;
};

static int attach_multi(const struct shim *shim, int prog_fd, const struct site *sites,
			size_t nr_sites, pid_t pid, struct attachment *a)
{
	uint64_t offsets[MAX_SITES], ref_ctr_offsets[MAX_SITES];
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = UPROBE_MULTI_ATTACH,
		.path = (uintptr_t)shim->path,
		.offsets = (uintptr_t)offsets,
		.ref_ctr_offsets = (uintptr_t)ref_ctr_offsets,
		.cnt = nr_sites,
		.pid = pid,
	};
	size_t i;
	int fd;

	for (i = 0; i < nr_sites; i++) {
		offsets[i] = sites[i].at;
		ref_ctr_offsets[i] = sites[i].semaphore;
	}
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	a->multi_fd = fd;
	return 0;
}

/* Attaches a program to a group of sites. @pid: 0 for all processes */
static int attach(struct probes *p, const struct shim *shim, enum site_group group, pid_t pid,
		  struct attachment *a)
{
	struct bpf_program *prog = program_for(p->skel, group);
	const struct site *sites = p->sites.site[group];
	size_t i, nr = p->sites.nr[group];

	if (p->multi && nr)
		return attach_multi(shim, bpf_program__fd(prog), sites, nr, pid, a);
	for (i = 0; i < nr; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = sites[i].semaphore);

		a->links[i] = bpf_program__attach_uprobe_opts(prog, pid ?: -1, shim->path,
							      sites[i].at, &opts);
		if (!a->links[i])
			return -errno;
	}
	return 0;
}

/* Attaches probes to the switches of @shim in @pid, or in all processes if @pid is 0. */
static int switch_on(struct probes *p, const struct shim *shim, pid_t pid, bool hello,
		     struct attachment at[NR_SITE_GROUPS])
{
	int err = hello ? attach(p, shim, SWITCHES_HELLO, pid, &at[SWITCHES_HELLO]) : 0;

	return err ?: attach(p, shim, SWITCHES, pid, &at[SWITCHES]) ?:
		attach(p, shim, SWITCHES_LAUNCH, pid, &at[SWITCHES_LAUNCH]);
}

static void detach(struct attachment *a)
{
	size_t i;

	if (a->multi_fd)
		close(a->multi_fd);
	for (i = 0; i < MAX_SITES; i++)
		bpf_link__destroy(a->links[i]);
}

/* Attachments that several threads detach. The last of the threads frees this struct. */
struct detachment {
	atomic_size_t next, nr_threads;
	size_t nr;
	struct attachment list[];
};

static void *detachment__run(void *arg)
{
	struct detachment *d = arg;
	size_t i;

	while ((i = atomic_fetch_add(&d->next, 1)) < d->nr)
		detach(&d->list[i]);
	if (atomic_fetch_sub(&d->nr_threads, 1) == 1)
		free(d);
	return NULL;
}

static bool is_attached(const struct attachment *a)
{
	return a->multi_fd || a->links[0];
}

/*
 * Detaches @nr attachments, and clears them. Detaching one takes Linux about 40 ms, and detaching
 * many at the same time takes no longer. The thread that drains the ring should set @wait to false.
 */
static void detach_all(struct attachment *const *list, size_t nr, bool wait)
{
	pthread_t threads[DETACHERS];
	size_t i, started;
	struct detachment *d;

	if (!nr)
		return;
	d = malloc(sizeof(*d) + nr * sizeof(d->list[0]));
	for (i = 0; i < nr && !d; i++)
		detach(list[i]);
	for (i = 0; i < nr && d; i++)
		d->list[i] = *list[i];
	for (i = 0; i < nr; i++)
		memset(list[i], 0, sizeof(*list[i]));
	if (!d)
		return;
	d->nr = nr;
	atomic_init(&d->next, 0);
	atomic_init(&d->nr_threads, 1);		/* this thread */
	for (started = 0; started < nr && started < DETACHERS; started++) {
		atomic_fetch_add(&d->nr_threads, 1);
		if (pthread_create(&threads[started], NULL, detachment__run, d)) {
			atomic_fetch_sub(&d->nr_threads, 1);
			break;
		}
	}
	for (i = 0; i < started; i++) {
		if (wait)
			pthread_join(threads[i], NULL);
		else
			pthread_detach(threads[i]);
	}
	if (!started)
		detachment__run(d);
	else if (atomic_fetch_sub(&d->nr_threads, 1) == 1)
		free(d);
}

static void add_attached(struct attachment **list, size_t *nr, struct attachment *a)
{
	if (is_attached(a))
		list[(*nr)++] = a;
}

/* Detaches the groups @from to @to of all shims from all processes. */
static void detach_everywhere(struct probes *p, enum site_group from, enum site_group to)
{
	struct attachment *list[MAX_SHIMS * NR_SITE_GROUPS];
	unsigned int group;
	size_t i, nr = 0;

	for (i = 0; i < p->nr_shims; i++)
		for (group = from; group <= to; group++)
			add_attached(list, &nr, &p->shims[i].at[group]);
	detach_all(list, nr, true);
}

/*
 * Detaches the groups @from to @to of all shims. Followed processes come first: detaching from them
 * costs less while probes of switches still watch all processes.
 */
static void probes__detach(struct probes *p, enum site_group from, enum site_group to)
{
	size_t groups = to - from + 1, i, nr = 0;
	struct attachment **list;
	struct followed *f;

	list = calloc(HASH_COUNT(p->followed) * p->nr_shims * groups + 1, sizeof(*list));
	for (f = p->followed; f; f = f->hh.next) {
		for (i = 0; i < p->nr_shims * groups; i++) {
			struct attachment *a = &f->at[i / groups][from + i % groups];

			if (list)
				add_attached(list, &nr, a);
			else if (is_attached(a))
				detach_all(&a, 1, true);
		}
	}
	detach_all(list, nr, true);
	free(list);
	detach_everywhere(p, from, to);
}

/* Detaches from ended processes. */
static void forget_ended(struct probes *p, bool wait)
{
	size_t per = MAX_SHIMS * (NR_SITE_GROUPS - NR_SITES), i, nr;
	struct attachment *list[MAX_SHIMS * (NR_SITE_GROUPS - NR_SITES)], **all;
	struct followed *f;

	all = calloc(p->nr_ended * per + 1, sizeof(*all));
	for (f = p->ended, nr = 0; f; f = f->next) {
		for (i = 0; i < per; i++)
			add_attached(all ?: list, &nr,
				     &f->at[i % MAX_SHIMS][NR_SITES + i / MAX_SHIMS]);
		if (!all) {
			detach_all(list, nr, wait);
			nr = 0;
		}
	}
	if (all)
		detach_all(all, nr, wait);
	free(all);
	while ((f = p->ended)) {
		p->ended = f->next;
		free(f);
	}
	p->nr_ended = 0;
}

/* Attaches to the sites of @shim. */
static int attach_to_shim(struct probes *p, struct shim *shim)
{
	int group, err = 0;

	for (group = 0; group < NR_SITES && !err; group++)
		err = attach(p, shim, group, 0, &shim->at[group]);
	if (!err && p->everywhere)
		err = switch_on(p, shim, 0, true, shim->at);
	return err;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int ring_record(void *ctx, void *data, size_t size)
{
	struct budget *b = ctx;

	b->probes->fn(b->probes->ctx, data, size);
	if (b->left < size)
		return -EAGAIN;			/* stop after this record, which was taken */
	b->left -= size;
	return 0;
}

static uint64_t ring_size(uint64_t bytes)
{
	uint64_t size = sysconf(_SC_PAGESIZE);

	while (size < bytes && size < 1ull << 31)
		size *= 2;
	return size;
}

/*
 * Return: the number of entries for a map. This is one entry for each @bytes of the ring, because a
 * user with many threads requests a larger ring.
 */
static uint32_t max_entries(const struct probes_options *opts, uint32_t bytes)
{
	uint64_t nr = opts->ring_bytes / bytes;

	return nr > MIN_ENTRIES ? nr : MIN_ENTRIES;
}

/* Sets up the maps and variables of samplers; without samples, disables them. */
static void set_up_sampling(struct xpu_bpf *skel, const struct probes_options *opts,
			    uint64_t ring_bytes, bool old_kernel)
{
	struct timespec tick;

	if (!opts->sample) {
		bpf_program__set_autoload(skel->progs.on_sample, false);
		bpf_program__set_autoload(skel->progs.on_free, false);
		bpf_map__set_autocreate(skel->maps.sample_ring, false);
		bpf_map__set_autocreate(skel->maps.sample_scratches, false);
		bpf_map__set_autocreate(skel->maps.pythons, false);
		bpf_map__set_max_entries(skel->maps.cpu_times, 1);
		return;
	}
	bpf_map__set_max_entries(skel->maps.sample_ring, ring_bytes);
	bpf_map__set_max_entries(skel->maps.sample_scratches, sysconf(_SC_NPROCESSORS_CONF));
	bpf_map__set_max_entries(skel->maps.cpu_times, max_entries(opts, 2048));
	skel->rodata->sample_period_ns = opts->sample_period_ns;
	/* This clock advances at the kernel's ticks. */
	if (!clock_getres(CLOCK_MONOTONIC_COARSE, &tick) && !tick.tv_sec && tick.tv_nsec)
		skel->rodata->tick_ns = tick.tv_nsec;
	skel->rodata->sample_wakeup_bytes = ring_bytes / 8;
	skel->rodata->sample_stack_bytes = opts->stack_bytes;
	skel->rodata->blind_stack_bytes = opts->blind_stack_bytes;
	/* Before Linux 6.1 the program of a perf event may read only preallocated maps. */
	if (old_kernel) {
		bpf_map__set_map_flags(skel->maps.procs, 0);
		bpf_map__set_map_flags(skel->maps.wanted, 0);
	}
}

/* Sets up the programs and maps for the accounts of off-CPU time, or disables them. */
static void set_up_off_cpu(struct xpu_bpf *skel, const struct probes_options *opts)
{
	struct bpf_program *progs[] = {
		skel->progs.on_switch, skel->progs.on_wakeup, skel->progs.on_thread_start,
		skel->progs.on_thread_exec, skel->progs.on_thread_exit,
	};
	struct bpf_map *maps[] = {
		skel->maps.thread_states, skel->maps.off_stacks,
		skel->maps.off_scratches, skel->maps.off_places,
	};
	size_t i;

	skel->rodata->want_accounts = opts->off_cpu;
	bpf_map__set_max_entries(skel->maps.off_stacks, max_entries(opts, 1024));
	bpf_map__set_max_entries(skel->maps.thread_states, max_entries(opts, 2048));
	skel->rodata->off_min_ns = opts->off_min_ns;
	bpf_map__set_max_entries(skel->maps.off_scratches, sysconf(_SC_NPROCESSORS_CONF));
	for (i = 0; i < sizeof(progs) / sizeof(progs[0]) && !opts->off_cpu; i++)
		bpf_program__set_autoload(progs[i], false);
	for (i = 0; i < sizeof(maps) / sizeof(maps[0]) && !opts->off_cpu; i++)
		bpf_map__set_autocreate(maps[i], false);
}

static int identify(struct xpu_bpf *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(bpf_program__fd(skel->progs.identify), &opts);
}

/* Sets up maps, variables and programs, before the programs are loaded. */
static void set_up(struct xpu_bpf *skel, const struct probes_options *opts, bool multi)
{
	uint64_t ring_bytes = ring_size(opts->ring_bytes);

	bpf_map__set_max_entries(skel->maps.ring, ring_bytes);
	skel->rodata->ring_wakeup_bytes = ring_bytes / 8;
	if (opts->max_frames)
		skel->rodata->max_frames = opts->max_frames;
	skel->rodata->want_waits = opts->waits;
	skel->rodata->only_windows = opts->windows;
	strncpy((char *)skel->rodata->filter_comm, opts->comm ?: "",
		sizeof(skel->rodata->filter_comm) - 1);
	skel->rodata->filter_cgroup = opts->cgroup.id;
	skel->rodata->filter_hierarchy = opts->cgroup.hierarchy;
	bpf_program__set_autoattach(skel->progs.identify, false);
	bpf_program__set_autoattach(skel->progs.on_prepare_exec, false);
	skel->rodata->restricted = caps__restricted();
	skel->rodata->hide_kernel = caps__restricted() && !kernel__shows_addresses();
	set_up_off_cpu(skel, opts);
	set_up_sampling(skel, opts, ring_size(opts->ring_bytes / 4), !multi);
	if (multi) {
		bpf_program__set_expected_attach_type(skel->progs.on_batch, UPROBE_MULTI_ATTACH);
		bpf_program__set_expected_attach_type(skel->progs.on_log, UPROBE_MULTI_ATTACH);
		bpf_program__set_expected_attach_type(skel->progs.on_launch, UPROBE_MULTI_ATTACH);
		bpf_program__set_expected_attach_type(skel->progs.on_init, UPROBE_MULTI_ATTACH);
	}
}

static int map_ring(struct probes *p, const struct bpf_map *map, struct budget *budget,
		    struct ring_buffer **ring)
{
	struct epoll_event ev = { .events = EPOLLIN };

	budget->probes = p;
	budget->bytes = bpf_map__max_entries(map);
	*ring = ring_buffer__new(bpf_map__fd(map), ring_record, budget, NULL);
	if (!*ring)
		return -errno;
	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, bpf_map__fd(map), &ev) ? -errno : 0;
}

static int map_rings(struct probes *p, bool sample)
{
	int err;

	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll_fd < 0)
		return -errno;
	err = map_ring(p, p->skel->maps.ring, &p->budget, &p->ring);
	if (err || !sample)
		return err;
	return map_ring(p, p->skel->maps.sample_ring, &p->sample_budget, &p->sample_ring);
}

/* Return: 0 or a negative errno. Linux before 6.10 lacks this tracepoint, which is not an error. */
static int attach_prepare_exec(struct xpu_bpf *skel)
{
	struct bpf_link *link = bpf_program__attach(skel->progs.on_prepare_exec);

	if (!link)
		return errno == ENOENT ? 0 : -errno;
	skel->links.on_prepare_exec = link;
	return 0;
}

/*
 * Loads the BPF programs. Return: 0, or a negative errno with *@what set to the name of the step
 * that failed.
 */
static int load(struct probes *p, const struct probes_options *opts, const char **what)
{
	struct xpu_bpf *skel;
	int err;

	*what = "open the BPF object";
	skel = p->skel = xpu_bpf__open();
	if (!skel)
		return -errno;
	set_up(skel, opts, p->multi);
	*what = "load the BPF programs";
	err = xpu_bpf__load(skel);
	if (err)
		return err;
	*what = "run a BPF program";
	err = identify(skel);
	if (err)
		return err;
	*what = "tell on this kernel which processes are yours: run xpuload as root";
	if (caps__restricted() && !skel->bss->invoker.knows_dumpable)
		return -EOPNOTSUPP;
	*what = "map the ring buffers";
	err = map_rings(p, opts->sample);
	if (err)
		return err;
	skel->bss->attach_all = opts->mode == PROBES_ALL;
	skel->bss->sample_all = opts->mode == PROBES_ALL && !opts->shim;
	skel->bss->attach_wanted = opts->mode == PROBES_PID || opts->comm || opts->cgroup.id;
	skel->bss->no_children = opts->no_children;
	*what = "attach to the sched tracepoints";
	err = xpu_bpf__attach(skel);	/* uprobes are attached elsewhere */
	return err ?: attach_prepare_exec(skel);
}

/* Adds a file; owns @fd on success. Return: the shim, or NULL if there are too many. */
static struct shim *add_shim(struct probes *p, int fd, const struct stat *st)
{
	struct shim *shim = &p->shims[p->nr_shims];

	if (p->nr_shims == MAX_SHIMS)
		return NULL;
	p->nr_shims++;
	shim->fd = fd;
	shim->dev = st->st_dev;
	shim->ino = st->st_ino;
	snprintf(shim->path, sizeof(shim->path), "/proc/self/fd/%d", fd);
	return shim;
}

static int open_shim(struct probes *p, const struct probes_options *opts, char *why, size_t len)
{
	int fd = shim_file__open(opts->shim, &p->sites, why, len);
	struct stat st;

	if (fd < 0)
		return fd;
	choose_sites(&p->sites, opts);
	if (fstat(fd, &st)) {
		snprintf(why, len, "%s: %s", opts->shim, strerror(errno));
		close(fd);
		return -EIO;
	}
	add_shim(p, fd, &st);
	return 0;
}

static int open_with(const struct probes_options *opts, bool multi, probes_record_fn fn,
		     void *ctx, struct probes **pp, char *why, size_t len)
{
	struct probes *p = calloc(1, sizeof(*p));
	const char *what;
	int err = -ENOMEM;

	snprintf(why, len, "out of memory");
	if (!p)
		return err;
	p->fn = fn;
	p->ctx = ctx;
	p->multi = multi;
	p->everywhere = opts->mode != PROBES_PID;
	p->epoll_fd = -1;
	err = opts->shim ? open_shim(p, opts, why, len) : 0;
	if (err)
		goto out;
	caps__raise();
	err = load(p, opts, &what);
	if (!err && p->nr_shims) {
		what = "attach uprobes to the shim";
		err = attach_to_shim(p, &p->shims[0]);
	}
	caps__lower();
	if (!err) {
		*pp = p;
		return 0;
	}
	snprintf(why, len, "cannot %s: %s%s", what, strerror(-err), advice_on_error(err));
out:
	probes__close(p);
	return err;
}

int probes__open(const struct probes_options *opts, probes_record_fn fn, void *ctx,
		 struct probes **p, char *why, size_t len)
{
	int err;

	libbpf_set_print(print_libbpf);
	err = open_with(opts, true, fn, ctx, p, why, len);
	if (err == -EINVAL || err == -E2BIG || err == -EOPNOTSUPP)
		err = open_with(opts, false, fn, ctx, p, why, len);	/* before Linux 6.6 */
	return err;
}

void probes__close(struct probes *p)
{
	if (!p)
		return;
	forget_ended(p, true);
	probes__detach(p, 0, NR_SITE_GROUPS - 1);
	table_free(p->followed, table_free_nothing);
	while (p->nr_shims)
		close(p->shims[--p->nr_shims].fd);
	ring_buffer__free(p->ring);
	ring_buffer__free(p->sample_ring);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	xpu_bpf__destroy(p->skel);
	free(p);
}

int probes__add_shim(struct probes *p, int fd)
{
	struct shim *shim;
	struct followed *f;
	struct stat st;
	size_t i;
	int err = fstat(fd, &st) ? -errno : 0;

	for (i = 0; i < p->nr_shims && !err; i++)
		if (p->shims[i].dev == st.st_dev && p->shims[i].ino == st.st_ino)
			goto out;		/* a known file */
	shim = err ? NULL : add_shim(p, fd, &st);
	if (!shim) {
		err = err ?: -E2BIG;
		goto out;
	}
	caps__raise();
	err = attach_to_shim(p, shim);
	for (f = p->followed; f && !err; f = f->hh.next) {
		err = switch_on(p, shim, f->pid, true, f->at[shim - p->shims]);
		if (err == -ESRCH)		/* this process has ended */
			err = 0;
	}
	caps__lower();
	return err;
out:
	close(fd);
	return err;
}

int probes__want(struct probes *p, pid_t pid, bool denied)
{
	uint32_t key = pid, how = denied ? XPU_WANTED_DENIED : XPU_WANTED;
	int err;

	caps__raise();
	err = bpf_map_update_elem(bpf_map__fd(p->skel->maps.wanted), &key, &how, BPF_ANY);
	caps__lower();
	return err;
}

void probes__unwant(struct probes *p, pid_t pid)
{
	uint32_t key = pid;

	caps__raise();
	bpf_map_delete_elem(bpf_map__fd(p->skel->maps.wanted), &key);
	caps__lower();
}

/* If this fails, the next process tries again. */
static int switch_on_everywhere(struct probes *p)
{
	int err = 0;
	size_t i;

	caps__raise();
	for (i = 0; i < p->nr_shims && !err; i++)
		err = switch_on(p, &p->shims[i], 0, true, p->shims[i].at);
	caps__lower();
	p->everywhere = !err;
	if (err)
		detach_everywhere(p, NR_SITES, NR_SITE_GROUPS - 1);
	else
		msg__info(
			"more than %d processes: the shims of other programs are woken, too, but "
			"not recorded",
			MAX_FOLLOWED);
	return err;
}

/* Attaches to the switches of all shims in the process @f. */
static int followed__switch_on(struct probes *p, struct followed *f, bool hello)
{
	int err = 0;
	size_t i;

	caps__raise();
	for (i = 0; i < p->nr_shims && !err; i++)
		err = switch_on(p, &p->shims[i], f->pid, hello, f->at[i]);
	caps__lower();
	if (err)
		probes__unfollow(p, f->pid);
	return err;
}

int probes__follow(struct probes *p, pid_t pid, bool hello)
{
	struct followed *f;
	int err, tries;

	table_find(p->followed, pid, pid, f);
	if (f || p->everywhere)
		return 0;
	if (HASH_COUNT(p->followed) >= MAX_FOLLOWED)
		return switch_on_everywhere(p);
	for (tries = 0; tries < 2; tries++) {
		table_get(p->followed, pid, pid, f);
		if (!f)
			return -ENOMEM;
		err = followed__switch_on(p, f, hello);
		if (err != -EMFILE)
			break;
		forget_ended(p, true);		/* also frees @f, to which attaching failed */
	}
	return err;
}

void probes__unfollow(struct probes *p, pid_t pid)
{
	struct followed *f;

	table_find(p->followed, pid, pid, f);
	if (!f)
		return;
	HASH_DEL(p->followed, f);
	f->next = p->ended;
	p->ended = f;
	if (++p->nr_ended >= MAX_ENDED)
		forget_ended(p, false);
}

void probes__detach_launches(struct probes *p)
{
	probes__detach(p, SWITCHES_LAUNCH, SWITCHES_LAUNCH);
	probes__detach(p, SITES_LAUNCH, SITES_LAUNCH);
}

void probes__end_hello(struct probes *p)
{
	probes__detach(p, SWITCHES_HELLO, SWITCHES_HELLO);
}

void probes__stop(struct probes *p)
{
	caps__raise();
	xpu_bpf__detach(p->skel);
	caps__lower();
}

void probes__adopt_next_child(struct probes *p)
{
	__atomic_store_n(&p->skel->bss->adopt_child, true, __ATOMIC_SEQ_CST);
}

void probes__each_thread(const struct probes *p, probes_thread_fn fn, void *ctx)
{
	int fd = bpf_map__fd(p->skel->maps.thread_states);
	struct xpu_thread_state t;
	uint32_t key, next;
	void *from = NULL;

	caps__raise();
	while (!bpf_map_get_next_key(fd, from, &next)) {
		if (!bpf_map_lookup_elem(fd, &next, &t))
			fn(ctx, &t);
		key = next;
		from = &key;
	}
	caps__lower();
}

void probes__each_cpu_time(const struct probes *p, probes_cpu_time_fn fn, void *ctx)
{
	int fd = bpf_map__fd(p->skel->maps.cpu_times);
	struct xpu_cpu_time t;
	uint64_t key, next;
	void *from = NULL;

	caps__raise();
	while (!bpf_map_get_next_key(fd, from, &next)) {
		if (!bpf_map_lookup_elem(fd, &next, &t))
			fn(ctx, &t);
		key = next;
		from = &key;
	}
	caps__lower();
}

int probes__sample_fd(const struct probes *p)
{
	return bpf_program__fd(p->skel->progs.on_sample);
}

void probes__set_python(struct probes *p, uint32_t proc_id, const struct xpu_python *python)
{
	int err;

	caps__raise();
	err = bpf_map_update_elem(bpf_map__fd(p->skel->maps.pythons), &proc_id, python, BPF_ANY);
	caps__lower();
	if (err)
		msg__debug("no Python frames of image %u: %s", proc_id, strerror(-err));
}

uint64_t probes__nr_stopped(const struct probes *p)
{
	return __atomic_load_n(&p->skel->bss->nr_stopped, __ATOMIC_RELAXED);
}

uint64_t probes__nr_left_alone(const struct probes *p)
{
	return __atomic_load_n(&p->skel->bss->nr_left_alone, __ATOMIC_RELAXED);
}

uint64_t probes__nr_late(const struct probes *p)
{
	return __atomic_load_n(&p->skel->bss->nr_late, __ATOMIC_RELAXED);
}

uint64_t probes__nr_samples(const struct probes *p)
{
	return __atomic_load_n(&p->skel->bss->nr_samples, __ATOMIC_RELAXED);
}

int probes__fd(const struct probes *p)
{
	return p->epoll_fd;
}

static bool drain_ring(struct ring_buffer *ring, struct budget *b)
{
	b->left = b->bytes;
	return ring_buffer__consume(ring) >= 0;
}

bool probes__drain(struct probes *p)
{
	bool all = drain_ring(p->ring, &p->budget);

	if (p->sample_ring)
		all &= drain_ring(p->sample_ring, &p->sample_budget);
	return all;
}

void probes__loss(const struct probes *p, uint32_t proc_id, struct xpu_loss *loss)
{
	struct xpu_loss found;

	if (!bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.losses), &proc_id, &found))
		*loss = found;
}

uint64_t probes__nr_lost(const struct probes *p, enum xpu_lost_kind kind)
{
	return __atomic_load_n(&p->skel->bss->dropped[kind], __ATOMIC_RELAXED);
}

void probes__signal(const struct probes *p, int sig, struct xpu_signal *s)
{
	*s = p->skel->bss->root_signals[sig];
}

int probes__check(const char *shim, char *why, size_t len)
{
	struct probes_options opts = { .shim = shim };
	struct probes *p;
	int err = probes__open(&opts, NULL, NULL, &p, why, len);

	if (!err)
		probes__close(p);
	return err;
}
