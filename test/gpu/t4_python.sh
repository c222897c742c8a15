#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests "with xpuload.record()" on a real GPU, without privileges. A PyTorch program, in which 8
# threads launch all the time, makes random windows. Also tests the cost of launches outside of
# windows, torch.profiler before, inside and after a window, JAX, CuPy, DataFrames and Arrow tables.
# Windows are made for PYTHON_WINDOWS_S seconds (default 20).
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
need gpu torch
use_package
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

cat >windows.py <<'END'
import os
import random
import sys
import threading
import time
import torch
import xpuload

OPS = {"in": torch.sinh, "edge": torch.cosh, "out": torch.atan}
KERNELS = {"in": "sinh_kernel", "edge": "cosh_kernel", "out": "atan_kernel"}
state, done = ("edge", 0), False
sure, unsure = {}, {}			# launches in one state, and across a change of state
lock = threading.Lock()


def work():
    x = torch.ones(64, device="cuda")
    y, mine = torch.empty_like(x), []
    while not done:
        before = state
        OPS[before[0]](x, out=y)
        mine.append((before, before == state))
        time.sleep(0.0005)
    with lock:
        for at, same in mine:
            of = sure if same else unsure
            of[at] = of.get(at, 0) + 1


def cost():
    """Returns how long a launch takes, in us."""
    x = torch.ones(64, device="cuda")
    y, best = torch.empty_like(x), 1e9
    for _ in range(5):
        torch.cuda.synchronize()
        t0 = time.perf_counter()
        for _ in range(2000):
            torch.exp(x, out=y)
        best = min(best, (time.perf_counter() - t0) / 2000)
    return best * 1e6


costs = [cost()]
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
results, enter, leave = [], [], []
end = time.monotonic() + float(os.environ.get("PYTHON_WINDOWS_S", 20))
while time.monotonic() < end and len(results) < 1000:
    nr = len(results)
    t0 = time.monotonic()
    with xpuload.record() as prof:
        t1 = time.monotonic()
        state = ("in", nr)
        time.sleep(random.uniform(0.0005, 0.02))
        state = ("edge", 0)
        t2 = time.monotonic()
    t3 = time.monotonic()
    state = ("out", nr)
    results.append(prof)
    enter.append(t1 - t0)
    leave.append(t3 - t2)
    time.sleep(random.uniform(0.0005, 0.02))
    state = ("edge", 0)
done = True
for thread in threads:
    thread.join()
costs.append(cost())


def count(prof, what):
    return sum(row.instances for row in prof.result.kernels if KERNELS[what] in row.name)


