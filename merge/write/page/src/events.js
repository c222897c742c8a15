/* SPDX-License-Identifier: MIT */
/*
 * events.js - the single events of the recording, which merge/write/page_events.h describes
 *
 * They are unpacked after the page was drawn. Each track has arrays of one element for each event:
 * from and to, in ns since the recording's start, and the arrays that READERS adds.
 */
import { cells, kinds, times } from "./data.js";
import { el } from "./dom.js";

/* null: not unpacked, or none */
export let events = null;

/* Return: the numbers of a column, in LEB128. */
function readColumn(bytes, at, end) {
	const v = new Float64Array(end - at);
	let nr = 0;

	while (at < end) {
		let byte = bytes[at++], n = byte & 127;

		for (let unit = 128; byte > 127; unit *= 128) {
			byte = bytes[at++];
			n += (byte & 127) * unit;
		}
		v[nr++] = n;
	}
	return v.subarray(0, nr);
}

/* Nearly all numbers are small, and bits are quick. */
const signed = n => n < 2 ** 31 ? (n >>> 1) ^ -(n & 1) : n % 2 ? -(n + 1) / 2 : n / 2;

/* Return: the sums of differences up to each. */
function addUp(column, Type) {
	const v = new Type(column.length);
	let sum = 0;

	for (let i = 0; i < v.length; i++)
		v[i] = sum += signed(column[i]);
	return v;
}

/* Adds the members that all tracks have. */
function readSpans(track, gaps, lengths) {
	const { nr } = track, from = new Float64Array(nr), to = new Float64Array(nr);
	/* spent[i]: the time of all events before event i */
	const spent = new Float64Array(nr + 1);
	let at = 0, latest = -Infinity, nests = false;

	for (let i = 0; i < nr; i++) {
		from[i] = at + signed(gaps[i]);
		at = to[i] = from[i] + lengths[i];
		spent[i + 1] = spent[i] + lengths[i];
		nests ||= at < latest;
		latest = Math.max(latest, at);
	}
	/* When all events up to each have ended, if that is not the end of each itself. */
	const over = nests ? to.slice() : to;

	for (let i = 1; nests && i < nr; i++)
		over[i] = Math.max(over[i], over[i - 1]);
	Object.assign(track, { from, to, spent, over, longest: [] });
}

/* Return: what @value makes of each number of a column. Type.from() takes ten times as long. */
function made(column, Type, value) {
	const v = new Type(column.length);

	for (let i = 0; i < v.length; i++)
		v[i] = value(column[i], i);
	return v;
}

/* These add the arrays of a kind of tracks. @kindOfCall: by number of call */
const READERS = {
	work: (track, [, , what, links, bytes, shapes], kindOfCall, nrKinds) => {
		/* by kind of call, and for work without a call */
		const last = new Float64Array(nrKinds + 1), lastShape = new Uint32Array(cells.nr);
		let at = 0, kernel = 0;

		track.call = addUp(links, Uint32Array);
		for (let i = 0; i < what.length; i++) {
			const call = track.call[i], kind = call ? kindOfCall[call] : nrKinds;

			last[kind] = what[i] ||= last[kind];
		}
		track.cell = made(what, Int32Array, n => (n >>> 1) - 1);
		track.before = made(what, Uint8Array, n => n & 1);
		track.bytes = !bytes.length ? null :
			made(track.cell, Float64Array, c => hasBytes(c) ? bytes[at++] : 0);
		/* 0: unknown */
		track.shape = made(track.cell, Uint32Array, c => hasBytes(c) ? 0 :
			lastShape[c] = (shapes[kernel++] || lastShape[c] + 1) - 1);
	},
	calls: (track, [, , what, ids, numbers], kindOfCall) => {
		let number = 0;

		track.kind = made(what, Int32Array, n => n);
		track.id = addUp(ids, Uint32Array);
		track.number = made(numbers, Uint32Array, n => number += n);
		for (let i = 0; i < what.length; i++)
			kindOfCall[track.number[i]] = what[i];
	},
	spent: (track, [, , what, counts, less]) => {
		track.cell = made(what, Int32Array, n => n - 1);
		track.count = made(counts, Float64Array, n => n);
		track.ns = less.some(Boolean) ? made(less, Float64Array,
			(n, i) => track.to[i] - track.from[i] + signed(n)) : null;
	},
};

/* Return: whether device work of a cell has bytes. */
const hasBytes = c => kinds[cells.kind[c]] !== "kernel";

/* Finds the place of each call, by its number, and the first work of each. */
function findCalls(tracks) {
	const most = tracks.reduce((n, t) => t.what === "calls" && t.nr ?
		Math.max(n, t.number[t.nr - 1]) : n, 0);
	const found = { track: new Uint16Array(most + 1), at: new Uint32Array(most + 1),
		workTrack: new Uint16Array(most + 1), workAt: new Uint32Array(most + 1) };

	tracks.forEach((track, t) => {
		for (let i = 0; track.what === "calls" && i < track.nr; i++) {
			found.track[track.number[i]] = t + 1;
			found.at[track.number[i]] = i;
		}
		for (let i = track.nr - 1; track.what === "work" && i >= 0; i--) {
			found.workTrack[track.call[i]] = t + 1;
			found.workAt[track.call[i]] = i;
		}
	});
	found.workTrack[0] = 0;
	return found;
}

