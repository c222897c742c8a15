/* SPDX-License-Identifier: MIT */
/*
 * memory.js - the tab about GPU memory: how much was used over time, and who held it at a moment
 *
 * The moments are the peak, the last request that CUDA refused, and the end of each step of time.
 * merge/memory/page_memory.c makes the data. "Used" is the memory that the program asked for:
 * blocks of its allocators, and memory outside of them. One function, formatBytes(), writes all
 * amounts.
 */
import { go } from "../../write/page/src/actions.js";
import { hsl } from "../../write/page/src/colours.js";
import { derived, isolated, seen, sides } from "../../write/page/src/data.js";
import { draw, el, make } from "../../write/page/src/dom.js";
import { KEY_WORDS } from "../../write/page/src/help.js";
import { onResize } from "../../write/page/src/input.js";
import { state } from "../../write/page/src/model.js";
import { hideTip, showWords } from "../../write/page/src/tooltip.js";
import { addChoices } from "../../write/page/src/url.js";
import { addTab } from "../../write/page/src/view.js";
import {
	formatBytes, formatMoment, formatTime, integer, percent, plural,
} from "../../write/page/src/words.js";

/* the memory over time if the page has only one side; otherwise null */
const memoryTime = !derived && sides.length === 1 && sides[0].memory_time &&
	sides[0].memory_time.heaps.length ? sides[0].memory_time : null;

const HEIGHT_PIXELS = 150, MEMORY_ROWS = 300;

let heap = null, momentSums = null;

/* ---- who held memory ------------------------------------------------------------------------ */

/* Return: the bytes of each holder at a moment: "peak", "failure", or the number of a step. */
function bytesAt(moment) {
	if (moment === "peak")
		return heap.at_peak;
	if (moment === "failure")
		return heap.at_failure;
	const bytes = new Float64Array(heap.node.length);

	for (let i = 0; i < heap.step.length && heap.step[i] <= +moment; i++)
		bytes[heap.holder[i]] = heap.bytes[i];
	return bytes;
}

const partOf = h => memoryTime.kinds[heap.kind[h]][1];
const ofDevice = h => heap.places[heap.device[h]].gpu !== undefined;

/* Return: the sums of a moment: bytes of each part, and rows for call paths and kinds. */
function sumUpMoment(moment) {
	const bytes = bytesAt(moment), rows = new Map();
	const parts = { used: 0, fragmentation: 0, unused: 0, rest: 0, host: 0 };

	for (let h = 0; h < bytes.length; h++) {
		const b = bytes[h], part = ofDevice(h) ? partOf(h) : "host";

		if (!b || parts[part] === undefined)
			continue;
		parts[part] += b;
		const key = `${heap.node[h]} ${heap.kind[h]} ${heap.device[h]}`;

		if (!rows.has(key))
			rows.set(key, { key, node: heap.node[h], place: heap.place[h], part,
				kind: heap.kind[h], device: heap.device[h], bytes: 0 });
		rows.get(key).bytes += b;
	}
	return { parts, rows: [...rows.values()].sort((a, b) => b.bytes - a.bytes) };
}

const nameOfNode = n => seen(heap.names[heap.name[n]]);

/* Return: the names of a call path, innermost first. */
function namesFrom(node) {
	const names = [];

	for (let n = node; n >= 0; n = heap.parent[n])
		names.push(nameOfNode(n));
	return names;
}

/* ---- moments -------------------------------------------------------------------------------- */

const lastFailure = () => heap.failures[heap.failures.length - 1];
/* The last ns of a step: its sums have all events until then. */
const endOfStep = step => Math.min(heap.to_ns, heap.from_ns + (step + 1) * heap.step_ns - 1);

/*
 * Return: the chosen moment; if none was chosen, the moment of the last failed allocation; if no
 * allocation failed, the peak.
 */
function moment() {
	if (state.moment === "failure" && heap.at_failure.length)
		return "failure";
	if (state.moment === "" || state.moment === "peak" || state.moment === "failure")
		return state.moment === "" && heap.at_failure.length ? "failure" : "peak";
	return String(Math.min(heap.nr - 1, +state.moment));
}

const nsOf = at => at === "peak" ? heap.peak_ns : at === "failure" ? lastFailure().at_ns :
	endOfStep(+at);
const timeWords = ns => formatMoment(ns, heap.step_ns);

