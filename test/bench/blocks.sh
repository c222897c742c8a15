#!/bin/sh
# SPDX-License-Identifier: MIT
# blocks.sh [N] - measures how long it takes to enter and to leave a block of xpuload.record(), in
# ms: the first block, and the median and the maximum of N more, through shared memory and by BPF,
# on the simulated device. It also measures how long a launch takes in a process without a shim,
# between blocks, and in a block. make bench-python runs this script.
export XPULOAD_TREE="$XPU_BUILD" PYTHONPATH="$XPU_SRC/python" LD_LIBRARY_PATH="$XPU_BUILD/sim"
for transport in shm bpf; do
	PYTHONDONTWRITEBYTECODE=1 python3 - "$transport" "${1:-30}" <<'END'
import ctypes
import os
import sys
import time
import xpuload

lib = ctypes.CDLL(os.environ["XPU_BUILD"] + "/workload/py_launch.so")
transport, nr = sys.argv[1], int(sys.argv[2])
lib.py_launch_init()


def launch_us():
    best = 1e9
    for _ in range(5):
        t0 = time.perf_counter()
        for _ in range(500):
            lib.py_launch(5)
        best = min(best, (time.perf_counter() - t0) / 500)
    return best * 1e6


us, enter, leave = [launch_us()], [], []
for _ in range(nr + 1):
    t0 = time.perf_counter()
    try:
        with xpuload.record(gpu_only=True, transport=transport) as prof:
            t1 = time.perf_counter()
            lib.py_launch(5)
            if len(enter) == nr:
                us.append(launch_us())
            t2 = time.perf_counter()
    except xpuload.RecordingError as e:
        sys.exit("%s: %s" % (transport, e))
    t3 = time.perf_counter()
    enter.append((t1 - t0) * 1e3)
    leave.append((t3 - t2) * 1e3)
us.insert(1, launch_us())
for name, ms in (("enter", enter), ("leave", leave)):
    rest = sorted(ms[1:])
    print("%s %s: first %.0f ms, then %.0f ms (median), at most %.0f ms" %
          (transport, name, ms[0], rest[len(rest) // 2], rest[-1]))
print("%s: a launch takes %.2f us without a shim, %.2f between blocks, %.2f in a block" %
      (transport, *us))
END
done
