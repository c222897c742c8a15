/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flamegraph.js - what a page of xpumerge shows, and folded stacks to compare it with
 */
"use strict";
const fs = require("fs");

/* [[frames, value...], ...] of folded lines with @nr values. */
function folded(file, nr = 1) {
	return fs.readFileSync(file, "utf8").split("\n").filter(line => line).map(line => {
		const words = line.split(" "), values = words.splice(-nr).map(Number);

		return [words.join(" ").split(";"), ...values];
	});
}

const sum = (lines, column = 1) => lines.reduce((a, l) => a + l[column], 0);
const leaf = line => line[0][line[0].length - 1];

/* Return: the page's name of a piece of work, by that of folded stacks. */
function shown(name) {
	const m = /^\[(GPU\d*_Kernel|GPU\d*_Memcpy|GPU\d*_Memset|GPU_Launch_Pending|Off_CPU|GPU_Wait)\](.*)$/s.exec(name);
	const what = m && m[1].replace(/^GPU\d*_/, "");

	return !m ? name : what === "Kernel" ? m[2] : what === "Memcpy" ? "copy " + m[2] : what === "Memset" ? "set" :
	       what === "Launch_Pending" ? "pending launch" : what === "Wait" ? "wait for " + m[2] : "off CPU: " + m[2];
}

async function ready(page) {
	await page.waitForSelector("html[data-ready]");
	await settle(page);
}

/* Labels come a moment after the frames. */
async function settle(page) {
	await page.waitForTimeout(400);
}

/* Returns the frames that the page has drawn: the name, place and colour of each. */
function drawn(page) {
	return page.$$eval("#chart g.frame", groups => groups.map(g => {
		const box = g.querySelector("rect").getBoundingClientRect();

		return { name: g.getAttribute("name"), x: box.x, y: box.y, width: box.width,
			 fill: g.querySelector("rect").getAttribute("fill"),
			 faded: g.classList.contains("fade") };
	}));
}

async function frame(page, name) {
	return (await drawn(page)).filter(f => f.name === name).sort((a, b) => b.width - a.width)[0];
}

/* The frame, scrolled to: the pointer reaches nothing outside the window. */
async function reached(page, name) {
	const { width } = await frame(page, name);

	await page.$$eval("#chart g.frame", (groups, [name, width]) => groups
		.find(g => g.getAttribute("name") === name &&
			   g.querySelector("rect").getBoundingClientRect().width === width)
		.scrollIntoView({ block: "nearest" }), [name, width]);
	return frame(page, name);
}

async function click(page, name) {
	const f = await reached(page, name);

	await page.mouse.click(f.x + Math.min(f.width / 2, 40), f.y + 8);
	await settle(page);
}

/* The tooltip of a frame, by its labels. */
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

const number = text => parseFloat(text.replace(/,/g, ""));

module.exports = { folded, sum, leaf, shown, ready, settle, drawn, frame, click, tip, number };
