/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pysource.h - names and lines of the Python code objects in samples */
#ifndef MERGE_PYSOURCE_H
#define MERGE_PYSOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "util.h"

/*
 * In XPU_FRAME_CODE(), this bit marks the ids of code objects of samples. The ids of the shim's
 * code objects do not have this bit.
 */
#define PYSOURCE_ID	(1u << 31)

struct pysource {
	const struct xpu_record_pysource *rec;
	const char *name, *filename;	/* interned, UTF-8 */
};

struct pysources {
	struct strpool *strings;	/* owned by the caller */
	struct idmap ids;
	ARRAY(struct pysource) list;
};

void pysources__init(struct pysources *p, struct strpool *strings);
void pysources__exit(struct pysources *p);

/* Takes a record, which must stay valid. Return: 0 or -ENOMEM. */
int pysources__add(struct pysources *p, const struct xpu_record_pysource *rec);

/* Return: the code object with that id, with or without PYSOURCE_ID; or NULL. */
const struct pysource *pysources__find(const struct pysources *p, uint32_t id);

/*
 * Return: the frame for @word, an XPU_WORD_PYTHON: an XPU_FRAME_PYTHON with the line number, and
 * with PYSOURCE_ID in the id.
 */
uint64_t pysources__frame(const struct pysources *p, uint64_t word);

#endif /* MERGE_PYSOURCE_H */
