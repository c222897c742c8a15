// SPDX-License-Identifier: GPL-3.0-or-later
// node --experimental-vm-modules javascript.js FILE...: whether they can be parsed; those that import
// or export, as modules.
"use strict";

const fs = require("fs");
const vm = require("vm");

for (const filename of process.argv.slice(2)) {
	const text = fs.readFileSync(filename, "utf8");

	try {
		if (/^(import|export)\b/m.test(text))
			new vm.SourceTextModule(text, { identifier: filename });
		else
			new vm.Script(text, { filename });
	} catch (error) {
		// Of modules, the parser does not say where.
		const at = /^.*(:\d+)$/m.exec(error.stack.split("\n")[0]);

		console.log(`${filename}${at ? at[1] : ""}: ${error.message}`);
		process.exitCode = 1;
	}
}
