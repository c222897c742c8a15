#!/bin/sh
# SPDX-License-Identifier: MIT
# With file capabilities on xpuload, an ordinary user may record a process only as long as the
# kernel lets the user read this process. No data of other processes get into the recording.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers

# An installed copy, as make install makes it; and two users, each with a directory.
user=65534 other=65533
umask 022
chmod 755 .
mkdir -p inst/bin inst/lib/xpuload home theirs
cp "$XPULOAD" "$XPUMERGE" inst/bin
cp "$XPU_SHIM" inst/lib/xpuload
for program in private exact live; do
	cp "$XPU_BUILD/workload/$program" inst/bin 2>/dev/null
done
chown $user home
chown $other theirs
setcap=$(command -v setcap || echo /sbin/setcap)
caps=bpf,+perfmon ambient=
if ! "$setcap" cap_bpf,cap_perfmon=p inst/bin/xpuload 2>/dev/null; then
	diag "no file capabilities here: they are handed down instead"
	ambient="--inh-caps +$caps --ambient-caps +$caps"
fi

# as USER COMMAND...: runs COMMAND with only the user's privileges
as() {
	id=$1
	shift
	setpriv --reuid "$id" --regid "$id" --clear-groups "$@"
}
load() {		# load ARGS...: runs xpuload as the user, in the user's directory
	# shellcheck disable=SC2086 # options, or none
	(cd home && as $user $ambient "$OLDPWD/inst/bin/xpuload" "$@")
}
load --check 2>log || skip_all "an ordinary user cannot record: $(grep MISSING log | head -n 1)"

# The user's recordings may have $word, but not $secret. The other two words are the same words
# backwards.
word=wordofours drow=sruofodrow
secret=veryprivate terces=etavirpyrev
for dir in home theirs .; do
	cp inst/bin/private $dir/$word
	cp inst/bin/private $dir/$secret
	chmod 755 $dir/$word $dir/$secret
done
private=$PWD/inst/bin/private

# Prints how often the word occurs in an uncompressed recording: in stacks, names and mappings.
count() {
	grep -aoF "$1" "$2" 2>/dev/null | wc -l
}
has() {			# has FILE NAME: checks that FILE contains the user's word, also in paths
	for what in '.' '/'; do
		[ "$(grep -aocE "$what$word" "$1")" -gt 0 ]
		ok $? "$2: in the recording, the user's word occurs after '$what'"
	done
}
hasnt() {		# hasnt FILE NAME: checks that FILE does not contain $secret
	is "$(count $secret "$1")" 0 "$2: the recording has no data of other users"
}

# ---- the user's own processes

load --cpu-only -F 999 -z 0 -o own.data "$private" 150 $drow word 2>log
is $? 0 "the user's program: exit status 0" || diag "$(cat log)"
like "$(cat log)" ' 1 process;.* lost 0$' "the user's program: nothing is lost"
unlike "$(cat log)" 'stopped recording' "the user's program is recorded to its end"
has home/own.data "the user's program"

# waits USER DIRECTORY DROW [STEP]: starts a process of USER that contains the reverse of DROW; sets
# $pid
waits() {
	rm -f ready		# may be from an earlier process
	setpriv --reuid "$1" --regid "$1" --clear-groups sh \
		-c 'cd "$1" && exec "$0" 50 "$2" $3 wait' "$private" "$2" "$3" "${4:-own}" >ready &
	pid=$!
	wait_for grep -qs ready ready
}

waits $user home $drow
load --cpu-only -F 999 -z 0 -o attached.data -p $pid --duration 1 2>log
is $? 0 "-p, a process of the user: exit status 0" || diag "$(cat log)"
has home/attached.data "-p, a process of the user"
kill $pid
wait $pid 2>/dev/null

# ---- other users' processes

for who in 0 $other; do
	waits $who theirs $terces
	load --cpu-only -F 999 -z 0 -o refused.data -p $pid --duration 1 2>log
	is $? 125 "-p, a process of user $who: exit status 125"
	is "$(cat log)" \
		"xpuload: pid $pid may not be recorded: it belongs to user $who, you are user\
 $user: run xpuload as that user, or as root" \
 	"-p, a process of user $who: refused, and the message says what to do"
	hasnt home/refused.data "-p, a process of user $who"
	[ $who = 0 ] || {
		xpuload --cpu-only -F 999 -z 0 -o root.data -p $pid --duration 1 2>log
		is "$? $([ "$(count $secret root.data)" -gt 2 ] && echo yes)" "0 yes" \
			"root may record another user's process" || diag "$(cat log)"
	}
	kill $pid
	wait $pid 2>/dev/null
