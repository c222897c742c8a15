#!/bin/sh
# SPDX-License-Identifier: MIT
# Labels of ranks that torchrun starts, on a real GPU: two ranks on one device, in one file and in
# separate files. Then children of torch.multiprocessing.spawn, which set their variables
# themselves.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu torch bpf

cat >rank.py <<'END'
import os, sys, torch
rank = int(os.environ["RANK"])
a = torch.zeros(1024, device="cuda:0")
for i in range(100 + 100 * rank):
    a.add_(1)
torch.cuda.synchronize()
END
cat >spawn.py <<'END'
import os, torch, torch.multiprocessing as mp
def work(rank):
    os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"] = str(rank), "2", str(rank)
    a = torch.zeros(1024, device="cuda:0")
    for i in range(100 + 100 * rank):
        a.add_(1)
    torch.cuda.synchronize()
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
END

# by_rank FILE...: prints the number of kernels that a.add_(1) launches, by rank: "0:100 1:200 "
by_rank() {
	xpumerge "$@" -f folded --unit count --by rank \
		--kernel 'CUDAFunctorOnSelf_add|CUDAFunctor_add' 2>merge.log |
		sed 's/^\[rank \([^]]*\)\].* \([0-9]*\)$/\1 \2/' |
		awk '{ n[$1] += $2 } END { for (i in n) print i ":" n[i] }' | sort | tr '\n' ' '
}
torchrun="python3 -m torch.distributed.run --standalone --nproc-per-node=2"

# shellcheck disable=SC2086 # options
xpuload -q --gpu-only -o node.data $torchrun rank.py >load.log 2>&1
is $? 0 "torchrun, one file: exit status 0" || diag "$(tail -n 5 load.log)"
is "$(by_rank node.data)" "0:100 1:200 " "each rank has its kernels"
like "$(xpumerge node.data -f folded 2>&1 >out)" 'unmatched 0 lost 0' \
	"nothing is unmatched or lost" || diag "$(xpumerge node.data -f folded 2>&1 >out)"
is "$(xpumerge node.data --csv --table processes 2>out | tr -d '"' |
	awk -F , 'NR > 1 && $6 != "" { print $6, $7, $8, $9, $10 }' |
	sort | tr '\n' ';')" "0 0 2 2 0;1 1 2 2 0;" \
		"processes have rank, local rank, world size, local size and group rank"

# shellcheck disable=SC2086 # options
$torchrun --no-python "$XPULOAD" -q --gpu-only -o 'rank%q{RANK}.data' python3 rank.py >load.log 2>&1
is "$? $(echo rank*.data)" "0 rank0.data rank1.data" \
	"torchrun, a file for each rank: both exist" || diag "$(tail -n 5 load.log)"
is "$(by_rank rank1.data rank0.data)" "0:100 1:200 " "two files together: each rank has its kernels"

(unset RANK; xpuload -q --gpu-only -o spawn.data python3 spawn.py >load.log 2>&1)
is $? 0 "spawn: exit status 0" || diag "$(tail -n 5 load.log)"
is "$(by_rank spawn.data)" "0:100 1:200 " "spawn: each child has the rank that it has set itself"
done_testing
