#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory: memory that CUDA holds without a separate call for each piece, such as the memory of
# graphs and contexts, and the unused part of pools.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
. "$XPU_SRC/test/lib/memory_held_checks.sh"
need root bpf
quiet_sanitizers
use_sim
export XPU_SIM_REST=500000000 XPU_SIM_POOL=100663296 XPU_SIM_GRAPHS=25165824

for how in bpf shm; do
	xpuload --memory --gpu-only --transport $how -o held.data "$XPU_BUILD/workload/held" \
		x >held.out 2>load.log
	is $? 0 "$how: exit status 0" || diag "$(cat load.log)"
	like "$(tail -n 1 load.log)" 'lost 0$' "$how: nothing is lost"
	held_agrees
done
is "$(xpumerge -i held.data --table memory_devices --csv 2>/dev/null |
	awk -F, '/GPU/ { print $1 }')" "$((4 * 32 + 64 << 20))" \
		"unused parts of pools, and memory outside of pools, do not count as used, as in PyTorch"

# A late attach: the shim also asks CUDA how much memory is already held.
has_rest() {		# tests whether the recording says how much of the device is used
	[ -n "$(xpumerge -i late.data --memory live -f folded 2>/dev/null)" ]
}
start late env LD_PRELOAD="$XPU_SHIM" sh -c 'echo ready; exec "$@"' sh "$XPU_BUILD/workload/held" \
	x wait
wait_for grep -qs used late.out
xpuload --memory --gpu-only -o late.data -p "$late_pid" 2>load.log &
loader=$!
wait_for has_rest
echo go >late.cmd
wait "$late_pid"
wait $loader
xpumerge -i late.data --memory live --at failed -f folded 2>/dev/null >late.folded
is "$(awk '/GPU_Memory/ { sum += $NF } END { printf "%.0f", sum }' late.folded)" \
	"$(awk '$1 == "used" { used = $2 } END { print used }' late.out)" \
		"attached late: all kinds add up to the used memory of the device"
done_testing
