/* SPDX-License-Identifier: MIT */
/*
 * events.js - the single events of the recording, which merge/write/page_events.h describes
 *
 * They are unpacked after the page was drawn. Each track has arrays of one element for each event:
 * from and to, in ns since the recording's start, and the arrays that READERS and readCalls() add.
 */
import { cells, kinds, times } from "./data.js";
import { el } from "./dom.js";

/* null if the events are not unpacked yet, or the page has none */
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

/* Bit operations are fast, and nearly all numbers are small enough for them. */
const signed = n => n < 2 ** 31 ? (n >>> 1) ^ -(n & 1) : n % 2 ? -(n + 1) / 2 : n / 2;

/* Return: the running sums of a column of differences. */
function addUp(column, Type) {
	const v = new Type(column.length);
	let sum = 0;

	for (let i = 0; i < v.length; i++)
		v[i] = sum += signed(column[i]);
	return v;
}

/*
 * Adds the members that all tracks have; computes them from the starts and the ends of the events.
 */
function addSpent(track) {
	const { nr, from, to } = track;
	/* spent[i]: the total time of all events before event i */
	const spent = new Float64Array(nr + 1);
	let latest = -Infinity, nests = false;

	for (let i = 0; i < nr; i++) {
		spent[i + 1] = spent[i] + to[i] - from[i];
		nests ||= to[i] < latest;
		latest = Math.max(latest, to[i]);
	}
	/* over[i]: the latest end of the events up to event i; to[i] if no events nest */
	const over = nests ? to.slice() : to;

	for (let i = 1; nests && i < nr; i++)
		over[i] = Math.max(over[i], over[i - 1]);
	Object.assign(track, { spent, over, longest: [] });
}

/*
 * Return: the results of @value for each number of a column. Type.from() takes ten times as long.
 */
function made(column, Type, value) {
	const v = new Type(column.length);

	for (let i = 0; i < v.length; i++)
		v[i] = value(column[i], i);
	return v;
}

/*
 * Distributes the calls of all threads to their tracks, and notes the place of each call in @found.
 */
function readCalls({ nr }, [gaps, lengths, of, kindOf, ids], tracks, found) {
	const own = tracks.filter(t => t.what === "calls"), next = new Uint32Array(own.length);
	const place = own.map(t => tracks.indexOf(t) + 1);
	let at = 0, id = 0;

	for (const track of own)
		Object.assign(track, { from: new Float64Array(track.nr),
			to: new Float64Array(track.nr), kind: new Int32Array(track.nr),
			id: new Uint32Array(track.nr), number: new Uint32Array(track.nr) });
	for (let k = 0; k < nr; k++) {
		const t = of[k], track = own[t], i = next[t]++;

		track.from[i] = at += signed(gaps[k]);
		track.to[i] = at + lengths[k];
		track.kind[i] = kindOf[k];
		track.id[i] = id += signed(ids[k]);
		track.number[i] = k + 1;
		found.track[k + 1] = place[t];
		found.at[k + 1] = i;
	}
	own.forEach(addSpent);
}

/* for each kind of track: the function that adds a track's arrays */
const READERS = {
	work: (track, [gaps, lengths, what, links, bytes, shapes], { tracks, found }) => {
		/*
		 * last[t][kind] is the last value of @what for work whose call is on track t - 1
		 * and has this kind. last[0][0] is for work without a call.
		 */
		const last = [], lastShape = new Uint32Array(cells.nr), { nr } = track;
		const lastLength = new Uint32Array(cells.nr), most = 2 ** 32 - 1;
		let end = 0, at = 0, kernel = 0;

		Object.assign(track, { call: addUp(links, Uint32Array),
			from: new Float64Array(nr), to: new Float64Array(nr),
			cell: new Int32Array(nr), before: new Uint8Array(nr) });
		for (let i = 0; i < nr; i++) {
			const call = track.call[i], t = found.track[call], calls = tracks[t - 1];
			const lastOf = last[t] ||= [], kind = t ? calls.kind[found.at[call]] : 0;
			const known = lastOf[kind] = what[i] || lastOf[kind];
			const cell = (known >>> 1) - 1;
			const begin = t ? Math.max(end, calls.from[found.at[call]]) : end;

			track.cell[i] = cell;
			track.before[i] = known & 1;
			track.from[i] = begin + signed(gaps[i]);
			const length = lastLength[cell] + signed(lengths[i]);

			lastLength[cell] = Math.min(length, most);
			track.to[i] = end = track.from[i] + length;
		}
		track.bytes = !bytes.length ? null :
			made(track.cell, Float64Array, c => hasBytes(c) ? bytes[at++] : 0);
		/* shape 0: unknown */
		track.shape = made(track.cell, Uint32Array, c => hasBytes(c) ? 0 :
			lastShape[c] = (shapes[kernel++] || lastShape[c] + 1) - 1);
	},
	spent: (track, [gaps, lengths, what, counts, less]) => {
		let end = 0;

		track.from = made(gaps, Float64Array, (n, i) => {
			const begin = end + signed(n);

			end = begin + lengths[i];
			return begin;
		});
		track.to = made(track.from, Float64Array, (n, i) => n + lengths[i]);
		track.bytes = null;
		track.cell = made(what, Int32Array, n => n - 1);
		track.count = made(counts, Float64Array, n => n);
		track.ns = less.some(Boolean) ? made(less, Float64Array,
			(n, i) => track.to[i] - track.from[i] + signed(n)) : null;
	},
};