function momentWords(at) {
	const when = `${at === "peak" || at === "failure" ? formatTime(nsOf(at), "auto") :
		timeWords(nsOf(at))} after the start`;

	return at === "peak" ? `At the peak, ${when}` :
		at === "failure" ? `When CUDA last refused to give memory, ${when}` : `At ${when}`;
}

function pickMoment(step) {
	go({ moment: String(Math.max(0, Math.min(heap.nr - 1, step))) }, true);
}

const stepAt = x => {
	const box = el("memory-chart").getBoundingClientRect();

	return Math.floor((x - box.left) / box.width * heap.nr);
};

/* ---- over time ------------------------------------------------------------------------------ */

/*
 * Return: for each pixel, the sum of the highest values of the devices. @key: "used" or "reserved"
 */
function highest(key, pixels) {
	const sum = new Float64Array(pixels), span = Math.max(1, heap.to_ns - heap.from_ns);

	for (const place of heap.places) {
		if (place.gpu === undefined)
			continue;
		let now = 0;

		for (let x = 0, i = 0; x < pixels; x++) {
			const until = x === pixels - 1 ? Infinity :
				heap.from_ns + (x + 1) * span / pixels;
			let most = now;

			for (; i < place.at.length && place.at[i] < until; i++) {
				now = place[key][i];
				most = Math.max(most, now);
			}
			sum[x] += most;
		}
	}
	return sum;
}

function outline(list, scale) {
	let d = `M0 ${HEIGHT_PIXELS}`;

	list.forEach((v, x) => {
		const y = (HEIGHT_PIXELS - v * scale).toFixed(1);

		d += `L${x} ${y}L${x + 1} ${y}`;
	});
	return `${d}L${list.length} ${HEIGHT_PIXELS}Z`;
}

function mark(ns, pixels, cls) {
	const x = (ns - heap.from_ns) / Math.max(1, heap.to_ns - heap.from_ns) * pixels;

	return draw("line", { class: cls, x1: x.toFixed(1), x2: x.toFixed(1), y1: 0,
		y2: HEIGHT_PIXELS });
}

function drawChart() {
	const box = el("memory-chart"), pixels = Math.max(100, Math.floor(box.clientWidth));
	const used = highest("used", pixels), reserved = highest("reserved", pixels);
	const most = Math.max(1, heap.peak, ...reserved), scale = (HEIGHT_PIXELS - 4) / most;

	box.replaceChildren(draw("svg", { width: pixels, height: HEIGHT_PIXELS,
		viewBox: `0 0 ${pixels} ${HEIGHT_PIXELS}`, "aria-hidden": "true" },
	draw("path", { d: outline(reserved, scale), fill: hsl(152, 22, 86) }),
	draw("path", { d: outline(used, scale), fill: hsl(152, 42, 58) }),
	...heap.failures.map(f => mark(f.at_ns, pixels, "failure")),
	mark(heap.peak_ns, pixels, "peak"), mark(nsOf(moment()), pixels, "moment")));
	el("memory-top").textContent = formatBytes(most);
	el("memory-from").textContent = timeWords(heap.from_ns);
	el("memory-to").textContent = timeWords(heap.to_ns);
	box.setAttribute("aria-valuetext", momentWords(moment()));
	box.setAttribute("aria-valuenow", Math.max(0, Math.floor((nsOf(moment()) - heap.from_ns) /
		heap.step_ns)));
	box.setAttribute("aria-valuemax", heap.nr - 1);
}

/* ---- the tab -------------------------------------------------------------------------------- */

const swatch = colour => make("span", { class: "swatch", style: `background:${colour}` });

function partWords({ parts }) {
	const words = { used: "used", fragmentation: "fragmentation", unused: "unused in pools",
		rest: "rest of the devices", host: "of the host" };

	return Object.keys(words).filter(part => part === "used" || parts[part])
		.map(part => `${formatBytes(parts[part])} ${words[part]}`).join(" + ");
}

function momentButtons() {
	const button = (at, text) => make("button", { type: "button", "data-moment": at,
		"aria-pressed": moment() === at, onclick: () => go({ moment: at }) }, text);

	return [button("peak", "Peak"), ...(heap.at_failure.length ?
		[button("failure", "Refusal")] : []), button(String(heap.nr - 1), "End")];
}

function kindName(row) {
	const name = memoryTime.kinds[row.kind][0].replace(/_/g, " ");
	const { gpu } = heap.places[row.device];

	return heap.places.length < 2 ? name :
		`${name}, ${gpu === undefined ? "host" : `GPU ${gpu}`}`;
}

