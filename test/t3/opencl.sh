#!/bin/sh
# SPDX-License-Identifier: MIT
# OpenCL programs, on a real device of this machine (PoCL), recorded with BPF and with shared
# memory. Every launch is under its own site, with the same device time that the program itself
# reads. Waits and memory are tested, too.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/opencl_checks.sh"
. "$XPU_SRC/test/lib/merges.sh"
need root bpf shim opencl
quiet_sanitizers

# kernels FILE: prints "NAME NS" for each kernel of a recording, sorted
kernels() {
	xpumerge dump "$1" | awk '
		/ STRING / { split($0, text, "\""); match($0, /id=[0-9]+/)
			name[substr($0, RSTART + 3, RLENGTH - 3)] = text[2] }
		/ KERNEL / { match($0, /duration_ns=[0-9]+/)
			ns[++nr] = substr($0, RSTART + 12, RLENGTH - 12)
			match($0, / name=[0-9]+/); id[nr] = substr($0, RSTART + 6, RLENGTH - 6) }
		END { for (i = 1; i <= nr; i++) print name[id[i]], ns[i] }' | sort
}

# 8 threads, 16 kernels, 160,000 launches; the program reads all device times.
is "$(xpuload -o all.data "$exact" -e all -o times.txt 2>load.log)" "160000 launches" \
	"160,000 launches of OpenCL kernels are recorded"
is "$(verdict all)" "launches 160000 matched 160000 wrong 0 unmatched 0 lost 0" \
	"every launch is matched, under its own site"
sort times.txt >want.txt
kernels all.data >got.txt
is "$(wc -l <got.txt)" 160000 "each launch of an OpenCL kernel has a device time"
cmp got.txt want.txt
ok $? "each device time equals the time that the program itself reads"
like "$(cat load.log)" \
	'known to within [0-9.]+ us, by (the calls that enqueue work|clGetDeviceAndHostTimer)' \
	"a message gives the error bound of OpenCL times"
like "$(cat all.folded)" ';launcher;site_03;clEnqueueNDRangeKernel;\[GPU_Kernel\]kernel_03 ' \
	"frames below the OpenCL call are left out"

run() {			# run NAME WHAT OPTION... -- ARGUMENT...: records 20,000 launches
	name=$1 what=$2
	shift 2
	opts=
	while [ "$1" != -- ]; do
		opts="$opts $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # several options
	xpuload -o "$name.data" $opts "$exact" -n 2500 "$@" >/dev/null 2>load.log
	is "$(verdict "$name")" "launches 20000 matched 20000 wrong 0 unmatched 0 lost 0" "$what"
}
run none "no event is requested: every launch is matched" -- -e none
run half "every other event is requested: every launch is matched" -- -e half
run order "queues that run out of order: every launch is matched" -- -q 1 -e all
run shm "through shared memory: every launch is matched" --transport shm -- -e half
run launch "a probe for each launch: every launch is matched" --probe launch -- -e half
run memory "with events of memory: every launch is matched" --memory -- -e half

# Without privileges, xpuload receives all records through shared memory.
setpriv --bounding-set -all --inh-caps -all --no-new-privs "$XPULOAD" -o bare.data \
	"$exact" -n 2500 -e half >/dev/null 2>load.log
is $? 0 "without privileges: exit status 0" || diag "$(cat load.log)"
is "$(verdict bare)" "launches 20000 matched 20000 wrong 0 unmatched 0 lost 0" \
	"without privileges: every launch is matched"
like "$(cat load.log)" 'launches come through shared memory: ' \
	"without privileges: a message says that launches come through shared memory"

# Python: each launch is under its own line.
cat >lines.py <<-'END'
	import pyopencl as cl

	context = cl.create_some_context(interactive=False)
	queue = cl.CommandQueue(context)
	program = cl.Program(context, """
	    kernel void first(global int *x) { x[0]++; }
	    kernel void second(global int *x) { x[1]++; }""").build()
	x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
	first, second = program.first, program.second

	def many():
	    for _ in range(300):
	        first(queue, (1,), None, x)
	        second(queue, (1,), None, x)

	def few():
	    for _ in range(100):
	        first(queue, (1,), None, x)

	many()
	few()
	queue.finish()
