# SPDX-License-Identifier: GPL-3.0-or-later
"""gen_epochs.py FORMAT OUT [KEY=VALUE...] - a trace whose correlation IDs start over several times;
its names tell the truth

Launch i is made in site_i, launches kernel_i and takes i + 1 ns. FORMAT is chrome, lines, text or
sql (for gen_sqlite); "stacks" writes the launches' stacks, with the clock of the calls. Keys: runs
of IDs, nr launches each, first ID, lost calls and works (device records), both as shares, late (ns
from a call to its device work), together (1: the runs are of two processes with one pid, at the
same time), driver (1: driver calls, too), gap (ns between runs), seed. With turns=1, run r of n
runs keeps only every n-th call. calls_of and works_of name a run; only its calls, or its device
records, are kept. The device's clock is ahead by ahead ns.

gen_epochs.py verdict FOLDED prints how many device records are right, wrong, and without a launch.
"""
import json
import random
import re
import sys


def verdict(name):
    right = wrong = none = 0
    for line in open(name):
        stack, count = line.rsplit(" ", 1)
        kernel = re.search(r"\]kernel_(\d+)", stack)
        if not kernel:
            continue
        site = re.search(r";site_(\d+)", stack)
        if not site:
            none += int(count)
        elif site.group(1) == kernel.group(1):
            right += int(count)
        else:
            wrong += int(count)
    print(right, wrong, none)


def make(form, out, keys):
    opts = {"runs": 8, "nr": 1000, "first": 1000, "lost_calls": 0.0, "lost_works": 0.0,
            "late": 3000,
            "together": 0, "driver": 0, "gap": 20000, "turns": 0,
            "calls_of": -1, "works_of": -1, "ahead": 0, "seed": 1}
    for key in keys:
        name, value = key.split("=")
        opts[name] = type(opts[name])(value)
    rand = random.Random(opts["seed"])

    def tid(i):
        return 101 + (i // opts["nr"] if opts["together"] else 0)

    calls, works, time = [], [], 1000000 + opts["ahead"]
    for run in range(opts["runs"]):
        at = time if not opts["together"] else 1000000 + run * 777
        for k in range(opts["nr"]):
            i = run * opts["nr"] + k
            at += 8000 + rand.randrange(4000)
            if (rand.random() >= opts["lost_calls"] and opts["calls_of"] in (-1, run)
                    and not (opts["turns"] and k % opts["runs"] != run)):
                calls.append((at, i, opts["first"] + k))
            start = at + 2500 + rand.randrange(1 + opts["late"]) - opts["ahead"]
            if rand.random() >= opts["lost_works"] and opts["works_of"] in (-1, run):
                works.append((start, i, opts["first"] + k))
        time = at + opts["gap"]
    with open(out, "w") as f:
        if form == "stacks":
            for at, i, _ in calls:
                f.write("%d app 100 %d 0 main;site_%d;cudaLaunchKernel\n" % (at, tid(i), i))
        elif form == "chrome":
            events = []
            for at, i, c in calls:
                events.append({"ph": "X", "cat": "cpu_op", "name": "site_%d" % i, "pid": 100,
                               "tid": tid(i),
                               "ts": (at - 100) / 1000, "dur": 3})
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                               "pid": 100, "tid": tid(i),
                               "ts": at / 1000, "dur": 2, "args": {"correlation": c}})
                if opts["driver"]:
                    events.append({"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel",
                                   "pid": 100,
                                   "tid": tid(i), "ts": (at + 200) / 1000, "dur": 1,
                                   "args": {"correlation": c}})
            for at, i, c in works:
                events.append({"ph": "X", "cat": "kernel", "name": "kernel_%d" % i, "pid": 0,
                               "tid": 7,
                               "ts": at / 1000, "dur": (i + 1) / 1000,
                               "args": {"correlation": c, "device": 0, "context": 1, "stream": 7}})
            json.dump({"traceEvents": events}, f)
        elif form == "lines":
            for at, i, c in calls:
                f.write(json.dumps({"type": "RUNTIME", "start": at, "end": at + 2000,
                                    "name": "cudaLaunchKernel_v7000",
                                    "correlationId": c, "processId": 100, "threadId": tid(i)}) +
                        "\n")
            for at, i, c in works:
                f.write(json.dumps({"type": "CONCURRENT_KERNEL", "start": at, "end": at + i + 1,
                                    "name": "kernel_%d" % i, "correlationId": c, "deviceId": 0,
                                    "streamId": 7}) + "\n")
        elif form == "text":
            for at, i, c in calls:
                f.write('RUNTIME [ %d, %d ] duration 2000, "cudaLaunchKernel_v7000", cbid 211, '
                        'processId 100, '
                        'threadId %d, correlationId %d\n' % (at, at + 2000, tid(i), c))
            for at, i, c in works:
                f.write('CONCURRENT_KERNEL [ %d, %d ] duration %d, "kernel_%d", correlationId %d\n'
                        '\tdeviceId 0, contextId 1, streamId 7\n' % (at, at + i + 1, i + 1, i, c))
        else:
            f.write("BEGIN; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);\n"
                    "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000');\n"
                    "CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, stackDepth "
                    "INTEGER);\n"
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
                    "globalTid INTEGER,"
                    " correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId "
                    "INTEGER);\n"
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId "
                    "INTEGER,"
                    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
                    "INTEGER, shortName INTEGER);\n")
            for i in range(opts["runs"] * opts["nr"]):
                f.write("INSERT INTO StringIds VALUES (%d, 'site_%d'), (%d, 'kernel_%d');\n" %
                        (2 * i + 10, i, 2 * i + 11, i))
            for at, i, c in calls:
                f.write("INSERT INTO CUDA_CALLCHAINS VALUES (%d, %d, 0);\n" % (i + 1, 2 * i + 10))
                f.write("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, %d, %d, 1, 0, "
                        "%d);\n"
                        % (at, at + 2000, (100 << 24) + tid(i), c, i + 1))
            for at, i, c in works:
                f.write("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, 7, %d, %d, "
                        "%d);\n"
                        % (at, at + i + 1, c, 100 << 24, 2 * i + 11))
            f.write("COMMIT;\n")
    print(len(calls), len(works))


if sys.argv[1] == "verdict":
    verdict(sys.argv[2])
else:
    make(sys.argv[1], sys.argv[2], sys.argv[3:])
