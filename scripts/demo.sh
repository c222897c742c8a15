#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Records the multi-threaded demo and leaves xpu.data, demo.html, demo.folded, demo.json and
# demo.svg in build/demo. Uses a real GPU if it exists and nvcc is installed, otherwise the
# simulated device. If OpenCL has a device, such as PoCL on the CPU, also records a program there:
# opencl.data, opencl.html.

set -u
src=${XPU_SRC:?run it as: make demo}
build=${XPU_BUILD:?}
out=${XPU_DEMO:-$build/demo}
mkdir -p "$out"
cd "$out" || exit 1
rm -f xpu.data demo.* opencl.*

fail() {
	echo "demo: $*" >&2
	exit 1
}

xpuload=$build/xpuload xpumerge=$build/xpumerge shim=$build/libxpushim.so
if [ -x "$build/bin/xpuload" ]; then		# an installed or portable tree
	xpuload=$build/bin/xpuload xpumerge=$build/bin/xpumerge
	shim=$build/lib/xpuload/libxpushim.so
fi
[ -e "$shim" ] || fail "the shim was not built: CUPTI's headers are missing"

if [ -e /dev/nvidiactl ] && [ -n "${NVCC:-}" ]; then
	echo "demo: on the GPU of this machine: $(nvidia-smi -L 2>/dev/null | head -n 1)"
	"$NVCC" -std=c++17 -O2 -g -cudart shared -Xcompiler -fno-omit-frame-pointer \
		-I"$src/test/workload" -o demo "$src/test/workload/demo.cu" -lcuda ||
		fail "nvcc could not build the demo"
	app=./demo
else
	echo "demo: on the simulated device (no NVIDIA GPU with nvcc here);" \
		"BPF and uprobes are real"
	app=$build/workload/demo
	LD_LIBRARY_PATH=$build/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
fi

"$xpuload" -o xpu.data "$app" -s 0.5 >demo.out ||
	fail "recording failed (status $?); what this machine allows: $xpuload --check"
"$xpumerge" -i xpu.data -o demo.folded 2>merge.log || { cat merge.log; fail "merging failed"; }
"$xpumerge" -i xpu.data -o demo.json 2>>merge.log || { cat merge.log; fail "merging failed"; }
"$xpumerge" -i xpu.data -o demo.html 2>>merge.log || { cat merge.log; fail "merging failed"; }
"$xpumerge" -i xpu.data -f folded --unit count -o counts.folded 2>count.log ||
	{ cat count.log; fail "merging failed"; }
XPUMERGE=$xpumerge sh "$src/scripts/fold.sh" --svg --title "xpuload demo" -o demo.svg xpu.data \
	2>>merge.log || {
	tail -n 1 merge.log
	echo "demo: demo.svg is not drawn; the rest is there"
}

echo
echo "in $out:"
for file in xpu.data demo.html demo.folded demo.json demo.svg; do
	[ ! -e $file ] || printf '  %9d  %s\n' "$(wc -c <$file)" $file
done
echo
is_exact() {		# is_exact FOLDED LOG WHAT: prints the line about exactness
	line=$(sh "$src/test/lib/verdict.sh" "$1" "$2")
	echo "$3: $line"
	case $line in
	*" wrong 0 unmatched 0 lost 0") ;;
	*) fail "the recording is not exact" ;;
	esac
}
is_exact counts.folded count.log CUDA

app=$build/workload/cl_exact
if [ ! -x "$app" ] || ! "$app" -t 1 -n 1 >/dev/null 2>&1; then
	echo "demo: no OpenCL program is recorded:" \
		"pocl-opencl-icd or ocl-icd-opencl-dev is missing"
	exit 0
fi
"$xpuload" -q -o opencl.data "$app" -n 2000 -e all -o opencl.times >opencl.out ||
	fail "recording OpenCL failed (status $?)"
"$xpumerge" -i opencl.data -o opencl.html 2>opencl.log || { cat opencl.log; fail "merging failed"; }
"$xpumerge" -i opencl.data -f folded --unit count -o opencl.folded 2>opencl.log ||
	{ cat opencl.log; fail "merging failed"; }
printf '  %9d  %s\n' "$(wc -c <opencl.data)" opencl.data "$(wc -c <opencl.html)" opencl.html
is_exact opencl.folded opencl.log 'OpenCL, on a device of this machine'
