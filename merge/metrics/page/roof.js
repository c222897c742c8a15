/* SPDX-License-Identifier: MIT */
/*
 * roof.js - the tab with the roof plot: how near each kernel comes to the limits of the GPU
 *
 * A kernel is a circle whose area is its time. merge/metrics/page_roof.c describes the data and the
 * axes. A kernel with an unknown value is in the table next to the plot, and not in the plot.
 */
import { hsl } from "../../write/page/src/colours.js";
import { NONE, derived, frames, seen, sides } from "../../write/page/src/data.js";
import { draw, el, keepFocus, make } from "../../write/page/src/dom.js";
import { onResize } from "../../write/page/src/input.js";
import { state } from "../../write/page/src/model.js";
import { hideTip, showWords } from "../../write/page/src/tooltip.js";
import { frameOf } from "../../write/page/src/tree.js";
import { addTab } from "../../write/page/src/view.js";
import { selectKernel } from "../../write/page/src/work.js";
import { formatTime, percent, plural } from "../../write/page/src/words.js";

const roofs = !derived && sides.length === 1 ? sides[0].roof : undefined;
const inOperations = roofs && roofs.mode === "operations";
const counted = roofs && roofs.counted;		/* "operations" or "instructions" */
const SHORT = counted === "instructions" ? "inst" : "op";

const ROOF_HEIGHT = 420, ROOF_LEFT = 64, ROOF_RIGHT = 24, ROOF_TOP = 22, ROOF_BOTTOM = 40;
const MOST_RADIUS = 26, LEAST_RADIUS = 3;
const LEAST_SHARE = .1;		/* percent; smaller shares are drawn at the edge of the plot */
const ROOF_ROWS = 200;

const UNITS = ["tensor cores", "instruction issue"];
const BOUND_COLOURS = {
	"tensor cores": [212, 74, 62], DRAM: [174, 52, 50], "instruction issue": [262, 54, 70],
	latency: [26, 92, 60], "idle SMs": [45, 90, 58],
	"latency or idle SMs": [36, 60, 66], unknown: [215, 8, 72],
};
const boundColour = bound => hsl(...BOUND_COLOURS[bound] || BOUND_COLOURS.latency);

let reached = NONE;		/* the kernel that the arrow keys or the pointer last reached: an
				 * index in places */
let places = [];		/* the drawn kernels: { k, x, y, r }, the largest first */

const MOST_UNSURE = .5;		/* if the error is above this part of a value, the value may be 0 */
const isSure = (value, error) =>
	value !== null && error !== null && (!inOperations || error < MOST_UNSURE * value);

/* Whether a kernel has a place in the plot: a logarithm needs a value above 0. */
const isDrawn = k => isSure(roofs.x[k], roofs.x_error[k]) && isSure(roofs.y[k], roofs.y_error[k]);

/* ---- words ----------------------------------------------------------------------------------- */

function siWords(value, unit) {
	const names = ["", "k", "M", "G", "T", "P", "E"];
	let i = 0;

	for (; Math.abs(value) >= 1000 && i < names.length - 1; i++)
		value /= 1000;
	return `${+value.toPrecision(3)} ${names[i]}${unit}`;
}

const errorWords = error => error === null ? "?" : error.toPrecision(2);
const shareWords = (value, error) => `${value.toFixed(1)} \u00b1 ${errorWords(error)} %`;

function xWords(k) {
	const x = roofs.x[k], error = roofs.x_error[k];

	return x === null ? "unknown" : !inOperations ? shareWords(x, error) :
		`${x.toPrecision(3)} \u00b1 ${errorWords(error)} ${SHORT}/byte`;
}

function yWords(k) {
	const y = roofs.y[k], error = roofs.y_error[k];

	return y === null ? "unknown" : !inOperations ?
		`${shareWords(y, error)} (${UNITS[roofs.of[k]]})` :
		`${siWords(y * 1e9, `${SHORT}/s`)} \u00b1 ${siWords(error * 1e9, `${SHORT}/s`)}`;
}

