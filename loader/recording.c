// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "datafile.h"
#include "human.h"
#include "injections.h"
#include "merger.h"
#include "namer.h"
#include "target/keeper.h"
#include "base/msg.h"
#include "options.h"
#include "attach/gpu_metrics.h"
#include "attach/own_sampler.h"
#include "attach/probes.h"
#include "target/pyfind.h"
#include "record/recorder.h"
#include "report.h"
#include "attach/sampler.h"
#include "attach/shared.h"
#include "splitter.h"
#include "status.h"
#include "target/sideband.h"
#include "target/witness.h"
#include "util.h"
#include "record/windows.h"
#include "record/writer.h"
#include "xpu_slot.h"

#define NICE			(-10)	/* nice value for draining the ring, if allowed */
#define READY_NS		500000000ull	/* time for shims, if any, to wake up */
#define POLL_MS			100
#define RELAY_POLL_MS		5
#define BEHIND_POLL_MS		10
#define NS_PER_MS		1000000ull
#define LATE_NS			10000000000ull	/* maximum wait for last records after a detach */
#define INVITED_NS		30000000000ull	/* ... if the program waits for xpuload */
#define TELL_NS			2000000000ull	/* the wait is explained after this time */
#define QUEUE_NS		11000000000ull	/* maximum wait for processes that have connected */
#define UNTOLD_NS		1000000000ull	/* longest wait for call paths before a file ends */

void recording__take_signals(struct recording *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (r->opts->mode != PROBES_RUN)
			r->stop |= info.ssi_signo != SIGCHLD && info.ssi_signo != SIGCONT;
		else if (info.ssi_signo != SIGCHLD)
			target__signal(&r->target, info.ssi_signo, info.ssi_code, info.ssi_pid);
	}
	if (r->opts->mode == PROBES_RUN)
		target__reap(&r->target);
}

static uint64_t nr_lost(const struct recording *r, enum xpu_lost_kind kind)
{
	if (kind == XPU_LOST_MALFORMED)		/* the recorder itself counts this kind */
		return 0;
	if (kind == XPU_LOST_TAIL)
		return r->nr_late;
	if (kind == XPU_LOST_SIDEBAND)
		return sideband__nr_lost(r->sideband) +
		       (r->shared ? shared__nr_lost(r->shared, kind) : 0);
	if (kind == XPU_LOST_SAMPLE && r->own_sampler)
		return own_sampler__nr_lost(r->own_sampler) + r->nr_strangers;
	return r->shared ? shared__nr_lost(r->shared, kind) : probes__nr_lost(r->probes, kind);
}

static void on_own_sample(void *ctx, pid_t pid, struct xpu_ring_sample *sample, size_t size)
{
	enum windows_place place = WINDOWS_INSIDE;
	struct recording *r = ctx;

	sample->proc_id = shared__proc_id(r->shared, pid);
	if (r->windows)
		place = windows__place(r->windows, sample->proc_id, sample->time_ns);
	if (place == WINDOWS_OUTSIDE)
		r->nr_outside++;
	else if (sample->proc_id && place == WINDOWS_INSIDE)
		recorder__record(r->recorder, sample, size);
	else
		r->nr_strangers++;
}

/* Takes the available records. Return: whether all were taken. */
static bool take_records(struct recording *r)
{
	return r->shared ? shared__drain(r->shared) : probes__drain(r->probes);
}

/* Return: a descriptor that polls readable when there are many records to take. */
static int records_fd(const struct recording *r)
{
	return r->shared ? shared__fd(r->shared) : probes__fd(r->probes);
}

void recording__take_events(struct recording *r, uint64_t until_ns)
{
	sideband__drain(r->sideband, until_ns, r->writer);
	/* Take these samples last: their processes must have been reported. */
	if (r->own_sampler)
		own_sampler__drain(r->own_sampler, until_ns, on_own_sample, r);
}

static void on_found_python(void *ctx, pid_t pid, uint64_t time_ns, const struct xpu_python *python)
{
	struct recording *r = ctx;

	recorder__found_python(r->recorder, pid, time_ns, python);
}

/*
 * Reports that the disk refuses data. @err: an errno from the writer; @when: the consequence for
 * the recording
 */
