// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"

#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/advice.h"
#include "attach/caps.h"
#include "attach/kernel.h"
#include "attach/probes.h"
#include "attach/sampler.h"
#include "attach/shim_file.h"
#include "inject/inject.h"
#include "target/running.h"
#include "target/sideband.h"

enum verdict { OK, MISSING, NOTE };

static int nr_missing;

static __attribute__((format(printf, 3, 4))) void report(enum verdict v, const char *what,
							 const char *fmt, ...)
{
	static const char *const words[] = { "ok", "MISSING", "note" };
	va_list args;

	nr_missing += v == MISSING;
	fprintf(stderr, "%-8s %-12s ", words[v], what);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void check_privileges(void)
{
	char missing[64];

	if (!caps__missing(missing, sizeof(missing)))
		report(OK, "privileges", "%s%s", geteuid() ? "cap_bpf and cap_perfmon" : "root",
		       caps__restricted() ? ": can record what its user may read" : "");
	else if (!geteuid())
		report(MISSING, "privileges", "root without %s, as in a container without "
					      "them", missing);
	else if (!caps__allowed(CAP_BPF) || !caps__allowed(CAP_PERFMON))
		report(MISSING, "privileges", "without %s, which the container needs (docker run "
					      "--cap-add BPF --cap-add PERFMON)", missing);
	else
		report(MISSING, "privileges", "without %s: run xpuload as root (sudo), or, where "
		       "make install has set capabilities, become a member of its group", missing);
}

static void check_kernel(void)
{
	struct utsname u = { .release = "?" };

	uname(&u);
	if (!kernel__is_before(5, 11))
		report(OK, "kernel", "Linux %s%s", u.release, !kernel__is_before(6, 18) ? "" :
		       " (from 6.18 on a probe costs about half)");
	else
		report(MISSING, "kernel", "Linux %s: 5.11 or later is needed", u.release);

	if (kernel__has_btf())
		report(OK, "BTF", "/sys/kernel/btf/vmlinux");
	else
		report(MISSING, "BTF", "no /sys/kernel/btf/vmlinux: a kernel with "
		       "CONFIG_DEBUG_INFO_BTF=y is needed");

	if (!access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		report(OK, "uprobes", "/sys/bus/event_source/devices/uprobe");
	else
		report(MISSING, "uprobes", "no uprobe event source: a kernel with "
		       "CONFIG_UPROBE_EVENTS=y is needed");
}

static void check_probes(const char *shim)
{
	struct sideband *s;
	char why[1024];
	int err;

	if (!shim) {
		report(MISSING, "shim", "cannot find libxpushim.so next to xpuload or in "
					"../lib/xpuload: building it needs the headers of CUPTI");
		return;
	}
	report(OK, "shim", "%s", shim);

	/* probes__check() also fails if a requirement above is missing: count that only once. */
	err = nr_missing ? -EPERM : probes__check(shim, why, sizeof(why));
	if (nr_missing)
		report(NOTE, "probes", "not tried: see what is missing above");
	else if (err)
		report(MISSING, "probes", "%s", why);
	else
		report(OK, "probes", "BPF programs load, ring buffer and uprobes work");

	err = sideband__open(getpid(), &s);
	if (err && nr_missing)
		report(NOTE, "perf events", "%s%s", strerror(-err), advice_on_error(err));
	else if (err)
		report(MISSING, "perf events", "%s%s", strerror(-err), advice_on_error(err));
	else
		report(OK, "perf events",
		       "mmap, comm, fork and exit of the target can be followed");
	if (!err)
		sideband__close(s);
}

/* Checks CPU samples. Without them, launches can still be recorded. */
static void check_samples(void)
{
	struct probes_options opts = { .sample = true };
	struct sampler *s = NULL;
	struct probes *p = NULL;
	char why[1024];
	int err;

	if (nr_missing) {
		report(NOTE, "CPU samples", "not tried: see what is missing above");
		return;
	}
	if (probes__open(&opts, NULL, NULL, &p, why, sizeof(why))) {
		report(NOTE, "CPU samples", "%s", why);
		return;
	}
	err = sampler__open(probes__sample_fd(p), 1000000000, &s);
	sampler__close(s);
	probes__close(p);
	if (err) {
		report(NOTE, "CPU samples", "none: perf_event_open: %s", strerror(-err));
		return;
	}
	report(OK, "CPU samples", "by cpu-clock, up to %llu a second; functions of the kernel %s",
	       (unsigned long long)sampler__max_hz(), kernel__shows_addresses() ? "have names" :
	       "have no names (/proc/kallsyms hides them: root, kernel.kptr_restrict)");
}

static void check_driver(void)
{
	char line[256] = "";
	FILE *f = fopen("/proc/driver/nvidia/version", "re");
	bool kernel = f && fgets(line, sizeof(line), f);

	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	if (kernel)
		report(OK, "driver", "%s", line);
	else if (!access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK))
		report(OK, "driver", "a device node is there; version unknown");
	else
		report(NOTE, "driver", "no NVIDIA driver is loaded: CUDA programs cannot run here, "
				       "except on the simulated device");
}

/*
 * Only searches for CUPTI, because the shim opens CUPTI inside the target, where paths may
 * differ.
 */
static void check_cupti(void)
{
	static const char *const dirs[] = { "/extras/CUPTI/lib64", "/lib64", "/lib", "" };
	const char *const homes[] = {
		getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda",
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	};
	const char *named = getenv("XPUSHIM_CUPTI");
	char pattern[4200];
	size_t i, j;
	glob_t g;

	if (named && named[0]) {
		report(access(named, R_OK) ? MISSING : OK, "CUPTI", "XPUSHIM_CUPTI=%s%s", named,
		       access(named, R_OK) ? " cannot be read" : "");
		return;
	}
	for (i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		if (!homes[i] || !homes[i][0])
			continue;
		for (j = 0; j < sizeof(dirs) / sizeof(dirs[0]); j++) {
			snprintf(pattern, sizeof(pattern), "%s%s/libcupti.so.1[1-9]", homes[i],
				 dirs[j]);
			if (!glob(pattern, 0, NULL, &g)) {
				report(OK, "CUPTI", "%s", g.gl_pathv[0]);
				globfree(&g);
				return;
			}
			globfree(&g);
		}
	}
	report(NOTE, "CUPTI", "no libcupti in CUDA_HOME, CUDA_PATH or /usr/local/cuda; unless the "
			      "target has its own CUPTI (as from pip), set XPUSHIM_CUPTI to the "
			      "path of libcupti");
}

/* Only searches for OpenCL drivers, as OpenCL's loader does. */
static void check_opencl(void)
{
	const char *dir = getenv("OCL_ICD_VENDORS");
	char pattern[4200], names[512] = "";
	size_t i, len = 0;
	const char *name;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/*.icd", dir && dir[0] ? dir : "/etc/OpenCL/vendors");
	if (glob(pattern, 0, NULL, &g)) {
		report(NOTE, "OpenCL", "no driver in %s: OpenCL programs cannot run here", pattern);
		return;
	}
	for (i = 0; i < g.gl_pathc && len < sizeof(names); i++) {
		name = strrchr(g.gl_pathv[i], '/') + 1;
		len += snprintf(names + len, sizeof(names) - len, "%s%.*s", i ? ", " : "",
				(int)(strlen(name) - strlen(".icd")), name);
	}
	globfree(&g);
	report(OK, "OpenCL", "%s", names);
}

static void check_unwinding(void)
{
	report(OK, "call chains", "by unwind tables");
}

/*
 * Prints what attaching to a process would do, unless the process is a descendant (@named: false)
 * that would be left alone. Return: OK if the process would be recorded, NOTE if it uses no CUDA.
 */
static enum verdict check_pid(pid_t pid, const char *shim, bool inject, bool named)
{
	int fd = shim_file__open_mapped(pid, shim), err;
	char name[32], comm[XPU_COMM_LEN], why[INJECT_WHY];
	enum verdict v;

	snprintf(name, sizeof(name), "pid %d", pid);
	running__comm(pid, comm);
	if (fd >= 0) {
		close(fd);
		report(OK, name, "(%s) has the shim: -p records it", comm);
		return OK;
	}
	if (fd == -ESTALE) {
		report(MISSING, name, "(%s) has a libxpushim.so of another version", comm);
		return MISSING;
	}
	err = inject__check(pid, why);
	if (!err && !named && running__inherits(pid, "/libcuda.so"))
		return NOTE;
	v = !err ? OK : err == -ENOENT || (err == -ESRCH && !named) ? NOTE : MISSING;
	if (!inject) {
		if (v != NOTE || named)
			report(MISSING, name, "(%s) runs without the shim, which --no-inject does "
			       "not put into it: start it with LD_PRELOAD=%s", comm, shim);
		return v == NOTE && !named ? NOTE : MISSING;
	}
	if (v == OK)
		report(v, name, "(%s) uses CUDA without the shim: -p puts the shim into it when "
		       "one of its threads waits", comm);
	else if (err == -ENOENT && named)
		report(v, name, "(%s) has not loaded CUDA: -p puts the shim into it when it does",
		       comm);
	else if (v == MISSING)
		report(v, name, "(%s) -p cannot put the shim into it: %s", comm, why);
	return v;
}

/* Chooses the descendants of the processes, without the processes themselves. */
static void choose_children(struct running *running, const pid_t *pids, size_t nr)
{
	struct running_process *p;
	size_t i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < nr; i++) {
			p = running__find(running, pids[i]);
			if (p)
				p->chosen = !round;
		}
		if (!round)
			running__choose_children(running, getpid());
	}
}

