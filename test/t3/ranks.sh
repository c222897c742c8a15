#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks that report their operations through NVIDIA's NVTX headers, as NCCL does: every operation is
# paired, and the rank whose data loading is slow is found, with its call path.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim
nccl=$XPU_BUILD/workload/nccl
"$nccl" 2 1 0 >/dev/null
[ $? = 77 ] && skip_all "no NVTX headers with payloads next to CUPTI's"

account() {		# account KEY
	sed -n "s/.*\"account\": {.*\"$1\": \([0-9]*\).*/\1/p" ranks.json
}

# late_path FILE: prints the first of the late paths. Leaves out the time in which a rank waited for
# a CPU of a busy machine (runnable), and the time in which other ranks waited for such a rank
# (lock).
late_path() {
	xpumerge ranks "$1" --csv 2>/dev/null | sed -n '/^late_paths/,/^$/p' |
		grep -v 'Off_CPU\]\(runnable\|lock\)' | sed -n 3p
}

for how in bpf shm; do
	off=--off-cpu
	[ $how = bpf ] || off=
	# Without off-CPU times, the late path is the path of the launch that needed the data.
	path=load_batch
	[ $how = bpf ] || path='host.*forward'
	# On a busy machine, other paths of the slow rank may take more time than the slow loader.
	# The program is then recorded again.
	attempt=0
	while
		attempt=$((attempt + 1))
		# shellcheck disable=SC2086 # no option, or one
		xpuload --transport $how $off -o $how.data "$nccl" 3 20 1 >out 2>load.log
		status=$?
		[ $status = 0 ] && ! late_path $how.data | grep -q "^1,.*$path" &&
			[ $attempt -lt 5 ]
	do
		:
	done
	diag "$how: attempt $attempt"
	is $status 0 "$how: exit status 0" || diag "$(cat load.log)"
	xpumerge ranks $how.data --json >ranks.json 2>log
	like "$(cat log)" 'unmatched 0 lost 0' "$how: nothing is lost"
	is "ops $(account ops) paired $(account paired)" \
		"$(sed 's/ops \([0-9]*\) .*/ops \1 paired \1/' out)" \
		"$how: each operation is paired" ||
		diag "$(xpumerge dump $how.data | grep 'domain="NCCL"' | head)"
	xpumerge ranks $how.data --csv >ranks.csv 2>/dev/null
	is "$(sed -n '/^ranks/,/^$/p' ranks.csv |
		awk -F, '$1 ~ /^[0-9]/ { n += $4 + $5 } END { printf "%d", n }')" \
		"$(xpumerge -i $how.data --csv --table kernels 2>/dev/null |
		awk -F, '/ncclDevKernel/ { n += $2 } END { printf "%d", n }')" \
		"$how: waits + transfers = the kernels' time"
	like "$(late_path $how.data)" "^1,.*$path" \
		"$how: the table begins with the late rank and its call path" ||
		diag "$(xpumerge ranks $how.data 2>/dev/null)"
done

# A nonblocking communicator: launches come from NCCL's own threads, and are in no range.
xpuload --off-cpu -o own.data "$nccl" 3 20 1 nonblocking >out 2>load.log
is $? 0 "nonblocking communicator: exit status 0" || diag "$(cat load.log)"
xpumerge ranks own.data --json >ranks.json 2>log
is "ops $(account ops) paired $(account paired) kernels $(account own_threads)" \
	"$(sed 's/ops \([0-9]*\) kernels/ops \1 paired \1 kernels/' out)" \
	"nonblocking communicator: each operation is paired" ||
	diag "$(xpumerge ranks own.data 2>&1 | head -n 20)"
like "$(late_path own.data)" "^1,.*load_batch" \
	"nonblocking communicator: the table begins with the late rank and its call path"

# Attaches to running ranks: their communicator was made before, and its end is recorded.
LD_PRELOAD="$XPU_SHIM" "$nccl" 3 300 1 until go >out 2>ready &
pid=$!
wait_for grep -qs ready ready
attach late --off-cpu -p $pid
wait_for are_awake late 3
touch go
wait "$late_pid"
is $? 0 "attached: exit status 0" || diag "$(cat late.log)"
wait $pid
xpumerge ranks late.data --json >ranks.json 2>log
diag "$(grep -h '^launches' log) $(sed -n 's/.*"account": //p' ranks.json)"
ok "$(($(account paired) < 30))" \
	"attached: $(account paired) of $(account ops) operations are paired" ||
	diag "$(xpumerge ranks late.data 2>&1 | head -n 20)"
# The end of the split communicator is not recorded.
is "$(account ops)" "$(($(account paired) + $(account late) + $(account older)))" \
	"attached: each operation is paired, late, or of an older communicator"
is "$(account from_end)" "$(account paired)" \
	"attached: operations are paired by their numbers from the communicator's end"
like "$(late_path late.data)" "^1,.*load_batch" \
	"attached: the table begins with the late rank and its call path"
done_testing
