#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""gen_times.py IN OUT KIND - sets false timestamps in the last process of a recording from
gen_data, without blocks

Sets a recorder's version, and starts the recording at its first process. The last process gets one
more wait, range, memory event and window. KIND names the false timestamps of its launches, device
records and other records; honest: true timestamps.
"""
import struct
import sys

INFO, PROCESS, THREAD, LAUNCHES, BATCH, END, WAIT, RANGES, ALLOCS = 1, 2, 4, 10, 11, 13, 18, 28, 30
KERNEL, CALLS, WINDOW = 67, 76, 86

TIMES = {
    "zero": lambda ns: 1,
    "sign": lambda ns: 1 << 63,
    "last": lambda ns: (1 << 64) - 2000000,
    "future": lambda ns: ns + 10 ** 14,
    "past": lambda ns: ns - 9 * 10 ** 8,
    "mixed": lambda ns: [1, 1 << 63, ns + 10 ** 14, ns][ns // 512 % 4],
    "honest": lambda ns: ns,
    "long": lambda ns: ns,
}


def records(data, at, end):
    while at < end:
        kind, misc, size = struct.unpack_from("<HHI", data, at)
        yield at, kind, misc, size
        at += size


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<HHI", kind, misc, 8 + len(body)) + body


def more(end, false, proc, thread):
    """Returns the process's other records with timestamps, 100 us before the end."""
    ns = false(end - 100000)
    window = record(WINDOW, 0, struct.pack("<QQIIQ", ns, max(ns - 1000, 0), 1, 0, 1))
    alloc = struct.pack("<IIIiiBBHIIQQ", 0, thread, 0, 0, 0, 0, 0, 0, 0, 0, 4096, 4096)
    return (record(WAIT, 0, struct.pack("<QQIIIIII", ns, 5000, 0, thread, 1, 1, 0, 0)) +
            record(RANGES, 0, struct.pack("<QIIIIiHH", ns, 1, 0, 0, thread, 0, 6, 0)) +
            record(ALLOCS, 0, struct.pack("<QQII", ns, 1, proc, 1) + alloc) +
            record(BATCH, 0, struct.pack("<QIIII", end, proc, thread, len(window), 0) + window))


def main():
    data = bytearray(open(sys.argv[1], "rb").read())
    kind_of = sys.argv[3]
    false = TIMES[kind_of]
    header = struct.unpack_from("<I", data, 16)[0]
    threads, last, out = {}, 0, bytearray()
    for at, kind, _, _ in records(data, header, len(data)):
        if kind == PROCESS:
            if not last:
                data[24:32] = data[at + 8:at + 16]
            last = max(last, struct.unpack_from("<I", data, at + 16)[0])
        if kind == THREAD:
            thread, proc = struct.unpack_from("<II", data, at + 8)
            threads[thread] = proc
    own = min(t for t, p in threads.items() if p == last)
    for at, kind, _, size in records(data, header, len(data)):
        if kind == LAUNCHES:
            time, = struct.unpack_from("<Q", data, at + 8)
            if threads[struct.unpack_from("<I", data, at + 24 + 12)[0]] == last:
                struct.pack_into("<Q", data, at + 8, false(time))
        if kind == BATCH and struct.unpack_from("<I", data, at + 16)[0] == last:
            inside, = struct.unpack_from("<I", data, at + 24)
            for sub, what, _, _ in records(data, at + 32, at + 32 + inside):
                if what == KERNEL:
                    time, = struct.unpack_from("<Q", data, sub + 8)
                    struct.pack_into("<Q", data, sub + 8, false(time))
                    if kind_of == "long":
                        struct.pack_into("<Q", data, sub + 16, 10 ** 15)
                if what == CALLS:
                    time, = struct.unpack_from("<Q", data, sub + 8)
                    struct.pack_into("<Q", data, sub + 8, false(time))
        if kind == END:
            out += more(struct.unpack_from("<Q", data, at + 8)[0], false, last, own)
        out += data[at:at + size]
    version = record(INFO, 0, struct.pack("<II", 1, 5) + b"test")
    open(sys.argv[2], "wb").write(data[:header] + version + out)


main()
