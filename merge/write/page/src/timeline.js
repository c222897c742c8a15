/* SPDX-License-Identifier: MIT */
/*
 * timeline.js - single events on streams and threads, below the overview
 *
 * Drawing takes longer with more pixels, but not with more events. Where several events share a
 * column of pixels, one bar shows them: its height is their share of the column's time, and it has
 * the color of the longest event (pyramid.js).
 */
import { dark } from "./colours.js";
import { times } from "./data.js";
import { el, make } from "./dom.js";
import { events, firstAfter } from "./events.js";
import { eventName, forgetPixels, laneRows, pixelsOf } from "./lanes.js";
import { drawMeter } from "./meters.js";
import { pickedSpan, state, wholeSpan } from "./model.js";
import { longestOf, nextFrom, nextLong } from "./pyramid.js";
import { placeSpan } from "./strip.js";
import { formatMoment, integer } from "./words.js";

export const LANE = 16, BAR = 14, AXIS = 18;
const NAME_ROOM = 34, CHARACTER = 6.1, LANES_HEIGHT = .36, MOST_ARROWS = 100, TICK = 110;

let lanes = null, lanesOpen = false, nrHelpers = 0, gutter = 150, frameAsked = 0;
/* the times at the left and the right edge, in ns since the recording's start */
export let shownFrom = 0, shownTo = 1;

export const lanesShown = () => lanes;
const laneWidth = () => Math.max(1, el("lanes").clientWidth - gutter);
/*
 * The length of the shown time; kept separately, so that scrolling does not change it by rounding.
 */
let shownLength = 1;
export const nsPerPixel = () => shownLength / laneWidth();
export const laneX = ns => gutter + (ns - shownFrom) / nsPerPixel();
export const laneNs = x => shownFrom + (x - gutter) * nsPerPixel();
/* Return: the chosen event, [track, index], or null. */
export function chosenEvent() {
	const [t, i] = state.event.split("-").map(Number), track = events.tracks[t];

	return state.event && track && i < track.nr ? [track, i] : null;
}

/* ---- pixels --------------------------------------------------------------------------------- */

let image = null, pixels = null, ground = 0;

/* Fills a rectangle of the image; coordinates are device pixels within the image. */
function fillBox(x, y, w, h, colour) {
	const { width } = image, right = Math.min(width, x + w);
	const bottom = Math.min(image.height, y + h) * width;

	for (let row = Math.max(0, y) * width; row < bottom; row += width) {
		/* For a few pixels, the call of fill() is slower than a loop. */
		if (w > 24)
			pixels.fill(colour, row + x, row + right);
		else
			for (let at = row + x; at < row + right; at++)
				pixels[at] = colour;
	}
}

/*
 * Draws the events of a track into the image, in the columns from @begin to @end - 1. @grid: the
 * number of column @left, counted from the recording's start in columns of @width ns. Scrolling
 * keeps this grid, so it does not change which events share a column.
 */
function drawEvents(track, y, { left, width, grid, ratio }, begin, end) {
	const { from, to, spent } = track, [colours, which] = pixelsOf(track);
	const column = ns => Math.floor(ns / width) - grid + left, height = BAR * ratio;
	const until = (grid + end - left) * width;
	let i = firstAfter(track.over, (grid + begin - left) * width);

	while (i < track.nr && from[i] < until) {
		const x = Math.max(begin, column(from[i]));
		/* If events overlap, the next event is drawn over the rest of this one. */
		const seenTo = i + 1 < track.nr ? Math.min(to[i], from[i + 1]) : to[i];
		const over = Math.min(end, column(seenTo));

		if (over - x >= 2) {
			const gap = seenTo - from[i] > 3 * width && over < end ? 1 : 0;

			fillBox(x, y, over - x - gap, height, colours[which[i]]);
			i++;
			continue;
		}
		const next = Math.max(i + 1, nextFrom(track, i, (grid + x + 1 - left) * width));
		const busy = Math.min(1, (spent[next] - spent[i]) / width);
		const h = Math.max(Math.round(3 * ratio), Math.round(busy * height));
		const longest = longestOf(track, i, next), colour = colours[which[longest]];
		const lasts = column(Math.min(to[longest], next < track.nr ? from[next] : until));

		fillBox(x, y + height - h, 1, h, colour);
		if (lasts > x + 2)
			fillBox(x + 1, y, Math.min(end, lasts) - x - 1, height, colour);
		i = next;
	}
}

