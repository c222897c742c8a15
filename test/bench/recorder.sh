#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# recorder.sh [LAUNCHES]: measures the share of a core that xpuload takes, and the bytes that a
# launch and its kernel take in the recording. 8 threads of a target make LAUNCHES launches a second
# (100,000) from 1,000 call paths in random order. The ways to compress the recording take turns.
# Prints medians of XPU_ROUNDS (5). Needs root, BPF, and at least two cores, because the simulated
# device uses CPUs, too.
: "${XPU_SRC:?run it as: make bench}"
. "$XPU_SRC/test/bench/lib.sh"
rate=${1:-100000} rounds=${XPU_ROUNDS:-5}
"$XPU_BUILD/xpuload" --check >check.log 2>&1 ||
	{ echo "bench recorder: NOT RUN: $(grep MISSING check.log | head -n 1)"; exit 0; }
export LD_LIBRARY_PATH="$XPU_BUILD/sim"

# cpu_ns PID: prints the CPU time of all threads of the process together, and then of each thread
cpu_ns() {
	awk '{ sum += $1; each = each " " $1 } END { print sum each }' /proc/"$1"/task/*/schedstat
}

# run LEVEL: measures two seconds in the middle of a recording
run() {
	"$XPU_BUILD/xpuload" --gpu-only -z "$1" -o r.data "$XPU_BUILD/workload/exact" -t 8 -s 16 \
		-p "$rate" -n $((rate * 4)) >/dev/null 2>log &
	pid=$!
	sleep 1.5
	from=$(date +%s%N) before=$(cpu_ns $pid)
	sleep 2
	after=$(cpu_ns $pid) to=$(date +%s%N)
	wait $pid
	grep -q "^xpuload: $((rate * 4)) launches .* lost 0$" log || { cat log; exit 1; }
	echo "$before $after $from $to $(stat -c %s r.data)" | awk -v rate="$rate" '{
		s = ($8 - $7) / 1e9; n = rate * s
		printf "%.3f %.0f %.0f %.0f %.1f\n", ($4 - $1) / s / 1e7, ($4 - $1) / n,
		($5 - $2) / n,
			($6 - $3) / n, $9 / (rate * 4) }' >>"level$1"
}

median() {		# median FILE COLUMN
	cut -d' ' -f"$2" "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

echo "recording $rate launches a second, $(sed -n 's/^model name.*: //p' /proc/cpuinfo |
	head -n 1)," "$(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
levels="0 1 3"
for _ in $(seq "$rounds"); do
	for level in $levels; do
		run "$level"
	done
done
printf '%12s %12s %14s %14s %14s %14s\n' compressed "% of a core" "ns a launch" "reading ns" \
	"writing ns" "bytes a launch"
for level in $levels; do
	f=level$level
	printf '%12s %12s %14s %14s %14s %14s\n' "-z $level" "$(median "$f" 1)" "$(median "$f" 2)" \
		"$(median "$f" 3)" "$(median "$f" 4)" "$(median "$f" 5)"
done
