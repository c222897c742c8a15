#!/bin/sh
# SPDX-License-Identifier: MIT
# Recordings from a real GPU in every format: CUDA graphs, two processes, a DataLoader with workers,
# each with CPU samples. The readers' results for each format must equal the folded lines.
#
# RECORDINGS=DIR uses the recordings that another run left in DIR. OUT=DIR leaves this run's
# recordings there.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"

record() {		# record NAME COMMAND...
	name=$1
	shift
	xpuload -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: it is recorded" || diag "$(cat load.log)"
	diag "$name: $(grep 'launches from' load.log)"
	[ -z "${OUT:-}" ] || cp "$name.data" "$OUT"
}

if [ -n "${RECORDINGS:-}" ]; then
	cp "$RECORDINGS"/*.data .
else
	need root gpu nvcc bpf torch
	"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
		-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-I"$XPU_SRC/test/workload" -o graph "$XPU_SRC/test/workload/graph.cu" 2>nvcc.log
	ok $? "nvcc builds the program" || diag "$(cat nvcc.log)"
	record graph ./graph -n 1000
	record spawn python3 "$XPU_SRC/test/gpu/more.py" spawn
	record loader --off-cpu python3 "$XPU_SRC/test/gpu/more.py" loader
fi
protobuf=1
protobuf_readers 2>protoc.log || protobuf=

for data in *.data; do
	name=${data%.data}
	xpumerge -i "$data" 2>summary.log >summary
	diag "$name: $(grep 'launches [0-9]* matched' summary.log)"
	xpumerge -i "$data" -f folded --unit ns 2>/dev/null |
		awk -v name="$name" '{ ns = $NF; sub(/ [0-9]+$/, "")
			kind = match($0, /;\[[^];]*\][^;]*$/) ? substr($0, RSTART + 1) : "[CPU]"
			sub(/\].*/, "]", kind); sum[kind] += ns; nr[kind]++ }
			END { for (k in sum) printf "# %s: %s %d stacks, %.3f ms\n", name, k, nr[k],
			sum[k] / 1e6 }'

	both=
	same "$name" perf blank_comm "-f perf" ns
	same "$name" html cat "-f html" ns
	[ -z "$protobuf" ] || same "$name" pprof cat "-f pprof" all=ns
	both=--gpu-only
	same "$name" csv drop_leaf "--csv --table launch_sites --limit 0" ns count
	same "$name" json drop_leaf "--json --limit 0" ns count
	same "$name" html cat "-f html" count bytes
	both=--cpu-only
	[ -z "$protobuf" ] || same "$name" pprof drop_waits "-f pprof" cpu=ns
	common=only_tracks
	[ -z "$protobuf" ] || same "$name" pftrace drop_waits "-f pftrace" count=samples
	both="--gpu-only --graph launch"
	same "$name" chrome cat "-f chrome" ns count
	[ -z "$protobuf" ] || same "$name" pftrace cat "-f pftrace" ns count
	common=
	[ -n "$protobuf" ] ||
		skip "$name: pprof and pftrace" "no protoc, or no python3 with google.protobuf"
done
done_testing
