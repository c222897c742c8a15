#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --stalls on a real GPU: kernels that stand still in a known way have that reason, samples add up,
# launches stay exact; and what it costs.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -lineinfo -arch=sm_90 -Xcompiler -fno-omit-frame-pointer -o stalls \
	"$XPU_SRC/test/gpu/stalls.cu" 2>nvcc.log
ok $? "nvcc builds stalls" || diag "$(cat nvcc.log)"

run() {			# run NAME COMMAND...
	name=$1
	shift
	xpuload --stalls -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: status" || diag "$(cat load.log)"
	diag "$name: $(tail -n 1 load.log)"
	is "$(grep -c warning load.log)" 0 "$name: nothing is amiss" || diag "$(cat load.log)"
	xpumerge -i "$name.data" -f folded --unit ns -o "$name.folded" 2>merge.log
	like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' "$name: every launch is there"
	diag "$(xpumerge -i "$name.data" --limit 12 2>/dev/null | sed -n '/^stalls:/,/^$/p')"
	is "$(xpumerge dump "$name.data" | sed -n 's/.* STALLS_ACCOUNT .* total=\([0-9]*\) others=\([0-9]*\) dropped=\([0-9]*\) .* recorded=\([0-9]*\)/\1 \2 \3 \4/p' |
		tail -n 1 | tee account | awk '{ print ($1 == $2 + $3 + $4) }')" 1 \
		"$name: samples = attributed + other programs' + dropped" || diag "$(cat account)"
}

run one ./stalls 1
# A warp that waits for a barrier stands at the instruction after it: at the loop's beginning.
while read -r kernel reasons lines; do
	top=$(grep "launch_$kernel(.*;\[GPU_Kernel\]k_$kernel(" one.folded |
		sed -n 's/.*;\([^;]*\);\[stall\]\(.*\) \([0-9]*\)$/\1 \2 \3/p')
	like "$(echo "$top" | awk '{ n[$2] += $3 } END { for (r in n) print n[r], r }' | sort -rn | head -n 1)" \
		"^[0-9]+ ($reasons)$" "k_$kernel: its largest reason" || diag "$top"
	like "$(echo "$top" | awk '{ n[$1] += $3 } END { for (r in n) print n[r], r }' | sort -rn | head -n 1)" \
		"^[0-9]+ stalls.cu:($(grep -n "$lines" "$XPU_SRC/test/gpu/stalls.cu" | sed 's/:.*//' | paste -sd "|"))$" \
		"k_$kernel: its largest line" || diag "$top"
done <<-'EOF'
	global long_scoreboard at = p.at.;
	shared mio_throttle|short_scoreboard &s.at + i % 32.\|sum += s
	chain wait x = x . 1.0001f
	barrier barrier where the others wait
	code no_instructions? straight<N / 2>\|x . y + N
EOF
run eight ./stalls 8

for i in 1 2 3; do
	for how in "" --stalls; do
		# shellcheck disable=SC2086
		echo "null ${how:---gpu-only} $(xpuload --gpu-only $how -o c.data ./stalls null 600000 2>>cost.log | awk '{ print $2 }')"
	done
done >costs
diag "$(cat costs)"
diag "null kernels: $(awk '$2 == "--gpu-only" { w = $3; next } { printf "%.3f ", $3 / w }' costs)"
if python3 -c 'import torch' 2>/dev/null; then
	run torch python3 "$XPU_SRC/test/gpu/metrics.py" --steps 100
	if python3 -c 'import triton' 2>/dev/null; then
		run triton python3 "$XPU_SRC/test/gpu/stalls_triton.py"
		like "$(grep ';\[GPU_Kernel\]chase;' triton.folded | sed -n 's/.*;\([^;]*\);\[stall\]\(.*\) \([0-9]*\)$/\3 \1 \2/p' |
			sort -rn | head -n 1)" "^[0-9]+ stalls_triton.py:$(grep -n 'at = tl.load' "$XPU_SRC/test/gpu/stalls_triton.py" |
			sed 's/:.*//') long_scoreboard$" "a Triton kernel: its largest line and reason" ||
			diag "$(grep chase triton.folded)"
	fi
	for i in 1 2 3; do
		for how in "" --stalls; do
			# shellcheck disable=SC2086
			echo "step ${how:---gpu-only} $(xpuload --gpu-only $how -o c.data \
				python3 "$XPU_SRC/test/gpu/metrics.py" --steps 150 2>>cost.log | sed -n 's/^step //p')"
		done
	done >steps
	diag "$(cat steps)"
	diag "steps: $(awk '$2 == "--gpu-only" { w = $3; next } { printf "%.3f ", $3 / w }' steps)"
fi
done_testing
