# SPDX-License-Identifier: MIT
"""The cost of a CPU sample, by the depth of its stack: in the kernel's BPF program, in xpuload, and
in the file.

Needs root. Uses the kernel's own account of time in BPF programs (kernel.bpf_stats_enabled). Prints
medians of 5 runs. XPU_BEFORE=DIR also measures the xpuload in DIR, in turns.
"""
import os
import re
import statistics
import subprocess
import sys
import time

STATS = "/proc/sys/kernel/bpf_stats_enabled"
PERF_EVENT = "7"		# BPF_PROG_TYPE_PERF_EVENT
build = os.environ["XPU_BUILD"]
cpu = build + "/workload/cpu_nofp"
STACKS = (("main thread, shallow", "user"), ("thread, shallow", "threads=1"), ("25 KB", "deep=100"),
          ("128 KB", "deep=530"), ("256 KB", "deep=1050"))


def sampler_ns(pid):
    """Returns the figures of the sampling BPF program that process @pid holds."""
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}") as f:
            info = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
        if info.get("prog_type") == PERF_EVENT:
            return int(info["run_time_ns"])
    return None


def cpu_ms(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def record(xpuload, step):
    command = [xpuload, "--cpu-only", "-F", "999", "-o", "samples.data", cpu, "1000", step]
    ns = ms = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as p:
        while p.poll() is None:
            try:
                ns, ms = sampler_ns(p.pid) or ns, cpu_ms(p.pid) or ms
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        nr = int(re.search(r"(\d+) CPU samples", p.stderr.read()).group(1))
    return ns / nr, ms * 1e6 / nr, os.path.getsize("samples.data") / nr


def main():
    if os.geteuid():
        print("bench samples: NOT RUN: not root")
        return
    whose = ["now"] + (["before"] if "XPU_BEFORE" in os.environ else [])
    with open(STATS) as f:
        old = f.read()
    with open(STATS, "w") as f:
        f.write("1")
    try:
        print("%-24s %-6s %14s %15s %14s" % ("CPU sample", "", "in kernel, ns", "xpuload, ns",
                                             "in file, bytes"))
        for name, step in STACKS:
            runs = {who: [] for who in whose}
            for _ in range(5):
                for who in whose:
                    directory = build if who == "now" else os.environ["XPU_BEFORE"]
                    runs[who].append(record(directory + "/xpuload", step))
            for who in whose:
                print("%-24s %-6s %14.0f %15.0f %14.0f" % (
                    name, who, *(statistics.median(column) for column in zip(*runs[who]))))
            sys.stdout.flush()
    finally:
        with open(STATS, "w") as f:
            f.write(old)
        if os.path.exists("samples.data"):
            os.unlink("samples.data")


main()
