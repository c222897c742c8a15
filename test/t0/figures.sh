#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command "make figures" counts files and lines. It also finds circular includes, and functions
# that a lower folder declares and a higher folder defines. The tree has neither.
. "$XPU_SRC/test/lib/tap.sh"
command -v python3 >/dev/null || skip_all "no python3"
command -v git >/dev/null && git -C "$XPU_SRC" rev-parse --git-dir >/dev/null 2>&1 ||
	skip_all "no git repository"

figures() {
	python3 "$1/scripts/figures.py" $2 >out 2>log
	is "$? $(cat log)" "0 " "$3: exit status 0, no message"
}
figure() {
	sed -n "s/^$1: *//p" out
}

figures "$XPU_SRC" "" "the working tree"
is "$(figure 'files in circles of includes')" 0 "the tree has no circular includes"
is "$(figure 'functions declared below and defined above')" 0 \
	"no lower folder declares a function that a higher folder defines"
like "$(cat out)" '^ +[0-9]+ +[0-9]{4,}  merge/write$' \
	"the output has a line for each directory of xpumerge"

mkdir -p tree/scripts/lint tree/test/t0 tree/lib tree/loader/low tree/loader/high
cd tree || exit 1
cp "$XPU_SRC/scripts/figures.py" scripts/
cp "$XPU_SRC/scripts/lint/below.py" scripts/lint/
echo 'floors loader high low' >test/t0/include_rules.sh
printf '/* a comment\n * of two lines */\nint one;\n\nconst char *two = "/* no comment";\n' >lib/a.c
printf '#include "high/x.h"\nint low__fn(void);\n' >loader/low/low.h
printf '#include "low/low.h"\nint low__fn(void)\n{\n\treturn 0;\n}\n' >loader/high/x.c
: >loader/high/x.h
git init -q . && git add . || exit 1
git -c user.name=x -c user.email=x@example.com commit -qm one || exit 1
figures . "" "a small tree"
is "$(figure 'files in circles of includes')" "2 loader/high/x loader/low/low" \
	"two headers that include each other are a circle"
like "$(cat out)" 'above: 1$' "a function that a higher directory defines is counted"
like "$(cat out)" 'low__fn\(\) is declared in loader/low/low.h, defined in loader/high/x.c' \
	"the output names a function that a higher directory defines"
like "$(cat out)" '^ +1 +2  lib$' "blank lines and comments do not count, strings do"
git mv lib/a.c lib/b.c
printf 'int three;\n' >>lib/b.c
: >loader/low/low.h
figures . HEAD "a commit"
like "$(cat out)" '^ +1 +2  lib$' \
	"for a commit, lines of the working tree are not counted"
figures . "" "the working tree after changes"
like "$(cat out)" '^ +1 +3  lib$' "uncommitted changes are counted"
is "$(figure 'files in circles of includes') $(figure 'functions declared.*above')" "0 0" \
	"once the include and the declaration are removed, no rule is broken"
done_testing
