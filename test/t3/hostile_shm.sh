#!/bin/sh
# SPDX-License-Identifier: MIT
# With shared memory, a hostile process of the tree sends file descriptors that are not memory,
# changes memory while xpuload reads it, and floods xpuload with connections. xpuload ends normally,
# prints its counts and leaks no file descriptor. Each launch of an honest process is recorded or
# counted as lost.
#
# HOSTILE_SECONDS=N sets the duration of each repeated attack; make fuzz-live sets a larger N.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root shim
command -v python3 >/dev/null || skip_all "no python3"
quiet_sanitizers
use_sim
exact="$XPU_BUILD/workload/exact"
export EXACT="$exact" SECONDS_EACH="${HOSTILE_SECONDS:-2}"

# hostile.py WHAT: does WHAT; prints the number of processes that should be counted as lost
cat >hostile.py <<-'END'
	import ctypes, errno, fcntl, mmap, os, random, signal, socket, struct, subprocess, sys, time
	sys.path.insert(0, os.environ["XPU_SRC"] + "/test/lib")
	from shm_caller import Caller, put_launches, put_record, mmap_record, store, SHRINK, GROW, SEAL, WRITE, RING_AT
	c = Caller()
	what = sys.argv[1]
	seconds = float(os.environ["SECONDS_EACH"])
	def exact(n):
	    subprocess.run([os.environ["EXACT"], "-t", "1", "-n", str(n)], stdout=subprocess.DEVNULL, check=True)
	def send(fds, **hello):
	    try:
	        c.send(fds, **hello).close()
	    except OSError as e:
	        if e.errno not in (errno.EAGAIN, errno.ETOOMANYREFS):
	            raise
	    for fd in fds:
	        os.close(fd)
	# The loss of a process is counted only if it has its own connection, so each sender is a
	# separate process.
	def each(*makers):
	    for make in makers:
	        pid = os.fork()
	        if not pid:
	            make()
	            os._exit(0)
	        os.waitpid(pid, 0)
	if what == "kinds":
	    r, w = os.pipe()
	    each(lambda: send([c.memory(seals=GROW | SEAL)]),		# memory that can shrink
	         lambda: send([c.memory(seals=0)]),
	         lambda: send([c.memory(flags=0, seals=0)]),
	         lambda: send([c.memory(size=4096)]),
	         lambda: send([c.memory(size=c.bytes + 4096)]),
	         lambda: send([c.memory(size=1 << 40)]),
	         lambda: send([c.memory(seals=SHRINK | GROW | SEAL | WRITE)]),
	         lambda: send([os.open("/dev/zero", os.O_RDWR)]),
	         lambda: send([os.open("/", os.O_PATH)]),
	         lambda: send([os.open("/proc/self/mem", os.O_RDWR)]),
	         lambda: send([r]),
	         lambda: send([socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).detach()]),
	         lambda: send([]),					# no file descriptor
	         lambda: send([c.memory()], version=2))
	    exact(1000)
	elif what == "hellos":
	    s = c.connect(); s.send(b"x"); s.close()
	    s = c.connect(); s.send(bytes(4096)); s.close()
	    send([c.memory()], token=bytes(16))
	    s = c.connect(); s.send(c.hello()[:39]); s.close()
	    c.connect().close()
	    exact(1000)
	elif what == "twice":
	    # Sends the same memory several times: for this process image, for another image, for
	    # another process. Then sends two memories in one message.
	    fd = c.memory()
	    put_launches(fd, 10)
	    for image in (7, 7, 8, 7):
	        c.send([fd], image=image).close()
	        time.sleep(0.1)
	    each(lambda: c.send([fd]).close())
	    for i in range(200):
	        c.send([c.memory(size=4096), c.memory(size=4096)], image=8).close()
	        for f in range(fd + 1, fd + 20):
	            try: os.close(f)
	            except OSError: pass
	    exact(1000)
	    print(len(os.listdir(f"/proc/{os.getppid()}/fd")), file=open("fds", "w"))
	elif what == "changes":
	    # All of the memory changes all the time, and some of its pages are removed.
	    libc = ctypes.CDLL(None, use_errno=True)
	    fd = c.memory()
	    put_launches(fd, 100)
	    c.send([fd]).close()
	    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
	    m = mmap.mmap(fd, 0)
	    random.seed(1)
	    child = subprocess.Popen([os.environ["EXACT"], "-t", "1", "-n", "1000"], stdout=subprocess.DEVNULL)
	    end = time.monotonic() + seconds
	    while time.monotonic() < end:
	        at = random.choice((0, 8, 4096, 4104, 4108, 4112, RING_AT, RING_AT + 8, 8192 + 128,
	                            random.randrange(0, c.bytes - 8, 8)))
	        struct.pack_into("=Q", m, at, random.choice((0, 1, 88, 1 << 32, (1 << 41) | 80, (1 << 64) - 1,
	                                                    random.getrandbits(24) & ~7)))
	        if random.random() < 0.05:
	            assert not libc.fallocate(fd, 3, random.randrange(0, c.bytes, 4096), 1 << 20)
	        for wrong in (0, 4096, c.bytes * 2):
	            try: os.ftruncate(fd, wrong); raise SystemExit("the size is not sealed")
	            except OSError: pass
	    child.wait()
	elif what == "flood":
	    # Many processes open connections that send nothing, and others send memory.
	    def flood(silent):
	        kept = []
	        while True:
	            try:
	                s = c.connect()
	                if silent:
	                    kept.append(s)
	                else:
	                    fd = c.memory()
	                    c_send = s.sendmsg([c.hello()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
	                                                      struct.pack("i", fd))])
	                    os.close(fd)
	                    s.close()
	            except OSError:
	                kept.clear()
	    pids = []
	    for i in range(4):
	        pid = os.fork()
	        if not pid:
	            flood(i % 2)
	        pids.append(pid)
	    end = time.monotonic() + seconds
	    n = 0
	    while time.monotonic() < end or not n:
	        exact(100)
	        n += 100
	    for pid in pids:
	        os.kill(pid, signal.SIGKILL)
	    print(n, file=open("made", "w"))
	elif what == "counts":
	    libc = ctypes.CDLL(None)
	    libc.shmat.restype = ctypes.c_void_p
	    at = libc.shmat(int(os.environ["XPUSHIM_SHM"].split(":")[4], 16), None, 0)
	    ctypes.memset(at + 16, 0x7f, 16)
	    exact(1000)
	elif what == "maps":
	    # The process lies about its mappings and its threads.
	    print(os.getpid(), file=open("liar", "w"))
	    fd = c.memory()
	    put_launches(fd, 10)
	    m = mmap.mmap(fd, 0)
	    good = b"/etc/shadow\0\0\0\0\0"
	    for bad in (mmap_record(0x1000, 0x1000, b"without an end !"),
	                mmap_record(0x1000, 0x1000, bytes(8)),			# no name
	                mmap_record(0x1000, 0, good), mmap_record(2**64 - 4096, 8192, good),
	                mmap_record(0x1000, 0x1000, good, id_len=21),
	                mmap_record(0x1000, 0x1000, b"/" * 16000 + bytes(8))):
	        put_record(m, bad)
	    put_record(m, mmap_record(0x400000, 0x1000, good, id_len=20))
	    put_record(m, mmap_record(0x500000, 0x1000, good, time_ns=2**64 - 1))
	    put_record(m, struct.pack("=HHIQII16s", 6, 0xffff, 40, 1, 1, os.getpid(), b"x" * 16))
	    c.send([fd]).close()
	    one = mmap_record(0x1000, 0x1000, b"/m\0\0\0\0\0\0", time_ns=1)
	    one = struct.pack("=II", len(one), 1 << 9) + one
	    def number(at):
	        return struct.unpack_from("=Q", m, at)[0]
	    head, ring = number(4096), c.bytes - RING_AT
	    for i in range(140000):
	        while head + len(one) - number(0) > ring:
	            time.sleep(0.001)
	        at, part = RING_AT + head % ring, ring - head % ring
	        m[at:at + len(one[:part])] = one[:part]
	        m[RING_AT:RING_AT + len(one[part:])] = one[part:]
	        head += len(one)
	        store(m, 4096, head)
	    exact(1000)
	elif what == "crowd":
	    # More processes than xpuload maps at once.
	    r, w = os.pipe()
	    for i in range(1100):
	        pid = os.fork()
	        if not pid:
	            os.close(w)
	            fd = c.memory()
	            put_launches(fd, 3)
	            c.send([fd]).close()
	            os.close(fd)
	            os.read(r, 1)
	            os._exit(0)
	    exact(1000)
	    os.close(w)
	    while True:
	        try: os.wait()
	        except ChildProcessError: break
