#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# -p loads the shim into a running program that was started without it: every later launch is
# recorded, and the program is not harmed. test/t2/inject.c tests the refusals and many rounds.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer's allocator wraps every call that waits"
use_sim

# mapped PID: prints the number of copies of the shim in the process
mapped() {
	grep -c 'r-xp.*/libxpushim.so' "/proc/$1/maps"
}

start plain "$live" -s 1800 -t 2
for i in 1 2 3; do ask plain "burst 1000" >/dev/null; done
finish plain
want=$(tail -n 1 plain.out)

start a "$live" -s 1800 -t 2
ask a "burst 1000" >/dev/null
cp "/proc/$a_pid/maps" before
xpuload --check -p "$a_pid" 2>log
is $? 0 "--check -p of a program without the shim: exit status 0"
like "$(cat log)" '^ok  *pid [0-9]* *.live. uses CUDA without the shim: -p puts the shim into it' \
	"--check -p says what -p would do"
cmp before "/proc/$a_pid/maps"
ok $? "--check -p changes no mapping of the program"
xpuload --check --no-inject -p "$a_pid" 2>log
is $? 1 "--check --no-inject -p of a program without the shim: exit status 1"
like "$(cat log)" '^MISSING  *pid [0-9]* *.live. runs without the shim, .*LD_PRELOAD=' \
	"--check --no-inject says that the program must be started with the shim"
xpuload --no-inject -o no.data -p "$a_pid" 2>log
is "$? $(mapped "$a_pid")" "125 0" "--no-inject: a process without the shim is refused"
like "$(cat log)" "pid $a_pid runs without the shim; start it with LD_PRELOAD=.*, or leave out --no-inject" \
	"--no-inject: a message says what to do"
attach one -p "$a_pid"
awake one
is "$(ask a "burst 1000")" "burst 1000" "attached: the program keeps running"
leave one
is $? 0 "attached: xpuload ends with exit status 0"
like "$(cat one.log)" "put the shim into pid $a_pid .live., .* stood still for [0-9.]* ms" \
	"a message names the process and the time" || diag "$(cat one.log)"
exact one 1003 "each launch since the attach is recorded, under its own site"
! grep -q '^[^ ]* rwx' "/proc/$a_pid/maps"
ok $? "no writable and executable memory of xpuload is left in the program"
attach two -p "$a_pid"
awake two
is "$(mapped "$a_pid")" 1 "attaching again: the program has only one shim"
ask a "burst 1000" >/dev/null
leave two
! grep -q "put the shim" two.log
ok $? "attaching again: the shim is not injected again"
exact two 1003 "attaching again: each launch is recorded"
xpuload --check -p "$a_pid" 2>log
like "$(cat log)" '^ok  *pid [0-9]* *.live. has the shim' \
	"--check -p says that a program has the shim"
finish a
is $? 0 "the program ends with exit status 0"
is "$(tail -n 1 a.out)" "$want" "the program's results are the same as without xpuload"
is "$(wc -c <a.err)" 0 "nothing was printed on the program's stderr"

# If a library cannot be read, it may have its own allocator.
cp "$(ldd "$live" | awk '$1 == "libc.so.6" { sub("libc.so.6", "libutil.so.1", $3); print $3 }')" \
	libunread.so
start d env LD_PRELOAD="$PWD/libunread.so" "$live" -s 1800 -t 2
ask d "burst 10" >/dev/null
grep -q 'r-xp.*/libunread.so' "/proc/$d_pid/maps"
ok $? "a library that cannot be read: the program has loaded the library"
chmod 600 libunread.so
xpuload -p "$d_pid" --duration 1 -o unread.data 2>log
like "$(cat log)" 'libunread.so cannot be read, and may have an allocator of its own' \
	"a library that cannot be read: the shim is not injected, and a message says why"
is "$(mapped "$d_pid")" 0 "a library that cannot be read: the program has no shim"
start a "$live" -s 1800
attach pair -p "$d_pid,$a_pid"
awake pair
ask a "burst 1000" >/dev/null
leave pair
is $? 0 "one of two programs is refused: exit status 0"
like "$(cat pair.log)" 'libunread.so cannot be read' \
	"one of two programs is refused: a warning names the reason"
