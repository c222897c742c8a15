# SPDX-License-Identifier: MIT
# Runs operations on separate lines. Each operation is identified by the name of its kernel. Writes
# "LINE THREAD KERNEL_REGEX" for each operation to the file that the first argument names. The
# backward pass runs in autograd's thread.
import sys

import torch

x = torch.randn(1 << 20, device="cuda", requires_grad=True)


def op_sin(): return torch.sin(x)
def op_cos(): return torch.cos(x)
def op_exp(): return torch.exp(x)
def op_tanh(): return torch.tanh(x)
def op_sigmoid(): return torch.sigmoid(x)
def op_erf(): return torch.erf(x)
def op_atan(): return torch.atan(x)
def op_sort(): return torch.sort(x)[0]
def op_cumsum(): return torch.cumsum(x, 0)
def op_softmax(): return torch.softmax(x, 0)


ops = {op_sin: r"\bsin_kernel", op_cos: r"\bcos_kernel", op_exp: r"\bexp_kernel",
       op_tanh: r"\btanh_kernel", op_sigmoid: r"\bsigmoid_kernel", op_erf: r"\berf_kernel",
       op_atan: r"\batan_kernel", op_sort: r"RadixSort",
       op_cumsum: r"DeviceScanKernel|tensor_kernel_scan",
       op_softmax: r"[Ss]oft[Mm]ax"}
for _ in range(20):
    for op in ops:
        y = op()
    torch.tanh(x).sum().backward()
    torch.cuda.synchronize()
with open(sys.argv[1], "w") as f:
    for op, regex in ops.items():
        print(op.__code__.co_firstlineno, op.__name__, regex, file=f)
print("lines: done")
