/* SPDX-License-Identifier: MIT */
/*
 * steer.js - the pointer and the keys on the timeline and on the overview
 *
 * While the shown time moves, only the timeline is drawn. The rest of the page follows when the
 * movement stops.
 */
import { go } from "./actions.js";
import { NONE, times } from "./data.js";
import { el } from "./dom.js";
import { eventWords, nodeOfEvent } from "./event_words.js";
import { events, firstAfter } from "./events.js";
import { meterWords } from "./meters.js";
import { spanChoices, state, wholeSpan } from "./model.js";
import { longestOf, nextFrom } from "./pyramid.js";
import {
	AXIS, LANE, chosenEvent, laneNs, lanesShown, nsPerPixel, placeOfEvent, scrollToLane, show,
	shownFrom, shownTo,
} from "./timeline.js";
import { hideTip, showWords } from "./tooltip.js";
import { formatMoment } from "./words.js";

const REST = 160;		/* after this many ms without a movement, the page below the
				 * timeline is updated */
const ZOOM = 1.25, MOVE = .12, NEAR = 2;

let timer = 0;

/* Updates everything below the timeline to the shown time. */
function settleTime() {
	timer = 0;
	go({ ...spanChoices(shownFrom, shownTo), tracks: true }, true);
}

function showAndFollow(from, to) {
	hideTip();
	show(from, to);
	clearTimeout(timer);
	timer = setTimeout(settleTime, REST);
}

/* Changes the length of the shown time by a factor, around a moment that stays in place. */
function zoomAt(ns, factor) {
	showAndFollow(ns - (ns - shownFrom) * factor, ns + (shownTo - ns) * factor);
}

function moveBy(ns) {
	const [begin, end] = wholeSpan(), length = shownTo - shownFrom;
	const from = Math.min(end - length, Math.max(begin, shownFrom + ns));

	showAndFollow(from, from + length);
}

/* ---- the event under the pointer ------------------------------------------------------------ */

const rowAt = y => lanesShown()[Math.floor((y - AXIS + el("lanes").scrollTop) / LANE)];

/* Return: { track, i, more } for the event at a place of the canvas, or null. */
function eventAt(x, y) {
	const row = rowAt(y);
	const ns = laneNs(x), near = NEAR * nsPerPixel();

	if (!row || y < AXIS || ns < shownFrom)
		return null;
	/* Try the last track first: it is drawn on top. */
	for (const track of [...row.tracks].reverse()) {
		const at = firstAfter(track.over, ns);

		if (at < track.nr && track.from[at] <= ns &&
			track.to[at] - track.from[at] > near)
			return { track, i: at, more: 0 };
		const first = firstAfter(track.over, ns - near);

		if (first >= track.nr || track.from[first] > ns + near)
			continue;
		const last = Math.max(first + 1, nextFrom(track, first, ns + near));

		return { track, i: longestOf(track, first, last), more: last - first - 1 };
	}
	return null;
}

const within = event => {
	const box = el("lanes").getBoundingClientRect();

	return [event.clientX - box.left, event.clientY - box.top];
};

function hoverEvent(event) {
	const [x, y] = within(event), found = eventAt(x, y), row = y < AXIS ? null : rowAt(y);

	if (row && row.meter && laneNs(x) >= shownFrom) {
		const at = formatMoment(Math.max(0, laneNs(x)), nsPerPixel());

		showWords(event, row.name,
			[["at", at], ...meterWords(row.meter, laneNs(x), laneNs(x + 1))]);
		return;
	}
	if (!found) {
		hideTip();
		return;
	}
	const { name, pairs } = eventWords(found.track, found.i, found.more);

	showWords(event, name, pairs);
}

/* ---- choosing an event ---------------------------------------------------------------------- */

const idOfEvent = (track, i) => `${events.tracks.indexOf(track)}-${i}`;

/* Chooses an event, and its call path in the graph. @found: the event, or null */
function chooseEvent(found) {
	if (!found) {
		if (state.event)
			go({ event: "" }, true);
		return;
	}
	const node = nodeOfEvent(found.track, found.i);

	clearTimeout(timer);
	go({ ...spanChoices(shownFrom, shownTo), event: idOfEvent(found.track, found.i),
		...(node === NONE ? {} : { selected: node, zoom: 0, group: "" }) });
}

/* Chooses an event, and moves the shown time if the event is outside of it. */
function reachEvent(track, i) {
	const { x, width } = placeOfEvent(track, i), right = el("lanes").clientWidth;

	scrollToLane(track);
	if (laneNs(x + width) < shownFrom || x > right)
		moveBy(track.from[i] - (shownFrom + shownTo) / 2);
	chooseEvent({ track, i });
}

/* Return: the first event of a track that ends after shownFrom, or the track's last event. */
const firstSeen = track => Math.min(track.nr - 1, firstAfter(track.over, shownFrom));

/* Chooses the next event of the row, or an event in the next row. */
function stepEvent(key) {
	const lanes = lanesShown().filter(row => row.tracks.length), chosen = chosenEvent();

	if (!lanes.length)
		return;
	if (!chosen) {
		reachEvent(lanes[0].tracks[0], firstSeen(lanes[0].tracks[0]));
		return;
	}
	const [track, i] = chosen, r = lanes.findIndex(lane => lane.tracks.includes(track));

	if (key === "ArrowLeft" || key === "ArrowRight") {
		const next = i + (key === "ArrowLeft" ? -1 : 1);

		if (next >= 0 && next < track.nr)
			reachEvent(track, next);
		return;
	}
	const other = lanes[r + (key === "ArrowUp" ? -1 : 1)];

	if (other)
		reachEvent(other.tracks[0], Math.min(other.tracks[0].nr - 1,
			firstAfter(other.tracks[0].over, track.from[i])));
}

