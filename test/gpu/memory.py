# SPDX-License-Identifier: MIT
"""memory.py WHAT [STEPS]: trains, and prints PyTorch's own figures of its memory

WHAT is

    train       on each device, with checkpointing, a planted leak of 3 MB a step in plant_leak(), a
                planted peak of 2 GB in plant_peak(), and a loader that pins memory
    devices     as train, but the leak is on the last device alone
    graph       a CUDA graph with a pool of its own

At each moment, when the devices are idle:

    moment NS DEVICE ALLOCATED RESERVED         NS: CLOCK_MONOTONIC

and at the end, for each device, "peak DEVICE ALLOCATED RESERVED".
"""
import sys
import time

import torch
from torch.utils.checkpoint import checkpoint

WIDTH = 512
kept = []


def devices():
    return [i for i in range(torch.cuda.device_count()) if torch.cuda.max_memory_reserved(i)]


def say_moment():
    torch.cuda.synchronize()
    time.sleep(0.003)
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    for device in devices():
        print("moment", now, device, torch.cuda.memory_allocated(device),
              torch.cuda.memory_reserved(device))
    time.sleep(0.003)


def say_peaks():
    for device in devices():
        print("peak", device, torch.cuda.max_memory_allocated(device),
              torch.cuda.max_memory_reserved(device))


def plant_leak(device):
    kept.append(torch.empty(3 << 20, dtype=torch.uint8, device=device))


def plant_peak(device):
    big = torch.empty(2 << 30, dtype=torch.uint8, device=device)
    del big


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def make_model(device):
    model = torch.nn.Sequential(*(Block() for _ in range(8))).to(device)
    return model, torch.optim.AdamW(model.parameters())


def make_loader(steps):
    data = torch.utils.data.TensorDataset(torch.randn(64 * steps, WIDTH))
    return torch.utils.data.DataLoader(data, batch_size=64, pin_memory=True)


def step(model, optimizer, batch):
    x = batch
    for layer in model:
        x = checkpoint(layer, x, use_reentrant=False)
    x.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def train(steps, leaks_everywhere=True):
    all_devices = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    models = [make_model(d) for d in all_devices]
    for i, (batch,) in enumerate(make_loader(steps)):
        for device, (model, optimizer) in zip(all_devices, models):
            with torch.cuda.device(device):
                step(model, optimizer, batch.to(device, non_blocking=True))
                if leaks_everywhere or device == all_devices[-1]:
                    plant_leak(device)
                if i == steps // 2:
                    plant_peak(device)
        say_moment()


def graph(steps):
    model, _ = make_model("cuda")
    x = torch.randn(64, WIDTH, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        model(x)
    torch.cuda.current_stream().wait_stream(side)
    say_moment()
    captured = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(captured):
        y = model(x)
    say_moment()
    for _ in range(steps):
        captured.replay()
        say_moment()
    del captured, y
    torch.cuda.empty_cache()
    say_moment()


what, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
if what == "graph":
    graph(steps)
else:
    train(steps, what == "train")
say_peaks()
