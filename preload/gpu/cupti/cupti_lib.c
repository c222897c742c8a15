// SPDX-License-Identifier: MIT
#include "gpu/cupti/cupti_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "gpu/cupti/cupti_real.h"
#include "base/environment.h"

#define SEVERAL_VERSION	130300		/* first version that allows several subscribers */

static const int majors[] = { 13, 12, 11 };

struct search {
	struct cupti *c;
	int major;			/* CUDA's major version, which is tried first; 0: unknown */
	char cudart_dir[4096];		/* directory of the mapped libcudart, or empty */
};

static bool try_open(struct search *s, const char *path, int flags)
{
	void *handle = dlopen(path, flags | RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!handle)
		return false;
	s->c->handle = handle;
	if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map->l_name[0])
		path = map->l_name;
	snprintf(s->c->path, sizeof(s->c->path), "%s", path);
	return true;
}

/*
 * Searches @dir (if NULL, the dynamic loader's path) for each major version, beginning with the
 * process's version.
 */
static bool try_dir(struct search *s, const char *dir, const char *sub, int flags)
{
	char path[4400];
	size_t i;

	if (s->major) {
		snprintf(path, sizeof(path), "%s%slibcupti.so.%d", dir, sub, s->major);
		if (try_open(s, path, flags))
			return true;
	}
	for (i = 0; i < sizeof(majors) / sizeof(majors[0]); i++) {
		snprintf(path, sizeof(path), "%s%slibcupti.so.%d", dir, sub, majors[i]);
		if (majors[i] != s->major && try_open(s, path, flags))
			return true;
	}
	return false;
}

static bool try_toolkit(struct search *s, const char *dir)
{
	return dir && dir[0] &&
	       (try_dir(s, dir, "/extras/CUPTI/lib64/", 0) || try_dir(s, dir, "/lib64/", 0) ||
		try_dir(s, dir, "/lib/", 0));
}

static int find_cudart(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char name[] = "libcudart.so.";
	struct search *s = data;
	const char *slash = strrchr(info->dlpi_name, '/'), *version;
	unsigned int major;

	(void)size;
	if (!slash || strncmp(slash + 1, name, sizeof(name) - 1))
		return 0;
	snprintf(s->cudart_dir, sizeof(s->cudart_dir), "%.*s", (int)(slash - info->dlpi_name),
		 info->dlpi_name);
	version = slash + sizeof(name);
	s->major = number__read(&version, &major) ? major : 0;
	return 1;
}

static int driver_major(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUresult (*get_version)(int *);
	int version = 0;

	if (!cuda)
		return 0;
	*(void **)&get_version = dlsym(cuda, "cuDriverGetVersion");
	if (get_version)
		get_version(&version);
	dlclose(cuda);
	return version / 1000;
}

static bool find_library(struct search *s)
{
	const char *named = environment__get("XPUSHIM_CUPTI");

	if (named && named[0])
		return try_open(s, named, 0);

	dl_iterate_phdr(find_cudart, s);
	if (!s->major)
		s->major = driver_major();

	if (try_dir(s, "", "", RTLD_NOLOAD))
		return true;
	if (s->cudart_dir[0] &&
	    (try_dir(s, s->cudart_dir, "/", 0) ||			/* pip, CUDA 13; toolkit */
	     try_dir(s, s->cudart_dir, "/../../cuda_cupti/lib/", 0) ||	/* pip, CUDA 11 and 12 */
	     try_dir(s, s->cudart_dir, "/../extras/CUPTI/lib64/", 0) ||
	     try_dir(s, s->cudart_dir, "/../../../extras/CUPTI/lib64/", 0)))
		return true;
	return try_dir(s, "", "", 0) || try_toolkit(s, environment__get("CUDA_HOME")) ||
	       try_toolkit(s, environment__get("CUDA_PATH")) || try_toolkit(s, "/usr/local/cuda") ||
	       try_toolkit(s, "/opt/cuda");
}

