#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of the unwinder and of the shim again, with the table of loaded objects that is
# used before glibc 2.35.
. "$XPU_SRC/test/lib/tap.sh"

${CC:-cc} -shared -fPIC -o old.so "$XPU_SRC/test/lib/nowhere.c" 2>cc.log || skip_all "no C compiler"

nr=0
for name in unwind_walk unwind_again shim_paths shim_signals shim_records; do
	test=$XPU_BUILD/test/t2/$name.t
	[ -x "$test" ] || continue
	(mkdir $name && cd $name && LD_PRELOAD=$PWD/../old.so "$test") >$name.log 2>&1
	is $? 0 "$name: exit status 0" || diag "$(grep -v '^ok' $name.log | tail -n 20)"
	like "$(cat $name.log)" '^1\.\.[1-9]' "$name: the test program ran" && nr=$((nr + 1))
	unlike "$(cat $name.log)" 'follow frame pointers' \
		"$name: the test program uses unwind tables"
done
[ $nr -ge 2 ]
ok $? "enough tests were run: $nr"
done_testing
