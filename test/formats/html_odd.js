/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, findings, open, shot, run } = require("./browser.js");
const { folded, leaf, rows, shown, ready, settle, drawn, click, tip,
	number, choose } = require("./flamegraph.js");

const table = name => JSON.parse(fs.readFileSync(`${name}.json`)).kernels || [];
const fits = page => page.evaluate("document.documentElement.scrollWidth <= innerWidth");
const said = page => is(page.complaints.join("\n"), "", "no error, no message, no request");

/* ---- names ---------------------------------------------------------------------------------- */

async function testNames() {
	const expected = folded("names.folded").map(l => shown(leaf(l))),
		blank = name => /^[\s\u200b]*$/.test(name);

	ok(expected.length > 25 && expected.some(blank),
	   "there are odd names, and some that are invisible", expected.length);
	for (const [name, options] of [["light", {}], ["dark", { colorScheme: "dark" }],
		["small", { viewport: { width: 500, height: 700 } }]]) {
		const page = await open("names.html", options);

		await ready(page);
		is((await findings(page)).join("\n"), "",
			`names, ${name}: axe finds no fault in the graph`);
		await page.selectOption("#by", "nvtx");
		await settle(page);
		await shot(page, `html-odd-names-${name}`);
		await page.keyboard.press("2");
		const got = new Set((await rows(page)).map(row => row[0]));

		is(expected.filter(n => !blank(n) && !got.has(n)).join("\n"), "",
		   `names, ${name}: Top has all visible names`);
		is([...got].filter(blank).length, 0, "names: Top has no invisible name");
		for (const n of expected.filter(blank))
			ok(got.has(`[blank name${[...n].map(c => " U+" +
				c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"))
				.join("")}]`),
			   "names: an invisible name is shown by the numbers of its characters",
			   [...got].join("\n"));
		await page.click("#top tbody tr:nth-child(3) .name button");
		await settle(page);
		is((await findings(page)).join("\n"), "",
			`names, ${name}: axe finds no fault in Top`);
		ok(await fits(page), "the page is not wider than its window");
		said(page);
		await page.context().close();
	}
	const page = await open("names.html#by=tid&open=all&unit=ns");

	await ready(page);
	const hebrew = (await drawn(page))
		.filter(f => /[\u0590-\u05ff]/.test(f.name) && / \d+$/.test(f.name));

	ok(hebrew.length === 1 && /^\u2068.*\u2069 \d+$/.test(hebrew[0].name),
	   "a number beside a right-to-left name stays in its place",
	   hebrew.map(f => f.name).join());
	/* Each frame can be pointed at and copied. */
	await page.evaluate(() => { navigator.clipboard.writeText =
		async text => { globalThis.copied = text; }; });
	await page.selectOption("#by", "none");
	await settle(page);
	for (const f of (await drawn(page))
		.filter(f => /alert|proto|blank|[\u0590-\u06ff]/.test(f.name)).slice(0, 12)) {
		await page.mouse.move(1, 1);
		await page.mouse.move(f.x + f.width / 2, f.y + 8);
		is(await page.textContent("#tip strong"), f.name,
			"the tooltip of an odd name has the name");
	}
	await click(page, "__proto__");
	await page.keyboard.press("c");
	ok((await page.evaluate(() => globalThis.copied)).split("\n")
		.some(line => line.trim() === "__proto__"),
	   "a path with an odd name can be copied");
	said(page);
	await page.context().close();
}

/* ---- times ---------------------------------------------------------------------------------- */

