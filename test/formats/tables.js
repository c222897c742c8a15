/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tables.js DIR...: compares every value of every table, as DuckDB, hyparquet and parquet-wasm
 * (arrow-rs) read it, with the output of the tests' own reader, in FILE.tsv next to each file
 */
"use strict";

const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const { ok, is, run } = require("./tap.js");

const TABLES = ["launches", "device", "paths", "frames", "processes", "ranges", "calls", "samples",
	"waits", "allocations",
		"metrics", "windows", "losses"];

/* Imports an ES module package from NODE_PATH. */
async function load(name) {
	return import(pathToFileURL(require.resolve(name)).href);
}

/* Return: a value as the tests' own reader prints it; numbers are compared by value. */
function text(value) {
	if (value === null || value === undefined)
		return "NULL";
	return String(value);
}

function same(got, wanted) {
	return got === wanted || (got !== "NULL" && /[.e]/.test(wanted) &&
		Number(got) === Number(wanted));
}

/*
 * Compares a reader's rows, which are objects by column name, with the lines of the tests' own
 * reader.
 */
function compare(reader, file, rows) {
	const lines = fs.readFileSync(`${file}.tsv`, "utf8").split("\n").slice(0, -1)
		.map(l => l.split("\t"));
	const names = lines.shift();
	let wrong = rows.length === lines.length ? null :
		`${rows.length} rows, not ${lines.length}`;

	for (let i = 0; i < lines.length && !wrong; i++) {
		names.forEach((name, k) => {
			const got = text(rows[i][name]);

			if (!same(got, lines[i][k]))
				wrong = `row ${i}, ${name}: '${got}', not '${lines[i][k]}'`;
		});
	}
	ok(!wrong,
	   `${reader}: ${file.replace(/rank=(.*)\/.*/, "$1")}: ` +
	   `${lines.length} rows of ${names.length} columns`,
	   wrong);
}

async function main() {
	const dirs = process.argv.slice(2);
	const { DuckDBInstance } = require("@duckdb/node-api");
	const { parquetReadObjects, parquetMetadataAsync,
		asyncBufferFromFile } = await load("hyparquet");
	const { compressors } = await load("hyparquet-compressors");
	const { readParquet } = await load("parquet-wasm");
	const arrow = require("apache-arrow");
	const db = await (await DuckDBInstance.create(":memory:")).connect();
	let nr = 0;

	async function duckdb(sql) {
		return (await db.runAndReadAll(sql)).getRowObjects();
	}

	for (const dir of dirs) {
		for (const table of TABLES) {
			for (const rank of fs.readdirSync(path.join(dir, table))) {
				for (const name of fs.readdirSync(path.join(dir, table, rank))) {
					const file = path.join(dir, table, rank, name);

					if (!name.endsWith(".parquet"))
						continue;
					nr++;
					compare("DuckDB", file,
						await duckdb(`SELECT * FROM '${file}'`));
					const buffer = await asyncBufferFromFile(file);
					const meta = await parquetMetadataAsync(buffer);

					compare("hyparquet", file, Number(meta.num_rows) ?
						await parquetReadObjects({ file: buffer,
							compressors }) : []);
					const wasm =
						readParquet(new Uint8Array(fs.readFileSync(file)));

					compare("parquet-wasm", file,
						arrow.tableFromIPC(wasm.intoIPCStream()).toArray()
						.map(r => r.toJSON()));
				}
			}
			/* Engines use the statistics to skip row groups. */
			if (["launches", "device"].includes(table)) {
				const all = `read_parquet('${dir}/${table}/*/*.parquet')`;
				const [{ n, half }] =
					await duckdb(`SELECT count(*) n,
					median(correlation_id)::BIGINT half FROM ${all}`);
				const [{ less }] = await duckdb(`SELECT count(*) less FROM ${all}
					WHERE correlation_id < ${half}`);
				const [{ more }] = await duckdb(`SELECT count(*) more FROM ${all}
					WHERE correlation_id >= ${half}`);
				const [{ none }] = await duckdb(`SELECT count(*) "none" FROM ${all}
					WHERE correlation_id IS NULL`);

				is(less + more + none, n,
					`DuckDB: ${dir}/${table}: statistics hide no row`);
			}
		}
		const ranks =
			await duckdb(`SELECT DISTINCT rank FROM '${dir}/processes/*/*.parquet'`);

		ok(ranks.length && ranks.every(r => fs.existsSync(`${dir}/device/rank=${r.rank}`)),
		   `${dir}: the directories' names have the ranks`);
	}
	ok(nr >= dirs.length * TABLES.length, `${nr} files are read`);
}

run(main);
