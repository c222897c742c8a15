// SPDX-License-Identifier: MIT
#include "gpu/cupti/stalls.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cupti_pcsampling.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/lock.h"
#include "base/number.h"
#include "gpu/cupti/cubin.h"
#include "gpu/cupti/exclusive.h"
#include "wire/sender.h"
#include "wire/wire.h"
#include "xpu_slot.h"

#define MAX_CONTEXTS	64
#define MAX_REASONS	256
#define NR_PCS		2048		/* maximum number of PCs that are read at once */
#define NR_KEPT_PCS	64		/* number of PCs in the buffer that CUPTI requires for
					 * itself */
#define MAX_READS	64		/* maximum number of consecutive reads */
#define PIECE_BYTES	16384
#define MAX_STALLS	1024		/* maximum number of stalls in a record */
#define HARDWARE_BYTES	((size_t)16 << 20)	/* buffer size at HARDWARE_PERIOD; CUPTI's default
						 * is 512 MB */
#define HARDWARE_PERIOD	18
#define HARDWARE_MAX	((size_t)256 << 20)
#define BESIDE_ACTIVITY	26		/* API version of CUPTI 12.8, the first that can sample
					 * while it records activity */
#define MIN_PERIOD	5
#define MAX_PERIOD	31
#define FETCH_MS	20		/* interval between fetches of samples by CUPTI's thread;
					 * default: 100 */
#define LATE_NS		(3 * FETCH_MS * 1000000ull)	/* samples are read at most this late ... */
#define LATE_BY_DEFAULT_NS	250000000ull		/* ... or this late if CUPTI refuses
							 * FETCH_MS */
#define PAUSE_NS	200000
#define NR_PAUSES	5000
#define NOT_ISSUED	"_not_issued"

static struct {
	CUptiResult (*enable)(CUpti_PCSamplingEnableParams *);
	CUptiResult (*get_data)(CUpti_PCSamplingGetDataParams *);
	CUptiResult (*set)(CUpti_PCSamplingConfigurationInfoParams *);
	CUptiResult (*nr_reasons)(CUpti_PCSamplingGetNumStallReasonsParams *);
	CUptiResult (*reasons)(CUpti_PCSamplingGetStallReasonsParams *);
	CUptiResult (*device)(CUcontext, uint32_t *);
	CUptiResult (*context)(CUcontext, uint32_t *);
	CUptiResult (*crc)(CUpti_GetCubinCrcParams *);
} pc;

/* PCs and their stall reasons, in one block. */
struct pcs {
	CUpti_PCSamplingData data;
	CUpti_PCSamplingPCData *pcs;
	CUpti_PCSamplingStallReason *reasons;
};

struct sampled {
	CUcontext handle;
	uint64_t begin_ns;		/* when sampling began */
	uint64_t span_ns;		/* no samples are missing after this time */
	uint64_t since_ns;		/* when samples were last read, or when sampling began */
	uint64_t late_ns;		/* longest delay before CUPTI fetches samples */
	struct pcs kept;		/* CUPTI uses this until the context ends */
	struct xpu_record_stalls_account account;
	bool said_full;
};

static const struct cupti *cupti;
static unsigned int period;		/* 0: not wanted */
static bool is_exact;			/* kernels run one at a time, so each sample's launch is
					 * known */
static atomic_bool has_said;
static atomic_bool is_locked;		/* guards the following */
static bool is_listening;		/* samples are not only read, but also sent */
static struct sampled contexts[MAX_CONTEXTS];
static unsigned int nr_contexts;
static struct pcs buffer;		/* samples are read into this buffer */
static char *reason_names[MAX_REASONS];	/* names by index; NULL: CUPTI has no such reason */
static bool not_issued[MAX_REASONS];	/* samples with this reason are also counted under another
					 * reason */
static size_t nr_reasons;
static atomic_bool is_on;		/* a context is being sampled */
static atomic_uint most_late_ns;	/* largest late_ns of all contexts */
static atomic_uint only_launch;		/* the only launch that samples can belong to; 0: unknown */

/* ---- CUPTI's structures ---------------------------------------------------------------------- */

