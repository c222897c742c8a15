#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that profile themselves three times while their threads go on launching: each profile is
# the same as without xpuload, the program is not harmed, and the records that the program collected
# itself are counted.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
quiet_sanitizers
use_sim
own="$XPU_BUILD/workload/own_profiles"
runs=4

for how in "late 0" "late 4" "kineto 0" "kineto 4"; do
	name=$(echo "$how" | tr -d ' ')
	{
		# shellcheck disable=SC2086 # two arguments
		"$own" $how >"$name.want" 2>&1
		echo $? >"$name.wanted"
	} &
	for i in $(seq $runs); do
		{
			# shellcheck disable=SC2086
			xpuload -o "$name.$i.data" timeout 300 "$own" $how >"$name.$i.out" \
				2>"$name.$i.log"
			echo $? >"$name.$i.status"
		} &
	done
	wait
	is "$(cat "$name.wanted") $(grep -c ': 100 sets$' "$name.want")" "0 3" \
		"$how: without xpuload the program's own profiler sees 100 memsets three times"
	failed=0
	for i in $(seq $runs); do
		[ "$(cat "$name.$i.status")" = 0 ] && cmp -s "$name.want" "$name.$i.out" && continue
		failed=$((failed + 1))
		diag "run $i: status $(cat "$name.$i.status")" \
			"$(cat "$name.$i.out" "$name.$i.log")"
	done
	is $failed 0 \
		"$how: in $runs runs, xpuload does not change which memsets the profiler sees"
	is "$(cat "$name".*.log | grep -c 'ERROR: \|runtime error: \|sim: ')" 0 \
		"$how: no sanitizer and no simulated library reports an error"
	like "$(cat "$name.1.log")" \
		'the program uses CUPTI itself \(cupti[A-Za-z]+\): nothing is recorded' \
		"$how: a message says that the program uses CUPTI itself"
	xpumerge -i "$name.1.data" -f folded --unit count -o "$name.folded" 2>"$name.mlog"
	like "$(cat "$name.mlog")" \
		'launches ([1-9][0-9]*) matched [1-9][0-9]* unmatched [0-9]+ lost 0' \
		"$how: work that was not profiled is recorded" || diag "$(cat "$name.mlog")"
	unlike "$(cat "$name.folded")" ';profiled;.*\[GPU_Memset\]' \
		"$how: work that the program profiled itself is not recorded"
done
# --cupti share: the shim stays the subscriber, and both the program and the recording have all
# records.
for threads in 0 4; do
	xpuload --cupti share -o share.data timeout 300 "$own" kineto \
		$threads >share.out 2>share.log
	is $? 0 "--cupti share, $threads threads: exit status 0" || diag "$(cat share.log)"
	cmp -s kineto$threads.want share.out
	ok $? \
		"--cupti share, $threads threads: the program's profiler sees the same as without xpuload" ||
		diag "$(cat share.out)"
	xpumerge -i share.data -f folded --unit count -o share.folded 2>share.mlog
	like "$(cat share.mlog)" 'launches ([0-9]*) matched \1 unmatched 0 lost 0' \
		"--cupti share, $threads threads: the recording is complete" ||
		diag "$(cat share.mlog)"
	is "$(awk '/;profiled;.*_Memset\]/ { n += $NF } END { print n + 0 }' share.folded)" 300 \
		"--cupti share, $threads threads: work that the program profiled is recorded, too"
done

taken() {		# taken LOG: prints the number of records that the program collected itself
	sed -n \
		's/.*the program collected \([0-9]*\) device records itself, which are not in the .*/\1/p' \
		"$1" | awk '{ n += $1 } END { print n + 0 }'
}
is "$(taken late0.1.log)" 300 \
	"late profiler: device records that the program collected are counted" ||
	diag "$(cat late0.1.log)"
is "$(taken kineto0.1.log)" 300 \
	"kineto: device records that the program collected are counted" ||
	diag "$(cat kineto0.1.log)"
like "$(cat kineto0.1.log)" 'CUPTI stayed in use until the end: the program collected' \
	"kineto: a message says that CUPTI stayed in use until the end"
is "$(sed -n 's/.*not recorded: \([0-9]*\) device records that programs collected.*/\1/p' \
	kineto0.1.log)" 300 "kineto: the summary counts the records that the program collected"
is "$(sed -n 's/^ *\([0-9]*\) device records that programs collected themselves: .*/\1/p' \
	kineto0.mlog)" 300 "kineto: xpumerge counts the records that the program collected"
xpuload --strict -o strict.data "$own" kineto 0 >strict.out 2>strict.log
is $? 125 "kineto: --strict fails" || diag "$(cat strict.log)"
like "$(cat strict.log)" '^xpuload: [0-9]+ launches .*; lost 0$' \
	"kineto: --strict fails although nothing is lost"
[ "$(taken kineto4.1.log)" -ge 300 ]
ok $? "kineto: the program also collects the records of its other threads"

# If the shim cannot notice the program's profiler, the program must at least survive.
if [ -n "${XPU_SAN:-}" ]; then
	skip \
		"a program that frees buffers of the shim survives" \
		"the sanitizer's free() has words of its own"
else
	xpuload -o stranger.data "$own" stranger 4 >stranger.out 2>stranger.log
	is $? 0 "a program that frees buffers of the shim survives" || diag "$(cat stranger.log)"
fi
done_testing
