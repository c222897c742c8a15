/* SPDX-License-Identifier: MIT */
/* view.js - what the page shows, drawn again after each choice */
import { onStep } from "./actions.js";
import { paintChoices, setUpControls } from "./controls.js";
import { NONE } from "./data.js";
import { showDetail } from "./detail.js";
import { el, make } from "./dom.js";
import { loadEvents } from "./events.js";
import { drawGraph, markSelected, scrollToRoot } from "./graph.js";
import { drawLines } from "./lines.js";
import { DEFAULTS, TABS, compute, pick, regroup, state } from "./model.js";
import { search, showMatched } from "./search.js";
import { listenToTimeline } from "./steer.js";
import { drawStrip } from "./strip.js";
import { drawTimeline, setUpTimeline } from "./timeline.js";
import { hideTip } from "./tooltip.js";
import { drawTop } from "./top.js";
import { nrNodes } from "./tree.js";
import { readUrl } from "./url.js";
import { drawWork, markWork } from "./work.js";

/* the choices that change sums, and the choices after which the graph scrolls to its root */
export const SUMS = ["by", "from", "to", "span", "mode", "off", "gpu", "unit", "width", "per"];
export const SCROLL = ["by", "zoom", "group", "flame", "tab"];

function drawTime() {
	drawGraph();
	drawWork();
}

const DRAW = { graph: drawTime, top: drawTop, lines: drawLines };

/* For each tab: the element that gets the focus if the focused element disappears. */
const REFUGE = { graph: "chart", top: "top-list", lines: "lines" };

/*
 * Adds a tab in front of the other tabs, or behind them if @first is false. The tab's panel has the
 * id @name.
 */
export function addTab(name, title, draw, first = true) {
	TABS.push(name);
	DRAW[name] = draw;
	REFUGE[name] = name;
	el("tabs")[first ? "prepend" : "append"](make("button", { type: "button", role: "tab",
		id: "tab-" + name, "aria-controls": name, "aria-selected": "false" }, title));
}

function drawTab() {
	for (const tab of TABS) {
		el(tab).hidden = tab !== state.tab;
		el("tab-" + tab).setAttribute("aria-selected", tab === state.tab);
		el("tab-" + tab).tabIndex = tab === state.tab ? 0 : -1;
	}
	paintChoices();
	drawStrip();
	drawTimeline();
	DRAW[state.tab]();
	showMatched();
	showDetail();
}

/* Updates everything after choices changed. @before: the previous choices */
function follow(before) {
	const differs = list => list.some(member => state[member] !== before[member]);

	if (differs(["by"]))
		regroup();
	for (const member of ["zoom", "selected"])
		if (state[member] >= nrNodes)
			state[member] = DEFAULTS[member];
	if (differs(["term", "by"]))
		search(state.term);
	if (differs(["from", "to", "span"]))
		pick();
	if (differs(SUMS))
		compute();
	hideTip();
	if (!differs(Object.keys(DEFAULTS).filter(member => member !== "selected")) &&
		state.tab === "graph") {
		markSelected();
		markWork();
		showDetail();
		return;
	}
	drawTab();
	if (differs(SCROLL))
		scrollToRoot();
}

function update(before) {
	const focused = document.activeElement !== document.body;

	follow(before);
	if (focused && document.activeElement === document.body)
		el(state.tab === "top" && state.focus !== NONE ? "sandwich" : REFUGE[state.tab])
		.focus({ preventScroll: true });
}

/* Takes the choices from the address when the browser goes back or forward. */
function goTo() {
	const before = { ...state };

	Object.assign(state, readUrl());
	el("search").value = state.term;
	update(before);
}

export function start() {
	setUpControls(drawTab);
	onStep(update);
	regroup();
	compute();
	Object.assign(state, readUrl());
	el("search").value = state.term;
	update(Object.fromEntries(Object.keys(DEFAULTS).map(member => [member, undefined])));
	addEventListener("popstate", goTo);
	addEventListener("hashchange", goTo);
	loadEvents().then(found => {
		if (!found)
			return;
		pick();
		compute();
		setUpTimeline();
		listenToTimeline();
		drawTab();
		document.documentElement.dataset.events = "1";
	});
}
