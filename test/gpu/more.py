# SPDX-License-Identifier: MIT
# more.py WHAT: what PyTorch programs do beside eager mode.
import sys

import torch


def train_step():
    a = torch.randn(256, 256, device="cuda", requires_grad=True)
    loss = torch.tanh(a @ a).square().mean()
    loss.backward()
    return loss.item()


def rank(index):
    for _ in range(50):
        train_step()
    torch.cuda.synchronize()
    print("rank", index, "done", flush=True)


class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.randn(128)


def compiled():
    f = torch.compile(lambda x: torch.sin(x) * x + x.exp())
    x = torch.randn(4096, device="cuda")
    for _ in range(100):
        y = f(x)
    torch.cuda.synchronize()
    print("compile:", y.shape)


def graph():
    g = torch.cuda.CUDAGraph()
    x = torch.randn(256, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            y = torch.relu(x @ x) + 1
    torch.cuda.synchronize()
    with torch.cuda.graph(g):
        y = torch.relu(x @ x) + 1
    for _ in range(100):
        g.replay()
    torch.cuda.synchronize()
    print("graph:", float(y.sum()))


def loader():
    layer = torch.nn.Linear(128, 128).cuda()
    data = torch.utils.data.DataLoader(Noise(), batch_size=8, num_workers=4, pin_memory=True)
    for batch in data:
        layer(batch.cuda(non_blocking=True)).sum().backward()
    torch.cuda.synchronize()
    print("loader: done")


def spawn():
    torch.multiprocessing.spawn(rank, nprocs=2)
    print("spawn: done")


def loop():
    """Runs until it is told to stop, then says what it has computed."""
    import signal
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    torch.manual_seed(0)
    x = torch.randn(256, 256, device="cuda")
    want = None
    steps = bad = 0
    while not stop:
        y = float(torch.tanh(x @ x).sum())
        want = want or y
        bad += y != want
        steps += 1
    print(f"loop: steps {steps} different {bad}")


def two_gpus():
    for device in range(2):
        x = torch.randn(512, 512, device=f"cuda:{device}")
        for _ in range(50):
            x = torch.tanh(x @ x)
    y = x.to("cuda:0")
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    print("two_gpus:", y.shape)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
