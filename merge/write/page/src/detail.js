/* SPDX-License-Identifier: MIT */
/* detail.js - the panel of the frame that was clicked */
import { go, select } from "./actions.js";
import { NONE, cells, diff, isDevice, kinds, ofMemory, sideNames, sides } from "./data.js";
import { el, make } from "./dom.js";
import { kernelOf } from "./lines.js";
import { cellValues, count, isPicked, measure, self, state, total, whole } from "./model.js";
import { piecesWords } from "./pieces.js";
import { sharesOf } from "./tooltip.js";
import {
	endOf, fileOf, frameOf, isRoot, kindOf, nameOf, nodeOfCell, parentOf, pathOf, whereName,
} from "./tree.js";
import { format, formatBytes, formatTime, integer, kindWords } from "./words.js";

let orderOf = null, cellOrder;

/* Return: the cells sorted by node, so that the cells below a node are a range. */
function ordered() {
	if (orderOf !== nodeOfCell) {
		orderOf = nodeOfCell;
		cellOrder = Int32Array.from({ length: cells.nr }, (_, c) => c)
			.sort((a, b) => nodeOfCell[a] - nodeOfCell[b]);
	}
	return cellOrder;
}

function* cellsBelow(i) {
	const order = ordered();
	let lo = 0, hi = cells.nr;

	while (lo < hi) {
		const mid = (lo + hi) >> 1;

		if (nodeOfCell[order[mid]] < i)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < cells.nr && nodeOfCell[order[lo]] < endOf[i]; lo++)
		yield order[lo];
}

function kindRows(i) {
	const rows = kinds.map(() => sides.map(() => ({ ns: 0, self: 0, nr: 0, bytes: 0 })));

	for (const c of cellsBelow(i))
		sides.forEach((_, s) => {
			const row = rows[cells.kind[c]][s], v = cellValues(s);

			row.ns += v.ns[c];
			row.nr += v.nr[c];
			row.bytes += v.bytes[c];
			if (nodeOfCell[c] === i)
				row.self += v.ns[c];
		});
	return rows;
}

function kindTable(i) {
	const body = make("tbody");

	kindRows(i).forEach((row, kind) => row.forEach((r, s) => {
		if (!r.nr && !r.ns)
			return;
		body.append(make("tr", null,
			make("td", null, kindWords(kind) + (diff ? ` (${sideNames[s]})` : "")),
			...[r.ns, r.self].map(ns => ofMemory ? make("td") :
				make("td", { title: integer.format(ns) + " ns" },
					formatTime(ns, "auto"))),
			make("td", null, integer.format(r.nr)),
			make("td", null, r.bytes ? formatBytes(r.bytes) : "")));
	}));
	return make("table", null,
		make("thead", null, make("tr", null, ...["kind", "total", "self", "count", "bytes"]
			.map(text => make("th", text === "count" ? { scope: "col", title:
				"device records; launches where they are pending; samples" } :
				{ scope: "col" }, text)))),
		body);
}

function describeFrame(i) {
	if (!i)
		return "";
	if (kindOf(i) !== NONE)
		return kindWords(kindOf(i));
	return isRoot(i) ? "group" : "function";
}

/*
 * Copies text to the clipboard; if this is not permitted, selects the text and copies the
 * selection.
 */
async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const box = make("textarea", { class: "hidden", "aria-hidden": "true" });

		box.value = text;
		document.body.append(box);
		box.select();
		document.execCommand("copy");
		box.remove();
	}
}

/* Copies the call path of the chosen frame as text: a line for each frame, root first. */
export async function copyPath() {
	if (state.selected === NONE)
		return;
	await copy(pathOf(state.selected).map((name, depth) => " ".repeat(depth) + name)
		.join("\n") + "\n");
	el("said").textContent = "The call path is copied.";
	const button = el("copy-path");

	if (button)
		button.textContent = "Copied";
}

function buttons(i) {
	const kernel = kernelOf(i);
	const button = (id, text, onclick) => make("button", { type: "button", id, onclick }, text);

	return make("p", { class: "actions" },
		button("copy-path", "Copy path", copyPath),
		...(i ?
			[button("show-sandwich", "Callers and callees",
				() => go({ tab: "top", focus: frameOf[i] }))] : []),
		...(kernel ?
			[button("show-lines", "Its lines", () => go({ tab: "lines", kernel }))] :
			[]));
}

/* Adds the number of a node's pieces of work, and their average time, as in the table. */
function addAverage(add, i, s) {
	add("count", integer.format(count[s][i]));
	if (measure() === "ns" && kinds[kindOf(i)] !== "pending")
		add("average", (isPicked() ? "\u2248 " : "") +
			formatTime(Math.floor(whole[s][i] / count[s][i]), state.unit));
}

export function showDetail() {
	const panel = el("detail"), i = state.selected, list = make("dl"), path = [];
	const add = (label, value) => list.append(make("dt", null, label), make("dd", null, value));

	if (i === NONE || state.tab !== "graph") {
		panel.hidden = true;
		return;
	}
	if (i)
		add("what", describeFrame(i));
	if (fileOf(i))
		add(whereName(i), fileOf(i));
	const isWork = i > 0 && isDevice[kindOf(i)];

	sides.forEach((side, s) => {
		const prefix = diff ? sideNames[s] + " " : "";

		add(prefix + "total", `${format(total[s][i])}, ${sharesOf(i, s)}`);
		if (!isWork)
			add(prefix + "self", format(self[s][i]));
		else if (count[s][i])
			addAverage((label, value) => add(prefix + label, value), i, s);
	});
	for (let n = i; n !== NONE; n = parentOf[n])
		path.push(n);
	panel.replaceChildren(
		make("button", { type: "button", class: "close", "aria-label": "Close",
				 onclick: () => select(NONE, false) }, "\u00d7"),
		make("h2", { tabindex: "0" }, nameOf(i)), list,
		...(isWork && !diff ? piecesWords(i, endOf[i]) : []), buttons(i),
		...(isWork ? [] : [make("h3", null, "Below it, whatever is chosen above" +
			(isPicked() ? ", in this stretch" : "")), kindTable(i)]),
		make("h3", null, "Call path, innermost first"),
		make("ul", { class: "path" }, ...path.map(n => make("li", null,
			make("button", { type: "button", title: nameOf(n),
					 onclick: () => select(n, true) }, nameOf(n))))));
	panel.hidden = false;
}
