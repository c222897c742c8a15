# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu.py: the cost of recording on this machine's GPU, compared with CUPTI alone and with other
tools

`make bench-gpu`; TREE= for a portable tree, SIM=1 for the simulated device. Settings:

  WORKLOADS  null1 null8         null kernels from 1 and 8 threads: ns per launch of a thread
             cycle random        null kernels from one thread and 16 sites, in turn and in
                                 random order
             alloc               cudaMallocAsync() and cudaFreeAsync(): ns of both; without
                                 torch and proton
             mixalloc            one of them, from 16 sites in random order
             step memstep graph matmul   PyTorch, see step.py: us per step
             cpu                 xpuload's own CPU time at 100,000 launches a second
             calls               CUPTI alone: the cost of each way to observe a call of the API,
                                 see calls.cu; ignores ROWS
  ROWS       bare                no tool
             dormant             the shim preloaded, nobody attached
             floor               CUPTI's kernel activity alone, see floor.c: no tool gets kernel
                                 times for less
             callbacks           as floor, with callbacks at launches that do nothing
             calls-runtime calls-both calls-records
                                 as callbacks, at all runtime calls as well; at all
                                 driver calls, too; activity records of calls instead
             path launch         xpuload --gpu-only --probe path|launch: whole stacks by unwind
                                 tables
             shm                 path with --transport shm
             fp                  xpuload --gpu-only --call-graph fp
             memory              as path, with --memory
             api api-all         xpuload --gpu-only --api, and --api=all
             capture captured    xpuload --gpu-only --capture cuda-profiler-api: launches
                                 before the first window, and after it
             merge all           xpuload with CPU samples; all: with off-CPU time as well
             torch torch-cpu torch-stack proton proton-python    see step.py
             nsys                Nsight Systems, CUDA trace only: kernels, and calls that nsys
                                 selects; no stacks
             nsys-calls          as nsys, with all calls
             nsys-all            as nsys, with CPU samples and context switches, which nsys takes
                                 only together
  ROUNDS     tens of rounds (15)
  COPIES     copies of each row's program at a time (3)
  STARTS     how often all programs are started (1)

Every row has its own programs. All programs are started together and then take turns: in each
round, each program runs one block of some 15 to 30 ms, in random order. Programs that launch from
one thread run on one CPU. So a slow moment of the machine affects all of them. The addresses of a
program's memory also make a difference for as long as it runs, so each row has several programs. A
ratio is the mean over all copies, where copy N of one row is compared with copy N of the other.
Each copy's ratio is the median over its rounds, and the standard error comes from the copies'
differences. The accounts are xpumerge's accounts of everything that the row recorded. A stack is
incomplete if it does not begin where threads begin. A row that cannot run says why. "of nsys" is
the cost of a row over bare, as a share of the cost of Nsight Systems when it records as much:
nsys-calls for api-all, nsys-all for merge and all, nsys for all others.
"""
import concurrent.futures
import glob
import math
import os
import random
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SRC, BUILD = os.environ["XPU_SRC"], os.environ["XPU_BUILD"]
SIM = bool(os.environ.get("SIM"))
PYTHON = os.environ.get("PYTHON") or "python3"
NATIVE = {"null1": ["-t", "1", "-n", "5000"], "null8": ["-t", "8", "-n", "1500"],
          "cycle": ["-n", "5000", "-x", "cycle"], "random": ["-n", "5000", "-x", "random"],
          "alloc": ["-n", "5000", "-x", "alloc"], "mixalloc": ["-n", "5000", "-x", "mixalloc"]}
TORCH = ["step", "memstep", "graph", "matmul"]
WINDOWS = ["capture", "captured"]
OURS = ["path", "launch", "shm", "fp", "memory", "api", "api-all", "merge", "all"] + WINDOWS
CUPTI = ["floor", "callbacks", "calls-runtime", "calls-both", "calls-records"]
ROWS = (["bare", "dormant"] + CUPTI + OURS +
        ["torch", "torch-cpu", "torch-stack", "proton", "proton-python", "nsys", "nsys-calls",
         "nsys-all"])
# For rows of xpuload, the row of Nsight Systems that records as much.
PEERS = {"api-all": "nsys-calls", "merge": "nsys-all", "all": "nsys-all"}
NSYS = {"nsys": ["-s", "none", "--cpuctxsw", "none"],
        "nsys-calls": ["-s", "none", "--cpuctxsw", "none", "--cuda-trace-all-apis=true"],
        "nsys-all": ["-s", "process-tree", "--sampling-period=10000000"]}    # in ns of CPU time
CPU_RATE, CPU_SECONDS, CPU_ROUNDS = 100000, 2, 3
READY_S, TURN_S, END_S = 120, 30, 60
# Functions where threads begin; clone3 and main's caller have no names in a stripped libc.
ROOT = re.compile(r"_start|_?_?libc_start.*|_*clone3?|start_thread|libc\.so\.6.*")


class Failed(Exception):
    pass


def settings(name, default):
    words = (os.environ.get(name) or default).split()
    unknown = set(words) - set(default.split())
    if unknown:
        sys.exit(f"gpu.py: {name}: there is no {' '.join(sorted(unknown))}")
    return words


def output(*command):
    """Returns a command's output, or its last line if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise Failed(last_line(done.stdout) or f"status {done.returncode}")
    return done.stdout.strip()


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def check(statement):
    """Returns None, or why Python cannot run this workload."""
    try:
        output(PYTHON, "-c", statement)
    except (Failed, OSError) as why:
        return str(why)
    return None


