#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html page has the folded stacks, whatever the names are, and loads nothing from other hosts.
. "$XPU_SRC/test/lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is missing"

merge=$XPU_BUILD/xpumerge
fold="python3 $XPU_SRC/test/lib/html_folded.py"

# same NAME DATA OPTION...: compares the page's stacks with those that -f folded prints, in time,
# counts and bytes.
same() {
	name=$1 data=$2
	shift 2
	"$merge" "$data" -o page.html "$@" 2>page.log
	is $? 0 "$name: exit status 0"
	for unit in ns nr bytes; do
		[ $unit = nr ] && of=count || of=$unit
		"$merge" "$data" --waits -f folded --unit $of "$@" >want.folded 2>/dev/null
		$fold $unit <page.html >got.folded 2>err.log || cat err.log
		cmp got.folded want.folded
		ok $? "$name: the page has the stacks of -f folded, in $unit"
	done
}

"$XPU_BUILD/gen_data" --launches 20000 --paths 300 --threads 4 --procs 2 --gpus 2 \
	--memcpy-every 7 --graph-every 11 --lose-record 1000 -o many.data
same "many paths" many.data
same "graphs by launch" many.data --graph launch
"$merge" "$XPU_SRC/test/t1/corpus/2.6.xpu" --by rank,nvtx -f html 2>/dev/null |
	$fold ns >got.folded 2>err.log || cat err.log
"$merge" "$XPU_SRC/test/t1/corpus/2.6.xpu" --by rank,nvtx --waits -f folded \
	--unit ns >want.folded 2>/dev/null
cmp got.folded want.folded
ok $? "--by rank,nvtx: the page has the stacks, in ns"
same "a filter" many.data --kernel 'site1[0-9]'
is "$(grep -c '"filter":"--kernel' page.html)" 1 "the page has the filter's options"
is "$(grep -c 'lost: ring buffer\|not in the recording' page.html)" \
	"$(grep -c 'lost: ring buffer\|not in the recording' page.log)" \
	"the page reports the losses"

# There are so many sums that the page has longer time bins, and merges threads and small call
# paths.
"$XPU_BUILD/gen_data" --launches 700000 --paths 15000 --threads 4 --gpus 2 --streams 2 \
	--memcpy-every 7 --blocks 65536 -o wide.data
"$merge" wide.data -o page.html 2>/dev/null
"$merge" wide.data --waits -f folded --unit ns >want.folded 2>/dev/null
$fold ns <page.html >got.folded 2>err.log || cat err.log
cmp got.folded want.folded
ok $? \
	"700,000 launches from 15,000 call paths: the page has their sums, in ns, in every time range"
like "$(grep -o '"nr_rest":[0-9]*' page.html)" '"nr_rest":[1-9]' \
	"the page of 15,000 call paths merges some of the paths"
is "$(grep -c '"without":\["tid"' page.html)" 1 \
	"the page of 15,000 call paths says that threads are merged"
"$merge" wide.data -o page.html --by tid 2>/dev/null
is "$(grep -c '"without":\["tid"' page.html)" 0 "with --by tid, threads are not merged"

# Names that could end the page's script, or break the page.
{
	printf '</script><script>alert(1)</script>\0'
	printf '<!--<script>\0--><img src=x onerror=alert(2)>\0]]>\0'
	printf '"quoted"\\ and '\''single'\'' `${1}`\0'
	printf 'semi;colon\ttab\nnewline\001\033[31m\177\0'
	printf 'bad \200\377 utf-8 \300\257 \355\240\200\0'
	printf 'line \342\200\250 and paragraph \342\200\251 separators, \357\273\277 mark, \302\205 control\0'
	printf '__proto__\0constructor\0&lt;b&gt; &amp; %%s %%n\0'
	printf '%10000s\0' '' | tr ' ' k
	printf ' \0'
} >names
"$XPU_BUILD/gen_data" --launches 500 --paths 20 --names names -o hostile.data
same "hostile names" hostile.data
is "$(grep -c 'k\{10000\}' page.html)" 1 "a name of 10000 characters is not cut"
is "$(grep -ci '</script' page.html)" 3 "hostile names do not end the scripts of the page"

# CPU samples whose call path was too deep are reported, but the page does not warn of a loss.
"$XPU_BUILD/gen_odd" deep.data deep
"$merge" deep.data -o page.html 2>page.log
like "$(cat page.log)" "1 CPU sample whose call path is deeper than recorded" \
	"a truncated sample is reported"
is "$(grep -o '"clean":[a-z]*' page.html)" '"clean":true' "a truncated sample is not a loss"

"$merge" many.data -f html --unit samples 2>err.log
is $? 2 "--unit samples is refused"
"$merge" many.data -f html --unit count | grep -q '"unit":"count"'
ok $? "--unit count: the page begins with counts"
"$XPU_BUILD/gen_data" --launches 0 -o empty.data
"$merge" empty.data -o empty.html 2>/dev/null
$fold ns <empty.html >got.folded
is "$?$(cat got.folded)" 0 "an empty recording makes an empty page"

is "$(grep -cE 'import\(|XMLHttpRequest|fetch\(|@import|url\(' page.html)" 0 \
	"the page loads nothing from a network"

done_testing
