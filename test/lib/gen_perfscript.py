#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""gen_perfscript.py OUT [KEY=VALUE...] - text as perf script prints it, and the truth

Writes OUT and OUT.folded: the lines that xpumerge --cpu OUT -f folded --unit ns shows. Keys: seed,
nr (samples), event, period (ns; 0 if the period counts something else), want (the ns that a sample
should count for, 0 for its period), ids (tid, both, pid, none), cpu, mode, time (us, ns, none),
header, inline, srcline, wide (the columns that perf prints without call chains), comment, other
(samples of other events, too), junk.
"""
import random
import sys

opts = {
    "seed": 1, "nr": 300, "event": "cpu-clock:ppp", "period": 1, "want": 0, "ids": "tid", "cpu": 0,
    "mode": 0, "time": "us", "inline": 0, "srcline": 0, "wide": 0, "comment": "", "other": 0,
    "junk": 0, "distance": 1000000, "start": 34795265310000, "pid": 4200, "crlf": 0,
}
for arg in sys.argv[2:]:
    key, value = arg.split("=", 1)
    opts[key] = type(opts[key])(value)
rng = random.Random(opts["seed"])

COMMS = ["app", "my app", "wo rk 12", "cafe", "a", "kworker/1:2-ev", "[odd] 3.5", "x: y", "naïve"]
# For each frame: name and file as perf prints them, and the frame in the folded line.
FRAMES = [
    ("main+0x1d", "/usr/bin/app", "main"),
    ("Net::step(float*, int)+0x2a", "/opt/my libs/libnet.so", "Net::step(float*, int)"),
    ("operator()(int) const+0x0", "/usr/bin/app (deleted)", "operator()(int) const"),
    ("std::map<int, (anonymous namespace)::T>::at+0xff", "/usr/lib/libx.so.1",
     "std::map<int, (anonymous namespace)::T>::at"),
    ("a;b+0x3", "/usr/bin/app", "a:b"),
    ("[unknown]", "/usr/lib/libc.so.6", None),
    ("[unknown]", "[unknown]", "[unknown]"),
    ("[unknown]", "//anon", "[anon]"),
    ("py::f:/home/me/a b.py+0x8", "/tmp/perf-12.map", "py::f:/home/me/a b.py"),
    ("run", "/usr/bin/app", "run"),
]
KERNEL = [
    ("do_syscall_64+0x71", "[kernel.kallsyms]", "do_syscall_64_[k]"),
    ("nf_hook+0x1", "[nf_tables]", "nf_hook_[k]"),
    ("[unknown]", "[kernel.kallsyms]", "[kernel]_[k]"),
]


def stack():
    """Returns the lines, innermost first, and the folded frames, root first."""
    lines, folded = [], []
    for i in range(rng.randrange(1, 12)):
        kernel = i == 0 and rng.random() < 0.3
        name, dso, shown = rng.choice(KERNEL if kernel else FRAMES)
        address = rng.randrange(0xffffffff80000000, 0xffffffffffffffff) if kernel else \
            rng.choice([0x1234, 0x20ce7, 0x401000])
        if shown is None:
            shown = "libc.so.6+0x%x" % address
        # A frame without a file can be recognized only by the line that says "(inlined)".
        if opts["inline"] and not kernel and "(" not in name and name[0] != "[" and \
                rng.random() < 0.3:
            lines.append("\t%16x %s (inlined)" % (address, name.split("+")[0]))
            folded.append(name.split("+")[0].replace(";", ":") + " (inlined)")
            continue
        lines.append("\t%16x %s (%s)" % (address, name, dso))
        if opts["srcline"]:
            lines.append(rng.choice(["  net.cc:41", "  /src/net.cc:41", "  app+0x12", "  ??:0"]))
            if lines[-1].endswith(":41") and opts["srcline"] > 1:
                shown += " (net.cc:41)"
        folded.append(shown)
    return lines, folded[::-1]


def first_line(comm, pid, tid, time_ns, period, event):
    words = ["%16s" % comm if opts["wide"] else comm]
    if opts["ids"] == "both":
        words.append("%5d/%-5d" % (pid, tid))
    elif opts["ids"] == "tid":
        words.append("%5d" % tid)
    elif opts["ids"] == "pid":
        words.append("%5d" % pid)
    if opts["cpu"]:
        words.append("[%03d]" % rng.randrange(64))
    if opts["mode"]:
        words.append(rng.choice(["U    ", "K    ", "MU   "]))
    if opts["time"] == "us":
        words.append("%5d.%06d: " % (time_ns // 10**9, time_ns % 10**9 // 1000))
    elif opts["time"] == "ns":
        words.append("%5d.%09d: " % (time_ns // 10**9, time_ns % 10**9))
    if period:
        words.append("%10d" % period)
    if event:
        words.append("%s: " % event)
    return " ".join(words)


end = "\r\n" if opts["crlf"] else "\n"
text, truth = [], {}
if opts["comment"]:
    text += ["# ========", "# event : name = %s, %s" % (opts["event"], opts["comment"]), "#"]
threads = [(opts["pid"], opts["pid"] + i, rng.choice(COMMS)) for i in range(5)]
time_ns = opts["start"]
for i in range(opts["nr"]):
    pid, tid, comm = rng.choice(threads[:2] if i < 4 else threads)
    lines, folded = stack()
    period = rng.choice([1000000, 250000, 10101010]) if opts["period"] == 1 else opts["period"]
    text.append(first_line(comm, pid, tid, time_ns, period, opts["event"]))
    text += lines + [""]
    key = ";".join([comm] + folded)
    truth[key] = truth.get(key, 0) + (opts["want"] or period)
    if opts["other"] and rng.random() < 0.5:
        text.append(first_line(comm, pid, tid, time_ns + 1000, 1, rng.choice(
            ["instructions:u", "page-faults", "sched:sched_switch", "off-cpu"])))
        text += stack()[0] + [""]
    if opts["junk"] and rng.random() < 0.1:
        text.append(rng.choice([
            "perf: a warning", "# a comment", "Samples for 'x' do not have CPU attribute set.",
            "app 12 1.000000: PERF_RECORD_MMAP2 12/12: [0x1(0x1) @ 0 08:01 1 1]: r-xp "
            "/usr/bin/app"]))
    time_ns += opts["distance"]
with open(sys.argv[1], "w", newline="") as f:
    f.write(end.join(text) + end)
with open(sys.argv[1] + ".folded", "w") as f:
    for key in sorted(truth):
        f.write("%s %d\n" % (key, truth[key]))
