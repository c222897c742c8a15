#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""windows_truth.py XPUMERGE SHAPE FILES TRUTH [TOOL SOURCES]: compares time windows with the truth
from gen_windows

Merges windows of 1 s over the whole recording, and of 100 ms and 10 ms over a part of it, in
several formats. For each kind of time span, a line has the truth and the result, of all windows
together and of the window with the largest error. With TOOL, which is html_stretch.js, it also
compares some stretches of the html page with windows of the same bounds. A line ends in WRONG if a
window is off by more than 1 %, or a count by one, if formats differ, if adjacent windows do not add
up to the whole, or if a stretch differs by a ns.
"""
import csv
import glob
import json
import os
import shutil
import subprocess
import sys

import html_folded

KINDS = ("kernel", "memcpy", "node", "call", "wait", "range", "off", "cpu")
MS = 1000000
SIZES = ((1000 * MS, 0, 4000 * MS), (100 * MS, 1000 * MS, 2500 * MS),
         (10 * MS, 1930 * MS, 2130 * MS))

merge, shape, files, truth_file = sys.argv[1:5]
tool, sources = sys.argv[5:7] or (None, None)
unparquet = os.path.join(os.path.dirname(merge), "unparquet")
bytes_of = {}


def run(*args):
    got = subprocess.run([merge, *files.split(), *args], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    assert got.returncode in (0, 1), (args, got.stderr)
    return got.stdout.decode()


def add(sums, kind, ns, nr=0):
    old = sums.get(kind, (0, 0))
    sums[kind] = (old[0] + ns, old[1] + nr)


def kind_of_leaf(leaf):
    for label, kind in (("[GPU_Memcpy]", "memcpy"), ("[GPU_Kernel]", None), ("[Off_CPU]", "off"),
                        ("[GPU_Wait]", "wait")):
        if leaf.startswith(label):
            return kind or leaf[len(label):]
    return "cpu"


def folded(window):
    sums = {}
    for unit in ("ns", "count"):
        for line in run("--waits", "-f", "folded", "--unit", unit, *window).splitlines():
            path, value = line.rsplit(" ", 1)
            add(sums, kind_of_leaf(path.rsplit(";", 1)[1]), int(value) * (unit == "ns"),
                int(value) * (unit == "count"))
    return sums


def tables(window):
    sums, all_tables = {}, json.loads(run("--json", "--limit", "0", *window) or "{}")
    for row in all_tables.get("kernels", []):
        add(sums, row["name"], row["total_ns"], row["instances"])
        # The average covers whole kernels; it is unknown if no kernel began in this window.
        assert row["avg_ns"] == (lengths["kernel"] if row["instances"] else None), row
    for row in all_tables.get("memory_time", []):
        add(sums, "memcpy", row["total_ns"], row["count"])
    for row in all_tables.get("memory_size", []):
        assert row["total_bytes"] == 1000 * row["count"] == 1000 * sums["memcpy"][1], row
    for row in all_tables.get("api_calls", []):
        add(sums, "call", row["total_ns"], row["calls"])
    for row in all_tables.get("nvtx_ranges", []):
        if row["range"] == "range":
            add(sums, "range", row["total_ns"], row["instances"])
        else:
            assert (row["gpu_ns"], row["gpu_ops"]) == sums["kernel"], row
    for row in all_tables.get("cpu_functions", []):
        add(sums, "cpu", row["total_ns"], row["samples"])
    device = [sums.get(kind, (0, 0)) for kind in ("kernel", "memcpy", "node")]
    device = tuple(sum(column) for column in zip(*device))
    for name, count in (("devices", "count"), ("streams", "count"), ("launch_sites", "instances")):
        rows = all_tables.get(name, [])
        assert (sum(r["total_ns"] for r in rows),
                sum(r[count] for r in rows)) == device, (name, rows, device)
    for row in all_tables.get("launch_sites", []):
        assert row["avg_ns"] == (lengths["kernel"] if row["instances"] else None), row
    return sums


def html(window):
    """Returns the page's cells, whose bins of time must have the same sums."""
    sums, page = {}, page_of(window)
    for unit, column in (("ns", 0), ("nr", 1)):
        for names, value in html_folded.stacks(page, unit):
            add(sums, kind_of_leaf(names[-1]), value * (column == 0), value * (column == 1))
    return sums


