#!/bin/sh
# SPDX-License-Identifier: MIT
# The text summary fits the terminal or the pipe, has the most important facts in its first lines,
# and shortens names so that they stay different. No privileges are needed.
. "$XPU_SRC/test/lib/tap.sh"
unset COLUMNS NO_COLOR PAGER TERM
gen="$XPU_BUILD/gen_data"

widest() {		# widest FILE: prints the width of FILE's widest line, in characters
	LC_ALL=C.UTF-8 awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' "$1"
}

"$gen" -o xpu.data --launches 400 || bail "no recording"
xpumerge 2>/dev/null | cat >pipe
for width in 80 120 200; do
	COLUMNS=$width xpumerge >out.$width 2>/dev/null
	is $? 0 "$width columns: exit status 0"
	[ "$(widest out.$width)" -le $width ]
	ok $? "$width columns: no line is wider" || diag "$(widest out.$width)"
	xpumerge --width $width 2>/dev/null | cmp - out.$width
	ok $? "--width $width gives the same output as COLUMNS=$width"
done
cmp pipe out.80
ok $? "through a pipe, lines have at most 80 columns"
grep -q ' stddev ' out.200 && ! grep -q ' stddev .*  call path' out.80
ok $? "200 columns have room for every column of the tables"
xpumerge -o whole.txt 2>/dev/null
xpumerge --width 0 2>/dev/null | cmp - whole.txt
ok $? "-o FILE gives the same output as --width 0"
[ "$(wc -l <whole.txt)" -le "$(wc -l <out.80)" ]
ok $? "-o FILE wraps no line"

# The first lines have the same numbers as the tables.
xpumerge --table kernels --csv >kernels.csv 2>/dev/null
xpumerge --table launch_sites --csv >sites.csv 2>/dev/null
share() { sed -n '2s/,.*//p' "$1"; }
like "$(sed -n 1p pipe)" '^[0-9.]+ [mun]?s: GPU 0 busy [0-9.]+ %' \
	"the first line has the recording's length and how busy the GPU was"
like "$(sed -n 2p pipe)" \
	'^no waits for the GPU recorded; the GPU waited [0-9.]+ [mun]?s for work$' \
	"the second line says how long the CPU and the GPU waited for each other"
like "$(sed -n 3p pipe)" \
	"^largest kernel $(share kernels.csv) % .*; call path $(share sites.csv) % " \
	"the third line has the shares of the largest kernel and call path, as in the tables"

# Units of times.
like "$(grep -A2 '^kernels' pipe)" ' [0-9.]{3,4} (ns|us|ms|s) ' "times are in units that fit them"
like "$(xpumerge --unit ns 2>/dev/null | grep -A2 '^kernels')" 'times in ns' \
	"--unit ns: all times are in ns"
for format in csv json; do
	COLUMNS=80 xpumerge --$format >$format.80 2>/dev/null
	COLUMNS=200 xpumerge --$format 2>/dev/null | cmp - $format.80 &&
		! grep -qE '[0-9] (us|ms|s)\b' $format.80
	ok $? "--$format: names are not cut, and times are whole ns"
done

# Singular and plural.
"$gen" -o one.data --launches 1
"$XPUMERGE" one.data >one.txt 2>one.log
like "$(cat one.txt)" '^kernels: 1 of 1 name$' \
	"a recording with one kernel: the summary says '1 of 1 name'"
unlike "$(cat one.txt one.log)" \
	'(^|[^0-9.])1 (launches|references|records|samples|copies|sets|names)' \
	"the number 1 is followed by a singular noun"

# Rows sorted by a column.
column() { xpumerge --table "$1" --sort "$2" --csv 2>/dev/null | awk -F, -v key="$2" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == key) n = i; next } { print $n }'; }
for key in instances avg_ns max_ns; do
	column kernels $key >got
	sort -rn got | cmp -s - got && [ "$(wc -l <got)" -gt 1 ]
	ok $? "--sort $key: the row with the largest value is first" || diag "$(cat got)"