static bool pcs__init(struct pcs *p, size_t nr)
{
	size_t i;

	p->pcs = calloc(nr, sizeof(*p->pcs));
	p->reasons = calloc(nr * nr_reasons, sizeof(*p->reasons));
	if (!p->pcs || !p->reasons) {
		free(p->pcs);
		free(p->reasons);
		*p = (struct pcs){ .pcs = NULL };
		return false;
	}
	for (i = 0; i < nr; i++) {
		p->pcs[i].size = sizeof(p->pcs[i]);
		p->pcs[i].stallReason = p->reasons + i * nr_reasons;
	}
	p->data = (CUpti_PCSamplingData){
		.size = sizeof(p->data), .collectNumPcs = nr, .pPcData = p->pcs,
	};
	return true;
}

/* Reads the names of the stall reasons, once. */
static CUptiResult read_reasons(CUcontext context)
{
	static char texts[MAX_REASONS][CUPTI_STALL_REASON_STRING_SIZE];
	static uint32_t indices[MAX_REASONS];
	char *pointers[MAX_REASONS];
	size_t nr = 0, i, len;
	CUptiResult err;

	if (nr_reasons)
		return CUPTI_SUCCESS;
	err = pc.nr_reasons(&(CUpti_PCSamplingGetNumStallReasonsParams){
		.size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = context,
		.numStallReasons = &nr,
	});
	if (err != CUPTI_SUCCESS)
		return err;
	if (!nr || nr > MAX_REASONS)
		return CUPTI_ERROR_NOT_SUPPORTED;
	for (i = 0; i < nr; i++)
		pointers[i] = texts[i];
	err = pc.reasons(&(CUpti_PCSamplingGetStallReasonsParams){
		.size = CUpti_PCSamplingGetStallReasonsParamsSize, .ctx = context,
		.numStallReasons = nr, .stallReasonIndex = indices, .stallReasons = pointers,
	});
	for (i = 0; i < nr && err == CUPTI_SUCCESS; i++) {
		if (indices[i] >= MAX_REASONS)
			return CUPTI_ERROR_NOT_SUPPORTED;
		reason_names[indices[i]] = texts[i];
		len = strlen(texts[i]);
		not_issued[indices[i]] = len > strlen(NOT_ISSUED) &&
					 !strcmp(texts[i] + len - strlen(NOT_ISSUED), NOT_ISSUED);
	}
	if (err == CUPTI_SUCCESS)
		nr_reasons = nr;
	return err;
}

#define ATTRIBUTE(type, member, value)							\
	(CUpti_PCSamplingConfigurationInfo){						\
		.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##type,	\
		.attributeData.member = value,						\
	}

static CUptiResult set_attributes(CUcontext context, CUpti_PCSamplingConfigurationInfo *v,
				  size_t nr)
{
	return pc.set(&(CUpti_PCSamplingConfigurationInfoParams){
		.size = CUpti_PCSamplingConfigurationInfoParamsSize, .ctx = context,
		.numAttributes = nr, .pPCSamplingConfigurationInfo = v,
	});
}

/*
 * Return: the size of CUPTI's memory. With a shorter period, there are more samples between two
 * fetches by CUPTI's thread.
 */
static size_t hardware_bytes(void)
{
	size_t bytes = HARDWARE_BYTES;

	if (period < HARDWARE_PERIOD)
		bytes <<= HARDWARE_PERIOD - period;
	return bytes < HARDWARE_MAX ? bytes : HARDWARE_MAX;
}

/*
 * Configures PC sampling. If CUPTI refuses the memory size or the period, CUPTI's defaults stay in
 * effect.
 */
