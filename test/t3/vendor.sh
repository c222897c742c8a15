#!/bin/sh
# SPDX-License-Identifier: MIT
# A vendor with an API of its own (test/vendor/) is recorded as exactly as CUDA, by a shim that was
# linked with one more object.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
need shim
# xpuload takes the shim in its own directory.
cp "$XPULOAD" "$XPU_BUILD/vendor/libxpushim.so" "$XPU_BUILD/vendor/libtoy.so" .
is $? 0 "xpuload has the shim with one more vendor"
XPULOAD=$PWD/xpuload

launches=16008
run() {			# run NAME OPTION...: records, merges and compares
	name=$1
	shift
	is "$(xpuload -o "$name.data" "$@" "$XPU_BUILD/vendor/exact" 2>load.log)" \
		"$launches launches" "$name: the program runs"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	is $? 0 "$name: xpumerge succeeds"
	is "$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)" \
		"launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: every launch of the test's runtime is matched, under its own site"
}

run bpf
like "$(cat bpf.folded)" ';site_03;toy_launch;toy_launch;\[GPU_Kernel\]kernel_03 ' \
	"the call has the name that the vendor gave it, after the frame of its library"
is "$(grep -c ';site_08;.*\]kernel_08 ' bpf.folded)" 1 "slow kernels stand under one path"

# The sum of 8 kernels, each of which takes 50 ms and, on a busy machine, more.
xpumerge -i bpf.data -f folded --unit us -o us.folded 2>merge.log
took=$(sed -n 's/.*\[GPU_Kernel\]kernel_08 //p' us.folded)
[ "$took" -ge 400000 ] && [ "$took" -lt 4000000 ]
ok $? "their times were converted from the runtime's own clock: $took us"

like "$(cat us.folded)" 'wait_for;toy_wait;\[GPU_Wait\]' "waits stand under the call that waits"

run shm --transport shm
done_testing
