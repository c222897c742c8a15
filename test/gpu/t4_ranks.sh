#!/bin/sh
# SPDX-License-Identifier: MIT
# xpumerge ranks on two or more GPUs: each collective of each rank is paired, as many as PyTorch itself counts;
# waits and transfers are the kernels' time; the rank that is slow in its data loader, or in a kernel, and its call
# path are the first row. It takes some 2 minutes on two GPUs.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch
[ "$(nvidia-smi -L | wc -l)" -ge 2 ] || skip_all "two GPUs: there is one"

ranks=$XPU_SRC/test/gpu/ranks.py

account() {		# account KEY
	sed -n "s/.*\"account\": {.*\"$1\": \([0-9]*\).*/\1/p" ranks.json
}

row() {			# row TABLE: its first row
	sed -n "/^$1\$/{n;n;s/\"//g;p}" ranks.csv
}

check() {		# check NAME SLOW FILES...: what was recorded
	name=$1 slow=$2
	shift 2
	diag "$name: $(grep -h 'launches from' load*.log)"
	xpumerge ranks "$@" --json >ranks.json 2>merge.log
	is $? 0 "$name: status" || diag "$(cat merge.log)"
	xpumerge ranks "$@" --csv >ranks.csv 2>/dev/null
	like "$(cat merge.log)" 'launches ([1-9][0-9]*) matched \1 unmatched 0 lost 0' "$name: every launch matched"
	is "$(account ops) $(account paired)" "$(awk '$1 == "rank" && $3 == "ops" { n += $4 }
		END { print n, n }' out)" "$name: operations, and paired ones: as many as PyTorch has recorded"
	is "$(sed -n '/^ranks$/,/^$/p' ranks.csv | awk -F, '$1 ~ /^[0-9]+$/ { print $1, $9, $10 }' | sort -n)" \
		"$(awk '$1 == "rank" && $3 == "ops" { print $2, $4, $4 }' out | sort -n)" "$name: on each rank"
	for f in "$@"; do
		xpumerge -i "$f" --csv --table kernels 2>/dev/null
	done | awk -F, '/ncclDev|ncclKernel|ncclSym/ { n += $2 } END { printf "%d\n", n }' >nccl_ns
	is "$(($(account paired_ns) + $(account unpaired_ns)))" "$(cat nccl_ns)" \
		"$name: paired and other kernels are all of NCCL's"
	is "$(sed -n '/^ranks$/,/^$/p' ranks.csv | awk -F, '$1 ~ /^[0-9]+$/ { n += $4 + $5 } END { printf "%d", n }')" \
		"$(account paired_ns)" "$name: waits + transfers = the kernels' time"
	is "$(($(account caused_ns) + $(account start_wait_ns)))" "$(account wait_ns)" \
		"$name: waits for stragglers + while ranks start = waits"
	case $slow in
	loader)	like "$(row late_paths)" '^1,.*load_batch' "$name: the late rank, and its data loader, first" ;;
	kernel)	like "$(row late_paths)" '^1,.*,device,.*slow_part.*spin' "$name: the late rank, and its kernel, first" ;;
	esac || diag "$(xpumerge ranks "$@" --width 200 2>/dev/null)"
	diag "$(xpumerge ranks "$@" --limit 5 --width 160 2>/dev/null | cut -c 1-200)"
	diag "$(for f in "$@"; do xpumerge -i "$f" --csv --table nvtx_ranges 2>/dev/null; done |
		awk -F, '/NCCL:/ { print $5, $NF }')"
	for f in "$@"; do
		diag "$f: $(xpumerge dump "$f" | grep -c 'RANGE id.*domain="NCCL"') ranges of NCCL, such as" \
			"$(xpumerge dump "$f" | grep 'RANGE id.*domain="NCCL"' | head -n 6 | cut -c 1-200)"
	done
}

one_file() {		# one_file WHAT SLOW: all ranks in one recording
	xpuload --off-cpu -o "$1-$2.data" python3 "$ranks" "$1" "$2" >out 2>load.log
	is $? 0 "$1, $2: recorded" || diag "$(tail -n 20 out load.log)"
	diag "$(cat out)"
	check "$1, $2" "$2" "$1-$2.data"
}

# Each rank has a recorder and a file of its own.
export WRAP="$XPULOAD --off-cpu -o ddp-%q{RANK}.data"
for slow in loader kernel; do
	rm -f ddp-*.data
	python3 "$ranks" ddp $slow >out 2>load.log
	is $? 0 "ddp, $slow: recorded" || diag "$(tail -n 20 out load.log)"
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
done_testing
