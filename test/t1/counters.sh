#!/bin/sh
# SPDX-License-Identifier: MIT
# Counters of kernels and call paths, with --gpu-metrics, are computed from samples. Each value is
# within its error of the true value. Kernels that always run together share one value. A value that
# the samples do not determine is unknown. diff shows the counters that changed.
. "$XPU_SRC/test/lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is missing"

"$XPU_BUILD/gen_counters" c.data >truth
for t in kernel path gpu; do
	xpumerge -i c.data --json --table ${t}_metrics 2>/dev/null >$t.json
done
for t in kernel path line; do
	xpumerge -i c.data --json --table ${t}_roof 2>/dev/null >${t}_roof.json
done
cat >check.py <<'END'
import json, sys
truth = {l.split()[0]: [float(x) for x in l.split()[1:]] for l in open("truth")}
tables = {t: json.load(open(t + ".json"))[t + "_metrics"] for t in ("kernel", "path", "gpu")}
rows = {r["name"]: r for r in tables["kernel"]}
keys = "tensor_percent", "dram_read_percent"
def near(row, want):
    return all(row[k] is not None and abs(row[k] - w) < 3 * row[k + "_error"] + 0.05
               and row[k + "_error"] < 3 for k, w in zip(keys, want))
def show(*what):
    print("#", *what, file=sys.stderr)
for name in "wide", "narrow":
    print(name, near(rows[name], truth[name]), rows[name]["together"])
    show(name, truth[name], [(rows[name][k], rows[name][k + "_error"]) for k in keys])
pair = [rows[n] for n in ("first", "second")]
a, b = truth["first"], truth["second"]
both = [(x * a[2] + y * b[2]) / (a[2] + b[2]) for x, y in zip(a[:2], b[:2])]
print("pair", near(pair[0], both), all(pair[0][k] == pair[1][k] for k in keys),
      pair[0]["together"] == pair[1]["together"] != None)
show("pair", both, [(pair[0][k], pair[0][k + "_error"]) for k in keys])
print("once", [rows["once"][k] for k in keys], [rows["once"][k + "_error"] for k in keys])
paths = sorted(tables["path"], key=lambda r: r["path"])
wide = next(r for r in paths if r["instances"] == rows["wide"]["instances"])
print("path", all(abs(wide[k] - rows["wide"][k]) < 1e-6 for k in keys), wide["together"])
gpu = {r["metric"]: r for r in tables["gpu"]}
print("check", all(abs(gpu[m]["solved"] - gpu[m]["average"]) < 0.01 * gpu[m]["average"] and
                   gpu[m]["residue"] < 1 for m in ("tensor", "DRAM read")), gpu["clock"]["solved"])
show({m: (gpu[m]["average"], gpu[m]["solved"], gpu[m]["residue"]) for m in gpu})
roof = {t: json.load(open(t + "_roof.json"))[t + "_roof"] for t in ("kernel", "path", "line")}
by_name = {r["name"]: r for r in roof["kernel"]}
def saves(name):
    row, want = by_name[name], truth[name][3]
    show("saves", name, want, row)
    return abs(row["save_ns"] - want) < 3 * row["save_ns_error"] + 0.001 * want
print("roof", [(n, saves(n), by_name[n]["bound"]) for n in ("wide", "narrow")],
      [by_name["once"][k] for k in ("save_ns", "roof_percent", "bound")])
print("order", [r["name"] for r in roof["kernel"]][0],
      abs(sum(r["save_ns"] or 0 for r in roof["path"]) /
          sum(r["save_ns"] or 0 for r in roof["kernel"]) - 1) < 0.01, len(roof["line"]))
print("clock", rows["wide"]["clock_mhz"], "clock_mhz_error" in rows["wide"])
END
python3 check.py >verdict 2>errors
diag "$(cat truth errors)"
is "$(sed -n 1p verdict)" "wide True None" \
	"a kernel of two shapes has the mean of both shapes, within three times the error"
is "$(sed -n 2p verdict)" "narrow True None" \
	"a kernel that uses no tensor core has 0, within three times its error"
is "$(sed -n 3p verdict)" "pair True True True" \
	"two kernels that always run together share one value and one group number"
is "$(sed -n 4p verdict)" "once [None, None] [None, None]" "a kernel of 2 us has no values"
is "$(sed -n 5p verdict)" "path True None" "a call path has the values of its kernels"
is "$(sed -n 6p verdict)" "check True None" "the values add up to the samples"
is "$(sed -n 7p verdict)" \
	"roof [('wide', True, 'tensor cores'), ('narrow', True, 'DRAM')] [None, None, 'unknown']" \
	"a perfect kernel would save the time in which its busiest unit is idle"
