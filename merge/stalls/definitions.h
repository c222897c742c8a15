/* SPDX-License-Identifier: GPL-3.0-or-later */
/* definitions.h - keeps records of PC samples until all ids of a recording are known */
#ifndef MERGE_STALLS_DEFINITIONS_H
#define MERGE_STALLS_DEFINITIONS_H

#include "join/second_pass.h"
#include "stalls/cubin_lines.h"
#include "stalls/stalls.h"
#include "util.h"
#include "xpu_record.h"

/* The source lines of a module, from the pieces read so far. */
struct cubin_def {
	uint32_t proc;
	uint64_t crc;
	uint32_t total_bytes;
	ARRAY(uint8_t) bytes;
	struct cubin_lines *lines;	/* NULL: the lines are not read yet */
	const char **places;		/* one interned text for each line; NULL: not made yet */
};

/* a record STALLS or STALLS_ACCOUNT */
struct stalls_def {
	uint32_t proc;
	const struct xpu_record *rec;
};

struct stall_defs {
	struct idmap reasons;		/* maps (proc, index) to the string id of the name */
	ARRAY(struct cubin_def) cubins;	/* one entry for each process and CRC */
	ARRAY(struct stalls_def) stalls, accounts;
};

/*
 * Takes the next piece of a module's lines; pieces out of order are left out. Return: 0 or -ENOMEM.
 */
int stall_defs__cubin(struct stall_defs *d, uint32_t proc, const struct xpu_record_cubin *rec);

/* Adds the records to @to. Return: 0 or -ENOMEM. */
int stall_defs__resolve(struct stall_defs *d, struct stalls *to, struct second_pass *p);

/* Frees the records; leaves @d empty. */
void stall_defs__free(struct stall_defs *d);

#endif /* MERGE_STALLS_DEFINITIONS_H */