wrong, NR = [], len(results)
for nr in range(0, NR, max(NR // 60, 1)):		# reading all results takes long
    prof, account = results[nr], results[nr].result.account
    least = sure.get(("in", nr), 0)
    most = least + unsure.get(("in", nr), 0)
    outside = sum(n for at, n in unsure.items() if at[0] == "out" and at[1] in (nr - 1, nr))
    if account["lost"] or account["unmatched"] or count(prof, "out") > outside or \
            not least <= count(prof, "in") <= most:
        wrong.append((nr, account, least, count(prof, "in"), most, count(prof, "out"), outside,
                      prof.messages))
print("# %d windows: entered in %.0f ms (median; most %.0f, first %.0f), left in %.0f ms (most "
      "%.0f)" % (NR, sorted(enter)[NR // 2] * 1e3, max(enter[1:]) * 1e3, enter[0] * 1e3,
                 sorted(leave)[NR // 2] * 1e3, max(leave) * 1e3), file=sys.stderr)
print("# a launch: %.2f us before the first window, %.2f us after the last one" % tuple(costs),
      file=sys.stderr)
assert NR >= 20, NR
assert not wrong, wrong[:3]
END
bare timeout 100 python3 windows.py >windows.out 2>windows.err
is "$? $(cat windows.out)" "0 " \
	"random windows, 8 threads: each launch inside is recorded, none outside, lost 0" ||
	diag "$(tail -n 12 windows.err)"
diag "$(grep '^# ' windows.err)"

python "torch.profiler before, inside and after a window: right, or a refusal with a reason" <<'END'
import sys
import torch
from torch.profiler import ProfilerActivity, profile
import xpuload

x = torch.ones(64, device="cuda")


def launch():
    for _ in range(10):
        torch.sinh(x)
    torch.cuda.synchronize()


def profiled():
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        launch()
    return sum(e.count for e in p.key_averages() if "sinh_kernel" in e.key)


def recorded(fn):
    """Returns a triple: how many kernels the window has, why it has none, and the result of fn()."""
    value = None
    try:
        with xpuload.record() as prof:
            value = fn()
    except xpuload.RecordingError as e:
        return None, str(e), value
    return sum(r.instances for r in prof.result.kernels if "sinh_kernel" in r.name), \
        prof.messages, value


said = [("first window", recorded(launch)), ("profiler", profiled()),
        ("window after it", recorded(launch)), ("profiler in a window", recorded(profiled)),
        ("window", recorded(launch))]
with profile(activities=[ProfilerActivity.CUDA]) as p:
    said.append(("window in a profiler", recorded(launch)))
for line in said:
    print("#", *line, file=sys.stderr)
for name, value in said:
    if name == "profiler":
        assert value == 10, said
    elif name != "profiler in a window":
        nr, why, _ = value
        assert nr == 10 or (nr is None and "CUPTI" in why), (name, value)
assert said[0][1][0] == 10, said
END
diag "$(grep '^# ' python.err | cut -c1-300)"

python "PyTorch: memory, lines of Python, and tables as DataFrames and Arrow tables" <<'END'
import importlib.util
import sys
import torch
import xpuload

x = torch.ones(1 << 20, device="cuda")
with xpuload.record("step.html", memory=True) as prof:
    held = [torch.sinh(x) for _ in range(7)]
    torch.cuda.synchronize()
r = prof.result
assert r.account["lost"] == r.account["unmatched"] == 0, (r.account, prof.messages)
lines = {row.line: row.instances for row in r.python_lines}
assert [n for line, n in lines.items() if line.startswith("<stdin>") and n >= 7], lines
assert r.kernels and r.launches and len(r.launches) == r.account["launches"]
assert prof.wait().paths == ["step.html"]
for name, table in (("pandas", "to_pandas"), ("pyarrow", "to_arrow")):
    if not importlib.util.find_spec(name):
        print("# no", name, file=sys.stderr)
        continue
    for rows in (r.kernels, r.python_lines, r.paths, r.memory, r.launches):
        data = getattr(rows, table)()
        assert len(data) == len(rows), rows.name
    sums = getattr(r.kernels, table)()["instances"]
    total = sums.sum() if name == "pandas" else sum(sums.to_pylist())
    assert total == sum(row.instances for row in r.kernels)
    print("#", name, "has", total, "kernels", file=sys.stderr)
END
diag "$(grep '^# ' python.err)"

if python3 -c 'import cupy' 2>/dev/null; then
	python "CuPy: each launch of a kernel is in the window" <<'END'
import cupy
import xpuload

own = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * 3", "xpuload_own_kernel")
x = cupy.ones(64, dtype=cupy.float32)
own(x)
with xpuload.record() as prof:
    for _ in range(7):
        own(x)
own(x)
cupy.cuda.Device().synchronize()
found = {row.name: row.instances for row in prof.result.kernels}
assert found == {"xpuload_own_kernel": 7}, (found, prof.messages)
END
else
	skip "CuPy" "no CuPy"
fi
if python3 -c 'import jax' 2>/dev/null; then
	XLA_PYTHON_CLIENT_MEM_FRACTION=.1 python \
		"JAX: a window has as many kernels for each of its steps as another one" <<'END'
import jax
import jax.numpy as np
import xpuload


@jax.jit
def step(x):
    return np.tanh(x @ x) + 1


x = step(np.ones((256, 256))).block_until_ready()
counts = []
for steps in (3, 6):
    with xpuload.record() as prof:
        for _ in range(steps):
            x = step(x)
        x.block_until_ready()
    assert prof.result.account["lost"] == 0, prof.messages
    counts.append(sum(row.instances for row in prof.result.kernels))
assert counts[0] >= 3 and counts[1] == 2 * counts[0], (counts, prof.result.kernels)
END
else
	skip "JAX" "no JAX"
fi
for _ in $(seq 50); do [ -n "$(ls tmp)" ] || break; sleep 0.1; done
is "$(ls tmp | grep xpuload)" "" "no file stays in TMPDIR"
done_testing
