/* SPDX-License-Identifier: MIT */
/* words.js - numbers and words */
import { kinds, ofMemory } from "./data.js";
import { measure, state } from "./model.js";

export const TIMES = { ns: 1, "\u00b5s": 1e3, ms: 1e6, s: 1e9 };
export const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fraction = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const decimals = digits =>
	new Intl.NumberFormat("en",
		{ minimumFractionDigits: digits, maximumFractionDigits: digits });
const thousandths = decimals(3);

export function formatTime(ns, unit) {
	if (!TIMES[unit])
		unit = Math.abs(ns) < 1e3 ? "ns" : Math.abs(ns) < 1e6 ? "\u00b5s" :
		       Math.abs(ns) < 1e9 ? "ms" : "s";
	/* Print three decimals, so that the decimal points of a column are aligned. */
	return (unit === "ns" ? fraction : thousandths).format(ns / TIMES[unit]) + " " + unit;
}

/* Return: a moment, with enough digits to differ from a moment @step_ns later. */
export function formatMoment(ns, step_ns) {
	const unit = ns < 1e3 ? "ns" : ns < 1e6 ? "\u00b5s" : ns < 1e9 ? "ms" : "s";
	const digits = Math.max(0, Math.ceil(Math.log10(TIMES[unit] / step_ns)));

	return digits > 3 ? decimals(Math.min(9, digits)).format(ns / TIMES[unit]) + " " + unit :
		formatTime(ns, "auto");
}

/* Return: a size with as many digits as lib/human.c prints in messages and tables. */
export function formatBytes(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let i = 0, size = Math.abs(bytes);

	for (; size >= (i ? 1023.5 : 1024) && i < units.length - 1; i++)
		size /= 1024;
	const digits = !i || size >= 99.95 ? 0 : size < 9.995 ? 2 : 1;

	return `${bytes < 0 ? "-" : ""}${decimals(digits).format(size)} ${units[i]}`;
}

export function format(value) {
	if (state.unit === "count")
		return fraction.format(value);
	return state.unit === "bytes" ? formatBytes(value) : formatTime(value, state.unit);
}

export function formatDelta(value) {
	return (value > 0 ? "+" : value < 0 ? "\u2212" : "\u00b1") + format(Math.abs(value));
}

export function plural(nr, what) {
	return `${integer.format(nr)} ${what}${nr === 1 ? "" : "s"}`;
}

export function percent(part, whole) {
	return whole ? (100 * part / whole).toFixed(2) + "%" : "\u2013";
}

const TIME_OF = { gpu: "GPU time", thread: "thread time", both: "GPU and thread time" };

/* Return: the name of the chosen quantity, for "% of ...". */
export function measureWords() {
	return ofMemory ? (measure() === "nr" ? "allocations" : "GPU memory") :
		measure() === "nr" ? "the count" : measure() === "bytes" ? "the bytes" :
		TIME_OF[state.mode];
}

export const KIND_WORDS = {
	kernel: "kernels", memcpy: "copies", memset: "sets", pending: "pending",
	cpu: "on CPU", off_cpu: "off CPU", gpu_wait: "waits for the GPU",
};

export function kindWords(kind) {
	return KIND_WORDS[kinds[kind]] || kinds[kind];
}
