#!/bin/sh
# SPDX-License-Identifier: MIT
# Trees of running processes: existing and future children, several pids, and all processes with a
# given name or in a cgroup. TREE_SECONDS: for how many seconds children start and end.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
family="$XPU_BUILD/workload/family"

start_family() {	# start_family NAME ARGS...: starts family with the shim
	name=$1
	shift
	start "$name" env LD_PRELOAD="$XPU_SHIM" "$family" "$@"
}

says() {		# says OBSERVER NUMBER TEST: checks that OBSERVER has NUMBER processes
	wait_for grep -qs 'Ctrl-C ends' "$1.log" || diag "$1 does not attach: $(cat "$1.log")"
	es=es
	[ "$2" != 1 ] || es=
	is "$(grep 'Ctrl-C ends' "$1.log" | sed 's/process, [0-9]* ([^)]*)/process/
			s/: waits for programs.*//')" \
		"xpuload: attached to $2 process$es, Ctrl-C ends" \
		"$3: xpuload attaches to the right number of processes"
}

# Tests whether the mappings of NUMBER processes have been read.
has_mappings() {	# has_mappings OBSERVER NUMBER
	[ "$(xpumerge dump "$1.data" 2>/dev/null | sed -n 's/.* MMAP .* \(pid=[0-9]*\).*/\1/p' |
		sort -u | wc -l)" -ge "$2" ]
}

# Observers do not disturb each other. Several run at the same time, because attaching takes a
# second.

# A parent that launches nothing, with eight children that have not used CUDA yet; and two parents
# without the shim, whose children execute a program and load the shim by their own environment.
start_family a -w 8
for name in e f; do
	variable=LD_PRELOAD
	[ $name = e ] || variable=CUDA_INJECTION64_PATH
	start $name "$family" -w 3 -x "$variable=$XPU_SHIM"
	attach "own_$name" --gpu-only -p "$(eval "echo \$${name}_pid")"
