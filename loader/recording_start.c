// SPDX-License-Identifier: GPL-3.0-or-later
/* Starts a recording. The steps that are most likely to fail come first. */
#include "recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "attach/advice.h"
#include "attach/caps.h"
#include "base/host_clock.h"
#include "datafile.h"
#include "injections.h"
#include "target/keeper.h"
#include "base/msg.h"
#include "options.h"
#include "attach/own_sampler.h"
#include "attach/probes.h"
#include "target/pyfind.h"
#include "record/recorder.h"
#include "program_advice.h"
#include "record/windows.h"
#include "attach/sampler.h"
#include "attach/shared.h"
#include "target/cgroup_name.h"
#include "target/sideband.h"
#include "target/witness.h"
#include "util.h"
#include "xpu_shm.h"
#include "xpu_slot.h"

#define SHARED_PART	4		/* the size of each process's ring is -m divided by this */

/* ---- what the recorder reports -------------------------------------------------------------- */

static void on_record(void *ctx, const void *data, size_t size)
{
	struct recording *r = ctx;

	if (r->windows)
		windows__take(r->windows, data, size);
	recorder__record(r->recorder, data, size);
}

/* Writes the labels from a process's cgroup. A process that has ended gets its parent's labels. */
static void label(struct recording *r, const struct xpu_record_process *p)
{
	struct cgroup_labels l;

	if (cgroup_labels__read(&l, p->pid))
		return;
	if (*l.container)
		recorder__label(r->recorder, p->proc_id, XPU_LABEL_CONTAINER, l.container);
	if (*l.pod_uid)
		recorder__label(r->recorder, p->proc_id, XPU_LABEL_POD_UID, l.pod_uid);
	if (*l.job)
		recorder__label(r->recorder, p->proc_id, XPU_LABEL_JOB, l.job);
	if (*l.step)
		recorder__label(r->recorder, p->proc_id, XPU_LABEL_STEP, l.step);
}

static void on_process(void *ctx, const struct xpu_record_process *p)
{
	struct recording *r = ctx;

	label(r, p);
	if (r->shared) {
		if (r->blind && p->hdr.misc != XPU_MISC_PROCESS_ROOT)
			sideband__look(r->sideband, p->pid, p->comm, p->time_ns, r->writer);
		return;
	}
	if (p->hdr.misc != XPU_MISC_PROCESS_ROOT)	/* the root has not run its exec yet */
		sideband__hear(r->sideband, p->pid, SIDEBAND_ALLOWED, p->time_ns);
	if (p->hdr.misc == XPU_MISC_PROCESS_ATTACH)
		sideband__adopt(r->sideband, p->pid, p->time_ns, r->writer);
	if (p->hdr.misc == XPU_MISC_PROCESS_ATTACH || p->hdr.misc == XPU_MISC_PROCESS_FORK)
		recording__follow(r, p->pid, 0, false);
}

static void on_process_exit(void *ctx, const struct xpu_record_process_exit *p)
{
	struct recording *r = ctx;

	if (r->shared) {
		sideband__unlook(r->sideband, p->pid);
	} else {
		sideband__hear(r->sideband, p->pid, p->hdr.misc == XPU_MISC_EXIT_STOPPED ?
			       SIDEBAND_STOPPED : SIDEBAND_ENDED, p->time_ns);
		probes__unfollow(r->probes, p->pid);
	}
	if (r->keeper)
		keeper__process_exit(r->keeper, p->pid);
}

static void on_python(void *ctx, uint32_t proc_id, const struct xpu_python *python)
{
	struct recording *r = ctx;

	if (r->probes && (r->sampled || r->opts->off_cpu))
		probes__set_python(r->probes, proc_id, python);
}

static void on_loss(void *ctx, uint32_t proc_id, struct xpu_loss *loss)
{
	struct recording *r = ctx;

	if (r->shared)
		shared__loss(r->shared, proc_id, loss);
	else
		probes__loss(r->probes, proc_id, loss);
}

/* ---- what the shared memory reports ---------------------------------------------------------- */

static void on_settle(void *ctx, uint64_t until_ns)
{
	struct recording *r = ctx;

	recording__take_events(r, until_ns);
}