const X_NAME = inOperations ? `arithmetic intensity, ${counted} per byte of DRAM` :
	"DRAM, % of its peak";
const Y_NAME = inOperations ? `${counted} per second` : "tensor cores or issue, % of the peak";

/* Return: the limit of operations per ns at the intensity @x, from the highest samples. */
const limitAt = x => Math.min(roofs.operations_per_ns, x * roofs.bytes_per_ns);

const factsOf = k => [
	["time", `${formatTime(roofs.ns[k], "auto")}, ${plural(roofs.count[k], "launch")}`
		.replace(/launchs$/, "launches")],
	[inOperations ? "intensity" : "DRAM", xWords(k)],
	[inOperations ? counted : "compute", yWords(k)],
	["roof", roofs.roof_percent[k] === null ? "unknown" :
		shareWords(roofs.roof_percent[k], roofs.roof_error[k])],
	["saves", roofs.save_ns[k] === null ? "unknown" :
		`${formatTime(roofs.save_ns[k], "auto")} \u00b1 ` +
		formatTime(Math.round(roofs.save_error[k]), "auto")],
	["bound by", roofs.bound[k]],
	...(inOperations && isDrawn(k) ? [["attained", percent(roofs.y[k], limitAt(roofs.x[k])) +
		" of the highest samples at this intensity"]] : []),
	...(roofs.together[k] ?
		[["", "values of several kernels that cannot be told apart"]] : []),
];

/* ---- the plot -------------------------------------------------------------------------------- */


/* Makes a logarithmic axis from @from to @to, on pixels @begin to @end. */
function axis(from, to, begin, end) {
	const low = Math.log10(from), scale = (end - begin) / (Math.log10(to) - low);
	const ticks = [];

	for (let e = Math.ceil(low - 1e-9); e <= Math.log10(to) + 1e-9; e++)
		ticks.push(10 ** e);
	return { from, to, ticks,
		at: v => begin + (Math.log10(Math.max(from, Math.min(to, v))) - low) * scale };
}

const decade = (v, up) => 10 ** (up ? Math.ceil : Math.floor)(Math.log10(v));

function axes(pixels) {
	const shown = roofs.name.map((_, k) => k).filter(isDrawn);
	const x = shown.map(k => roofs.x[k]), y = shown.map(k => roofs.y[k]);
	const ridge = roofs.operations_per_ns / roofs.bytes_per_ns;
	const around = list => inOperations ? [decade(Math.min(...list) / 1.5, false),
		decade(Math.max(...list) * 1.5, true)] : [LEAST_SHARE, 100];
	const [left, right] = around([ridge, ...x]);
	const [low, high] = around([roofs.operations_per_ns, ...y]);

	return [axis(left, right, ROOF_LEFT, pixels - ROOF_RIGHT),
		axis(low, high, ROOF_HEIGHT - ROOF_BOTTOM, ROOF_TOP)];
}

function grid(x, y) {
	const line = (x1, y1, x2, y2) => draw("line", { class: "grid", x1, y1, x2, y2 });
	const text = (px, py, anchor, words) =>
		draw("text", { x: px, y: py, "text-anchor": anchor }, words);
	const yTick = v => inOperations ? siWords(v * 1e9, "") : String(+v.toPrecision(3));
	const right = x.at(x.to), bottom = y.at(y.from);

	return [...x.ticks.flatMap(v => [line(x.at(v), y.at(y.to), x.at(v), bottom),
		text(x.at(v), bottom + 14, "middle", String(+v.toPrecision(3)))]),
	...y.ticks.flatMap(v => [line(ROOF_LEFT, y.at(v), right, y.at(v)),
		text(ROOF_LEFT - 6, y.at(v) + 4, "end", yTick(v))]),
	text(right, ROOF_HEIGHT - 6, "end", X_NAME), text(4, 12, "start", Y_NAME)];
}

