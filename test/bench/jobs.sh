#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# jobs.sh [PATHS...]: measures how much faster xpumerge -j N reads recordings of ranks than -j 1.
# Each of 8 recordings has a million launches of 8 threads, from PATHS call paths (1,000 and 10,000)
# of 30 frames. N is 2, then 4 and so on up to the number of CPUs. For each N, there are five pairs
# of runs: -j 1 and, right after it, -j N. "x faster" is the median of the pairs' ratios, with the
# minimum and the maximum. Other work on the machine lowers the ratio, so the load average is
# printed above. Then it prints the peak of memory for 1, 8 and 32 recordings.
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 1000 10000

cpus=$(nproc)
[ "$cpus" -gt 1 ] || cpus=2
all_jobs=2
while [ $((all_jobs * 2)) -le "$cpus" ]; do
	all_jobs="$all_jobs $((all_jobs * 2))"
done

gen() {			# gen FILES PATHS
	for i in $(seq 1 "$1"); do
		"$XPU_BUILD/gen_data" -o "rank$i.data" --launches 1000000 --threads 8 \
			--blocks 262144 --paths "$2" --frames 30 \
			--rank "$i" --pid $((i * 100)) || exit 1
	done
}

run() {			# run FILES JOBS COMMAND...: prints "SECONDS KB"
	files=$(seq -f 'rank%g.data' 1 "$1") jobs=$2
	shift 2
	rm -rf out
	# shellcheck disable=SC2086 # several arguments
	$time -f '%e %M' -o figures "$XPU_BUILD/xpumerge" "$@" $files -j "$jobs" 2>log ||
		{ cat log >&2; exit 1; }
	tail -n 1 figures
}

load() {
	cut -d' ' -f1 /proc/loadavg
}

echo "recordings of ranks, -j at a time: $(sed -n 's/^model name.*: //p' /proc/cpuinfo |
	head -n 1), $(nproc) CPUs, load $(load)"
printf '%8s %8s %4s %10s %10s %10s %22s\n' output paths -j "-j 1 s" "-j s" "x faster" \
	"least and most"
for paths; do
	gen 8 "$paths"
	for output in folded text pprof html ranks tables; do
		case $output in
		ranks) args="ranks -f text -o out" ;;
		tables) args="-f parquet -o out" ;;
		*) args="-f $output -o out" ;;
		esac
		for jobs in $all_jobs; do
			rm -f pairs
			for _ in 1 2 3 4 5; do
				# shellcheck disable=SC2086 # several arguments
				echo "$(run 8 1 $args) $(run 8 "$jobs" $args)" |
					awk '{ print $1, $3, $1 / $3 }' >>pairs
			done
			sort -n -k3 pairs |
				awk -v output="$output" -v paths="$paths" -v jobs="$jobs" '
				{ one[NR] = $1; many[NR] = $2; ratio[NR] = $3 }
				END { printf "%8s %8s %4s %10.2f %10.2f %10.2f %14.2f %7.2f\n",
				output, paths, jobs,
					one[3], many[3], ratio[3], ratio[1], ratio[NR] }'
		done
	done
done
echo "load afterwards: $(load)"

echo
printf '%8s %8s' files paths
for jobs in 1 $all_jobs; do
	printf ' %12s' "-j $jobs, MB"
done
echo
gen 32 1000
for files in 1 8 32; do
	printf '%8s %8s' $files 1000
	for jobs in 1 $all_jobs; do
		run $files "$jobs" -f folded -o out | awk '{ printf " %12.1f", $2 / 1024 }'
	done
	echo
done
