#!/bin/sh
# SPDX-License-Identifier: MIT
# Labels of processes, from launchers' variables and from cgroups, recorded with BPF and through
# shared memory. The processes are a program that sets its variables late, children, and a program
# that ran before the recording. Also tests --by and --rank.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim

shapes=$XPU_BUILD/workload/shapes

# labels FILE: prints each label once, as the dump does: "TORCH rank=5 ..."
labels() {
	xpumerge dump "$1" |
		sed -n 's/.* LABEL misc=\([A-Z_]*\) .* label=[0-9]* \([a-z_]*=.*\)/\1 \2/p' |
		sort -u | tr '\n' ' '
}

# Makes a container's cgroup, inside the cgroups of a pod and a job.
id=$(echo $$ | sha256sum | cut -c1-64)
for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory none; do
	[ -e "$root/cgroup.procs" ] && mkdir "$root/xputest-labels-$$" 2>/dev/null && break
done
top=$root/xputest-labels-$$
pod=01234567-89ab-cdef-0123-456789abcdef
inner=$top/kubepods/pod$pod/$id/slurm/job_12/step_batch
if [ $root != none ]; then
	mkdir -p "$inner"
fi
end() {
	for at in step_batch job_12 slurm "$id" "pod$pod" kubepods .; do
		[ $root = none ] ||
			find "$top" -depth -type d -name "$at" -exec rmdir {} + 2>/dev/null
	done
}

for transport in bpf shm; do
	env RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 SLURM_JOB_ID=4711 \
		SLURM_PROCID=1 \
		SLURMD_NODENAME=n1 "$XPULOAD" -q --transport $transport -o $transport.data \
		"$shapes" 30 1 >/dev/null 2>log || diag "$(cat log)"
	is "$(labels $transport.data)" \
		'SLURM job="4711" SLURM node="n1" TORCH local_rank=1 TORCH local_size=4 '\
'TORCH node_rank=1 TORCH rank=5 TORCH world_size=8 ' \
	"$transport: the process has the labels that its environment gives"
	if [ $root = none ]; then
		skip "$transport: labels from a cgroup" "no cgroup can be made"
		continue
	fi
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$inner" "$XPULOAD" \
		-q --transport $transport \
		-o in-$transport.data "$shapes" 30 1 >/dev/null 2>log || diag "$(cat log)"
	like "$(xpumerge dump in-$transport.data | grep 'PROCESS_LABEL misc=CGROUP' |
		grep -c "container=\"$id\"")" '[1-9]' "$transport: the process has its container"
	like "$(xpumerge dump in-$transport.data)" "pod_uid=\"$pod\"" \
		"$transport: the process has the label of its pod"
	# On a busy machine there may also be samples of the device's threads.
	is "$(xpumerge -i in-$transport.data --by job,container,comm -f folded 2>log |
		grep '\[GPU_' | cut -d ';' -f 1-3 | sort -u)" \
		"[job 12];[container $(echo "$id" | cut -c1-12)];shapes" \
			"$transport: --by job,container groups the process"
done

# A program that sets its variables at run time, as children of torch.multiprocessing do, and starts
# other programs. None of them has the variables at execve().
cat >late.py <<-END
	import ctypes, os, sys
	def work(rank):
	    os.environ["RANK"] = str(rank)
	    os.environ["WORLD_SIZE"] = "3"
	    cuda = ctypes.CDLL("libcudart.so")
	    for i in range(10):
	        cuda.cudaMemset(p(cuda), 0, 64)
	    if not os.fork():
	        os._exit(0)
	    os.wait()
	def p(cuda):
	    at = ctypes.c_void_p()
	    cuda.cudaMalloc(ctypes.byref(at), 64)
	    return at
	for rank in range(3):
	    if not os.fork():
	        work(rank)
	        sys.exit(0)
	for rank in range(3):
	    os.wait()
END
python=$(command -v python3) || python=
if [ -z "$python" ]; then
	skip "set late" "there is no python3"
else
	env -u RANK -u WORLD_SIZE "$XPULOAD" -q -o late.data "$python" late.py >log 2>&1 ||
		diag "$(cat log)"
	is "$(xpumerge -i late.data -f folded --by rank --unit count 2>log |
		sed 's/^\(\[[a-z 0-9]*\]\).* /\1 /' |
		awk '{ n[$1 $2] += $NF } END { for (i in n) print i, n[i] }' |
		sort | tr '\n' ' ')" "[rank0] 10 [rank1] 10 [rank2] 10 " \
			"environment set late: each child has its rank" || diag "$(cat log)"
	like "$(cat log)" "launches 30 matched 30 unmatched 0 lost 0" \
		"environment set late: each launch is matched"
	is "$(xpumerge -i late.data -f folded --unit count --rank 1-2 2>log |
		awk '{ n += $NF } END { print n }')" 20 \
		"--rank 1-2: shows the launches of both ranks"
	like "$(cat log)" "left out: 10 of 30 device records" \
		"--rank: a message says how many device records were left out"
	is "$(xpumerge -i late.data -f folded --unit count --rank 0,2 2>/dev/null |
		awk '{ n += $NF } END { print n }')" \
		20 "--rank 0,2: shows the launches of both ranks"
fi

# A process that ran before two recordings. Each recording has the labels of the process.
start_dormant a -t 1
finish a
start a env RANK=7 LD_PRELOAD="$XPU_SHIM" "$live" -s 1800 -t 1
ask a "burst 10" >/dev/null
for i in 1 2; do
	attach at$i -p "$a_pid"
	awake at$i
	ask a "burst 10" >/dev/null
	leave at$i
	like "$(labels at$i.data)" "TORCH rank=7" "attached: recording $i has the labels"
done
finish a

# The value of RANK is not a number.
RANK=captain xpuload -v -o none.data "$shapes" 10 1 >/dev/null 2>log
is "$(labels none.data)" "" "an invalid rank makes no label"
like "$(cat log)" "the environment variable RANK has a value that no launcher sets" \
	"an invalid rank: -v prints a message about it"
end
done_testing
