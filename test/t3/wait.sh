#!/bin/sh
# SPDX-License-Identifier: MIT
# Waiting for the device: under the call that waited, by the name of what it waited for, and as long
# as the program itself measured. Real BPF and real uprobes on the simulated device.
# timing
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

run() {			# run NAME ARGS...: record, merge
	name=$1
	shift
	xpuload -o "$name.data" "$XPU_BUILD/workload/shares" -s 0.4 "$@" >"$name.out" 2>load.log
	is $? 0 "$name: status"
	xpumerge -i "$name.data" -f folded --unit ns -o "$name.folded" 2>merge.log
	is $? 0 "$name: merged"
	like "$(cat merge.log)" ' unmatched 0 lost 0$' "$name: nothing lost"
}

# Of the lines of thread shares-N that match, against the time of its phase_gpu, in per mille.
share() {		# share NAME N REGEX
	perl -e '
		my ($name, $n, $regex) = @ARGV;
		my ($wall, $sum) = (0, 0);
		open my $out, "<", "$name.out";
		/^shares-$n .* gpu (\d+)/ and $wall = $1 while <$out>;
		open my $folded, "<", "$name.folded";
		/^shares-$n;.*;phase_gpu;$regex (\d+)$/ and $sum += $1 while <$folded>;
		print $wall ? int(1000 * $sum / $wall + 0.5) : -1' "$@"
}

most() {		# most NAME N REGEX TEXT: at least 90 %, and not more than there is
	permille=$(share "$1" "$2" "$3")
	diag "$1, thread $2: $permille of 1000"
	[ "$permille" -ge 900 ] && [ "$permille" -le 1000 ]
	ok $? "$1, thread $2: $4"
}

run stream -t 4
for n in 0 1 2 3; do
	most stream $n "cudaStreamSynchronize;\\[GPU_Wait\\]k_work$n" "for its own kernel"
done
is "$(grep -c 'phase_gpu;cudaStreamSynchronize;\[GPU_Wait\]k_work' stream.folded)" 4 \
	"stream: for no other's"

run event -t 2 -w event
most event 1 'cudaEventSynchronize;\[GPU_Wait\]k_work1' "for the kernel before the event"

run context -t 2 -w context
most context 0 'cudaDeviceSynchronize;\[GPU_Wait\].*' "for all that ran"
like "$(cat context.folded)" '^shares-0;.*cudaDeviceSynchronize;\[GPU_Wait\]k_work1' \
	"context: for the other thread's, too"

run copy -t 1 -w copy
most copy 0 'cudaMemcpy;\[GPU_Wait\]k_work0' "for the kernel before the copy"

# The rest is in the synchronization, and the gaps between the kernels are no waiting.
run queue -t 1 -r 5000
permille=$(share queue 0 '.*__cudaLaunchKernel;\[GPU_Wait\]k_work0')
diag "a full queue: $permille of 1000"
[ "$permille" -ge 200 ] && [ "$permille" -le 1000 ]
ok $? "queue: launches waited for what was in it"

xpumerge -i stream.data -f text -o stream.txt 2>/dev/null
unlike "$(sed -n '/^launch paths/,/^$/p' stream.txt)" 'cudaStreamSynchronize' \
	"waiting is no device time"
is "$(xpumerge -i stream.data -f folded --tid 1 2>/dev/null | wc -l)" 0 "filters hold for waits, too"

# A thread that spins while it waits is not on the CPU as well.
xpumerge -i stream.data -f folded --unit ns -o cpu.folded 2>/dev/null
unlike "$(cat cpu.folded)" 'cudaStreamSynchronize(;[^[][^;]*)* [0-9]*$' "samples in waits are waiting"

xpuload --gpu-only -o only.data "$XPU_BUILD/workload/shares" -s 0.1 -t 2 >/dev/null 2>load.log
is $? 0 "--gpu-only: status"
xpumerge -i only.data -f folded -o only.folded 2>/dev/null
unlike "$(cat only.folded)" 'GPU_Wait' "--gpu-only: no waits"
like "$(cat only.folded)" 'GPU_Kernel' "--gpu-only: device work"

done_testing
