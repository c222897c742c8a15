// SPDX-License-Identifier: GPL-3.0-or-later
// The rules of `make lint` for JavaScript: names that nothing defines, definitions that nothing
// uses, code that cannot run or cannot mean what it says. Layout is no rule here.
"use strict";

const page = ["addEventListener", "document", "getComputedStyle", "globalThis", "history",
	"innerHeight", "innerWidth",
		"location", "matchMedia", "navigator", "ResizeObserver", "URLSearchParams"];
const node = ["console", "globalThis", "module", "process", "require", "MessageChannel",
	"WebAssembly", "URL", "URLSearchParams"];
// The tests of formats hand functions to a browser.
const evaluated = ["document", "navigator", "requestAnimationFrame"];

function globals(...names) {
	return Object.fromEntries(names.map(name => [name, "readonly"]));
}

const rules = Object.fromEntries([
	"array-callback-return", "constructor-super", "eqeqeq", "for-direction", "getter-return",
	"no-async-promise-executor", "no-class-assign", "no-compare-neg-zero", "no-cond-assign",
	"no-const-assign",
	"no-dupe-args", "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys",
	"no-duplicate-case",
	"no-duplicate-imports", "no-empty-pattern", "no-ex-assign", "no-fallthrough",
	"no-func-assign",
	"no-import-assign", "no-loss-of-precision", "no-obj-calls", "no-redeclare",
	"no-self-assign",
	"no-self-compare", "no-shadow-restricted-names", "no-sparse-arrays", "no-this-before-super",
	"no-undef",
	"no-unmodified-loop-condition", "no-unreachable", "no-unsafe-finally", "no-unsafe-negation",
	"no-unused-labels", "no-unused-vars", "no-var", "no-with", "prefer-const", "use-isnan",
	"valid-typeof",
].map(name => [name, "error"]));

module.exports = [
	{
		files: ["**/*.js"],
		languageOptions: { ecmaVersion: 2022, sourceType: "commonjs" },
		linterOptions: { reportUnusedDisableDirectives: "error" },
		rules,
	},
	{
		files: ["**/*.js"],
		ignores: ["**/page/src/*.js", "merge/*/page/*.js"],
		languageOptions: { globals: globals(...node, ...evaluated) },
	},
	{
		files: ["**/page/src/*.js", "merge/*/page/*.js"],
		languageOptions: { sourceType: "module", globals: globals(...page) },
	},
];
