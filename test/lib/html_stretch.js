/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * html_stretch.js SOURCES PAGE FIRST-LAST...: prints what the page's own modules find in selected
 * stretches of the page's time, which consist of whole bins
 *
 * SOURCES: a copy of the page's modules, for node. FIRST and LAST are fractions of the page's time.
 * The output is JSON, with the bounds of each stretch in ns, the sums of each kind, the sums of
 * kernels by name, and the sums of the overview's lines.
 */
"use strict";
const fs = require("fs"), path = require("path");
const [sources, page, ...stretches] = process.argv.slice(2);
const text = /<script[^>]* id="?xpu-data"?[^>]*>([^]*?)<\/script>/.exec(fs.readFileSync(page,
	"utf8"))[1];
const element = { textContent: text, dataset: {}, style: {} };

globalThis.document = { getElementById: () => element, querySelector: () => element,
	documentElement: element };
globalThis.location = { hash: "" };

(async () => {
	const at = name => path.resolve(sources, name);
	const { cells, data, kinds, times } = await import(at("data.js"));
	const model = await import(at("model.js"));
	const nameOf = c => data.frames.name[data.nodes.frame[data.cells.node[c]]];
	const out = stretches.map(words => {
		const [first, last] = words.split("-").map(part => Math.round(part * times.nr)),
			sums = {};

		model.state.from = first;
		model.state.to = last;
		model.pick();
		const v = model.cellValues(0);

		for (let c = 0; c < cells.nr; c++) {
			const kind = kinds[cells.kind[c]],
				key = kind === "kernel" ? nameOf(c) : kind;
			const sum = sums[key] || [0, 0];

			sums[key] = [sum[0] + v.ns[c], sum[1] + v.nr[c]];
		}
		const from = times.from + first * times.width, to = times.from + last * times.width,
			rows = {};

		for (const row of times.rows.list.filter(r => r.kind !== undefined))
			row.bin.forEach((bin, k) => {
				const ns = times.rows.from_ns + bin * times.rows.bin_ns;

				if (ns >= from && ns < to)
					rows[kinds[row.kind]] = (rows[kinds[row.kind]] || 0) +
					row.ns[k];
			});
		return { from, to, sums, rows };
	});

	console.log(JSON.stringify(out));
})();
