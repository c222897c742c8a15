/* SPDX-License-Identifier: MIT */
/* input.js - the keyboard, and the pointer on the graph */
import { NONE, forChildren, parentOf } from "./data.js";
import { el } from "./dom.js";
import { drawGraph, groupOf } from "./graph.js";
import { state, width } from "./model.js";
import { search } from "./search.js";
import { hideTip, moveTip } from "./tooltip.js";
import { draw, flip, select } from "./view.js";

/* Return: the frame that an arrow key leads to: the parent, the widest child, or a neighbour. */
function neighbour(key) {
	const i = state.selected, outward = state.flame ? "ArrowDown" : "ArrowUp";
	let best = NONE;

	if (i === NONE)
		return state.zoom;
	if (key === outward)
		return i ? parentOf[i] : i;
	if (key === "ArrowUp" || key === "ArrowDown") {
		forChildren(i, c => {
			if (width[c] > 0 && (best === NONE || width[c] > width[best]))
				best = c;
		});
		return best === NONE ? i : best;
	}
	if (!i)
		return i;
	const row = [];

	forChildren(parentOf[i], c => {
		if (width[c] > 0)
			row.push(c);
	});
	if (state.order === "value")
		row.sort((a, b) => width[b] - width[a]);
	best = row[row.indexOf(i) + (key === "ArrowRight" ? 1 : -1)];
	return best === undefined ? i : best;
}

function onKey(event) {
	if (event.ctrlKey || event.altKey || event.metaKey)
		return;
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);

	if (event.key === "Escape") {
		if (el("search").value) {
			el("search").value = "";
			search("");
			draw();
		} else if (state.zoom || state.selected !== NONE) {
			select(NONE, true);
		}
		if (typing)
			event.target.blur();
	} else if (!typing && event.key === "/") {
		event.preventDefault();
		el("search").focus();
		el("search").select();
	} else if (!typing && event.key === "i") {
		flip();
	} else if (event.target === el("chart") && /^Arrow/.test(event.key)) {
		event.preventDefault();
		select(neighbour(event.key), false);
		const g = groupOf(state.selected).node();

		if (g)
			g.scrollIntoView({ block: "nearest" });
	} else if (event.target === el("chart") && event.key === "Enter" && state.selected !== NONE) {
		select(state.selected, true);
	}
}

export function listen() {
	/* Handled before d3-flame-graph sees the click: it knows only the frames that are drawn now. */
	el("chart").addEventListener("click", event => {
		const g = event.target.closest("g.frame");

		event.stopPropagation();
		if (g)
			select(g.__data__.data.i, true);
	}, true);
	el("chart").addEventListener("mousemove", moveTip);
	el("chart").addEventListener("scroll", hideTip);
	document.addEventListener("keydown", onKey);
	let width = 0;

	new ResizeObserver(() => {
		const now = el("chart").clientWidth;

		if (now === width || state.tab !== "graph")
			return;
		width = now;
		drawGraph();
	}).observe(el("chart"));
}
