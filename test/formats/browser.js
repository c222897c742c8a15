/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * browser.js - pages in headless Chromium
 *
 * Screenshots go to the directory XPU_SHOTS.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const { chromium } = require("playwright-core");
const tap = require("./tap.js");

let browser;

/*
 * Opens a file, or one of the browser's own pages. page.complaints receives its console messages,
 * the exceptions that it throws, and its requests for other files.
 */
async function open(file, options = {}) {
	const [name, hash] = file.split(/(#.*)/s);
	const address = file.includes("://") ? file : pathToFileURL(path.resolve(name)).href,
		url = address + (hash || "");
	const context = await browser.newContext({ viewport: { width: 1400, height: 800 },
		...options });
	const page = await context.newPage();

	page.complaints = [];
	page.on("console", m => page.complaints.push(`${m.type()}: ${m.text()}`));
	page.on("pageerror", e => page.complaints.push(`error: ${e.message}`));
	page.on("dialog", d => { page.complaints.push(`dialog: ${d.message()}`); d.dismiss(); });
	page.on("request", r => {
		if (r.url().split("#")[0] !== address.split("#")[0])
			page.complaints.push(`request: ${r.url()}`);
	});
	await page.goto(url);
	return page;
}

async function shot(page, name) {
	await page.screenshot({ path: path.join(process.env.XPU_SHOTS, name + ".png") });
}

/* Return: the serious findings of axe. */
async function findings(page) {
	await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
	const result = await page.evaluate(() =>
		globalThis.axe.run(document, { resultTypes: ["violations"] }));

	return result.violations.filter(v => ["serious", "critical"].includes(v.impact))
		.map(v =>
			`${v.id}: ` + v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary)
				.slice(0, 3).join("; "));
}

/* Runs @tests with a browser, and reports the results. */
async function run(tests) {
	browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		/* The browser's own sandbox needs features that containers and root do not have. */
		args: ["--no-sandbox"],
	});
	await tap.run(tests, () => browser.close());
}

module.exports = { ...tap, findings, open, shot, run };
