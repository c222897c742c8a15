#!/bin/sh
# SPDX-License-Identifier: MIT
# The exactness test on a real GPU: shared and static cudart, driver API, 8 threads.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

build() {		# build NAME FLAGS...
	name=$1
	shift
	"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets \
		-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-I"$XPU_SRC/test/workload" "$@" -o "$name" "$XPU_SRC/test/workload/exact.cu" \
		-lcuda 2>nvcc.log
	ok $? "nvcc builds $name" || diag "$(cat nvcc.log)"
}

run() {			# run NAME LAUNCHES COMMAND...
	name=$1 launches=$2
	shift 2
	xpuload -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	diag "$name: $(grep 'launches from' load.log)"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	is $? 0 "$name: the recording is merged"
	line=$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)
	diag "$name: $line"
	is "$line" "launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: every launch is matched, under its own site"
}

build exact_shared -cudart shared
build exact_static -cudart static
run shared 400000 ./exact_shared -t 8 -s 16 -n 400000
run static 100000 ./exact_static -t 8 -s 16 -n 100000
run driver 100000 ./exact_shared -t 8 -s 16 -n 100000 -d
run copies 45000 ./exact_shared -t 4 -s 16 -n 40000 -m
done_testing
