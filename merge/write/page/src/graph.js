/* SPDX-License-Identifier: MIT */
/* graph.js - the flame graph */
import { colour } from "./colours.js";
import { NONE, cells, endOf, forChildren, kinds, nameOf, nrNodes, parentOf } from "./data.js";
import { el, make } from "./dom.js";
import { flamegraph, selectElements } from "./library.js";
import { measure, shownBefore, state, width } from "./model.js";
import { hideTip, tooltip } from "./tooltip.js";
import { percent, plural } from "./words.js";

const CELL_HEIGHT = 18;

const chart = flamegraph().cellHeight(CELL_HEIGHT).minFrameSize(0).selfValue(false)
	.tooltip(tooltip).resetHeightOnZoom(true).transitionDuration(0).getName(d => nameOf(d.data.i))
	.setColorMapper(d => colour(d.data.i)).setLabelHandler(d => nameOf(d.data.i))
	.setDetailsHandler(() => {});
let started = false;

/*
 * Return: the frames to draw. They are the ancestors of the frame that is zoomed to, and the frames
 * below it that are at least a pixel wide.
 */
function visibleTree(pixels) {
	const zoom = state.zoom, least = width[zoom] / pixels;
	const top = { i: zoom, v: width[zoom], children: [] };
	const todo = [top];
	let nr = 1, narrow = 0, narrowSum = 0, root = top;

	while (todo.length) {
		const node = todo.pop();

		forChildren(node.i, i => {
			if (!width[i])
				return;
			if (width[i] < least) {
				narrow += shownBefore[endOf[i]] - shownBefore[i];
				narrowSum += width[i];
				return;
			}
			const child = { i, v: width[i], children: [] };

			node.children.push(child);
			todo.push(child);
			nr++;
		});
		if (state.order === "value")
			node.children.sort((a, b) => b.v - a.v);
	}
	for (let i = parentOf[zoom]; i !== NONE; i = parentOf[i])
		root = { i, v: width[zoom], fade: true, children: [root] };
	return { root, nr, narrow, narrowSum };
}

function note(drawn) {
	const parts = [];
	const nothing = nrNodes - shownBefore[nrNodes];
	let pending = 0;

	if (drawn.narrow)
		parts.push(`${plural(drawn.narrow, "frame")} narrower than a pixel not drawn, ` +
			   `at the ends of ${percent(drawn.narrowSum, width[state.zoom])} of the ` +
			   "width: zoom in to see them.");
	for (let c = 0; c < cells.nr; c++)
		if (kinds[cells.kind[c]] === "pending")
			for (const v of cells.values)
				pending += v.nr[c];
	if (pending && measure() !== "nr")
		parts.push(`${plural(pending, "pending launch").replace("hs", "hes")} without ` +
			   "time: unit count shows them.");
	else if (nothing && !drawn.narrow && state.zoom === 0)
		parts.push(`${plural(nothing, "frame")} without any of what is chosen.`);
	el("note").textContent = parts.join(" ");
}

export function drawGraph() {
	const box = el("chart"), pixels = Math.max(200, box.clientWidth - 16);
	const empty = box.querySelector("#empty");

	hideTip();
	if (!(width[state.zoom] > 0))
		state.zoom = 0;
	el("reset").disabled = state.zoom === 0;
	if (empty)
		empty.remove();
	box.classList.toggle("flame", state.flame);
	if (!(width[0] > 0)) {
		if (started)
			chart.destroy();
		started = false;
		box.append(make("p", { id: "empty" }, "Nothing of what is chosen is in this recording."));
		note({ narrow: 0 });
		return;
	}
	const drawn = visibleTree(pixels);

	chart.width(pixels).inverted(!state.flame);
	if (started)
		chart.update(drawn.root);
	else
		selectElements(box).datum(drawn.root).call(chart);
	started = true;
	markSelected();
	note(drawn);
}

export function groupOf(i) {
	return selectElements("#chart svg").selectAll("g").filter(d => d.data.i === i);
}

export function markSelected() {
	selectElements("#chart svg").selectAll("g").classed("selected", d => d.data.i === state.selected);
}

export function zoomTo(i) {
	state.zoom = i;
	drawGraph();
	scrollToRoot();
}

export function scrollToRoot() {
	const box = el("chart");

	box.scrollTop = state.flame ? box.scrollHeight : 0;
}