def page_of(window):
    return run("-f", "html", *window)


def chrome(window):
    sums = {}
    for event in json.loads(run("-f", "chrome", *window))["traceEvents"]:
        kind = {"api": "call", "nvtx": "range",
                "kernel": event["name"]}.get(event.get("cat"), event.get("cat"))
        if event["ph"] == "X" and kind in KINDS:
            add(sums, kind, round(event["dur"] * 1000))
    return sums


def perf(window):
    """Returns the events of perf's text: periods of samples, and durations of device work."""
    sums, event, ns = {}, "", 0
    for line in run("-f", "perf", *window).splitlines():
        words = line.split()
        if line.endswith(":"):
            event, ns = {"cpu-clock": "cpu", "off-cpu": "off",
                         "gpu-wait": "wait"}.get(words[-1][:-1], ""), int(words[-2])
        elif ns and words:
            leaf = line.split(" ", 1)[1].rsplit(" (", 1)[0]
            add(sums, event or kind_of_leaf(leaf), ns)
            ns = 0
    return sums


def parquet(window):
    """Returns rows of the tables for query engines; the window cuts their durations, too."""
    sums = {}
    shutil.rmtree("tables", ignore_errors=True)
    run("-o", "tables/", *window)
    for file in glob.glob("tables/**/*.parquet", recursive=True):
        table = file.split(os.sep)[1].split(".")[0]
        text = subprocess.run([unparquet, file], stdout=subprocess.PIPE, check=True).stdout.decode()
        for line in csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
            kind = {"calls": "call", "ranges": "range", "samples": "cpu"}.get(table)
            if table == "device":
                kind = line["name"] if line["kind"] == "kernel" else line["kind"]
            elif table == "waits":
                kind = "wait" if line["kind"] == "gpu_wait" else "off"
            if kind:
                add(sums, kind, int(line["period_ns" if kind == "cpu" else "duration_ns"]))
                bytes_of[kind] = bytes_of.get(kind, 0) + \
                    (int(line["bytes"]) if (line.get("bytes") or "").isdigit() else 0)
    return sums


def of_window(spans, begin, end):
    ns = nr = 0
    for a, b in spans:
        ns += max(0, min(b, end) - max(a, begin))
        nr += begin <= a < end
    return ns, nr


def stretches(parts):
    """Yields what the page's modules find in each selected stretch, and the matching window."""
    for part, stretch in zip(parts, html_folded.stretches(tool, sources, page_of(()), parts)):
        window = ("--from", f"{max(stretch['from'], 0)}ns", "--to", f"{stretch['to']}ns")
        names = {"off_cpu": "off", "gpu_wait": "wait"}
        yield part, window, {names.get(kind, kind): tuple(sum)
                             for kind, sum in stretch["sums"].items()}, \
            {names.get(kind, kind): ns for kind, ns in stretch["rows"].items()}


def row(words, kind, true, got, worst, wrong):
    percent = lambda got, true: 100 * (got - true) / true if true else 0 if not got else 100
    print(f"{shape:6} {words:18} {kind:6} | {true[0] / 1e6:10.3f} ms {true[1]:6} | "
          f"{got[0] / 1e6:10.3f} ms {got[1]:6} | "
          f"{worst[0]:22} | {worst[1] / 1e6:9.4f} ms | {worst[2] / 1e6:9.4f} ms | "
          f"{percent(worst[2], worst[1]):7.3f} %"
          f"{' WRONG: ' + wrong if wrong else ''}")


READERS = {"html": html, "tables": tables, "folded": folded, "chrome": chrome, "perf": perf}
LACKS = {"html": ("call", "range"), "tables": ("wait", "off"), "folded": ("call", "range"),
         "chrome": ("wait", "off", "cpu"), "perf": ("call", "range"), "parquet": ()}
