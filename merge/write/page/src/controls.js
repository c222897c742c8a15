/* SPDX-License-Identifier: MIT */
/* controls.js - the buttons and lists above the graph */
import { flip, go, select, showTab } from "./actions.js";
import { dark, frameColours, hsl, kindColour } from "./colours.js";
import { NONE, data, derived, diff, haveLines, isDevice, kinds, ofMemory, present, sideNames, sides,
	times, units } from "./data.js";
import { el, keepFocus, make } from "./dom.js";
import { openHelp } from "./help.js";
import {
	MODES, TABS, canPerLaunch, hasMode, kindsOf, launchesRatio, state, sumsOfKinds,
} from "./model.js";
import { groupings } from "./tree.js";
import { format, integer, kindWords } from "./words.js";

const MODE_WORDS = { gpu: "GPU time", thread: "Thread time", both: "Both" };

function setOptions(id, options, change) {
	const box = el(id);

	box.replaceChildren(...options.map(([v, text]) => make("option", { value: v }, text)));
	box.addEventListener("change", () => change(box.value));
}

/* the lists of choices, each named after the member of state that it sets */
const LISTS = ["by", "gpu", "unit", "order", "width"];

/* Adds a list of choices in front of the other lists. @options: [value, text] of each choice */
export function addList(member, title, options, change) {
	el("by").closest(".group").prepend(
		make("label", null, `${title} `, make("select", { id: member })));
	LISTS.push(member);
	setOptions(member, options, change);
}

function setShown(id, shown) {
	el(id).style.display = shown ? "" : "none";
}

const offKinds = () => state.off.split(".").filter(Boolean);

function toggleKind(k, alone) {
	const of = kindsOf(state.mode), all = kinds.filter((_, n) => of[n]);
	const off = new Set(offKinds());

	if (alone)
		all.forEach(kind => kind === kinds[k] ? off.delete(kind) : off.add(kind));
	else if (!off.delete(kinds[k]))
		off.add(kinds[k]);
	go({ off: kinds.filter(kind => off.has(kind)).join(".") });
}

function setUpModes() {
	for (const mode of MODES.filter(hasMode))
		el("modes").append(make("button",
			{ type: "button", role: "radio", "data-mode": mode,
			onclick: () => go({ mode }) }, MODE_WORDS[mode], " ", make("b")));
	setShown("modes", hasMode("gpu") && hasMode("thread"));
	kinds.forEach((kind, k) => {
		if (present[k])
			el("kinds").append(make("button",
				{ type: "button", class: "kind", "data-kind": kind,
				title: "Count or leave out; with Shift, this one only",
				onclick: event => toggleKind(k, event.shiftKey) },
				make("span", { class: "swatch" }), kindWords(k), " ", make("b")));
	});
}

/* Return: the sum of each side over the kinds for which @of is true, in words. */
function sumWords(list, of) {
	return list.map(sums => format(sums.reduce((sum, v, k) => sum + (of(k) ? v : 0), 0)))
		.join(" \u2192 ");
}

/*
 * Whether the unit applies to a kind: bytes belong to device records, and so do counts, except in
 * the mode "thread".
 */
const hasUnit = k => ofMemory || isDevice[k] ||
	(state.unit !== "bytes" && (state.unit !== "count" || state.mode === "thread"));

/* Shows the choices in the controls, with the sum of each mode and of each kind. */
export function paintChoices() {
	const sums = sides.map((_, s) => sumsOfKinds(s)), off = offKinds(),
		of = kindsOf(state.mode);

	for (const b of el("modes").children) {
		b.setAttribute("aria-checked", b.dataset.mode === state.mode);
		b.tabIndex = b.dataset.mode === state.mode ? 0 : -1;
		b.lastChild.textContent = sumWords(sums,
			k => kindsOf(b.dataset.mode)[k] && hasUnit(k));
	}
	for (const b of el("kinds").children) {
		const k = kinds.indexOf(b.dataset.kind);

		b.hidden = !of[k];
		b.setAttribute("aria-pressed", !off.includes(kinds[k]));
		b.firstChild.style.background = kindColour(k, .5);
		b.lastChild.textContent = hasUnit(k) ? sumWords(sums, n => n === k) : "";
	}
	for (const id of LISTS)
		el(id).value = state[id];
	el("flip").textContent = state.flame ? "Root above" : "Root below";
	el("overview").setAttribute("aria-pressed", state.strip);
	paintPerLaunch();
	setShown("reset", state.tab === "graph" && (state.zoom || state.group));
	document.body.dataset.tab = state.tab;
}