END

# hostile WHAT [COMMAND...]: records hostile.py, with xpuload run by COMMAND; makes log and w.data
hostile() {
	what=$1
	shift
	timeout -s KILL $((${HOSTILE_SECONDS:-2} + 300)) "$@" "$XPULOAD" --transport shm \
		${rate--F 1} -o w.data python3 hostile.py "$what" >out 2>log
	is $? 0 "$what: xpuload and its target end as they should" || diag "$(cat log)"
	xpumerge -i w.data --by comm -f folded --unit count -o w.folded 2>mlog
	honest=$(awk '/^exact;|\[exact\]|^\[comm exact\]/ { n += $NF } END { print n + 0 }' \
		w.folded)
}

lost() {		# lost: prints the number of processes counted as lost
	sed -n \
		's/.*lost: .*[^0-9]\([0-9]*\) processes that used CUDA.*/\1/p; s/.*lost: \([0-9]*\) processes that used.*/\1/p' log |
		head -n 1
}

hostile kinds
is "$honest $(lost)" "1000 14" \
	"kinds: the honest process is recorded exactly, and each hostile process is counted" || diag "$(cat log)"
hostile hellos
is "$honest $(lost)" "1000 " "hellos: a process without a valid hello is not counted" ||
	diag "$(cat log)"
