/* SPDX-License-Identifier: MIT */
/* pyramid.js - finds the events of a pixel among millions, in a few steps */

const STEP = 16;		/* elements that share an element of the level above */

/* Return: the array, made on first use, of the longest of each STEP ** (@level + 1) events. */
function levelOf(track, level) {
	const { longest, from, to, nr } = track;

	if (longest[level])
		return longest[level];
	const below = level ? levelOf(track, level - 1) : null, size = below ? below.length : nr;
	const v = new Uint32Array(Math.ceil(size / STEP));

	for (let k = 0; k < v.length; k++) {
		let best = -1, most = -1;

		for (let i = k * STEP; i < Math.min(size, (k + 1) * STEP); i++) {
			const e = below ? below[i] : i;

			if (to[e] - from[e] > most)
				[best, most] = [e, to[e] - from[e]];
		}
		v[k] = best;
	}
	return longest[level] = v;
}

/*
 * Return: the longest event from @first to @end - 1; @end is greater than @first. If the events are
 * many, a few at both ends are left out.
 */
export function longestOf(track, first, end) {
	const { from, to } = track;

	if (end - first >= 3 * STEP) {
		first = Math.ceil(first / STEP) * STEP;
		end = Math.floor(end / STEP) * STEP;
	}
	let best = first, level = -1, i = first;

	while (i < end) {
		const size = STEP ** (level + 1);

		/* Go up a level if a whole block fits, down if it does not. */
		if (i % (size * STEP) === 0 && i + size * STEP <= end) {
			level++;
			continue;
		}
		if (i + size > end) {
			level--;
			continue;
		}
		const e = level < 0 ? i : levelOf(track, level)[i / size];

		if (to[e] - from[e] > to[best] - from[best])
			best = e;
		i += size;
	}
	return best;
}

/* Return: the first event from @i on that begins at @limit or later. Looks near @i first. */
export function nextFrom(track, i, limit) {
	const { from, nr } = track;
	let step = 1, low = i;

	while (low + step < nr && from[low + step] < limit) {
		low += step;
		step *= 2;
	}
	let high = Math.min(nr, low + step);

	while (low < high) {
		const mid = (low + high) >> 1;

		if (from[mid] < limit)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Return: the first event from @i on that lasts at least @least; track.nr: no such event. */
export function nextLong(track, i, least) {
	const { from, to, nr } = track;

	while (i < nr && to[i] - from[i] < least) {
		let size = 1, level = 0;

		/* Skip the largest block in which no event lasts that long. */
		while (i % (size * STEP) === 0 && i + size * STEP <= nr) {
			const e = levelOf(track, level)[i / (size * STEP)];

			if (to[e] - from[e] >= least)
				break;
			size *= STEP;
			level++;
		}
		i += size;
	}
	return Math.min(i, nr);
}
