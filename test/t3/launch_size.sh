#!/bin/sh
# SPDX-License-Identifier: MIT
# The size of a launch and its kernel in a recording, including call paths, names, headers, process
# and mapping records. Threads launch from random call paths, which is the worst case.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

# size LIMIT THREADS OPTION...: checks that a launch takes at most LIMIT bytes
size() {
	limit=$1 threads=$2
	shift 2
	name="$threads threads, $*"
	xpuload --gpu-only "$@" -o run.data "$XPU_BUILD/workload/exact" -t "$threads" -s 16 \
		-n 160000 >/dev/null 2>load.log
	like "$(cat load.log)" '^xpuload: 160000 launches .* 160000 device records,.* lost 0$' \
		"$name: all launches are recorded"
	bytes=$(stat -c %s run.data)
	diag "$name: $bytes bytes for 160,000 launches and kernels: $(echo "$bytes" |
		awk '{ print $1 / 160000 }') each"
	[ "$bytes" -le $((160000 * limit)) ]
	ok $? "$name: a launch and its kernel take at most $limit bytes"
}
for mode in path launch; do
	size 24 8 --probe $mode
	size 24 32 --probe $mode
	size 64 8 --probe $mode -z 0
done

done_testing
