/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, near, findings, open, shot, run } = require("./browser.js");
const { folded, sum, leaf, shown, ready, settle, drawn, click, tip, number } =
	require("./flamegraph.js");

const isWork = line => /^\[GPU\d*_(Kernel|Memcpy|Memset)\]/.test(leaf(line));
const kernels = name => JSON.parse(fs.readFileSync(`${name}.kernels.json`)).kernels;

/* The rows of the work table: cells by column header. */
const work = page => page.$$eval("#work table", ([table]) => {
	const heads = [...table.tHead.rows[0].cells].map(cell => cell.textContent);

	return [...table.tBodies[0].rows].map(tr => ({
		name: tr.querySelector("button").textContent,
		chosen: tr.classList.contains("selected"),
		by: tr.lastChild.title, byMore: tr.lastChild.lastChild.textContent,
		...Object.fromEntries([...tr.cells].slice(1, -1)
			.map((cell, k) => [heads[k + 1], cell.textContent])),
	}));
});

/* Return: the nodes that the graph marks: the selected node, and all of its work. */
const marked = page => page.evaluate(() => {
	const path = globalThis.document.getElementById("alike").getAttribute("d") || "";

	return {
		chosen: globalThis.document.getElementById("chosen").getAttribute("visibility"),
		alike: (path.match(/M/g) || []).length,
	};
});

async function testAnswer() {
	for (const name of ["app", "all"]) {
		const page = await open(`${name}.html`);
		const lines = fs.readFileSync(`${name}.txt`, "utf8").split("\n\n")[0]
			.split("\n").slice(0, 3);

		await ready(page);
		is((await page.$$eval("#answer li", list => list.map(e => e.textContent)))
			.slice(0, 3).join("\n"), lines.join("\n"),
		   `${name}: the page begins with the first lines of the summary`);
		is((await findings(page)).join("\n"), "", `${name}: axe finds no fault`);
		await page.context().close();
	}
}

/* The numbers equal the numbers of "--table kernels", to the ns. */
async function testNumbers() {
	for (const name of ["app", "all", "part"]) {
		const page = await open(`${name}.html#unit=ns`);

		await ready(page);
		const rows = new Map((await work(page)).map(row => [row.name, row]));
		const wrong = kernels(name).filter(k => {
			const row = rows.get(k.name);

			return !row || number(row.Time) !== k.total_ns ||
				number(row.Count) !== k.instances ||
				(k.instances && number(row.Average) !== k.avg_ns);
		});

		ok(kernels(name).length > 1, `${name}: there are kernels`);
		is(JSON.stringify(wrong), "[]",
		   `${name}: kernels have the time, count and average of the table`);
		const times = (await work(page)).map(row => number(row.Time));

		ok(times.every((t, i) => !i || t <= times[i - 1]),
		   `${name}: the largest time comes first`);
		near((await work(page)).reduce((n, row) => n + number(row["%"]), 0), 100,
		     `${name}: the shares add up to 100 %`, .01);
		await page.context().close();
	}
}

async function testPaths() {
	const lines = folded("app.folded").filter(isWork), page = await open("app.html#unit=ns");
	const paths = {}, sums = {};

	for (const line of lines) {
		const name = shown(leaf(line)), path = line[0].slice(1, -1).join(";");

		(paths[name] ||= {})[path] = (paths[name][path] || 0) + line[1];
		sums[name] = (sums[name] || 0) + line[1];
	}
	await ready(page);
	const rows = await work(page);

	is(await page.inputValue("#by"), "none", "threads are added up at first");
	for (const row of rows.slice(0, 12)) {
		const list = Object.entries(paths[row.name]).sort((a, b) => b[1] - a[1]);

		ok(list.filter(([, v]) => v === list[0][1])
			.some(([path]) => path.split(";").includes(row.by)),
		   `${row.name.slice(0, 40)}: its largest path has the frame that is shown`,
		   row.by);
		if (list.length > 1)
			near(number(row.byMore), 100 * list[0][1] / sums[row.name],
			     `${row.name.slice(0, 40)}: the path's share of it is right`, .01);
	}
	ok(rows.slice(0, 12).every(row => !/^(cu|cuda)[A-Z]/.test(row.by)),
	   "a path is named by the program's function, not by CUDA's",
	   rows.slice(0, 12).map(row => row.by).join());
	/* A kernel that four threads launch has one block for each call path. */
	const name = rows[0].name, boxes = (await drawn(page)).filter(f => f.name === name);

	is(boxes.length, Object.keys(paths[name]).length,
	   "a kernel that four threads launch from one path has one frame");
	is(number((await tip(page, name)).total), Math.max(...Object.values(paths[name])),
	   "the frame has the time of all four threads");
	await page.selectOption("#by", "tid");
	await settle(page);
	ok((await drawn(page)).filter(f => f.name === name).length > boxes.length,
	   "by thread, each thread has its own frame");
	is(JSON.stringify((await work(page)).map(row => [row.name, row.Time, row.by])),
	   JSON.stringify(rows.map(row => [row.name, row.Time, row.by])),
	   "by thread, the table stays as it was");
	await page.context().close();

	const streams = await open("stream.html");

	await ready(streams);
	is(await streams.inputValue("#by"), "stream", "--by stream opens by stream");
	await streams.context().close();
}

