/* SPDX-License-Identifier: MIT */
/* model.js - the choices of the user, and the sums over the whole tree that follow from them */
import {
	NONE, cells, data, derived, diff, gpuOfOwner, isDevice, kinds, present, sides, times, units,
} from "./data.js";
import { exactSums } from "./events.js";
import { asked, group, kindOf, nodeOfCell, nrNodes, parentOf } from "./tree.js";

export const TABS = ["graph", "top", "lines"];

/* the time that is counted: of devices, of threads, or of both */
export const MODES = ["gpu", "thread", "both"];
export const kindsOf = mode =>
	present.map((p, k) => p && (mode === "both" || isDevice[k] === (mode === "gpu")));
export const hasMode = mode => kindsOf(mode).some(Boolean);
const firstMode = derived && hasMode("both") ? "both" : !hasMode("gpu") && hasMode("thread") ?
	"thread" : "gpu";

/* the columns by which the table of work can be sorted */
export const WORK_SORTS = ["time", "count", "average", "delta", "name"];

export const DEFAULTS = {
	mode: firstMode,
	off: "",		/* the kinds that are left out */
	by: asked,
	gpu: "all",
	unit: units.includes(data.unit) ? data.unit : units[0],
	width: "larger",
	order: "name",
	flame: false,
	zoom: 0,
	group: "",		/* the zoomed group of narrow children: "first-last-width" */
	open: "",		/* the first frames of the folded runs that are expanded */
	selected: NONE,
	tab: "graph",
	term: "",
	workBy: diff ? "delta" : "time",
	per: "run",		/* "launch": A is shown as if it had as many launches as B */
	sortBy: "self",
	focus: NONE,		/* the frame whose callers and callees are shown */
	from: 0,		/* first bin of the picked stretch */
	to: times ? times.nr : 0,
	span: "",		/* the stretch in ns, "from..to", if it does not end at the edges
				 * of bins */
	tracks: false,		/* whether single events are shown */
	helpers: false,		/* whether threads without calls have rows of their own in the
				 * timeline */
	event: "",		/* the chosen event, "track-index" */
	/* the kernel whose lines are shown; "": the kernel with most samples */
	kernel: "",
	linesBy: "samples",
	strip: true,
};

export const state = { ...DEFAULTS };

export const isPicked = () =>
	times && (state.span !== "" || state.from > 0 || state.to < times.nr);

/* Return: the start and end of the whole time, in ns since the recording's start. */
export const wholeSpan = () => [times.from, times.from + times.nr * times.width];

/* Return: the start and end of the picked stretch. */
export const pickedSpan = () => state.span ? state.span.split("..").map(Number) :
	[times.from + state.from * times.width, times.from + state.to * times.width];

/* Return: choices for a stretch from @from to @to, in ns. */
export function spanChoices(from, to) {
	const [begin, end] = wholeSpan();

	[from, to] = [Math.max(begin, Math.round(from)), Math.min(end, Math.round(to))];
	if (from <= begin && to >= end)
		return { from: 0, to: times.nr, span: "" };
	const first = Math.min(times.nr - 1, Math.floor((from - begin) / times.width));

	return { from: first, span: `${from}..${to}`,
		to: Math.max(first + 1, Math.min(times.nr,
			Math.ceil((to - begin) / times.width))) };
}

export function chosen(kind) {
	return kindsOf(state.mode)[kind] && !state.off.split(".").includes(kinds[kind]);
}

/*
 * For each side, and each node: its sums. count is the number of device records; count and total
 * include the descendants.
 */
export let self, total, count;
/* Like total, but with the full durations of work, even if a time window has only parts of them. */
export let whole;
/* For each node: its width in the graph, and how many nodes before it have a width. */
export let width, shownBefore;

/* For each side, and each cell: the values in the picked stretch; without a stretch, all values. */
let values = cells.values;

export const measure = () => state.unit === "count" ? "nr" : state.unit === "bytes" ?
	"bytes" : "ns";

/* Makes the tree for the chosen grouping. */
export function regroup() {
	group(state.by);
	self = sides.map(() => new Float64Array(nrNodes));
	total = sides.map(() => new Float64Array(nrNodes));
	count = sides.map(() => new Float64Array(nrNodes));
	whole = sides.map((_, s) => cells.values[s].whole.length ? new Float64Array(nrNodes) :
		total[s]);
	width = diff ? new Float64Array(nrNodes) : total[0];
	shownBefore = new Int32Array(nrNodes + 1);
}

/* Adds the bins of cell @c in the picked stretch to @sums. */
function addBins(sums, c) {
	for (let k = times.first[c]; k < times.first[c + 1]; k++) {
		if (times.bin[k] < state.from || times.bin[k] >= state.to)
			continue;
		sums.ns[c] += times.ns[k];
		sums.nr[c] += times.count[k];
		sums.bytes[c] += times.bytes[k];
	}
}

