#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint finds a fault of each kind, planted in a small tree, and reports its line.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "${XPU_SAN:-}" ] || skip_all "sanitizers change nothing of the sources"

export ESLINT="$XPU_BUILD/eslint/node_modules/.bin/eslint"
mkdir -p tree/scripts tree/merge
(cd "$XPU_SRC" && cp -r .clang-format .shellcheckrc doc "$OLDPWD/tree/" &&
	cp -r scripts/lint "$OLDPWD/tree/scripts/")
cat >tree/merge/one.c <<'END'
#include <stdlib.h>

int one(int a)
{
	if (a)
		return 1;
	return 2;
}
END
printf 'const one = 1;\nconsole.log(one);\n' >tree/merge/one.js
echo 'one = 1' >tree/merge/one.py
printf '# One\n' >tree/CONTRIBUTING.md
printf 'use strict;\nmy $one = 1;\nprint $one;\n' >tree/merge/one.pl
printf '#!/bin/sh\necho "$1"\n' >tree/merge/one.sh
cp -r tree clean

lint() {		# lint PART: runs make lint in the tree; its output goes to log
	XPU_LINT_STRICT=1 sh tree/scripts/lint/run.sh "$1" >log 2>&1
}

# fault PART FILE LINE COMMAND: COMMAND damages FILE; then make lint reports that LINE of FILE.
fault() {
	lint "$1"
	status=$?
	if grep -q 'NOT RUN:' log; then
		skip "$1: $4" "$(sed -n 's/.*NOT RUN: //p' log)"
		return
	fi
	is $status 0 "$1: $2 is fine" || diag "$(cat log)"
	(cd tree && eval "$4")
	lint "$1"
	is "$?" 1 "$1: $4: make lint fails"
	like "$(cat log)" "$2:?$3" "$1: $4: make lint names the line"
	rm -rf tree
	cp -r clean tree
}

fault format merge/one.c :5: "sed -i 's/^\tif/    if/' merge/one.c"
fault format merge/one.c :5: "sed -i 's/if (a)/if(a)/' merge/one.c"
fault format merge/one.c :6: "sed -i 's/return 1;/return 1; /' merge/one.c"
fault columns merge/one.c :7: \
	"sed -i 's,return 2;,return 2; /* $(printf '%090d' 0) */,' merge/one.c"
fault columns merge/one.sh :3: "echo 'echo $(printf '%050d %050d' 0 0)' >>merge/one.sh"
fault cppcheck merge/one.c :7: "sed -i 's/return 2;/int v[2]; return v[2 + 1];/' merge/one.c"
fault shellcheck merge/one.sh :2: "sed -i 's/echo.*/rm -rf \$1\/*; [ \$1 == a ]/' merge/one.sh"
fault javascript merge/one.js :1: "sed -i 's/1;/;/' merge/one.js"
fault javascript merge/one.js : "echo 'export { two' >>merge/one.js"
fault javascript merge/two.js : "echo 'import { one } from \"./one.js\"' >merge/two.js"
fault javascript merge/two.js : \
	"for i in one two; do echo 'import \"./two.js\"' >>merge/\$i.js; done"
fault eslint merge/one.js :2: "sed -i 's/log(one)/log(two)/' merge/one.js"
fault eslint merge/one.js :1: "sed -i 's/log(one)/log(1)/' merge/one.js"
fault eslint merge/one.js :3: "echo 'if (one == 1) console.log(2);' >>merge/one.js"
fault python merge/one.py :1: "sed -i 's/1/(/' merge/one.py"
fault perl "merge/one.pl line" " 3" "sed -i 's/print \$one/print \$two/' merge/one.pl"
fault names merge/two/one.c :1: "mkdir merge/two && cp merge/one.c merge/two/"
fault comments merge/one.c :7: \
	"sed -i 's,return 2;,return 2; /* What one() returns. */,' merge/one.c"
