// SPDX-License-Identifier: GPL-3.0-or-later
#include "attach/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/caps.h"
#include "base/host_clock.h"

#define RESCAN_NS	1000000000ull

struct sampler {
	int prog_fd;
	uint64_t period_ns;
	uint64_t scan_ns;		/* when new CPUs were last searched for */
	int nr_cpus;
	int *fds;			/* a descriptor for each CPU; -1: offline */
};

static int sampler__open_cpu(struct sampler *s, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = s->period_ns,
		.disabled = 1,
	};
	int fd, err;

	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, s->prog_fd) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		err = -errno;
		close(fd);
		return err;
	}
	s->fds[cpu] = fd;
	return 0;
}

/* Return: how many CPUs are sampled; if none is, the error of the last online CPU. */
static int sampler__open_cpus(struct sampler *s)
{
	int cpu, nr = 0, err, last = 0;

	s->scan_ns = clock__now();
	caps__raise();
	for (cpu = 0; cpu < s->nr_cpus; cpu++) {
		err = s->fds[cpu] < 0 ? sampler__open_cpu(s, cpu) : 0;
		nr += !err;
		if (err && err != -ENODEV)
			last = err;
	}
	caps__lower();
	return last ?: nr ?: -ENODEV;
}

int sampler__open(int prog_fd, uint64_t period_ns, struct sampler **sp)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int i, err;

	if (!s)
		return -ENOMEM;
	s->prog_fd = prog_fd;
	s->period_ns = period_ns;
	s->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	s->fds = malloc(s->nr_cpus * sizeof(*s->fds));
	if (!s->fds) {
		s->nr_cpus = 0;
		sampler__close(s);
		return -ENOMEM;
	}
	for (i = 0; i < s->nr_cpus; i++)
		s->fds[i] = -1;
	err = sampler__open_cpus(s);
	if (err < 0) {
		sampler__close(s);
		return err;
	}
	*sp = s;
	return 0;
}

void sampler__close(struct sampler *s)
{
	int i;

	if (!s)
		return;
	for (i = 0; i < s->nr_cpus; i++)
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	free(s->fds);
	free(s);
}

void sampler__rescan(struct sampler *s)
{
	if (clock__now() - s->scan_ns >= RESCAN_NS)
		sampler__open_cpus(s);
}

uint64_t sampler__max_hz(void)
{
	unsigned long long hz = 0;
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");

	if (f && fscanf(f, "%llu", &hz) != 1)
		hz = 0;
	if (f)
		fclose(f);
	return hz;
}
