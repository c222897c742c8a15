# SPDX-License-Identifier: MIT
# kineto.py TRACE: trains a small network under torch.profiler, with stacks and modules, and writes
# the profile to TRACE.
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                  nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.feed(self.norm(x))


model = nn.Sequential(Block(128), Block(128), nn.Linear(128, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
host = torch.randn(8, 32, 128).pin_memory()
target = torch.randint(0, 10, (8, 32)).cuda()


def step():
    with record_function("forward"):
        out = model(host.cuda(non_blocking=True))
        loss = nn.functional.cross_entropy(out.flatten(0, 1), target.flatten())
    with record_function("backward"):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True,
             with_modules=True, record_shapes=True,
             schedule=schedule(wait=1, warmup=1, active=10)) as prof:
    for _ in range(12):
        step()
        prof.step()
prof.export_chrome_trace(sys.argv[1])
