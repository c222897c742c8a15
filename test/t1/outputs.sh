#!/bin/sh
# SPDX-License-Identifier: MIT
# Several outputs at once, compressed outputs, output names that look like mistakes, and comparisons
# for automatic tests. No privileges are needed.
. "$XPU_SRC/test/lib/tap.sh"
gen="$XPU_BUILD/gen_data"
"$gen" -o a.data --launches 400
"$gen" -o b.data --launches 500

# Each of several outputs equals an output that is written alone.
for name in x.folded x.json x.txt x.csv x.html x.pb.gz; do
	xpumerge a.data -o one-$name 2>one.log || diag "$(cat one.log)"
done
xpumerge a.data -o x.folded -o x.json -o x.txt -o x.csv -o x.html -o x.pb.gz >out 2>log
is "$? $(cat out)" "0 " "six outputs: exit status 0"
is "$(grep -c '^launches' log)" 1 "six outputs: one account is printed" || diag "$(cat log)"
for name in x.folded x.json x.txt x.csv x.html x.pb.gz; do
	cmp one-$name $name
	ok $? "six outputs: $name equals the file that is written alone"
done
xpumerge a.data -o y.folded -o - >out 2>log
is "$? $(head -n 1 out | cut -c 1-3)" "0 $(xpumerge a.data 2>log | head -n 1 | cut -c 1-3)" \
	"-o - and -o FILE: stdout has the output of -o -"
cmp y.folded x.folded
ok $? "-o - and -o FILE: the file has the whole output"
xpumerge diff a.data b.data -o d.folded -o d.html 2>log
is "$? $(wc -l <d.folded | tr -d ' ')" \
	"0 $(xpumerge diff a.data b.data -f folded 2>log | wc -l | tr -d ' ')" \
	"diff: both outputs are written"

# Nothing is written if one of the outputs cannot be written.
rm -f x.* y.*
while read -r said args; do
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge a.data $args >out 2>log </dev/null
	is "$? $(wc -l <log | tr -d ' ') $(cat out)" "2 1 " \
		"$args: refused, with one line" || diag "$(cat log)"
	like "$(cat log)" "$said" "$args: the message says why"
	[ "$(echo x.*)" = "x.*" ]
	ok $? "$args: nothing is written"
done <<'END'
no.format.has.this.suffix,.perhaps..pb.gz -o x.html -o x.pb
no.format.has.this.suffix,.perhaps..json -o x.jsn
pictures.are -o x.png
no.format.has.this.suffix: -o x.zzz
-o.x.html:.twice -o x.html -o x.html
several.-o.pick.formats.by.their.suffixes -f folded -o x.a -o x.b
END
xpumerge -i - -o x.html -o x.json <a.data >out 2>log
is "$? $(cat log)" "2 xpumerge: standard input can be read only once: with several -o, name a file" \
	"several outputs from standard input: the message asks for a file"
xpumerge a.data -o x.html -o no/such/dir/x.json >out 2>log
is "$? $(ls x.html)" "2 x.html" "an output that cannot be made does not stop the others"

# Compressed outputs.
for name in x.folded x.json x.txt x.csv x.perf x.html; do
	xpumerge a.data -o $name.gz 2>log
	is $? 0 "$name.gz: exit status 0" || diag "$(cat log)"
	xpumerge a.data -o $name 2>log
	gzip -dc $name.gz | cmp - $name
	ok $? "$name.gz: the contents equal $name"
	[ "$(wc -c <$name.gz)" -lt "$(wc -c <$name)" ]
	ok $? "$name.gz is smaller than $name"
done
xpumerge a.data -f folded -o named.gz 2>log
gzip -dc named.gz | cmp - x.folded
ok $? "-f folded -o named.gz: the file is compressed"
xpumerge dump a.data -o dump.txt.gz 2>log
gzip -dc dump.txt.gz | cmp - <<END
$(xpumerge dump a.data)
END
ok $? "dump -o FILE.gz compresses the output"
if [ -w /dev/full ]; then
	xpumerge a.data -f folded -o /dev/full >out 2>log
	is $? 2 "a full disk: exit status 2"
fi

# --fail-over: growth beyond a limit.
over() {		# over PERCENT A B: returns the status
	xpumerge diff --normalize none --fail-over "$@" -o d.txt 2>log
}
over 5% a.data a.data
is "$? $(grep -c 'more device time' log)" "0 0" "--fail-over: a comparison without growth succeeds"
over 5% a.data b.data
is "$? $(grep -c 'more device time in B:$' log)" "1 1" "--fail-over 5%: growth gives exit status 1"
xpumerge diff a.data b.data -f folded --unit ns 2>/dev/null |
	sed 's/^\(.*\);\[GPU_[^ ]*\]\(.*\) \([0-9]*\) \([0-9]*\)$/\1 \3 \4/' | awk '{
		b = $NF; a = $(NF - 1); $NF = $(NF - 1) = ""; A[$0] += a; B[$0] += b; all += a
	} END { for (path in A) n += B[path] > A[path] * 1.05 && B[path] - A[path] >= all / 1000;
	print n }' >grown
is "$(sed -n 's/^\([0-9]*\) call paths* takes* over 5 %.*/\1/p' log)" "$(cat grown)" \
	"--fail-over 5%: the number of grown call paths matches the folded stacks"
is "$(grep -c '^  +[0-9.]*%, from \|^  new, from ' log)" "$(cat grown)" \
	"--fail-over 5%: each grown call path has a line"
over 5 b.data a.data
is $? 0 "--fail-over 5: a decrease is not a failure"
over 100000% a.data b.data
is $? 0 "--fail-over 100000%: smaller growth is not a failure"
"$gen" -o empty.data --launches 0
over 5% empty.data a.data
is "$?" 1 "--fail-over: new call paths count as growth"
like "$(cat log)" '^  new, from 0 to ' "--fail-over: new call paths are marked as new"
for bad in x 5x -5 '' 5%% nan; do
	xpumerge diff --fail-over="$bad" a.data b.data >out 2>log
	is "$? $(cat log)" "2 xpumerge: --fail-over $bad: expected a percentage, such as 5%" \
		"--fail-over '$bad' is refused"
done
xpumerge --fail-over 5% a.data >out 2>log
is "$? $(cat log)" "2 xpumerge: --fail-over is for xpumerge diff" \
	"--fail-over without diff is refused"
done_testing
