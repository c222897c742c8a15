/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, findings, open, shot, run } = require("./browser.js");
const { folded, sum, leaf, settle, tip, number } = require("./flamegraph.js");

const PARTS = ["1.004217s-1.004391s", "1.0051s-1.0072s"];
const nsOf = part => part.split("-").map(text => Math.round(parseFloat(text) * 1e9));
const isWork = line => /^\[GPU\d*_(Kernel|Memcpy|Memset)\]/.test(leaf(line));

/* Return: the name that the page gives to device work @e of the Chrome timeline. */
const shownAs = e => e.cat === "memset" ? "set" : e.name.replace(/^memcpy/, "copy");

/* Waits for the page, which redraws only once the time range has stopped changing. */
async function rest(page) {
	await page.waitForTimeout(350);
	await settle(page);
}

async function withEvents(file, options) {
	const page = await open(file, options);

	await page.waitForSelector("html[data-events]");
	await settle(page);
	return page;
}

/*
 * Return: the device work and the launches of a Chrome timeline, in ns since the recording's start.
 */
function chrome(name, startNs) {
	const { traceEvents, otherData } = JSON.parse(fs.readFileSync(`${name}.json`));
	const base = Number(BigInt(otherData.base_ns) - BigInt(startNs));
	const spans = traceEvents.filter(e => e.ph === "X").map(e => ({ ...e,
		from: base + Math.round(e.ts * 1000), length: Math.round(e.dur * 1000) }));

	return { work: spans.filter(e => ["kernel", "memcpy", "memset"].includes(e.cat)),
		launches: spans.filter(e => e.cat === "launch"),
		tracks: Object.fromEntries(traceEvents.filter(e => e.name === "thread_name")
			.map(e => [`${e.pid} ${e.tid}`, e.args.name])) };
}

const startOf = page => page.$eval("#xpu-data", e => JSON.parse(e.textContent).times.start_ns);
const lanes = page => page.$eval("#lanes", e => {
	const box = e.getBoundingClientRect();

	return { x: box.x, y: box.y, width: e.clientWidth, height: box.height };
});
const gutter = page => page.evaluate(() => {
	const at = id => globalThis.document.getElementById(id).getBoundingClientRect().x;

	return at("strip-area") - at("lanes");
});

/* Return: the tooltip at a position in the timeline, as an object by label. */
async function hover(page, x, y) {
	await page.mouse.move(x - 1, y);
	await page.mouse.move(x, y);
	await settle(page);
	return page.$eval("#tip", e => ({ hidden: e.hidden,
		name: e.querySelector("strong") && e.querySelector("strong").textContent,
		...Object.fromEntries([...e.querySelectorAll("dt")].map(dt =>
			[dt.textContent, dt.nextSibling.textContent])) }));
}

/* Return: the ns of "1.004217391 s" or "1,044 ns". */
function nsOfWords(text) {
	const [, value, unit] = /^([\d.,]+) (ns|\u00b5s|ms|s)$/.exec(text);

	return Math.round(number(value) * { ns: 1, "\u00b5s": 1e3, ms: 1e6, s: 1e9 }[unit]);
}

/* Finds the row of the timeline that has the event. Return: the event's tooltip, or null. */
async function findRow(page, wanted) {
	const box = await lanes(page), left = await gutter(page);
	const [from, to] = await page.$eval("#lanes-canvas", e =>
		[+e.dataset.from, +e.dataset.to]);
	const part = (wanted.from + wanted.length / 2 - from) / (to - from);
	const x = box.x + left + (box.width - left) * part;

	for (let y = box.y + 26; y < box.y + box.height; y += 16) {
		const words = await hover(page, x, y);

		if (!words.hidden && words.at && nsOfWords(words.at) === wanted.from &&
			words.name === wanted.shown)
			return { ...words, x, y };
	}
	return null;
}

/*
 * An event on the page has the same name, begin, duration, stream and correlation ID as in the
 * Chrome timeline.
 */
