#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""windows_parts.py XPUMERGE SHAPE FILES TRUTH [TOOL SOURCES]: compares time windows with the truth
from gen_windows

Does what windows_truth.py does, for recordings with one kind of data: memory, PC samples, waits in
NCCL kernels, capture windows. For each quantity and window length, a line has the number of
comparisons, the sums of truth and result, and the largest error. It ends in WRONG with the first
comparison that failed, if one failed.
"""
import csv
import glob
import json
import os
import shutil
import subprocess
import sys

import html_folded

MS = 1000000
TICK = 10000
LAST, END = 3950 * MS, 4000 * MS
SIZES = ((1000 * MS, 0, END), (100 * MS, 1000 * MS, 2500 * MS), (10 * MS, 1930 * MS, 2030 * MS))

merge, shape, files, truth_file = sys.argv[1:5]
tool, sources = sys.argv[5:7] or (None, None)
unparquet = os.path.join(os.path.dirname(merge), "unparquet")
truth = [line.split() for line in open(truth_file, encoding="ascii")]
if shape == "memory":		# for several files, the truth has other kinds, too
    truth = [words for words in truth if words[0] in ("memory", "graphs")]
truth = [(*words[:-2], int(words[-2]), int(words[-1])) for words in truth]


def run(*args):
    got = subprocess.run([merge, *files.split(), *args], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    assert got.returncode in (0, 1), (args, got.stderr)
    return got.stdout.decode()


def tables(window):
    return json.loads(run("--json", "--limit", "0", *window) or "{}")


def folded(window, *args):
    """Returns the lines of folded stacks: (frames, value)."""
    for line in run("-f", "folded", *args, *window).splitlines():
        path, value = line.rsplit(" ", 1)
        yield path.split(";"), int(value)


def page_of(window, *args):
    return html_folded.data_of(run("-f", "html", *args, *window))


def page_cells(window):
    page = run("-f", "html", *window)
    return html_folded.stacks(page, "ns")


def parquet(window, table):
    shutil.rmtree("tables", ignore_errors=True)
    run("-o", "tables/", *window)
    for file in glob.glob(f"tables/{table}*/**/*.parquet",
                          recursive=True) + glob.glob(f"tables/{table}*.parquet"):
        text = subprocess.run([unparquet, file], stdout=subprocess.PIPE, check=True).stdout.decode()
        yield from csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def chrome(window):
    return json.loads(run("-f", "chrome", *window))["traceEvents"]


def options(begin, end):
    return ("--from", f"{begin}ns", "--to", f"{end}ns")


def overlap(a, b, begin, end):
    return max(0, min(b, end) - max(a, begin))


class Quantity:
    """The sum of one quantity over all windows of one length, and its largest error."""

    def __init__(self, length, name, unit, limit=0.01):
        self.words, self.unit, self.limit = f"{shape:8} {length // MS:5} ms {name:34}", unit, limit
        self.nr = self.true = self.got = self.worst = 0
        self.wrong = ""

    def compare(self, what, got, true, slack=0):
        self.nr, self.true, self.got = self.nr + 1, self.true + true, self.got + got
        error = abs(got - true)
        self.worst = max(self.worst, error)
        if error > self.limit * true + slack:
            self.wrong = self.wrong or f"{what}: {got}, not {true}"

    def same(self, what, got, want):
        self.nr += 1
        if got != want:
            self.wrong = self.wrong or f"{what}: {got}, not {want}"

    def close(self):
        print(f"{self.words} | {self.nr:5} compared | {self.true:14} {self.unit:5} | {self.got:14} "
              f"| "
              f"worst {self.worst:10}{' WRONG: ' + self.wrong if self.wrong else ''}")


def windows(size, first, last):
    """Returns adjacent windows, and the windows before and after them."""
    cut = [(at, at + size) for at in range(first, last, size)]
    return ([(0, first)] if first else []) + cut + ([(last, END)] if last < END else [])


# ---- memory --------------------------------------------------------------------------------------

def level(at):
    """Returns the memory held after the events at that time, by path, and by graphs."""
    by = {}
    for kind, nr, path, begin, end in truth:
        if begin <= at < end:
            by[kind, path] = by.get((kind, path), 0) + int(nr)
    return by


def peak(begin, end):
    best = (0, 0, {})
    for at in sorted({begin} | {t for row in truth for t in row[3:] if begin <= t < end}):
        by = level(at)
        if sum(by.values()) > best[0]:
            best = (sum(by.values()), at, by)
    return best


def memory():
    modes = "allocated", "live", "leaked"
    api = {"cuLaunchKernel": ("memory", "1"), "cuMemcpyHtoDAsync": ("memory", "2"),
           "cuGraphLaunch": ("memory", "3"),
           "[CUDA graphs]": ("graphs", "0")}
    key = lambda frames: api[next(f for f in frames if f in api)]
    for size, first, last in SIZES:
        peaks = Quantity(size, "peak: JSON", "bytes", 0)
        made = Quantity(size, "allocated, live, leaked", "bytes", 0)
        by_path = Quantity(size, "peak: folded stacks by path", "bytes", 0)
        others = Quantity(size, "peak: html, chrome, Parquet's rows", "bytes", 0)
        all_kinds = {}
        for begin, end in windows(size, first, last):
            words, window = f"{begin}-{end}", options(begin, end)
            true, at, by = peak(begin, end)
            got = tables(window)
            # Each file of a recording has its own peak.
            device = max(got["memory_devices"] or [{"used_peak": 0, "used_peak_ns": 0}],
                         key=lambda d: d["used_peak"])
            peaks.compare(words, device["used_peak"], true)
            peaks.same(f"{words} at", device["used_peak_ns"], at)
            peaks.same(f"{words} moment", [r["used"] for r in got["memory_moments"] if r["used"]],
                       [true] if true else [])
            peaks.same(f"{words} holders", {key(r["path"].split(";")): r["held_bytes"]
                                            for r in got["memory_holders"]},
                       {k: v for k, v in by.items() if v})
            held = {}
            for path, value in folded(window, "--memory", "peak"):
                held[key(path)] = held.get(key(path), 0) + value
            by_path.compare(words, sum(held.values()), true)
            by_path.same(words, held, {k: v for k, v in by.items() if v})
            # The page shows the peak in its header, a timeline shows all levels.
            page = page_of(window)
            others.compare(f"{words} html", (page["sides"][0]["peak"] or {}).get("used", 0), true)
            levels = [(round(e["ts"] * 1000), e["args"]["value"]) for e in chrome(window)
                      if e["ph"] == "C" and "memory used" in e["name"]]
            others.compare(f"{words} chrome", max((v for _, v in levels), default=0), true)
            if size >= 100 * MS:
                rows = [int(r["bytes"]) for r in parquet(window, "allocations")
                        if r["what"] == "made"]
                others.compare(f"{words} Parquet", sum(rows),
                               sum(int(n) for kind, n, _, a, _ in truth if kind == "memory" and
                                   begin <= a < end))
            for mode in modes:
                mine = {}
                for path, value in folded(window, "--memory", mode):
                    mine[tuple(path)] = mine.get(tuple(path), 0) + value
                    all_kinds[mode, tuple(path)] = all_kinds.get((mode, tuple(path)), 0) + value
                want = sum(int(n) for kind, n, _, a, b in truth if kind == "memory" and
                           begin <= a < end and
                           (mode == "allocated" or b == LAST))
                made.compare(f"{words} {mode}", sum(v for k, v in mine.items()), want)
        for mode in "allocated", "leaked":
            for path, value in folded((), "--memory", mode):
                if "[CUDA graphs]" not in path:
                    made.same(f"all windows {mode} {path}", all_kinds.get((mode, tuple(path)), 0),
                              value)
        for quantity in (peaks, by_path, others, made):
            quantity.close()


# ---- PC samples ----------------------------------------------------------------------------------

def place_name(offset):
    return "+0" if offset == "0" else f"+{int(offset):#x}"


def stalls():
    places = {(row[1], place_name(row[2])) for row in truth}
    whole = {(r["kernel"], r["place"]): r["samples"] for r in tables(())["stalls"]}
    for size, first, last in SIZES:
        samples = Quantity(size, "samples: JSON", "", 0.01)
        time = Quantity(size, "kernels' time by place: folded", "ns", 0.01)
        html = Quantity(size, "samples, time by place: html", "", 0)
        sums = {}
        for begin, end in windows(size, first, last):
            words, window = f"{begin}-{end}", options(begin, end)
            true = {place: 0 for place in places}
            for _, kernel, offset, a, b in truth:
                true[kernel, place_name(offset)] += overlap(a, b, begin, end)
            got = {(r["kernel"], r["place"]): r["samples"]
                   for r in tables(window).get("stalls", [])}
            page = {}
            rows = page_of(window)["sides"][0]["stalls"]
            for kernel, place, nr in zip(rows["kernel"], rows["place"], rows["samples"]):
                key = rows["kernels"][kernel], rows["places"][place]
                page[key] = page.get(key, 0) + nr
            html.same(f"{words} samples", page, got)
            by, kernels = {}, {}
            for path, value in folded(window, "--unit", "ns"):
                at = next(i for i, f in enumerate(path) if f.startswith("[GPU_Kernel]"))
                name = path[at][len("[GPU_Kernel]"):]
                by[name, path[at + 1]] = by.get((name, path[at + 1]), 0) + value
                kernels[name] = kernels.get(name, 0) + value
            cells = {}
            for names, value in page_cells(window):
                at = next(i for i, f in enumerate(names) if f.startswith("[GPU_Kernel]"))
                cells[names[at][len("[GPU_Kernel]"):], names[at + 1]] = \
                    cells.get((names[at][len("[GPU_Kernel]"):], names[at + 1]), 0) + value
            html.same(f"{words} time", cells, by)
            # At each edge of a window, each read may count one sample per kernel on the wrong side.
            for place, ns in true.items():
                samples.compare(f"{words} {place}", got.get(place, 0), ns // TICK, 4)
                time.compare(f"{words} {place}", by.get(place, 0), ns, 4 * TICK)
                sums[place] = sums.get(place, 0) + got.get(place, 0)
            for kernel in {place[0] for place in places}:
                time.same(f"{words} {kernel}", kernels.get(kernel, 0),
                          sum(overlap(r[3], r[4], begin, end) for r in truth if r[1] == kernel))
        samples.same("all windows", sums, whole)
        for quantity in (samples, time, html):
            quantity.close()


# ---- waits in NCCL's kernels ---------------------------------------------------------------------

def nccl_sums(lines):
    sums = {}
    for path, value in lines:
        if "ncclDevKernel" in path[-1] or path[-1] == "[NCCL_Wait]":
            gpu = next(f for f in path if f.startswith("[GPU"))[4]
            key = ("nccl_wait" if path[-1] == "[NCCL_Wait]" else "nccl", gpu)
            sums[key] = sums.get(key, 0) + value
    return sums


def nccl():
    whole = nccl_sums(folded((), "--unit", "ns"))
    keys = {(row[0], row[1]) for row in truth}
    for size, first, last in SIZES:
        time = Quantity(size, "waits and transfers: folded", "ns", 0)
        html = Quantity(size, "html", "ns", 0)
        sums = {}
        for begin, end in windows(size, first, last):
            words, window = f"{begin}-{end}", options(begin, end)
            got = nccl_sums(folded(window, "--unit", "ns"))
            page = nccl_sums(page_cells(window))
            for kind in ("nccl", "nccl_wait"):
                html.compare(f"{words} {kind}", sum(v for k, v in page.items() if k[0] == kind),
                             sum(v for k, v in got.items() if k[0] == kind))
            for key in sorted(keys):
                time.compare(f"{words} {key}", got.get(key, 0),
                             sum(overlap(r[2], r[3], begin, end) for r in truth if r[:2] == key))
                sums[key] = sums.get(key, 0) + got.get(key, 0)
        time.same("all windows", sums, whole)
        time.close()
        html.close()
    # The page of the whole recording knows how much of each stretch was a wait.
    for parts in (("0-0.3", "0.3-0.5", "0.5-0.505", "0.505-1"),
                  [f"{nr / 40}-{(nr + 1) / 40}" for nr in range(40)]):
        picked = Quantity(END // len(parts), "html: stretches that are picked", "ns", 0)
        for stretch in html_folded.stretches(tool, sources, run("-f", "html"), parts) \
                if tool else ():
            begin, end = stretch["from"], stretch["to"]
            for kind, name in (("nccl", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                               ("nccl_wait", "[NCCL_Wait]")):
                picked.compare(f"{begin}-{end} {kind}", stretch["sums"].get(name, (0, 0))[0],
                               sum(overlap(r[2], r[3], begin, end) for r in truth if r[0] == kind))
        if tool:
            picked.close()


# ---- capture windows -----------------------------------------------------------------------------

def captured():
    numbers = sorted({row[1] for row in truth})
    for size, first, last in ((1000 * MS, 0, END), (100 * MS, 1000 * MS, 1500 * MS)):
        work = Quantity(size, "kernels of a capture window", "ns", 0)
        share = Quantity(size, "recorded time", "ns", 0)
        sums = {}
        for begin, end in windows(size, first, last):
            for number in numbers:
                words = f"{begin}-{end}, window {number}"
                window = ("--window", number, *options(begin, end))
                spans = [r[2:] for r in truth if r[:2] == ("captured", number)]
                true = sum(overlap(a, b, begin, end) for a, b in spans)
                nr = sum(begin <= a < end for a, _ in spans)
                got = tables(window)
                rows = got.get("kernels", [])
                work.compare(words, sum(r["total_ns"] for r in rows), true)
                work.same(f"{words} count", sum(r["instances"] for r in rows), nr)
                work.same(f"{words} folded", sum(v for _, v in folded(window, "--unit", "ns")),
                          true)
                work.same(f"{words} html", sum(v for _, v in page_cells(window)), true)
                work.same(f"{words} chrome", sum(round(e["dur"] * 1000) for e in chrome(window)
                                                 if e["ph"] == "X" and e.get("cat") == "kernel"),
                          true)
                if size >= 100 * MS and number == "3":
                    work.same(f"{words} Parquet",
                              sum(int(r["duration_ns"]) for r in parquet(window, "device")), true)
                sums[number] = sums.get(number, 0) + true
                # A window lasts until its last kernel has ended; shares count only the part that is
                # between begin and end.
                opened = next(r[2:] for r in truth if r[:2] == ("open", number))
                lasts = overlap(opened[0], max([opened[1]] + [b for _, b in spans]), begin, end)
                busy = [line for line in run(*window).splitlines() if "GPU 0 busy" in line]
                percent = float(busy[0].split("GPU 0 busy ")[1].split(" %")[0]) if busy else 0
                share.compare(words, round(percent * 10),
                              round(1000 * true / lasts) if lasts else 0, 1)
        for number in numbers:
            whole = sum(v for _, v in folded(("--window", number), "--unit", "ns"))
            work.same(f"all windows, window {number}", sums[number], whole)
        work.close()
        share.close()


{"memory": memory, "stalls": stalls, "exact": stalls, "nccl": nccl, "captured": captured}[shape]()
