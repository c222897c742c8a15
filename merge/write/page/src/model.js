/* SPDX-License-Identifier: MIT */
/* model.js - the choices of the user, and the sums over the whole tree that follow from them */
import {
	NONE, cells, data, diff, isDevice, kinds, nrNodes, parentOf, present, sides,
} from "./data.js";

export const state = {
	kinds: present.slice(),
	gpu: "all",
	unit: data.unit,
	width: "larger",
	order: "name",
	flame: true,
	zoom: 0,
	selected: NONE,
	tab: "graph",
	term: "",
	sortBy: "self",
	kernel: "",		/* whose lines are shown; "": that of the most samples */
	linesBy: "samples",
};

/* Sums by node, for each side. Count is that of device work; it and total include the descendants. */
export const self = sides.map(() => new Float64Array(nrNodes));
export const total = sides.map(() => new Float64Array(nrNodes));
export const count = sides.map(() => new Float64Array(nrNodes));
/* By node: its width in the graph, and how many nodes before it have a width. */
export const width = diff ? new Float64Array(nrNodes) : total[0];
export const shownBefore = new Int32Array(nrNodes + 1);

export const measure = () => state.unit === "count" ? "nr" : state.unit === "bytes" ? "bytes" : "ns";

/*
 * Whether the chosen unit applies to a kind. Times apply to all. Counts and bytes belong to device
 * records; samples and waits are counted only where no kind of device work is chosen.
 */
function unitIsOf(kind) {
	return measure() === "ns" || isDevice[kind] ||
	       !kinds.some((_, k) => isDevice[k] && present[k] && state.kinds[k]);
}

function cellCounts(c) {
	return state.kinds[cells.kind[c]] && unitIsOf(cells.kind[c]) &&
	       (state.gpu === "all" || cells.gpu[c] === NONE || cells.gpu[c] === +state.gpu);
}

function sumUp(totals) {
	for (let i = nrNodes - 1; i > 0; i--)
		totals[parentOf[i]] += totals[i];
}

export function compute() {
	for (let s = 0; s < sides.length; s++) {
		const values = cells.values[s][measure()];

		self[s].fill(0);
		count[s].fill(0);
		for (let c = 0; c < cells.nr; c++) {
			if (!cellCounts(c))
				continue;
			self[s][cells.node[c]] += values[c] * sides[s].scale;
			/* As in -f folded --unit count: samples and waits are not launches. */
			if (isDevice[cells.kind[c]])
				count[s][cells.node[c]] += cells.values[s].nr[c];
		}
		total[s].set(self[s]);
		sumUp(total[s]);
		sumUp(count[s]);
	}
	if (diff && state.width === "larger") {
		/* Summed up from the nodes' own values, so that a parent is as wide as its children. */
		for (let i = 0; i < nrNodes; i++)
			width[i] = Math.max(self[0][i], self[1][i]);
		sumUp(width);
	} else if (diff) {
		width.set(total[state.width === "a" ? 0 : 1]);
	}
	for (let i = 0; i < nrNodes; i++)
		shownBefore[i + 1] = shownBefore[i] + (width[i] > 0);
}
