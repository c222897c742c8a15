#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ranks.py WHAT SLOW [STEPS]: a rank of a job that trains on several GPUs; without RANK, starts all
ranks

WHAT is ddp, fsdp, two (two communicators at once), groups (coalesced sends and receives, and
collectives), split (a communicator that is split off) or single (one communicator, and no groups);
SLOW is the part in which rank 1 is slow: loader, kernel or none. Each rank prints how many
collectives PyTorch itself has recorded.
"""
import collections
import os
import pickle
import socket
import subprocess
import sys
import time

SLOW_S = 0.03


def start_ranks():
    """Starts a process for each GPU, with torchrun's variables. Returns the worst status."""
    nr = int(os.environ.get("NR_RANKS") or
             len(subprocess.check_output(["nvidia-smi", "-L"]).splitlines()))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    ranks = []
    for rank in range(nr):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(nr),
                   LOCAL_WORLD_SIZE=str(nr), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                   NCCL_NVLS_ENABLE="0", TORCH_FR_BUFFER_SIZE="20000")
        wrap = os.environ.get("WRAP", "").split()
        ranks.append(subprocess.Popen([*wrap, sys.executable, *sys.argv], env=env))
    return max(abs(rank.wait()) for rank in ranks)


if "RANK" not in os.environ:
    sys.exit(start_ranks())

import torch                                    # noqa: E402
import torch.distributed as dist                # noqa: E402

what, slow = sys.argv[1:3]
steps = int(sys.argv[3]) if len(sys.argv) > 3 else 20
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def load_batch():
    """Loads data; slowly on one rank."""
    if slow == "loader" and rank == 1:
        time.sleep(SLOW_S)
    return torch.randn(32, 1024, device="cuda")


def slow_part():
    """Runs a kernel that takes long on one rank."""
    torch.cuda._sleep(int(SLOW_S * 1.7e9) if slow == "kernel" and rank == 1 else 1000)


def make_model():
    """Returns some layers."""
    return torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()


def train(model):
    """Trains as DDP and FSDP do."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(steps):
        batch = load_batch()
        slow_part()
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def two_communicators():
    """Reduces in two communicators at once."""
    other = dist.new_group(list(range(world)))
    a, b = torch.ones(1 << 20, device="cuda"), torch.ones(1 << 16, device="cuda")
    for _ in range(steps):
        load_batch()
        slow_part()
        works = [dist.all_reduce(a, async_op=True), dist.all_reduce(b, group=other, async_op=True)]
        for work in works:
            work.wait()


def single():
    """Reduces in one communicator, from one call at a time."""
    tensor = torch.ones(1 << 16, device="cuda")
    dist.all_reduce(tensor)
    print(f"rank {rank} trains", flush=True)
    for _ in range(steps):
        load_batch()
        slow_part()
        dist.all_reduce(tensor)
        torch.cuda.synchronize()


def groups(group=None):
    """Sends in rings, and reduces several tensors in one group."""
    tensors = [torch.ones(1 << n, device="cuda") for n in (10, 14, 18)]
    for _ in range(steps):
        load_batch()
        slow_part()
        ops = [dist.P2POp(dist.isend, tensors[1], (rank + 1) % world, group),
               dist.P2POp(dist.irecv, tensors[2][:1 << 14], (rank + world - 1) % world, group)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        with dist._coalescing_manager(group, async_ops=False, device=torch.device("cuda")):
            for tensor in tensors:
                dist.all_reduce(tensor, group=group)


def recorded():
    """Returns how many collectives PyTorch's flight recorder has, by name."""
    trace = pickle.loads(torch._C._distributed_c10d._dump_nccl_trace())
    names = collections.Counter()
    for entry in trace["entries"]:
        # One entry for a group has all tensors of the group.
        name = entry["profiling_name"]
        names[name] += len(entry["input_sizes"]) if name == "nccl:allreduce_coalesced" else 1
    return names


def main():
    """Runs one rank."""
    if what == "split":
        # With a device, the communicator is made at once, and new groups are split off from it.
        dist.init_process_group("nccl",
                                device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    else:
        dist.init_process_group("nccl")
    if what == "ddp":
        train(torch.nn.parallel.DistributedDataParallel(make_model()))
    elif what == "fsdp":
        from torch.distributed.fsdp import fully_shard

        model = make_model()
        for layer in model:
            fully_shard(layer)
        train(fully_shard(model))
    elif what == "two":
        two_communicators()
    elif what == "single":
        single()
    elif what == "split":
        groups(dist.new_group(list(range(world))))
    else:
        groups()
    dist.barrier()
    torch.cuda.synchronize()
    try:
        names = recorded()
    except Exception as error:                  # pylint: disable=broad-except
        names = collections.Counter()
        print(f"rank {rank}: no flight recorder: {error!r}", flush=True)
    coalesced = names.pop("nccl:coalesced", 0)
    # In one call, because all ranks write to one file.
    os.write(1, (f"rank {rank} ops {sum(names.values())} coalesced {coalesced} nccl "
                 f"{'.'.join(map(str, torch.cuda.nccl.version()))} {dict(names)}\n").encode())
    dist.destroy_process_group()


main()