async function testSelecting() {
	const lines = folded("app.folded").filter(isWork), page = await open("app.html#unit=ns");

	await ready(page);
	const rows = await work(page), name = rows[1].name;

	/* The graph is scrolled to the top, where the root is. */
	const all = (await drawn(page)).find(f => f.name === "all"),
		chart = await (await page.$("#chart")).boundingBox();

	ok(all.y - chart.y < 12 && (await drawn(page)).every(f => f.y >= all.y),
	   "the root of the graph is at the top");
	await page.click("#work tbody tr:nth-child(2) button");
	await settle(page);
	let at = await marked(page);

	is((await work(page)).filter(row => row.chosen).map(row => row.name).join(), name,
	   "a click selects a row");
	is(at.chosen, "visible", "the graph marks the row's largest frame");
	is(at.alike, (await drawn(page)).filter(f => f.name === name).length,
	   "the graph marks all frames of the row");
	is(await page.textContent("#detail h2"), name, "the panel shows the row's work");
	ok(/frame=\d+/.test(page.url()), "the address has the selection", page.url());
	await shot(page, "html-work");
	is((await findings(page)).join("\n"), "", "axe finds no fault with a row selected");
	const again = await open("app.html" + new URL(page.url()).hash);

	await ready(again);
	is((await work(again)).filter(row => row.chosen).map(row => row.name).join(), name,
	   "the address selects the row again");
	await again.context().close();
	await page.keyboard.press("Escape");

	/* Clicking a frame selects its row. */
	const other = (await drawn(page)).filter(f => rows.some(r => r.name === f.name) &&
		f.name !== name && f.width > 20)[0].name;

	await click(page, other);
	is((await work(page)).filter(row => row.chosen).map(row => row.name).join(), other,
	   "a click on a frame selects its row");
	await page.keyboard.press("Escape");
	await settle(page);

	/* Selecting a function in the graph restricts the table to the work of this function. */
	const names = lines.flatMap(l => l[0].slice(2, -2));
	/*
	 * Only one frame of the graph has this name: all lines that contain it have the same
	 * callers.
	 */
	const callers = n => new Set(lines.filter(l => l[0].includes(n))
		.map(l => l[0].slice(1, l[0].indexOf(n)).join(";")));
	const function1 = names.find(n => lines.filter(l => l[0].includes(n)).length > 3 &&
		lines.some(l => !l[0].includes(n)) && !/\+0x/.test(n) && callers(n).size === 1);
	const below = lines.filter(l => l[0].includes(function1));

	ok(function1, "there is a function that launches some of the work");
	await page.keyboard.press("f");
	await click(page, function1);
	is((await work(page)).reduce((n, row) => n + number(row.Time), 0), sum(below),
	   "after a zoom to a function, the table has the work below it");
	ok((await page.textContent("#work-words")).includes(function1),
	   "the table says which function it is about");
	await page.click("#work-all");
	is((await work(page)).reduce((n, row) => n + number(row.Time), 0), sum(lines),
	   "all of the work is shown again");

	/* With the keyboard alone. */
	await page.focus("#work tbody tr:nth-child(1) button");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	await settle(page);
	is((await work(page)).findIndex(row => row.chosen), 2, "arrow keys and Enter select a row");
	is(await page.evaluate(() => globalThis.document.activeElement.textContent),
	   (await work(page))[2].name, "the row keeps the focus");
	await page.click('#work th [data-worksort="count"]');
	const counts = (await work(page)).map(row => number(row.Count));

	ok(counts.every((n, i) => !i || n <= counts[i - 1]) && counts.length > 2,
	   "a column's head orders the table");
	at = page.complaints.join("\n");
	is(at, "", "no error, no message, no request");
	await page.context().close();
}

/* A range cuts work at its ends, so the average is not exact. */
async function testStretch() {
	const page = await open("app.html#unit=ns&from=3&to=9");

	await ready(page);
	ok((await work(page)).filter(row => row.Count).every(row => /^\u2248 /.test(row.Average)),
	   "in a stretch, averages are marked as not exact");
	await page.context().close();
}