fault comments merge/one.c :4: "sed -i '3s,^,/*\\n * The same for one.\\n */\\n,' merge/one.c"
fault comments merge/one.js :1: "sed -i '1s,^,// What it is.\\n,' merge/one.js"
fault comments merge/one.sh :2: "sed -i 's,echo,# The same.\\necho,' merge/one.sh"
fault english merge/one.c :7: \
	"sed -i 's,return 2;,return 2; /* of the ones of before */,' merge/one.c"
fault english merge/one.c :4: \
	"sed -i '3s|^|/*\\n * Sums of the target\x27s, its threads\x27.\\n */\\n|' merge/one.c"
fault english merge/one.c :3: \
	"sed -i '3s,^,/* A table for the threads of all GPUs. */\\n,' merge/one.c"
fault english merge/one.js :1: "sed -i '1s,^,// Tells of what it is.\\n,' merge/one.js"
fault english merge/one.sh :2: \
	"sed -i 's,echo,# But for one file all is there.\\necho,' merge/one.sh"
fault english CONTRIBUTING.md :3: \
	"printf '# One\\n\\nA file has those of the process.\\n' >CONTRIBUTING.md"
fault english doc/limits.md :[0-9]+: "echo 'A file tells of what is there.' >>doc/limits.md"
fault english doc/xpumerge.1.in :[0-9]+: \
	"printf '.Pp\nAll files beside\n.Li a ,\nand those of\n.Nm .\n' >>doc/xpumerge.1.in"
fault english merge/one.c :9: "echo 'void f(void) { fail(\"no file is there\"); }' >>merge/one.c"
fault mandoc doc/xpumerge.1.in :[0-9]+: \
	"sed -i 's/^\.Sh DESCRIPTION/.Xx DESCRIPTION/' doc/xpumerge.1.in"

# ---- a tool of another version, and a missing tool

mkdir other
printf '#!/bin/sh\n[ "$1" != --version ] || exec echo "version: 7.7.7"\nexec %s "$@"\n' \
	"$(command -v shellcheck || echo false)" >other/shellcheck
chmod 755 other/shellcheck
# shellcheck disable=SC2016 # $1 belongs to the file
echo 'echo $(cat $1)' >>tree/merge/one.sh
echo 'cd $1' >>tree/merge/one.sh
(PATH=$PWD/other:$PATH sh tree/scripts/lint/run.sh shellcheck) >log 2>&1
is "$? $(grep -c 'NOT RUN with shellcheck 0.9: this one is 7.7.7' log)" "0 1" \
	"make lint does not fail if a tool of another version finds faults" || diag "$(cat log)"

mkdir bin
for tool in sh dirname mktemp rm find sed sort tr xargs wc cat; do
	ln -s "$(command -v $tool)" bin/
done
(PATH=$PWD/bin sh tree/scripts/lint/run.sh mandoc) >log 2>&1
is "$? $(cat log)" "0 lint: mandoc: NOT RUN: mandoc is missing; in Debian: apt-get install mandoc" \
	"make lint reports a missing tool, and does not fail"
(PATH=$PWD/bin XPU_LINT_REQUIRE=1 sh tree/scripts/lint/run.sh mandoc) >log 2>&1
is $? 1 "XPU_LINT_REQUIRE: a missing tool is a failure"

# test/long/lint.sh skips a part whose tool is missing, and fails if the part is required.
mkdir -p tree/test/lib
cp "$XPU_SRC/test/lib/tap.sh" tree/test/lib/
for tool in grep head awk; do
	ln -s "$(command -v $tool)" bin/
done
cp "$XPU_SRC/test/long/lint.sh" .
export XPU_SRC="$PWD/tree"
(PATH=$PWD/bin sh lint.sh) >skips.log 2>&1
like "$(cat skips.log)" "^ok .*lint mandoc # SKIP mandoc is missing" \
	"lint.sh: a part with a missing tool is skipped"
(PATH=$PWD/bin XPU_LINT_REQUIRE=1 sh lint.sh) >fails.log 2>&1
like "$(cat fails.log)" "^not ok .*lint mandoc" \
	"lint.sh, XPU_LINT_REQUIRE: a part with a missing tool fails"
done_testing
