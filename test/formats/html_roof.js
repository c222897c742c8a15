/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, findings, open, shot, run } = require("./browser.js");
const { ready, settle } = require("./flamegraph.js");

const table = (file, name) => JSON.parse(fs.readFileSync(file))[name];
const near = (a, b, by) => Math.abs(a - b) <= by;

/* Return: the circle of each kernel, the ticks of both logarithmic axes, and the roof. */
function plot(page) {
	return page.$eval("#roof-plot svg", svg => {
		const page = svg.ownerDocument.getElementById("xpu-data").textContent;
		const names = JSON.parse(page).sides[0].roof.name;
		const factor = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
		const number = text => parseFloat(text) * factor[text.split(" ")[1] || ""];
		const texts = anchor => [...svg.querySelectorAll(`text[text-anchor=${anchor}]`)];
		const ticks = (anchor, at) => texts(anchor)
			.filter(t => /^[\d.]+( [kMGTPE])?$/.test(t.textContent))
			.map(t => [+t.getAttribute(at), Math.log10(number(t.textContent))]);

		return {
			x: ticks("middle", "x"), y: ticks("end", "y").map(([at, v]) => [at - 4, v]),
			circles: Object.fromEntries([...svg.querySelectorAll("circle")].map(c =>
				[names[+c.dataset.kernel], { x: +c.getAttribute("cx"),
					y: +c.getAttribute("cy"), r: +c.getAttribute("r"),
					together: c.classList.contains("together") }])),
			roof: svg.querySelector(".roof").getAttribute("points"),
		};
	});
}

/* Return: the pixel of a value on an axis. */
function pixel(ticks, value) {
	const [[a, low], [b, high]] = [ticks[0], ticks[ticks.length - 1]];

	return a + (Math.log10(value) - low) / (high - low) * (b - a);
}

async function tipOf(page) {
	await page.waitForSelector("#tip", { state: "visible" });
	return page.$eval("#tip", e => ({ name: e.querySelector("strong").textContent,
		...Object.fromEntries([...e.querySelectorAll("dt")].map(dt =>
			[dt.textContent, dt.nextSibling.textContent])) }));
}

/* Return: the tables: [heading, kernels]. */
const listed = page => page.$$eval("#roof-table h3", list => list.map(h =>
	[h.textContent, [...h.nextSibling.querySelectorAll("tbody button")]
		.map(b => b.textContent)]));

async function testShares() {
	const page = await open("shares.html#view=roof");
	const rows = table("metrics.json", "kernel_metrics");
	const [wide, narrow] = ["wide", "narrow"].map(name => rows.find(r => r.name === name));

	await ready(page);
	const { x, y, circles, roof } = await plot(page);

	is(Object.keys(circles).sort().join(), "first,narrow,second,wide",
	   "kernels whose values are known have circles, and no others have");
	for (const [row, key] of [[wide, "tensor_percent"], [narrow, "sm_issue_percent"]]) {
		const compute = row[key];
		const c = circles[row.name], dram = row.dram_read_percent + row.dram_write_percent;

		ok(near(c.x, pixel(x, dram), .6) && near(c.y, pixel(y, compute), .6),
		   `${row.name}: the circle is at the table's values`, JSON.stringify([c, x, y]));
	}
	const areas = circles.wide.r ** 2 / circles.narrow.r ** 2;

	ok(near(areas, wide.total_ns / narrow.total_ns, .02), "the areas are the times");
	ok(circles.first.together && !circles.wide.together,
	   "kernels that cannot be told apart are marked");
	ok(roof.split(" ").length === 3, "the roofs are 100 % of both peaks", roof);
	const next = await listed(page);

	ok(/^In the plot: 4 kernels/.test(next[0][0]) &&
		/^Not in the plot: 1 kernel/.test(next[1][0]),
	   "the table says what is in the plot", JSON.stringify(next));
	is(next[1][1].join(), "once", "the unknown kernel is listed next to the plot");
	ok((await page.textContent("#roof-words")).includes("GPU's own peaks") &&
		(await page.textContent("#roof-words")).includes("--gpu-metrics=dram__bytes_read"),
	"words say where the roofs come from, and what to record for operations");
	is((await findings(page)).join("\n"), "", "axe finds no fault");
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
}

