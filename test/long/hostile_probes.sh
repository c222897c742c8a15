#!/bin/sh
# SPDX-License-Identifier: MIT
# A hostile target of another user and honest targets are in one recording. The honest records stay
# exact, xpuload ends and prints its counts, and the recording can be read.
#
# make fuzz-live sets HOSTILE_SECONDS and HOSTILE_SEED, to run the test for longer and with another
# seed.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
seconds=${HOSTILE_SECONDS:-4}
seed=${HOSTILE_SEED:-1}
# MB/s; keeps the recording small enough to read
rate=$((seconds > 60 ? 1200 / seconds : 20))
[ $rate -gt 0 ] || rate=1
launches=4000
hostile=$XPU_BUILD/workload/hostile_probes
exact=$XPU_BUILD/workload/exact

# printable: succeeds if all lines are printable text, without terminal control characters
printable() {
	perl -e 'use Encode; local $/; $_ = <STDIN>;
		$_ = eval { decode("UTF-8", $_, Encode::FB_CROAK) } // exit 1;
		exit(/[^\n\t\P{Cc}]/ ? 1 : 0)' <"$1"
}

# "beside NAME PID" runs honest programs, one after another, until the hostile program ends.
# NAME.pids receives their pids.
beside() {		# beside NAME PID
	: >"$1.pids"
	while kill -0 "$2" 2>/dev/null || [ ! -s "$1.pids" ]; do
		"$exact" -t 4 -n $launches -m >"$1.exact" &
		echo $! >>"$1.pids"
		wait $! || echo failed >>"$1.pids"
	done
}