let drawnAs = "", drawnGrid = 0;

/* Moves the columns of the image that are still valid. Return: the range of columns to draw. */
function movedColumns(view, as) {
	const { left, grid } = view, { width, height } = image, by = grid - drawnGrid;
	const stays = as === drawnAs && Math.abs(by) < width - left;

	[drawnAs, drawnGrid] = [as, grid];
	if (!stays)
		return [left, width];
	for (let row = 0; row < height * width; row += width)
		if (by > 0)
			pixels.copyWithin(row + left, row + left + by, row + width);
		else
			pixels.copyWithin(row + left - by, row + left, row + width + by);
	return by > 0 ? [width - by, width] : [left, left - by];
}

/* Draws the events of lanes @first to @last - 1. */
function drawImage(ctx, first, last, top, ratio) {
	const { width, height } = ctx.canvas, left = Math.round(gutter * ratio);
	const ns = nsPerPixel() / ratio, y = r => Math.round((AXIS + r * LANE - top) * ratio);
	const view = { left, width: ns, grid: Math.floor(shownFrom / ns), ratio };

	if (!image || image.width !== width || image.height !== height) {
		image = ctx.createImageData(width, height);
		pixels = new Uint32Array(image.data.buffer);
		drawnAs = "";
	}
	const [begin, end] = movedColumns(view,
		`${ns} ${top} ${dark.matches} ${gutter} ${lanesOpen}`);

	if (begin < end) {
		fillBox(begin, 0, end - begin, height, 0);
		for (let r = first; r < last; r++)
			for (const track of lanes[r].tracks)
				drawEvents(track, y(r), view, begin, end);
		/* Clear the axis: rows may have scrolled below it. */
		fillBox(begin, 0, end - begin, Math.round(AXIS * ratio), 0);
	}
	ctx.putImageData(image, 0, 0);
}

/* ---- words and lines ------------------------------------------------------------------------ */

const inkOf = name => getComputedStyle(document.documentElement).getPropertyValue(name);
let ink = null;

/* Looks up the colors if they may have changed. */
function inks() {
	if (!ink || ground !== dark.matches)
		ink = { text: inkOf("--text"), dim: inkOf("--dim"), line: inkOf("--line"),
			frame: inkOf("--frame-text"), panel: inkOf("--panel"),
			accent: inkOf("--accent") };
	if (ground !== dark.matches)
		forgetPixels();
	ground = dark.matches;
	return ink;
}

/* Return: the distance between ticks: 1, 2 or 5 times a power of ten. */
function tickStep() {
	const least = Math.max(1, TICK * nsPerPixel()), power = 10 ** Math.floor(Math.log10(least));

	return [1, 2, 5, 10].map(n => n * power).find(step => step >= least);
}

function drawTicks(ctx, width, height) {
	const step = tickStep();

	ctx.textAlign = "left";
	for (let ns = Math.ceil(shownFrom / step) * step; ns < shownTo; ns += step) {
		const x = Math.round(laneX(ns)) + .5;

		ctx.fillStyle = ink.line;
		ctx.fillRect(x, AXIS - 5, 1, height);
		ctx.fillStyle = ink.dim;
		if (x + 60 < width)
			ctx.fillText(formatMoment(Math.max(0, ns), step), x + 3, 11);
	}
}

/* Marks time intervals whose single events are not in the page. */
function drawHoles(ctx, height) {
	for (const [from, to, , nr] of events.holes) {
		if (to <= shownFrom || from >= shownTo)
			continue;
		const x = Math.max(gutter, laneX(from)), end = laneX(Math.min(to, shownTo));

		ctx.fillStyle = ink.line;
		ctx.globalAlpha = .6;
		ctx.fillRect(x, AXIS, Math.max(1, end - x), height);
		ctx.globalAlpha = 1;
		if (end - x > 90) {
			ctx.fillStyle = ink.text;
			ctx.fillText(`only sums: ${integer.format(nr)} events`, x + 4, AXIS + 11);
		}
	}
}

