#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks that say of their operations what NCCL says, through NVIDIA's NVTX headers: every operation is paired, and
# the rank that loads its data slowly is found, with its call path.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim
nccl=$XPU_BUILD/workload/nccl
"$nccl" 2 1 0 >/dev/null
[ $? = 77 ] && skip_all "no NVTX headers with payloads beside CUPTI's"

account() {		# account KEY
	sed -n "s/.*\"account\": {.*\"$1\": \([0-9]*\).*/\1/p" ranks.json
}

for how in bpf shm; do
	off=--off-cpu
	[ $how = bpf ] || off=
	# shellcheck disable=SC2086 # no option, or one
	xpuload --transport $how $off -o $how.data "$nccl" 3 20 1 >out 2>load.log
	is $? 0 "$how: status" || diag "$(cat load.log)"
	xpumerge ranks $how.data --json >ranks.json 2>log
	like "$(cat log)" 'unmatched 0 lost 0' "$how: nothing is lost"
	is "ops $(account ops) paired $(account paired)" "$(sed 's/ops \([0-9]*\) .*/ops \1 paired \1/' out)" \
		"$how: each operation is paired" || diag "$(xpumerge dump $how.data | grep 'domain="NCCL"' | head)"
	xpumerge ranks $how.data --csv >ranks.csv 2>/dev/null
	is "$(sed -n '/^ranks/,/^$/p' ranks.csv | awk -F, '$1 ~ /^[0-9]/ { n += $4 + $5 } END { printf "%d", n }')" \
		"$(xpumerge -i $how.data --csv --table kernels 2>/dev/null |
		awk -F, '/ncclDevKernel/ { n += $2 } END { printf "%d", n }')" "$how: waits + transfers = the kernels' time"
	# Without times off the CPU there is the launch that the data were loaded for.
	path=load_batch
	[ $how = bpf ] || path='host.*forward'
	like "$(sed -n '/^late_paths/{n;n;p}' ranks.csv)" "^1,.*$path" "$how: the late rank, and its path, first" ||
		diag "$(xpumerge ranks $how.data 2>/dev/null)"
done
done_testing
