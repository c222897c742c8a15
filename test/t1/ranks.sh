#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge ranks: random programs of several ranks. The generator knows their pairs and waits.
. "$XPU_SRC/test/lib/tap.sh"

make() {		# make KEY=VALUE...: makes recordings, and writes the truth
	rm -f ./*.data
	"$XPU_BUILD/gen_ranks" . "$@" >truth
}

# Prints xpumerge's results in the format of the generator's truth.
found() {
	awk -F, '/^account/ { next }
		$1 == "#" || !NF { table = ""; next }
		NF == 1 { table = $1; getline; next }
		table == "ranks" { print "rank", $1, "wait", $4, "transfer", $5 }' ranks.csv
}

account() {		# account KEY: prints the count KEY
	sed -n "s/.*\"account\": {.*\"$1\": \([0-9]*\).*/\1/p" ranks.json
}

pairs() {		# pairs NAME: compares the pairs with the truth
	xpumerge ranks ./*.data --json >ranks.json 2>log
	xpumerge ranks ./*.data --csv >ranks.csv 2>/dev/null
	{
		echo "ops $(account ops) paired $(account paired) captured $(account captured)"
		found
	} >got
	cmp -s got truth
	ok $? "$1: $(head -n 1 truth): pairs, waits and transfers of each rank are right" ||
		diag "$(diff got truth)"
}

# Prints the sums of the waits in the tables by rank, by straggler, and by collective. The sum by
# straggler includes the waits at the start.
waits() {
	awk -F, '$1 == "#" || !NF { table = ""; next }
		NF == 1 { table = $1; getline; for (i = 1; i <= NF; i++) at[table, $i] = i; next }
		table == "ranks" { w += $at["ranks", "wait_ns"]; c += $at["ranks", "caused_ns"];
		s += $at["ranks", "start_wait_ns"] }
		table == "stragglers" { g += $at["stragglers", "caused_ns"] }
		table == "collectives" { o += $at["collectives", "wait_ns"] }
		END { printf "%d %d %d\n", w, g + s, o; exit c != g }' ranks.csv
}

# identity NAME: checks that each wait is for a rank, or belongs to the start
identity() {
	account=$(account wait_ns)
	is "$(waits)" "$account $(($(account caused_ns) + $(account start_wait_ns))) $account" \
		"$1: ranks, stragglers and collectives have the account's sums of waits"
}

for seed in 1 2 3 4; do
	for nr in 2 3 8; do
		make seed=$seed ranks=$nr
		pairs "seed $seed, $nr ranks"
		identity "seed $seed, $nr ranks"
	done
done
make ranks=6 files=1 seed=5
pairs "all ranks in one recording"
make ranks=6 files=3 seed=6
pairs "two ranks in each recording"
make ranks=4 cut=20 seed=7
pairs "one rank ends early"
identity "one rank ends early"
is "$(account missing)" "$(awk '/^ops/ { print $2 - $4 }' truth)" \
	"one rank ends early: the partner's unpaired operations are counted"

# Waits and transfers add up to the kernels' duration, to the nanosecond.
is "$(($(awk '/^rank/ { sum += $4 + $6 } END { printf "%d", sum }' truth)))" \
	"$(account paired_ns)" "waits and transfers add up to the time of the kernels"

# Waiting has a separate leaf in flame graphs.
make ranks=4 seed=9
xpumerge ./*.data -f folded --unit ns >folded 2>/dev/null
is "$(awk '/;\[NCCL_Wait\] / { w += $NF } /ncclDevKernel[^;]* [0-9]*$/ { t += $NF }
	END { printf "%d %d", w, t }' folded)" \
	"$(awk '/^rank/ { w += $4; t += $6 } END { printf "%d %d", w, t }' truth)" \
		"folded: [NCCL_Wait] and the transfer have the right times"
xpumerge 0.data -f folded --unit ns >folded 2>/dev/null
is "$(grep -c NCCL_Wait folded)" 0 "folded: a single rank's recording has no [NCCL_Wait]"

# ---- late ranks

first() {		# first: prints the rank, kind and path of the first row of the late paths
	sed -n '/^late_paths/{n;n;s/"//g;p}' ranks.csv | cut -d, -f1,5,6,7
}

for slow in host gpu; do
	make ranks=4 slow_$slow=2
	xpumerge ranks ./*.data --csv >ranks.csv 2>/dev/null
	like "$(sed -n '/^stragglers/{n;n;p}' ranks.csv)" '^2,' \
		"slow_$slow: the table of stragglers begins with the slow rank"
	if [ $slow = host ]; then
		is "$(first)" '2,off_cpu,main;train;load_batch;nanosleep,[Off_CPU]sleep' \
			"slow_$slow: the table of late paths begins with the slow call"
	else
		is "$(first)" \
			'2,device,main;train;forward;forward;cuLaunchKernel,[GPU_Kernel]matmul' \
			"slow_$slow: the table of late paths begins with the slow kernel"
	fi
done
xpumerge ranks ./*.data >text 2>log
like "$(cat text)" 'operations of NCCL [0-9]+ paired [0-9]+ unpaired 0$' \
	"the text for people has the number of operations"
like "$(cat text)" \
	'waiting ([0-9]+) ns: for stragglers [0-9]+ \+ in first operations, while ranks start [0-9]+$' \
	"the text for people has the sum of waits"
like "$(cat log)" 'launches [0-9]+ matched [0-9]+ unmatched 0 lost 0' \
	"the account of launches is printed"

# ---- the page

# page_waits FILE: prints the sums of waits in the page's lists: by rank, and by straggler
page_waits() {
	sed -n '/id="xpu-data"/,/<\/script>/p' "$1" | sed '1d;$d' | python3 -c '
import json, sys
r = json.load(sys.stdin)["ranks"]
l, w, c, o = r["list"], r["waits"], r["caused"], r["over"]
assert sum(w["each"]) == len(w["bin"]) == len(w["ns"]) and max(w["bin"]) < w["nr"]
caused = sum(c["ns"]) if c else sum(l["caused_ns"])
print(sum(w["ns"]), sum(o["ns"]), sum(l["wait_ns"]), sum(r["collectives"]["wait_ns"]),
      caused + sum(l["start_wait_ns"]), w["nr"] >= 60, c is not None)'
}

page() {		# page NAME MANY: checks the page of the current recording
	xpumerge ranks ./*.data --json >ranks.json 2>/dev/null
	xpumerge ranks ./*.data -o ranks.html 2>log
	is $? 0 "page, $1: exit status 0"
	w=$(account wait_ns)
	is "$(page_waits ranks.html)" "$w $w $w $w $w True $2" \
		"page, $1: the waits over time add up to all waits"
}

make ranks=8 hosts=2 slow_host=2
page "8 ranks" False
make ranks=1000 files=100 slow_host=2 steps=20
page "1,000 ranks" True
ok "$(($(stat -c %s ranks.html) > 4000000))" \
	"page, 1,000 ranks: the page is smaller than 4 MB: $(($(stat -c %s ranks.html) / 1000)) KB"
make ranks=3
xpumerge ranks 0.data -o ranks.html 2>log
is "$? $(grep -c '"waits":null' ranks.html)" "0 1" "page, one rank: the page has no waits"
make ranks=2 hostile=1
xpumerge ranks ./*.data -f html >ranks.html 2>log
is "$? $(grep -c '<script>alert' ranks.html)" "0 0" "page: hostile names are escaped"

# ---- clocks of several hosts

for drift in 0 30 -80; do
	make ranks=6 hosts=3 offset=123456 drift=$drift steps=150 apart=2 slow_host=1
	xpumerge ranks ./*.data --json >ranks.json 2>/dev/null
	xpumerge ranks ./*.data --csv >ranks.csv 2>/dev/null
	found >got
	# The ranks' ends of a collective are up to 2 us apart. The median of several hundred ends
	# is more exact.
	awk -v drift=$drift '/^rank/ { n++; w[$2] = $4; if (NR > FNR) {
			d = $4 - first[$2]; d = d < 0 ? -d : d; if (d > worst) worst = d }
		else first[$2] = $4 }
		END { print worst; exit worst > 600000 }' truth got >worst
	ok $? "drift $drift: the sum of each rank's waits is wrong by at most 600 us" ||
		diag "$(cat worst) ns in $(account paired) operations"
	sed -n '/^clocks/,/^$/p' ranks.csv | awk -F, -v drift=$drift 'NR == 5 {
		d = $4 - 2 * drift;
		exit !($3 < 1.5 && d < 1 && d > -1 && $2 > 246e3 && $2 < 248e3) }'
	ok $? "drift $drift: the clocks' offsets are found" ||
		diag "$(sed -n '/^clocks/,/^$/p' ranks.csv)"
done

# ---- operations that cannot be paired

make ranks=4 lose=1
xpumerge ranks ./*.data --json >ranks.json 2>log
is "$(account ops)" "$(($(account paired) + $(account older)))" \
	"a rank lost ranges: $(account older) operations of its communicators are not paired"
make ranks=4
rm 3.data
xpumerge ranks ./*.data --json >ranks.json 2>log
ok "$(($(account no_rank) == 0))" \
	"a recording is missing: sends of a communicator that was split off have no rank"
is "$(account ops)" \
	"$(($(account paired) + $(account alone) + $(account missing) + $(account no_rank)))" \
	"a recording is missing: $(account paired) operations are paired among the existing ranks"
xpumerge ranks 0.data --json >ranks.json 2>log
is "$(account alone)" "$(account ops)" "one recording: all operations lack partners"
# Each communicator of the generator has one stream, in the same order on all ranks.
for seed in 1 2 3; do
	make ranks=4 payload=0 seed=$seed
	xpumerge ranks ./*.data --csv >ranks.csv 2>log
	found | grep -v "^ops" >got
	grep -v "^ops" truth >want
	cmp -s got want
	ok $? "no payloads, seed $seed: kernels are paired by their order in streams" ||
		diag "$(diff got want)"
done
xpumerge ranks ./*.data >text 2>log
like "$(cat text)" '^operations of NCCL 0 ' "no payloads: no operations are found"
like "$(cat text)" 'paired by order in streams' \
	"no payloads: a message says that kernels are paired by order"
make ranks=3 payload=0
xpumerge ranks 0.data >text 2>log
like "$(cat text)" '^kernels of paired operations 0 ns' \
	"no payloads, one recording: nothing is paired"

like "$(cat text)" \
	'^other kernels that communicate: [0-9]+, which cannot be matched across ranks' \
	"no payloads, one recording: its kernels are listed as unpaired"
xpumerge ranks 0.data --csv >ranks.csv 2>/dev/null
like "$(sed -n '/^others/{n;n;p}' ranks.csv)" \
	'^0,[1-9][0-9]*,[1-9][0-9]*,"NCCL","ncclDevKernel_AllReduce' \
	"no payloads, one recording: its kernels are listed as NCCL's kernels"

# Another library's kernels are listed separately, and count as the rank's own work.
make ranks=3 other=1
pairs "next to NVSHMEM"
is "$(sed -n '/^others/,/^$/p' ranks.csv | sed '1,2d' | sort)" \
	"$(sed -n '/^ranks/,/^$/p' ranks.csv |
	awk -F, '/^[0-9]/ { print $1 ",40," $3 ",\"NVSHMEM\",\"nvshmemi_transfer_rma\"" }
		END { print "" }' | sort)" \
			"next to NVSHMEM: kernels of NVSHMEM are listed for each rank"

# ---- ranks that xpuload attaches to

for seed in 1 2 3 4 5; do
	for nr in 2 4 7; do
		make ranks=$nr attach=3 seed=$seed
		pairs "attached, seed $seed, $nr ranks"
		identity "attached, seed $seed, $nr ranks"
		is "$(account ops)" \
			"$(($(account from_end) + $(account late) + $(account alone)))" \
			"attached, seed $seed, $nr ranks: operations are numbered from the end"
	done
done
make ranks=4 attach=3 files=2
pairs "attached, two ranks in each recording"
xpumerge ranks ./*.data >text 2>log
like "$(cat text)" "paired by their number from the communicator's end" \
	"attached: a message says that operations are paired from the end"
like "$(cat text)" 'not paired, attached late: before the recording' \
	"attached: a message says which operations are not paired"
make ranks=4 attach=3 destroy=0
pairs "attached, communicators never destroyed: nothing is paired"
is "$(account older)" "$(account ops)" \
	"attached, communicators never destroyed: all operations are counted as not paired"
xpumerge ranks ./*.data >text 2>log
like "$(cat text)" 'not paired, attached late: of communicators that are older' \
	"attached, communicators never destroyed: a message says why nothing is paired"
make ranks=4 attach=3 lose=1
xpumerge ranks ./*.data --json >ranks.json 2>log
ok "$(($(account older) < 100))" \
	"attached, ranges lost: at least 100 operations are not paired: $(account older)"
is "$(account ops)" \
	"$(($(account paired) + $(account older) + $(account late) + $(account alone)))" \
	"attached, ranges lost: each operation is paired, or counted as not paired"

# ---- nonblocking calls

for seed in 1 2 3; do
	make ranks=4 blocking=0 seed=$seed
	pairs "not blocking, seed $seed"
	identity "not blocking, seed $seed"
done
ok "$(($(account own_threads) < 100))" \
	"not blocking: $(account own_threads) kernels are attributed to calls"
xpumerge ranks ./*.data >text 2>log
like "$(cat text)" "NCCL's own threads launched, for calls that do not block" \
	"not blocking: a message says that NCCL's own threads launched kernels"
make ranks=3 blocking=0 attach=2
pairs "not blocking, and attached"

# ---- usage

for args in "--table ranks" "--by pid" "-f folded" "--pid 1" "--gpu x.json"; do
	# shellcheck disable=SC2086
	xpumerge ranks $args 0.data >out 2>log
	is "$?" 2 "ranks $args: exit status 2"
	is "$(wc -l <log)$(wc -c <out)" 10 "ranks $args: one line says why it is refused"
done
xpumerge ranks 0.data -o late.csv 2>/dev/null
is "$? $(head -n 1 late.csv)" "0 late_paths" "-o late.csv writes the table of late paths"
done_testing
