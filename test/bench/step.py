# SPDX-License-Identifier: MIT
"""step.py [--tool TOOL] CONTROL WORKLOAD...: steps of PyTorch, with or without a profiler

  step    forward through 12 transformer layers at batch 1, eager: some 120 launches
  graph   the step as one CUDA graph
  memstep forward, backward and AdamW of the layers: allocates and frees some 2,000 blocks
  matmul  ten 8192 x 8192 products in bfloat16: the device is busy, the host is not

TOOL can be none, torch (torch.profiler, CUDA activity), torch-cpu (CPU and CUDA), torch-stack
(with_stack as well), proton (of Triton, shadow context) or proton-python (Python context). The tool
is on from the end of the warm-up. The time that it takes to process its data afterward is left out.

Says "ready" on the FIFO CONTROL.said. Then it reads names of workloads from CONTROL.go and answers
each with the microseconds of a step: the median of a few steps, some 30 ms in all. A step ends with
a synchronization. All programs of a benchmark use one CPU, in turns.
"""
import argparse
import contextlib
import os
import statistics
import time

import torch

LAYERS, WIDTH, HEADS, TOKENS = 12, 768, 12, 128


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.norm2 = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, HEADS, WIDTH // HEADS)
        q, k, v = (qkv[:, :, i].transpose(1, 2) for i in range(3))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


def transformer():
    layers = torch.nn.Sequential(*(Layer() for _ in range(LAYERS)))
    layers = layers.to("cuda", torch.bfloat16).eval()
    return layers, torch.randn(1, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)


def make_step():
    layers, x = transformer()
    return (lambda: layers(x)), 11


def make_memstep():
    layers, x = transformer()
    layers.train()
    optimizer = torch.optim.AdamW(layers.parameters())

    def train():
        with torch.enable_grad():
            layers(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return train, 5


def make_graph():
    layers, x = transformer()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            layers(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layers(x)

    def replay(keep=(layers, x)):  # the graph has the tensors' addresses, but no references
        graph.replay()
    return replay, 41


def make_matmul():
    # Zeros draw little power, so the clocks of the device stay as they are.
    a, b, c = (torch.zeros(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def ten():
        for _ in range(10):
            torch.mm(a, b, out=c)
    return ten, 3


WORKLOADS = {"step": make_step, "memstep": make_memstep, "graph": make_graph, "matmul": make_matmul}


@contextlib.contextmanager
def tool_on(tool):
    if tool.startswith("torch"):
        from torch.profiler import ProfilerActivity, profile
        activities = [ProfilerActivity.CUDA]
        if tool != "torch":
            activities.insert(0, ProfilerActivity.CPU)
        with profile(activities=activities, with_stack=tool == "torch-stack"):
            yield
    elif tool.startswith("proton"):
        import triton.profiler as proton
        proton.start("proton", context="python" if tool == "proton-python" else "shadow")
        yield
        proton.finalize()
    else:
        yield


def run(step, nr):
    for _ in range(nr):
        step()
        torch.cuda.synchronize()


def block(step, nr):
    """Returns microseconds per step. Warms up again first, because other programs have run."""
    run(step, nr // 5 + 1)
    times = []
    for _ in range(nr):
        start = time.perf_counter_ns()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="none", choices=[
        "none", "torch", "torch-cpu", "torch-stack", "proton", "proton-python"])
    parser.add_argument("control")
    parser.add_argument("workload", nargs="+", choices=list(WORKLOADS))
    args = parser.parse_args()
    torch.manual_seed(0)
    with torch.no_grad(), tool_on(args.tool):
        workloads = {name: WORKLOADS[name]() for name in args.workload}
        for step, nr in workloads.values():
            run(step, 5 * nr)
        # Binds this thread alone: the threads of CUDA and of the profilers exist already and run on
        # any CPU.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        with open(args.control + ".go") as go, open(args.control + ".said", "w") as said:
            print("ready", file=said, flush=True)
            for name in go:
                print(f"{block(*workloads[name.strip()]):.2f}", file=said, flush=True)
        if args.tool != "none":
            os._exit(0)


if __name__ == "__main__":
    main()
