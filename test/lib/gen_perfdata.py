#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""gen_perfdata.py OUT [KEY=VALUE...] - perf.data as perf record -g writes it, and the truth

Writes OUT and OUT.folded: the lines that xpumerge --cpu OUT -f folded --unit ns shows. Keys: seed,
nr, event (cpu-clock, cycles), freq, clockid (-1 for perf's own), events (2 for one more event, with
IDs), identifier, pipe, zstd (with the program of that name), dwarf (stack copies), chains (0 for no
call chains), order (1 for records out of time order), lost, start (ns), wall (ns since 1970), big
(the other byte order), aux (1 for a trace of the hardware), cut (bytes off the end).
"""
import random
import struct
import subprocess
import sys

opts = {"seed": 1, "nr": 200, "event": "cpu-clock", "freq": 1000, "clockid": 1, "events": 1,
        "identifier": 0,
        "pipe": 0, "zstd": 0, "dwarf": 0, "chains": 1, "order": 0, "lost": 0, "start": 5000000000,
        "wall": 0, "big": 0, "aux": 0, "cut": 0, "pid": 700}
for arg in sys.argv[2:]:
    key, value = arg.split("=", 1)
    opts[key] = type(opts[key])(value)
rng = random.Random(opts["seed"])

IP, TID, TIME, CALLCHAIN, ID, PERIOD, IDENTIFIER = 1, 2, 4, 0x20, 0x40, 0x100, 0x10000
REGS, STACK = 0x1000, 0x2000
TYPE = IP | TID | TIME | PERIOD | (CALLCHAIN if opts["chains"] else 0) | \
    (ID if opts["events"] > 1 else 0)
TYPE |= (IDENTIFIER if opts["identifier"] else 0) | (REGS | STACK if opts["dwarf"] else 0)
REGS_MASK = 0x1ff | 0xff0000
KERNEL, USER = 2**64 - 128, 2**64 - 512
CONFIGS = {"cpu-clock": (1, 0), "task-clock": (1, 1), "cycles": (0, 0), "page-faults": (1, 2)}
IDS = [[901, 902], [903]]


def attr(name):
    kind, config = CONFIGS[name]
    flags = 1 << 10 | 1 << 18 | 1 << 23 | 1 << 24 | (1 << 25 if opts["clockid"] >= 0 else 0)
    a = struct.pack("<IIQQQQQIIQQQQIiQ", kind, 112, config, opts["freq"], TYPE, 4, flags, 0, 0, 0,
                    0, 0,
                    REGS_MASK if opts["dwarf"] else 0, 512 if opts["dwarf"] else 0,
                    max(opts["clockid"], 0), 0)
    return a.ljust(112, b"\0")


def record(kind, body, misc=0):
    body = body.ljust((len(body) + 7) // 8 * 8, b"\0")
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def side(pid, tid, time_ns):
    """Returns the trailing fields of records other than samples."""
    b = struct.pack("<IIQ", pid, tid, time_ns)
    if TYPE & ID:
        b += struct.pack("<Q", IDS[0][0])
    if TYPE & IDENTIFIER:
        b += struct.pack("<Q", IDS[0][0])
    return b


def text(s):
    s = s.encode() + b"\0"
    return s.ljust((len(s) + 7) // 8 * 8, b"\0")


def mmap2(pid, start, size, pgoff, name, time_ns, build_id=None, prot=5):
    body = struct.pack("<IIQQQ", pid, pid, start, size, pgoff)
    if build_id:
        body += struct.pack("<B3x20s", len(build_id), build_id)
    else:
        body += struct.pack("<IIQQ", 8, 1, 1234, 0)
    return record(10, body + struct.pack("<II", prot, 2) + text(name) + side(pid, pid, time_ns),
                  1 << 14 if build_id else 2)


def mmap(pid, start, size, pgoff, name, time_ns, data=False):
    return record(1, struct.pack("<IIQQQ", pid, pid, start, size, pgoff) + text(name) +
                  side(pid, pid, time_ns), 1 << 13 if data else 2)


def comm(pid, tid, name, time_ns, is_exec=False):
    return record(3, struct.pack("<II", pid, tid) + text(name) + side(pid, tid, time_ns),
                  1 << 13 if is_exec else 0)


def fork(pid, ppid, tid, ptid, time_ns):
    return record(7, struct.pack("<IIIIQ", pid, ppid, tid, ptid, time_ns) + side(pid, tid, time_ns))


def sample(pid, tid, time_ns, period, frames, event=0, user=None):
    """frames: (kernel, user), innermost first"""
    kernel, native = frames
    words = ([KERNEL] + kernel if kernel else []) + ([USER] + native if native else [])
    b = b""
    sid = rng.choice(IDS[event])
    if TYPE & IDENTIFIER:
        b += struct.pack("<Q", sid)
    b += struct.pack("<QIIQ", (kernel + native + [0])[0], pid, tid, time_ns)
    if TYPE & ID:
        b += struct.pack("<Q", sid)
    b += struct.pack("<Q", period)
    if TYPE & CALLCHAIN:
        b += struct.pack("<Q%dQ" % len(words), len(words), *words)
    if TYPE & REGS:
        b += struct.pack("<Q%dQ" % len(user[0]), 2, *user[0])
        b += struct.pack("<Q", 512) + user[1].ljust(512, b"\xcc") + struct.pack("<Q", len(user[1]))
    return record(9, b, 1 if kernel else 2)


truth = {}


def add(name, frames, ns):
    key = ";".join([name] + frames)
    truth[key] = truth.get(key, 0) + ns


APP, LIB = 0x400000, 0x7f0000000000
KSYMS = [(0xffffffffc0001000, 0x100, "bpf_prog_one"), (0xffffffffc0002000, 0x80, "bpf_prog_two")]
records = []		# (time, bytes)
begin = [record(17, struct.pack("<QIHH", a, n, 1, 0) + text(s) + side(0, 0, 0))
         for a, n, s in KSYMS]
pid, now = opts["pid"], opts["start"]
# Mappings from before the recording.
begin += [comm(pid, pid, "before", 0), mmap2(pid, APP, 0x10000, 0, "/nonexistent/app", 0),
          mmap(pid, 0x900000, 0x1000, 0, "/nonexistent/data", 0, data=True),
          mmap(2**32 - 1, 0xffffffff80123000, 0x1000000, 0xffffffff80123000,
               "[kernel.kallsyms]_text", 0)]
names = {(pid, pid): "before"}
files = {pid: {APP: "app", LIB: None}}


def event(b):
    records.append((now, b))


def maybe_change(i):
    """Starts threads, processes, programs and libraries; reuses addresses for other functions."""
    if i == 20:
        event(fork(pid, pid, pid + 1, pid, now))
        names[(pid, pid + 1)] = names[(pid, pid)]
        event(comm(pid, pid + 1, "wor ker", now + 1))
        names[(pid, pid + 1)] = "wor ker"
    elif i == 40:
        event(mmap2(pid, LIB, 0x8000, 0x1000, "/nonexistent/lib.so", now, b"\x11" * 20))
        files[pid][LIB] = "lib.so"
    elif i == 50:
        event(mmap2(pid, LIB, 0x8000, 0x1000, "/nonexistent/lib2.so", now))
        files[pid][LIB] = "lib2.so"
    elif i == 60:
        event(fork(pid + 9, pid, pid + 9, pid, now))
        names[(pid + 9, pid + 9)] = names[(pid, pid)]
        files[pid + 9] = dict(files[pid])
    elif i == 80:
        event(comm(pid + 9, pid + 9, "other", now, True))
        names[(pid + 9, pid + 9)] = "other"
        files[pid + 9] = {APP: None, LIB: None}
        event(mmap2(pid + 9, APP, 0x10000, 0, "/nonexistent/other", now + 1))
        files[pid + 9][APP] = "other"
    elif i == 100:
        event(comm(pid, pid, "after", now, True))
        names[(pid, pid)] = "after"
        files[pid] = {APP: "new", LIB: None}
        event(mmap2(pid, APP, 0x10000, 0, "/nonexistent/new", now + 1))


def place(p, base, address):
    return "%s+0x%x" % (files[p][base], address - base + (0x1000 if base == LIB else 0))


for i in range(opts["nr"]):
    now += 10
    maybe_change(i)
    now += 1000000
    p, t = rng.choice([k for k in names])
    kernel = [KSYMS[rng.randrange(2)][0] + 8] if rng.random() < 0.3 else []
    native, shown = [], []
    for k in range(rng.randrange(1, 5)):
        base = rng.choice([APP, LIB]) if files[p][LIB] else APP
        offset = rng.randrange(1, 5) * 0x20
        # All addresses except the innermost address are return addresses.
        native.append(base + offset + (1 if k else 0))
        shown.append(place(p, base, base + offset))
    period = 1000000 if opts["event"].endswith("clock") else rng.randrange(1, 10**6)
    user = None
    if opts["dwarf"]:
        # A stack with a frame pointer chain, because this code has no unwind tables.
        sp = 0x7ffd00001000 + rng.randrange(8) * 8
        stack, bp = b"", sp + 32
        stack = b"\xaa" * 32
        for k, address in enumerate(native[1:]):
            last = k == len(native) - 2
            stack += struct.pack("<QQ", 0 if last else bp + 32, address) + b"\xbb" * 16
            bp += 32
        regs = [0] * 17
        regs[6], regs[7], regs[8] = sp + 32 if native[1:] else 0, sp, native[0]
        user = (regs, stack)
    # With stack copies, perf's chains have kernel frames only.
    chain = (kernel, [] if opts["dwarf"] and opts["chains"] else native)
    if not opts["chains"]:
        kernel_shown = []
        chain = ([], native[:1])
        if not opts["dwarf"]:
            shown = shown[:1]
    else:
        kernel_shown = ["bpf_prog_one_[k]" if kernel[0] < KSYMS[1][0] else
                        "bpf_prog_two_[k]"] if kernel else []
    event(sample(p, t, now, period, chain, 0, user))
    add(names[(p, t)], shown[::-1] + kernel_shown, period if opts["event"].endswith("clock") else
        10**9 // opts["freq"])
    if opts["events"] > 1 and rng.random() < 0.5:
        event(sample(p, t, now + 3, 1, ([], [APP + 0x20]), 1, user))
if opts["lost"]:
    event(record(2, struct.pack("<QQ", 901, opts["lost"]) + side(0, 0, now)))
if opts["aux"]:
    # The trace data follow their record, which contains their size. The size of the record does not
    # include them.
    records.insert(len(records) // 2, (0, record(71, struct.pack("<QQQIIII", 24, 0, 0, 0, 0, 0, 0))
                                       + b"\xff" * 24))
if opts["order"]:
    rng.shuffle(records)

body = b"".join(begin) + b"".join(r for _, r in records) + record(68, b"")
attrs = [attr(opts["event"])] + ([attr("page-faults")] if opts["events"] > 1 else [])


def string(s):
    s = s.encode() + b"\0"
    return struct.pack("<I", (len(s) + 63) // 64 * 64) + s.ljust((len(s) + 63) // 64 * 64, b"\0")


def event_desc():
    b = struct.pack("<II", len(attrs), 112)
    for i, a in enumerate(attrs):
        b += a + struct.pack("<I", len(IDS[i])) + string([opts["event"] + ":ppp", "page-faults"][i])
        b += struct.pack("<%dQ" % len(IDS[i]), *IDS[i])
    return b


features = {3: string("host"), 4: string("6.1"), 6: string("x86_64"),
            11: struct.pack("<I", 2) + string("perf") + string("record"), 12: event_desc(),
            2: record(0, struct.pack("<I20sB3x", 2**32 - 1, b"\x22" * 20, 20) +
                      text("[kernel.kallsyms]"), 1 << 15)}
if opts["wall"]:
    features[29] = struct.pack("<IIQQ", 1, opts["clockid"], opts["wall"], opts["start"])
if opts["zstd"]:
    # All records are one compressed stream, which is split into chunks inside records.
    packed = subprocess.run(["zstd", "-q", "-c"], input=body, stdout=subprocess.PIPE,
                            check=True).stdout
    body = b""
    while packed:
        n = rng.randrange(1, 300)
        chunk, packed = packed[:n], packed[n:]
        if opts["zstd"] > 1:
            body += record(83, struct.pack("<Q", len(chunk)) + chunk)
        else:
            body += struct.pack("<IHH", 81, 0, 8 + len(chunk)) + chunk
if opts["pipe"]:
    out = b"PERFILE2" + struct.pack("<Q", 16)
    for i, a in enumerate(attrs):
        out += record(64, a + struct.pack("<%dQ" % len(IDS[i]), *IDS[i]))
    for bit, b in sorted(features.items()):
        out += record(80, struct.pack("<Q", bit) + b)
    out += body
else:
    ids = b"".join(struct.pack("<%dQ" % len(i), *i) for i in IDS)
    at_ids = 104
    section = b""
    at = at_ids
    for i, a in enumerate(attrs):
        section += a + struct.pack("<QQ", at, 8 * len(IDS[i]))
        at += 8 * len(IDS[i])
    at_attrs = at_ids + len(ids)
    at_data = at_attrs + len(section)
    bits = sum(1 << b for b in features)
    out = b"PERFILE2" + struct.pack("<QQQQQQQQ4Q", 104, 128, at_attrs, len(section), at_data,
                                    len(body), 0, 0,
                                    bits, 0, 0, 0)
    table_at = at_data + len(body)
    at = table_at + 16 * len(features)
    table, blobs = b"", b""
    for bit, b in sorted(features.items()):
        table += struct.pack("<QQ", at + len(blobs), len(b))
        blobs += b
    out += ids + section + body + table + blobs
if opts["big"]:
    out = b"2ELIFREP" + out[8:]
with open(sys.argv[1], "wb") as f:
    f.write(out[:len(out) - opts["cut"]])
with open(sys.argv[1] + ".folded", "w") as f:
    for key in sorted(truth):
        f.write("%s %d\n" % (key, truth[key]))
