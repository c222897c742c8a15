#!/bin/sh
# SPDX-License-Identifier: MIT
# Each error prints one clear line, sets an exit status other than 0, and loses no recorded data.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf

lines() {		# prints the number of messages, without the summary
	grep -vc 'launches from' "$1"
}

echo kept >xpu.data
xpuload ./no-such-command 2>log
is $? 127 "command not found: exit status 127"
is "$(lines log)" 1 "command not found: prints one line"
like "$(cat log)" 'no-such-command: No such file' "command not found: the message names the command"
is "$(cat xpu.data)" kept "command not found: the old recording is still there"
echo text >not-executable
xpuload ./not-executable 2>log
is $? 126 "not executable: exit status 126"

xpuload true 2>log
is $? 0 "a target that never uses CUDA: the target's exit status is returned"
like "$(cat log)" 'made no CUDA or OpenCL launch' \
	"a target that never uses CUDA: a message says that no launch was made"
is "$(cat xpu.data.old)" kept "the old recording is kept as xpu.data.old"
xpumerge -i xpu.data -f folded -o a.folded 2>mlog
is $? 0 "a recording without launches can be merged"
xpuload --strict true 2>log
is $? 125 "a target that never uses CUDA: --strict fails"

xpuload -o /dev/full true 2>log
is $? 125 "/dev/full: exit status 125"
like "$(cat log)" 'cannot write /dev/full: No space left' "/dev/full: the message names /dev/full"
is "$(lines log)" 1 "/dev/full: prints one line"
xpuload -o no/such/dir/a.data true 2>log
is $? 125 "output directory missing: exit status 125"
is "$(lines log)" 1 "output directory missing: prints one line"
mkfifo fifo
timeout 300 "$XPULOAD" -o fifo true 2>log
is "$? $(cat log)" "125 xpuload: cannot write fifo: No such device or address" \
	"a FIFO without a reader: refused"
exec 6<>fifo			# opened for both directions, so that no open of the FIFO waits
cat fifo >read.data 6>&- &
xpuload -o fifo true 2>log 6>&-
is $? 0 "a FIFO with a reader: exit status 0"
wait_for test -s read.data
exec 6>&-
wait
xpumerge -i read.data -f folded >a.folded 2>mlog
is $? 0 "a FIFO with a reader: the reader got a recording"
for size in 12 64KB -64K 17179869185G; do
	xpuload -m $size true 2>log
	is "$? $(cat log)" "125 xpuload: -m $size: expected a size of 64K to 2G" "-m $size: refused"
done
for args in "-F 0" "-F -1" "-F 99999999999999999999" "--max-stack 1001" \
	"--off-cpu-min 0"; do
	# shellcheck disable=SC2086 # an option and its argument
	xpuload $args true 2>log
	is $? 125 "$args: refused"
	like "$(cat log)" "^xpuload: $args: expected a number from 1 to [0-9]+" \
		"$args: the message names the valid range"
done
xpuload --duration 1 true 2>log
is "$? $(grep -c 'a COMMAND is recorded until it ends' log)" "125 1" \
	"--duration with a command: refused"
xpuload 2>log
is $? 125 "no command: exit status 125"

# Without root's privileges: setpriv, which every Debian system has, drops them.
chmod 755 .
setpriv --reuid 65534 --regid 65534 --clear-groups "$XPULOAD" --transport bpf -o x.data true 2>log
is $? 125 "not root: exit status 125"
is "$(lines log)" 1 "not root: prints one line"
like "$(cat log)" 'run it as root' "not root: the message says what to do"
setpriv --reuid 65534 --regid 65534 --clear-groups "$XPULOAD" --check 2>log
is $? 1 "not root: --check fails"
like "$(cat log)" 'MISSING +privileges' "not root: --check says what is missing"
setpriv --bounding-set -all "$XPULOAD" --transport bpf true 2>log
is "$? $(grep -c 'root of a container needs' log)" "125 1" \
	"root without capabilities: the message says what to do"
if unshare -Ur true 2>/dev/null; then
	unshare -Ur "$XPULOAD" --transport bpf true 2>log
	is "$? $(grep -c 'attach from outside' log)" "125 1" \
		"root of a user namespace: the message says what to do"
else
	skip "root of a user namespace" "unshare -U is not allowed"
fi
setpriv --bounding-set -all "$XPULOAD" --check 2>log
like "$(cat log)" '^MISSING +privileges +root without cap_bpf' \
	"root without capabilities: --check says what is missing"

# One line names the missing requirement.
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$@"' sh \
		"$XPULOAD" --transport bpf -o x.data true 2>log
	is $? 125 "no BTF: exit status 125"
	is "$(lines log)" 1 "no BTF: prints one line"
	like "$(cat log)" 'the kernel has no BTF, .*: CONFIG_DEBUG_INFO_BTF' \
		"no BTF: the message says what is missing"
else
	skip "no BTF" "unshare -m is not allowed"
