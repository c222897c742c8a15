# SPDX-License-Identifier: MIT
"""calls.py OUT TABLE.csv TIMELINE.json: compares the calls that test/workload/calls says it made
with the table of API calls and the timeline. Prints what was compared, and WRONG next to each
difference.

Names may begin with "__", as CUDA 13's cudaLaunchKernel does. In the timeline, a thread's call
counts only if the program says that this thread makes such calls.
"""
import bisect
import collections
import csv
import json
import sys

calls, threads, times = {}, {}, {}
for line in open(sys.argv[1]):
    words = line.split()
    if words[0] == "calls":
        calls[words[1]] = int(words[2])
    elif words[0] == "thread":
        threads[words[1]] = int(words[2]), int(words[3])
    elif words[0] == "time":
        times[words[1]] = int(words[2]), int(words[3])


def say(what, got, want, fits):
    print(what, "got", got, "expected", want, "" if fits else "WRONG")


table = {row["name"].lstrip("_"): row for row in csv.DictReader(open(sys.argv[2]))}
for name, want in calls.items():
    got = int(table[name]["calls"]) if name in table else 0
    say("calls %s:" % name, got, want, got == want)
for name, (want, delayed) in times.items():
    # A thread may have to wait for a CPU just before the call begins, or just after it has ended.
    got = int(table[name]["total_ns"])
    say("time %s:" % name, got, want, 0.9 * (want - delayed) < got <= want)

names, nr, launches, inside = {}, collections.Counter(), {}, 0
trace = json.load(open(sys.argv[3]))["traceEvents"]
for e in trace:
    if e["ph"] == "M" and e["name"] == "thread_name":
        names[e["pid"], e["tid"]] = e["args"]["name"]
    elif e["ph"] == "X" and e["cat"] in ("api", "launch"):
        if e["name"].lstrip("_") in calls:
            nr[names[e["pid"], e["tid"]], e["tid"]] += 1
        if e["cat"] == "launch":
            launches.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
for name, (tid, want) in threads.items():
    got = nr[name, tid] if tid else sum(n for (comm, _), n in nr.items() if comm == name)
    say("thread %s %d:" % (name, tid), got, want, got == want)
arrows = [e for e in trace if e["ph"] == "s"]
for spans in launches.values():
    spans.sort()
for e in arrows:
    spans = launches[e["pid"], e["tid"]]
    inside += spans[max(bisect.bisect(spans, (e["ts"], 1e99)) - 1, 0)][1] + 1e-4 >= e["ts"]
say("arrows that begin in a launch:", inside, len(arrows), inside == len(arrows) and arrows)
launched = calls["cudaLaunchKernel"] + calls["cudaMemcpyAsync"]
say("arrows:", len(arrows), launched, len(arrows) == launched)
