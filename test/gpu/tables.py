# SPDX-License-Identifier: MIT
"""tables.py DIR: prints folded stacks in ns from a directory of tables, as pyarrow reads them,
without launches that have no work. Exits with 3 if pyarrow is missing. Also checks that the other
tables agree with them."""
import collections
import os
import sys

try:
    import pyarrow
    import pyarrow.dataset
except ImportError:
    sys.exit(3)

TABLES = ("launches device paths frames processes ranges calls samples waits allocations metrics "
          "losses").split()


def rows(table):
    path = os.path.join(sys.argv[1], table)
    return pyarrow.dataset.dataset(path, format="parquet",
                                   partitioning="hive").to_table().to_pylist()


def clean(name):
    return name.replace(";", ":")


def main():
    tables = {name: rows(name) for name in TABLES}
    print("pyarrow", pyarrow.__version__, {name: len(tables[name]) for name in TABLES},
          file=sys.stderr)
    paths = {(r["process_id"], r["path_id"]): r["path"] for r in tables["paths"]}
    sums = collections.Counter()

    def add(row, leaf, ns):
        line = clean(row["comm"]) + ";" + paths[row["process_id"], row["path_id"]]
        sums[line + (";" + leaf if leaf else "")] += ns

    gpus = {r["gpu"] for r in tables["device"]}
    for r in tables["device"]:
        label = "[GPU%s_%s]" % (r["gpu"] if len(gpus) > 1 else "", r["kind"].capitalize())
        add(r, label + ("" if r["kind"] == "memset" else clean(r["name"])), r["duration_ns"])
    for r in tables["samples"]:
        add(r, "", r["period_ns"])
    for r in tables["waits"]:
        add(r, ("[GPU_Wait]" if r["kind"] == "gpu_wait" else "[Off_CPU]") + clean(r["name"]),
            r["duration_ns"])
    for line in sorted(sums):
        print(line, sums[line])

    counters = collections.Counter()
    for r in tables["losses"]:
        counters[r["counter"]] += r["count"]
    assert counters["works"] == len(tables["device"]), counters
    ids = {r["process_id"] for r in tables["processes"]}
    assert all(r["process_id"] in ids for name in TABLES for r in tables[name] if "process_id" in r)
    frames = collections.Counter((r["process_id"], r["path_id"]) for r in tables["frames"])
    assert all(frames[r["process_id"], r["path_id"]] == r["frames"] for r in tables["paths"])


main()
