/* SPDX-License-Identifier: MIT */
/* header.js - the title, the account and the facts of the recordings */
import { data, diff, sides } from "./data.js";
import { el, make } from "./dom.js";
import { plural } from "./words.js";

function fact(side, label) {
	for (const recording of side.recordings)
		for (const [key, value] of recording)
			if (key === label)
				return value;
	return "";
}

function account(side, s) {
	const t = side.totals, clean = !t.unmatched && !t.lost && t.clean;
	const [summary, ...lines] = side.account.concat(side.messages);
	const box = make("details", clean ? { class: "account" } : { class: "account loss", open: "" },
		make("summary", null, (diff ? "AB"[s] + ": " : "") + summary +
		     (lines.length ? `; ${plural(lines.length, "note")}` : "")));

	if (lines.length)
		box.append(make("pre", null, lines.map(line => line.trim()).join("\n")));
	return box;
}

/* The facts of each recording, folded away until a reader opens them. */
function about() {
	return make("details", { class: "account" }, make("summary", null, "Recording"),
		...sides.flatMap((side, s) => side.recordings.map(recording =>
			make("dl", null, ...(diff ? [["", "AB"[s]], ...recording] : recording)
				.flatMap(([key, value]) =>
					[make("dt", null, key), make("dd", null, value)])))));
}

/* "GPU 0, 1 NVIDIA H100" */
function gpuFacts(side) {
	const byName = new Map();

	for (const gpu of side.gpus)
		byName.set(gpu.name, [...byName.get(gpu.name) || [], gpu.number]);
	return [...byName].map(([name, numbers]) => `GPU ${numbers.join(", ")} ${name}`.trim());
}

export function setUpHeader() {
	const title = sides.map(side => fact(side, "command") || fact(side, "recording"))
		.filter((t, s, all) => s === all.indexOf(t)).join("  \u2192  ");

	document.title = `${title.slice(0, 120)} \u2013 xpuload`;
	el("title").textContent = title;
	el("facts").append(...sides.map((side, s) => make("div", null,
		(diff ? `${"AB"[s]}: ` : "") +
		[diff ? fact(side, "recording") : "", fact(side, "host"), fact(side, "start"),
		 ...gpuFacts(side), side.filter && "only " + side.filter]
			.filter(Boolean).join(" \u00b7 "))), data.normalize);
	el("accounts").append(...sides.map(account), about());
}
