# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# memory_verdict.sh - compares folded lines of memory with the output of test/workload/memory.cu:
# . "$XPU_SRC/test/lib/memory_verdict.sh"

# memory_sums FOLDED: prints "SITE KIND BYTES", the sum for each site and kind, sorted, without
# memory that CUDA itself holds.
memory_sums() {
	awk '!/\](rest|unused) [0-9]+$/ {
		bytes = $NF
		sub(/ [0-9]+$/, "")
		site = match($0, /mem_site_[0-9a-z]+/) ? substr($0, RSTART, RLENGTH) : "none"
		sub(/.*\]/, "")
		sum[site " " $0] += bytes
	} END { for (i in sum) printf "%s %.0f\n", i, sum[i] }' "$1" | sort
}

# memory_truth OUTPUT WHAT [MOMENT]: prints sums like memory_sums(), but as the program reports
# them, at moment number MOMENT, counted from 1.
memory_truth() {
	awk -v what="$2" -v nr="${3:-0}" '
		$1 == "moment" { moment++ }
		$1 == what && (!nr || moment == nr) { sum[$2 " " $3] += $4 }
		END { for (i in sum) printf "%s %.0f\n", i, sum[i] }' "$1" | sort
}

# memory_start DATA: prints CLOCK_MONOTONIC at the recording's start, in ns.
memory_start() {
	xpumerge dump "$1" 2>/dev/null | sed -n '1s/.*start_mono_ns=\([0-9]*\).*/\1/p'
}

# memory_wrong DATA OUTPUT: compares ten moments, the peak, the leaks, all allocations and the
# failures. Prints a line for each comparison, and then "wrong N", where N is the number of
# differences.
memory_wrong() {
	start=$(memory_start "$1")
	wrong=0 nr=0
	grep '^moment' "$2" | while read -r _ ns; do
		nr=$((nr + 1))
		echo "live $nr $((ns - start))"
	done >moments
	printf 'peak 0 0\nleaked 0 0\nallocated 0 0\nfailed 0 0\n' >>moments
	while read -r what nr ns; do
		at=
		[ "$nr" = 0 ] || at="--at ${ns}ns"
		# shellcheck disable=SC2086 # two words, or none
		xpumerge -i "$1" --memory "$what" $at -f folded -o got.folded 2>merge.log ||
			cat merge.log
		memory_sums got.folded >got
		memory_truth "$2" "$what" "$nr" >expected
		differ=$(comm -3 got expected | wc -l)
		echo "$what $nr: $(wc -l <expected) sums, $differ lines differ"
		comm -3 got expected | head -4
		[ -s expected ] || differ=$((differ + 1))
		wrong=$((wrong + differ))
	done <moments
	echo "wrong $wrong"
}
