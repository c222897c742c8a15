/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const fs = require("fs");
const { ok, is, findings, open, shot, run } = require("./browser.js");
const { ready, settle, drawn, frame, tip, number } = require("./flamegraph.js");

const tables = name => JSON.parse(fs.readFileSync(`${name}.json`, "utf8"));

/* Return: the rows of the ranks table, as objects by column title. */
const rows = page => page.$$eval("#ranks-table tbody tr", list => {
	const titles = [...document.querySelectorAll("#ranks-table thead th")]
		.map(th => th.textContent);

	return list.map(tr => Object.fromEntries([...tr.cells].map((cell, k) =>
		[titles[k], cell.title && / ns$/.test(cell.title) ?
			cell.title : cell.textContent])));
});
const text = (page, id) => page.textContent("#" + id);
/* Return: the complaints without the browser's message about heatRow(). */
const complaints = page =>
	page.complaints.filter(line => !line.includes("willReadFrequently")).join("\n");
const shownTab = page => page.$eval('[role="tab"][aria-selected="true"]', e => e.textContent);

/* Return: the mean color of one of the @nr rows of the heat strip, as [red, green, blue]. */
const heatRow = (page, y, nr) => page.$eval("#heat", (canvas, [y, nr]) => {
	const h = canvas.height / nr,
		d = canvas.getContext("2d")
		.getImageData(0, Math.floor((y + .4) * h), canvas.width, 1).data;
	const sum = [0, 0, 0];

	d.forEach((v, i) => { if (i % 4 < 3) sum[i % 4] += v * 4 / d.length; });
	return sum;
}, [y, nr]);

