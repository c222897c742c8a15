// SPDX-License-Identifier: GPL-3.0-or-later
#include "probes.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "msg.h"
#include "xpu.skel.h"
#include "xpu_slot.h"

#define MAX_SITES	2		/* a program watches; the run site and the live one */

/* One program on its sites: a multi link where the kernel has them, else one link a site. */
struct attachment {
	int multi_fd;			/* -1 without */
	struct bpf_link *links[MAX_SITES];
};

/* The programs on the sites of one process, or of all. */
struct attachments {
	struct attachment early, api, batch, log, path, range, launch;
};

struct followed {			/* a child of an attached process */
	struct followed *next;
	struct attachments at;
};

/* Where the kernel puts a breakpoint, and the counter beside it: offsets into the file. */
struct site {
	uint64_t func, semaphore;
};

struct sites {
	struct site launch[MAX_SITES], batch[MAX_SITES], log[MAX_SITES], path[MAX_SITES];
	struct site range[MAX_SITES], early, hello, api;
};

struct probes {
	struct xpu_bpf *skel;
	struct ring_buffer *ring;
	bool multi;
	char *shim;
	struct sites sites;
	size_t nr_sites;
	bool early, api, ranges;	/* these sites, too */
	struct attachments at;
	struct attachment hello;
	struct followed *followed;
	probes_record_fn fn;
	void *ctx;
};

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (msg__verbosity < (level == LIBBPF_DEBUG ? 2 : 1))
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* ---- the shim's probe sites ------------------------------------------------------------------ */

static bool vaddr_to_offset(Elf *elf, uint64_t vaddr, uint64_t *offset)
{
	size_t i, nr;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz) {
			*offset = vaddr - ph.p_vaddr + ph.p_offset;
			return true;
		}
	}
	return false;
}

static bool symbol_offset(Elf *elf, const char *name, uint64_t *offset)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf_Data *data;
	const char *s;
	size_t i;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		for (i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
			if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF)
				continue;
			s = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (s && !strcmp(s, name))
				return vaddr_to_offset(elf, sym.st_value, offset);
		}
	}
	return false;
}

static bool find_site(Elf *elf, const char *name, struct site *site)
{
	char semaphore[64];

	snprintf(semaphore, sizeof(semaphore), "%s" XPU_SEMAPHORE_SUFFIX, name);
	return symbol_offset(elf, name, &site->func) &&
	       symbol_offset(elf, semaphore, &site->semaphore);
}

static int find_sites(const char *path, struct sites *sites, char *why, size_t len)
{
	int fd, err = -ENOEXEC;
	Elf *elf;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		snprintf(why, len, "cannot open the shim %s: %s", path, strerror(errno));
		return err;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && find_site(elf, XPU_SITE_LAUNCH, &sites->launch[0]) &&
	    find_site(elf, XPU_SITE_BATCH, &sites->batch[0]) &&
	    find_site(elf, XPU_SITE_LOG, &sites->log[0]) &&
	    find_site(elf, XPU_SITE_PATH, &sites->path[0]) &&
	    find_site(elf, XPU_SITE_LIVE_LAUNCH, &sites->launch[1]) &&
	    find_site(elf, XPU_SITE_LIVE_BATCH, &sites->batch[1]) &&
	    find_site(elf, XPU_SITE_LIVE_LOG, &sites->log[1]) &&
	    find_site(elf, XPU_SITE_LIVE_PATH, &sites->path[1]) &&
	    find_site(elf, XPU_SITE_RANGE, &sites->range[0]) &&
	    find_site(elf, XPU_SITE_LIVE_RANGE, &sites->range[1]) &&
	    find_site(elf, XPU_SITE_EARLY, &sites->early) &&
	    find_site(elf, XPU_SITE_HELLO, &sites->hello) &&
	    find_site(elf, XPU_SITE_LIVE_API, &sites->api))
		err = 0;
	else
		snprintf(why, len, "%s has no probe sites: not a libxpushim.so, or one of another "
			 "version", path);
	elf_end(elf);
	close(fd);
	return err;
}

/* ---- loading and attaching ------------------------------------------------------------------- */

static int ring_record(void *ctx, void *data, size_t size)
{
	struct probes *p = ctx;

	p->fn(p->ctx, data, size);
	return 0;
}

