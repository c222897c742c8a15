/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, near, open, shot, run } = require("./browser.js");
const { folded, sum, leaf, shown, ready, settle, drawn, frame, click, tip, number, choose } =
	require("./flamegraph.js");

async function testGraph() {
	const lines = folded("app.folded"), total = sum(lines);
	const page = await open("app.html#by=comm");

	await ready(page);
	await shot(page, "html");
	const all = await drawn(page);
	const chart = await page.$eval("#chart", e => e.clientWidth);

	ok(all.length > 50, "frames are drawn", all.length);
	const left = await page.$eval("#chart", e => e.getBoundingClientRect().left);

	ok(all.every(f => f.x >= left && f.x + f.width <= left + chart + 1),
		"all frames are inside the chart");
	near((await frame(page, "all")).width, chart - 16, "the root takes the whole width");

	/* The width of a frame is proportional to the sum of its folded lines. */
	const by = {};

	for (const l of lines)
		by[l[0][0]] = (by[l[0][0]] || 0) + l[1];
	for (const comm of Object.keys(by).slice(0, 2))
		near((await frame(page, comm)).width, by[comm] / total * (chart - 16),
		     `${comm} is as wide as its share`);

	await choose(page, "#unit", "ns");
	await settle(page);
	const t = await tip(page, "all");

	is(number(t.total), total, "tooltip: the total is the same as in the folded stacks");
	near(number((await tip(page, "worker")).share), 100 * by.worker / total,
	     "tooltip: the share of all is right", .01);
	is(number(t.count), sum(folded("app.count")),
	   "tooltip: device records and pending launches are counted");
	await shot(page, "html-tooltip");

	await choose(page, "#unit", "count");
	await settle(page);
	is(number((await tip(page, "all")).total), sum(folded("app.count")),
	   "unit count: the total is the number of records");
	await choose(page, "#unit", "ns");

	/* The kinds of device work. */
	await page.click('[data-kind="memcpy"]');
	await settle(page);
	is(number((await tip(page, "all")).total),
	   sum(lines.filter(l => !/_Memcpy\]/.test(leaf(l)))),
	   "copies left out: the total is smaller by as much");
	is(await page.getAttribute('[data-kind="memcpy"]', "aria-pressed"), "false",
	   "copies left out: the button is not pressed");
	await page.click('[data-kind="memcpy"]', { modifiers: ["Shift"] });
	await settle(page);
	is(number((await tip(page, "all")).total),
	   sum(lines.filter(l => /_Memcpy\]/.test(leaf(l)))),
	   "copies alone: the total is their sum");
	await shot(page, "html-kinds");
	for (const kind of ["kernel", "pending"])
		await page.click(`[data-kind="${kind}"]`);
	await choose(page, "#gpu", "0");
	await settle(page);
	is(number((await tip(page, "all")).total), sum(folded("app.gpu0")),
	   "one device: the total is that of this device");
	await choose(page, "#gpu", "all");
	await settle(page);
	is(number((await tip(page, "all")).total), total,
		"all devices: the total is complete again");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

