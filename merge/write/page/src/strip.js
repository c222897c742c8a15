/* SPDX-License-Identifier: MIT */
/*
 * strip.js - the strip, which shows how busy each device was over time, what threads did, and how
 * many CPUs were in use. The user can pick a stretch of time, and everything below then shows only
 * this stretch.
 *
 * Rows may have finer bins than the sums of call paths; a stretch begins and ends at edges of
 * the bins of the sums. Time outside of capture windows was not recorded: it is marked, and devices
 * count as neither busy nor idle in it.
 */
import { go } from "./actions.js";
import { dark, kindColour } from "./colours.js";
import { isolated, kinds, seen, times } from "./data.js";
import { draw, el, make } from "./dom.js";
import { isPicked, isRounded, pickedSpan, state, wholeSpan } from "./model.js";
import { hideTip, showWords } from "./tooltip.js";
import { formatMoment, formatTime, integer, kindWords, plural } from "./words.js";

const HEIGHT = 14, GAP = 2, MAX_DEVICES = 8, MAX_THREADS = 5, MIN_ACTIVE = .05, MAX_GAPS = 600;
const STATES = ["cpu", "gpu_wait", "off_cpu"].map(kind => kinds.indexOf(kind));

/* ---- what was recorded ---------------------------------------------------------------------- */

/* Return: how many ns from @from to @to were recorded. */
function recordedIn(from, to) {
	let sum = 0;

	for (const [begin, end, ns] of times.recorded) {
		if (begin >= to)
			break;
		if (end > from)
			sum += ns * (Math.min(end, to) - Math.max(begin, from)) /
			(end - begin || 1);
	}
	return sum;
}

