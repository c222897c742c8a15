/* SPDX-License-Identifier: MIT */
/* actions.js - the user's steps: each changes choices, which view.js then shows */
import { NONE } from "./data.js";
import { state } from "./model.js";
import { writeUrl } from "./url.js";

let showPage = () => {};

/* Sets the function that each step calls at its end. This function gets the previous choices. */
export function onStep(update) {
	showPage = update;
}

/*
 * Changes choices, which are members of state. This is a step that the browser's Back undoes; with
 * @replace, Back undoes the change together with the previous step.
 */
export function go(choices, replace = false) {
	const before = { ...state };

	/* A stretch that begins and ends at the edges of bins needs no span. */
	if ("from" in choices || "to" in choices)
		state.span = "";
	Object.assign(state, choices);
	/* Reset the chosen nodes: another grouping has other nodes. */
	if (state.by !== before.by)
		Object.assign(state, { zoom: 0, group: "", open: "", selected: NONE });
	showPage(before);
	writeUrl(replace);
}

/* Selects a frame. @zoom: also zooms to the frame, even if its parent has the same width */
export function select(i, zoom) {
	go(zoom ? { selected: i, zoom: Math.max(i, 0), group: "" } : { selected: i }, !zoom);
}

export const showTab = tab => go({ tab });

export const flip = () => go({ flame: !state.flame });
