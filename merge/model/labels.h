/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * labels.h - the place of a process in a job of many processes: its rank, its node, its container
 *
 * The shim reports labels from the process's environment, where launchers put them; the recorder
 * reports labels from the process's cgroup. A process that lacks all labels from one of these
 * sources inherits the labels of that source from its parent, because ranks fork their data
 * loaders.
 */
#ifndef MERGE_LABELS_H
#define MERGE_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define LABELS_FIRST_TEXT	XPU_LABEL_JOB
#define LABELS_NR_NUMBERS	XPU_LABEL_NODE_RANK
#define LABELS_NR_TEXTS		(XPU_LABEL_CONTAINER - XPU_LABEL_JOB + 1)
#define LABELS_MAX_NUMBER	INT32_MAX

struct labels {				/* all 0: none */
	uint32_t numbers[LABELS_NR_NUMBERS];	/* index: label - 1; value: the number plus 1, or 0
						 * if unknown */
	const char *texts[LABELS_NR_TEXTS];	/* index: label - LABELS_FIRST_TEXT; value: the
						 * text, or NULL */
};

/* Return: the name of an enum xpu_label, such as "local_rank"; "label" for an unknown one. */
const char *label__name(uint32_t label);

/* Return: a number; NO_INDEX if unknown. */
static inline uint32_t labels__number(const struct labels *l, enum xpu_label label)
{
	return l->numbers[label - 1] ? l->numbers[label - 1] - 1 : NO_INDEX;
}

/* Return: an interned text, or NULL. */
static inline const char *labels__text(const struct labels *l, enum xpu_label label)
{
	return l->texts[label - LABELS_FIRST_TEXT];
}

/* Return: whether any label is known. */
bool labels__any(const struct labels *l);

#endif /* MERGE_LABELS_H */
