// SPDX-License-Identifier: MIT
/*
 * pc.c - PC sampling, in libcupti.so
 *
 * A kernel of N us has N samples, at least one. The k-th sample of a function is at pc 0x10 * (k %
 * 4), and its stall reason is the length of the function's name % NR_REASONS. At each pc, every
 * second sample found that no instruction was issued. In continuous mode, a sample has no launch.
 * In serialized mode it has one, because samples of different launches are kept apart.
 * XPU_SIM_PC imitates known behavior of CUPTI:
 *
 *	refused		the size of the hardware buffer cannot be set
 *	unsupported	PC sampling cannot be enabled
 *	unfetched	the interval of the fetching thread stays 100 ms
 *	full		every third read finds the hardware buffer full, and has no samples
 *	slow		a launch returns some time after its kernel's samples exist
 *	late		samples come with the second read after their kernel, or with any read at
 *			least HELD_MS after the kernel
 *	later		like late, but with the fourth read
 *
 * In continuous mode, a CUPTI thread fetches samples every 100 ms, or at a requested interval. A
 * read returns only samples of earlier intervals.
 *
 * The samples of a launch may have the correlation ID of a later launch by another thread. Reads
 * fail while two contexts of a GPU are sampled.
 *
 * In CUPTI, disabling PC sampling does not return while other threads launch. Here it aborts.
 */
#include "profiler.h"

#if SIM_CUDA_MAJOR >= 13

#include <cupti_pcsampling.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NR_REASONS	5
#define NR_PLACES	4
#define MAX_FUNCTIONS	65536
#define MAX_CONTEXTS	128
#define OTHERS		7		/* samples of other programs in each read */
#define DROPPED		3
#define HELD_MS		200	/* CUPTI's thread fetches at least every 100 ms */
#define FETCHES_EVERY	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN

static const char *const names[NR_REASONS] = {
	"selected", "long_scoreboard", "wait", "barrier", "mio_throttle",
};

/* Each context has its own sampler. */
struct function {
	const char *name;
	uint32_t correlation_id;	/* 0: samples of any launch */
	uint64_t nr;			/* samples so far */
	uint64_t samples[NR_PLACES];	/* samples that were fetched, but not read yet */
	uint64_t taken[NR_PLACES];	/* samples that were taken since the last fetch */
	uint64_t span;			/* number of the interval of the last fetch */
	uint64_t kernel_ms;		/* when the latest kernel ended */
	int nr_seen;			/* reads that came too early */
};

static uint32_t latest_launch;		/* the latest launch of any thread */
static __thread uint32_t launched_by;	/* the thread's latest call that launched */
static unsigned int nr_in_flight;	/* pieces of work on the device */
static bool serializes;			/* in some context, kernels run one at a time */
static uint64_t module_crc;		/* CRC of the module that was last requested */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sampled {
	CUcontext ctx;
	uint32_t id, device;
	bool on, serialized;
	uint32_t span_ms;		/* interval of the thread that fetches samples */
	unsigned int nr_functions, nr_readings;
	struct function functions[MAX_FUNCTIONS];
} contexts[MAX_CONTEXTS];

static bool is_asked_for(const char *what)
{
	const char *env = getenv("XPU_SIM_PC");

	return env && !strcmp(env, what);
}

static struct sampled *sampled_of(CUcontext ctx, bool make)
{
	for (int i = 0; i < MAX_CONTEXTS; i++) {
		if (contexts[i].ctx == ctx)
			return &contexts[i];
		if (!contexts[i].ctx && make) {
			contexts[i].ctx = ctx;
			core->context_id(ctx, &contexts[i].id, &contexts[i].device);
			return &contexts[i];
		}
		if (!contexts[i].ctx)
			break;
	}
	return NULL;
}

static struct function *function_of(struct sampled *c, const char *name, uint32_t correlation_id)
{
	for (unsigned int i = c->nr_functions; i--;)
		if (c->functions[i].correlation_id == correlation_id &&
		    !strcmp(c->functions[i].name, name))
			return &c->functions[i];
		else if (correlation_id)
			break;
	if (c->nr_functions == MAX_FUNCTIONS)
		return NULL;
	c->functions[c->nr_functions] =
		(struct function){ .name = name, .correlation_id = correlation_id };
	return &c->functions[c->nr_functions++];
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* Fetches the samples of past intervals. */
static void fetch(const struct sampled *c, struct function *f)
{
	uint64_t span = now_ms() / (c->span_ms ?: 100);

	if (span == f->span && !c->serialized)
		return;
	for (int i = 0; i < NR_PLACES; i++) {
		f->samples[i] += f->taken[i];
		f->taken[i] = 0;
	}
	f->span = span;
}

void pc__kernel(const struct sim_activity *act)
{
	uint64_t nr = (act->end_ns - act->start_ns) / 1000 ?: 1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_CONTEXTS && contexts[i].ctx; i++) {
		struct function *f;

		if (contexts[i].id != act->context || !contexts[i].on)
			continue;
		f = function_of(&contexts[i], act->told,
				contexts[i].serialized ? act->correlation_id : 0);
		if (f) {
			fetch(&contexts[i], f);
			f->kernel_ms = now_ms();
		}
		for (; f && nr; nr--)
			f->taken[f->nr++ % NR_PLACES]++;
	}
	pthread_mutex_unlock(&lock);
}