static uint64_t ring_size(uint64_t bytes)
{
	uint64_t size = sysconf(_SC_PAGESIZE);

	while (size < bytes && size < 1ull << 31)
		size *= 2;
	return size;
}

/* What a refused bpf() or perf_event_open() most likely means to the user. */
static const char *advice(int err)
{
	if (err == -EPERM || err == -EACCES)
		return ": run it as root, or give it the capabilities cap_bpf and cap_perfmon "
		       "(make install does; before Linux 6.6 cap_sys_admin, too)";
	if (err == -ENOENT || err == -ESRCH)
		return ": the kernel lacks BTF or uprobes (CONFIG_DEBUG_INFO_BTF, CONFIG_UPROBES)";
	return "";
}

/*
 * A uprobe multi link (Linux 6.6) needs no more than cap_bpf and cap_perfmon and runs the program
 * with less in between; a perf event wants cap_sys_admin. The libbpf and the headers of the
 * supported distributions are older than it, so its part of union bpf_attr is spelled out.
 */
#define UPROBE_MULTI_ATTACH	48	/* BPF_TRACE_UPROBE_MULTI */

struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, link_flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, flags, pid, reserved;
};

static int attach_multi(struct probes *p, struct bpf_program *prog, const struct site *sites,
			size_t nr_sites, pid_t pid, struct attachment *a)
{
	uint64_t offsets[MAX_SITES], ref_ctr_offsets[MAX_SITES];
	struct link_create_uprobe_multi attr = {
		.prog_fd = bpf_program__fd(prog),
		.attach_type = UPROBE_MULTI_ATTACH,
		.path = (uintptr_t)p->shim,
		.offsets = (uintptr_t)offsets,
		.ref_ctr_offsets = (uintptr_t)ref_ctr_offsets,
		.cnt = nr_sites,
		.pid = pid,
	};
	size_t i;

	for (i = 0; i < nr_sites; i++) {
		offsets[i] = sites[i].func;
		ref_ctr_offsets[i] = sites[i].semaphore;
	}
	a->multi_fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return a->multi_fd < 0 ? -errno : 0;
}

/* @pid: 0 for every process */
static int attach(struct probes *p, struct bpf_program *prog, const struct site *sites,
		  size_t nr_sites, pid_t pid, struct attachment *a)
{
	size_t i;

	if (p->multi)
		return attach_multi(p, prog, sites, nr_sites, pid, a);
	for (i = 0; i < nr_sites; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = sites[i].semaphore);

		a->links[i] = bpf_program__attach_uprobe_opts(prog, pid ?: -1, p->shim,
							      sites[i].func, &opts);
		if (!a->links[i])
			return -errno;
	}
	return 0;
}

static void attachments__init(struct attachments *at)
{
	at->early.multi_fd = at->api.multi_fd = at->batch.multi_fd = at->log.multi_fd =
		at->path.multi_fd = at->range.multi_fd = at->launch.multi_fd = -1;
}

/* Launches last: who hears of them must hear of what becomes of them. */
static int attach_all(struct probes *p, pid_t pid, struct attachments *at)
{
	const struct xpu_bpf *skel = p->skel;
	const struct sites *sites = &p->sites;

	attachments__init(at);
	/* On the site of the API the program does not matter: it never runs. */
	return (p->early ? attach(p, skel->progs.on_batch, &sites->early, 1, pid, &at->early) : 0) ?:
	       (p->api ? attach(p, skel->progs.on_batch, &sites->api, 1, pid, &at->api) : 0) ?:
	       attach(p, skel->progs.on_batch, sites->batch, p->nr_sites, pid, &at->batch) ?:
	       attach(p, skel->progs.on_log, sites->log, p->nr_sites, pid, &at->log) ?:
	       attach(p, skel->progs.on_launch, sites->path, p->nr_sites, pid, &at->path) ?:
	       (p->ranges ? attach(p, skel->progs.on_batch, sites->range, p->nr_sites, pid,
				   &at->range) : 0) ?:
	       attach(p, skel->progs.on_launch, sites->launch, p->nr_sites, pid, &at->launch);
}

static void detach(struct attachment *a)
{
	size_t i;

	if (a->multi_fd >= 0)
		close(a->multi_fd);
	a->multi_fd = -1;
	for (i = 0; i < MAX_SITES; i++) {
		bpf_link__destroy(a->links[i]);
		a->links[i] = NULL;
	}
}