static CUptiResult configure(struct sampled *c)
{
	CUpti_PCSamplingConfigurationInfo needed[] = {
		ATTRIBUTE(COLLECTION_MODE, collectionModeData.collectionMode,
			  is_exact ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED :
				     CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS),
		ATTRIBUTE(SAMPLING_DATA_BUFFER, samplingDataBufferData.samplingDataBuffer,
			  &c->kept.data),
	};
	CUpti_PCSamplingConfigurationInfo bytes =
		ATTRIBUTE(HARDWARE_BUFFER_SIZE, hardwareBufferSizeData.hardwareBufferSize,
			  hardware_bytes());
	CUpti_PCSamplingConfigurationInfo cycles =
		ATTRIBUTE(SAMPLING_PERIOD, samplingPeriodData.samplingPeriod, period);
	CUpti_PCSamplingConfigurationInfo fetch = ATTRIBUTE(
		WORKER_THREAD_PERIODIC_SLEEP_SPAN,
		workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan, FETCH_MS);
	CUptiResult err = set_attributes(c->handle, needed, sizeof(needed) / sizeof(needed[0]));

	if (err != CUPTI_SUCCESS)
		return err;
	set_attributes(c->handle, &bytes, 1);
	c->late_ns = set_attributes(c->handle, &fetch, 1) == CUPTI_SUCCESS ?
		     LATE_NS : LATE_BY_DEFAULT_NS;
	if (c->late_ns > atomic_load(&most_late_ns))
		atomic_store(&most_late_ns, c->late_ns);
	if (set_attributes(c->handle, &cycles, 1) == CUPTI_SUCCESS)
		c->account.interval_cycles = UINT64_C(1) << period;
	return CUPTI_SUCCESS;
}

/* ---- records: packed under the lock of sender.h -------------------------------------------- */

static void pack_account(void *ctx)
{
	const struct sampled *c = ctx;
	struct xpu_record_stalls_account *r =
		wire__reserve(XPU_RECORD_STALLS_ACCOUNT, 0, sizeof(*r));
	struct xpu_record hdr = r->hdr;
	uint64_t end_ns = is_exact ? c->since_ns : c->since_ns - c->late_ns;

	*r = c->account;
	r->hdr = hdr;
	r->begin_ns = c->span_ns;
	r->end_ns = end_ns > c->span_ns ? end_ns : c->span_ns;
}

static void pack_reasons(void)
{
	struct xpu_record_stall_reason *r;
	uint32_t name;
	size_t i;

	for (i = 0; i < MAX_REASONS; i++) {
		if (!reason_names[i])
			continue;
		name = wire__string(reason_names[i]);
		r = wire__reserve(XPU_RECORD_STALL_REASON, 0, sizeof(*r));
		r->index = i;
		r->name = name;
	}
}

static bool same_function(const CUpti_PCSamplingPCData *a, const CUpti_PCSamplingPCData *b)
{
	return a->cubinCrc == b->cubinCrc && a->correlationId == b->correlationId &&
	       a->functionName && b->functionName && (a->functionName == b->functionName ||
							!strcmp(a->functionName, b->functionName));
}

/*
 * Return: the earliest time at which samples that are read now can have been taken. It includes a
 * margin, since CUPTI's thread may have to wait for a CPU.
 */
static uint64_t taken_since(const struct sampled *c)
{
	uint64_t sampled_ns = c->since_ns - c->begin_ns;

	return c->since_ns - (sampled_ns < LATE_BY_DEFAULT_NS ? sampled_ns : LATE_BY_DEFAULT_NS);
}

/*
 * Return: the launch that a sample belongs to. CUPTI reports the latest launch of any thread, even
 * if that launch still waits for its turn.
 */
static uint32_t launch_of(const CUpti_PCSamplingPCData *v)
{
	uint32_t only = atomic_load(&only_launch);

	return only && v->correlationId > only ? only : v->correlationId;
}

