/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tables.js DIR [RECIPE...]: measures each recipe of scripts/sql/ in DuckDB on the tables in DIR,
 * each time in a fresh DuckDB
 */
"use strict";

const fs = require("fs");
const { DuckDBInstance } = require("@duckdb/node-api");

const RECIPES = ["top_paths", "stragglers", "straggler_paths", "regressed", "idle", "idle_host",
	"collectives", "host_waits"];

function recipe(name) {
	return fs.readFileSync(`${process.env.XPU_SRC}/scripts/sql/${name}.sql`, "utf8")
		.replace(/^--.*$/gm, "");
}

async function main() {
	const [dir, ...names] = process.argv.slice(2);
	let failed = false;

	for (const name of names.length ? names : RECIPES) {
		const instance = await DuckDBInstance.create(":memory:");
		const db = await instance.connect();

		await db.run(`SET VARIABLE dir = '${dir}'`);
		for (const statement of recipe("duckdb").split(";"))
			if (statement.trim())
				await db.run(statement);
		await db.run("CREATE SCHEMA before; CREATE SCHEMA after; " +
			     "CREATE VIEW before.device AS FROM main.device;" +
			     "CREATE VIEW after.device AS FROM main.device");
		const begin = process.hrtime.bigint(), cpu = process.cpuUsage();
		const rows = (await db.runAndReadAll(recipe(name))).getRowObjects();
		const used = process.cpuUsage(cpu);

		const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
		const cpuSeconds = (used.user + used.system) / 1e6;

		console.log(`${name.padEnd(16)} ${seconds.toFixed(1).padStart(7)} s ` +
			    `${cpuSeconds.toFixed(1).padStart(7)} s of CPU ` +
			    `${String(rows.length).padStart(7)} rows`);
		failed ||= !rows.length;
		instance.closeSync?.();
	}
	process.exit(failed ? 1 : 0);
}

main();
