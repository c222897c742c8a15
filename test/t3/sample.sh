#!/bin/sh
# SPDX-License-Identifier: MIT
# CPU samples of each program in the process tree, with user stacks and kernel stacks. The number of
# samples matches the CPU time, with and without launches, and no loss is silent.
# timing
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
. "$XPU_SRC/test/lib/live_checks.sh"
quiet_sanitizers
cpu=$XPU_BUILD/workload/cpu

count() {		# count FOLDED ERE: prints the samples on the lines that match
	awk -v re="$2" '{ n = $NF; sub(/ [0-9]+$/, ""); if ($0 ~ re) sum += n }
		END { print sum + 0 }' "$1"
}

# near GOT EXPECTED PERCENT NAME: allows PERCENT, plus four standard deviations of a sampler. While
# the hypervisor has given a CPU to other machines, no timer fires on it, although this time counts
# as CPU time. The samples of this time may be missing.
near() {
	awk -v a="$1" -v b="$2" -v p="$3" -v gone="$(((stolen * hz + 999) / 1000))" 'BEGIN {
		d = b * p / 100 + 4 * sqrt(b); exit !(b > 0 && a <= b + d && a >= b - d - gone) }'
	ok $? "$4: $1 samples, expected about $2" || diag "$stolen ms of CPU time were stolen"
}

stolen=0
since() {		# since MS: sets $stolen to the steal time since stolen_ms printed MS
	stolen=$(($(stolen_ms) - $1))
}

# record NAME HZ OPTIONS... -- COMMAND...: makes NAME.folded, and sets $us to the CPU time
record() {
	name=$1 hz=$2
	shift 2
	before_ms=$(stolen_ms)
	us=$(xpuload --cpu-only -F "$hz" -o "$name.data" "$@" 2>"$name.log")
	is $? 0 "$name: exit status 0"
	since "$before_ms"
	like "$(cat "$name.log")" "^xpuload: [0-9]+ CPU samples?, .* lost 0$" \
		"$name: nothing is lost"
	xpumerge -i "$name.data" -f folded --unit samples -o "$name.folded" 2>"$name.mlog"
	like "$(head -n 1 "$name.mlog")" ' lost 0$' "$name: xpumerge reports no loss, either"
}

# Before a recording begins, the verifier follows each instruction of a BPF program on many paths,
# and takes 4 us per instruction and path. Linux reports the number of these steps since 5.16.
steps=$(xpuload -o steps.data sh -c 'cat /proc/$PPID/fdinfo/*' 2>steps.log |
	awk '$1 == "verified_insns:" { nr += $2 } END { print nr + 0 }')
[ "$steps" -lt 80000 ]
ok $? "the verifier takes fewer than 80,000 steps: $steps"

# The program uses a CPU in each way for the same time. Stacks are unwound along frame pointers.
record ways 999 --call-graph fp -- "$cpu" 200 user kernel threads=3 late rename fork exec user
near "$(count ways.folded .)" $((us * 999 / 1000000)) 4 "the number of samples matches the CPU time"
near "$(count ways.folded '^cpu;.*;main;(.*;)*call_user;burn_user$')" 200 8 \
	"a sampled function is shown under its caller"
near "$(count ways.folded '^exe;.*;main;(.*;)*call_user;burn_user$')" 200 8 \
	"samples continue after an exec"
near "$(count ways.folded '^burner;.*;burn_thread$')" 600 8 \
	"threads are sampled, under their own names"
near "$(count ways.folded '^burner;.*;burn_late$')" 200 8 "a thread that starts late is sampled"
near "$(count ways.folded '^renamed;.*;main;burn_renamed$')" 200 8 \
	"a thread that changes its name is shown under the new name"
near "$(count ways.folded '^renamed;.*;main;(.*;)*burn_child$')" 200 8 "a child is sampled"
near "$(count ways.folded '^cpu;.*;main;.*_\[k\]$')" 200 8 \
	"time in the kernel counts for the process that called the kernel"