async function testTimes() {
	for (const name of ["years", "one", "back", "zero", "crowd"]) {
		const page = await open(`${name}.html#unit=ns&view=top`), list = table(name),
			top = await (await ready(page), rows(page));
		const of = new Map(top.map(row => [row[0], row])),
			missing = list.slice(0, 400).filter(r => {
			const row = of.get(r.name);

			return !row || number(row[2]) !== r.total_ns ||
				number(row[3]) !== r.instances;
		});

		ok(list.length > 0, `${name}: there are kernels`);
		is(JSON.stringify(missing), "[]",
			`${name}: Top has the same times and counts as the table`);
		is(number(await page.textContent('[data-kind="kernel"] b')),
			list.reduce((n, r) => n + r.total_ns, 0),
		   `${name}: Top has the sum of the times`);
		ok((await page.$eval("header", e => e.offsetHeight)) <= 120,
		   `${name}: the header has at most 120 pixels`);
		await page.click("#tab-graph");
		await settle(page);
		await shot(page, `html-odd-${name}`);
		if (name !== "zero") {
			is(number((await tip(page, "all")).total),
				list.reduce((n, r) => n + r.total_ns, 0),
			   `${name}: the graph has the sum of the times`);
			const [, from,
				to] =
					/ time, ([\d.,]+ \S+) to ([\d.,]+ \S+?)[:;]/
						.exec(await page.textContent("#stretch-words"));

			ok(from !== to,
			   `${name}: the overview has different times at its ends`,
			   `${from} ${to}`);
		}
		await choose(page, "#unit", "count");
		await settle(page);
		is(number((await tip(page, "all")).total),
			list.reduce((n, r) => n + r.instances, 0),
		   `${name}: all kernels are counted`);
		said(page);
		await page.context().close();
	}
}

async function testNothing() {
	const zero = await open("zero.html"), none = await open("none.html");

	await ready(zero);
	ok(/took no time/.test(await zero.textContent("#empty")),
		"work that took no time: the page says so");
	ok(!(await zero.isVisible("#strip")) && !(await zero.isVisible("#overview")),
	   "work that took no time: there is no overview");
	await zero.click("#show-count");
	await settle(zero);
	ok((await drawn(zero)).some(f => f.name === "kernel"),
		"work that took no time: it can be counted");
	await zero.goBack();
	await settle(zero);
	ok(await zero.isVisible("#empty"), "work that took no time: Back undoes the count");
	said(zero);
	await zero.context().close();
	await ready(none);
	ok(/Nothing was recorded/.test(await none.textContent("#empty")),
		"nothing at all: the page says so");
	await none.click("#tab-top");
	ok(/Nothing was recorded/.test(await none.textContent("#top-list")),
	   "nothing at all: Top says so, too");
	await none.keyboard.press("s");
	await none.keyboard.press("o");
	said(none);
	await none.context().close();
}

async function testCrowd() {
	const page = await open("crowd.html");

	await ready(page);
	ok(/GPU 0\u201363 /.test(await page.textContent("#facts")),
	   "64 devices: the header has a range", await page.textContent("#facts"));
	ok((await page.$$eval("#strip-names div", list => list.length)) < 12,
	   "64 devices: the overview has fewer rows");
	await page.selectOption("#by", "tid");
	await settle(page);
	is((await drawn(page)).filter(f => /^thread\d+ \d+$/.test(f.name)).length, 300,
	   "300 threads are shown");
	await page.selectOption("#by", "device");
	await settle(page);
	is((await drawn(page)).filter(f => /^GPU \d+$/.test(f.name)).length, 64,
		"64 devices are shown");
	await page.keyboard.press("2");
	ok(/more rows; search/.test(await page.textContent("#top-list")),
	   "10,000 kernels: Top says that there are more rows");
	await page.fill("#search", "kernel00042$");
	is((await rows(page)).length, 1, "10,000 kernels: a search finds one of them");
	said(page);
	await page.context().close();
}

/* Several recordings, and one recording at two moments. */
async function testSeveral() {
	const several = await open("several.html"), moments = await open("moments.html");

	await ready(several);
	ok(/ and 2 more recordings$/.test(await several.textContent("#title")),
	   "three recordings: the title counts the others",
	   await several.textContent("#title"));
	await several.context().close();
	await ready(moments);
	is((await moments.$$("#memory-line details")).length, 1,
	   "two moments of one recording: the peak is shown once");
	ok(/^GPU memory/.test(await moments.textContent("#memory-line summary")),
	   "two moments of one recording: the peak belongs to neither side");
	said(moments);
	await moments.context().close();
}