static size_t pack_function(struct sampled *c, const CUpti_PCSamplingPCData *v, size_t nr,
			    uint64_t end_ns)
{
	uint32_t function = wire__string(v->functionName ? v->functionName : "");
	struct xpu_record_stalls *r;
	size_t nr_pcs, nr_stalls = 0, i, k;

	for (nr_pcs = 0; nr_pcs < nr; nr_pcs++) {
		if (nr_pcs && (!same_function(v, &v[nr_pcs]) ||
			       nr_stalls + v[nr_pcs].stallReasonCount > MAX_STALLS))
			break;
		nr_stalls += v[nr_pcs].stallReasonCount;
	}
	r = wire__reserve(XPU_RECORD_STALLS, is_exact ? XPU_MISC_STALLS_LAUNCH : 0,
			  sizeof(*r) + nr_stalls * sizeof(r->stalls[0]));
	if (is_exact)
		r->correlation_id = launch_of(v);
	else
		r->begin_ns = taken_since(c);
	r->end_ns = end_ns;
	r->cubin_crc = v->cubinCrc;
	r->device = c->account.device;
	r->context = c->account.context;
	r->function = function;
	for (i = 0; i < nr_pcs; i++) {
		for (k = 0; k < v[i].stallReasonCount; k++) {
			const CUpti_PCSamplingStallReason *reason = &v[i].stallReason[k];

			r->stalls[r->nr++] = (struct xpu_stall){
				.pc = v[i].pcOffset,
				.reason = reason->pcSamplingStallReasonIndex,
				.samples = reason->samples,
			};
			if (reason->pcSamplingStallReasonIndex < MAX_REASONS &&
			    !not_issued[reason->pcSamplingStallReasonIndex])
				c->account.recorded += reason->samples;
		}
	}
	return nr_pcs;
}

struct reading {
	struct sampled *context;
	uint64_t end_ns;
};

static void pack_reading(void *ctx)
{
	const struct reading *reading = ctx;
	size_t i, nr = buffer.data.totalNumPcs;

	for (i = 0; i < nr && i < NR_PCS;)
		i += pack_function(reading->context, &buffer.data.pPcData[i], nr - i,
				   reading->end_ns);
}

static void say(const char *what)
{
	char text[256];

	if (atomic_exchange(&has_said, true))
		return;
	snprintf(text, sizeof(text), "no stall reasons are recorded: %s", what);
	sender__message(XPU_MESSAGE_WARNING, text);
}

static void say_error(const char *what, CUptiResult err)
{
	char text[200];

	snprintf(text, sizeof(text), "%s: %s (error %d)", what, cupti__strerror(cupti, err), err);
	say(text);
}

/*
 * Reports, once, that CUPTI fails to read samples. CUPTI then loses all other device work, too
 * (seen with 13.0).
 */
static void say_broken(CUptiResult err)
{
	static atomic_bool said;
	char text[300];

	if (atomic_exchange(&said, true))
		return;
	snprintf(text, sizeof(text), "launches and device work are missing from the recording: "
				     "cuptiPCSamplingGetData: %s (error %d): perhaps another "
				     "program samples this GPU: record without "
				     "--stalls", cupti__strerror(cupti, err), err);
	sender__message(XPU_MESSAGE_ERROR, text);
}

/* ---- contexts; under the lock of this file --------------------------------------------------- */

/*
 * Reads and reports a context's samples. @tell: even if there was no sample, report how far samples
 * have been read
 */
static void read_context(struct sampled *c, bool tell)
{
	struct reading reading = { .context = c };
	uint64_t now = clock__ns();
	unsigned int i;
	CUptiResult err;

	for (i = 0; i < MAX_READS; i++) {
		buffer.data.totalNumPcs = buffer.data.remainingNumPcs = 0;
		buffer.data.totalSamples = buffer.data.droppedSamples = 0;
		buffer.data.nonUsrKernelsTotalSamples = 0;
		buffer.data.hardwareBufferFull = 0;
		err = pc.get_data(&(CUpti_PCSamplingGetDataParams){
			.size = CUpti_PCSamplingGetDataParamsSize, .ctx = c->handle,
			.pcSamplingData = &buffer.data,
		});
		if (err != CUPTI_SUCCESS && err != CUPTI_ERROR_OUT_OF_MEMORY) {
			say_broken(err);
			return;
		}
		if (is_listening) {
			c->account.nr_full += err == CUPTI_ERROR_OUT_OF_MEMORY ||
					      buffer.data.hardwareBufferFull;
			c->account.total += buffer.data.totalSamples;
			c->account.others += buffer.data.nonUsrKernelsTotalSamples;
			c->account.dropped += buffer.data.droppedSamples;
			reading.end_ns = clock__ns();
		}
		if (is_listening && (buffer.data.totalNumPcs || buffer.data.totalSamples)) {
			sender__pack(pack_reading, &reading);
			tell = true;
		}
		/*
		 * In exact mode, keep reading: the first reads return the samples in CUPTI's own
		 * buffer, and later reads return the samples that did not fit in this buffer.
		 */
		if (!buffer.data.totalNumPcs || (!buffer.data.remainingNumPcs && !is_exact))
			break;
	}
	if (i < MAX_READS)
		c->since_ns = now;
	if (is_listening && tell)
		sender__pack(pack_account, c);
}

