#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each call path of these recordings has its own kernel, so a record under a wrong path is noticed.
# The records come in all orders, and processes share pids and correlation IDs.
. "$XPU_SRC/test/lib/tap.sh"

check() {		# check LAUNCHES PATHS NAME ARGS...
	launches=$1 paths=$2 name=$3
	shift 3
	"$XPU_BUILD/gen_data" -o a.data --launches "$launches" --paths "$paths" "$@"
	xpumerge a.data -f folded --unit count -o a.folded 2>log
	is $? 0 "$name: exit status 0"
	is "$(sed -n 's/^launches //p' log)" "$launches matched $launches unmatched 0 lost 0" \
		"$name: all launches are matched"
	# Without thread names, there are as many call paths as kernels, and each path has one
	# kernel.
	awk '
	{
		count = $NF
		sub(/ [0-9]+$/, "")
		kernel = $0
		sub(/.*\[GPU[0-9]*_Kernel\]/, "", kernel)
		path = $0
		sub(/;\[GPU.*/, "", path)
		sub(/^[^;]*;/, "", path)
		if (path in kernel_of && kernel_of[path] != kernel)
			wrong += count
		if (kernel in path_of && path_of[kernel] != path)
			wrong += count
		kernel_of[path] = kernel
		path_of[kernel] = path
		sum += count
	}
	END {
		for (path in kernel_of)
			nr++
		print "paths", nr, "records", sum, "wrong", wrong + 0
	}' a.folded >verdict
	is "$(cat verdict)" "paths $paths records $launches wrong 0" \
		"$name: each device record is under its own call path"
}

check 20000 9 "one thread" --threads 1
check 20000 200 "many paths" --threads 4 --streams 16
check 20000 9 "eight threads" --threads 8
check 20000 9 "a long time in flight" --threads 8 --window 10000
check 20000 9 "records before launches" --threads 8 --early
check 20000 9 "records before launches, long in flight" --threads 8 --early --window 3000
check 20000 9 "one thread's launches at a time" --threads 8 --procs 2 --thread-batch 300
check 20000 9 "processes" --threads 3 --procs 5
check 20000 9 "a pid that execs four times" --threads 3 --procs 5 --reuse
check 20000 9 "two GPUs" --threads 3 --gpus 2
check 20000 9 "unwound in the process" --threads 3 --shim
is "$(grep -c 'GPU_Kernel' a.folded)" 9 "with a single GPU, frames have no GPU number"
check 4000 9 "deep" --frames 127
done_testing
