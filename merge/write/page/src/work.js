/* SPDX-License-Identifier: MIT */
/*
 * work.js - the table next to the flame graph: kernels and other work by time, each with the call
 * path that launched most of it
 *
 * The table lists all chosen work, or, after a zoom to a function, the work below that function. A
 * click on a row selects the frames of its work; a click on such a frame selects the row.
 */
import { go } from "./actions.js";
import { frameColour } from "./colours.js";
import { NONE, diff, frames, isDevice, kinds, sideNames, sides } from "./data.js";
import { el, keepFocus, make } from "./dom.js";
import {
	DEFAULTS, count, isPicked, measure, onCpu, self, state, total, whole, width,
} from "./model.js";
import { matches } from "./search.js";
import {
	baseOf, endOf, fileOf, frameOf, isRoot, kindOf, nameOf, outermostOf, parentOf, placeOfPath,
	runName,
} from "./tree.js";
import {
	format, formatDelta, formatTime, integer, kindWords, measureWords, percent, plural,
} from "./words.js";

const WORK_ROWS = 300;

/* Return: the node whose work the table lists: the zoomed function, or the root. */
const scope = () => kindOf(state.zoom) === NONE && !state.group ? state.zoom : 0;

/* ---- rows ----------------------------------------------------------------------------------- */

/*
 * Return: whether a node is work: either a function that itself ran on the CPU, or the outermost
 * frame of a piece of device work, which may have child frames for its stalls.
 */
const isWork = i => kindOf(i) === NONE ? onCpu(i) > 0 :
	kindOf(parentOf[i]) === NONE && (width[i] > 0 || count.some(nr => nr[i] > 0));

/* Return: a row for each name of work in the scope. @found: the frames to include; null: all */
function workRows(found = matches) {
	const rows = new Map(), top = scope();

	for (let i = top; i < endOf[top]; i++) {
		if (!i || !isWork(i) || (found && !found[frameOf[i]]))
			continue;
		const own = kindOf(i) === NONE, f = frameOf[i], v = own ? onCpu(i) : width[i];

		if (!rows.has(f))
			rows.set(f, { frame: f, kind: kindOf(i), v: 0, time: sides.map(() => 0),
				nr: sides.map(() => 0), whole: sides.map(() => 0),
				paths: new Map() });
		const row = rows.get(f);

		row.v += v;
		sides.forEach((_, s) => {
			row.time[s] += own ? self[s][i] : total[s][i];
			row.nr[s] += own ? 0 : count[s][i];
			row.whole[s] += own ? 0 : whole[s][i];
		});
		const path = row.paths.get(baseOf[i]);

		if (!path)
			row.paths.set(baseOf[i], { v, nodeV: v, node: i });
		else
			row.paths.set(baseOf[i], v > path.nodeV ?
				{ v: path.v + v, nodeV: v, node: i } :
				{ ...path, v: path.v + v });
	}
	for (const row of rows.values())
		row.path = [...row.paths.values()].reduce((a, b) => b.v > a.v ? b : a);
	return [...rows.values()];
}

const average = (row, s) => row.nr[s] ? row.whole[s] / row.nr[s] : 0;
const ofLast = list => list[list.length - 1];
const SORT_KEYS = {
	time: row => row.v, count: row => ofLast(row.nr),
	average: row => average(row, sides.length - 1),
	delta: row => Math.abs(ofLast(row.time) - row.time[0]), name: null,
};

function workSorted(rows) {
	const key = SORT_KEYS[state.workBy], name = row => frames.name[row.frame];
	const byName = (a, b) => name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0;

	return rows.sort((a, b) => (key ? key(b) - key(a) || b.v - a.v : 0) || byName(a, b));
}

/* ---- cells ---------------------------------------------------------------------------------- */

/*
 * Return: the average time of a piece of work. In a picked stretch, this average is not exact,
 * because only a part of the work at the ends lies inside the stretch.
 */
