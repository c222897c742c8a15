/* SPDX-License-Identifier: MIT */
/*
 * heat.js - draws waits over time: the row of a rank shows how long the rank waited, or how long
 * others waited for it, in each stretch of time
 *
 * With many ranks, a row of pixels stands for several ranks, and shows the largest of their values,
 * so that no waiting rank is lost.
 */
import { go } from "../../write/page/src/actions.js";
import { dark, hsl } from "../../write/page/src/colours.js";
import { NONE } from "../../write/page/src/data.js";
import { el, make } from "../../write/page/src/dom.js";
import { state } from "../../write/page/src/model.js";
import { LEFT_OUT, forWaits, isCulprit, nrRanks, ranks } from "./ranks_data.js";
import { moveTip } from "../../write/page/src/tooltip.js";
import { formatTime, percent } from "../../write/page/src/words.js";

const MAX_HEIGHT = 420, HEAT_ROW = 16, LABEL = 12;

/*
 * The rows that are drawn. Each row is for the ranks [first, last) of @order, and has a value for
 * each bin.
 */
let rankOrder = [], heatLines = [], top = 1, height = 0, cursor = null;

const showsWaits = () => state.heat === "waits";

/*
 * The waits that are shown. With many ranks, there are two lists: ranks.waits has the waits of each
 * waiting rank, and ranks.caused has the waits for each rank.
 */
const shownWaits = () => showsWaits() ? ranks.waits : ranks.caused || ranks.waits;
export const tellsCollectives = () => Boolean(shownWaits()) &&
	!shownWaits().collective.includes(LEFT_OUT);
const isCounted = (w, k) => state.collective === NONE || !tellsCollectives() ||
	w.collective[k] === state.collective;

/* Return: { ns, start } of each rank, with a value for each bin. */
function sums() {
	const w = shownWaits(), nr = w.nr, by = new Map();
	const of = r => {
		if (!by.has(r))
			by.set(r, { ns: new Float64Array(nr), start: new Float64Array(nr) });
		return by.get(r);
	};

	forWaits(w, (k, bin, ns) => {
		const culprit = w.culprit[k], r = showsWaits() ? w.rank[k] : culprit;

		if (r === NONE || !isCounted(w, k))
			return;
		of(r).ns[bin] += ns;
		if (culprit === NONE)
			of(r).start[bin] += ns;
	});
	return by;
}

function makeLines() {
	const by = sums(), nr = shownWaits().nr, most = Math.floor(MAX_HEIGHT / 2);
	const each = Math.max(1, Math.ceil(rankOrder.length / most));

	heatLines = [];
	for (let first = 0; first < rankOrder.length; first += each) {
		const line = { first, last: Math.min(rankOrder.length, first + each),
			ns: new Float64Array(nr),
			       start: new Float64Array(nr), rank: new Int32Array(nr).fill(NONE) };

		for (let i = first; i < line.last; i++) {
			const of = by.get(rankOrder[i]);

			if (!of)
				continue;
			for (let b = 0; b < nr; b++)
				if (of.ns[b] > line.ns[b]) {
					line.ns[b] = of.ns[b];
					line.start[b] = of.start[b];
					line.rank[b] = rankOrder[i];
				}
		}
		heatLines.push(line);
	}
	/*
	 * One long wait must not hide all others, so one in a thousand bins may exceed the scale.
	 */
	const all = heatLines.flatMap(line => [...line.ns].filter((ns, b) => ns > line.start[b]))
		.sort((a, b) => a - b);

	top = all.length ? all[Math.min(all.length - 1, Math.floor(all.length * .999))] : 1;
}

function colourOf(ns, isStart) {
	const part = Math.sqrt(Math.min(1, ns / top)), hue = showsWaits() ? 292 : 8;

	if (isStart)
		return dark.matches ? `hsl(215,8%,${26 + 26 * part}%)` :
		`hsl(215,10%,${92 - 34 * part}%)`;
	return dark.matches ? `hsl(${hue},${30 + 40 * part}%,${18 + 50 * part}%)` :
	       `hsl(${hue},${50 + 20 * part}%,${95 - 52 * part}%)`;
}