is "$(sed -n 8p verdict)" "order wide True 0" \
	"the kernel with the largest saving is first; savings of call paths have the same total"
is "$(sed -n 9p verdict)" "clock 1500 False" "a clock is an average, and has no error"
xpumerge -i c.data --table kernel_metrics 2>/dev/null >text
like "$(grep narrow text)" '^ +[0-9.]+ .* 0\.[0-9]+\+-[0-9.]+ +[56][0-9.]+\+-.* narrow$' \
	"printed tables show values with their errors"
like "$(grep once text)" 'unknown +unknown +once$' "printed tables show that a value is unknown"
like "$(grep -c 'solved from samples' text)" '^1$' "the table says that its values are computed"
like "$(xpumerge -i c.data 2>/dev/null | sed -n 1,5p)" \
	'^perfect kernels would save 6[0-9]+ ms \+- .* of 1\.7[0-9]* s .*, most in wide \(4[0-9]+ ms \+- ' \
	"the first answer says how much time perfect kernels would save"
xpumerge -i c.data -o c.html 2>/dev/null
like "$(grep -c 'tensor [0-9.]*+-[0-9.]* %' c.html)" '^[1-9]' \
	"the page has values with their errors"

# A recording of bytes and operations, and a recording of bytes and instructions.
for kind in operations instructions; do
	"$XPU_BUILD/gen_counters" $kind.data 60 1 $kind >/dev/null
	xpumerge -i $kind.data --json --table kernel_roof 2>/dev/null >$kind.json
done
cat >operations.py <<'END'
import json
truth = {l.split()[0]: [float(x) for x in l.split()[1:3]] for l in open("truth")}
rows = {r["name"]: r for r in json.load(open("operations.json"))["kernel_roof"]}
def near(row, key, want):
    return abs(row[key] - want) < 3 * row[key + "_error"] + 0.002 * want
def is_true(name):
    tensor, read = truth[name]
    return (near(rows[name], "operations_per_ns", tensor * 1e13 / 1e9) and
            near(rows[name], "operations_per_byte", tensor * 1e13 / ((read + 0.2) * 3e10)))
print([(name, is_true(name)) for name in ("wide", "narrow")])
print([rows["once"][k] for k in ("operations_per_ns", "operations_per_byte")])
print({r["operations_per_byte"] for r in json.load(open("kernel_roof.json"))["kernel_roof"]})
counted = {r["name"]: r for r in json.load(open("instructions.json"))["kernel_roof"]}
print([counted["wide"]["instructions" + k] == rows["wide"]["operations" + k] for k in
       ("_per_byte", "_per_ns", "_per_byte_error", "_per_ns_error")],
      counted["wide"]["operations_per_byte"])
END
python3 operations.py >operations
diag "$(cat operations.json)"
is "$(sed -n 1p operations)" "[('wide', True), ('narrow', True)]" \
	"operations per byte and per ns are true, within three times their errors"
is "$(sed -n 2p operations)" "[None, None]" "a kernel of 2 us: operations are unknown"
is "$(sed -n 3p operations)" "{None}" "operations per byte are unknown if none were recorded"
like "$(xpumerge -i operations.data --table kernel_roof 2>/dev/null | grep 'wide$')" \
	' 75[0-9]\.[0-9]\+-[0-9.]+ +551\.51[0-9]*\+-[0-9.]+ T +unknown +wide$' \
	"printed tables show operations"
is "$(sed -n 4p operations)" "[True, True, True, True] None" \
	"a recording of instructions shows instructions per byte and per ns"
like "$(xpumerge -i instructions.data --table kernel_roof 2>/dev/null | grep 'roof %')" \
	'inst/byte +inst/s' "printed tables say that instructions are counted"
xpumerge -i instructions.data -o instructions.html 2>/dev/null
is "$(sed -n 's/.*"roof":{"mode":"\([a-z]*\)".*"counted":"\([a-z]*\)".*/\1 \2/p' \
	instructions.html)" "operations instructions" "the page says that instructions are counted"

# A logarithm needs a value above 0: without any operation the page has no plot of operations.
"$XPU_BUILD/gen_counters" none.data 60 1 none >/dev/null
for name in operations none; do
	xpumerge -i $name.data -o $name.html 2>/dev/null
	sed -n 's/.*"roof":{"mode":"\([a-z]*\)".*/\1/p' $name.html
done >modes
is "$(tr '\n' ' ' <modes)" "operations none " \
	"a page whose recording has no operations has no plot of operations"

