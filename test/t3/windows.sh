#!/bin/sh
# SPDX-License-Identifier: MIT
# Time windows (--from, --to) of a program whose threads block all the time. In each window, the
# time off the CPU equals the program's own measurement, even if it consists of many short periods
# that the BPF programs sum up, or if a window edge cuts a long period.
# timing
. "$XPU_SRC/test/lib/tap.sh"
need root bpf perl

xpuload -q --cpu-only --off-cpu -o run.data "$XPU_BUILD/workload/blocks" 7 >truth 2>load.log
is $? 0 "exit status 0"
"$XPU_SRC/test/lib/windows.pl" "$XPUMERGE" run.data truth 0-1 1-2 2-2.5 2.5-2.6 2.6-2.7 2.7-2.71 \
	2.71-3 3-4 4-6 6-end >verdict
sed 's/^/# /' verdict
is "$(grep -cE ' [0-9.]+-[0-9.]+ +\|' verdict)" 72 "nine threads are compared in eight windows"
is "$(grep -c WRONG verdict)" 0 \
	"each window's times are right within 1 %, and the windows add up to the recording" ||
	diag "$(grep WRONG verdict)"
is "$(xpumerge -i run.data --table threads --csv --limit 0 2>/dev/null | awk -F, '
	NR > 1 { for (i = 2; i <= 10; i++) $1 -= $i; wrong += $1 != 0 }
	END { print (NR > 9), wrong + 0 }')" "1 0" \
	"CPU time and off-CPU time of each thread add up to its lifetime"

# A sleep that goes on at the end of the recording is counted up to this end.
"$XPU_BUILD/workload/blocks" 12 >/dev/null &
blocks=$!
xpuload -q --cpu-only --off-cpu --duration 4 -p $blocks -o cut.data 2>load.log
kill $blocks
wait $blocks 2>/dev/null
end=$(xpumerge dump cut.data |
	awk '/ ACCOUNT / {
	for (i = 1; i <= NF; i++) if (sub("end_ns=", "", $i) && $i > max) max = $i
	} / HEADER / { for (i = 1; i <= NF; i++) if (sub("start_mono_ns=", "", $i)) start = $i
	} END { printf "%.6f\n", (max - start) / 1e9 }')
diag "the recording ends at $end s"
long_ms() {		# long_ms OPTION...
	xpumerge -i cut.data --comm long --waits -f folded --unit ns "$@" 2>/dev/null |
		awk '/Off_CPU/ { ns += $NF } END { printf "%.0f\n", ns / 1e6 }'
}
before=$(awk -v e="$end" 'BEGIN { printf "%.6f\n", e - 0.1 }')
is "$(long_ms --from "$before" --to "$end")" 100 \
	"a sleep that goes on at the end of the recording fills the last 100 ms"
is "$(long_ms --from "$before")" 100 \
	"a sleep that goes on at the end of the recording counts only up to that end"
done_testing
