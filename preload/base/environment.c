// SPDX-License-Identifier: MIT
#include "base/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/launcher_labels.h"
#include "xpu_slot.h"

static const char *const names[] = {
	XPU_SHIM_VARIABLES, "XPUSHIM_CUPTI", "CUDA_HOME", "CUDA_PATH",
};

#define NR_OPTIONS (sizeof(names) / sizeof(names[0]))

static const char *values[NR_OPTIONS];
static bool are_read;
static struct launcher_labels labels;

void environment__read(void)
{
	const char *value;
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		value = getenv(names[i]);
		values[i] = value ? strdup(value) : NULL;
	}
	launcher_labels__read(&labels, getenv);
	are_read = true;
}

const struct launcher_labels *environment__labels(void)
{
	return &labels;
}

const char *environment__get(const char *name)
{
	size_t i;

	if (!are_read)
		return getenv(name);
	for (i = 0; i < NR_OPTIONS; i++)
		if (!strcmp(names[i], name))
			return values[i];
	return NULL;
}