static void tell_disk(struct recording *r, int err, const char *when)
{
	/* With top, writing fails when the user has ended xpumerge top. */
	r->stop |= r->opts->top;
	if (r->told_disk || r->opts->top)
		return;
	r->told_disk = true;
	if (err == ENOLINK)
		msg__error("%s was removed or replaced during the recording: the recording is lost",
			   r->opts->data);
	else if (err == ENODATA)
		msg__error(
			"another program made %s shorter during the recording: the rest of it is "
			"lost",
			r->opts->data);
	else
		msg__error("cannot write %s: %s%s", r->opts->data, strerror(err), when);
}

static void tell_lost(struct recording *r)
{
	int kind;

	for (kind = 1; kind < XPU_LOST_NR; kind++)
		/*
		 * With shared memory, a record of the end of a process is never lost, and other
		 * records of ended processes may still come.
		 */
		if (recorder__lost(r->recorder, kind, nr_lost(r, kind)) &&
		    kind == XPU_LOST_PROCESS && !r->shared)
			recorder__look_for_ends(r->recorder);
}

bool recording__drain(struct recording *r)
{
	uint64_t start_ns = clock__now();
	bool all;

	if (r->sampler)
		sampler__rescan(r->sampler);
	all = take_records(r);
	recording__take_events(r, start_ns);
	pyfind__drain(r->pyfind, on_found_python, r);
	gpu_metrics__drain(r->gpu_metrics, r->writer);
	recorder__flush(r->recorder);
	tell_lost(r);
	if (all)
		recorder__drained(r->recorder, start_ns);
	writer__flush(r->writer);
	return all;
}

/*
 * Reports that the file cannot be written, or can be written again. Restarts the splitter if it has
 * ended.
 */
static void watch_disk(struct recording *r)
{
	int err = writer__error(r->writer), waits = writer__waits(r->writer);

	if (r->splitter)
		splitter__watch(r->splitter);
	if (err)
		tell_disk(r, err, ": the recording stops here; the part before can be read");
	else if (waits)
		tell_disk(r, waits,
			  ": the program and the recording go on; up to 256 MB of records wait in "
			  "memory until there is space");
	else if (r->told_disk)
		msg__info("%s can be written again, with the records that waited in "
			  "memory", r->opts->data);
	r->told_disk &= err || waits;
}

/* Begins the next file if it is due. All records so far must have been taken. */
static void cut(struct recording *r, uint64_t now)
{
	if (!r->opts->every_ns || now < r->cut_ns)
		return;
	if ((recorder__nr_untold(r->recorder) || sideband__waits(r->sideband)) &&
	    now - r->cut_ns < UNTOLD_NS)
		return;
	/* The last records may refer to mappings that are newer than the last drain. */
	recording__take_events(r, clock__now());
	recorder__flush(r->recorder);
	recorder__cut(r->recorder, now);
	writer__push(r->writer);
	r->cut_ns += (now - r->cut_ns) / r->opts->every_ns * r->opts->every_ns + r->opts->every_ns;
}

/* Return: when poll() has to return to begin the next file; @until_ns at the latest. */
static uint64_t before_cut(const struct recording *r, uint64_t now, uint64_t until_ns)
{
	if (!r->opts->every_ns || now >= r->cut_ns || r->cut_ns > until_ns)
		return until_ns;
	return r->cut_ns;
}

/* Whether the user has interrupted xpuload again, after the end of the recording. */
static bool is_interrupted(void *ctx)
{
	struct recording *r = ctx;
	struct signalfd_siginfo info;
	bool interrupted = false;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
		interrupted |= info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
			       info.ssi_signo == SIGQUIT || info.ssi_signo == SIGHUP;
	return interrupted;
}

/*
 * Return: how many processes may still send their last records. A program that records itself waits
 * for the end of its recording, so its shim can mark the last batch.
 */
static unsigned int nr_late(const struct recording *r, uint64_t now_ns)
{
	return r->shared && r->opts->invites ? shared__nr_awake(r->shared) :
	       recorder__nr_late(r->recorder, now_ns, false);
}

/*
 * Takes the last records of shims that are awake. A shim that another xpuload keeps awake does not
 * mark its last records. For such a shim it is enough that the shim's thread runs. Counts the
 * processes whose shim's thread does not run.
 */