/* Return: whether device work of a cell has bytes. */
const hasBytes = c => kinds[cells.kind[c]] !== "kernel";

/* Finds the first work of each call. */
function findWork(tracks, found) {
	tracks.forEach((track, t) => {
		for (let i = track.nr - 1; track.what === "work" && i >= 0; i--) {
			found.workTrack[track.call[i]] = t + 1;
			found.workAt[track.call[i]] = i;
		}
	});
	found.workTrack[0] = 0;
}

/* Yields, so that the page can draw and react. */
const takeTurns = () => new Promise(f => setTimeout(f));

async function unpack(bytes) {
	const length = new DataView(bytes.buffer).getUint32(0, true);
	const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
	const { tracks, calls } = head, of = Type => new Type(calls.nr + 1);
	/*
	 * For each call number: track and at have the track + 1 and the index of the call.
	 * workTrack and workAt have the track + 1 and the index of the call's first work.
	 */
	const found = { track: of(Uint32Array), at: of(Uint32Array), workTrack: of(Uint32Array),
		workAt: of(Uint32Array) };
	const done = { tracks, found };
	let at = 4 + length;
	const columns = ({ bytes: sizes }) => sizes.map(size => readColumn(bytes, at, at += size));

	readCalls(calls, columns(calls), tracks, found);
	await takeTurns();
	for (const track of tracks.filter(t => t.what !== "calls")) {
		READERS[track.what](track, columns(track), done);
		addSpent(track);
		await takeTurns();
	}
	findWork(tracks, found);
	return { ...head, found };
}

/* ---- sums ----------------------------------------------------------------------------------- */

/*
 * Return: the part of @whole up to @at, if @whole is spread evenly from @from to @to. It is rounded
 * down, as for --from and --to.
 */
function until(whole, from, to, at) {
	const product = whole * (at - from);

	return product <= Number.MAX_SAFE_INTEGER ? Math.floor(product / (to - from)) :
		Number(BigInt(whole) * BigInt(at - from) / BigInt(to - from));
}

/* Return: the index of the first element of sorted @v that is greater than @limit. */
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

/* Return: the sums of all cells over the time from @from to @to, in whole ns. */
function sumEvents(from, to) {
	const sums = { ns: new Float64Array(cells.nr), nr: new Float64Array(cells.nr),
		bytes: new Float64Array(cells.nr), whole: [] };

	for (const track of events.tracks)
		if (track.cell)
			addTrack(track, from, to, sums);
	return sums;
}

/*
 * Finds the cells that lack some of their events, because these have no timestamps or are in holes.
 * For such cells the page has only sums of bins.
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
	/* Extra cells have only bins; the events of their work belong to other cells. */
	events.hasAll = all.ns.reduce((a, b) => a + b, 0) >= ofBins.reduce((a, b) => a + b, 0);
}

/* Whether the page has all events from @from to @to. */
const isWholeIn = (from, to) =>
	!events.holes.some(([begin, , end]) => begin < to && end > from);

/*
 * Return: the exact sums of a stretch, from its events; null if the page lacks some of its events.
 */
export function exactSums(from, to) {
	if (!events || !events.hasAll || !isWholeIn(from, to))
		return null;
	return { ...sumEvents(from, to), partial: events.partial };
}

/* Unpacks the events. Return: whether the page has any. */
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
