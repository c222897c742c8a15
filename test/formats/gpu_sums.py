#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_sums.py FILE... - compare xpumerge --gpu with an own reading of files of AMD's tools

Reads JSON, databases (rocpd) and CSV (PREFIX_kernel_trace.csv, with the files next to it) of
rocprofv3, databases of rocmProfileData, and traces of PyTorch's profiler. Compares the device time
by name, and the number of launches whose device work has their id. The program is $XPUMERGE, or
build/xpumerge. Exit status 1: a file differs.
"""
import collections
import csv
import decimal
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

XPUMERGE = os.environ.get("XPUMERGE", "build/xpumerge")


def ns(us):
    return int((decimal.Decimal(str(us)) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def read_json(j):
    """Yields (name or None for a copy, ns, key of the call), and the keys of calls."""
    for n, p in enumerate(j["rocprofiler-sdk-tool"]):
        names = {k["kernel_id"]: k.get("formatted_kernel_name") or k["kernel_name"]
                 for k in p["kernel_symbols"]}
        b = p["buffer_records"]
        for kind in ("hip_api",):
            for r in b.get(kind, []):
                yield "call", (n, r["correlation_id"]["internal"])
        for kind in ("kernel_dispatch", "memory_copy"):
            for r in b.get(kind, []):
                yield "work", (names.get(r["dispatch_info"]["kernel_id"]) if kind[0] == "k"
                               else None, r["end_timestamp"] - r["start_timestamp"],
                               (n, r["correlation_id"]["internal"]))


def read_kineto(events):
    for e in events:
        args = e.get("args", {})
        if e.get("ph") != "X":
            continue
        start, end = ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0))
        if e.get("cat") in ("cuda_runtime", "cuda_driver"):
            yield "call", args.get("correlation")
        elif e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            yield "work", (e["name"] if e["cat"] == "kernel" else None, end - start,
                           args.get("correlation"))


def read_database(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if "rocpd_api_ops" in tables:
        for i, in db.execute("SELECT id FROM rocpd_api"):
            yield "call", i
        for row in db.execute(
                "SELECT CASE WHEN t.string LIKE 'Copy%' OR t.string LIKE 'Fill%' THEN NULL WHEN "
                "d.string = '' THEN t.string ELSE d.string END, o.end - o.start, a.api_id FROM "
                "rocpd_op o LEFT JOIN rocpd_api_ops a ON a.op_id = o.id JOIN rocpd_string d ON "
                "d.id = description_id JOIN rocpd_string t ON t.id = opType_id GROUP BY o.id"):
            yield "work", row
        return
    for s in [t[len("rocpd_string"):] for t in tables if t.startswith("rocpd_string")]:
        sql = {k: '"rocpd_%s%s"' % (k, s) for k in ("region", "event", "kernel_dispatch", "string",
                                                  "memory_copy", "info_kernel_symbol")}
        for i, in db.execute("SELECT e.stack_id FROM {region} r JOIN {event} e ON e.id = "
                             "r.event_id JOIN {string} s ON s.id = e.category_id WHERE s.string "
                             "LIKE 'HIP%'".format(**sql)):
            yield "call", (s, i)
        for name, length, i in db.execute(
                "SELECT k.display_name, d.end - d.start, e.stack_id FROM {kernel_dispatch} d JOIN "
                "{event} e ON e.id = d.event_id JOIN {info_kernel_symbol} k ON k.id = d.kernel_id "
                "UNION ALL SELECT NULL, c.end - c.start, e.stack_id FROM {memory_copy} c JOIN "
                "{event} e ON e.id = c.event_id".format(**sql)):
            yield "work", (name, length, (s, i))


def read_csv(path):
    prefix = path[:-len("kernel_trace.csv")]
    for kind in ("hip_api_trace", "kernel_trace", "memory_copy_trace"):
        if os.path.exists(prefix + kind + ".csv"):
            for r in csv.DictReader(open(prefix + kind + ".csv")):
                i = int(r["Correlation_Id"])
                if kind == "hip_api_trace":
                    yield "call", i
                else:
                    yield "work", (r.get("Kernel_Name"), int(r["End_Timestamp"]) -
                                   int(r["Start_Timestamp"]), i)


def read(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data.startswith(b"SQLite format 3"):
        with tempfile.NamedTemporaryFile() as f:
            f.write(data)
            f.flush()
            yield from read_database(f.name)
    elif path.endswith(".csv"):
        yield from read_csv(path)
    else:
        j = json.loads(data)
        yield from read_json(j) if "rocprofiler-sdk-tool" in j else read_kineto(
            j if isinstance(j, list) else j["traceEvents"])


def demangled(sums):
    """Adds up the sums of names that are equal in C++; xpumerge shows them without mangling."""
    names = list(sums)
    text = subprocess.run(["c++filt"], input="\n".join(names) + "\n", capture_output=True,
                          text=True, check=True).stdout.splitlines()
    out = collections.Counter()
    for name, clear in zip(names, text):
        out[clear.replace(";", ":")] += sums[name]
    return +out


def main():
    status = 0
    for path in sys.argv[1:]:
        want, calls, works, nr = collections.Counter(), set(), set(), 0
        for what, v in read(path):
            if what == "call":
                calls.add(v)
            else:
                nr += 1
                want[v[0] if v[0] else "[copies and sets]"] += v[1]
                works.add(v[2])
        out = subprocess.run([XPUMERGE, "--gpu", path, "-f", "folded", "--unit", "ns"],
                             capture_output=True, text=True, errors="replace")
        got = collections.Counter()
        for line in out.stdout.splitlines():
            line, value = line.rsplit(" ", 1)
            m = re.search(r";\[GPU[0-9]*_?(Kernel|Memcpy|Memset)\]([^;]*)$", line)
            if m:
                got[m.group(2) if m.group(1) == "Kernel" else "[copies and sets]"] += int(value)
        matched = int(re.search(r"^launches \d+ matched (\d+)", out.stderr, re.M).group(1))
        want, got = demangled(want), demangled(got)
        same = want == got and matched == len(calls & works)
        print("%s %s: %d names, %d pieces of device work, %d ns; launches matched by id %d, "
              "xpumerge %d" % ("ok" if same else "DIFFERS", path, len(want), nr,
                               sum(want.values()), len(calls & works), matched))
        if not same:
            status = 1
            for name in [n for n in want | got if want[n] != got[n]][:5]:
                print("  %d here, %d in xpumerge: %s" % (want[name], got[name], name[:150]))
    sys.exit(status)


main()
