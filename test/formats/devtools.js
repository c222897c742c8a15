/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Performance panel draws on a canvas. Rows have fixed positions, and the text below the canvas
 * describes the clicked item.
 */
"use strict";
const fs = require("fs");
const { ok, is, open, shot, run } = require("./browser.js");

const PANEL = "devtools://devtools/bundled/devtools_app.html?panel=timeline";
const FIRST_ROW = 129, CHILD = 17, ROW = 21;	/* pixels, as the panel draws them */

async function click(page, x, y) {
	await page.mouse.click(x, y);
	await page.waitForTimeout(300);
}

/* Returns the panel's text about the clicked item. */
async function summary(page) {
	const details = page.locator(".timeline-details");

	return await details.count() ? details.first().innerText() : "";
}

run(async () => {
	const events = JSON.parse(fs.readFileSync("demo.json", "utf8")).traceEvents;
	const gpus = new Set(events.filter(e => /^(kernel|mem)/.test(e.cat)).map(e => e.pid));
	const tracks = { host: new Set(), gpu: new Set() };
	const names = new Set(events.filter(e => gpus.has(e.pid) && e.ph === "X").map(e => e.name));

	for (const e of events.filter(e => e.ph === "X"))
		tracks[gpus.has(e.pid) ? "gpu" : "host"].add(e.tid);

	const page = await open(PANEL, { viewport: { width: 1400, height: 760 } });

	const sidebar = page.getByRole("button", { name: "Hide sidebar" });

	/* Until the panel is ready, it silently ignores files. */
	for (let i = 0; i < 5 && !await sidebar.count(); i++) {
		await page.waitForTimeout(2000);
		await page.locator("input[type=file]").first().setInputFiles("demo.json");
		await sidebar.waitFor({ timeout: 15000 }).catch(() => {});
	}
	/* Hints appear after the timeline, and cover it until they are closed. */
	for (let i = 0; i < 20 && await sidebar.count(); i++) {
		await page.waitForTimeout(2000);
		await click(page, 1372, 77);
		await sidebar.click({ timeout: 1000 }).catch(() => {});
	}
	await page.waitForTimeout(1000);

	/*
	 * Opens both processes, then each track, from bottom to top, so that the rows above do not
	 * move.
	 */
	const first = FIRST_ROW + CHILD, gpu = first + tracks.host.size * ROW;

	await click(page, 60, FIRST_ROW + ROW);
	await click(page, 60, FIRST_ROW);
	for (let i = tracks.gpu.size - 1; i >= 0; i--)
		await click(page, 60, gpu + CHILD + i * ROW);
	for (let i = tracks.host.size - 1; i >= 0; i--)
		await click(page, 60, first + i * ROW);
	await page.mouse.move(480, 300);
	for (let i = 0; i < 5; i++) {
		await page.mouse.wheel(0, -120);
		await page.waitForTimeout(250);
	}

	/*
	 * Clicks until device work is hit. Streams are at the bottom, but the height of the
	 * threads' rows above them varies.
	 */
	let told = "";

	for (const x of [700, 450, 950, 200])
		for (let y = 550; y > FIRST_ROW && !told; y -= 12) {
			await click(page, x, y);
			told = (await summary(page)).split("\n")[0];
			if (!names.has(told))
				told = "";
		}
	ok(told, "device work can be clicked");
	ok((await summary(page)).includes("Duration"),
	   `the summary has the duration of ${told}`);
	await page.waitForTimeout(500);
	await shot(page, "timeline");
	is(page.complaints.filter(c => c.startsWith("error")).join("\n"), "",
		"no exception is thrown");
});
