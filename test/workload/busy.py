# SPDX-License-Identifier: MIT
"""Threads that launch, allocate, collect garbage and fork until the end of stdin: busy.py LIBRARY

LIBRARY is py_launch.so. Prints like busy.cu.
"""
import ctypes
import gc
import os
import sys
import threading
import warnings

ENDED = 7


def launch(library):
    library.py_launch(1)
    return True


def allocate(_library):
    ring = [list(range(100)) for _ in range(100)]
    for i, one in enumerate(ring):
        one.append(ring[i - 1])
    return sum(one[99] for one in ring) == 9900


def collect(_library):
    gc.collect()
    return True


def fork(_library):
    pid = os.fork()
    if not pid:
        os._exit(ENDED)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == ENDED


def repeat(work, library, over, results):
    while not over.is_set():
        right = False
        try:
            right = work(library)
        finally:
            results.append(right)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.py_launch_init()
    warnings.simplefilter("ignore")
    over, results = threading.Event(), []
    threads = [threading.Thread(target=repeat, args=(work, library, over, results))
               for work in (launch, launch, allocate, allocate, collect, fork)]
    for thread in threads:
        thread.start()
    sys.stdout.write("busy: ready\n")  # one write, also if Python does not buffer
    sys.stdout.flush()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    sys.stdout.write("busy: rounds %d wrong %d\n" % (len(results), results.count(False)))


main()