int cupti__open(struct cupti *c, char *why, size_t len)
{
	struct search s = { .c = c };
	const struct {
		void *func;
		const char *name;
		bool optional;
	} table[] = {
		{ &c->get_version, "cuptiGetVersion", false },
		{ &c->get_result_string, "cuptiGetResultString", false },
		{ &c->subscribe, "cuptiSubscribe", false },
		{ &c->subscribe_v2, "cuptiSubscribe_v2", true },
		{ &c->unsubscribe, "cuptiUnsubscribe", false },
		{ &c->enable_callback, "cuptiEnableCallback", false },
		{ &c->enable_domain, "cuptiEnableDomain", false },
		{ &c->get_callback_name, "cuptiGetCallbackName", false },
		{ &c->get_graph_node_id, "cuptiGetGraphNodeId", true },
		{ &c->get_context_id, "cuptiGetContextId", true },
		{ &c->get_device_id, "cuptiGetDeviceId", true },
		{ &c->get_stream_id, "cuptiGetStreamIdEx", true },
		{ &c->activity_enable, "cuptiActivityEnable", false },
		{ &c->activity_disable, "cuptiActivityDisable", false },
		{ &c->activity_register_callbacks, "cuptiActivityRegisterCallbacks", false },
		{ &c->activity_get_next_record, "cuptiActivityGetNextRecord", false },
		{ &c->activity_get_num_dropped, "cuptiActivityGetNumDroppedRecords", false },
		{ &c->activity_flush_all, "cuptiActivityFlushAll", false },
		{ &c->activity_set_attribute, "cuptiActivitySetAttribute", false },
		{ &c->activity_register_timestamp, "cuptiActivityRegisterTimestampCallback",
		  false },
		{ &c->activity_register_callbacks_v2, "cuptiActivityRegisterCallbacks_v2", true },
		{ &c->activity_enable_v2, "cuptiActivityEnable_v2", true },
		{ &c->activity_disable_v2, "cuptiActivityDisable_v2", true },
		{ &c->activity_get_next_record_v2, "cuptiActivityGetNextRecord_v2", true },
		{ &c->activity_get_num_dropped_v2, "cuptiActivityGetNumDroppedRecords_v2", true },
		{ &c->activity_set_attribute_v2, "cuptiActivitySetAttribute_v2", true },
		{ &c->get_timestamp_v2, "cuptiGetTimestamp_v2", true },
	};
	size_t i;

	if (!find_library(&s)) {
		const char *named = environment__get("XPUSHIM_CUPTI");

		if (named && named[0])
			snprintf(why, len, "XPUSHIM_CUPTI=%s cannot be loaded", named);
		else
			snprintf(why, len, "libcupti.so.{13,12,11} not found%s%s, in the "
				 "library path, CUDA_HOME or /usr/local/cuda: install CUPTI or set "
				 "XPUSHIM_CUPTI to its path", s.cudart_dir[0] ? " beside " : "",
				 s.cudart_dir);
		return -ENOENT;
	}
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		void *sym = dlsym(c->handle, table[i].name);

		if (!sym && !table[i].optional) {
			snprintf(why, len, "%s has no %s: too old, CUDA 11.8 or later is needed",
				 c->path, table[i].name);
			dlclose(c->handle);
			c->handle = NULL;
			return -ENOSYS;
		}
		memcpy(table[i].func, &sym, sizeof(sym));
	}
	if (c->get_version(&c->version) != CUPTI_SUCCESS)
		c->version = 0;
	/* CUPTI 13.2 also has most of these functions, for another purpose. */
	c->knows_several = c->version >= SEVERAL_VERSION && c->subscribe_v2 &&
			   c->activity_register_callbacks_v2 && c->activity_enable_v2 &&
			   c->activity_disable_v2 && c->activity_get_next_record_v2 &&
			   c->activity_set_attribute_v2 && c->get_timestamp_v2;
	return 0;
}