/* Return: an element for each gap between windows, if the gap is wide enough to be seen. */
function gaps() {
	const { from_ns: first, bin_ns: width, nr } = times.rows, span = width * nr, list = [];
	let at = first;

	for (const [begin, end] of [...times.recorded, [first + span, first + span]]) {
		if (begin - at > span / MAX_GAPS)
			list.push(make("div", { class: "gap", style:
				`left:${100 * (at - first) / span}%;` +
				`width:${100 * (begin - at) / span}%` }));
		at = Math.max(at, end);
	}
	return list;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Return: for each bin, the sum over the rows. */
function series(list) {
	const v = new Float64Array(times.rows.nr);

	for (const row of list)
		row.bin.forEach((bin, k) => { v[bin] += row.ns[k]; });
	return v;
}

const sumOfRows = list => list.reduce((sum, row) => sum + row.ns.reduce((a, b) => a + b, 0), 0);

/*
 * Return: lines of the strip, { name, layers: [[kind, values]], nr }, where nr is the number of
 * threads, devices or CPUs.
 */
function stripLines() {
	const list = times.rows.list, width = times.rows.bin_ns, all = [];
	const gpus = list.filter(row => row.gpu !== undefined).sort((a, b) => a.gpu - b.gpu);
	const threads = new Map(), cpu = kinds.indexOf("cpu");
	const onCpu = list.filter(row => row.kind === cpu);

	for (const row of list.filter(r => r.kind !== undefined)) {
		const key = `${row.pid} ${row.tid}`;

		if (!threads.has(key))
			threads.set(key, { rows: [], active: 0,
				name: isolated(seen(row.name)) + " " +
					(row.tid === undefined ? "" : row.tid) });
		const thread = threads.get(key);

		thread.rows.push(row);
		/* Threads that only slept come last. */
		thread.active += sumOfRows([row]) * (kinds[row.kind] === "off_cpu" ? 1e-6 : 1);
	}
	const kernel = kinds.indexOf("kernel");

	for (const row of gpus.slice(0, MAX_DEVICES))
		all.push({ name: `GPU ${row.gpu}`, nr: 1, device: true,
			layers: [[kernel, series([row])]] });
	if (gpus.length > MAX_DEVICES)
		all.push({ name: plural(gpus.length - MAX_DEVICES, "more GPU"), device: true,
			nr: gpus.length - MAX_DEVICES,
			   layers: [[kernel, series(gpus.slice(MAX_DEVICES))]] });
	const byActivity = [...threads.values()].sort((a, b) => b.active - a.active);
	/* Threads that hardly ran and did not wait for a device, such as helpers, share one row. */
	const isShown = thread => thread.active >= MIN_ACTIVE * byActivity[0].active ||
		thread.rows.some(row => kinds[row.kind] === "gpu_wait");
	const shown = byActivity.filter(isShown).slice(0, MAX_THREADS);

	for (const thread of shown)
		all.push({ name: thread.name, nr: 1, layers: STATES.filter(k => k >= 0).map(kind =>
			[kind, series(thread.rows.filter(row => row.kind === kind))]) });
	if (byActivity.length > shown.length) {
		const rest = byActivity.filter(thread => !shown.includes(thread))
			.flatMap(thread => thread.rows), nr = byActivity.length - shown.length;

		all.push({ name: plural(nr, "more thread"), nr,
			layers: STATES.filter(k => k >= 0).map(kind =>
			[kind, series(rest.filter(row => row.kind === kind))]) });
	}
	if (onCpu.length) {
		const v = series(onCpu), most = Math.max(1,
			Math.ceil(v.reduce((a, b) => Math.max(a, b), 0) / width - .05));

		/*
		 * A late sample represents more time than has passed, so limit the peak to the
		 * number of CPUs.
		 */
		const { cpus } = times.rows, words = !cpus ? `${most}` :
			`${integer.format(Math.min(most, cpus))} of ${integer.format(cpus)}`;

		all.push({ name: `CPU use (peak ${words})`, nr: most, layers: [[cpu, v]] });
	}
	return all;
}

let rows = null, full = null, painted = null;

/*
 * Return: for each bin, the value of a full row. This is the number of recorded ns in the bin, or
 * the bin's whole width if the recording has no windows.
 */
function fullBins() {
	const { from_ns: from, bin_ns: width, nr } = times.rows;

	return Float64Array.from({ length: nr }, (_, b) =>
		(times.nrWindows && recordedIn(from + b * width, from + (b + 1) * width)) || width);
}

/*
 * Return: the outline of stacked values, from @low to @high. The row of these values has its top at
 * @y, and is for @nr threads, devices or CPUs.
 */
function outlineOf(low, high, nr, y) {
	const at = (v, b) => (y + HEIGHT - Math.min(1, v / (full[b] * nr)) * HEIGHT).toFixed(2);
	let up = "", down = "";

	for (let b = 0; b < high.length; b++) {
		up += `L${b},${at(high[b], b)}L${b + 1},${at(high[b], b)}`;
		down = `L${b + 1},${at(low[b], b)}L${b},${at(low[b], b)}` + down;
	}
	return "M" + (up + down).slice(1) + "Z";
}

function drawRows() {
	const nr = times.rows.nr, svg = el("strip-rows");
	const height = rows.length * (HEIGHT + GAP);

	svg.setAttribute("viewBox", `0 0 ${nr} ${height}`);
	svg.style.height = height + "px";
	svg.replaceChildren(...rows.flatMap((row, r) => {
		const y = r * (HEIGHT + GAP);
		let low = new Float64Array(nr);

		return [draw("rect", { class: "ground", x: 0, y, width: nr, height: HEIGHT }),
			...row.layers.map(([kind, values]) => {
				const high = low.map((v, b) => v + values[b]);
				const path = draw("path", { d: outlineOf(low, high, row.nr, y),
					fill: kindColour(kind, .5),
							    "data-kind": kinds[kind],
							"data-row": row.name });

				low = high;
				return path;
			})];
	}));
	for (const gap of el("strip-area").querySelectorAll(".gap"))
		gap.remove();
	if (times.nrWindows)
		el("stretch").before(...gaps());
}

/* Shows a legend of thread states, because the buttons above may explain other colors. */
function drawLegend() {
	const shown = new Set(rows.filter(row => !row.device).flatMap(row => row.layers
		.filter(([, values]) => values.some(Boolean)).map(([kind]) => kind)));
	const entry = (cls, style, words) =>
		make("span", null, make("span", { class: cls, style }), words);

	el("strip-legend").replaceChildren(
		...STATES.filter(kind => shown.has(kind)).map(kind =>
			entry("swatch", `background:${kindColour(kind, .5)}`, kindWords(kind))),
		...(times.nrWindows ? [entry("swatch gap", "", "not recorded")] : []));
}

/* Return: the ns of a layer in the rows' bins from @first to @last - 1. */
const sumBins = (values, first, last) =>
	values.subarray(first, last).reduce((sum, v) => sum + v, 0);

const share = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + "%" : "\u2013";

/* Return: the bin of rows at which bin @b of the sums begins. */
const rowBin = b => Math.min(times.rows.nr, Math.max(0,
	Math.round((times.from + b * times.width - times.rows.from_ns) / times.rows.bin_ns)));

/* Draws the names of rows. A device's name includes how busy it was in the picked stretch. */
function drawNames() {
	const { from_ns: from, bin_ns: width } = times.rows;
	const first = isPicked() ? rowBin(state.from) : 0,
		last = isPicked() ? rowBin(state.to) : times.rows.nr;
	const whole = isPicked() ? recordedIn(from + first * width, from + last * width) :
		recordedIn(-Infinity, Infinity);

	el("strip-names").replaceChildren(...rows.map(row => {
		const busy = row.device ? share(sumBins(row.layers[0][1], first, last),
			whole * row.nr) : "";

		return make("div", { title: row.name +
			(busy && `: busy ${busy} of the time` + (isPicked() ? " picked" : "") +
				(times.nrWindows ? " that was recorded" : "")) },
					row.name + (busy && " " + busy));
	}));
}

/* ---- the stretch ---------------------------------------------------------------------------- */

/* Return: which bin of the sums is at @at, a fraction of the strip's width. */
function binAt(at) {
	const ns = times.rows.from_ns + at * times.rows.nr * times.rows.bin_ns;

	return Math.min(times.nr - 1, Math.max(0, Math.floor((ns - times.from) / times.width)));
}

/* Places the box around a stretch, in ns. */
export function placeSpan(from, to) {
	const box = el("stretch"), [begin, end] = wholeSpan();
	const rowsFrom = times.rows.from_ns, span = times.rows.nr * times.rows.bin_ns;
	const part = ns => Math.min(1, Math.max(0, (ns - rowsFrom) / span));

	box.hidden = from <= begin && to >= end;
	box.style.left = 100 * part(from) + "%";
	box.style.width = 100 * (part(to) - part(from)) + "%";
}

const placeStretch = (from, to) =>
	placeSpan(times.from + from * times.width, times.from + to * times.width);

/* Return: "; 3.4 ms of it recorded", or "" if the recording has no windows. */
function recordedWords() {
	const ns = recordedIn(...pickedSpan());

	return times.nrWindows ? `; ${formatTime(ns, "auto")} of it recorded` : "";
}

function describeStrip() {
	const [from, to] = pickedSpan(), step = Math.min(times.width, Math.max(1, to - from) / 100);
	/* The interval of a sample may begin a little before the recording. */
	const at = ns => formatMoment(Math.max(0, ns), step);
	const words = isPicked() ?
		`${at(from)} to ${at(to)}: ${formatTime(to - from, "auto")} of ` +
		formatTime(times.nr * times.width, "auto") + recordedWords() +
		(isRounded ? "; sums cover whole steps of " +
			formatTime(times.width, "auto") : "") :
		`all of the time, ${at(from)} to ${at(to)}${recordedWords()}` +
		(times.nrWindows ? ` in ${plural(times.nrWindows, "window")}` : "");

	el("stretch-words").replaceChildren(words, ...(!isPicked() && times.nr > 1 ?
		[make("span", { class: "drag" }, ": drag over a stretch to see it alone")] : []));
	el("stretch-words").title =
		`Steps of ${formatTime(times.width, "auto")}. Time that has no place on this ` +
		"line, such as many short waits recorded as one sum, is left out of a stretch." +
		(times.rest ?
			` ${plural(times.rest, "small call path")} stand together there.` : "");
	el("all-time").hidden = !isPicked();
	el("strip-area").setAttribute("aria-valuetext", words);
	el("strip-area").setAttribute("aria-valuenow", state.from);
}

function movePicked(event) {
	const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], length = state.to - state.from;

	if (!step || times.nr < 2)
		return;
	event.preventDefault();
	event.stopPropagation();
	if (!isPicked()) {
		const eighth = Math.max(1, Math.round(times.nr / 8));

		go(step > 0 ? { from: 0, to: eighth } : { from: times.nr - eighth, to: times.nr });
	} else if (event.shiftKey) {
		go({ to: Math.min(times.nr, Math.max(state.from + 1, state.to + step)) }, true);
	} else {
		const from = Math.min(times.nr - length, Math.max(0, state.from + step));

		go({ from, to: from + length }, true);
	}
}

