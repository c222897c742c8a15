// SPDX-License-Identifier: MIT
/*
 * Tests whether cuptiActivityGetNextRecord() reads buffers that did not come from CUPTI. It should
 * step over a record by its kind alone, whatever its contents and position, and refuse a truncated
 * record. Needs CUPTI, but neither a driver nor a GPU. Prints the number of kinds that have
 * records, and the number of kinds for which the function does not behave like this.
 */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES	4096

/* Return: the bytes between the record at @at and the next record; 0 if @at has no record. */
static size_t step(uint8_t *at)
{
	CUpti_Activity *record = NULL;

	if (cuptiActivityGetNextRecord(at, BYTES, &record) || (uint8_t *)record != at ||
	    cuptiActivityGetNextRecord(at, BYTES, &record))
		return 0;
	return (uint8_t *)record - at;
}

/* Fills @at with copies of @kind, so that the next record has this kind, wherever it begins. */
static void fill(uint8_t *at, uint32_t kind)
{
	size_t i;

	for (i = 0; i < BYTES; i += sizeof(kind))
		memcpy(at + i, &kind, sizeof(kind));
}

/*
 * Return: whether the step over a record of @kind is @bytes, whatever the record contains, and a
 * truncated record is refused.
 */
static int is_plain(uint8_t *at, uint32_t kind, size_t bytes)
{
	CUpti_Activity *record = NULL;
	unsigned char byte;

	for (byte = 0; byte < 255; byte += 51) {
		fill(at, kind);
		memset(at + sizeof(kind), byte, bytes - sizeof(kind));
		if (step(at) != bytes)
			return 0;
	}
	if (cuptiActivityGetNextRecord(at, bytes, &record) ||
	    cuptiActivityGetNextRecord(at, bytes, &record) != CUPTI_ERROR_MAX_LIMIT_REACHED)
		return 0;
	record = NULL;
	return cuptiActivityGetNextRecord(at, bytes - 1, &record) == CUPTI_ERROR_MAX_LIMIT_REACHED;
}

int main(void)
{
	uint8_t *here = aligned_alloc(64, BYTES), *there = aligned_alloc(64, 64 + BYTES);
	uint32_t kind, version = 0;
	int nr = 0, nr_other = 0;
	size_t bytes;

	if (!here || !there)
		return 1;
	cuptiGetVersion(&version);
	for (kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++) {
		fill(here, kind);
		bytes = step(here);
		if (!bytes)
			continue;
		nr++;
		nr_other += !is_plain(here, kind, bytes) || !is_plain(there + 8, kind, bytes);
	}
	printf("CUPTI %u: %d kinds, %d other\n", version, nr, nr_other);
	free(here);
	free(there);
	return !nr || nr_other;
}
