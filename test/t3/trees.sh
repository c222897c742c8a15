#!/bin/sh
# SPDX-License-Identifier: MIT
# Trees of running processes: the children that are there and those to come, several pids, and all of a
# name or a cgroup. TREE_SECONDS: how long children come and go.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live.sh"
need root bpf
quiet_sanitizers
use_sim
family="$XPU_BUILD/workload/family"

start_family() {	# start_family NAME ARGS...: with the shim
	name=$1
	shift
	start "$name" env LD_PRELOAD="$XPU_SHIM" "$family" "$@"
}

says() {		# says OBSERVER NUMBER TEST: it has attached to so many processes
	wait_for grep -qs 'Ctrl-C ends' "$1.log" || diag "$1 does not attach: $(cat "$1.log")"
	es=es
	[ "$2" != 1 ] || es=
	is "$(grep 'Ctrl-C ends' "$1.log")" "xpuload: attached to $2 process$es, Ctrl-C ends" "$3: how many"
}

# So many processes have sent something.
are_awake() {		# are_awake OBSERVER NUMBER
	[ "$(xpumerge dump "$1.data" 2>/dev/null | sed -n 's/.* BATCH .*\(proc_id=[0-9]*\).*/\1/p' |
		sort -u | wc -l)" -ge "$2" ]
}

# A parent that launches nothing, with eight children: they have used CUDA, or not yet.
start_family a -w 8
attach tree -p "$a_pid"
says tree 9 "children that are there"
is "$(ask a "burst 500")" "burst 4000" "children that are there: they go on"
leave tree
is $? 0 "children that are there: status"
exact tree 4000 "children that are there: exact"
attach again -p "$a_pid"
says again 9 "children that have used CUDA"
wait_for are_awake again 8
ask a "burst 500" >/dev/null
leave again
exact again 4000 "children that have used CUDA: exact"

attach alone --gpu-only --no-children -p "$a_pid"
says alone 1 "--no-children"
ask a "burst 10" >/dev/null
ask a "churn 10 1" >/dev/null
leave alone
like "$(cat alone.log)" '^xpuload: 0 launches ' "--no-children: nothing of them"

# Workers that come and go, each of which launches as soon as it is there.
attach churn -p "$a_pid"
says churn 9 "children that come and go"
answer=$(ask a "churn 20 $((${TREE_SECONDS:-1} * 1000))")
leave churn
exact churn "${answer#churn }" "children that come and go: exact ($answer)" || diag "$(cat churn.log)"
unlike "$(cat churn.log)" 'warning' "children that come and go: nothing to complain of"

# Two trees at a time; a child given beside its parent is one process all the same.
start_family b -w 2
attach both -p "$b_pid,$(pgrep -P "$b_pid" | head -n 1)" -p "$a_pid"
says both 12 "two parents"
wait_for are_awake both 8
ask b "burst 300" >/dev/null
ask a "burst 100" >/dev/null
finish b
ask a "burst 100" >/dev/null
kill -0 "$both_pid"
ok $? "two parents: the recording goes on when one has ended"
finish a
wait "$both_pid"
is $? 0 "two parents: it ends with the other one"
exact both 2200 "two parents: exact"

# By name. Both parents have the same one: children are taken by their parents, too.
cp "$family" "a family of blanks"
start c env LD_PRELOAD="$XPU_SHIM" "./a family of blanks" -w 2
start_family d -w 2
attach comm -a --comm "a family of bla"
says comm 3 "--comm"
ask c "burst 200" >/dev/null
ask d "burst 300" >/dev/null
ask c "churn 20 1" >/dev/null
leave comm
exact comm 420 "--comm: exact, and nothing of others"

# In a cgroup, which may be empty at first, or named as a container's.
id=$(echo $$ | sha256sum | cut -c1-64)
for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory none; do
	[ -e "$root/cgroup.procs" ] && mkdir "$root/xputest-$$" 2>/dev/null && break