const cssColour = name => globalThis.getComputedStyle(document.body).getPropertyValue(name);

function paint() {
	const canvas = el("heat"), box = el("heat-box"), wide = Math.max(50, box.clientWidth),
		scale = globalThis.devicePixelRatio || 1;
	const row = height / heatLines.length, nr = shownWaits().nr, ctx = canvas.getContext("2d");

	canvas.width = wide * scale;
	canvas.height = height * scale;
	canvas.style.height = height + "px";
	ctx.scale(scale, scale);
	ctx.fillStyle = cssColour("--panel");
	ctx.fillRect(0, 0, wide, height);
	heatLines.forEach((line, y) => {
		for (let b = 0; b < nr; b++) {
			if (!line.ns[b])
				continue;
			ctx.fillStyle = colourOf(line.ns[b], line.start[b] * 2 > line.ns[b]);
			ctx.fillRect(Math.floor(b * wide / nr), y * row, Math.ceil(wide / nr) + .3,
				row > 4 ? row - 1 : row);
		}
	});
	if (cursor) {
		ctx.strokeStyle = cssColour("--text");
		ctx.lineWidth = 2;
		ctx.strokeRect(cursor.bin * wide / nr - 1, cursor.y * row - 1, wide / nr + 2,
			Math.max(4, row) + 1);
	}
}

function drawLabels() {
	const row = height / heatLines.length, step = Math.max(1, Math.ceil(LABEL / row));

	el("heat-names").style.height = height + "px";
	el("heat-names").replaceChildren(...heatLines.filter((_, y) => y % step === 0)
		.map((line, k) =>
		make("div", { style: `top:${(k * step * row).toFixed(1)}px` },
			String(ranks.list.number[rankOrder[line.first]]))));
}

const momentOf = b => formatTime(Math.max(0, shownWaits().from_ns + b * shownWaits().bin_ns),
	"auto");

const numberOf = r => `rank ${ranks.list.number[r]}`;

/*
 * Return: pairs [other rank, ns] for a rank's waits in a bin: the rank that it waited for, or the
 * rank that waited for it.
 */
function others(r, bin) {
	const w = shownWaits(), by = new Map();

	forWaits(w, (k, b, ns) => {
		const [one, other] = showsWaits() ? [w.rank[k], w.culprit[k]] :
			[w.culprit[k], w.rank[k]];

		if (b === bin && one === r && other !== LEFT_OUT && isCounted(w, k))
			by.set(other, (by.get(other) || 0) + ns);
	});
	return [...by].sort((a, b) => b[1] - a[1]);
}

/* Return: words that describe the place under the pointer, and its straggler. */
function describeSpot(y, bin) {
	const line = heatLines[y],
		r = line.rank[bin] === NONE ? rankOrder[line.first] : line.rank[bin],
		list = others(r, bin);
	const span = `${momentOf(bin)} to ${momentOf(bin + 1)}`, ns = line.ns[bin];
	const nr = line.last - line.first;
	const who = numberOf(r) + (nr > 1 ? `, the most of ${nr}` : "");
	const first = list.find(([other]) => other !== NONE),
		known = first ? first[0] : list.length ? NONE : ranks.list.waited_for[r];
	const culprit = !ns ? NONE : showsWaits() ? known : r;

	if (!ns)
		return { head: who,
			rows: [[span, showsWaits() ? "it waited for nobody" :
				"nobody waited for it"]], culprit };
	return { head: who, culprit, rows: [
		[span, formatTime(ns, "auto") +
			(showsWaits() ? `, ${percent(ns, shownWaits().bin_ns)} of it` : "")],
		...list.slice(0, 6).map(([other, of]) => [other === NONE ? "while ranks started" :
			(showsWaits() ? "for " : "of ") + numberOf(other), formatTime(of, "auto")]),
		...(list.length > 6 ? [["", `and ${list.length - 6} more`]] : []),
		...(isCulprit(culprit) ?
			[["", `a click shows the call paths of ${numberOf(culprit)}`]] : []),
	] };
}

