# SPDX-License-Identifier: MIT
"""python.py LIBRARY: see python.c. Plain calls, and methods called through C as modules are"""
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])


def plain(depth, total):
    if depth:
        plain(depth - 1, total)
    else:
        lib.measure(total)


class Module:
    """As in modules of torch.nn, each call goes through the interpreter's C code."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, total):
        return self.forward(total)

    def forward(self, total):
        if self.inner:
            return self.inner(total)
        return lib.measure(total)


if lib.start():
    sys.exit("python.py: this Python's frames cannot be had")
print("Python's frames, best of 1000 rounds, Python " + sys.version.split()[0] + ":")
for nr in 5, 20, 40:
    plain(nr - 2, nr)
module = None
for _ in range(10):
    module = Module(module)
module(21)
