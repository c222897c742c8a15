/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads xpumerge's files into speedscope, and compares speedscope's exports with folded stacks. */
"use strict";
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const { ok, is, open, shot, run } = require("./browser.js");

const index = path.join(process.env.NODE_PATH, "speedscope/dist/release/index.html");

/* Return: speedscope's own JSON for @file, after importing it. */
async function imported(file) {
	const base64 = fs.readFileSync(file).toString("base64");

	/* speedscope's command line writes the same files. */
	fs.writeFileSync("load.js",
		`speedscope.loadFileFromBase64(${JSON.stringify(file)}, "${base64}")`);
	fs.writeFileSync("load.html", `<script>window.location = ${JSON.stringify(
		pathToFileURL(index) + "#localProfilePath=" + path.resolve("load.js"))}</script>`);
	const page = await open("load.html", { acceptDownloads: true });

	await page.waitForFunction(() => document.querySelector("canvas"));
	await page.waitForTimeout(1000);
	await shot(page, `speedscope-${file}`);
	const [download] = await Promise.all([
		page.waitForEvent("download"), page.keyboard.press("Control+s"),
	]);
	const json = JSON.parse(fs.readFileSync(await download.path(), "utf8"));
	ok(!page.complaints.some(c => c.startsWith("error")), `${file}: no exception is thrown`,
	   page.complaints.join("\n"));
	return json;
}

/* Return: the value of each stack, over all threads. */
function stacks(json) {
	const sums = new Map();

	for (const profile of json.profiles) {
		const open = [];
		let last = profile.startValue;

		/* Frames open and close; the time in between belongs to the open frames. */
		for (const e of profile.events) {
			const stack = open.map(f => json.shared.frames[f].name).join(";");

			if (e.at > last)
				sums.set(stack, (sums.get(stack) || 0) + e.at - last);
			last = e.at;
			if (e.type === "O")
				open.push(e.frame);
			else
				open.pop();
		}
	}
	return sums;
}

/* Return: the value of each innermost frame. */
function leaves(sums) {
	const leaves = new Map();

	for (const [stack, value] of sums) {
		const leaf = stack.slice(stack.lastIndexOf(";") + 1);

		if (value)
			leaves.set(leaf, (leaves.get(leaf) || 0) + value);
	}
	return leaves;
}

/*
 * Return: the value of each stack in a folded file; with @keep, the thread's name stays in the
 * stack.
 */
function folded(file, keep) {
	const sums = new Map();

	for (const line of fs.readFileSync(file, "utf8").split("\n").filter(l => l)) {
		const at = line.lastIndexOf(" ");
		const stack = line.slice(keep ? 0 : line.indexOf(";") + 1, at);

		sums.set(stack, (sums.get(stack) || 0) + Number(line.slice(at + 1)));
	}
	return sums;
}

function differences(got, wanted) {
	return [...new Set([...got.keys(), ...wanted.keys()])]
		.filter(stack => got.get(stack) !== wanted.get(stack)).slice(0, 3).join("\n");
}

run(async () => {
	is(differences(stacks(await imported("app.folded")), folded("app.folded", true)), "",
	   "folded: each stack has its nanoseconds");

	/*
	 * In this format, each sample lasts until the next sample, so only stacks can be compared.
	 */
	const perf = await imported("app.perf"), wanted = folded("app.folded", false);
	const got = [...stacks(perf).keys()].filter(s => s);

	is(perf.profiles.length, 4, "perf: each thread has a profile");
	is(got.filter(s => !wanted.has(s)).slice(0, 3).join("\n"), "",
	   "perf: the stacks are the same as in folded stacks");
	ok(got.length === wanted.size, `perf: all ${wanted.size} stacks are there`, got.length);

	is(differences(stacks(await imported("app.pb.gz")), wanted), "",
		"pprof: each stack has its nanoseconds");

	/*
	 * Each track is a profile; a stream's profile shows the stream's work. Times are in
	 * microseconds.
	 */
	const json = await imported("app.json"), ran = new Map();
	const streams = json.profiles.filter(p => / stream \d+ context /.test(p.name));

	for (const [name, us] of leaves(stacks({ ...json, profiles: streams }))) {
		/* speedscope appends the arguments to the name. */
		const leaf = name.replace(/ \{"correlation":.*/, "")
			.replace(/^memcpy /, "[GPU_Memcpy]")
			.replace(/^(?!\[)/, "[GPU_Kernel]");

		if (name)
			ran.set(leaf, (ran.get(leaf) || 0) + Math.round(us * 1000));
	}
	is(differences(ran, leaves(wanted)), "",
		`json: each of ${ran.size} kernels has its nanoseconds`);
	is(json.profiles.length - streams.length, 4, "json: each thread has a profile");
});
