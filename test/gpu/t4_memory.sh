#!/bin/sh
# SPDX-License-Identifier: MIT
# --memory on a real GPU: its numbers equal the numbers of a program that knows the truth, and
# PyTorch's own numbers at each moment. Also tests JAX and CuPy, and that the code that holds the
# memory is named when memory runs out. make bench-gpu measures the cost.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/memory_verdict.sh"
. "$XPU_SRC/test/lib/memory_torch_checks.sh"
. "$XPU_SRC/test/lib/memory_held_checks.sh"
need root gpu nvcc bpf

# ---- a program that knows the truth

"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls -o memory \
	"$XPU_SRC/test/workload/memory.cu" -lcuda -ldl -lpthread 2>nvcc.log
ok $? "nvcc builds memory" || diag "$(cat nvcc.log)"
xpuload --memory --gpu-only -o run.data ./memory -n 200 >run.out 2>load.log
is $? 0 "memory: exit status 0" || diag "$(cat load.log)"
diag "memory: $(tail -n 1 load.log)"
memory_wrong run.data run.out >verdict
[ "$(tail -n 1 verdict)" = "wrong 0" ] || diag "$(cat verdict)"
is "$(grep -c ': [0-9]* sums' verdict) $(tail -n 1 verdict)" "14 wrong 0" \
	"memory: each byte is under its path, at ten moments, at the peak, in total, leaked, refused"
diag "$(xpumerge -i run.data --table memory_failures --csv 2>/dev/null | head -n 2 | cut -c1-200)"
events=$(sed -n 's/.*, \([0-9]*\) events of memory.*/\1/p' load.log)
diag "memory: $(($(wc -c <run.data) / (events + 1))) bytes an event"
[ "$(wc -c <run.data)" -le $((24 * events)) ]
ok $? "memory: an event takes at most 24 bytes"

# ---- memory that CUDA holds without a separate call for each piece

"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets -Xcompiler -fno-optimize-sibling-calls \
	-o held "$XPU_SRC/test/workload/held.cu" -lcuda -ldl 2>nvcc.log
ok $? "nvcc builds held" || diag "$(cat nvcc.log)"
xpuload --memory --gpu-only -o held.data ./held x >held.out 2>load.log
is $? 0 "held: exit status 0" || diag "$(cat load.log held.out)"
held_agrees
diag "$(cat held.out)"
diag "$(sed 's/.*main;//' held.folded)"

if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	skip "PyTorch" "no PyTorch with CUDA"
	done_testing
	exit
fi

# ---- PyTorch's own numbers

xpuload --memory --gpu-only -o train.data python3 "$XPU_SRC/test/gpu/memory.py" train \
	22 >train.out 2>load.log
is $? 0 "train: exit status 0" || diag "$(tail -n 5 load.log train.out)"
diag "train: $(tail -n 1 load.log)"
torch_agrees train
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True xpuload --memory --gpu-only -o expandable.data \
	python3 "$XPU_SRC/test/gpu/memory.py" train 22 >expandable.out 2>load.log
is $? 0 "expandable: exit status 0" || diag "$(tail -n 5 load.log expandable.out)"
torch_agrees expandable
xpuload --memory --gpu-only -o graph.data python3 "$XPU_SRC/test/gpu/memory.py" graph \
	20 >graph.out 2>load.log
is $? 0 "graph: exit status 0" || diag "$(tail -n 5 load.log graph.out)"
torch_agrees graph

first() {		# first TABLE: prints its first row
	xpumerge -i train.data --table "$1" --csv --limit 1 2>/dev/null | tail -n 1
}
diag "$(xpumerge -i train.data --table memory_leaks --csv --limit 4 2>/dev/null | cut -c1-300)"
like "$(first memory_leaks)" 'memory.py:plant_leak:' \
	"the planted leak is the first row, with its line"
like "$(first memory_holders)" 'memory.py:plant_peak:' \
	"the planted peak is the first row, with its line"
diag "$(head -n 16 train.txt)"

# ---- out of memory

cat >oom.py <<'PY'
import torch
def hoard():
    held = []
    while True:
        held.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