# Several recordings: each piece of work counts once, and a kernel has one value in all of them.
"$XPU_BUILD/gen_counters" apart.data 60 7 apart >truth_apart
"$XPU_BUILD/gen_counters" another.data 60 9 another >truth_another
"$XPU_BUILD/gen_counters" shared.data 60 5 shared >truth_shared
for t in kernel_metrics kernel_roof; do
	xpumerge shared.data shared.data.other --json --table $t 2>/dev/null >shared_$t.json
	xpumerge c.data apart.data --json --table $t 2>/dev/null >apart_$t.json
	xpumerge c.data another.data --json --table $t 2>/dev/null >another_$t.json
done
cat >several.py <<'END'
import json, sys
def truth_of(files):
    sums = {}
    for line in [l.split() for f in files for l in open(f)]:
        tensor, dram, ns, save = (0 if "nan" in x else float(x) for x in line[1:])
        to = sums.setdefault(line[0], [0, 0, 0, 0])
        for i, x in enumerate((tensor * ns, dram * ns, ns, save)):
            to[i] += x
    return {k: [v[0] / v[2], v[1] / v[2], v[2], v[3]] for k, v in sums.items()}
def table(name, of):
    return {r["name"]: r for r in json.load(open(f"{of}_{name}.json"))[name]}
keys = "tensor_percent", "dram_read_percent"
def check(kernels, truths, of):
    truth = truth_of(truths)
    values, roof = table("kernel_metrics", of), table("kernel_roof", of)
    print(truth, values, roof, file=sys.stderr)
    print([n for n in kernels for i, k in enumerate(keys) if values[n][k] is None or
           abs(values[n][k] - truth[n][i]) > 3 * values[n][k + "_error"] + 0.05 or
           values[n][k + "_error"] > 3],
          [abs(roof[n]["save_ns"] / truth[n][3] - 1) < 0.01 for n in ("wide", "narrow")],
          [values[n]["together"] is None for n in ("first", "second")])
check(("wide", "narrow"), ["truth_shared"], "shared")
all_four = "wide", "narrow", "first", "second"
check(all_four, ["truth", "truth_apart"], "apart")
check(all_four, ["truth", "truth_another"], "another")
END
python3 several.py >several 2>errors
diag "$(cat several errors)"
is "$(sed -n 1p several)" "[] [True, True] [False, False]" \
	"simultaneous recordings of one GPU are solved together, and work is counted once"
is "$(sed -n 2p several)" "[] [True, True] [True, True]" \
	"kernels that always run together in one recording are told apart by a second one"
is "$(sed -n 3p several)" "[] [True, True] [True, True]" \
	"a recording of another GPU tells kernels apart that share a value in the first recording"

# Another run: "narrow" reads less from DRAM, and the shapes of "wide" occur in other proportions.
"$XPU_BUILD/gen_counters" d.data 45 7 >truth_d
xpumerge diff c.data d.data --json 2>/dev/null >diff.json
cat >changed.py <<'END'
import json
before, after = ({l.split()[0]: [float(x) for x in l.split()[1:3]] for l in open(f)}
                 for f in ("truth", "truth_d"))
counters = json.load(open("diff.json"))["counters"]
rows = {(r["kernel"], r["counter"]): r for r in counters["changed"]}
def is_true(kernel, metric):
    r, k = rows[kernel, metric], metric != "tensor"
    return (abs(r["after"] - r["before"] - after[kernel][k] + before[kernel][k]) <
            3 * (r["before_error"] + r["after_error"]))
print(is_true("narrow", "DRAM read"))
print([m for k, m in rows if k == "narrow"])
print([key for key in rows if key[1] in ("tensor", "DRAM read") and not is_true(*key)])
print(counters["compared"], counters["unknown"], counters["together"])
END
python3 changed.py >changed
diag "$(cat diff.json)"
is "$(sed -n 1p changed)" True \
	"diff: the change of DRAM read differs from the truth by at most three times its error"
is "$(sed -n 2p changed)" "['DRAM read']" \
	"diff: counters that are equal within their errors are not shown"
is "$(sed -n 3p changed)" "[]" "diff: every change differs from the truth by at most three times its error"
is "$(sed -n 4p changed)" "10 5 10" \
	"diff: values that are unknown, or belong to several kernels together, are not compared"
xpumerge diff c.data d.data 2>/dev/null >text
like "$(grep '^counters of kernels' text)" \
	'10, of which [23] changed by more than chance \(confidence 99\.73 %\), without 5 .* and 10 of' \
	"diff: the text says how many counters were compared, and how many changed"
like "$(grep 'narrow$' text)" '-15\.[0-9]+\+-0\.0[0-9][0-9] +60\..* +45\..* % +DRAM read +narrow$' \
	"diff: the text shows a changed counter with its errors"
old=$XPU_SRC/test/t1/corpus/2.0.xpu
is "$(xpumerge diff "$old" "$old" 2>/dev/null | grep -c '^counters')" 0 \
	"diff: without counters, the text has no table of counters"
done_testing