async function testMoving() {
	const lines = folded("app.folded"), page = await open("app.html#by=comm&flame=1");

	await ready(page);
	/* Zooms to a kernel. */
	const isKernel = l => /^\[GPU0_Kernel\]/.test(leaf(l));
	const at = lines.find(l => l[0][0] === "worker" && isKernel(l))[0];
	const name = shown(leaf([at])), parent = at[at.length - 2];
	const before = (await drawn(page)).length;

	ok(!(await page.isVisible("#reset")), "there is nothing to reset at first");
	await click(page, name);
	await shot(page, "html-zoom");
	const f = await frame(page, name);

	near(f.width, await page.$eval("#chart", e => e.clientWidth - 16),
	     "zoom: the frame is as wide as the chart", .01);
	ok((await drawn(page)).filter(d => d.name === "all" && d.faded).length === 1,
	   "zoom: ancestors are faded");
	ok(!(await page.isHidden("#detail")), "a panel shows the frame");
	const panel = await page.$eval("#detail", e => e.textContent);

	ok(panel.includes(name) && panel.includes("kernels"),
	   "the panel has the frame's name and kind", panel);
	is(await page.$eval("#detail .path", e => e.children.length), at.length + 1,
	   "the panel has the call path");
	await page.click("#detail .path li:nth-child(2) button");
	await settle(page);
	near((await frame(page, parent)).width, await page.$eval("#chart", e => e.clientWidth - 16),
	     "a frame of the path zooms, too", .01);
	await page.keyboard.press("Escape");
	await settle(page);
	is((await drawn(page)).length, before, "Escape: all frames are shown again");
	ok(await page.isHidden("#detail"), "Escape: the panel is closed");

	/* Searches for a kernel. */
	const term = leaf(lines.find(isKernel)).replace(/^\[[^\]]*\]/, "").replace(/\(.*/, "");
	const found = sum(lines.filter(l =>
		l[0].some(n => n.toLowerCase().includes(term.toLowerCase()))));

	await page.keyboard.press("/");
	await page.keyboard.type(term);
	await settle(page);
	near(number(await page.textContent("#matched")), 100 * found / sum(lines),
	     `search ${term}: the share of all matches is right`, .01);
	ok((await drawn(page)).some(d => d.fill === "#e65cf0"),
		"search: matches have their colour");
	await shot(page, "html-search");
	await page.fill("#search", "operator[](");
	is(await page.getAttribute("#search", "aria-invalid"), "true",
	   "a bad expression is taken as text");
	await page.keyboard.press("Escape");
	is(await page.textContent("#matched"), "", "Escape ends the search");

	/* Icicle: the root is at the top; flame: at the bottom. */
	const lowest = (await frame(page, "all")).y;

	await page.keyboard.press("i");
	await settle(page);
	ok((await frame(page, "all")).y < lowest && (await frame(page, "worker")).y >
	   (await frame(page, "all")).y, "icicle: the root is above");
	await shot(page, "html-icicle");
	await page.keyboard.press("i");
	await settle(page);
	ok((await frame(page, "worker")).y < (await frame(page, "all")).y,
		"flame: the root is below");

	/* Uses only the keyboard. */
	await page.focus("#chart");
	for (const key of ["ArrowUp", "ArrowUp", "ArrowUp"])
		await page.keyboard.press(key);
	const folds = async () => (await drawn(page))
		.filter(d => /[ (]\d+ frames\)?$/.test(d.name)).length;
	const nrFolds = await folds();

	ok(nrFolds > 0, "frames that all paths share are folded", nrFolds);
	await page.keyboard.press("Enter");
	await settle(page);
	is(await folds(), nrFolds - 1, "Enter opens folded frames");
	await page.keyboard.press("Enter");
	await settle(page);
	ok(await page.isVisible("#reset") && !(await page.isHidden("#detail")),
	   "arrow keys and Enter zoom");
	await page.click("#reset");
	await settle(page);

	/* The order of frames. */
	await choose(page, "#order", "value");
	await settle(page);
	const level = (await drawn(page)).filter(d => Math.abs(d.y - (lowest - 18)) < 4)
		.sort((a, b) => a.x - b.x).map(d => d.width);

	ok(level.length > 1 && level.every((w, i) => !i || w <= level[i - 1] + .01),
	   "frames are ordered by size", level.join(" "));
	await choose(page, "#order", "name");

	/* The Top list. */
	const kernels = {};

	for (const l of lines)
		kernels[shown(leaf(l))] = (kernels[shown(leaf(l))] || 0) + l[1];
	const largest = Object.keys(kernels).sort((a, b) => kernels[b] - kernels[a])[0];

	await page.click("#tab-top");
	is(await page.textContent("#top tbody tr:first-child td.name"), largest,
	   "top: the largest time comes first");
	await page.fill("#search", `^${parent.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
	await settle(page);
	is(number(await page.textContent("#top tbody tr:first-child td:nth-child(5)")),
	   sum(folded("app.count").filter(l => l[0].includes(parent))),
	   "top: launches below a frame are counted");
	await page.fill("#search", "");
	await settle(page);
	await shot(page, "html-top");
	await page.click("#top thead th:nth-child(3) button");
	near(number(await page.textContent("#top tbody tr:first-child td:nth-child(4)")), 100,
	     "top by total: the first row has all work under it", .01);
	await page.click("#top tbody tr:nth-child(2) .name button");
	await page.click("#show-in-graph");
	await settle(page);
	ok((await page.textContent("#matched")).includes("matched") &&
		!(await page.isHidden("#graph")),
	   "a row leads to the flame graph, with its frames marked");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

async function testLoss() {
	const log = fs.readFileSync("app.log", "utf8"), page = await open("app.html");

	await ready(page);
	const text = await page.textContent("#accounts");

	ok(/unmatched [1-9]/.test(log), "the recording has losses");
	for (const line of log.trim().split("\n"))
		ok(text.includes(line.trim()), `the page says: ${line.trim()}`, text);
	ok(await page.isVisible("#accounts .loss summary"), "the loss is visible without a click");
	ok(/unmatched 16 lost 19/.test(await page.textContent("#accounts .loss summary")),
	   "the loss has its counts");
	ok((await page.$eval("header", e => e.offsetHeight)) <= 120,
		"the header is no higher than 120 pixels");
	await page.click("#accounts .loss summary");
	ok(await page.isVisible("#accounts pre"), "a click shows the notes");
	await shot(page, "html-notes");
	await page.click("#accounts details:last-child summary");
	ok(await page.isVisible("#accounts dl"), "another click shows facts about the recording");
	ok(!(await page.isVisible("#accounts pre")), "the facts replace the notes");
	await page.click("#title");
	ok(!(await page.isVisible("#accounts dl")), "a click elsewhere closes the facts");
	const unnamed = await open("wide.html");

	await ready(unnamed);
	ok(/frames without a function name/.test(await unnamed.textContent("#accounts")) &&
	   !(await unnamed.$("#accounts .loss")), "frames without a name do not count as a loss");
	await unnamed.context().close();
	for (const fact of ["./app --size 4096", "host", "UTC"])
		ok((await page.textContent("header")).includes(fact), `the page says: ${fact}`);
	await page.context().close();
}

async function testHostile() {
	const lines = folded("hostile.folded"), page = await open("hostile.html");

	await ready(page);
	await page.click("#tab-top");
	const names = new Set(await page.$$eval("#top td.name",
		cells => cells.map(c => c.textContent)));
	const missing = lines.map(l => shown(leaf(l))).filter(name => !names.has(name));

	is(missing.join("\n"), "", "hostile names are shown the same as in folded stacks");
	ok([...names].some(n => n.includes("<img src=x onerror=alert(2)>")),
	   "hostile names are not made elements");
	is(await page.$$eval("img, script:not([id])", e => e.length), 1,
	   "no element comes from a hostile name");
	await page.click("#tab-graph");
	await settle(page);
	await shot(page, "html-hostile");
	for (const f of (await drawn(page)).filter(d => /alert|bad|semi/.test(d.name))) {
		is((await tip(page, f.name)).name, f.name,
			"tooltip of a hostile name: it is unchanged");
	}
	const long = lines.map(l => shown(leaf(l))).sort((a, b) => b.length - a.length)[0];

	ok(long.length >= 10000, "there is a name of 10000 characters");
	await click(page, long);
	is(await page.textContent("#detail h2"), long, "a long name is whole in the panel");
	await shot(page, "html-long");
	ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
	   "a long name does not widen the page");
	is(page.complaints.join("\n"), "", "hostile names: nothing ran, and nothing was requested");
	await page.context().close();
}

async function testWide() {
	const lines = folded("wide.folded"), page = await open("wide.html#by=comm");
	const nodes = new Set();

	for (const [frames] of lines)
		frames.forEach((_, i) => nodes.add(frames.slice(0, i + 1).join(";")));
	await ready(page);
	await shot(page, "html-wide");
	const note = await page.textContent("#note");
	let nr = (number(note) || 0) - 1;		/* without the root */

	for (const f of await drawn(page)) {
		const several = /^([\d,]+) frames?, |\((\d+) frames\)$/.exec(f.name);

		nr += several ? number(several[1] || several[2]) : 1;
	}
	is(nr, nodes.size, "frames that are too narrow to draw, or folded, are counted");
	await page.context().close();
}

/* Thousands of frames with one DOM element each would take seconds. */
async function testThin() {
	const page = await open("thin.html#open=all", { viewport: { width: 3000, height: 800 } });

	await ready(page);
	const nr = (await drawn(page)).length,
		elements = await page.$$eval("#chart *", list => list.length);

	ok(nr > 5000, "thousands of frames are hardly wider than a pixel", nr);
	ok(elements < 500, "narrow frames share their elements", elements);
	const f = (await drawn(page)).filter(d => d.width < 2).sort((a, b) => a.y - b.y)[100];

	await page.mouse.move(f.x + f.width / 2, f.y + 8);
	is(await page.textContent("#tip strong"), f.name, "each narrow frame has its tooltip");
	await page.mouse.click(f.x + f.width / 2, f.y + 8);
	await settle(page);
	is(await page.textContent("#detail h2"), f.name, "a click zooms to a narrow frame");
	await page.keyboard.press("Escape");
	const start = Date.now();

	await page.fill("#search", "app");
	await settle(page);
	console.log(`# ${nr} frames: searched and drawn again in ${Date.now() - start} ms`);
	await shot(page, "html-thin");
	await page.context().close();
}

async function testDiff() {
	const lines = folded("diff.folded", 2), page = await open("diff.html");
	const by = {};

	await ready(page);
	await shot(page, "html-diff");
	for (const [frames, a, b] of lines) {
		const pair = by[shown(frames[frames.length - 1])] ||= [0, 0];

		pair[0] += a;
		pair[1] += b;
	}
	await choose(page, "#unit", "ns");
	await settle(page);
	const t = await tip(page, "all");

	near(number(t.A), sum(lines, 1), "diff: A is right, normalized", 1e-6);
	is(number(t.B), sum(lines, 2), "diff: B is right");
	ok(/^[+\u2212]/.test(t["B \u2212 A"]), "diff: the difference has its sign",
		t["B \u2212 A"]);
	const gone = Object.keys(by).filter(n => by[n][0] && !by[n][1]);

	ok(gone.length > 0, "diff: some frames exist in A alone");
	for (const f of await drawn(page)) {
		const pair = by[f.name];

		if (!pair)
			continue;
		/*
		 * Frames with the same name may change in different directions, unless this name
		 * exists in only one recording.
		 */
		if (!pair[1])
			ok(/^hsl\(214,/.test(f.fill), `${f.name} exists in A alone, and is blue`,
				f.fill);
		if (!pair[0])
			ok(/^hsl\(4,/.test(f.fill), `${f.name} exists in B alone, and is red`,
				f.fill);
	}
	await choose(page, "#width", "b");
	await settle(page);
	ok(!(await drawn(page)).some(f => gone.includes(f.name)),
	   "as wide as B: frames of A alone are not drawn");
	await page.click("#tab-top");
	await page.click("#top thead th:nth-child(11) button");
	const deltas = await page.$$eval("#top tbody td:nth-child(11)",
					 cells => cells.map(c => c.textContent));
	const numbers = deltas.map(d => number(d.slice(1)));

	ok(numbers.every((n, i) => !i || n <= numbers[i - 1]),
		"top: the largest differences come first");
	await shot(page, "html-diff-top");
	is(page.complaints.join("\n"), "", "diff: no error, no message, no request");
	await page.context().close();
}

async function testLooks() {
	for (const [name, options] of [["dark", { colorScheme: "dark" }],
				       ["narrow", { viewport: { width: 420, height: 800 } }]]) {
		const page = await open("app.html#by=comm", options);

		await ready(page);
		await click(page, "worker");
		await shot(page, "html-" + name);
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
		   `${name}: fits its window`);
		is(page.complaints.join("\n"), "", `${name}: there is no error`);
		await page.context().close();
	}
}

async function testBig() {
	const [user, system, kilobytes] = fs.readFileSync("big.time", "utf8").trim().split(/\s+/)
		.map(Number);
	const start = Date.now(), page = await open("big.html");

	await page.waitForSelector("html[data-ready]");
	/* Also waits until the frames are drawn. */
	await page.evaluate(() => new Promise(f =>
		requestAnimationFrame(() => requestAnimationFrame(f))));
	const seconds = (Date.now() - start) / 1000;
	const frames = await page.evaluate(
		"JSON.parse(document.getElementById('xpu-data').textContent).nodes.frame.length");

	console.log(`# 5,000,000 launches: merged in ${(user + system).toFixed(1)} s ` +
		    "of processor time, " +
		    `${(kilobytes / 1024).toFixed(0)} MiB; page of ` +
		    `${(fs.statSync("big.html").size / 1048576).toFixed(1)} MiB, ` +
		    `${frames} frames, ` +
		    `opens in ${seconds.toFixed(2)} s`);
	ok(user + system < 15, "5 million launches: merged in less than 15 s");
	ok(kilobytes < 300 << 10, "5 million launches: merged in less than 300 MiB");
	ok(seconds < 5, "the page opens in less than 5 s", seconds);
	await settle(page);
	await shot(page, "html-big");
	is(page.complaints.join("\n"), "", "5 million launches: the page reports nothing");
	await page.context().close();
}

/* Compares the source lines of kernels with the table. */
async function testLines() {
	const table = JSON.parse(fs.readFileSync("stalls.json")).stalls,
		page = await open("stalls.html");
	const rows = () => page.$$eval("#lines tbody tr",
		list => list.map(tr => [...tr.cells].map(c =>
		c.classList.contains("bar-cell") ? c.lastChild.textContent : c.textContent)));
	const expected = kernel => table.filter(r => r.kernel === kernel)
		.sort((a, b) => b.samples - a.samples)
		.map(r => `${r.samples} ${r.place} ${r.reason}`).join();
	const got = list => list.map(r => `${number(r[0])} ${r[4]} ${r[3].split(" ")[0]}`).join();

	await ready(page);
	ok(table.length > 3, "the recording has samples", table.length);
	await page.click("#tab-lines");
	const first = await page.$eval("#lines-kernel", e => e.value);

	is(first, table[0].kernel, "the kernel with the most samples comes first");
	is(got(await rows()), expected(first),
	   "its lines, samples and largest reasons are the same as in the table");
	await shot(page, "html-lines");
	const other = table.find(r => r.kernel !== first).kernel;

	await page.selectOption("#lines-kernel", other);
	is(got(await rows()), expected(other), "another kernel: the same as in the table, too");
	ok(await page.$$eval("#lines .reasons", list => list.every(e => Math.abs(
		[...e.children].reduce((n, c) => n + parseFloat(c.style.width), 0) - 100) < .1)),
			"the parts of each bar add up to its whole width");
	await page.fill("#search", "0x1a0");
	is((await rows()).length,
		table.filter(r => r.kernel === other && /0x1a0/.test(r.place)).length,
	   "the search narrows the lines down");
	await page.fill("#search", "");

	/* Goes from the flame graph to a kernel's source lines. */
	await page.click("#tab-graph");
	await settle(page);
	await click(page, (await drawn(page)).find(f => f.name === first).name);
	await page.click("#show-lines");
	is(await page.$eval("#lines-kernel", e => e.value), first,
		"a kernel's frame leads to its lines");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();

	const both = await open("stalls_diff.html");

	await ready(both);
	await both.click("#tab-lines");
	ok(await both.$eval("#lines tbody tr", tr => tr.cells.length === 9 &&
		tr.cells[0].textContent === tr.cells[4].textContent),
			"two recordings: samples of both are shown");
	await shot(both, "html-lines-diff");
	await both.context().close();

	const none = await open("app.html");

	await ready(none);
	is(await none.isVisible("#tab-lines"), false,
		"a recording without samples has no lines view");
	await none.context().close();
}

run(async () => {
	await testGraph();
	await testMoving();
	await testLines();
	await testLoss();
	await testHostile();
	await testWide();
	await testThin();
	await testDiff();
	await testLooks();
	await testBig();
});