int check__pids(const pid_t *pids, size_t nr, const char *shim, bool inject, bool children)
{
	size_t i, nr_of[3] = { 0 }, nr_idle = 0;
	struct running_process *p;
	struct running running;
	enum verdict v;
	int err;

	for (i = 0; i < nr; i++)
		nr_of[check_pid(pids[i], shim, inject, true)]++;
	if (!children)
		return nr_of[OK] && !nr_of[MISSING] ? 0 : 1;
	err = running__read(&running);
	if (err) {
		report(MISSING, "children", "the list of processes cannot be read: %s",
		       strerror(-err));
		nr_of[MISSING]++;
	} else {
		choose_children(&running, pids, nr);
		for (p = running.all; p < running.all + running.nr; p++) {
			if (!p->chosen || p->ended)
				continue;
			v = check_pid(p->pid, shim, inject, false);
			nr_of[OK] += v == OK;
			nr_idle += v == NOTE;
		}
		if (nr_idle)
			report(NOTE, "children", "%zu without CUDA of their own", nr_idle);
	}
	running__free(&running);
	return nr_of[OK] && !nr_of[MISSING] ? 0 : 1;
}

int check__run(const char *shim)
{
	nr_missing = 0;
	check_privileges();
	check_kernel();
	check_probes(shim);
	check_samples();
	check_driver();
	check_cupti();
	check_opencl();
	check_unwinding();
	if (nr_missing)
		fprintf(stderr, "xpuload cannot record with BPF here: %d requirement%s missing%s\n",
			nr_missing, nr_missing == 1 ? " is" : "s are",
			shim ? "; a COMMAND can be recorded through shared memory" : "");
	else
		fprintf(stderr, "xpuload can record here\n");
	return nr_missing ? 1 : 0;
}
