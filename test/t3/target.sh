#!/bin/sh
# SPDX-License-Identifier: MIT
# Under xpuload, the target's stdout, exit status and signals are the same as without it.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers

for status in 0 1 3 124 255; do
	xpuload -q -o a.data sh -c "exit $status" 2>log
	is $? $status "exit status $status is passed on"
done

for sig in TERM KILL SEGV INT; do
	sh -c "kill -$sig \$\$" >/dev/null 2>&1
	want=$?
	"$XPULOAD" -q -o a.data sh -c "kill -$sig \$\$" >/dev/null 2>&1
	is $? $want "killed by SIG$sig: the exit status is the same as without xpuload"
done

printf 'in\0put\n' >in
xpuload -q -o a.data cat <in >out 2>log
cmp in out
ok $? "the target's stdin and stdout are unchanged, byte for byte"
is "$(xpuload -q -o a.data sh -c 'echo to-stderr >&2' 2>&1 >/dev/null | grep -c to-stderr)" 1 \
	"the target's stderr is unchanged"

xpuload -q -o a.data sh -c 'ls -l /proc/self/fd' 2>log | grep -c -- '->' >inside
ls -l /proc/self/fd | grep -c -- '->' >outside
cmp inside outside
ok $? "no descriptor leaks into the target"
xpuload -q -o a.data sh -c 'ls -l /proc/self/fd >inside' <&- 2>&-
sh -c 'ls -l /proc/self/fd >outside' <&- 2>&-
is "$(grep -c -- '->' inside)" "$(grep -c -- '->' outside)" "closed descriptors stay closed"
xpumerge -i a.data -f folded -o a.folded 2>log
is $? 0 "xpuload's files do not get the numbers of closed descriptors" || diag "$(cat log)"

xpuload -q -o a.data grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >inside 2>log
grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >outside
cmp inside outside
ok $? "signal mask and dispositions are untouched"
(trap '' HUP USR1; xpuload -q -o a.data grep SigIgn /proc/self/status >inside 2>log
	grep SigIgn /proc/self/status >outside)
cmp inside outside
ok $? "ignored signals stay ignored"

cat >fake_merge.sh <<'END'
#!/bin/sh
grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >inside
END
mkdir beside && cp "$XPULOAD" "$XPU_SHIM" beside && cp fake_merge.sh beside/xpumerge &&
	chmod 755 beside/xpumerge
beside/xpuload -q -o a.folded true 2>log
grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >outside
cmp inside outside
ok $? "xpumerge gets the original signal mask and dispositions, so that Ctrl-C ends it"

# xpuload is started by a program that ignores SIGCHLD.
timeout 300 perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' \
	"$XPULOAD" -q -o a.data sh -c 'exit 3' 2>log
is $? 3 "SIGCHLD ignored: the target's exit status 3 is passed on"
timeout 300 perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' \
	"$XPULOAD" -q -o a.data grep SigIgn /proc/self/status >inside 2>log
perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' grep SigIgn /proc/self/status >outside
cmp inside outside
ok $? "SIGCHLD ignored: the signal stays ignored in the target"

# xpuload runs exactly the commands that execvp() finds.
env -u PATH "$XPULOAD" -q -o a.data ls /dev/null >out 2>log
is $? 0 "no PATH: the C library's default path is searched"
echo kept >b.data
xpuload -o b.data / 2>log
is "$? $(cat b.data)" "126 kept" \
	"a directory as the command: refused, and the old recording is kept"
xpuload -o b.data '' 2>log
is "$? $(cat b.data)" "127 kept" "an empty command: refused, and the old recording is kept"

is "$(LD_PRELOAD='' xpuload -q -o a.data sh -c 'echo "$LD_PRELOAD"' 2>log)" \
	"$XPU_SHIM" "LD_PRELOAD has only the shim"

# A signal sent only to xpuload is passed on, once.
cat >count.sh <<'END'
n=0
trap 'n=$((n + 1))' USR1
echo ready >ready
while [ $n = 0 ]; do sleep 0.1; done
sleep 0.5			# time for a second signal
echo $n >caught
END
rm -f ready
"$XPULOAD" -q -o a.data sh count.sh 2>log &
pid=$!
wait_for test -s ready
kill -USR1 $pid
wait $pid
is "$(cat caught)" 1 "a signal that is sent only to xpuload reaches the target once"

# A signal to the whole group arrives once, too: timeout(1) sends it to its child and to the group.
rm -f ready
cat >group.sh <<'END'
n=0
trap 'n=$((n + 1))' INT
echo ready >ready
while [ $n = 0 ]; do sleep 0.1; done
sleep 0.5			# time for a second signal
echo $n >caught
exit 7
END
setsid timeout -s INT 600 "$XPULOAD" -q -o a.data sh group.sh 2>log &
pid=$!
wait_for test -s ready
kill -ALRM $pid			# the target's time limit is over
wait $pid
is "$(cat caught)" 1 "a signal that is sent to the process group reaches the target once"

# SIGTERM to xpuload ends the target, and the recording is closed properly.
"$XPULOAD" -o a.data sleep 1800 2>log &
pid=$!
wait_for pgrep -P $pid -x sleep >/dev/null
kill -TERM $pid
wait $pid 2>/dev/null
is $? 143 "SIGTERM ends xpuload and the target, with the same exit status as without xpuload"
like "$(cat log)" 'launches' "SIGTERM: xpuload still prints its counts"

# xpuload does not wait for descendants that outlive the target.
xpuload -q -o a.data sh -c 'sleep 1800 >/dev/null 2>&1 </dev/null & echo $! >left; exit 4' 2>log
is $? 4 "a target that leaves a child behind: the target's exit status 4 is passed on"
kill "$(cat left)"
ok $? "a target that leaves a child behind: xpuload does not wait for the child"

done_testing
