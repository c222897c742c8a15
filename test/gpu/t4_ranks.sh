#!/bin/sh
# SPDX-License-Identifier: MIT
# xpumerge ranks on two GPUs, or on four if the machine has four (NR_RANKS overrides this). Each
# collective of each rank is paired, and the number of collectives is the number that PyTorch itself
# counts. Waits and transfers add up to the duration of the kernels. The first row has the rank that
# is slow in its data loader or in a kernel, and the call path of this rank. The test also has ranks
# in a communicator that was split off, ranks in a nonblocking communicator, and ranks that xpuload
# attaches to. It takes about 3 minutes.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch
nr_gpus=$(nvidia-smi -L | wc -l)
[ "$nr_gpus" -ge 2 ] || skip_all "two GPUs: there is one"
[ -n "${NR_RANKS:-}" ] || { [ "$nr_gpus" -ge 4 ] && NR_RANKS=4; } || NR_RANKS=2
export NR_RANKS
diag "$NR_RANKS ranks on $nr_gpus GPUs"

ranks=$XPU_SRC/test/gpu/ranks.py
start=$(date +%s)

account() {		# account KEY
	sed -n "s/.*\"account\": {.*\"$1\": \([0-9]*\).*/\1/p" ranks.json
}

row() {			# row TABLE: prints its first row
	sed -n "/^$1\$/{n;n;s/\"//g;p}" ranks.csv
}

page_waits() {		# page_waits: prints the sum of the page's waits over time
	sed -n '/id="xpu-data"/,/<\/script>/p' ranks.html | sed '1d;$d' | python3 -c '
import json, sys
w = json.load(sys.stdin)["ranks"]["waits"]
print(sum(w["ns"]) if w else 0)'
}

check() {		# check NAME SLOW FILES...: checks the recorded ranks
	name=$1 slow=$2
	shift 2
	diag "$name: after $(($(date +%s) - start)) s: $(grep -h 'launches from' load*.log)"
	xpumerge ranks "$@" --json >ranks.json 2>merge.log
	is $? 0 "$name: exit status 0" || diag "$(cat merge.log)"
	xpumerge ranks "$@" --csv >ranks.csv 2>/dev/null
	like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' \
		"$name: every launch is matched"
	is "$(account ops) $(account paired)" "$(awk '$1 == "rank" && $3 == "ops" { n += $4 }
		END { print n, n }' out)" \
		"$name: there are as many operations and pairs as PyTorch counts"
	is "$(sed -n '/^ranks$/,/^$/p' ranks.csv | awk -F, '$1 ~ /^[0-9]+$/ { print $1, $9, $10 }' |
		sort -n)" \
		"$(awk '$1 == "rank" && $3 == "ops" { print $2, $4, $4 }' out | sort -n)" \
			"$name: each rank has as many operations as PyTorch counts"
	for f in "$@"; do
		xpumerge -i "$f" --csv --table kernels 2>/dev/null
	done | awk -F, '/ncclDev|ncclKernel|ncclSym/ { n += $2 } END { printf "%d\n", n }' >nccl_ns
	is "$(($(account paired_ns) + $(account unpaired_ns)))" "$(cat nccl_ns)" \
		"$name: paired and other kernels add up to NCCL's kernels"
	is "$(sed -n '/^ranks$/,/^$/p' ranks.csv |
		awk -F, '$1 ~ /^[0-9]+$/ { n += $4 + $5 } END { printf "%d", n }')" \
		"$(account paired_ns)" "$name: waits and transfers add up to the kernels' time"
	is "$(($(account caused_ns) + $(account start_wait_ns)))" "$(account wait_ns)" \
		"$name: waits for stragglers and at the start add up to all waits"
	xpumerge ranks "$@" -o ranks.html 2>/dev/null
	is "$? $(page_waits)" "0 $(account wait_ns)" "$name: the page has all waits"
	case $slow in
	loader)	like "$(row late_paths)" '^1,.*load_batch' \
		"$name: the late rank, and its data loader, first" ;;
	kernel)	like "$(row late_paths)" '^1,.*,device,.*slow_part.*spin' \
		"$name: the late rank, and its kernel, first" ;;
	esac || diag "$(xpumerge ranks "$@" --width 200 2>/dev/null)"
	diag "$(xpumerge ranks "$@" --limit 5 --width 160 2>/dev/null | cut -c 1-200)"
	diag "$(for f in "$@"; do xpumerge -i "$f" --csv --table nvtx_ranges 2>/dev/null; done |
		awk -F, '/NCCL:/ { print $5, $NF }')"
	for f in "$@"; do
		diag "$f: $(xpumerge dump "$f" |
			grep -c 'RANGE id.*domain="NCCL"') ranges of NCCL, such as" \
			"$(xpumerge dump "$f" | grep 'RANGE id.*domain="NCCL"' | head -n 6 |
			cut -c 1-200)"
	done
}