/* A window of --capture may be longer than its contents. */
async function testWindows() {
	const page = await open("all.html#unit=ns"),
		ns = text => number(text) * { ns: 1, "\u00b5s": 1e3, ms: 1e6,
			s: 1e9 }[text.split(" ")[1]];

	await ready(page);
	const [, from, to, recorded] =
		/ time, ([\d.,]+ \S+) to ([\d.,]+ \S+?); ([\d.,]+ \S+) of it recorded/
		.exec(await page.textContent("#stretch-words"));

	ok(ns(recorded) <= ns(to) - ns(from),
	   "the recorded time is no longer than the whole time", `${from} ${to} ${recorded}`);
	await page.context().close();
}

/* ---- tables --------------------------------------------------------------------------------- */

/*
 * In Top, copies, memsets and CPU functions have the same values as in the tables. html_explore.js
 * compares kernels.
 */
async function testTables() {
	const read = name => JSON.parse(fs.readFileSync(`app.${name}.json`))[name],
		copies = read("memory_time"), functions = read("cpu_functions");
	const top = async page => new Map((await rows(page)).map(row => [row[0], row.map(number)]));
	const page = await open("app.html#unit=ns&view=top");

	await ready(page);
	const work = await top(page);
	const wrong = copies.filter(r => {
		const row = work.get(/memset/.test(r.operation) ? "set" :
			r.operation.replace("memcpy", "copy"));

		return !row || row[2] !== r.total_ns || row[3] !== r.count;
	});

	ok(copies.length > 0 && functions.length > 1, "there are copies, and functions on the CPU",
		`${copies.length} ${functions.length}`);
	is(JSON.stringify(wrong), "[]", "Top has the same copies as the table");
	await page.click('[data-mode="thread"]');
	await page.click('[data-kind="cpu"]', { modifiers: ["Shift"] });
	await settle(page);
	const onCpu = await top(page);

	is(JSON.stringify(functions.filter(r => !onCpu.get(r.function) ||
		onCpu.get(r.function)[1] !== r.total_ns)), "[]",
	   "Top has the same own times of functions as the table");
	is(number(await page.textContent('[data-kind="cpu"] b')),
		functions.reduce((n, r) => n + r.total_ns, 0),
	   "Top has the sum of the functions' own times");
	await page.context().close();
}

/* ---- windows and paper ---------------------------------------------------------------------- */

async function testSizes() {
	for (const [name, options] of [
		["200x150", { viewport: { width: 200, height: 150 } }],
		["300 %", { viewport: { width: 427, height: 240 }, deviceScaleFactor: 3 }],
		["50 %", { viewport: { width: 2560, height: 1440 }, deviceScaleFactor: .5 }],
	]) {
		const page = await open("app.html", options);

		await ready(page);
		ok(await fits(page), `${name}: the page is not wider than its window`);
		ok((await page.$eval("#chart", e => e.clientHeight)) > 150,
			`${name}: the graph has room`);
		ok((await drawn(page)).length > 3, `${name}: the graph has frames`);
		await page.keyboard.press("2");
		await page.click("#top tbody tr:nth-child(4) .name button");
		await settle(page);
		ok(await fits(page), `${name}: Top is not wider than its window`);
		ok((await page.$eval("#sandwich", e => e.clientHeight)) > 150,
		   `${name}: Top has room for callers`);
		said(page);
		await page.context().close();
	}
	const page = await open("app.html#view=top", { viewport: { width: 500, height: 800 } });

	await ready(page);
	await page.click("#top tbody tr:nth-child(3) .name button");
	await settle(page);
	const box = await (await page.$("#sandwich")).boundingBox();

	ok(box.y < 800,
		"500 pixels: callers and callees are visible without scrolling past all rows",
		box.y);
	await shot(page, "html-odd-500-top");
	await page.context().close();
}

