# SPDX-License-Identifier: MIT
"""
counters.py big|small|graph SECONDS: training steps of a transformer for some seconds. `big` has
long kernels of many kinds, `small` has kernels of a few us in a GPU that is mostly idle, and
`graph` replays the steps of `small` as one CUDA graph.

counters.py big|small once: warms up, then one step between cudaProfilerStart and cudaProfilerStop,
for Nsight Compute.
"""
import sys
import time

import torch

kind, seconds = sys.argv[1], sys.argv[2]
width, heads, length, batch = (2048, 16, 1024, 16) if kind == "big" else (256, 4, 128, 8)
layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0, activation="gelu",
                                         batch_first=True, device="cuda", dtype=torch.bfloat16)
model = torch.nn.TransformerEncoder(layer, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
x = torch.randn(batch, length, width, device="cuda", dtype=torch.bfloat16)


def step():
    model(x).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(5):
        step()
torch.cuda.synchronize()
if seconds == "once":
    torch.cuda.cudart().cudaProfilerStart()
    step()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()
    sys.exit()
run = step
if kind == "graph":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    run = graph.replay
end, nr = time.monotonic() + float(seconds), 0
while time.monotonic() < end:
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    nr += 5
print("steps", nr)
