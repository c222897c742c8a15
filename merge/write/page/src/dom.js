/* SPDX-License-Identifier: MIT */
/* dom.js - elements of the page */

export const el = id => document.getElementById(id);

function fill(e, props, children) {
	for (const [name, value] of Object.entries(props || {})) {
		if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else if (name === "class")
			e.setAttribute("class", value);
		else if (name === "style")
			e.style.cssText = value;
		else
			e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

/* Creates an element with properties and children. Strings become text. */
export const make = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/* Creates an element of a drawing. */
export const draw = (tag, props, ...children) =>
	fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

/* Keeps the focus on the same row while a table is made again. */
export function keepFocus(box, redraw) {
	const now = document.activeElement, data = box.contains(now) ? { ...now.dataset } : {};

	redraw();
	for (const [key, value] of Object.entries(data)) {
		const again = [...box.querySelectorAll(`[data-${key}]`)]
			.find(e => e.dataset[key] === value);

		if (again)
			again.focus({ preventScroll: true });
	}
}
