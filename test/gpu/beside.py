# SPDX-License-Identifier: MIT
# beside.py [THREADS]: opens ten windows of torch.profiler, which record CPU, CUDA and stacks, while
# THREADS other threads go on launching. For each window it prints the counts by name of the main
# thread's device and CPU events, the number of events with stacks, and the number of device events
# that began before their call or ended after the last call. At the end it prints how many kernels
# of each name the whole program launched.
import collections
import json
import sys
import tempfile
import threading
import time

import torch
from torch.autograd import DeviceType
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

WINDOWS = 10
STEPS = 50
DEVICE = ["tanh", "exp", "Memcpy HtoD"]
CPU = ["aten::tanh", "aten::exp", "aten::copy_"]

a = torch.randn(4096, device="cuda")
b = torch.empty(4096, device="cuda")
host = torch.randn(4096).pin_memory()
over = threading.Event()
nr_calls = 0


def steps():
    global nr_calls
    for _ in range(STEPS):
        torch.tanh(a)
        torch.exp(a)
        b.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    nr_calls += 1


def other_thread():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.empty(4096, device="cuda")
        while not over.is_set():
            for _ in range(20):
                torch.sin(x)
            time.sleep(0.001)
    stream.synchronize()


def out_of_order(prof):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        prof.export_chrome_trace(file.name)
        events = [e for e in json.load(open(file.name))["traceEvents"]
                  if "correlation" in e.get("args", {})]
    calls = {e["args"]["correlation"]: e for e in events
             if e["cat"] in ("cuda_runtime", "cuda_driver")}
    last = max(e["ts"] + e["dur"] for e in calls.values())
    nr = 0
    for e in events:
        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and \
                any(n in e["name"] for n in DEVICE):
            call = calls.get(e["args"]["correlation"])
            nr += not call or e["ts"] < call["ts"] or e["ts"] + e["dur"] > last
    return nr


steps()
threads = [threading.Thread(target=other_thread, daemon=True)
           for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4)]
for thread in threads:
    thread.start()
for i in range(WINDOWS):
    steps()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True,
                 experimental_config=_ExperimentalConfig(verbose=True)) as prof:
        time.sleep(0.02)        # keeps work away from the window's edges
        steps()
        time.sleep(0.02)
    counts = collections.Counter()
    for event in prof.events():
        if event.device_type == DeviceType.CUDA:
            for kind in DEVICE:
                counts[kind] += kind in event.name
            counts["backwards"] += event.time_range.end < event.time_range.start
        elif event.name in CPU:
            counts[event.name] += 1
            counts["with a stack"] += bool(event.stack)
    counts["out of order"] = out_of_order(prof)
    print(f"beside: window {i}:",
          ", ".join(f"{counts[kind]} {kind}"
                    for kind in DEVICE + CPU + ["with a stack", "backwards", "out of order"]),
          flush=True)
over.set()
for thread in threads:
    thread.join()
steps()
print(f"beside: in all {nr_calls * STEPS} tanh, {nr_calls * STEPS} exp")
