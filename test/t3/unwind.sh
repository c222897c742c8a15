#!/bin/sh
# SPDX-License-Identifier: MIT
# Follows call chains from the target's own unwinder through the kernel to names. Compares these
# chains with the expected chains, and checks the result if no chain can be found.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "not with sanitizers: their own frames are in the way"
need root bpf
use_sim
stacks=$XPU_BUILD/workload/stacks

record() {		# record OPTION... COMMAND
	xpuload --names=later -o run.data "$@" 2>load.log
	status=$?
	xpumerge -i run.data -f folded --debug-dir '' --buildid-dir none --unit count \
		-o run.folded 2>merge.log
	xpumerge -i run.data -f text >run.txt 2>>merge.log
	return $status
}

# Prints the program's own frames between main and launch, with counts. Frames in and below the C
# library differ between versions; "[clone ...]" and the names of coroutines differ between
# compilers.
own_frames() {
	sed -n \
		's/ \[clone [^]]*\]//g; s/;_Z5\(inner\|outer\)[iv]\.actor(\([^*]*\)\.frame/;\1(\2.Frame/g; s/^stacks;.*;main;\(.*\);launch;k_launch;.*\]k_launch /\1;/p' "$1" |
		awk -F';' '{ chain = ""
			for (i = 1; i < NF; i++)
				if ($i !~ /\+0x|^_dl_/)
					chain = chain (i > 1 ? ";" : "") $i
			sum[chain] += $NF }
			END { for (chain in sum) print chain, sum[chain] }' | LC_ALL=C sort
}

# expect NAME SCENARIO: runs SCENARIO, and compares its frames with the lines on stdin
expect() {
	record --max-stack 600 "$stacks" "$2"
	is $? 0 "$1: exit status 0"
	own_frames run.folded >got
	LC_ALL=C sort >expected
	diff -u expected got >diff
	ok $? "$1: the frames are as expected" || diag "$(cat diff load.log merge.log)"
}

expect "inlined functions have no frame" inlining <<-'END'
	scenario_inlining() 2
	END
expect "virtual calls, closures, destructors" virtual <<-'END'
	scenario_virtual() 2
	scenario_virtual();Derived::work() 1
	END
expect "unusual frames" frames <<-'END'
	scenario_frames();aligned_frame(unsigned long) 1
	scenario_frames();cfa_in_rbx 1
	scenario_frames();large_frame() 1
	scenario_frames();never_returns(__jmp_buf_tag (*) [1]) 1
	scenario_frames();pushed_arguments(long, long, long, long, long, long, long, long, long) 1
	END
expect "exceptions: before a throw, while it unwinds, where it is caught" exceptions <<-'END'
	scenario_exceptions() 2
	scenario_exceptions();rethrows() 2
	scenario_exceptions();rethrows();throws(int) 4
	scenario_exceptions();rethrows();throws(int);throws(int) 4
	scenario_exceptions();rethrows();throws(int);throws(int);throws(int) 4
	END
expect "coroutines" coroutines <<-'END'
	scenario_coroutines();inner(inner(int)::_Z5inneri.Frame*) 6
	scenario_coroutines();outer(outer()::_Z5outerv.Frame*) 2
	END
expect "plug-ins: loaded, used, unloaded, one in the place of another" plugin <<-'END'
	scenario_plugin();use_plugin(char const*);dlclose;unloaded();with_frame(void (*)()) 6
	scenario_plugin();use_plugin(char const*);dlopen;loaded();with_frame(void (*)());launch_in_constructor 6
	scenario_plugin();use_plugin(char const*);plugin_work;with_frame(void (*)()) 6
	END