# honest NAME PID: prints the number of launches of an honest program in a recording, and the number
# of its wrong launches
honest() {		# honest NAME PID
	# A long run has hundreds of programs and a recording of a gigabyte, so the recording is
	# read only once.
	[ -e "$1.by_pid" ] ||
		xpumerge -i "$1.data" --by pid,comm -f folded --unit count \
		-o "$1.by_pid" 2>honest.log
	sed -n "s/^\[pid $2\];//p" "$1.by_pid" >honest.folded
	perl -ne '
		my ($path, $n) = /^(.*) (\d+)$/ or next;
		my @frames = split /;/, $path;
		my $leaf = pop @frames;
		next if $leaf =~ /^\[GPU\d*_Mem/;	# test/lib/verdict.sh handles kernels only
		next if $leaf =~ /Pending/ && $path =~ /;_*cu(da)?Mem/;
		my ($nr) = $leaf =~ /^\[GPU\d*_Kernel\](?:.*::)?kernel_(\w+)/;
		my ($site) = $path =~ /.*;site_(\w+)[;(]/;
		$all += $n;
		$wrong += $n unless defined $nr && defined $site && $nr eq $site &&
			$frames[0] eq "exact";
		END { printf "launches %d wrong %d", $all, $wrong }' honest.folded
}

check_honest() {	# check_honest NAME TEST
	bad=0 nr=0
	# In a long run, two processes may have the same pid at different times.
	sort "$1.pids" | uniq -c >"$1.counts"
	while read -r times pid; do
		nr=$((nr + times))
		line=$(honest "$1" "$pid")
		[ "$line" = "launches $((launches * times)) wrong 0" ] || {
			# An xpuload that is built with a sanitizer is too slow to read all mapping
			# events from the kernel's ring buffers.
			[ -n "${XPU_SAN:-}" ] && grep -q 'mmap or comm events' "$1.log" && continue
			bad=$((bad + 1))
			diag "pid $pid, $times times: $line; $(head -n 2 honest.folded)"
			diag "$(cat honest.log) $(tail -n 4 "$1.log")"
		}
	done <"$1.counts"
	is $bad 0 "$2: each of $nr honest processes has its $launches launches, each in its place"
}

# check_merge NAME TEST: checks that the whole recording can be read to its end, whatever it
# contains
check_merge() {		# check_merge NAME TEST
	failed=0
	for format in folded chrome pprof perf text html; do
		timeout 300 "$XPUMERGE" -i "$1.data" -f $format -o "$1.$format" 2>"$1.mlog"
		status=$?
		# Invalid batches are reported as damage.
		[ $status -le 2 ] || {
			failed=$((failed + 1))
			diag "-f $format: status $status: $(tail -n 3 "$1.mlog")"
		}
	done
	is $failed 0 "$2: xpumerge reads the recording for each format"
	printable "$1.mlog" && printable "$1.text" && printable "$1.folded"
	ok $? "$2: xpumerge prints nothing that controls a terminal"
}

check_xpuload() {	# check_xpuload NAME STATUS TEST
	# xpuload also fails if a process says that it cannot be recorded.
	[ "$2" = 0 ] || [ "$2" = 125 ]
	ok $? "$3: xpuload ends with exit status 0 or 125" ||
		diag "status $2: $(tail -n 5 "$1.log")"
	like "$(cat "$1.log")" '^xpuload: [0-9]+ launches from .* processes.*; lost [0-9]+' \
		"$3: xpuload prints the numbers of launches and losses"
	printable "$1.log"
	ok $? "$3: xpuload prints nothing that controls a terminal"
}

# Records all programs on the machine that have the shim. An idle program shows when the probes are
# attached.
start idle env LD_PRELOAD="$XPU_SHIM" "$live" -s $((seconds * 3 + 200))
attach all -a --off-cpu --nvtx --api
awake all
LD_PRELOAD=$XPU_SHIM "$hostile" -s "$seed" -d $((seconds * 6 / 10)) -r $rate \
	-p "$idle_pid" >hostile.out 2>&1 &
hostile_pid=$!
LD_PRELOAD=$XPU_SHIM beside all $hostile_pid
wait $hostile_pid
is $? 0 "-a: the hostile program ends by itself" || diag "$(cat hostile.out)"
diag "$(cat hostile.out)"
is "$(ask idle "burst 100")" "burst 100" "-a: a program that runs at the same time continues"
peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$all_pid/status")
diag "xpuload: $((peak / 1024)) MiB at most"
[ "$peak" -lt $((768 * 1024)) ]
ok $? "-a: xpuload takes less than 768 MiB of memory"
leave all
check_xpuload all $? "-a"
finish idle
check_honest all "-a"
check_merge all "-a"

# One process tree, started by xpuload.
cat >both.sh <<'END'
"$1" -s "$2" -d "$3" -r "$4" -p $$ >hostile.out 2>&1 &
hostile_pid=$!
. ./beside.sh
beside run $hostile_pid
wait $hostile_pid
END
{
	echo "exact='$exact' launches=$launches"
	sed -n '/^beside()/,/^}/p' "$XPU_SRC/test/long/hostile_probes.sh"
} >beside.sh
xpuload -o run.data --off-cpu sh both.sh "$hostile" "$((seed + 1))" $((seconds * 4 / 10)) \
	$rate 2>run.log
status=$?
diag "$(cat hostile.out)"
check_xpuload run $status "one tree"
check_honest run "one tree"
check_merge run "one tree"

# At full speed, launches of other processes may be lost, but none is wrong, and the loss is
# reported.
attach flood -a --gpu-only -m 1M
start_dormant idle
awake flood
LD_PRELOAD=$XPU_SHIM "$hostile" -s "$seed" -r 0 -d 2 >hostile.out 2>&1 &
hostile_pid=$!
LD_PRELOAD=$XPU_SHIM beside flood $hostile_pid
wait $hostile_pid
finish idle
leave flood
check_xpuload flood $? "a flood"
lost=$(sed -n 's/.*; lost \([0-9]*\).*/\1/p' flood.log)
bad=0
while read -r pid; do
	line=$(honest flood "$pid")
	diag "pid $pid: $line of $launches, lost $lost"
	set -- $line
	# Launches whose call path or work was lost are under no site.
	[ "${lost:-0}" != 0 ] || [ "$line" = "launches $launches wrong 0" ] || bad=$((bad + 1))
	[ "${2:-0}" -le $launches ] || bad=$((bad + 1))
done <flood.pids
is $bad 0 "a flood: missing launches of honest processes are counted"
done_testing