done
if [ $root = none ]; then
	skip "--cgroup" "no cgroup can be made"
else
	group=$root/xputest-$$ scope=$root/xputest-$$/docker-$id.scope
	mkdir "$scope"
	attach empty -a --cgroup "xputest-$$"
	says empty 0 "--cgroup, empty"
	# Descendants of what is there come in by themselves.
	for pid in "$c_pid" $(pgrep -P "$c_pid"); do
		echo "$pid" >"$scope/cgroup.procs"
	done
	attach contained -a --container "$(printf %.60s "$id")"
	says contained 3 "--container"
	wait_for are_awake contained 2
	wait_for are_awake empty 2
	ask c "burst 200" >/dev/null
	ask d "burst 300" >/dev/null
	ask c "churn 20 1" >/dev/null
	leave empty
	leave contained
	exact empty 420 "--cgroup: exact, also what has come into it, and nothing of others"
	exact contained 420 "--container: exact, and nothing of others"
	finish c
	for dir in "$scope" "$group"; do
		wait_for rmdir "$dir" 2>/dev/null
	done
	attach gone -a --cgroup "$group"
	wait "$gone_pid"
	is "$? $(cat gone.log)" "125 xpuload: --cgroup $group: no such cgroup: expected a path below\
 /sys/fs/cgroup, as /proc/PID/cgroup has them, for example" "--cgroup: one that is gone"
fi
finish d

# The parent has no shim; its children, which execute a program, have it by their own environment.
for variable in LD_PRELOAD CUDA_INJECTION64_PATH; do
	start e "$family" -w 3 -x "$variable=$XPU_SHIM"
	attach own -p "$e_pid"
	says own 4 "$variable of children"
	ask e "burst 300" >/dev/null
	leave own
	exact own 900 "$variable of children: exact"
	# Whoever is quicker than xpuload is not silently absent.
	attach quick -p "$e_pid"
	says quick 4 "$variable of children to come"
	wait_for are_awake quick 3
	answer=$(ask e "churn 20 1")
	leave quick
	line=$(verdict quick)
	like "$line" '^launches ([0-9]+) matched \1 wrong 0 unmatched 0 lost 0$' \
		"$variable of children to come: each launch is in its place"
	[ "$line" = "launches ${answer#churn } matched ${answer#churn } wrong 0 unmatched 0 lost 0" ] ||
		grep -q 'called CUDA before .* attached to: what .* launched first may be missing' quick.log
	ok $? "$variable of children to come: all of them, or it is said that some are missing" ||
		diag "$answer" "$line" "$(cat quick.log)"
	finish e
done

# All of the machine: a program that nobody asked for by name, and not the idle CPUs.
"$XPU_BUILD/workload/cpu" 60000 user >/dev/null &
busy_pid=$!
attach all -a --cpu-only -F 499
wait_for grep -qs 'Ctrl-C ends' all.log
sleep 0.5
leave all
is $? 0 "-a --cpu-only: status"
kill $busy_pid
like "$(cat all.log)" '^xpuload: [0-9]+ CPU samples, [0-9]+ process' "-a --cpu-only: summary" ||
	diag "$(cat all.log)"
xpumerge -i all.data -f folded --unit samples -o all.folded 2>all.mlog
like "$(cat all.folded)" '^cpu;.*;main;call_user;burn_user [1-9]' "-a --cpu-only: samples of a program that runs"
unlike "$(cat all.folded)" '^swapper' "-a --cpu-only: not of the idle CPUs"

# What is refused, in one line.
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
refused "-a --container nobody-has-this-name" "--container nobody-has-this-name: no cgroup here is that\
 of such a container: expected its id, or the first digits of that, at least 4; docker inspect -f\
 '{{.Id}}' NAME tells it"
[ ! -e none.data ]
ok $? "and no recording is left of them"

done_testing
