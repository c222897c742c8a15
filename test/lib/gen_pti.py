# SPDX-License-Identifier: MIT
"""gen_pti.py OUT.json [KEY=VALUE...]: a trace as Intel's unitrace or onetrace writes it, with
random contents

Threads are in nested ranges of ITT or SYCL. They queue kernels, copies and fills: one by one, on
immediate command lists or by OpenCL, or as command lists, each of which runs several times. The
expected results, the folded stacks of --unit ns, are written next to the trace: OUT.json.folded.

Keys: form=unitrace, unitrace2023 (no rank in flow events) or onetrace; procs=N, each with its own
rank; threads=N, nr=N calls of each thread, opencl=1 (half of the calls), tiles=1 (kernels and
copies are split into two tiles, without flow events), calls=0 (device records only), stages=1
(onetrace), seed=N.
"""
import collections
import json
import random
import sys

out = sys.argv[1]
opts = dict(form="unitrace", procs=1, threads=2, nr=60, opencl=0, tiles=0, calls=1, stages=0,
            seed=1)
for arg in sys.argv[2:]:
    key, value = arg.split("=")
    opts[key] = int(value) if value.isdigit() else value
rnd = random.Random(opts["seed"])
onetrace = opts["form"] == "onetrace"
step = 1000 if onetrace else 1		# onetrace writes whole microseconds
base = 0 if onetrace else 10**15
events = []
folded = collections.Counter()


def us(ns):
    return ns // 1000 if onetrace else float("%d.%03d" % (ns // 1000, ns % 1000))


def event(**fields):
    events.append(fields)


class Process:
    def __init__(self, number):
        self.pid, self.rank = 1000 + number, number
        self.device = 2**32 - 1 - 32 * number
        self.ids = {"": 0, "CL_": 0}
        name = "RANK %d " % number if opts["procs"] > 1 else ""
        self.comm = "rank %d" % number if name else "[unknown]"
        if onetrace:
            self.comm = "app"
            event(ph="M", name="process_name", pid=str(self.pid), args={"name": "app"})
            event(ph="M", name="start_time", pid=str(self.pid),
                  args={"CLOCK_MONOTONIC_RAW": "7", "CLOCK_REALTIME": "1700000000000000000"})
            return
        event(ph="M", name="process_name", pid=self.pid, ts=1.5, args={"name": name + "HOST<node>"})
        for i in range(2):
            event(ph="M", name="process_name", pid=self.device - i, ts=1.5,
                  args={"name": name + "DEVICE<node>[Intel(R) GPU %d] 0:3:0:0 #%d" % (i, i)})
            event(ph="M", name="thread_name", pid=self.device - i, tid=self.device - 8 - i, ts=1.5,
                  args={"name": "Thread 7 L0 Compute Engine<0,0>"})


