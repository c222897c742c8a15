#!/bin/sh
# SPDX-License-Identifier: MIT
# Process trees, namespaces, ranks, devices: launches are joined with device work of the same
# process, and each launch is under its own site.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
exact="$XPU_BUILD/workload/exact"
forks="$XPU_BUILD/workload/forks"
procs="$XPU_BUILD/workload/procs"

# record NAME LAUNCHES TEST COMMAND...: records COMMAND, and checks that the recording has exactly
# LAUNCHES launches, each under its own site
record() {
	name=$1 launches=$2 title=$3
	shift 3
	xpuload -o "$name.data" "$@" >"$name.out" 2>"$name.log"
	is $? 0 "$title: exit status 0" || diag "$(cat "$name.log")"
	exact "$name" "$launches" "$title: every launch is matched, under its own site"
}

# Children, with and without exec.
record fork 3000 "fork before CUDA, then exec" "$forks"
record again 4000 "a child and then the same image" "$procs" twice "$exact" -t 4 -n 2000
record deep 1000 "a grandchild" "$procs" fork fork "$exact" -t 2 -n 1000
record closed 1000 "a child that closes all descriptors" \
	"$procs" fork closefrom "$exact" -t 2 -n 1000
record shell 1000 "a program started by an interpreter" \
	sh -c "env FOO=bar nice -n 1 sh -c '$exact -t 2 -n 1000'"
record fork_exit 2000 "a child of a program that has used CUDA, which ends by exit()" \
	"$XPU_BUILD/workload/ends" fork
record vfork 2000 "vfork and exec in a program that has used CUDA" \
	"$XPU_BUILD/workload/ends" vfork

# One pid that three process images with equal correlation IDs use.
if [ -w /proc/sys/kernel/ns_last_pid ]; then
	record reuse 1900 "a pid used again and again" unshare -pf --propagation unchanged \
		--mount-proc sh -c "
		'$procs' pid=77 '$exact' -t 2 -n 500
		'$procs' pid=77 '$forks' -n 300
		'$procs' pid=77 '$exact' -t 1 -n 500"
else
	skip "a pid used again and again" "no ns_last_pid: CONFIG_CHECKPOINT_RESTORE"
fi

# Python, without its own compiled modules.
if command -v python3 >/dev/null; then
	python=$(python3 -c 'import sys; print(sys.executable)')
	for how in fork spawn forkserver; do
		record "$how" 600 "python multiprocessing, $how" \
			"$python" "$XPU_SRC/test/workload/forking.py" $how 200
		is "$(cat $how.out)" "forking.py: 600 launches by 3 processes" \
			"python multiprocessing, $how: the program's output is the same as without xpuload"
		is "$(sed -n 's/.*cudaMemset;\[GPU_Memset\] //p' $how.folded | sort |
			tr '\n' ' ')" "200 400 " \
				"python multiprocessing, $how: parent and children have their own call paths"
	done
else
	skip "python multiprocessing" "no python3"
fi

# Namespaces of the target, and of xpuload.
record pidns 1000 "a target in a pid namespace" \
	unshare -pf --propagation unchanged --mount-proc "$exact" -t 2 -n 1000
unshare -pf --propagation unchanged --mount-proc "$XPULOAD" -o inside.data "$forks" \
	-n 500 >inside.out 2>inside.log
is $? 0 "xpuload in a pid namespace: exit status 0" || diag "$(cat inside.log)"
exact inside 1500 "xpuload in a pid namespace: every launch is matched, under its own site"
like "$(cat inside.folded)" 'main;.*;child;k_child;' \
	"xpuload in a pid namespace: functions have names"

# In a pid namespace, xpuload sees only the processes of this namespace, even if another namespace
# has the same pids.
cat >namespace.sh <<'END'
echo ready
while read -r n; do
	[ "$n" = quit ] && exit
	"$@" -t 2 -n "$n" >/dev/null && echo "did $n"
done
END
start neighbour unshare -pf --propagation unchanged --mount-proc env LD_PRELOAD="$XPU_SHIM" \
	sh namespace.sh "$exact"