done
xpumerge --table kernels --sort avg --limit 1 2>/dev/null | tail -n 2 | grep -q 'and [0-9]* more'
ok $? "--sort with --limit: a line says how many rows are left out"
xpumerge --sort nothing >out 2>log
is $? 2 "--sort nothing: exit status 2"
is "$(cat log)" \
	"xpumerge: --sort nothing: no table has such a column; expected a column such as count, avg or max_ns" \
	"--sort nothing: the message names possible columns"
xpumerge --table threads --sort avg_ns >out 2>log
is "$? $(sed 's/ life_ns, .*/.../' log)" \
	"2 xpumerge: --sort avg_ns: the table threads has no such column; expected..." \
	"--sort by a column that the table lacks is refused"

xpumerge --sort grown >out 2>log
is "$? $(tail -n 1 log) $(grep -c '^kernels' out)" \
	"1 xpumerge: --sort grown: no table that is shown has such a column 1" \
	"--sort by a column of tables that the recording lacks: a warning"

# Missing tables, and other data that the recording lacks, are reported.
while read -r said args; do
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge $args >out 2>log
	is "$? $(grep '^xpumerge: ' log | grep -vc 'no symbols')" "1 1" \
		"$args: exit status 1, and one line" || diag "$(cat log)"
	like "$(cat log)" "$said" "$args: the message says why"
done <<'END'
xpuload.--api.records --table api_calls
xpuload.--stalls.records --table stalls --csv
xpuload.--gpu-metrics.records --table path_metrics --json
xpuload.--memory.records --table memory_leaks
no.rows.in.the.recording.match.--kernel.. --table stalls --kernel .
no.memory.in.the.recording --memory live
no.CPU.samples --cpu-only -f folded
no.memory.in.the.recording --memory peak -f folded
END
xpumerge --table processes >out 2>log
is "$? $(tail -n 1 log)" "0 xpumerge: --table processes: no rows" \
	"--table of a table without rows: a message says that there are no rows"

# Only terminals get colors and pagers.
esc=$(printf '\033')
! grep -q "$esc" pipe
ok $? "a pipe gets no colors"
xpumerge --color=always 2>/dev/null | grep -q "$esc\[3[12]m"
ok $? "--color=always gives colors"
terminal() {		# terminal COMMAND: runs COMMAND on a terminal
	script -qec "stty cols 90; $1" /dev/null </dev/null | tr -d '\r'
}
if command -v script >/dev/null &&
	[ "$(script -qec 'echo yes' /dev/null </dev/null | tr -d '\r')" = yes ]; then
	export TERM=xterm
	terminal "$XPUMERGE --no-pager" >tty
	grep -q "$esc\[" tty
	ok $? "a terminal gets colors"
	sed "s/$esc\[[0-9;]*m//g" tty >plain
	[ "$(widest plain)" -le 90 ] && [ "$(widest plain)" -gt 80 ]
	ok $? "lines fit the width of the terminal" || diag "$(widest plain)"
	is "$(grep -c '^launches' plain)" 1 "a terminal shows the account once"
	NO_COLOR=1 terminal "$XPUMERGE --no-pager" | grep -q "$esc\["
	is $? 1 "with NO_COLOR no colors are printed"
	TERM=dumb terminal "$XPUMERGE --no-pager" | grep -q "$esc\["
	is $? 1 "a dumb terminal gets no colors"
	PAGER='sed s/^/paged:/' terminal "$XPUMERGE" >paged
	is "$(grep -vc '^paged:' paged)" 0 \
		"the whole output goes through PAGER" || diag "$(grep -v '^paged' paged)"
	PAGER="cat" terminal "$XPUMERGE --color=never" | cmp -s - plain
	ok $? "PAGER=cat uses no pager"
	PAGER='head -n 1' terminal "$XPUMERGE; echo end" >paged
	like "$(tail -n 1 paged)" '^end' "when a pager ends early, xpumerge ends, too"
	PAGER="sed s/^/paged:/" xpumerge 2>/dev/null | cmp -s - pipe
	ok $? "through a pipe, no pager is used"
else
	skip "a terminal" "no script(1), or no terminals here"
fi
"$gen" --launches 200 --paths 4 -o nameless.data
is "$(xpumerge nameless.data 2>/dev/null | grep -cE ' app1 > app, [0-9]+ frames +site')" 4 \
	"text shows consecutive nameless frames of one library as one frame"
done_testing
