# SPDX-License-Identifier: MIT
# more.py WHAT: uses of PyTorch other than eager mode
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


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(128, 128) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x)) + x
        return x.softmax(-1)


def libraries():
    """cuDNN, cuFFT, cuSPARSE, cuSOLVER, cuBLAS in all precisions, and kernels compiled by nvrtc."""
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(32 * 15 * 15, 10)).cuda()
    lstm = torch.nn.LSTM(64, 128, num_layers=2, bidirectional=True).cuda()
    with torch.autocast("cuda", dtype=torch.float16):
        net(torch.randn(16, 3, 32, 32, device="cuda")).sum().backward()
    lstm(torch.randn(20, 8, 64, device="cuda"))[0].sum().backward()
    for n in 64, 1000, 1009:
        torch.fft.irfft(torch.fft.rfft(torch.randn(8, n, device="cuda"))).sum().item()
    a = torch.rand(500, 500, device="cuda")
    (a * (a > 0.9)).to_sparse_csr() @ torch.randn(500, 64, device="cuda")
    s = a @ a.mT + 500 * torch.eye(500, device="cuda")
    torch.linalg.cholesky(s), torch.linalg.eigh(s), torch.linalg.svd(a[:50])
    torch.linalg.solve(s, a)
    for kind in torch.float16, torch.bfloat16, torch.float32, torch.float64:
        x = a.to(kind)
        (x @ x).sum().item()
    torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x * x + x; }")(a)
    print("libraries: done")


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
               for _ in range(3))
    for backend in SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH:
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    print("attention: done")


def trees():
    """torch.compile with CUDA graphs that it makes and keeps by itself."""
    f = torch.compile(Layers().cuda(), mode="reduce-overhead")
    with torch.no_grad():
        for n in 8, 16, 8, 16, 8, 16, 8:
            for _ in range(5):
                f(torch.randn(n, 128, device="cuda"))
    print("trees: done")


def forked():
    """CUDA in children of a parent that has not used it."""
    import multiprocessing
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=rank, args=(i,)) for i in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()


def loop():
    """Runs until it gets a signal, then prints its results."""
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