done

# By default, a container's root has no more privileges than another user.
waits $user theirs $terces
setpriv --bounding-set -sys_ptrace "$XPULOAD" --cpu-only -z 0 -o refused.data -p $pid \
	--duration 1 2>log
is "$? $(cat log)" "125 xpuload: pid $pid may not be recorded: root needs cap_sys_ptrace for that\
 (docker run --cap-add SYS_PTRACE)" \
 "root without cap_sys_ptrace: refused, and the message says what to do"
# Most processes of a cgroup may belong to other users: one line says how many, and why they are not
# recorded.
setpriv --bounding-set -sys_ptrace "$XPULOAD" --cpu-only -z 0 -o cgroup.data -a --cgroup / \
	--duration 0.3 2>log
is "$? $(grep -c 'may not be recorded' log)" "0 1" \
	"-a --cgroup /, without cap_sys_ptrace: prints one line" || diag "$(cat log)"
like "$(cat log)" \
	'^xpuload: warning: [1-9][0-9]* running process(es)? may not be recorded, such as pid [0-9]+ \(.*\): root needs cap_sys_ptrace' \
	"-a --cgroup /, without cap_sys_ptrace: the line counts denied processes, with a reason"
unlike "$(cat log)" 'a child of|root records them' \
	"-a --cgroup /, without cap_sys_ptrace: the line does not mention children or root"
kill $pid
wait $pid 2>/dev/null

# A shell of the user has a child that became another user's process. The shell forks other children
# later.
cat >parent.sh <<'END'
"$1" 50 "$2" own wait <&3 >ready &
while [ ! -e stop ]; do sleep 0.05; done
END
cp inst/bin/private suid-private
chmod 4755 suid-private
mkfifo home/never
rm -f home/ready
(cd home && exec setpriv --reuid $user --regid $user --clear-groups \
	sh "$OLDPWD/parent.sh" "$OLDPWD/suid-private" $terces 3<>never) &
parent_pid=$!
wait_for grep -qs ready home/ready
child=$(pgrep -P $parent_pid $secret)
load --cpu-only -F 999 -z 0 -o tree.data -p $parent_pid --duration 0.5 2>log
is $? 0 "-p, a child of another user: exit status 0"
like "$(cat log)" \
	"^xpuload: warning: pid $child \(veryprivate\), a child of $parent_pid, may not be recorded: it" \
	"-p, a child of another user: a message says that the child may not be recorded" || diag "$(cat log)"
like "$(cat log)" '^xpuload: 1 process of other users was left alone' \
	"-p, a child of another user: processes that are left alone are counted"
hasnt home/tree.data "-p, a child of another user"
kill "$child"
touch home/stop
wait $parent_pid

waits $user theirs $terces hide
load --cpu-only -F 999 -z 0 -o refused.data -p $pid --duration 1 2>log
is "$? $(cat log)" \
	"125 xpuload: pid $pid may not be recorded: it has or had privileges or another group, is outside of your user namespace, or forbids reading it: run xpuload as root" \
 	"-p, a process that hides: refused, and the message says what to do"
hasnt home/refused.data "-p, a process that hides"
kill $pid
wait $pid 2>/dev/null

# ---- programs that change their owner

cp inst/bin/private suid
chmod 4755 suid
cp inst/bin/private unreadable
chmod 0711 unreadable
cp inst/bin/private sgid
chown 0:$other sgid
chmod 2755 sgid

# stops NAME STEP...: checks that $word is recorded, and $secret is not
stops() {
	name=$1
	shift
	for how in "" "--off-cpu" "--call-graph fp"; do
		rm -f home/x.data
		# shellcheck disable=SC2086 # options, or none
		load --cpu-only -F 999 $how -z 0 -o x.data sh \
			-c '"$0" 100 "$1" word; shift; exec "$@"' "$private" $drow "$@" 2>log
		is $? 0 "$name $how: exit status 0" || diag "$(cat log)"
		like "$(cat log)" \
			'warning: stopped recording 1 process: it gained privileges, or ran a program that you may not read; run xpuload as root$' \
			"$name $how: a message says that recording ended" ||
			diag "$(cat log)"
		[ "$(count $word home/x.data)" -gt 1 ]
		ok $? "$name $how: the part of the run before the recording ended is recorded"
		hasnt home/x.data "$name $how"
	done
}
stops "a set-user-ID program" "$PWD/suid" 100 $terces word
stops "a set-group-ID program" "$PWD/sgid" 100 $terces word
stops "a program that cannot be read" "$PWD/unreadable" 100 $terces word
stops "a program that hides" "$private" 100 $terces own hide word own

