# SPDX-License-Identifier: MIT
# A training loop whose data arrive more slowly than the GPU computes: the loader reads each batch
# from a pipe, which another process fills every 20 ms.
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
ITEM = 64 * 1024


class SlowDataset(Dataset):
    def __init__(self, fd):
        self.fd = fd

    def __len__(self):
        return STEPS

    def __getitem__(self, i):
        data = bytearray()
        while len(data) < ITEM:
            data += os.read(self.fd, ITEM - len(data))
        return torch.frombuffer(data, dtype=torch.uint8).float()


def train(loader, model, optimizer):
    for batch in loader:
        x = batch.to("cuda").view(-1, 1024) / 255
        for _ in range(20):
            x = model(x)
        loss = x.square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.item()


read_end, write_end = os.pipe()
producer = os.fork()
if not producer:
    os.close(read_end)
    for _ in range(STEPS):
        time.sleep(0.02)
        view = memoryview(bytes(ITEM))
        while view:
            view = view[os.write(write_end, view):]
    os._exit(0)
os.close(write_end)

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
train(DataLoader(torch.ones(3, ITEM)), model, optimizer)  # warms up: first steps are slow
begin = time.monotonic()
loss = train(DataLoader(SlowDataset(read_end)), model, optimizer)
print(f"slow_loader: {STEPS} steps, {(time.monotonic() - begin) / STEPS * 1e3:.1f} ms each, "
      f"loss {loss:.6f}")
os.waitpid(producer, 0)
