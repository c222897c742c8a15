/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranks_merge.h - runs "xpumerge ranks" in memory, with all its outputs, and checks its results
 *
 * For tests and fuzzers that link libmerge. The checks hold for any input.
 */
#ifndef TEST_LIB_RANKS_MERGE_H
#define TEST_LIB_RANKS_MERGE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_merge.h"
#include "ranks/ranks.h"
#include "ranks/state.h"

/* Return: what is inconsistent in the sums over ranks, or NULL */
static inline const char *ranks__broken(const struct ranks *r)
{
	const struct nccl_counts *c = &nccl__of(&r->s->model)->counts;
	uint64_t wait_ns = 0, caused_ns = 0, start_ns = 0, transfer_ns = 0, listed_ns = 0,
		 over_ns = 0;
	uint64_t nr_ops = 0, nr_paired = 0;
	size_t i;

	for (i = 0; i < r->ranks.nr; i++) {
		wait_ns += r->ranks.v[i].wait_ns;
		transfer_ns += r->ranks.v[i].transfer_ns;
		caused_ns += r->ranks.v[i].caused_ns;
		start_ns += r->ranks.v[i].start_wait_ns;
		nr_ops += r->ranks.v[i].nr_ops;
		nr_paired += r->ranks.v[i].nr_paired;
	}
	for (i = 0; i < r->waits.nr; i++)
		listed_ns += r->waits.v[i].ns;
	for (i = 0; i < r->collectives.nr; i++)
		over_ns += r->collectives.v[i].wait_ns;
	if (wait_ns != c->wait_ns || wait_ns + transfer_ns != c->paired_ns)
		return "the ranks' waits and transfers are not those of the account";
	if (caused_ns + start_ns != wait_ns || caused_ns != r->caused_ns ||
	    start_ns != r->start_wait_ns)
		return "waits are not those for stragglers and of the start";
	if (listed_ns != wait_ns || over_ns != wait_ns)
		return "the lists of waits and of collectives lack some";
	if (c->nr_paired > c->nr_ops || nr_ops > c->nr_ops || nr_paired > nr_ops)
		return "more operations are paired than there are";
	for (i = 0; i < r->late.nr; i++)
		if (r->late.v[i].ns <= r->late.v[i].median_ns)
			return "a late path is not later than the median";
	return NULL;
}

static inline int ranks__write_one(const struct ranks *r, size_t i, FILE *f)
{
	static const enum table_format tables[] = { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

	return i == 3 ? ranks__write_html(r, f, "auto") :
	       ranks__write_text(r, f, &(struct ranks_opts){ .format = tables[i], .human = true });
}

/*
 * Writes all outputs to @out, or only checks them if @out is NULL. Return: what is inconsistent, or
 * NULL.
 */
static inline const char *ranks__write_all(const struct ranks *r, FILE *out, int *err)
{
	const char *broken = NULL;
	char *text = NULL;
	size_t i, size;
	FILE *f;

	for (i = 0; i < 4 && !*err && !broken; i++) {
		if (out) {
			*err = ranks__write_one(r, i, out);
			continue;
		}
		f = merged__open(&text);
		*err = ranks__write_one(r, i, f);
		fclose(f);
		size = strlen(text);
		if (!*err && i == 2 && !json__valid(text))
			broken = "invalid JSON";
		if (!*err && i == 3 && !html__valid(text))
			broken = "an invalid page";
		if (!size)
			broken = "nothing is written";
		free(text);
	}
	return broken;
}

/**
 * ranked__run - reads @buf as @nr recordings, and writes all outputs of "ranks"
 * @out: where the output is written; NULL: it is only checked
 * @err: 0, the reader's error, or -ENOMEM
 *
 * Return: what is inconsistent, or NULL.
 */
static inline const char *ranked__run(const void *buf, size_t size, size_t nr, FILE *out, int *err)
{
	struct session_opts opts = { .trim = true, .python_style = PYTHON_NO_LINE };
	struct ranks *r = ranks__new();
	const char *broken = NULL;
	struct reader readers[2];
	struct session s;

	*err = r ? reader__open_mem(&readers[0], buf, size, "test") : -ENOMEM;
	if (*err) {
		ranks__free(r);
		return NULL;
	}
	readers[1] = readers[0];
	opts.sink = &r->sink;
	*err = session__init(&s, &opts);
	if (*err)
		goto out;
	*err = session__process(&s, readers, nr) ?: ranks__finish(r, &s);
	broken = *err ? NULL : ranks__broken(r) ?: ranks__write_all(r, out, err);
	session__exit(&s);
out:
	reader__close(&readers[0]);
	ranks__free(r);
	return broken;
}

#endif /* TEST_LIB_RANKS_MERGE_H */
