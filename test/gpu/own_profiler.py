# SPDX-License-Identifier: MIT
# own_profiler.py: torch.profiler in the program, during a part of the program's run.
import torch

a = torch.randn(256, 256, device="cuda")


def step():
    return torch.tanh(a @ a).sum()


for _ in range(20):
    step()
torch.cuda.synchronize()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
    for _ in range(10):
        step()
    torch.cuda.synchronize()
kernels = sum(1 for e in prof.events() if "gemm" in e.name or "tanh" in e.name)
print("own_profiler: kernels seen", kernels)
for _ in range(20):
    step()
torch.cuda.synchronize()
