// SPDX-License-Identifier: MIT
/*
 * The vendor of toy.h: shows what the shim needs for a GPU's API. Only the shim of one test has it.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "gpu/vendor.h"
#include "launch/launch.h"
#include "life/life.h"
#include "life/load.h"
#include "toy.h"
#include "wire/sender.h"
#include "wire/work.h"
#include "xpu_record.h"

#define DOMAIN	XPU_WITH_API(XPU_API_TEST, 1)
#define CONTEXT	1

/* A kernel that has ended. */
struct done {
	struct done *next;
	const char *kernel;
	uint64_t begin, end;
	uint32_t stream, id;
};

static struct done *_Atomic dones;	/* most recent one first */
static atomic_uint nr_launched, nr_done, nr_lost;
static int64_t shift_ns;		/* added to the runtime's timestamps */
static __thread uint64_t begun;		/* @start of launch__entered(); calls do not nest */

/* ---- calls ----------------------------------------------------------------------------------- */

static void begins(enum toy_call call, uint32_t stream, uint32_t id)
{
	(void)stream;
	if (call == TOY_WAIT) {
		launch__wait_entered(&begun);
		return;
	}
	if (launch__is_on())
		atomic_fetch_add(&nr_launched, 1);
	launch__entered(DOMAIN, call, id, &begun, false);
}

static void ends(enum toy_call call, uint32_t stream, uint32_t id)
{
	struct gpu_wait w;

	(void)id;
	if (call == TOY_LAUNCH) {
		launch__left();
		return;
	}
	launch__wait_left();
	if (!wait__is_long(begun) || !wait__measure(&w, begun))
		return;
	w.context = CONTEXT;
	w.stream = stream;
	w.flags = XPU_WAIT_STREAM;
	launch__waited(DOMAIN, call, &w);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void done(uint32_t stream, uint32_t id, const char *kernel, uint64_t begin, uint64_t end)
{
	struct done *d = malloc(sizeof(*d));

	atomic_fetch_add(&nr_done, 1);
	if (!d) {
		atomic_fetch_add(&nr_lost, 1);
		return;
	}
	*d = (struct done){ atomic_load(&dones), kernel, begin, end, stream, id };
	while (!atomic_compare_exchange_weak(&dones, &d->next, d))
		;
}

static void *take(void)
{
	return atomic_exchange(&dones, NULL);
}

static void pack_one(const struct done *d)
{
	const struct xpu_record_device device = { .limits.nr_multiprocessors = 1 };
	const struct xpu_shape shape = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	static bool has_device;
	struct gpu_work w = {
		.api = XPU_API_TEST,
		.type = XPU_RECORD_KERNEL,
		.correlation_id = d->id,
		.start = d->begin * 100,
		.end = d->end * 100,
		.shift_ns = shift_ns,
	};

	if (!has_device)
		wire__device(XPU_API_TEST, &device, "Toy");
	has_device = true;
	w.stream = wire__stream(XPU_API_TEST, 0, CONTEXT, d->stream);
	w.name = wire__kernel(d->kernel, &shape);
	wire__work(&w);
}

static void pack(void *taken)
{
	struct done *d, *next, *oldest = NULL;

	for (d = taken; d; d = next) {
		next = d->next;
		d->next = oldest;
		oldest = d;
	}
	for (d = oldest; d; d = next) {
		next = d->next;
		pack_one(d);
		free(d);
	}
	wire__counters.nr_dropped_cupti += atomic_exchange(&nr_lost, 0);
}

static void flush(void)
{
	/* Nothing to flush: the runtime reports kernels as soon as they have ended. */
}

static bool has_more(void)
{
	return atomic_load(&nr_launched) != atomic_load(&nr_done);
}

static unsigned int progress(void)
{
	return atomic_load(&nr_done);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static enum gpu_state open_toy(const struct gpu_wants *wants)
{
	static const struct toy_tracer tracer = { begins, ends, done };

	(void)wants;
	shift_ns = clock__ns() - toy_clock() * 100;
	sender__name_api(DOMAIN, TOY_LAUNCH, XPU_CALL_IS_LAUNCH, "toy_launch");
	sender__name_api(DOMAIN, TOY_WAIT, XPU_CALL_IS_WAIT, "toy_wait");
	toy_trace(&tracer);
	return GPU_AWAKE;
}

static void stop(void)
{
	toy_trace(NULL);
}

static const struct vendor toy = {
	.name = "toy",
	.api = XPU_API_TEST,
	.open = open_toy,
	.stop = stop,
	.close = flush,
	.flush = flush,
	.flush_all = flush,
	.look = flush,
	.take = take,
	.pack = pack,
	.has_more = has_more,
	.progress = progress,
};

__attribute__((visibility("default"))) void ToyInjection(void);

/* The runtime calls this function at its first use. */
void ToyInjection(void)
{
	shim__load();
	life__used(&toy);
}