# ---- what the machine has ------------------------------------------------------------------------

class Tools:
    """The programs of this bench, built in the current directory, and the machine's tools."""

    def __init__(self):
        tree = os.path.exists(f"{BUILD}/bin/xpuload")
        self.xpuload = f"{BUILD}/bin/xpuload" if tree else f"{BUILD}/xpuload"
        self.xpumerge = f"{BUILD}/bin/xpumerge" if tree else f"{BUILD}/xpumerge"
        self.shim = f"{BUILD}/lib/xpuload/libxpushim.so" if tree else f"{BUILD}/libxpushim.so"
        self.help = output(self.xpuload, "--help")
        self.torch_why = "it is for a real GPU" if SIM else check(
            "import torch; assert torch.cuda.is_available(), 'no CUDA'")
        self.proton_why = self.torch_why or check("import triton.profiler")
        self.nsys = None if SIM else next((path for path in [shutil.which("nsys") or ""] + [
            path for pattern in ("/usr/local/cuda*/bin/nsys", "/opt/nvidia/*/bin/nsys",
                                 "/opt/nvidia/*/*/bin/nsys",
                                 "/opt/nvidia/*/*/host/target-linux-x64/nsys",
                                 "/opt/nvidia/*/*/target-linux-x64/nsys")
            for path in sorted(glob.glob(pattern))] if os.access(path, os.X_OK)), None)
        self.nvcc = None if SIM else (shutil.which(os.environ.get("NVCC") or "nvcc") or
                                      shutil.which("/usr/local/cuda/bin/nvcc"))
        self.build()

    def build(self):
        inc = output("sh", f"{SRC}/scripts/find-cupti.sh").split()
        if SIM:
            lib = f"{BUILD}/sim"
        elif not self.nvcc:
            raise Failed("no nvcc: set NVCC")
        else:
            cuda = os.path.dirname(os.path.dirname(os.path.realpath(self.nvcc)))
            lib = next((d for d in (f"{cuda}/extras/CUPTI/lib64", f"{cuda}/lib64",
                                    "/usr/local/cuda/lib64")
                        if os.path.exists(f"{d}/libcupti.so")), f"{cuda}/lib64")
        self.cupti = [*inc, f"-L{lib}", "-lcupti"]
        self.rpath = f"-rpath,{lib}"
        self.build_cuda("launch")
        output(os.environ.get("CC") or "cc", "-O2", "-fPIC", "-shared", "-o", "floor.so",
               f"{SRC}/test/bench/floor.c", *self.cupti, f"-Wl,{self.rpath}")

    def build_cuda(self, name):
        """One program of this directory, name.cu, with the CUDA runtime and CUPTI."""
        frames = ["-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
        source = [f"-I{SRC}/test/workload", f"{SRC}/test/bench/{name}.cu", "-o", name]
        if SIM:
            output(os.environ.get("CXX") or "c++", "-std=gnu++17", "-O2", *frames, "-x", "c++",
                   *source,
                   "-x", "none", *self.cupti, "-lcudart", f"-Wl,{self.rpath}", "-lpthread", "-ldl")
        else:
            output(self.nvcc, "-std=c++17", "-O2", "-cudart", "shared",
                   "-Wno-deprecated-gpu-targets", "-Xcompiler", ",".join(frames), *source,
                   *(self.cupti if name == "calls" else []), "-Xlinker", self.rpath)

    def has(self, option):
        return re.search(rf"{option}[ ,=[]", self.help)

    def why_not(self, row):
        """Returns None, or why this machine cannot run the row."""
        needs = {"path": "--probe", "launch": "--probe", "shm": "--transport", "memory": "--memory",
                 "api": "--api", "api-all": "--api",
                 "merge": "--freq", "all": "--off-cpu", "capture": "--capture",
                 "captured": "--capture"}
        if row in needs and not self.has(needs[row]):
            return f"xpuload has no {needs[row]}"
        if row.startswith("proton"):
            return self.proton_why
        if row in NSYS and not self.nsys:
            return "nsys is not found"
        return None

    def options(self, row):
        """Returns xpuload's options for one of its rows."""
        if row == "merge":
            return ["-F", "99"]
        if row == "all":
            return ["-F", "99", "--off-cpu"]
        if row in WINDOWS:
            return ["--gpu-only", "--capture", "cuda-profiler-api"]
        how = {"fp": ["--call-graph", "fp"], "memory": ["--probe", "path", "--memory"],
               "api": ["--api"], "api-all": ["--api=all"],
               "shm": ["--probe", "path", "--transport", "shm"]}.get(row, ["--probe", row])
        return (["--gpu-only"] if self.has("--gpu-only") else []) + how

    def own_xpuload(self, data):
        """
        Copies xpuload for this recording: a uprobe belongs to a file, and the BPF programs of all
        recordings that use the file run at each hit, so simultaneous recordings would slow each
        other down.
        """
        directory = f"{data}.xpuload"
        os.mkdir(directory)
        shutil.copy(self.xpuload, directory)
        shutil.copy(self.shim, directory)
        return f"{directory}/xpuload"

    def under(self, row, data, command):
        """Returns the command of a row, and its environment."""
        env = dict(os.environ)
        if row == "dormant":
            env["LD_PRELOAD"] = self.shim
        elif row in CUPTI:
            env["CUDA_INJECTION64_PATH"] = os.path.abspath("floor.so")
            if row == "callbacks":
                env["FLOOR_CALLBACKS"] = "1"
            if row.startswith("calls-"):
                env["FLOOR_CALLS"] = row.removeprefix("calls-")
        elif row in NSYS:
            command = [self.nsys, "profile", "-t", "cuda", *NSYS[row], "-f", "true", "-o",
                       data] + command
        elif row in OURS:
            command = [self.own_xpuload(data), *self.options(row), "-o", data] + command
        return command, env

    def machine(self):
        said = []
        if SIM:
            said.append("the simulated device")
        else:
            said.append(output("nvidia-smi", "--query-gpu=name,driver_version",
                               "--format=csv,noheader").splitlines()[0].replace(", ", ", driver "))
            release = re.search(r"release ([\d.]+)", output(self.nvcc, "--version"))
            said.append(f"CUDA {release[1] if release else '?'}")
        model = re.search(r"^model name\s*: (.*)", read("/proc/cpuinfo"), re.M)
        said.append(f"{os.cpu_count()} CPUs, {model[1] if model else 'unknown'}")
        said.append(f"Linux {os.uname().release}")
        said.append(output(self.xpuload, "--version"))
        if not self.torch_why:
            said.append(output(PYTHON, "-c", "import torch; print('PyTorch', torch.__version__)"))
        if not self.proton_why:
            said.append(output(PYTHON, "-c", "import triton; print('Triton', triton.__version__)"))
        if self.nsys:
            said.append(last_line(output(self.nsys, "--version")))
        return "; ".join(said)


# ---- programs that take turns --------------------------------------------------------------------

class Program:
    """A program of one row and one group of workloads; launch.cu and step.py read its FIFOs."""

    def __init__(self, tools, row, name, command):
        self.row = row
        self.name = name
        self.data = f"{self.name}.data"
        self.why = None             # why the program failed
        self.fds = []
        for end in ("go", "said"):
            os.mkfifo(f"{self.name}.{end}")
            # Opened for reading and writing, so that opening never waits and reading never ends.
            self.fds.append(os.open(f"{self.name}.{end}", os.O_RDWR | os.O_CLOEXEC))
        self.log = open(f"{self.name}.log", "w+", encoding="utf-8", errors="replace")
        command, env = tools.under(row, self.data, command)
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)

    def fail(self, why):
        self.log.seek(0)
        self.why = why + ": " + (last_line(self.log.read()) or "it said nothing")
        raise Failed(self.why)

    def hear(self, seconds):
        """Returns the next line that the program prints."""
        until = time.monotonic() + seconds
        while not select.select([self.fds[1]], [], [], 0.1)[0]:
            if self.process.poll() is not None:
                self.fail(f"status {self.process.returncode}")
            if time.monotonic() > until:
                self.fail(f"silent for {seconds} s")
        return os.read(self.fds[1], 4096).decode().strip()

    def turn(self, workload):
        os.write(self.fds[0], f"{workload}\n".encode())
        return float(self.hear(TURN_S))

    def let_go(self):
        os.close(self.fds[0])       # no other process has this end open for writing

    def end(self):
        """Waits until the program has ended. Returns whether it succeeded."""
        try:
            self.process.wait(0 if self.why else END_S)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, 9)
                self.process.wait()
        os.close(self.fds[1])
        self.log.close()
        return self.process.returncode == 0

    def nr_events(self):
        """Returns the number of recorded memory events that xpuload prints when it ends."""
        return sum(map(int, re.findall(r"(\d+) events of memory", read(f"{self.name}.log"))))


