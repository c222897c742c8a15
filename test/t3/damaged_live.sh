#!/bin/sh
# SPDX-License-Identifier: MIT
# Other programs damage a recording during writing: losses are reported and counted, the exit status
# is not 0, and the target runs to its end.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim

# begun: succeeds once the recording's file has several blocks
begun() {
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt 20000 ]
}

begun_or_burst() {
	ask target "burst 5000" >/dev/null
	begun "$1"
}

# record NAME COMMAND...: runs COMMAND while NAME.data is recorded; sets $made to the number of
# launches
record() {
	what=$1
	shift
	start target "$XPULOAD" --gpu-only -o "$what.data" "$live" -s 1800 -t 2
	wait_for begun_or_burst "$what.data"
	ok $? "$what: the recording has begun"
	"$@"
	is "$(ask target "burst 20000")" "burst 20000" "$what: the target keeps running"
	finish target
	status=$?
	cp target.err "$what.log"
	made=$(awk '$1 == "live:" { print $3 + $5 }' target.out)
	diag "$(cat "$what.log")"
}

nr_lost() {		# nr_lost LOG: prints the lost bytes
	sed -n 's/.* lost 0 and \([0-9]*\) bytes$/\1/p' "$1"
}

record removed rm removed.data
is $status 125 "file removed: exit status 125"
is "$(grep -c 'removed.data was removed or replaced during the recording: the recording is lost' \
	removed.log)" 1 "file removed: one message says that the recording is lost"
[ "$(nr_lost removed.log)" -gt 20000 ]
ok $? "file removed: everything is counted as lost"

echo other >other
record replaced mv other replaced.data
is $status 125 "file replaced: exit status 125"
is "$(grep -c 'replaced.data was removed or replaced' replaced.log)" 1 \
	"file replaced: one message says that the file was replaced"
is "$(cat replaced.data)" other "file replaced: the file that replaced it is unchanged"

record emptied truncate -s 0 emptied.data
is $status 125 "file emptied: exit status 125"
is "$(grep -c 'another program made emptied.data shorter' emptied.log)" 1 \
	"file emptied: one message says that the file was made shorter"
[ "$(nr_lost emptied.log)" -gt 20000 ]
ok $? "file emptied: everything is counted as lost"

record shorter truncate -s 15000 shorter.data
is $status 125 "file made shorter: exit status 125"
is "$(grep -c 'another program made shorter.data shorter' shorter.log)" 1 \
	"file made shorter: one message says that the file was made shorter"
is "$(stat -c %s shorter.data)" 15000 "file made shorter: the file does not grow again"
xpumerge -i shorter.data -f folded -o shorter.folded 2>merge.log
is $? 1 "file made shorter: what remains can be read, and is reported as incomplete"

record moved mv moved.data elsewhere.data
is $status 0 "file moved: exit status 0"
like "$(cat moved.log)" 'lost 0$' "file moved: nothing is lost"
xpumerge -i elsewhere.data -f folded -o moved.folded 2>merge.log
is "$?$(sed -n 's/^launches //p' merge.log)" "0$made matched $made unmatched 0 lost 0" \
	"file moved: the recording is complete"

# xpuload is killed by SIGKILL: the file has everything except the last second.
# shellcheck disable=SC2016 # in the other shell
"$XPULOAD" --gpu-only -o killed.data sh \
	-c 'echo $$ >target.pid && exec "$0" -t 2 -s 4 -p 2000 -n 100000' \
	"$XPU_BUILD/workload/exact" >/dev/null 2>&1 &
pid=$!
enough() {
	[ "$(xpumerge -i killed.data -f folded 2>&1 >/dev/null |
		sed -n 's/^launches \([0-9]*\) .*/\1/p')" -ge 2000 ]
}
wait_for enough
kill -9 $pid
wait $pid 2>/dev/null
kill "$(cat target.pid)"
ok $? "xpuload killed: the target keeps running"
xpumerge -i killed.data -f folded -o killed.folded 2>merge.log
is $? 1 "xpuload killed: the file can be read, and is reported as incomplete"
launches=$(sed -n 's/^launches \([0-9]*\) .*/\1/p' merge.log)
[ "${launches:-0}" -ge 2000 ]
ok $? "xpuload killed: the file has at least 2000 launches: ${launches:-0}"
unlike "$(cat merge.log)" 'damaged' "xpuload killed: no part of the file is damaged"
done_testing
