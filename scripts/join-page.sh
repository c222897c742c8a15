#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# join-page.sh DIR FEATURE... >FILE: joins the modules of the html page, and its modules in the
# folders of features, into one script
#
# The modules share one scope. A module comes after the modules that it imports, and main.js is the
# last. Imports, comments and the word "export" are left out. A name at the top of a module must be
# unique: the script is a block in strict mode, in which a second definition is a syntax error.
# test/t0/page.sh parses it.
set -eu

# imports FILE: prints "IMPORTED FILE" for each import; all modules precede main.js
imports() {
	tr '\n' ' ' <"$1" |
		grep -oE '(^| )import +\{[^}]*\} +from +"\.[./a-z_]*/[a-z_]+\.js"' |
		sed "s|.*/\([^/]*\)\"$|\1 ${1##*/}|"
	echo "${1##*/} main.js"
}

order=$(for dir; do
	for module in "$dir"/*.js; do
		imports "$module"
	done
done | tsort)
echo '/* SPDX-License-Identifier: MIT */'
echo '/* Joined by scripts/join-page.sh from merge/write/page/src/ and folders of features. */'
echo '"use strict";'
echo '{'
for module in $order; do
	for dir; do
		[ ! -e "$dir/$module" ] || file=$dir/$module
	done
	awk '
		/^import [^;]*$/ { inside = 1 }
		/^import / && !inside { next }
		inside { if (/;$/) inside = 0; next }
		/^[ \t]*(\/\*.*\*\/|\/\/.*)?$/ { next }
		/^[ \t]*\/\*/ && !/\*\// { comment = 1 }
		comment { if (/\*\/$/) comment = 0; next }
		{ sub(/^export /, ""); print }' "$file"
done
echo '}'
