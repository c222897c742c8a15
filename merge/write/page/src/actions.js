/* SPDX-License-Identifier: MIT */
/* actions.js - the steps of the user: each makes choices, which view.js then shows */
import { NONE } from "./data.js";
import { state } from "./model.js";
import { writeUrl } from "./url.js";

export const TABS = ["graph", "top", "lines", "ranks"];

let showPage = () => {};

/* @update: called after each step with the choices before it. */
export function onStep(update) {
	showPage = update;
}

/*
 * Makes choices: members of state. Each is a step that the browser's Back undoes, unless @replace: then
 * it is a part of the last one.
 */
export function go(choices, replace = false) {
	const before = { ...state };

	Object.assign(state, choices);
	/* Nodes of another grouping are others. */
	if (state.by !== before.by)
		Object.assign(state, { zoom: 0, group: "", open: "", selected: NONE });
	showPage(before);
	writeUrl(replace);
}

/* Zooms to the frame itself, even where a parent is as wide. */
export function select(i, zoom) {
	go(zoom ? { selected: i, zoom: Math.max(i, 0), group: "" } : { selected: i }, !zoom);
}

export const showTab = tab => go({ tab });

export const flip = () => go({ flame: !state.flame });