/* whether the sums are rounded to whole bins, because the page lacks the events */
export let isRounded = false;

/* Sums up the picked stretch. */
export function pick() {
	isRounded = false;
	if (!isPicked()) {
		values = cells.values;
		return;
	}
	const exact = state.span ? exactSums(...pickedSpan()) : null;
	const sums = exact || { ns: new Float64Array(cells.nr), nr: new Float64Array(cells.nr),
		bytes: new Float64Array(cells.nr), whole: [] };

	isRounded = state.span !== "" && !exact;
	for (const c of exact ? exact.partial : cells.node.keys()) {
		sums.ns[c] = sums.nr[c] = sums.bytes[c] = 0;
		addBins(sums, c);
	}
	values = [sums];
}

export const cellValues = s => values[s];

let isIncluded = c => state.gpu === "all" || gpuOfOwner[cells.owner[c]] === NONE ||
	gpuOfOwner[cells.owner[c]] === +state.gpu;

/* Makes sums count only the cells that pass @test, whatever device is chosen. */
export function countOnly(test) {
	isIncluded = test;
}

/*
 * Whether the chosen unit applies to a kind. Times apply to all kinds. Only device records have
 * bytes and counts; samples and waits have counts only if no kind of device work is chosen.
 */
function unitIsOf(counted, kind) {
	return measure() === "ns" || isDevice[kind] ||
		!kinds.some((_, k) => isDevice[k] && counted[k]);
}

/*
 * Whether "per launch" is possible: there are two sides, both are recordings with launches, and
 * neither is already normalized.
 */
export const canPerLaunch = diff && !derived && !data.normalize &&
	sides.every(side => side.totals.launches > 0);
/* Return: the ratio of launches, B to A. */
export const launchesRatio = () => sides[1].totals.launches / sides[0].totals.launches;

/* Return: the factor for the values of a side. */
const scaleOf = s => state.per === "launch" && s === 0 ? launchesRatio() : sides[s].scale;

/* Return: each kind's sum over all cells, in the chosen unit, even if the kind is not chosen. */
export function sumsOfKinds(s) {
	const sums = kinds.map(() => 0), v = values[s][measure()];

	for (let c = 0; c < cells.nr; c++)
		if (isIncluded(c))
			sums[cells.kind[c]] += v[c] * scaleOf(s);
	return sums;
}

function sumUp(totals) {
	for (let i = nrNodes - 1; i > 0; i--)
		totals[parentOf[i]] += totals[i];
}

/* @fits: for each kind, whether cells of this kind count */
function sumWhole(s, fits) {
	if (measure() !== "ns" || !values[s].whole.length) {
		whole[s].set(total[s]);
		return;
	}
	whole[s].fill(0);
	for (let c = 0; c < cells.nr; c++)
		if (fits[cells.kind[c]] && isIncluded(c))
			whole[s][nodeOfCell[c]] += values[s].whole[c] * scaleOf(s);
	sumUp(whole[s]);
}

function sumCells(s) {
	const v = values[s][measure()], nr = values[s].nr, scale = scaleOf(s);
	const counted = kinds.map((_, k) => chosen(k)),
		fits = kinds.map((_, k) => counted[k] && unitIsOf(counted, k));
	const devices = kinds.some((_, k) => counted[k] && isDevice[k]);

	self[s].fill(0);
	count[s].fill(0);
	for (let c = 0; c < cells.nr; c++) {
		const kind = cells.kind[c];

		if (!fits[kind] || !isIncluded(c))
			continue;
		self[s][nodeOfCell[c]] += v[c] * scale;
		/* As in -f folded --unit count, do not count samples and waits as launches. */
		if (isDevice[kind] || !devices)
			count[s][nodeOfCell[c]] += nr[c];
	}
	total[s].set(self[s]);
	sumUp(total[s]);
	sumUp(count[s]);
	if (whole[s] !== total[s])
		sumWhole(s, fits);
}

export function compute() {
	for (let s = 0; s < sides.length; s++)
		sumCells(s);
	if (diff && state.width === "larger") {
		/*
		 * Sum up the nodes' own values, so that a parent is at least as wide as its
		 * children.
		 */
		for (let i = 0; i < nrNodes; i++)
			width[i] = Math.max(self[0][i], self[1][i]);
		sumUp(width);
	} else if (diff) {
		width.set(total[state.width === "a" ? 0 : 1]);
	}
	for (let i = 0; i < nrNodes; i++)
		shownBefore[i + 1] = shownBefore[i] + (width[i] > 0);
}

/* Return: the width of the CPU time of a function itself, without its callees. */
export function onCpu(i) {
	if (!i || kindOf(i) !== NONE)
		return 0;
	return !diff ? self[0][i] : state.width === "larger" ? Math.max(self[0][i], self[1][i]) :
	       self[state.width === "a" ? 0 : 1][i];
}
