// SPDX-License-Identifier: MIT
#include "gpu/cupti/migrations.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "gpu/cupti/cupti_lib.h"
#include "launch/allocs.h"
#include "wire/sender.h"
#include "wire/wire.h"

#define NR_COUNTERS	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT
#define ALL_DEVICES	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES

/* Older versions have the same offsets, and fewer members. */
_Static_assert(offsetof(CUpti_ActivityUnifiedMemoryCounter3, value) == 8, "migration record");
_Static_assert(offsetof(CUpti_ActivityUnifiedMemoryCounter3, address) == 32, "migration record");
_Static_assert(offsetof(CUpti_ActivityUnifiedMemoryCounter3, dstId) == 44, "migration record");

/* How the records of each CUPTI counter are packed; a counter without a row is not enabled. */
static const struct counter {
	uint16_t what;			/* XPU_MIGRATION_*; 0: unused */
	bool has_end, has_source, has_target;
	bool is_one;			/* the record has no count, so it counts as one event */
} counters[NR_COUNTERS] = {
#define COUNTER(name)	[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##name]
	COUNTER(BYTES_TRANSFER_HTOD) = { XPU_MIGRATION_TO_DEVICE, true, false, true, false },
	COUNTER(BYTES_TRANSFER_DTOH) = { XPU_MIGRATION_TO_HOST, true, true, false, false },
	COUNTER(BYTES_TRANSFER_DTOD) = { XPU_MIGRATION_BETWEEN, true, true, true, false },
	COUNTER(GPU_PAGE_FAULT) = { XPU_MIGRATION_GPU_FAULTS, true, true, false, false },
	COUNTER(CPU_PAGE_FAULT_COUNT) = { XPU_MIGRATION_CPU_FAULT, false, false, false, true },
	COUNTER(THRASHING) = { XPU_MIGRATION_THRASHING, false, false, false, false },
#undef COUNTER
};

static struct {
	pthread_mutex_t lock;		/* only the first allocation of managed memory takes it */
	const struct cupti *cupti;
	atomic_bool waits;		/* memory is recorded, but CUPTI has not been asked to count
					 * yet */
	bool is_on;			/* CUPTI is counting */
	uint32_t nr;			/* number of records packed; under the lock of sender.h */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Return: the ordinal of a device that cannot access managed memory at the same time as the CPU, or
 * -1.
 */
static int device_without_sharing(void)
{
	CUresult (*get)(int *, CUdevice_attribute, CUdevice);
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUresult (*get_count)(int *);
	int nr = 0, i, value, found = -1;

	if (!cuda)
		return -1;
	*(void **)&get_count = dlsym(cuda, "cuDeviceGetCount");
	*(void **)&get = dlsym(cuda, "cuDeviceGetAttribute");
	if (get && get_count && get_count(&nr) == CUDA_SUCCESS)
		for (i = nr - 1; i >= 0; i--)
			if (get(&value, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, i) ==
			    CUDA_SUCCESS && !value)
				found = i;
	dlclose(cuda);
	return found;
}

static void tell(const struct cupti *c, CUptiResult err, bool late)
{
	int device = device_without_sharing();
	char text[384], why[128] = "";

	if (device >= 0)
		snprintf(why, sizeof(why), ": GPU %d has no concurrent managed access", device);
	if (err == CUPTI_SUCCESS && device < 0)
		return;
	if (err == CUPTI_SUCCESS)
		snprintf(text, sizeof(text), "managed memory moves as a whole, when kernels are "
			 "launched, and without page faults%s", why);
	else
		snprintf(text, sizeof(text), "page migrations of managed memory are not recorded, "
			 "because CUPTI refuses to count them (%s, error %d)%s",
			 cupti__strerror(c, err), err, why);
	/* A program to which xpuload attaches may have no managed memory at all. */
	sender__message(err == CUPTI_SUCCESS || late ? XPU_MESSAGE_INFO : XPU_MESSAGE_WARNING,
			text);
}

static CUptiResult enable(const struct cupti *c)
{
	CUpti_ActivityUnifiedMemoryCounterConfig config[NR_COUNTERS] = { 0 };
	CUptiResult (*configure)(CUpti_ActivityUnifiedMemoryCounterConfig *, uint32_t), err;
	unsigned int i, nr = 0;

	*(void **)&configure = dlsym(c->handle, "cuptiActivityConfigureUnifiedMemoryCounter");
	if (!configure)
		return CUPTI_ERROR_NOT_SUPPORTED;
	for (i = 0; i < NR_COUNTERS; i++)
		if (counters[i].what)
			config[nr++] = (CUpti_ActivityUnifiedMemoryCounterConfig){
				.scope = ALL_DEVICES, .kind = i, .enable = 1,
			};
	err = configure(config, nr);
	return err != CUPTI_SUCCESS ? err :
	       cupti__enable(c, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, true);
}

static void ask(bool late)
{
	CUptiResult err;

	pthread_mutex_lock(&state.lock);
	if (atomic_load(&state.waits)) {
		err = enable(state.cupti);
		state.is_on = err == CUPTI_SUCCESS;
		tell(state.cupti, err, late);
		atomic_store(&state.waits, false);
	}
	pthread_mutex_unlock(&state.lock);
}

void migrations__start(const struct cupti *c, bool late)
{
	state.cupti = c;
	atomic_store(&state.waits, !state.is_on);
	if (late)
		ask(true);
}

void migrations__end(void)
{
	pthread_mutex_lock(&state.lock);
	if (state.is_on)
		cupti__enable(state.cupti, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, false);
	state.is_on = false;
	atomic_store(&state.waits, false);
	pthread_mutex_unlock(&state.lock);
}

void migrations__begin(void)
{
	if (atomic_load_explicit(&state.waits, memory_order_acquire))
		ask(false);
}

static uint16_t device_of(bool has, uint32_t id)
{
	return has && id < XPU_ALLOC_NO_DEVICE ? id : XPU_ALLOC_NO_DEVICE;
}

void migrations__pack(const CUpti_Activity *record, int64_t shift)
{
	const CUpti_ActivityUnifiedMemoryCounter3 *m = (const void *)record;	/* a prefix */
	const struct counter *c = &counters[m->counterKind < NR_COUNTERS ? m->counterKind : 0];
	struct xpu_record_migration *r;

	if (!c->what || !allocs__are_on())
		return;
	r = wire__reserve(XPU_RECORD_MIGRATION, c->what, sizeof(*r));
	r->number = state.nr++;
	r->address = m->address;
	r->value = c->is_one ? 1 : m->value;
	r->source = device_of(c->has_source, m->srcId);
	r->target = device_of(c->has_target, m->dstId);
	if (!m->start || (c->has_end && m->end < m->start))
		return;
	r->start_ns = m->start + shift;
	r->duration_ns = c->has_end ? m->end - m->start : 0;
}
