/* SPDX-License-Identifier: MIT */
/* event_words.js - all that is known about a single event, in words */
import { NONE, base, cells, data, frames, isolated, kinds, seen } from "./data.js";
import { events } from "./events.js";
import { eventName } from "./lanes.js";
import { lanesShown } from "./timeline.js";
import { baseOf, fileOf, nodeOfCell, nrNodes } from "./tree.js";
import { formatBytes, formatMoment, formatTime, integer, kindWords } from "./words.js";

const MAX_FRAMES = 12;

/* Return: the names of a base node's path, innermost first. */
function pathOfBase(node) {
	const names = [];

	for (let n = node; n > 0; n = base.parent[n])
		names.push(frames.name[base.frame[n]]);
	return names;
}

/* Return: the base node of an event's call path, without its work; 0: not in the graph. */
function baseOfEvent(track, i) {
	if (track.what === "calls")
		return events.calls.node[track.kind[i]] + 1;
	let n = track.cell[i] < 0 ? 0 : cells.node[track.cell[i]];

	while (n > 0 && data.frames.kind[base.frame[n]] !== NONE)
		n = base.parent[n];
	return n;
}

/* Return: the node of the graph for an event; NONE: no such node. */
export function nodeOfEvent(track, i) {
	if (track.cell && track.cell[i] >= 0)
		return nodeOfCell[track.cell[i]];
	const wanted = baseOfEvent(track, i);

	for (let n = 1; wanted > 0 && n < nrNodes; n++)
		if (baseOf[n] === wanted)
			return n;
	return NONE;
}

function eventPath(track, i) {
	const of = baseOfEvent(track, i), path = of > 0 ? pathOfBase(of) :
		track.what === "calls" ? events.calls.path[track.kind[i]].split(";").reverse()
			.filter(Boolean).map(seen) : [];

	return path.slice(0, MAX_FRAMES).join("\n") +
		(path.length > MAX_FRAMES ? `\n\u2026 ${path.length - MAX_FRAMES} more` : "");
}

const exactMoment = ns => formatMoment(Math.max(0, ns), 1);
const lengthOf = ns => formatTime(ns, "auto");

function titleOf(track) {
	const lane = lanesShown().find(({ tracks }) => tracks.includes(track));

	return lane.titleOf ? lane.titleOf(track) : lane.title;
}

/* Return: the call that launched a piece of work, [track, index], or null. */
function callOf(track, i) {
	const t = events.found.track[track.call[i]];

	return track.call[i] && t ? [events.tracks[t - 1], events.found.at[track.call[i]]] : null;
}

function workPairs(track, i) {
	const call = callOf(track, i), c = track.cell[i], node = nodeOfCell[c];
	const pairs = [];

	if (track.bytes && track.bytes[i])
		pairs.push(["bytes", formatBytes(track.bytes[i])]);
	if (kinds[cells.kind[c]] === "kernel" && fileOf(node))
		pairs.push(["launched as", fileOf(node)]);
	if (call) {
		const [calls, k] = call, waited = track.from[i] - calls.from[k];

		pairs.push(["launched", `at ${exactMoment(calls.from[k])}, ` +
			lengthOf(Math.abs(waited)) +
				(waited < 0 ? " after its begin" : " before its begin")],
		["by", titleOf(calls).replace(/: .*/, "")],
		["correlation", String(calls.id[k])]);
	} else {
		pairs.push(["launched", events.left_out ? "not among the events here" :
			"not recorded"]);
	}
	return pairs;
}

function callPairs(track, i) {
	const { found, tracks } = events, t = found.workTrack[track.number[i]], pairs = [];

	if (t) {
		const work = tracks[t - 1], k = found.workAt[track.number[i]];

		pairs.push(["launched", isolated(eventName(work, k))],
			["which began", `at ${exactMoment(work.from[k])}, ` +
				`${lengthOf(Math.abs(work.from[k] - track.from[i]))} ` +
				(work.from[k] < track.from[i] ? "before" : "after") + " this"]);
	}
	if (track.id[i])
		pairs.push(["correlation", String(track.id[i])]);
	return pairs;
}

const PAIRS = {
	work: workPairs, calls: callPairs,
	spent: (track, i) => [["what", kindWords(cells.kind[track.cell[i]])]],
};

/* Return: { name, pairs } of an event. @more: how many other events share its pixel */
export function eventWords(track, i, more = 0) {
	const path = eventPath(track, i);

	return { name: eventName(track, i), pairs: [
		["at", exactMoment(track.from[i])], ["for", lengthOf(track.to[i] - track.from[i])],
		["on", titleOf(track)], ...PAIRS[track.what](track, i),
		...(path ? [["path", path]] : []),
		...(more ? [["", `the longest of ${integer.format(more + 1)} events here`]] : []),
	] };
}
