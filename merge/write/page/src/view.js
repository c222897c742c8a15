/* SPDX-License-Identifier: MIT */
/* view.js - what the page shows, drawn again after each choice */
import { frames } from "./data.js";
import { showDetail } from "./detail.js";
import { el } from "./dom.js";
import { drawGraph, markSelected, scrollToRoot, zoomTo } from "./graph.js";
import { drawLines, kernelOf } from "./lines.js";
import { compute, state } from "./model.js";
import { search, showMatched } from "./search.js";
import { hideTip } from "./tooltip.js";
import { drawTop } from "./top.js";

export function draw() {
	if (state.tab === "graph")
		drawGraph();
	else if (state.tab === "top")
		drawTop(showFrame);
	else
		drawLines();
	showMatched();
	showDetail(select, showLines);
}

export function change() {
	compute();
	draw();
}

export const TABS = ["graph", "top", "lines"];

export function showTab(name) {
	state.tab = name;
	for (const tab of TABS) {
		el(tab).hidden = tab !== name;
		el("tab-" + tab).setAttribute("aria-selected", tab === name);
	}
	draw();
}

/* Zooms to the clicked frame itself, even where a parent is as wide. */
export function select(i, zoom) {
	state.selected = i;
	hideTip();
	if (zoom)
		zoomTo(i);
	else
		markSelected();
	showDetail(select, showLines);
}

function showLines(i) {
	state.kernel = kernelOf(i);
	showTab("lines");
}

function showFrame(frame) {
	const term = "^" + frames.name[frame].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";

	el("search").value = term;
	search(term);
	state.zoom = 0;
	showTab("graph");
}

export function flip() {
	state.flame = !state.flame;
	el("flip").textContent = state.flame ? "Icicle" : "Flame";
	draw();
	scrollToRoot();
}
