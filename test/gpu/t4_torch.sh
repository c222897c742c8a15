#!/bin/sh
# SPDX-License-Identifier: MIT
# PyTorch: matrix products, elementwise work, autograd in its own thread. Every kernel record has
# its launch.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch

run() {			# run NAME COMMAND...
	name=$1
	shift
	xpuload -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	diag "$name: $(cat out)"
	diag "$name: $(grep 'launches from' load.log)"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	is $? 0 "$name: the recording is merged"
	line=$(grep 'launches .* matched' merge.log)
	diag "$name: $line"
	like "$line" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
		"$name: every launch has \
its records, every record its launch"
	unlike "$(cat "$name.folded")" 'no launch' "$name: no record is without a launch"
}

run eager python3 "$XPU_SRC/test/gpu/eager.py"
grep -q 'MulBackward\|Backward\|autograd' eager.folded
diag "stacks that name autograd: $(grep -c 'autograd' eager.folded) of $(wc -l <eager.folded)"
done_testing