function holderRow(row, all) {
	const names = namesFrom(row.node), shown = row.place >= 0 ? nameOfNode(row.place) : "";
	const outer = row.place >= 0 && heap.parent[row.place] >= 0 ?
		`in ${nameOfNode(heap.parent[row.place])}` : "";

	return make("tr", { "data-bytes": row.bytes },
		make("td", { title: `${integer.format(row.bytes)} bytes` }, formatBytes(row.bytes)),
		make("td", null, row.part === "used" ? percent(row.bytes, all.used) : ""),
		make("td", { class: "name" }, kindName(row)),
		make("td", { class: "by" }, names.length < 2 ? names.join("") :
			make("details", null,
				make("summary", null, make("span", null, shown),
					make("span", { class: "outer" }, " " + outer)),
				make("ol", { class: "frames" },
					...names.map(name => make("li", null, isolated(name)))))));
}

function holderTable() {
	const { rows, parts } = momentSums;
	const head = ["Bytes", "% of used", "Kind", "Held by"];

	return [make("table", null, make("thead", null, make("tr", null, ...head.map((text, k) =>
		make("th", { scope: "col", class: k > 1 ? "name" : "" }, text)))),
	make("tbody", null, ...rows.slice(0, MEMORY_ROWS).map(row => holderRow(row, parts)))),
	...(rows.length > MEMORY_ROWS ?
		[make("p", { class: "dim" }, plural(rows.length - MEMORY_ROWS, "smaller holder"))] :
		[])];
}

function drawMemory() {
	heap = memoryTime.heaps[0];
	momentSums = sumUpMoment(moment());
	drawChart();
	el("memory-words").replaceChildren(
		`At most ${formatBytes(heap.peak)} of GPU memory used, ` +
		`${formatTime(heap.peak_ns, "auto")} after the start` +
		(heap.failures.length ? "; CUDA refused " +
			`${plural(heap.failures.length, "request")}, the last of ` +
			`${formatBytes(lastFailure().bytes)}, ` +
			`${formatTime(lastFailure().at_ns, "auto")} after the start` : "") +
		(memoryTime.nr_heaps > 1 ?
			`; of the first of ${memoryTime.nr_heaps} recordings` : ""));
	el("memory-legend").replaceChildren(swatch(hsl(152, 42, 58)), "used",
		swatch(hsl(152, 22, 86)), "reserved by allocators",
		make("span", { class: "key peak" }, "peak"),
		...(heap.failures.length ?
			[make("span", { class: "key failure" }, "refused")] : []),
		...momentButtons());
	el("memory-moment").textContent = `${momentWords(moment())}: ${partWords(momentSums)}`;
	el("memory-holders").replaceChildren(...holderTable());
}

function listenToMemory() {
	const chart = el("memory-chart");

	heap = memoryTime.heaps[0];
	chart.addEventListener("pointerdown", event => {
		chart.setPointerCapture(event.pointerId);
		pickMoment(stepAt(event.clientX));
	});
	chart.addEventListener("pointermove", event => {
		if (event.buttons)
			pickMoment(stepAt(event.clientX));
	});
	chart.addEventListener("mousemove", event => {
		const step = Math.max(0, Math.min(heap.nr - 1, stepAt(event.clientX)));
		const { parts } = event.buttons ? momentSums : sumUpMoment(String(step));

		showWords(event, timeWords(endOfStep(step)), [["used", formatBytes(parts.used)]]);
	});
	chart.addEventListener("mouseleave", hideTip);
	chart.addEventListener("keydown", event => {
		const by = event.shiftKey ? 10 : 1;
		const step = { ArrowLeft: -by, ArrowRight: by }[event.key];
		const now = Math.floor((nsOf(moment()) - heap.from_ns) / heap.step_ns);

		if (!step)
			return;
		event.preventDefault();
		event.stopPropagation();
		pickMoment(now + step);
	});
}

if (memoryTime) {
	KEY_WORDS.splice(2, 0, ["4", "memory; there the arrow keys go over the time"]);
	/* moment: "peak", "failure" or a step; "": the last refusal, or else the peak */
	addChoices({ moment: "", ...(memoryTime.first ? { tab: "memory" } : {}) },
		{ moment: ["moment", t => /^(peak|failure|\d{1,6})$/.test(t) ? t : undefined] });
	addTab("memory", "Memory", drawMemory, memoryTime.first);
	onResize("memory", "memory", drawMemory);
	listenToMemory();
}
