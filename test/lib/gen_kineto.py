# SPDX-License-Identifier: MIT
"""gen_kineto.py OUT.json [KEY=VALUE...]: a trace as PyTorch's profiler writes it, with random
contents

Threads are in random nested functions of Python, operators and annotations, and launch kernels and
copies at any depth. The expected results, the folded stacks of --unit ns, are written next to the
trace: OUT.json.folded, and OUT.json.nvtx for --by nvtx. Events are in random order.

Keys: nr=N launches of each thread, threads=N, rank=N (-1 if not distributed), base=NS, the zero of
the trace's timestamps, seed=N, pid=N, xpu=1 for Intel's GPUs, old=1 for the categories, thread
names and whole microseconds of 2021.
"""
import collections
import gzip
import json
import random
import sys

out = sys.argv[1]
opts = dict(nr=200, threads=2, rank=-1, base=0, seed=1, pid=4242, old=0, xpu=0)
for arg in sys.argv[2:]:
    key, value = arg.split("=")
    opts[key] = int(value)
rnd = random.Random(opts["seed"])
old = opts["old"]
step = 1000 if old else 1
events = []
folded = collections.Counter()
nvtx = collections.Counter()
correlation = 100
CAT = dict(cpu_op="Operator", cuda_runtime="Runtime", kernel="Kernel", gpu_memcpy="Memcpy",
           gpu_memset="Memset") if old else {}
# PTI's names for a CUDA call: the outer call, the inner call, and the direction of the copy
XPU = {
    "cudaLaunchKernel": ("urEnqueueKernelLaunch", "zeCommandListAppendLaunchKernel", ""),
    "cudaMemcpyAsync": ("urEnqueueUSMMemcpy", "zeCommandListAppendMemoryCopy",
                        "Memcpy M2D (Memory -> Device)"),
    "cudaMemsetAsync": ("urEnqueueUSMFill", "zeCommandListAppendMemoryFill", "Memset (Device)"),
}
root = "rank %d" % opts["rank"] if opts["rank"] >= 0 else "python3"


def us(ns):
    return ns // 1000 if old else float("%d.%03d" % (ns // 1000, ns % 1000))


def event(cat, name, pid, tid, start, end, **args):
    events.append({"ph": "X", "cat": CAT.get(cat, cat), "name": name, "pid": pid,
                   "tid": tid, "ts": us(start), "dur": us(end - start), "args": args})


class Thread:
    def __init__(self, tid, comm):
        self.tid, self.comm = tid, comm
        self.now = 5000 * step
        self.frames, self.ranges = [], []
        self.left = opts["nr"]
        self.python_id = 0

    def pass_time(self):
        self.now += rnd.randint(1, 50) * step
        return self.now

    def launch(self):
        global correlation
        correlation += 1
        self.left -= 1
        start = self.pass_time()
        kind = rnd.randint(0, 9)
        api, cat, name, leaf = "cudaLaunchKernel", "kernel", \
            "gemm<%d>(int)" % rnd.randint(0, 5), None
        if kind == 8:
            api, cat, name, leaf = ("cudaMemcpyAsync", "gpu_memcpy",
                                    "Memcpy HtoD (Pageable -> Device)",
                                    "[GPU_Memcpy]HtoD")
        elif kind == 9:
            api, cat, name = "cudaMemsetAsync", "gpu_memset", "Memset (Device)"
            leaf = "[GPU_Memset]"
        end = self.pass_time()
        if opts["xpu"]:
            api, inner, copy = XPU[api]
            name = copy or name
            event("xpu_driver", inner, opts["pid"], self.tid, start, end,
                  correlation=correlation)
        event("xpu_runtime" if opts["xpu"] else "cuda_runtime", api, opts["pid"], self.tid, start,
              end, correlation=correlation)
        ns = rnd.randint(1, 5000) * step
        where = {"context": "0x000055d08918fc78", "sycl queue": 7, "l0 queue": "0x55d08b8fc138"} \
            if opts["xpu"] else {"context": 1, "stream": 7}
        event(cat, name, 0, 7, end + 900 * step, end + 900 * step + ns, device=0, **where,
              correlation=correlation)
        leaf = leaf or "[GPU_Kernel]" + name
        path = self.frames or self.ranges or ["[no stack]"]
        folded[";".join([self.comm] + path + [api, leaf])] += ns
        nvtx[";".join((["[NVTX]" + r for r in self.ranges] or ["[no NVTX range]"]) +
                      path + [api, leaf])] += ns

    def call(self, depth):
        what = rnd.choice(["python_function", "cpu_op", "cpu_op", "user_annotation"])
        start = self.pass_time()
        args = {}
        if what == "python_function":
            self.python_id += 1
            args = {"Python id": self.python_id, "Python parent id": None}
            name = rnd.choice(["train.py(41): step", "torch/nn/modules/linear.py(124): forward",
                               "<string>(1): <module>",
                               "<eval_with_key>.7(5): forward", "nn.Module: Linear_0",
                               "<built-in method \"x\">"])
        elif what == "cpu_op":
            name = rnd.choice(["aten::mm", "<T as X>::copy",
                               "autograd::engine::evaluate_function: Add"])
        else:
            name = rnd.choice(["ProfilerStep#7", "forward", "Optimizer.step#SGD.step"])
        stack = self.ranges if what == "user_annotation" else self.frames
        stack.append(name)
        for _ in range(rnd.randint(1, 4)):
            if depth < 12 and rnd.random() < 0.45:
                self.call(depth + 1)
            elif self.left > 0:
                self.launch()
        stack.pop()
        event(what, name, opts["pid"], self.tid, start, self.pass_time(), **args)


for i in range(opts["threads"]):
    tid = opts["pid"] + i
    comm = root
    if i:
        comm = (root + " " if opts["rank"] >= 0 else "") + "bwd%d" % i
    thread = Thread(tid, comm)
    while thread.left > 0:
        thread.call(0)
        if thread.left > 0 and rnd.random() < 0.2:
            thread.launch()
    events.append({"ph": "M", "name": "thread_name", "pid": opts["pid"], "tid": tid, "ts": 0,
                   "args": {"name": "thread %d (%s)" % (tid, "bwd%d" % i if i else "python3")}})
events.append({"ph": "M", "name": "process_name", "pid": opts["pid"], "tid": 0, "ts": 0,
               "args": {"name": "python3"}})
# events that say nothing about launches: arrows, marks, counters, copies of annotations, costs
for phase in "sftiC":
    events.append({"ph": phase, "cat": "ac2g", "id": 1, "name": "ac2g", "pid": opts["pid"],
                   "tid": opts["pid"], "ts": us(5000 * step), "args": {"Bytes": 7}})
for cat in "gpu_user_annotation", "overhead", "Trace", "cuda_event":
    event(cat, "forward", -1, 0, 5000 * step, 6000 * step)
rnd.shuffle(events)
trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Simulated GPU",
                                                   "smMemory": [1, 2]}]}
if opts["base"]:
    trace["baseTimeNanoseconds"] = opts["base"]
trace["traceEvents"] = events
if opts["rank"] >= 0:
    trace["distributedInfo"] = {"backend": "nccl", "rank": opts["rank"], "world_size": 8}
opener = gzip.open if out.endswith(".gz") else open
with opener(out, "wt") as f:
    json.dump(trace, f)
for suffix, sums in ("folded", folded), ("nvtx", nvtx):
    with open(out + "." + suffix, "w") as f:
        for line, ns in sums.items():
            print(line, ns, file=f)
