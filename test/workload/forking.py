# SPDX-License-Identifier: MIT
"""Launches from multiprocessing's processes: forking.py fork|spawn|forkserver N

Uses kernels and streams through ctypes on libcudart, no compiled code. A launch is a copy, by the
function copy_in_parent or copy_in_child. Each of three processes (the parent and two children)
makes N launches.
"""
import ctypes
import multiprocessing
import os
import sys


def load():
    cuda = ctypes.CDLL("libcudart.so.13")
    cuda.cudaMemset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    return cuda


def work(cuda, nr):
    device = ctypes.c_void_p()
    if cuda.cudaMalloc(ctypes.byref(device), 4096):
        sys.exit("forking.py: cudaMalloc failed")
    for _ in range(nr):
        if cuda.cudaMemset(device, 1, 4096):
            sys.exit("forking.py: cudaMemset failed")
    if cuda.cudaDeviceSynchronize():
        sys.exit("forking.py: cudaDeviceSynchronize failed")


def child(nr, queue):
    work(load(), nr)
    queue.put(os.getpid())


def main():
    context = multiprocessing.get_context(sys.argv[1])
    nr = int(sys.argv[2])
    queue = context.SimpleQueue()
    children = [context.Process(target=child, args=(nr, queue)) for _ in range(2)]
    for c in children:
        c.start()
    work(load(), nr)  # after the fork, because CUDA does not survive a fork
    for c in children:
        c.join()
        if c.exitcode:
            sys.exit(f"forking.py: a child ended with {c.exitcode}")
    pids = {queue.get(), queue.get(), os.getpid()}
    print(f"forking.py: {3 * nr} launches by {len(pids)} processes")


if __name__ == "__main__":
    main()
