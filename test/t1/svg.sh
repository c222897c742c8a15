#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# fold.sh --svg writes valid XML, whatever the names are and wherever they are cut. CSV output
# contains no formulas.
. "$XPU_SRC/test/lib/tap.sh"
need python3

cat >names.py <<'END'
import json, sys

names = ["カーネル行列の掛け算" * 4, "ядро_умножения_матриц" * 3, "größe_straße_éèê" * 4, "🚀🔥" * 20,
         "<a href=\"x\">&amp;'</a>" * 3, "ctl\x01\x02\x1f\x7f", "noncharacters \ufffe\uffff",
         "c1 \x80\x85\x9f", "a\u0301" * 30, "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "plain"]
events = []
for i, name in enumerate(names * 8):
    ts = 1000 * i + 10
    # Frames of many widths, so that names are cut at every byte of a character.
    events += [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 900},
               {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                "ts": ts + 1, "dur": 1, "args": {"correlation": i + 1}},
               {"ph": "X", "cat": "kernel", "name": name + " " * (i // len(names)) + str(i), "pid": 0,
                "tid": 7, "ts": ts + 2, "dur": 1 + i * 7 % 400,
                "args": {"correlation": i + 1, "device": 0, "stream": 7}}]
text = json.dumps({"traceEvents": events}, ensure_ascii=False).encode("utf-8", "surrogatepass")
# Bytes that are not UTF-8, and half of a surrogate pair.
open("t.json", "wb").write(text.replace(b"plain", b"\xff\xfe\xc3(\xed\xa0\x80 plain"))
END
cat >parse.py <<'END'
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
print(len(root.findall(".//{http://www.w3.org/2000/svg}title")),
      sum("カーネル行列の掛け算" * 4 in (t.text or "") for t in root.iter()) > 0)
END
export PYTHONUTF8=1
python3 names.py
xpumerge --gpu t.json -o t.data 2>log
is $? 0 "a recording with hostile names is made" || diag "$(cat log)"
fold=$XPU_SRC/scripts/fold.sh
export XPUMERGE
flamegraph=$(command -v flamegraph.pl ||
	ls /usr/share/perl5/Devel/NYTProf/flamegraph.pl 2>/dev/null)
if [ -n "$flamegraph" ] || command -v inferno-flamegraph >/dev/null; then
	for title in "größe カーネル <&>" plain; do
		"$fold" --svg --title "$title" -o t.svg t.data 2>log
		is "$? $(grep -v -e ^launches -e '^by ' -e '^ ' log)" "0 " \
			"a flame graph with title $title is drawn"
		like "$(python3 parse.py t.svg 2>&1 | tail -n 1)" '^[0-9]{2,} True$' \
			"the flame graph with title $title is XML"
	done
	printf '%s\n' 'app;lib.so.1+0x10;lib.so.1+0x2f;f;lib.so.1+0x10;[GPU_Kernel]k 5' \
		'app;lib.so.1+0x10;lib.so.1+0x99;f;lib.so.2+0x1;lib.so.1+0x7 4' >nameless
	"$fold" --svg --folded nameless -o t.svg
	is "$? $(grep -c '<title>lib.so.1, 2 frames (9 ' t.svg)" "0 1" \
		"a flame graph shows consecutive nameless frames of one library as one frame"
	is "$(grep -cE '<title>lib.so.(1.0x10|2.0x1|1.0x7) ' t.svg)" 3 \
		"a single frame without a name keeps its address"
	# One kernel has the same name as the host function that launches it.
	cat >colours.py <<'END'
import json, re, sys
import xml.etree.ElementTree as tree

colours = {}
for group in tree.parse("c.svg").getroot().iter("{http://www.w3.org/2000/svg}g"):
    title, rect = (group.find("{http://www.w3.org/2000/svg}" + tag) for tag in ("title", "rect"))
    if title is not None and rect is not None:
        name = title.text.rsplit(" (", 1)[0]
        colours.setdefault(name, set()).add(tuple(map(int, re.findall(r"\d+", rect.get("fill")))))
what = {"blue": lambda c: c[2] > c[0] + 60, "orange": lambda c: c[0] > c[2] + 100}
kind = lambda cs: next((k for k, f in what.items() if cs and all(map(f, cs))), "pale")
mark = "\u200b"
print(kind(colours["twin" + mark]), kind(colours["twin"]), kind(colours["copy HtoD" + mark]) != "pale",
      kind(colours["on CPU" + mark]), sum("[GPU" in name for name in colours))
END
	cat >c.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "twin", "pid": 1, "tid": 1, "ts": 10, "dur": 900},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 11, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "twin", "pid": 0, "tid": 7, "ts": 12, "dur": 400, "args": {"correlation": 1, "device": 0, "stream": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 13, "dur": 1, "args": {"correlation": 2}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 500, "dur": 300, "args": {"correlation": 2, "device": 0, "stream": 7, "bytes": 64}}
]}
END
	xpumerge --gpu c.json -o c.data 2>/dev/null
	cat >xpumerge.cpu <<'END'
#!/bin/sh
"$REAL" "$@" && for last; do :; done && printf 'thread;main;spin 300\n' >>"$last"
END
	chmod +x xpumerge.cpu
	REAL=$XPUMERGE
	export REAL
	XPUMERGE=$PWD/xpumerge.cpu "$fold" --svg -o c.svg c.data 2>log
	is "$(python3 colours.py 2>&1 | tail -n 1)" "blue pale True orange 0" \
		"kernels are blue and have no label, callers are pale, CPU time is orange" ||
		diag "$(cat log)"
else
	skip "flame graphs are XML" "neither flamegraph.pl nor inferno-flamegraph"
fi

# ---- CSV

xpumerge --gpu t.json --csv --table launch_sites -o sites.csv 2>/dev/null
xpumerge --gpu t.json --csv --table kernels -o kernels.csv 2>/dev/null
xpumerge --gpu t.json --json --table kernels -o kernels.json 2>/dev/null
cat >check.py <<'END'
import csv, json

rows = [list(csv.DictReader(open(f, newline=""))) for f in ("kernels.csv", "sites.csv")]
names = [r["name"] for r in rows[0]]
exact = [r["name"] for r in json.load(open("kernels.json"))["kernels"]]
formulas = [c for t in rows for r in t for c in r.values() if c[:1] in ("=", "+", "-", "@", "\t", "\r")]
print(len(names), len(formulas), sum(n.startswith("'") for n in names),
      sum(n.startswith("'") and n[1:] in exact for n in names), sum(n in exact for n in names))
END
# Eight kernels for each of 15 names: 5 names are formulas, one of them after a control character,
# which JSON may contain and CSV may not. Two more names contain control characters.
is "$(python3 check.py 2>&1 | tail -n 1)" "120 0 40 32 64" \
	"table cells that begin like a formula are quoted with '"
done_testing
