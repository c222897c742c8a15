# SPDX-License-Identifier: MIT
"""A Triton kernel whose loads wait for one another."""
import torch
import triton
import triton.language as tl


@triton.jit
def chase(p, out, nr):
    at = tl.program_id(0).to(tl.int64) * 128 + tl.arange(0, 128)
    for _ in range(nr):
        at = tl.load(p + at)
    tl.store(out + tl.program_id(0) * 128 + tl.arange(0, 128), at)


SIZE = 1 << 26
where = (torch.arange(SIZE, device="cuda", dtype=torch.int64) * 2654435761 + 12345) % SIZE
out = torch.empty(528 * 128, device="cuda", dtype=torch.int64)
for _ in range(10):
    chase[(528,)](where, out, 2000)
torch.cuda.synchronize()
print("triton: over")
