// SPDX-License-Identifier: MIT
#include "gpu/cupti/device.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "wire/wire.h"

struct device {
	struct device *next;
	uint32_t ordinal;
};

static struct device *devices;

static struct {
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*get)(CUdevice *, int);
	CUresult (*name)(char *, int, CUdevice);
	CUresult (*uuid)(CUuuid *, CUdevice);
} driver;

void device__find_driver(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!cuda)
		return;
	*(void **)&driver.attribute = dlsym(cuda, "cuDeviceGetAttribute");
	*(void **)&driver.get = dlsym(cuda, "cuDeviceGet");
	*(void **)&driver.name = dlsym(cuda, "cuDeviceGetName");
	*(void **)&driver.uuid = dlsym(cuda, "cuDeviceGetUuid_v2");
	dlclose(cuda);
}

static void read_limits(struct xpu_device_limits *limits, CUdevice device)
{
	const struct {
		uint32_t *to;
		CUdevice_attribute attribute;
	} all[] = {
#define LIMIT(member, name)	{ &limits->member, CU_DEVICE_ATTRIBUTE_##name }
		LIMIT(capability, COMPUTE_CAPABILITY_MAJOR),
		LIMIT(reserved, COMPUTE_CAPABILITY_MINOR),
		LIMIT(nr_multiprocessors, MULTIPROCESSOR_COUNT),
		LIMIT(warp_threads, WARP_SIZE),
		LIMIT(max_threads, MAX_THREADS_PER_MULTIPROCESSOR),
		LIMIT(max_blocks, MAX_BLOCKS_PER_MULTIPROCESSOR),
		LIMIT(registers, MAX_REGISTERS_PER_MULTIPROCESSOR),
		LIMIT(shared_bytes, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
		LIMIT(block_registers, MAX_REGISTERS_PER_BLOCK),
		LIMIT(block_reserved_bytes, RESERVED_SHARED_MEMORY_PER_BLOCK),
#undef LIMIT
	};
	size_t i;
	int value;

	for (i = 0; driver.attribute && i < sizeof(all) / sizeof(all[0]); i++) {
		value = 0;
		if (driver.attribute(&value, all[i].attribute, device) == CUDA_SUCCESS && value > 0)
			*all[i].to = value;
	}
	limits->capability = 10 * limits->capability + limits->reserved;
	limits->reserved = 0;
}

/* Sends a record with the driver's name for a device, if the driver gives one. */
static void define_device(uint32_t ordinal)
{
	struct xpu_record_device r = { .device = ordinal };
	char name[256] = "";
	CUuuid uuid = {};
	CUdevice device;

	if (!driver.get)
		return;
	if (driver.name && driver.get(&device, ordinal) == CUDA_SUCCESS) {
		if (driver.name(name, sizeof(name), device) != CUDA_SUCCESS)
			name[0] = '\0';
		if (driver.uuid)
			driver.uuid(&uuid, device);
		read_limits(&r.limits, device);
	}
	_Static_assert(sizeof(r.uuid) == sizeof(uuid.bytes), "a UUID is 16 bytes");
	memcpy(r.uuid, uuid.bytes, sizeof(r.uuid));
	wire__device(XPU_API_CUDA, &r, name);
}

static void need_device(uint32_t ordinal)
{
	struct device *device;

	for (device = devices; device; device = device->next)
		if (device->ordinal == ordinal)
			return;
	device = calloc(1, sizeof(*device));
	if (!device)
		return;
	device->ordinal = ordinal;
	device->next = devices;
	devices = device;
	define_device(ordinal);
}

uint32_t device__stream(uint32_t device, uint32_t context, uint32_t stream)
{
	need_device(device);
	return wire__stream(XPU_API_CUDA, device, context, stream);
}