# is_users PID: succeeds once PID runs the user's shell, and no longer setpriv as root
is_users() {
	grep -qs "^Uid:[[:space:]]${user}[[:space:]]" "/proc/$1/status" &&
		[ "$(cat "/proc/$1/comm")" = sh ]
}

# later DROW PROGRAM: attaches to a shell of the user. The shell starts children, and then executes
# PROGRAM with the argument DROW. Records into home/x.data.
later() {		# later DROW PROGRAM
	rm -f home/go home/x.data log
	setpriv --reuid $user --regid $user --clear-groups sh -c 'cd home
		until [ -e go ]; do sleep 0.05; done; exec "$1" 100 "$0" word' "$1" "$2" &
	pid=$!
	wait_for is_users $pid
	(wait_for grep -qs 'Ctrl-C ends' log; sleep 0.2; : >home/go) &
	load --cpu-only --off-cpu -F 999 -z 0 -o x.data -p $pid 2>log
}
later $drow "$private"
is $? 0 "an attached process that executes a program: exit status 0" || diag "$(cat log)"
unlike "$(cat log)" 'stopped recording|may not be recorded|left alone' \
	"an attached process that executes a program: the process still belongs to the user"
has home/x.data "an attached process that executes a program"
xpumerge -i home/x.data -f folded --by comm,pid -o x.folded 2>mlog
like "$(cat x.folded)" ';main;work_with_word;work[ ;]' \
	"an attached process that executes a program: its new mappings are known"
like "$(grep -c '^sleep;' x.folded)" '^[1-9]' \
	"an attached process that executes a program: its children are recorded, too"
later $terces "$PWD/suid"
like "$(cat log)" 'warning: stopped recording 1 process: it gained privileges' \
	"an attached process that executes a set-user-ID program: a message says that recording ended"
hasnt home/x.data "an attached process that executes a set-user-ID program"

# COMMAND itself becomes a process of another user.
load --cpu-only -F 999 -z 0 -o x.data "$PWD/suid" 100 $terces word 2>log
is $? 0 "a COMMAND that is set-user-ID: exit status 0"
like "$(cat log)" '^xpuload: warning: stopped recording 1 process: it gained privileges' \
	"a COMMAND that is set-user-ID: a message says that recording ended"
like "$(cat log)" '^xpuload: 0 CPU samples, ' "a COMMAND that is set-user-ID: nothing is recorded"
hasnt home/x.data "a COMMAND that is set-user-ID"
load --strict --cpu-only -z 0 -o x.data "$PWD/suid" 10 $terces own 2>log
is $? 125 "a COMMAND that is set-user-ID: --strict fails"
xpuload --cpu-only -F 999 -z 0 -o root.data "$PWD/suid" 100 $terces word 2>log
[ "$(count $secret root.data)" -gt 1 ]
ok $? "root may record a COMMAND that is set-user-ID" || diag "$(cat log)"

# If the kernel hides its addresses from the user, the recording has no kernel addresses.
if [ "$(as $user head -n 1 /proc/kallsyms | cut -d' ' -f1 | tr -d 0)" ]; then
	skip "addresses of the kernel" "/proc/kallsyms shows them to everybody"
else
	for how in "" "--off-cpu"; do
		# shellcheck disable=SC2086 # options, or none
		load --cpu-only $how -F 999 -z 0 -o k.data "$XPU_BUILD/workload/cpu" 200 \
			kernel >/dev/null 2>log
		xpumerge -i home/k.data -f folded -o k.folded 2>mlog
		like "$(cat k.folded)" \
			'[^k]\];\[kernel\]_\[k\] [0-9]+$|[^]];\[kernel\]_\[k\] [0-9]+$' \
			"the kernel $how: a frame of the kernel is recorded"
		unlike "$(cat k.folded)" '\[kernel\]_\[k\];\[kernel\]_\[k\]' \
			"the kernel $how: no more than one frame of the kernel is recorded"
	done
fi

# ---- launches

