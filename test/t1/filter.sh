#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --pid, --tid and the other filters: in every format, the result is the part of the whole that the
# options select.
. "$XPU_SRC/test/lib/tap.sh"
"$XPU_BUILD/gen_data" -o xpu.data --launches 4000 --threads 4 --procs 2 --memcpy-every 5 \
	--graph-every 3 --streams 3 --gpus 2 --lose-record 9

# The roots are pid;tid;comm;device;stream.
whole() {
	xpumerge -f folded --unit count --by pid,tid,comm,device,stream 2>/dev/null
}
whole >all
tid=$(sed -n 's/^[^;]*;\[tid \([0-9]*\)\].*/\1/p' all | sort -u | sed -n 2p)
pid=$(sed -n 's/^\[pid \([0-9]*\)\].*/\1/p' all | sort -u | sed -n 2p)
comm=$(cut -d';' -f3 all | sort -u | sed -n 2p)

# part OPTIONS AWK_CONDITION: checks that OPTIONS keep exactly the lines of the whole that match
# AWK_CONDITION
part() {
	awk -F';' "$2" all >want
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge $1 -f folded --unit count --by pid,tid,comm,device,stream >got 2>log
	is $? 0 "$1: exit status 0"
	[ -s want ] && [ "$(wc -l <want)" -lt "$(wc -l <all)" ]
	ok $? "$1: $(wc -l <want) of $(wc -l <all) lines pass the filter"
	cmp got want
	ok $? "$1: the result has exactly the lines that pass"
	nr=$(grep -v GPU_Launch_Pending want | awk '{ n += $NF } END { print n + 0 }')
	total=$(grep -v GPU_Launch_Pending all | awk '{ n += $NF } END { print n }')
	grep -qF "left out: $((total - nr)) of $total device records, " log &&
		grep -qF "filters: $1" log
	ok $? "$1: the account says how much is left out"
	# shellcheck disable=SC2086
	xpumerge $1 -o part.json 2>/dev/null
	is "$(grep -c '"cat":"\(kernel\|memcpy\|memset\)"' part.json)" "$nr" \
		"$1: the timeline has a slice for each device record that passes"
	is "$(grep -c '"ph":"s"' part.json)" "$nr" \
		"$1: the timeline has an arrow for each device record that passes"
	is "$(grep -c '"ph":"X".*"cat":"launch"' part.json)" \
		"$(grep '"ph":"X".*"cat":"launch"' part.json | sort -u | wc -l)" \
		"$1: the timeline has each launch once"
	# shellcheck disable=SC2086
	xpumerge $1 >part.txt 2>/dev/null
	# shellcheck disable=SC2004 # it is a sum
	rows=$(sed -n 's/^kernels: \([0-9]*\) .*/\1/p
		s/^memory operations: \([0-9]*\) copies, \([0-9]*\).*/\1 + \2/p' part.txt |
		paste -sd+)
	is "$(($rows))" "$nr" "$1: the tables count each device record that passes"
}

part "--pid $pid" "\$1 == \"[pid $pid]\""
part "--tid $tid" "\$2 == \"[tid $tid]\""
part "--comm $comm" "\$3 == \"$comm\""
part "--device 1" '$4 == "[GPU 1]"'
part "--stream 8,9" '$5 ~ /^\[stream [89]\]$/'
part "--kernel site[2-4]\\(" '$NF ~ /^\[GPU._Kernel\]site[2-4]\(/'
part "--device 0 --tid $tid" "\$4 == \"[GPU 0]\" && \$2 == \"[tid $tid]\""

# Time windows: the expected events come from the timeline without a window. This timeline gives
# times in microseconds after its "base_ns".
xpumerge -o all.json 2>log
xpumerge >all.txt 2>/dev/null
from=$(sed -n 's/^first to last.*, from \([0-9.]*\) s on$/\1/p' all.txt)
like "$from" '^[0-9]+\.[0-9]{6}$' "the summary has the time of the first launch"
xpumerge --from "$from" -f folded --unit count >got 2>/dev/null
xpumerge -f folded --unit count >want 2>/dev/null
cmp got want
ok $? "--from with the time of the first launch leaves nothing out"
# gen_data's recording begins at 1000 ns.
base=$(sed -n 's/.*"base_ns":"\([0-9]*\)".*/\1/p' all.json)
xpumerge --from $((base - 1000 + 500000))ns --to $((base - 1000 + 900000))ns -o part.json 2>log
sed -n 's/.*"ts":\([0-9.]*\),"dur":\([0-9.]*\),.*"cat":"\(kernel\|memcpy\|memset\)".*/\1 \2/p' \
	all.json >slices
begin=$(awk '$1 >= 500 && $1 < 900' slices | wc -l)
want=$(awk '$1 + $2 > 500 && $1 < 900' slices | wc -l)
[ "$begin" -gt 50 ] && [ "$want" -gt "$begin" ]
ok $? "$want slices overlap 500 to 900 us, and $begin of them begin there"
is "$(grep -c '"cat":"\(kernel\|memcpy\|memset\)"' part.json)" "$want" \
	"--from, --to: the timeline has exactly the slices that overlap the time range"
cut=$(awk '$1 < 500 && $1 + $2 > 500 || $1 < 900 && $1 + $2 > 900' slices | wc -l)
is "$(grep -c '"cat":"\(kernel\|memcpy\|memset\)".*"part":1' part.json)" "$cut" \
	"--from, --to: $cut slices are cut, and marked as parts"
like "$(cat log)" "^left out: $(($(wc -l <slices) - begin)) of " \
	"--from, --to: the account says how many device records are left out"
like "$(cat log)" "^$((want - begin)) of these device records began before the time shown" \
	"--from, --to: the account says how many device records are cut"
xpumerge --pid 1 -f folded >got 2>log
is "$?$(cat got)" 1 "a filter that leaves nothing: an empty result, and exit status 1"
like "$(cat log)" '^xpumerge: nothing in the recording matches --pid 1$' \
	"a filter that leaves nothing: a message names the filter"
for args in "--pid x" "--from 1h" "--kernel (" "--comm ," "--to 0" "--to 1 --from 1"; do
	# shellcheck disable=SC2086
	xpumerge $args >got 2>log
	is "$?$(cat got)" 2 "$args: exit status 2, and stdout is empty"
	like "$(cat log)" "^xpumerge: ${args%% *}: " "$args: the message names the wrong option"
done
xpumerge --kernel "$(printf '%100000s' '' | tr ' ' '(')" >got 2>log
is "$? $(cat got log)" "2 xpumerge: --kernel: longer than 16384 bytes" \
	"a regular expression with too many groups is refused"
done_testing
