#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the accounts of threads' time on a real GPU: threads with known shares of time, for every
# way to wait, and a training loop with a slow data loader. The graph and the table of idle gaps
# must name this data loader.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
	-I"$XPU_SRC/test/workload" -o shares "$XPU_SRC/test/workload/shares.cu" 2>nvcc.log
ok $? "nvcc builds shares" || diag "$(cat nvcc.log)"

for how in stream event context; do
	xpuload --off-cpu -o $how.data ./shares -t 4 -w $how >$how.out 2>load.log
	is $? 0 "$how: exit status 0" || diag "$(cat load.log)"
	xpumerge -i $how.data --table threads --csv --limit 0 >$how.csv 2>merge.log
	like "$(cat merge.log)" ' unmatched 0 lost 0$' "$how: nothing is lost"
	xpumerge -i $how.data --waits -f folded --unit ns -o $how.folded 2>/dev/null
	"$XPU_SRC/test/lib/accounts.pl" $how.out $how.csv $how.folded >verdict
	diag "$(cat verdict)"
	is "$(grep -c '^thread' verdict)" 4 "$how: four threads are compared"
	is "$(grep -c 'WRONG' verdict)" 0 "$how: shares are right within 5 %, sums within 2 %"
done
for n in 0 1 2 3; do
	like "$(cat stream.folded)" \
		"^.waits.;shares-$n;.*;phase_gpu;cudaStreamSynchronize;\\[GPU_Wait\\]k_work$n" \
		"thread $n waits for its own kernel"
done
for how in copy 'queue -r 5000'; do
	xpuload -o how.data ./shares -t 1 -w $how >how.out 2>load.log
	is $? 0 "$how: exit status 0" || diag "$(cat load.log)"
	xpumerge -i how.data --waits -f folded --unit ns -o how.folded 2>/dev/null
	diag "$(cat how.out)"
	diag "$(grep 'GPU_Wait' how.folded)"
	like "$(cat how.folded)" '^.waits.;shares-0;.*phase_gpu;.*\[GPU_Wait\]k_work0' \
		"$how: the wait for the kernel has its call path"
done

if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	skip "a slow data loader" "no PyTorch that finds the GPU"
	done_testing
	exit
fi
xpuload --off-cpu -o loader.data python3 "$XPU_SRC/test/gpu/slow_loader.py" >loader.out 2>load.log
is $? 0 "slow loader: exit status 0" || diag "$(cat load.log)"
diag "$(cat loader.out)"
diag "$(grep 'launches from' load.log)"
xpumerge -i loader.data --unit ms --limit 12 -o loader.txt 2>merge.log
like "$(cat merge.log)" ' unmatched 0 lost 0$' "slow loader: nothing is lost"
diag "$(sed -n '/^threads/,/^stacks/p' loader.txt | cut -c1-400)"
xpumerge -i loader.data --table idle --csv --limit 0 >idle.csv 2>/dev/null
diag "$(grep '^GPU .* idle' loader.txt)"
# Each of 60 batches comes 20 ms late. Imports and the kernels' first launches precede the batches.
row=$(grep ': io in ' idle.csv | head -n 1)
diag "$row"
# Since Python 3.11, the name of a method includes its class.
loader='slow_loader.py:(SlowDataset.)?__getitem__'
like "$row" "$loader" "the GPU is idle because its thread reads in the data loader"
# A batch comes every 20 ms, and the previous step ends within that time.
took=$(sed -n 's/^slow_loader: \([0-9]*\) steps, \([0-9.]*\) ms each.*/\1 * \2/p' loader.out)
awk "BEGIN { exit !($(echo "$row" | cut -d, -f2) / 1e6 > ($took) / 2) }"
ok $? "the GPU is idle for most of the training"
xpumerge -i loader.data --waits -f folded -o loader.folded 2>/dev/null
like "$(cat loader.folded)" "$loader.*\\[Off_CPU\\]io" "the flame graph names the data loader"
xpumerge -i loader.data -o loader.html 2>/dev/null
ok $? "slow loader: a page is made"

done_testing
