#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# launch_gpu.sh [ROUNDS]: what a launch costs on this machine's GPU, side by side in one run. The
# ways take turns, so that a slow moment hits them all; medians, and ratios to the floor: CUPTI's
# kernel activity alone. `make bench-gpu`, or with TREE= for a portable tree.
set -u
: "${XPU_BUILD:?run it as: make bench-gpu}" "${XPU_SRC:?}" "${NVCC:?nvcc is needed}"
rounds=${1:-7}
dir=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

xpuload=$XPU_BUILD/xpuload shim=$XPU_BUILD/libxpushim.so
[ -x "$XPU_BUILD/bin/xpuload" ] &&
	xpuload=$XPU_BUILD/bin/xpuload shim=$XPU_BUILD/lib/xpuload/libxpushim.so
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v "$NVCC")")")")

"$NVCC" -std=c++17 -O2 -cudart shared -Wno-deprecated-gpu-targets -o launch \
	"$XPU_SRC/test/bench/launch.cu" || exit 1
inc=$(sh "$XPU_SRC/scripts/find-cupti.sh") || exit 1
lib=
for d in "$cuda/extras/CUPTI/lib64" "$cuda/lib64" /usr/local/cuda/lib64; do
	[ -e "$d/libcupti.so" ] && lib=$d && break
done
# shellcheck disable=SC2086
${CC:-cc} -O2 -fPIC -shared $inc -o floor.so "$XPU_SRC/test/bench/floor.c" -L"$lib" -lcupti \
	-Wl,-rpath,"$lib" || exit 1

ways="bare dormant floor fp dwarf"
run() {			# run WAY ARGS...
	way=$1
	shift
	case $way in
	bare)		./launch "$@" ;;
	dormant)	LD_PRELOAD=$shim ./launch "$@" ;;
	floor)		CUDA_INJECTION64_PATH=$dir/floor.so ./launch "$@" ;;
	*)		"$xpuload" -o x.data --call-graph "$way" ./launch "$@" 2>"$way.log"
			grep -o 'lost [0-9]*$' "$way.log" | head -n 1 >"$way.lost" ;;
	esac
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
echo "Linux $(uname -r), $(nproc) CPUs, $("$NVCC" --version | grep -o 'release [0-9.]*')," \
	"medians of $rounds rounds"
for threads in 1 8; do
	n=$((400000 / threads))
	i=0
	while [ $i -lt "$rounds" ]; do
		for way in $ways; do
			run "$way" -t "$threads" -n "$n" >>"$threads.$way"
		done
		i=$((i + 1))
	done
	floor=$(median "$threads.floor")
	for way in $ways; do
		ns=$(median "$threads.$way")
		printf '%d thread%s  %-8s %6d ns a launch   %5.2f x floor   %s\n' "$threads" \
			"$([ "$threads" = 1 ] || echo s)" "$way" "$ns" \
			"$(echo "$ns $floor" | awk '{ print $1 / $2 }')" \
			"$(cat "$way.lost" 2>/dev/null)"
	done
done
