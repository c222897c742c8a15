#!/bin/sh
# SPDX-License-Identifier: MIT
# Several outputs at once, compressed ones, names that are slips, and comparisons for tests without people. No
# privileges are needed.
. "$XPU_SRC/test/lib/tap.sh"
gen="$XPU_BUILD/gen_data"
"$gen" -o a.data --launches 400
"$gen" -o b.data --launches 500

# Several at once are what each alone is.
for name in x.folded x.json x.txt x.csv x.html x.pb.gz; do
	xpumerge a.data -o one-$name 2>one.log || diag "$(cat one.log)"
done
xpumerge a.data -o x.folded -o x.json -o x.txt -o x.csv -o x.html -o x.pb.gz >out 2>log
is "$? $(cat out)" "0 " "six outputs: the expected exit status"
is "$(grep -c '^launches' log)" 1 "six outputs: one account" || diag "$(cat log)"
for name in x.folded x.json x.txt x.csv x.html x.pb.gz; do
	cmp one-$name $name
	ok $? "six outputs: $name"
done
xpumerge a.data -o y.folded -o - >out 2>log
is "$? $(head -n 1 out | cut -c 1-3)" "0 $(xpumerge a.data 2>log | head -n 1 | cut -c 1-3)" "-o -: standard output is one, too"
cmp y.folded x.folded
ok $? "and the file is there"
xpumerge diff a.data b.data -o d.folded -o d.html 2>log
is "$? $(wc -l <d.folded | tr -d ' ')" "0 $(xpumerge diff a.data b.data -f folded 2>log | wc -l | tr -d ' ')" "diff: both"

# Nothing is written if one of them cannot be.
rm -f x.* y.*
while read -r said args; do
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge a.data $args >out 2>log </dev/null
	is "$? $(wc -l <log | tr -d ' ') $(cat out)" "2 1 " "$args: refused in a line" || diag "$(cat log)"
	like "$(cat log)" "$said" "$args: why"
	[ "$(echo x.*)" = "x.*" ]
	ok $? "$args: nothing is written"
done <<'END'
no.format.has.this.suffix,.perhaps..pb.gz -o x.html -o x.pb
no.format.has.this.suffix,.perhaps..json -o x.jsn
pictures.are -o x.png
no.format.has.this.suffix: -o x.zzz
-o.x.html:.twice -o x.html -o x.html
their.suffixes.pick.the.formats -f folded -o x.a -o x.b
END
xpumerge -i - -o x.html -o x.json <a.data >out 2>log
is "$? $(cat log)" "2 xpumerge: standard input can be read once: with several -o name a file" "several from a pipe"
xpumerge a.data -o x.html -o no/such/dir/x.json >out 2>log
is "$? $(ls x.html)" "2 x.html" "one that cannot be made: the others are"

# Compressed.
for name in x.folded x.json x.txt x.csv x.perf x.html; do
	xpumerge a.data -o $name.gz 2>log
	is $? 0 "$name.gz: exit status 0" || diag "$(cat log)"
	xpumerge a.data -o $name 2>log
	gzip -dc $name.gz | cmp - $name
	ok $? "$name.gz: the same"
	[ "$(wc -c <$name.gz)" -lt "$(wc -c <$name)" ]
	ok $? "$name.gz: smaller"
done
xpumerge a.data -f folded -o named.gz 2>log
gzip -dc named.gz | cmp - x.folded
ok $? "-f folded -o named.gz: compressed"
xpumerge dump a.data -o dump.txt.gz 2>log
gzip -dc dump.txt.gz | cmp - <<END
$(xpumerge dump a.data)
END
ok $? "dump: compressed"
if [ -w /dev/full ]; then
	xpumerge a.data -f folded -o /dev/full >out 2>log
	is $? 2 "a full disk: exit status 2"
fi

# Growth.
over() {		# over PERCENT A B: leaves the status in $?
	xpumerge diff --fail-over "$@" -o d.txt 2>log
}
over 5% a.data a.data
is "$? $(grep -c 'more device time' log)" "0 0" "--fail-over: nothing grew"
over 5% a.data b.data
is "$? $(grep -c 'more device time in B:$' log)" "1 1" "--fail-over 5%: the status is 1"
xpumerge diff a.data b.data -f folded --unit ns 2>/dev/null |
	sed 's/^\(.*\);\[GPU_[^ ]*\]\(.*\) \([0-9]*\) \([0-9]*\)$/\1 \3 \4/' | awk '{
		b = $NF; a = $(NF - 1); $NF = $(NF - 1) = ""; A[$0] += a; B[$0] += b; all += a
	} END { for (path in A) n += B[path] > A[path] * 1.05 && B[path] - A[path] >= all / 1000; print n }' >grown
is "$(sed -n 's/^\([0-9]*\) call paths* takes* over 5 %.*/\1/p' log)" "$(cat grown)" "as many call paths as folded stacks show"
is "$(grep -c '^  +[0-9.]*%, from \|^  new, from ' log)" "$(cat grown)" "each has a line"
over 5 b.data a.data
is $? 0 "--fail-over 5: what shrank does not count"
over 100000% a.data b.data
is $? 0 "--fail-over 100000%: nothing grew so much"
"$gen" -o empty.data --launches 0
over 5% empty.data a.data
is "$?" 1 "--fail-over: all is new"
like "$(cat log)" '^  new, from 0 to ' "and said to be"
for bad in x 5x -5 '' 5%% nan; do
	xpumerge diff --fail-over="$bad" a.data b.data >out 2>log
	is "$? $(cat log)" "2 xpumerge: --fail-over $bad: expected a percentage, such as 5%" "--fail-over '$bad'"
done
xpumerge --fail-over 5% a.data >out 2>log
is "$? $(cat log)" "2 xpumerge: --fail-over is for xpumerge diff" "--fail-over without diff"
done_testing
