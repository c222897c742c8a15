# SPDX-License-Identifier: MIT
# capture.py profiler|nvtx: PyTorch with windows. Multiplications run inside the windows, and
# additions run outside. The numbers of both are always the same.
import sys
import threading

import torch

WINDOWS, IN, OUT, THREADS = 50, 40, 30, 4
by_nvtx = sys.argv[1] == "nvtx"
x = [torch.ones(1 << 14, device="cuda") for _ in range(THREADS)]
torch.cuda.synchronize()


def spread(work):
    """Runs work(its tensor) on separate threads, and waits for them, not for the GPU."""
    threads = [threading.Thread(target=work, args=(own,)) for own in x]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def outside(own):
    for _ in range(OUT):
        own.add_(1)


def inside(own):
    for _ in range(IN):
        own.mul_(1.0001)


for _ in range(WINDOWS):
    spread(outside)
    if by_nvtx:
        torch.cuda.nvtx.range_push("window")
    else:
        torch.cuda.profiler.start()
    spread(inside)
    if by_nvtx:
        torch.cuda.nvtx.range_pop()
    else:
        torch.cuda.profiler.stop()
spread(outside)
torch.cuda.synchronize()
print("capture:", WINDOWS * IN * THREADS)
