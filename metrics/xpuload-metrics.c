// SPDX-License-Identifier: MIT
/*
 * xpuload-metrics - samples the counters, power and energy of GPUs, for xpuload --gpu-metrics
 *
 *	xpuload-metrics HZ [METRIC...]
 *	xpuload-metrics nvml		only the metrics of NVML
 *
 * xpuload runs this program with a socket as descriptor 3. The program sends the records of sink.h
 * to the socket, and ends when xpuload closes its end of the socket or shuts that end down for
 * writing. It is a separate program because NVIDIA's libraries must not be loaded into xpuload,
 * which may hold capabilities, nor into the recorded programs.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "libraries.h"
#include "nvml.h"
#include "pm.h"
#include "sink.h"
#include "util.h"

#define SINK_FD		3
#define MAX_GPUS	16
#define SAMPLES_A_DRAIN	300		/* samples in a drain: a compromise between the cost of
					 * drains and memory */
#define DRAIN_MS	300		/* maximum time between drains */
#define NVML_MS		((int)(NVML_INTERVAL_NS / 1000000))

struct gpu {
	uint8_t uuid[16];
	struct pm_gpu pm;
	struct nvml_gpu nvml;
};

static struct gpu gpus[MAX_GPUS];

static struct {
	int (*init)(unsigned int flags);
	int (*version)(int *version);
	int (*count)(int *nr);
	int (*get)(int *device, int index);
	int (*uuid)(uint8_t *uuid, int device);
	int (*old_uuid)(uint8_t *uuid, int device);
} cuda;

/* Return: the number of GPUs. If it is 0, prints a message. */
static int find_gpus(int *major)
{
	static const struct function functions[] = {
		{ &cuda.init, "cuInit", false },
		{ &cuda.version, "cuDriverGetVersion", false },
		{ &cuda.count, "cuDeviceGetCount", false },
		{ &cuda.get, "cuDeviceGet", false },
		{ &cuda.uuid, "cuDeviceGetUuid_v2", true },
		{ &cuda.old_uuid, "cuDeviceGetUuid", true },
	};
	void *library = library__open("libcuda.so.1");
	int nr = 0, version = 0, device, i;
	const char *why = NULL;

	if (!library || library__functions(library, functions, ARRAY_SIZE(functions)) ||
	    !(cuda.uuid = cuda.uuid ?: cuda.old_uuid))
		why = "libcuda.so.1 is missing";
	else if (cuda.init(0) || cuda.count(&nr) || cuda.version(&version) || !nr)
		why = "the driver finds no GPU";
	if (why) {
		sink__message(XPU_MESSAGE_WARNING, "no GPU metrics: %s", why);
		return 0;
	}
	nr = nr < MAX_GPUS ? nr : MAX_GPUS;
	for (i = 0; i < nr; i++)
		if (cuda.get(&device, i) || cuda.uuid(gpus[i].uuid, device))
			return 0;
	*major = version / 1000;
	return nr;
}

/* Return: how many ms pass between drains. */
static int drain_ms(unsigned long hz)
{
	unsigned long ms = hz ? SAMPLES_A_DRAIN * 1000ul / hz : DRAIN_MS;

	return ms > DRAIN_MS ? DRAIN_MS : ms > NVML_MS ? ms / NVML_MS * NVML_MS : ms ?: 1;
}

/* Starts sampling all GPUs. @hz: samples a second; 0: do not use CUPTI. */
static void start(int nr, int major, unsigned long hz, const char *const *names)
{
	/*
	 * CUPTI clears the whole buffer at each drain, even its unused part, and drops samples that
	 * do not fit.
	 */
	unsigned int room = hz * drain_ms(hz) / 1000 * 5 / 3 + 16;
	uint64_t interval_ns = hz ? 1000000000ull / hz : 0;
	bool pm = hz && pm__open(major), nvml = nvml__open(), gpm;
	int i;

	for (i = 0; i < nr; i++) {
		gpm = !pm || !pm_gpu__prepare(&gpus[i].pm, i, gpus[i].uuid, interval_ns, room,
					      names);
		if (!nvml || !nvml_gpu__start(&gpus[i].nvml, gpus[i].uuid, gpm) || !gpm)
			continue;
		sink__message(XPU_MESSAGE_INFO, "GPU %d: metrics by NVML, 10 a second", i);
	}
	for (i = 0; i < nr; i++)
		pm_gpu__start(&gpus[i].pm, i);
}

/* Takes samples until xpuload ends the program. */
static void run(int nr, int drain)
{
	struct pollfd p = { .fd = SINK_FD, .events = POLLIN | POLLRDHUP };
	int tick = drain < NVML_MS ? drain : NVML_MS, i;
	unsigned int turn;

	for (turn = 1; poll(&p, 1, tick) <= 0; turn++) {
		sink__send_waiting();
		for (i = 0; i < nr; i++) {
			if (turn % (drain / tick) == 0)
				pm_gpu__drain(&gpus[i].pm);
			if (turn % (NVML_MS / tick) == 0)
				nvml_gpu__sample(&gpus[i].nvml);
		}
	}
	for (i = 0; i < nr; i++)
		pm_gpu__stop(&gpus[i].pm);
	for (i = 0; i < nr; i++) {
		pm_gpu__end(&gpus[i].pm);
		nvml_gpu__end(&gpus[i].nvml);
	}
	sink__end();
}

int main(int argc, char **argv)
{
	unsigned long hz = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int major = 0, nr, type = 0;
	bool nvml = argc > 1 && !strcmp(argv[1], "nvml");
	socklen_t bytes = sizeof(type);

	if ((!hz && !nvml) || hz > 1000000 ||
	    getsockopt(SINK_FD, SOL_SOCKET, SO_TYPE, &type, &bytes)) {
		fprintf(stderr,
			"xpuload-metrics is a part of xpuload: see --gpu-metrics in xpuload(1)\n");
		return 2;
	}
	signal(SIGINT, SIG_IGN);	/* xpuload handles Ctrl-C, and then ends this program */
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sink__init(SINK_FD);
	nr = find_gpus(&major);
	if (nr)
		start(nr, major, hz, argc > 2 ? (const char *const *)argv + 2 : NULL);
	sink__ready();
	run(nr, drain_ms(hz));
	return 0;
}
