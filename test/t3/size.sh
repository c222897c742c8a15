#!/bin/sh
# SPDX-License-Identifier: MIT
# What a launch and its kernel take on the disk, everything included: call paths, names, headers,
# process and mapping records.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

for mode in path launch; do
	xpuload --gpu-only --probe $mode -o run.data "$XPU_BUILD/workload/exact" -t 8 -s 16 -n 160000 \
		>/dev/null 2>load.log
	like "$(cat load.log)" '^xpuload: 160000 launches .* 160000 device records,.* lost 0$' \
		"--probe $mode: all there"
	bytes=$(stat -c %s run.data)
	diag "--probe $mode: $bytes bytes for 160,000 launches and kernels: $(echo "$bytes" |
		awk '{ print $1 / 160000 }') each"
	[ "$bytes" -le $((160000 * (24 + 40))) ]
	ok $? "--probe $mode: at most 24 bytes for a launch and 40 for a kernel"
done

done_testing