exact pair 1003 "one of two programs is refused: each launch of the other one is recorded"
finish a
finish d
is $? 0 "a library that cannot be read: the program ends with exit status 0"

# A program that sees other files at the shim's path loads the shim from a file in memory.
if unshare -m true 2>/dev/null; then
	: >empty
	start b unshare -m sh -c 'mount --bind empty "$1" && shift && exec "$@"' sh "$XPU_SHIM" \
		"$live" -s 1800 -t 2
	ls -l "/proc/$b_pid/root$PWD" >before
	attach there -p "$b_pid"
	awake there
	is "$(ask b "burst 1000")" "burst 1000" "other files: the program keeps running"
	leave there
	exact there 1003 "other files: each launch is recorded, under its own site"
	like "$(cat "/proc/$b_pid/maps")" '/memfd:/libxpushim.so' \
		"other files: the shim is loaded from a file in memory"
	finish b
	is $? 0 "other files: the program ends with exit status 0"
else
	skip 4 "unshare -m is not allowed here"
fi

# The program runs in another root directory and mount namespace, as another user.
if unshare -m true 2>/dev/null; then
	mkdir root
	start d unshare -m sh -c 'mount --rbind / root && mount --bind empty "root/$1" && shift &&
		exec chroot root setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' sh \
		"$XPU_SHIM" env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" "$live" -s 1800 -t 2
	attach elsewhere -p "$d_pid"
	awake elsewhere
	is "$(ask d "burst 1000")" "burst 1000" "another root and user: the program keeps running"
	leave elsewhere
	exact elsewhere 1003 "another root and user: each launch is recorded, under its own site"
	ls -l "/proc/$d_pid/fd" | grep -c memfd >fds
	is "$(cat fds)" 0 "another root and user: no descriptor is left in the program"
	finish d
	is $? 0 "another root and user: the program ends with exit status 0"
else
	skip 4 "unshare -m is not allowed here"
fi

# A process tree in which the child runs without LD_PRELOAD: the shim is injected only into the
# process that uses CUDA.
start c env LD_PRELOAD="$XPU_SHIM" sh -c 'sleep 1800 & env -u LD_PRELOAD \
	-u CUDA_INJECTION64_PATH "$@"; kill $!' sh "$live" -s 1800 -t 2
ask c "burst 10" >/dev/null
attach tree -p "$c_pid"
awake tree
is "$(ask c "burst 1000")" "burst 1000" "a tree: the program keeps running"
leave tree
is "$(grep -c 'put the shim into' tree.log)" 1 "a tree: one process gets the shim" ||
	diag "$(cat tree.log)"
exact tree 1003 "a tree: each launch is recorded"
finish c

# A tree with many processes: five of them use CUDA, and two of these five are stopped.
busy="$XPU_BUILD/workload/busy"
mkfifo hold
# -a finds these programs by their name, which no program of another test has.
own=il$$
ln -s "$live" $own
start tree sh -c 'for i in $(seq 40); do sleep 1800 & done
	for i in 1 2 3 4; do "$0" -t 2 -k w <>hold >"busy.$i" & done
	"$@"; kill $(jobs -p); kill -CONT $(jobs -p)' "$busy" ./$own -s 1800 -t 2
wait_for grep -qs ready busy.1 && wait_for grep -qs ready busy.2
wait_for grep -qs ready busy.3 && wait_for grep -qs ready busy.4
# shellcheck disable=SC2046 # two pids
kill -STOP $(pgrep -P "$tree_pid" -x busy | tail -n 2)
xpuload --check -p "$tree_pid" 2>log
is "$? $(grep -c '^ok ' log) $(grep -c '^MISSING .*is stopped' log) $(wc -l <log)" "0 3 2 7" \
	"a tree of 46 processes: --check says what -p would do with each process that uses CUDA" ||
	diag "$(cat log)"
like "$(tail -n 1 log)" '^note  *children  *40 without CUDA of their own' \
	"a tree of 46 processes: --check counts the processes without CUDA"