/* What samplers need, or that they are not there. */
static void set_up_sampling(struct xpu_bpf *skel, const struct probes_options *opts,
			    uint64_t ring_bytes, bool old_kernel)
{
	if (!opts->sample) {
		bpf_program__set_autoload(skel->progs.on_sample, false);
		bpf_map__set_autocreate(skel->maps.sample_ring, false);
		bpf_map__set_autocreate(skel->maps.sample_scratches, false);
		bpf_map__set_autocreate(skel->maps.pythons, false);
		return;
	}
	bpf_map__set_max_entries(skel->maps.sample_ring, ring_bytes);
	bpf_map__set_max_entries(skel->maps.sample_scratches, sysconf(_SC_NPROCESSORS_CONF));
	skel->rodata->sample_wakeup_bytes = ring_bytes / 8;
	skel->rodata->sample_stack_bytes = opts->stack_bytes;
	skel->rodata->blind_stack_bytes = opts->blind_stack_bytes;
	/* Before Linux 6.1 a sampler may not look into a map that is allocated as it grows. */
	if (old_kernel)
		bpf_map__set_map_flags(skel->maps.procs, 0);
}

static void detach_all(struct attachments *at)
{
	detach(&at->launch);
	detach(&at->range);
	detach(&at->path);
	detach(&at->log);
	detach(&at->batch);
	detach(&at->api);
	detach(&at->early);
}

/* The same of what accounts for time off the CPU. */
static void set_up_off_cpu(struct xpu_bpf *skel, const struct probes_options *opts)
{
	struct bpf_program *progs[] = {
		skel->progs.on_switch, skel->progs.on_wakeup, skel->progs.on_thread_start,
		skel->progs.on_thread_exec, skel->progs.on_thread_exit,
	};
	struct bpf_map *maps[] = {
		skel->maps.thread_states, skel->maps.off_sums, skel->maps.off_stacks,
		skel->maps.off_scratches, skel->maps.off_places,
	};
	size_t i;

	skel->rodata->want_accounts = opts->off_cpu;
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

static int open_with(const struct probes_options *opts, bool multi, probes_record_fn fn,
		     void *ctx, struct probes **pp, char *why, size_t len)
{
	uint64_t ring_bytes = ring_size(opts->ring_bytes);
	struct xpu_bpf *skel;
	struct probes *p;
	pid_t pid;
	int err;

	p = calloc(1, sizeof(*p));
	if (!p) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	p->fn = fn;
	p->ctx = ctx;
	p->multi = multi;
	p->nr_sites = opts->mode == PROBES_RUN ? 1 : MAX_SITES;
	p->early = opts->mode == PROBES_RUN && opts->sample;
	p->api = opts->mode != PROBES_RUN && opts->api;
	p->ranges = opts->ranges;
	attachments__init(&p->at);
	p->hello.multi_fd = -1;
	if (opts->shim) {
		p->shim = strdup(opts->shim);
		err = p->shim ? find_sites(p->shim, &p->sites, why, len) : -ENOMEM;
		if (err)
			goto out;
	}

	skel = p->skel = xpu_bpf__open();
	if (!skel) {
		err = -errno;
		snprintf(why, len, "cannot open the BPF object: %s%s", strerror(-err),
			 advice(err));
		goto out;
	}
	bpf_map__set_max_entries(skel->maps.ring, ring_bytes);
	skel->rodata->ring_wakeup_bytes = ring_bytes / 8;
	if (opts->max_frames)
		skel->rodata->max_frames = opts->max_frames;
	skel->rodata->want_waits = opts->waits;
	set_up_off_cpu(skel, opts);
	set_up_sampling(skel, opts, ring_size(opts->ring_bytes / 4), !multi);
	if (multi) {
		bpf_program__set_expected_attach_type(skel->progs.on_batch, UPROBE_MULTI_ATTACH);
		bpf_program__set_expected_attach_type(skel->progs.on_log, UPROBE_MULTI_ATTACH);
		bpf_program__set_expected_attach_type(skel->progs.on_launch, UPROBE_MULTI_ATTACH);
	}
	err = xpu_bpf__load(skel);
	if (err) {
		snprintf(why, len, "cannot load the BPF programs: %s%s", strerror(-err),
			 advice(err));
		goto out;
	}
	err = identify(skel);
	if (err) {
		snprintf(why, len, "cannot run a BPF program: %s", strerror(-err));
		goto out;
	}
	p->ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), ring_record, p, NULL);
	if (!p->ring) {
		err = -errno;
		snprintf(why, len, "cannot map the ring buffer: %s", strerror(-err));
		goto out;
	}
	err = opts->sample ? ring_buffer__add(p->ring, bpf_map__fd(skel->maps.sample_ring),
					      ring_record, p) : 0;
	if (err) {
		snprintf(why, len, "cannot map the ring buffer of samples: %s", strerror(-err));
		goto out;
	}
	err = xpu_bpf__attach(skel);	/* the tracepoints; the uprobes say where below */
	if (err) {
		snprintf(why, len, "cannot attach to the sched tracepoints: %s%s", strerror(-err),
			 advice(err));
		goto out;
	}
	skel->bss->attach_all = opts->mode == PROBES_ALL;
	if (opts->mode == PROBES_PID)
		skel->bss->attach_pid = opts->pid;
	pid = opts->mode == PROBES_PID ? opts->pid : 0;
	/* The program does not matter: it never runs. */
	if (p->shim && opts->mode != PROBES_RUN)
		err = attach(p, skel->progs.on_batch, &p->sites.hello, 1, pid, &p->hello);
	if (!err && p->shim)
		err = attach_all(p, pid, &p->at);
	if (err) {
		snprintf(why, len, "cannot attach uprobes to %s: %s%s", opts->shim, strerror(-err),
			 advice(err));
		goto out;
	}
	*pp = p;
	return 0;
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
	struct followed *f;

	if (!p)
		return;
	probes__end_hello(p);
	detach_all(&p->at);
	while ((f = p->followed)) {
		p->followed = f->next;
		detach_all(&f->at);
		free(f);
	}
	free(p->shim);
	ring_buffer__free(p->ring);
	xpu_bpf__destroy(p->skel);
	free(p);
}

