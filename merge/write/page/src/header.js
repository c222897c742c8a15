/* SPDX-License-Identifier: MIT */
/* header.js - the title, the account and the facts of the recordings, in two lines */
import { data, diff, ranks, sides as all } from "./data.js";
import { el, make } from "./dom.js";
import { plural } from "./words.js";

const MAX_ABOUT = 64;		/* recordings that are told about */

/* The sides that are recordings. */
const sides = ranks ? all.slice(0, 1) : all;
const compared = diff && !ranks;

function fact(side, label) {
	for (const recording of side.recordings)
		for (const [key, value] of recording)
			if (key === label)
				return value;
	return "";
}

/* A line that opens a panel below it. */
function panel(props, line, ...content) {
	return make("details", props, make("summary", null, line), make("div", { class: "panel" }, ...content));
}

function account(side, s) {
	const t = side.totals, clean = !t.unmatched && !t.lost && t.clean;
	const [summary, ...lines] = side.account.concat(side.messages);
	const words = (compared ? "AB"[s] + ": " : "") + summary + (lines.length ? `; ${plural(lines.length, "note")}` : "");

	if (!lines.length)
		return make("span", { class: "account" }, words);
	return panel({ class: clean ? "account" : "account loss" }, words,
		     make("pre", { tabindex: "0", "aria-label": "Notes" },
			  [summary, ...lines.map(line => line.trim())].join("\n")));
}

/* The facts of each recording, folded away until a reader opens them. */
function about() {
	return panel({ class: "account" }, "Recording",
		...sides.flatMap((side, s) => side.recordings.slice(0, MAX_ABOUT).map(recording =>
			make("dl", null, ...(compared ? [["", "AB"[s]], ...recording] : recording)
				.flatMap(([key, value]) =>
					[make("dt", null, key), make("dd", null, value)])))),
		...sides.filter(side => side.recordings.length > MAX_ABOUT)
			.map(side => make("p", null, `and ${plural(side.recordings.length - MAX_ABOUT, "more recording")}`)));
}

/* "GPU 0, 1 NVIDIA H100" */
function gpuFacts(side) {
	const byName = new Map();

	for (const gpu of side.gpus)
		byName.set(gpu.name, [...byName.get(gpu.name) || [], gpu.number]);
	return [...byName].map(([name, numbers]) => `GPU ${numbers.join(", ")} ${name}`.trim());
}

const rankFacts = () => `${plural(ranks.list.number.length, "rank")} on ${plural(ranks.hosts.length, "host")}`;

function more() {
	const nr = ranks ? sides[0].recordings.length - 1 : 0;

	return nr > 0 ? ` and ${plural(nr, "more recording")}` : "";
}

export function setUpHeader() {
	const title = sides.map(side => fact(side, "command") || fact(side, "recording"))
		.filter((t, s, all) => s === all.indexOf(t)).join("  \u2192  ") + more();
	const facts = sides.map((side, s) => (compared ? `${"AB"[s]}: ` : "") +
		[side.memory, compared ? fact(side, "recording") : "", ranks ? rankFacts() : fact(side, "host"), fact(side, "start"),
		 ...(ranks ? [] : gpuFacts(side)), side.filter && "only " + side.filter].filter(Boolean).join(" \u00b7 "));

	document.title = `${title.slice(0, 120)} \u2013 xpuload`;
	el("title").textContent = title;
	el("title").title = title;
	el("facts").textContent = [...facts, data.normalize].filter(Boolean).join("; ");
	el("facts").title = el("facts").textContent;
	el("accounts").append(...sides.map(account), about());
	/* One panel at a time, until something else is clicked. */
	document.addEventListener("click", event => {
		for (const open of document.querySelectorAll("#accounts details[open]"))
			if (!open.contains(event.target))
				open.open = false;
	}, true);
}
