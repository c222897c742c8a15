#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""coverage.py BUILD: how much of each room the tests have run, from gcov's counts in BUILD

A room is a directory that has sources, such as merge/join. A line is counted once, however many
programs it is in. Processes that end without exit handlers, for example by _exit or a signal,
report nothing.
"""
import json
import os
import subprocess
import sys
from collections import defaultdict

ROOMS = ("lib", "preload", "loader", "merge")
NR_FILES = 10


def objects(build):
    for room in ROOMS:
        for path, _, names in os.walk(os.path.join(build, room)):
            yield from (os.path.join(path, name) for name in names if name.endswith(".gcno"))


def read(build):
    """Returns {file: {line: how often it ran}}."""
    lines = defaultdict(lambda: defaultdict(int))
    paths = sorted(objects(build))
    if not paths:
        sys.exit(f"coverage: {build} has no objects that count: make coverage builds them")
    for start in range(0, len(paths), 50):
        out = subprocess.run(["gcov", "--json-format", "--stdout", *paths[start:start + 50]],
                             check=True, capture_output=True, encoding="utf-8").stdout
        for document in out.splitlines():
            for file in json.loads(document)["files"]:
                name = os.path.relpath(file["file"])
                if not name.startswith(tuple(room + "/" for room in ROOMS)):
                    continue
                for line in file["lines"]:
                    lines[name][line["line_number"]] += line["count"]
    return lines


def share(nr, of):
    return f"{100 * nr / of:6.1f} %" if of else "       -"


def main():
    lines = read(sys.argv[1])
    files = {name: (sum(1 for count in counts.values() if count), len(counts))
             for name, counts in lines.items()}
    rooms = defaultdict(lambda: [0, 0])
    for name, (nr, of) in files.items():
        for room in {os.path.dirname(name), "all"}:
            rooms[room][0] += nr
            rooms[room][1] += of
    print(f"{'lines':>8} {'run':>8} {'share':>8}  room")
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        nr, of = rooms[room]
        print(f"{of:8} {nr:8} {share(nr, of)}  {room}")
    print(f"\nmost lines that no test has run:\n{'lines':>8} {'run':>8} {'share':>8}  file")
    for name in sorted(files, key=lambda name: files[name][0] - files[name][1])[:NR_FILES]:
        nr, of = files[name]
        print(f"{of:8} {nr:8} {share(nr, of)}  {name}")


main()