/* Draws the limits of the GPU. */
function limits(x, y) {
	const points = inOperations ? [
		[Math.max(x.from, y.from / roofs.bytes_per_ns)],
		[roofs.operations_per_ns / roofs.bytes_per_ns], [x.to]].map(([v]) =>
		[v, limitAt(v)]) :
		[[x.from, y.to], [x.to, y.to], [x.to, y.from]];

	return draw("polyline", { class: "roof",
		points: points.map(([a, b]) => `${x.at(a).toFixed(1)},${y.at(b).toFixed(1)}`)
			.join(" ") });
}

const isSelected = k => state.selected > 0 &&
	frames.name[frameOf[state.selected]] === seen(roofs.name[k]);

function circle(p, n) {
	const classes = [roofs.together[p.k] && "together", isSelected(p.k) && "selected",
		n === reached && "reached"].filter(Boolean).join(" ");

	return draw("circle", { cx: p.x.toFixed(1), cy: p.y.toFixed(1), r: p.r.toFixed(1),
		fill: boundColour(roofs.bound[p.k]), "data-kernel": p.k, class: classes });
}

function drawPlot() {
	const pixels = Math.max(280, Math.floor(el("roof-plot").clientWidth));
	const [x, y] = axes(pixels), most = Math.max(1, ...roofs.ns);

	places = roofs.name.map((_, k) => k).filter(isDrawn)
		.sort((a, b) => roofs.ns[b] - roofs.ns[a])
		.map(k => ({ k, x: x.at(roofs.x[k]), y: y.at(roofs.y[k]),
			r: Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt(roofs.ns[k] / most)) }));
	el("roof-plot").replaceChildren(draw("svg", { width: pixels, height: ROOF_HEIGHT,
		viewBox: `0 0 ${pixels} ${ROOF_HEIGHT}`, "aria-hidden": "true" },
	...grid(x, y), limits(x, y), ...places.map(circle)));
}

/* ---- the words and the table ----------------------------------------------------------------- */

function roofWords() {
	if (roofs.mode === "none")
		return "No plot: the recording lacks the metrics of DRAM, tensor cores and " +
			"issue, which xpuload --gpu-metrics records.";
	if (inOperations)
		return `Roofs: ${siWords(roofs.bytes_per_ns * 1e9, "B/s")} of DRAM and ` +
			`${siWords(roofs.operations_per_ns * 1e9, `${SHORT}/s`)}, the highest ` +
			`samples of this recording. ${counted === "instructions" ?
				"Instructions are counted once for each warp." :
				"Only operations that the metrics count are included."}`;
	return "Roofs: 100 % of the GPU's own peaks of DRAM, tensor cores and issue. Shares " +
		`below ${LEAST_SHARE} % are at the edge. No rates were recorded: ` +
		"--gpu-metrics=dram__bytes_read.sum.per_second," +
		"dram__bytes_write.sum.per_second," +
		"sm__inst_executed.sum.per_second gives instructions per byte.";
}

const COLUMNS_OF_ROOF = [["Time", k => formatTime(roofs.ns[k], "auto")],
	[inOperations ? "Intensity" : "DRAM", xWords],
	[inOperations ? "Operations" : "Compute", yWords],
	...["roof", "saves", "bound by"].map(name => [name[0].toUpperCase() + name.slice(1),
		k => factsOf(k).find(([key]) => key === name)[1]])];

/* Return: the columns in which a kernel has a known value. */
const columnsOfRoof = () => COLUMNS_OF_ROOF.filter(([, words]) =>
	roofs.name.some((_, k) => words(k) !== "unknown"));

function tableRow(k) {
	return make("tr", { class: isSelected(k) ? "selected" : "", "data-kernel-row": k },
		make("td", { class: "name" }, make("button", { type: "button", class: "plain",
			"data-roof": k, title: roofs.name[k].slice(0, 2000),
			onclick: () => selectKernel(seen(roofs.name[k])) }, seen(roofs.name[k]))),
		...columnsOfRoof().map(([, words]) => make("td", null, words(k))));
}

