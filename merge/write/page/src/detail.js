/* SPDX-License-Identifier: MIT */
/* detail.js - the panel of the frame that was clicked */
import {
	NONE, cells, data, depthOf, diff, endOf, fileOf, kindOf, kinds, nameOf, parentOf, whereName,
	sides,
} from "./data.js";
import { el, make } from "./dom.js";
import { kernelOf } from "./lines.js";
import { self, state, total } from "./model.js";
import { sharesOf } from "./tooltip.js";
import { format, formatBytes, formatTime, integer, kindWords } from "./words.js";

/* The cells sorted by node: the cells below a node are a range of this order. */
const cellOrder = Int32Array.from({ length: cells.nr }, (_, c) => c)
	.sort((a, b) => cells.node[a] - cells.node[b]);

function firstCell(node) {
	let lo = 0, hi = cells.nr;

	while (lo < hi) {
		const mid = (lo + hi) >> 1;

		if (cells.node[cellOrder[mid]] < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

function* cellsBelow(i) {
	for (let n = firstCell(i); n < cells.nr && cells.node[cellOrder[n]] < endOf[i]; n++)
		yield cellOrder[n];
}

function kindRows(i) {
	const rows = kinds.map(() => sides.map(() => ({ ns: 0, self: 0, nr: 0, bytes: 0 })));

	for (const c of cellsBelow(i))
		cells.values.forEach((v, s) => {
			const row = rows[cells.kind[c]][s];

			row.ns += v.ns[c];
			row.nr += v.nr[c];
			row.bytes += v.bytes[c];
			if (cells.node[c] === i)
				row.self += v.ns[c];
		});
	return rows;
}

function kindTable(i) {
	const body = make("tbody");

	kindRows(i).forEach((row, kind) => row.forEach((r, s) => {
		if (!r.nr)
			return;
		body.append(make("tr", null,
			make("td", null, kindWords(kind) + (diff ? ` (${"AB"[s]})` : "")),
			make("td", { title: integer.format(r.ns) + " ns" }, formatTime(r.ns, "auto")),
			make("td", { title: integer.format(r.self) + " ns" }, formatTime(r.self, "auto")),
			make("td", null, integer.format(r.nr)),
			make("td", null, r.bytes ? formatBytes(r.bytes) : "")));
	}));
	return make("table", null,
		make("thead", null, make("tr", null, ...["", "total", "self", "count", "bytes"]
			.map(text => make("th", text === "count" ? { scope: "col", title:
				"device records; launches where they are pending; samples" } :
				{ scope: "col" }, text)))),
		body);
}

function describe(i) {
	if (!i)
		return "";
	if (kindOf(i) !== NONE)
		return kindWords(kindOf(i));
	if (depthOf[i] > data.roots)
		return "function";
	return data.roots > 1 || /^\[(?:pid|tid|host|GPU|stream) /.test(nameOf(i)) ? "root" :
		"threads of this name";
}

/*
 * @select: called as view.js's select() when a frame of the panel is clicked. @showLines: called with the
 * node of a kernel whose lines are asked for.
 */
export function showDetail(select, showLines) {
	const panel = el("detail"), i = state.selected, list = make("dl"), path = [];
	const add = (label, value) => list.append(make("dt", null, label), make("dd", null, value));

	if (i === NONE) {
		panel.hidden = true;
		return;
	}
	if (i)
		add("what", describe(i));
	if (fileOf(i))
		add(whereName(i), fileOf(i));
	sides.forEach((side, s) => {
		const prefix = diff ? "AB"[s] + " " : "";

		add(prefix + "total", `${format(total[s][i])}, ${sharesOf(i, s)}`);
		add(prefix + "self", format(self[s][i]));
	});
	for (let n = i; n !== NONE; n = parentOf[n])
		path.push(n);
	panel.replaceChildren(
		make("button", { type: "button", class: "close", "aria-label": "Close",
				 onclick: () => select(NONE, false) }, "\u00d7"),
		make("h2", null, nameOf(i)), list,
		...(kernelOf(i) ? [make("p", null, make("button", {
			type: "button", id: "show-lines", onclick: () => showLines(i) }, "Its lines"))] : []),
		make("h3", null, "Recorded below, whatever is chosen above"), kindTable(i),
		make("h3", null, "Call path, innermost first"),
		make("ul", { class: "path" }, ...path.map(n => make("li", null,
			make("button", { type: "button", title: nameOf(n),
					 onclick: () => select(n, true) }, nameOf(n))))));
	panel.hidden = false;
}