async function testHover() {
	for (const name of ["app", "all"]) {
		const page = await withEvents(`${name}.html#events=1`);
		const { work, tracks } = chrome(name, await startOf(page));
		const picked = work.filter((_, k) => k % Math.ceil(work.length / 4) === 0);

		ok(picked.length > 1, `${name}: there is work`);
		for (const e of picked) {
			const more = Math.max(200, e.length);

			e.shown = shownAs(e);
			await page.evaluate(hash => { globalThis.location.hash = hash; },
				`events=1&span=${e.from - more}..${e.from + e.length + more}`);
			await settle(page);
			const words = await findRow(page, e);

			ok(words, `${name}: ${e.shown}: the timeline has it at its time`, e.from);
			if (!words)
				continue;
			is(nsOfWords(words.for), e.length, `${name}: ${e.shown}: its length`);
			const stream = /stream \d+/.exec(tracks[`${e.pid} ${e.tid}`]);

			ok(words.on.includes(stream ? stream[0] : "unknown stream"),
			   `${name}: ${e.shown}: its stream`, words.on);
			if (e.args.launch === undefined)
				is(words.correlation, String(e.args.correlation),
				   `${name}: ${e.shown}: the id of its launch`);
			else
				is(words.launched, "not recorded",
				   `${name}: ${e.shown}: it has no launch`);
		}
		is(page.complaints.join("; "), "", `${name}: no complaints`);
		await page.context().close();
	}
}

/* The sums of a time range equal the sums with --from and --to, to the ns. */
async function testSums() {
	for (const part of PARTS) {
		const [from, to] = nsOf(part);
		const page = await withEvents(`app.html#unit=ns&span=${from}..${to}`);
		const lines = folded(`${part}.folded`).filter(isWork);
		const table = JSON.parse(fs.readFileSync(`${part}.json`)).kernels;
		const rows = new Map(await page.$$eval("#work tbody tr", list => list.map(tr =>
			[tr.querySelector("button").textContent,
				[tr.cells[2].textContent, tr.cells[3].textContent]])));
		const wrong = table.filter(k => {
			const row = rows.get(k.name);

			return !row || number(row[0]) !== k.total_ns ||
				(number(row[1]) || 0) !== k.instances;
		});

		ok(table.length > 3, `${part}: there are kernels`);
		is(JSON.stringify(wrong), "[]",
		   `${part}: kernels have the time and count of --from and --to`);
		is(number((await tip(page, "all")).total), sum(lines),
		   `${part}: the graph has the time of --from and --to`);
		ok(!/whole steps/.test(await page.textContent("#stretch-words")),
		   `${part}: the stretch is exact`);
		await page.click('[data-mode="thread"]');
		await settle(page);
		is(number((await tip(page, "all")).total),
		   sum(folded(`${part}.folded`).filter(line => !isWork(line))),
		   `${part}: the graph has the time of threads`);
		await page.context().close();
	}
}

const spanOf = page => {
	const at = /span=(-?\d+)\.\.(-?\d+)/.exec(page.url());

	return at ? at.slice(1).map(Number) : null;
};