static bool on_paths(void *ctx, pid_t pid, uint64_t time_ns)
{
	struct recording *r = ctx;

	return !r->blind || sideband__look(r->sideband, pid, NULL, time_ns, r->writer);
}

static void on_mapped(void *ctx, struct xpu_record *record, size_t size, uint64_t begin_ns)
{
	struct recording *r = ctx;

	if (r->blind)
		sideband__take(r->sideband, record, size, begin_ns, r->writer);
}

static void on_frames(void *ctx, pid_t pid, const __u64 *frames, size_t nr)
{
	struct recording *r = ctx;

	if (r->blind)
		sideband__meet(r->sideband, pid, frames, nr);
}

static void on_left(void *ctx, pid_t pid, bool unseen, enum xpu_shm_maps maps)
{
	struct recording *r = ctx;

	if (r->blind)
		sideband__leave_image(r->sideband, pid, unseen, maps);
}

static void on_task(void *ctx, enum sideband_task what, pid_t pid, pid_t other, uint64_t time_ns)
{
	static const enum shared_report reports[] = {
		[SIDEBAND_FORK] = SHARED_FORK, [SIDEBAND_EXEC] = SHARED_EXEC,
		[SIDEBAND_EXIT] = SHARED_EXIT, [SIDEBAND_UNHEARD] = SHARED_UNHEARD,
	};
	struct recording *r = ctx;

	if (what == SIDEBAND_EXIT)
		recorder__thread_exit(r->recorder, pid, other, time_ns);
	if (what == SIDEBAND_EXEC || (what == SIDEBAND_EXIT && pid == other))
		injections__forget(r->injections, pid);
	if (r->shared)
		shared__report(r->shared, reports[what], pid, other, time_ns);
}

static void on_mmap(void *ctx, const struct xpu_record_mmap *m)
{
	const char *name = strrchr(m->filename, '/');

	if (name && !strncmp(name, "/libcuda.so", 11))
		recording__meet_cuda(ctx, m->pid);
}

/* ---- every recording ---------------------------------------------------------------- */

static int open_signals(struct recording *r)
{
	static const int signals[] = {
		SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM,
	};
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);	/* if SIGCHLD is ignored, children cannot be waited for */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* then write() fails, as on a full disk */
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd >= 0)
		return 0;
	msg__error("cannot take signals: %s", strerror(errno));
	return STATUS_FAILED;
}

/*
 * Starts a child process that finds Python in processes without a preloaded shim. Must be called
 * before xpuload opens anything that the child must not inherit.
 */
static void start_pyfind(struct recording *r)
{
	const struct options *opts = r->opts;

	if (!opts->cpu_only || !opts->stack_bytes || (opts->python && !strcmp(opts->python, "off")))
		return;
	r->pyfind = pyfind__new();
	if (!r->pyfind)
		msg__warn("no Python frames: cannot start the process that finds them: %s",
			  strerror(errno));
}

/*
 * Called early, because the driver takes time to start, and the helper program should inherit few
 * descriptors.
 */
static void start_gpu_metrics(struct recording *r)
{
	const struct options *opts = r->opts;

	if (opts->gpu_metrics && opts->stalls)
		msg__info("--gpu-metrics with --stalls: 10 samples a second, by NVML, because a "
			  "GPU cannot sample both");
	if (opts->gpu_metrics)
		r->gpu_metrics = gpu_metrics__start(opts->stalls ? 0 : opts->gpu_metrics_hz,
						    opts->gpu_metrics_names);
}

static int start_sampler(struct recording *r, uint64_t period_ns)
{
	int err = sampler__open(probes__sample_fd(r->probes), period_ns, &r->sampler);

	r->sampled = !err;
	if (!err)
		return 0;
	if (r->opts->cpu_only || r->opts->freq_given) {
		msg__error("cannot sample CPUs: perf_event_open: %s%s", strerror(-err),
			   advice_on_error(err));
		return STATUS_FAILED;
	}
	msg__warn("no CPU samples: perf_event_open: %s%s", strerror(-err), advice_on_error(err));
	return 0;
}

