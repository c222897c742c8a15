// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * page_ranks.c - writes the page of the command "ranks": the page of html.c, with two sides, and
 * with a member "ranks" in its data
 *
 * The tree shows what each straggler did before others waited for it: side 1 is the straggler, side
 * 0 the median of the other ranks. The owner of a cell is the straggler. The member "ranks" is
 *
 *	"ranks": { "numbered": "by their launcher", "account": [ "operations of NCCL ...", ... ],
 *		   "hosts": [ ... ], "names": [ ... ],
 *		   "list": { "number": [ ... ], "pid": [ ... ], "host": [ index in hosts ],
 *			     "name": [ index in names ], "busy_ns": [ ... ], "own_ns": [ ... ],
 *			     "wait_ns", "transfer_ns", "unpaired_ns", "host_wait_ns", "launches",
 *			     "ops", "paired", "last", "caused_ns", "start_wait_ns": [ ... ] },
 *		   "compared": how many stragglers have paths in the tree,
 *		   "collectives": { "communicator": [ "0x1", ... ], "operation": [ ... ],
 *				    "ranks": [ ... ], "count", "bytes", "wait_ns", "transfer_ns",
 *				    "longest_wait_ns": [ ... ] },
 *		   "others": [ [ rank, count, ns, "library", "kernel" ], ... ],
 *		   "clocks": [ [ "host", "aligned by", collectives, ahead us, error us,
 *				 drift ppm ], ... ],
 *		   "waits": W, "caused": null, or W, "over": W }
 *
 * where "waited_for" in "list" is the rank for which each rank waited longest, or -1,
 * "waited_for_ns" is how long it waited for that rank, and W is null, or waits over time:
 *
 *	{ "from_ns": time of bin 0 after the start, perhaps negative, "bin_ns": length of a bin,
 *	  "nr": number of bins,
 *	  "rank": [ index in list ], "culprit": [ index in list, or -1: ranks start ],
 *	  "collective": [ index in collectives ],	(-2 in these lists: left out)
 *	  "each": [ for each entry of these three lists: its number of bins ],
 *	  "bin": [ indices of the bins, entry after entry ], "ns": [ waits in these bins ] }
 *
 * "waits" gives ranks, culprits and collectives. For many ranks, "waits" leaves out the
 * collectives, or both the collectives and the culprits. If "waits" lacks the culprits, "caused"
 * gives the culprits. "over" gives only the collectives. The bins of "waits" sum up to the ranks'
 * wait_ns, to the nanosecond, and so do the bins of "over"; "caused" lacks the waits while ranks
 * were starting.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "model/bins.h"
#include "ranks/ranks.h"
#include "ranks/state.h"
#include "write/html.h"

#define MAX_PATHS	40000		/* maximum number of paths in the tree; each takes about 60
					 * bytes of the page, plus names */
#define MAX_WAITS	120000		/* maximum number of bins with waits; each takes about 12
					 * bytes */
#define MAX_OTHERS	2000

#define MIN_BINS	60		/* with fewer bins, properties of waits are left out */

#define LEFT_OUT	(NO_INDEX - 1)

/* waits of one rank for another in one kind of collective; each member may be LEFT_OUT */
struct waits_of {
	uint32_t rank, culprit, collective;	/* culprit NO_INDEX: the ranks were still
						 * starting */
};

/* the members of struct waits_of that are shown */
enum { TELL_RANK = 1, TELL_CULPRIT = 2, TELL_COLLECTIVE = 4 };

/* waits over time */
struct waits {
	struct bins bins;
	ARRAY(struct waits_of) keys;	/* the keys that the bins refer to */
	struct hashes by_key;
	uint64_t secret;
};

struct ranks_page {
	const struct ranks *r;
	struct tree tree;
	struct waits waits, caused, over;
	uint32_t *waited_for;		/* for each rank: the rank that it waited for longest, or
					 * NO_INDEX */
	uint64_t *waited_for_ns;
};

/* ---- paths ----------------------------------------------------------------------------------- */

