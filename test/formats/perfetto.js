/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares xpumerge's timelines with the folded stacks. The timelines are read from the tables of
 * Perfetto's trace processor.
 */
"use strict";
const fs = require("fs");
const { ok, is, run } = require("./tap.js");
const { folded } = require("./flamegraph.js");
const { load } = require("./perfetto_engine.js");

const WORK = /^\[GPU\d*_(Kernel|Memcpy|Memset)\]/;

/* Return: a name as folded lines write it. */
function frame(name) {
	return name.replace(/[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "?")
		.replace(/;/g, ":");
}

/* An API call has CUPTI's name. A frame has the function's name, which may differ. */
function called(stack) {
	return stack.replace(/;__cuda/g, ";cuda");
}

/* Return: the first few keys whose values differ. */
function differences(got, wanted) {
	return [...new Set([...got.keys(), ...wanted.keys()])]
		.filter(key => got.get(key) !== wanted.get(key)).slice(0, 3)
		.map(key => `${key}: ${got.get(key)}, not ${wanted.get(key)}`).join("\n");
}

function add(sums, key, value) {
	sums.set(key, (sums.get(key) || 0) + value);
}

/*
 * Return: the values of device work in @file, summed by the last @nr frames of the call path; 0:
 * all frames
 */
function wanted(file, nr) {
	const sums = new Map();

	for (const [frames, value] of folded(file).filter(([f]) => WORK.test(f[f.length - 1])))
		add(sums,
			called([frames[0], ...frames.slice(nr ?
				Math.max(-nr - 1, 1 - frames.length) : 1)]
				 .join(";")), value);
	return sums;
}

/*
 * Computes the sums of wanted() from the tables of the trace. Work is in the slices of devices.
 * Call paths are in the slices where the arrows to the work begin.
 */
async function work(engine, format, unit) {
	const rows = await engine.rows(format === "pftrace" ? `
		select i.name, i.category, i.dur, gpu.name as gpu, thread.name as comm,
		       extract_arg(i.arg_set_id, 'debug.call path') as path
		from flow join slice o on o.id = slice_out join slice i on i.id = slice_in
		join thread_track tt on tt.id = o.track_id join thread using (utid)
		join track t on t.id = i.track_id join track gpu on gpu.id = t.parent_id` : `
		select i.name, i.category, i.dur, gpu.name as gpu, thread.name as comm,
		       o.name as api, extract_arg(o.arg_set_id, 'args.caller') as caller
		from flow join slice o on o.id = slice_out join slice i on i.id = slice_in
		join thread_track tt on tt.id = o.track_id join thread using (utid)
		join thread_track gt on gt.id = i.track_id join thread g on g.utid = gt.utid
		join process gpu on gpu.upid = g.upid`);
	const several = new Set(rows.map(r => r.gpu)).size > 1, sums = new Map();
	const labels = { kernel: "Kernel", memcpy: "Memcpy", memset: "Memset" };

	for (const r of rows) {
		const path = r.path ?? [r.caller, r.api].filter(f => f).map(frame).join(";");
		const name = r.category === "kernel" ? r.name : r.name.slice("memcpy ".length);

		add(sums,
			called(`${frame(r.comm)};${path};` +
				`[GPU${several ? r.gpu.split(" ")[1] : ""}_` +
				`${labels[r.category]}]${frame(name)}`),
					unit === "ns" ? r.dur : 1);
	}
	return sums;
}

async function testFile(name, format) {
	const engine = await load(`${name}.${format}`), nr = format === "json" ? 2 : 0;
	const stats = await engine.rows("select name, value from stats " +
					"where value > 0 and severity not in ('info', 'notice')");
	const count = async what => (await engine.rows(`select count(*) as n from ${what}`))[0].n;

	is(stats.map(s => `${s.name} ${s.value}`).join("\n"), "",
		`${name}.${format}: there is no complaint`);
	for (const unit of ["ns", "count"]) {
		const want = wanted(`${name}.${unit}`, nr);

		is(differences(await work(engine, format, unit), want), "",
		   `${name}.${format}: ${unit} of ${want.size} launch sites`);
	}
	is(await count("slice where dur < 0"), 0, `${name}.${format}: every slice ends`);
	is(await count("slice where depth > 0 and category in ('kernel', 'memcpy', 'memset')"), 0,
	   `${name}.${format}: work of one track does not overlap`);
	ok(await count("counter") > 10, `${name}.${format}: there are counters`);
	is(await count("counter where value < 0"), 0, `${name}.${format}: no counter is negative`);
	return engine;
}

/* CPU samples by call path. */
async function samples(engine) {
	const sites = new Map(), sums = new Map();

	for (const r of await engine.rows("select c.id, c.parent_id as parent, f.name from " +
			"stack_profile_callsite c join stack_profile_frame f " +
			"on f.id = c.frame_id order by c.id"))
		sites.set(r.id, (r.parent === null ? "" : sites.get(r.parent) + ";") +
			frame(r.name));
	for (const r of await engine.rows("select callsite_id as id, thread.name as comm " +
					  "from perf_sample join thread using (utid)"))
		add(sums, `${frame(r.comm)};${sites.get(r.id)}`, 1);
	return sums;
}

run(async () => {
	for (const name of ["app", "lossy", "odd", "calls", "live"])
		for (const format of ["json", "pftrace"]) {
			const engine = await testFile(name, format);

			if (["calls", "live"].includes(name)) {
				const calls = Number(fs.readFileSync(name + ".calls", "utf8"));
				const [{ n }] = await engine.rows(
					"select count(*) as n from slice " +
					"where category in ('api', 'launch')");

				ok(calls > 0, `${name}.${format}: calls of the API were recorded`);
				is(n, calls, `${name}.${format}: all calls are slices`);
			}
			if (name === "live" && format === "pftrace") {
				const want = new Map();

				for (const [frames, value] of folded("live.cpu").filter(([f]) =>
						!/^\[(GPU_Wait|Off_CPU)\]/.test(f[f.length - 1])))
					add(want, frames.join(";"), value);
				is(differences(await samples(engine), want), "",
				   `CPU samples of ${want.size} call paths are right`);
			}
			if (name === "calls") {
				const [{ n, inner }] = await engine.rows(`
					select count(*) as n,
					       sum(a.dur = 100 and a.depth = 1) as inner
					from slice l join slice a on a.parent_id = l.id
					where l.category = 'launch' and l.dur = 250
					      and a.category = 'api'`);

				is(`${n} ${inner}`, "3000 3000",
				   `${format}: launches last as long as their calls, ` +
				   "and others lie within them");
			}
			engine[Symbol.dispose]();
		}
});
