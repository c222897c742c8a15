/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { execFileSync } = require("child_process");
const { ok, is, findings, open, shot, run } = require("./browser.js");
const { ready, settle } = require("./flamegraph.js");

const merge = `${process.env.XPU_BUILD}/xpumerge`;
const table = (file, name) => JSON.parse(fs.readFileSync(file))[name];
const sum = (list, of) => list.filter(r => /^GPU/.test(r.device)).reduce((n, r) => n + r[of], 0);

/* Return: a number of bytes as the page, messages and tables write it: three digits. */
function words(bytes) {
	const units = ["B", "KiB", "MiB", "GiB"];
	let i = 0;

	for (; bytes >= 1024 && i < 3; i++)
		bytes /= 1024;
	const digits = !i || bytes >= 99.95 ? 0 : bytes < 9.995 ? 2 : 1;

	return `${bytes.toFixed(digits)} ${units[i]}`;
}

/* The table's rows: bytes, kind, and the frames of the call path, innermost first. */
const holders = page => page.$$eval("#memory-holders tbody tr", list => list.map(tr => ({
	bytes: +tr.dataset.bytes, kind: tr.cells[2].textContent,
	path: [...tr.querySelectorAll("li")].map(li => li.textContent),
})));

const parts = async page => Object.fromEntries(
	[...(await page.textContent("#memory-moment")).matchAll(/([\d.,]+ [KMG]?i?B) (\w+)/g)]
		.map(m => [m[2], m[1]]));

async function testPeak() {
	const page = await open("run.html"), devices = table("devices.json", "memory_devices");
	const wanted = table("holders.json", "memory_holders");

	await ready(page);
	ok(await page.isVisible("#memory"), "a recording of --memory opens on the tab Memory");
	await page.click('[data-moment="peak"]');
	await settle(page);
	const peak = sum(devices, "used_peak"), got = await parts(page);

	/* Only one device changes at the peak. */
	is(got.used, words(peak), "the peak has the tables' figure");
	ok((await page.textContent("#memory-words")).includes(`At most ${words(peak)} of GPU`),
	   "the first line has the same figure", await page.textContent("#memory-words"));
	ok(!(await page.isVisible("#memory-line")), "no other line has a figure of the peak");
	const rows = await holders(page);
	const missing = wanted.filter(h => h.held_bytes && !rows.some(r =>
		r.bytes === h.held_bytes && (r.path.length < 2 || h.path.startsWith(
			r.path.slice().reverse().map(name => name.replace(/[\u2068\u2069]/g, ""))
				.join(";")))));

	ok(wanted.length > 4, "several call paths held memory", wanted.length);
	is(JSON.stringify(missing), "[]", "page and table have the same holders, to the byte");
	is((await findings(page)).join("\n"), "", "axe finds no fault");
	await shot(page, "html-memory-peak");
	await page.context().close();
}

async function testFailure() {
	const page = await open("run.html"), at = table("failed.json", "memory_moments");

	await ready(page);
	const got = await parts(page);

	ok(/^When CUDA last refused/.test(await page.textContent("#memory-moment")),
	   "the first moment is the refusal", await page.textContent("#memory-moment"));
	is(got.used, words(sum(at, "used")), "the refusal has the table's figure");
	is(got.fragmentation, words(sum(at, "fragmentation")),
	   "the refusal has the table's fragmentation");
	is(await page.$$eval("#memory-chart line.failure", list => list.length), 1,
	   "the refusal is marked");
	is(await page.$$eval("#memory-chart line.peak", list => list.length), 1,
	   "the peak is marked");
	ok((await page.textContent("#memory-words")).includes("refused 1 request"),
	   "the first line counts the refusals");
	await page.context().close();
}

/* At any step, the sums equal the sums of "--memory live --at", to the byte. */
async function testMoments() {
	const page = await open("run.html");
	const heap = await page.evaluate(() => JSON.parse(
		globalThis.document.getElementById("xpu-data").textContent)
		.sides[0].memory_time.heaps[0]);
	const end = step => Math.min(heap.to_ns, heap.from_ns + (step + 1) * heap.step_ns - 1);
	const steps = [0, 1, 7, 100, 200, 300, 400, 450, heap.nr - 2, heap.nr - 1];
	const all = JSON.parse(execFileSync(merge, ["run.data", "--memory", "live", "--at",
		steps.map(step => `${end(step)}ns`).join(), "--json", "--table", "memory_moments"],
	{ stdio: ["ignore", "pipe", "ignore"] })).memory_moments;

	await ready(page);
	ok(heap.nr > 450 && heap.step.length > 500, "there are many steps", heap.nr);
	for (const step of steps) {
		const at = all.filter(r => r.at_ns === end(step));

		await page.evaluate(s => { globalThis.location.hash = `#moment=${s}`; }, step);
		await settle(page);
		const rows = await holders(page), got = await parts(page);
		const used = rows.filter(r => !/fragmentation|unused|rest|host/.test(r.kind))
			.reduce((n, r) => n + r.bytes, 0);

		is(used, sum(at, "used"),
		   `step ${step}: the holders have the memory in use, to the byte`);
		is(got.fragmentation || "0 B", words(sum(at, "fragmentation")),
		   `step ${step}: fragmentation`);
		is(got.rest || "0 B", words(sum(at, "rest")), `step ${step}: rest of the devices`);
	}
	await page.context().close();
}

async function testPicking() {
	const page = await open("run.html");

	await ready(page);
	const chart = await (await page.$("#memory-chart")).boundingBox();

	await page.mouse.click(chart.x + chart.width / 2, chart.y + 40);
	await settle(page);
	const at = +new URLSearchParams(new URL(page.url()).hash.slice(1)).get("moment");

	ok(at > 200 && at < 300, "a click picks a moment, which is in the address", at);
	const before = await page.textContent("#memory-moment");
	const again = await open("run.html" + new URL(page.url()).hash);

	await ready(again);
	is(await again.textContent("#memory-moment"), before, "the address picks it again");
	await again.context().close();
	await page.focus("#memory-chart");
	await page.keyboard.press("ArrowRight");
	await settle(page);
	is(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("moment"), String(at + 1),
	   "an arrow key goes one step further");
	ok(before !== await page.textContent("#memory-moment"), "the words follow");
	await page.click("#memory-holders tbody tr:nth-child(1) summary");
	ok(await page.isVisible("#memory-holders .frames li"), "a row shows its whole call path");
	await page.keyboard.press("1");
	ok(await page.isVisible("#graph"), "1 goes to the time");
	await page.keyboard.press("4");
	ok(await page.isVisible("#memory"), "4 goes to the memory");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

async function testOthers() {
	const app = await open("app.html"), all = await open("all.html");

	await ready(app);
	ok(!(await app.isVisible("#tab-memory")), "a recording without memory has no such tab");
	await app.context().close();
	await ready(all);
	ok(await all.isVisible("#graph") && await all.isVisible("#tab-memory"),
	   "a recording that was not made for memory opens on time, and has the tab");
	await all.context().close();
	for (const [width, options] of [[1000, {}], [500, {}], [1400, { colorScheme: "dark" }]]) {
		const page = await open("run.html",
			{ viewport: { width, height: 800 }, ...options });

		await ready(page);
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
		   `${width} pixels: the page is not wider than its window`);
		is((await findings(page)).join("\n"), "", `${width} pixels: axe finds no fault`);
		await shot(page, `html-memory-${width}${options.colorScheme || ""}`);
		await page.context().close();
	}
}

run(async () => {
	await testPeak();
	await testFailure();
	await testMoments();
	await testPicking();
	await testOthers();
});
