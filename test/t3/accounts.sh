#!/bin/sh
# SPDX-License-Identifier: MIT
# --off-cpu: the account of each thread's lifetime, compared with the times that the program itself
# measures. Real BPF on the simulated device.
# timing
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

xpuload --off-cpu -o run.data "$XPU_BUILD/workload/shares" -t 4 >run.out 2>load.log
is $? 0 "--off-cpu: exit status 0"
xpumerge -i run.data --table threads --csv --limit 0 >threads.csv 2>merge.log
is "$(xpumerge -i run.data --gpu-only 2>/dev/null | grep -c '^threads:')" 0 \
	"--gpu-only leaves out the accounts of threads"
xpumerge -i run.data --gpu-only --table threads >out 2>log
is "$? $(tail -n 1 log)" "1 xpumerge: --table threads: no rows; --gpu-only may leave them out" \
	"--gpu-only --table threads: a message says why the table is empty"
is $? 0 "xpumerge succeeds"
like "$(cat merge.log)" ' unmatched 0 lost 0$' "nothing is lost"
xpumerge -i run.data --waits -f folded --unit ns -o run.folded 2>/dev/null

"$XPU_SRC/test/lib/accounts.pl" run.out threads.csv run.folded >verdict
sed 's/^/# /' verdict
is "$(grep -c '^thread' verdict)" 4 "the accounts of four threads are compared"
is "$(tail -n +2 threads.csv | cut -d, -f10 | sort -rnc 2>&1)" "" \
	"threads are in the order of their waits for GPUs"
xpumerge -i run.data --table threads >out 2>/dev/null
is "$(grep -c 'shares-[0-3]$' out) $(grep -c 'with a GPU: --csv has' out)" "4 1" \
	"the table has the threads that use a GPU, and counts the other threads" ||
	diag "$(cat out)"
is "$(grep -c 'WRONG' verdict)" 0 \
	"every share is within 5 % of the thread's own measurement, every sum within 2 %"

# The call paths of calls that block. The C library has no frame pointers, so unwinding by frame
# pointers alone would miss the function that called it.
for where in 'phase_read;.*;\[Off_CPU\]io' 'phase_sleep;.*;\[Off_CPU\]sleep' \
	     'phase_lock;.*;\[Off_CPU\]lock'; do
	like "$(cat run.folded)" "^.waits.;shares-0;.*;worker;$where [0-9]*\$" \
		"the blocked call path is recorded: $where"
done
. "$XPU_SRC/test/lib/formats_checks.sh"
for format in perf html; do
	for both in '' --gpu-only --cpu-only; do
		same run $format blank_comm "-f $format" ns
	done
done
both=
like "$(xpumerge -i run.data --unit ms 2>/dev/null)" \
	'^threads: [5-9], how they spent their lives' \
	"the summary shows the accounts of threads"
unlike "$(xpumerge -i run.data 2>/dev/null)" ' xpushim$' "the shim's own thread is left out"
like "$(xpumerge -i run.data --own-threads --table threads 2>/dev/null)" ' xpushim$' \
	"--own-threads: the shim's own thread is shown"

# The device idles while a thread sleeps between two launches.
cat >gaps.py <<-'END'
	import ctypes, sys, time
	from blocked import blocked_ns
	lib = ctypes.CDLL(sys.argv[1])
	lib.py_launch_init()
	def loader():
	    time.sleep(0.02)
	for i in range(10):
	    begin, began = blocked_ns(), time.monotonic_ns()
	    loader()
	    slept = i and slept + blocked_ns() - begin
	    took = i and took + time.monotonic_ns() - began
	    lib.py_launch(1)
	lib.py_launch_done()
	print(slept, took)
END
if command -v python3 >/dev/null; then
	PYTHONPATH="$XPU_SRC/test/lib" PYTHONDONTWRITEBYTECODE=1 \
		xpuload -q --off-cpu -o gaps.data python3 gaps.py \
		"$XPU_BUILD/workload/py_launch.so" >slept 2>load.log
	is $? 0 "gaps: exit status 0"
	xpumerge -i gaps.data --table idle --csv >idle.csv 2>/dev/null
	diag "$(head -n 3 idle.csv)"
	row=$(grep -E ',9,0,"python3 \(tid [0-9]*\): sleep in gaps.py:loader' idle.csv)
	awk -v ns="$(echo "$row" | cut -d, -f2)" '{
		right = ns && ns >= $1 * 0.97 - 1e6 && ns <= $2 } END { exit !right }' slept
	ok $? "gaps: nine idle times of 20 ms are attributed to the loader's sleep" ||
		diag "$(cat slept idle.csv)"
fi

# With all options on, each kernel is still under the site that launched it.
xpuload --off-cpu -F 999 -o exact.data "$XPU_BUILD/workload/exact" -t 8 -s 16 -n 20000 >/dev/null \
	2>load.log
