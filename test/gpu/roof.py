# SPDX-License-Identifier: MIT
"""
roof.py SECONDS: matrix products, and copies of memory that no cache holds, in turns. Prints
the operations and bytes of a launch of each.
"""
import sys
import time

import torch

WIDTH, BYTES = 8192, 1 << 30
a = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
x = torch.zeros(BYTES // 4, device="cuda")
y = torch.empty_like(x)
begin = time.time()
while time.time() - begin < float(sys.argv[1]):
    for _ in range(10):
        a @ a
        torch.neg(x, out=y)
    torch.cuda.synchronize()
print("product", 2 * WIDTH ** 3, 0)
print("copy", 0, 2 * BYTES)