async function testPaper() {
	const page = await open("app.html", { colorScheme: "dark", reducedMotion: "reduce" });

	await ready(page);
	is(await page.evaluate("document.getAnimations().length"), 0,
		"with reduced motion, nothing moves");
	await page.emulateMedia({ media: "print", colorScheme: "dark" });
	/* The page replaces its elements when it draws again after a resize. */
	const box = sel => page.$eval(sel, e => e.getBoundingClientRect().toJSON());
	const light = async sel =>
		page.$eval(sel, e => globalThis.getComputedStyle(e).color.match(/\d+/g).slice(0, 3)
			.every(v => v < 128));

	ok(await light("h1"), "on paper the title is dark");
	await page.evaluate(() => { document.body.style.width = "700px"; });
	await settle(page);
	const svg = await box("svg.flame");

	ok(svg.width > 600 && svg.width <= 700, "the graph is as wide as the paper", svg.width);
	ok(!(await page.isVisible("#search")) && !(await page.isVisible("#tab-top")),
	   "on paper there is no control to click");
	ok(/GPU time/.test(await page.innerText("#modes")) &&
		!/Thread/.test(await page.innerText("#modes")),
	   "on paper the chosen time is named");
	await page.emulateMedia({ media: "screen", colorScheme: "dark" });
	await page.keyboard.press("2");
	await page.click("#top tbody tr:nth-child(2) .name button");
	await page.emulateMedia({ media: "print", colorScheme: "dark" });
	await settle(page);
	const name = await box("#top tbody tr:nth-child(2) td.name");

	ok(name.width > 150 && name.x + name.width <= 710,
	   "on paper the names in Top have room", JSON.stringify(name));
	const callers = await box("#callers"), list = await box("#top-list");

	ok(callers.y >= list.y + list.height && callers.width <= 700,
		"on paper the callers follow the list");
	await page.context().close();
}

/* ---- keys ----------------------------------------------------------------------------------- */

const focused = page => page.evaluate(() => {
	const e = document.activeElement;

	return e === document.body ? "body" :
		e.id || e.dataset.sort || e.dataset.frame || e.textContent.slice(0, 40);
});

/* Presses Tab until the focused element matches @selector. */
async function tabTo(page, selector) {
	for (let i = 0; i < 400; i++) {
		await page.keyboard.press("Tab");
		if (await page.evaluate(s => document.activeElement.matches(s), selector))
			return ok(true, `Tab reaches ${selector}`);
	}
	return ok(false, `Tab reaches ${selector}`);
}

async function testKeys() {
	const page = await open("app.html#view=top");

	await ready(page);
	await tabTo(page, '[data-sort="total"]');
	await page.keyboard.press("Enter");
	is(await focused(page), "total", "a column head keeps the focus when it orders the list");
	await tabTo(page, "#top tbody tr:nth-child(1) button");
	for (let i = 0; i < 8; i++)
		await page.keyboard.press("ArrowDown");
	is(await focused(page), await page.$eval("#top tbody tr:nth-child(9) button",
		e => e.dataset.frame),
	   "arrow keys move through Top's rows");
	await page.keyboard.press("Enter");
	ok(await page.isVisible("#sandwich"), "Enter shows callers and callees");
	const of = await page.textContent("#focus-name");

	await tabTo(page, "#sandwich .keys button");
	ok((await page.$eval("#sandwich .keys button:focus",
		e => e.getBoundingClientRect().width)) > 20,
	   "a caller that has the focus is visible");
	await page.keyboard.press("Enter");
	ok((await page.textContent("#focus-name")) !== of, "Enter goes to the caller");
	ok((await focused(page)) !== "body", "the focus stays in the page");
	await page.keyboard.press("Escape");
	ok(!(await page.isVisible("#sandwich")) && (await focused(page)) !== "body",
	   "Escape closes callers and callees, and the focus is not lost");
	await page.keyboard.press("1");
	await page.focus("#chart");
	for (const key of ["ArrowUp", "ArrowUp", "Enter"])
		await page.keyboard.press(key);
	await tabTo(page, "#detail .path button");
	await page.keyboard.press("Enter");
	is(await focused(page), "chart", "a frame in the panel's path leads back to the graph");
	await page.focus("#accounts summary");
	await page.keyboard.press("Enter");
	ok(await page.isVisible("#accounts .panel"), "Enter opens the facts about the recording");
	await page.keyboard.press("Escape");
	ok(!(await page.isVisible("#accounts .panel")) && await page.isVisible("#detail"),
	   "Escape closes the facts first");
	await page.keyboard.press("/");
	await page.keyboard.type("operator[](");
	ok(/taken as text/.test(await page.textContent("#matched")),
	   "a message says that an invalid expression is taken as text");
	said(page);
	await page.context().close();
}