/* kinds that only this page has */
enum page_kind {
	KIND_NCCL = TREE_MORE,		/* NCCL's work, as a part of the ranks' work */
	KIND_HOST,			/* unexplained time before a launch */
};

static const char *const page_kinds[] = { "nccl", "host", NULL };

static uint32_t late_path__kind(const struct late_path *p, const struct model *m)
{
	return p->kind == LATE_NCCL ? KIND_NCCL : p->kind == LATE_HOST ? KIND_HOST :
	       m->leaves.v[p->leaf_idx].kind;
}

/*
 * Adds a path of a straggler to the tree: the median time of the other ranks to side 0, and the
 * straggler's time to side 1. @small: add the times to the sum of small differences
 */
static int page__add_path(struct ranks_page *page, const struct late_path *p, bool small)
{
	const struct model *m = &page->r->s->model;
	struct tree_path path = {
		.by = BY_RANK, .kind = late_path__kind(p, m), .frames = small ? "" : p->path,
		.leaf = p->kind == LATE_HOST ? "before this launch" : p->kind == LATE_CPU ? NULL :
			m->leaves.v[p->leaf_idx].name,
	};
	char label[32];
	int err;

	snprintf(label, sizeof(label), "[rank %" PRIu32 "]", page->r->ranks.v[p->rank].number);
	path.label = label;
	if (small)
		path.leaf = "(smaller differences)";
	err = tree__add_path(&page->tree, 0, &path, p->median_ns);
	return err ?: tree__add_path(&page->tree, 1, &path, p->ns);
}

static uint64_t late_path__difference(const struct late_path *p)
{
	return p->ns > p->median_ns ? p->ns - p->median_ns : p->median_ns - p->ns;
}

static int difference__cmp(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return cmp3(*b, *a);
}

/*
 * Return: the least difference that a path needs to be shown. It is chosen so that the page has
 * room for the shown paths. Sorts @differences.
 */
static uint64_t page__least(uint64_t *differences, size_t nr)
{
	if (nr <= MAX_PATHS)
		return 0;
	qsort(differences, nr, sizeof(*differences), difference__cmp);
	return differences[MAX_PATHS] + 1;
}

static int page__make_tree(struct ranks_page *page)
{
	const struct ranks *r = page->r;
	uint64_t *differences = calloc(r->compared.nr + 1, sizeof(*differences)), least;
	size_t i;
	int err = tree__init(&page->tree) ?: differences ? 0 : -ENOMEM;

	for (i = 0; i < r->compared.nr && !err; i++)
		differences[i] = late_path__difference(&r->compared.v[i]);
	least = err ? 0 : page__least(differences, r->compared.nr);
	array_each_while(&r->compared, p, !err) {
		err = page__add_path(page, p, late_path__difference(p) < least);
	}
	free(differences);
	return err ?: tree__sort(&page->tree);
}

/* ---- waits over time ------------------------------------------------------------------------- */

static void waits__exit(struct waits *w)
{
	bins__exit(&w->bins);
	array_free(&w->keys);
	hashes__free(&w->by_key);
}

static int waits__key(struct waits *w, const struct waits_of *key, uint32_t *idx)
{
	uint32_t hash = hash__mix(ID_KEY(key->rank, key->culprit), key->collective, w->secret);

	return hashes_get(&w->by_key, hash, &w->keys, *idx,
			  !memcmp(&w->keys.v[*idx], key, sizeof(*key)), *key);
}

/* Puts all waits into bins. @tell: TELL_*, or'ed. Return: 0 or -ENOMEM. */
static int waits__make(struct waits *w, const struct ranks *r, unsigned int tell)
{
	uint32_t idx;
	size_t i;
	int err = 0;

	*w = (struct waits){ .secret = secret() };
	bins__init(&w->bins, 2 * MAX_WAITS, &(struct bins_keys){ NULL, NULL, NULL });
	for (i = 0; i < r->waits.nr && !err && !w->bins.full; i++) {
		const struct rank_wait *wait = &r->waits.v[i];
		const struct waits_of key = {
			tell & TELL_RANK ? wait->rank : LEFT_OUT,
			tell & TELL_CULPRIT ? wait->culprit : LEFT_OUT,
			tell & TELL_COLLECTIVE ? wait->collective : LEFT_OUT,
		};
		const struct bin_value value = { .ns = wait->ns, .nr = 1 };

		if (tell == TELL_CULPRIT && wait->culprit == NO_INDEX)
			continue;
		err = waits__key(w, &key, &idx) ?:
		      bins__add(&w->bins, idx, wait->begin_ns, wait->begin_ns + wait->ns, &value);
	}
	return err ?: bins__finish(&w->bins, MAX_WAITS);
}

