#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload puts the shim into PyTorch programs that were started without it: each goes on with equal
# results, and its launches are recorded.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root gpu bpf torch
times=${XPU_INJECT_TIMES:-20}

cat >train.py <<'EOF'
import sys
import threading
import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(),
                            torch.nn.Linear(256, 256)).cuda()
x = torch.randn(64, 256, device="cuda")


def step():
    model.zero_grad(set_to_none=True)
    loss = model(x).square().mean()
    loss.backward()
    return loss.item()


want = step()
stop = threading.Event()


def wait_for_end():
    sys.stdin.read()
    stop.set()


threading.Thread(target=wait_for_end, daemon=True).start()
print("ready", flush=True)
different = steps = 0
while not stop.is_set():
    different += step() != want
    steps += 1
print("steps", steps, "different", different, flush=True)
EOF

# Several programs at a time, since PyTorch takes long to start.
i=0 bad=0 empty=0 lost=0
: >stops
while [ $i -lt "$times" ]; do
	nr=0
	while [ $nr -lt 5 ] && [ $i -lt "$times" ]; do
		rm -f in.$nr out.$nr
		mkfifo in.$nr
		python3 train.py <>in.$nr >out.$nr 2>err.$nr &
		eval "pid_$nr=$!"
		nr=$((nr + 1)) i=$((i + 1))
	done
	k=0
	while [ $k -lt $nr ]; do
		wait_for grep -qs ready out.$k
		eval "pid=\$pid_$k"
		rm -f a.data
		xpuload -o a.data --inject -p "$pid" --duration 1 2>a.log || bad=$((bad + 1))
		sed -n 's/.*put the shim into .* stood still for \([0-9.]*\) ms/\1/p' a.log >>stops
		grep -q 'lost 0$' a.log || { lost=$((lost + 1)); diag "$(cat a.log)"; }
		xpumerge -i a.data -f folded -o a.folded 2>merge.log
		grep -qE '^launches ([1-9][0-9]*) matched \1 ' merge.log ||
			{ empty=$((empty + 1)); diag "$(cat a.log merge.log)"; }
		kill -0 "$pid" || bad=$((bad + 1))
		k=$((k + 1))
	done
	k=0
	while [ $k -lt $nr ]; do
		eval "pid=\$pid_$k"
		kill "$pid"
		wait "$pid"
		[ $? = 143 ] || { bad=$((bad + 1)); diag "$(cat out.$k err.$k)"; }
		k=$((k + 1))
	done
done
is $bad 0 "PyTorch goes on, $times times"
is $empty 0 "each time every launch is recorded and matched"
is $lost 0 "nothing is lost"
is "$(wc -l <stops)" "$times" "the shim was put there each time"
sort -n stops >sorted
diag "a thread stood still for $(sed -n $(((times + 1) / 2))p sorted) ms in the median," \
	"$(tail -n 1 sorted) at most"

# The results of one program that runs to its end.
rm -f in out
mkfifo in
python3 train.py <in >out 2>err &
pid=$!
exec 3>in
wait_for grep -qs ready out
xpuload -o a.data --inject -p $pid --duration 2 2>a.log
is $? 0 "a program whose results are compared: exit status 0"
exec 3>&-
wait $pid
is $? 0 "it ends with exit status 0"
like "$(tail -n 1 out)" 'different 0$' "its results are unchanged"
xpumerge -i a.data -f folded -o a.folded 2>/dev/null
grep -q 'train.py' a.folded
ok $? "call paths have lines of Python"
done_testing
