// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include "memory/results.h"
#include "write/section.h"

static const struct section *const sections[] = {
	&section_memory_devices,
	&section_memory_moments,
	&section_memory_holders,
	&section_memory_leaks,
	&section_memory_churn,
	&section_memory_failures,
	NULL
};

const struct feature memory_feature = {
	.name = "memory",
	.summary = memory__summary,
	.sections = sections,
	.page_head = memory__page_head,
};
