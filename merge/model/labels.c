// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/labels.h"

#include <string.h>

const char *label__name(uint32_t label)
{
	static const char *const names[] = {
		[XPU_LABEL_RANK] = "rank", [XPU_LABEL_LOCAL_RANK] = "local_rank",
		[XPU_LABEL_WORLD_SIZE] = "world_size", [XPU_LABEL_LOCAL_SIZE] = "local_size",
		[XPU_LABEL_NODE_RANK] = "node_rank", [XPU_LABEL_JOB] = "job",
		[XPU_LABEL_STEP] = "step", [XPU_LABEL_RUN] = "run", [XPU_LABEL_NODE] = "node",
		[XPU_LABEL_POD] = "pod", [XPU_LABEL_NAMESPACE] = "namespace",
		[XPU_LABEL_POD_UID] = "pod_uid", [XPU_LABEL_CONTAINER] = "container",
	};

	return label < ARRAY_SIZE(names) && names[label] ? names[label] : "label";
}

bool labels__any(const struct labels *l)
{
	static const struct labels none;

	return memcmp(l->numbers, none.numbers, sizeof(none.numbers)) ||
	       memcmp(l->texts, none.texts, sizeof(none.texts));
}
