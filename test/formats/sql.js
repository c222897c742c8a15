/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sql.js: runs the recipes of scripts/sql/ in DuckDB, on tables of recordings that sql.sh makes,
 * and compares the results with xpumerge's own CSV.
 */
"use strict";

const fs = require("fs");
const { ok, is, run } = require("./tap.js");

const RANKS = [0, 1, 2, 3, 4];
const ALL = 1000000;

/* Return: the rows of an xpumerge table, as objects of strings. */
function csv(file) {
	const rows = fs.readFileSync(file, "utf8").split("\n").filter(line => line).map(line => {
		const cells = [];

		for (const [, quoted,
			plain] of line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g))
			cells.push(quoted === undefined ? plain : quoted.replace(/""/g, "\""));
		return cells;
	});
	const names = rows.shift();

	return rows.map(cells => Object.fromEntries(names.map((name, i) => [name, cells[i]])));
}

/* Return: the recipe without its comments; @limit replaces its number of rows per rank. */
function recipe(name, limit) {
	const text = fs.readFileSync(`${process.env.XPU_SRC}/scripts/sql/${name}.sql`, "utf8")
		.replace(/^--.*$/gm, "");

	return limit ? text.replace(/<= [12]0\b/, `<= ${limit}`).replace(/LIMIT \d+/g, m =>
		/LIMIT 1$/.test(m) ? m : `LIMIT ${limit}`) : text;
}

function sum(rows, key) {
	return rows.reduce((n, row) => n + Number(row[key]), 0);
}

function lines(rows) {
	return rows.map(row => Array.isArray(row) ? row.join(" ") : row).sort().join("\n");
}

function median(values) {
	const v = [...values].sort((a, b) => a - b);

	return v.length % 2 ? v[(v.length - 1) / 2] : (v[v.length / 2 - 1] + v[v.length / 2]) / 2;
}

/* Return: a rank's device time by call path, outside of collectives. */
function ownByPath(rank) {
	const paths = new Map();

	for (const row of csv(`rank${rank}.launch_sites.csv`))
		paths.set(row.path, (paths.get(row.path) || 0) + Number(row.total_ns));
	for (const row of csv(`rank${rank}.nccl.csv`))
		paths.set(row.path, paths.get(row.path) - Number(row.total_ns));
	return new Map([...paths].filter(([, ns]) => ns));
}