int probes__follow(struct probes *p, pid_t pid)
{
	struct followed *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	err = p->shim ? attach_all(p, pid, &f->at) : 0;
	f->next = p->followed;
	p->followed = f;
	return err;
}

void probes__detach_launches(struct probes *p)
{
	struct followed *f;

	detach(&p->at.launch);
	for (f = p->followed; f; f = f->next)
		detach(&f->at.launch);
}

void probes__end_hello(struct probes *p)
{
	detach(&p->hello);
}

void probes__adopt_next_child(struct probes *p)
{
	__atomic_store_n(&p->skel->bss->adopt_child, true, __ATOMIC_SEQ_CST);
}

void probes__each_off(const struct probes *p, probes_off_fn fn, void *ctx)
{
	int fd = bpf_map__fd(p->skel->maps.off_sums);
	struct xpu_off_key key, next;
	struct xpu_off_sum sum;
	void *from = NULL;

	while (!bpf_map_get_next_key(fd, from, &next)) {
		if (!bpf_map_lookup_elem(fd, &next, &sum))
			fn(ctx, &next, &sum);
		key = next;
		from = &key;
	}
}

void probes__each_thread(const struct probes *p, probes_thread_fn fn, void *ctx)
{
	int fd = bpf_map__fd(p->skel->maps.thread_states);
	struct xpu_thread_state t;
	uint32_t key, next;
	void *from = NULL;

	while (!bpf_map_get_next_key(fd, from, &next)) {
		if (!bpf_map_lookup_elem(fd, &next, &t))
			fn(ctx, &t);
		key = next;
		from = &key;
	}
}

int probes__sample_fd(const struct probes *p)
{
	return bpf_program__fd(p->skel->progs.on_sample);
}

void probes__set_python(struct probes *p, uint32_t proc_id, const struct xpu_python *python)
{
	if (bpf_map_update_elem(bpf_map__fd(p->skel->maps.pythons), &proc_id, python, BPF_ANY))
		msg__debug("no Python frames of image %u: %s", proc_id, strerror(errno));
}

uint64_t probes__nr_samples(const struct probes *p)
{
	return __atomic_load_n(&p->skel->bss->nr_samples, __ATOMIC_RELAXED);
}

int probes__fd(const struct probes *p)
{
	return ring_buffer__epoll_fd(p->ring);
}

void probes__drain(struct probes *p)
{
	ring_buffer__consume(p->ring);
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
	int err;

	err = probes__open(&opts, NULL, NULL, &p, why, len);
	if (!err)
		probes__close(p);
	return err;
}
