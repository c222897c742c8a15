/* SPDX-License-Identifier: MIT */
/*
 * top.js - the table of functions and kernels, over all devices and threads; next to it, callers
 * and callees
 */
import { go } from "./actions.js";
import { frameColour } from "./colours.js";
import { NONE, diff, frames, sideNames, sides } from "./data.js";
import { el, keepFocus, make } from "./dom.js";
import { emptyWords } from "./graph.js";
import { count, measure, self, state, total } from "./model.js";
import { drawSandwich } from "./sandwich.js";
import { matches } from "./search.js";
import { endOf, frameOf, nrNodes } from "./tree.js";
import { format, formatDelta, integer, percent, plural } from "./words.js";

const TOP_ROWS = 500;

/*
 * Computes sums for each frame. A recursive call adds nothing to the total of its frame, which
 * already includes it.
 */
function frameRows() {
	const nr = frames.name.length, sums = () => sides.map(() => new Float64Array(nr));
	const selfs = sums(), totals = sums(), counts = sums();
	/* for each frame: the node after the descendants of its current outermost call */
	const until = new Int32Array(nr);

	for (let i = 1; i < nrNodes; i++) {
		const f = frameOf[i], outermost = i >= until[f];

		for (let s = 0; s < sides.length; s++) {
			selfs[s][f] += self[s][i];
			totals[s][f] += outermost ? total[s][i] : 0;
			counts[s][f] += outermost ? count[s][i] : 0;
		}
		if (outermost)
			until[f] = endOf[i];
	}
	const rows = [];

	/* Include work that took no time. */
	const present = f => totals.some(t => t[f] > 0) ||
		(measure() === "ns" && counts.some(n => n[f] > 0));

	for (let f = 0; f < nr; f++)
		if (present(f) && !frames.root[f] && (!matches || matches[f]))
			rows.push({ frame: f, self: selfs.map(v => v[f]),
				total: totals.map(v => v[f]),
				    count: counts.map(v => v[f]) });
	return rows;
}

const sum = list => list.reduce((a, b) => a + b, 0);
const delta = r => diff ? r.total[1] - r.total[0] : 0;
const TOP_KEYS = {
	self: r => sum(r.self), total: r => sum(r.total), count: r => sum(r.count),
	delta: r => Math.abs(delta(r)), name: null,
};

function topColumns() {
	const columns = [];

	sides.forEach((_, s) => {
		const side = diff ? " " + sideNames[s] : "";

		columns.push(["Self" + side, "self", r => r.self[s] ? format(r.self[s]) : ""],
			     ["", null, r => r.self[s] ? percent(r.self[s], total[s][0]) : ""],
			     ["Total" + side, "total", r => format(r.total[s])],
			     ["", null, r => percent(r.total[s], total[s][0])]);
		/* Add no column if the unit or the kinds have no counts. */
		if (count[s][0])
			columns.push(["Count" + side, "count",
				r => r.count[s] ? integer.format(r.count[s]) : ""]);
	});
	if (diff)
		columns.push([`Total ${sideNames[1]} \u2212 ${sideNames[0]}`, "delta",
			r => formatDelta(delta(r))]);
	return columns;
}

/*
 * Makes a row of the table. @reached: whether the Tab key reaches the row; the arrow keys reach the
 * other rows.
 */
function topRow(r, columns, reached) {
	const name = frames.name[r.frame], focus = () => go({ focus: r.frame });

	return make("tr", { onclick: focus, title: name.slice(0, 2000),
			    ...(r.frame === state.focus ?
				{ "aria-selected": "true", class: "selected" } : {}) },
		...columns.map(([, sort, cell]) =>
			make("td", { class: sort ? "" : "share" }, cell(r))),
		make("td", { class: "name" },
		     make("span", { class: "swatch", style: `background:${frameColour(r.frame)}` }),
		     make("button", { type: "button", class: "plain", "data-frame": r.frame,
			tabindex: reached ? "0" : "-1" }, name)));
}

function drawTopTable() {
	const rows = frameRows(), key = TOP_KEYS[state.sortBy], columns = topColumns();
	const name = r => frames.name[r.frame];
	const byName = (a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0;
	const head = make("tr"), body = make("tbody");
	const header = (text, sort, cls) => make("th", {
		scope: "col", class: cls, ...(sort && sort === state.sortBy ?
			{ "aria-sort": sort === "name" ? "ascending" : "descending" } : {}),
	},
		...(sort ?
			[make("button", { type: "button", "data-sort": sort,
				onclick: () => go({ sortBy: sort }) }, text)] :
		[make("span", { title: "of all that is chosen" }, "%")]));

	for (const r of rows) {
		r.key = key ? key(r) : 0;
		r.second = key ? sum(r.total) : 0;
	}
	rows.sort((a, b) => b.key - a.key || b.second - a.second || byName(a, b));
	columns.forEach(([text, sort]) => head.append(header(text, sort, sort ? "" : "share")));
	head.append(header("Name", "name", "name"));
	const shown = rows.slice(0, TOP_ROWS),
		focus = Math.max(0, shown.findIndex(r => r.frame === state.focus));

	shown.forEach((r, k) => body.append(topRow(r, columns, k === focus)));
	el("top-list").replaceChildren(
		make("table", null, make("thead", null, head), body),
		make("p", null, rows.length > TOP_ROWS ?
			`${integer.format(rows.length - TOP_ROWS)} more rows; ` +
			"search to narrow them down." : !rows.length ?
			matches ? "Nothing in the selection matches the search." : emptyWords() :
			plural(rows.length, "row") +
			". A click shows a row's callers and callees."));
}

/* Lets the arrow keys move between the rows of a table; each row has one button. */
export function listenToRows(id) {
	el(id).addEventListener("keydown", event => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], now = document.activeElement;
		const list = [...el(id).querySelectorAll("tbody button")],
			next = list[list.indexOf(now) + step];

		if (!step || !list.includes(now))
			return;
		event.preventDefault();
		if (!next)
			return;
		now.tabIndex = -1;
		next.tabIndex = 0;
		next.focus();
	});
}

export function drawTop() {
	const at = el("top-list").scrollTop;

	keepFocus(el("top-list"), drawTopTable);
	el("top-list").scrollTop = at;
	el("sandwich").hidden = state.focus === NONE;
	if (state.focus !== NONE)
		drawSandwich();
}