attach some -p "$tree_pid"
wait_for are_awake some 3
is "$(ask tree "burst 1000")" "burst 1000" "a tree of 46 processes: the program keeps running"
leave some
is "$(grep -c 'xpuload: put the shim into' some.log)" 3 \
	"a tree of 46 processes: the three running processes that use CUDA get the shim" ||
		diag "$(cat some.log)"
like "$(grep 'the shim was put' some.log)" \
	"put into (pid [0-9]* .($own|busy).(, |: it stays there, asleep$)){3}" \
	"a tree of 46 processes: the summary names the three processes that got the shim"
like "$(cat some.log)" 'could not be put into 2 processes, such as pid [0-9]* .busy.: it is stopped' \
	"a tree of 46 processes: the summary counts processes that could not get the shim, and why"
exact some 1003 "a tree of 46 processes: each launch is recorded"

# Programs that load CUDA after xpuload has attached to their parent: first a shell, then the
# program that replaces this shell by exec.
nr_put() {		# nr_put OBSERVER NUMBER: succeeds once the shim was injected NUMBER times
	[ "$(grep -c 'put the shim into pid' "$1.log")" -ge "$2" ]
}

mkfifo late.cmd late.go
sh -c 'until [ -e go ]; do sleep 0.05; done; cuda=$1; shift
	LD_PRELOAD=$cuda sh -c "read -r word && unset LD_PRELOAD && exec \"\$@\"" sh "$@" <late.go
	exit $?' sh "$XPU_BUILD/sim/libcuda.so.1" \
	sh -c 'exec "$@" <late.cmd' sh "$live" -s 1800 -t 2 <>late.cmd >late.out 2>late.err &
late_pid=$!
exec 7<>late.go
attach later -p $late_pid
wait_for grep -qs 'Ctrl-C ends' later.log
: >go
wait_for nr_put later 1 || diag "$(cat later.log)"
echo go >&7
wait_for grep -qs ready late.out
ok $? "CUDA comes later: a shell with the shim can exec the next program"
wait_for nr_put later 2 || diag "$(cat later.log)"
awake later
is "$(ask late "burst 1000")" "burst 1000" "CUDA comes later: the program keeps running"
leave later
exact later 1003 "CUDA comes later: each launch since the shim is there is recorded"
finish late
is $? 0 "CUDA comes later: the program ends with exit status 0"

# The path of the interpreter itself: python3 may be a script that starts the interpreter.
python=$(python3 -c 'import sys; print(sys.executable)')

# CUDA comes later, into a program that never waits. The recording ends before the next attempt.
mkfifo soon.go
sh -c 'read -r word && LD_PRELOAD=$1 exec "$2" -c "while True: pass"' sh \
	"$XPU_BUILD/sim/libcuda.so.1" "$python" <>soon.go &
soon=$!
attach soon -p $soon
wait_for grep -qs 'Ctrl-C ends' soon.log
echo go >soon.go
wait_for pgrep -P "$soon_pid" -x xpuload-inject >/dev/null
not_in_progress() {
	! pgrep -P "$soon_pid" -x xpuload-inject >/dev/null
}
wait_for not_in_progress
leave soon
like "$(cat soon.log)" "could not be put into 1 process, such as pid $soon .*: xpuload ended before" \
	"CUDA comes later: the summary names a program whose next attempt did not come" ||
	diag "$(cat soon.log)"
kill $soon

# A program whose libcuda.so will load another copy of the shim gets no copy from xpuload.
env LD_PRELOAD="$XPU_BUILD/sim/libcuda.so.1" CUDA_INJECTION64_PATH=/elsewhere/libxpushim.so \
	sleep 1800 &
waiting=$!
wait_for grep -qs libcuda "/proc/$waiting/maps"
xpuload -p $waiting --duration 1 -o waiting.data 2>log
is "$? $(mapped $waiting)" "0 0" \
	"a program that will load another copy of the shim does not get the shim" ||
	diag "$(cat log)"
kill $waiting

