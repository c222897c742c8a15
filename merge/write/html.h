/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * html.h - an interactive flame graph in one file, for any browser, without network
 *
 * The page is in page/. It has the merged tree, not the events, as JSON in the element with the id
 * "xpu-data":
 *
 *	{ "format": "xpuload-html", "version": 2, "unit": "auto", "normalize": "", "by": [ "comm" ],
 *	  "sides": [ { "recordings": [ [ [ "command", "./app" ], ... ] ],
 *		       "totals": { "launches": N, "matched": N, "unmatched": N, "lost": N,
 *				   "clean": true (except nameless frames, truncated samples) },
 *		       "answer": [ the first lines of the summary: "22.3 s: GPU 0 busy ...", ... ],
 *		       "account": [ "launches N matched N ...", ... ], "messages": [ ... ],
 *		       "filter": "--kernel x", "scale": 1, "memory": "GPU memory at its peak",
 *		       "peak": null, or { "bytes": N, "at_ns": since the start, "nr_recordings": N,
 *				   "used": N, "blocks": N, "outside": N, "reserved": N,
 *				   "fragmentation": N, "unused": N, "rest": N, "host": N,
 *				   "held": N (parts that --memory peak shows: struct heap_parts),
 *				   "holder_bytes": N,
 *				   "path": [ "main", ..., "[GPU_Memory]device" ] },
 *		       "gpus": [ { "number": 0, "name": "NVIDIA H100" } ],
 *		       "memory_time": merge/memory/page_memory.c describes it,
 *		       "stalls": { "kernels": [ ... ], "places": [ "a.cu:9;f(int) at b.h:3", ... ],
 *				   "texts": [ the line of each place; empty without --source ],
 *				   "reasons": [ ... ],
 *				   "kernel": [ index ], "place": [ index ], "reason": [ index ],
 *				   "samples": [ ... ], "not_issued": [ part of samples ] } } ],
 *	  "kinds": [ "kernel", "memcpy", ... ], "files": [ "", ... ],
 *	  "frames": { "name": [ ... ], "file": [ index in files ],
 *		      "kind": [ index in kinds, or -1 ],
 *		      "place": [ enum frame_place ] },
 *	  "nodes": { "frame": [ index in frames ], "depth": [ 0: a root of call paths ] },
 *	  "labels": [ "worker", "[GPU 0]", ... ],
 *	  "ranges": [ [ index in labels, outermost first ], ... ],
 *	  "owners": { "comm": [ index in labels ], ..., "nvtx": [ index in ranges ] },
 *	  "without": [ "nvtx" ],	(left out of owners to have fewer cells)
 *	  "cells": { "node": [ index in nodes, or -1 ], "kind": [ ... ], "owner": [ index ],
 *		     "values": [ { "ns": [ ... ], "nr": [ ... ], "bytes": [ ... ],
 *				     "whole": [ ns of full durations; empty: as in "ns" ] } ] },
 *	  "times": null, or { "start_ns": "of the recording, by its clock",
 *		     "from_ns": of bin 0, relative to the recording's start,
 *		     "nr_windows": of --capture, or 0,
 *		     "recorded": [ [ from_ns, to_ns, ns in which events were recorded ], ... ],
 *		     "bin_ns": N, "nr": of bins,
 *		     "nr_rest": number of call paths in extra cells,
 *		     "each": [ by cell: how many of its bins are not 0 ],
 *		     "bin": [ of all cells, cell by cell ], "ns": [ ... ], "count": [ ... ],
 *		     "bytes": [ only of cells of copies and sets ],
 *		     "rows": { "from_ns": N, "bin_ns": N, "nr": N, "cpus": of all hosts; 0: unknown,
 *			       "list": [ { "gpu": 0 } or { "owner": index, "kind": index } with
 *					 "bin": [ ... ], "ns": [ ... ] ] } } }
 *
 * "by" is empty without a requested grouping: the page then adds up all threads.
 *
 * Nodes are in the order of folded lines. Each node comes before its callees, which are one level
 * deeper. A cell has the work of one owner at one node, without callees; "owner" is an index into
 * each member of "owners". Labels are the texts that root frames of --by NAME would have; the
 * index of an unknown label is -1. Names of work lack "[GPU_Kernel]", because "kind" says what
 * work it is. The page computes the sums of subtrees, and makes the root frames. "values" has one
 * element for each of "sides": one, or two if recordings are compared. The page multiplies the
 * values by "scale".
 *
 * "times" says when the work of each cell ran, in bins of equal length: its ns in a bin, and the
 * count and the bytes of the work that began in the bin. Call paths without times of their own
 * share extra cells, whose values are 0. The sum over the bins may be less than the cell's value,
 * because some work has no timestamps. A row says, for each bin, how long a device had work, or how
 * long a thread was in a state.
 *
 * page_events.h describes the element "xpu-events", which has single events.
 *
 * If the caller provides the tree, the second side has no recording, and the caller may add kinds
 * and members.
 */
#ifndef MERGE_HTML_H
#define MERGE_HTML_H

#include <stdio.h>

#include "join/session.h"
#include "json_out.h"
#include "write/folded.h"
#include "write/tree.h"

struct html_side {
	const struct session *session;	/* NULL: none */
	double scale;			/* factor by which its values are multiplied: 1 unless
					 * normalized */
};

struct html_opts {
	const char *unit;		/* the unit that the page shows initially: "auto", "ns",
					 * "\u00b5s" (UTF-8), "ms", "count", "bytes" */
	const char *normalize;		/* the normalization in words; "" without normalization */
	struct by_list by;		/* properties that root frames show initially; empty: none,
					 * all threads are added up */
	void *events;			/* events of the only side, from page_events__listen();
					 * NULL: no events */
	/* These replace the data of the sides. */
	const struct tree *tree;	/* sorted; NULL: none */
	const char *const *kinds;	/* the names of TREE_MORE and higher kinds; ended by NULL */
	uint32_t owners;		/* properties that the tree's owners have: 1 << enum by,
					 * or'ed */
	/* Prints further members into the page's object. Return: 0 or -ENOMEM. */
	int (*print_more)(struct json_out *j, const void *ctx);
	const void *ctx;
};

/**
 * html__write - write the page
 * @f: the file; its errors stay in its error flag
 * @sides: array of @nr sides, 1 or TREE_SIDES; a single side may have been made with opts.by_time
 *
 * Return: 0 or -ENOMEM.
 */
int html__write(FILE *f, const struct html_side *sides, unsigned int nr,
		const struct html_opts *opts);

#endif /* MERGE_HTML_H */
