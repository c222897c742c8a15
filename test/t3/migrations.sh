#!/bin/sh
# SPDX-License-Identifier: MIT
# --migrations: migrations of managed pages, page faults and thrashing are counted exactly, under
# the call path that allocated the pages. Real BPF and real uprobes on the simulated device, with a
# program that knows the truth. No record is made without managed memory, or without
# --migrations.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/migrations.sh"
need root bpf
quiet_sanitizers
use_sim

exact() {		# exact NAME TEXT: compares NAME.data with the program's output
	figures "$1.data" >got
	sort "$1.out" >expected
	[ "$(wc -l <expected)" -gt 20 ] && cmp -s got expected
	ok $? "$2: bytes by direction, faults and thrashing are right for each allocation path" ||
		diag "$(diff got expected; cat merge.log)"
}

managed="$XPU_BUILD/workload/managed"
for how in --probe=path --probe=launch --transport=shm; do
	xpuload --migrations --gpu-only "$how" -o run.data "$managed" -n 300 >run.out 2>load.log
	like "$(cat load.log)" ' lost 0$' "$how: nothing is lost"
	exact run "$how"
done
xpuload --migrations --gpu-only -o reuse.data "$managed" -n 300 -s >reuse.out 2>load.log
exact reuse "each site reuses the addresses of another site"
xpuload --migrations --memory-only -o only.data "$managed" >only.out 2>load.log
exact only "--memory-only"
xpuload --migrations --gpu-only --capture launch:5-9 -o windows.data "$managed" >windows.out \
	2>load.log
exact windows "--capture: outside of windows, too"
like "$(cat load.log)" ': 5 launches ' "--capture: only launches in the window are recorded"
like "$(xpumerge windows.data 2>/dev/null)" '^managed memory: [0-9]+ MiB moved to GPUs' \
	"the summary says how much managed memory moved to GPUs"

XPU_SIM_CUPTI_VERSION=24 xpuload --migrations --gpu-only -o old.data "$managed" >old.out 2>load.log
exact old "the records of CUPTI 12.6"

# ---- migrations are not requested

xpuload --memory --gpu-only -o without.data "$managed" >without.out 2>load.log
is "$(xpumerge dump without.data | grep -c MIGRATION)" 0 "--memory alone: no migration is recorded"
XPU_SIM_NO_MIGRATIONS=28 xpuload --migrations --gpu-only -o none.data "$XPU_BUILD/workload/memory" \
	-M -n 20 >none.out 2>load.log
unlike "$(cat load.log)" migration "without managed memory, CUPTI is not asked for migrations"

# ---- CUPTI cannot count, or drops records

XPU_SIM_NO_MIGRATIONS=28 xpuload --migrations --gpu-only -o refused.data "$managed" >refused.out \
	2>load.log
is "$? $(grep -c 'page migrations' load.log)" "0 1" "CUPTI refuses: one line says so"
like "$(cat load.log)" \
	'page migrations of managed memory are not recorded, because CUPTI refuses to count them \(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED, error 28\): GPU 0 has no concurrent managed access$' \
	"CUPTI refuses to count migrations: the line says why"
like "$(xpumerge refused.data 2>&1 >/dev/null)" 'page migrations of managed memory are not rec' \
	"CUPTI refuses: xpumerge says that no migrations are recorded"
is "$(figures refused.data)" "" "CUPTI refuses: the table has no rows"

XPU_SIM_DROP=7 xpuload --migrations --memory-only -o drop.data "$managed" -n 300 >drop.out \
	2>load.log
figures drop.data >got
dropped=$(sed -n 's/^ *\([0-9]*\) device records dropped by CUPTI$/\1/p' merge.log)
# The program says how often it made each call; without drops, each call has a record.
is "$((dropped + $(xpumerge dump drop.data | grep -c ' MIGRATION ')))" \
	"$((600 * 6 + 4))" "CUPTI drops records: each dropped record is counted"

# ---- several files

for how in bpf shm; do
	rm -f every.data*
	xpuload --migrations --gpu-only --transport $how --every 0.2 -o every.data "$managed" \
		-n 60 -p 15 >every.out 2>load.log
	like "$(tail -n 1 load.log)" 'lost 0$' "--every, $how: nothing is lost"
	[ "$(ls every.data.* | wc -l)" -ge 3 ]
	ok $? "--every, $how: several files are written"
	# shellcheck disable=SC2046 # several files
	figures $(ls every.data.* | sort -t. -k 3n) >got
	# If memory is freed before a file begins, its allocation is not in this file. All sums are
	# exact.
	awk '{ sum[$1] += $3 } END { for (i in sum) print i, sum[i] }' got | sort >got.sums
	awk '{ sum[$1] += $3 } END { for (i in sum) print i, sum[i] }' every.out | sort >sums
	is "$(cat got.sums)" "$(cat sums)" "--every, $how: no byte and no fault is missing"
	more=$(awk 'NR == FNR { said[$1 " " $2] = $3; next }
		$2 ~ /^mg_/ && $3 > said[$1 " " $2]' every.out got)
	is "$more" "" "--every, $how: no path has too many bytes or faults"
	known=$(awk '$2 ~ /^mg_/ { n += $3 } END { print n }' got)
	all=$(awk '$2 ~ /^mg_/ { n += $3 } END { print n }' every.out)
	[ "${known:-0}" -gt 0 ]
	ok $? "--every, $how: some migrations have a path: $((known * 100 / all)) %"
done
done_testing
