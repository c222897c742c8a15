#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpuload.read() of the Python package. Each table has the columns and values that xpumerge --csv
# prints, and the schema in doc/schema describes all tables of xpumerge --json. Pages, timelines and
# differences are written, and errors name their cause.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
use_package
gen="$XPU_BUILD/gen_data"
schema=$XPU_SRC/doc/schema/summary.schema.json

"$gen" -o a.data --launches 900 --threads 4 --procs 2 --memcpy-every 5 --api --gpus 2
"$gen" -o b.data --launches 1200 --threads 4 --memcpy-every 5
"$gen" -o lossy.data --launches 700 --threads 2 --lose-launch 7 --lose-record 9
printf '%s\n' "#!/bin/sh" "proc 1" "exit 1 900" "record 1 10 1" \
	"MADE DEVICE 0 0x1000 4096 1 1" "FAILED DEVICE 0 500 8192 2 1" |
	sed 1d | "$XPU_BUILD/gen_memory" memory.data
cp "$XPU_SRC"/test/t1/corpus/*.xpu .

# The schema and the program agree on tables, columns and their order, and types of all values.
xpumerge a.data --csv >a.csv 2>/dev/null
xpumerge --table none a.data 2>&1 | sed 's/.*: expected //; s/,//g; s/ or / /' | tr ' ' '\n' >names
cat >schema.py <<'END'
"""schema.py SCHEMA NAMES CSV JSON...: checks xpumerge's output by the schema"""
import json
import sys

schema = json.load(open(sys.argv[1]))["properties"]
names = open(sys.argv[2]).read().split()
columns = {block.split("\n")[0]: block.split("\n")[1].split(",")
           for block in open(sys.argv[3]).read().strip("\n").split("\n\n")}
assert sorted(columns) == sorted(names) and len(names) > 15, (sorted(columns), names)
assert list(columns) + ["account"] == [*list(schema)[1:], "account"], list(schema)
for table in columns:
    of = schema[table]["items"]
    assert columns[table] == list(of["properties"]) == of["required"], table

KINDS = {"string": lambda v: isinstance(v, str), "null": lambda v: v is None,
         "integer": lambda v: type(v) is int, "number": lambda v: type(v) in (int, float)}
nr = 0
for path in sys.argv[4:]:
    tables = json.load(open(path))
    assert set(tables) <= set(schema), path
    for name, rows in tables.items():
        of = schema[name].get("items", schema[name])
        for row in [rows] if name == "account" else rows:
            assert set(of["required"]) <= set(row), (path, name, row)
            for key, value in row.items():
                kind = of["properties"].get(key) or of["additionalProperties"]
                kinds = kind["type"] if isinstance(kind["type"], list) else [kind["type"]]
                assert any(KINDS[k](value) for k in kinds), (path, name, key, value)
                nr += 1
print("fine" if nr > 2000 else nr)
END
for file in *.data *.xpu; do
	xpumerge "$file" --json >"$file.json" 2>"$file.log" || grep -q 'xpumerge' "$file.log" ||
		rm "$file.json"
done
is "$(python3 schema.py "$schema" names a.csv ./*.json 2>&1 | tail -n 1)" fine \
	"doc/schema has the tables, columns and types of xpumerge --json and --csv"
sed 's/"median_ns": {"type": \["integer", "null"\]}/"median_ns": {"type": "string"}/' "$schema" \
	>wrong.json
unlike "$(python3 schema.py wrong.json names a.csv ./a.data.json 2>&1)" '^fine' \
	"a schema with a wrong type is found"

python "every table has the rows of xpumerge --csv, as named tuples" <<'END'
import csv
import io
import subprocess
import xpuload
from xpuload import _programs

nr = 0
for name in ("a.data", "b.data", "memory.data"):
    r = xpuload.read(name)
    for table in r.tables:
        rows = getattr(r, table)
        text = subprocess.run([_programs.find("xpumerge"), name, "--table", table, "--csv"],
                              capture_output=True).stdout.decode()
        want = list(csv.reader(io.StringIO(text)))
        assert list(rows.columns) == want[0], (table, rows.columns, want[0])
        assert len(rows) == len(want) - 1, (name, table)
        for row, cells in zip(rows, want[1:]):
            for value, cell in zip(row, cells):
                same = float(value) == float(cell) if type(value) is float else \
                    ("" if value is None else str(value)) == cell
                assert same, (table, value, cell)
                nr += 1
    assert [row.total_ns for row in r.kernels] == [row["total_ns"] for row in r.kernels.to_dicts()]
assert nr > 800, nr
r = xpuload.read("a.data")
assert r.paths == r.launch_sites and r.paths.name == "launch_sites"
assert xpuload.read("memory.data").memory.name == "memory_holders"
assert "kernels" in dir(r) and "paths" in dir(r)
assert sum(row.instances for row in r.kernels) + sum(row.count for row in r.memory_time) == 900
END

python "xpumerge and the package have the same account, losses and filters" <<'END'
import xpuload


def pids():
    return [row.pid for row in xpuload.read("a.data").processes]


assert xpuload.read("a.data").account == \
    {"launches": 900, "matched": 900, "unmatched": 0, "lost": 0}
r = xpuload.read("lossy.data")
assert r.account["lost"] > 0 and r.account["launches"] > r.account["matched"], r.account
assert r.losses[0].startswith("launches ") and len(r.losses) > 1, r.losses
assert xpuload.read("a.data", "b.data").account["launches"] == 2100
nr = [sum(row.instances for row in xpuload.read("a.data", pid=pid).kernels) for pid in pids()]
assert len(nr) == 2 and min(nr) > 0 and sum(nr) == 817, nr
assert sum(row.instances for row in xpuload.read("a.data", pid=pids()).kernels) == 817
try:
    xpuload.read("a.data", from_="10s").kernels
except xpuload.XpuloadError as e:
    assert "nothing in the recording matches --from 10s" in str(e), e
else:
    raise AssertionError("a filter that nothing passes is no error")
html = r._repr_html_()
assert html.index("launches ") < html.index("<table>") and "kernel" in html, html
END

python "launches has each launch, with its path and all its device work" <<'END'
import xpuload

for name, kinds in (("a.data", ("kernels", "memory_time")), ("lossy.data", ("kernels",))):
    r = xpuload.read(name)
    rows, account = r.launches, r.account
    assert len(rows) == account["launches"], (name, len(rows), account)
    assert sum(row.works > 0 for row in rows) == account["matched"]
    assert all((row.name is None) == (row.works == 0) for row in rows)
    assert [row.time_ns for row in rows] == sorted(row.time_ns for row in rows)
    assert set(row.tid for row in rows) and all(row.path.endswith(row.call) for row in rows)
    if name == "a.data":
        assert sum(row.device_ns for row in rows) == \
            sum(row.total_ns for kind in kinds for row in r.table(kind))
        assert {row.pid for row in rows} == {row.pid for row in r.processes}
        assert sum(site.total_ns for site in r.paths) == sum(row.device_ns for row in rows)
END

python "pages, timelines and differences are written" <<'END'
import json
import os
import xpuload

a, b = xpuload.read("a.data"), xpuload.read("b.data")
for name in ("a.html", "a.pb.gz", "a.folded", "-odd.folded"):
    path = a.flamegraph(name)
    assert os.path.getsize(path) > 500, path
assert json.load(open(a.timeline("a.json")))
os.path.getsize(a.timeline("a.pftrace"))
rows = a.diff(b)
assert rows and all(row.change_ns == row.after_ns - row.before_ns for row in rows)
assert abs(rows[0].change_ns) == max(abs(row.change_ns) for row in rows) > 0
assert not any(row.change_ns for row in a.diff("a.data"))
assert os.path.getsize(a.diff(b, "diff.html")) > 500
END

cp a.data private.data && chmod 0 private.data
printf garbage >garbage.data
python "errors say what is wrong" <<'END'
import os
import xpuload


def refused(text, fn):
    try:
        fn()
    except xpuload.XpuloadError as e:
        assert text in str(e), e
    else:
        raise AssertionError("no error: " + text)


r = xpuload.read("a.data")
refused("nothing.data: there is no such recording", lambda: xpuload.read("nothing.data"))
refused("needs the name", lambda: xpuload.read())
refused("expected None, 'pandas' or 'arrow'", lambda: xpuload.read("a.data", frame="R"))
refused("garbage.data", lambda: xpuload.read("garbage.data").account)
refused("there is no table nonsense; the tables are kernels, ", lambda: r.table("nonsense"))
refused("--no-such-option", lambda: xpuload.read("a.data", no_such_option=1).account)
refused("a.txt: expected a name that ends in .html", lambda: r.flamegraph("a.txt"))
refused("a.html: expected a name that ends in .json", lambda: r.timeline("a.html"))
refused("no/a.html", lambda: r.flamegraph("no/a.html"))
refused("two recordings", lambda: r.diff(xpuload.read("a.data", "b.data")))
try:
    r.nonsense
except AttributeError as e:
    assert "nonsense" in str(e)
else:
    raise AssertionError("an unknown attribute is no error")
os.environ["XPULOAD_TREE"] = "/nowhere"
refused("xpumerge is missing in /nowhere: install", lambda: xpuload.read("a.data").account)
END

# Debian's python3-pandas works only with Debian's own Python.
frames=
for one in python3 /usr/bin/python3; do
	[ -n "$frames" ] || ! "$one" -c 'import pandas' 2>/dev/null || frames=$one
done
if [ -n "$frames" ]; then
	python=$frames
	python "DataFrames have the rows, and integers where a cell may be unknown" <<'END'
import pandas
import xpuload

r = xpuload.read("a.data", frame="pandas")
rows = xpuload.read("a.data")
for table in rows.tables:
    frame = getattr(r, table)
    assert list(frame.columns) == rows.table(table).columns, table
    assert len(frame) == len(rows.table(table)), table
assert r.kernels.total_ns.tolist() == [row.total_ns for row in rows.kernels]
assert not len(r.nvtx_ranges) and str(r.nvtx_ranges.gpu_ns.dtype) == "Int64"
assert r.processes["rank"].isna().all() and str(r.processes["rank"].dtype) == "Int64"
assert r.kernels.name.str.startswith("site").all(), r.kernels.name
END
	python=
else
	skip "DataFrames" "no pandas: apt-get install python3-pandas"
fi
if python3 -c 'import pyarrow' 2>/dev/null; then
	python "Arrow tables have the rows" <<'END'
import xpuload

rows, r = xpuload.read("a.data"), xpuload.read("a.data", frame="arrow")
for table in rows.tables:
    assert r.table(table).to_pylist() == rows.table(table).to_dicts(), table
END
else
	skip "Arrow tables" "no pyarrow"
fi
python "without pandas and pyarrow, frames name the missing package" <<'END'
import sys
import xpuload

sys.modules["pyarrow"] = sys.modules["pandas"] = None
r = xpuload.read("a.data")
for ask, name in ((r.kernels.to_arrow, "pyarrow"), (r.kernels.to_pandas, "pandas"),
                  (lambda: xpuload.read("a.data", frame="pandas").kernels, "pandas")):
    try:
        ask()
    except xpuload.XpuloadError as e:
        assert "pip install " + name in str(e), e
    else:
        raise AssertionError("no error without " + name)
END
done_testing
