/* SPDX-License-Identifier: GPL-3.0-or-later */
/* page.js FILE - how fast an html page opens and moves through time in Chromium; page.sh runs it */
"use strict";
const path = require("path");
const { chromium } = require("playwright-core");

const STEPS = 120;
/* for each measurement: how many wheel steps zoom in before the time is dragged */
const ZOOMS = [0, 6, 14, 22];

/* Runs in the page, before its own scripts: notes how long each script takes. */
function watch() {
	const ask = globalThis.requestAnimationFrame.bind(globalThis);
	const listen = globalThis.EventTarget.prototype.addEventListener;
	const timed = (f, list) => function (...args) {
		const begin = performance.now();

		f.apply(this, args);
		list.push(performance.now() - begin);
	};

	globalThis.spent = { frames: [], handlers: [] };
	globalThis.requestAnimationFrame = f => ask(timed(f, globalThis.spent.frames));
	globalThis.EventTarget.prototype.addEventListener = function (type, f, options) {
		listen.call(this, type, /^(pointer|wheel)/.test(type) ?
			timed(f, globalThis.spent.handlers) : f, options);
	};
}

const part = (list, p) => ([...list].sort((a, b) => a - b)[Math.floor(p * (list.length - 1))] || 0)
	.toFixed(2);

/* Return: the time of scripts since the last call, as text. */
async function spent(page) {
	const { frames, handlers } = await page.evaluate(() => {
		const list = { frames: [...globalThis.spent.frames],
			handlers: [...globalThis.spent.handlers] };

		globalThis.spent.frames.length = globalThis.spent.handlers.length = 0;
		return list;
	});

	return `${frames.length} frames, script time of a frame ${part(frames, .5)} ms, ` +
		`95 %: ${part(frames, .95)}, most ${part(frames, 1)}; ` +
		`of an event of the pointer, 95 %: ${part(handlers, .95)}`;
}

const nextFrame = page => page.evaluate(() =>
	new Promise(f => setTimeout(f, 16)));

async function drag(page, x, y) {
	await page.mouse.move(x, y);
	await page.mouse.down();
	for (let i = 0; i < STEPS; i++) {
		await page.mouse.move(x - 3 * i, y);
		await nextFrame(page);
	}
	await page.mouse.up();
}

async function moves(page) {
	const box = await page.$eval("#lanes", e => {
		const { x, y, width } = e.getBoundingClientRect();

		return { x, y, width };
	});
	const x = box.x + box.width * .6, y = box.y + 40;

	for (const zoom of ZOOMS) {
		await page.focus("#lanes");
		await page.keyboard.press("Home");
		await page.mouse.move(x, y);
		await page.waitForTimeout(500);
		await spent(page);
		for (let i = 0; i < zoom; i++) {
			await page.mouse.wheel(0, -100);
			await nextFrame(page);
		}
		if (zoom)
			console.log(`  zoomed ${zoom} times: ${await spent(page)}`);
		await page.waitForTimeout(1000);
		await spent(page);
		await drag(page, x, y);
		console.log(`  dragged: ${await spent(page)}`);
		await page.waitForTimeout(1000);
	}
}

async function main() {
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ||
		"/usr/bin/chromium", args: ["--no-sandbox", "--enable-precise-memory-info"] });
	const page = await browser.newPage({ viewport: { width: 1400, height: 800 } });
	const tools = await page.context().newCDPSession(page);

	await page.addInitScript(watch);
	await tools.send("Performance.enable");
	await page.goto("file://" + path.resolve(process.argv[2]) + "#events=1");
	await page.waitForSelector("html[data-ready]");
	const drawn = await page.evaluate(() => performance.now());

	await page.waitForSelector("html[data-events]", { timeout: 120000 });
	const all = await page.evaluate(() => performance.now());
	const { metrics } = await tools.send("Performance.getMetrics");
	const script = metrics.find(m => m.name === "ScriptDuration").value;

	console.log(`  opened: drawn after ${(drawn / 1000).toFixed(2)} s, events after ` +
		`${(all / 1000).toFixed(2)} s, ${script.toFixed(2)} s in scripts`);
	await moves(page);
	const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } =
		await tools.send("Runtime.getHeapUsage");

	console.log("  memory: " + [["heap", usedSize], ["elements", embedderHeapUsedSize],
		["arrays", backingStorageSize]].map(([what, size]) =>
		`${what} ${(size / 1e6).toFixed(0)} MB`).join(", "));
	await browser.close();
}

main().catch(error => {
	console.error(error.message);
	process.exit(1);
});
