/* SPDX-License-Identifier: MIT */
/*
 * lanes.js - the rows of the timeline: streams of devices, their values over time, threads, and the
 * calls of each thread
 */
import { frameColour, hsl, kindColour } from "./colours.js";
import { NONE, base, cells, frames, isolated, kinds, seen } from "./data.js";
import { events } from "./events.js";
import { meterRows } from "./meters.js";
import { integer, kindWords } from "./words.js";

/* Return: "rank 3: python3 4711" */
function threadName({ name, tid, rank }) {
	return (rank === undefined ? "" : `rank ${rank}: `) + isolated(seen(name)) +
		(tid === undefined ? "" : ` ${tid}`);
}

export const streamName = track => `GPU ${track.gpu} ${track.name}` +
	(track.lane ? ` +${track.lane}` : "");

const rankOf = v => v === undefined ? -1 : v;
const byThread = (a, b) => rankOf(a.rank) - rankOf(b.rank) || rankOf(a.pid) - rankOf(b.pid) ||
	rankOf(a.thread) - rankOf(b.thread);

/* Return: the total time of the tracks' events. Threads are ordered by this time. */
const busyOf = tracks => tracks.reduce((sum, t) => sum + t.spent[t.nr], 0);

function threadRows(tracks) {
	const rows = [], name = threadName(tracks[0]);
	const drawn = tracks.filter(t => t.what === "spent" && t.drawn);
	const calls = tracks.filter(t => t.what === "calls").sort((a, b) => a.depth - b.depth);

	if (drawn.length)
		rows.push({ name, title: `${name}: on the CPU, off it, and waits`, tracks: drawn });
	for (const track of calls)
		rows.push({ name: rows.length ? track.depth ? "" : "  calls and ranges" : name,
			title: `${name}: calls and ranges` +
				(track.depth ? `, ${integer.format(track.depth)} deep` : ""),
			tracks: [track] });
	return rows;
}

/* Whether a thread neither called the GPU nor waited for it, such as a library's helper thread. */
const isHelper = tracks => !tracks.some(t => t.what === "calls" || kinds[t.kind] === "gpu_wait");

/* Return: one row for all helpers. */
function foldedRow(helpers) {
	const rows = helpers.flatMap(threadRows), nr = integer.format(helpers.length);

	return { name: `${nr} other threads`, tracks: rows.flatMap(row => row.tracks),
		title: `${nr} threads that neither called a GPU nor waited for one`,
		titleOf: track => rows.find(row => row.tracks.includes(track)).title };
}

/*
 * Return: rows, { name, title, tracks, meter }, in the order of the screen, and the number of
 * helpers. @open: each helper has a row of its own; otherwise, all helpers share one row
 */
export function laneRows(open) {
	const streams = events.tracks.filter(t => t.what === "work").sort((a, b) =>
		a.gpu - b.gpu || rankOf(a.rank) - rankOf(b.rank) || a.pid - b.pid ||
		a.name.localeCompare(b.name, "en", { numeric: true }) || a.stream - b.stream ||
		a.lane - b.lane);
	const threads = new Map();

	for (const track of events.tracks.filter(t => t.what !== "work")) {
		const key = `${track.pid} ${track.thread}`;

		threads.set(key, [...(threads.get(key) || []), track]);
	}
	const sorted = [...threads.values()].sort((a, b) =>
		byThread(a[0], b[0]) || busyOf(b) - busyOf(a));
	const found = sorted.filter(tracks => isHelper(tracks) && threadRows(tracks).length);
	const helpers = found.length > 1 && found.length < sorted.length ? found : [];
	const own = open ? sorted : sorted.filter(tracks => !helpers.includes(tracks));

	return { nrHelpers: helpers.length, rows: [...streams.map(track => ({
		name: streamName(track), tracks: [track],
		title: `${streamName(track)} of ${isolated(seen(track.process))} ${track.pid}` })),
	...meterRows(), ...own.flatMap(threadRows),
	...(helpers.length && !open ? [foldedRow(helpers)] : [])] };
}

/* ---- names and colors ----------------------------------------------------------------------- */

/*
 * Return: the frame of a cell's work or function. For a cell that is a place where a kernel
 * stalled, it is the frame of the kernel.
 */
function frameOfCell(c) {
	const isPart = n => base.parent[n] > 0 && frames.kind[base.frame[base.parent[n]]] !== NONE;
	let n = cells.node[c];

	while (isPart(n))
		n = base.parent[n];
	return base.frame[n];
}

/* Return: the name of event @i of a track. */
export function eventName(track, i) {
	if (track.what === "calls")
		return seen(events.names[events.calls.name[track.kind[i]]]);
	const c = track.cell[i];

	return c < 0 ? "?" : cells.node[c] ? frames.name[frameOfCell(c)] :
		kindWords(cells.kind[c]);
}

/* Return: a color as the value of a pixel of a canvas. */
function pixel(colour) {
	const [hue, saturation, lightness] = colour.match(/[\d.]+/g).map(Number);
	const a = saturation * Math.min(lightness, 100 - lightness) / 1e4;
	const part = n => {
		const k = (n + hue / 30 + 24) % 12;

		return Math.round(255 * (lightness / 100 - a *
			Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};

	return (255 << 24 | part(4) << 16 | part(8) << 8 | part(0)) >>> 0;
}

let ofCells = null, ofCalls = null;

/* Drops the computed colors when the page changes between dark and light. */
export function forgetPixels() {
	ofCells = ofCalls = null;
}

function callPixels() {
	return Uint32Array.from(events.calls.name, (_, k) => {
		const node = events.calls.node[k];

		return pixel(node >= 0 ? frameColour(base.frame[node + 1]) :
			hsl(150 + 13 * (events.calls.name[k] % 8), 34, 76));
	});
}

/*
 * Waits and time off the CPU have the colors of the overview; all other cells are colored by name.
 */
function cellPixels() {
	return Uint32Array.from(cells.kind, (kind, c) =>
		pixel(["off_cpu", "gpu_wait"].includes(kinds[kind]) || !cells.node[c] ?
			kindColour(kind, .5) : frameColour(frameOfCell(c))));
}

/* Return: the colors of a track's cells or calls, and the index of each event's color. */
export function pixelsOf(track) {
	if (track.what === "calls")
		return [ofCalls ||= callPixels(), track.kind];
	return [ofCells ||= cellPixels(), track.cell];
}