/* A drag picks a stretch, and a click cancels it. */
function listenToDrag() {
	const area = el("strip-area");
	let start = null, startX = 0;

	const where = event => {
		const box = area.getBoundingClientRect();

		return binAt((event.clientX - box.left) / box.width);
	};
	const ends = event => {
		const now = where(event);

		return [Math.min(start, now), Math.max(start, now) + 1];
	};

	area.addEventListener("pointerdown", event => {
		if (event.button || times.nr < 2)
			return;
		start = where(event);
		startX = event.clientX;
		area.setPointerCapture(event.pointerId);
	});
	area.addEventListener("pointermove", event => {
		if (start !== null && Math.abs(event.clientX - startX) > 3)
			placeStretch(...ends(event));
	});
	area.addEventListener("pointerup", event => {
		if (start === null)
			return;
		const [from, to] = Math.abs(event.clientX - startX) > 3 ?
			ends(event) : [0, times.nr];

		start = null;
		go({ from, to });
	});
	area.addEventListener("pointercancel", () => {
		start = null;
		drawStrip();
	});
	area.addEventListener("keydown", movePicked);
}

/* Shows the time under the pointer, and the row's values in that bin. */
function hover(event) {
	const box = el("strip-rows").getBoundingClientRect(),
		{ from_ns: from, bin_ns: width, nr } = times.rows;
	const b = Math.floor((event.clientX - box.left) / box.width * nr);
	const row = rows[Math.floor((event.clientY - box.top) / (HEIGHT + GAP))];

	if (b < 0 || b >= nr || !row || event.buttons) {
		hideTip();
		return;
	}
	const recorded = !times.nrWindows ||
		recordedIn(from + b * width, from + (b + 1) * width) > 0;
	const parts = row.layers.filter(([, values]) => values[b] > 0).map(([kind, values]) =>
		[row.device ? "busy" : kindWords(kind), share(values[b], full[b] * row.nr)]);

	showWords(event, row.name, [["at", formatMoment(Math.max(0, from + b * width), width)],
				    ["in", formatTime(width, "auto")],
				    ...(parts.length ? parts :
					[["", recorded ? "nothing" : "not recorded"]])]);
}

export function drawStrip() {
	const shown = Boolean(times) && state.strip;

	el("strip").hidden = !shown;
	if (!shown)
		return;
	rows ||= stripLines();
	full ||= fullBins();
	if (painted !== dark.matches) {
		drawRows();
		drawLegend();
		painted = dark.matches;
	}
	drawNames();
	placeSpan(...pickedSpan());
	describeStrip();
}

export function setUpStrip() {
	if (!times)
		return;
	el("strip-area").setAttribute("aria-valuemax", times.nr - 1);
	el("all-time").addEventListener("click", () => go({ from: 0, to: times.nr }));
	listenToDrag();
	el("strip-area").addEventListener("mousemove", hover);
	el("strip-area").addEventListener("mouseleave", hideTip);
}