/* Lets the page draw and answer. */
const takeTurns = () => new Promise(f => setTimeout(f));

async function unpack(bytes) {
	const length = new DataView(bytes.buffer).getUint32(0, true);
	const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
	const nrCalls = head.tracks.reduce((n, t) => n + (t.what === "calls" ? t.nr : 0), 0);
	const kindOfCall = new Uint32Array(nrCalls + 1), nrKinds = head.calls.name.length;
	let at = 4 + length;

	for (const track of head.tracks) {
		const columns = track.bytes.map(size =>
			readColumn(bytes, at, at += size));

		track.bytes = null;
		readSpans(track, columns[0], columns[1]);
		READERS[track.what](track, columns, kindOfCall, nrKinds);
		await takeTurns();
	}
	return { ...head, found: findCalls(head.tracks) };
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Return: the part of @whole up to @at, rounded as --from and --to do. */
function until(whole, from, to, at) {
	const product = whole * (at - from);

	return product <= Number.MAX_SAFE_INTEGER ? Math.floor(product / (to - from)) :
		Number(BigInt(whole) * BigInt(at - from) / BigInt(to - from));
}

/* Return: the index of the first element of sorted @v that is more than @limit. */
export function firstAfter(v, limit) {
	let low = 0, high = v.length;

	while (low < high) {
		const mid = (low + high) >> 1;

		if (v[mid] <= limit)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

function addTrack(track, from, to, sums) {
	const { ns, nr, bytes } = sums, cell = track.cell, end = firstAfter(track.from, to - 1);
	let i = firstAfter(track.over, from - 1);

	for (; i < end; i++) {
		const c = cell[i], begin = track.from[i], over = track.to[i];
		const cutBegin = Math.max(from, begin), cutEnd = Math.min(to, over);
		const whole = track.ns ? track.ns[i] : over - begin;

		if (begin >= from) {
			nr[c] += track.count ? track.count[i] : 1 - track.before[i];
			if (track.bytes && !track.before[i])
				bytes[c] += track.bytes[i];
		}
		if (cutEnd <= cutBegin)
			continue;
		ns[c] += cutBegin === begin && cutEnd === over ? whole : whole === over - begin ?
			cutEnd - cutBegin : until(whole, begin, over, cutEnd) -
			until(whole, begin, over, cutBegin);
	}
}

/* Return: the sums of all cells from @from to before @to, whole ns. */
function sumEvents(from, to) {
	const sums = { ns: new Float64Array(cells.nr), nr: new Float64Array(cells.nr),
		bytes: new Float64Array(cells.nr), whole: [] };

	for (const track of events.tracks)
		if (track.cell)
			addTrack(track, from, to, sums);
	return sums;
}

/*
 * Finds the cells whose events are not all here, because some have no times or are in holes: the
 * page has only sums of their bins.
 */
function findPartial() {
	const all = sumEvents(-Infinity, Infinity), ofBins = new Float64Array(cells.nr);
	const { first, ns } = times;

	for (const [c, time, number] of events.missing) {
		all.ns[c] += time;
		all.nr[c] += number;
	}
	for (let c = 0; c < cells.nr; c++)
		for (let k = first[c]; k < first[c + 1]; k++)
			ofBins[c] += ns[k];
	const { ns: own, nr } = cells.values[0];
	const isWhole = c => all.ns[c] === own[c] && all.nr[c] === nr[c] || all.ns[c] === ofBins[c];

	events.partial = [];
	for (let c = 0; c < cells.nr; c++)
		if (!isWhole(c))
			events.partial.push(c);
	/* Cells of the rest have only bins, whose work is in the events of other cells. */
	events.hasAll = all.ns.reduce((a, b) => a + b, 0) >= ofBins.reduce((a, b) => a + b, 0);
}

/* Whether all events from @from to @to are here. */
const isWholeIn = (from, to) =>
	!events.holes.some(([begin, , end]) => begin < to && end > from);

/*
 * Return: the exact sums of a stretch, from its events; null if some of its events are not here.
 */
export function exactSums(from, to) {
	if (!events || !events.hasAll || !isWholeIn(from, to))
		return null;
	return { ...sumEvents(from, to), partial: events.partial };
}

/* Unpacks the events. Return: whether there are any. */
export async function loadEvents() {
	const text = el("xpu-events").textContent;

	if (!times || !text.trim() || typeof DecompressionStream === "undefined")
		return false;
	await new Promise(f => requestAnimationFrame(f));
	await takeTurns();
	const packed = atob(text), bytes = new Uint8Array(packed.length);

	for (let i = 0; i < packed.length; i++)
		bytes[i] = packed.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));

	events = await unpack(new Uint8Array(await new Response(stream).arrayBuffer()));
	await takeTurns();
	findPartial();
	return true;
}