/*
 * Waits for the lock only for a limited time: this may run in CUPTI's callbacks, and the lock's
 * owner may wait for this thread.
 */
static bool lock_soon(sigset_t *old)
{
	const struct timespec pause = { 0, PAUSE_NS };
	int i;

	signals__block(old);
	for (i = 0; i < NR_PAUSES; i++) {
		if (!atomic_exchange_explicit(&is_locked, true, memory_order_acquire))
			return true;
		nanosleep(&pause, NULL);
	}
	signals__restore(old);
	return false;
}

static void unlock(const sigset_t *old)
{
	atomic_store_explicit(&is_locked, false, memory_order_release);
	signals__restore(old);
}

void stalls__set_launch(uint32_t correlation_id)
{
	atomic_store(&only_launch, correlation_id);
}

static void drain(bool tell)
{
	sigset_t old;
	unsigned int i;

	if (!atomic_load_explicit(&is_on, memory_order_relaxed) || !lock_soon(&old))
		return;
	for (i = 0; i < nr_contexts; i++)
		if (contexts[i].handle)
			read_context(&contexts[i], tell);
	unlock(&old);
}

void stalls__drain(void)
{
	drain(false);
}

/* Waits until the samples of all kernels that have ended can be read. */
static void await_samples(void)
{
	struct timespec rest = { 0, is_exact ? 0 : atomic_load(&most_late_ns) };

	while (nanosleep(&rest, &rest) && errno == EINTR)
		;
}

void stalls__drain_all(void)
{
	if (!atomic_load_explicit(&is_on, memory_order_relaxed))
		return;
	await_samples();
	drain(true);
}

void stalls__end_module(void)
{
	sigset_t old;
	unsigned int i;

	if (!atomic_load_explicit(&is_on, memory_order_relaxed) || !lock_soon(&old))
		return;
	for (i = 0; i < nr_contexts; i++) {
		if (!contexts[i].handle)
			continue;
		read_context(&contexts[i], !is_exact);
		if (!is_exact)
			contexts[i].span_ns = clock__ns();
	}
	unlock(&old);
}

static void pack_definitions(void *ctx)
{
	unsigned int i;

	(void)ctx;
	pack_reasons();
	for (i = 0; i < nr_contexts; i++)
		if (contexts[i].handle)
			pack_account(&contexts[i]);
}

/*
 * Enables the context first, because CUPTI answers no queries before that. The context stays
 * enabled even if a later step fails, because cuptiPCSamplingDisable() may hang.
 */
static CUptiResult begin(struct sampled *c, const char **what)
{
	CUptiResult err;

	*what = "cuptiPCSamplingEnable";
	err = pc.enable(&(CUpti_PCSamplingEnableParams){
		.size = CUpti_PCSamplingEnableParamsSize, .ctx = c->handle,
	});
	if (err != CUPTI_SUCCESS)
		return err;
	*what = "cuptiPCSamplingGetStallReasons";
	err = read_reasons(c->handle);
	if (err != CUPTI_SUCCESS)
		return err;
	*what = "memory";
	if (!pcs__init(&c->kept, NR_KEPT_PCS) || (!buffer.pcs && !pcs__init(&buffer, NR_PCS)))
		return CUPTI_ERROR_OUT_OF_MEMORY;
	*what = "cuptiPCSamplingSetConfigurationAttribute";
	return configure(c);
}

/* Return: the sampled context of @device, or NULL. */
static const struct sampled *sampled_of(uint32_t device)
{
	unsigned int i;

	for (i = 0; i < nr_contexts; i++)
		if (contexts[i].handle && contexts[i].account.device == device)
			return &contexts[i];
	return NULL;
}

