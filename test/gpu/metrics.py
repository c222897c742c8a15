# SPDX-License-Identifier: MIT
"""
metrics.py SECONDS: copies memory for some seconds, then multiplies matrices, each from a function
of its own; then, if SECONDS allows, does both in turns for a minute. Prints the times, by
CLOCK_MONOTONIC, and the millijoules that NVML counted in between.

metrics.py --steps N: training steps of a small transformer; prints the median of a step in us, and
its peak memory.
"""
import ctypes
import resource
import statistics
import sys
import time

import torch

nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlInit_v2()
device = ctypes.c_void_p()
uuid = "GPU-" + str(torch.cuda.get_device_properties(0).uuid)
nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(device))


def millijoules():
    """The counter changes ten times a second, so this reads it when it has just changed."""
    value, last = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(last))
    value.value = last.value
    while value.value == last.value:
        nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))
    return value.value, time.monotonic_ns()


big = torch.zeros(1 << 28, device="cuda")
other = torch.empty_like(big)
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()


def copies(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(10):
            torch.add(big, 1, out=other)
        torch.cuda.synchronize()


def products(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(10):
            torch.matmul(a, b)
        torch.cuda.synchronize()


def steps(nr):
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, device="cuda",
                                             dtype=torch.bfloat16)
    model = torch.nn.TransformerEncoder(layer, 6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(16, 512, 1024, device="cuda", dtype=torch.bfloat16)
    times = []
    for _ in range(nr):
        begin = time.perf_counter()
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"step {statistics.median(times[nr // 4:]) * 1e6:.1f} {megabytes} MB")


if sys.argv[1] == "--steps":
    steps(int(sys.argv[2]))
    sys.exit()
seconds = float(sys.argv[1])
before, from_ns = millijoules()
copies(2)
products(2)
while time.monotonic_ns() - from_ns < seconds * 1e9:
    copies(1)
    time.sleep(0.5)
    products(1)
after, to_ns = millijoules()
print("window", from_ns, to_ns, after - before)