void pc__begins(uint32_t correlation_id)
{
	uint32_t seen = __atomic_load_n(&latest_launch, __ATOMIC_RELAXED);

	while (seen < correlation_id &&
	       !__atomic_compare_exchange_n(&latest_launch, &seen, correlation_id, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void pc__launched(uint32_t correlation_id)
{
	launched_by = correlation_id;
	__atomic_add_fetch(&nr_in_flight, 1, __ATOMIC_RELAXED);
}

void pc__over(void)
{
	__atomic_sub_fetch(&nr_in_flight, 1, __ATOMIC_RELEASE);
}

/* Only pc__ends() waits, not pc__begins(): a kernel may itself wait for a later kernel. */
void pc__ends(uint32_t correlation_id)
{
	if (launched_by != correlation_id || !__atomic_load_n(&serializes, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < 20000 && __atomic_load_n(&nr_in_flight, __ATOMIC_ACQUIRE); i++)
		usleep(10);
	if (is_asked_for("slow"))
		usleep(300);
}

/* Return: whether PC sampling is on, which prevents CUPTI from enabling kernel records */
bool pc__is_on(void)
{
	bool on = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_CONTEXTS && contexts[i].ctx; i++)
		on |= contexts[i].on;
	pthread_mutex_unlock(&lock);
	return on;
}

static bool is_on(CUcontext ctx)
{
	struct sampled *c;
	bool on;

	pthread_mutex_lock(&lock);
	c = sampled_of(ctx, false);
	on = c && c->on;
	pthread_mutex_unlock(&lock);
	return on;
}

/* Knows no stall reasons before PC sampling is enabled, like CUPTI's function. */
SIM_EXPORT CUptiResult CUPTIAPI
cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
	if (!is_on(p->ctx))
		return CUPTI_ERROR_INVALID_OPERATION;
	*p->numStallReasons = 2 * NR_REASONS;
	return CUPTI_SUCCESS;
}

/* The index of a stall reason is not its position in the list. */
SIM_EXPORT CUptiResult CUPTIAPI
cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
	if (!is_on(p->ctx))
		return CUPTI_ERROR_INVALID_OPERATION;
	for (uint32_t i = 0; i < p->numStallReasons && i < 2 * NR_REASONS; i++) {
		p->stallReasonIndex[i] = 20 + i;
		snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE,
			 "smsp__pcsamp_warps_issue_stalled_%s%s", names[i / 2],
			 i % 2 ? "_not_issued" : "");
	}
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
	if (!is_on(p->ctx))
		return CUPTI_ERROR_INVALID_OPERATION;
	for (size_t i = 0; i < p->numAttributes; i++) {
		const CUpti_PCSamplingConfigurationInfo *v = &p->pPCSamplingConfigurationInfo[i];
		uint32_t span_ms = v->attributeData.workerThreadPeriodicSleepSpanData
					   .workerThreadPeriodicSleepSpan;

		if (v->attributeType ==
			    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE &&
		    is_asked_for("refused"))
			return CUPTI_ERROR_INVALID_OPERATION;
		if (v->attributeType == FETCHES_EVERY && is_asked_for("unfetched"))
			return CUPTI_ERROR_INVALID_PARAMETER;
		if (v->attributeType == FETCHES_EVERY)
			sampled_of(p->ctx, true)->span_ms = span_ms;
		if (v->attributeType != CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
			continue;
		pthread_mutex_lock(&lock);
		sampled_of(p->ctx, true)->serialized =
			v->attributeData.collectionModeData.collectionMode ==
			CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
		__atomic_store_n(&serializes, sampled_of(p->ctx, true)->serialized,
				 __ATOMIC_RELAXED);
		pthread_mutex_unlock(&lock);
	}
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
	CUptiResult err = CUPTI_SUCCESS;
	struct sampled *c;

	if (is_asked_for("unsupported"))
		return CUPTI_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&lock);
	c = sampled_of(p->ctx, true);
	if (!c)
		err = CUPTI_ERROR_OUT_OF_MEMORY;
	else if (c->on)
		err = CUPTI_ERROR_INVALID_OPERATION;
	else
		c->on = true;
	pthread_mutex_unlock(&lock);
	return err;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
	(void)p;
	fprintf(stderr, "sim: cuptiPCSamplingDisable does not come back while others launch\n");
	abort();
}