/*
 * Reports, once, that a second context is not sampled. If two contexts were sampled, CUPTI would
 * fail and report nothing any more (seen with 13.0).
 */
static void say_second(uint32_t device)
{
	static atomic_bool said;
	char text[200];

	if (atomic_exchange(&said, true))
		return;
	snprintf(text, sizeof(text),
		 "stall reasons are recorded only for the first context of GPU %u: CUPTI samples "
		 "one context at a time",
		 device);
	sender__message(XPU_MESSAGE_WARNING, text);
}

/* Reports, once, that contexts are not sampled because the table is full. */
static void say_full(void)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		sender__message(XPU_MESSAGE_WARNING,
				"stall reasons are recorded only for the first 64 contexts of the "
				"program");
}

void stalls__add_context(CUcontext handle)
{
	const char *what, *who;
	const struct sampled *other;
	struct sampled *c;
	sigset_t old;
	CUptiResult err;

	if (!period || !lock_soon(&old))
		return;
	if (nr_contexts == MAX_CONTEXTS) {
		say_full();
		goto out;
	}
	c = &contexts[nr_contexts];
	*c = (struct sampled){ .handle = handle };
	pc.device(handle, &c->account.device);
	pc.context(handle, &c->account.context);
	other = sampled_of(c->account.device);
	if (other) {
		if (other->handle != handle)
			say_second(c->account.device);
		goto out;
	}
	who = exclusive__take(cupti, c->account.device);
	if (who) {
		say(who);
		goto out;
	}
	err = begin(c, &what);
	if (err != CUPTI_SUCCESS) {
		say_error(what, err);
		goto out;
	}
	c->begin_ns = c->span_ns = c->since_ns = clock__ns();
	nr_contexts++;
	atomic_store(&is_on, true);
	if (is_listening)
		sender__pack(pack_definitions, NULL);
out:
	unlock(&old);
}

struct cubin_piece {
	const uint8_t *data;
	uint64_t crc;
	size_t total, offset, bytes;
};

static void pack_piece(void *ctx)
{
	const struct cubin_piece *piece = ctx;
	struct xpu_record_cubin *r = wire__reserve(XPU_RECORD_CUBIN, 0, sizeof(*r) + piece->bytes);

	r->crc = piece->crc;
	r->total_bytes = piece->total;
	r->offset = piece->offset;
	r->bytes = piece->bytes;
	memcpy(r->data, piece->data + piece->offset, piece->bytes);
}

void stalls__add_module(const void *file, size_t bytes)
{
	static atomic_size_t sent;
	struct cubin_piece piece = { .data = NULL };
	CUpti_GetCubinCrcParams crc = {
		.size = CUpti_GetCubinCrcParamsSize, .cubin = file, .cubinSize = bytes,
	};
	struct xpu_cubin_lines *lines;

	if (!period || !file || !bytes)
		return;
	lines = cubin__lines(file, bytes, &piece.total);
	if (!lines)
		return;
	piece.data = (const uint8_t *)lines;
	if (pc.crc(&crc) == CUPTI_SUCCESS &&
	    atomic_fetch_add(&sent, piece.total) + piece.total <= XPU_CUBIN_MAX) {
		piece.crc = crc.cubinCrc;
		for (; piece.offset < piece.total; piece.offset += piece.bytes) {
			piece.bytes = piece.total - piece.offset;
			if (piece.bytes > PIECE_BYTES)
				piece.bytes = PIECE_BYTES;
			sender__pack(pack_piece, &piece);
		}
	}
	free(lines);
}

/*
 * Forgets the context, but keeps the memory that was given to CUPTI, which may use it until the
 * context is gone.
 */
void stalls__remove_context(CUcontext handle)
{
	sigset_t old;
	unsigned int i;

	if (!atomic_load(&is_on) || !lock_soon(&old))
		return;
	for (i = 0; i < nr_contexts; i++) {
		if (contexts[i].handle != handle)
			continue;
		await_samples();
		read_context(&contexts[i], true);
		contexts[i].handle = NULL;
	}
	unlock(&old);
}