/* Writes names on those events of a track that are wide enough for a name. */
function drawNamesOfEvents(ctx, track, y, width) {
	const { from, to, nr } = track, least = NAME_ROOM * nsPerPixel();
	let i = nextLong(track, firstAfter(track.over, shownFrom), least);

	for (; i < nr && from[i] < shownTo; i = nextLong(track, i + 1, least)) {
		const next = i + 1 < nr ? from[i + 1] : Infinity;

		if (Math.min(to[i], next) - Math.max(from[i], shownFrom) < least)
			continue;
		const x = Math.max(gutter, laneX(from[i]));
		const end = Math.min(width, laneX(Math.min(to[i], next)));

		ctx.fillText(eventName(track, i)
			.slice(0, Math.max(0, Math.floor((end - x - 6) / CHARACTER))), x + 3, y);
	}
}

function drawMeters(ctx, first, last, top, width) {
	ctx.save();
	ctx.beginPath();
	ctx.rect(gutter, AXIS, laneWidth(), 1e4);
	ctx.clip();
	ctx.fillStyle = ink.accent;
	ctx.globalAlpha = .6;
	for (let r = first; r < last; r++)
		if (lanes[r].meter)
			drawMeter(ctx, lanes[r].meter, AXIS + r * LANE - top, BAR, gutter, width,
				laneNs);
	ctx.restore();
}

function drawNamesOfLanes(ctx, first, last, top) {
	ctx.textAlign = "left";
	for (let r = first; r < last; r++) {
		ctx.fillStyle = ink.dim;
		ctx.fillText(lanes[r].name.slice(0, Math.floor((gutter - 4) / 5.7)), 0,
			AXIS + r * LANE - top + 11);
	}
}

/* ---- arrows --------------------------------------------------------------------------------- */

/* Return: the row of a track, or -1. */
const laneOf = track => lanes.findIndex(lane => lane.tracks.includes(track));

/*
 * Return: the events related to an event, [track, index]: the work of a call, or the call of work.
 */
export function tied(track, i) {
	const { found, tracks } = events, list = [];

	if (track.what === "work" && track.call[i]) {
		const t = found.track[track.call[i]];

		return t ? [[tracks[t - 1], found.at[track.call[i]]]] : [];
	}
	if (track.what !== "calls" || !found.workTrack[track.number[i]])
		return list;
	for (const work of tracks.filter(t => t.what === "work"))
		for (let k = work.call.indexOf(track.number[i]);
			k >= 0 && list.length < MOST_ARROWS;
			k = work.call.indexOf(track.number[i], k + 1))
			list.push([work, k]);
	return list;
}

const laneY = (track, top) => AXIS + laneOf(track) * LANE - top + BAR / 2;

function drawArrow(ctx, [callTrack, c], [workTrack, w], top) {
	const x1 = laneX(callTrack.from[c]), x2 = laneX(workTrack.from[w]);
	const y1 = laneY(callTrack, top), y2 = laneY(workTrack, top), bend = (y2 - y1) / 2;

	ctx.beginPath();
	ctx.moveTo(x1, y1);
	ctx.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
	ctx.moveTo(x2 - 4, y2 - 5 * Math.sign(bend || 1));
	ctx.lineTo(x2, y2);
	ctx.lineTo(x2 + 4, y2 - 5 * Math.sign(bend || 1));
	ctx.stroke();
}

let arrowsOf = null, arrows = [];

/* Outlines an event, and draws arrows from a launch to its work. */
function drawChosen(ctx, top) {
	const event = chosenEvent();

	if (!event)
		return;
	if (arrowsOf !== state.event) {
		arrowsOf = state.event;
		arrows = tied(...event);
	}
	const [track, i] = event, x = Math.max(gutter, laneX(track.from[i]));

	ctx.strokeStyle = ink.accent;
	ctx.lineWidth = 2;
	if (laneX(track.to[i]) >= gutter)
		ctx.strokeRect(x, laneY(track, top) - BAR / 2,
			Math.max(2, laneX(track.to[i]) - x), BAR);
	ctx.lineWidth = 1.5;
	ctx.save();
	ctx.beginPath();
	ctx.rect(gutter, AXIS, laneWidth(), 1e4);
	ctx.clip();
	for (const other of arrows)
		if (track.what === "calls")
			drawArrow(ctx, event, other, top);
		else
			drawArrow(ctx, other, event, top);
	ctx.restore();
}

/* ---- the whole ------------------------------------------------------------------------------ */