NO_COUNTS = {"html": (), "tables": (), "folded": ("cpu", "off", "wait"), "chrome": KINDS,
             "perf": KINDS,
             "parquet": KINDS}

lengths = {}
truth = {kind: [] for kind in KINDS}
for line in open(truth_file, encoding="ascii"):
    name, *_, a, b = line.split()
    if name not in truth:		# memory
        continue
    lengths[name] = int(b) - int(a)
    # A CPU sample stands for 1 ms.
    step = MS if name == "cpu" else lengths[name]
    truth[name] += [(at, at + step) for at in range(int(a), int(b), step)]


def of(result, kind):
    return result["tables" if kind in LACKS["html"] else "html"].get(kind, (0, 0))


def differs(result, kind):
    """Returns the format that differs from the other formats, or None."""
    ns, nr = of(result, kind)
    for name, sums in result.items():
        mine = sums.get(kind, (0, 0))
        if kind not in LACKS[name] and (mine[0] != ns or (kind not in NO_COUNTS[name] and
                                                          mine[1] != nr)):
            return f"{name} has {mine}, others {ns, nr}"
    return None


def read(window, more=()):
    return {name: reader(window) for name, reader in (*READERS.items(), *more)}


whole = read(())
for size, first, last in SIZES:
    windows = [(at, at + size) for at in range(first, last, size)]
    more = (("parquet", parquet),) if len(windows) < 10 else ()
    results = [read(("--from", f"{begin}ns", "--to", f"{end}ns"), more) for begin, end in windows]
    rest = [read(window) for window in
            ([("--to", f"{first}ns")] if first else []) + [("--from", f"{last}ns")]]
    for kind in KINDS:
        wrong, worst, all_true, all_got = differs(whole, kind) or "", None, [0, 0], [0, 0]
        for (begin, end), result in zip(windows, results):
            true, got = of_window(truth[kind], begin, end), of(result, kind)
            error = abs(got[0] - true[0])
            if error > 0.01 * true[0]:
                wrong = wrong or f"{begin}-{end}: {got[0]} of {true[0]} ns"
            # A wait counts once for each piece of device work that it waits for. In a sum of short
            # waits, each short wait counts.
            if kind != "wait" and abs(got[1] - true[1]) > (kind == "off" and 0.01 * true[1] + 1):
                wrong = wrong or f"{begin}-{end}: {got[1]} of {true[1]}"
            wrong = wrong or (differs(result, kind) or "") and \
                f"{begin}-{end}: {differs(result, kind)}"
            if not worst or error > abs(worst[2] - worst[1]):
                worst = (f"{begin / MS:g}-{end / MS:g} ms", true[0], got[0])
            all_true, all_got = ([x + y for x, y in zip(*pair)]
                                 for pair in ((all_true, true), (all_got, got)))
        for k in range(2):
            added = all_got[k] + sum(of(r, kind)[k] for r in rest)
            if added != of(whole, kind)[k]:
                wrong = wrong or f"all windows have {added} of {of(whole, kind)[k]}"
        row(f"{len(windows)} of {size // MS} ms", kind, all_true, all_got, worst, wrong)

if bytes_of["memcpy"] != 1000 * len(truth["memcpy"]):
    print(f"{shape}: {bytes_of} bytes in the tables of all windows WRONG")

for part, window, cells, lines in stretches(("0-0.3", "0.3-0.5", "0.5-0.505", "0.505-1")) \
        if sources else ():
    merged = html(window)
    for kind in KINDS:
        if kind in LACKS["html"]:
            continue
        got, want = cells.get(kind, (0, 0)), merged.get(kind, (0, 0))
        wrong = "" if got == want else "the page differs"
        # The overview has a line for each thread and for each device.
        if kind in ("cpu", "off", "wait") and lines.get(kind, 0) != want[0]:
            wrong = f"the overview has {lines.get(kind, 0)}"
        words = " ".join(window)[7:].replace("ns --to ", "-")
        row(f"stretch {part}", kind, want, got, (words, want[0], got[0]), wrong)
