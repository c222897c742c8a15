/* SPDX-License-Identifier: MIT */
/* tooltip.js - the numbers of the frame under the pointer */
import { diff, fileOf, nameOf, parentOf, whereName } from "./data.js";
import { el, make } from "./dom.js";
import { count, self, total } from "./model.js";
import { format, formatDelta, integer, percent } from "./words.js";

export function sharesOf(i, s) {
	return `${percent(total[s][i], total[s][0])} of all` +
	       (i ? `, ${percent(total[s][i], total[s][parentOf[i]])} of parent` : "");
}

function showTip(event, i) {
	const tip = el("tip"), list = make("dl");
	const add = (label, value, cls) =>
		list.append(make("dt", null, label), make("dd", { class: cls || "" }, value));

	if (diff) {
		const delta = total[1][i] - total[0][i];

		for (const s of [0, 1])
			add("AB"[s], `${format(total[s][i])} (${sharesOf(i, s)})`);
		add("B \u2212 A", `${formatDelta(delta)} (${percent(delta, total[0][i])} of A)`,
		    delta > 0 ? "up" : delta < 0 ? "down" : "");
		add("count", `${integer.format(count[0][i])}, ${integer.format(count[1][i])}`);
	} else {
		add("total", format(total[0][i]));
		add("self", format(self[0][i]));
		if (count[0][i])
			add("count", integer.format(count[0][i]));
		add("share", sharesOf(i, 0));
	}
	if (fileOf(i))
		add(whereName(i), fileOf(i));
	tip.replaceChildren(make("strong", null, nameOf(i)), list);
	tip.hidden = false;
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

export function tooltip() {}
tooltip.show = (event, d) => showTip(event, d.data.i);
tooltip.hide = hideTip;
