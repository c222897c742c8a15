// SPDX-License-Identifier: GPL-3.0-or-later
// eslint -f format.js: FILE:LINE: TEXT [RULE], one line for each finding
"use strict";

const path = require("path");

module.exports = results => results.flatMap(({ filePath, messages }) => messages.map(m =>
	`${path.relative(process.cwd(), filePath)}:${m.line || 1}: ` +
	`${m.message} [${m.ruleId || "parser"}]\n`)).join("");