use_sim
exact="$XPU_BUILD/workload/exact"
load -z 0 -o l.data "$exact" -t 4 -n 20000 >/dev/null 2>log
is $? 0 "the user's launches: exit status 0" || diag "$(cat log)"
like "$(cat log)" '^xpuload: 20000 launches .* 20000 device records.* lost 0$' \
	"the user's launches: none is lost"
exact home/l 20000 "the user's launches: exact"

cp /bin/true suid-true
chmod 4755 suid-true
load -z 0 -o l.data "$XPU_BUILD/workload/ends" -n 3000 "exec=$PWD/suid-true" >/dev/null 2>log
is $? 0 "launches, then a set-user-ID exec: exit status 0" || diag "$(cat log)"
exact home/l 3000 "launches, then a set-user-ID exec: exact up to it"
like "$(cat log)" '^xpuload: warning: stopped recording 1 process: it gained privileges' \
	"launches, then a set-user-ID exec: a message says that recording ended"
is "$(count suid-true home/l.data)" 1 \
	"launches, then a set-user-ID exec: only the recorded options name the program"

# A user namespace that the user created and in which the user is root, as in rootless containers.
if as $user unshare -Ur true 2>/dev/null; then
	load -z 0 -o l.data unshare -Ur "$exact" -t 2 -n 1000 >/dev/null 2>log
	exact home/l 1000 "in the user's own user namespace: exact" || diag "$(cat log)"
	unlike "$(cat log)" 'stopped recording' \
		"in the user's own user namespace: a program is recorded to its end"
else
	skip "a user namespace of the user's own" "unshare -U is not allowed"
fi

# all_in NAME LAUNCHES TEST: checks that -a records exactly the user's launches. It ignores the
# number of losses, because xpuload loses events of mappings on a busy machine.
all_in() {		# all_in NAME LAUNCHES TEST
	like "$(verdict "$1")" "^launches $2 matched $2 wrong 0 unmatched 0 " "$3" ||
		diag "$(cat "$1.mlog")"
}
shim=$PWD/inst/lib/xpuload/libxpushim.so
shimmed() {		# shimmed NAME UID GID [OPTION...]: starts a program with the shim
	name=$1 uid=$2 gid=$3
	shift 3
	start "$name" setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@" \
		env LD_PRELOAD="$shim" "$live" -s 1800
}
shimmed mine $user $user
shimmed roots 0 0
shimmed others $other $user
shimmed groups $user $other
shimmed capable $user $user --inh-caps +net_raw --ambient-caps +net_raw
# shellcheck disable=SC2086 # options, or none
(cd home && exec setpriv --reuid $user --regid $user --clear-groups $ambient \
	"$OLDPWD/inst/bin/xpuload" -z 0 -o all.data -a) 2>all.log &
all_pid=$!
awake home/all
for name in roots mine others groups capable; do
	ask $name "burst 300" >/dev/null
done
leave all
is $? 0 "-a: exit status 0" || diag "$(cat all.log)"
all_in home/all 303 "-a: the user's launches are recorded, and no others"
like "$(cat all.log)" '^xpuload: 4 processes of other users were left alone' \
	"-a: other users' processes are counted"
like "$(cat all.log)" '^xpuload: 303 launches .* 1 process;' \
	"-a: all launches come from one process"

# Two programs of the user end before xpuload reads their events. xpuload has read only the exec of
# the first program.
(cd home && exec setpriv --reuid $user --regid $user --clear-groups $ambient \
	"$OLDPWD/inst/bin/xpuload" --gpu-only -z 0 -o ended.data -a) 2>ended.log &
ended_pid=$!
awake home/ended
start late setpriv --reuid $user --regid $user --clear-groups env LD_PRELOAD="$shim" "$live" \
	-s 1800 -i
as $user env LD_PRELOAD="$shim" "$exact" -t 1 -n 100 >/dev/null 2>&1
wait_for has_launches home/ended 100
kill -STOP $ended_pid
ask late "burst 10" >/dev/null
finish late
as $user env LD_PRELOAD="$shim" "$exact" -t 2 -n 1000 >/dev/null 2>&1
kill -CONT $ended_pid
leave ended
like "$(cat ended.log)" ' 4 processes;.* lost 0$' \
	"-a, events read after the programs ended: nothing is lost"
like "$(verdict home/ended)" '^launches ([0-9]+) matched \1 wrong 0 unmatched 0 ' \
	"-a, events read after the programs ended: each launch has its call path" ||
	diag "$(cat home/ended.mlog)"
