# SPDX-License-Identifier: MIT
# Matrix products, elementwise operations, and a backward pass, which runs in autograd's thread.
import torch

torch.manual_seed(0)
a = torch.randn(512, 512, device="cuda", requires_grad=True)
b = torch.randn(512, 512, device="cuda", requires_grad=True)
layers = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(),
                             torch.nn.Linear(512, 512), torch.nn.LayerNorm(512)).cuda()
optimizer = torch.optim.AdamW(list(layers.parameters()) + [a, b], lr=1e-3)
for step in range(100):
    optimizer.zero_grad(set_to_none=True)
    y = layers(a @ b)
    loss = (torch.sin(y) * y + y.exp().clamp(max=10)).mean()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(f"eager: loss {loss.item():.6f}")
