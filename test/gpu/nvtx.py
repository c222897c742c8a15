# SPDX-License-Identifier: MIT
# NVTX from PyTorch: ranges with a known number of kernels in each, and autograd's own ranges.
import torch

x = torch.ones(1 << 16, device="cuda")
torch.cuda.synchronize()
with torch.cuda.nvtx.range("step"):
    with torch.cuda.nvtx.range("adds"):
        for _ in range(500):
            x.add_(1)
    torch.cuda.nvtx.range_push("muls")
    for _ in range(300):
        x.mul_(2)
        torch.cuda.nvtx.range_push("inner")
        x.add_(1)
        torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.mark("half way")
    handle = torch.cuda.nvtx.range_start("started")
    for _ in range(200):
        x.sub_(1)
    torch.cuda.nvtx.range_end(handle)
torch.cuda.synchronize()

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(),
                            torch.nn.Linear(256, 256)).cuda()
y = torch.randn(64, 256, device="cuda")
with torch.autograd.profiler.emit_nvtx():
    for _ in range(10):
        model(y).sum().backward()
torch.cuda.synchronize()
print("nvtx: done")