function averageWords(row, s) {
	if (!row.nr[s] || measure() === "nr" || kinds[row.kind] === "pending")
		return "";
	const ns = Math.floor(average(row, s));

	return (isPicked() ? "\u2248 " : "") + (measure() === "ns" ? formatTime(ns, state.unit) :
		format(ns));
}

/* Return: the change from A to B as a share of A, with its sign. */
const changeWords = ([a, b]) => (b < a ? "\u2212" : "+") + percent(Math.abs(b - a), a);

/* Return: columns, [title, key, cell, hint]. */
function columns(all) {
	const list = [], nrAll = sides.map((_, s) => count[s][scope()]);

	const side = diff ? ` ${sideNames.join(", ")}` : "";
	/* Makes a cell with a line for each side. */
	const lines = of => row => diff ? sides.map((_, s) =>
		make("div", { class: s ? "b" : "a" }, of(row, s) || "\u2013")) : [of(row, 0)];

	if (!diff)
		list.push(["%", null, row => [percent(row.time[0], all[0])],
			"of the " + measureWords() + " of this table"]);
	list.push([(measure() === "ns" ? "Time" : measure() === "nr" ? "Count" : "Bytes") +
		side, "time", lines((row, s) => format(row.time[s])), ""]);
	if (measure() !== "nr" && nrAll.some(Boolean))
		list.push(["Count" + side, "count",
			lines((row, s) => row.nr[s] ? integer.format(row.nr[s]) : ""),
			"kernels, copies and sets that ran; of waits, how many"],
			["Average" + side, "average", lines(averageWords),
			isPicked() ? "not exact: the stretch cuts work at its ends" : ""]);
	if (diff)
		list.push([`${sideNames[1]} \u2212 ${sideNames[0]}`, "delta",
			row => [make("div", null, formatDelta(row.time[1] - row.time[0])),
				make("div", { class: "outer" }, row.time[0] ?
					`${changeWords(row.time)} of ` +
					sideNames[0] : `not in ${sideNames[0]}`)], ""]);
	return list;
}

/*
 * Return: the name of a frame without arguments and templates, which would push its end out of
 * sight.
 */
function briefName(i) {
	const name = runName(i);
	let brief = name, before = "";

	if (frames.place[frameOf[i]] === 2 || /operator|^</.test(name))
		return name;
	while (brief !== before) {
		before = brief;
		brief = brief.replace(/<[^<>]*>|\([^()]*\)(?: const)?| \[clone [^\]]*\]$/g, "");
	}
	return brief || name;
}

/*
 * Makes the cell that shows which call path launched most of the work in a row. The cell has the
 * place of this path, and the caller of the place.
 */
function pathCell(row) {
	const place = placeOfPath(row.path.node);
	const outer = !place || isRoot(place) ? 0 : parentOf[outermostOf(place)];
	const part = percent(row.path.v, row.v), lone = row.paths.size === 1;

	return make("td", { class: "by", title: place ? nameOf(place).slice(0, 2000) : "" },
		make("div", null, kindOf(row.path.node) === NONE || !place ? "" : briefName(place)),
		make("div", { class: "outer" }, ...(lone ? [] :
			[`${part} of it, of ${plural(row.paths.size, "path")}` +
				(outer > 0 ? "; " : "")]),
			outer > 0 ? "in " + briefName(outer) : ""));
}

const fits = i => width[i] >= width[0] / 400;

/* Selects a row's largest node. The graph zooms only if the node would be too narrow to see. */
function choose(row) {
	const { node } = row.path;

	go({ selected: node, group: "", zoom: fits(node) ? scope() : parentOf[node] });
}

/* Selects the kernel @name in the graph, even if the user's choices hide the kernel now. */
export function selectKernel(name) {
	const find = () => workRows(null).find(row =>
		kinds[row.kind] === "kernel" && frames.name[row.frame] === name);

	go({ tab: "graph", zoom: 0, group: "",
		...(state.mode === "thread" ? { mode: "gpu" } : {}) });
	if (!find())
		go({ off: "", gpu: "all", from: 0, to: DEFAULTS.to }, true);
	if (find())
		choose(find());
}

