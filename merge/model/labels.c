// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/labels.h"

#include <errno.h>
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

int labels__take(struct labels *l, struct strpool *strings, const struct xpu_record_label *rec,
		 bool by_recorder)
{
	uint32_t text = rec->label - LABELS_FIRST_TEXT;
	const char **to;

	if (rec->label && rec->label <= LABELS_NR_NUMBERS) {
		if (rec->number <= LABELS_MAX_NUMBER && !l->numbers[rec->label - 1])
			l->numbers[rec->label - 1] = rec->number + 1;
	} else if (XPU_LABEL_IS_TEXT(rec->label) && text < LABELS_NR_TEXTS && rec->bytes > 1) {
		to = &l->texts[text];
		if (!*to || by_recorder)
			*to = strpool__intern(strings, rec->data, strlen(rec->data));
		if (!*to)
			return -ENOMEM;
	} else {
		return 0;
	}
	*(by_recorder ? &l->by_recorder : &l->by_shim) = true;
	return 0;
}

static void inherit_text(struct labels *l, const struct labels *parent, enum xpu_label label)
{
	uint32_t i = label - LABELS_FIRST_TEXT;

	if (!l->texts[i])
		l->texts[i] = parent->texts[i];
}

void labels__inherit(struct labels *l, const struct labels *parent)
{
	size_t i;

	if (!l->by_shim) {
		for (i = 0; i < LABELS_NR_NUMBERS; i++)
			if (!l->numbers[i])
				l->numbers[i] = parent->numbers[i];
		inherit_text(l, parent, XPU_LABEL_RUN);
		inherit_text(l, parent, XPU_LABEL_NODE);
		inherit_text(l, parent, XPU_LABEL_POD);
		inherit_text(l, parent, XPU_LABEL_NAMESPACE);
	}
	if (!l->by_recorder) {
		inherit_text(l, parent, XPU_LABEL_POD_UID);
		inherit_text(l, parent, XPU_LABEL_CONTAINER);
	}
	/* Both Slurm's environment and its cgroup name the job and the step. */
	if (!l->by_shim || !l->by_recorder) {
		inherit_text(l, parent, XPU_LABEL_JOB);
		inherit_text(l, parent, XPU_LABEL_STEP);
	}
}

bool labels__any(const struct labels *l)
{
	static const struct labels none;

	return memcmp(l->numbers, none.numbers, sizeof(none.numbers)) ||
	       memcmp(l->texts, none.texts, sizeof(none.texts));
}
