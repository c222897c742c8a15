/* SPDX-License-Identifier: MIT */
/*
 * data.js - the recordings' data in the page, as merge/write/html.h describes them
 *
 * Nothing here depends on the choices of the user. tree.js makes the tree that is shown.
 */

export const data = JSON.parse(document.getElementById("xpu-data").textContent);
export const sides = data.sides;
export const diff = sides.length === 2;
/* Whether the sides are results of a feature; otherwise each side has one or more recordings. */
export const derived = sides.some(side => !side.recordings.length);
export const sideNames = ["A", "B"];
export const kinds = data.kinds;
/* Whether the page has samples of the places where warps of kernels stalled. */
export const haveLines = !derived &&
	sides.some(side => side.stalls && side.stalls.samples.length > 0);
export const NONE = -1;

/*
 * Call paths without the frames that grouping puts at the root. Node i of the page is base node
 * i + 1; base node 0 is the root.
 */
export const base = (() => {
	const nr = data.nodes.frame.length + 1, at = [0];
	const frame = new Int32Array(nr), depth = new Int32Array(nr), parent = new Int32Array(nr);

	frame[0] = NONE;
	parent[0] = NONE;
	for (let i = 1; i < nr; i++) {
		frame[i] = data.nodes.frame[i - 1];
		depth[i] = data.nodes.depth[i - 1] + 1;
		parent[i] = at[depth[i] - 1];
		at[depth[i]] = i;
	}
	return { nr, frame, depth, parent };
})();

export const cells = {
	nr: data.cells.node.length,
	node: Int32Array.from(data.cells.node, n => n + 1),
	kind: Uint8Array.from(data.cells.kind),
	owner: Int32Array.from(data.cells.owner),
	values: data.cells.values.map(v => ({
		ns: Float64Array.from(v.ns), nr: Float64Array.from(v.nr),
		bytes: Float64Array.from(v.bytes), whole: Float64Array.from(v.whole),
	})),
};

/*
 * Return: a visible name: a name of only blanks or zero-width characters is replaced by its code
 * points.
 */
export function seen(name) {
	if (/[^\s\p{Cf}\p{Cc}\u034f\u115f\u1160\u2800\u3164\uffa0]/u.test(name))
		return name;
	const points = [...name].slice(0, 8)
		.map(c => " U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));

	return `[blank name${points.join("")}]`;
}

const RIGHT_TO_LEFT =
	/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/*
 * Return: @name, for use within other text. The other text stays in order even if the name is
 * written from right to left.
 */
export const isolated = name => RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name;

/* Names of work include its kind, in the words of the page. */
const LEAF_NAMES = {
	memcpy: name => "copy " + name, memset: () => "set", pending: () => "pending launch",
	off_cpu: name => "off CPU: " + name, gpu_wait: name => "wait for " + name,
	memory: name => "memory: " + name,
};

export const frames = {
	name: data.frames.name.map((name, f) => {
		const naming = LEAF_NAMES[kinds[data.frames.kind[f]]];

		return naming ? naming(seen(name)) : seen(name);
	}),
	file: data.frames.file.slice(),
	kind: data.frames.kind.slice(),
	/* how well the frame says where a call path is: 2 Python, 1 program, 0 other */
	place: data.frames.place.slice(),
	root: data.frames.name.map(() => false),
};

const rootFrames = new Map();

/* Return: the frame called @name at the root of call paths. */
export function rootFrame(name) {
	let f = rootFrames.get(name);

	if (f === undefined) {
		f = frames.name.length;
		rootFrames.set(name, f);
		frames.name.push(seen(name));
		frames.file.push(0);
		frames.kind.push(NONE);
		frames.place.push(0);
		frames.root.push(true);
	}
	return f;
}

export const isDevice = kinds.map(kind =>
	["kernel", "memcpy", "memset", "pending"].includes(kind));
export const present = new Array(kinds.length).fill(false);
for (let c = 0; c < cells.nr; c++)
	present[cells.kind[c]] = true;

/* Whether the page is about memory, which has bytes and no time. */
export const ofMemory = kinds.every((kind, k) => present[k] === (kind === "memory"));
export const units = ofMemory ? ["bytes", "count"] :
	["auto", "ns", "\u00b5s", "ms", "s", ...(derived ? [] : ["count", "bytes"])];

/* For each owner: the number of its device, or NONE. */
export const gpuOfOwner = (data.owners.device || []).map(label => {
	const number = /^\[GPU (\d+)/.exec(data.labels[label] || "");

	return number ? +number[1] : NONE;
});

const MAX_BINS = 1024;		/* maximum number of bins of the overview if it includes bins
				 * without events */

/*
 * Return: { from_ns, nr, before }: @nr bins, starting at @from_ns, that cover all recorded time;
 * @before of them precede the first bin with events. If @nr would be too large, the result has only
 * the bins with events.
 */
function wholeScale({ from_ns: from, bin_ns: width, nr }, { recorded, nr_windows: nrWindows }) {
	/* The edges of windows are exact; without windows, times are rounded to whole bins. */
	const bins = ns => (nrWindows ? Math.ceil : Math.round)(Math.max(0, ns) / width);
	const last = recorded.length - 1, before = bins(last < 0 ? 0 : from - recorded[0][0]);
	const all = before + nr + bins(last < 0 ? 0 : recorded[last][1] - from - nr * width);

	return all > Math.max(MAX_BINS, nr) ? { from_ns: from, nr, before: 0 } :
		{ from_ns: from - before * width, nr: all, before };
}

const moved = (bins, by) => Int32Array.from(bins, bin => bin + by);

/*
 * The times of the work of cells. Cell c has the bins from first[c] up to, but not including,
 * first[c + 1]. @times is null if the times are unknown or nothing took time.
 */
export const times = data.times && data.times.rows.list.length ? (() => {
	const t = data.times, nr = t.bin.length, whole = wholeScale(t, t),
		rows = wholeScale(t.rows, t);
	const first = new Int32Array(cells.nr + 1), bytes = new Float64Array(nr);
	let at = 0;

	for (let c = 0; c < cells.nr; c++)
		first[c + 1] = first[c] + t.each[c];
	for (let c = 0; c < cells.nr; c++)
		if (["memcpy", "memset"].includes(kinds[cells.kind[c]]))
			for (let k = first[c]; k < first[c + 1]; k++)
				bytes[k] = t.bytes[at++];
	return {
		from: whole.from_ns, width: t.bin_ns, nr: whole.nr, rest: t.nr_rest, first,
		bin: moved(t.bin, whole.before),
		ns: Float64Array.from(t.ns), count: Float64Array.from(t.count), bytes,
		rows: { from_ns: rows.from_ns, bin_ns: t.rows.bin_ns, nr: rows.nr,
			cpus: t.rows.cpus, list: t.rows.list.map(row =>
				({ ...row, bin: moved(row.bin, rows.before) })) },
		nrWindows: t.nr_windows, recorded: t.recorded,
	};
})() : null;
