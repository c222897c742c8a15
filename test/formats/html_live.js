/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs");
const { ok, is, open, shot, run } = require("./browser.js");
const { folded, sum, leaf, ready, settle, drawn, tip, number, choose } = require("./flamegraph.js");

/* For each kind of value on the page: the last frame of its folded lines. */
const ENDS = {
	kernel: /^\[GPU_Kernel\]/, memcpy: /^\[GPU_Memcpy\]/, memset: /^\[GPU_Memset\]/,
	pending: /^\[GPU_Launch_Pending\]/, gpu_wait: /^\[GPU_Wait\]/, off_cpu: /^\[Off_CPU\]/,
	cpu: /^(?!\[(GPU_|Off_CPU))/,
};

/* Return: how busy GPU 0 was, from the first line of the summary. */
const busy = file => /GPU 0 busy ([\d.]+) %/.exec(fs.readFileSync(file, "utf8"))[1];

async function testKinds() {
	const lines = folded("live.folded"), page = await open("live.html");

	await ready(page);
	await shot(page, "html-live");
	is(await page.textContent("#strip-names div"), `GPU 0 ${busy("live.txt")}%`,
		"the GPU is as busy as the summary says");
	ok((await page.textContent("#strip-names"))
		.includes(` of ${+execFileSync("getconf", ["_NPROCESSORS_CONF"])})`),
	   "the CPU use says how many CPUs there are");
	is(await page.$$eval("#strip .gap", list => list.length), 0,
	   "no part of the time is marked as not recorded");
	ok((await page.textContent("#strip-legend")).includes("waits for the GPU"),
	   "the colours of threads' states are explained");
	const area = await (await page.$("#strip-area")).boundingBox();

	await page.mouse.move(area.x + area.width / 2, area.y + 5);
	ok(/^GPU 0at[\d.]+ m?sin[\d.]+ m?s(busy[\d.]+%|nothing)$/
		.test(await page.textContent("#tip")),
	   "the tooltip describes the moment under the pointer",
	   await page.textContent("#tip"));
	await page.mouse.move(1, 1);
	const kinds = await page.$$eval("#kinds button", b => b.map(e => e.dataset.kind));

	for (const kind of ["kernel", "memcpy", "memset", "cpu", "gpu_wait"])
		ok(kinds.includes(kind), `there is a button for ${kind}`, kinds);
	/* Threads' stacks are taller than the window. */
	await page.click('[data-mode="thread"]');
	await settle(page);
	const all = (await drawn(page)).find(f => f.name === "all"),
		chart = await (await page.$("#chart")).boundingBox();

	ok(all.y > chart.y && all.y < chart.y + chart.height, "the root stays in view");
	await page.click('[data-mode="both"]');
	await choose(page, "#unit", "ns");
	await settle(page);
	is(number((await tip(page, "all")).total), sum(lines),
		"the total is the sum of all stacks");
	for (const kind of kinds) {
		const total = sum(lines.filter(l => ENDS[kind].test(leaf(l))));

		await page.click(`[data-kind="${kind}"]`, { modifiers: ["Shift"] });
		await settle(page);
		if (total)
			is(number((await tip(page, "all")).total), total,
			   `${kind} alone: the total is right`);
		else
			is((await drawn(page)).length, 0, `${kind} alone: no frame is left`);
		await shot(page, `html-live-${kind}`);
	}
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

/* Threads without GPU calls share a row of single events until a click opens it. */
async function testHelpers() {
	const page = await open("helpers.html#events=1");
	const height = () => page.$eval("#lanes-room", e => parseInt(e.style.height, 10));

	await page.waitForSelector("html[data-events]");
	await settle(page);
	const before = await height(), nr = parseInt(await page.textContent("#show-helpers"), 10);

	ok(nr > 1, "helpers share a row", await page.textContent("#show-helpers"));
	await page.click("#show-helpers");
	await settle(page);
	is(await height() - before, (nr - 1) * 16, "a click gives each of them a row");
	ok(/threads=1/.test(page.url()), "the address says so", page.url());
	const again = await open(page.url().replace(/^.*\//, ""));

	await again.waitForSelector("html[data-events]");
	await settle(again);
	is(await again.$eval("#lanes-room", e => e.style.height), `${await height()}px`,
	   "another page with this address has these rows");
	await again.context().close();
	await page.click("#show-helpers");
	await settle(page);
	is(await height(), before, "another click folds them again");
	is(page.complaints.join("\n"), "", "helpers: no complaint");
	await page.context().close();
}

/* Between windows nothing was recorded, so a device was neither busy nor idle. */
async function testWindows() {
	const page = await open("windows.html");

	await ready(page);
	is(await page.textContent("#strip-names div"), `GPU 0 ${busy("windows.txt")}%`,
	   "windows: the GPU is as busy as the summary says");
	ok((await page.$$eval("#strip-area .gap", list => list.length)) >= 4,
	   "windows: the time between them is marked");
	ok(/ of it recorded in 5 windows/.test(await page.textContent("#stretch-words")),
	   "windows: the page says how much was recorded",
	   await page.textContent("#stretch-words"));
	ok((await page.textContent("#strip-legend")).includes("not recorded"),
	   "windows: the mark is explained");
	const gap = await page.$$eval("#strip-area .gap",
		list => list.map(e => e.getBoundingClientRect())
		.sort((a, b) => b.width - a.width)[0].toJSON());
	const move = at => page.mouse.move(gap.x + gap.width * at, gap.y + 5);

	await move(.5);
	ok((await page.textContent("#tip")).endsWith("not recorded"),
	   "windows: the tooltip says that nothing was recorded there");
	await shot(page, "html-windows");
	await move(.3);
	await page.mouse.down();
	await move(.5);
	await move(.6);
	await page.mouse.up();
	await settle(page);
	ok(/; 0 ns of it recorded/.test(await page.textContent("#stretch-words")),
	   "a stretch between windows has no recorded time",
	   await page.textContent("#stretch-words"));
	is(await page.textContent("#strip-names div"), "GPU 0 \u2013",
	   "a stretch between windows has no share");
	is((await drawn(page)).length, 0, "a stretch between windows has no frame");
	is(page.complaints.join("\n"), "", "windows: no error, no message, no request");
	await page.context().close();
}

async function testMemory() {
	const page = await open("memory.html");

	await ready(page);
	ok((await page.textContent("#facts")).startsWith("GPU memory at its peak"),
	   "memory: the page says that it shows the peak");
	ok(/^memory events \d+ lost 0/.test(await page.textContent(".account")),
	   "memory: the page has the number of events",
	   await page.textContent(".account"));
	is((await page.$$eval("#unit option", list => list.map(o => o.value))).join(),
		"bytes,count",
	   "memory: times cannot be chosen as the unit");
	const bytes =
		await page.evaluate("JSON.parse(document.getElementById('xpu-data').textContent)" +
			".cells.values[0].bytes.reduce((a, b) => a + b)");

	is(bytes, sum(folded("memory.bytes")),
		"memory: the bytes are the same as in folded stacks");
	ok(/[\d.]+ [KMG]iB/.test(await page.textContent('[data-kind="memory"] b')),
	   "memory: the chip has a sum in bytes");
	await choose(page, "#unit", "count");
	await settle(page);
	is(number(await page.textContent('[data-kind="memory"] b')), sum(folded("memory.count")),
	   "memory: the count is the same as in folded stacks");
	await shot(page, "html-memory");
	is(page.complaints.join("\n"), "", "memory: no error, no message, no request");
	await page.context().close();
}

run(async () => {
	await testKinds();
	await testHelpers();
	await testWindows();
	await testMemory();
});
