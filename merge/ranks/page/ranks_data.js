/* SPDX-License-Identifier: MIT */
/*
 * ranks_data.js - conclusions from the waits of ranks: who waited for whom, and what made a
 * straggler late
 */
import { NONE, base, cells, data, frames, kinds } from "../../write/page/src/data.js";

/* the data of the page of "xpumerge ranks", as page_ranks.c describes them; or null */
export const ranks = data.ranks || null;
export const rankList = ranks && ranks.list;

/* By owner: the number of its rank. */
export const rankOfOwner = (ranks ? data.owners.rank : []).map(label =>
	label === NONE ? "" : data.labels[label].replace(/^\[rank (\d+)\]$/, "$1"));

export const nrRanks = ranks ? rankList.number.length : 0;
export const hostOf = r => ranks.hosts[rankList.host[r]];
export const nameOfRank = r => ranks.names[rankList.name[r]];
export const sumOf = column => column.reduce((a, b) => a + b, 0);

/* The keys by which the table of ranks can be sorted. */
export const SORTS = ["number", "busy_ns", "own_ns", "wait_ns", "transfer_ns", "unpaired_ns",
	"host_wait_ns", "launches", "ops", "last", "caused", "host", "name", "pid"];

let worst = null;

/* Return: the stragglers whose call paths are in the page, the worst first. */
export function culprits() {
	worst ||= Array.from({ length: nrRanks }, (_, r) => r)
		.filter(r => rankList.caused_ns[r] > 0)
		.sort((a, b) => rankList.caused_ns[b] - rankList.caused_ns[a] || a - b)
		.slice(0, ranks ? ranks.compared : 0);
	return worst;
}

let culpritSet = null;

export function isCulprit(r) {
	culpritSet ||= new Set(culprits());
	return culpritSet.has(r);
}

/* marks properties that the page of many ranks leaves out */
export const LEFT_OUT = -2;

/*
 * Calls @visit(key, bin, ns) for each bin of waits @w. key is the index that the lists of ranks,
 * culprits and collectives of @w share.
 */
export function forWaits(w, visit) {
	let at = 0;

	if (!w)
		return;
	for (let k = 0; k < w.each.length; k++)
		for (const end = at + w.each[k]; at < end; at++)
			visit(k, w.bin[at], w.ns[at]);
}

let reasons = null;

/*
 * Return: the work whose time on the straggler @r exceeds the median of the other ranks most, as
 * { frames, ns, median }; or undefined.
 */
export function lateBy(r) {
	if (!reasons) {
		const [median, own] = cells.values.map(v => v.ns), best = new Map();

		for (let c = 0; c < cells.nr; c++) {
			const rank = rankOfOwner[cells.owner[c]], more = own[c] - median[c];

			/* Waiting for other ranks does not make a rank late. */
			if (more > 0 && kinds[cells.kind[c]] !== "nccl" &&
			    (!best.has(rank) || more > own[best.get(rank)] -
				median[best.get(rank)]))
				best.set(rank, c);
		}
		reasons = new Map([...best].map(([rank, c]) => {
			const path = [];

			for (let n = cells.node[c]; n > 0; n = base.parent[n])
				path.push(frames.name[base.frame[n]]);
			return [rank, { frames: path.reverse(), ns: own[c], median: median[c] }];
		}));
	}
	return reasons.get(String(rankList.number[r]));
}

/*
 * Return: a function that tests whether a rank matches a text of the user. "3" and "0-7,16" are
 * numbers of ranks; other words are parts of hosts and names.
 */
export function matcher(term) {
	const words = term.toLowerCase().split(/\s+/).filter(Boolean).map(word => {
		if (!/^\d+(-\d+)?(,\d+(-\d+)?)*,?$/.test(word))
			return r => `${hostOf(r)}\n${nameOfRank(r)}`.toLowerCase().includes(word);
		const spans = word.split(",").filter(Boolean)
			.map(span => span.split("-").map(Number));

		return r => spans.some(([from, to = from]) => rankList.number[r] >= from &&
			rankList.number[r] <= to);
	});

	return r => words.every(fits => fits(r));
}
