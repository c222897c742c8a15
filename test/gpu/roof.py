# SPDX-License-Identifier: MIT
"""
roof.py SECONDS: matrix products, and negations of memory that no cache holds, in turns. Prints the
bytes that a negation reads and writes.
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
print(2 * BYTES)
