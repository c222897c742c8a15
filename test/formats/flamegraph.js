/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flamegraph.js - reads the contents of an xpumerge page, and folded stacks for comparison */
"use strict";
const fs = require("fs");

/* Return: [[frames, value...], ...] of folded lines with @nr values. */
function folded(file, nr = 1) {
	return fs.readFileSync(file, "utf8").split("\n").filter(line => line).map(line => {
		const words = line.split(" "), values = words.splice(-nr).map(Number);

		return [words.join(" ").split(";"), ...values];
	});
}

const sum = (lines, column = 1) => lines.reduce((a, l) => a + l[column], 0);
const leaf = line => line[0][line[0].length - 1];

/* Return: the page's name for device work, from its name in folded stacks. */
function shown(name) {
	const m = new RegExp("^\\[(GPU\\d*_Kernel|GPU\\d*_Memcpy|GPU\\d*_Memset|" +
		"GPU_Launch_Pending|Off_CPU|GPU_Wait)\\](.*)$", "s").exec(name);
	const what = m && m[1].replace(/^GPU\d*_/, "");

	return !m ? name : what === "Kernel" ? m[2] : what === "Memcpy" ? "copy " + m[2] :
		what === "Memset" ? "set" :
	       what === "Launch_Pending" ? "pending launch" : what === "Wait" ? "wait for " + m[2] :
		"off CPU: " + m[2];
}

async function ready(page) {
	await page.waitForSelector("html[data-ready]");
	await settle(page);
}

/* The page draws at once; the result is visible in the next animation frame. */
async function settle(page) {
	await page.evaluate(() => new Promise(f =>
		requestAnimationFrame(() => requestAnimationFrame(f))));
}

/* Return: the frames that the page has drawn: name, position and color of each frame. */
function drawn(page) {
	return page.$$eval("#chart svg", list => list.flatMap(svg => {
		const box = svg.getBoundingClientRect();

		return svg.frames.map(p =>
			({ name: p.name, x: box.x + p.x, y: box.y + p.y, width: p.w, fill: p.fill,
					      faded: Boolean(p.d.fade) }));
	}));
}

async function frame(page, name) {
	return (await drawn(page)).filter(f => f.name === name)
		.sort((a, b) => b.width - a.width)[0];
}

/*
 * Scrolls to the frame, because the pointer reaches nothing outside the window. Return: the frame.
 */
async function reached(page, name) {
	const f = await frame(page, name);

	await page.$eval("#chart", (chart, y) => {
		const box = chart.getBoundingClientRect();

		chart.scrollTop -= Math.max(0, box.top - y);
		chart.scrollTop += Math.max(0, y + 18 - box.bottom);
	}, f.y);
	return frame(page, name);
}

async function click(page, name) {
	const f = await reached(page, name);

	await page.mouse.click(f.x + Math.min(f.width / 2, 40), f.y + 8);
	await settle(page);
}

/* Return: a frame's tooltip, as an object that maps each label to its text. */
async function tip(page, name) {
	const f = await reached(page, name);

	await page.mouse.move(1, 1);
	await page.waitForSelector("#tip", { state: "hidden" });
	await page.mouse.move(f.x + f.width / 2, f.y + 8);
	await page.waitForSelector("#tip", { state: "visible" });
	return page.$eval("#tip", e => {
		const all = { name: e.querySelector("strong").textContent, hidden: e.hidden };

		e.querySelectorAll("dt").forEach(dt => {
			all[dt.textContent] = dt.nextSibling.textContent;
		});
		return all;
	});
}

/* The rows of the Top list: [name, self, total, count]. */
const rows = page => page.$$eval("#top tbody tr", list => list.map(tr => {
	const cells = [...tr.cells].map(c => c.textContent);

	return [cells[cells.length - 1], cells[0], cells[2], cells.length > 5 ? cells[4] : ""];
}));

/* Selects an entry in the options panel. */
async function choose(page, list, value) {
	await page.click("#options summary");
	await page.selectOption(list, value);
	await page.click("#options summary");
	await settle(page);
}

const number = text => parseFloat(text.replace(/,/g, ""));

module.exports = { choose, folded, sum, leaf, rows, shown, ready, settle, drawn, frame, click, tip,
	number };
