#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --stalls on a real GPU: kernels that stall for a known reason show that reason, samples
# add up, and launches stay exact: with modules that are loaded and unloaded, with graphs, one
# kernel at a time, and in programs that are already running. test/bench/inside.py measures the
# cost.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -lineinfo -arch=sm_90 -Xcompiler -fno-omit-frame-pointer -o stalls \
	"$XPU_SRC/test/gpu/stalls.cu" 2>nvcc.log
ok $? "nvcc builds stalls" || diag "$(cat nvcc.log)"

# account NAME: prints whether the samples of a recording add up, and their number
account() {
	xpumerge dump "$1.data" |
		sed -n \
		's/.* STALLS_ACCOUNT .* total=\([0-9]*\) others=\([0-9]*\) dropped=\([0-9]*\) .* recorded=\([0-9]*\)/\1 \2 \3 \4/p' |
		tail -n 1 | awk '{ print ($1 == $2 + $3 + $4 && $4 > 0), $0 }'
}
how=--stalls
run() {			# run NAME COMMAND...
	name=$1
	shift
	xpuload "$how" -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	diag "$name: $(tail -n 1 load.log)"
	is "$(grep -c warning load.log)" 0 "$name: there is no warning" || diag "$(cat load.log)"
	xpumerge -i "$name.data" -f folded --unit ns -o "$name.folded" 2>merge.log
	like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
		"$name: every launch is matched"
	diag "$(xpumerge -i "$name.data" --limit 12 2>/dev/null | sed -n '/^stalls:/,/^$/p')"
	like "$(account "$name")" '^1 ' \
		"$name: attributed, dropped and other programs' samples add up to all samples"
}

run one ./stalls 1
# The samples of a warp that waits at a barrier are at the next instruction, where the loop begins.
while read -r kernel reasons lines; do
	top=$(grep "launch_$kernel(.*;\[GPU_Kernel\]k_$kernel(" one.folded |
		sed -n 's/.*;\([^;]*\);\[stall\]\(.*\) \([0-9]*\)$/\1 \2 \3/p' | sed 's/^.* at //')
	like "$(echo "$top" | awk '{ n[$2] += $3 } END { for (r in n) print n[r], r }' | sort -rn |
		head -n 1)" \
		"^[0-9]+ ($reasons)$" "k_$kernel: its main reason is right" || diag "$top"
	like "$(echo "$top" | awk '{ n[$1] += $3 } END { for (r in n) print n[r], r }' | sort -rn |
		head -n 1)" \
		"^[0-9]+ stalls.cu:($(grep -n "$lines" "$XPU_SRC/test/gpu/stalls.cu" |
		sed 's/:.*//' | paste -sd "|"))$" "k_$kernel: its main line is right" || diag "$top"
done <<-'EOF'
	global long_scoreboard at = p.at.;
	shared mio_throttle|short_scoreboard &s.at + i % 32.\|sum += s
	chain wait x = x . 1.0001f
	barrier barrier the other warps wait here
	code no_instructions? straight<N / 2>\|x . y + N
EOF
run eight ./stalls 8

# Programs whose kernels run for 3 ms, 50 ms, 0.2 s and 1 s in total. Each kernel has its own name,
# and the last kernel has samples, too.
for n in "3 1000" "12 4000" "50 4000" "200 5000"; do
	# shellcheck disable=SC2086 # two words
	xpuload --gpu-only --stalls -o short.data ./stalls short $n >out 2>load.log
	like "$(xpumerge -i short.data 2>/dev/null)" \
		"samples cover 100\\.0 % of the kernels' time: ([0-9.]+ m?s) of \\1\$" \
		"short, $n: samples cover all kernels"
	is "$(xpumerge -i short.data -f folded --unit samples 2>/dev/null | grep -F '[stall]' |
		grep -o 'short_kernel<[0-9]*>' | sort -u | wc -l)" "${n% *}" \
		"short, $n: each kernel has samples"
done

# Only one context of a GPU is sampled at a time.
run after ./stalls contexts cdc
xpuload --stalls -o contexts.data ./stalls contexts pccd >out 2>load.log
is $? 0 "contexts: exit status 0" || diag "$(cat out)"
like "$(cat load.log)" "stall reasons are recorded only for the first context of GPU 0" \
	"contexts: a message says that only the first is recorded" || diag "$(cat load.log)"
like "$(xpumerge -i contexts.data -o contexts.folded 2>&1)" \
	'launches 600 matched 600 unmatched 0 lost 0' "contexts: every launch is matched"
like "$(account contexts)" '^1 ' "contexts: the first context has its samples"

