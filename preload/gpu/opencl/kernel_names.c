// SPDX-License-Identifier: MIT
#include "gpu/opencl/kernel_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NR_NAMES	16384		/* a power of two */
#define MAX_PROBES	64
#define SHORT_NAME	256		/* longer names need two more calls of the driver */
#define MAX_NAME	4096

struct name {
	uint64_t hash;
	char text[];
};

static struct name *_Atomic names[NR_NAMES];

/* FNV-1a */
static uint64_t hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

static __attribute__((noinline, cold)) struct name *name__new(uint64_t hash, const char *text)
{
	size_t len = strlen(text);
	struct name *n = malloc(sizeof(*n) + len + 1);

	if (n) {
		n->hash = hash;
		memcpy(n->text, text, len + 1);
	}
	return n;
}

static const char *intern(const char *text)
{
	uint64_t hash = hash_of(text);
	struct name *n, *made = NULL;
	size_t i;

	for (i = 0; i < MAX_PROBES; i++) {
		struct name *_Atomic *at = &names[(hash + i) % NR_NAMES];

		n = atomic_load_explicit(at, memory_order_acquire);
		if (!n) {
			if (!made && !(made = name__new(hash, text)))
				break;
			if (atomic_compare_exchange_strong(at, &n, made))
				return made->text;
		}
		if (n->hash == hash && !strcmp(n->text, text)) {
			free(made);
			return n->text;
		}
	}
	free(made);
	return "[names of more kernels]";
}

/* Handles names that are longer than SHORT_NAME. */
static __attribute__((noinline, cold)) const char *long_name(cl_kernel kernel)
{
	const char *name = "[unknown kernel]";
	size_t bytes = 0;
	char *text;

	if (opencl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &bytes) || !bytes ||
	    bytes > MAX_NAME || !(text = calloc(1, bytes + 1)))
		return name;
	if (!opencl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, bytes, text, NULL))
		name = intern(text);
	free(text);
	return name;
}

const char *kernel_names__of(cl_kernel kernel)
{
	char text[SHORT_NAME];

	if (opencl.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(text), text, NULL))
		return long_name(kernel);
	text[sizeof(text) - 1] = '\0';
	return intern(text);
}