one_file() {		# one_file WHAT SLOW: all ranks in one recording
	xpuload --off-cpu -o "$1-$2.data" python3 "$ranks" "$1" "$2" >out 2>load.log
	is $? 0 "$1, $2: the ranks are recorded" || diag "$(tail -n 20 out load.log)"
	diag "$(cat out)"
	check "$1, $2" "$2" "$1-$2.data"
}

# Each rank has its own recorder and its own file.
export WRAP="$XPULOAD --off-cpu -o ddp-%q{RANK}.data"
for slow in loader kernel; do
	rm -f ddp-*.data
	python3 "$ranks" ddp $slow >out 2>load.log
	is $? 0 "ddp, $slow: the ranks are recorded" || diag "$(tail -n 20 out load.log)"
	diag "$(cat out)"
	check "ddp, $slow" $slow ddp-*.data
done
unset WRAP
rm -f load.log

for what in fsdp two; do
	for slow in loader kernel; do
		one_file $what $slow
	done
done
one_file groups kernel
one_file split loader
is "$(account no_rank)" 0 "split, loader: sends in a communicator that was split off have a rank"
diag "$(xpumerge dump split-loader.data | grep 'RANGE id.*ncclCommSplit' | head -n 2 |
	cut -c 1-200)"

# The communicator's operations are paired if NCCL launches one kernel for each. Otherwise the
# account says how many are unpaired.
TORCH_NCCL_USE_COMM_NONBLOCKING=1 xpuload --off-cpu -o own.data python3 "$ranks" single \
	loader >out 2>load.log
is $? 0 "not blocking: the ranks are recorded" || diag "$(tail -n 20 out load.log)"
xpumerge ranks own.data --json >ranks.json 2>merge.log
diag "not blocking: after $(($(date +%s) - start)) s: $(grep -h 'ops' out |
	head -n 1) $(sed -n 's/.*"account": //p' ranks.json)"
is "$(account ops)" "$(awk '$1 == "rank" && $3 == "ops" { n += $4 } END { print n }' out)" \
	"not blocking: there are as many operations as PyTorch counts"
ok "$(($(account paired) < $(account ops)))" \
	"not blocking: all operations are paired" ||
	diag "$(xpumerge ranks own.data 2>&1 | head -n 20)"

# Ranks that are already training.
: >out				# earlier ranks have written "trains" to it
LD_PRELOAD="$XPU_SHIM" python3 "$ranks" single loader 250 >out 2>run.log &
pid=$!
for i in $(seq 1 120); do
	[ "$(grep -o trains out | wc -l)" = "$NR_RANKS" ] && break	# a line may match twice
	sleep 0.5
done
xpuload --off-cpu -p $pid -o late.data >/dev/null 2>load.log
is $? 0 "attached: the ranks are recorded" || diag "$(tail -n 20 out run.log load.log)"
wait $pid
xpumerge ranks late.data --json >ranks.json 2>merge.log
diag "attached: after $(($(date +%s) - start)) s, $i polls: $(sed -n 's/.*"account": //p' \
	ranks.json)"
diag "$(xpumerge dump late.data | grep 'RANGE id.*nccl\(CommDestroy\|CommAbort\|CommFinalize\)' |
	head -n 4 | cut -c 1-160)"
is "$(account ops)" \
	"$(($(account paired) + $(account late) + $(account older) + $(account disagree) +
	$(account alone) + $(account no_rank) + $(account missing)))" \
		"attached: each operation is paired, or counted with the reason"
# PyTorch may destroy its communicators in order, or abort them.
if xpumerge dump late.data | grep -q 'RANGE id.*ncclCommDestroy'; then
	ok "$(($(account from_end) < 100))" \
		"attached: $(account from_end) operations are counted from the end"
	xpumerge ranks late.data --csv >ranks.csv 2>/dev/null
	like "$(row late_paths)" '^1,.*load_batch' \
		"attached: the first row is the late rank with its data loader"
else
	is "$(account paired)" 0 "attached, no communicator destroyed in order: nothing is paired"
fi
diag "$(($(date +%s) - start)) s"
done_testing
