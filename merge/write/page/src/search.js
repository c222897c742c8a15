/* SPDX-License-Identifier: MIT */
/* search.js - frames that match the search */
import { frames } from "./data.js";
import { el } from "./dom.js";
import { state, width } from "./model.js";
import { endOf, frameOf, nrNodes } from "./tree.js";
import { percent, plural } from "./words.js";

export let matches = null;			/* for each frame: whether it matches; null without
						 * a search */
export let pattern = null;
let isText = false;

export function search(term) {
	const input = el("search");
	let regex;

	state.term = term;
	input.setAttribute("aria-invalid", "false");
	matches = null;
	pattern = null;
	isText = false;
	if (!term)
		return;
	/* A capital letter makes the search case-sensitive. */
	const flags = /[A-Z]/.test(term) ? "" : "i";

	try {
		regex = new RegExp(term, flags);
	} catch {
		/*
		 * The term is no valid regular expression: it may be incomplete, or a plain text
		 * such as "operator++". Search for the text itself.
		 */
		input.setAttribute("aria-invalid", "true");
		isText = true;
		regex = new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
	pattern = regex;
	matches = new Uint8Array(frames.name.length);
	for (let f = 0; f < matches.length; f++)
		matches[f] = regex.test(frames.name[f]);
}

/* Shows the share of the frames that match. Nested matches count once. */
export function showMatched() {
	let sum = 0, nr = 0;

	if (!matches) {
		el("matched").textContent = "";
		return;
	}
	for (let i = 1, end = 0; i < nrNodes; i++) {
		if (!matches[frameOf[i]] || !width[i])
			continue;
		nr++;
		if (i < end)
			continue;
		sum += width[i];
		end = endOf[i];
	}
	el("matched").textContent = `${percent(sum, width[0])} matched, ` + plural(nr, "frame") +
		(isText ? "; no regular expression, taken as text" : "");
}
