#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload.record() in a Python program without privileges. Each launch wholly inside a block is
# recorded, and each launch wholly outside is not recorded. Launches come from 8 threads, with the
# shim preloaded and loaded late, with shared memory and with BPF. The test also covers decorators,
# schedules, exceptions, forks, threads, and the end of the program inside a block.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
use_launches
cat >launcher.py <<'END'
"""Launches on the simulated device, from the test's own scripts."""
import ctypes
import os

_lib = ctypes.CDLL(os.environ["PY_LAUNCH"])
launch = _lib.py_launch


def init():
    """Uses CUDA: before a shim that is loaded late, or after it."""
    _lib.py_launch_init()
    launch(1)


def sites(result):
    """Returns how often each site was recorded."""
    return {int(row.name.partition("_")[2]): row.instances for row in result.kernels}
END

cat >windows.py <<'END'
"""windows.py N TRANSPORT: N windows, in which 8 threads launch all the time"""
import sys
import threading
import time
import launcher
import xpuload

NR = int(sys.argv[1])
EDGE, OUT = 2, 3			# launch sites: at the edge of a block, outside of blocks
state, done = EDGE, False
sure, unsure = {}, {}			# launches by site; unsure: state changed during the launch
lock = threading.Lock()
last = [None] * 8			# by thread: the site of its last launch in one state


def work(nr):
    mine = []
    while not done:
        before = state
        launcher.launch(before)
        mine.append((before, before == state))
        if before == state:
            last[nr] = before
        time.sleep(0.001)
    with lock:
        for site, same in mine:
            of = sure if same else unsure
            of[site] = of.get(site, 0) + 1


def wait_for(site):
    """Waits until each thread has launched at the site."""
    end = time.monotonic() + 30
    while last != [site] * 8 and time.monotonic() < end:
        time.sleep(0.002)
    assert last == [site] * 8, last


launcher.init()
threads = [threading.Thread(target=work, args=[nr]) for nr in range(8)]
for thread in threads:
    thread.start()
results, enter, leave = [], [], []
for nr in range(NR):
    t0 = time.monotonic()
    with xpuload.record(gpu_only=True, transport=sys.argv[2]) as prof:
        t1 = time.monotonic()
        state = 100 + nr
        wait_for(state)
        state = EDGE
        t2 = time.monotonic()
    t3 = time.monotonic()
    state = OUT
    results.append(prof)
    enter.append(t1 - t0)
    leave.append(t3 - t2)
    wait_for(state)
    state = EDGE
done = True
for thread in threads:
    thread.join()
for nr, prof in enumerate(results):
    account, found = prof.result.account, launcher.sites(prof.result)
    site = 100 + nr
    assert account["lost"] == account["unmatched"] == 0, (nr, account, prof.messages)
    assert set(found) <= {EDGE, OUT, site}, (nr, found)
    least, most = sure.get(site, 0), sure.get(site, 0) + unsure.get(site, 0)
    assert least <= found.get(site, 0) <= most, (nr, least, most, found)
    assert found.get(OUT, 0) <= unsure.get(OUT, 0), (nr, found, unsure.get(OUT))
