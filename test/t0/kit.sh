#!/bin/sh
# SPDX-License-Identifier: MIT
# The maintainers' tools: compile_commands.json, coverage by folder, and make's search for optional
# headers.
. "$XPU_SRC/test/lib/tap.sh"
need python3
need make

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$XPU_SRC" -Bn V=1 --no-print-directory \
	O="$XPU_BUILD" all portable 2>log |
	python3 "$XPU_SRC/scripts/compile-commands.py" "$XPU_SRC" >commands.json
is $? 0 "compile_commands.json is made" || diag "$(head -n 3 log)"
python3 - commands.json <<'END' | LC_ALL=C sort >there
import json, os, sys
for entry in json.load(open(sys.argv[1])):
	assert entry["arguments"][0] and "-c" in entry["arguments"], entry
	print(os.path.normpath(entry["file"]))
END
rooms="lib loader merge"
# Files for another machine are not compiled.
other=aarch64
[ "$(uname -m)" != aarch64 ] || other=x86_64
[ ! -e "$XPU_BUILD/libxpushim.so" ] || rooms="$rooms preload"
# shellcheck disable=SC2086 # several arguments on purpose
(cd "$XPU_SRC" && find $rooms -name '*.c' ! -name "*_$other.c") | LC_ALL=C sort >sources
[ "$(wc -l <sources)" -gt 50 ]
ok $? "the folders $rooms have more than 50 sources: $(wc -l <sources)"
is "$(LC_ALL=C comm -23 sources there | tr '\n' ' ')" "" "compile_commands.json has all sources"

# A part whose headers are missing is left out. This compiler finds no header; -n compiles nothing.
is "$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$XPU_SRC" -npq CC="${CC:-gcc} -nostdinc" \
	O="$PWD/none" 2>/dev/null | grep -E '^HAVE_(OPENCL|CURL) :=' | LC_ALL=C sort)" \
	"HAVE_CURL := 
HAVE_OPENCL := " "make does not find headers that are missing"

# Two folders have six lines, and four lines run. A header's lines count for the header's folder.
if ! command -v gcov >/dev/null || ! ${CC:-gcc} --version | grep -qi -e gcc -e 'free software'; then
	skip "coverage" "no gcov, or no gcc"
	done_testing
fi
mkdir -p lib merge/join build/lib build/merge/join
printf 'static inline int low(int a)\n{\n\treturn a + 1;\n}\n' >lib/low.h
printf 'int unused(void);\nint unused(void)\n{\n\treturn 1;\n}\n' >lib/low.c
printf '#include "../../lib/low.h"\nint main(void)\n{\n\treturn low(-1);\n}\n' >merge/join/main.c
for file in lib/low merge/join/main; do
	${CC:-gcc} -O0 --coverage -c $file.c -o build/$file.o
done
${CC:-gcc} --coverage build/lib/low.o build/merge/join/main.o -o run && ./run
is $? 0 "coverage: a program with counters is built"
python3 "$XPU_SRC/scripts/coverage.py" build >out
is $? 0 "coverage: exit status 0"
is "$(awk '{ print $1, $2, $3, $5 } !NF { exit }' out | tr '\n' ';')" \
	"lines run share ;4 2 50.0 lib;2 2 100.0 merge/join;6 4 66.7 all;   ;" \
		"coverage: the lines of each directory are counted"
done_testing
