/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * skeleton.h - a valid record of any type, made from the table of records alone
 *
 * Tests and fuzzer seeds cover each type as soon as it is in record/records.def.
 */
#ifndef TEST_LIB_SKELETON_H
#define TEST_LIB_SKELETON_H

#include "gen.h"
#include "record.h"

#define SKELETON_ROWS	3		/* elements in a tail, if a field of the record counts
					 * them */

/*
 * Appends a record whose fields are in their kinds' ranges. @number: IDs and timestamps depend on
 * it
 */
void skeleton__record(struct gen *g, uint16_t type, uint32_t number);

/*
 * Appends a record of each type that a file can have. Records that belong in a batch are put into a
 * batch.
 */
void skeleton__records(struct gen *g, uint32_t number);

#endif /* TEST_LIB_SKELETON_H */