async function testTable() {
	const t = tables("eight"), page = await open("eight.html");

	await ready(page);
	await shot(page, "ranks");
	is(await shownTab(page), "Ranks", "the page opens on the ranks");
	const byCaused = [...t.ranks].sort((a, b) => b.caused_ns - a.caused_ns || a.rank - b.rank),
		list = await rows(page);

	is(list.map(r => r.Rank).join(), byCaused.map(r => r.rank).join(),
		"the table has each rank, the worst straggler first");
	for (const [title, key] of [["Caused", "caused_ns"], ["Waiting", "wait_ns"],
		["Transfer", "transfer_ns"], ["Own work", "own_ns"],
				    ["Busy", "busy_ns"]])
		is(list.map(r => number(r[title])).join(), byCaused.map(r => r[key]).join(),
		   `${title}: the same as in the tables`);
	is(list.map(r => number(r.Launches)).join(), byCaused.map(r => r.launches).join(),
	   "Launches: the same as in the tables");
	ok(/^Rank 2 on node0 made other ranks wait/.test(await text(page, "ranks-answer")),
	   "the first line names the late rank");
	ok(/load_batch › nanosleep › off CPU: sleep/.test(await text(page, "ranks-answer")),
	   "the first line has the rank's late path");
	is(list.filter(r => r.Rank !== "2").every(r => /^2 \(/.test(r["Waited for"])), true,
		"all others waited for it longest");
	for (const [sort, key] of [["wait_ns", "wait_ns"], ["number", "rank"]]) {
		await page.click(`[data-sort="${sort}"]`);
		const sign = key === "rank" ? 1 : -1;

		is((await rows(page)).map(r => r.Rank).join(),
			[...t.ranks].sort((a, b) => sign * (a[key] - b[key]) || a.rank - b.rank)
			.map(r => r.rank).join(), `sorted by ${sort}`);
		is(await page.evaluate("document.activeElement.dataset.sort"), sort,
			"the focus stays on the column");
	}
	for (const [term, expected] of [["0-2,7", "0,1,2,7"], ["node1", "1,3,5,7"],
		["node1 0-3", "1,3"], ["nobody", ""], ["3", "3"]]) {
		await page.fill("#ranks-filter", term);
		is((await rows(page)).map(r => r.Rank).join(), expected,
		   `filter ${term}: exactly these ranks are shown`);
	}
	ok(await page.$eval("#ranks-table", e => e.scrollWidth <= e.clientWidth),
	   "1400 pixels: the table of ranks fits");
	await page.reload();
	await ready(page);
	is((await rows(page)).map(r => r.Rank).join(), "3", "the address keeps the filter");
	await page.keyboard.press("Escape");
	is((await rows(page)).length, 8, "Escape removes the filter");
	is(complaints(page), "", "there is no complaint");
	await page.context().close();
}

async function testPaths() {
	for (const [name, rank, words, kind] of [["eight", 2, "off CPU: sleep", "off_cpu"],
		["gpu", 1, "matmul", "device"]]) {
		const late = tables(name).late_paths.find(p => p.rank === rank && p.kind === kind),
			page = await open(`${name}.html#unit=ns`);

		await ready(page);
		await page.click("#ranks-table tr.culprit td:nth-child(3)");
		await settle(page);
		is(await shownTab(page), "Time",
			`${name}: a straggler's row leads to its call paths`);
		ok(await frame(page, words),
		   `${name}: the late path is drawn`, (await drawn(page)).map(f => f.name).join());
		const t = await tip(page, words);

		is(`${number(t.rank)} ${number(t.median)}`, `${late.rank_ns} ${late.median_ns}`,
		   `${name}: the tooltip has the rank's time and the median`);
		is(number(t["rank \u2212 median"].replace("+", "")), late.late_ns,
		   `${name}: the tooltip has the difference`);
		await shot(page, `ranks-paths-${name}`);
		/* Red means more than the median. */
		const [hue] = /hsla?\((\d+)/.exec((await frame(page, words)).fill).slice(1);

		is(hue, "4", `${name}: the late path is red`);
		await page.goBack();
		await settle(page);
		is(await shownTab(page), "Ranks", `${name}: Back leads to the ranks`);
		is(complaints(page), "", `${name}: there is no complaint`);
		await page.context().close();
	}
}

async function testHeat() {
	const page = await open("eight.html");

	await ready(page);
	const light = c => c[1];
	const waits = [];

	for (let y = 0; y < 8; y++)
		waits.push(light(await heatRow(page, y, 8)));
	is(waits.indexOf(Math.max(...waits)), 2,
		"waits over time: the straggler's row is the palest");
	await page.click('[data-heat="caused"]');
	const caused = [];

	for (let y = 0; y < 8; y++)
		caused.push(light(await heatRow(page, y, 8)));
	is(caused.indexOf(Math.min(...caused)), 2,
	   "caused waits over time: the straggler's row is the darkest");
	await shot(page, "ranks-caused");
	await page.click('[data-heat="waits"]');
	await page.focus("#heat-box");
	for (let i = 0; i < 30; i++)
		await page.keyboard.press("ArrowRight");
	const words = await text(page, "heat-words");

	ok(/^rank 0: .* to .*: .*for rank 2: /.test(words),
	   "arrow keys: the place is described in words", words);
	const box = await (await page.$("#heat")).boundingBox();

	await page.mouse.move(box.x + box.width / 2, box.y + box.height * 5.5 / 8);
	await page.waitForSelector("#tip", { state: "visible" });
	ok(/^rank 5/.test(await text(page, "tip")) && /for rank 2/.test(await text(page, "tip")),
		"a tooltip says who waited for whom",
	   await text(page, "tip"));
	await page.focus("#heat-box");
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	await settle(page);
	is(`${await shownTab(page)} ${await page.inputValue("#rank")}`, "Time 2",
		"Enter shows the straggler's call paths");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	is(await shownTab(page), "Ranks", "Escape returns to the ranks");
	await page.context().close();
}

async function testCollectives() {
	const t = tables("eight"), page = await open("eight.html");

	await ready(page);
	const list = await page.$$eval("#ranks-collectives tbody tr",
		trs => trs.map(tr => [...tr.cells].map(c => c.textContent)));

	is(list.map(r => `${r[0]} ${r[1]} ${r[6]} ${r[7]}`).join("\n"), t.collectives.map(c =>
		`${c.operation.replace(/^NCCL:/, "")} ${c.communicator} ${c.count} ${c.ranks}`)
			.join("\n"), "collectives: the same as in the tables");
	ok(list.some(r => r[0] === "sends and receives"),
		"the collectives include sends and receives");
	await page.click('#ranks-collectives [data-collective="1"]');
	ok((await text(page, "heat-words")).includes(t.collectives[1].communicator),
	   "a click shows the waits of one collective");
	is(await page.evaluate("document.activeElement.dataset.collective"), "1",
	   "a click on a collective keeps the focus");
	ok(/collective=1/.test(page.url()), "the address keeps the collective");
	await page.keyboard.press("Enter");
	ok(!(await text(page, "heat-words")).includes("only"),
		"a second click shows all waits again");
	is(await page.$$eval("#ranks-rest h2", l => l.map(h => h.textContent).join()), "Clocks",
	   "two hosts: the page shows their clocks");
	is(complaints(page), "", "there is no complaint");
	await page.context().close();
}

async function testMany() {
	const t = tables("many"), page = await open("many.html"), start = Date.now();

	await ready(page);
	ok(Date.now() - start < 10000, `1,000 ranks: ready after ${Date.now() - start} ms`);
	is((await rows(page)).length, 1000, "1,000 ranks have a row each");
	ok(/^Rank 312 on node62/.test(await text(page, "ranks-answer")),
	   "1,000 ranks: the straggler is named");
	await shot(page, "ranks-many");
	await page.click('[data-heat="caused"]');
	await shot(page, "ranks-many-caused");
	/* Five ranks share one row. */
	const rest = (await heatRow(page, 100, 200))[1], its = (await heatRow(page, 62, 200))[1];

	ok(its < rest - 50, "1,000 ranks: the straggler is visible over time", `${its} ${rest}`);
	await page.fill("#ranks-filter", "300-320");
	is((await rows(page)).length, 21, "a filter by number leaves 21 ranks");
	await page.fill("#ranks-filter", "node62");
	is((await rows(page)).map(r => r.Rank).sort().join(),
		t.ranks.filter(r => r.host === "node62").map(r => String(r.rank)).sort().join(),
	   "a filter by host leaves its ranks");
	is((await page.$$("#rank option")).length, 65, "64 stragglers have call paths");
	is(complaints(page), "", "there is no complaint");
	await page.context().close();
}

async function testHostile() {
	const page = await open("hostile.html");

	await ready(page);
	await shot(page, "ranks-hostile");
	is((await rows(page))[0].Host, "<b onclick=alert(3)>1",
		"a hostile host name is shown as text");
	await page.click("#ranks-table tr.culprit td:nth-child(3)");
	await settle(page);
	ok((await drawn(page)).some(f => f.name.includes("alert(1)")),
	   "hostile function names are shown as text", (await drawn(page)).map(f => f.name).join());
	await page.keyboard.press("2");
	await settle(page);
	is(complaints(page), "", "hostile names: nothing runs");
	const one = await open("one.html");

	await ready(one);
	ok(/^No rank made others wait/.test(await text(one, "ranks-answer")),
	   "one rank alone: the page says that no rank made others wait");
	await one.keyboard.press("1");
	await settle(one);
	ok(/matches the selection/.test(await text(one, "chart")),
	   "one rank alone: there are no call paths");
	is(one.complaints.join("\n"), "", "there is no complaint");
	for (const hash of ["#rank=99&view=ranks&collective=77777&over=x",
		"#ranks=constructor&only=%00((&rank=-1", "#rank=<b>&collective=-5"]) {
		const odd = await open(`eight.html${hash}`);

		await ready(odd);
		is(odd.complaints.join("\n"), "", `an odd address does no harm: ${hash}`);
		await odd.context().close();
	}
	await page.context().close();
	await one.context().close();
}

async function testAxe() {
	const looks = [["light", {}], ["dark", { colorScheme: "dark" }],
		["narrow", { viewport: { width: 500, height: 800 } }]];

	for (const [name, options] of looks) {
		const page = await open("eight.html", options);

		await ready(page);
		is((await findings(page)).join("\n"), "", `axe finds no fault, ${name}: the ranks`);
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
			`${name}: fits its window`);
		await shot(page, `ranks-${name}`);
		await page.click("#ranks-answer button");
		await settle(page);
		is((await findings(page)).join("\n"), "",
		   `axe finds no fault, ${name}: a straggler's call paths`);
		ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
		   `${name}: the call paths fit the window, too`);
		await shot(page, `ranks-paths-${name}`);
		await page.context().close();
	}
}

run(async () => {
	await testTable();
	await testPaths();
	await testHeat();
	await testCollectives();
	await testMany();
	await testHostile();
	await testAxe();
});
