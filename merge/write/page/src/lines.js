/* SPDX-License-Identifier: MIT */
/* lines.js - the lines of a kernel: where its warps stalled, and why */
import { go } from "./actions.js";
import { hsl } from "./colours.js";
import { derived, diff, haveLines, kinds, sideNames, sides } from "./data.js";
import { el, make } from "./dom.js";
import { isPicked, state } from "./model.js";
import { pattern } from "./search.js";
import { kindOf, nameOf } from "./tree.js";
import { integer, percent } from "./words.js";

const LINES_ROWS = 500;

/* Hues of the most frequent reasons; hues of other reasons are computed from their names. */
const HUES = {
	long_scoreboard: 212, short_scoreboard: 190, barrier: 0, membar: 330, wait: 48,
	math_pipe_throttle: 30,
	mio_throttle: 280, lg_throttle: 250, tex_throttle: 235, no_instructions: 130, no_inst: 130,
	dispatch_stall: 20, sleeping: 80, drain: 165, branch_resolve: 100, imc_miss: 310, gmma: 15,
	not_selected: 60, selected: 110,
};

function reasonColour(name) {
	let hue = HUES[name];

	if (hue === undefined)
		hue = [...name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 360, 7);
	return hsl(hue, name === "selected" || name === "not_selected" ? 24 : 62, 62);
}

const newPlace = () => ({ samples: 0, notIssued: 0, reasons: new Map() });

function addSamples(to, reason, samples, notIssued) {
	to.samples += samples;
	to.notIssued += notIssued;
	to.reasons.set(reason, (to.reasons.get(reason) || 0) + samples);
}

/* The text of each place's line, for xpumerge --source. */
const texts = new Map();

/* For each kernel: its sums for each side, and the sums of its places. */
const kernels = new Map();

(derived ? [] : sides).forEach((side, s) => {
	const v = side.stalls;

	v.texts.forEach((text, i) => texts.set(v.places[i], text));
	v.samples.forEach((samples, i) => {
		const name = v.kernels[v.kernel[i]], place = v.places[v.place[i]];
		let k = kernels.get(name);

		if (!k)
			kernels.set(name, k = { sums: sides.map(newPlace), places: new Map() });
		if (!k.places.has(place))
			k.places.set(place, sides.map(newPlace));
		for (const to of [k.sums[s], k.places.get(place)[s]])
			addSamples(to, v.reasons[v.reason[i]], samples, v.not_issued[i]);
	});
});

const samplesOf = list => list.reduce((sum, p) => sum + p.samples, 0);
const names = [...kernels.keys()].sort((a, b) =>
	samplesOf(kernels.get(b).sums) - samplesOf(kernels.get(a).sums) || (a < b ? -1 : 1));

/* Return: the kernel of a node; "" if the node is not in a kernel, or the kernel has no lines. */
export function kernelOf(i) {
	if (!haveLines || i < 1 || kinds[kindOf(i)] !== "kernel")
		return "";
	const name = nameOf(i);

	return names.find(n => {
		const shown = n.replaceAll(";", ":");

		return name === shown || name.startsWith(shown + "<<<");
	}) || "";
}

/*
 * Makes a cell such as "b.h:3", with the line's text; below it are the places into which that line
 * was inlined.
 */
function placeCell(place) {
	const frames = place.split(";").reverse();

	return make("td", { class: "name", title: frames.join("\n") }, frames[0],
		    ...(texts.get(place) ? [" ", make("code", null, texts.get(place))] : []),
		    ...frames.slice(1).map(f => make("div", { class: "outer" }, "in " + f)));
}

function bar(place) {
	const box = make("div", { class: "reasons" });

	for (const [reason, nr] of [...place.reasons].sort((a, b) => b[1] - a[1]))
		if (nr)
			box.append(make("span", {
				style: `width:${100 * nr / place.samples}%;` +
					`background:${reasonColour(reason)}`,
				title: `${reason}: ${integer.format(nr)}, ` +
					percent(nr, place.samples),
			}));
	return box;
}

function largest(place) {
	let name = "", most = 0;

	for (const [reason, nr] of place.reasons)
		if (nr > most)
			[name, most] = [reason, nr];
	return name && `${name} ${percent(most, place.samples)}`;
}

function legend(sum) {
	return make("div", { class: "legend" }, ...[...sum.reasons].sort((a, b) => b[1] - a[1])
		.filter(([, nr]) => nr).map(([reason, nr]) => make("span", null,
			make("span", { class: "swatch",
				style: `background:${reasonColour(reason)}` }),
			`${reason} ${percent(nr, sum.samples)}`)));
}

/* Orders "a.cu:9" before "a.cu:10", and offsets by their numbers. */
function byPlace(a, b) {
	return a.localeCompare(b, "en", { numeric: true });
}

function chooser() {
	const kernel = make("select", { id: "lines-kernel", "aria-label": "Kernel", onchange: () =>
		go({ kernel: kernel.value }) }, ...names.map(n => make("option", { value: n }, n)));
	const order = make("select", { id: "lines-by", onchange: () =>
		go({ linesBy: order.value }) },
			...[["samples", "by samples"], ["place", "by line"]].map(([v, text]) =>
		make("option", { value: v }, text)));

	kernel.value = kernels.has(state.kernel) ? state.kernel : names[0];
	order.value = state.linesBy;
	return make("div", { class: "choice" }, make("label", null, "Kernel ", kernel),
		    make("label", null, "Order ", order));
}

function cellsOf(place, sum) {
	return [make("td", null, integer.format(place.samples)),
		make("td", null, percent(place.samples, sum.samples)),
		make("td", null, percent(place.notIssued, place.samples)),
		make("td", { class: "bar-cell" }, bar(place),
			make("div", { class: "outer" }, largest(place)))];
}

export function drawLines() {
	const k = kernels.get(state.kernel) || kernels.get(names[0]), head = make("tr"),
		body = make("tbody");
	const rows = [...k.places].filter(([place]) => !pattern || pattern.test(place));

	rows.sort(([a, pa], [b, pb]) => state.linesBy === "samples" ?
		samplesOf(pb) - samplesOf(pa) || byPlace(a, b) : byPlace(a, b));
	sides.forEach((_, s) => {
		const side = diff ? " " + sideNames[s] : "";

		for (const text of ["Samples", "%", "No issue %", "Reasons"])
			head.append(make("th", { scope: "col",
				class: text === "Reasons" ? "name" : "" }, text + side));
	});
	head.append(make("th", { scope: "col", class: "name" }, "Line"));
	for (const [place, list] of rows.slice(0, LINES_ROWS))
		body.append(make("tr", null, ...list.flatMap((p, s) => cellsOf(p, k.sums[s])),
			placeCell(place)));
	el("lines").replaceChildren(chooser(), ...k.sums.map(legend),
		make("table", null, make("thead", null, head), body),
		make("p", null, `${integer.format(rows.length)} lines, ` +
			k.sums.map(s => integer.format(s.samples)).join(" and ") +
			" samples, of all call paths" +
			(isPicked() ? " and all of the time" : "") +
			(rows.length > LINES_ROWS ? `; the first ${LINES_ROWS} are shown` : "") +
			"."));
}
