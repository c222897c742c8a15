/* SPDX-License-Identifier: MIT */
/* tooltip.js - the numbers of the frame under the pointer */
import { derived, diff, sideNames } from "./data.js";
import { el, make } from "./dom.js";
import { count, self, total, width } from "./model.js";
import { fileOf, nameOf, parentOf, whereName } from "./tree.js";
import { format, formatDelta, integer, measureWords, percent, plural } from "./words.js";

export function sharesOf(i, s) {
	return `${percent(total[s][i], total[s][0])} of ${measureWords()}` +
	       (i ? `, ${percent(total[s][i], total[s][parentOf[i]])} of the caller` : "");
}

/* Adds the numbers of a node. */
function addNumbers(add, i) {
	if (diff) {
		const delta = total[1][i] - total[0][i];

		for (const s of [0, 1])
			add(sideNames[s], `${format(total[s][i])} (${sharesOf(i, s)})`);
		add(`${sideNames[1]} \u2212 ${sideNames[0]}`,
			`${formatDelta(delta)} (${percent(delta, total[0][i])} of ${sideNames[0]})`,
		    delta > 0 ? "up" : delta < 0 ? "down" : "");
		if (!derived)
			add("count",
				`${integer.format(count[0][i])}, ${integer.format(count[1][i])}`);
	} else {
		add("total", format(total[0][i]));
		add("self", format(self[0][i]));
		if (count[0][i])
			add("count", integer.format(count[0][i]));
		add("share", sharesOf(i, 0));
	}
	if (fileOf(i))
		add(whereName(i), fileOf(i));
}

/* Makes the name and the numbers of a drawn frame, which graph.js describes. */
function tipOf(d, add) {
	switch (d.what) {
	case "narrow":
		add("width", `${format(d.v)} (${percent(d.v, width[0])} of ${measureWords()})`);
		add("", "too narrow to draw each: a click shows them");
		return plural(d.nr, "frame");
	case "fold":
		addNumbers(add, d.run[0]);
		add("", "these all share one path: a click opens them");
		return d.run.map(nameOf).join("\n");
	case "cpu":
		add("time", `${format(d.v)} (${percent(d.v, width[0])} of ${measureWords()})`);
		return `on CPU in ${nameOf(d.i)}`;
	default:
		addNumbers(add, d.i);
		return nameOf(d.i);
	}
}

export function showTip(event, d) {
	const tip = el("tip"), list = make("dl");
	const name = tipOf(d, (label, value, cls) =>
		list.append(make("dt", null, label), make("dd", { class: cls || "" }, value)));

	tip.replaceChildren(make("strong", null, name), list);
	tip.hidden = false;
	moveTip(event);
}

/* Shows a title, and below the title pairs of a label and a value. */
export function showWords(event, title, pairs) {
	el("tip").replaceChildren(make("strong", null, title),
		make("dl", null, ...pairs.flatMap(([label, value]) =>
		[make("dt", null, label), make("dd", null, value)])));
	el("tip").hidden = false;
	moveTip(event);
}

export function moveTip(event) {
	const tip = el("tip"), gap = 14;

	if (tip.hidden)
		return;
	const x = event.clientX + gap, y = event.clientY + gap;

	tip.style.left = Math.max(4, x + tip.offsetWidth > innerWidth ?
				  event.clientX - tip.offsetWidth - gap : x) + "px";
	tip.style.top = Math.max(4, y + tip.offsetHeight > innerHeight ?
				 event.clientY - tip.offsetHeight - gap : y) + "px";
}

export function hideTip() {
	el("tip").hidden = true;
}
