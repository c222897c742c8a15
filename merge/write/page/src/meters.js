/* SPDX-License-Identifier: MIT */
/*
 * meters.js - rows of the timeline with values of GPUs over time: their counters, power, memory,
 * and work in flight
 */
import { events, firstAfter } from "./events.js";
import { formatBytes, formatTime, integer } from "./words.js";

const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const COLUMN = 2;		/* width in pixels of a column of the curve, which shows a mean */

/* Adds to a meter its timestamps, the integral of its value over time, and the top of its scale. */
function prepare(meter) {
	const { at, value } = meter, from = new Float64Array(at.length);
	const area = new Float64Array(at.length);
	let ns = 0;

	for (let i = 0; i < at.length; i++) {
		from[i] = ns += at[i];
		area[i] = i ? area[i - 1] + value[i - 1] * at[i] : 0;
	}
	const most = value.reduce((a, b) => Math.max(a, b), 0);

	Object.assign(meter, { from, area, most, top: meter.unit === "%" ? 100 : most || 1 });
}

/* Return: the index of the point whose value holds at @ns; -1: before the first point. */
const pointAt = (meter, ns) => firstAfter(meter.from, ns) - 1;

/* Return: the integral of the value up to @ns. */
function areaAt({ from, area, value }, i, ns) {
	return i < 0 ? 0 : area[i] + (i + 1 < from.length ? value[i] * (ns - from[i]) : 0);
}

const formatValue = ({ unit }, value) => unit === "bytes" ? formatBytes(value) :
	`${decimal.format(value)} ${unit}`.trim();

/* Return: the rows of all meters. */
export function meterRows() {
	return events.meters.map(meter => {
		const name = `GPU ${meter.gpu} ${meter.name}`;

		if (!meter.from)
			prepare(meter);
		return { name, title: name, tracks: [], meter };
	});
}

/*
 * Draws the curve of a meter: the mean of each column. @nsAt: returns the time at an x; @y,
 * @height: the place of the meter's row
 */
export function drawMeter(ctx, meter, y, height, left, right, nsAt) {
	let i = pointAt(meter, nsAt(left)), before = areaAt(meter, i, nsAt(left)), last = -1;

	ctx.beginPath();
	ctx.moveTo(left, y + height);
	for (let x = left; x < right; x += COLUMN) {
		const from = nsAt(x), to = nsAt(x + COLUMN);

		while (i + 1 < meter.from.length && meter.from[i + 1] <= to)
			i++;
		const after = areaAt(meter, i, to), mean = (after - before) / (to - from);
		const level = y + height * (1 - Math.min(1, Math.max(0, mean / meter.top)));

		if (level !== last) {
			ctx.lineTo(x, last < 0 ? y + height : last);
			ctx.lineTo(x, level);
		}
		[last, before] = [level, after];
	}
	ctx.lineTo(right, last);
	ctx.lineTo(right, y + height);
	ctx.fill();
}

/* Return: pairs of a label and a value about a meter, for a pixel that covers @from to @to. */
export function meterWords(meter, from, to) {
	const { value } = meter, first = pointAt(meter, from), last = pointAt(meter, to);
	const end = meter.from.length - 1, whole = meter.from[end] - meter.from[0];
	const mean = (areaAt(meter, last, to) - areaAt(meter, first, from)) / (to - from);
	const inRange = last >= 0 && first < end;

	return [!inRange ? ["value", "not measured"] : first === last || first < 0 ?
		["value", formatValue(meter, value[last])] :
		["mean", `${formatValue(meter, mean)} of ` +
			`${integer.format(last - first + 1)} values`],
	...(meter.step ? [["each value", "the mean of " + formatTime(meter.step, "auto")]] : []),
	["in all", `mean ${formatValue(meter, whole ? meter.area[end] / whole : 0)}, most ` +
		formatValue(meter, meter.most)]];
}
