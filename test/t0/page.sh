#!/bin/sh
# SPDX-License-Identifier: MIT
# The modules of the html page and of its features are joined into one script, in which each module
# comes after the modules that it imports. The page works without features.
. "$XPU_SRC/test/lib/tap.sh"
join="$XPU_SRC/scripts/join-page.sh"
cp -r "$XPU_SRC/merge/write/page/src" src
features=
for dir in "$XPU_SRC"/merge/*/page; do
	[ "$dir" = "$XPU_SRC/merge/write/page" ] || features="$features $dir"
done

# shellcheck disable=SC2086 # several directories
sh "$join" src $features >page.js 2>log
is "$?$(cat log)" 0 "the modules are joined without a complaint"
cmp page.js "$XPU_BUILD/gen/page.js"
ok $? "xpumerge embeds the joined script"

# at TEXT: prints the number of the script's line that begins with TEXT
at() {
	grep -nF "$1" page.js | head -n 1 | cut -d: -f1
}

wrong=
for module in src/*.js "$XPU_SRC"/merge/*/page/*.js; do
	name=$(grep -oE '^(export )?(async )?(function|const|let) [A-Za-z]\w*' "$module" |
		head -n 1 | sed 's/^export //')
	[ "$module" = src/main.js ] || [ -n "$(at "$name")" ] || wrong="$wrong $module"
done
is "$wrong" "" "each module is in the script"
[ "$(at 'const data = ')" -lt "$(at 'const state = ')" ] &&
	[ "$(at 'const state = ')" -lt "$(at 'setUpHeader();')" ]
ok $? "data.js comes before model.js, and model.js before main.js"
is "$(tail -n 3 page.js)" "$(printf 'listen();\ndocument.documentElement.dataset.ready = "1";\n}')" \
	"main.js is the last module, after the modules of features"
is "$(grep -cE '^(import|export)\b|from "\.' page.js)" 0 \
	"the joined script has neither imports nor exports"

is "$(grep -lE 'from "\.\./|ranks|nccl|NCCL' src/*.js)" "" \
	"the modules of the page neither import nor name a module of a feature"

cp src/help.js help.js
echo 'import "./main.js";' | sed 's/import/import { main } from/' >>src/help.js
sh "$join" src >circle.js 2>log
is $? 1 "a circular import fails"
cp help.js src/help.js

if command -v node >/dev/null; then
	node --check page.js >log 2>&1
	is "$?$(cat log)" 0 "the script can be parsed"
	echo 'function showTab() {}' >>src/help.js
	sh "$join" src >twice.js
	node --check twice.js >log 2>&1
	is "$? $(grep -o "'showTab' has already been declared" log)" \
		"1 'showTab' has already been declared" \
		"a name that two modules define is a syntax error"
else
	skip "the script can be parsed" "node is missing"
fi
done_testing
