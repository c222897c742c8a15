/* SPDX-License-Identifier: MIT */
/* input.js - the keyboard, and the pointer on the graph */
import { flip, go, select } from "./actions.js";
import { NONE, times } from "./data.js";
import { copyPath } from "./detail.js";
import { el } from "./dom.js";
import { frameAt, reveal, surround } from "./flame.js";
import { drawGraph, endsOf, placeOf } from "./graph.js";
import { closePanels } from "./header.js";
import { openHelp } from "./help.js";
import { DEFAULTS, MODES, TABS, hasMode, isPicked, state, width } from "./model.js";
import { drawSandwich } from "./sandwich.js";
import { toggleLanes } from "./steer.js";
import { hideTip, moveTip, showTip } from "./tooltip.js";
import { listenToRows } from "./top.js";
import { forChildren, frameOf, groupings, parentOf } from "./tree.js";

/* Return: the frame that an arrow key leads to: the parent, the widest child, or a neighbor. */
function neighbour(key) {
	const i = state.selected, outward = state.flame ? "ArrowDown" : "ArrowUp";
	let best = NONE;

	if (i === NONE)
		return state.zoom;
	if (key === outward)
		return i ? endsOf(parentOf[endsOf(i)[0]])[0] : i;
	if (key === "ArrowUp" || key === "ArrowDown") {
		forChildren(endsOf(i)[1], c => {
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

/* steps that features add; they are taken if no other step is possible */
export const STEPS_OUT = [];

/* Undoes one step: closes a panel, or clears the search, the zoom or the stretch of time. */
function stepOut() {
	const panel = closePanels(null);

	if (panel) {
		panel.querySelector("summary").focus();
	} else if (state.term) {
		el("search").value = "";
		go({ term: "" });
	} else if (state.tab === "top" && state.focus !== NONE) {
		go({ focus: NONE });
	} else if (state.zoom || state.group || state.selected !== NONE) {
		go({ zoom: 0, group: "", selected: NONE });
	} else if (state.event) {
		go({ event: "" });
	} else if (isPicked()) {
		go({ from: 0, to: times.nr });
	} else {
		STEPS_OUT.forEach(step => step());
	}
}

const next = (list, value) => list[(list.indexOf(value) + 1) % list.length];

function toTab(tab) {
	if (tab && !el("tab-" + tab).hidden)
		go({ tab });
}

const KEYS = {
	"/": () => {
		el("search").focus();
		el("search").select();
	},
	"?": openHelp,
	1: () => toTab(TABS[0]),
	2: () => toTab(TABS[1]),
	3: () => toTab(TABS[2]),
	4: () => toTab(TABS[3]),
	t: () => go({ mode: next(MODES.filter(hasMode), state.mode) }),
	b: () => go({ by: next(groupings().map(([by]) => by), state.by) }),
	i: flip,
	o: () => go({ strip: !state.strip }),
	e: toggleLanes,
	f: () => go({ open: state.open ? DEFAULTS.open : "all" }),
	c: copyPath,
	s: () => {
		if (state.selected > 0)
			go({ tab: "top", focus: frameOf[state.selected] });
	},
	u: () => {
		if (state.group)
			go({ group: "" });
		else if (state.zoom)
			select(parentOf[state.zoom], true);
	},
};

/* Handles a click on a drawn frame; graph.js describes frames that represent several nodes. */
function onFrame(d) {
	if (d.what === "narrow")
		go({ zoom: d.i, group: `${d.first}-${d.last}-${d.limit}`, selected: NONE });
	else if (d.what === "fold")
		go({ open: [state.open, d.run[0]].filter(v => v !== "").join(".") });
	else if (d.what === "cpu")
		go({ selected: d.i }, true);
	else
		select(d.i, true);
}

function onChartKey(event) {
	if (/^Arrow/.test(event.key)) {
		event.preventDefault();
		select(neighbour(event.key), false);
		const place = placeOf(state.selected);

		if (place)
			reveal(place);
	} else if (event.key === "Enter" && state.selected !== NONE) {
		const place = placeOf(state.selected);

		onFrame(place ? place.d : { i: state.selected });
	}
}

function onKey(event) {
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);

	if (event.ctrlKey || event.altKey || event.metaKey || el("help").open)
		return;
	if (event.key === "Escape") {
		stepOut();
		if (typing)
			event.target.blur();
	} else if (!typing && Object.hasOwn(KEYS, event.key)) {
		event.preventDefault();
		KEYS[event.key]();
	} else if (event.target === el("chart")) {
		onChartKey(event);
	}
}

/* Draws again when the width of an element changes. */
export function onResize(id, tab, redraw) {
	let width = 0;

	new ResizeObserver(() => {
		const now = el(id).clientWidth;

		if (now === width || state.tab !== tab || el(id).hidden)
			return;
		width = now;
		redraw();
	}).observe(el(id));
}

/* Shows an outline and a tooltip for the frame under the pointer. */
function listenToGraph() {
	const chart = el("chart");
	let over = null;

	const leave = () => {
		over = null;
		surround("hovered", null);
		hideTip();
	};
	chart.addEventListener("click", event => {
		/*
		 * If a button in place of the graph was clicked, it has just been replaced by the
		 * graph.
		 */
		const place = chart.contains(event.target) && frameAt(event);

		if (place)
			onFrame(place.d);
	});
	chart.addEventListener("mousemove", event => {
		const place = frameAt(event);

		chart.classList.toggle("over", Boolean(place));
		if (!place) {
			leave();
		} else if (place === over) {
			moveTip(event);
		} else {
			over = place;
			surround("hovered", place);
			showTip(event, place.d);
		}
	});
	chart.addEventListener("mouseleave", leave);
	chart.addEventListener("scroll", leave);
}

export function listen() {
	listenToGraph();
	listenToRows("top-list");
	listenToRows("work");
	document.addEventListener("keydown", onKey);
	onResize("chart", "graph", drawGraph);
	onResize("sandwich", "top", drawSandwich);
}
