/* SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
const { ok, is, open, shot, run } = require("./browser.js");
const { folded, sum, leaf, ready, settle, drawn, tip, number } = require("./flamegraph.js");

/* By the kinds of the page: the lines of folded stacks that have them at their ends. */
const ENDS = {
	kernel: /^\[GPU_Kernel\]/, memcpy: /^\[GPU_Memcpy\]/, memset: /^\[GPU_Memset\]/,
	pending: /^\[GPU_Launch_Pending\]/, gpu_wait: /^\[GPU_Wait\]/, off_cpu: /^\[Off_CPU\]/,
	cpu: /^(?!\[(GPU_|Off_CPU))/,
};

run(async () => {
	const lines = folded("live.folded"), page = await open("live.html");

	await ready(page);
	await shot(page, "html-live");
	const kinds = await page.$$eval("#kinds button", b => b.map(e => e.dataset.kind));

	for (const kind of ["kernel", "memcpy", "memset", "cpu", "gpu_wait"])
		ok(kinds.includes(kind), `there is a button for ${kind}`, kinds);
	await page.click('[data-mode="both"]');
	await page.selectOption("#unit", "ns");
	await settle(page);
	is(number((await tip(page, "all")).total), sum(lines), "all of it");
	for (const kind of kinds) {
		const total = sum(lines.filter(l => ENDS[kind].test(leaf(l))));

		await page.click(`[data-kind="${kind}"]`, { modifiers: ["Shift"] });
		await settle(page);
		if (total)
			is(number((await tip(page, "all")).total), total, `nothing but ${kind}`);
		else
			is((await drawn(page)).length, 0, `nothing of ${kind}`);
		await shot(page, `html-live-${kind}`);
	}
	is(page.complaints.join("\n"), "", "no error, no message, no request");
	await page.context().close();
});