if grep -q '^0*[1-9a-f][0-9a-f]* ' /proc/kallsyms; then
	near "$(count ways.folded '^cpu;.*;(ksys|vfs)_read_\[k\];')" 200 10 \
		"the kernel's functions under read() have names"
	unlike "$(cat ways.folded)" '\[kernel\]_\[k\]' "all kernel functions have names"
fi
unlike "$(cat ways.folded)" '^xpuload' "xpuload itself is not sampled before the exec"

# Unit ns: the results are the time that threads ran, by the threads' CPU clocks.
xpumerge -i ways.data -f folded --unit ns -o ways.ns 2>/dev/null
ns=$(awk '{ n += $NF } END { print n }' ways.ns)
awk -v ns="$ns" -v us="$us" 'BEGIN { d = ns / 1000 - us; exit !(d * d < us * us / 10000) }'
ok $? "sampled time equals the threads' CPU clocks, within 1 %" || diag "$ns ns, $us us"

# Without frame pointers, unwind tables and stack copies also give whole stacks.
record nofp 999 -- "${cpu}_nofp" 200 user kernel deep=50 threads=2 user
[ "$(count nofp.folded "^cpu_nofp;(_start|[^;]*\+0x[0-9a-f]*);.*;main;")" -gt 700 ]
ok $? "no frame pointers: stacks begin at the root" || diag "$(head -n 3 nofp.folded)"
near "$(count nofp.folded ';main;call_user;burn_user$')" 400 8 \
	"no frame pointers: a function is under its caller"
near "$(count nofp.folded ';main;burn_kernel;[^;]*read[^;]*;.*_\[k\]$')" 200 8 \
	"no frame pointers: the function that called the kernel is shown"
sed 's/burn_deep/&/51; t; d' nofp.folded >deep.folded
near "$(count deep.folded ';main;burn_deep;')" 200 8 "no frame pointers: a deep stack is complete"
near "$(count nofp.folded '^burner;.*;thread;burn_thread')" 400 8 \
	"no frame pointers: threads are sampled"
[ "$(count nofp.folded '\[truncated\]')" -le 5 ]
ok $? "no frame pointers: no stack is cut" || diag "$(grep truncated nofp.folded)"
bytes=$(($(stat -c %s nofp.data) / $(count nofp.folded .)))
[ $bytes -lt 1000 ]
ok $? "a sample with its stack is $bytes bytes on disk"

# Deep stacks are whole, too. A stack that is deeper than the largest copy is truncated, and marked.
record deep 999 -- "${cpu}_nofp" 200 deep=530
near "$(awk -F'burn_deep' '{ if (NF == 532) n += $NF; else other++ } END { print n + 0 }' \
	deep.folded)" 200 8 \
	"130 KB of stack: the stack is complete" || diag "$(cut -c1-100 deep.folded)"
# A stack cannot be copied from a page that the current page fault is about to map.
is "$(count deep.folded '^[^;]*;\[truncated\];' )" \
	"$(count deep.folded '\[truncated\];.*_fault_\[k\]')" \
	"130 KB of stack: no stack is cut, except in page faults" ||
	diag "$(cut -c1-100 deep.folded)"
record deeper 999 -- "${cpu}_nofp" 200 deep=2000
near "$(count deeper.folded '^cpu_nofp;\[truncated\];(burn_deep;)+burn_deep')" 200 8 \
	"500 KB of stack: the stack is cut, and marked"
like "$(cat deeper.mlog)" 'CPU samples? whose call path is deeper than recorded' \
	"500 KB of stack: cut stacks are counted"
record context 999 -- "${cpu}_nofp" 200 context
near "$(count context.folded '^cpu_nofp;.*;burn_context$')" 200 8 \
	"a stack that belongs to no thread is complete" ||
	diag "$(cat context.folded)"
record cut 999 --call-graph dwarf,1024 -- "${cpu}_nofp" 200 deep=50
near "$(count cut.folded '^cpu_nofp;\[truncated\];(burn_deep;)+burn_deep')" 200 8 \
	"a small copy: the stack is cut, and marked"
