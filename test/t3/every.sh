#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --every: each file can be read alone, and the files add up to the recording. Every launch
# is in exactly one file, under its own call path, even if its work is in flight when the file ends.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
. "$XPU_SRC/test/lib/live_checks.sh"
use_sim

# Adds up folded stacks.
sum_stacks() {
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
		END { for (line in sum) printf "%s %.0f\n", line, sum[line] }' |
		LC_ALL=C sort
}

# parts NAME: prints the names of the recording's files, in order
parts() {
	ls -v "$1".*.data
}

# human BYTES: prints the size as xpuload does, for 1 KiB or more
human() {
	awk -v n="$1" 'BEGIN {
		split("B KiB MiB GiB", unit, " ")
		for (u = 1; n >= 1023.5; u++)
			n /= 1024
		printf n < 9.995 ? "%.2f %s\n" : n < 99.95 ? "%.1f %s\n" : "%.0f %s\n", n, unit[u]
	}'
}

# check NAME: merges all files of NAME together, and each file alone; sets nr, and sets account to
# the sum of the files' counts
check() {
	name=$1
	# shellcheck disable=SC2046 # several files
	xpumerge $(parts "$name") -f folded --unit ns 2>all.log | LC_ALL=C sort >all.folded
	: >accounts
	nr=0 bad=
	for part in $(parts "$name"); do
		xpumerge "$part" -f folded --unit ns 2>part.log || bad="$bad $part"
		grep -m 1 '^launches ' part.log >>accounts
		grep -q 'references to' part.log && bad="$bad $part"
		nr=$((nr + 1))
	done | sum_stacks >sum.folded
	nr=$(parts "$name" | wc -l)
	account=$(awk '{ l += $2; m += $4; u += $6; o += $8 }
		END { print "launches", l, "matched", m, "unmatched", u, "lost", o }' accounts)
	is "$(head -n 1 all.log)" "$account" \
		"$name: the accounts of the $nr files add up to the whole account"
	cmp -s all.folded sum.folded && [ -s sum.folded ]
	ok $? \
		"$name: the files' $(wc \
		-l <sum.folded) stacks add up to the whole recording, to the nanosecond" ||
		diag "$(diff all.folded sum.folded | head -n 5)"
	unlike "$(cat all.log)" 'that nothing defines|not closed' \
		"$name: each file defines every id that it uses, and all files are closed" ||
		diag "$(cat all.log)"
}

run() {			# run NAME LAUNCHES OPTIONS -- COMMAND...
	name=$1 launches=$2
	shift 2
	xpuload -o "$name.%n.data" "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	like "$(cat load.log)" 'lost 0$' "$name: nothing is lost"
	check "$name"
	# shellcheck disable=SC2046 # several files
	is "$(sed -n 's/.*; \([0-9]* files, .*\); lost 0$/\1/p' load.log)" \
		"$nr files, $name.1.data the first, $(
		human $(cat $(parts "$name") | wc -c))" \
			"$name: xpuload prints the number of files and their total size"
	[ "$nr" -gt 2 ]
	ok $? "$name: there are several files"
	is "$account" "launches $launches matched $launches unmatched 0 lost 0" \
		"$name: each launch is in one of the files"
}

run exact 100000 --every 0.05 -- "$XPU_BUILD/workload/exact" -t 8 -s 16 -n 100000
# shellcheck disable=SC2046
xpumerge $(parts exact) -f folded --unit count -o exact.folded 2>merge.log
is "$("$XPU_SRC/test/lib/verdict.sh" exact.folded merge.log)" \
	"launches 100000 matched 100000 wrong 0 unmatched 0 lost 0" \
	"exact: each kernel is under its own site"
xpumerge dump exact.2.data >dump 2>&1
like "$(sed -n 3,12p dump)" 'PART time_ns=[0-9]+ number=2 ' \
	"the second file has a PART record with the number 2"
like "$(tail -n 1 dump)" 'END misc=CONTINUES' \
	"the second file ends with a record that says that the recording continues"

run graph 3000 --every 0.01 -- "$XPU_BUILD/workload/graph"
run shm 20000 --every 0.02 --transport shm -- "$XPU_BUILD/workload/exact" -t 4 -n 20000

# A program that runs before and after the recording: its launches before, during and after the
# recording, and kernels of two seconds across each cut.
start_dormant a -t 4
ask a "burst 100" >/dev/null
"$XPULOAD" -p "$a_pid" --every 0.1 -o live.%n.data 2>live.log &
live_pid=$!
wait_for grep -qs 'attached to' live.log
# The shim wakes up some time after xpuload has attached.
has_some() {
	ask a "burst 10" >/dev/null
	# shellcheck disable=SC2046 # several files
	xpumerge $(parts live 2>/dev/null) -f folded 2>&1 >/dev/null | grep -q '^launches [1-9]'
}
wait_for has_some
for i in 1 2 3 4 5; do
	ask a "burst 200" >/dev/null
	sleep 0.1
