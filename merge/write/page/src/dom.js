/* SPDX-License-Identifier: MIT */
/* dom.js - elements of the page */

export const el = id => document.getElementById(id);

/* Creates an element with properties and children. Strings become text. */
export function make(tag, props, ...children) {
	const e = document.createElement(tag);

	for (const [name, value] of Object.entries(props || {})) {
		if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else if (name === "class")
			e.className = value;
		else if (name === "style")
			e.style.cssText = value;
		else
			e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}
