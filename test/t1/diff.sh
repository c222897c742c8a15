#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge diff: two recordings side by side, by name. Merging each recording alone gives the
# expected values.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data merge=$XPU_BUILD/xpumerge

# Two runs of one program, with different pids and counts. Some call paths are in only one
# recording.
"$gen" --launches 3000 --paths 40 --threads 4 --memcpy-every 5 --graph-every 7 -o a.data
"$gen" --launches 5000 --paths 50 --threads 4 --memcpy-every 5 --graph-every 7 --gpus 2 --seed 9 \
	--reuse --lose-record 500 -o b.data

# column N: prints the folded stacks of one side of the comparison, without stacks that this side
# lacks.
column() {
	awk -v n="$1" '{ v = $(NF - 2 + n); NF -= 2; if (v != "0") print $0, v }' diff.folded |
		LC_ALL=C sort
}

# own FILE UNIT [BY]: prints the folded stacks of FILE alone. Removes the numbers of GPUs,
# because a comparison does not number devices.
own() {
	"$merge" "$1" -f folded --unit "$2" --by "${3:-comm}" 2>/dev/null |
		sed 's/\[GPU[0-9]*_/[GPU_/' |
		awk '{ v = $NF; NF--; sum[$0] += v }
		END { for (s in sum) if (sum[s]) print s, sum[s] }' |
		LC_ALL=C sort
}

for unit in ns count bytes; do
	"$merge" diff a.data b.data -f folded --unit $unit >diff.folded 2>diff.log
	is $? 0 "$unit: exit status 0"
	own a.data $unit >want
	column 1 >got
	cmp got want
	ok $? "$unit: the first column equals A's own stacks"
	own b.data $unit >want
	column 2 >got
	cmp got want
	ok $? "$unit: the second column equals B's own stacks"
done
"$merge" diff a.data b.data --by device,stream,comm -f folded --unit ns >diff.folded 2>/dev/null
is $? 0 "--by: exit status 0"
own a.data ns device,stream,comm >want
column 1 >got
cmp got want
ok $? "--by: the first column equals A's own stacks"
own b.data ns device,stream,comm >want
column 2 >got
grep -q '^\[GPU 0\];\[stream 9\]' want && cmp got want
ok $? "--by: the second column equals B's own stacks"
is "$(grep -c '^launches' diff.log)" 2 "stderr has the accounts of both recordings"
like "$(cat diff.log)" 'A is a.data' "stderr says which recording is A"

# sums: prints "A B", the sums over all lines.
sums() {
	awk '{ a += $(NF - 1); b += $NF } END { printf "%.0f %.0f\n", a, b }' diff.folded
}

"$merge" diff a.data b.data -f folded --unit ns >diff.folded 2>/dev/null
plain=$(sums)
"$merge" diff a.data a.data -f folded --unit ns >diff.folded 2>/dev/null
is "$(awk '$NF != $(NF - 1)' diff.folded)" "" "a recording compared with itself has no differences"
"$merge" diff a.data b.data -o diff.folded --unit ns --normalize total 2>/dev/null
sums >sums
awk -v b="${plain#* }" -v nr="$(wc -l <diff.folded)" \
	'{ d = $1 - $2; exit !(d <= nr && -d <= nr && $2 == b) }' sums
ok $? "--normalize total: both sums equal B's sum, except for rounding ($(cat sums))"
"$merge" diff a.data b.data -o diff.folded --unit ns --normalize launches 2>/dev/null
sums >sums
awk -v a="${plain% *}" -v nr="$(wc -l <diff.folded)" \
	'{ d = $1 - a * 5000 / 3000; exit !(d <= nr && -d <= nr) }' sums
ok $? "--normalize launches: A's values are multiplied by 5000/3000 ($(cat sums))"

for flamegraph in "$(command -v flamegraph.pl)" /usr/share/perl5/Devel/NYTProf/flamegraph.pl; do
	[ -r "$flamegraph" ] && break
done
if [ -r "$flamegraph" ]; then
	perl "$flamegraph" diff.folded >diff.svg 2>err.log
	is "$?$(cat err.log)" 0 "flamegraph.pl draws the comparison"
	like "$(grep -o 'site1(float\*) ([^)]*)' diff.svg | head -n 1)" '; [-+][0-9.]+%' \
		"the flame graph shows the difference of each frame"
else
	skip "flamegraph.pl draws the comparison" "flamegraph.pl is missing"
fi

# ---- text