is $? 0 "a program with known sites: exit status 0"
xpumerge -i exact.data -f folded --unit count -o exact.folded 2>merge.log
line=$("$XPU_SRC/test/lib/verdict.sh" exact.folded merge.log)
diag "everything on: $line"
is "$line" "launches 20000 matched 20000 wrong 0 unmatched 0 lost 0" \
	"all options on: every launch is matched, under its own site"

# Accounts add up to the nanosecond although the CPUs' clocks differ. No account has more time off
# the CPU than its threads' total lifetime.
for name in run gaps exact; do
	[ -e $name.data ] || continue
	xpumerge -i $name.data --table threads --csv --limit 0 2>/dev/null | awk -F, '
		NR > 1 { for (i = 2; i <= 10; i++) $1 -= $i; wrong += $1 != 0 }
		END { print (NR > 1), wrong + 0 }' >sums
	is "$(cat sums)" "1 0" "$name: each thread's account adds up to its lifetime"
	lives=$(xpumerge -i $name.data --table threads --csv --limit 0 2>/dev/null |
		awk -F, 'NR > 1 { ns += $1 } END { printf "%.0f\n", ns }')
	is "$(xpumerge -i $name.data --waits -f folded --unit ns 2>/dev/null |
		awk -v max="$lives" '/Off_CPU/ { n++; long += $NF > max }
		END { print (n > 0), long + 0 }')" \
		"1 0" "$name: no time off the CPU is longer than all threads lived"
done

# Without CUDA: threads that are alive at the end, and a program that only sleeps.
xpuload -q --cpu-only --off-cpu -o plain.data sh -c 'sleep 0.3' 2>load.log
is $? 0 "--cpu-only: exit status 0"
xpumerge -i plain.data --table threads --csv 2>/dev/null >plain.csv
is "$(awk -F, '$15 == "\"sleep\"" && $5 > 290000000 && $5 < 400000000' plain.csv | wc -l)" 1 \
	"--cpu-only: the account of the program sleep shows how long it slept"
is "$(awk -F, '$15 == "\"sh\"" && $7 > 150000000' plain.csv | wc -l)" 1 \
	"--cpu-only: the account of sh shows that sh waited for its child"

# --off-cpu-min leaves short waits out of the call paths, not out of the accounts.
xpuload -q --cpu-only --off-cpu-min 100000 -o min.data sh -c 'sleep 0.05; sleep 0.3' 2>load.log
is $? 0 "--off-cpu-min: exit status 0"
xpumerge -i min.data -f folded --unit count -o min.folded --cpu-only --waits 2>/dev/null
is "$(grep -c 'Off_CPU.sleep' min.folded)" 1 \
	"--off-cpu-min: only the longer of two sleeps has a call path"
is "$(xpumerge -i min.data --table threads --csv 2>/dev/null | awk -F, '$5 > 45000000' | wc -l)" 3 \
	"--off-cpu-min: the table keeps the accounts of both sleeps"

xpuload --gpu-only --off-cpu true 2>load.log
is $? 125 "--gpu-only with --off-cpu: refused"
# Many call paths of blocked threads, more than the BPF programs can hold with a small -m: none is
# lost. The first call waits until xpuload has found the interpreter: before, stacks have no Python
# frames.
cat >paths.py <<'END'
import time

def zero(n, i): (one if n & 1 else zero)(n >> 1, i - 1) if i else time.sleep(1e-4)
def one(n, i): (one if n & 1 else zero)(n >> 1, i - 1) if i else time.sleep(1e-4)

time.sleep(1)
for n in range(6000):
    zero(n, 13)
END
python=$(command -v python3) && python=$("$python" -c 'import sys; print(sys.executable)')
if [ -n "$python" ]; then
	for size in 4M 16M; do
		xpuload --cpu-only --off-cpu --call-graph dwarf,1024 -m $size -o paths.$size.data \
			"$python" paths.py 2>paths.$size.log
	done
	for size in 4M 16M; do
		unlike "$(cat paths.$size.log)" 'lost: .*off-CPU' \
			"many call paths, -m $size: none is lost"
		# A sleep may be over before the thread blocks.
		nr=$(xpumerge -i paths.$size.data --cpu-only --waits -f folded --unit count \
			2>/dev/null | grep -E 'zero|one' | grep -c 'Off_CPU.sleep')
		[ "$nr" -gt 5900 ] && [ "$nr" -le 6000 ]
		ok $? "many call paths, -m $size: each path has its time" || diag "$nr paths"
	done
else
	skip "many call paths" "no python3"
fi

xpuload --off-cpu-min x true 2>load.log
is $? 125 "--off-cpu-min x: refused"

done_testing
