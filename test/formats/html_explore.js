/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, near, findings, open, shot, run } = require("./browser.js");
const { folded, sum, leaf, rows, shown, ready, settle, drawn, click, tip, number, choose } =
	require("./flamegraph.js");

/* A kernel's frame may be followed by frames for the kernel's stalls. */
const isDevice = line => line[0].some(name => /^\[GPU\d*_(Kernel|Memcpy|Memset)\]/.test(name));
const total = async page => number((await tip(page, "all")).total);
const chip = (page, mode) => page.textContent(`[data-mode="${mode}"] b`);

/* ---- numbers -------------------------------------------------------------------------------- */

async function testModes() {
	const lines = folded("all.folded"), page = await open("all.html#unit=ns");

	await ready(page);
	is(await page.getAttribute('[data-mode="gpu"]', "aria-checked"), "true",
	   "the page opens on GPU time");
	is(await total(page), sum(lines.filter(isDevice)),
		"GPU time: the total is the time of device work");
	is(number(await chip(page, "gpu")), sum(lines.filter(isDevice)),
		"GPU time: the chip has its total");
	is(number(await chip(page, "thread")), sum(lines.filter(l => !isDevice(l))),
	   "thread time: the chip has its total");
	is(number(await chip(page, "both")), sum(lines), "both: the chip has the total of both");
	for (const [mode, of] of [["thread", l => !isDevice(l)], ["both", () => true]]) {
		await page.click(`[data-mode="${mode}"]`);
		await settle(page);
		is(await total(page), sum(lines.filter(of)),
			`${mode}: the graph has the same total`);
	}
	ok((await drawn(page)).some(f => f.name === "on CPU"),
		"a function's own CPU time has a frame");
	ok(!(await drawn(page)).some(f => /^\[(GPU|Off)/.test(f.name)),
		"no label repeats what the colour says");
	await page.context().close();
}

async function testTables() {
	for (const name of ["app", "all"]) {
		const table = JSON.parse(fs.readFileSync(`${name}.kernels.json`)).kernels,
			page = await open(`${name}.html#unit=ns&view=top`);

		await ready(page);
		const top = new Map((await rows(page)).map(row => [row[0], row]));
		const all = table.reduce((n, r) => n + r.total_ns, 0);
		const wrong = table.filter(r => {
			const row = top.get(r.name);

			return !row || number(row[2]) !== r.total_ns ||
				number(row[3]) !== r.instances;
		});

		ok(table.length > 1 && all > 0, `${name}: there are kernels`, table.length);
		is(JSON.stringify(wrong), "[]",
			`${name}: Top has the kernels' times and counts, over all devices`);
		is(number(await page.textContent('[data-kind="kernel"] b')), all,
		   `${name}: Top has the sum of the kernels`);
		await page.context().close();
	}
}

async function testGroups() {
	for (const [by, file, words] of [
		["tid", "app.tid.folded", label => / (\d+), process/.exec(label)],
		["pid", "app.pid.folded", label => /process (\d+)/.exec(label)],
		["device", "app.device.folded", label => /GPU (\d+)/.exec(label)],
	]) {
		const page = await open(`app.html#unit=ns`), expected = {}, got = {};

		await ready(page);
		await page.selectOption("#by", by);
		await settle(page);
		for (const l of folded(file)) {
			const nr = /(\d+)\]?$/.exec(l[0][0].replace("]", ""))[1];

			expected[nr] = (expected[nr] || 0) + l[1];
		}
		for (const f of await drawn(page)) {
			const m = words(f.name);

			if (m && !got[m[1]])
				got[m[1]] = number((await tip(page, f.name)).total);
		}
		is(JSON.stringify(got), JSON.stringify(expected),
		   `by ${by}: the same as with --by ${by}, without a new merge`);
		await page.context().close();
	}
	const page = await open("all.html#unit=ns&by=nvtx&open=all"), expected = {};

	await ready(page);
	for (const l of folded("all.nvtx.folded").filter(isDevice))
		expected[l[0][0]] = (expected[l[0][0]] || 0) + l[1];
	ok(Object.keys(expected).length > 1, "there is work in ranges, and work outside of them");
	for (const [range, ns] of Object.entries(expected))
		is(number((await tip(page,
			range.replace(/^\[NVTX\]|^\[(no NVTX range)\]/, "$1"))).total), ns,
		   `by NVTX range: ${range} has all its work, with inner ranges`);
	await page.context().close();
}

/* ---- a range of time ------------------------------------------------------------------------ */

