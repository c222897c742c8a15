#!/bin/sh
# SPDX-License-Identifier: MIT
# Waits for the device: each wait is under the call that waited, has the name of the work that it
# waited for, and is as long as the program itself measured. Real BPF and real uprobes on the
# simulated device.
# timing
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

run() {			# run NAME ARGS...: records and merges
	name=$1
	shift
	xpuload -o "$name.data" "$XPU_BUILD/workload/shares" -s 0.4 "$@" >"$name.out" 2>load.log
	is $? 0 "$name: exit status 0"
	xpumerge -i "$name.data" --waits -f folded --unit ns -o "$name.folded" 2>merge.log
	is $? 0 "$name: xpumerge succeeds"
	like "$(cat merge.log)" ' unmatched 0 lost 0$' "$name: nothing is lost"
}

# most NAME N REGEX TEXT: checks the duration of the wait for work that takes 100 ms. When the
# waiting call begins, a part of this time is left. The wait lasts at least 90 % of that part, and
# not longer than the phase.
most() {
	perl -e '
		my ($name, $n, $regex) = @ARGV;
		my $sum = 0;
		open my $out, "<", "$name.out";
		my ($line) = grep /^shares-$n /, <$out> or die;
		my ($wall) = $line =~ / gpu (\d+)/ or die;
		my ($launch) = $line =~ / launch (\d+)/ or die;
		open my $folded, "<", "$name.folded";
		/^.waits.;shares-$n;.*;phase_gpu;$regex (\d+)$/ and $sum += $1 while <$folded>;
		print "# $name, thread $n: $sum of 100000000 ns, ",
			"launched in $launch, phase $wall\n";
		exit !($sum && $sum >= (100e6 - $launch) * 0.9 && $sum <= $wall)' "$1" "$2" "$3"
	ok $? "$1, thread $2: $4"
}

run stream -t 4
for n in 0 1 2 3; do
	most stream $n "cudaStreamSynchronize;\\[GPU_Wait\\]k_work$n" \
		"the thread waits for its own kernel"
done
is "$(grep -c 'phase_gpu;cudaStreamSynchronize;\[GPU_Wait\]k_work' stream.folded)" 4 \
	"stream: no thread waits for another thread's kernel"

run event -t 2 -w event
most event 1 'cudaEventSynchronize;\[GPU_Wait\]k_work1' \
	"the thread waits for the kernel before the event"

run context -t 2 -w context
most context 0 'cudaDeviceSynchronize;\[GPU_Wait\].*' "the thread waits for all running work"
like "$(cat context.folded)" '^.waits.;shares-0;.*cudaDeviceSynchronize;\[GPU_Wait\]k_work1' \
	"context: a thread also waits for the kernel of the other thread"

run copy -t 1 -w copy
most copy 0 'cudaMemcpy;\[GPU_Wait\]k_work0' "the thread waits for the kernel before the copy"

# Launches wait while the queue is full, and the synchronization waits for the rest. Gaps between
# kernels do not count as waiting.
run queue -t 1 -r 2500
perl -ne 'BEGIN { $sum = 0 } print "# a full queue: ";
	/ launch (\d+) \d+ (-?\d+) / or die;
	open my $folded, "<", "queue.folded";
	/^.waits.;shares-0;.*;phase_gpu;.*__cudaLaunchKernel;\[GPU_Wait\]k_work0 (\d+)$/ and
		$sum += $1 while <$folded>;
	print "$sum ns of $1, blocked for $2\n";
	exit !($sum && $sum >= $2 * 0.9 - 3e6 && $sum <= $1)' queue.out
ok $? "full queue: launches waited for the work in the queue"

xpumerge -i stream.data -f text -o stream.txt 2>/dev/null
unlike "$(sed -n '/^launch paths/,/^$/p' stream.txt)" 'cudaStreamSynchronize' \
	"waiting does not count as device time"
is "$(xpumerge -i stream.data --waits -f folded --tid 1 2>/dev/null | wc -l)" 0 "--tid also filters waits"

# The time of a thread that spins while it waits does not also count as CPU time.
xpumerge -i stream.data --waits -f folded --unit ns -o cpu.folded 2>/dev/null
unlike "$(cat cpu.folded)" 'cudaStreamSynchronize(;[^[][^;]*)* [0-9]*$' \
	"CPU samples of a waiting thread are not counted as CPU time"

xpuload --gpu-only -o only.data "$XPU_BUILD/workload/shares" -s 0.1 -t 2 >/dev/null 2>load.log
is $? 0 "--gpu-only: exit status 0"
xpumerge -i only.data --waits -f folded -o only.folded 2>/dev/null
unlike "$(cat only.folded)" 'GPU_Wait' "--gpu-only: no waits are shown"
like "$(cat only.folded)" 'GPU_Kernel' "--gpu-only: device work is shown"

done_testing