hostile twice
is "$honest" 1000 "memory sent several times: the honest process is recorded exactly" ||
	diag "$(cat log)"
# perf events need two file descriptors per CPU
[ "$(cat fds)" -lt $((56 + 2 * $(getconf _NPROCESSORS_ONLN))) ]
ok $? "memory sent several times: xpuload has closed all descriptors" || diag "$(cat fds)"
hostile changes
is "$honest" 1000 "changes: the honest process is recorded exactly" || diag "$(cat log)"
hostile flood
made=$(cat made)
got=$honest
more=$(sed -n 's/.*[ ,]\([0-9]*\) launches of processes that could not reach xpuload.*/\1/p' log)
diag "made $made, recorded $got, counted ${more:-0}"
is $((got + ${more:-0})) "$made" \
	"flood: each launch of the honest processes is recorded or counted" ||
	diag "$(tail -n 4 log)"
hostile counts
is "$honest $(lost)" "1000 1048576" "forged counts: the counted losses are bounded"
# Without perf events, a process reports its own mappings. xpuload takes 131,072 records, and counts
# six impossible records and all further records as lost. The process does not say that its mappings
# are complete.
rate=	# no CPU samples without perf events
hostile maps "$XPU_BUILD/workload/refuse" perf --
unset rate
is "$honest $(sed -n 's/.*lost: \([0-9]*\) mmap or comm.*/\1/p' log)" \
	"1000 $((6 + 140000 + 3 + 6 - 131072))" \
	"maps: impossible mappings, and mappings beyond a limit, are counted" || diag "$(cat log)"
xpumerge dump w.data | grep -E ' (MMAP|COMM) .*(shadow|xxx)' >told
is "$(sed 's/.* \(MMAP\|COMM\) /\1 /; s/time_ns=[0-9]* //; s/[pt]id=[0-9]* //g' told)" \
	"$(cat <<-'END'
	MMAP misc=BUILD_ID|SYNTH start=0x400000 len=0x1000 pgoff=0 ino=7 dev_major=8 dev_minor=1 prot=0x7 flags=0x3 build_id=6576696c00000000000000000000000000000000 "/etc/shadow"
	MMAP misc=SYNTH start=0x500000 len=0x1000 pgoff=0 ino=7 dev_major=8 dev_minor=1 prot=0x7 flags=0x3 "/etc/shadow"
	COMM comm="xxxxxxxxxxxxxxx"
END
)" "maps: possible mappings are written, without the process's own flags" || diag "$(cat told)"
is "$(grep -o ' pid=[0-9]* tid=[0-9]*' told | sort -u)" "$(sed 's/.*/ pid=& tid=&/' liar)" \
	"maps: each mapping in the recording has the pid and tid of the process that reported it"
[ ! -e w.data.files ]
ok $? "maps: xpuload copies no file whose path a process reports"
hostile crowd
like "$(grep ' launches from ' log)" '^xpuload: 4300 launches .* lost 0$' \
	"crowd: none of 1,101 simultaneous processes is lost" || diag "$(cat log)"
done_testing