void stalls__repeat_definitions(void)
{
	sigset_t old;

	if (!atomic_load(&is_on) || !lock_soon(&old))
		return;
	if (is_listening)
		sender__pack(pack_definitions, NULL);
	unlock(&old);
}

bool stalls__are_exact(void)
{
	return is_exact;
}

bool stalls__are_on(void)
{
	return atomic_load(&is_on);
}

/* For a new listener, counts start at 0, since it does not get the earlier samples. */
void stalls__listen(bool on)
{
	struct xpu_record_stalls_account *a;
	sigset_t old;
	unsigned int i;

	if (on == is_listening || !lock_soon(&old))
		return;
	for (i = 0; on && i < nr_contexts; i++) {
		if (!contexts[i].handle)
			continue;
		read_context(&contexts[i], false);
		contexts[i].span_ns = contexts[i].since_ns;
		a = &contexts[i].account;
		a->total = a->others = a->dropped = a->nr_full = a->recorded = 0;
	}
	is_listening = on;
	atomic_store(&only_launch, 0);
	if (on && atomic_load(&is_on))
		sender__pack(pack_definitions, NULL);
	unlock(&old);
}

void stalls__give_up(void)
{
	sigset_t old;
	unsigned int i;

	if (!atomic_load(&is_on) || !lock_soon(&old))
		return;
	for (i = 0; i < nr_contexts; i++)
		contexts[i].handle = NULL;
	atomic_store(&is_on, false);
	unlock(&old);
}

void stalls__find_contexts(void)
{
	static const char *const names[] = {
		"cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxGetState",
		"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
	};
	struct {
		CUresult (*count)(int *);
		CUresult (*get)(CUdevice *, int);
		CUresult (*state)(CUdevice, unsigned int *, int *);
		CUresult (*retain)(CUcontext *, CUdevice);
		CUresult (*release)(CUdevice);
	} cuda;
	void *functions[sizeof(names) / sizeof(names[0])], *library;
	unsigned int flags;
	CUcontext context;
	CUdevice device;
	int nr = 0, active, i;

	library = period ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!library)
		return;
	for (i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
		functions[i] = dlsym(library, names[i]);
		if (!functions[i])
			return;
	}
	memcpy(&cuda, functions, sizeof(cuda));
	if (cuda.count(&nr) != CUDA_SUCCESS)
		return;
	for (i = 0; i < nr; i++) {
		if (cuda.get(&device, i) != CUDA_SUCCESS ||
		    cuda.state(device, &flags, &active) != CUDA_SUCCESS || !active ||
		    cuda.retain(&context, device) != CUDA_SUCCESS)
			continue;
		stalls__add_context(context);
		cuda.release(device);
	}
}

void stalls__start(const struct cupti *c, const char *text)
{
	static const struct {
		void *fn;
		const char *name;
	} functions[] = {
		{ &pc.enable, "cuptiPCSamplingEnable" }, { &pc.get_data, "cuptiPCSamplingGetData" },
		{ &pc.set, "cuptiPCSamplingSetConfigurationAttribute" },
		{ &pc.nr_reasons, "cuptiPCSamplingGetNumStallReasons" },
		{ &pc.reasons, "cuptiPCSamplingGetStallReasons" },
		{ &pc.device, "cuptiGetDeviceId" }, { &pc.context, "cuptiGetContextId" },
		{ &pc.crc, "cuptiGetCubinCrc" },
	};
	unsigned int wanted;
	size_t i;

	if (period || !number__read(&text, &wanted) || wanted < MIN_PERIOD || wanted > MAX_PERIOD)
		return;
	atomic_store(&has_said, false);
	cupti = c;
	if (c->version < BESIDE_ACTIVITY) {
		say("CUPTI before 12.8");
		return;
	}
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *fn = dlsym(c->handle, functions[i].name);

		if (!fn) {
			say_error(functions[i].name, CUPTI_ERROR_NOT_SUPPORTED);
			return;
		}
		memcpy(functions[i].fn, &fn, sizeof(fn));
	}
	is_exact = !strcmp(text, XPU_STALLS_EXACT);
	period = wanted;
}