hasnt home/ended.data "-a, events read after the programs ended"

inst/bin/xpuload -z 0 -o roots_all.data -a 2>roots_all.log &
roots_all_pid=$!
wait_for are_awake roots_all 5
for name in roots mine others groups capable; do
	ask $name "burst 300" >/dev/null
done
leave roots_all
all_in roots_all 1515 "-a, root: all processes are recorded" || diag "$(cat roots_all.log)"
unlike "$(cat roots_all.log)" 'left alone' "-a, root: no process is reported as left alone"
for name in roots mine others groups capable; do
	finish $name
done

# ---- the program's own privileges

# COMMAND gets exactly the capabilities that the user granted.
load -q -z 0 -o x.data grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status >out 2>log
[ -n "$ambient" ] || is "$(sed 's/^.*:.//' out | sort -u)" 0000000000000000 \
	"COMMAND has none of the capabilities"
as $user sh -c 'ls /proc/$$/fd' >want 2>log
load -q -z 0 -o x.data sh -c 'ls /proc/$$/fd' >out 2>log
is "$(tr '\n' ' ' <out)" "$(tr '\n' ' ' <want)" "COMMAND inherits no descriptors from xpuload"

# A container's bounding set lacks one of the capabilities.
if [ -z "$ambient" ]; then
	unbound() {
		(cd home && setpriv --bounding-set -bpf --reuid $user --regid $user --clear-groups \
			"$OLDPWD/inst/bin/xpuload" "$@")
	}
	like "$(unbound --help 2>&1)" '^usage: xpuload' \
		"without cap_bpf in the bounding set: --help works"
	like "$(unbound --check 2>&1)" \
		'^MISSING +privileges +without cap_bpf, which the container needs' \
		"without cap_bpf in the bounding set: --check names cap_bpf"
	unbound -z 0 --transport bpf -o none.data true 2>log
	is "$? $(grep -c '' log)" "125 1" \
		"without cap_bpf in the bounding set: xpuload prints one line"
	like "$(cat log)" 'without cap_bpf, which the container needs' \
		"without cap_bpf in the bounding set: the message says what to do"

	# Capabilities are effective only while they are used. Nothing uses them here.
	start idle setpriv --reuid $user --regid $user --clear-groups env LD_PRELOAD="$shim" \
		"$live" -s 1800 -i
	(cd home && exec setpriv --reuid $user --regid $user --clear-groups \
		"$OLDPWD/inst/bin/xpuload" -z 0 -o idle.data -p $idle_pid) 2>idle.log &
	observer_pid=$!
	wait_for grep -qs 'Ctrl-C ends' idle.log
	is "$(sed -n 's/^CapEff:.//p' /proc/$observer_pid/status)" 0000000000000000 \
		"no capability is effective while xpuload records"
	# xpuload's memory contains the kernel's events of all processes.
	is "$(stat -c %u /proc/$observer_pid/environ)" 0 "the memory of xpuload belongs to root"
	as $user sh -c "cat /proc/$observer_pid/maps" >out 2>&1
	is "$? $(grep -c denied out)" "1 1" "xpuload's user may not look into its memory"
	kill -INT $observer_pid
	wait $observer_pid
	is $? 0 "xpuload ends with exit status 0"
	finish idle

	# This shim belongs to the user, so xpuload does not use it.
	mkdir home/mine home/mine/bin home/mine/lib home/mine/lib/xpuload
	ln inst/bin/xpuload home/mine/bin/xpuload
	cp inst/lib/xpuload/libxpushim.so home/mine/lib/xpuload
	chown -R $user home/mine/lib
	(cd home && as $user mine/bin/xpuload -z 0 --transport bpf -o none.data "$exact" -t 1 \
		-n 10) >/dev/null 2>log
	is $? 125 "a shim that the user installed next to xpuload: exit status 125"
	like "$(cat log)" 'libxpushim.so is not used with capabilities: it must be a file of' \
		"a shim that the user installed next to xpuload: the message says that it is not used"
	rm home/mine/bin/xpuload

	cp "$XPULOAD" inst/bin/suid-xpuload
	chmod 4755 inst/bin/suid-xpuload
	as $user inst/bin/suid-xpuload --version >out 2>log
	is "$? $(cat out)" "125 " "set-user-ID: exit status 125"
	like "$(cat log)" '^xpuload: this program must not be set-user-ID' \
		"set-user-ID: the message says why"
fi
done_testing
