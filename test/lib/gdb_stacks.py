# SPDX-License-Identifier: MIT
"""
gdb_stacks.py - compares each call chain of the shim with gdb's backtrace at that moment

    gdb -batch -x gdb_stacks.py --args PROGRAM [ARG...]

Run with XPU_SHIM=libxpushim.so in the environment and nobody attached: this script plays the
listener. With XPU_REMOTE=SOCKET, the program is one of another architecture, which an emulator has
started with the shim; it waits at SOCKET, and its libraries are below XPU_SYSROOT. Prints the
differences and "stacks N same N differ N none N cut N frames N".
"""
import os
import struct

import gdb

SITE = "xpu_live_launch"

# struct xpu_slot
SLOT = struct.Struct("<IIIHHQIIQ")
TRUNCATED = 1

MAX_FRAMES = int(os.environ.get("XPUSHIM_MAX_FRAMES", 127))

count = {"stacks": 0, "same": 0, "differ": 0, "none": 0, "frames": 0, "cut": 0}
report = []


# The function to which makecontext()'s functions return. Key: whether the machine is aarch64
START_CONTEXT = {False: "__start_context", True: "__startcontext"}


def aarch64():
    return gdb.newest_frame().architecture().name() == "aarch64"


def gdb_chain():
    """Returns the return addresses that gdb finds, the one in the shim's caller first."""
    chain = []
    frame = gdb.newest_frame()
    start_context = int(gdb.parse_and_eval("(long)&" + START_CONTEXT[aarch64()]))
    interrupted = False
    while frame is not None and frame.is_valid():
        kind = frame.type()
        # Inlined functions have no frame; neither has a function that ended in a tail call.
        if kind not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            # 1 is added to an address that is not a return address.
            last = frame.pc() == start_context
            exact = interrupted or last or kind == gdb.SIGTRAMP_FRAME
            chain.append(frame.pc() + (1 if exact else 0))
            interrupted = kind == gdb.SIGTRAMP_FRAME
            if last:
                break           # nothing called it, so gdb's next frame is wrong
        frame = frame.older()
    # The shim's own frame: its exact address does not matter.
    shim = gdb.solib_name(chain[0])
    while gdb.solib_name(chain[0] - 1) == shim:
        chain.pop(0)
    return chain


def shim_chain():
    memory = gdb.selected_inferior()
    slot = int(gdb.parse_and_eval("$x0" if aarch64() else "$rdi"))
    fields = SLOT.unpack(memory.read_memory(slot, SLOT.size).tobytes())
    nr, address, flags = fields[7], fields[8], fields[4]
    data = memory.read_memory(address, 8 * nr).tobytes() if nr else b""
    return list(struct.unpack("<%dQ" % nr, data)), flags


def describe(address):
    return "%#x %s" % (address, gdb.execute("info symbol %#x" % (address - 1), to_string=True)
                       .split(" of ")[0].strip())


class Launch(gdb.Breakpoint):
    def stop(self):
        mine, flags = shim_chain()
        theirs = gdb_chain()
        count["stacks"] += 1
        count["frames"] += len(mine)
        if not mine:
            count["none"] += 1
        if flags & TRUNCATED:
            count["cut"] += 1
            if len(mine) != MAX_FRAMES:
                report.append("launch %d: cut after %d of %d frames" %
                              (count["stacks"], len(mine), len(theirs)))
            theirs = theirs[:len(mine)]
        if mine == theirs:
            count["same"] += 1
            return False
        count["differ"] += 1
        report.append("launch %d differs; the shim's and gdb's:" % count["stacks"])
        for i in range(max(len(mine), len(theirs))):
            a = describe(mine[i]) if i < len(mine) else "-"
            b = describe(theirs[i]) if i < len(theirs) else "-"
            report.append("%s %3d %-60s %s" % (" " if a == b else "!", i, a, b))
        return False


def main():
    for command in ("pagination off", "confirm off", "backtrace past-main on",
                    "backtrace past-entry on", "backtrace limit unlimited",
                    "print thread-events off", "breakpoint pending on"):
        gdb.execute("set " + command)
    remote = os.environ.get("XPU_REMOTE")
    if remote:
        gdb.execute("set sysroot " + os.environ["XPU_SYSROOT"])
        gdb.execute("target remote " + remote)
    else:
        gdb.execute("set environment LD_PRELOAD " + os.environ["XPU_SHIM"])
        gdb.execute("set startup-with-shell off")
    for signal in ("SIGUSR1", "SIGUSR2", "SIGILL"):
        gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)
    gdb.execute("break main", to_string=True)
    gdb.execute("continue" if remote else "run", to_string=True)
    if remote:
        gdb.execute("sharedlibrary", to_string=True)
    for site in ("xpu_live_batch", "xpu_live_launch"):
        gdb.execute("set var *(unsigned short *)&%s_semaphore = 1" % site)
    Launch("*" + SITE, internal=True)
    gdb.execute("continue", to_string=True)
    print("\n".join(report))
    print("stacks %(stacks)d same %(same)d differ %(differ)d none %(none)d cut %(cut)d "
          "frames %(frames)d" % count)


main()
