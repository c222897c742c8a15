// SPDX-License-Identifier: GPL-3.0-or-later
// node --experimental-vm-modules javascript.js FILE...: checks that each file can be parsed; a file
// that imports or exports is parsed as a module. Modules must find what they import from each
// other, and import in no circle.
"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const modules = new Map();		// by path

function complain(filename, error) {
	// The parser does not say where a module's error is.
	const at = /^.*(:\d+)$/m.exec((error.stack || "").split("\n")[0]);

	console.log(`${filename}${at ? at[1] : ""}: ${error.message}`);
	process.exitCode = 1;
}

function load(filename) {
	if (!modules.has(filename))
		modules.set(filename, new vm.SourceTextModule(fs.readFileSync(filename, "utf8"),
							      { identifier: filename }));
	return modules.get(filename);
}

// Resolves relative paths only: the node tests import packages with require().
function resolve(specifier, importer) {
	return load(path.join(path.dirname(importer.identifier), specifier));
}

// Returns the imports that lead from @module to one of @above, or null.
function circle(module, above = []) {
	const from = above.indexOf(module);

	if (from >= 0)
		return above.slice(from).map(m => m.identifier);
	for (const specifier of module.dependencySpecifiers) {
		const found = circle(resolve(specifier, module), [...above, module]);

		if (found)
			return found;
	}
	return null;
}

async function check(filename) {
	const text = fs.readFileSync(filename, "utf8");

	if (!/^(import|export)\b/m.test(text)) {
		new vm.Script(text, { filename });
		return;
	}
	const module = load(filename);

	if (module.status === "unlinked")
		await module.link(resolve);
	const found = circle(module);

	if (found)
		throw new Error(`imports in a circle: ${found.join(", ")}`);
}

(async () => {
	for (const filename of process.argv.slice(2))
		await check(filename).catch(error => complain(filename, error));
})();
