/* SPDX-License-Identifier: MIT */
/*
 * tree.js - the tree that is shown: call paths below the root frames of the chosen grouping
 *
 * A new tree is made when the grouping changes. Node 0 is the root, "all"; parents come before
 * their children, and the descendants of a node follow it. Modules that import these variables see
 * each new tree.
 */
import { NONE, base, cells, data, frames, isolated, kinds, rootFrame, seen } from "./data.js";

export let nrNodes = 0;
export let frameOf, depthOf, parentOf;
export let endOf;			/* the node after the last descendant */
export let nodeOfCell;			/* for each cell: its node */
export let baseOf;			/* for each node: its base node, which all groups share; 0:
					 * a root frame */

/* ---- what calls can be grouped by ----------------------------------------------------------- */

const WORDS = {
	comm: "thread name", tid: "thread", pid: "process", host: "host", rank: "rank",
	node: "node", pod: "pod",
	container: "container", job: "job", device: "device", stream: "stream", nvtx: "NVTX range",
	none: "nothing",
};

/* Return: a label of an owner, shorter than in folded stacks. */
function shortLabel(by, label) {
	const m = /^\[(\w+) (.*)\]$/s.exec(label);

	if (by === "nvtx")
		return label === "[no NVTX range]" ? "no NVTX range" :
		label.replace(/^\[NVTX\]/, "");
	if (!m || by === "comm")
		return label;
	if (m[2] === "unknown")
		return by === "device" ? "no device" : `no ${WORDS[by] || by}`;
	return by === "device" ? `GPU ${m[2]}` : by === "host" ? m[2] :
		`${WORDS[by] || by} ${m[2]}`;
}

function labelOfOwner(by, owner) {
	const label = data.owners[by][owner];

	return label === NONE ? "unknown" : data.labels[label];
}

/* Return: the names of the frames at the root for an owner. */
function rootsOf(by, owner) {
	if (by === "none" || !data.owners[by])
		return [];
	if (by === "nvtx") {
		const range = data.ranges[data.owners.nvtx[owner]] || [];

		return range.map(label => shortLabel(by, data.labels[label]));
	}
	if (by !== "tid")
		return [shortLabel(by, labelOfOwner(by, owner))];
	/* Threads of several processes may have the same tid. */
	const process = data.owners.pid && distinct("pid") > 1 ?
		`, ${shortLabel("pid", labelOfOwner("pid", owner))}` : "";

	return [isolated(seen(labelOfOwner("comm", owner))) + " " +
		labelOfOwner(by, owner).replace(/^\[tid (.*)\]$/s, "$1") + process];
}

const counts = new Map();

function distinct(by) {
	if (!counts.has(by)) {
		const used = new Set();

		for (let c = 0; c < cells.nr; c++)
			used.add(data.owners[by][cells.owner[c]]);
		counts.set(by, used.size);
	}
	return counts.get(by);
}

/* the grouping that --by requests */
export const asked = data.by.join(",") || "none";

