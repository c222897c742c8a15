# SPDX-License-Identifier: MIT
# shm_caller.py - talks to xpuload through shared memory, as the shim does: see bpf/xpu_shm.h
import ctypes, fcntl, mmap, os, socket, struct, time

F_ADD_SEALS = 1033
SHRINK, GROW, SEAL, WRITE = 2, 4, 1, 8
RING_AT = 4096 * 2 + 1024 * 16384


class Caller:
    def __init__(self, env=None):
        name, token, _, ring, _ = (env or os.environ["XPUSHIM_SHM"]).split(":")
        self.address = "\0" + name
        self.token = bytes.fromhex(token)
        self.bytes = RING_AT + int(ring, 16)

    def memory(self, size=None, seals=SHRINK | GROW | SEAL, flags=os.MFD_ALLOW_SEALING):
        fd = os.memfd_create("shim", flags)
        os.ftruncate(fd, self.bytes if size is None else size)
        if seals:
            fcntl.fcntl(fd, F_ADD_SEALS, seals)
        return fd

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        s.connect(self.address)
        return s

    def hello(self, image=None, version=7, token=None, flags=0, segment=0):
        return struct.pack("=II16sQII16siI", 0x6D687378, version, token or self.token,
                           image or time.monotonic_ns(), os.getpid(), flags, b"", segment, 0)

    # Return: the connection, still open; the shim would close its connection at once
    def send(self, fds=(), **hello):
        s = self.connect()
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    struct.pack(f"{len(fds)}i", *fds))] if fds else []
        s.sendmsg([self.hello(**hello)], control)
        return s


# Stores a number in the mapped memory @m with one write: struct.pack_into() clears the bytes first,
# and xpuload may read them at that moment.
def store(m, at, number, c_type=ctypes.c_uint64):
    c_type.from_buffer(m, at).value = number


# Writes @record, whose size is a multiple of 8 bytes, to the mapped memory @m.
def put_record(m, record):
    head = struct.unpack_from("=Q", m, 4096)[0]
    m[RING_AT + head:RING_AT + head + 8 + len(record)] = \
        struct.pack("=II", len(record), 1 << 9) + record
    store(m, 4096, head + 8 + len(record))


# Return: an MMAP record with everything that a process can lie about. @name: with NUL and padding
def mmap_record(start, length, name, time_ns=0, id_len=0):
    return struct.pack("=HHIQIIQQQQIIIIB20s3x", 5, 0xffff, 96 + len(name), time_ns, 1, 1, start,
                       length, 0, 7, 8, 1,
                       0xffffffff, 0xffffffff, id_len, b"evil") + name


# Writes @count launches of cudaLaunchKernel to the memory @fd, as the shim does with --probe
# launch.
def put_launches(fd, count):
    with mmap.mmap(fd, 0) as m:
        head = struct.unpack_from("=Q", m, 4096)[0]
        for i in range(count):
            record = struct.pack("=HHIQIIIIHHIQQIIIIII", 32, 0, 80, time.monotonic_ns(), 0, 0,
                                 i + 1, 211, 3, 0,
                                 0, 0, 0, 0, 0, 0, os.getpid(), 0, 0)
            at = RING_AT + head
            m[at:at + 88] = struct.pack("=II", len(record), 1 << 9) + record
            head += 88
        store(m, 4096, head)
        store(m, 8, 1, ctypes.c_uint32)
