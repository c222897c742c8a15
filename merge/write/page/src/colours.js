/* SPDX-License-Identifier: MIT */
/* colours.js - colours of frames and kinds */
import { NONE, diff, frameOf, frames, kinds } from "./data.js";
import { total } from "./model.js";
import { matches } from "./search.js";

export const dark = matchMedia("(prefers-color-scheme: dark)");
const MATCH = "#e65cf0";

/* The kinds of leaf frames: hue, spread of the hue, saturation, lightness. */
const KIND_COLOURS = {
	kernel: [212, 16, 68, 66], memcpy: [174, 12, 48, 58], memset: [262, 12, 48, 72],
	pending: [338, 8, 62, 74], cpu: [26, 28, 88, 64], off_cpu: [215, 10, 10, 68],
	gpu_wait: [215, 10, 14, 76],
};

function hash(text) {
	let h = 2166136261;

	for (let i = 0; i < text.length && i < 64; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h >>> 0) / 4294967296;
}

export function hsl(hue, saturation, lightness) {
	return `hsl(${hue.toFixed(0)},${saturation}%,${dark.matches ? lightness - 8 : lightness}%)`;
}

export function kindColour(kind, vector) {
	const [hue, spread, saturation, lightness] = KIND_COLOURS[kinds[kind]] || [0, 0, 0, 75];

	return hsl(hue + (vector - .5) * 2 * spread, saturation, lightness);
}

export const frameColours = new Map();

/* The colour follows from the name, so a function has one colour wherever it stands. */
export function frameColour(frame) {
	let colour = frameColours.get(frame);

	if (colour)
		return colour;
	const name = frames.name[frame], kind = frames.kind[frame], vector = hash(name);

	if (kind !== NONE)
		colour = kindColour(kind, vector);
	else if (name.endsWith("_[k]"))
		colour = hsl(350 + vector * 14, 62, 70);
	else if (/\.py:/.test(name))
		colour = hsl(50 + vector * 14, 78, 62);
	else if (/^\[.*\]$/.test(name))
		colour = hsl(30, 12, 76);
	else
		colour = hsl(8 + vector * 38, 86, 66);
	frameColours.set(frame, colour);
	return colour;
}

/* Red where B has more, blue where it has less, white where they are equal. */
function deltaColour(i) {
	const larger = Math.max(total[0][i], total[1][i]);
	const change = larger ? (total[1][i] - total[0][i]) / larger : 0;
	const lightness = 94 - 38 * Math.sqrt(Math.abs(change));

	return hsl(change > 0 ? 4 : 214, change ? 82 : 0, lightness);
}

export function colour(i) {
	if (i && matches && matches[frameOf[i]])
		return MATCH;
	const own = !i ? hsl(30, 12, 82) : diff ? deltaColour(i) : frameColour(frameOf[i]);

	/* Frames that do not match are paler. */
	return matches ? own.replace("hsl(", "hsla(").replace(")", ",.45)") : own;
}