/* Zooms to the chosen event, with some time around it. */
function zoomToEvent() {
	const chosen = chosenEvent();

	if (!chosen)
		return;
	const [track, i] = chosen, length = Math.max(20, track.to[i] - track.from[i]);

	scrollToLane(track);
	showAndFollow(track.from[i] - length / 2, track.to[i] + length / 2);
}

/* ---- keys and wheel ------------------------------------------------------------------------- */

let pointer = null;		/* the position of the pointer over the timeline, or null */

const middle = () => pointer && laneNs(pointer[0]) > shownFrom ? laneNs(pointer[0]) :
	(shownFrom + shownTo) / 2;
const LANE_KEYS = {
	w: () => zoomAt(middle(), 1 / ZOOM),
	s: () => zoomAt(middle(), ZOOM),
	a: () => moveBy(-MOVE * (shownTo - shownFrom)),
	d: () => moveBy(MOVE * (shownTo - shownFrom)),
	f: zoomToEvent, Enter: zoomToEvent,
	Home: () => showAndFollow(...wholeSpan()),
	ArrowLeft: () => stepEvent("ArrowLeft"), ArrowRight: () => stepEvent("ArrowRight"),
	ArrowUp: () => stepEvent("ArrowUp"), ArrowDown: () => stepEvent("ArrowDown"),
};

const isTyping = event => /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);

/* Keys act on the timeline if it has the focus, letters also if the pointer is over it. */
function onLaneKey(event) {
	const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
	const focused = document.activeElement === el("lanes");

	if (event.ctrlKey || event.altKey || event.metaKey || el("lanes").hidden ||
		isTyping(event) || el("help").open || !Object.hasOwn(LANE_KEYS, key) ||
		!(focused || (pointer && key.length === 1)))
		return;
	event.preventDefault();
	event.stopPropagation();
	LANE_KEYS[key]();
}

/* The wheel zooms the time; with Shift, or sideways, it moves the time. @ns: time at the pointer */
function onWheel(event, ns) {
	event.preventDefault();
	if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
		moveBy((event.deltaX || event.deltaY) * nsPerPixel());
	else
		zoomAt(ns, ZOOM ** (Math.sign(event.deltaY) *
			Math.min(3, Math.max(.4, Math.abs(event.deltaY) / 100))));
}

/* The wheel on the overview opens the timeline, and zooms. */
function onStripWheel(event) {
	const box = el("strip-area").getBoundingClientRect(), { from_ns, bin_ns, nr } = times.rows;

	if (!state.tracks)
		go({ tracks: true }, true);
	onWheel(event, from_ns + (event.clientX - box.left) / box.width * nr * bin_ns);
}

function listenToPointer(box) {
	let start = null;

	box.addEventListener("pointerdown", event => {
		/* Ignore the scroll bar next to the canvas. */
		if (event.button || within(event)[0] > box.clientWidth)
			return;
		start = { x: event.clientX, y: event.clientY, from: shownFrom, top: box.scrollTop,
			moved: false };
		box.setPointerCapture(event.pointerId);
	});
	box.addEventListener("pointermove", event => {
		pointer = within(event);
		if (!start) {
			hoverEvent(event);
			return;
		}
		const dx = event.clientX - start.x, length = shownTo - shownFrom;

		start.moved ||= Math.abs(dx) + Math.abs(event.clientY - start.y) > 3;
		if (!start.moved)
			return;
		box.classList.add("dragged");
		/* A drag moves the time; a drag that begins vertically scrolls the rows. */
		start.across ??= Math.abs(event.clientY - start.y) > Math.abs(dx);
		if (start.across) {
			box.scrollTop = start.top - (event.clientY - start.y);
			return;
		}
		const [begin, end] = wholeSpan(), from = Math.min(end - length,
			Math.max(begin, start.from - dx * nsPerPixel()));

		showAndFollow(from, from + length);
	});
	const release = event => {
		const click = start && !start.moved && event.type === "pointerup";

		start = null;
		box.classList.remove("dragged");
		if (click)
			chooseEvent(eventAt(...within(event)));
	};

	box.addEventListener("pointerup", release);
	box.addEventListener("pointercancel", release);
	box.addEventListener("dblclick", zoomToEvent);
	box.addEventListener("pointerleave", () => {
		pointer = null;
		hideTip();
	});
}

/*
 * Shows or hides the timeline. A timeline that appears gets the focus, so that its keys work at
 * once.
 */
export const toggleLanes = () => {
	if (!events)
		return;
	go({ strip: true, tracks: !state.tracks || !state.strip });
	if (!el("lanes").hidden)
		el("lanes").focus({ preventScroll: true });
};

export function listenToTimeline() {
	const box = el("lanes");

	el("show-lanes").addEventListener("click", toggleLanes);
	el("show-helpers").addEventListener("click", () => go({ helpers: !state.helpers }));
	box.addEventListener("wheel", event => onWheel(event, laneNs(within(event)[0])),
		{ passive: false });
	el("strip-area").addEventListener("wheel", onStripWheel, { passive: false });
	document.addEventListener("keydown", onLaneKey, true);
	listenToPointer(box);
}
