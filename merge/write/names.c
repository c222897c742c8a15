// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/names.h"

#include <errno.h>
#include <stdlib.h>

#include "block.h"
#include "symbols/name_keeper.h"

#define LEVEL		6		/* compression level: names are small, and written once */
#define BLOCK_BYTES	(1u << 20)	/* a block ends after this many bytes */

struct names_out {
	FILE *f;
	struct block_packer *packer;	/* NULL: the recording has no blocks */
	bool (*is_over)(void *ctx);
	ARRAY(uint64_t) records;	/* records of the next block, as aligned words */
	uint64_t bytes;
	int err;
};

static bool names_out__is_over(void *ctx)
{
	const struct names_out *out = ctx;

	return out->is_over && out->is_over(NULL);
}

static int names_out__put(struct names_out *out, const void *data, size_t bytes)
{
	out->bytes += bytes;
	return fwrite(data, 1, bytes, out->f) == bytes ? 0 : -EIO;
}

/* Writes the collected records. Return: 0, -ENOMEM or -EIO. */
static int names_out__flush(struct names_out *out)
{
	size_t bytes = out->records.nr * sizeof(out->records.v[0]);
	const struct xpu_record_block *block;

	if (!bytes)
		return 0;
	out->records.nr = 0;
	if (!out->packer)
		return names_out__put(out, out->records.v, bytes);
	block = block_packer__pack(out->packer, out->records.v, bytes);
	return block ? names_out__put(out, block, block->hdr.size) : -ENOMEM;
}

static int names_out__write(void *ctx, const struct xpu_record *rec)
{
	struct names_out *out = ctx;
	size_t nr = rec ? rec->size / sizeof(out->records.v[0]) : 0;
	int err = 0;

	if (!rec)
		return names_out__flush(out) ?: fflush(out->f) ? -EIO : 0;
	if ((out->records.nr + nr) * sizeof(out->records.v[0]) > BLOCK_BYTES)
		err = names_out__flush(out);
	err = err ?: array_reserve(&out->records, out->records.nr + nr);
	if (err)
		return err;
	memcpy(out->records.v + out->records.nr, rec, rec->size);
	out->records.nr += nr;
	return 0;
}

/* Looks up the names and writes them. Return: 0, -ENOMEM or -EIO. */
static int look_up(const struct reader *r, const struct session_opts *opts, struct names_out *out,
		   struct names_result *result, struct msgs *msgs)
{
	struct name_keeper k = {
		.write = names_out__write, .is_over = names_out__is_over, .ctx = out,
	};
	struct session s;
	int err = session__init(&s, opts);

	if (err)
		return err;
	err = session__look_up(&s, r, &k);
	msgs__move(msgs, &s.msgs);
	*result = (struct names_result){
		.nr_places = k.nr_places - k.nr_cut, .nr_cut = k.nr_cut,
		.nr_left = k.nr_left, .bytes = out->bytes,
	};
	name_keeper__exit(&k);
	session__exit(&s);
	return err;
}

int names__write(const struct reader *r, const struct session_opts *opts, bool whole,
		 bool (*is_over)(void *ctx), FILE *f, struct names_result *result,
		 struct msgs *msgs)
{
	struct names_out out = { .f = f, .is_over = is_over };
	uint64_t nr_blocks, nr_launches;
	uint64_t end = reader__whole(r, &nr_blocks, &nr_launches);
	int err = 0;

	if (r->blocks) {
		out.packer = block_packer__new(LEVEL);
		if (!out.packer)
			return -ENOMEM;
		block_packer__resume(out.packer, nr_blocks, nr_launches);
	}
	if (whole)
		err = names_out__put(&out, r->base, end);
	out.bytes = 0;
	err = err ?: look_up(r, opts, &out, result, msgs);
	/* Copy a truncated or damaged end after the names, so that readers still report it. */
	if (!err && whole)
		err = names_out__put(&out, r->base + end, r->size - end);
	block_packer__free(out.packer);
	array_free(&out.records);
	return err == -EIO ? 0 : err;
}
