#!/bin/sh
# SPDX-License-Identifier: MIT
# PyTorch in other modes than eager mode: torch.compile (Triton), CUDA graphs, NVIDIA's libraries,
# DataLoader workers, spawned and forked processes, and two GPUs if the machine has them. Every
# launch is matched.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch

what="compiled graph loader spawn trees forked libraries attention"
[ "$(nvidia-smi -L | wc -l)" -ge 2 ] && what="$what two_gpus"
for w in $what; do
	xpuload -o "$w.data" python3 "$XPU_SRC/test/gpu/more.py" "$w" >out 2>load.log
	is $? 0 "$w: exit status 0" || diag "$(cat load.log out)"
	diag "$w: $(grep 'launches from' load.log)"
	xpumerge -i "$w.data" -f folded --unit count -o "$w.folded" 2>merge.log
	is $? 0 "$w: the recording is merged"
	diag "$w: $(grep -E 'launches [0-9]+ matched' merge.log)"
	diag "$w: $(grep -E 'graph|captured' merge.log | head -n 2)"
	like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
		"$w: every launch is matched"
done
case $what in
*two_gpus*)
	like "$(cat two_gpus.folded)" 'GPU1_Kernel' "two GPUs: each has its own results" ;;
*)	skip "two GPUs" "one GPU here" ;;
esac
done_testing
