/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dump.h - each record of a recording as one line of text, to debug recordings and their writers
 *
 *	0x40 [0x118] BLOCK number=0 ...			the block at byte 0x40, 0x118 bytes long
 *	0x40+0x20 [0x30] PROCESS misc=ROOT ...		0x20 bytes into the records of the block
 *	0x40+0x70 [0x18]   STRING id=1 "kernel"		two more spaces: it is inside a BATCH
 *
 * Members and constants are named as in xpu_record.h, constants without their common prefix.
 * Records that the reader skips have a line, too; damage has a line where the reader finds it.
 */
#ifndef MERGE_DUMP_H
#define MERGE_DUMP_H

#include <stdint.h>
#include <stdio.h>

#include "read/reader.h"
#include "util.h"

struct dump_result {
	struct msgs msgs;		/* messages of the reader about truncated, damaged or
					 * unknown records */
	bool damaged;
	bool cut;			/* the file is truncated, or has no END record */
};

/*
 * Return: 0 or -ENOMEM; errors of @f stay in its error flag. The caller calls dump_result__free(),
 * even after a failure.
 */
int dump__write(const struct reader *r, FILE *f, struct dump_result *result);
void dump_result__free(struct dump_result *result);

#endif /* MERGE_DUMP_H */