CUptiResult cupti__join(struct cupti *c, CUpti_SubscriberHandle *subscriber,
			CUpti_CallbackFunc callback)
{
	char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
	struct cupti_subscriber_params p = {
		.params = {
			.structSize = sizeof(p),
			.subscriberName = "xpuload",
			.oldSubscriberName = holder,
			.oldSubscriberSize = sizeof(holder),
		},
		.allow_several = 1,
	};
	CUptiResult err;

	if (!c->knows_several)
		return CUPTI_ERROR_NOT_SUPPORTED;
	err = c->subscribe_v2(subscriber, callback, NULL, &p.params);
	c->among = err == CUPTI_SUCCESS ? *subscriber : NULL;
	return err;
}

CUptiResult cupti__enable(const struct cupti *c, CUpti_ActivityKind kind, bool on)
{
	/* With a NULL configuration, records have all their fields. */
	if (c->among)
		return (on ? c->activity_enable_v2 : c->activity_disable_v2)(c->among, kind, NULL);
	return (on ? c->activity_enable : c->activity_disable)(kind);
}

CUptiResult cupti__next_record(const struct cupti *c, uint8_t *buffer, size_t bytes,
			       CUpti_Activity **record)
{
	if (c->among)
		return c->activity_get_next_record_v2(c->among, buffer, bytes, record);
	return c->activity_get_next_record(buffer, bytes, record);
}

CUptiResult cupti__num_dropped(const struct cupti *c, CUcontext context, uint32_t stream,
			       size_t *nr)
{
	if (!c->among)
		return c->activity_get_num_dropped(context, stream, nr);
	if (!c->activity_get_num_dropped_v2)
		return CUPTI_ERROR_NOT_SUPPORTED;
	return c->activity_get_num_dropped_v2(c->among, context, stream, nr);
}

CUptiResult cupti__set_attribute(const struct cupti *c, CUpti_ActivityAttribute attribute,
				 size_t *size, void *value)
{
	if (c->among)
		return c->activity_set_attribute_v2(c->among, attribute, size, value);
	return c->activity_set_attribute(attribute, size, value);
}

void *cupti__loaded_symbol(const char *name)
{
	void *handle, *symbol = NULL;
	char path[32];
	size_t i;

	for (i = 0; i < sizeof(majors) / sizeof(majors[0]) && !symbol; i++) {
		snprintf(path, sizeof(path), "libcupti.so.%d", majors[i]);
		handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
		if (!handle)
			continue;
		symbol = dlsym(handle, name);
		dlclose(handle);
	}
	return symbol;
}

/*
 * Finds each function once, and keeps its library loaded, because the dynamic loader's functions
 * take locks: the program may call CUPTI where it must not wait for a lock, such as in a callback.
 */
void *cupti__real(struct cupti_real *real)
{
	void *fn = atomic_load_explicit(&real->fn, memory_order_acquire);
	Dl_info where;

	if (fn)
		return fn;
	fn = dlsym(RTLD_NEXT, real->name);
	if (!fn)
		fn = cupti__loaded_symbol(real->name);
	if (fn && dladdr(fn, &where) &&
	    dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE))
		atomic_store(&real->fn, fn);
	return fn;
}

void cupti__find_real(void)
{
	/* The linker's names for the section's bounds. */
	extern struct cupti_real __start_cupti_real[] __attribute__((visibility("hidden")));
	extern struct cupti_real __stop_cupti_real[] __attribute__((visibility("hidden")));
	struct cupti_real *real;

	for (real = __start_cupti_real; (uintptr_t)real < (uintptr_t)__stop_cupti_real; real++)
		cupti__real(real);
}

const char *cupti__strerror(const struct cupti *c, CUptiResult err)
{
	const char *s = NULL;

	if (c->get_result_string(err, &s) != CUPTI_SUCCESS || !s)
		s = "unknown CUPTI error";
	return s;
}