function roofTable(caption, list) {
	const head = ["Kernel", ...columnsOfRoof().map(([title]) => title)];

	return list.length ? [make("h3", null, caption), make("table", null,
		make("thead", null, make("tr", null, ...head.map((text, i) =>
			make("th", { scope: "col", class: i ? "" : "name" }, text)))),
		make("tbody", null, ...list.slice(0, ROOF_ROWS).map(tableRow))),
	...(list.length > ROOF_ROWS ?
		[make("p", { class: "dim" },
			plural(list.length - ROOF_ROWS, "more kernel"))] : [])] : [];
}

function drawTables() {
	const all = roofs.name.map((_, k) => k), out = all.filter(k => !isDrawn(k));
	const ns = list => list.reduce((sum, k) => sum + roofs.ns[k], 0);

	keepFocus(el("roof-table"), () => el("roof-table").replaceChildren(
		...roofTable(`In the plot: ${plural(all.length - out.length, "kernel")}`,
			all.filter(isDrawn)),
		...roofTable(`Not in the plot: ${plural(out.length, "kernel")}, ` +
			`${percent(ns(out), ns(all) + roofs.more_ns)} of the kernels' time: ` +
			"a value is unknown, or 0 within its error", out),
		...(roofs.nr_more ? [make("p", null, `${plural(roofs.nr_more, "more kernel")} ` +
			`of ${formatTime(roofs.more_ns, "auto")} are not in this page`)] : [])));
}

function drawRoof() {
	const bounds = Object.keys(BOUND_COLOURS).filter(bound =>
		roofs.bound.some((b, k) => b === bound && isDrawn(k)));

	el("roof-words").textContent = roofWords();
	el("roof-left").hidden = roofs.mode === "none";
	if (roofs.mode !== "none")
		drawPlot();
	el("roof-legend").replaceChildren("Area: time. Bound by:", ...bounds.flatMap(bound =>
		[make("span", { class: "swatch", style: `background:${boundColour(bound)}` }),
			bound]));
	drawTables();
}

/* ---- pointer and keys ------------------------------------------------------------------------ */

function reach(n) {
	const box = el("roof-plot").getBoundingClientRect(), p = places[n];

	reached = n;
	el("roof-plot").querySelectorAll("circle").forEach((c, i) =>
		c.classList.toggle("reached", i === n));
	if (n === NONE) {
		hideTip();
		return;
	}
	showWords({ clientX: box.x + p.x, clientY: box.y + p.y }, seen(roofs.name[p.k]),
		factsOf(p.k));
	el("roof-kernel").textContent = `${seen(roofs.name[p.k])}: ` +
		factsOf(p.k).map(pair => pair.join(" ").trim()).join("; ");
}

function onRoofKey(event) {
	const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];

	if (step && places.length) {
		event.preventDefault();
		event.stopPropagation();
		reach(reached === NONE ? 0 : (reached + step + places.length) % places.length);
	} else if (event.key === "Enter" && reached !== NONE) {
		selectKernel(seen(roofs.name[places[reached].k]));
	}
}

function listenToRoof() {
	const plot = el("roof-plot");
	const over = event => event.target.closest("circle") ?
		places.findIndex(p => p.k === +event.target.dataset.kernel) : NONE;

	plot.addEventListener("keydown", onRoofKey);
	plot.addEventListener("mousemove", event => reach(over(event)));
	plot.addEventListener("mouseleave", () => reach(NONE));
	plot.addEventListener("blur", () => reach(NONE));
	plot.addEventListener("click", event => {
		if (over(event) !== NONE)
			selectKernel(seen(roofs.name[places[over(event)].k]));
	});
}

if (roofs && roofs.name.length) {
	addTab("roof", "Roof", drawRoof, false);
	onResize("roof-left", "roof", drawRoof);
	listenToRoof();
}