done
kill -INT $live_pid
wait $live_pid
ask a "burst 100" >/dev/null
finish a
check live
like "$account" 'launches [1-9][0-9]* matched [0-9]+ unmatched 0 lost 0' \
	"live: no launch is unmatched or lost while xpuload is attached: $account"
is "$(echo "$account" | awk '{ print $2 - $4 }')" 0 "live: all launches are matched"

# A server starts threads for each request: later files define only threads that are still alive.
start_dormant a -t 8
"$XPULOAD" -p "$a_pid" --every 0.1 -o churn.%n.data 2>churn.log &
churn_pid=$!
wait_for grep -qs 'attached to' churn.log
for i in $(seq 60); do
	ask a "burst 80" >/dev/null
done
last_defines_few() {
	# shellcheck disable=SC2046 # several files
	set -- $(parts churn | tail -n 3)
	[ $# = 3 ] && [ "$(xpumerge dump "$2" 2>/dev/null | grep -c ' THREAD ')" -lt 10 ]
}
wait_for last_defines_few
ok $? \
	"threads come and go: later files define only living threads, not all 480 threads" ||
	diag "$(parts churn | wc -l) files"
kill -INT $churn_pid
wait $churn_pid
finish a
check churn
like "$account" 'launches [1-9][0-9]* matched [0-9]+ unmatched 0 lost 0' \
	"threads come and go: no launch is unmatched or lost: $account"

xpuload -o kept.data --every 0.05 --keep 2 "$XPU_BUILD/workload/exact" -t 1 \
	-n 200000 >/dev/null 2>load.log
is $? 0 "--keep: exit status 0" || diag "$(cat load.log)"
is "$(ls kept.data.* | wc -l)" 2 "--keep 2 leaves two files"
named=$(sed -n 's/.* files, \([^ ]*\) the first that is kept,.*/\1/p' load.log)
[ -n "$named" ] && [ -e "$named" ]
ok $? "--keep: the file that xpuload names exists" || diag "$(cat load.log)"
# The last files of a slow program may begin after its last launch.
for part in kept.data.*; do
	like "$(xpumerge "$part" 2>&1 >/dev/null)" \
		'(launches ([0-9]+) matched \2 unmatched 0|CPU samples [0-9]+) lost 0' \
		"$part can be read without the other files"
done

# A program's file exists only in the program's mount namespace: the kept copy of the program is
# stored with the recording's first file.
if unshare -m true 2>/dev/null; then
	mkdir private
	cat >inside.sh <<-'END'
		mount -t tmpfs none private && cp "$1" private/program && cp -r "$2" private/sim || exit 99
		export LD_LIBRARY_PATH="$PWD/private/sim"
		shift 2
		exec "$PWD/private/program" "$@"
	END
	xpuload -q -o ns.%n.data --every 0.2 unshare -m sh inside.sh "$XPU_BUILD/workload/stacks" \
		"$XPU_BUILD/sim" -n 100000 virtual >/dev/null 2>load.log
	last=$(parts ns | tail -n 1)
	# On a slow machine the program may start only after the second file has ended.
	for part in $(parts ns | sed 1d); do
		xpumerge "$part" -f folded 2>>merge.log
	done >later.folded
	like "$(cat later.folded)" ';main;scenario_virtual\(\);' \
		"later files have the names of a program's functions" ||
		diag "$(cat load.log merge.log; ls -d ns.*)"
	[ "$last" != ns.1.data ] && [ -d ns.1.data.files ]
	ok $? "there are files up to $last, and the first file has the kept copy of the program"
else
	skip "a program whose file does not exist here" "no mount namespace"
fi

# The child that writes the files fails: the recording ends, and the program does not notice.
mkdir full && mount -t tmpfs -o size=40k none full 2>/dev/null
if [ $? = 0 ]; then
	xpuload -q -o full/x.data --every 0.05 "$XPU_BUILD/workload/exact" -t 2 \
		-n 60000 >out 2>load.log
	is $? 125 "full disk: exit status 125"
	like "$(cat out)" '^exact: ' "full disk: the program runs to its end"
	like "$(cat load.log)" 'cannot write full/x.data.[0-9]+: No space left' \
		"full disk: one message says that the disk is full"
	umount full
else
	skip "full disk" "cannot mount"
fi

while read -r said options; do
	# shellcheck disable=SC2086
	xpuload $options touch ran >bad.log 2>&1
	is "$? $(wc -l <bad.log)" "125 1" "$options: refused, with one line" ||
		diag "$(cat bad.log)"
	like "$(cat bad.log)" "$said" "$options: the message says why"
done <<'END'
at.least.0.01 --every 0
expected.a.number --every x
for.--every --keep 3
name.them..data --every 1 -o x.folded
--stalls=exact --every 1 --stalls=exact
END
[ ! -e ran ]
ok $? "refused options: no command has run"
done_testing
