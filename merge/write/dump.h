/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dump.h - each record of a recording as one line of text, to debug recordings and their writers
 *
 *	0x40 [0x118] BLOCK number=0 ...			the block at byte 0x40, 0x118 bytes long
 *	0x40+0x20 [0x30] PROCESS misc=ROOT ...		a record 0x20 bytes into that block's records
 *	0x40+0x70 [0x18]   STRING id=1 "kernel"		two spaces more: a record inside a BATCH
 *
 * Members are named as in xpu_record.h, and so are constants, without their common prefix. What the
 * reader skips has a line too; damage has one where the reader meets it.
 */
#ifndef MERGE_DUMP_H
#define MERGE_DUMP_H

#include <stdint.h>
#include <stdio.h>

#include "read/reader.h"
#include "util.h"

struct dump_result {
	struct msgs msgs;		/* the reader's view: what is cut, damaged or unknown */
	bool damaged;
	bool cut;			/* or the record END is missing */
};

/* Return: 0 or -ENOMEM; errors of @f stay in its error flag. dump_result__free() is due then, too. */
int dump__write(const struct reader *r, FILE *f, struct dump_result *result);
void dump_result__free(struct dump_result *result);

#endif /* MERGE_DUMP_H */