/* Opens the shared memory that replaces the probes. */
static int start_shared(struct recording *r)
{
	const struct shared_options sopts = {
		.ring_bytes = r->opts->ring_bytes / SHARED_PART,
		.max_frames = r->opts->max_frames,
		.wants = (r->opts->nvtx ? XPU_SHM_WANTS_RANGES : 0) |
			 (r->opts->api ? XPU_SHM_WANTS_API : 0) |
			 (r->opts->memory ? XPU_SHM_WANTS_MEMORY : 0) |
			 (r->opts->stalls ? XPU_SHM_WANTS_STALLS : 0),
	};
	const struct shared_listener listener = {
		.record = on_record, .settle = on_settle, .paths = on_paths, .mapped = on_mapped,
		.frames = on_frames, .left = on_left, .ctx = r,
	};
	int err;

	if (r->opts->mode == PROBES_RUN)
		r->witness = witness__new();	/* early, so that it inherits few descriptors */
	err = shared__open(&sopts, &listener, &r->shared);
	if (!err)
		return 0;
	msg__error("cannot share memory with the target: %s", strerror(-err));
	return STATUS_FAILED;
}

/* Opens the probes; or the shared memory, if probes are not allowed and the options permit it. */
static int start_transport(struct recording *r, const struct probes_options *popts)
{
	const struct options *opts = r->opts;
	char why[1024];

	if (opts->transport == TRANSPORT_SHM && opts->mode != PROBES_RUN && !opts->invites) {
		msg__error("--transport shm with -p is for a program that records itself: "
			   "expected the command share from --control");
		return STATUS_FAILED;
	}
	if (opts->transport == TRANSPORT_SHM)
		return start_shared(r);
	if (!probes__open(popts, on_record, r, &r->probes, why, sizeof(why)))
		return 0;
	if (opts->transport == TRANSPORT_AUTO && !opts->off_cpu &&
	    (opts->mode == PROBES_RUN || opts->invites)) {
		msg__info("%s: %s", opts->cpu_only ? "CPU samples come from perf events" :
			  "launches come through shared memory", why);
		return start_shared(r);
	}
	if (opts->transport == TRANSPORT_AUTO)
		msg__error("%s; without BPF a COMMAND can be recorded, but %s", why,
			   opts->mode == PROBES_RUN ? "without --off-cpu" :
			   "no running program can be attached to");
	else
		msg__error("%s", why);
	return STATUS_FAILED;
}

/* Starts the source of records. */
static int start_probes(struct recording *r)
{
	const struct options *opts = r->opts;
	struct probes_options popts = {
		.shim = opts->cpu_only ? NULL : opts->shim,
		.mode = opts->mode,
		.comm = opts->comm,
		.cgroup = { r->cgroup.id, r->cgroup.hierarchy },
		.no_children = opts->no_children,
		.ring_bytes = opts->ring_bytes,
		.max_frames = opts->max_frames,
		.sample = !opts->gpu_only,
		.sample_period_ns = options__period_ns(opts),
		.waits = !opts->gpu_only,
		.ranges = opts->nvtx,
		.stack_bytes = opts->stack_bytes,
		.blind_stack_bytes = opts->blind_stack_bytes,
		.api = opts->api,
		.stalls = opts->stalls,
		.windows = opts->capture.what,
		.memory = opts->memory,
		.off_cpu = opts->off_cpu,
		.off_min_ns = opts->off_min_us * 1000ull,
	};

	if (start_transport(r, &popts))
		return STATUS_FAILED;
	r->attached_ns = clock__now();
	return 0;
}

/*
 * Creates the file, and starts the recorder that writes the probes' records to it. @pid: the first
 * target
 */
static int start_recorder(struct recording *r, pid_t pid)
{
	const struct options *opts = r->opts;
	struct recorder_listener listener = {
		.process = on_process, .process_exit = on_process_exit, .python = on_python,
		.loss = on_loss, .ctx = r,
	};
	uint64_t period_ns = options__period_ns(opts);

	if (options__name(r->opts, pid) ||
	    datafile__create(opts, &r->file, &r->writer, &r->splitter))
		return STATUS_FAILED;
	r->recorder = recorder__new(r->writer, period_ns, opts->nvtx, opts->memory, &listener);
	if (opts->capture.each)
		r->windows = windows__new();
	if (!r->recorder || (opts->capture.each && !r->windows)) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	gpu_metrics__await(r->gpu_metrics, r->writer);
	recorder__attached(r->recorder, r->attached_ns);
	return opts->gpu_only || r->shared ? 0 : start_sampler(r, period_ns);
}

