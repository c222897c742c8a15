#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures the cost of an OpenCL enqueue: 8 x 20,000 launches by cl_exact, bare, with a layer that
# does nothing, with the shim dormant, and recorded. Runs take turns. Prints medians of the CPU time
# per launch, and of the difference between this time and the bare run's time in the same round.
# ROUNDS=N (9), THREADS=N (8)
. "$XPU_SRC/test/bench/lib.sh"
exact=$XPU_BUILD/workload/cl_exact rounds=${ROUNDS:-9} threads=${THREADS:-8} n=20000
[ "$(id -u)" = 0 ] || { echo "opencl: not run: needs root"; exit 0; }
[ -x "$exact" ] && "$exact" -t 1 -n 1 >/dev/null 2>&1 ||
	{ echo "opencl: not run: pocl-opencl-icd, ocl-icd-opencl-dev are missing"; exit 0; }

bare() { "$exact" "$@"; }
layer() { OPENCL_LAYERS=$XPU_BUILD/workload/cl_layer.so "$exact" "$@"; }
dormant() { LD_PRELOAD=$XPU_BUILD/libxpushim.so "$exact" "$@"; }
recorded() { "$XPU_BUILD/xpuload" -q --gpu-only -o x.data "$exact" "$@"; }

ways="bare layer dormant recorded"
i=0
while [ $i -lt "$rounds" ]; do
	for way in $ways; do
		$way -t "$threads" -n $n -e none -T | awk '/ns of/ { print $1, $6 }' >>$way
	done
	i=$((i + 1))
done
middle=$(((rounds + 1) / 2))
echo "CPU time of an enqueue on PoCL, $threads threads, medians of $rounds rounds:"
for way in $ways; do
	printf '  %-9s %6s ns of the thread, %s ns more than bare; %6s ns of the process\n' $way \
		"$(cut -d' ' -f1 $way | sort -n | sed -n "${middle}p")" \
		"$(paste -d' ' $way bare | awk '{ print $1 - $3 }' | sort -n | sed -n "${middle}p")" \
		"$(cut -d' ' -f2 $way | sort -n | sed -n "${middle}p")"
done