class Thread:
    def __init__(self, process, tid):
        self.p, self.tid = process, tid
        self.now = base + 5000 * step
        self.frames = []
        self.left = opts["nr"]
        self.lists = []

    def time(self):
        self.now += rnd.randint(1, 50) * step
        return self.now

    def call(self, name, ids, prefix=""):
        """Adds one call, with flow events for the device work that it queues."""
        start, end = self.time(), self.time()
        if not opts["calls"]:
            return
        if onetrace:
            event(ph="X", pid=str(self.p.pid), tid=str(self.tid), name=name, ts=us(start),
                  dur=us(end - start), args={"id": ",".join(ids) or "0"})
            return
        event(ph="X", tid=self.tid, pid=self.p.pid, name=name, cat="cpu_op", ts=us(start),
              dur=us(end - start), id=0)
        for i in ids:
            event(ph="s", tid=self.tid, pid=self.p.pid, name="dep", cat=self.flow(prefix, i),
                  ts=us(start), id=int(i))

    def flow(self, prefix, i):
        rank = "" if opts["form"] == "unitrace2023" else "_%d" % self.p.rank
        return "%sFlow_H2D_%s%s" % (prefix, i, rank)

    def work(self, name, leaf, i, api, prefix=""):
        start = self.now + rnd.randint(100, 900) * step
        for tile in range(2 if opts["tiles"] else 1):
            ns = rnd.randint(1, 5000) * step
            shown = "Tile #%d: " % tile if opts["tiles"] else ""
            device = self.p.device - (prefix == "CL_")
            fields = dict(ph="X", ts=us(start), dur=us(ns), args={"id": i})
            if onetrace:
                tid = "55d0%x" % self.tid
                if opts["stages"]:
                    for stage in "Appended", "Submitted":
                        event(**dict(fields, pid=str(self.p.pid), tid=i + "." + tid,
                                     name=name + " (%s)" % stage))
                    name += " (Executed)"
                event(**dict(fields, pid=str(self.p.pid), tid=tid, name=name))
            else:
                event(**dict(fields, tid=device - 8, pid=device, name=shown + name, cat="gpu_op"))
            if not onetrace and not opts["tiles"]:
                for ph, way in ("t", "H2D"), ("s", "D2H"):
                    event(ph=ph, tid=device - 8, pid=device, name="dep",
                          cat=self.flow(prefix, i).replace("H2D", way), ts=us(start), id=int(i))
            text = leaf if leaf[0] == "[" else "[GPU_Kernel]" + leaf
            path = [self.p.comm] + (self.frames or ["[no stack]"]) + [api] if opts["calls"] else \
                ["[unknown]" if not onetrace else "app", "[no launch]"]
            folded[";".join(path + [text])] += ns

    def some(self, prefix):
        """Returns the names of a call, of its device work, and of this work in the result."""
        kind = rnd.choice("kkkcf")
        kernel = "gemm<%d>(int, float*)" % rnd.randint(0, 4)
        size = rnd.randint(1, 1 << 20)
        if prefix:
            return {"k": ("clEnqueueNDRangeKernel", kernel, kernel),
                    "c": ("clEnqueueWriteBuffer", "clEnqueueWriteBuffer[%d]" % size,
                          "[GPU_Memcpy]HtoD"),
                    "f": ("clEnqueueFillBuffer", "clEnqueueFillBuffer[%d]" % size,
                          "[GPU_Memset]")}[kind]
        shape = rnd.choice(["[SIMD32 {64; 2; 1} {256; 1; 1}]", "[SIMD_ANY {1; 1; 1} {8; 1; 1}]",
                            " {3; 1; 1} {16; 1; 1}]", ""])
        return {"k": ("zeCommandListAppendLaunchKernel", kernel + shape, kernel),
                "c": ("zeCommandListAppendMemoryCopy",
                      "zeCommandListAppendMemoryCopy(M2D)[%d]" % size, "[GPU_Memcpy]HtoD"),
                "f": ("zeCommandListAppendMemoryFill",
                      "zeCommandListAppendMemoryFill(D)[%d]" % size, "[GPU_Memset]")}[kind]

    def id(self, prefix=""):
        self.p.ids[prefix] += 1
        return str(self.p.ids[prefix])

    def launch(self):
        self.left -= 1
        if opts["opencl"] and rnd.random() < 0.5:
            api, name, leaf = self.some("CL_")
            i = self.id("CL_")
            self.call(api, [i], "CL_")
            self.work(name, leaf, i, api, "CL_")
            return
        if rnd.random() < 0.6:			# an immediate command list
            api, name, leaf = self.some("")
            i = self.id()
            self.call(api, [i])
            self.work(name, leaf, i + ".1" if onetrace else i, api)
            return
        if not self.lists or rnd.random() < 0.5:	# appending to a list is not a launch
            self.lists.append([])
            for _ in range(rnd.randint(1, 4)):
                api, name, leaf = self.some("")
                i = self.id()
                self.call(api, [i] if onetrace else [])
                self.lists[-1].append([name, leaf, i, 0])
        works = rnd.choice(self.lists)
        for w in works:
            w[3] += 1
        ids = ["%s.%d" % (w[2], w[3]) if onetrace else self.id() for w in works]
        self.call("zeCommandQueueExecuteCommandLists", ids)
        for w, i in zip(works, ids):
            self.work(w[0], w[1], i, "zeCommandQueueExecuteCommandLists")

    def range(self, depth):
        start = self.time()
        name = rnd.choice(["oneCCL::allreduce", "submit", "forward", "urEnqueueKernelLaunch"])
        if not onetrace and opts["calls"]:
            self.frames.append(name)
        for _ in range(rnd.randint(1, 4)):
            if depth < 6 and rnd.random() < 0.4:
                self.range(depth + 1)
            elif self.left > 0:
                self.launch()
        if self.frames:
            self.frames.pop()
            event(ph="X", tid=self.tid, pid=self.p.pid, name=name, cat="cpu_op", ts=us(start),
                  dur=us(self.time() - start), id=0)


for n in range(opts["procs"]):
    process = Process(n)
    for t in range(opts["threads"]):
        thread = Thread(process, process.pid + 100 * t)
        while thread.left > 0:
            thread.range(0)
with open(out, "w") as f:
    if onetrace:
        f.write("[\n" + "".join(json.dumps(e) + ",\n" for e in events))
    else:
        f.write('{ "traceEvents":[\n' + ",\n".join(json.dumps(e) for e in events) + "\n]\n}\n")
with open(out + ".folded", "w") as f:
    for line, ns in folded.items():
        print(line, ns, file=f)