like "$(cat cut.mlog)" 'CPU samples? whose call path is deeper than recorded' \
	"a small copy: cut stacks are counted"

# The vdso has no file: its names and unwind tables come from xpumerge's own vdso. In some kernels,
# a function in the vdso has an unwind table but no symbol: it is shown as an address in the vdso.
record vdso 999 -- "${cpu}_nofp" 200 clock
[ "$(count vdso.folded ';main;burn_clock;.*;__vdso_clock_gettime')" -gt 100 ]
ok $? \
	"the vdso: functions have names, and stacks are unwound through it" ||
	diag "$(head -n 5 vdso.folded)"
perl -e 'open M, "/proc/self/maps";
	/^(\w+)-(\w+) .*\[vdso\]/ and ($a, $b) = (hex $1, hex $2) while <M>;
	open M, "<:raw", "/proc/self/mem"; sysseek M, $a, 0; sysread M, $_, $b - $a; print' >vdso.so
readelf -Ws vdso.so >vdso.symbols
like "$(cat vdso.symbols)" ' FUNC .*__vdso_clock_gettime' \
	"the vdso: its symbol table is readable on this machine"
grep -o '\[vdso\]+0x[0-9a-f]*' vdso.folded | sort -u | perl -e '
	open S, "vdso.symbols"; while (<S>) { push @s, [hex $1, $2] if /:\s+(\w+)\s+(\d+)\s+FUNC/ }
	while (<STDIN>) { $at = hex((/\+(.*)/)[0]);
	print grep { $at >= $_->[0] && $at < $_->[0] + $_->[1] } @s }' >named
is "$(cat named)" "" "the vdso: each address in a function with a symbol has the function's name"

# Programs that load no shim, and short programs.
record static 999 -- "${cpu}_static" 200 user
near "$(count static.folded 'main;call_user;burn_user$')" 200 8 "a static binary is sampled"
record short 99 -- true
is "$(grep -c . short.data >/dev/null && echo there)" there \
	"a program shorter than a sample: a recording is written"

# The default rate gives few samples, so the allowed error is large.
hz=99 before_ms=$(stolen_ms)
us=$(xpuload --cpu-only -o default.data "$cpu" 400 user 2>default.log)
xpumerge default.data >default.txt 2>default.mlog
like "$(cat default.mlog)" '^CPU samples [1-9][0-9]* lost 0$' \
	"--cpu-only: the account counts samples"
unlike "$(cat default.txt default.mlog)" 'launches|GPU 0' "--cpu-only: the account has no launches"
since "$before_ms"
xpumerge -i default.data -f folded --unit samples -o default.folded 2>/dev/null
near "$(count default.folded .)" $((us * 99 / 1000000)) 5 \
	"by default, 99 samples a second are taken"
xpumerge -i default.data >default.txt 2>/dev/null
like "$(cat default.txt)" '^CPU samples [0-9]+ lost 0$' \
	"the summary of a recording without launches counts samples"
unlike "$(cat default.txt)" 'launch|kernels' \
	"the summary of a recording without launches does not mention launches"

# 64 threads on all CPUs: no sample is lost, and time off the CPU is not sampled.
record many 999 -- "$cpu" 20 threads=64
near "$(count many.folded .)" $((us * 999 / 1000000)) 4 \
	"64 threads: the number of samples matches the CPU time"

