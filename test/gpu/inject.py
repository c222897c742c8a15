#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""inject.py KIND: a program that gets the shim while it runs: train, alone, graphs, jax or ranks

Repeats one step and compares each result with the first one. Prints "ready PID" when it has begun,
and "steps N different N" when SIGTERM has ended it. "alone" trains like "train", but has no
thread that waits for the end. "ranks" starts two ranks of NCCL.
"""
import os
import signal
import socket
import subprocess
import sys
import threading

asked = []                                      # has an item once SIGTERM has arrived
over = asked                                    # has an item once the last step is done


def make_model():
    """Returns a small model and its input."""
    import torch
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256)]
    return torch.nn.Sequential(*layers).cuda(), torch.randn(64, 256, device="cuda")


def make_train():
    """Returns a step of training in eager mode."""
    model, x = make_model()

    def step():
        model.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        return loss.item()
    return step


def make_graphs():
    """Returns a step of inference by a CUDA graph, as servers of language models do it."""
    import torch
    model, x = make_model()
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x).square().mean()

    def step():
        for _ in range(5):
            graph.replay()
        return y.item()
    return step


def make_jax():
    """Returns a step that JAX has compiled."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp
    a = jax.random.normal(jax.random.PRNGKey(0), (256, 256))
    loss = jax.jit(lambda m: jnp.tanh(m @ m).sum())
    return lambda: float(loss(a))


def make_ranks():
    """Returns a step of a rank: it reduces two tensors. All ranks end with the same step."""
    global over
    import torch
    import torch.distributed as dist
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    x, flag = torch.ones(1 << 18, device="cuda"), torch.zeros(1, device="cuda")
    over = []

    def step():
        y = x * (rank + 1)
        work = dist.all_reduce(y, async_op=True)
        flag.fill_(len(asked))
        dist.all_reduce(flag)
        work.wait()
        if flag.item():
            over.append(True)
        return y.sum().item()
    return step


def start_ranks():
    """Starts two ranks, passes SIGTERM on, and returns the worst status."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
               NCCL_NVLS_ENABLE="0")
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(env, RANK=str(rank)))
             for rank in range(2)]
    signal.signal(signal.SIGTERM, lambda *_: [rank.terminate() for rank in ranks])
    return max(abs(rank.wait()) for rank in ranks)


def main():
    """Runs one program until SIGTERM."""
    kind = sys.argv[1]
    if kind == "ranks" and "RANK" not in os.environ:
        sys.exit(start_ranks())
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    step = {"train": make_train, "alone": make_train, "graphs": make_graphs, "jax": make_jax,
            "ranks": make_ranks}[kind]()
    if kind != "alone":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    want = step()
    steps = different = 0
    while not over:
        different += step() != want
        steps += 1
        if steps == 20:
            os.write(1, f"ready {os.getpid()}\n".encode())
    os.write(1, f"steps {steps} different {different}\n".encode())
    if kind == "ranks":
        import torch.distributed as dist
        dist.destroy_process_group()


main()