/*
 * Starts to sample CPUs without BPF. These samples need the sideband's reports. Prints which data
 * cannot be recorded without BPF; fails only if the user requested such data. @err: the result of
 * opening the sideband
 */
static int start_own_sampler(struct recording *r, int err)
{
	const struct options *opts = r->opts;

	if (opts->gpu_only)
		return 0;
	err = err ?: own_sampler__open(r->target.pid, options__period_ns(opts), opts->stack_bytes,
				       &r->own_sampler);
	if (!err && opts->capture.what && !r->windows) {
		r->windows = windows__new();
		err = r->windows ? 0 : -ENOMEM;
	}
	r->sampled = !err;
	if (err && (opts->freq_given || opts->cpu_only)) {
		msg__error("cannot sample CPUs without BPF: perf_event_open: %s", strerror(-err));
		return STATUS_FAILED;
	}
	if (err)
		msg__info("not recorded without BPF: CPU samples, kernel stacks");
	else
		msg__info("not recorded without BPF: kernel stacks; Python frames of CPU samples");
	return 0;
}

/*
 * Follows the target with perf events that need no privileges. If Linux refuses these events, reads
 * /proc now and then instead.
 */
static int start_own_sideband(struct recording *r)
{
	int refused = sideband__open_own(r->target.pid, &r->sideband), err = refused;

	if (err) {
		msg__info("processes that do not use CUDA, and libraries that are mapped briefly, "
			  "are not recorded: perf_event_open: %s%s", strerror(-err),
			  err == -EACCES ? ": see /proc/sys/kernel/perf_event_paranoid" : "");
		r->blind = true;
		err = sideband__open_blind(&r->sideband);
	}
	if (err) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	sideband__set_task(r->sideband, on_task, r);
	shared__start(r->shared, r->target.pid, false, !r->blind);
	return start_own_sampler(r, refused);
}

/*
 * Follows a process that records itself. The process itself sends its mappings, because perf events
 * without privileges would cover only its new threads.
 */
static int start_invited_sideband(struct recording *r)
{
	const struct options *opts = r->opts;

	if (opts->freq_given && !opts->gpu_only) {
		msg__error("cannot sample CPUs of a running program without BPF");
		return STATUS_FAILED;
	}
	if (!opts->gpu_only)
		msg__info("not recorded without BPF: CPU samples, kernel stacks");
	r->blind = true;
	if (sideband__open_blind(&r->sideband)) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	sideband__set_task(r->sideband, on_task, r);
	return 0;
}

/*
 * Opens the sideband. @pid: as for sideband__open(). Sets pyfind at once, because pyfind must see
 * every mapping.
 */
static int start_sideband(struct recording *r, pid_t pid)
{
	int err = sideband__open(pid, &r->sideband);

	if (err) {
		msg__error("cannot follow the targets' mappings: perf_event_open: %s%s",
			   strerror(-err), advice_on_error(err));
		return STATUS_FAILED;
	}
	if (pid != -1)
		sideband__follow(r->sideband, pid);
	sideband__set_children(r->sideband, !r->opts->no_children);
	sideband__set_pyfind(r->sideband, r->pyfind);
	sideband__set_task(r->sideband, on_task, r);
	sideband__set_mmap(r->sideband, on_mmap, r);
	return 0;
}

/* Starts the keeper. The recording must already have its name. */
static int start_keeper(struct recording *r)
{
	int err;

	if (r->opts->no_cache)
		return 0;
	err = keeper__new(r->opts->data, &r->keeper);
	if (err) {
		msg__error("cannot keep copies of files next to %s: %s", r->opts->data,
			   strerror(-err));
		return STATUS_FAILED;
	}
	sideband__set_keeper(r->sideband, r->keeper);
	return 0;
}

/* ---- attaching ------------------------------------------------------------------------------- */