/* Returns a checksum that is not a real CRC: it only has to tell modules apart. */
SIM_EXPORT CUptiResult CUPTIAPI cuptiGetCubinCrc(CUpti_GetCubinCrcParams *p)
{
	const uint8_t *at = p->cubin;

	p->cubinCrc = 0xc0ffee;
	for (size_t i = 0; i < p->cubinSize; i++)
		p->cubinCrc = p->cubinCrc * 31 + at[i];
	__atomic_store_n(&module_crc, p->cubinCrc, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

static bool has_second(const struct sampled *c)
{
	bool found = false;

	uint32_t id, device;

	for (int i = 0; i < MAX_CONTEXTS && contexts[i].ctx; i++)
		found |= &contexts[i] != c && contexts[i].on && contexts[i].device == c->device &&
			 core->context_id(contexts[i].ctx, &id, &device) &&
			 id == contexts[i].id;
	return found;
}

static CUptiResult get_data(struct sampled *c, CUpti_PCSamplingData *data)
{
	size_t nr = 0, remaining = 0;

	if (is_asked_for("full") && ++c->nr_readings % 3 == 0) {
		data->hardwareBufferFull = 1;
		return CUPTI_ERROR_OUT_OF_MEMORY;
	}
	for (unsigned int i = 0; i < c->nr_functions; i++) {
		struct function *f = &c->functions[i];
		uint32_t reason = 2 * (uint32_t)(strlen(f->name) % NR_REASONS);

		fetch(c, f);
		if (f->nr_seen++ < (is_asked_for("late") ? 1 : is_asked_for("later") ? 3 : 0) &&
		    now_ms() - f->kernel_ms < HELD_MS)
			continue;
		f->nr_seen = 0;
		for (uint32_t k = 0; k < NR_PLACES; k++) {
			CUpti_PCSamplingPCData *pc = &data->pPcData[nr];

			if (!f->samples[k])
				continue;
			if (nr == data->collectNumPcs) {
				remaining++;
				continue;
			}
			pc->cubinCrc = __atomic_load_n(&module_crc, __ATOMIC_RELAXED);
			pc->pcOffset = 16 * k;
			pc->functionName = (char *)f->name;
			pc->correlationId = c->serialized ?
					    __atomic_load_n(&latest_launch, __ATOMIC_RELAXED) : 0;
			pc->stallReasonCount = 2;
			pc->stallReason[0] = (CUpti_PCSamplingStallReason){
				20 + reason, (uint32_t)f->samples[k],
			};
			pc->stallReason[1] = (CUpti_PCSamplingStallReason){
				21 + reason, (uint32_t)(f->samples[k] / 2),
			};
			data->totalSamples += f->samples[k];
			f->samples[k] = 0;
			nr++;
		}
	}
	if (c->serialized && !remaining)
		c->nr_functions = 0;	/* functions that were read are not returned again */
	if (nr) {
		data->totalSamples += OTHERS + DROPPED;
		data->nonUsrKernelsTotalSamples = OTHERS;
		data->droppedSamples = DROPPED;
	}
	data->totalNumPcs = nr;
	data->remainingNumPcs = remaining;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
	CUptiResult err = CUPTI_ERROR_INVALID_OPERATION;
	struct sampled *c;

	pthread_mutex_lock(&lock);
	c = sampled_of(p->ctx, false);
	if (c && c->on)
		err = has_second(c) ? CUPTI_ERROR_UNKNOWN : get_data(c, p->pcSamplingData);
	pthread_mutex_unlock(&lock);
	return err;
}

#else

void pc__kernel(const struct sim_activity *act)
{
	(void)act;
}

void pc__begins(uint32_t correlation_id)
{
	(void)correlation_id;
}

void pc__ends(uint32_t correlation_id)
{
	(void)correlation_id;
}

void pc__launched(uint32_t correlation_id)
{
	(void)correlation_id;
}

void pc__over(void)
{
}

bool pc__is_on(void)
{
	return false;
}

#endif