assert all(sure[100 + nr] >= 8 for nr in range(NR)), sure
assert sure[OUT] >= 8 * NR
print("# %d windows: entered in %.0f ms (median), left in %.0f ms" % (
    NR, sorted(enter)[NR // 2] * 1e3, sorted(leave)[NR // 2] * 1e3), file=sys.stderr)
END
windows() {		# windows COMMAND N TRANSPORT NAME
	"$1" python3 windows.py "$2" "$3" >windows.out 2>windows.err
	is "$? $(cat windows.out)" "0 " "$4" || diag "$(tail -n 12 windows.err)"
	grep '^# ' windows.err
}
windows bare 40 shm "late: 40 windows, 8 threads: each launch inside is recorded, none outside, lost 0"
LD_PRELOAD=$XPU_SHIM windows bare 10 auto \
	"preloaded: 10 windows, 8 threads: each launch inside is recorded"
if [ "$(id -u)" = 0 ] && "$XPULOAD" --check >check.log 2>&1; then
	windows env 4 auto "by BPF: 4 windows, 8 threads: each launch inside is recorded"
else
	skip "by BPF: windows" "no BPF"
fi

python "before CUDA is used: everything is recorded, with lines of Python" <<'END'
import launcher
import xpuload

with xpuload.record("first.html", gpu_only=True) as prof:
    launcher.init()
    for _ in range(7):
        launcher.launch(5)
launcher.launch(6)
assert launcher.sites(prof.result) == {1: 1, 5: 7}, prof.result.kernels
assert "<stdin>:<module>:7" in [row.line for row in prof.result.python_lines]
assert prof.wait().paths == ["first.html"]
assert "site_5" in open("first.html").read()
assert prof.messages and "lost 0" in prof.messages[-1], prof.messages
END

python "the file is written before the program ends; a recording by name; memory" <<'END'
import os
import subprocess
import launcher
import xpuload

launcher.init()
def has_names():
    """Returns whether the recording has names of functions, which take time."""
    return b" NAMES " in subprocess.run([os.environ["XPULOAD_TREE"] + "/xpumerge", "dump",
                                         "second.data"], stdout=subprocess.PIPE, check=True).stdout


with xpuload.record("second.data", memory=True) as prof:
    launcher.launch(5)
assert not has_names() and prof.wait() and has_names()
with xpuload.record("second.folded", gpu_only=True):
    launcher.launch(6)
r = xpuload.read("second.data")
assert launcher.sites(r) == {5: 1} and r.memory is not None
assert os.stat("second.data").st_mode & 0o777 == 0o600
END
like "$(cat second.folded)" ']site_6 ' "the program ends only after its last file is written"
is "$(ls tmp)" "" "no file stays in TMPDIR"

python "of two recordings of one name, the newer one stays, even if the directory changes" <<'END'
import os
import launcher
import xpuload

launcher.init()
here = os.getcwd()
prof = xpuload.record("twice.data", gpu_only=True)
for site in 7, 8:
    with prof:
        launcher.launch(site)
os.chdir("/")
prof.wait()
os.chdir(here)
assert launcher.sites(xpuload.read("twice.data")) == {8: 1}
assert [name for name in os.listdir(".") if "named" in name] == []
END

python "exceptions pass, and the block is recorded; the decorator" <<'END'
import asyncio
import launcher
import xpuload

launcher.init()
try:
    with xpuload.record(gpu_only=True) as prof:
        launcher.launch(5)
        raise KeyError("mine")
except KeyError as e:
    assert e.args == ("mine",) and launcher.sites(prof.result) == {5: 1}
else:
    raise AssertionError("the exception is gone")

prof = xpuload.record(gpu_only=True)


@prof
def twice(site):
    """Launches."""
    launcher.launch(site)
    launcher.launch(site)
    return site


@prof
async def later(site):
    await asyncio.sleep(0.01)
    launcher.launch(site)
    return site


assert twice(7) == 7 and twice.__doc__ == "Launches." and asyncio.run(later(8)) == 8
assert [launcher.sites(r) for r in prof.results] == [{7: 2}, {8: 1}], prof.results
END

python "a second recording, nested or of another thread, is an error with a name" <<'END'
import threading
import launcher
import xpuload

launcher.init()
errors = []


def other():
    try:
        with xpuload.record(gpu_only=True):
            pass
    except xpuload.AlreadyRecordingError as e:
        errors.append(str(e))


with xpuload.record(gpu_only=True) as prof:
    other()
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    launcher.launch(5)
assert len(errors) == 2 and errors[0].startswith("<stdin>:17 records this process already"), errors
assert launcher.sites(prof.result) == {5: 1}
other()
assert len(errors) == 2
END

python "a schedule records the active steps of each cycle" <<'END'
import launcher
import xpuload

launcher.init()
ready = []
steps = xpuload.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
with xpuload.record("step.folded", gpu_only=True, schedule=steps, on_ready=ready.append) as prof:
    for step in range(14):
        launcher.launch(10 + step)
        prof.step()
assert [sorted(launcher.sites(r)) for r in prof.results] == [[13, 14], [17, 18]], \
    [launcher.sites(r) for r in prof.results]
assert ready == prof.results and prof.paths == ["step-1.folded", "step-2.folded"], prof.paths
prof.wait()
assert "site_17 " in open("step-2.folded").read()

# The block ends in the middle of a cycle, whose steps until then are recorded.
with xpuload.record("part.folded", gpu_only=True,
                    schedule=xpuload.schedule(active=3, repeat=1)) as prof:
    launcher.launch(30)
    prof.step()
    launcher.launch(31)
assert sorted(launcher.sites(prof.result)) == [30, 31] and prof.paths == ["part.folded"]
assert [xpuload.schedule(active=2).cycle(step) for step in range(5)] == [0, 0, 1, 1, 2]
END

python "a child that is forked in the block leaves the recording to its parent" <<'END'
import os
import launcher
import xpuload

launcher.init()
with xpuload.record(gpu_only=True) as prof:
    pid = os.fork()
    if not pid:
        try:
            with xpuload.record():
                os._exit(3)
        except xpuload.RecordingError as e:
            os._exit(0 if "was forked from pid %d" % os.getppid() in str(e) else 4)
    assert os.waitpid(pid, 0)[1] == 0
    pid = os.fork()
    if not pid:
        prof.__exit__(None, None, None)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    launcher.launch(5)
assert launcher.sites(prof.result) == {5: 1}
END

# ends NAME STATUS <<SCRIPT: checks that the program ends inside the block with STATUS, and that its
# launch is in end.folded
ends() {
	rm -f end.folded
	bare python3 - >out 2>err
	is "$? $(cat out)" "$2 " "$1: exit status $2, nothing on stdout" || diag "$(cat err)"
	like "$(cat end.folded 2>&1)" ']site_5 ' "$1: the recording is written"
	is "$(ls tmp)" "" "$1: no file stays in TMPDIR"
}
ends "sys.exit() in the block" 4 <<'END'
import sys
import launcher
import xpuload

launcher.init()
with xpuload.record("end.folded", gpu_only=True):
    launcher.launch(5)
    sys.exit(4)
END
ends "the program ends while a daemon thread is in a block" 0 <<'END'
import threading
import launcher
import xpuload


def work():
    with xpuload.record("end.folded", gpu_only=True):
        launcher.launch(5)
        inside.set()
        threading.Event().wait()


launcher.init()
inside = threading.Event()
threading.Thread(target=work, daemon=True).start()
inside.wait()
END

bare python3 - >out 2>err <<'END'
import os
import launcher
import xpuload

launcher.init()
prof = xpuload.record("never.html").__enter__()
print(prof._recorder._process.pid, flush=True)
os._exit(0)
END
for _ in $(seq 100); do kill -0 "$(cat out)" 2>/dev/null || break; sleep 0.1; done
! kill -0 "$(cat out)" 2>/dev/null
ok $? "os._exit() in the block: the recorder ends on its own"
for _ in $(seq 100); do [ -n "$(ls tmp)" ] || break; sleep 0.1; done
is "$(ls tmp)" "" "os._exit() in the block: no file stays in TMPDIR"

python "refusals name their reason" <<'END'
import os
import launcher
import xpuload


def refused(text, fn, kind=xpuload.XpuloadError):
    try:
        fn()
    except kind as e:
        assert text in str(e), e
    else:
        raise AssertionError("no error: " + text)


def enter(**options):
    with xpuload.record(**options):
        pass


launcher.init()
refused("no: there is no such directory", lambda: xpuload.record("no/x.html"))
refused("record(output=...): record() sets this option", lambda: xpuload.record(output="x"))
refused("--no-such-option", lambda: enter(no_such_option=True), xpuload.RecordingError)
refused("schedule(active=0): expected a number", lambda: xpuload.schedule(active=0))
refused("step() is for record(..., schedule", lambda: xpuload.record().step())
refused("there is no result before", lambda: xpuload.record().result)
with xpuload.record("odd.nosuffix", gpu_only=True) as prof:
    launcher.launch(5)
refused("odd.nosuffix: no format has this suffix", prof.wait)
os.environ["XPUSHIM_RUN"] = "1"
refused("xpuload records this process already", enter, xpuload.RecordingError)
END

export XPU_SIM_CUPTI_BUSY=1
python "while another profiler has CUPTI, recording is refused" <<'END'
import launcher
import xpuload

launcher.init()
for _ in range(2):
    try:
        with xpuload.record(gpu_only=True):
            pass
    except xpuload.RecordingError as e:
        assert "CUPTI is in use by" in str(e), e
    else:
        raise AssertionError("no error")
END
unset XPU_SIM_CUPTI_BUSY

python "CPU samples take BPF: without privileges, the reason is said; threads of other blocks" <<'END'
import threading
import launcher
import xpuload

launcher.init()
try:
    with xpuload.record(freq=99):
        pass
except xpuload.RecordingError as e:
    assert "cannot sample CPUs of a running program without BPF" in str(e), e
else:
    raise AssertionError("no error")

# A thread that launched in an earlier block, a thread that has ended since, and a new thread.
start, seen = threading.Barrier(2), []


def work(site):
    for _ in range(2):
        start.wait()
        launcher.launch(site)
        start.wait()


with xpuload.record(memory=True, nvtx="off") as prof:
    threading.Thread(target=launcher.launch, args=[50]).start()
    thread = threading.Thread(target=work, args=[51])
    thread.start()
    start.wait()
    start.wait()
seen.append(launcher.sites(prof.result))
with prof:
    start.wait()
    start.wait()
    thread.join()
    launcher.launch(52)
seen.append(launcher.sites(prof.result))
assert seen == [{50: 1, 51: 1}, {51: 1, 52: 1}], seen
assert [line for line in prof.messages if line.endswith("lost 0")] and \
    all("lost" not in line or line.endswith("lost 0") for line in prof.messages), prof.messages
END

# Another xpuload has attached with BPF.
if [ "$(id -u)" = 0 ] && "$XPULOAD" --check >check.log 2>&1; then
	python3 - >out 2>err <<'END'
import os
import subprocess
import launcher
import xpuload

launcher.init()
with xpuload.record() as prof:
    launcher.launch(5)
other = subprocess.Popen([os.environ["XPULOAD_TREE"] + "/xpuload", "-o", "other.data", "--gpu-only",
                          "-p", str(os.getpid())], stderr=subprocess.PIPE, text=True)
while "attached to" not in other.stderr.readline():
    pass
while not xpuload._recorder.follow():
    pass
launcher.launch(6)
try:
    with prof:
        pass
except xpuload.RecordingError as e:
    print(e)
other.terminate()
other.wait()
assert launcher.sites(xpuload.read("other.data")) == {6: 1}
while xpuload._recorder.follow():
    pass
with prof:
    launcher.launch(7)
assert launcher.sites(prof.result) == {7: 1}
END
	is "$? $(cat out)" "0 cannot record: xpuload records this process already" \
		"while another xpuload records the process, record() is refused" || diag "$(cat err)"
else
	skip "another xpuload" "no BPF"
fi
done_testing
