#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload -o with %h, %p, %q{VAR} and %n: each rank and each run has its own file; with an invalid
# name, nothing runs.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
use_sim

shapes=$XPU_BUILD/workload/shapes
host=$(uname -n)
RANK=3 xpuload -o 'run-%h-%q{RANK}-%p-100%%.data' sh -c 'echo $$ >pid; exec "$0" 300 1' \
	"$shapes" >/dev/null 2>load.log
is $? 0 "-o with a rank in the name: exit status 0" || diag "$(cat load.log)"
name=run-$host-3-$(cat pid)-100%.data
is "$(echo run-*)" "$name" \
	"the file's name has host, variable, pid and a percent sign" || diag "$(cat load.log)"
like "$(xpumerge -i "$name" 2>&1)" 'launches 300 matched 300 unmatched 0 lost 0' \
	"a recording under an expanded name is complete"
like "$(cat load.log)" "$host-3-$(cat pid)-100%.data, .*lost 0" "xpuload prints the expanded name"

for i in 1 2 3; do
	xpuload -q -o 'n%n.data' "$shapes" 10 1 >/dev/null 2>load.log || diag "$(cat load.log)"
done
is "$(echo n*.data)" "n1.data n2.data n3.data" "%n is the next unused number"
rm n2.data
xpuload -q -o 'n%i.data' "$shapes" 10 1 >/dev/null 2>load.log
is "$(echo n*.data)" "n1.data n2.data n3.data" "%i is the smallest unused number"
xpuload -q -o 'page-%p.html' sh -c 'echo $$ >pid; exec "$0" 10 1' "$shapes" >/dev/null 2>load.log
is "$(echo page-*)" "page-$(cat pid).html" \
	"a merged result gets its expanded name, and no recording is left"

# Starts four recordings as a launcher does: at the same time, each with its own variable.
for i in 0 1 2 3; do
	RANK=$i xpuload -q -o 'rank%q{RANK}.data' "$shapes" $((1000 + i)) \
		1 >/dev/null 2>"rank$i.log" &
done
wait
for i in 0 1 2 3; do
	like "$(xpumerge -i rank$i.data 2>&1)" \
		"launches $((1000 + i)) matched $((1000 + i)) unmatched 0 lost 0" \
		"rank $i of four has its own recording"
done

# A running program.
start_dormant a -t 1
ask a "burst 10" >/dev/null
xpuload -q -p "$a_pid" --duration 0.3 -o 'at-%p.data' 2>load.log
is "$?$(echo at-*.data)" "0at-$a_pid.data" "-p: the name has the target's pid" ||
	diag "$(cat load.log)"
finish a

# Several outputs at once.
xpuload -o several.data -o several.folded -o several.json.gz "$XPU_BUILD/workload/exact" -t 2 \
	-n 50 >out 2>several.log
is $? 0 "three outputs: exit status 0" || diag "$(cat several.log)"
xpumerge several.data -o want.folded 2>log
cmp several.folded want.folded
ok $? "three outputs: folded stacks are written"
gzip -dc several.json.gz | head -c 1 | grep -q '{'
ok $? "three outputs: a compressed timeline is written"
xpuload -o none.html -o none.txt.gz "$XPU_BUILD/workload/exact" -t 2 -n 50 >out 2>several.log
is "$? $(echo none.*)" "0 none.html none.txt.gz" \
	"only results are requested: no recording is left" || diag "$(cat several.log)"
rm -f several.* none.* want.folded

while read -r pattern said; do
	rm -f ran
	xpuload -o "$pattern" touch ran >bad.log 2>&1
	is "$? $(wc -l <bad.log)" "125 1" "$pattern: refused, with one line" ||
		diag "$(cat bad.log)"
	like "$(cat bad.log)" "$said" "$pattern: the message says why"
	[ ! -e ran ]
	ok $? "$pattern: the command is not run"
done <<'END'
a%x.data %x:.expected.one.of
a% %:.expected.one.of
a%q.data %q:.expected.the.name
a%q{}.data %q:.expected.the.name
a%q{NO_SUCH_VARIABLE}.data NO_SUCH_VARIABLE.:.the.variable.is.not.set
no/such/folder/%p.data cannot.write
END
xpuload -a --duration 0.1 -o '%p.data' >bad.log 2>&1
is "$? $(grep -c 'has several targets' bad.log)" "125 1" \
	"-a with %p is refused, because there is no single pid"
xpuload -a --duration 0.1 -o 'all%%p.data' >bad.log 2>&1
is "$? $(echo all*.data)" "0 all%p.data" \
	"-a: %% followed by p is not taken for a pid" || diag "$(cat bad.log)"
is "$(echo *.*.data* %*)" "*.*.data* %*" "no unexpected file is left behind"
done_testing