async function main() {
	const { DuckDBInstance } = require("@duckdb/node-api");
	const db = await (await DuckDBInstance.create(":memory:")).connect();
	const sites = RANKS.map(rank => csv(`rank${rank}.launch_sites.csv`));
	let rows;

	async function query(sql) {
		const got = (await db.runAndReadAll(sql)).getRowObjects();

		for (const row of got)
			for (const key in row)
				if (typeof row[key] === "bigint")
					row[key] = Number(row[key]);
		return got;
	}

	async function open(dir) {
		await db.run(`SET VARIABLE dir = '${dir}'`);
		for (const statement of recipe("duckdb").split(";"))
			if (statement.trim())
				await db.run(statement);
	}

	await open("ranks");

	/* ---- top paths */
	rows = await query(recipe("top_paths", ALL));
	is(lines(rows.map(r => [r.rank, r.device_ns, r.records, r.comm, r.path])),
	   lines(sites.flatMap((table, rank) => table.filter(r => r.pending === "0")
		.map(r => [rank, r.total_ns, r.instances, r.comm, r.path]))),
	   "top_paths: each path of each rank, the same as in xpumerge's launch_sites");
	rows = await query(recipe("top_paths"));
	is(lines(rows.map(r => [r.rank, r.device_ns])),
	   lines(sites.flatMap((table, rank) => table.slice(0, 10).map(r => [rank, r.total_ns]))),
	   "top_paths: the ten largest of each rank");
	ok(rows.every(r => Math.abs(r.percent -
		100 * r.device_ns / sum(sites[r.rank], "total_ns")) <= .05),
	   "top_paths: the shares are right");

	/* ---- stragglers */
	const work = RANKS.map(rank => ({
		launches: Number(/^launches (\d+) matched \1 /m
			.exec(fs.readFileSync(`rank${rank}.log`, "utf8"))[1]),
		device: sum(sites[rank], "total_ns"),
		own: sum(csv(`rank${rank}.kernels.csv`).filter(r => !r.name.startsWith("nccl")),
			"total_ns") + sum(csv(`rank${rank}.memory_time.csv`), "total_ns"),
	}));

	rows = await query(recipe("stragglers"));
	is(lines(rows.map(r => [r.rank, r.launches, r.device_ns, r.own_ns])),
	   lines(work.map((w, rank) => [rank, w.launches, w.device, w.own])),
	   "stragglers: the same as in xpumerge's kernels and copies");
	is(rows[0].rank, 3, "stragglers: the slow rank is the first row");
	is(rows[0].own_of_median,
		Math.round(1000 * work[3].own / median(work.map(w => w.own))) / 1000,
	   "stragglers: the difference is to the median");

	rows = await query(recipe("straggler_paths", ALL));
	const own = RANKS.map(ownByPath);

	is(lines(rows.map(r => [r.rank, r.ns, r.median_ns, r.later_ns, r.path])),
	   lines([...own[3]].map(([path, ns]) => {
		const middle = median(own.map(paths => paths.get(path) || 0));

		return [3, ns, middle, ns - middle, path];
	   })), "straggler_paths: each path of the slow rank, minus the median");
	ok(rows[0].later_ns > 0, `straggler_paths: the first row is ${rows[0].later_ns} ns late`);

	/* ---- regressed */
	await db.run("CREATE SCHEMA before; CREATE SCHEMA after");
	await db.run("CREATE VIEW before.device AS " +
		     "FROM read_parquet('ranks/device/rank=0/*.parquet')");
	await db.run("CREATE VIEW after.device AS " +
		     "FROM read_parquet('ranks/device/rank=3/*.parquet')");
	rows = await query(recipe("regressed", ALL));
	const runs = [0, 3].map(rank =>
		new Map(csv(`rank${rank}.kernels.csv`).map(r => [r.name, r])));
	const kernels = [...new Set(runs.flatMap(r => [...r.keys()]))];

	is(lines(rows.map(r => [r.name, r.launches_before, r.launches_after, r.ns_before,
		r.ns_after])),
	   lines(kernels.map(name => [name, ...["instances", "total_ns"].flatMap(key =>
		runs.map(r => r.has(name) ? r.get(name)[key] : 0))])),
			"regressed: kernels of both runs, the same as in xpumerge");
	ok(rows[0].avg_ns_after > 1.3 * rows[0].avg_ns_before &&
		rows.filter(r => r.name.startsWith("nccl"))
		.every(r => r.slower_ns < rows[0].slower_ns / 2),
		"regressed: slower kernels come before equal ones");

	/* ---- collectives */
	rows = await query(recipe("collectives"));
	const ranks = csv("ranks.csv");

	ok(sum(ranks, "wait_ns") > 0 && sum(ranks, "paired") > 1000,
		`collectives: ${sum(ranks, "paired")} operations`);
	is(lines(rows.map(r => [r.rank, r.collectives, r.waited_ns, r.transfer_ns])),
	   lines(ranks.map(r => [r.rank, r.paired, r.wait_ns, r.transfer_ns])),
	   "collectives: waits and transfers of each rank, the same as in xpumerge ranks");
	is(sum(rows, "waited_for_it_ns"), sum(rows, "waited_ns"),
	   "collectives: each wait is attributed to a rank");

	/* ---- a live recording, with off-CPU times: gaps */
	await open("live");
	rows = await query(recipe("idle", ALL));
	const idle = new Map(), told = new Map();

	for (const r of csv("live.idle.csv")) {
		const thread = /^(.*) \(tid (\d+)\): /.exec(r.name);

		if (thread) {
			const key = `${r.device} ${thread[2]}`;

			told.set(key, (told.get(key) || 0) + Number(r.idle_ns));
		}
	}
	for (const r of rows)
		idle.set(`${r.gpu} ${r.tid}`, (idle.get(`${r.gpu} ${r.tid}`) || 0) + r.idle_ns);
	ok(told.size > 1 && sum(rows, "gaps") > 10,
		`idle: ${sum(rows, "gaps")} gaps of ${told.size} threads`);
	is(lines([...idle]), lines([...told]),
	   "idle: by device and thread, the same as in xpumerge's idle table");

	rows = await query(recipe("host_waits", ALL));
	const waits = fs.readFileSync("live.waits", "utf8").split("\n").filter(line => line);
	const shown = new Map();

	for (const r of rows) {
		const label = r.kind === "gpu_wait" ? "[GPU_Wait]" : "[Off_CPU]";
		const line =
			`${r.comm.replace(/;/g, ":")};${r.path};${label}` +
			r.name.replace(/;/g, ":");

		shown.set(line, (shown.get(line) || 0) + r.ns);
	}
	ok(waits.length > 2, `host_waits: ${waits.length} lines`);
	is(lines([...shown].map(([line, ns]) => `${line} ${ns}`)), lines(waits),
	   "host_waits: the same as in xpumerge's folded waits");

	/*
	 * ---- windows of --capture: the time between them was not recorded, so no GPU was idle
	 * then
	 */
	await open("windows");
	rows =
		await query("SELECT \"window\", open_ns, close_ns, launches FROM windows " +
			    "ORDER BY open_ns");
	const closed = [...fs.readFileSync("windows.dump", "utf8").matchAll(
		/WINDOW misc=closed number=(\d+) time_ns=(\d+) open_ns=(\d+) nr_launches=(\d+)/g)];

	is(closed.length, 5, "windows: five were recorded");
	is(lines(rows.map(r => [r.window, r.close_ns, r.open_ns, r.launches])),
		lines(closed.map(m => m.slice(1))), "windows: each has a row");
	const longest = Math.max(...rows.map(r => r.close_ns - r.open_ns));

	rows = await query(recipe("idle", ALL));
	ok(rows.every(r => r.longest_ns <= longest),
		"idle: no gap reaches back to before its window",
	   `${Math.max(...rows.map(r => r.longest_ns))} ns, of ${longest}`);

	/* ---- memory, except physical memory, because the recipe does not follow its mappings */
	await open("memory");
	rows = await query(recipe("memory", ALL));
	for (const [view, key] of [["allocated", "allocated_bytes"],
		["leaked", "never_freed_bytes"]]) {
		const held = fs.readFileSync(`memory.${view}`, "utf8").split("\n").filter(line =>
			line && !/\](physical|fragmentation|before the recording) \d+$/.test(line));
		const of = rows.filter(r => r.space !== "physical" && r[key])
			.map(r => `${r.comm.replace(/;/g, ":")};${r.path};` +
			`[${/pinned|registered/.test(r.space) ? "Host" : "GPU"}_Memory]` +
			`${r.space} ${r[key]}`);

		ok(held.length > 10, `memory: ${held.length} call paths and kinds, ${view}`);
		is(lines(of), lines(held),
			`memory: ${view}, the same as with xpumerge --memory ${view}`);
	}
	await open("live");

	/* Computes the samples in gaps directly, from each piece of work and all earlier pieces. */
	rows = await query(recipe("idle_host", ALL));
	const plain =
		await query(`WITH ends AS
			(SELECT gpu, process_id, launch_tid AS tid, start_ns AS to_ns,
				max(start_ns + duration_ns) OVER
					(PARTITION BY gpu ORDER BY start_ns, duration_ns
					 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
				AS from_ns FROM device)
		SELECT g.gpu, s.process_id::VARCHAR AS process, s.path_id, count(*) AS n
			FROM samples AS s JOIN ends AS g
			ON s.process_id = g.process_id AND s.tid = g.tid
			   AND s.time_ns >= g.from_ns AND s.time_ns < g.to_ns
		WHERE g.to_ns - g.from_ns >= 10000 GROUP BY ALL`);

	is(lines(rows.map(r => r.samples)), lines(plain.map(r => r.n)),
		"idle_host: each sample in a gap, by call path");
	ok(rows.length > 0, `idle_host: ${sum(rows, "samples")} samples in gaps`);
}

run(main);
