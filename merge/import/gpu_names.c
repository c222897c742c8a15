// SPDX-License-Identifier: GPL-3.0-or-later
/* gpu_names.c - the names of GPU API functions */
#include <ctype.h>
#include <string.h>

#include "import/gputrace.h"

bool cuda_api__parse(const char *s, size_t len, const char **name, size_t *name_len)
{
	const char *rest;
	size_t n, left;

	if (!drop_prefix(&s, &len, "Runtime: ") && !drop_prefix(&s, &len, "Driver: "))
		drop_prefix(&s, &len, "cudaError ");
	rest = s;
	left = len;
	drop_prefix(&rest, &left, "__");
	if (!drop_prefix(&rest, &left, "cuda") && !drop_prefix(&rest, &left, "cu"))
		return false;
	if (!left || *rest < 'A' || *rest > 'Z')
		return false;
	for (n = 0; n < len && (isalnum((unsigned char)s[n]) || s[n] == '_'); n++)
		;
	if (n < len && !strchr("<(@+ ", s[n]))
		return false;
	/*
	 * In CUPTI and in libraries, function names end with versions: cudaLaunchKernel_ptsz_v7000.
	 */
	for (left = n; left && isdigit((unsigned char)s[left - 1]); left--)
		;
	if (left < n && left > 2 && s[left - 1] == 'v' && s[left - 2] == '_')
		n = left - 2;
	if (ends_with(s, n, "_ptsz") || ends_with(s, n, "_ptds"))
		n -= 5;
	*name = s;
	*name_len = n;
	return true;
}

/* Return: whether the function's name contains one of @parts, a list that ends with NULL. */
static bool name__has(const char *name, size_t len, const char *const *parts)
{
	for (; *parts; parts++)
		if (memmem(name, len, *parts, strlen(*parts)))
			return true;
	return false;
}

enum call_kind cuda_api__kind(const char *name, size_t len)
{
	static const char *const graphs[] = {
		"GraphLaunch", "ExecuteCommandLists", "ImmediateAppendCommandLists", "AppendGraph",
		"EnqueueCommandBuffer", NULL,
	}, *const kernels[] = {
		"Kernel", "cuLaunch", NULL,
	}, *const copies[] = {
		"Memcpy", "AppendMemoryCopy", "AppendImageCopy", "clEnqueueRead", "clEnqueueWrite",
		"clEnqueueCopy", "clEnqueueMap", "clEnqueueUnmap", "EnqueueMemBufferRead",
		"EnqueueMemBufferWrite", "EnqueueMemBufferCopy", "EnqueueMemImage", NULL,
	}, *const fills[] = {
		"Memset", "AppendMemoryFill", "clEnqueueFill", "clEnqueueSVMMemFill",
		"clEnqueueMemFill", "EnqueueUSMFill", "EnqueueMemBufferFill", NULL,
	};

	if (name__has(name, len, graphs))
		return CALL_GRAPH;
	if (memmem(name, len, "Launch", 6) && name__has(name, len, kernels))
		return CALL_KERNEL;
	if (memmem(name, len, "clEnqueueNDRangeKernel", 22) ||
	    memmem(name, len, "clEnqueueTask", 13))
		return CALL_KERNEL;
	if (name__has(name, len, copies))
		return CALL_MEMCPY;
	return name__has(name, len, fills) ? CALL_MEMSET : CALL_OTHER;
}

enum xpu_api gpu_api__of(const char *name, size_t len)
{
	static const struct {
		const char *prefix;
		enum xpu_api api;
	} prefixes[] = {
		{ "cl", XPU_API_OPENCL }, { "hip", XPU_API_HIP }, { "ze", XPU_API_LEVEL_ZERO },
		{ "zes", XPU_API_LEVEL_ZERO }, { "zet", XPU_API_LEVEL_ZERO },
		{ "zex", XPU_API_LEVEL_ZERO }, { "ur", XPU_API_SYCL }, { "pi", XPU_API_SYCL },
		{ "piext", XPU_API_SYCL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i].prefix);

		if (len > n && !memcmp(name, prefixes[i].prefix, n) &&
		    isupper((unsigned char)name[n]))
			return prefixes[i].api;
	}
	return XPU_API_CUDA;
}

bool gpu_api__waits(const char *name)
{
	static const char *const waits[] = {
		"Synchronize", "clFinish", "clWaitForEvents", "urQueueFinish", "urEventWait",
		"piQueueFinish", "piEventsWait", NULL,
	};

	return name__has(name, strlen(name), waits);
}

enum epoch_works call_kind__works(enum call_kind kind, const char *name)
{
	switch (kind) {
	case CALL_KERNEL:
		return strstr(name, "MultiDevice") ? EPOCH_ANY_WORK : EPOCH_ONE_KERNEL;
	case CALL_MEMCPY:
	case CALL_MEMSET:
		return EPOCH_ONE_WORK;
	case CALL_GRAPH:
		return EPOCH_ANY_WORK;
	default:
		return EPOCH_NO_WORK;
	}
}
