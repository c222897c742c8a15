#!/bin/sh
# SPDX-License-Identifier: MIT
# Every call chain from the shim equals gdb's at the same instant, address by address: with
# inlining, templates, recursion, coroutines, exceptions, signal handlers, and plug-ins that are
# loaded and unloaded.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "not with sanitizers: their own frames are in the way"
need gdb
gdb -nx -batch -ex 'python print("has python")' 2>/dev/null | grep -q 'has python' ||
	skip_all "this gdb has no Python"
use_sim
export XPU_SHIM
libc=$(ldd "$XPU_BUILD/workload/stacks" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
gdb -nx -batch -ex 'info address __start_context' "$libc" 2>/dev/null | grep -q ' at address ' ||
	skip_all "the C library's debugging symbols are missing (Debian: libc6-dbg)"

# Other tests cover generated code: gdb cannot walk through it without unwind information.
scenarios="inlining templates recursion virtual library frames exceptions coroutines contexts
	signals threads plugin"

compare() {		# compare NAME MAX_FRAMES ARGS...
	name=$1
	max=$2
	shift 2
	XPUSHIM_WAITS=off XPUSHIM_PROBE=launch XPUSHIM_MAX_FRAMES=$max gdb -nx -batch -x "$XPU_SRC/test/lib/gdb_stacks.py" \
		--args "$XPU_BUILD/workload/stacks" "$@" >gdb.log 2>&1 </dev/null
	verdict=$(tail -n 1 gdb.log)
	diag "$name: $verdict"
	like "$verdict" "^stacks $expected same $expected differ 0 none 0 cut $cut " "$name" ||
		diag "$(grep -v '^  ' gdb.log | head -n 60)"
}

expected=243 cut=0
compare "all of them, three times" 600 -n 3 $scenarios
expected=81 cut=81
compare "cut after 9 frames" 9 $scenarios
expected=1 cut=1
compare "recursion, 200 deep, cut after 127 frames" 127 recursion

done_testing
