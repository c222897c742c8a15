#!/bin/sh
# SPDX-License-Identifier: MIT
# Without privileges, on a real GPU: PyTorch through shared memory, with every launch in the right
# place. The cost is at most 1.02 times the cost with BPF, measured alternately. XPU_SHM_ROUNDS is
# the number of rounds (15).
. "$XPU_SRC/test/lib/tap.sh"
need root gpu torch

# An installed copy, for a user without privileges who can read Python and PyTorch.
umask 022
chmod 755 .
mkdir -p inst/bin inst/lib/xpuload home
cp "$XPULOAD" inst/bin
cp "$XPU_SHIM" inst/lib/xpuload
cp "$XPU_SRC/test/gpu/eager.py" home
chown 65534 home
inst=$PWD/inst/bin/xpuload
HOME=$PWD/home
export HOME
python=$(python3 -c 'import sys; print(sys.executable)')

# bare COMMAND...: runs COMMAND as a user without privileges, in the user's own directory
bare() {
	(cd home && setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all \
		--inh-caps -all "$@")
}

# account NAME TITLE: checks that every launch has its work, and all work has its launch
account() {
	xpumerge -i "home/$1.data" -f folded --unit count -o "$1.folded" 2>merge.log
	is $? 0 "$2: the recording is merged" || diag "$(cat merge.log)"
	line=$(grep 'launches .* matched' merge.log)
	diag "$2: $line"
	like "$line" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
		"$2: each launch has its work"
	unlike "$(cat "$1.folded")" 'no launch' "$2: no work is without a launch"
}

if bare "$python" -c 'import torch; torch.zeros(1, device="cuda")' 2>torch.log; then
	bare "$inst" --transport auto -o eager.data "$python" eager.py >out 2>load.log
	is $? 0 "PyTorch: exit status 0" || diag "$(cat load.log)"
	diag "$(cat out load.log)"
	like "$(cat load.log)" '^xpuload: launches come through shared memory: ' \
		"PyTorch: launches come through shared memory"
	account eager "PyTorch"
	like "$(cat eager.folded)" ';eager.py:.*\[GPU_Kernel\]|;<module>.*\[GPU_Kernel\]' \
		"PyTorch: call paths have Python's frames"
else
	skip "PyTorch without privileges" "the user cannot run it: $(tail -n 1 torch.log)"
fi

# With 8 threads, each kernel is under its own site.
if command -v "${NVCC:-nvcc}" >/dev/null; then
	"${NVCC:-nvcc}" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets -cudart shared \
		-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-I"$XPU_SRC/test/workload" \
		-o inst/bin/exact "$XPU_SRC/test/workload/exact.cu" -lcuda 2>nvcc.log
	ok $? "nvcc builds exact" || diag "$(cat nvcc.log)"
	bare "$inst" -o e.data "$PWD/inst/bin/exact" -t 8 -s 16 -n 160000 >out 2>load.log
	is $? 0 "8 threads: exit status 0" || diag "$(cat load.log)"
	xpumerge -i home/e.data -f folded --unit count -o e.folded 2>merge.log
	line=$("$XPU_SRC/test/lib/verdict.sh" e.folded merge.log)
	diag "8 threads: $line"
	is "$line" "launches 160000 matched 160000 wrong 0 unmatched 0 lost 0" \
		"8 threads: every launch is matched, under its own site"
else
	skip "8 threads" "no nvcc"
fi

# The cost, measured alternately.
if command -v "${NVCC:-nvcc}" >/dev/null && "$XPULOAD" --check >check.log 2>&1; then
	ROWS="path shm" WORKLOADS="null1 null8 step" ROUNDS=${XPU_SHM_ROUNDS:-15} \
		python3 "$XPU_SRC/test/bench/gpu.py" >bench.out 2>bench.err
	is $? 0 "the cost is measured" || diag "$(cat bench.err)"
	diag "$(cat bench.out)"
	for workload in null1 null8 step; do
		ratio=$(sed -n "s|^$workload: shm / path *\([0-9.]*\).*|\1|p" bench.out)
		[ -n "$ratio" ] && awk "BEGIN { exit !($ratio <= 1.02) }"
		ok $? "$workload: ${ratio:-not measured} times the cost with BPF, at most 1.02"
	done
else
	skip "the cost" "no nvcc, or no BPF"
fi
done_testing
