#!/bin/sh
# SPDX-License-Identifier: MIT
# Launch shapes on a real GPU, for a program that prints its grids, blocks, shared memory and
# clusters. Compares the occupancy with the driver's result; t0/shape.c compares it with the result
# of NVIDIA's own calculator, which uses no driver.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -arch=sm_90 -Xcompiler \
	-fno-omit-frame-pointer,-fno-optimize-sibling-calls \
	-I"$XPU_SRC/test/workload" -o shapes "$XPU_SRC/test/workload/shapes.cu" -lcuda 2>nvcc.log
ok $? "nvcc builds shapes" || diag "$(cat nvcc.log)"
xpuload -o ways.data ./shapes 3000 30 >truth 2>load.log
is $? 0 "exit status 0" || diag "$(cat load.log)"
xpumerge -i ways.data -f folded --unit count -o ways.folded 2>merge.log
is "$("$XPU_SRC/test/lib/verdict.sh" ways.folded merge.log)" \
	"launches 3000 matched 3000 wrong 0 unmatched 0 lost 0" \
	"every launch is matched, under its own site"
xpumerge -i ways.data --csv --table kernels --by shape 2>/dev/null | tr -d '"' >kernels.csv
awk -F, \
	'NR > 1 { print $(NF - 7), $(NF - 6), $(NF - 2), ($(NF - 5) == "" ? "-" : $(NF - 5)),
	$3 }' kernels.csv |
	sort >got
sort truth >want
is "$(wc -l <want)" 30 "the program lists 30 shapes"
is "$(diff want got)" "" "each shape has a row with its number of launches" ||
	diag "$(cat kernels.csv)"
registers=$(cuobjdump -res-usage shapes 2>/dev/null | sed -n 's/.*REG:\([0-9]*\).*/\1/p' |
	head -n 1)
# The device gives each thread at least 16 registers.
[ "$registers" -ge 16 ] || registers=16
is "$(awk -F, 'NR > 1 { print $(NF - 4) }' kernels.csv | sort -u)" "$registers" \
	"registers are those that cuobjdump prints"
is "$(awk -F, 'NR > 1 && ($NF < 1 || $NF > 100)' kernels.csv | wc -l)" 0 \
	"each shape has an occupancy"
is "$(xpumerge dump ways.data |
	grep -c 'DEVICE .* capability=90 nr_multiprocessors=132 .* registers=65536 ')" \
	"$(xpumerge dump ways.data | grep -c ' DEVICE ')" \
	"the recording has the limits of an H100 or H200"
done_testing
