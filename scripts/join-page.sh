#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# join-page.sh DIR >FILE: joins the modules of the html page into one script
#
# The modules share one scope: a module comes after the modules that it imports, its imports are
# left out, and so are its comments and the word "export". A name at the top of a module must
# therefore be unique: the script is a block in strict mode, in which a second definition is a
# syntax error. test/t0/page.sh parses it.
set -eu
cd "$1"

# imports FILE: prints "IMPORTED FILE" for each import; a module without imports precedes itself
imports() {
	tr '\n' ' ' <"$1" | grep -oE '(^| )import +\{[^}]*\} +from +"\./[a-z_]+\.js"' |
		sed "s|.*\"\./\(.*\)\"|\1 $1|"
	echo "$1 $1"
}

order=$(for module in *.js; do imports "$module"; done | tsort)
echo '/* SPDX-License-Identifier: MIT */'
echo '/* Joined from merge/write/page/src/*.js by scripts/join-page.sh. */'
echo '"use strict";'
echo '{'
for module in $order; do
	awk '
		/^import [^;]*$/ { inside = 1 }
		/^import / && !inside { next }
		inside { if (/;$/) inside = 0; next }
		/^[ \t]*(\/\*.*\*\/|\/\/.*)?$/ { next }
		/^[ \t]*\/\*/ && !/\*\// { comment = 1 }
		comment { if (/\*\/$/) comment = 0; next }
		{ sub(/^export /, ""); print }' "$module"
done
echo '}'
