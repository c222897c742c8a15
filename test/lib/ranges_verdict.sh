#!/bin/sh
# SPDX-License-Identifier: MIT
# ranges_verdict.sh FOLDED MERGE_LOG: prints the exactness line of the workload ranges.cu, whose
# kernels' names contain the NVTX ranges of their launches. xpumerge has written FOLDED with
# --by nvtx and --unit count.

wrong=$(sed 's/;[^[][^;]*//g; s/;\(\[GPU[^;]*\)$/ \1/' "$1" | awk '
	BEGIN {
		t = "^\\[NVTX\\]thread(;\\[NVTX\\]round [0-9.]*)?"
		want["00"] = t "$|^\\[NVTX\\]main$|^\\[no NVTX range\\]$"
		want["01"] = t ";\\[NVTX\\]one$"
		want["02"] = t ";\\[NVTX\\]one;\\[NVTX\\]two(;\\[NVTX\\]module)?$"
		want["03"] = "^\\[NVTX\\]other:three;\\[NVTX\\]thread$"
		want["04"] = t ";\\[NVTX\\]four$"
		want["05"] = t ";\\[NVTX\\]five$"
	}
	{
		n = $NF
		path = substr($0, 1, index($0, " [GPU") - 1)
		match($0, /_Kernel\]kernel_[0-9][0-9]/)
		kernel = substr($0, RSTART + RLENGTH - 2, 2)
		if (!(kernel in want) || path !~ want[kernel])
			wrong += n
	}
	END { print wrong + 0 }')
n='\([0-9]*\)'
verdict="launches \1 matched \2 wrong $wrong unmatched \3 lost \4"
sed -n "s/^.*launches $n matched $n unmatched $n lost $n.*/$verdict/p" "$2" | head -n 1
