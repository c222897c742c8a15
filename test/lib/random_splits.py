#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""random_splits.py BUILD SEED: compares a randomly split recording with the whole recording

Makes a recording with gen_windows in a random shape, splits it at intervals of a random length, and
compares the results of all parts together with the results of the whole: each table and folded
stacks of each kind, without a window and in a random time window. Prints the recording, and a line
that begins with DIFFERS for each result that differs.
"""
import glob
import json
import random
import subprocess
import sys

build, seed = sys.argv[1], int(sys.argv[2])
merge = f"{build}/xpumerge"
rnd = random.Random(seed)

# Each part has its own rows in these tables: its devices' peaks, its memory growth, its process.
OWN = {"memory_devices", "memory_moments", "memory_leaks", "processes", "streams"}
FOLDED = [("--unit", "ns"), ("--unit", "ns", "--by", "nvtx"), ("--unit", "ns", "--by", "tid"),
          ("--unit", "count")]
FOLDED += [("--memory", mode) for mode in ("live", "leaked", "allocated", "peak", "failed")]


def run(files, *args):
    got = subprocess.run([merge, *files, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         check=False)
    assert got.returncode in (0, 1), (args, got.stderr)
    return got.stdout.decode()


def tables(files, window):
    """Returns the rows of each table, in any order."""
    return {name: sorted(json.dumps(row, sort_keys=True) for row in rows)
            for name, rows in json.loads(run(files, "--json", "--limit", "0", *window)).items()
            if isinstance(rows, list)}


def stacks(files, *args):
    """Returns the sum of each stack. A part lacks the device work of other parts during a wait."""
    sums = {}
    for line in run(files, "--waits", "-f", "folded", *args).splitlines():
        frames, value = line.rsplit(" ", 1)
        if "[GPU_Wait]" in frames:
            frames = frames[:frames.index("[GPU_Wait]") + 10]
        sums[frames] = sums.get(frames, 0) + int(value)
    return sums


def compare(what, whole, parts):
    if whole != parts:
        only = [line for line in whole if line not in parts] or ["(more lines)"]
        print(f"DIFFERS {what}: {str(only[0])[:300]}")


shape, every_ms = rnd.choice(("long", "across", "tiny")), rnd.randint(150, 2500)
begin = rnd.randint(0, 3500)
end = rnd.randint(begin, 4000)
with open("whole.truth", "w", encoding="ascii") as truth:
    subprocess.run([f"{build}/gen_windows", shape, "whole.data", str(every_ms)], stdout=truth,
                   check=True)
with open("whole.data", "rb") as data:
    subprocess.run([merge, "split", "-o", f"part{seed}"], stdin=data, check=True)
all_parts = sorted(glob.glob(f"part{seed}.*"), key=lambda name: int(name.rsplit(".", 1)[1]))
print(f"{shape}, {len(all_parts)} files of {every_ms} ms, window {begin} ms to {end} ms")
for at in ((), ("--from", f"{begin}ms", "--to", f"{end}ms")):
    a, b = tables(["whole.data"], at), tables(all_parts, at)
    for table in sorted((set(a) | set(b)) - OWN):
        compare(f"table {table} {at}", a.get(table), b.get(table))
    for kind in FOLDED:
        compare(f"folded {kind} {at}", stacks(["whole.data"], *kind, *at),
                stacks(all_parts, *kind, *at))