static void take_last(struct recording *r)
{
	struct pollfd fds[] = {
		{ .fd = records_fd(r), .events = POLLIN },
		{ .fd = sideband__fd(r->sideband), .events = POLLIN },
	};
	uint64_t now = clock__now(), tell_ns = now + TELL_NS;
	uint64_t end_ns = now + (r->opts->invites ? INVITED_NS : LATE_NS);
	unsigned int nr;

	while ((nr = nr_late(r, now)) && now < end_ns && !is_interrupted(r)) {
		poll(fds, ARRAY_SIZE(fds), RELAY_POLL_MS);
		if (!writer__is_behind(r->writer))
			recording__drain(r);
		now = clock__now();
		if (now < tell_ns)
			continue;
		msg__info("waiting for the last records of %u process%s: xpuload detached, but "
			  "the shim's thread has not run since; Ctrl-C ends the wait", nr,
			  nr == 1 ? "" : "es");
		tell_ns = UINT64_MAX;
	}
	recording__drain(r);
	r->nr_late = recorder__nr_late(r->recorder, now, true) ?: nr_late(r, now);
}

/*
 * Detaches from shims that keep running, in attached processes and in descendants that outlive the
 * target. The shims notice that nobody receives launches any more, and send their last records. If
 * the target has ended, it sent everything at its exit.
 */
static void detach(struct recording *r)
{
	uint64_t end_ns = clock__now() + QUEUE_NS;

	sampler__close(r->sampler);
	r->sampler = NULL;
	/* The socket's queue may still have connections of processes that ended long ago. */
	while (!recording__drain(r) && r->shared && clock__now() < end_ns)
		;
	recorder__detaching(r->recorder, clock__now());
	if (r->shared)
		shared__leave(r->shared);
	else
		probes__detach_launches(r->probes);
	take_last(r);
}

struct living {
	struct recorder *recorder;
	uint64_t end_ns;
};

static void on_living_thread(void *ctx, const struct xpu_thread_state *t)
{
	struct living *living = ctx;

	recorder__living_thread(living->recorder, t, living->end_ns);
}

/*
 * Return: a thread's CPU time since its birth; 0 if it has ended, or if Linux does not report the
 * time.
 */
static uint64_t exec_time(uint32_t tid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/schedstat", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	fclose(f);
	return ns;
}

static void on_cpu_time(void *ctx, const struct xpu_cpu_time *t)
{
	struct living *living = ctx;
	uint64_t exec_ns = t->tid && !t->end_ns ? exec_time(t->tid) : 0;
	struct xpu_ring_cpu_rest rest = {
		.hdr = { XPU_RECORD_RING_CPU_REST, 0, sizeof(rest) }, .from_ns = t->told_ns,
		.end_ns = living->end_ns, .ns = exec_ns - t->exec_ns, .proc_id = t->proc_id,
		.tid = t->tid,
	};

	if (exec_ns > t->exec_ns && rest.from_ns < rest.end_ns)
		recorder__record(living->recorder, &rest, sizeof(rest));
}

/*
 * Writes the accounts that the BPF programs keep until the end: off-CPU times, and the CPU time of
 * living threads since their last samples. A thread that ends meanwhile keeps its account, because
 * the programs no longer run.
 */
static void write_accounts(struct recording *r)
{
	struct living living = { r->recorder, 0 };

	probes__stop(r->probes);
	living.end_ns = clock__now();
	probes__drain(r->probes);		/* the sums refer to stacks in the ring */
	recorder__flush(r->recorder);
	if (r->opts->off_cpu)
		probes__each_thread(r->probes, on_living_thread, &living);
	if (r->sampled && !r->opts->capture.what)
		probes__each_cpu_time(r->probes, on_cpu_time, &living);
}

static void show_status(const struct recording *r, struct status *status, uint64_t now_ns)
{
	uint64_t nr = 0;
	struct stat st;
	int kind;

	for (kind = 1; kind < XPU_LOST_NR; kind++)
		nr += nr_lost(r, kind);
	if (fstat(r->file.fd, &st))
		st.st_size = 0;
	status__show(status, now_ns, recorder__nr_launches(r->recorder), st.st_size, nr);
}

/*
 * Tells the waiting parent that the recording is ready: the shims of processes that use CUDA are
 * awake, or the process that records itself may connect.
 */