/* Return: whether the bins are short enough to see when waits occurred. */
static bool waits__fine(const struct waits *w)
{
	const struct bin_scale *scale = &w->bins.scale;

	return !w->bins.full && (scale->shift <= BINS_SHIFT_MIN ||
				 scale->last - scale->first + 1 >= MIN_BINS);
}

static int page__find_waits(struct ranks_page *page)
{
	static const unsigned int tell[] = {
		TELL_RANK | TELL_CULPRIT | TELL_COLLECTIVE, TELL_RANK | TELL_CULPRIT, TELL_RANK,
	};
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(tell); i++) {
		waits__exit(&page->waits);
		err = waits__make(&page->waits, page->r, tell[i]);
		if (err || waits__fine(&page->waits))
			break;
	}
	if (!err && i >= ARRAY_SIZE(tell) - 1)
		err = waits__make(&page->caused, page->r, TELL_CULPRIT);
	return err ?: waits__make(&page->over, page->r, TELL_COLLECTIVE);
}

/* Finds the rank that each rank waited for longest. Return: 0 or -ENOMEM. */
static int page__find_culprits(struct ranks_page *page)
{
	const struct ranks *r = page->r;
	struct idmap by_pair = { 0 };
	ARRAY(uint64_t) sums = { 0 };
	uint32_t idx;
	size_t i;
	int err = 0;

	page->waited_for = calloc(r->ranks.nr + 1, sizeof(*page->waited_for));
	page->waited_for_ns = calloc(r->ranks.nr + 1, sizeof(*page->waited_for_ns));
	if (!page->waited_for || !page->waited_for_ns)
		return -ENOMEM;
	for (i = 0; i < r->ranks.nr; i++)
		page->waited_for[i] = NO_INDEX;
	array_each_while(&r->waits, w, !err) {
		if (w->culprit == NO_INDEX)
			continue;
		if (!idmap__get(&by_pair, ID_KEY(w->rank, w->culprit), &idx)) {
			idx = sums.nr;
			err = idmap__put(&by_pair, ID_KEY(w->rank, w->culprit), idx) ?:
			      array_push(&sums, 0);
			if (err)
				break;
		}
		sums.v[idx] += w->ns;
		if (sums.v[idx] > page->waited_for_ns[w->rank]) {
			page->waited_for_ns[w->rank] = sums.v[idx];
			page->waited_for[w->rank] = w->culprit;
		}
	}
	idmap__free(&by_pair);
	array_free(&sums);
	return err;
}

/* ---- the member "ranks" ---------------------------------------------------------------------- */

static void print_idx(struct json_out *j, uint32_t idx)
{
	if (idx == NO_INDEX)
		json_out__literal(j, "-1");
	else if (idx == LEFT_OUT)
		json_out__literal(j, "-2");
	else
		json_out__u64(j, idx);
}

static void open_array(struct json_out *j, const char *key)
{
	json_out__line(j, 0);
	json_out__key(j, key);
	json_out__open(j, '[');
}

/* Opens an object on a new line. */
static void open_object(struct json_out *j, const char *key)
{
	json_out__line(j, 0);
	json_out__key(j, key);
	json_out__open(j, '{');
}

