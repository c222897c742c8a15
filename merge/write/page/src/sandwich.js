/* SPDX-License-Identifier: MIT */
/*
 * sandwich.js - one function, with all its callers above it and all its callees below it
 *
 * Callers and callees are merged over all calls of the function. If the function calls itself, only
 * the outermost call counts, as in the total of the Top list.
 */
import { go } from "./actions.js";
import { frameColour } from "./colours.js";
import { NONE, diff, frames, isolated } from "./data.js";
import { draw, el, make } from "./dom.js";
import { onCpu, state, total, width } from "./model.js";
import { endOf, forChildren, frameOf, nrNodes, parentOf } from "./tree.js";
import { format, formatDelta, percent, plural } from "./words.js";

const SANDWICH_ROW = 18, MAX_DEPTH = 200;

/* Return: the outermost nodes of a frame. */
function outermostNodes(frame) {
	const list = [];

	for (let i = 1; i < nrNodes; i++)
		if (frameOf[i] === frame && width[i] > 0) {
			list.push(i);
			i = endOf[i] - 1;
		}
	return list;
}

/*
 * Groups pairs (a node and its width) by frame. Return: merged frames, { frame, v, pairs }, the
 * widest first.
 */
function merge(pairs) {
	const byFrame = new Map();

	for (const pair of pairs) {
		const frame = frameOf[pair.i];

		if (!byFrame.has(frame))
			byFrame.set(frame, { frame, v: 0, pairs: [] });
		const m = byFrame.get(frame);

		m.v += pair.v;
		m.pairs.push(pair);
	}
	return [...byFrame.values()].sort((a, b) => b.v - a.v || a.frame - b.frame);
}

/* Return: the callers of the nodes, each as wide as the node that it calls. */
const callers = pairs => pairs.filter(p => parentOf[p.i] > 0)
	.map(p => ({ i: parentOf[p.i], v: p.v }));

function callees(pairs) {
	const list = [];

	for (const p of pairs)
		forChildren(p.i, i => {
			if (width[i] > 0)
				list.push({ i, v: width[i] });
		});
	return list;
}

/*
 * Return: the frames of one direction, { frame, v, x, level }, in pixels. Narrow frames are merged;
 * the member "words" says how many.
 */
function layOut(pairs, next, all, pixels) {
	const placed = [], least = all / pixels;
	let rows = [{ pairs, x: 0 }];

	for (let level = 0; level < MAX_DEPTH && rows.length; level++) {
		const below = [];

		for (const row of rows) {
			let x = row.x, narrow = 0, nr = 0;

			for (const m of merge(next(row.pairs))) {
				if (m.v < least) {
					narrow += m.v;
					nr++;
					continue;
				}
				placed.push({ frame: m.frame, v: m.v, x, level });
				below.push({ pairs: m.pairs, x });
				x += m.v / all * pixels;
			}
			if (narrow >= least)
				placed.push({ frame: NONE, v: narrow, x, level,
					words: plural(nr, "frame") });
		}
		rows = below;
	}
	return placed;
}

function rect(p, y, all, pixels) {
	const w = p.v / all * pixels;
	const name = p.frame === NONE ? p.words : frames.name[p.frame];
	const chars = Math.floor((w - 6) / 6.7);
	const box = draw("g", { class: p.frame === NONE ? "frame rest" : "frame",
		"data-frame": p.frame },
		draw("title", null, `${name}\n${format(p.v)}, ${percent(p.v, width[0])} of all`),
		draw("rect", { x: p.x.toFixed(2), y, width: Math.max(.5, w - .6).toFixed(2),
			height: SANDWICH_ROW - 1,
			       fill: p.frame === NONE ? "hsl(215,8%,80%)" :
			frameColour(p.frame) }));

	if (chars >= 3)
		box.append(draw("text", { x: (p.x + 3).toFixed(2), y: y + 13 },
			name.length > chars ? name.slice(0, chars - 1) + "\u2026" : name));
	return box;
}

/* Draws the frames of one direction. @up: whether the first level is at the bottom. */
function chart(id, placed, up, all, pixels, words) {
	const levels = placed.reduce((n, p) => Math.max(n, p.level + 1), 0);

	if (!levels)
		return make("p", { id, class: "nothing" }, words);
	return draw("svg", { id, width: pixels, height: levels * SANDWICH_ROW,
		viewBox: `0 0 ${pixels} ${levels * SANDWICH_ROW}`, "aria-hidden": "true" },
		...placed.map(p => rect(p, (up ? levels - 1 - p.level : p.level) * SANDWICH_ROW,
			all, pixels)));
}

/* Makes a list of the nearest callers or callees, for screen readers. */
function listOf(title, placed) {
	return make("div", { class: "hidden keys" }, make("h3", null, title), make("ul", null,
		...placed.filter(p => !p.level && p.frame !== NONE).slice(0, 50)
		.map(p => make("li", null,
			make("button", { type: "button", onclick: () => go({ focus: p.frame }) },
			     `${isolated(frames.name[p.frame])}: ${format(p.v)}`)))));
}

function figures(nodes) {
	if (!diff)
		return format(nodes.reduce((sum, i) => sum + total[0][i], 0));
	const [a, b] = [0, 1].map(s => nodes.reduce((sum, i) => sum + total[s][i], 0));

	return `A ${format(a)}, B ${format(b)}, ${formatDelta(b - a)}`;
}

function showInGraph() {
	const term = "^" + frames.name[state.focus].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";

	el("search").value = term;
	go({ term, zoom: 0, group: "", open: "all", tab: "graph" });
}

export function drawSandwich() {
	const box = el("sandwich"), nodes = outermostNodes(state.focus);
	const pairs = nodes.map(i => ({ i, v: width[i] })),
		all = pairs.reduce((sum, p) => sum + p.v, 0);
	const pixels = Math.max(160, box.clientWidth - 24);
	const up = all ? layOut(pairs, callers, all, pixels) : [],
		down = all ? layOut(pairs, callees, all, pixels) : [];
	const own = nodes.reduce((sum, i) => sum + onCpu(i), 0);

	box.replaceChildren(
		make("p", { class: "actions" },
		     make("button", { type: "button", id: "show-in-graph", onclick: showInGraph },
			"Show in the flame graph"),
		     make("button", { type: "button", class: "close",
			"aria-label": "Close callers and callees",
				      onclick: () => go({ focus: NONE }) }, "\u00d7")),
		make("h3", null, "Called by"),
		chart("callers", up, true, all, pixels, "Nothing: it is where calls begin."),
		listOf("Callers", up), make("h2", { id: "focus-name", tabindex: "0",
			     style: `background:${frameColour(state.focus)}` },
				frames.name[state.focus]),
		make("p", { id: "focus-total" }, all ?
		     `${figures(nodes)} in ${plural(nodes.length, "place")}, ` +
		     `${percent(all, width[0])} of all` +
		     (own ? `; itself on CPU ${format(own)}` : "") :
		"It has no time or work in this selection."),
		make("h3", null, "Calls"),
		chart("callees", down, false, all, pixels, "Nothing."), listOf("Callees", down));
	box.onclick = event => {
		const g = event.target.closest("g.frame");

		if (g && +g.dataset.frame !== NONE)
			go({ focus: +g.dataset.frame });
	};
}
