// SPDX-License-Identifier: MIT
/*
 * Damaged unwind tables: whatever they contain, the reader stays inside the object and terminates.
 *
 * This test's _dl_find_object() finds a copy of a library's image. The tables use relative
 * addresses, so they are valid in the copy. The test changes bytes of the tables at random.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cfi.h"
#include "launch/objects.h"
#include "tap.h"

#define NR_PCS		2000
#define NR_ROUNDS	400
#define NR_LOOKUPS	500		/* lookups in each round */

struct image {
	uint8_t *copy;			/* of the exact size: the memory behind it is poisoned */
	size_t bytes;
	size_t hdr;			/* offset of .eh_frame_hdr, which .eh_frame follows */
	size_t frames;
	size_t text, text_end;
};

static struct image image;

int _dl_find_object(void *pc, struct dl_find_object *result)
{
	uint8_t *p = pc;

	if (!image.copy) {		/* objects__init() tests this function */
		result->dlfo_eh_frame = pc;
		return 0;
	}
	if (p < image.copy || p >= image.copy + image.bytes)
		return -1;
	memset(result, 0, sizeof(*result));
	result->dlfo_map_start = image.copy;
	result->dlfo_map_end = image.copy + image.bytes;
	result->dlfo_eh_frame = image.copy + image.hdr;
	return 0;
}

static int copy_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Phdr) *p, *end = info->dlpi_phdr + info->dlpi_phnum;

	(void)size;
	(void)data;
	if (!strstr(info->dlpi_name, "libc.so.6"))
		return 0;
	for (p = info->dlpi_phdr; p < end; p++)
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) &&
		    p->p_vaddr + p->p_filesz > image.bytes)
			image.bytes = p->p_vaddr + p->p_filesz;
	image.copy = calloc(1, image.bytes);
	for (p = info->dlpi_phdr; image.copy && p < end; p++) {
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
			memcpy(image.copy + p->p_vaddr, (char *)info->dlpi_addr + p->p_vaddr,
			       p->p_filesz);
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			image.text = p->p_vaddr;
			image.text_end = p->p_vaddr + p->p_filesz;
		}
		if (p->p_type == PT_GNU_EH_FRAME)
			image.hdr = p->p_vaddr;
	}
	/*
	 * The header has 12 bytes and a table; its third word is the number of rows in the table.
	 */
	if (image.copy)
		image.frames = image.hdr + 12 + 8 * *(uint32_t *)(image.copy + image.hdr + 8);
	return 1;
}

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static bool read_nothing(void *ctx, uint64_t addr, uint64_t *value)
{
	(void)ctx;
	*value = addr * 3;
	return addr & 8;
}

/* Evaluates every rule of a row. */
static void use(const struct cfi_row *row)
{
	uint64_t regs[CFI_NR_REGS] = { 1, 2, 3 }, cfa = 4096, value;
	int64_t off;
	size_t i;

	if (row->cfa_expr) {
		cfi__is_breg(row->cfa_expr, CFI_BP, true, &off);
		cfi__eval(row->cfa_expr, regs, NULL, read_nothing, NULL, &value);
	}
	for (i = 0; i < CFI_NR_REGS; i++)
		if (row->regs[i].how == CFI_EXPR || row->regs[i].how == CFI_VAL_EXPR) {
			cfi__is_breg(row->regs[i].v, CFI_BP, false, &off);
			cfi__eval(row->regs[i].v, regs, &cfa, read_nothing, NULL, &value);
		}
}

static uint64_t random_pc(void)
{
	return (uintptr_t)image.copy + image.text + next_random() % (image.text_end - image.text);
}

/* Makes @nr look-ups. Counts rows, addresses without information, and refused addresses. */
static void look_up(int nr, unsigned long *counts)
{
	struct cfi_row row;
	int err;

	counts[0] = counts[1] = counts[2] = 0;
	while (nr--) {
		err = cfi__find(random_pc(), &row);
		counts[!err ? 0 : err == -ENOENT ? 1 : 2]++;
		if (!err)
			use(&row);
	}
}

/* @rarity: one in @rarity bytes is damaged */
static void damage(size_t from, size_t to, unsigned int rarity)
{
	size_t at = from;

	while ((at += 1 + next_random() % (2 * rarity)) < to)
		image.copy[at] = next_random() >> 13;
}

int main(void)
{
	unsigned long counts[3], sum[3] = { 0 };
	uint8_t *good;
	int round, i;

	if (!objects__init())
		return 1;
	if (!dl_iterate_phdr(copy_libc, NULL) || !image.copy || !image.hdr)
		skip_all("no libc.so.6 with unwind tables");
	look_up(NR_PCS, counts);
	note("of %d addresses %lu have information, %lu have none, %lu cannot be read", NR_PCS,
	     counts[0], counts[1], counts[2]);
	ok(counts[0] > NR_PCS * 6 / 10, "the copy's tables can be read like those in the library");
	is_int(counts[2], 0, "all of the copy's tables can be read");

	good = malloc(image.bytes - image.hdr);
	memcpy(good, image.copy + image.hdr, image.bytes - image.hdr);
	for (round = 0; round < NR_ROUNDS; round++) {
		if (round % 4 == 0)
			damage(image.hdr, image.hdr + 12, 3);
		if (round % 4 == 1)
			damage(image.hdr + 12, image.frames, 50);
		else
			damage(image.frames, image.bytes, round % 40 + 10);
		look_up(NR_LOOKUPS, counts);
		for (i = 0; i < 3; i++)
			sum[i] += counts[i];
		memcpy(image.copy + image.hdr, good, image.bytes - image.hdr);
	}
	note("damaged: %lu rows, %lu without information, %lu refused", sum[0], sum[1], sum[2]);
	ok(sum[0] > 1000 && sum[1] > 1000 && sum[2] > 1000,
	   "damaged tables are read or refused, without further harm");
	free(good);
	free(image.copy);
	return done_testing();
}
