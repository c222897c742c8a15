/* SPDX-License-Identifier: MIT */
/*
 * strip.js - the run at a glance: how busy each device was over time, what threads did, and how many CPUs
 * were in use. A stretch can be picked there, which everything below follows.
 *
 * Rows may have finer bins than the sums of call paths: a stretch begins and ends where bins of those do.
 */
import { go } from "./actions.js";
import { kindColour } from "./colours.js";
import { kinds, times } from "./data.js";
import { draw, el, make } from "./dom.js";
import { isPicked, state } from "./model.js";
import { formatTime, percent, plural } from "./words.js";

const HEIGHT = 14, GAP = 2, MAX_DEVICES = 8, MAX_THREADS = 5;
const STATES = ["cpu", "gpu_wait", "off_cpu"].map(kind => kinds.indexOf(kind));

/* ---- rows ----------------------------------------------------------------------------------- */

/* Return: the values of rows of bins, added up by bin. */
function series(list) {
	const v = new Float64Array(times.rows.nr);

	for (const row of list)
		row.bin.forEach((bin, k) => { v[bin] += row.ns[k]; });
	return v;
}

const sumOf = list => list.reduce((sum, row) => sum + row.ns.reduce((a, b) => a + b, 0), 0);

/* Return: lines of the strip: { name, layers: [[kind, values]], full: the value of a full bin }. */
function lines() {
	const list = times.rows.list, width = times.rows.bin_ns, all = [];
	const gpus = list.filter(row => row.gpu !== undefined).sort((a, b) => a.gpu - b.gpu);
	const threads = new Map(), cpu = kinds.indexOf("cpu");
	const onCpu = list.filter(row => row.kind === cpu);

	for (const row of list.filter(r => r.kind !== undefined)) {
		const key = `${row.pid} ${row.tid}`;

		if (!threads.has(key))
			threads.set(key, { name: `${row.name} ${row.tid === undefined ? "" : row.tid}`, rows: [], active: 0 });
		const thread = threads.get(key);

		thread.rows.push(row);
		/* Threads that only slept come last. */
		thread.active += sumOf([row]) * (kinds[row.kind] === "off_cpu" ? 1e-6 : 1);
	}
	const kernel = kinds.indexOf("kernel");

	for (const row of gpus.slice(0, MAX_DEVICES))
		all.push({ name: `GPU ${row.gpu}`, full: width, device: true, busy: sumOf([row]), layers: [[kernel, series([row])]] });
	if (gpus.length > MAX_DEVICES)
		all.push({ name: plural(gpus.length - MAX_DEVICES, "more GPU"), device: true, busy: sumOf(gpus.slice(MAX_DEVICES)) /
			(gpus.length - MAX_DEVICES), full: width * (gpus.length - MAX_DEVICES),
			   layers: [[kernel, series(gpus.slice(MAX_DEVICES))]] });
	const byActivity = [...threads.values()].sort((a, b) => b.active - a.active);

	for (const thread of byActivity.slice(0, MAX_THREADS))
		all.push({ name: thread.name, full: width, layers: STATES.filter(k => k >= 0).map(kind =>
			[kind, series(thread.rows.filter(row => row.kind === kind))]) });
	if (byActivity.length > MAX_THREADS) {
		const rest = byActivity.slice(MAX_THREADS).flatMap(thread => thread.rows), nr = byActivity.length - MAX_THREADS;

		all.push({ name: plural(nr, "more thread"), full: width * nr, layers: STATES.filter(k => k >= 0).map(kind =>
			[kind, series(rest.filter(row => row.kind === kind))]) });
	}
	if (onCpu.length) {
		const v = series(onCpu), most = Math.max(1, Math.ceil(v.reduce((a, b) => Math.max(a, b), 0) / width - .05));

		all.push({ name: `CPU use, of ${most}`, full: width * most, layers: [[cpu, v]], busy: sumOf(onCpu) });
	}
	return all;
}

/* Return: the outline of stacked values, from @low to @high, in a row whose top is @y. */
function outline(low, high, full, y) {
	const at = v => (y + HEIGHT - Math.min(1, v / full) * HEIGHT).toFixed(2);
	let up = "", down = "";

	for (let b = 0; b < high.length; b++) {
		up += `L${b},${at(high[b])}L${b + 1},${at(high[b])}`;
		down = `L${b + 1},${at(low[b])}L${b},${at(low[b])}` + down;
	}
	return "M" + (up + down).slice(1) + "Z";
}

let rows = null;

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
				const path = draw("path", { d: outline(low, high, row.full, y), fill: kindColour(kind, .5),
							    "data-kind": kinds[kind], "data-row": row.name });

				low = high;
				return path;
			})];
	}));
	const span = times.rows.nr * times.rows.bin_ns;

	el("strip-names").replaceChildren(...rows.map(row => {
		const busy = row.device ? ` ${percent(row.busy, span)}` : "";

		return make("div", { title: row.name + (row.device ? `: busy${busy} of the time` : "") }, row.name + busy);
	}));
}

/* ---- the stretch ---------------------------------------------------------------------------- */

/* Where bin @b of the sums begins, as a part of the strip. */
function part(b) {
	const rowsFrom = times.rows.from_ns, span = times.rows.nr * times.rows.bin_ns;

	return Math.min(1, Math.max(0, (times.from + b * times.width - rowsFrom) / span));
}

/* The bin of the sums at a part of the strip. */
function binAt(at) {
	const ns = times.rows.from_ns + at * times.rows.nr * times.rows.bin_ns;

	return Math.min(times.nr - 1, Math.max(0, Math.floor((ns - times.from) / times.width)));
}

function placeStretch(from, to) {
	const box = el("stretch"), picked = from > 0 || to < times.nr;

	box.hidden = !picked;
	box.style.left = 100 * part(from) + "%";
	box.style.width = 100 * (part(to) - part(from)) + "%";
}

/* A sample may stand for a time that began a little before the recording. */
const at = b => formatTime(Math.max(0, times.from + b * times.width), "auto");

function describe() {
	const whole = `${at(0)} to ${at(times.nr)}`;
	const words = isPicked() ? `${at(state.from)} to ${at(state.to)}: ` +
		`${formatTime((state.to - state.from) * times.width, "auto")} of ${formatTime(times.nr * times.width, "auto")}` :
		times.nr > 1 ? `all of the time, ${whole}: drag over a stretch to see it alone` : `all of the time, ${whole}`;

	el("stretch-words").textContent = words;
	el("stretch-words").title = `Steps of ${formatTime(times.width, "auto")}. Time that has no place on this line, ` +
		"such as many short waits recorded as one sum, is left out of a stretch." +
		(times.rest ? ` ${plural(times.rest, "small call path")} stand together there.` : "");
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

/* A drag picks a stretch, a click takes it back. */
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
		const [from, to] = Math.abs(event.clientX - startX) > 3 ? ends(event) : [0, times.nr];

		start = null;
		go({ from, to });
	});
	area.addEventListener("pointercancel", () => {
		start = null;
		drawStrip();
	});
	area.addEventListener("keydown", movePicked);
}

export function drawStrip() {
	const shown = Boolean(times) && state.strip;

	el("strip").hidden = !shown;
	if (!shown)
		return;
	rows ||= lines();
	drawRows();
	placeStretch(state.from, state.to);
	describe();
}

export function setUpStrip() {
	if (!times)
		return;
	el("strip-area").setAttribute("aria-valuemax", times.nr - 1);
	el("all-time").addEventListener("click", () => go({ from: 0, to: times.nr }));
	listenToDrag();
}