/* Return: the ns of kernels and copies in a time range, from the timeline. */
function timelineIn(from, to) {
	const trace = JSON.parse(fs.readFileSync("app.json")),
		base = BigInt(trace.otherData.base_ns);
	const sums = { kernel: 0, memcpy: 0, nr: 0 };

	for (const e of trace.traceEvents) {
		if (e.ph !== "X" || !(e.cat in sums))
			continue;
		const start = Number(base) + Math.round(e.ts * 1000),
			end = start + Math.round(e.dur * 1000);

		sums[e.cat] += Math.max(0, Math.min(end, to) - Math.max(start, from));
		sums.nr += start >= from && start < to;
	}
	return sums;
}

async function drag(page, from, to) {
	const box = await page.$eval("#strip-area", e => {
		const b = e.getBoundingClientRect();

		return { x: b.x, y: b.y, width: b.width };
	});

	await page.mouse.move(box.x + box.width * from, box.y + 8);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * (from + to) / 2, box.y + 8);
	await page.mouse.move(box.x + box.width * to, box.y + 8);
	await page.mouse.up();
	await settle(page);
}

async function testStretch() {
	const page = await open("app.html#unit=ns"), lines = folded("app.folded");
	const t = await page.evaluate(() => {
		const times = JSON.parse(document.getElementById("xpu-data").textContent).times;

		return { start: Number(times.start_ns) + times.from_ns, width: times.bin_ns,
			nr: times.nr };
	});

	await ready(page);
	is(await page.$$eval('#strip-rows path[data-kind="kernel"]', p => p.length), 2,
		"the overview has both devices");
	await drag(page, .25, .5);
	const params = new URLSearchParams(new URL(page.url()).hash.slice(1));
	const from = +params.get("from"), to = +params.get("to");
	const expected = timelineIn(t.start + from * t.width, t.start + to * t.width);

	near(from, .25 * t.nr, "dragging picks a stretch: its begin is right", .05);
	near(to, .5 * t.nr, "dragging picks a stretch: its end is right", .05);
	ok(expected.kernel > 0 && expected.kernel < sum(lines),
	   "there is work in the stretch, and work outside of it");
	is(number(await page.textContent('[data-kind="kernel"] b')), expected.kernel,
	   "the stretch has the same kernel time as the timeline, to the ns");
	is(number(await page.textContent('[data-kind="memcpy"] b')), expected.memcpy,
	   "the stretch has the same copy time as the timeline, to the ns");
	is(await total(page), expected.kernel + expected.memcpy,
		"the graph shows the stretch alone");
	is(number((await tip(page, "all")).count), expected.nr,
	   "counts are of work that began in the stretch");
	await shot(page, "html-stretch");
	await page.click("#tab-top");
	is((await rows(page)).reduce((n, row) => n + (number(row[1]) || 0), 0),
		expected.kernel + expected.memcpy,
	   "the Top list shows the stretch alone");
	await page.goBack();
	await page.goBack();
	await settle(page);
	is(await total(page), sum(lines), "Back: the whole time is shown again");
	await page.focus("#strip-area");
	await page.keyboard.press("ArrowRight");
	await settle(page);
	const first = await total(page);

	ok(first > 0 && first < sum(lines), "the keyboard picks a stretch");
	await page.keyboard.press("Shift+ArrowRight");
	await settle(page);
	ok(await total(page) > first, "the keyboard makes the stretch longer");
	await page.keyboard.press("Escape");
	await settle(page);
	is(await total(page), sum(lines), "Escape removes the stretch");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

/* ---- the address ---------------------------------------------------------------------------- */

const look = async page => JSON.stringify([(await drawn(page))
	.map(f => [f.name, f.x, f.y, f.width].map(v => typeof v === "number" ? Math.round(v) : v)
		.concat(f.fill).join(" ")).sort(),
	await page.textContent("#matched"), await page.isVisible("#detail"),
		await page.inputValue("#by")]);

async function testAddress() {
	const lines = folded("app.folded"), page = await open("app.html#by=comm"), steps = [];
	const kernel = shown(leaf(lines.find(l => l[0][0] === "worker" && isDevice(l))));

	await ready(page);
	const step = async (name, action) => {
		steps.push([name, await look(page)]);
		await action();
		await settle(page);
	};

	await step("zoom", () => click(page, "worker"));
	await step("zoom again", () => click(page, kernel));
	await step("order", () => choose(page, "#order", "value"));
	await step("root below", () => page.keyboard.press("i"));
	await step("a kind left out", () => page.click('[data-kind="memcpy"]'));
	await step("device", () => choose(page, "#gpu", "1"));
	await step("group by", () => page.selectOption("#by", "pid"));
	await step("stretch", () => drag(page, .2, .6));
	await page.fill("#search", kernel.replace(/\(.*/, ""));
	await settle(page);
	const last = await look(page), url = page.url();
	const again = await open("app.html" + new URL(url).hash);

	await ready(again);
	is(await look(again), last, "a page that is opened with the address shows the same");
	is(again.complaints.join("\n"), "",
		"a page that is opened with the address has no complaint");
	await again.context().close();
	while (steps.length) {
		const [name, before] = steps.pop();

		await page.goBack();
		await settle(page);
		is(await look(page), before, `Back undoes: ${name}`);
	}
	for (let i = 0; i < 8; i++)
		await page.goForward();
	await settle(page);
	is(await look(page), last, "Forward makes all steps again");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();

	/* An address may contain anything. */
	for (const hash of ["zoom=99999999&frame=7777777",
		"by=__proto__&time=constructor&unit=x&of=-5&view=lines2",
			    "search=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&kernel=%3Cscript%3E",
			    "narrow=0-999999-0&zoom=1",
			    "from=9&to=3", "from=-1&to=1e9", "open=1.2.3.x", "%%%&&&=&=",
			    "without=gpu.cpu&sort=toString"]) {
		const odd = await open("app.html#" + hash);

		await ready(odd);
		ok((await drawn(odd)).length > 3 || /search/.test(hash),
			`#${hash}: the page is drawn`);
		is(odd.complaints.join("\n"), "", "a foreign address: there is no complaint");
		await odd.context().close();
	}
}

/* ---- keys ----------------------------------------------------------------------------------- */

async function testKeys() {
	const lines = folded("app.folded"), page = await open("all.html");

	await ready(page);
	await page.keyboard.press("?");
	ok(await page.isVisible("#help"), "? shows the keys");
	for (const key of ["/", "t", "c", "s", "b", "Esc"])
		ok((await page.$$eval("#help kbd", list => list.map(k => k.textContent)))
			.includes(key),
		   `the list of keys has ${key}`);
	await page.keyboard.press("Escape");
	ok(!(await page.isVisible("#help")), "Escape closes the list of keys");
	await page.keyboard.press("t");
	is(await page.getAttribute('[data-mode="thread"]', "aria-checked"), "true",
		"t goes to thread time");
	await page.keyboard.press("o");
	ok(!(await page.isVisible("#strip")), "o hides the overview");
	await page.keyboard.press("2");
	ok(await page.isVisible("#top"), "2 shows the Top list");
	await page.keyboard.press("3");
	ok(await page.isVisible("#lines"), "3 shows the lines of kernels");
	await page.keyboard.press("1");
	await page.keyboard.press("b");
	ok((await page.inputValue("#by")) !== "none", "b groups by the next key");
	await page.focus("#tab-graph");
	await page.keyboard.press("ArrowRight");
	ok(await page.isVisible("#top"), "arrow keys change the view");
	await page.context().close();

	const app = await open("app.html#by=comm"),
		path = lines.find(l => l[0][0] === "worker" && isDevice(l))[0];

	await ready(app);
	await app.evaluate(() => {
		navigator.clipboard.writeText = async text => { globalThis.copied = text; };
	});
	await app.keyboard.press("f");
	await settle(app);
	ok(!(await drawn(app)).some(d => / \(\d+ frames\)$/.test(d.name)),
		"f opens all folded frames");
	await app.keyboard.press("f");
	await click(app, "worker");
	await click(app, shown(path[path.length - 1]));
	await app.keyboard.press("c");
	const copied = await app.evaluate(() => globalThis.copied);

	is(copied.trim().split("\n").map(line => line.trim()).length, path.length,
	   "c copies the call path: a line for each frame");
	ok(copied.startsWith("worker\n") && copied.trim().endsWith(shown(path[path.length - 1])),
	   "the copied path begins at the root", copied);
	await app.evaluate(() => { navigator.clipboard.writeText = () =>
		Promise.reject(new Error("no")); });
	await app.click("#copy-path");
	is(app.complaints.join("\n"), "", "without access to the clipboard, there is no complaint");
	await app.keyboard.press("s");
	ok(await app.isVisible("#sandwich"), "s shows callers and callees");
	is(await app.textContent("#focus-name"), shown(path[path.length - 1]),
	   "the callers and callees are those of the chosen frame");
	await app.context().close();
}

/* ---- callers and callees -------------------------------------------------------------------- */

async function testSandwich() {
	const lines = folded("app.folded"),
		page = await open("app.html#unit=ns&view=top&sort=total");

	await ready(page);
	/* Selects a function in the middle of stacks, with callers and callees. */
	const name = lines.find(isDevice)[0][3], of = lines.filter(l => l[0].includes(name));
	const near1 = (l, by) => l[0][l[0].indexOf(name) + by];
	const level = (id, edge) => page.$$eval(`#${id} g.frame`, (list, edge) => {
		const at = list.map(g => +g.querySelector("rect").getAttribute("y"));
		const y = edge === "low" ? Math.max(...at) : Math.min(...at);

		return list.filter((_, k) => at[k] === y)
			.map(g => g.querySelector("title").textContent.split("\n"));
	}, edge);
	const expected = by => {
		const sums = {};

		for (const l of of)
			sums[shown(near1(l, by))] = (sums[shown(near1(l, by))] || 0) + l[1];
		return sums;
	};
	const got = list => Object.fromEntries(list.map(([n, value]) => [n, number(value)]));
	const sorted = o => JSON.stringify(Object.entries(o).sort());

	await page.click(`#top tbody button:text-is("${name}")`);
	await settle(page);
	is(await page.textContent("#focus-name"), name, "a row leads to its callers and callees");
	is(number(await page.textContent("#focus-total")), sum(of),
	   "their sum is the sum of all stacks with the function");
	is(sorted(got(await level("callers", "low"))), sorted(expected(-1)),
		"each caller has its part");
	is(sorted(got((await level("callees", "high")).filter(([n]) => !/^\d+ frames?$/.test(n)))),
	   sorted(Object.fromEntries(Object.entries(expected(1)).filter(([n]) => n !== undefined))),
	   "each callee has its part");
	await shot(page, "html-sandwich");
	await page.click("#callers g.frame >> nth=0");
	await settle(page);
	ok((await page.textContent("#focus-name")) !== name,
	   "a click on a caller shows the caller's own callers");
	await page.goBack();
	await settle(page);
	is(await page.textContent("#focus-name"), name, "Back returns to the function");
	await page.click("#show-in-graph");
	await settle(page);
	ok((await drawn(page)).some(f => f.name === name && f.fill === "#e65cf0"),
	   "the graph marks the function's frames");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

/* ---- many narrow frames --------------------------------------------------------------------- */

async function testNarrow() {
	const page = await open("even.html"), nodes = new Set();

	for (const [frames] of folded("even.folded"))
		frames.forEach((_, i) => nodes.add(frames.slice(0, i + 1).join(";")));
	await ready(page);
	const groups = (await drawn(page)).filter(f => /^[\d,]+ frames?, [\d.]+%$/.test(f.name));
	const chart = await page.$eval("#chart", e => e.clientWidth - 16);

	near(groups.reduce((w, f) => w + f.width, 0), chart,
	     "10,000 even paths: frames for groups fill the width", .05);
	ok(groups.reduce((n, f) => n + number(f.name), 0) > .8 * nodes.size,
	   "frames for groups stand for nearly all frames");
	await shot(page, "html-even");
	await click(page, groups[0].name);
	const inside = (await drawn(page)).filter(f => !f.faded && f.name !== groups[0].name);

	ok(inside.length > 200, "a click shows the frames in a group", inside.length);
	await shot(page, "html-even-group");
	await page.keyboard.press("u");
	await settle(page);
	ok((await drawn(page)).some(f => f.name === groups[0].name || /frames, /.test(f.name)),
	   "u leaves the group");
	await page.context().close();
}

/* ---- for everybody -------------------------------------------------------------------------- */

async function testAxe() {
	const looks = [["light", {}], ["dark", { colorScheme: "dark" }],
		["narrow", { viewport: { width: 500, height: 800 } }]];

	for (const [name, options] of looks) {
		const page = await open("all.html#time=both&by=comm", options);

		await ready(page);
		is((await findings(page)).join("\n"), "",
			`axe finds no fault, ${name}: the flame graph`);
		await page.keyboard.press("ArrowDown");
		await click(page, "app");
		is((await findings(page)).join("\n"), "",
		   `axe finds no fault, ${name}: with a frame's panel`);
		await page.keyboard.press("2");
		await page.click("#top tbody tr:nth-child(2) .name button");
		await settle(page);
		is((await findings(page)).join("\n"), "",
		   `axe finds no fault, ${name}: Top, callers and callees`);
		await page.keyboard.press("3");
		is((await findings(page)).join("\n"), "",
			`axe finds no fault, ${name}: lines of kernels`);
		await page.keyboard.press("?");
		is((await findings(page)).join("\n"), "", `axe finds no fault, ${name}: the keys`);
		await page.keyboard.press("Escape");
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
			`${name}: fits its window`);
		await page.context().close();
	}
}

run(async () => {
	await testModes();
	await testTables();
	await testGroups();
	await testStretch();
	await testAddress();
	await testKeys();
	await testSandwich();
	await testNarrow();
	await testAxe();
});
