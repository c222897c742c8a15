// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Names in a recording: names that were kept are found again, exactly; damaged and hostile records
 * are refused and counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/name_keeper.h"
#include "symbols/recorded_names.h"
#include "tap.h"
#include "varint.h"

#define NR_PLACES	20000
#define NR_STACKS	2000

static ARRAY(struct xpu_record *) records;
static struct strpool strings;
static int fail_after = -1;

static int keep_record(void *ctx, const struct xpu_record *rec)
{
	struct xpu_record *copy;

	(void)ctx;
	if (!rec)
		return 0;
	if (!fail_after)
		return -ENOSPC;
	fail_after--;
	copy = malloc(rec->size);
	if (!copy || array_push(&records, copy))
		bail("out of memory");
	memcpy(copy, rec, rec->size);
	return 0;
}

static void drop_records(void)
{
	while (records.nr)
		free(records.v[--records.nr]);
	array_free(&records);
}

static int add(struct recorded_names *n, const struct xpu_record *rec)
{
	return rec->type == XPU_RECORD_NAMES ?
	       recorded_names__add(n, (const void *)rec) :
	       recorded_names__add_stacks(n, (const void *)rec);
}

static void read_all(struct recorded_names *n)
{
	size_t i;

	memset(n, 0, sizeof(*n));
	for (i = 0; i < records.nr; i++)
		if (add(n, records.v[i]))
			bail("out of memory");
	recorded_names__finish(n);
}

static struct dso *new_dso(const char *path, uint8_t build_id_len)
{
	size_t bytes = sizeof(struct dso) + sizeof(struct dso_key) + strlen(path);
	struct dso *dso = calloc(1, bytes);
	struct dso_key *key = dso ? (void *)(dso + 1) : NULL;

	if (!dso)
		bail("out of memory");
	key->path_bytes = strlen(path);
	memcpy(key->path, path, key->path_bytes);
	key->build_id_len = build_id_len;
	memset(key->build_id, 7, build_id_len);
	key->ino = build_id_len ? 0 : 42;
	dso->key = key;
	dso->path = path;
	return dso;
}

/* Return: the place number @i of a file in which every third function has no name. */
static struct recorded_place place_of(size_t i)
{
	struct recorded_place p = { .offset = i * 37, .vaddr = i * 37 + (i > 500 ? 0x1000 : 0) };

	if (i % 3)
		p.name = strpool__internf(&strings, "ns::function_%zu(int)", i / 7);
	else
		p.function = p.vaddr - i % 11;
	return p;
}

/* Return: whether the source lines of place number @i are not looked up yet. */
static bool is_pending(size_t i)
{
	return i % 5 == 0;
}

static void check_places(void)
{
	struct dso *files[] = { new_dso("/a/lib.so", 20), new_dso("/a/lib.so", 0),
				new_dso("/b/lib.so", 0) };
	struct name_keeper k = { .write = keep_record };
	const struct recorded_place *found;
	struct recorded_names n;
	struct recorded_place p;
	struct dso_key key;
	size_t i, nr_wrong = 0, nr_lines_wrong = 0;

	/* Adds each place twice, in an order that differs from the order of addresses. */
	for (i = 0; i < NR_PLACES; i++) {
		p = place_of(i * 7919 % NR_PLACES);
		if (name_keeper__add(&k, files[0], &p, is_pending(i * 7919 % NR_PLACES)) ||
		    name_keeper__add(&k, files[0], &p, false))
			bail("out of memory");
	}
	p = place_of(1);
	p.name = "other";
	if (name_keeper__add(&k, files[1], &p, false) ||
	    name_keeper__add_generated(&k, 77, 1234, 0x7f00, "jit_one"))
		bail("out of memory");
	is_int(name_keeper__flush(&k), 0, "the records are written");
	is_int(k.nr_places, NR_PLACES + 2, "each place is written once");
	ok(records.nr > 2, "the places are in several records");
	read_all(&n);
	for (i = 0; i < NR_PLACES; i++) {
		p = place_of(i);
		found = recorded_names__find(&n, files[0]->key, p.offset);
		nr_wrong += !found || found->vaddr != p.vaddr || !found->name != !p.name ||
			    (p.name ? strcmp(found->name, p.name) : found->function != p.function);
		nr_lines_wrong += found && found->has_lines == is_pending(i);
	}
	is_int(nr_wrong, 0, "all places that are read have their names");
	is_int(nr_lines_wrong, 0, "exactly the places whose lines were looked up have lines");
	is_int(n.nr_bad, 0, "no record is malformed");
	ok(!recorded_names__find(&n, files[0]->key, 36), "no place has another place's name");
	found = recorded_names__find(&n, files[1]->key, place_of(1).offset);
	is_str(found ? found->name : NULL, "other", "another file at that path has its own names");
	ok(!recorded_names__find(&n, files[2]->key, place_of(1).offset),
	   "another path has no names");
	key = dso_key__generated(77, 1234);
	found = recorded_names__find(&n, &key, 0x7f00);
	is_str(found ? found->name : NULL, "jit_one", "generated code has its names");
	key = dso_key__generated(77, 1235);
	ok(!recorded_names__find(&n, &key, 0x7f00),
	   "generated code has no names in another process");
	recorded_names__exit(&n);
	name_keeper__exit(&k);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		free(files[i]);
}

