/* SPDX-License-Identifier: MIT */
/*
 * flame.js - draws the frames of a flame graph, and finds the frame under the pointer
 *
 * Thousands of frames are hardly wider than a pixel. An element for each frame would take seconds,
 * so frames too narrow for a label are drawn together, as one path for each color.
 */
import { draw, el } from "./dom.js";

const ROW = 18, LABEL_PIXELS = 22, PADDING = 4, FONT = 12;
const MIN_LABEL = 2, MAX_LABEL = 1000;	/* label lengths in characters; no label is longer than
					 * MAX_LABEL, because no frame is wider */

/*
 * The drawn frames, { d, name, fill, x, y, w }, in pixels of the drawing; and the same frames by
 * level, from left to right.
 */
let placed = [], levels = [];

/* ---- labels --------------------------------------------------------------------------------- */

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

function widthOf(text) {
	let pixels = widths.get(text);

	if (pixels === undefined) {
		if (widths.size > 20000)
			widths.clear();
		pixels = ruler.measureText(text).width;
		widths.set(text, pixels);
	}
	return pixels;
}

/* Return: the text, or its beginning with an ellipsis; "" if that would say too little. */
function fit(text, pixels) {
	const start = text.slice(0, MAX_LABEL), all = widthOf(start);

	if (all <= pixels && start === text)
		return text;
	for (let nr = Math.min(start.length, Math.ceil(start.length * pixels / all));
		nr >= MIN_LABEL; nr--) {
		/* Keep surrogate pairs together. */
		const label = start.slice(0, nr).replace(/[\ud800-\udbff]$/, "").trimEnd() +
			"\u2026";

		if (ruler.measureText(label).width <= pixels)
			return label;
	}
	return "";
}

/* ---- places --------------------------------------------------------------------------------- */

/* Places the frames of a tree, whose elements are { v, children }. */
function place(root, pixels, flame) {
	const todo = [{ d: root, x: 0, level: 0 }], scale = pixels / root.v;

	placed = [];
	levels = [];
	while (todo.length) {
		const { d, x, level } = todo.pop(),
			p = { d, x, y: 0, w: d.v * scale, level, name: "", fill: "" };
		let at = x;

		placed.push(p);
		(levels[level] ||= []).push(p);
		for (const child of d.children) {
			todo.push({ d: child, x: at, level: level + 1 });
			at += child.v * scale;
		}
	}
	for (const row of levels)
		row.sort((a, b) => a.x - b.x);
	for (const p of placed)
		p.y = ROW * (flame ? levels.length - 1 - p.level : p.level);
}

/* ---- the drawing ---------------------------------------------------------------------------- */

/* Leave a little of the background between frames. */
const drawnWidth = p => Math.max(p.w * .7, p.w - .7);

function labelled(p) {
	const box = draw("g", { class: p.d.fade ? "frame fade" : "frame" },
		draw("rect", { x: p.x.toFixed(2), y: p.y, width: drawnWidth(p).toFixed(2),
			height: ROW - 1, fill: p.fill }));
	const label = fit(p.name, p.w - 2 * PADDING);

	if (label)
		box.append(draw("text", { x: (p.x + PADDING).toFixed(2), y: p.y + 13 }, label));
	return box;
}

function paths(list) {
	const byColour = new Map();

	for (const p of list) {
		const w = drawnWidth(p).toFixed(2);

		byColour.set(p.fill, (byColour.get(p.fill) || "") +
			`M${p.x.toFixed(2)} ${p.y}h${w}v${ROW - 1}h-${w}z`);
	}
	return [...byColour].map(([fill, d]) => draw("path", { d, fill }));
}

const outlineRect = id => draw("rect",
	{ id, class: "outline", height: ROW - 1, visibility: "hidden" });

/*
 * Draws a tree, replacing the contents of the box. @name, @fill: functions for the name and the
 * color of a frame
 */
export function drawFlame(box, root, { pixels, flame, name, fill }) {
	place(root, pixels, flame);
	ruler.font = `${FONT}px ${getComputedStyle(box).fontFamily}`;
	for (const p of placed) {
		p.name = name(p.d);
		p.fill = fill(p.d);
	}
	const svg = draw("svg", { class: "flame", width: pixels, height: levels.length * ROW,
				  viewBox: `0 0 ${pixels} ${levels.length * ROW}` },
		...paths(placed.filter(p => p.w < LABEL_PIXELS)),
		...placed.filter(p => p.w >= LABEL_PIXELS).map(labelled),
		draw("path", { id: "alike", class: "outline" }), outlineRect("chosen"),
		outlineRect("hovered"));

	/* The list includes frames that have no element of their own. Tests read the list, too. */
	svg.frames = placed;
	box.replaceChildren(svg);
}

/* Puts an outline around a frame, or around no frame if @p is null. */
export function surround(id, p) {
	const rect = el(id);

	if (!rect)
		return;
	rect.setAttribute("visibility", p ? "visible" : "hidden");
	if (!p)
		return;
	rect.setAttribute("x", p.x);
	rect.setAttribute("y", p.y);
	rect.setAttribute("width", Math.max(1, drawnWidth(p)));
}

/* Puts an outline around each frame for which @of is true. */
export function surroundAll(id, of) {
	const path = el(id);

	if (path)
		path.setAttribute("d", placed.filter(p => of(p.d)).map(p => {
			const w = Math.max(1, drawnWidth(p)).toFixed(2);

			return `M${p.x.toFixed(2)} ${p.y}h${w}v${ROW - 1}h-${w}z`;
		}).join(""));
}

/* Return: the first drawn frame for which @of is true, or undefined. */
export const findPlaced = of => placed.find(p => of(p.d));

/* Return: the frame under the pointer, or null. */
export function frameAt(event) {
	const svg = el("chart").querySelector("svg");

	if (!svg)
		return null;
	const box = svg.getBoundingClientRect(), x = event.clientX - box.left,
		y = event.clientY - box.top;
	const row = levels.find(list => y >= list[0].y && y < list[0].y + ROW) || [];
	let low = 0, high = row.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (row[middle].x <= x)
			low = middle + 1;
		else
			high = middle;
	}
	const p = row[low - 1];

	return p && x < p.x + p.w ? p : null;
}

/* Scrolls the graph so that a frame is visible. */
export function reveal(p) {
	const box = el("chart"), view = box.getBoundingClientRect();
	const y = box.querySelector("svg").getBoundingClientRect().top + p.y;

	box.scrollTop -= Math.max(0, view.top - y);
	box.scrollTop += Math.max(0, y + ROW - view.bottom);
}