# A ring that is too small: the loss is reported.
hz=5000 before_ms=$(stolen_ms)
us=$(xpuload --cpu-only --strict -F 5000 -m 64K -o small.data sh -c "kill -STOP \$PPID
	'$cpu' 300 threads=4; kill -CONT \$PPID" 2>small.log)
is $? 125 "ring full: --strict fails"
since "$before_ms"
like "$(cat small.log)" 'warning: lost: .*\b[0-9]+ CPU samples \(ring full: try -m\)' \
	"ring full: a message counts the lost samples"
lost=$(sed -n 's/.*lost: .*\b\([0-9][0-9]*\) CPU samples (ring.*/\1/p' small.log)
kept=$(sed -n 's/^xpuload: \([0-9]*\) CPU samples.*/\1/p' small.log)
near $((lost + kept)) $((us * 5000 / 1000000)) 5 \
	"ring full: kept and lost samples add up to all samples"
xpumerge -i small.data --strict -f folded -o small.folded 2>small.mlog
is $? 1 "ring full: xpumerge reports an incomplete recording"
like "$(cat small.mlog)" "^ +$lost CPU samples lost: ring buffer full" \
	"ring full: xpumerge says how many samples are lost"

# Attaches to a program that lacks the shim. Threads and later children of the program are sampled,
# too. After the end of a process is reported, the kernel still frees the memory of that process,
# under the name of the process. This work does not count as another process.
hz=999 before_ms=$(stolen_ms)
mkfifo go
"$cpu" 300 wait user fork user memory=400 <go >attached.us &
pid=$!
exec 9>go
"$XPULOAD" --cpu-only -p $pid -F 999 -o attached.data 9>&- 2>attached.log &
observer=$!
wait_for grep -qs 'attached to 1 process' attached.log || diag "$(cat attached.log)"
exec 9>&-
wait $observer
is $? 0 "attached: exit status 0"
wait $pid
since "$before_ms"
xpumerge -i attached.data -f folded --unit samples -o attached.folded 2>/dev/null
near "$(count attached.folded ';burn_child$')" 300 8 "attached: a child is sampled"
like "$(xpumerge -i attached.data 2>/dev/null)" '^end: detached' \
	"attached: the recording ends with a detach, without an exit status"
near "$(count attached.folded ';call_user;burn_user$')" 600 8 "attached: the program is sampled"
like "$(tail -n 1 attached.log)" '^xpuload: [0-9]+ CPU samples, 2 processes; .* lost 0$' \
	"attached: nothing is lost"

# Invalid values of options.
for bad in "--call-graph dwarf,100" "--call-graph dwarf,x" "--call-graph fp,8192" "-F 0" "-F x" \
	"-F 99x" "-F 2000000000" "--gpu-only --cpu-only" "--gpu-only -F 99" \
	"--cpu-only --python only"; do
	# shellcheck disable=SC2086 # several words on purpose
	xpuload $bad -o bad.data true 2>bad.log
	is $? 125 "$bad: exit status 125"
	is "$(wc -l <bad.log)" 1 "$bad: prints one line"
done

# With launches: the launches are exact, and there are samples.
if [ -e "$XPU_SHIM" ]; then
	use_sim
	out=$(xpuload -F 999 -o both.data "$XPU_BUILD/workload/exact" -t 8 -s 16 \
		-n 40000 2>both.log)
	is $? 0 "samples and launches: exit status 0"
	like "$(cat both.log)" '; [0-9]+ CPU samples?; .* lost 0$' \
		"samples and launches: nothing is lost"
	is "$(verdict both)" "launches 40000 matched 40000 wrong 0 unmatched 0 lost 0" \
		"samples and launches: every launch is matched, under its own site"
	xpumerge -i both.data -f folded --unit ns -o both.ns 2>/dev/null
	[ "$(grep -vc '\[GPU_' both.ns)" -gt 10 ]
	ok $? "samples and launches: CPU samples are taken"
	xpumerge -i both.data --gpu-only -f folded --unit ns -o both.gpu 2>/dev/null
	grep -E '\[GPU_(Kernel|Mem|Launch)' both.ns | cmp -s - both.gpu
	ok $? "--gpu-only shows only the launches"
	xpumerge -i both.data --cpu-only -f folded --unit ns -o both.cpu 2>/dev/null
	grep -Ev '\[GPU_(Kernel|Mem|Launch)' both.ns | cmp -s - both.cpu
	ok $? "--cpu-only shows only the samples"
	xpuload --gpu-only -o gpu.data "$XPU_BUILD/workload/exact" -t 2 -s 4 \
		-n 400 >/dev/null 2>gpu.log
	unlike "$(cat gpu.log)" 'CPU samples' "--gpu-only takes no CPU samples"
else
	skip "samples and launches" "no shim"
fi
done_testing