END
python=$(command -v /usr/bin/python3 || command -v python3)
if "$python" -c 'import pyopencl' 2>/dev/null; then
	PYOPENCL_CTX=0 xpuload --python=on -o lines.data "$python" lines.py >out 2>load.log
	xpumerge -i lines.data -f folded --unit count -o lines.folded 2>/dev/null
	is "$(sed -n 's/.*;lines.py:\([a-z]*:[0-9]*\);.*;\[GPU_Kernel\]\([a-z]*\) \([0-9]*\)$/\1 \2 \3/p' \
		lines.folded | sort | tr '\n' ',')" \
		"few:18 first 100,many:13 first 300,many:14 second 300," \
		"pyopencl: every launch is under its line of Python" || diag "$(cat load.log out)"
else
	skip "pyopencl: every launch is under its line of Python" "install python3-pyopencl"
fi

# The user's own layer stays below the shim. This layer has a timer.
OPENCL_LAYERS=$XPU_BUILD/workload/cl_layer.so CL_LAYER_TIMER=1
export OPENCL_LAYERS CL_LAYER_TIMER
run layer "with the user's own layer: every launch is matched" -- -e half
unset OPENCL_LAYERS CL_LAYER_TIMER
like "$(cat load.log)" \
	'OpenCL: the times of .* are known to within [0-9.]+ us, by clGetDeviceAndHostTimer' \
	"with a timer of the driver: a message gives the error bound of times"

# The shim is preloaded, and xpuload attaches while the program runs.
LD_PRELOAD=$XPU_SHIM "$exact" -t 2 -n 3000000 >late.out 2>late.err &
pid=$!
sleep 1
xpuload -p $pid --duration 1 -o late.data 2>load.log
is $? 0 "attached late: exit status 0"
kill $pid
wait $pid 2>/dev/null
verdict late >late.verdict
like "$(cat late.verdict)" '^launches [0-9]{4,} matched [0-9]{4,} wrong 0 ' \
	"attached late: device times are recorded, none under a wrong site"
is "$(awk '{ d = $2 - $4; print (d >= 0 && d < 5000) }' late.verdict)" 1 \
	"attached late: only launches in flight at the end are without device work"

# Whatever a program does, it sees the same results with the shim as without the shim.
for case in nulls:2 events:1100 queues:1000 released:2 user:2 order:200 copies:24 buffers:5 \
	threads:1000 forks:2 subdevices:2; do
	launches=${case#*:} case=${case%:*}
	"$odd" $case >bare.out 2>&1
	bare=$?
	xpuload -o $case.data "$odd" $case >own.out 2>load.log
	is $? $bare "$case: the exit status is the same as without xpuload"
	is "$(cat own.out)" "$(cat bare.out)" \
		"$case: the output is the same as without xpuload"
	is "$(verdict $case)" \
		"launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$case: each launch that puts work on the device is matched with this work"
done
like "$(cat user.log)" '1 launch that .* refused' \
	"work that waits for a failed user event counts as a refused launch"
like "$(cat nulls.log)" '5 launches that .* refused' \
	"calls that return errors count as refused launches"
like "$(cat buffers.folded)" \
	';buffers;clEnqueueCommandBufferKHR;\[GPU_Kernel\]\[command buffer\] 5$' \
	"a command buffer is one piece of work"
xpuload -o many_buffers.data "$odd" many_buffers >many.out 2>load.log
if grep -q "no command buffers" many.out; then
	skip "more command buffers than the shim knows" "this OpenCL has none"
else
	# shellcheck disable=SC2046 # ten words
	set -- $(verdict many_buffers)
	is $(($2 + ${10})) 4200 \
		"more command buffers than the shim knows: each is recorded or counted as lost"
fi
is "$(sed -n 's/.*;copies;\(clEnqueue[A-Za-z]*\);\[GPU_\([A-Za-z]*\)\].* 1$/\1 \2/p' copies.folded |
	sort | uniq | wc -l)" 21 "copies and fills of each kind have the names of their calls"
