#!/bin/sh
# SPDX-License-Identifier: MIT
# Launch shapes: grid, block, cluster, registers and memory of each launch, in tables, timelines and
# names. Also a program with more shapes than the shim keeps.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf
use_sim

record() {		# record NAME ARGS...: records the program, whose output is NAME.truth
	name=$1
	shift
	xpuload -o "$name.data" "$XPU_BUILD/workload/shapes" "$@" >"$name.truth" 2>load.log
	is $? 0 "$name: exit status 0"
	xpumerge -i "$name.data" -f folded --unit count -o "$name.folded" 2>merge.log
	is "$("$XPU_SRC/test/lib/verdict.sh" "$name.folded" merge.log)" \
		"launches $1 matched $1 wrong 0 unmatched 0 lost 0" \
			"$name: every launch is matched, under its own site"
}

record ways 1000 30
# k_shaped has 8 letters: the simulated device gives it 16 registers and 512 bytes of shared memory.
xpumerge -i ways.data --csv --table kernels --by shape 2>/dev/null | tr -d '"' |
	awk -F, \
	'NR > 1 { print $(NF - 7), $(NF - 6), $(NF - 2), ($(NF - 5) == "" ? "-" : $(NF - 5)),
	$3 }' |
	sort >ways.csv
sort ways.truth >want
is "$(wc -l <want)" 30 "the program launches a kernel in 30 shapes"
is "$(diff want ways.csv)" "" "each shape has a row with its number of instances"
is "$(xpumerge -i ways.data --csv --table kernels --by shape 2>/dev/null | tr -d '"' |
	awk -F, 'NR > 1 { print $(NF - 4), $(NF - 3), $(NF - 1) }' | sort -u)" "16 512 0" \
	"registers, static shared memory and local memory are right"
is "$(xpumerge -i ways.data --csv --table kernels 2>/dev/null | sed -n '2s/.*,"k_shaped",//p')" \
	'"","","",,,,,' "a row for several shapes shows no shape"
is "$(xpumerge -i ways.data -f folded --unit count --by shape 2>/dev/null | wc -l)" 30 \
	"folded: each shape has a line"
like "$(xpumerge -i ways.data -f folded --unit count --by shape 2>/dev/null)" \
	';\[GPU_Kernel\]k_shaped<<<8, 128, 3072 B>>> 34' "folded: a line shows its shape"
like "$(xpumerge -i ways.data --by shape 2>/dev/null)" \
	'  k_shaped<<<10x2, 160, cluster 2>>> 16 registers, occupancy 94 %' \
		"summary: a row shows its shape"
is "$(xpumerge -i ways.data -f folded --unit count 2>/dev/null | wc -l)" 1 \
	"folded, without --by shape: all shapes share one line"
xpumerge -i ways.data -f chrome -o ways.json 2>/dev/null
python3 - ways.json >got <<'END'
import collections, json, sys
ways = collections.Counter()
def text(d):
    d = [str(n) for n in d]
    while len(d) > 1 and d[-1] == "1":
        d.pop()
    return "x".join(d)
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e.get("cat") == "kernel":
        a = e["args"]
        assert a["registers per thread"] == 16 and a["local memory per thread"] == 0, a
        assert 0 < a["theoretical occupancy %"] <= 100, a
        ways[text(a["grid"]), text(a["block"]), a["shared memory"] - 512, "2" if "cluster" in a else "-"] += 1
for (way, n) in ways.items():
    print(*way, n)
END
is "$(sort got | diff want -)" "" "chrome: each kernel has its own shape"
xpumerge -i ways.data -o ways.pftrace 2>/dev/null
is "$(strings ways.pftrace | grep -c '<<<.*>>>, 16 registers, .* B local, occupancy [0-9]* %')" 30 \
	"pftrace: each shape is written once"
record one 1000 1
like "$(xpumerge -i one.data --csv --table kernels 2>/dev/null)" \
	',"k_shaped","2","32","",16,512,0,0,50' \
		"a kernel with one shape: its row shows the shape without --by"
xpumerge -i one.data -f html -o one.html 2>/dev/null
xpumerge -i ways.data -f html -o ways.html 2>/dev/null
like "$(cat one.html)" '2, 32.{3,20}, 16 registers, 512 B shared, 0 B local, occupancy 50 %"' \
	"html: a frame shows its shape"
like "$(cat ways.html)" '"\(several shapes\)"' \
	"html: a frame shows that its kernel has several shapes"
# More shapes than the shim keeps: launches with further shapes lack only their shape.
record many 20000 20000
is "$(xpumerge -i many.data --csv --table kernels --by shape 2>/dev/null | wc -l)" 16386 \
	"20,000 shapes: 16,384 of them have their own rows"
is "$(xpumerge dump many.data | sed -n 's/.* SHAPE //p' | sort -u | wc -l)" 16384 \
	"20,000 shapes: only 16,384 are recorded"
done_testing
