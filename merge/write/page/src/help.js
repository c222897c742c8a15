/* SPDX-License-Identifier: MIT */
/* help.js - the keys of the page */
import { el, make } from "./dom.js";

export const KEY_WORDS = [
	["/", "search: a regular expression; a capital letter makes case matter"],
	["1 2 3", "time, functions, lines of kernels"],
	["t", "GPU time, thread time, both"],
	["b", "group by the next of: thread name, thread, process ..."],
	["arrow keys", "in the graph: the parent, the widest child, the neighbours; in tables: " +
		"the rows; in the overview: move the stretch, with Shift make it longer or " +
		"shorter"],
	["Enter", "zoom to the chosen frame; show what a frame stands for"],
	["u", "zoom out to the parent"],
	["s", "callers and callees of the chosen frame"],
	["c", "copy the call path of the chosen frame"],
	["f", "fold or open the frames that all calls of a thread share"],
	["i", "turn the graph upside down"],
	["e", "show or hide single events, below the overview"],
	["W S A D", "in the single events: zoom in and out, move left and right; so do the wheel " +
		"and a drag"],
	["arrow keys, Enter", "in the single events: choose the next, or one of the next row; " +
		"show the chosen one alone"],
	["o", "show or hide the overview"],
	["Esc", "one step out: a panel, the search, the zoom, the stretch of time"],
	["Alt+\u2190", "the browser's Back undoes each step; the address has all choices"],
	["?", "this list"],
];

export function openHelp() {
	const box = el("help");

	if (!box.firstChild)
		box.append(make("h2", { id: "help-title" }, "Keys"),
			   make("dl", null, ...KEY_WORDS.flatMap(([key, what]) =>
				[make("dt", null, make("kbd", null, key)),
					make("dd", null, what)])),
			   make("button", { type: "button", onclick: () => box.close() }, "Close"));
	box.showModal();
}
