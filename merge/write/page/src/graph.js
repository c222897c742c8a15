/* SPDX-License-Identifier: MIT */
/* graph.js - the flame graph */
import { go } from "./actions.js";
import { colour, specialColour } from "./colours.js";
import { NONE, cells, derived, isolated, kinds } from "./data.js";
import { el, make } from "./dom.js";
import { drawFlame, findPlaced, surround, surroundAll } from "./flame.js";
import { cellValues, count, isPicked, measure, onCpu, shownBefore, state, width } from "./model.js";
import { matches } from "./search.js";
import { hideTip } from "./tooltip.js";
import {
	endOf, forChildren, frameOf, isRoot, kindOf, libraryOf, nameOf, nrNodes, parentOf,
} from "./tree.js";
import { integer, percent, plural } from "./words.js";

/* approximate width of a frame that represents narrow frames */
const GROUP_PIXELS = 150;

/*
 * A drawn frame is { i, v, children } for node i. With the member "what", it is something else:
 * "cpu" is the CPU time of node i itself
 * "narrow" is the children of node i from "first" to "last" that are narrower than "limit"
 * "fold" is the nodes in "run", each of which is the only child of the previous node
 */
const narrowWords = d => `${plural(d.nr, "frame")}, ${percent(d.v, width[0])}`;

export function labelOf(d) {
	switch (d.what) {
	case "cpu": return "on CPU";
	case "narrow": return narrowWords(d);
	case "fold": return libraryOf(d.run[0]) ?
		`${isolated(libraryOf(d.run[0]))}, ${d.run.length} frames` :
		`${isolated(nameOf(d.run[0]))} \u22ef ` +
		`${isolated(nameOf(d.run[d.run.length - 1]))} (${d.run.length} frames)`;
	default: return nameOf(d.i);
	}
}

function fillOf(d) {
	if (!d.what)
		return colour(d.i);
	const within = d.what === "fold" ? d.run.some(n => matches && matches[frameOf[n]]) : false;

	return specialColour(d.what, within);
}

const opened = () => state.open === "all" ? null :
	new Set(state.open.split(".").filter(Boolean).map(Number));

/*
 * Return: the frames that all calls below a root share. Each has only one child that is wide enough
 * to be drawn. The last frame, below which paths differ, is excluded.
 */
function sharedRun(root, least) {
	const run = [];

	for (let at = root;;) {
		let only = NONE;

		forChildren(at, c => {
			if (only === NONE || width[c] > width[only])
				only = c;
		});
		if (only === NONE || width[at] -
			width[only] >= least || kindOf(only) !== NONE || isRoot(only))
			break;
		run.push(only);
		at = only;
	}
	run.pop();
	return run.length > 1 ? run : null;
}

/* Return: nameless frames of one library; each frame is the only child of the previous frame. */
function namelessRun(i, least) {
	const library = libraryOf(i), run = [i];

	if (!library)
		return null;
	for (let at = i;;) {
		let only = NONE;

		forChildren(at, c => {
			if (only === NONE || width[c] > width[only])
				only = c;
		});
		if (only === NONE || libraryOf(only) !== library ||
			width[at] - width[only] >= least)
			break;
		run.push(only);
		at = only;
	}
	return run.length > 1 ? run : null;
}

/* For each node: the run into which it is folded. */
let folds = new Map();

function findFolds(least) {
	const open = opened(), unfolded = new Set();

	folds = new Map();
	if (!open)
		return;
	const visit = root => {
		const run = width[root] >= least && sharedRun(root, least);

		if (run && open.has(run[0]))
			run.forEach(n => unfolded.add(n));
		else if (run)
			run.forEach(n => folds.set(n, run));
		forChildren(root, c => {
			if (isRoot(c) && width[c] > 0)
				visit(c);
		});
	};

	visit(0);
	for (let i = 1; i < nrNodes; i++) {
		const run = width[i] >= least && !folds.has(i) && !unfolded.has(i) &&
			namelessRun(i, least);

		if (!run || run.some(n => folds.has(n)))
			continue;
		if (open.has(i))
			i = run[run.length - 1];
		else
			run.forEach(n => folds.set(n, run));
	}
}