const UNEQUAL = .05;	/* if the numbers of launches differ by a larger share, the page offers
			 * to compare per launch */

/* Says that A and B made different numbers of launches, and offers a comparison per launch. */
function paintPerLaunch() {
	const box = el("unequal"), ratio = canPerLaunch ? launchesRatio() : 1;

	box.hidden = Math.abs(ratio - 1) <= UNEQUAL;
	if (box.hidden)
		return;
	const [a, b] = sides.map(side => integer.format(side.totals.launches));
	const perLaunch = state.per === "launch";

	keepFocus(box, () => box.replaceChildren(`A did ${a} launches, B ${b}: ` +
		(perLaunch ? `the values of A are multiplied by ${ratio.toFixed(3)}. ` :
			`${ratio.toFixed(3)} times as many, so sums differ even if each launch ` +
			"takes as long. "),
	make("button", { type: "button", id: "per-launch", "data-per": "launch",
		"aria-pressed": perLaunch,
		onclick: () => go({ per: perLaunch ? "run" : "launch" }) }, "Compare per launch")));
}

function paintLegend() {
	const side = derived ? `this ${sideNames[1]}` : sideNames[1];

	if (diff)
		el("legend").replaceChildren(`less in ${side} `,
			make("span", { class: "scale", style:
			`background:linear-gradient(90deg,${hsl(214, 82, 56)},${hsl(0, 0, 94)},` +
			`${hsl(4, 82, 56)})` }), ` more in ${side}`);
}

function setUpTabs() {
	el("tab-lines").hidden = !haveLines;
	for (const tab of TABS)
		el("tab-" + tab).addEventListener("click", () => showTab(tab));
	/*
	 * The arrow keys move through the tabs and the modes, as usual for tabs and radio buttons.
	 */
	for (const [id, attribute] of [["tabs", "aria-selected"], ["modes", "aria-checked"]])
		el(id).addEventListener("keydown", event => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			const list = [...el(id).children].filter(b => !b.hidden);
			const now = list.findIndex(b => b.getAttribute(attribute) === "true");

			if (!step)
				return;
			event.preventDefault();
			const next = list[(now + step + list.length) % list.length];

			next.click();
			next.focus();
		});
}

/* Prepares the controls. @redraw: called when the browser changes between dark and light. */
export function setUpControls(redraw) {
	const gpus = new Map();

	for (const side of derived ? [] : sides)
		for (const gpu of side.gpus)
			gpus.set(gpu.number, gpu.name);
	setOptions("by", groupings(), by => go({ by }));
	el("by").title = data.without.length ?
		`Left out, for the page would be too large: ${data.without.join(", ")}` : "";
	setOptions("gpu", [["all", "all"], ...[...gpus].sort((a, b) => a[0] - b[0])
		.map(([number, name]) => [number, `GPU ${number}${name ? " " + name : ""}`])],
			gpu => go({ gpu }));
	setShown("gpu-label", gpus.size > 1);
	setOptions("unit", units.map(unit => [unit, unit === "auto" ? "time" : unit]),
		unit => go({ unit }));
	setShown("width-label", diff);
	if (derived)
		["larger of both", sideNames[0], `this ${sideNames[1]}`]
		.forEach((name, k) => { el("width").options[k].textContent = name; });
	setShown("overview", Boolean(times));
	el("width").addEventListener("change", () => go({ width: el("width").value }));
	el("order").addEventListener("change", () => go({ order: el("order").value }));
	el("flip").addEventListener("click", flip);
	el("reset").addEventListener("click", () => select(NONE, true));
	el("overview").addEventListener("click", () => go({ strip: !state.strip }));
	el("help-button").addEventListener("click", openHelp);
	el("search").addEventListener("input", () => go({ term: el("search").value }, true));
	setUpTabs();
	setUpModes();
	paintLegend();
	dark.addEventListener("change", () => {
		frameColours.clear();
		paintLegend();
		redraw();
	});
}