static int print_account(struct json_out *j, const struct ranks *r)
{
	char *text = NULL, *line, *rest = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int err;

	if (!f)
		return -ENOMEM;
	ranks__print_account(r, f);
	err = ferror(f) ? -ENOMEM : 0;
	if (fclose(f) || !text)
		err = -ENOMEM;
	open_array(j, "account");
	for (line = err ? NULL : strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		json_out__string(j, line);
	json_out__close(j, ']');
	free(text);
	return err;
}

/* Numbers names, so that each name is printed once. */
struct numbered {
	struct idmap known;
	uint32_t nr;
};

/* Prints a name that was not printed before. Return: 0 or -ENOMEM. */
static int print_name(struct json_out *j, struct numbered *names, const char *name, uint32_t *idx)
{
	if (idmap__get(&names->known, (uintptr_t)name, idx))
		return 0;
	*idx = names->nr++;
	json_out__string(j, name);
	return idmap__put(&names->known, (uintptr_t)name, *idx);
}

static const char *rank__text(const struct ranks *r, size_t rank, bool host)
{
	const struct model *m = &r->s->model;
	uint32_t proc = r->ranks.v[rank].proc;

	return host ? m->inputs.v[m->machine.procs.v[proc].recording].host :
	       model__proc_name(m, proc);
}

/* Prints the ranks' names, or with @host their hosts, and sets @idx for each rank. Return: 0 or
 * -ENOMEM. */
static int print_names(struct json_out *j, const struct ranks *r, const char *key, bool host,
		       uint32_t *idx)
{
	struct numbered names = { 0 };
	size_t i;
	int err = 0;

	open_array(j, key);
	for (i = 0; i < r->ranks.nr && !err; i++)
		err = print_name(j, &names, rank__text(r, i, host), &idx[i]);
	json_out__close(j, ']');
	idmap__free(&names.known);
	return err;
}

static void print_column(struct json_out *j, const struct ranks *r, const char *key, size_t offset)
{
	size_t i;

	open_array(j, key);
	for (i = 0; i < r->ranks.nr; i++)
		json_out__u64(j, *(const uint64_t *)((const char *)&r->ranks.v[i] + offset));
	json_out__close(j, ']');
}

static void print_list(struct json_out *j, const struct ranks_page *page, const uint32_t *hosts,
		       const uint32_t *names)
{
	static const struct {
		const char *key;
		size_t offset;
	} columns[] = {
		{ "busy_ns", offsetof(struct rank, busy_ns) },
		{ "own_ns", offsetof(struct rank, own_ns) },
		{ "wait_ns", offsetof(struct rank, wait_ns) },
		{ "transfer_ns", offsetof(struct rank, transfer_ns) },
		{ "unpaired_ns", offsetof(struct rank, unpaired_ns) },
		{ "host_wait_ns", offsetof(struct rank, gpu_wait_ns) },
		{ "launches", offsetof(struct rank, nr_launches) },
		{ "ops", offsetof(struct rank, nr_ops) },
		{ "paired", offsetof(struct rank, nr_paired) },
		{ "last", offsetof(struct rank, nr_last) },
		{ "caused_ns", offsetof(struct rank, caused_ns) },
		{ "start_wait_ns", offsetof(struct rank, start_wait_ns) },
	};
	const struct ranks *r = page->r;
	size_t i;

	open_object(j, "list");
	open_array(j, "number");
	for (i = 0; i < r->ranks.nr; i++)
		json_out__u64(j, r->ranks.v[i].number);
	json_out__close(j, ']');
	open_array(j, "pid");
	for (i = 0; i < r->ranks.nr; i++)
		json_out__u64(j, r->s->model.machine.procs.v[r->ranks.v[i].proc].pid);
	json_out__close(j, ']');
	open_array(j, "host");
	for (i = 0; i < r->ranks.nr; i++)
		json_out__u64(j, hosts[i]);
	json_out__close(j, ']');
	open_array(j, "name");
	for (i = 0; i < r->ranks.nr; i++)
		json_out__u64(j, names[i]);
	json_out__close(j, ']');
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		print_column(j, r, columns[i].key, columns[i].offset);
	open_array(j, "waited_for");
	for (i = 0; i < r->ranks.nr; i++)
		print_idx(j, page->waited_for[i]);
	json_out__close(j, ']');
	open_array(j, "waited_for_ns");
	for (i = 0; i < r->ranks.nr; i++)
		json_out__u64(j, page->waited_for_ns[i]);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

static int print_ranks(struct json_out *j, const struct ranks_page *page)
{
	const struct ranks *r = page->r;
	uint32_t *hosts = calloc(r->ranks.nr + 1, sizeof(*hosts));
	uint32_t *names = calloc(r->ranks.nr + 1, sizeof(*names));
	int err = hosts && names ? 0 : -ENOMEM;

	err = err ?: print_names(j, r, "hosts", true, hosts);
	err = err ?: print_names(j, r, "names", false, names);
	if (!err)
		print_list(j, page, hosts, names);
	free(hosts);
	free(names);
	return err;
}

static void print_collectives(struct json_out *j, const struct ranks *r)
{
	static const struct {
		const char *key;
		size_t offset;
	} columns[] = {
		{ "count", offsetof(struct rank_collective, nr) },
		{ "bytes", offsetof(struct rank_collective, bytes) },
		{ "wait_ns", offsetof(struct rank_collective, wait_ns) },
		{ "transfer_ns", offsetof(struct rank_collective, transfer_ns) },
		{ "longest_wait_ns", offsetof(struct rank_collective, longest_wait_ns) },
	};
	const struct rank_collective *v = r->collectives.v;
	size_t i, k, nr = r->collectives.nr;
	char comm[24];

	open_object(j, "collectives");
	open_array(j, "communicator");
	for (i = 0; i < nr; i++) {
		snprintf(comm, sizeof(comm), "%#" PRIx64, v[i].comm);
		json_out__word(j, comm);
	}
	json_out__close(j, ']');
	open_array(j, "operation");
	for (i = 0; i < nr; i++)
		json_out__string(j, v[i].name);
	json_out__close(j, ']');
	open_array(j, "ranks");
	for (i = 0; i < nr; i++)
		json_out__u64(j, v[i].nr_ranks);
	json_out__close(j, ']');
	for (k = 0; k < ARRAY_SIZE(columns); k++) {
		open_array(j, columns[k].key);
		for (i = 0; i < nr; i++)
			json_out__u64(j,
				      *(const uint64_t *)((const char *)&v[i] + columns[k].offset));
		json_out__close(j, ']');
	}
	json_out__close(j, '}');
}

static void print_others(struct json_out *j, const struct ranks *r)
{
	size_t i;

	open_array(j, "others");
	for (i = 0; i < r->others.nr && i < MAX_OTHERS; i++) {
		const struct other_kernel *o = &r->others.v[i];

		json_out__line(j, 0);
		json_out__open(j, '[');
		json_out__u64(j, o->rank);
		json_out__u64(j, o->nr);
		json_out__u64(j, o->ns);
		json_out__string(j, o->library);
		json_out__string(j, r->s->model.leaves.v[o->leaf].name);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
	json_out__member_u64(j, "others_left_out", r->others.nr - i);
}

static void print_real(struct json_out *j, double d)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", d);
	json_out__literal(j, text);
}

static void print_clocks(struct json_out *j, const struct ranks *r)
{
	const struct nccl_clocks *clocks = &nccl__of(&r->s->model)->clocks;
	size_t i;

	open_array(j, "clocks");
	for (i = 0; i < clocks->list.nr; i++) {
		const struct nccl_clock *c = &clocks->list.v[i];

		json_out__line(j, 0);
		json_out__open(j, '[');
		json_out__string(j, r->s->model.inputs.v[c->input].host);
		json_out__word(j,
			       !i ? "is the first" : c->aligned ? "collectives" : "CLOCK_REALTIME");
		json_out__u64(j, c->nr_ends);
		print_real(j, c->offset_ns / 1e3);
		print_real(j, c->error_ns / 1e3);
		print_real(j, c->drift * 1e6);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
}

/* Prints one of the three members of each key that has bins. */
static void print_keys(struct json_out *j, const struct waits *w, const char *key, size_t offset)
{
	const struct bins *b = &w->bins;
	size_t i;

	open_array(j, key);
	for (i = 0; i < b->list.nr; i++) {
		const struct waits_of *of = &w->keys.v[b->list.v[i].key];

		if (!i || b->list.v[i - 1].key != b->list.v[i].key)
			print_idx(j, *(const uint32_t *)((const char *)of + offset));
	}
	json_out__close(j, ']');
}

static void print_bins(struct json_out *j, const struct bins *b)
{
	size_t i, k;

	open_array(j, "each");
	for (i = 0; i < b->list.nr; i = k) {
		for (k = i; k < b->list.nr && b->list.v[k].key == b->list.v[i].key; k++)
			;
		json_out__u64(j, k - i);
	}
	json_out__close(j, ']');
	open_array(j, "bin");
	for (i = 0; i < b->list.nr; i++)
		json_out__u64(j, bins__index(&b->scale, &b->list.v[i]));
	json_out__close(j, ']');
	open_array(j, "ns");
	for (i = 0; i < b->list.nr; i++) {
		if (i && i % 64 == 0)
			json_out__line(j, 0);
		json_out__u64(j, b->list.v[i].ns);
	}
	json_out__close(j, ']');
}

static void print_waits(struct json_out *j, const char *key, const struct waits *w,
			uint64_t start_ns)
{
	const struct bin_scale *scale = &w->bins.scale;
	char from[24];

	if (w->bins.full || !w->bins.list.nr) {
		json_out__line(j, 0);
		json_out__key(j, key);
		json_out__literal(j, "null");
		return;
	}
	open_object(j, key);
	snprintf(from, sizeof(from), "%" PRId64,
		 (int64_t)((scale->first << scale->shift) - start_ns));
	json_out__key(j, "from_ns");
	json_out__literal(j, from);
	json_out__member_u64(j, "bin_ns", 1ull << scale->shift);
	json_out__member_u64(j, "nr", scale->last - scale->first + 1);
	print_keys(j, w, "rank", offsetof(struct waits_of, rank));
	print_keys(j, w, "culprit", offsetof(struct waits_of, culprit));
	print_keys(j, w, "collective", offsetof(struct waits_of, collective));
	print_bins(j, &w->bins);
	json_out__close(j, '}');
}

static int print_more(struct json_out *j, const void *ctx)
{
	const struct ranks_page *page = ctx;
	const struct ranks *r = page->r;
	int err;

	json_out__key(j, "ranks");
	json_out__open(j, '{');
	json_out__member_word(j, "numbered", ranks__numbered(r));
	err = print_account(j, r) ?: print_ranks(j, page);
	json_out__member_u64(j, "compared", min_t(size_t, r->stragglers.nr, RANKS_MAX_CULPRITS));
	print_collectives(j, r);
	print_others(j, r);
	print_clocks(j, r);
	print_waits(j, "waits", &page->waits, r->s->model.start_ns);
	print_waits(j, "caused", &page->caused, r->s->model.start_ns);
	print_waits(j, "over", &page->over, r->s->model.start_ns);
	json_out__close(j, '}');
	return err;
}

int ranks__write_html(const struct ranks *r, FILE *f, const char *unit)
{
	struct ranks_page page = { .r = r };
	const struct html_side sides[TREE_SIDES] = { { r->s, 1 }, { NULL, 1 } };
	const struct html_opts opts = {
		.unit = unit, .normalize = "", .by = { .nr = 1, .v = { BY_RANK } },
		.tree = &page.tree, .kinds = page_kinds, .owners = 1u << BY_RANK,
		.print_more = print_more, .ctx = &page,
	};
	int err = page__make_tree(&page) ?: page__find_waits(&page) ?: page__find_culprits(&page);

	err = err ?: html__write(f, sides, TREE_SIDES, &opts);
	tree__exit(&page.tree);
	waits__exit(&page.waits);
	waits__exit(&page.caused);
	waits__exit(&page.over);
	free(page.waited_for);
	free(page.waited_for_ns);
	return err;
}
