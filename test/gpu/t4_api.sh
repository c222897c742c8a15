#!/bin/sh
# SPDX-License-Identifier: MIT
# --api=all on a real GPU: the recorded calls are the calls that the program made, on their threads,
# and last no longer than the program measured. --api leaves out short calls. make bench-gpu
# measures the cost of both.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu nvcc bpf

"$NVCC" -std=c++17 -O2 -g -cudart shared -Wno-deprecated-gpu-targets \
	-Xcompiler -fno-omit-frame-pointer -I"$XPU_SRC/test/workload" \
	-o calls "$XPU_SRC/test/workload/calls.cu" 2>nvcc.log
ok $? "nvcc builds calls" || diag "$(cat nvcc.log)"

compare() {		# compare NAME: compares the recording with the program's output
	xpumerge -i "$1.data" --table api_calls --csv --limit 0 >"$1.csv" 2>merge.log
	is $? 0 "$1: the table of calls is made"
	diag "$(head -n 30 "$1.csv")"
	like "$(cat merge.log)" ' unmatched 0 lost 0$' "$1: nothing is lost"
	diag "$(cat merge.log)"
	xpumerge -i "$1.data" -f chrome -o "$1.json" 2>merge.log
	python3 "$XPU_SRC/test/lib/calls.py" "$1.out" "$1.csv" "$1.json" >verdict
	diag "$(cat verdict)"
	is "$(grep -c '^calls' verdict) $(grep -c '^thread' verdict) $(grep -c WRONG verdict)" \
		"9 $2 0" "$1: all calls of all threads are recorded"
}

xpuload --api=all -o few.data ./calls >few.out 2>load.log
is $? 0 "exit status 0"
diag "$(cat load.log)"
compare few 5
xpuload --api=all --gpu-only -o many.data ./calls -t 8 -n 3000 -u 1 >many.out 2>load.log
is $? 0 "many: exit status 0"
diag "$(cat load.log)"
compare many 9
xpumerge -i many.data -f pftrace -o many.pftrace 2>/dev/null
ok $? "$1: Perfetto's format is written"
diag "$(ls -l many.data many.json many.pftrace)"

xpuload --api --gpu-only -o timed.data ./calls -t 8 -n 3000 -u 1 >timed.out 2>load.log
is $? 0 "timed: exit status 0"
diag "$(cat load.log)"
functions() {		# functions FILE: prints "NUMBER NAME" of each function
	tail -n +2 "$1" | tr -d '"' | awk -F, '{ print $3, $NF }' |
		grep -v -e Peek -e Get -e Current | sort
}
xpumerge -i timed.data --table api_calls --csv --limit 0 >timed.csv 2>merge.log
like "$(cat merge.log)" ' unmatched 0 lost 0$' "timed: nothing is lost"
unlike "$(cat timed.csv)" 'cudaPeekAtLastError' "timed: short calls are left out"
is "$(functions timed.csv)" "$(functions many.csv)" \
	"timed: all other calls are as frequent as with --api=all"

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	xpuload --api -o torch.data python3 "$XPU_SRC/test/gpu/eager.py" >torch.out 2>load.log
	is $? 0 "PyTorch: exit status 0"
	diag "$(grep 'launches from' load.log)"
	xpumerge -i torch.data --table api_calls 2>merge.log >torch.txt
	diag "$(head -n 14 torch.txt)"
	diag "$(cat merge.log)"
	like "$(cat merge.log)" ' unmatched 0 lost 0$' "PyTorch: nothing is lost"
	xpumerge -i torch.data -f chrome 2>/dev/null >torch.json
	calls=$(grep -c '"cat":"launch"' torch.json)
	moments=$(grep '"cat":"launch"' torch.json | grep -c '"dur":1.000,')
	diag "$calls launches, of them $moments of 1 us exactly"
	[ "$((moments * 100))" -lt "$calls" ]
	ok $? "PyTorch: launches are as long as their calls"
else
	skip "PyTorch" "no PyTorch that finds the GPU"
fi

done_testing
