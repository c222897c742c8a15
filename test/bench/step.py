# SPDX-License-Identifier: MIT
"""step.py [--tool TOOL] WORKLOAD...: what a step of PyTorch takes, with a profiler on or without

  step    forward through 12 transformer layers at batch 1, eager: some 120 launches
  graph   the same as one CUDA graph
  matmul  ten 8192 x 8192 products in bfloat16: the device is busy, the host is not

TOOL is none, torch (torch.profiler, CUDA activity), torch-cpu (CPU and CUDA), torch-stack (the same,
with_stack), proton (Triton's, shadow context) or proton-python (Python context). It is on from the
warm-up to the end; what it does with its data after the last step is not timed.

Prints "WORKLOAD MICROSECONDS" for each block of steps. Steps end with a synchronization.
"""
import argparse
import contextlib
import os
import sys
import time

import torch

BLOCKS = 5
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
    return (lambda: layers(x)), 20, 40


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
    return graph.replay, 20, 60


def make_matmul():
    # Of zeros: they draw little power, so the clocks of the device stay where they are.
    a, b, c = (torch.zeros(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def ten():
        for _ in range(10):
            torch.mm(a, b, out=c)
    return ten, 10, 8


WORKLOADS = {"step": make_step, "graph": make_graph, "matmul": make_matmul}


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


def measure(name):
    step, nr_warm, nr = WORKLOADS[name]()
    for _ in range(nr_warm):
        step()
        torch.cuda.synchronize()
    for _ in range(BLOCKS):
        start = time.perf_counter()
        for _ in range(nr):
            step()
            torch.cuda.synchronize()
        print(f"{name} {(time.perf_counter() - start) / nr * 1e6:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="none", choices=[
        "none", "torch", "torch-cpu", "torch-stack", "proton", "proton-python"])
    parser.add_argument("workload", nargs="+", choices=list(WORKLOADS))
    args = parser.parse_args()
    torch.manual_seed(0)
    with torch.no_grad(), tool_on(args.tool):
        for name in args.workload:
            measure(name)
        if args.tool != "none":
            # The figures are out; spare everybody what the tool would do now.
            sys.stdout.flush()
            os._exit(0)


if __name__ == "__main__":
    main()
