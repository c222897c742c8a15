/* SPDX-License-Identifier: MIT */
/*
 * url.js - the choices of the user in the page's address, after "#", except defaults
 *
 * Anybody may have written the address, so values that are invalid for this page are ignored.
 */
import { NONE, diff, frames, kinds, sides, times, units } from "./data.js";
import { el } from "./dom.js";
import {
	DEFAULTS, MODES, TABS, WORK_SORTS, canPerLaunch, hasMode, spanChoices, state,
} from "./model.js";
import { groupings } from "./tree.js";

export const number = (low, high) => text => /^-?\d+$/.test(text) && +text >= low && +text <= high ?
	+text : undefined;
export const one = list => text => list().includes(text) ? text : undefined;
export const text = limit => t => t.length <= limit ? t : undefined;
const numbers = t => /^(all|\d+(\.\d+)*)?$/.test(t) && t.length <= 4000 ? t : undefined;
/*
 * Ids of nodes depend on the grouping, which is known only after the whole address was read, so
 * view.js checks their range.
 */
const node = number(NONE, 2 ** 31 - 1);

/* Return: a stretch of time within the recording. */
function span(t) {
	const [, from, to] = (/^(-?\d{1,16})\.\.(-?\d{1,16})$/.exec(t) || []).map(Number);
	const choices = times && from < to ? spanChoices(from, to) : null;

	return choices && pickedNs(choices.span) > 0 ? choices.span : undefined;
}

const pickedNs = t => t.split("..").reduce((from, to) => to - from);

const devices = () => ["all", ...sides.flatMap(side => side.gpus.map(gpu => String(gpu.number)))];

/*
 * For each member of state: its name in the address, and a function that converts the text there to
 * a value.
 */
const PARAMS = {
	tab: ["view", one(() => TABS.filter(tab => !el("tab-" + tab).hidden))],
	mode: ["time", one(() => MODES.filter(hasMode))],
	off: ["without", t => !t || t.split(".").every(kind => kinds.includes(kind)) ?
		t : undefined],
	by: ["by", one(() => groupings().map(([by]) => by))],
	gpu: ["device", one(devices)],
	unit: ["unit", one(() => units)],
	width: ["width", one(() => diff ? ["larger", "a", "b"] : [])],
	order: ["order", one(() => ["name", "value"])],
	flame: ["flame", t => t === "1" ? true : undefined, () => "1"],
	from: ["from", number(0, times ? times.nr : 0)],
	to: ["to", number(0, times ? times.nr : 0)],
	span: ["span", span],
	tracks: ["events", t => t === "1" ? true : undefined, () => "1"],
	helpers: ["threads", t => t === "1" ? true : undefined, () => "1"],
	event: ["event", t => /^\d{1,5}-\d{1,8}$/.test(t) ? t : undefined],
	zoom: ["zoom", node],
	group: ["narrow", t => /^\d+-\d+-\d+(\.\d+)?$/.test(t) ? t : undefined],
	open: ["open", numbers],
	selected: ["frame", node],
	term: ["search", text(2000)],
	per: ["per", t => canPerLaunch && t === "launch" ? t : undefined],
	workBy: ["order-of-work", one(() => WORK_SORTS)],
	sortBy: ["sort", one(() => ["self", "total", "count", "delta", "name"])],
	focus: ["of", number(0, frames.name.length - 1)],
	kernel: ["kernel", text(20000)],
	linesBy: ["lines", one(() => ["samples", "place"])],
	strip: ["overview", t => t === "0" ? false : undefined, () => "0"],
};

/* Adds choices: their defaults, and rows of PARAMS. */
export function addChoices(defaults, params) {
	Object.assign(DEFAULTS, defaults);
	Object.assign(state, defaults);
	Object.assign(PARAMS, params);
}

/* Return: the choices in the address. */
export function readUrl() {
	const choices = { ...DEFAULTS }, given = new URLSearchParams(location.hash.slice(1));

	for (const [member, [name, read]] of Object.entries(PARAMS)) {
		const value = given.has(name) ? read(given.get(name)) : undefined;

		if (value !== undefined)
			choices[member] = value;
	}
	if (choices.span)
		Object.assign(choices, spanChoices(...choices.span.split("..").map(Number)));
	if (choices.from >= choices.to) {
		choices.from = DEFAULTS.from;
		choices.to = DEFAULTS.to;
	}
	return choices;
}

/*
 * Puts the choices into the address. @replace: the browser's Back does not return to the previous
 * choices
 */
export function writeUrl(replace) {
	const given = new URLSearchParams();

	for (const [member, [name, , write]] of Object.entries(PARAMS))
		if (state[member] !== DEFAULTS[member])
			given.set(name, write ? write(state[member]) : state[member]);
	const hash = given.toString();

	if (hash === location.hash.slice(1))
		return;
	try {
		history[replace ? "replaceState" : "pushState"](null, "",
			hash ? "#" + hash : location.pathname + location.search);
	} catch {
		/*
		 * Some browsers limit the rate of changes: the address is then stale until the next
		 * choice.
		 */
	}
}