is "$(xpumerge -i subdevices.data -f folded --unit count 2>/dev/null |
	grep -c '\[GPU[0-9]_Kernel\]on_part 1$')" 2 "sub-devices have numbers of their own"

xpuload -o never.data "$odd" never >never.out 2>load.log
is $? 0 "a program that ends before its work began: exit status 0"
is "$(verdict never)" "launches 2 matched 1 wrong 0 unmatched 1 lost 0" \
	"work that never ran: its launch is counted as unmatched"

# The program measures its waits itself. On a busy machine its thread may lose the CPU after it has
# read the clock and before it calls, so a short wait is measured again.
waits() {		# waits: records a program; prints calls, recorded times and measured times
	xpuload -o waits.data "$odd" waits >waits.out 2>load.log || echo "exit status $?"
	xpumerge -i waits.data --waits -f folded --unit us -o waits.folded 2>waits.log
	for wait in wait_finish:clFinish wait_events:clWaitForEvents wait_read:clEnqueueReadBuffer
	do
		call=${wait#*:} wait=${wait%:*}
		own=$(sed -n "s/^$wait //p" waits.out)
		sed -n "s/.*;${wait}[^;]*;$call;\[GPU_Wait\].* //p" waits.folded |
			awk -v call="$call" -v own="$own" '{ s += $1 }
				END { print call, s + 0, own, (s > own * 0.9 - 1000) }'
	done
}
attempt=0
until waits >waited && grep -q 'exit status' waited || [ "$(grep -c ' 1$' waited)" = 3 ] ||
	[ $((attempt += 1)) -ge 5 ]
do
	:
done
is "$(grep -c 'exit status' waited)" 0 "a program that waits: exit status 0"
is "$(awk '$3 > 0 && $4 && $2 <= $3 + 3 { print $1 }' waited | tr '\n' ' ')" \
	"clFinish clWaitForEvents clEnqueueReadBuffer " \
	"waits are as long as the program measured" || diag "$(cat waited)"

# Memory: at the peak 1 MiB, 2 MiB and 64 KiB, plus 4 KiB that stay.
xpuload --memory -o mem.data "$odd" memory >/dev/null 2>load.log
is $? 0 "a program that allocates and frees memory: exit status 0"
xpumerge -i mem.data -f text -o mem.txt 2>/dev/null
like "$(cat mem.txt)" 'at most 3215360 bytes' "the peak of the program's memory is exact"
like "$(cat mem.txt)" 'memory never freed: 4096 bytes in 1 piece' \
	"memory that the program never frees is reported as held"
xpuload --memory-only -o only.data "$odd" memory >/dev/null 2>load.log
xpumerge -i only.data -f text -o only.txt 2>/dev/null
like "$(cat only.txt)" 'at most 3215360 bytes' \
	"--memory-only: the peak of the program's memory is exact"

# CUDA and OpenCL in one process: both give the same numbers to their launches and contexts, but the
# launches are not mixed up.
if [ -x "$XPU_BUILD/workload/cl_pair" ]; then
	use_sim
	xpuload -o pair.data "$XPU_BUILD/workload/cl_pair" >pair.out 2>load.log
	is "$(cat pair.out)" "12000 launches" \
		"a program that uses CUDA and OpenCL makes 12,000 launches"
	is "$(verdict pair)" "launches 12000 matched 12000 wrong 0 unmatched 0 lost 0" \
		"every launch of CUDA and of OpenCL is matched, under its own site"
	like "$(cat pair.folded)" \
		'site_03;kernel_03;__cudaLaunchKernel;\[GPU[0-9]*_Kernel\]kernel_03' \
		"frames of CUDA API calls are named after the calls"
	like "$(cat pair.folded)" 'site_13;clEnqueueNDRangeKernel;\[GPU[0-9]*_Kernel\]kernel_13' \
		"frames of OpenCL API calls are named after the calls"
	cuda=$(awk '/;__cudaLaunchKernel;/ { nr += $NF } END { print nr }' pair.folded)
	for table in launches device; do
		is "$(apis $table -i pair.data)" "0: $cuda 1: $((12000 - cuda)) " \
			"the table $table names the API of each row"
	done
fi
done_testing