static int attach(struct recording *r)
{
	/*
	 * Open the sideband after the probes: the sideband reports the mappings of all processes,
	 * and xpuload does not read these reports while it loads the probes. Earlier mappings are
	 * read from /proc.
	 */
	const struct options *opts = r->opts;
	int status = recording__find_processes(r) ?: start_probes(r) ?:
		     start_recorder(r, opts->nr_pids ? opts->pids[0] : getpid()) ?:
		     (r->shared ? start_invited_sideband(r) : start_sideband(r, -1)) ?:
		     start_keeper(r) ?: recording__take_processes(r);

	if (!status)
		caps__settle(r->opts->mode == PROBES_PID);
	return status;
}

/* ---- a command ------------------------------------------------------------------------------- */

/* Sets the options of the target's shim in our environment, which the target inherits. */
static void set_shim_environment(const struct recording *r)
{
	recording__set_environment(r->opts, r->probes != NULL);
	if (r->shared)
		setenv(XPU_SHM_ENV, shared__env(r->shared), 1);
}

void recording__set_environment(const struct options *opts, bool by_bpf)
{
	char number[32];

	unsetenv(XPU_SHM_ENV);		/* an xpuload that runs this xpuload may have set it */
	options__set_environment(opts);
	if (by_bpf && !opts->gpu_only && opts->stack_bytes)
		setenv(XPU_SAMPLES_ENV, "1", 1);
	if (opts->gpu_only)
		setenv(XPU_WAITS_ENV, "off", 1);
	if (opts->api)
		setenv(XPU_API_ENV, opts->all_api ? "all" : "on", 1);
	if (opts->memory)
		setenv(XPU_MEMORY_ENV, opts->memory_only ? XPU_MEMORY_ONLY : "on", 1);
	if (opts->migrations)
		setenv(XPU_MIGRATIONS_ENV, "on", 1);
	if (opts->stalls) {
		snprintf(number, sizeof(number), "%u%s", opts->stalls,
			 opts->exact_stalls ? XPU_STALLS_EXACT : "");
		setenv(XPU_STALLS_ENV, number, 1);
	}
	if (opts->exact_stalls)
		msg__info("--stalls=exact: kernels run one at a time, and a launch takes some 0.5 "
			  "ms more");
	capture_opts__set_environment(&opts->capture);
}

static int report_exec(const char *name, int err)
{
	char advice[PATH_MAX + 128];

	program_advice__on_error(name, err, advice, sizeof(advice));
	msg__error("cannot run %s: %s%s", name, strerror(-err), advice);
	return err == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

static int run_command(struct recording *r)
{
	const struct options *opts = r->opts;
	int status, err;

	status = start_probes(r);
	if (status)
		return status;
	if (r->probes)
		probes__adopt_next_child(r->probes);
	set_shim_environment(r);
	err = target__fork(&r->target, opts->argv, opts->cpu_only ? NULL : opts->shim);
	if (err) {
		msg__error("cannot fork: %s", strerror(-err));
		return STATUS_FAILED;
	}
	status = start_recorder(r, r->target.pid) ?:
		 (r->shared ? start_own_sideband(r) : start_sideband(r, r->target.pid)) ?:
		 start_keeper(r);
	if (status)
		return status;		/* the child ends when our end of its pipe is closed */
	caps__settle(false);
	err = target__exec(&r->target);
	return err ? report_exec(opts->argv[0], err) : 0;
}

int recording__start(struct recording *r)
{
	const struct options *opts = r->opts;
	int err = opts->mode == PROBES_RUN ? target__find(opts->argv[0]) : 0;
	const char *why;

	if (err)
		return report_exec(opts->argv[0], err);
	why = opts->mode == PROBES_RUN && !opts->cpu_only ?
	      program_advice__on_start(opts->argv[0]) : NULL;
	if (why)
		msg__warn("%s: %s", opts->argv[0], why);
	r->injections = injections__new(opts->shim);
	if (!r->injections) {
		msg__error("out of memory");
		return STATUS_FAILED;
	}
	start_pyfind(r);
	start_gpu_metrics(r);
	return open_signals(r) ?: (opts->mode == PROBES_RUN ? run_command(r) : attach(r));
}
