# SPDX-License-Identifier: MIT
"""
counters_compare.py TABLE.json NCU.csv: compares the table kernel_metrics with Nsight Compute,
which runs the same kernels alone. Prints a line for each kernel of 1 % of the time and more, then
the mean distance of all known values, weighted by device time, and how many values are outside of
their own error.

A kernel that Nsight Compute runs alone takes another time, at another clock. The instructions and
the bytes of a launch are the same, so the values of Nsight Compute are scaled to the time of the
recording, and the values of SMs also to its clock.
"""
import collections
import csv
import json
import re
import sys

COLUMNS = {
    "sm_active_percent": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm_issue_percent": "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
    "tensor_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram_read_percent": "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
    "dram_write_percent": "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
}
TIME = "gpu__time_duration.sum"
CYCLES = "gpc__cycles_elapsed.max"


def key(name):
    """The two programs print template arguments and unnamed types in different ways."""
    name = re.sub(r"\(anonymous namespace\)|unnamed>|<unnamed|native::|void |\bat::", "", name)
    return re.sub(r"[^a-z0-9]", "", name.lower())[:60]


launches = collections.defaultdict(dict)
for row in csv.DictReader(line for line in open(sys.argv[2]) if line.startswith('"')):
    value = float(row["Metric Value"].replace(",", "") or "nan")
    launches[row["ID"]][row["Metric Name"]] = value
    launches[row["ID"]]["key"] = key(row["Kernel Name"])
# For each kernel: the number of launches, their total ns and total cycles, and for each metric the
# sum of value * ns.
truth = collections.defaultdict(lambda: [0, 0.0, 0.0, collections.Counter()])
for launch in launches.values():
    ns = launch[TIME]
    item = truth[launch["key"]]
    item[0] += 1
    item[1] += ns
    item[2] += launch.get(CYCLES, ns * 1.98)
    for metric in COLUMNS.values():
        item[3][metric] += ns * launch.get(metric, float("nan"))

rows = json.load(open(sys.argv[1]))["kernel_metrics"]
total = sum(row["total_ns"] for row in rows)
groups = collections.defaultdict(list)		# rows that share one value
met = 0
for row in rows:
    if key(row["name"]) in truth:
        met += row["total_ns"]
    elif row["total_ns"] > total / 100:
        print("# not in Nsight Compute:", row["name"][:60], row["total_ns"] / total)
    groups[row["together"] or row["name"]].append(row)
print(f"# matched with Nsight Compute: {100 * met / total:.1f} % of device time")


def true_of(row, metric):
    """Return: what Nsight Compute says of a row, for the row's time and clock."""
    nr, ns, cycles, values = truth[key(row["name"])]
    slower = row["total_ns"] / row["instances"] / (ns / nr)
    clock = row["gpc_clock_mhz"] / 1e3 / (cycles / ns)
    return min(100, values[metric] / ns / (slower * (clock if metric.startswith("sm__") else 1)))


sums = {column: [0, 0.0, 0, 0, 0] for column in COLUMNS}
for group in groups.values():
    ns, row, line = sum(row["total_ns"] for row in group), group[0], []
    if any(key(row["name"]) not in truth for row in group):
        continue
    for column, metric in COLUMNS.items():
        true = sum(true_of(row, metric) * row["total_ns"] for row in group) / ns
        value, error, item = row[column], row[column + "_error"], sums[column]
        if true != true:
            continue
        if value is None:
            item[0] += ns
            line.append(f"- ({true:.1f})")
            continue
        item[1] += ns * abs(value - true)
        item[2] += ns
        item[3] += 1
        item[4] += abs(value - true) > max(3 * error, 5)
        line.append(f"{value:.1f}+-{error:.1f} ({true:.1f})")
    if ns > total / 100:
        print(f"# {100 * ns / total:4.1f} % {row['total_ns'] / row['instances'] / 1e3:6.1f} us "
              f"{len(group)} {row['name'][:36]:36} {' | '.join(line)}")
for column, (unknown, distance, known_ns, nr, far) in sums.items():
    print(f"{column} known {100 * known_ns / max(known_ns + unknown, 1):.1f} % of time, "
          f"mean distance {distance / max(known_ns, 1):.2f} points, "
          f"{far} of {nr} kernels farther than 3 errors and 5 points")
