/* SPDX-License-Identifier: MIT */
/* memory_line.js - the line of the header about the most memory that was used at once */
import { isolated, seen } from "../../write/page/src/data.js";
import { el, make } from "../../write/page/src/dom.js";
import { LINES, compared, panel, shownSides } from "../../write/page/src/header.js";
import { formatBytes, formatTime } from "../../write/page/src/words.js";

/* Return: the kind of memory in a name such as "[GPU_Memory]device". */
const memoryKind = name => name.replace(/^\[GPU\d*_Memory\]/, "").replace(/_/g, " ");

/* the parts of the memory that --memory peak shows, in the words of the summary */
const PARTS = [
	["held", "held, in all"], ["reserved", "of that, reserved"],
	["rest", "rest of the devices"], ["host", "of the host"],
	["used", "of reserved, used"], ["fragmentation", "fragmentation"],
	["unused", "unused in pools"],
	["blocks", "of used, blocks"], ["outside", "outside of allocators"],
];

function peakPanel(p, prefix) {
	const path = (p.path || []).slice(0, -1).reverse().map(seen);
	const kind = p.holder_bytes ? memoryKind(p.path[p.path.length - 1]) : "";
	const holder = kind && `; largest holder ${formatBytes(p.holder_bytes)} (${kind}): ` +
		path.map(isolated).join(" \u2190 ");

	return panel({ class: "account" },
		`${prefix}GPU memory: at most ${formatBytes(p.bytes)}, ` +
		`${formatTime(p.at_ns, "auto")} after the start${holder}`,
		make("dl", null, ...[
			["at most", formatBytes(p.bytes) +
				(p.nr_recordings > 1 ? ", in one of the recordings" : "")],
			["then", `${formatTime(p.at_ns, "auto")} after the start`],
			...PARTS.map(([key, words]) => [words, formatBytes(p[key])]),
			...(kind ?
				[["largest holder", `${formatBytes(p.holder_bytes)} (${kind})`],
				    ...path.map((name, i) => [i ? "called by" : "in", name])] : []),
			["all of it", "xpumerge RECORDING --memory peak -o memory.html " +
				"draws who held it"],
		].flatMap(([key, value]) => [make("dt", null, key), make("dd", null, value)])));
}

LINES.push(["memory-line", () => {
	/* Two moments of one recording have the same peak. */
	const same = compared && JSON.stringify(shownSides[0].peak) ===
		JSON.stringify(shownSides[1].peak);

	/* If the page has a tab about memory, which says more, the line is left out. */
	return el("tab-memory") ? [] : shownSides.slice(0, same ? 1 : 2).flatMap((side, s) =>
		side.peak ? [peakPanel(side.peak, compared && !same ? `${"AB"[s]}: ` : "")] : []);
}]);
