#!/bin/sh
# SPDX-License-Identifier: MIT
# NVTX ranges on a real GPU: in C++ with eight threads, domains and several modules, and in PyTorch.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

echo '#include <nvtx3/nvToolsExt.h>' >header.cu
if "$NVCC" -c -o header.o header.cu 2>/dev/null; then
	"$NVCC" -std=c++17 -O2 -g -Wno-deprecated-gpu-targets \
		-Xcompiler -fno-omit-frame-pointer,-fno-optimize-sibling-calls \
		-I"$XPU_SRC/test/workload" -o ranges "$XPU_SRC/test/workload/ranges.cu" -lcuda \
		-ldl 2>nvcc.log
	ok $? "nvcc builds ranges" || diag "$(cat nvcc.log)"
	"$NVCC" -std=c++17 -O2 -shared -Xcompiler -fPIC,-fvisibility=hidden -Xlinker -Bsymbolic \
		-x cu -o module.so "$XPU_SRC/test/workload/ranges_module.cc" 2>nvcc.log
	ok $? "nvcc builds the module" || diag "$(cat nvcc.log)"
else
	skip "NVTX of C++" "no NVTX headers beside nvcc"
fi

run() {			# run NAME LAUNCHES ARGS...
	[ -x ranges ] || return
	name=$1 launches=$2
	shift 2
	xpuload -o "$name.data" ./ranges "$@" >out 2>load.log
	is $? 0 "$name: exit status 0" || diag "$(cat load.log)"
	diag "$name: $(grep 'launches from' load.log)"
	xpumerge -i "$name.data" -f folded --gpu-only --by nvtx --unit count -o "$name.folded" \
		2>merge.log
	line=$("$XPU_SRC/test/lib/ranges_verdict.sh" "$name.folded" merge.log)
	diag "$name: $line"
	is "$line" "launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: every launch is matched, in its ranges"
}

run threads $((8 * 3000 / 3 * 14 + 2)) -t 8 -n 3000
run unique $((8 * 3000 / 3 * 12 + 2)) -t 8 -n 3000 -u
run foreign $((8 * 300 / 3 * 14 + 2)) -t 8 -n 300 -f
run module $((8 * 3000 / 3 * 14 + 2)) -t 8 -n 3000 -m ./module.so
if [ -x ranges ]; then
	diag "without a tool: $(./ranges -b)"
	diag "preloaded, nobody attached: $(LD_PRELOAD=$XPU_SHIM ./ranges -b)"
	diag "recorded: $(xpuload -o b.data ./ranges -b 2>/dev/null)"
fi

if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	skip "NVTX of PyTorch" "no PyTorch with CUDA"
	done_testing
	exit
fi
xpuload -o torch.data python3 "$XPU_SRC/test/gpu/nvtx.py" >out 2>load.log
is $? 0 "PyTorch: exit status 0" || diag "$(cat load.log out)"
diag "PyTorch: $(grep 'launches from' load.log)"
like "$(tail -n 1 load.log)" 'lost 0$' "PyTorch: nothing is lost"
in_ranges() {		# in_ranges PATH: prints how many launches are in exactly the ranges of PATH
	xpumerge -i torch.data -f folded --gpu-only --by nvtx --unit count 2>/dev/null |
		sed 's/;[^[][^;]*//g; s/;\[GPU[^;]*\( [0-9]*\)$/\1/' |
		awk -v path="$1" '{ n = $NF; sub(/ [0-9]+$/, "") } $0 == path { t += n }
		END { print t + 0 }'
}
is "$(in_ranges '[NVTX]step;[NVTX]adds')" 500 "PyTorch: torch.cuda.nvtx.range has its launches"
is "$(in_ranges '[NVTX]step;[NVTX]muls')" 300 \
	"PyTorch: range_push and range_pop have their launches"
is "$(in_ranges '[NVTX]step;[NVTX]muls;[NVTX]inner')" 300 "PyTorch: a nested range has its launches"
is "$(in_ranges '[NVTX]step;[NVTX]started')" 200 \
	"PyTorch: range_start and range_end have their launches"
is "$(in_ranges '[NVTX]step')" 0 "PyTorch: no launch is only in the outer range"
xpumerge -i torch.data --limit 30 2>/dev/null | sed -n '/^NVTX/,/^$/p' >table
diag "$(cut -c1-200 table)"
like "$(cat table)" 'aten::|Linear|Addmm' "PyTorch: emit_nvtx makes ranges"
xpumerge -i torch.data -f folded --gpu-only --by comm,nvtx --unit us 2>/dev/null >torch.folded
like "$(cat torch.folded)" '^pt_autograd_0;\[NVTX\]' "PyTorch: autograd's thread has ranges, too"
diag "$(grep '^pt_autograd_0' torch.folded | cut -d';' -f1-4 | sort | uniq -c | sort -rn |
	head -n 8)"
done_testing