static void tell_ready(struct recording *r, uint64_t since_ns)
{
	const char *address = r->shared ? shared__env(r->shared) : "";
	ssize_t len = strlen(address) + 1;

	if (r->opts->ready_fd < 0 || (!r->shared && !recorder__nr_awake(r->recorder) &&
				      clock__now() - since_ns < READY_NS))
		return;
	if (write(r->opts->ready_fd, address, len) != len)
		msg__debug("nobody waits for the recording to be ready");
	close(r->opts->ready_fd);
	r->opts->ready_fd = -1;
}

void recording__run(struct recording *r)
{
	struct pollfd fds[] = {
		{ .fd = r->signal_fd, .events = POLLIN },
		{ .fd = r->ends_fd, .events = POLLIN },
		{ .fd = records_fd(r), .events = POLLIN },
		{ .fd = sideband__fd(r->sideband), .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = r->own_sampler ? own_sampler__fd(r->own_sampler) : -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	uint64_t start_ns = clock__now(), now = start_ns, timeout_ms, until_ns;
	uint64_t end_ns = r->opts->duration_ns ? start_ns + r->opts->duration_ns : UINT64_MAX;
	bool relaying = false, behind = false, waits;
	struct status status;

	status__init(&status, r->opts, start_ns);
	r->cut_ns = start_ns + r->opts->every_ns;
	tell_ready(r, start_ns);
	while (!r->target.exited && !r->stop && now < end_ns) {
		waits = sideband__waits(r->sideband);
		timeout_ms = relaying || waits ? RELAY_POLL_MS : behind ? BEHIND_POLL_MS : POLL_MS;
		if (r->shared && !relaying && !behind)
			timeout_ms = shared__pause_ms(r->shared);
		fds[3].fd = waits ? -1 : sideband__fd(r->sideband);
		until_ns = before_cut(r, now, end_ns);
		if (until_ns - now < timeout_ms * NS_PER_MS)
			timeout_ms = (until_ns - now) / NS_PER_MS + 1;
		fds[4].fd = pyfind__fd(r->pyfind);	/* pyfind may have closed its descriptor */
		fds[6].fd = injections__fd(r->injections);
		poll(fds, behind ? 2 : ARRAY_SIZE(fds), timeout_ms);
		now = clock__now();
		recording__take_signals(r);
		if (fds[1].revents)
			recording__note_ends(r);
		recording__inject(r, 0);
		relaying = target__relay(&r->target, r->probes, r->witness);
		if (r->probes && now - start_ns >= XPU_HELLO_NS)
			probes__end_hello(r->probes);
		behind = writer__is_behind(r->writer);
		watch_disk(r);
		if (behind)
			continue;
		recording__drain(r);
		tell_ready(r, start_ns);
		cut(r, now);
		if (status__is_due(&status, now))
			show_status(r, &status, now);
	}
	status__clear(&status);
	detach(r);
	injections__finish(r->injections);
	if (r->probes)
		write_accounts(r);
	/* No more reports come, so write the events that still wait for a report. */
	sideband__finish(r->sideband, r->writer);
	if (r->shared)
		r->nr_unreached = shared__finish(r->shared);
	tell_lost(r);
	recorder__finish(r->recorder);
	gpu_metrics__finish(r->gpu_metrics, r->writer, &r->gpu_metrics_stats);
	datafile__end(r->writer, r->target.wait_status);
}

static void finish_keeper(struct recording *r)
{
	char size[HUMAN_MAX];
	struct keeper_stats st;

	if (!r->keeper)
		return;
	keeper__finish(r->keeper, &st, is_interrupted, r);
	if (st.nr_files && !r->opts->merge)
		msg__info("copied %llu mapped %s here to %s" XPU_KEPT_SUFFIX ", %s",
			  (unsigned long long)st.nr_files,
			  PLURAL(st.nr_files, "file that is not at its path",
				 "files that are not at their paths"),
			  r->opts->data, human__bytes(size, st.bytes));
	if (st.nr_refused)
		msg__warn("%llu mapped %s not kept: over a limit, or not finished in time; see "
			  "LIMITS in xpuload(1)", (unsigned long long)st.nr_refused,
			  PLURAL(st.nr_refused, "file is", "files are"));
	if (st.nr_failed)
		msg__info("cannot copy %llu mapped %s here: %s", (unsigned long long)st.nr_failed,
			  PLURAL(st.nr_failed, "file that is not at its path",
				 "files that are not at their paths"),
			  safefile__strerror(-st.error));
}

int recording__finish(struct recording *r)
{
	struct report report = {
		.opts = r->opts,
		.sampled = r->sampled,
		.nr_not_followed = r->nr_not_followed,
		.nr_unreached = r->nr_unreached,
		.shared = r->shared,
		.injections = r->injections,
		.metrics = r->gpu_metrics_stats,
	};
	bool whole;
	int kind, err;

	if (r->probes) {
		report.nr_samples_taken = probes__nr_samples(r->probes);
		report.nr_stopped = probes__nr_stopped(r->probes);
		report.nr_left_alone = probes__nr_left_alone(r->probes);
		/*
		 * With PROBES_ALL, the BPF programs also count processes that were already running.
		 * With PROBES_PID, they do not count running children.
		 */
		if (r->opts->mode == PROBES_ALL && r->nr_denied > report.nr_left_alone)
			report.nr_left_alone = r->nr_denied;
		else if (r->opts->mode != PROBES_ALL)
			report.nr_left_alone += r->nr_denied;
		report.nr_late = probes__nr_late(r->probes);
	}
	if (r->own_sampler)
		report.nr_samples_taken = own_sampler__nr_taken(r->own_sampler) - r->nr_outside;

	finish_keeper(r);
	for (kind = 1; kind < XPU_LOST_NR; kind++)
		report.lost[kind] = nr_lost(r, kind);
	if (r->splitter)
		splitter__drain(r->splitter, r->writer);
	err = writer__close(r->writer, &report.file_bytes, &report.lost[XPU_LOST_DISK]);
	r->writer = NULL;
	/* If the user ended xpumerge top first, nothing is lost. */
	if (r->opts->top) {
		report.lost[XPU_LOST_DISK] = 0;
		err = 0;
	}
	if (err)
		tell_disk(r, -err, "");
	if (r->splitter && !splitter__finish(r->splitter))
		err = -EIO;
	if (r->splitter)
		report.splitter = *splitter__stats(r->splitter);
	if (!err && namer__wanted(r->opts))
		namer__run(r->opts, &r->file, &report.file_bytes, r->nice, is_interrupted, r);
	recorder__stats(r->recorder, &report.stats);
	whole = report__print(&report);
	if (err || report.stats.nr_errors)
		return STATUS_FAILED;
	return r->opts->strict && !whole ? STATUS_FAILED : 0;
}

void recording__free(struct recording *r)
{
	size_t i;

	sampler__close(r->sampler);
	own_sampler__close(r->own_sampler);
	windows__free(r->windows);
	writer__close(r->writer, NULL, NULL);
	splitter__free(r->splitter);
	safefile__close(&r->file);
	recorder__free(r->recorder);
	sideband__close(r->sideband);
	keeper__free(r->keeper);
	gpu_metrics__free(r->gpu_metrics);
	pyfind__free(r->pyfind);
	injections__free(r->injections);
	probes__close(r->probes);
	shared__close(r->shared);
	witness__free(r->witness);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	for (i = 0; r->pid_fds && i < r->opts->nr_pids; i++)
		if (r->pid_fds[i] >= 0)
			close(r->pid_fds[i]);
	free(r->pid_fds);
	if (r->ends_fd >= 0)
		close(r->ends_fd);
}

/* Removes the recording, which is no longer needed. */
static void remove_recording(const struct recording *r)
{
	safefile__remove(&r->file);
	if (r->keeper)
		keeper__remove(r->keeper);
}

int recording__whole(struct options *opts, int *wait_status)
{
	struct recording r = RECORDING_INIT(opts);
	int status = recording__start(&r);

	if (!status) {
		r.nice = getpriority(PRIO_PROCESS, 0);
		setpriority(PRIO_PROCESS, syscall(SYS_gettid), NICE);
		recording__run(&r);
		status = recording__finish(&r);
		if (merger__wanted(opts) &&
		    !merger__run(opts, r.windows ? windows__last(r.windows) : 0))
			status = STATUS_FAILED;
		else if (opts->merge)
			remove_recording(&r);
		/* All files were pushed and removed, so the copies next to them are useless. */
		if (opts->push && !opts->output_given && !opts->keep && r.keeper)
			keeper__remove(r.keeper);
	}
	recording__free(&r);
	if (wait_status)
		*wait_status = r.target.wait_status;
	return status;
}