async function testOperations() {
	const page = await open("operations.html#view=roof");
	const wide = table("roof.json", "kernel_roof").find(r => r.name === "wide");

	await ready(page);
	const { x, y, circles, roof } = await plot(page), next = await listed(page);
	const c = circles.wide;

	ok(near(c.x, pixel(x, wide.operations_per_byte), .6) &&
		near(c.y, pixel(y, wide.operations_per_ns * 1e9), .6),
	"a circle is at its operations per byte and per second", JSON.stringify([c, wide, x, y]));
	const data = JSON.parse(await page.textContent("#xpu-data")).sides[0].roof;
	const ridge = roof.split(" ")[1].split(",").map(Number);

	ok(near(ridge[0], pixel(x, data.operations_per_ns / data.bytes_per_ns), .6) &&
		near(ridge[1], pixel(y, data.operations_per_ns * 1e9), .6),
	"the roofs meet where both samples are highest", roof);
	is(next[1][1].sort().join(), "narrow,once",
	   "kernels with no operations within the error are not in the plot, but in the table");
	const words = await page.textContent("#roof-words");

	ok(/1\.4 TB\/s.*highest samples of this recording/.test(words),
	   "words say that the roofs are measured", words);
	await page.context().close();
}

async function testChoosing() {
	const page = await open("shares.html#view=roof");

	await ready(page);
	await page.focus("#roof-plot");
	await page.keyboard.press("ArrowRight");
	const first = await tipOf(page);

	is(first.name, "wide", "the first arrow key reaches the kernel that takes most time");
	ok(/^1\.148 s, 7,239 launches$/.test(first.time) &&
		/^24\.\d \u00b1 0\.0\d+ %$/.test(first.DRAM) &&
		/ \u00b1 .*tensor cores/.test(first.compute) &&
		first["bound by"] === "tensor cores",
	"its tip has time and values with errors", JSON.stringify(first));
	ok((await page.textContent("#roof-kernel")).startsWith("wide: time 1.148 s"),
	   "a status line has the same");
	await page.keyboard.press("ArrowRight");
	is((await tipOf(page)).name, "narrow", "the next arrow key reaches the next kernel");
	await page.keyboard.press("Enter");
	await settle(page);
	ok(await page.isVisible("#graph"), "Enter shows the flame graph");
	is(await page.$eval("#work tr.selected td.name button", e => e.textContent), "narrow",
	   "the kernel is selected there, as in the table of kernels");
	const byKey = new URL(page.url()).hash;

	await page.goto("about:blank");
	const again = await open("shares.html");

	await ready(again);
	await again.click("#work [data-work] >> text=narrow");
	await settle(again);
	is(new URLSearchParams(byKey.slice(1)).get("frame"),
	   new URLSearchParams(new URL(again.url()).hash.slice(1)).get("frame"),
	   "a row of this table selects the same frame");
	await again.click("#tab-roof");
	await settle(again);
	is(await again.$$eval("#roof-plot circle.selected", list => list.length), 1,
	   "the selected kernel is marked in the plot");
	await again.click("#roof-plot circle >> nth=0", { position: { x: 4, y: 26 } });
	await settle(again);
	is(await again.$eval("#work tr.selected td.name button", e => e.textContent), "wide",
	   "a click on a circle selects its kernel");
	await again.context().close();
	await page.context().close();
}

async function testLooks() {
	const dark = { colorScheme: "dark" };

	for (const [width, options] of [[1400, {}], [1000, {}], [500, {}], [1400, dark]]) {
		const page = await open("shares.html#view=roof",
			{ viewport: { width, height: 800 }, ...options });

		await ready(page);
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
		   `${width} pixels: the page is not wider than its window`);
		is((await findings(page)).join("\n"), "", `${width} pixels: axe finds no fault`);
		await shot(page, `html-roof-${width}${options.colorScheme || ""}`);
		if (width === 1000) {
			await page.emulateMedia({ media: "print" });
			ok(await page.isVisible("#roof-plot svg") &&
				await page.isVisible("#roof-table"),
			"a printed page has the plot and the table");
			await shot(page, "html-roof-printed");
		}
		await page.context().close();
	}
	const app = await open("app.html");

	await ready(app);
	ok(!(await app.$("#tab-roof")), "a recording without counters has no such tab");
	await app.context().close();
}

run(async () => {
	await testShares();
	await testOperations();
	await testChoosing();
	await testLooks();
});