/* Cuts each record at each byte, and flips bits: the reader never reads outside of the record. */
static void check_hostile(void)
{
	struct xpu_record_names *names = NULL;
	struct xpu_record_unwound *unwound = NULL;
	struct recorded_names n = { 0 };
	struct xpu_record *copy;
	unsigned int seed = 1;
	size_t i, k, nr_wrong = 0;

	for (i = 0; i < records.nr; i++) {
		if (records.v[i]->type == XPU_RECORD_NAMES && records.v[i]->size > 4096)
			names = (void *)records.v[i];
		if (records.v[i]->type == XPU_RECORD_UNWOUND && !unwound)
			unwound = (void *)records.v[i];
	}
	if (!names || !unwound)
		bail("records are missing");
	for (i = 0; i < 3000; i++) {
		size_t size = sizeof(*names) + names->path_bytes + i;

		copy = malloc(size);
		if (!copy)
			bail("out of memory");
		memcpy(copy, names, size);
		copy->size = size;
		((struct xpu_record_names *)copy)->bytes = i;
		if (add(&n, copy))
			bail("out of memory");
		recorded_names__exit(&n);
		n.files = NULL;
		free(copy);
	}
	is_int(n.nr_bad, 3000, "each truncated NAMES record is counted");
	n = (struct recorded_names){ 0 };
	for (i = 0; i < 3000 && i < unwound->bytes; i++) {
		copy = malloc(sizeof(*unwound) + i);
		if (!copy)
			bail("out of memory");
		memcpy(copy, unwound, sizeof(*unwound) + i);
		copy->size = sizeof(*unwound) + i;
		((struct xpu_record_unwound *)copy)->bytes = i;
		if (add(&n, copy))
			bail("out of memory");
		free(copy);
	}
	is_int(n.nr_bad, i, "each truncated UNWOUND record is counted");
	recorded_names__exit(&n);
	for (k = 0; k < 200; k++) {
		copy = malloc(unwound->hdr.size);
		if (!copy)
			bail("out of memory");
		memcpy(copy, unwound, unwound->hdr.size);
		for (i = 0; i < 20; i++) {
			seed = seed * 1103515245 + 12345;
			((uint8_t *)(copy + 1))[8 + seed / 8 % (unwound->hdr.size - 16)] ^=
				1u << seed % 8;
		}
		n = (struct recorded_names){ 0 };
		if (add(&n, copy))
			bail("out of memory");
		recorded_names__finish(&n);
		nr_wrong += n.words.nr > RECORDED_WORDS_MAX;
		recorded_names__exit(&n);
		free(copy);
	}
	is_int(nr_wrong, 0, "flipped bits cause no crash");
}

