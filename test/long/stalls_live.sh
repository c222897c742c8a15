#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --stalls on running programs: existing contexts are sampled, and listeners that ask for
# samples receive them. When these listeners leave, sampling stays on, and its samples are read and
# dropped.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
export XPU_SIM_MACHINE=$$	# a GPU has one sampler, so other tests may not use this GPU

start_dormant a -t 2
ask a "burst 1000" >/dev/null
attach one --stalls -p "$a_pid"
awake one
ask a "burst 1000" >/dev/null
leave one
is "$? $(grep -c warning one.log)" "0 0" "attached: exit status 0 and no warning" ||
	diag "$(cat one.log)"
account() {		# account NAME: prints whether its samples add up, and their number
	xpumerge dump "$1.data" |
		sed -n \
		's/.* STALLS_ACCOUNT .* total=\([0-9]*\) others=\([0-9]*\) dropped=\([0-9]*\) .* recorded=\([0-9]*\)/\1 \2 \3 \4/p' |
		tail -n 1 | awk '{ print ($1 == $2 + $3 + $4 && $4 > 0), $4 }'
}
# exact_stalls NAME LAUNCHES WHAT: like exact, but removes the frames of samples first
exact_stalls() {
	xpumerge -i "$1.data" -f folded --unit count -o count.folded 2>"$1.mlog"
	sed 's/;+[0-9a-fx]*;\[stall\][^ ]* / /' count.folded >"$1.folded"
	is "$("$XPU_SRC/test/lib/verdict.sh" "$1.folded" "$1.mlog")" \
		"launches $2 matched $2 wrong 0 unmatched 0 lost 0" "$3" ||
		diag "$(cat "$1.log" "$1.mlog")"
}
exact_stalls one 1003 "attached: each launch is in its place"
like "$(account one)" '^1 [0-9]+$' "attached: a context made before the attach is sampled"
like "$(xpumerge -i one.data 2>/dev/null)" \
	'stalls: ([1-9][0-9]*) samples of kernels: \1 of one launch path' \
	"attached: samples are under call paths"

# Without a listener, samples are read and dropped, and the next listener gets none of them.
ask a "burst 3000" >/dev/null
sleep 1
attach two --stalls -p "$a_pid"
awake two
ask a "burst 500" >/dev/null
leave two
exact_stalls two 503 "again: each launch is in its place"
one_nr=$(account one | cut -d' ' -f2) two_nr=$(account two | cut -d' ' -f2)
diag "samples: $one_nr, $two_nr"
[ "${two_nr:-0}" -gt 0 ] && [ "$two_nr" -lt "$one_nr" ]
ok $? "attached again: the recording has only samples of its own time"
attach plain -p "$a_pid"
awake plain
ask a "burst 100" >/dev/null
leave plain
exact plain 103 "a listener who does not ask"
is "$(xpumerge dump plain.data | grep -c ' STALLS')" 0 \
	"a listener that does not ask for samples gets no samples"

# A second listener asks for samples; the first one does not.
attach outer -p "$a_pid"
awake outer
attach inner --stalls -p "$a_pid"
awake inner
ask a "burst 200" >/dev/null
leave inner
leave outer
like "$(account inner)" '^1 [0-9]+$' "only the second of two listeners asks for samples: it gets samples"

failed=0
before=$(ask a rss | cut -d' ' -f2)
for i in $(seq 50); do
	attach again -q --stalls -p "$a_pid"
	awake again
	ask a "burst 100" >/dev/null
	leave again
	status=$?
	xpumerge -i again.data -f folded --unit count -o count.folded 2>again.mlog
	sed 's/;+[0-9a-fx]*;\[stall\][^ ]* / /' count.folded >again.folded
	line=$("$XPU_SRC/test/lib/verdict.sh" again.folded again.mlog)
	[ "$status $line $(account again | cut -d' ' -f1)" = \
		"0 launches 103 matched 103 wrong 0 unmatched 0 lost 0 1" ] || {
		failed=$((failed + 1))
		diag "round $i: status $status, $line $(account again)" \
			"$(cat again.log again.mlog)"
	}
done
is $failed 0 "50 attaches and detaches: each recording is exact and has its samples"
after=$(ask a rss | cut -d' ' -f2)
diag "resident: $before KiB before, $after KiB after"
# A sanitizer keeps up to 16 MB of freed memory.
[ $((after - before)) -lt $((1024 + ${XPU_SAN:+16384}+0)) ]
ok $? "no memory is left behind"
finish a
is $? 0 "the target ends with exit status 0"
is "$(wc -c <a.err)" 0 "nothing was printed on the target's stderr"

# All running programs are recorded.
start_dormant b -t 2
attach all --stalls -a
awake all
ask b "burst 300" >/dev/null
leave all
like "$(account all)" '^1 [0-9]+$' "-a: there are samples"
finish b
done_testing
