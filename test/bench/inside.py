# SPDX-License-Identifier: GPL-3.0-or-later
"""inside.py: the cost of --stalls and --gpu-metrics on this machine's GPU, compared with --gpu-only

Run `make bench-inside`; TREE= names a portable tree. Both options sample the whole GPU, so programs
do not run side by side but take turns: --gpu-only, the row, the row, --gpu-only, and so on.
Settings:

  WORKLOADS  null	null kernels, in steady state: ns a launch
             long	kernels of some 20 ms: us for 100
             step	a training step of a small transformer: us a step
  ROWS       stalls metrics all (both)
  STARTS     starts of each program (6)

A ratio is the mean over neighboring runs, followed by its standard error. MB is the median of the
program's peak memory, and the difference to --gpu-only. `sampler` is the CPU time of
xpuload-metrics, in percent of a core.
"""
import glob
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SRC, BUILD = os.environ["XPU_SRC"], os.environ["XPU_BUILD"]
PYTHON = os.environ.get("PYTHON") or "python3"
OPTIONS = {"gpu-only": [], "stalls": ["--stalls"], "metrics": ["--gpu-metrics"],
           "all": ["--stalls", "--gpu-metrics"]}
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def settings(name, default):
    words = (os.environ.get(name) or default).split()
    unknown = set(words) - set(default.split())
    if unknown:
        sys.exit(f"inside.py: {name}: there is no {' '.join(sorted(unknown))}")
    return words


def sampler_ticks(parent):
    """Returns the CPU time that a process's xpuload-metrics has used so far."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8") as f:
                pid, rest = f.read().split(" ", 1)
        except OSError:
            continue
        name, fields = rest.rsplit(")", 1)
        fields = fields.split()
        if name == "(xpuload-metrics" and int(fields[1]) == parent:
            return int(pid), int(fields[11]) + int(fields[12])
    return None, 0


class Watch(threading.Thread):
    """Follows the sampler of a recording, beginning after two seconds, when it has started."""

    def __init__(self, parent):
        super().__init__(daemon=True)
        self.parent, self.percent, self.over = parent, None, False

    def run(self):
        time.sleep(2)
        begin, first = time.monotonic(), sampler_ticks(self.parent)
        while first[0] and not self.over:
            time.sleep(0.1)
            pid, ticks = sampler_ticks(self.parent)
            if pid == first[0] and time.monotonic() - begin > 1:
                self.percent = 100 * (ticks - first[1]) * TICK_S / (time.monotonic() - begin)


def measure(xpuload, row, command):
    """Returns the program's own figure, its memory in MB, and the sampler's CPU time in percent."""
    with subprocess.Popen([xpuload, "--gpu-only", *OPTIONS[row], "-o", "bench.data", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        watch = Watch(p.pid)
        watch.start()
        out, err = p.communicate()
        watch.over = True
    lines = [line.split() for line in out.splitlines()]
    if p.returncode or not lines or "warning" in err or "lost 0" not in err:
        sys.exit(f"inside.py: {row}: {err.strip().splitlines()[-1:] or p.returncode}")
    return float(lines[-1][1]), float(lines[-1][2]), watch.percent


def row_of(xpuload, workload, row, command, starts):
    ratios, more, megabytes, percents = [], [], [], []
    for i in range(starts):
        pair = {}
        for name in ("gpu-only", row) if i % 2 == 0 else (row, "gpu-only"):
            pair[name] = measure(xpuload, name, command)
        ratios.append(pair[row][0] / pair["gpu-only"][0])
        megabytes.append(pair[row][1])
        more.append(pair[row][1] - pair["gpu-only"][1])
        percents += [pair[row][2]] if pair[row][2] is not None else []
    error = statistics.stdev(ratios) / math.sqrt(starts) if starts > 1 else float("nan")
    sampler = f"{statistics.median(percents):.1f} %" if percents else "-"
    print(f"{workload:8} {row:8} {statistics.mean(ratios):8.3f} {error:8.3f} "
          f"{statistics.median(megabytes):8.0f} {statistics.median(more):+8.0f} {sampler:>8}   "
          f"{' '.join(f'{r:.3f}' for r in ratios)}", flush=True)


def main():
    tree = os.path.exists(f"{BUILD}/bin/xpuload")
    xpuload = f"{BUILD}/bin/xpuload" if tree else f"{BUILD}/xpuload"
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    os.chdir(tempfile.mkdtemp())
    subprocess.run([nvcc, "-std=c++17", "-O2", "-g", "-lineinfo", "-Xcompiler",
                    "-fno-omit-frame-pointer", "-o", "stalls", f"{SRC}/test/gpu/stalls.cu"],
                   check=True)
    commands = {"null": ["./stalls", "null", "600000"], "long": ["./stalls", "long"],
                "step": [PYTHON, f"{SRC}/test/gpu/metrics.py", "--steps", "100"]}
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        del commands["step"]
    print(f"{'':8} {'row':8} {'ratio':>8} {'error':>8} {'MB':>8} {'more':>8} {'sampler':>8}   "
          f"starts")
    for workload in settings("WORKLOADS", "null long step"):
        for row in settings("ROWS", "stalls metrics all"):
            if workload in commands:
                row_of(xpuload, workload, row, commands[workload],
                       int(os.environ.get("STARTS") or 6))


main()