/* Each row has both recordings. B has 1.5 times as many launches, so it is compared per launch. */
async function testDiff() {
	const page = await open("diff.html#unit=ns"), equal = await open("equal.html");
	const both = () => page.$$eval("#work tbody tr", list => list.map(tr => ({
		name: tr.querySelector("button").textContent,
		cells: [...tr.cells].slice(1, 4).map(cell =>
			[...cell.children].map(e => e.textContent)),
		delta: tr.cells[4].firstChild.textContent,
	})));

	await ready(page);
	const rows = new Map((await both()).map(row => [row.name, row]));
	const wrong = ["app", "more"].flatMap((name, s) => kernels(name).filter(k => {
		const row = rows.get(k.name), of = row && row.cells.map(pair => number(pair[s]));

		return !row || of[0] !== k.total_ns || of[1] !== k.instances || of[2] !== k.avg_ns;
	}));

	is(JSON.stringify(wrong), "[]", "two recordings: each row has both tables' figures");
	const deltas = (await both()).map(row => number(row.delta.slice(1)));

	ok(deltas.every((n, i) => !i || n <= deltas[i - 1]), "the largest difference comes first");
	ok(/A did 30,000 launches, B 45,000: 1.500 times/.test(await page.textContent("#unequal")),
	   "the page says that the recordings are unequal", await page.textContent("#unequal"));
	is((await findings(page)).join("\n"), "", "two recordings: axe finds no fault");
	await page.click("#per-launch");
	await settle(page);
	const lines = folded("diff.folded", 2).filter(isWork), t = await tip(page, "all");

	near(number(t.A), sum(lines, 1), "per launch: A has the sum of --normalize launches", 1e-6);
	is(number(t.B), sum(lines, 2), "per launch: B stays as it is");
	ok(/per=launch/.test(page.url()), "the address has the choice");
	is(await page.evaluate(() => globalThis.document.activeElement.id), "per-launch",
	   "the switch keeps the focus");
	await shot(page, "html-work-diff");
	ok((await page.$eval("#work table", e => e.getBoundingClientRect().right)) <=
		(await page.$eval("#beside", e => e.getBoundingClientRect().left)),
	   "two recordings: the table fits its part of the window");
	is(page.complaints.join("\n"), "", "two recordings: no error, no message, no request");
	await page.context().close();
	await ready(equal);
	ok(!(await equal.isVisible("#unequal")), "equal recordings have no such line");
	await equal.context().close();
}

/* Return: the names of the overview's rows, without devices. */
const stripNames = async page => (await page.$$eval("#strip-names div",
	list => list.map(e => e.textContent))).filter(name => !/^GPU/.test(name));

/* Threads that hardly ran share one row of the overview. */
async function testThreads() {
	const text = fs.readFileSync("app.html", "utf8");
	const [, before, json, after] = /^([^]*id="xpu-data">)([^]*?)(<\/script>[^]*)$/.exec(text);
	const data = JSON.parse(json), page = await open("app.html");
	const threads = [...new Set(data.times.rows.list.filter(r => r.kind !== undefined &&
		r.tid !== undefined).map(r => r.tid))];

	await ready(page);
	is((await stripNames(page)).length, threads.length + 1,
	   "each thread that ran has a row", (await stripNames(page)).join());
	await page.context().close();
	/* All threads except one do little. */
	for (const row of data.times.rows.list)
		if (row.tid !== undefined && row.tid !== threads[0])
			row.ns = row.ns.map(ns => Math.floor(ns / 100));
	fs.writeFileSync("helpers.html",
		before + JSON.stringify(data).replace(/</g, "\\u003c") + after);
	const helpers = await open("helpers.html");

	await ready(helpers);
	const names = await stripNames(helpers);

	ok(names.length === 3 && names[0].endsWith(` ${threads[0]}`) &&
		names[1] === `${threads.length - 1} more threads` &&
		/^CPU use \(peak 2 of 2\)$/.test(names[2]), "threads that hardly ran share a row",
	names.join());
	await helpers.context().close();
}

async function testSizes() {
	for (const [width, options] of [[1400, {}], [1000, {}], [500, {}],
		[1400, { colorScheme: "dark" }]]) {
		const page = await open("app.html",
			{ viewport: { width, height: 800 }, ...options });
		const name = `${width} pixels${options.colorScheme ? ", dark" : ""}`;

		await ready(page);
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
		   `${name}: the page is not wider than its window`);
		ok((await page.$eval("#work tbody tr td:nth-child(3)",
			e => e.getBoundingClientRect().right)) <= width,
		   `${name}: the times can be seen without scrolling sideways`);
		is((await findings(page)).join("\n"), "", `${name}: axe finds no fault`);
		if (width === 1400)
			ok((await page.$eval(".bar", e => e.offsetHeight)) < 45,
			   `${name}: the tools are one row`);
		await shot(page, `html-work-${width}${options.colorScheme || ""}`);
		await page.context().close();
	}
}

run(async () => {
	await testAnswer();
	await testNumbers();
	await testPaths();
	await testSelecting();
	await testStretch();
	await testDiff();
	await testThreads();
	await testSizes();
});
