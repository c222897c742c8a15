#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# twofile.sh [LAUNCHES]: measures the time and memory of an import of LAUNCHES launches (default:
# 92,732), and then of ten times as many, to folded stacks. The import has two files, one with
# stacks and one with calls and kernels. The clocks of the files differ by 370 ms. "sites" is the
# number of call paths, each with its own kernel: 64, as in real programs, and as many as launches,
# so that no path occurs twice. Prints medians of 3 runs. "ns each" is CPU time per launch. "right"
# is how many launches got the stack that belongs to their kernel; only timestamps can identify this
# stack.
. "$(dirname "$0")/lib.sh"
launches=${1:-92732}

line() {
	printf '%9s %8s %7s %7s %8s %8s %8s %8s %8s %10s\n' "$@"
}

right() {		# prints how many launches are under the site with their kernel's number
	sed -n 's/.*;site_\([0-9]*\);.*\[GPU_Kernel\]kernel_\([0-9]*\) /\1 \2 /p' "$1" |
		awk '$1 == $2 { n += $3 } END { print n + 0 }'
}

median() {		# prints the median of a column of the figures
	cut -d' ' -f"$1" figures | sort -n | sed -n 2p
}

bench() {		# bench LAUNCHES THREADS GAP_US LOST SITES
	"$XPU_BUILD/gen_twofile" cpu.txt gpu.json nr="$1" threads="$2" gap="$3" lost="$4" \
		sites="$5" >/dev/null || exit 1
	rm -f figures
	for _ in 1 2 3; do
		$time -f '%e %U %S %M' -o figure "$XPU_BUILD/xpumerge" --cpu cpu.txt \
			--gpu gpu.json -o a.folded --unit count 2>log || { cat log; exit 1; }
		awk '{ print $1, $2 + $3, int($4 / 1024) }' figure >>figures
	done
	cpu=$(median 2)
	line "$1" "$2" "$5" "$4" "$(median 1)" "$cpu" \
		"$(echo "$cpu $1" | awk '{ printf "%.0f", $1 * 1e9 / $2 }')" "$(median 3)" \
		"$(($(cat cpu.txt gpu.json | wc -c) / 1000000))" "$(right a.folded)"
}

echo "importing from two files, $(sed -n 's/^model name.*: //p' /proc/cpuinfo |
	head -n 1), $(nproc) CPUs"
line launches threads sites lost "wall s" "CPU s" "ns each" "peak MB" "input MB" right
for sites in 64 "$launches"; do
	bench "$launches" 1 30 0 "$sites"
	bench "$launches" 1 30 0.01 "$sites"
	bench "$launches" 8 60 0 "$sites"
	bench "$launches" 8 60 0.01 "$sites"
done
bench $((launches * 10)) 8 60 0.01 64
bench $((launches * 10)) 8 60 0.01 $((launches * 10))