cat >within.sh <<'END'
. "$XPU_SRC/test/lib/live_checks.sh"
attach all -a
attach one -p 1
attach cpu --cpu-only -p 1
wait_for is_attached all && wait_for is_attached one && wait_for is_attached cpu && touch watching
while [ ! -e enough ]; do sleep 0.05; done
leave all
leave one
leave cpu
END
export XPULOAD
LD_PRELOAD="$XPU_SHIM" unshare -pf --propagation unchanged --mount-proc sh within.sh &
within=$!
wait_for test -e watching
ok $? "in a pid namespace: xpuload attaches"
is "$(ask neighbour 1000)" "did 1000" "a process in a sibling pid namespace keeps running"
touch enough
wait $within
like "$(cat all.log)" 'no CUDA or OpenCL launch was made while attached' \
	"a process in a sibling pid namespace: -a does not record it"
like "$(cat one.log)" 'no CUDA or OpenCL launch was made while attached' \
	"a process in a sibling pid namespace: -p with its pid in that namespace does not record it"
is "$(xpumerge -i cpu.data -f folded --unit samples -o - 2>/dev/null | grep -c '^exact;')" 0 \
	"a process in a sibling pid namespace: --cpu-only does not record it"
finish neighbour

# A directory that only the target sees.
mkdir -p image/sim empty
cp "$live" "$exact" "$XPU_SHIM" image
cp "$XPU_BUILD"/sim/* image/sim
cat >contained.sh <<'END'
mount --bind image empty || exit 99
cd /
shift_to=$1
shift
LD_LIBRARY_PATH=$shift_to/sim exec "$@"
END
where=$PWD/empty
if unshare -m true 2>/dev/null; then
	xpuload -o hidden.data unshare -m sh contained.sh "$where" "$where/exact" -t 2 -n 1000 \
		-p 1000 >hidden.out 2>hidden.log
	is $? 0 "a target in its own mount namespace: exit status 0" || diag "$(cat hidden.log)"
	[ ! -e empty/exact ]
	ok $? "a target in its own mount namespace: the program's file does not exist outside of it"
	xpumerge -i hidden.data -f folded --unit count -o hidden.folded 2>hidden.mlog
	like "$(cat hidden.mlog)" '^launches 1000 matched 1000 unmatched 0 lost 0' \
		"a target in its own mount namespace: all launches are recorded and matched"
	is "$("$XPU_SRC/test/lib/verdict.sh" hidden.folded hidden.mlog)" \
		"launches 1000 matched 1000 wrong 0 unmatched 0 lost 0" \
		"a target in its own mount namespace: function names come from its kept file"

	# The program is started with a shim that only this program sees; then xpuload attaches.
	start boxed unshare -m sh contained.sh "$where" env LD_PRELOAD="$where/libxpushim.so" \
		"$where/live" -s 1800
	attach box -p "$boxed_pid"
	awake box
	is "$(ask boxed "burst 100")" "burst 100" \
		"-p of a process in its own mount namespace: the process keeps running"
	leave box
	is $? 0 "-p of a process in its own mount namespace: exit status 0"
	xpumerge -i box.data -f folded --unit count -o box.folded 2>box.mlog
	like "$(cat box.mlog)" '^launches 103 matched 103 unmatched 0 lost 0' \
		"-p of a process in its own mount namespace: all launches are matched"
	finish boxed
else
	skip "mount namespaces" "unshare -m is not allowed"
fi

# xpuload runs outside the program's pid namespace, and attaches by the program's outer pid.
start spaced unshare -pf --propagation unchanged --mount-proc env LD_PRELOAD="$XPU_SHIM" "$live" \
	-s 1800
inner=$(pgrep -P "$spaced_pid")
attach space -p "$inner"
awake space
ask spaced "burst 100" >/dev/null
leave space
exact space 103 \
	"-p of a process in another pid namespace: every launch is matched, under its own site"
finish spaced

# Children that an attached program starts. Attaching to each child takes a while.
start family env LD_PRELOAD="$XPU_SHIM" sh -c '
	echo ready
	while read -r n; do
		[ "$n" = quit ] && exit
		sh -c "sleep 2; exec $0 -t 2 -n $n" >/dev/null && echo "did $n"
	done' "$exact"
attach parent -p "$family_pid"
attached parent
is "$(ask family 1000)" "did 1000" "children of an attached program keep running"
ask family 500 >/dev/null
leave parent
exact parent 1500 "children of an attached program: every launch is matched, under its own site"
finish family

# A child is forked on one CPU and maps its files on another CPU, whose events are read first.
if [ "$(nproc)" -gt 1 ]; then
	start pinned taskset -c 1 sh -c 'echo ready; while read -r n; do
		[ "$n" = quit ] && exit
		taskset -c 0 "$0" -t 1 -n "$n" >/dev/null && echo "did $n"
	done' "$exact"
	attach apart --cpu-only -F 999 -p "$pinned_pid"
	attached apart
	kill -STOP "$apart_pid"
	is "$(ask pinned 40000)" "did 40000" "a child on another CPU: the program keeps running"
	kill -CONT "$apart_pid"
	leave apart
	xpumerge -i apart.data -f folded --unit samples -o apart.folded 2>apart.mlog
	like "$(cat apart.folded)" '^exact;.*;worker_main' \
		"a child on another CPU: the child's mappings are recorded"
	finish pinned
else
	skip "a child on another CPU" "there is one"
fi

# Very many children, one after another: the resources of an ended child are freed.
start many env LD_PRELOAD="$XPU_SHIM" sh -c '
	echo ready
	while read -r n; do
		[ "$n" = quit ] && exit
		while [ "$n" -gt 0 ]; do sleep 0.15; n=$((n - 1)); done
		echo done
	done'
(ulimit -n 100; exec "$XPULOAD" --gpu-only -o crowd.data -p "$many_pid" 2>crowd.log) &
crowd_pid=$!
attached crowd
is "$(ask many 20)" "done" "an attached program with many children keeps running"
leave crowd
is "$(grep -c 'cannot attach' crowd.log)" 0 \
	"an attached program with many children: xpuload attaches to all of them"
finish many

# Ranks under one shell in one recording, and each rank with its own recording.
cat >ranks.sh <<'END'
for rank in 0 1 2 3; do
	RANK=$rank "$@" &
done
wait
END
record ranks 8000 "four ranks under one xpuload" sh ranks.sh "$exact" -t 2 -n 2000
like "$(cat ranks.log)" ', 5 processes;' "four ranks under one xpuload: all processes are counted"
cat >own.sh <<'END'
exec "$XPULOAD" -o "rank.$RANK.data" "$@" 2>"rank.$RANK.log"
END
sh ranks.sh sh own.sh "$exact" -t 2 -n 2000 >/dev/null
failed=0
for rank in 0 1 2 3; do
	[ "$(verdict "rank.$rank")" = \
		"launches 2000 matched 2000 wrong 0 unmatched 0 lost 0" ] || failed=$((failed + 1))
done
is $failed 0 "four ranks, each under its own xpuload: each recording has its rank's launches"
if "$XPUMERGE" --help | grep -q 'FILE\.\.\.'; then
	xpumerge -f folded --unit count -o joined.folded rank.[0-3].data 2>joined.mlog
	is $? 0 "four ranks, each under its own xpuload: the recordings merge into one result"
	is "$("$XPU_SRC/test/lib/verdict.sh" joined.folded joined.mlog)" \
		"launches 8000 matched 8000 wrong 0 unmatched 0 lost 0" \
			"four ranks, each under its own xpuload: the result has all launches"
else
	skip "several recordings into one result" "xpumerge takes one file"
fi

# Two devices.
export XPU_SIM_DEVICES=2
start gpus "$XPULOAD" -o gpus.data "$live" -t 4 -g 2 -s 1800
ask gpus "burst 1000" >/dev/null
finish gpus
is $? 0 "two devices: exit status 0"
exact gpus 1003 "two devices: every launch is matched, under its own site"
for gpu in 0 1; do
	is "$(sed -n "s/.*\[GPU${gpu}_Kernel\].* //p" gpus.folded |
		awk '{ n += $1 } END { print n }')" \
		500 "two devices: half of the kernels are on device $gpu"
done
unset XPU_SIM_DEVICES

done_testing
