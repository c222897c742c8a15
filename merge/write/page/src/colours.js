/* SPDX-License-Identifier: MIT */
/* colours.js - colors of frames and kinds: work is saturated, its callers are pale */
import { NONE, diff, frames, kinds } from "./data.js";
import { total } from "./model.js";
import { matches } from "./search.js";
import { frameOf } from "./tree.js";

export const dark = matchMedia("(prefers-color-scheme: dark)");
const SHADES = 24;
const MATCH = "#e65cf0";

/* Each kind of leaf frame has a hue, a spread of the hue, a saturation and a lightness. */
export const KIND_COLOURS = {
	kernel: [212, 14, 74, 66], memcpy: [174, 10, 52, 56], memset: [262, 10, 54, 73],
	pending: [338, 8, 62, 74], cpu: [26, 8, 92, 62], off_cpu: [215, 8, 6, 68],
	gpu_wait: [216, 8, 70, 84], memory: [152, 16, 42, 64],
};

/* colors of some frames that are not callers, by name; they replace the colors of the kinds */
export const NAME_COLOURS = new Map();

/*
 * Maps text to one of a few shades: with fewer colors, more frames are drawn together. Return: a
 * number in [0, 1).
 */
function hash(text) {
	let h = 2166136261;

	for (let i = 0; i < text.length && i < 64; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return Math.floor((h >>> 0) / 4294967296 * SHADES) / SHADES;
}

export function hsl(hue, saturation, lightness) {
	return `hsl(${hue.toFixed(0)},${saturation}%,${dark.matches ? lightness - 8 : lightness}%)`;
}

export function kindColour(kind, vector) {
	const [hue, spread, saturation, lightness] = KIND_COLOURS[kinds[kind]] || [0, 0, 0, 75];

	return hsl(hue + (vector - .5) * 2 * spread, saturation, lightness);
}

export const frameColours = new Map();

/* The color follows from the name, so a function has one color everywhere. */
export function frameColour(frame) {
	let colour = frameColours.get(frame);

	if (colour)
		return colour;
	const name = frames.name[frame], kind = frames.kind[frame], vector = hash(name);

	if (kind !== NONE && NAME_COLOURS.has(name))
		colour = hsl(...NAME_COLOURS.get(name));
	else if (kind !== NONE)
		colour = kindColour(kind, vector);
	else if (frames.root[frame])
		colour = hsl(215, 14, 84);
	else if (name.endsWith("_[k]"))
		colour = hsl(350 + vector * 10, 34, 82);
	else if (/\.py:/.test(name))
		colour = hsl(54 + vector * 8, 58, 76);
	else if (/^\[.*\]$/.test(name))
		colour = hsl(30, 6, 82);
	else
		colour = hsl(34 + vector * 14, 44 + vector * 14, 84 - vector * 5);
	frameColours.set(frame, colour);
	return colour;
}

/* Return: red if B has more than A, blue if B has less, white if both are equal. */
function deltaColour(i) {
	const larger = Math.max(total[0][i], total[1][i]);
	const change = larger ? (total[1][i] - total[0][i]) / larger : 0;
	const lightness = 94 - 38 * Math.sqrt(Math.abs(change));

	return hsl(change > 0 ? 4 : 214, change ? 82 : 0, lightness);
}

/* Frames that do not match are paler. */
const paler = own => matches ? own.replace("hsl(", "hsla(").replace(")", ",.45)") : own;

export function colour(i) {
	if (i && matches && matches[frameOf[i]])
		return MATCH;
	return paler(!i ? hsl(215, 10, 88) : diff ? deltaColour(i) : frameColour(frameOf[i]));
}

/* Return: the color of a frame that shows CPU time, several narrow frames, or folded frames. */
export function specialColour(what, matched) {
	if (matched)
		return MATCH;
	return paler(what === "cpu" ? kindColour(kinds.indexOf("cpu"), .5) :
		hsl(215, 8, what === "fold" ? 90 : 86));
}