expect "generated code with frame pointers" jit <<-'END'
	scenario_jit();[anon];scenario_jit()::{lambda()#1}::_FUN();[anon];recurse(int);recurse(int);recurse(int);recurse(int) 1
	END
expect "generated code without frame pointers" trampoline <<-'END'
	scenario_trampoline();[anon];recurse(int);recurse(int);recurse(int) 1
	END

record "$stacks" recursion
is $? 0 "recursion: exit status 0"
is "$(grep -o 'recurse(int)' run.folded | wc -l)" 200 "recursion: recurse() has 200 frames"
unlike "$(cat run.folded)" truncated "recursion: the stack is complete"
record --max-stack 40 "$stacks" recursion
like "$(cat run.folded)" '^stacks;\[truncated\];recurse\(int\);recurse' \
	"--max-stack 40: the stack is marked as cut"

out=$(timeout 300 "$XPULOAD" -q -o run.data "$stacks" loader 2>load.log)
is $? 0 "launches in constructors while other threads load and unload libraries: no deadlock"
is "$out" "" \
	"launches in constructors while other threads load and unload: nothing is printed on stdout"
xpumerge -i run.data -f text >run.txt 2>merge.log
like "$(cat run.txt)" 'of 820 launches 820 unwound in the process' \
	"launches in constructors while other threads load and unload: all 820 launches have call chains"

record --call-graph fp "$stacks" virtual
like "$(cat run.txt)" ' 0 unwound in the process, 3 by frame pointers' \
	"--call-graph fp: call chains come from frame pointers"

# If the C library cannot say which object contains an address, as before glibc 2.35, the shim's own
# table is used. If the loader's counters are unknown, a stale table of unwind rules cannot be
# detected.
cat >unknown.c <<-'END'
	int dl_iterate_phdr(int (*f)(void *, unsigned long, void *), void *data);
	int dl_iterate_phdr(int (*f)(void *, unsigned long, void *), void *data) { (void)f; (void)data; return 0; }
	END
if ${CC:-gcc} -shared -fPIC -o old.so "$XPU_SRC/test/lib/nowhere.c" 2>cc.log &&
		${CC:-gcc} -shared -fPIC -o unknown.so unknown.c 2>cc.log; then
	for scenario in inlining frames exceptions coroutines plugin jit trampoline; do
		record --max-stack 600 "$stacks" $scenario
		own_frames run.folded >expected
		record --max-stack 600 env LD_PRELOAD="$XPU_SHIM:$PWD/old.so" "$stacks" $scenario
		is $? 0 "$scenario on an old C library: exit status 0"
		own_frames run.folded >got
		[ -s expected ] && diff -u expected got >diff
		ok $? \
			"$scenario on an old C library: the frames are the same" ||
			diag "$(cat diff load.log merge.log)"
		like "$(cat run.txt)" 'of ([0-9]+) launch(es)? \1 unwound in the process' \
			"$scenario on an old C library: all call chains are unwound in the process"
	done
	timeout 300 "$XPULOAD" -q -o run.data env LD_PRELOAD="$XPU_SHIM:$PWD/old.so" "$stacks" \
		loader 2>load.log
	is $? 0 "launches during dlopen() and dlclose(), on an old C library: no deadlock"
	xpumerge -i run.data -f text >run.txt 2>merge.log
	like "$(cat run.txt)" 'of 820 launches 820 unwound in the process' \
		"launches during dlopen() and dlclose(), on an old C library: all have call chains"

	for how in auto dwarf; do
		record --call-graph $how env LD_PRELOAD="$XPU_SHIM:$PWD/unknown.so" "$stacks" \
			inlining
		is $? 0 "$how on an unknown C library: exit status 0"
		like "$(cat load.log)" 'this C library is unknown' \
			"$how on an unknown C library: a message says that the C library is unknown"
		like "$(cat run.txt)" ' 0 unwound in the process, 2 by frame pointers' \
			"$how on an unknown C library: call chains come from frame pointers"
	done
else
	skip "an old C library" "no C compiler"
fi

for args in "--call-graph lbr" "--max-stack 0" "--max-stack 100000" "--max-stack x"; do
	xpuload $args true 2>load.log
	is $? 125 "$args: refused"
	like "$(cat load.log)" "expected" "$args: the message says what is expected"
done

# Inlined functions and source lines, by DWARF.
xpuload -q -o run.data "$stacks" inlining 2>load.log
line=$(grep -n 'inlined_once();' "$XPU_SRC/test/workload/stacks.cc" | tail -n 1 | cut -d: -f1)
like "$(xpumerge -i run.data -f folded --inline 2>/dev/null)" \
	';scenario_inlining\(\);inlined_once \(inlined\);inlined_twice \(inlined\);launch;' \
		"--inline: inlined functions are shown as frames"
like "$(xpumerge -i run.data -f folded --srcline 2>/dev/null)" ';launch \(stacks.cc:[0-9]+\);' \
	"--srcline: frames have source lines"
like "$(xpumerge -i run.data -f folded --inline --srcline 2>/dev/null)" \
	";scenario_inlining\\(\\) \\(stacks.cc:$line\\);inlined_once \\(stacks.cc:[0-9]+\\) \\(inlined\\);" \
		"--inline --srcline: inlined functions have source lines"
done_testing
