/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * skeleton.h - a valid record of any type, made from the table of records alone
 *
 * Tests and seeds of fuzzers have each type as soon as it is in record/records.def.
 */
#ifndef TEST_LIB_SKELETON_H
#define TEST_LIB_SKELETON_H

#include "gen.h"
#include "record.h"

#define SKELETON_ROWS	3		/* elements of a tail that has a number of them */

/* Appends a record with fields in the ranges of their kinds. @number: ids and times depend on it */
void skeleton__record(struct gen *g, uint16_t type, uint32_t number);

/* Appends a record of each type that a file can have; the types of batches are in a batch. */
void skeleton__records(struct gen *g, uint32_t number);

#endif /* TEST_LIB_SKELETON_H */