static void check_stacks(void)
{
	struct name_keeper k = { .write = keep_record };
	const struct recorded_stack *found;
	struct xpu_record_stack rec = { 0 };
	uint64_t frames[64];
	struct recorded_names n;
	size_t i, j, nr_wrong = 0;
	uint16_t nr;

	for (i = 0; i < NR_STACKS; i++) {
		rec.thread_id = i % 3 + 1;
		rec.time_ns = 1000000 * (i ^ 5);
		nr = i % 40 + 1;
		for (j = 0; j < nr; j++)
			frames[j] = 0x7f0000000000 + (nr - j) * 4096 + (nr - j > 20 ? i % 17 : 0);
		frames[0] |= i % 2 ? XPU_FRAME_PYTHON : 0;
		if (name_keeper__add_stack(&k, &rec, frames, nr,
					   i % 9 ? XPU_CHAIN_CPU : XPU_CHAIN_TRUNCATED))
			bail("out of memory");
	}
	is_int(name_keeper__flush(&k), 0, "stacks are written");
	name_keeper__exit(&k);
	read_all(&n);
	is_int(n.stacks.nr, NR_STACKS, "all stacks are read");
	for (i = 0; i < NR_STACKS; i++) {
		rec.thread_id = i % 3 + 1;
		rec.time_ns = 1000000 * (i ^ 5);
		nr = i % 40 + 1;
		found = recorded_names__stack(&n, &rec);
		if (!found || found->nr != nr ||
		    found->flags != (i % 9 ? XPU_CHAIN_CPU : XPU_CHAIN_TRUNCATED)) {
			nr_wrong++;
			continue;
		}
		for (j = 0; j < nr; j++) {
			uint64_t frame = 0x7f0000000000 + (nr - j) * 4096 +
					 (nr - j > 20 ? i % 17 : 0);

			if (!j && i % 2)
				frame |= XPU_FRAME_PYTHON;
			nr_wrong += n.words.v[found->first + j] != frame;
		}
	}
	is_int(nr_wrong, 0, "all stacks that are read have their frames");
	rec.time_ns++;
	ok(!recorded_names__stack(&n, &rec), "a sample at another time has no stack");
	recorded_names__exit(&n);
}

/* Chains that share nearly all frames must not expand a small record into a huge one. */
static void check_swelling(void)
{
	enum { NR = 20000, NR_WORDS = 4096, BYTES = NR_WORDS + NR * 16 };
	struct xpu_record_unwound *rec = calloc(1, sizeof(*rec) + BYTES);
	struct recorded_names n = { 0 };
	uint8_t *at;
	size_t i;

	if (!rec)
		bail("out of memory");
	at = rec->data;
	for (i = 1; i <= NR; i++) {
		at = varint__put_signed(at, i == 1);
		at = varint__put_signed(at, 1);
		at = varint__put(at, 0);
		at = varint__put(at, i);
		at = varint__put(at, i == 1 ? 0 : NR_WORDS);
		at = varint__put(at, i == 1 ? NR_WORDS : 0);
		if (i > 1)
			continue;
		memset(at, 2, NR_WORDS);
		at += NR_WORDS;
	}
	rec->hdr = (struct xpu_record){ XPU_RECORD_UNWOUND, 0, sizeof(*rec) + BYTES };
	rec->nr = NR;
	rec->bytes = at - rec->data;
	is_int(recorded_names__add_stacks(&n, rec), 0, "a small record of huge stacks is accepted");
	is_int(n.words.nr, RECORDED_WORDS_MAX,
	       "a small record of huge stacks is read up to the limit");
	is_int(n.nr_beyond, 1, "a small record of huge stacks is counted");
	is_int(n.nr_bad, 0, "a small record of huge stacks is not malformed");
	recorded_names__exit(&n);
	free(rec);
}

static void check_limits(void)
{
	struct name_keeper k = { .write = keep_record, .bytes = RECORDED_NAMES_MAX - 64 };
	struct dso *dso = new_dso("/a", 0);
	struct recorded_place p = place_of(1);
	struct recorded_names n = { .bytes = RECORDED_NAMES_MAX - 8 };

	if (name_keeper__add(&k, dso, &p, false))
		bail("out of memory");
	is_int(name_keeper__flush(&k), 0, "writing beyond the limit does not fail");
	is_int(k.nr_cut, 1, "a place beyond the limit is counted");
	is_int(add(&n, records.v[0]), 0, "a record beyond the limit is skipped");
	is_int(n.nr_beyond, 1, "a record beyond the limit is counted");
	recorded_names__exit(&n);
	name_keeper__exit(&k);
	k = (struct name_keeper){ .write = keep_record };
	fail_after = 0;
	if (name_keeper__add(&k, dso, &p, false))
		bail("out of memory");
	is_int(name_keeper__flush(&k), -ENOSPC, "an error of the writer is returned");
	ok(name_keeper__is_over(&k), "an error of the writer ends the look-up");
	name_keeper__exit(&k);
	free(dso);
}

int main(void)
{
	check_places();
	check_stacks();
	check_hostile();
	check_swelling();
	check_limits();
	drop_records();
	strpool__free(&strings);
	return done_testing();
}