/*
 * Return: a function that tells whether a child of the zoomed frame is in the zoomed group of
 * narrow frames.
 */
function inGroup() {
	const [first, last, limit] = state.group.split("-").map(Number);

	return i => i >= first && i <= last && width[i] < limit;
}

export function groupWidth() {
	const of = inGroup();
	let sum = 0;

	forChildren(state.zoom, i => {
		if (of(i))
			sum += width[i];
	});
	return sum;
}

/* Merges narrow children into one frame, or into several frames if one would be too wide. */
function groupNarrow(parent, list, least, tally) {
	const sum = list.reduce((v, i) => v + width[i], 0);
	const nr = Math.max(1, Math.min(list.length, Math.floor(sum / (GROUP_PIXELS * least))));
	let at = 0, done = 0;

	if (sum < least) {
		for (const i of list)
			tally.hidden += shownBefore[endOf[i]] - shownBefore[i];
		tally.hiddenSum += sum;
		return [];
	}
	return Array.from({ length: nr }, (_, k) => {
		const d = { i: parent, what: "narrow", first: list[at], v: 0, nr: 0, limit: least,
			children: [] };

		for (; at < list.length; at++) {
			if (k < nr - 1 && done + d.v >= (k + 1) * sum / nr)
				break;
			d.last = list[at];
			d.v += width[list[at]];
			d.nr += shownBefore[endOf[list[at]]] - shownBefore[list[at]];
		}
		done += d.v;
		return d;
	}).filter(d => d.v > 0);
}

/* Counts the siblings of a run's frames; these siblings are too narrow to be drawn. */
function tallyBeside(run, tally) {
	run.slice(0, -1).forEach((node, n) => forChildren(node, i => {
		if (i === run[n + 1] || !width[i])
			return;
		tally.hidden += shownBefore[endOf[i]] - shownBefore[i];
		tally.hiddenSum += width[i];
	}));
}

function drawnChildren(d, least, only, tally) {
	const list = [], narrow = [], own = onCpu(d.i);

	forChildren(d.i, i => {
		if (!width[i] || (only && !only(i)))
			return;
		if (width[i] < least)
			narrow.push(i);
		else
			list.push({ i, v: width[i], children: [] });
	});
	if (state.order === "value")
		list.sort((a, b) => b.v - a.v);
	if (own >= least && !only)
		list.push({ i: d.i, what: "cpu", v: own, children: [] });
	return list.concat(groupNarrow(d.i, narrow, least, tally));
}

/*
 * Return: the frames to draw. They are the ancestors of the zoomed frame, and the frames below it
 * that are at least a pixel wide.
 */
function visibleTree(pixels) {
	const zoom = state.zoom, all = state.group ? groupWidth() : width[zoom],
		least = all / pixels;
	const tally = { hidden: 0, hiddenSum: 0 };
	const top = { i: zoom, v: all, children: [] }, todo = [top];
	let root = top;

	findFolds(least);
	while (todo.length) {
		const d = todo.pop();
		const run = d !== top && !d.what && folds.get(d.i);

		if (run) {
			const last = run[run.length - 1];

			/* The children of a run are the children of its last frame. */
			Object.assign(d, { what: "fold", run, i: run[0] });
			tallyBeside(run, tally);
			d.children = drawnChildren({ i: last }, least, null, tally);
		} else if (!d.what) {
			d.children = drawnChildren(d, least,
				d === top && state.group ? inGroup() : null, tally);
		}
		todo.push(...d.children.filter(c => !c.what));
	}
	if (state.group)
		top.fade = true;
	for (let i = parentOf[zoom]; i !== NONE; i = parentOf[i]) {
		const run = folds.get(i);

		root = run ? { i: run[0], what: "fold", run, v: all, fade: true,
			children: [root] } :
		       { i, v: all, fade: true, children: [root] };
		if (run)
			i = run[0];
	}
	return { root, ...tally };
}

