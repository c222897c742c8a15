/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tap.js - TAP, for tests in JavaScript */
"use strict";

let nr = 0, failed = 0;

function ok(good, name, why) {
	console.log(`${good ? "ok" : "not ok"} ${++nr} - ${name}`);
	if (!good) {
		failed++;
		if (why !== undefined)
			console.log(String(why).replace(/^/gm, "# "));
	}
	return good;
}

function is(got, wanted, name) {
	return ok(got === wanted, name, `got '${got}', expected '${wanted}'`);
}

/* Compares numbers that were added up in another order, or rounded for display. */
function near(got, wanted, name, by = .002) {
	return ok(Math.abs(got - wanted) <= by * Math.max(1, Math.abs(wanted)), name,
		  `got ${got}, expected ${wanted}`);
}

/* Runs @tests, then @cleanup, and reports the results. */
async function run(tests, cleanup) {
	try {
		await tests();
	} catch (e) {
		ok(false, "no exception", e.stack);
	}
	if (cleanup)
		await cleanup();
	console.log(`1..${nr}`);
	process.exit(failed ? 1 : 0);
}

module.exports = { ok, is, near, run };