hoard()
PY
xpuload --memory -o oom.data python3 oom.py >oom.out 2>load.log
is $? 1 "out of memory: exit status 1"
xpumerge -i oom.data --memory live --at failed -f folded -o oom.folded 2>/dev/null
diag "$(sort -k 2 oom.folded | awk '{ print $NF }' | sort -rn |
	head -n 1) bytes by the largest holder"
like "$(cat oom.folded)" 'oom.py:hoard:5.*\[GPU_Memory\]block [0-9]{10,}' \
	"out of memory: the holder is named"
diag "$(xpumerge -i oom.data --table memory_failures 2>/dev/null | cut -c1-160)"

# picture NAME WHO COMMAND...: records COMMAND, which runs out of memory, checks that WHO holds the
# most memory, and makes the page of that moment. If $OUT is set, copies the page there.
picture() {
	name=$1 who=$2
	shift 2
	xpuload --memory --gpu-only -o "$name.data" "$@" >"$name.out" 2>load.log
	is $? 1 "$name: exit status 1" || diag "$(tail -n 3 "$name.out" load.log)"
	xpumerge -i "$name.data" --memory live --at failed -f folded 2>/dev/null |
		awk '{ bytes = $NF; sub(/ [0-9]+$/, ""); print bytes, $0 }' | sort -rn >"$name.held"
	like "$(head -n 1 "$name.held")" "$who" \
		"$name: the largest holder when memory ran out is named" ||
		diag "$(head -n 3 "$name.held" | cut -c1-400)"
	xpumerge -i "$name.data" --memory live --at failed -o "$name.html" 2>/dev/null
	[ "$(wc -c <"$name.html")" -lt 1500000 ]
	ok $? "$name: the page has $(wc -c <"$name.html") bytes"
	[ -z "${OUT:-}" ] || cp "$name.html" "$OUT"
}
picture oom_train 'oom_train.py:train_step:' python3 "$XPU_SRC/test/gpu/oom_train.py"
"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets -cudart shared \
	-Xcompiler -fno-optimize-sibling-calls -o oom_server \
	"$XPU_SRC/test/gpu/oom_server.cu" 2>nvcc.log
ok $? "nvcc builds oom_server" || diag "$(cat nvcc.log)"
picture oom_server 'Server::extend_cache' ./oom_server

# ---- JAX and CuPy: the memory that they allocate from CUDA

if python3 -c 'import cupy' 2>/dev/null; then
	cat >cupy.py <<'PY'
import cupy
pool = cupy.get_default_memory_pool()
held = [cupy.zeros(n << 20, dtype=cupy.uint8) for n in (1, 3, 64, 200)]
del held[1]
print(pool.total_bytes())
PY
	mv cupy.py use_cupy.py
	xpuload --memory --gpu-only -o cupy.data python3 use_cupy.py >cupy.out 2>load.log
	is $? 0 "CuPy: exit status 0" || diag "$(tail -n 3 cupy.out load.log)"
	xpumerge -i cupy.data --memory leaked -f folded 2>/dev/null | grep -F 'use_cupy.py' |
		awk '{ sum += $NF } END { printf "%.0f\n", sum }' >found
	is "$(cat found)" "$(cat cupy.out)" "CuPy: the memory of its pool is right"
else
	skip "CuPy" "no CuPy"
fi
if python3 -c 'import jax' 2>/dev/null; then
	cat >use_jax.py <<'PY'
import jax, jax.numpy as np
x = np.ones((1 << 20,)) * 2
x.block_until_ready()
print(jax.devices()[0].memory_stats()["pool_bytes"])
PY
	XLA_PYTHON_CLIENT_MEM_FRACTION=.1 xpuload --memory --gpu-only -o jax.data python3 \
		use_jax.py >jax.out 2>load.log
	is $? 0 "JAX: exit status 0" || diag "$(tail -n 3 jax.out load.log)"
	xpumerge -i jax.data --table memory_devices --csv 2>/dev/null >found
	diag "JAX: pool_bytes $(tail -n 1 jax.out); $(grep GPU found)"
	largest=$(xpumerge -i jax.data --memory peak -f folded 2>/dev/null | awk '{ print $NF }' |
		sort -n | tail -n 1)
	is "$largest" "$(tail -n 1 jax.out)" "JAX: the memory of its pool is right"
else
	skip "JAX" "no JAX"
fi
done_testing
