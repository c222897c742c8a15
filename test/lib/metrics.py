# SPDX-License-Identifier: MIT
"""
metrics.py DUMP KERNELS PATHS GPUS: compares xpumerge's tables of metrics with a recording's dump

DUMP is the output of `xpumerge dump`; the other files are tables as JSON. On the simulated GPU,
metric m of sample n is (7 * n + 13 * m) % 101 percent, and the GPU draws 200 W.
"""
import collections
import json
import re
import sys

sets = collections.defaultdict(dict)
rows = collections.defaultdict(list)
strings = {}
works = []
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    line = line.split("] ", 1)[1].strip()
    kind = line.split(" ", 1)[0]
    if kind == "METRIC":
        number, index = (int(n) for n in re.search(r"set=(\d+) index=(\d+)", line).groups())
        sets[number][index] = re.search(r'"(.*?)"', line).group(1)
    elif kind == "METRICS":
        number, base = (int(n) for n in re.search(r"set=(\d+) .*?time_ns=(\d+)", line).groups())
        for row in re.findall(r"\{(.*?)\}", line):
            delta, duration, *values = row.split()
            begin = base + int(delta[9:])
            rows[number].append((begin, begin + int(duration[12:]), [float(v) for v in values]))
    elif kind == "STRING":
        number = int(re.search(r"id=(\d+)", line).group(1))
        strings[number] = re.search(r'"(.*)"', line).group(1)
    elif kind == "KERNEL":
        start, duration, name = (int(n) for n in re.search(
            r"start_ns=(\d+) duration_ns=(\d+).*? name=(\d+)", line).groups())
        works.append((start, start + duration, name))

def number_of(names, what):
    return next(n for n in names if what in names[n].values())


# The GPU's samples are ordered by time. xpuload compares its clock with the
# GPU's clock now and then.
pm = rows[number_of(sets, "SM active")]
assert len(pm) > 100, len(pm)
for (begin, end, values), (next_begin, _, next_values) in zip(pm, pm[1:]):
    assert begin < end <= next_begin < end + 200000, (begin, end, next_begin)
    assert (values[0] + 7) % 101 == next_values[0], (values, next_values)
    assert all((values[0] + 13 * m) % 101 == values[m] for m in range(6)), values

# A kernel's clock frequency is the mean of the samples that overlap it, weighted by the overlap.
# Values of other counters are solved: see t1/counters and t0/solve.
def overlaps(start, end):
    low, high = 0, len(pm)
    while low < high:
        middle = (low + high) // 2
        if pm[middle][1] > start:
            high = middle
        else:
            low = middle + 1
    while low < len(pm) and pm[low][0] < end:
        yield min(end, pm[low][1]) - max(start, pm[low][0]), pm[low][2]
        low += 1


clock = next(i for i, name in sets[number_of(sets, "SM active")].items() if name == "GPC clock")
ns, sums = collections.Counter(), collections.Counter()
for start, end, name in works:
    for length, values in overlaps(start, end):
        ns[strings[name]] += length
        sums[strings[name]] += length * values[clock]
tables = [next(v for k, v in json.load(open(path)).items() if k != "account")
          for path in sys.argv[2:]]
kernels, paths, gpus = tables
assert len(kernels) == len(ns), (len(kernels), len(ns))
for kernel in kernels:
    mangled = next(name for name in ns if kernel["name"] in name)
    want = sums[mangled] / ns[mangled]
    assert abs(kernel["gpc_clock_mhz"] - want) < 1e-4 * (1 + want), (kernel, want)
    value, error = kernel["sm_active_percent"], kernel["sm_active_percent_error"]
    assert (value is None) == (error is None), kernel
    assert value is None or (0 <= value <= 100 and 0 < error <= 10), kernel

# Energy: the GPU draws 200 W. The energies of kernels and of idle time add up to the GPU's energy.
# The energies of all paths, with the path [idle], have the same sum.
nvml = rows[number_of(sets, "energy")]
seconds = (nvml[-1][1] - nvml[0][0]) / 1e9
total = next(row for row in gpus if row["metric"] == "energy")
assert abs(total["total"] / seconds - 200) < 30 / seconds, (total, seconds)
for table in kernels + [{"energy_j": total["idle"]}], paths:
    together = sum(row["energy_j"] or 0 for row in table)
    assert abs(together - total["total"]) < 1e-4 * total["total"], (together, total)
assert paths[-1]["path"] == "[idle]" and paths[-1]["energy_j"] == total["idle"], paths[-1]
print("ok")