# A GPU has one sampler. The second program gets a message, and loses no launch.
second() {		# second NAME WHAT SAID
	xpuload --stalls -o "$1.data" ./stalls 2 >out 2>load.log
	is $? 0 "$2: exit status 0"
	like "$(cat load.log)" "no stall reasons are recorded: $3" \
		"$2: a message says that no stall reasons are recorded" || diag "$(cat load.log)"
	like "$(xpumerge -i "$1.data" -o "$1.folded" 2>&1)" \
		'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' "$2: every launch is matched"
}
xpuload --stalls -o first.data ./stalls mix 12 >mix.out 2>first.log &
sleep 5
second second "next to another process that is sampled" "another recorded process samples this GPU"
wait
like "$(account first)" '^1 ' "the first program has its samples"
is "$(grep -c "^xpuload: $(sed -n 's/launches \([0-9]*\) .*/\1/p' mix.out) launches .*; lost 0$" \
	first.log)" 1 "the first program has its launches" || diag "$(cat first.log mix.out)"
xpuload --gpu-metrics -o first.data sleep 12 2>first.log &
sleep 5
second third "next to --gpu-metrics" "another program samples this GPU"
wait
like "$(cat first.log)" ' [1-9][0-9]* samples of GPU metrics' "the first program has its counters"

if python3 -c 'import torch' 2>/dev/null; then
	run torch python3 "$XPU_SRC/test/gpu/metrics.py" --steps 100
	if python3 -c 'import triton' 2>/dev/null; then
		run triton python3 "$XPU_SRC/test/gpu/stalls_triton.py"
		like "$(grep ';\[GPU_Kernel\]chase;' triton.folded |
			sed -n 's/.*;\([^;]*\);\[stall\]\(.*\) \([0-9]*\)$/\3 \1 \2/p' |
			sort -rn | head -n 1)" \
			"^[0-9]+ stalls_triton.py:$(grep -n 'at = tl.load' \
			"$XPU_SRC/test/gpu/stalls_triton.py" |
			sed 's/:.*//') long_scoreboard$" \
				"a Triton kernel: its main line and reason are right" ||
			diag "$(grep chase triton.folded)"
	fi
fi

# One kernel at a time, so each sample belongs to a known launch.
how=--stalls=exact
run exact ./stalls 2
how=--stalls
like "$(xpumerge -i exact.data 2>/dev/null)" \
	'stalls: ([1-9][0-9]*) samples of kernels: \1 of one launch path, 0 shared' \
	"exact: no sample is shared among call paths"

# Eight threads: some load and unload modules, others launch graphs.
seconds=${XPU_MIX_SECONDS:-60}
mixed() {		# mixed NAME WHAT: compares a recording with the program's own counts
	is "$(grep \
		-c "^xpuload: $(sed -n 's/launches \([0-9]*\) .*/\1/p' \
		mix.out) launches .*; lost 0$" "$1.log")" 1 \
		"$2: there are as many launches as the program counted" ||
		diag "$(cat "$1.log" mix.out)"
	is "$(xpumerge -i "$1.data" --json --table kernels 2>/dev/null |
		sed -n 's/.*"instances": \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n }')" \
		"$(sed -n 's/.* kernels //p' mix.out)" \
		"$2: there are as many kernels as the program counted"
}
xpuload --stalls --gpu-metrics -o mix.data ./stalls mix "$seconds" >mix.out 2>mix.log
is $? 0 "mix: exit status 0"
diag "$(cat mix.out mix.log)"
mixed mix "mix, $seconds s"
diag "$(xpumerge -i mix.data --limit 5 2>/dev/null | sed -n '/^stalls:/,/^$/p')"
like "$(account mix)" '^1 ' \
	"mix: attributed, dropped and other programs' samples add up to all samples"

# A program that is already running.
LD_PRELOAD=$XPU_SHIM ./stalls mix 1800 >live.out 2>live.err &
pid=$!
# has_samples NAME: tests whether the recording has samples of the program's kernels
has_samples() {
	account "$1" | grep -q '^1 '
}
# Each recording ends when it has samples, however long that takes on a busy machine.
bad=0 none=0
for i in $(seq "${XPU_ATTACH_TIMES:-50}"); do
	attach live --stalls -p $pid
	wait_for has_samples live
	leave live && grep -q 'lost 0$' live.log || {
		bad=$((bad + 1))
		diag "round $i: $(cat live.log)"
	}
	has_samples live || {
		none=$((none + 1))
		diag "round $i: $(account live) $(tail -n 1 live.log)"
		break
	}
done
is $bad 0 "xpuload attaches and detaches ${XPU_ATTACH_TIMES:-50} times"
is $none 0 "each time samples add up"
diag "$(cat live.log)" "$(xpumerge -i live.data --limit 5 2>/dev/null | sed -n '/^stalls:/,/^$/p')"
kill -INT $pid
wait $pid
is $? 0 "the program ends with exit status 0" || diag "$(cat live.err)"
like "$(cat live.out)" '^launches [1-9]' "the program has launched all the time"
done_testing
