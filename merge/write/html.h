/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * html.h - an interactive flame graph in one file, for any browser, without network
 *
 * The page is page/ beside this file, with the drawing library of third_party/d3-flame-graph. It
 * has the merged tree, not the events, as JSON in the element of id "xpu-data":
 *
 *	{ "format": "xpuload-html", "version": 1, "unit": "auto", "normalize": "", "roots": 1,
 *	  "sides": [ { "recordings": [ [ [ "command", "./app" ], ... ] ],
 *		       "totals": { "launches": N, "matched": N, "unmatched": N, "lost": N,
 *				   "clean": true },	(frames without a name aside)
 *		       "account": [ "launches N matched N ...", ... ], "messages": [ ... ],
 *		       "filter": "--kernel x", "scale": 1,
 *		       "gpus": [ { "number": 0, "name": "NVIDIA H100" } ],
 *		       "stalls": { "kernels": [ ... ], "places": [ "a.cu:9;f(int) at b.h:3", ... ],
 *				   "reasons": [ ... ],
 *				   "kernel": [ index ], "place": [ index ], "reason": [ index ],
 *				   "samples": [ ... ], "not_issued": [ of these ] } } ],
 *	  "kinds": [ "kernel", "memcpy", ... ], "files": [ "", ... ],
 *	  "frames": { "name": [ ... ], "file": [ index in files ],
 *		      "kind": [ index in kinds, or -1 ] },
 *	  "nodes": { "frame": [ index in frames ], "depth": [ 0: the first of "roots" ] },
 *	  "cells": { "node": [ index in nodes ], "kind": [ ... ], "gpu": [ number, or -1 ],
 *		     "values": [ { "ns": [ ... ], "nr": [ ... ], "bytes": [ ... ] } ] } }
 *
 * Nodes come in the order of folded lines, each before what it calls, which is one deeper. A cell
 * is what ran at a node itself; the sums below are the page's to make. "values" has one element for
 * each of "sides": one, or two of recordings that are compared, whose values "scale" multiplies.
 */
#ifndef MERGE_HTML_H
#define MERGE_HTML_H

#include <stdio.h>

#include "join/session.h"
#include "write/tree.h"

struct html_side {
	const struct session *session;
	double scale;			/* of its values: 1 unless normalized */
};

struct html_opts {
	const char *unit;		/* shown first: "auto", "ns", "\u00b5s" (UTF-8), "ms",
					 * "count", "bytes" */
	const char *normalize;		/* in words; "" if it is not */
	struct by_list by;		/* the roots, as in the tree */
};

/**
 * html__write - write the page
 * @f: an error of it stays in its error flag
 * @tree: of all sides, sorted
 * @sides: @nr of them, 1 or TREE_SIDES
 *
 * Return: 0 or -ENOMEM.
 */
int html__write(FILE *f, const struct tree *tree, const struct html_side *sides, unsigned int nr,
		const struct html_opts *opts);

/* Writes the page of a single session. */
int html__write_session(FILE *f, const struct session *s, const struct html_opts *opts);

#endif /* MERGE_HTML_H */
