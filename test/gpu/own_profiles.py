# SPDX-License-Identifier: MIT
# own_profiles.py [THREADS]: runs torch.profiler three times, while THREADS other threads go on
# launching. For each profile, prints the counts of the kernels and copies that only this thread
# launches.
import sys
import threading
import time

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

PROFILES = 3
STEPS = 50
KINDS = ["tanh", "exp", "Memcpy HtoD"]

a = torch.randn(4096, device="cuda")
b = torch.empty(4096, device="cuda")
host = torch.randn(4096).pin_memory()
over = threading.Event()
errors = []


def steps():
    for _ in range(STEPS):
        torch.tanh(a)
        torch.exp(a)
        b.copy_(host, non_blocking=True)
    torch.cuda.current_stream().synchronize()


def other_thread():
    try:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.empty(4096, device="cuda")
            while not over.is_set():
                for _ in range(20):
                    torch.sin(x)
                time.sleep(0.001)
        stream.synchronize()
    except BaseException as error:
        errors.append(error)


steps()
threads = [threading.Thread(target=other_thread, daemon=True)
           for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4)]
for thread in threads:
    thread.start()
for i in range(PROFILES):
    steps()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        time.sleep(0.02)        # keeps work away from the profile's edges
        steps()
        time.sleep(0.02)
    counts = dict.fromkeys(KINDS, 0)
    for event in prof.events():
        if event.device_type == DeviceType.CUDA:
            for kind in KINDS:
                counts[kind] += kind in event.name
    print(f"own_profiles: profile {i}:",
          ", ".join(f"{nr} {kind}" for kind, nr in counts.items()), flush=True)
over.set()
for thread in threads:
    thread.join()
steps()
print(f"own_profiles: {len(threads)} threads, {len(errors)} errors", *errors)