function paintLanes() {
	const box = el("lanes"), canvas = el("lanes-canvas"), ratio = Math.min(2, devicePixelRatio);
	const ctx = canvas.getContext("2d"), width = box.clientWidth, height = box.clientHeight;
	const top = box.scrollTop, first = Math.floor(top / LANE);
	const last = Math.min(lanes.length, Math.ceil((top + height - AXIS) / LANE));

	frameAsked = 0;
	if (!width || !height)
		return;
	if (canvas.width !== Math.round(width * ratio) ||
		canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	canvas.dataset.from = shownFrom;
	canvas.dataset.to = shownTo;
	inks();
	drawImage(ctx, first, last, top, ratio);
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.font = "11px system-ui, sans-serif";
	drawMeters(ctx, first, last, top, width);
	drawTicks(ctx, width, height);
	drawHoles(ctx, height);
	const whole = first + (top % LANE > 4 ? 1 : 0);

	ctx.fillStyle = ink.frame;
	for (let r = whole; r < last; r++)
		for (const track of lanes[r].titleOf ? [] : lanes[r].tracks)
			drawNamesOfEvents(ctx, track, AXIS + r * LANE - top + 11, width);
	drawNamesOfLanes(ctx, whole, last, top);
	drawChosen(ctx, top);
}

/* Schedules drawing of the timeline in the next frame. */
export function repaint() {
	frameAsked ||= requestAnimationFrame(paintLanes);
}

/* Shows another time interval, within the recording. The rest of the page is not updated yet. */
export function show(from, to) {
	const [begin, end] = wholeSpan();
	const asked = Math.min(end - begin, Math.max(to - from, 20));
	const length = Math.abs(asked - shownLength) < 1e-6 * asked ? shownLength : asked;

	shownLength = length;
	from = Math.min(end - length, Math.max(begin, from));
	[shownFrom, shownTo] = [from, from + length];
	placeSpan(from, from + length);
	repaint();
}

/* Return: the place of an event, { x, y, width } in CSS pixels of the canvas. */
export function placeOfEvent(track, i) {
	const x = laneX(track.from[i]);

	return { x, y: AXIS + laneOf(track) * LANE - el("lanes").scrollTop,
		width: laneX(track.to[i]) - x };
}

/* Scrolls to the row of a track. */
export function scrollToLane(track) {
	const box = el("lanes"), y = laneOf(track) * LANE, room = box.clientHeight - AXIS - LANE;

	box.scrollTop = Math.min(y, Math.max(y - room, box.scrollTop));
}

function leftOutWords() {
	return events.left_out ? `${integer.format(events.kept)} of ` +
		`${integer.format(events.kept + events.left_out)} events; ` +
		"the densest stretches have only sums" : "";
}

export function drawTimeline() {
	const shown = Boolean(events) && Boolean(lanes) && state.strip && state.tracks;

	el("show-lanes").hidden = !events || !state.strip;
	el("show-lanes").setAttribute("aria-expanded", state.tracks);
	el("lanes").hidden = !shown;
	el("show-helpers").hidden = !shown || !nrHelpers;
	if (!shown)
		return;
	if (lanesOpen !== state.helpers)
		arrangeLanes();
	el("show-helpers").textContent = `${integer.format(nrHelpers)} other threads`;
	el("show-helpers").setAttribute("aria-expanded", state.helpers);
	el("lanes-words").textContent = leftOutWords();
	gutter = el("strip-area").offsetLeft - el("lanes").offsetLeft;
	el("lanes").style.height = Math.round(Math.min(LANES_HEIGHT * innerHeight,
		AXIS + lanes.length * LANE + 2)) + "px";
	el("lanes-room").style.height = AXIS + lanes.length * LANE + "px";
	show(...pickedSpan());
	const event = chosenEvent();

	if (event)
		scrollToLane(event[0]);
}

function arrangeLanes() {
	lanesOpen = state.helpers;
	({ rows: lanes, nrHelpers } = laneRows(lanesOpen));
}

export function setUpTimeline() {
	arrangeLanes();
	dark.addEventListener("change", repaint);
	el("lanes").addEventListener("scroll", repaint);
	new ResizeObserver(() => {
		if (!el("lanes").hidden)
			repaint();
	}).observe(el("lanes"));
}
