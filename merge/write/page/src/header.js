/* SPDX-License-Identifier: MIT */
/*
 * header.js - the title, a line for the account, and a line for the facts of the recordings;
 * features add lines of their own
 */
import { data, derived, diff, isolated, sides } from "./data.js";
import { el, make } from "./dom.js";
import { plural } from "./words.js";

const MAX_ABOUT = 64;		/* maximum number of recordings whose facts are shown */
const MAX_ANSWER = 4;		/* lines of the answer */

/* the sides that have recordings */
export const shownSides = sides.filter(side => side.recordings.length);
export const compared = diff && !derived;

/* facts about the results of features */
export const FACTS = [];

/* lines of features: an id, and a function that returns the panels of the line, if any */
export const LINES = [];

function fact(side, label) {
	for (const recording of side.recordings)
		for (const [key, value] of recording)
			if (key === label)
				return value;
	return "";
}

/* Makes a line that opens a panel below it. */
export function panel(props, line, ...content) {
	return make("details", props, make("summary", null, line),
		make("div", { class: "panel" }, ...content));
}

/*
 * Closes all open panels, except the panel that contains @inside. Return: the last closed panel, or
 * null.
 */
export function closePanels(inside) {
	let closed = null;

	for (const open of document.querySelectorAll("header details[open], .menu[open]"))
		if (!open.contains(inside)) {
			open.open = false;
			closed = open;
		}
	return closed;
}

function account(side, s) {
	const t = side.totals, clean = !t.unmatched && !t.lost && t.clean;
	const [summary, ...lines] = side.account.concat(side.messages);
	const words = (compared ? "AB"[s] + ": " : "") + summary +
		(lines.length ? `; ${plural(lines.length, "note")}` : "");

	if (!lines.length)
		return make("span", { class: "account" }, words);
	return panel({ class: clean ? "account" : "account loss" }, words,
		     make("pre", { tabindex: "0", "aria-label": "Notes" },
			  [summary, ...lines.map(line => line.trim())].join("\n")));
}

/* Makes the facts of each recording, which are hidden until a reader opens them. */
function about() {
	return panel({ class: "account" }, "Recording",
		...shownSides.flatMap((side, s) =>
			side.recordings.slice(0, MAX_ABOUT).map(recording =>
			make("dl", null, ...(compared ? [["", "AB"[s]], ...recording] : recording)
				.flatMap(([key, value]) =>
					[make("dt", null, key), make("dd", null, value)])))),
		...shownSides.filter(side => side.recordings.length > MAX_ABOUT)
			.map(side => make("p", null, "and " +
				plural(side.recordings.length - MAX_ABOUT, "more recording"))));
}

/*
 * Makes a panel for each table of a feature. The panel's title is the beginning of the table's
 * first line.
 */
function tables() {
	return shownSides.flatMap((side, s) => (side.tables || []).map(text =>
		panel({ class: "account" },
		      (compared ? "AB"[s] + ": " : "") + text.split(/[,:]/)[0],
		      make("pre", { tabindex: "0", "aria-label": "Table" }, text))));
}

/* Return: the numbers as ranges, such as "0, 2-5". */
function rangesOf(numbers) {
	const list = [...numbers].sort((a, b) => a - b), runs = [];

	for (const n of list)
		if (runs.length && n === runs[runs.length - 1][1] + 1)
			runs[runs.length - 1][1] = n;
		else
			runs.push([n, n]);
	return runs.flatMap(([a, b]) => a === b ? [a] : b === a + 1 ? [a, b] : [`${a}\u2013${b}`])
		.join(", ");
}

/* Return: the GPUs of a side, such as "GPU 0, 1 NVIDIA H100". */
function gpuFacts(side) {
	const byName = new Map();

	for (const gpu of side.gpus)
		byName.set(gpu.name, [...byName.get(gpu.name) || [], gpu.number]);
	return [...byName].map(([name, numbers]) => `GPU ${rangesOf(numbers)} ${name}`.trim());
}

/* ---- the whole ------------------------------------------------------------------------------ */

function more() {
	const nr = compared ? 0 : shownSides[0].recordings.length - 1;

	return nr > 0 ? ` and ${plural(nr, "more recording")}` : "";
}

export function setUpHeader() {
	const title = shownSides.map(side => fact(side, "command") || fact(side, "recording"))
		.filter((t, s, all) => s === all.indexOf(t)).join("  \u2192  ") + more();
	const facts = shownSides.map((side, s) => (compared ? `${"AB"[s]}: ` : "") +
		[side.memory, compared ? fact(side, "recording") : "",
			...(derived ? FACTS : [fact(side, "host")]), fact(side, "start"),
		 ...(derived ? [] : gpuFacts(side)), side.filter && "only " + side.filter]
			.filter(Boolean).map(isolated).join(" \u00b7 "));

	document.title = `${title.slice(0, 120)} \u2013 xpuload`;
	el("title").textContent = title;
	el("title").title = title;
	el("facts").textContent = [...facts, data.normalize].filter(Boolean).join("; ");
	el("facts").title = el("facts").textContent;
	el("accounts").append(...shownSides.map(account), ...tables(), about());
	for (const [s, side] of (derived ? [] : shownSides).entries())
		el("answer").append(...side.answer.slice(0, compared ? 1 : MAX_ANSWER).map(line =>
			make("li", { title: line }, (compared ? "AB"[s] + ": " : "") + line)));
	for (const [id, panelsOf] of LINES) {
		const panels = panelsOf();

		if (panels.length)
			el("answer").before(make("div", { class: "line", id }, ...panels));
	}
	/* Show one panel at a time, until the user clicks elsewhere. */
	document.addEventListener("click", event => closePanels(event.target), true);
}
