/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, open, shot, run } = require("./browser.js");
const { settle, number } = require("./flamegraph.js");

const ROW = 16, FIRST_ROW = 26;

/* Return: the counters of a Chrome timeline, by GPU and name: [ns since the start, value]. */
function counters(name, startNs) {
	const { traceEvents, otherData } = JSON.parse(fs.readFileSync(`${name}.json`));
	const base = Number(BigInt(otherData.base_ns) - BigInt(startNs)), byName = new Map();
	const gpus = Object.fromEntries(traceEvents.filter(e => e.name === "process_name")
		.map(e => [e.pid, /^GPU \d+/.exec(e.args.name)]));

	for (const e of traceEvents.filter(e => e.ph === "C")) {
		const key = `${gpus[e.pid]} ${e.name}`;

		byName.set(key, byName.get(key) || []);
		byName.get(key).push([base + Math.round(e.ts * 1000), e.args.value]);
	}
	return byName;
}

async function hover(page, x, y) {
	await page.mouse.move(x - 1, y);
	await page.mouse.move(x, y);
	await settle(page);
	return page.$eval("#tip", e => e.hidden ? null : {
		name: e.querySelector("strong").textContent,
		...Object.fromEntries([...e.querySelectorAll("dt")].map(dt =>
			[dt.textContent, dt.nextSibling.textContent])) });
}

/* Return: for the name of each row: the row's tooltip at the middle of the timeline. */
async function rows(page) {
	const found = new Map(), { box, left, height } = await page.$eval("#lanes", e => {
		const area = e.ownerDocument.getElementById("strip-area").getBoundingClientRect();
		const { x, y, height: h } = e.getBoundingClientRect();

		return { box: { x, y, width: e.clientWidth }, left: area.x - x, height: h };
	});
	const x = box.x + left + (box.width - left) / 2;

	for (let y = box.y + FIRST_ROW; y < box.y + height; y += ROW) {
		const words = await hover(page, x, y);

		if (words)
			found.set(words.name, words);
	}
	return found;
}

/* Return: the number in a text, and the largest error that rounding may have caused. */
function read(words) {
	const unit = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[words.split(" ")[1]] || 1;
	const digits = (/\.(\d+)/.exec(words) || ["", ""])[1].length;

	return [number(words.split(" ")[0]) * unit, unit * .5 / 10 ** Math.max(2, digits)];
}

const near = (words, value) => Math.abs(read(words)[0] - value) <= read(words)[1] * 1.001;

async function testValues(name) {
	const page = await open(`${name}.html#events=1`);
	const { times } = JSON.parse(await page.textContent("#xpu-data"));
	const wanted = counters(name, times.start_ns);
	let nr = 0;

	await page.waitForSelector("html[data-events]");
	await settle(page);
	await shot(page, `html-meters-${name}`);
	const names = [...(await rows(page)).keys()];

	is([...wanted.keys()].filter(key => !names.includes(key)).join(", "), "",
	   `${name}: each counter of the Chrome timeline has a row`);
	for (const [key, points] of wanted)
		for (let k = 1; k + 1 < points.length; k += Math.ceil(points.length / 3)) {
			const [at, value] = points[k], until = points[k + 1][0];

			if (until - at < 40)
				continue;
			/* zoomed in until the pixel in the middle has one value */
			await page.evaluate(hash => { globalThis.location.hash = hash; },
				`events=1&span=${at}..${until}`);
			await settle(page);
			const words = (await rows(page)).get(key);

			/* For dense points, the page shows means. */
			if (words && words["each value"])
				continue;
			ok(words && words.value && near(words.value, value),
			   `${name}: ${key}: the value under the pointer`,
			   `${JSON.stringify(words)}, not ${value}`);
			nr++;
		}
	ok(nr > 2, `${name}: values were compared`, nr);
	is(page.complaints.join("; "), "", `${name}: no complaints`);
	await page.context().close();
}

/* The last value lasts until the last sample ends, so the curve is as long as the samples. */
async function testSums() {
	const page = await open("metrics.html#events=1");
	const table = JSON.parse(fs.readFileSync("table.json")).gpu_metrics;

	await page.waitForSelector("html[data-events]");
	await settle(page);
	const found = await rows(page);

	ok(table.length > 3, "the table has metrics");
	for (const row of table) {
		const words = (found.get(`GPU ${row.device} ${row.title}`) || {})["in all"] || "";
		const [, mean, most] = /^mean (.*), most (.*)$/.exec(words) || ["", "", ""];

		ok(near(mean, row.average) && near(most, row.max),
		   `${row.title}: mean and maximum are those of the table`,
		   `${words}, not ${row.average}, ${row.max}`);
	}
	await page.context().close();
}

run(async () => {
	await testValues("metrics");
	await testValues("all");
	await testSums();
});