def take_turns(programs, workload, rounds):
    """Returns [the figures of each program's turns]; a program that fails keeps the figures that it
    has."""
    figures = [[] for _ in programs]
    order = list(range(len(programs)))
    shuffle = random.Random(1).shuffle
    for _ in range(rounds):
        shuffle(order)
        for i in order:
            if programs[i].why:
                continue
            try:
                figures[i].append(programs[i].turn(workload))
            except (Failed, OSError, ValueError) as why:
                programs[i].why = programs[i].why or str(why)
    return figures


# ---- accounts ------------------------------------------------------------------------------------

class Account:
    """xpumerge's account of a recording: launches, matched, wrong, unmatched, lost, incomplete."""

    def __init__(self, tools, data):
        folded = f"{data}.folded"
        done = subprocess.run([tools.xpumerge, "-i", data, "-f", "folded", "--unit", "count", "-o",
                               folded], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace", check=False)
        if done.returncode:
            raise Failed(f"xpumerge: {last_line(done.stderr)}")
        with open(f"{data}.log", "w", encoding="utf-8") as log:
            log.write(done.stderr)
        verdict = output("sh", f"{SRC}/test/lib/verdict.sh", folded, log.name)
        self.counts = [int(n) for n in re.findall(r"\d+", verdict)]
        if len(self.counts) != 5:
            raise Failed(f"xpumerge: no account: {verdict}")
        self.counts.append(self.not_whole(folded))
        os.remove(data)
        os.remove(folded)

    @staticmethod
    def not_whole(folded):
        nr = 0
        with open(folded, encoding="utf-8", errors="replace") as f:
            for line in f:
                path, _, count = line.rstrip("\n").rpartition(" ")
                frames = path.split(";")
                if re.match(r"\[GPU\d*_(Kernel|Mem)", frames[-1]) and (
                        not ROOT.fullmatch(frames[1]) or "[truncated]" in frames or
                        "[no stack]" in frames):
                    nr += int(count)
        return nr

    def __str__(self):
        return "{:9} {:9} {:5} {:9} {:4} {:9}".format(*self.counts)

    @property
    def exact(self):
        launches, matched, wrong, unmatched, lost, _ = self.counts
        return launches == matched > 0 and not wrong and not unmatched and not lost


# ---- the table -----------------------------------------------------------------------------------

LINE = "{:8} {:13} {:>9} {:>9} {:>6} {:9} {:>14} {:>14} {:>14}  {}"


def error(values):
    """Returns the standard error of the mean; a single value has none."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else math.nan


def within(figures, a, b, what):
    """Returns, for each copy, the median over its rounds of @what(value of a, value of b)."""
    pairs = zip(figures.get(a, []), figures.get(b, []))
    return [statistics.median(map(what, x, y)) for x, y in pairs if x and y]


def ratio(figures, row, of):
    values = within(figures, row, of, lambda x, y: x / y)
    return (statistics.mean(values), error(values)) if values else None


def added(figures, row, of, to):
    """Returns the cost of one row over another, as a share of a third row's cost."""
    a, b = (within(figures, name, to, lambda x, y: x - y) for name in (row, of))
    if not a or not b or statistics.mean(b) <= 0:
        return None
    share = statistics.mean(a) / statistics.mean(b)
    # Both costs are differences from one base, so the base's errors are in both costs.
    return share, error([x - share * y for x, y in zip(a, b)]) / statistics.mean(b)


def show(value):
    return f"{value[0]:.3f} +-{value[1]:.3f}" if value else ""


def header():
    print(LINE.format("workload", "row", "median", "least", "+-%", "unit", "x bare", "x floor",
                      "of nsys",
                      " launches   matched wrong unmatched lost not whole"))


def print_row(workload, row, values, unit, compared, account):
    """Returns comparisons: with bare, with the floor, and the cost over bare as a share of Nsight
    Systems' cost."""
    median = statistics.median(values)
    # Half of the rounds differ from the median by at most this.
    spread = statistics.median(abs(v - median) for v in values) / median * 100 if median else 0
    print(LINE.format(workload, row, f"{median:.1f}", f"{min(values):.1f}", f"{spread:.1f}", unit,
                      *map(show, compared), account).rstrip(), flush=True)


class Bench:
    def __init__(self):
        self.tools = Tools()
        self.workloads = settings("WORKLOADS", " ".join([*NATIVE, "cpu", "calls", *TORCH]))
        self.rows = settings("ROWS", " ".join(ROWS))
        self.copies = int(os.environ.get("COPIES") or 3)
        self.starts = int(os.environ.get("STARTS") or 1)
        self.rounds = max(10 * int(os.environ.get("ROUNDS") or 15) // self.copies // self.starts, 1)
        self.figures = {}
        self.status = 0

    def complain(self, workload, row, why):
        print(f"{workload:8} {row:13} failed: {why}", flush=True)
        if row in OURS or row in CUPTI or row in ("bare", "dormant"):
            self.status = 1

    def group(self, name, workloads, unit, command):
        """command(row)(name) is the command of a row's program; command(row) may be None."""
        commands, accounts = {}, {}
        for row in self.rows:
            line = command(row)
            why = line and self.tools.why_not(row)
            if why:
                print(f"{' '.join(workloads):8} {row:13} left out: {why}")
            elif line:
                commands[row] = line
        figures = {w: {row: [] for row in commands} for w in workloads}
        for start in range(self.starts):
            names = [(row, f"{name}.{row}.{start}.{copy}")
                     for copy in range(self.copies) for row in commands]
            programs = [Program(self.tools, row, of_copy, commands[row](of_copy))
                        for row, of_copy in names]
            for workload, turns in self.turns(programs, workloads, accounts).items():
                for program, values in zip(programs, turns):
                    figures[workload][program.row].append(values)
        for workload in workloads:
            self.figures[workload] = figures[workload]
            for row, copies in figures[workload].items():
                values = [value for of_copy in copies for value in of_copy]
                if values:
                    print_row(workload, row, values, unit, self.compare(figures[workload], row),
                              accounts.get(row, ""))

    @staticmethod
    def compare(figures, row):
        peer = PEERS.get(row, "nsys")
        return (ratio(figures, row, "bare"), ratio(figures, row, "floor"),
                None if row in ["bare", *NSYS] else added(figures, row, peer, "bare"))

    def turns(self, programs, workloads, accounts):
        """The accounts of programs, each over its whole run, added up."""
        for program in programs:
            try:
                program.hear(READY_S)
            except Failed:
                pass
        figures = {w: take_turns(programs, w, self.rounds) for w in workloads}
        for program in programs:
            program.let_go()
        ended = [program.end() for program in programs]
        for program in programs:
            if program.row == "memory":
                print(f"{' '.join(workloads):8} {program.row:13} {program.nr_events()} events of "
                      f"memory")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            merges = [(program.row, pool.submit(Account, self.tools, program.data))
                      for program, good in zip(programs, ended) if program.row in OURS and good]
        for row, merge in merges:
            try:
                account = merge.result()
                self.status |= not account.exact and row != "capture"
                if row in accounts:
                    account.counts = [a + b for a, b in zip(accounts[row].counts, account.counts)]
                accounts[row] = account
            except (Failed, OSError) as why:
                self.complain(" ".join(workloads), row, why)
        for program, good in zip(programs, ended):
            if program.why:
                self.complain(" ".join(workloads), program.row, program.why)
            elif not good and program.row not in NSYS:
                self.complain(" ".join(workloads), program.row,
                              f"status {program.process.returncode}")
        return figures

    def native(self, workload):
        unit = {"alloc": "ns/pair", "mixalloc": "ns/call"}.get(workload, "ns/launch")
        self.group(workload, [workload], unit, lambda row: None if row.startswith(
            ("torch", "proton")) else lambda name: [
                "./launch", *NATIVE[workload], *(["-w"] if row == "captured" else []), "-c", name])

    def torch(self, workloads):
        if self.tools.torch_why:
            print(f"{' '.join(workloads)}: left out: PyTorch: {self.tools.torch_why}")
            return

        def command(row):
            if row == "captured":
                return None
            tool = row if row.startswith(("torch", "proton")) else "none"
            return lambda name: [PYTHON, f"{SRC}/test/bench/step.py", "--tool", tool, name,
                                 *workloads]
        self.group("pytorch", workloads, "us/step", command)

    def cpu(self):
        """Returns xpuload's CPU time in percent of the elapsed time, at a steady launch rate."""
        for row in (row for row in self.rows if row in OURS and row not in WINDOWS):
            why = self.tools.why_not(row)
            if why:
                print(f"{'cpu':8} {row:13} left out: {why}")
                continue
            try:
                shares, rates, account = self.cpu_row(row)
            except Failed as why:
                self.complain("cpu", row, why)
                continue
            self.status |= not account.exact
            print_row("cpu", row, shares, f"% at {min(rates) / 1000:.0f}k/s", (None,) * 3, account)

    def calls(self):
        try:
            self.tools.build_cuda("calls")
            print(output("./calls", str(self.rounds * self.copies)), flush=True)
        except Failed as why:
            self.complain("calls", "", why)
            self.status = 1

    def cpu_row(self, row):
        shares, rates = [], []
        for i in range(CPU_ROUNDS):
            data = f"cpu.{row}.{i}.data"
            command, env = self.tools.under(row, data, ["./launch", "-t", "4", "-r", str(CPU_RATE),
                                                        "-s", str(CPU_SECONDS + 1)])
            with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
                if not p.stdout.readline():
                    raise Failed(last_line(p.stderr.read()))
                time.sleep(0.3)
                used, start = cpu_seconds(p.pid), time.monotonic()
                time.sleep(CPU_SECONDS)
                used, seconds = cpu_seconds(p.pid) - used, time.monotonic() - start
                said, errors = p.communicate()
            if p.returncode:
                raise Failed(last_line(errors))
            shares.append(used / seconds * 100)
            rates.append(float(said))
            account = Account(self.tools, data)
            total = account if not i else total
            if i:
                total.counts = [a + b for a, b in zip(total.counts, account.counts)]
        return shares, rates, total

    def aims(self):
        """Returns the goals as ratios of rows."""
        best, f = "path", self.figures
        lines = [(f"{w}: {best} / floor", ratio(f.get(w, {}), best, "floor"), 1.10)
                 for w in ("null1", "null8")]
        step = f.get("step", {})
        lines.append((f"step: {best} / floor", ratio(step, best, "floor"), 1.05))
        for tool, aim in (("torch-stack", 1 / 6), ("nsys", 1 / 3)):
            for to in ("bare", "floor"):
                lines.append((f"step: added to {to} by {best} / by {tool}",
                              added(step, best, tool, to), aim))
        lines += [
            (f"matmul: {best} / bare", ratio(f.get("matmul", {}), best, "bare"), 1.005),
        ]
        lines += [(f"{w}: {best} / floor", ratio(f.get(w, {}), best, "floor"), 1.06)
                  for w in ("cycle", "random")]
        lines += [(f"{w}: added to bare by {row} / by {peer}", added(f[w], row, peer, "bare"), aim)
                  for w in f for row, peer, aim in (("api", "nsys", 0.67),
                                                    ("api-all", "nsys-calls", 1.00),
                                                    ("merge", "nsys-all", 1.00),
                                                    ("all", "nsys-all", 1.00))]
        lines += [(f"{w}: {row} / {best}", ratio(f[w], row, best), aim)
                  for w in f for row, aim in (("merge", 1.03), ("all", 1.06))]
        lines += [(f"{w}: dormant / bare", ratio(f[w], "dormant", "bare"), 1.00) for w in f]
        lines += [(f"{w}: {row} / dormant", ratio(f[w], row, "dormant"), 1.00) for w in f
                  for row in WINDOWS]
        lines += [(f"{w}: memory / {best}", ratio(f[w], "memory", best), 1.02) for w in TORCH
                  if w in f]
        for w, nr in (("alloc", 2), ("mixalloc", 1)):
            events = within(f.get(w, {}), "memory", best, lambda x, y, nr=nr: (x - y) / nr)
            if events:
                lines.append((f"{w}: what memory adds to an event, ns",
                              (statistics.mean(events), error(events)), 300))
        lines += [(f"{w}: shm / {best}", ratio(f[w], "shm", best), 1.02) for w in f]
        print()
        for what, value, aim in lines:
            if value is not None:
                print(f"{what:48} {show(value)}   aim {aim:.3f}")

    def run(self):
        print(self.tools.machine())
        print(f"{self.starts} starts, {self.copies} copies, {self.rounds} rounds of turns; +-%: "
              f"half of "
              "the rounds are so near the median\n")
        header()
        for workload in self.workloads:
            if workload in NATIVE:
                self.native(workload)
            elif workload == "cpu":
                self.cpu()
            elif workload == "calls":
                self.calls()
        workloads = [w for w in self.workloads if w in TORCH]
        if workloads:
            self.torch(workloads)
        if not SIM:
            self.aims()
        return self.status


def cpu_seconds(pid):
    """Returns the CPU time of all threads: exact if the kernel has it in ns, else in ticks."""
    exact = glob.glob(f"/proc/{pid}/task/*/schedstat")
    if exact:
        return sum(int(read(path).split()[0]) for path in exact) / 1e9
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def main():
    with tempfile.TemporaryDirectory(prefix="bench.") as directory:
        os.chdir(directory)
        try:
            return Bench().run()
        except Failed as why:
            print(f"gpu.py: {why}", file=sys.stderr)
            return 1
        finally:
            os.chdir("/")


if __name__ == "__main__":
    sys.exit(main())
