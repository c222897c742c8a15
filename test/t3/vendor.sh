#!/bin/sh
# SPDX-License-Identifier: MIT
# A vendor with its own API (test/vendor/) is recorded as exactly as CUDA, by a shim that was linked
# with one additional object.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
need shim
use_sim
# xpuload uses the shim and, for --every, the xpumerge in its own directory.
cp "$XPULOAD" "$XPU_BUILD/xpumerge" "$XPU_BUILD/vendor/libxpushim.so" \
	"$XPU_BUILD/vendor/libtoy.so" .
is $? 0 "xpuload has the shim with one more vendor"
XPULOAD=$PWD/xpuload

run() {			# run WORKLOAD LAUNCHES NAME OPTION...: records, merges and compares
	workload=$1
	launches=$2
	name=$3
	shift 3
	is "$(xpuload -o "$name.data" "$@" "$XPU_BUILD/vendor/$workload" 2>load.log)" \
		"$launches launches" "$name: the program runs"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	is $? 0 "$name: xpumerge succeeds"
	is "$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)" \
		"launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: every launch is matched, under its own site"
}

run exact 16008 bpf
like "$(cat bpf.folded)" ';site_03;toy_launch;toy_launch;\[GPU_Kernel\]kernel_03 ' \
	"the vendor's name of the call is shown after the frame of the vendor's library"
is "$(grep -c ';site_08;.*\]kernel_08 ' bpf.folded)" 1 "slow kernels are under one call path"

# The sum of 8 kernels, each of which takes 50 ms or, on a busy machine, longer.
xpumerge -i bpf.data --waits -f folded --unit us -o us.folded 2>merge.log
took=$(sed -n 's/.*\[GPU_Kernel\]kernel_08 //p' us.folded)
[ "$took" -ge 400000 ] && [ "$took" -lt 4000000 ]
ok $? "times of slow kernels are converted from the runtime's own clock: $took us"

like "$(cat us.folded)" 'wait_for;toy_wait;\[GPU_Wait\]' "waits are under the call that waits"

run exact 16008 shm --transport shm

# One process uses two APIs. Their launches, streams, contexts and devices have the same numbers.
collisions() {		# collisions DATA: prints how many launch numbers both APIs have used
	xpumerge dump "$1" | perl -ne '
		my ($id) = /\bKERNEL\b.* correlation_id=(\d+)/ or next;
		$seen{$id} |= / api=15 / ? 2 : 1;
		END { print scalar(grep { $_ == 3 } values %seen) }'
}

run pair 12000 two
both=$(collisions two.data)
[ "$both" -gt 1000 ]
ok $? "launches of two APIs have the same numbers: $both"
gpus() {		# gpus PATTERN: prints the GPUs of the kernels that match
	sed -n "s/.*\\[\\(GPU[0-9]*\\)_Kernel\\]$1 .*/\\1/p" two.folded | sort -u
}
case "$(gpus 'kernel_0[0-3]') $(gpus 'kernel_1[0-3]')" in
"GPU0 GPU1" | "GPU1 GPU0") true ;;
*) false ;;
esac
ok $? "the kernels of the two APIs are on two GPUs, although both GPUs have the same number"

run pair 12000 each_launch --probe launch
run pair 12000 two_shm --transport shm


# Each file of a recording has launches together with their device work, for both APIs.
xpuload -o 'every.%n.data' --every 0.02 "$XPU_BUILD/vendor/pair" >every.out 2>load.log
is "$(cat every.out)" "12000 launches" "--every: the program runs"
for file in every.*.data; do
	xpumerge -i "$file" -f folded --unit count -o every.folded 2>merge.log
	"$XPU_SRC/test/lib/verdict.sh" every.folded merge.log
done >verdicts
is "$(grep -cv ' wrong 0 unmatched 0 lost 0$' verdicts)" 0 "--every: each single file is exact"
is "$(awk '{ n += $2; m += $4 } END { print n, m }' verdicts)" "12000 12000" \
	"--every: $(wc -l <verdicts) files together have all launches"
done_testing