function note(drawn) {
	const parts = [], nothing = nrNodes - shownBefore[nrNodes],
		all = state.group ? groupWidth() : width[state.zoom];
	let pending = 0;

	if (state.group)
		parts.push("Frames that were too narrow to draw; Esc goes back.");
	if (drawn.hidden)
		parts.push(`${plural(drawn.hidden, "frame")} narrower than a pixel, ` +
			`${percent(drawn.hiddenSum, all)} of the width, not drawn: ` +
			"zoom in to see them.");
	for (let c = 0; c < cells.nr; c++)
		if (kinds[cells.kind[c]] === "pending")
			pending += state.tab === "graph" ? sumOfCell(c) : 0;
	if (pending && measure() !== "nr")
		parts.push(`${integer.format(pending)} pending ` +
			`launch${pending === 1 ? "" : "es"} without time: unit count shows them.`);
	else if (nothing && !drawn.hidden && state.zoom === 0 && !isPicked() &&
		state.mode === "both")
		parts.push(`${plural(nothing, "frame")} without any of what is chosen.`);
	el("note").textContent = parts.join(" ");
	el("note").hidden = !parts.length;
}

function sumOfCell(c) {
	return cells.values.reduce((sum, _, s) => sum + cellValues(s).nr[c], 0);
}

/* Return: why the graph is empty. */
export function emptyWords() {
	if (!cells.nr && !derived)
		return "Nothing was recorded: no work of a device, no samples, no waits.";
	return `Nothing in this ${isPicked() ? "stretch" : "recording"} matches the selection.`;
}

function drawEmpty(box) {
	const counted = measure() === "ns" ? count.reduce((sum, list) => sum + list[0], 0) : 0;

	box.replaceChildren(make("p", { id: "empty" }, ...(counted ?
		["What is chosen took no time. ", make("button", { type: "button", id: "show-count",
			onclick: () => go({ unit: "count" }) }, "Show its count")] :
				[emptyWords()])));
	note({});
}

export function drawGraph() {
	const box = el("chart"), pixels = Math.max(200, box.clientWidth - 16);

	hideTip();
	if (!(width[state.zoom] > 0))
		state.zoom = 0;
	if (state.group && !(groupWidth() > 0))
		state.group = "";
	box.classList.toggle("flame", state.flame);
	if (!(width[0] > 0)) {
		drawEmpty(box);
		return;
	}
	const drawn = visibleTree(pixels),
		fromRoot = box.scrollHeight - box.clientHeight - box.scrollTop;

	drawFlame(box, drawn.root, { pixels, flame: state.flame, name: labelOf, fill: fillOf });
	/*
	 * Keep the frames near the root in place, although the height of the graph may have
	 * changed.
	 */
	if (state.flame)
		box.scrollTop = box.scrollHeight - box.clientHeight - fromRoot;
	markSelected();
	note(drawn);
}

/* Return: where a node is drawn (flame.js: placed); undefined if it is not drawn. */
export const placeOf = i => findPlaced(d => (!d.what || d.what === "fold") && d.i === i);

/*
 * Return: the first and the last node of the frame that shows @i. Both are @i, unless @i is folded
 * into a run.
 */
export function endsOf(i) {
	const run = folds.get(i);

	return run ? [run[0], run[run.length - 1]] : [i, i];
}

/* Marks the selected frame, and all other frames of the same work. */
export function markSelected() {
	const f = state.selected > 0 && kindOf(state.selected) !== NONE ? frameOf[state.selected] :
		NONE;

	surround("chosen", placeOf(state.selected));
	surroundAll("alike", d => !d.what && d.i > 0 && frameOf[d.i] === f);
}

export function scrollToRoot() {
	const box = el("chart");

	box.scrollTop = state.flame ? box.scrollHeight : 0;
}
