#!/bin/sh
# SPDX-License-Identifier: MIT
# Every call chain from the shim equals gdb's call chain at the same instant, address by address:
# with inlining, templates, recursion, coroutines, exceptions, signal handlers, and plug-ins that
# are loaded and unloaded.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "not with sanitizers: their own frames are in the way"
need gdb
gdb -nx -batch -ex 'python print("has python")' 2>/dev/null | grep -q 'has python' ||
	skip_all "this gdb has no Python"
use_sim
export XPU_SHIM
if [ -z "$XPU_EMULATED" ]; then
	libc=$(ldd "$XPU_BUILD/workload/stacks" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
	gdb -nx -batch -ex 'info address __start_context' "$libc" 2>/dev/null |
		grep -q ' at address ' ||
		skip_all "the C library's debugging symbols are missing (Debian: libc6-dbg)"
fi

# Other tests cover generated code, because gdb cannot unwind it without unwind information.
scenarios="inlining templates recursion virtual library frames exceptions coroutines contexts
	signals threads plugin"

# under_gdb ARGS...: runs a program under gdb; with XPU_EMULATED, runs another machine's program in
# the emulator's gdb stub
under_gdb() {
	export XPUSHIM_WAITS=off XPUSHIM_PROBE=launch XPUSHIM_MAX_FRAMES="$max"
	if [ -z "$XPU_EMULATED" ]; then
		gdb -nx -batch -x "$XPU_SRC/test/lib/gdb_stacks.py" \
			--args "$XPU_BUILD/workload/stacks" "$@"
		return
	fi
	rm -f "$PWD/stub"
	# gdb 13 does not read the vector registers in this emulator's signal frames.
	qemu-aarch64-static -cpu max,sve=off -g "$PWD/stub" -E "LD_PRELOAD=$XPU_SHIM" \
		-E "LD_LIBRARY_PATH=$XPU_BUILD/sim" \
		"$XPU_BUILD/workload/stacks" "$@" >qemu.log 2>&1 &
	XPU_REMOTE=$PWD/stub gdb-multiarch -nx -batch -iex \
		"set debug-file-directory $XPU_SYSROOT/usr/lib/debug" \
		-iex "set solib-search-path $XPU_BUILD:$XPU_BUILD/sim:$XPU_BUILD/workload" \
		-x "$XPU_SRC/test/lib/gdb_stacks.py" "$XPU_BUILD/workload/stacks"
}

compare() {		# compare NAME MAX_FRAMES ARGS...
	name=$1
	max=$2
	shift 2
	under_gdb "$@" >gdb.log 2>&1 </dev/null
	verdict=$(tail -n 1 gdb.log)
	diag "$name: $verdict"
	like "$verdict" "^stacks $expected same $expected differ 0 none 0 cut $cut " "$name" ||
		diag "$(grep -v '^  ' gdb.log | head -n 60)"
}

expected=243 cut=0
compare "all scenarios, three times" 600 -n 3 $scenarios
expected=81 cut=81
compare "cut after 9 frames" 9 $scenarios
expected=1 cut=1
compare "recursion, 200 deep, cut after 127 frames" 127 recursion

done_testing
