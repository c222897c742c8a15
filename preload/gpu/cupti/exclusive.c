// SPDX-License-Identifier: MIT
#include "gpu/cupti/exclusive.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cuda.h>

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_target.h>
#endif

#define MAX_GPUS	64

static bool is_taken[MAX_GPUS];

/*
 * Binds a socket to a name made from @device; only one process at a time can have this name.
 * Return: the socket; -EADDRINUSE if another process has the name; another negative errno if it is
 * unknown whether another process has the name.
 */
static long take_name(uint32_t device)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	CUresult (*get)(CUuuid *, CUdevice) = NULL;
	size_t len, i;
	CUuuid uuid;
	void *library;
	long fd, err;

	library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		*(void **)&get = dlsym(library, "cuDeviceGetUuid_v2");
	if (!get || get(&uuid, device) != CUDA_SUCCESS)
		return -ENODEV;
	len = 1 + snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "xpuload-samples-");
	for (i = 0; i < sizeof(uuid.bytes); i++)
		len += snprintf(addr.sun_path + len, sizeof(addr.sun_path) - len, "%02x",
				(unsigned char)uuid.bytes[i]);
	fd = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !syscall(SYS_bind, fd, &addr, offsetof(struct sockaddr_un, sun_path) + len))
		return fd;
	err = -errno;
	syscall(SYS_close, fd);
	return err;
}

#if __has_include(<cupti_pmsampling.h>)

/* Whether another tool uses the hardware: if so, asking the GPU for its counters fails. */
static bool is_busy(const struct cupti *c, uint32_t device)
{
	CUpti_PmSampling_GetCounterAvailability_Params counters = {
		.structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE,
		.deviceIndex = device,
	};
	CUpti_Profiler_Initialize_Params init = {
		.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE,
	};
	CUptiResult (*initialize)(CUpti_Profiler_Initialize_Params *);
	CUptiResult (*get)(CUpti_PmSampling_GetCounterAvailability_Params *);
	CUptiResult err;

	*(void **)&initialize = dlsym(c->handle, "cuptiProfilerInitialize");
	*(void **)&get = dlsym(c->handle, "cuptiPmSamplingGetCounterAvailability");
	if (!initialize || !get || initialize(&init) != CUPTI_SUCCESS)
		return false;
	err = get(&counters);
	if (err == CUPTI_SUCCESS) {
		counters.pCounterAvailabilityImage =
			calloc(1, counters.counterAvailabilityImageSize);
		if (counters.pCounterAvailabilityImage)
			err = get(&counters);
		free(counters.pCounterAvailabilityImage);
	}
	return err == CUPTI_ERROR_HARDWARE_BUSY;
}

#else

static bool is_busy(const struct cupti *c, uint32_t device)
{
	(void)c, (void)device;
	return false;
}

#endif

const char *exclusive__take(const struct cupti *c, uint32_t device)
{
	const char *who = NULL;
	int saved_errno = errno;
	long fd;

	if (device >= MAX_GPUS || is_taken[device])
		return NULL;
	fd = take_name(device);
	if (fd == -EADDRINUSE)
		who = "another recorded process samples this GPU";
	else if (is_busy(c, device))
		who = "another program samples this GPU (xpuload --gpu-metrics, DCGM, Nsight, ...)";
	if (who && fd >= 0)
		syscall(SYS_close, fd);
	is_taken[device] = !who;	/* the socket stays open until the process ends */
	errno = saved_errno;
	return who;
}
