// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/profile_kind.h"

const char *profile_kind__name(enum profile_kind kind)
{
	static const char *const names[NR_PROFILE_KINDS] = {
		[PROFILE_GPU] = "gpu_kernel_time", [PROFILE_COPY] = "gpu_copy_time",
		[PROFILE_CPU] = "cpu", [PROFILE_WAIT] = "wait",
	};

	return names[kind];
}

enum profile_kind profile_kind__of(enum leaf_kind leaf)
{
	switch (leaf) {
	case LEAF_KERNEL:
		return PROFILE_GPU;
	case LEAF_MEMCPY:
	case LEAF_MEMSET:
		return PROFILE_COPY;
	case LEAF_CPU:
		return PROFILE_CPU;
	case LEAF_OFF_CPU:
	case LEAF_GPU_WAIT:
		return PROFILE_WAIT;
	case LEAF_PENDING:
	case LEAF_MEMORY:
	case NR_LEAF_KINDS:
		break;
	}
	return NR_PROFILE_KINDS;
}

unsigned int profile_kinds__of(const struct session *s)
{
	const struct aggregate *a = s->sums.aggregates.v;
	unsigned int kinds = 0;

	for (; a < s->sums.aggregates.v + s->sums.aggregates.nr; a++)
		kinds |= 1u << profile_kind__of(s->model.leaves.v[a->leaf].kind);
	return kinds & ((1u << NR_PROFILE_KINDS) - 1);
}