function workRow(row, list, reached) {
	const name = frames.name[row.frame], chosen = isChosen(row);
	const what = row.kind === NONE ? "on CPU" :
		(kinds[row.kind] === "kernel" &&
		fileOf(row.path.node).replace(/^; |^\(several files\)/, "")) ||
		kindWords(row.kind);

	return make("tr", { onclick: () => choose(row), title: name.slice(0, 2000),
		"data-row": row.frame,
		...(chosen ? { "aria-selected": "true", class: "selected" } : {}) },
		make("td", { class: "name" },
			make("div", null, make("span", { class: "swatch",
				style: `background:${frameColour(row.frame)}` }),
			make("button", { type: "button", class: "plain", "data-work": row.frame,
				tabindex: reached ? "0" : "-1" }, name)),
			make("div", { class: "outer" }, what)),
		...list.map(([, , cell]) => make("td", null, ...cell(row))), pathCell(row));
}

const isChosen = row => state.selected > 0 && frameOf[state.selected] === row.frame;

/* ---- the table ------------------------------------------------------------------------------ */

function head(list) {
	const title = ([text, key, , hint]) => make("th", { scope: "col", title: hint,
		...(key && key === state.workBy ?
			{ "aria-sort": key === "name" ? "ascending" : "descending" } : {}),
	}, ...(key ? [make("button", { type: "button", "data-worksort": key,
		onclick: () => go({ workBy: key }) }, text)] : [text]));

	const name = title(["Name", "name", null, ""]);

	name.className = "name";
	return make("tr", null, name, ...list.map(title),
		make("th", { scope: "col", class: "name" },
			state.mode === "gpu" ? "Launched by" : "Called by"));
}

function caption(rows, all) {
	const top = scope(), nr = rows.length;
	const sums = all.map(format).join(" \u2192 ");
	const names = !rows.every(row => isDevice[row.kind]) ? plural(nr, "name") :
		nr === 1 ? "1 kernel, copy or set" :
		`${integer.format(nr)} kernels, copies and sets`;

	return make("p", { id: "work-words" }, `${sums} of ${measureWords()} = 100 %` +
		(top ? ` in ${nameOf(top).slice(0, 200)}` : "") + `: ${names}` +
		(nr > WORK_ROWS ? `, the first ${WORK_ROWS} of them; a search narrows them down` :
			""), ...(top ? [" ", make("button",
			{ type: "button", class: "plain link", id: "work-all",
				onclick: () => go({ zoom: 0, selected: NONE }) }, "show all")] :
			[]));
}

function drawTable() {
	const rows = workSorted(workRows()), top = scope();
	const all = sides.map((_, s) => total[s][top]), list = columns(all);
	const shown = rows.slice(0, WORK_ROWS), at = Math.max(0, shown.findIndex(isChosen));
	const lines = shown.map((row, k) => workRow(row, list, k === at));

	el("work").replaceChildren(caption(rows, all), ...(rows.length ? [make("table", null,
		make("thead", null, head(list)), make("tbody", null, ...lines))] : []));
}

/* Marks the selected row, which may have been selected in the graph. */
export function markWork() {
	for (const tr of el("work").querySelectorAll("tbody tr")) {
		const chosen = state.selected > 0 && +tr.dataset.row === frameOf[state.selected];

		tr.className = chosen ? "selected" : "";
		if (chosen)
			tr.setAttribute("aria-selected", "true");
		else
			tr.removeAttribute("aria-selected");
		if (chosen)
			revealRow(tr);
	}
}

function revealRow(tr) {
	const box = el("work"), view = box.getBoundingClientRect(), at = tr.getBoundingClientRect();
	const below = view.top + 28;

	if (at.top < below || at.bottom > view.bottom)
		box.scrollTop += at.top - below;
}

export function drawWork() {
	const at = el("work").scrollTop;

	keepFocus(el("work"), drawTable);
	el("work").scrollTop = at;
	markWork();
}
