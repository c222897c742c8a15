# SPDX-License-Identifier: GPL-3.0-or-later
"""windows.py [N]: how long entering and leaving with xpuload.record() takes

Eight threads launch all the time, on a GPU with PyTorch if both exist, else on the simulated
device, while N windows are recorded. torch.profiler makes the same windows in a separate process,
because it keeps CUPTI. Times are in ms; the first window, which starts xpuload, is listed
separately.
"""
import ctypes
import os
import statistics
import subprocess
import sys
import threading
import time

NR = int(sys.argv[1]) if len(sys.argv) > 1 else 20
THREADS = 8


def use_torch():
    """Returns a function that launches, or None if PyTorch or a GPU is missing."""
    try:
        import torch
        x = torch.ones(64, device="cuda")
    except (ImportError, RuntimeError):
        return None
    return lambda: torch.exp(x)


def use_simulated():
    lib = ctypes.CDLL(os.environ["XPU_BUILD"] + "/workload/py_launch.so")
    lib.py_launch_init()
    return lambda: lib.py_launch(1)


def profiler():
    from torch.profiler import ProfilerActivity, profile
    return profile(activities=[ProfilerActivity.CUDA], acc_events=True)


def recorder():
    import xpuload
    return xpuload.record()


def measure(name, window, launch):
    enter, leave = [], []

    def work():
        while len(leave) < NR:
            launch()
            time.sleep(0.0005)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for _ in range(NR):
        begin = time.monotonic()
        with window():
            entered = time.monotonic()
            time.sleep(0.02)
            left = time.monotonic()
        enter.append((entered - begin) * 1e3)
        leave.append((time.monotonic() - left) * 1e3)
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    print("%-15s%9.0f%9.0f%9.0f%11.0f%9.0f" % (
        name, statistics.median(enter[1:]), max(enter[1:]), statistics.median(leave), max(leave),
        enter[0]), flush=True)


def main():
    if os.environ.get("WINDOWS_OF"):
        measure("torch.profiler", profiler, use_torch())
        return
    launch = use_torch()
    print("windows of 20 ms, %d threads, %s" % (THREADS, "a GPU" if launch else
                                                "the simulated device"))
    print("ms             entering     most  leaving       most    first", flush=True)
    measure("xpuload.record", recorder, launch or use_simulated())
    if launch:
        subprocess.run([sys.executable, *sys.argv], check=True, env={**os.environ,
                                                                     "WINDOWS_OF": "torch"})


main()
