# SPDX-License-Identifier: MIT
"""oom_train.py: trains until the GPU's memory is full, because it keeps the graph of each step's
loss: a common mistake"""
import torch
from torch import nn

WIDTH, TOKENS, BATCH = 2048, 1024, 8
free_bytes, _ = torch.cuda.mem_get_info()
LAYERS = max(4, int(free_bytes / 2**30 / 5))
history = []


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, 16, WIDTH // 16).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, WIDTH))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.mlp = Attention(), Mlp()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def make_model():
    with torch.device("cuda"):
        return nn.Sequential(*(Layer() for _ in range(LAYERS))).bfloat16()


def train_step(model, optimizer, batch):
    loss = model(batch).float().square().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    return loss


def train():
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(10000):
        batch = torch.randn(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
        history.append(train_step(model, optimizer, batch))  # .item() is missing


train()