/* Return: [value, words] for each grouping that separates anything on this page. */
export function groupings() {
	const list = Object.keys(data.owners)
		.filter(by => by === "comm" || by === asked || distinct(by) > 1);

	if (asked !== "none" && !list.includes(asked) &&
		data.by.every(by => data.owners[by] || by === "none"))
		list.unshift(asked);
	return [...list, "none"].map(by => [by, by.split(",").map(b => WORDS[b] || b).join(", ")]);
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* Return: the frames at the root, as a tree; each element lists the cells directly below it. */
function rootTree(by) {
	const lists = by.split(","), top = { frame: NONE, name: "", below: new Map(), cells: [] };
	const of = new Map();

	const find = owner => {
		let at = top;

		for (const name of lists.flatMap(b => rootsOf(b, owner))) {
			if (!at.below.has(name))
				at.below.set(name, { frame: rootFrame(name), name, below: new Map(),
					cells: [] });
			at = at.below.get(name);
		}
		return at;
	};

	for (let c = 0; c < cells.nr; c++) {
		const owner = cells.owner[c];

		if (!of.has(owner))
			of.set(owner, find(owner));
		of.get(owner).cells.push(c);
	}
	return top;
}

/* Return: the base nodes on the paths to the cells, each after its parent, without the root. */
function nodesOf(list, mark, stamp) {
	const found = [];

	for (const c of list)
		for (let n = cells.node[c]; n > 0 && mark[n] !== stamp; n = base.parent[n]) {
			mark[n] = stamp;
			found.push(n);
		}
	return Int32Array.from(found).sort();
}

const byName = (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0;

/* Makes the tree. @by: a value of groupings() */
export function group(by) {
	const mark = new Int32Array(base.nr), where = new Int32Array(base.nr);
	const frame = [], depth = [], parent = [], bases = [];
	let stamp = 0;

	nodeOfCell = new Int32Array(cells.nr);
	const add = (root, at, level) => {
		const me = frame.length;

		frame.push(root.frame);
		bases.push(0);
		depth.push(level);
		parent.push(at);
		for (const below of [...root.below.values()].sort(byName))
			add(below, me, level + 1);
		where[0] = me;
		for (const n of nodesOf(root.cells, mark, ++stamp)) {
			where[n] = frame.length;
			frame.push(base.frame[n]);
			bases.push(n);
			depth.push(level + base.depth[n]);
			parent.push(where[base.parent[n]]);
		}
		for (const c of root.cells)
			nodeOfCell[c] = where[cells.node[c]];
	};

	add(rootTree(by), NONE, 0);
	nrNodes = frame.length;
	frameOf = Int32Array.from(frame);
	depthOf = Int32Array.from(depth);
	parentOf = Int32Array.from(parent);
	baseOf = Int32Array.from(bases);
	endOf = new Int32Array(nrNodes);
	for (let i = nrNodes - 1; i >= 0; i--) {
		endOf[i] = Math.max(endOf[i], i + 1);
		if (i)
			endOf[parentOf[i]] = Math.max(endOf[parentOf[i]], endOf[i]);
	}
}

export const nameOf = i => i ? frames.name[frameOf[i]] : "all";
export const fileOf = i => i ? data.files[frames.file[frameOf[i]]] : "";
export const kindOf = i => i ? frames.kind[frameOf[i]] : NONE;

/* Return: the library of a node without a function name, or "". */
export function libraryOf(i) {
	const m = kindOf(i) === NONE && /^(.+)\+0x[0-9a-f]+$/.exec(nameOf(i));

	return m ? m[1] : "";
}

/* Return: the outermost of the consecutive nameless frames of one library that end at @i. */
export function outermostOf(i) {
	const library = libraryOf(i);

	while (library && libraryOf(parentOf[i]) === library)
		i = parentOf[i];
	return i;
}

/* Return: the name of a frame, or of a run of frames without names: "libcublas.so.13, 9 frames". */
export function runName(i) {
	const nr = depthOf[i] - depthOf[outermostOf(i)] + 1;

	return nr > 1 ? `${libraryOf(i)}, ${nr} frames` : nameOf(i);
}

/* The name of a function or a kernel, without its type and its arguments. */
const bareName = i => /^(?:void )?([^(<]*)/.exec(nameOf(i))[1];

/*
 * Whether a function only launches the kernel @i. nvcc generates such functions; the function that
 * <<<>>> calls has the kernel's own name.
 */
const isStub = (n, i) => /^__(cudaLaunchKernel|device_stub_)/.test(nameOf(n)) ||
	kinds[kindOf(i)] === "kernel" && bareName(n) === bareName(i) && bareName(i) !== "";

/*
 * Return: the node of the frame that best names the place of a call path, as xpumerge chooses it:
 * the innermost Python frame, or else the innermost frame of the program, or else the innermost
 * frame of a library. @i: the work
 */
export function placeOfPath(i) {
	const best = [NONE, NONE, NONE];

	for (let n = parentOf[i]; n > 0 && !isRoot(n); n = parentOf[n]) {
		const place = frames.place[frameOf[n]];

		if (isStub(n, i))
			continue;

		if (best[place] === NONE && (place || fileOf(n)))
			best[place] = n;
	}
	return [best[2], best[1], best[0], parentOf[i]].find(n => n !== NONE);
}

export const isRoot = i => !i || frames.root[frameOf[i]];

/* Return: the label for the place of a frame: kernels have their shape instead of a file. */
export const whereName = i => kinds[kindOf(i)] === "kernel" ? "launched as" : "file";

/* Calls @visit for each child of @node. */
export function forChildren(node, visit) {
	for (let i = node + 1; i < endOf[node]; i = endOf[i])
		visit(i);
}

/* Return: the names from the root to a node, without "all". */
export function pathOf(i) {
	const path = [];

	for (let n = i; n > 0; n = parentOf[n])
		path.push(nameOf(n));
	return path.reverse();
}
