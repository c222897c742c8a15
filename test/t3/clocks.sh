#!/bin/sh
# SPDX-License-Identifier: MIT
# CPU time comes from the threads' own clocks, not from the number of samples: in a loop, in bursts
# that are synchronous with a timer, in many threads and short threads, in threads that block all
# the time, in forks and in a shell. The clocks exclude other programs' time, so the load of the
# machine has no effect.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
clocks=$XPU_BUILD/workload/clocks

# sum FILE WAY: prints the sum of ns on all lines whose thread or process is named WAY
sum() {
	awk -v name="$2" '{ ns = $NF; sub(/;.*/, ""); if (name == "" || $0 == name) n += ns }
		END { printf "%.0f\n", n }' "$1"
}

# within GOT LEAST MOST PERCENT NAME: allows a difference of PERCENT, plus 1 ms for the program's
# start and end, which take longer with a sanitizer. LEAST comes from the clocks of processes, which
# exclude kernel time after a thread has left its process. xpuload counts that time unless the
# kernel frees the ended process later. MOST comes from a control group, which includes all of this
# kernel time; without a control group, 5 us per thread are allowed.
edges_ns=${XPU_SAN:+10000000}
within() {
	awk -v got="$1" -v least="$2" -v most="$3" -v p="$4" -v edges="${edges_ns:-1000000}" '
	BEGIN {
		exit !(least > 0 && most >= least && got >= least * (1 - p / 100) - edges &&
			got <= most * (1 + p / 100) + edges) }'
	ok $? "$5: $1 ns, expected $2 to $3 ns"
}

# record NAME ARGUMENTS...: makes NAME.data, NAME.ns and NAME.out, which has the output of clocks
record() {
	name=$1
	shift
	xpuload --cpu-only -o "$name.data" "$@" >"$name.out" 2>"$name.log"
	is $? 0 "$name: exit status 0"
	like "$(cat "$name.log")" ' lost 0$' "$name: xpuload reports no loss"
	xpumerge -i "$name.data" -f folded --unit ns -o "$name.ns" 2>"$name.mlog"
	like "$(head -n 1 "$name.mlog")" ' lost 0$' "$name: xpumerge reports no loss"
}

# A control group's file has the CPU time of all its processes, including ended ones.
for group in /sys/fs/cgroup/cpuacct /sys/fs/cgroup /sys/fs/cgroup/unified none; do
	group=$group/xpu_clocks.$$
	mkdir "$group" 2>/dev/null || continue
	[ -e "$group/cpuacct.usage" ] && break
	grep -qs '^usage_usec' "$group/cpu.stat" && break
	rmdir "$group"
done
[ ! -d "$group" ] || export CLOCKS_GROUP="$group"
# Recorded shells run this first.
# shellcheck disable=SC2016 # the shells expand the variables
join='[ -z "$CLOCKS_GROUP" ] || echo $$ >"$CLOCKS_GROUP/cgroup.procs"'
# group_ns: prints the CPU time of the control group
group_ns() {
	cat "$group/cpuacct.usage" 2>/dev/null ||
		awk '$1 == "usage_usec" { printf "%.0f\n", $2 * 1000 }' "$group/cpu.stat"
}

ways="spin bursts beat threads short blocks forks"
for hz in 99 999; do
	# A sample represents the whole time since the previous sample, so each way runs in its own
	# process.
	# shellcheck disable=SC2016 # the shell that is recorded expands it
	record "all$hz" -F $hz sh -c "$join"'; for way in $2; do "$1" $way; done' sh "$clocks" \
		"$ways"
	for way in $ways; do
		threads=0
		[ $way != short ] || threads=2000
		# shellcheck disable=SC2046 # two numbers
		within "$(sum "all$hz.ns" "$way")" $(awk -v w="$way" -v threads=$threads '$1 == w {
			printf "%.0f %.0f\n", $2 + $3, $4 ? $4 : $2 + $3 + threads * 5000 }' \
				"all$hz.out") 1 "$way, $hz samples a second"
	done
done

[ ! -d "$group" ] || before=$(group_ns)
# shellcheck disable=SC2016 # the shells that are recorded expand it
record shell -F 999 sh -c "$join"'; exec "$@"' sh "$clocks" shell \
	'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done; sleep 0.2'
least=$(awk '{ print $2 + $3 }' shell.out)
most=$least
if [ -d "$group" ]; then
	most=$(($(group_ns) - before))
	rmdir "$group"
fi
within "$(sum shell.ns "")" "$least" "$most" 2 \
	"a shell and 200 short programs: samples add up to the CPU time"

# All results have the same sum.
ns=$(sum all999.ns "")
is "$(xpumerge all999.data --table processes --csv --limit 0 2>/dev/null |
	awk -F, 'NR > 1 { n += $5 } END { printf "%.0f\n", n }')" \
	"$ns" "the table of processes has the same CPU time"
is "$(xpumerge all999.data --table cpu_functions --csv --limit 0 2>/dev/null |
	awk -F, 'NR > 1 { n += $2 } END { printf "%.0f\n", n }')" \
	"$ns" "the table of functions has the same CPU time"
xpumerge -i all999.data -f perf -o all.perf 2>/dev/null
is "$(awk '/ cpu-clock:$/ { n += $(NF - 1) } END { printf "%.0f\n", n }' all.perf)" "$ns" \
	"the samples of -f perf add up to the same CPU time as folded stacks"
parts=0
for window in "--to 1" "--from 1 --to 1.5" "--from 1.5"; do
	# shellcheck disable=SC2086 # several words on purpose
	xpumerge -i all999.data -f folded --unit ns -o part.ns $window 2>/dev/null
	parts=$((parts + $(sum part.ns "")))
done
is "$parts" "$ns" "the CPU times of adjacent windows add up to the CPU time of the recording"

# A thread that runs before and after the recording. On a busy machine it may take long until a tick
# samples the thread, so the thread runs until it is killed, and the recording ends after the first
# sample.
"$clocks" hour >/dev/null 2>&1 &
parent=$!
has_child() {
	pid=$(pgrep -P $parent)
}
wait_for has_child
begin=$(awk '{ print $1 }' /proc/$pid/schedstat)
until [ "$(awk '{ print $1 }' /proc/$pid/schedstat)" -gt $((begin + 100000000)) ]; do sleep \
	0.02; done
attach attached --cpu-only -F 5 -p $pid
is_sampled() {
	xpumerge dump attached.data 2>/dev/null | grep -q ' STACK '
}
wait_for is_sampled
leave attached
is $? 0 "attached: exit status 0" || diag "$(cat attached.log)"
kill $pid
wait $parent 2>/dev/null
xpumerge dump attached.data >attached.dump
perl -ne '
	push @t, $1 if / STACK (?:misc=\w+ )?time_ns=(\d+)/;
	if (/ CPU_REST from_ns=(\d+) end_ns=(\d+) ns=(\d+)/) { $from = $1; $rest = $3;
	$span = $2 - $1 }
	END { print "$from $t[-1] ", $rest > 0 && $rest <= $span + 1e6 ? "some" : "none" }' \
	attached.dump >rest
is "$(awk '{ print ($1 == $2), $3 }' rest)" "1 some" \
	"attached: the time since each thread's last sample is recorded" ||
	diag "$(grep -E ' STACK | CPU_REST ' attached.dump | cut -c1-200)"
done_testing