# Forked children have the mapping of libcuda.so, but cannot use the CUDA of their parent.
mkfifo forks
env LD_PRELOAD="$XPU_BUILD/sim/libcuda.so.1" "$python" -c 'import os
os.fork() and os.fork()
os.read(0, 1)' <>forks &
forker=$!
has_children() {	# has_children PID NUMBER
	[ "$(pgrep -c -P "$1")" = "$2" ]
}
wait_for has_children $forker 2
children=$(pgrep -P $forker)
xpuload --check -p $forker 2>log
is "$? $(grep -c '^ok ' log) $(grep -c '2 without CUDA of their own' log)" "0 1 1" \
	"forked children: --check says that they have no CUDA of their own" || diag "$(cat log)"
xpuload -p $forker --duration 1 -o forked.data 2>log
is "$? $(mapped $forker) $(for pid in $children; do mapped "$pid"; done | tr '\n' ' ')" "0 1 0 0 " \
	"forked children: only their parent gets the shim" || diag "$(cat log)"
like "$(cat log)" '2 processes have CUDA only from the process that forked them' \
	"forked children: a message says that they get no shim"
child=${children%%[!0-9]*}
xpuload -p "$child" --duration 1 -o forked.data 2>log
is "$? $(mapped "$child")" "0 1" "forked children: a child whose pid the user gives gets the shim" ||
	diag "$(cat log)"
# shellcheck disable=SC2086 # several pids
kill $forker $children

sleep 1800 &
sleeper=$!
xpuload --check -p $sleeper 2>log
like "$? $(cat log)" "^1 note .*has not loaded CUDA: -p puts the shim into it when it does" \
	"a program without CUDA: --check says when it would get the shim"
kill $sleeper

# -p of a process that cannot get the shim is an error, even if xpuload finds this out only when it
# tries.
env LD_PRELOAD="$XPU_BUILD/sim/libcuda.so.1" "$python" -c 'while True: pass' &
spinning=$!
wait_for grep -qs libcuda "/proc/$spinning/maps"
xpuload -p $spinning --duration 1 -o spinning.data 2>log
is $? 125 "a program whose thread never waits: exit status 125" || diag "$(cat log)"
like "$(cat log)" 'no process can be recorded: the shim could not be put into any' \
	"a program whose thread never waits: a message says that nothing can be recorded"
kill $spinning

# -a puts the shim into programs only with --inject.
start e ./$own -s 1800 -t 2
attach quiet -a --comm $own
attached quiet
ask e "burst 10" >/dev/null
leave quiet
is "$(mapped "$e_pid")" 0 "-a does not put the shim into programs"
attach asked -a --comm $own --inject
wait_for are_awake asked 2
ask e "burst 1000" >/dev/null
ask tree "burst 500" >/dev/null
leave asked
is "$(grep -c 'xpuload: put the shim into' asked.log)" 1 \
	"-a --inject: the shim is put into one process" ||
	diag "$(cat asked.log)"
exact asked 1506 "-a --inject: each launch of both programs is recorded"
is "$(mapped "$e_pid")" 1 "-a --inject: the program has the shim"
finish e
is $? 0 "-a --inject: the program ends with exit status 0"
finish tree
rm -f hold

# In many rounds, threads do everything that an injection could disturb, while the shim is injected.
# Every launch is recorded.
bad=0
for i in $(seq "${XPU_INJECT_TIMES:-2}"); do
	rm -f busy.in busy.out
	mkfifo busy.in
	"$XPU_BUILD/workload/busy" -t 8 -k trfpwla <>busy.in >busy.out 2>busy.err &
	busy=$!
	wait_for grep -qs ready busy.out
	attach all -q -m 256M -p $busy
	wait_for holds all.data '[1-9][0-9]*'
	leave all
	line=$(verdict all)
	like "$line" 'launches ([1-9][0-9]*) matched \1 wrong 0 unmatched 0 lost 0' \
		"busy threads, round $i: every launch is recorded, under its own site" ||
		diag "$(cat all.log all.mlog)"
	kill -0 $busy || bad=$((bad + 1))
	kill $busy
	wait $busy
	[ -s busy.err ] && bad=$((bad + 1)) && diag "$(cat busy.err)"
done
is $bad 0 "busy threads: nothing went wrong in the program"
done_testing
