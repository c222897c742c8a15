# SPDX-License-Identifier: MIT
"""switches.c in Python: two processes on one CPU that wake each other, each 30 functions deep.

switches.py N: N switches; prints ns for each
"""
import os
import sys
import time

DEPTH = 30


def play(read, write, n):
    for _ in range(n):
        os.read(read, 1)
        os.write(write, b"x")


def deep(depth, *args):
    return deep(depth - 1, *args) if depth else play(*args)


n = int(sys.argv[1]) // 2
os.sched_setaffinity(0, {os.sched_getaffinity(0).pop()})
to_child, to_parent = os.pipe(), os.pipe()
begin = time.monotonic_ns()
child = os.fork()
if not child:
    deep(DEPTH, to_child[0], to_parent[1], n)
    os._exit(0)
os.write(to_child[1], b"x")
deep(DEPTH, to_parent[0], to_child[1], n - 1)
os.read(to_parent[0], 1)
print((time.monotonic_ns() - begin) // (2 * n))
os.waitpid(child, 0)
