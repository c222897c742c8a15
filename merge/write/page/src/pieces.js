/* SPDX-License-Identifier: MIT */
/*
 * pieces.js - the single pieces of a node's work: the shortest and the longest, a histogram of
 * their durations, their streams, and the launch shapes of their kernels
 */
import { cells, isDevice } from "./data.js";
import { make } from "./dom.js";
import { events } from "./events.js";
import { streamName } from "./lanes.js";
import { isPicked, pickedSpan } from "./model.js";
import { nodeOfCell } from "./tree.js";
import { formatTime, integer, percent, plural } from "./words.js";

const BARS = 32, MOST_ROWS = 12;

/* Return: the pieces of nodes @i to @end - 1 that began in the picked stretch. */
function piecesOf(i, end) {
	const [from, to] = isPicked() ? pickedSpan() : [-Infinity, Infinity];
	const wanted = Uint8Array.from(nodeOfCell, (n, c) =>
		n >= i && n < end && isDevice[cells.kind[c]]);
	const lengths = [], streams = new Map(), shapes = new Map();
	const add = (map, key, ns) => {
		const row = map.get(key) || { nr: 0, ns: 0 };

		map.set(key, { nr: row.nr + 1, ns: row.ns + ns });
	};

	for (const track of events.tracks.filter(t => t.what === "work"))
		for (let k = 0; k < track.nr; k++) {
			if (!wanted[track.cell[k]] || track.before[k] || track.from[k] < from ||
				track.from[k] >= to)
				continue;
			const ns = track.to[k] - track.from[k];

			lengths.push(ns);
			add(streams, streamName({ ...track, lane: 0 }), ns);
			add(shapes, track.shape[k], ns);
		}
	return { lengths: Float64Array.from(lengths).sort(), streams, shapes };
}

/* Return: the bounds of the bars: equally spaced, or in equal ratios if durations differ much. */
function boundsOf(least, most) {
	const ratio = most > 8 * Math.max(1, least);
	const at = part => ratio ? Math.max(1, least) * (most / Math.max(1, least)) ** part :
		least + (most - least) * part;

	return Array.from({ length: BARS + 1 }, (_, k) => at(k / BARS));
}

/* Draws a histogram of durations. */
function histogram(lengths) {
	const least = lengths[0], most = lengths[lengths.length - 1];
	const bounds = boundsOf(least, most), nr = new Array(BARS).fill(0);
	let bar = 0;

	for (const ns of lengths) {
		while (bar < BARS - 1 && ns >= bounds[bar + 1])
			bar++;
		nr[bar]++;
	}
	const top = nr.reduce((a, b) => Math.max(a, b)), word = ns => formatTime(ns, "auto");

	return make("figure", { id: "histogram", role: "img", "aria-label":
		`durations of ${plural(lengths.length, "piece")} of work` },
		make("div", { class: "bars" }, ...nr.map((n, k) => make("span", {
			style: `height:${n ? Math.max(4, 100 * n / top) : 0}%`,
			title: `${integer.format(n)}: ${word(bounds[k])} to ` +
				word(bounds[k + 1]) }))),
		make("figcaption", null, make("span", null, `shortest ${word(least)}`),
			make("span", null, `median ${word(lengths[lengths.length - 1 >> 1])}`),
			make("span", null, `longest ${word(most)}`)));
}

function piecesTable(id, title, rows, all, nameOfRow) {
	const sorted = [...rows].sort(([, a], [, b]) => b.ns - a.ns);
	const shown = sorted.slice(0, MOST_ROWS), more = sorted.length - shown.length;

	return make("table", { id }, make("thead", null, make("tr", null,
		make("th", { scope: "col" }, more ? `${title}, ${MOST_ROWS} of ` +
			integer.format(sorted.length) : title),
		...["%", "time", "count", "average"].map(text =>
			make("th", { scope: "col" }, text)))),
	make("tbody", null, ...shown.map(([key, { nr, ns }]) => make("tr", null,
		make("td", null, nameOfRow(key)),
		...[percent(ns, all), formatTime(ns, "auto"), integer.format(nr),
			formatTime(Math.floor(ns / nr), "auto")].map(text =>
			make("td", null, text))))));
}

/* Return: elements about the pieces of work of nodes @i to @end - 1. */
export function piecesWords(i, end) {
	if (!events)
		return [];
	const { lengths, streams, shapes } = piecesOf(i, end);
	const nr = lengths.length, all = lengths.reduce((a, b) => a + b, 0);

	if (!nr)
		return [];
	return [histogram(lengths), ...(events.left_out ?
		[make("p", null, `Single events exist for ${plural(nr, "piece")}:`)] : []),
	...(shapes.size > 1 || !shapes.has(0) ?
		[piecesTable("pieces-shapes", "launched as", shapes, all,
			key => key ? events.shapes[key - 1] : "unknown")] : []),
	piecesTable("pieces-streams", "stream", streams, all, name => name)];
}
