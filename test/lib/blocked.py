# SPDX-License-Identifier: MIT
"""How long a thread was blocked, as the kernel reports it: it neither ran nor waited for a CPU"""
import time

def waited():
    try:
        return [int(n) for n in open("/proc/thread-self/schedstat").read().split()[1:]]
    except FileNotFoundError:
        return [0, 0]

def blocked_ns():
    while True:		# until no counter changes during the reads
        before = waited()
        ns = time.monotonic_ns() - time.thread_time_ns() - before[0]
        if waited()[1] == before[1]:
            return ns

def wait_until_blocked(pid):
    while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.01)