done
attach tree -p "$a_pid"
attach alone --gpu-only --no-children -p "$a_pid"
says tree 9 "present children"
says alone 1 "--no-children"
says own_e 4 "LD_PRELOAD of children"
says own_f 4 "CUDA_INJECTION64_PATH of children"
is "$(ask a "burst 500")" "burst 4000" "existing children keep running"
# Workers that start and end all the time; each launches right after its start.
answer=$(ask a "churn 20 $((${TREE_SECONDS:-1} * 1000))")
nr=${answer#churn }
for i in 1 2 3 4 5; do		# after 256 workers, xpuload detaches from ended workers
	[ "$nr" -lt 6000 ] || break
	answer=$(ask a "churn 20 1000")
	nr=$((nr + ${answer#churn }))
done
launches=$((4000 + nr))
ask e "burst 300" >/dev/null
ask f "burst 300" >/dev/null
e_launches=$(ask e "churn 20 1")
e_launches=$((900 + ${e_launches#churn }))
for observer in tree alone own_e own_f; do
	leave $observer
	is $? 0 "$observer: exit status 0"
done
exact tree $launches \
	"existing children, and $((nr / 20)) that come and go: every launch is matched, under its own site" ||
	diag "$(cat tree.log)"
unlike "$(cat tree.log)" 'warning' \
	"existing children, and children that come and go: there is no warning"
like "$(cat alone.log)" '^xpuload: 0 launches ' "--no-children: no launch of a child is recorded"
exact own_f 900 "CUDA_INJECTION64_PATH of children: every launch is matched, under its own site"
# A new child that launches before xpuload attaches is recorded, or a message says that it is
# missing.
line=$(verdict own_e)
like "$line" '^launches ([0-9]+) matched \1 wrong 0 unmatched 0 lost 0$' \
	"LD_PRELOAD of children: every launch is matched, under its own site"
[ "${line%% matched*}" = "launches $e_launches" ] ||
	grep -q 'called CUDA before xpuload attached: .* first launches may be missing' own_e.log
ok $? \
	"LD_PRELOAD of children: all launches are recorded, or a message says that some may be missing" ||
	diag "$e_launches" "$line" "$(cat own_e.log)"
finish e
finish f

# Two trees at once. A child counts as one process even if both its pid and its parent's pid are
# given. By name: the parent and its children have the name, so each child is found twice: by its
# name, and as a child. By cgroup: the cgroup is empty at first, or has the name of a container.
cp "$family" "$$ family of b"
start_family b -w 2
start c env LD_PRELOAD="$XPU_SHIM" "./$$ family of b" -w 2
attach both --gpu-only -p "$b_pid,$(pgrep -P "$b_pid" | head -n 1)" -p "$a_pid"
attach comm --gpu-only -a --comm "$(printf %.15s "$$ family of b")"
id=$(echo $$ | sha256sum | cut -c1-64)
for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory none; do
	[ -e "$root/cgroup.procs" ] && mkdir "$root/xputest-$$" 2>/dev/null && break
done
group=$root/xputest-$$ scope=$root/xputest-$$/docker-$id.scope
if [ $root != none ]; then
	mkdir "$scope"
	attach empty --gpu-only -a --cgroup "xputest-$$"
	says empty 0 "--cgroup, empty"
	for pid in "$c_pid" $(pgrep -P "$c_pid"); do
		echo "$pid" >"$scope/cgroup.procs"
	done
	attach contained --gpu-only -a --container "$(printf %.60s "$id")"
	says contained 3 "--container"
fi
says both 12 "two parents"
says comm 3 "--comm"
wait_for are_awake both 8
for name in a b c; do
	ask $name "burst 100" >/dev/null
done
# A process that ends before its mappings are read is counted as a loss; this is not tested here.
[ $root = none ] || wait_for has_mappings empty 2
ask c "churn 20 1" >/dev/null
finish b
ask a "burst 100" >/dev/null
kill -0 "$both_pid"
ok $? "two parents: the recording continues after the end of the first parent"
finish a
wait "$both_pid"
is $? 0 "two parents: the recording ends with the second parent"
exact both 1800 \
	"two parents, and children that have used CUDA: every launch is matched, under its own site"
leave comm
exact comm 220 \
	"--comm: exactly the processes with this name are recorded, each launch under its own site"
if [ $root = none ]; then
	finish c
	skip "--cgroup" "no cgroup can be made"
else
	leave empty
	leave contained
	exact empty 220 \
		"--cgroup: exactly the cgroup's processes are recorded, also later ones, each launch under its own site"
	exact contained 220 \
		"--container: exactly the container's processes are recorded, each launch under its own site"
	finish c
	for dir in "$scope" "$group"; do
		wait_for rmdir "$dir" 2>/dev/null
	done
	xpuload -o none.data -a --cgroup "$group" 2>log
	is "$? $(cat log)" "125 xpuload: --cgroup $group: no such cgroup: expected a path below /sys/fs/cgroup, or a path from /proc/PID/cgroup" \
 	"--cgroup of a cgroup that no longer exists: refused"
fi

samples_busy() {
	xpumerge -i all.data -f folded --unit samples 2>/dev/null | grep -q '^cpu;.*;burn_user '
}

# The whole machine: a program that was not requested by name is sampled, idle CPUs are not.
"$XPU_BUILD/workload/cpu" 60000 user >/dev/null &
busy_pid=$!
attach all -a --cpu-only -F 499
wait_for grep -qs 'Ctrl-C ends' all.log
wait_for samples_busy
leave all
is $? 0 "-a --cpu-only: exit status 0"
kill $busy_pid
like "$(cat all.log)" '^xpuload: [0-9]+ CPU samples?, [0-9]+ process' \
	"-a --cpu-only: the summary counts samples" ||
	diag "$(cat all.log)"
xpumerge -i all.data -f folded --unit samples -o all.folded 2>all.mlog
like "$(cat all.folded)" '^cpu;.*;main;call_user;burn_user [1-9]' \
	"-a --cpu-only: a running program is sampled"
unlike "$(cat all.folded)" '^swapper' "-a --cpu-only: idle CPUs are not sampled"

# Each refusal is one line.
refused() {		# refused ARGS LINE
	# shellcheck disable=SC2086 # several arguments
	xpuload -o none.data $1 2>log
	is "$? $(cat log)" "125 xpuload: $2" "$1: refused"
}
sh -c 'exec "$0" -o none.data -p $$' "$XPULOAD" 2>log
like "$? $(cat log)" '^125 xpuload: pid [0-9]+ is xpuload itself$' "-p of xpuload itself: refused"
if [ "$(cat /proc/2/comm)" = kthreadd ]; then
	refused "-p 2" "pid 2 is a thread of the kernel: only --cpu-only records it"
else
	skip "-p of a thread of the kernel" "there is none in this pid namespace"
fi
refused "-a --container nobody-has-this-name" \
	"--container nobody-has-this-name: no cgroup here belongs\
 to this container: expected its id, or at least the first 4 digits of its id: see docker inspect\
 -f '{{.Id}}' NAME"
[ ! -e none.data ]
ok $? "a refused command leaves no recording behind"

done_testing
