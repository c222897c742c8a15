/* SPDX-License-Identifier: MIT */
/*
 * data.js - the merged tree, as merge/write/html.h describes it
 *
 * Nothing here depends on what the user chooses.
 */

export const data = JSON.parse(document.getElementById("xpu-data").textContent);
export const sides = data.sides;
export const diff = sides.length === 2;
export const kinds = data.kinds;
export const NONE = -1;

/* Node 0 is the root, "all". Node i + 1 is node i of the page. Parents come before their children. */
export const nrNodes = data.nodes.frame.length + 1;
export const frameOf = new Int32Array(nrNodes);
export const depthOf = new Int32Array(nrNodes);
export const parentOf = new Int32Array(nrNodes);
export const endOf = new Int32Array(nrNodes);		/* the node after the last descendant */

(() => {
	const at = [0];

	frameOf[0] = NONE;
	parentOf[0] = NONE;
	for (let i = 1; i < nrNodes; i++) {
		frameOf[i] = data.nodes.frame[i - 1];
		depthOf[i] = data.nodes.depth[i - 1] + 1;
		parentOf[i] = at[depthOf[i] - 1];
		at[depthOf[i]] = i;
	}
	for (let i = nrNodes - 1; i >= 0; i--) {
		endOf[i] = Math.max(endOf[i], i + 1);
		if (i)
			endOf[parentOf[i]] = Math.max(endOf[parentOf[i]], endOf[i]);
	}
})();

export const cells = {
	nr: data.cells.node.length,
	node: Int32Array.from(data.cells.node, n => n + 1),
	kind: Uint8Array.from(data.cells.kind),
	gpu: Int32Array.from(data.cells.gpu),
	values: data.cells.values.map(v => ({
		ns: Float64Array.from(v.ns), nr: Float64Array.from(v.nr),
		bytes: Float64Array.from(v.bytes),
	})),
};
export const frames = data.frames;

export const nameOf = i => i ? frames.name[frameOf[i]] : "all";
export const fileOf = i => i ? data.files[frames.file[frameOf[i]]] : "";
export const kindOf = i => i ? frames.kind[frameOf[i]] : NONE;

/* A kernel has how it was launched in place of its file. */
export const whereName = i => kinds[kindOf(i)] === "kernel" ? "launched as" : "file";

export const present = new Array(kinds.length).fill(false);
for (let c = 0; c < cells.nr; c++)
	present[cells.kind[c]] = true;

export const isDevice = kinds.map(kind => ["kernel", "memcpy", "memset", "pending"].includes(kind));

/* Calls @visit for each child of @node. */
export function forChildren(node, visit) {
	for (let i = node + 1; i < endOf[node]; i = endOf[i])
		visit(i);
}