/* The wheel, dragging and keys move the time range; the address and everything else follow. */
async function testMoving() {
	const page = await withEvents("app.html#unit=ns");

	ok(await page.$eval("#lanes", e => e.hidden), "at first there is only the overview");
	await page.click("#show-lanes");
	await settle(page);
	ok(!await page.$eval("#lanes", e => e.hidden), "a button shows single events");
	const box = await lanes(page), left = await gutter(page);
	const x = box.x + left + (box.width - left) * .6, y = box.y + 40;
	const all = number((await tip(page, "all")).total);

	await page.mouse.move(x, y);
	for (let i = 0; i < 12; i++)
		await page.mouse.wheel(0, -100);
	await rest(page);
	const zoomed = spanOf(page), length = zoomed[1] - zoomed[0];

	ok(zoomed && length < 2e6, "the wheel zooms", page.url());
	ok(number((await tip(page, "all")).total) < all / 4, "the graph follows");
	await page.mouse.move(x, y);
	await page.mouse.down();
	await page.mouse.move(x - 200, y, { steps: 5 });
	await page.mouse.up();
	await rest(page);
	const moved = spanOf(page), expected = 200 * length / (box.width - left);

	ok(Math.abs(moved[0] - zoomed[0] - expected) < length / 100 + 2 &&
		Math.abs(moved[1] - moved[0] - length) <= 2, "a drag moves the time",
	   `${zoomed} ${moved}`);
	for (const [key, test] of [
		["w", (a, b) => b[1] - b[0] < a[1] - a[0]], ["d", (a, b) => b[0] > a[0]],
		["a", (a, b) => b[0] < a[0]], ["s", (a, b) => b[1] - b[0] > a[1] - a[0]],
	]) {
		const before = spanOf(page);

		await page.keyboard.press(key);
		await rest(page);
		ok(test(before, spanOf(page)), `${key} moves or zooms`,
		   `${before} ${spanOf(page)}`);
	}
	/* Another page with this address shows the same contents. */
	const again = await withEvents(page.url().replace(/^.*\//, ""));

	is((await tip(again, "all")).total, (await tip(page, "all")).total,
	   "the address has the stretch");
	ok(!await again.$eval("#lanes", e => e.hidden), "the address has the single events");
	await again.context().close();
	await page.mouse.move(1, 1);
	await page.keyboard.press("e");
	await settle(page);
	ok(await page.$eval("#lanes", e => e.hidden), "e hides single events");
	const span = () => (/span=([^&]*)/.exec(page.url()) || [])[1], before = span();

	await page.keyboard.press("e");
	await settle(page);
	await page.keyboard.press("w");
	await rest(page);
	ok(span() && span() !== before,
	   "e shows single events, and w zooms without a pointer over them", page.url());
	await page.context().close();
}

/* Goes to the first event, along its row, and to its call path, with the keyboard alone. */
async function testChoosing() {
	const page = await withEvents("app.html#unit=ns&events=1");
	const { work, launches } = chrome("app", await startOf(page));

	await page.focus("#lanes");
	await page.keyboard.press("ArrowRight");
	await settle(page);
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	await rest(page);
	ok(/event=\d+-\d+/.test(page.url()), "the address has the chosen event", page.url());
	const box = await lanes(page), left = await gutter(page);
	const words = await hover(page, box.x + left + (box.width - left) / 2, box.y + 26);
	const e = work.find(w => w.from === nsOfWords(words.at) &&
		String(w.args.correlation) === words.correlation), [from, to] = spanOf(page);

	ok(e && to - from <= 2 * e.length + 4, "Enter shows the chosen event alone",
	   `${from} ${to}`);
	is(words.name, shownAs(e),
		"the event is in the middle of its row");
	is(await page.textContent("#detail h2"), words.name,
	   "the graph has the event's work selected");
	const launched = nsOfWords(/at ([^,]*),/.exec(words.launched)[1]);

	ok(launches.some(l => l.args.correlation === e.args.correlation && l.from === launched),
	   "its launch is the launch of the Chrome timeline", words.launched);
	await shot(page, "html-time");
	await page.mouse.move(1, 1);
	await page.keyboard.press("Escape");
	await settle(page);
	await page.context().close();
}

/* The panel of a row of work shows the same pieces, streams and shapes as the Chrome timeline. */
async function testPieces() {
	const add = (map, key, ns) => map.set(key, (map.get(key) || []).concat(ns));
	let nrShapes = 0;

	for (const name of ["app", "all"]) {
		const page = await withEvents(`${name}.html#unit=ns`);
		const { work, tracks } = chrome(name, await startOf(page)), paths = new Map();

		for (const e of work)
			add(paths, `${shownAs(e)}\n${e.sf}`, [e]);
		const largest = new Map();
		const sumOf = list => list.reduce((ns, e) => ns + e.length, 0);

		for (const [key, list] of paths) {
			const work = key.split("\n")[0];

			if (sumOf(list) > sumOf(largest.get(work) || []))
				largest.set(work, list);
		}
		const picked = [...largest].filter((_, k) => k % Math.ceil(largest.size / 4) === 0);

		for (const [shown, list] of picked) {
			const row = page.locator("#work tbody tr").filter({
				has: page.getByRole("button", { name: shown, exact: true }) });

			await row.click();
			await settle(page);
			const rowsOf = id => page.$$eval(`#${id} tbody tr`, trs => trs.map(tr =>
				[...tr.cells].map(cell => cell.textContent)));
			const ends = await page.$$eval("#histogram figcaption span", list =>
				list.map(e => e.textContent.replace(/^(shortest|longest) /, "")));
			const bars = await page.$$eval("#histogram .bars span", list =>
				list.map(e => e.title.split(":")[0]));
			const lengths = list.map(e => e.length).sort((a, b) => a - b);
			const streams = new Map(), shapes = new Map();

			for (const e of list) {
				const track = tracks[`${e.pid} ${e.tid}`] || "unknown";

				add(streams, /stream \d+|unknown/.exec(track)[0], e.length);
				if (e.args?.grid)
					add(shapes, `${e.args.grid} ${e.args.block}`, e.length);
			}
			const nrs = map => [...map.values()].map(v => v.length).sort().join(" ");
			const shownNrs = rows => rows.map(r => number(r[3])).sort().join(" ");

			is([nsOfWords(ends[0]), nsOfWords(ends[2])].join(" "),
			   `${lengths[0]} ${lengths[lengths.length - 1]}`,
			   `${name}: ${shown}: the shortest and the longest piece`);
			is(bars.map(number).reduce((a, b) => a + b), list.length,
			   `${name}: ${shown}: the bars have all pieces`);
			is(shownNrs(await rowsOf("pieces-streams")), nrs(streams),
			   `${name}: ${shown}: the pieces by stream`);
			is(shownNrs(await rowsOf("pieces-shapes")), nrs(shapes),
			   `${name}: ${shown}: the pieces by shape`);
			nrShapes += shapes.size;
		}
		await page.context().close();
	}
	ok(nrShapes > 0, "there are shapes");
}

/* An address that no page has ever written is harmless. */
async function testAddresses() {
	for (const hash of ["span=9..3", "span=x", "span=1e9..2e9", "event=99999-1",
		"event=0-99999999", "span=-9999999999999999..9999999999999999",
		"span=0..1", "events=2"]) {
		const page = await withEvents(`app.html#events=1&${hash}`);

		await page.keyboard.press("ArrowRight");
		is(page.complaints.join("; "), "", `${hash}: the page stands it`);
		await page.context().close();
	}
}

/* With too many events, dense ranges have only sums, and the page says so. */
async function testBound() {
	const page = await withEvents("many.html#unit=ns&events=1");
	const { from_ns: from, bin_ns: width, nr } = await page.$eval("#xpu-data", e =>
		JSON.parse(e.textContent).times);
	const [, kept, all] = /^([\d,]+) of ([\d,]+) events/.exec(
		await page.textContent("#lanes-words")).map(number);

	is(all, 2 * 1400000, "each launch and each kernel is an event");
	ok(/^app, \d+ frames$/.test(await page.textContent("#work tbody .by div")),
	   "a path is named by its frames without names, not by the last address",
	   await page.textContent("#work tbody .by div"));
	ok(kept <= 2500000 && kept > 2300000, "the page has 2.5 million of them", kept);
	let exact = 0, rounded = 0;

	for (let k = 0; k < 40; k++) {
		const begin = from + Math.floor((k + .3) * nr * width / 40);

		await page.evaluate(hash => { globalThis.location.hash = hash; },
			`unit=ns&events=1&span=${begin}..${begin + 2000}`);
		await settle(page);
		if (/whole steps/.test(await page.textContent("#stretch-words")))
			rounded++;
		else
			exact++;
	}
	ok(exact > 0 && rounded > 0, "sums of a stretch say whether they are exact",
	   `${exact} ${rounded}`);
	is(page.complaints.join("; "), "", "many events: no complaints");
	await page.context().close();
}

async function testLooks() {
	for (const [name, options] of [
		["1400", {}], ["1000", { viewport: { width: 1000, height: 700 } }],
		["500", { viewport: { width: 500, height: 900 } }],
		["dark", { colorScheme: "dark" }],
	]) {
		const page = await withEvents(
			`app.html#events=1&span=${nsOf(PARTS[0]).join("..")}`, options);

		is((await findings(page)).join("\n"), "", `${name}: axe finds no fault`);
		is(await page.evaluate(() => globalThis.document.documentElement.scrollWidth >
			globalThis.innerWidth), false, `${name}: nothing is wider than the window`);
		await shot(page, `html-time-${name}`);
		await page.context().close();
	}
}

run(async () => {
	await testHover();
	await testSums();
	await testMoving();
	await testChoosing();
	await testPieces();
	await testAddresses();
	await testBound();
	await testLooks();
});
