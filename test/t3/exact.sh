#!/bin/sh
# SPDX-License-Identifier: MIT
# Exactness: every kernel record must be under the site that launched it, whatever the threads,
# streams and launch order. The test uses real BPF and real uprobes on the simulated device.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

run() {			# run NAME ARGS...: records, merges and compares
	name=$1
	shift
	out=$(xpuload -o "$name.data" "$XPU_BUILD/workload/exact" "$@" 2>load.log)
	is $? 0 "$name: exit status 0"
	like "$out" '^exact: ' "$name: stdout has only the target's output"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	is $? 0 "$name: xpumerge succeeds"
	line=$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)
	diag "$name: $line"
	is "$line" "launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: every launch is matched, under its own site"
}

launches=160000
run threads -t 8 -s 16 -n 160000
launches=4000
run driver -t 4 -s 16 -n 4000 -d
run one -t 1 -s 4 -n 4000 -r 7

done_testing
