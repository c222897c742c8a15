// SPDX-License-Identifier: MIT
/* The shim as a layer of OpenCL: makes OpenCL's loader find it, and implements struct vendor. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/environment.h"
#include "gpu/vendor.h"
#include "gpu/opencl/calls.h"
#include "gpu/opencl/clocks.h"
#include "gpu/opencl/objects.h"
#include "gpu/opencl/opencl.h"
#include "gpu/opencl/work.h"
#include "life/life.h"
#include "life/load.h"
#include "nvtx/capture.h"
#include "wire/probe.h"
#include "wire/sender.h"
#include "xpu_slot.h"

#include <CL/cl_layer.h>

#define EXPORT		__attribute__((visibility("default")))
#define LAYERS		"OPENCL_LAYERS"
#define LOOK_NS		2000000		/* time between two checks for late work */
#define MAX_LOOKS	100		/* maximum number of checks without progress */

cl_icd_dispatch opencl;
atomic_bool opencl__on;

/* ---- coming and going ------------------------------------------------------------------------ */

static void name_calls(void)
{
#define NAME(name, class) { CALL_##name, XPU_CALL_IS_##class, #name },
	static const struct {
		unsigned int number;
		enum xpu_call_class class;
		const char *name;
	} names[] = { OPENCL_CALLS(NAME) };
#undef NAME
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		sender__name_api(OPENCL_DOMAIN, names[i].number, names[i].class, names[i].name);
}

/*
 * Reports which of the user's options have no effect because OpenCL lacks the functions for them.
 */
static void say_missing(void)
{
	static bool said;
	const struct {
		bool wanted;
		const char *option;
	} missing[] = {
		{ environment__get(XPU_STALLS_ENV) || (probe__live() && probe__live_stalls()),
		  "--stalls" },
		{ environment__get(XPU_MIGRATIONS_ENV), "--migrations" },
		{ capture__by_profiler(), "--capture cuda-profiler-api" },
	};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(missing) / sizeof(missing[0]) && !said; i++) {
		if (!missing[i].wanted)
			continue;
		snprintf(text, sizeof(text), "OpenCL has no functions for %s", missing[i].option);
		sender__message(XPU_MESSAGE_WARNING, text);
	}
	said = true;
}

static enum gpu_state session__open(const struct gpu_wants *wants)
{
	name_calls();
	say_missing();
	work__begin_session();
	atomic_store(&opencl__on, !wants->only_memory);
	return GPU_AWAKE;
}

static void session__stop(void)
{
	atomic_store(&opencl__on, false);
}

static void session__close(void)
{
}

static void session__forked(void)
{
	opencl_calls__want(CALLS_NONE);
	atomic_store(&opencl__on, false);
}

/* ---- device work ----------------------------------------------------------------------------- */

static void session__flush(void)
{
	/* The drivers report work as soon as it has ended. */
}

/*
 * Waits for unfinished work, but not for long: work that the program does not wait for may never
 * end.
 */
static void session__flush_all(void)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	unsigned int before = work__progress(), now, i;

	for (i = 0; i < MAX_LOOKS && work__has_more(); i++) {
		nanosleep(&pause, NULL);
		now = work__progress();
		if (now != before)
			i = 0;
		before = now;
	}
	if (work__has_more())
		work__find_failed();
}

/* Reports how exact the times of each device are. */
static void session__after(void)
{
	unsigned int nr = objects__nr_devices(), i;
	char text[512];
	bool timer;
	uint64_t ns;

	for (i = 0; i < nr; i++) {
		ns = clocks__bound_to_tell(i, &timer);
		if (!ns)
			continue;
		snprintf(text, sizeof(text), "OpenCL: the times of %s are known to within %.3f us, "
			 "by %s", objects__device_name(i), ns / 1e3,
			 timer ? "clGetDeviceAndHostTimer" : "the calls that enqueue work");
		sender__message(XPU_MESSAGE_INFO, text);
	}
}

static void session__over(bool heard)
{
	const char *why = extensions__message();
	unsigned int nr = objects__nr_refused();
	char text[256];

	if (!heard)
		return;
	session__after();
	if (why)
		sender__message(XPU_MESSAGE_WARNING, why);
	if (!nr)
		return;
	snprintf(text, sizeof(text), "OpenCL: %u queue%s refused CL_QUEUE_PROFILING_ENABLE: the "
		 "times of work there are unknown", nr, nr > 1 ? "s" : "");
	sender__message(XPU_MESSAGE_WARNING, text);
}

static const struct vendor opencl_vendor = {
	.name = "opencl",
	.api = XPU_API_OPENCL,
	.open = session__open,
	.stop = session__stop,
	.close = session__close,
	.forked = session__forked,
	.want_calls = opencl_calls__want,
	.flush = session__flush,
	.flush_all = session__flush_all,
	.look = session__flush,
	.take = work__take,
	.pack = work__pack,
	.after = session__after,
	.has_more = work__has_more,
	.progress = work__progress,
	.over = session__over,
};

static void used(void)
{
	shim__load();
	life__used(&opencl_vendor);
}

void opencl__used(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, used);
}

/* ---- being found by the loader --------------------------------------------------------------- */

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *value,
					 size_t *bytes)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "xpuload";
	const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : name;
	size_t size = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(name);

	if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME)
		return CL_INVALID_VALUE;
	if (value && room < size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, size);
	if (bytes)
		*bytes = size;
	return CL_SUCCESS;
}

/*
 * Keeps the library of @code in memory. A driver may complete work after the program has unloaded
 * OpenCL's loader; the functions that the shim then calls are in the loader.
 */
static void keep_loaded(const void *code)
{
	Dl_info info;

	if (dladdr(code, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/*
 * Puts the shim's functions into OpenCL's function table. The loader calls this once, before the
 * program's first call has returned.
 */
EXPORT cl_int CL_API_CALL clInitLayer(cl_uint nr, const cl_icd_dispatch *below, cl_uint *nr_own,
				      const cl_icd_dispatch **own)
{
	static cl_icd_dispatch table;
	const cl_uint known = sizeof(table) / sizeof(table.clFinish);

	if (!below || !nr_own || !own)
		return CL_INVALID_VALUE;
	if (nr > known)
		nr = known;
	keep_loaded(__builtin_return_address(0));
	memcpy(&opencl, below, nr * sizeof(opencl.clFinish));
	table = opencl;
	objects__fill(&table);
	enqueue__fill(&table);
	clmem__fill(&table);
	extensions__fill(&table);
	calls__fill(&table);
	*nr_own = nr;
	*own = &table;
	return CL_SUCCESS;
}

/*
 * Makes the loader open the shim, through an environment variable that lists layers. Programs that
 * this program executes inherit the variable. See the constructor of gpu/cupti/session.c.
 */
static __attribute__((constructor)) void loaded(void)
{
	const char *users = getenv(LAYERS), *path;
	size_t len, users_len;
	bool may_set;
	char *list;

	shim__load();
	path = load__path(&may_set);
	if (!path || !may_set || (users && strstr(users, path)))
		return;
	if (!users || !users[0]) {
		setenv(LAYERS, path, 1);
		return;
	}
	len = strlen(path);
	users_len = strlen(users);
	list = malloc(users_len + len + 2);
	if (!list)
		return;
	memcpy(list, users, users_len);
	list[users_len] = ':';
	memcpy(list + users_len + 1, path, len + 1);
	setenv(LAYERS, list, 1);
	free(list);
}