"$merge" diff a.data b.data --limit 0 --unit us >diff.txt 2>/dev/null
is $? 0 "text: exit status 0"
"$merge" diff a.data b.data -f folded --unit ns >diff.folded 2>/dev/null
want=$(awk '/site3\(/ { a += $(NF - 1); b += $NF }
	END { printf "%+.3f %.3f %.3f", (b - a) / 1000, a / 1000, b / 1000 }' diff.folded)
got=$(awk '/GPU_Kernel.site3\(/ { print $1, $3, $4 }' diff.txt)
is "$got" "$want" "text: a kernel's row has both times and their difference"
# Each average equals the average in its own recording, even if A is scaled.
averages() {
	"$merge" diff a.data b.data --limit 0 --unit ns --width 0 "$@" 2>/dev/null |
		awk '/\[GPU_Kernel\]site3\(/ { print $5, $6; exit }'
}
avg_of() { "$merge" $1.data --table kernels --csv 2>/dev/null | awk -F, '/"site3\(/ { print $4 }'; }
like "$(averages)" "^[1-9][0-9]* [1-9][0-9]*$" "text: a kernel's row has the averages of A and B"
is "$(averages)" "$(avg_of a) $(avg_of b)" "text: averages are the recordings' own averages"
is "$(averages --normalize launches)" "$(averages)" "text: --normalize does not change averages"
like "$(grep 'site45(' diff.txt)" ' new ' "text: a kernel that only B has is marked as new"
is "$("$merge" diff a.data b.data --limit 3 2>/dev/null | grep -c ' more$')" 2 \
	"--limit: the text says how many rows are left out"

# ---- html

if command -v python3 >/dev/null; then
	"$merge" diff a.data b.data -o diff.html 2>/dev/null
	is $? 0 "html: exit status 0"
	for side in 0 1; do
		python3 "$XPU_SRC/test/lib/html_folded.py" ns $side <diff.html |
			grep -v ' 0$' | LC_ALL=C sort >got
		column $((side + 1)) >want
		cmp got want
		ok $? "html: side $side of the page has the stacks and sums of its recording"
	done
	"$merge" diff a.data b.data --by device,stream,comm -f html 2>/dev/null |
		grep -q '"by":\["device","stream","comm"\],$'
	ok $? "html, --by: the page has the fields, which become root frames"
	"$merge" diff a.data b.data -f html --normalize launches 2>/dev/null |
		grep -q '"scale":1.66666666'
	ok $? "html: --normalize does not change the page's data"
else
	skip "html" "python3 is missing"
fi

# ---- refusals

refuse() {		# refuse NAME MESSAGE ARG...
	name=$1 message=$2
	shift 2
	"$merge" "$@" >out 2>err.log
	is $? 2 "$name: exit status 2"
	like "$(cat err.log)" "$message" "$name: the message says why"
}

refuse "one recording" 'xpumerge diff A B' diff a.data
refuse "three recordings" 'xpumerge diff A B' diff a.data b.data a.data
refuse "a format that diff lacks" 'folded, text and html' diff a.data b.data -f chrome
refuse "an unknown normalization" 'none, total or launches' diff a.data b.data --normalize all
refuse "--normalize without diff" 'is for xpumerge diff' a.data --normalize total
refuse "--unit samples" 'not for diff' diff a.data b.data -f folded --unit samples
refuse "--freq" 'is not for diff' diff a.data b.data -f folded -F 1000
refuse "--table" 'is not for diff' diff a.data b.data --table kernels
refuse "--by pid" 'not for diff' diff a.data b.data -f folded --by pid
refuse "--by with a field that the table lacks" '-f text: expected one of: .*shape' \
	diff a.data b.data --by device
"$gen" --launches 0 -o empty.data
refuse "nothing to normalize by" 'cannot find anything to normalize by' diff empty.data b.data \
	--normalize total
"$merge" diff empty.data b.data -f folded >diff.folded 2>/dev/null
is "$?$(awk '$(NF - 1) != 0' diff.folded)" 0 "an empty recording can be compared"
refuse "a missing recording" 'none.data' diff a.data none.data
"$merge" diff a.data b.data --strict >out 2>/dev/null
is $? 1 "--strict fails if B has lost something"

"$merge" diff a.data b.data --kernel nothing_like_it >out 2>log
is "$?" 1 "a filter that leaves nothing on either side: exit status 1"
like "$(cat log)" '^xpumerge: nothing in the recordings matches --kernel nothing_like_it$' \
	"a filter that leaves nothing: a message says that nothing is left"
done_testing