function spotAt(event) {
	const box = el("heat").getBoundingClientRect();

	return { bin: Math.min(shownWaits().nr - 1,
		Math.max(0, Math.floor((event.clientX - box.left) / box.width * shownWaits().nr))),
		 y: Math.min(heatLines.length - 1,
			Math.max(0,
				Math.floor((event.clientY - box.top) / box.height *
					heatLines.length))) };
}

function showPlace(place, event) {
	const what = describeSpot(place.y, place.bin), list = make("dl");

	for (const [label, value] of what.rows)
		list.append(make("dt", null, label), make("dd", null, value));
	el("tip").replaceChildren(make("strong", null, what.head), list);
	el("tip").hidden = false;
	moveTip(event);
}

export const showPaths = r =>
	go({ tab: "graph", rank: String(ranks.list.number[r]), zoom: 0, group: "",
		selected: NONE });

function followSpot(place) {
	const { culprit } = describeSpot(place.y, place.bin);

	if (isCulprit(culprit))
		showPaths(culprit);
}

function onHeatKey(event) {
	const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
		ArrowDown: [0, 1] }[event.key];

	if (step && heatLines.length) {
		const now = cursor || { bin: 0, y: 0 }, far = event.shiftKey ? 10 : 1;

		event.preventDefault();
		event.stopPropagation();
		cursor = cursor ?
			{ bin: Math.min(shownWaits().nr - 1, Math.max(0, now.bin + step[0] * far)),
				    y: Math.min(heatLines.length - 1,
					Math.max(0, now.y + step[1] * far)) } : now;
		paint();
		const what = describeSpot(cursor.y, cursor.bin);

		el("heat-words").textContent = `${what.head}: ` +
			what.rows.map(row => row.filter(Boolean).join(": ")).join("; ");
	} else if (event.key === "Enter" && cursor) {
		followSpot(cursor);
	}
}

/* Draws rows for the ranks in @of. */
export function drawHeat(of) {
	const w = shownWaits(), empty = !w || !of.length;

	el("heat-box").closest("section").hidden = empty;
	if (empty)
		return;
	rankOrder = of;
	cursor = null;
	makeLines();
	height = heatLines.length * Math.max(1,
		Math.min(HEAT_ROW, Math.floor(MAX_HEIGHT / heatLines.length)));
	paint();
	drawLabels();
	const c = ranks.collectives;

	el("heat-words").textContent =
		`${formatTime(w.nr * w.bin_ns, "auto")} in steps of ` +
		formatTime(w.bin_ns, "auto") +
		(state.collective === NONE || !tellsCollectives() ? "" :
			`; only ${c.operation[state.collective]} ` +
			`of ${c.communicator[state.collective]}`);
	el("heat-legend").replaceChildren(
		make("span", { class: "scale",
			style: `background:linear-gradient(90deg,${[0, .1, .3, .6, 1]
			.map(part => colourOf(part * top, false)).join(",")})` }),
		` up to ${formatTime(top, "auto")} in a step, of all communicators`,
		...(showsWaits() ?
			[" ",
				make("span", { class: "swatch",
					style: `background:${colourOf(top / 2, true)}` }),
				    " while ranks start"] : []));
}

/* Makes a strip of the waits in one kind of collective, over time. */
export function collectiveStrip(values) {
	const canvas = make("canvas",
		{ width: values.length, height: 1, class: "mini", "aria-hidden": "true" });
	const ctx = canvas.getContext("2d"), most = Math.max(1, ...values);

	values.forEach((ns, b) => {
		if (!ns)
			return;
		const part = Math.sqrt(ns / most);

		ctx.fillStyle = dark.matches ? hsl(292, 60, 26 + 50 * part) :
			hsl(292, 60, 94 - 50 * part);
		ctx.fillRect(b, 0, 1, 1);
	});
	return canvas;
}

export function setUpHeat() {
	const box = el("heat-box");

	if (nrRanks && ranks.waits) {
		box.addEventListener("pointermove", event => showPlace(spotAt(event), event));
		box.addEventListener("pointerleave", () => { el("tip").hidden = true; });
		box.addEventListener("click", event => followSpot(spotAt(event)));
		box.addEventListener("keydown", onHeatKey);
	}
}
