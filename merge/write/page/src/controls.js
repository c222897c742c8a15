/* SPDX-License-Identifier: MIT */
/* controls.js - the buttons and lists above the graph */
import { dark, frameColours, hsl, kindColour } from "./colours.js";
import { NONE, diff, kinds, present, sides } from "./data.js";
import { el, make } from "./dom.js";
import { haveLines } from "./lines.js";
import { state } from "./model.js";
import { search } from "./search.js";
import { TABS, change, draw, flip, select, showTab } from "./view.js";
import { TIMES, kindWords } from "./words.js";

function setOptions(id, options, value, change) {
	const box = el(id);

	box.replaceChildren(...options.map(([v, text]) => make("option", { value: v }, text)));
	box.value = value;
	box.addEventListener("change", () => change(box.value));
}

function setUpKinds() {
	kinds.forEach((kind, k) => {
		if (!present[k])
			return;
		const button = make("button", { type: "button", class: "kind", "aria-pressed": "true",
			"data-kind": kind, title: "Count or leave out; with Shift, this one only" },
			make("span", { class: "swatch" }), kindWords(k));

		button.addEventListener("click", event => {
			if (event.shiftKey)
				state.kinds = present.map((_, n) => n === k);
			else
				state.kinds[k] = !state.kinds[k];
			for (const b of el("kinds").children)
				b.setAttribute("aria-pressed", state.kinds[kinds.indexOf(b.dataset.kind)]);
			change();
		});
		el("kinds").append(button);
	});
}

function paintControls() {
	for (const b of el("kinds").children)
		b.firstChild.style.background = kindColour(kinds.indexOf(b.dataset.kind), .5);
	if (diff)
		el("legend").replaceChildren("less in B ", make("span", { class: "scale", style:
			`background:linear-gradient(90deg,${hsl(214, 82, 56)},${hsl(0, 0, 94)},` +
			`${hsl(4, 82, 56)})` }), " more in B");
}

export function setUpControls() {
	const gpus = new Map();

	for (const side of sides)
		for (const gpu of side.gpus)
			gpus.set(gpu.number, gpu.name);
	setOptions("gpu", [["all", "all"], ...[...gpus].sort((a, b) => a[0] - b[0])
		.map(([number, name]) => [number, `GPU ${number}${name ? " " + name : ""}`])],
		"all", value => { state.gpu = value; change(); });
	el("gpu-label").hidden = gpus.size < 2;
	el("gpu-label").style.display = gpus.size < 2 ? "none" : "";
	setOptions("unit", [["auto", "time"], ...Object.keys(TIMES).map(u => [u, u]),
		["count", "count"], ["bytes", "bytes"]], state.unit,
		value => { state.unit = value; change(); });
	el("width-label").style.display = diff ? "" : "none";
	el("width").addEventListener("change", () => { state.width = el("width").value; change(); });
	el("order").addEventListener("change", () => { state.order = el("order").value; draw(); });
	el("flip").addEventListener("click", flip);
	el("reset").addEventListener("click", () => select(NONE, true));
	el("search").addEventListener("input", () => { search(el("search").value); draw(); });
	el("tab-lines").hidden = !haveLines;
	for (const tab of TABS)
		el("tab-" + tab).addEventListener("click", () => showTab(tab));
	setUpKinds();
	paintControls();
	dark.addEventListener("change", () => {
		frameColours.clear();
		paintControls();
		draw();
	});
}