fi
[ ! -e x.data ]
ok $? "without privileges or BTF: no recording is left behind"
(ulimit -Sn 77; xpuload -q -o a.data sh -c 'ulimit -n' >out 2>log)
is "$(cat out)" 77 "the target keeps its limit of open files"

use_sim
exact="$XPU_BUILD/workload/exact"

XPU_SIM_CUPTI_BUSY=1 xpuload -o a.data "$exact" -t 1 -n 100 >out 2>log
is $? 125 "CUPTI busy: exit status 125"
like "$(cat out)" '^exact: ' "CUPTI busy: the target is unharmed"
is "$(grep -c 'CUPTI is in use' log)" 1 "CUPTI busy: prints one line"

XPUSHIM_CUPTI=/nonexistent/libcupti.so xpuload -o a.data "$exact" -t 1 -n 100 >out 2>log
is $? 125 "no CUPTI: exit status 125"
like "$(cat out)" '^exact: ' "no CUPTI: the target is unharmed"
is "$(grep -c 'XPUSHIM_CUPTI=/nonexistent/libcupti.so cannot be loaded' log)" 1 \
	"no CUPTI: one message names the file that cannot be loaded"

# A disk that fills up during a recording.
mkdir -p small
if mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
	xpuload -o small/a.data "$exact" -t 4 -n 120000 >out 2>log
	is $? 125 "disk full: exit status 125"
	is "$(grep -c 'No space left on device' log)" 1 "disk full: prints one line"
	like "$(cat log)" '[0-9]+ bytes not written' "disk full: the loss is counted"
	like "$(cat log)" 'B; lost [0-9]+ and [1-9][0-9]* bytes$' \
		"disk full: the summary counts the lost bytes"
	like "$(cat out)" '^exact: ' "disk full: the target is unharmed"
	xpumerge -i small/a.data -f folded -o b.folded 2>mlog
	is $? 1 "disk full: the merge says that the recording is incomplete"
	[ -s b.folded ]
	ok $? "disk full: the recording has launches"
	rm small/a.data			# otherwise the next recording could not start
	xpuload -o small/b.folded "$exact" -t 4 -n 120000 >out 2>log
	is $? 125 "disk full, merged directly: exit status 125"
	like "$(cat log)" \
		'small/b.folded is incomplete: the recording stays in small/|cannot be written' \
		"disk full, merged directly: a message says that the result is incomplete"
	umount small
else
	skip "disk full" "cannot mount a tmpfs"
fi

# A ring too small for the burst: every lost launch is counted.
xpuload -m 64K -o c.data "$exact" -t 8 -n 100000 >out 2>log
is $? 0 "ring full: the target ends with exit status 0"
xpumerge -i c.data -f folded --unit count -o c.folded 2>mlog
got=$(sed -n 's/.*launches \([0-9]*\) matched.*/\1/p' mlog)
if grep -q 'ring full' log; then
	lost=$(grep -o '[0-9]* launches (ring full' log | head -n 1 | cut -d' ' -f1)
	is $((got + ${lost:-0})) 100000 \
		"ring full: recorded and lost launches add up to all launches"
	xpumerge -i c.data --strict -f folded -o c.folded 2>mlog
	is $? 1 "ring full: --strict fails"
else
	is "$got" 100000 "ring never full: all launches are recorded"
fi

# xpuload does not read the ring, so batches of device records are lost: messages name the programs
# that sent them.
start_dormant busy
start_dormant other
attach two -a --gpu-only -m 64K
awake two
kill -STOP "$two_pid"
ask busy "burst 30000" >/dev/null
sleep 1
kill -CONT "$two_pid"
leave two
batches() {		# batches PATTERN: adds up the counts on the lines that match
	grep "$1" two.log | grep -o '[0-9]* batches of device' |
		awk '{ n += $1 } END { print n + 0 }'
}
all=$(batches 'warning: lost: ')
[ "$all" -gt 0 ]
ok $? "the ring is not read: lost batches are counted" || diag "$(cat two.log)"
is "$(batches 'warning: lost of pid ')" "$all" \
	"the ring is not read: each lost batch is counted for a process" || diag "$(cat two.log)"
[ "$(batches "warning: lost of pid $busy_pid (live): ")" -gt 0 ]
ok $? "the ring is not read: messages name the process by pid and name" || diag "$(cat two.log)"
finish busy
finish other

# Records that CUPTI drops, and records with invalid times: both are counted.
XPU_SIM_DROP=100 xpuload -o d.data "$exact" -t 2 -n 10000 >out 2>log
like "$(cat log)" '100 device records dropped by CUPTI' \
	"device records that CUPTI dropped are counted"
XPU_SIM_ZERO_TIMES=100 xpuload -o d.data "$exact" -t 2 -n 10000 >out 2>log
# At exit, records without times look like unfinished work.
n=$(grep -oE '[0-9]+ device records (without valid times|unfinished at exit)' log |
	awk '{ n += $1 } END { print n }')
is "$n" 100 "device records with invalid times are counted"

done_testing