/* ---- the address ---------------------------------------------------------------------------- */

const STEPS = 48;		/* a Chromium tab remembers 50 pages, one of which is blank */

async function testAddress() {
	const page = await open("app.html"), seen = [];
	const look = async () => JSON.stringify([new URL(page.url()).hash,
		(await drawn(page)).map(f => [f.name, Math.round(f.width)]),
						 await page.isVisible("#top"),
						 await page.inputValue("#by"),
						 await page.inputValue("#unit")]);
	const steps = ["t", "i", "b", "2", "1", "o", "f", "t", "b", "i"];

	await ready(page);
	for (let i = 0; i < STEPS; i++) {
		seen.push(await look());
		await page.keyboard.press(steps[i % steps.length]);
		await settle(page);
	}
	const last = await look();

	for (let i = STEPS - 1; i >= 0; i--) {
		await page.goBack();
		await settle(page);
		if (await look() !== seen[i])
			return ok(false, `Back, step ${i}`,
				`${(await look()).slice(0, 200)}\n${seen[i].slice(0, 200)}`);
	}
	ok(true, `Back undoes ${STEPS} steps, one after the other`);
	for (let i = 0; i < STEPS; i++)
		await page.goForward();
	await settle(page);
	is(await look(), last, "Forward makes all steps again");
	const hash = new URL(page.url()).hash;

	/* Safari allows a hundred history steps in half a minute. */
	await page.evaluate(() => { globalThis.history.pushState =
		() => { throw new Error("SecurityError"); }; });
	await page.keyboard.press("2");
	await settle(page);
	is(page.complaints.join("\n"), "",
		"a browser that accepts no more steps goes on without them");
	await page.keyboard.press("1");
	await page.evaluate(h => { globalThis.location.hash = h; },
		"#zoom=12&frame=12&by=tid&device=1&from=3&to=9&open=4.9&unit=bytes&view=top&of=3");
	await settle(page);
	const other = new URL(page.url()).hash;

	said(page);
	await page.context().close();
	for (const name of ["one", "none", "names", "crowd", "zero", "all"])
		for (const h of [hash, other, "#by=pid&time=thread&view=lines",
			"#zoom=3&narrow=1-9999-3&search=%5B", "#\ud800%E0%A4%A",
			"#view=ranks&of=0"]) {
			const odd = await open(name + ".html" + h);

			await ready(odd);
			ok(odd.complaints.length === 0,
			   `${name}.html${encodeURI(h.replace("\ud800", "?")).slice(0, 40)}: ` +
			   "the address of another page does no harm",
			   odd.complaints.join("\n"));
			await odd.context().close();
		}
	return true;
}

run(async () => {
	await testNames();
	await testTimes();
	await testNothing();
	await testCrowd();
	await testSeveral();
	await testWindows();
	await testTables();
	await testSizes();
	await testPaper();
	await testKeys();
	await testAddress();
});
