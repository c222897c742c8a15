#!/bin/sh
# SPDX-License-Identifier: MIT
# Odd programs and drivers of OpenCL: 10,000 queues, several platforms, drivers that refuse to
# measure times or to call back, a program that unloads OpenCL, windows, several files.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/opencl_checks.sh"
need root bpf shim opencl
quiet_sanitizers

same() {		# same NAME LAUNCHES COMMAND...: the program ends as without xpuload
	name=$1 launches=$2
	shift 2
	"$@" >bare.out 2>&1
	bare=$?
	xpuload -o $name.data "$@" >own.out 2>load.log
	is $? $bare "$name: the program ends as without xpuload" || diag "$(cat load.log)"
	is "$(cat own.out)" "$(cat bare.out)" "$name: it gets the same results"
	is "$(verdict $name)" \
		"launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: all launches have their device work"
}

same many_queues 20000 "$odd" many_queues
is "$(xpumerge dump many_queues.data | grep ' STREAM ' | grep -o ' id=[0-9]*' | sort -u |
	wc -l)" 10000 \
	"each of 10,000 queues is a stream"

# A driver may complete work after the program has unloaded the library that it called.
same unload 300 "$XPU_BUILD/workload/cl_unload" "$XPU_BUILD/workload/cl_module.so" 1
same unload_early 300 "$XPU_BUILD/workload/cl_unload" "$XPU_BUILD/workload/cl_module.so" 0

like "$(xpuload --check 2>&1)" 'OpenCL +(.*, )?pocl' "--check names the drivers of this machine"
mkdir empty
like "$(OCL_ICD_VENDORS=$PWD/empty xpuload --check 2>&1)" 'OpenCL.* no driver in .*/empty/' \
	"--check says that the machine has no driver"

# A second driver, whose clock is 1000 s ahead.
mkdir vendors
cp /etc/OpenCL/vendors/*.icd vendors
echo "$XPU_BUILD/workload/cl_driver.so" >vendors/test.icd
OCL_ICD_VENDORS=$PWD/vendors
export OCL_ICD_VENDORS
same platforms 20000 "$exact" -n 2500 -p 2
like "$(cat load.log)" 'the times of test device are known to within' \
	"platforms: the bound of each clock is said"
is "$(xpumerge -i platforms.data --table kernels --csv 2>/dev/null | grep -c kernel_)" 16 \
	"platforms: the kernels of both devices"
rm vendors/[!t]*.icd

# The program's times, on the one clock of the recording.
CL_DRIVER=timer
export CL_DRIVER
same timer 20000 "$exact" -n 2500
like "$(cat load.log)" 'the times of test device .*, by clGetDeviceAndHostTimer' \
	"timer: the driver's own timer bounds its clock"
is "$(xpumerge dump timer.data | awk '
	/ LAUNCH| LOG/ { if (match($0, /time_ns=[0-9]+/)) { t = substr($0, RSTART + 8, RLENGTH - 8)
		if (!first || t < first) first = t } }
	/ KERNEL / && match($0, /start_ns=[0-9]+/) { s = substr($0, RSTART + 9, RLENGTH - 9)
		if (s - first > 60e9 || first - s > 1e6) wrong++ }
	END { print wrong + 0 }')" 0 "timer: times of a clock that is 1000 s ahead are converted"

# untimed NAME WHAT: work without times is counted, but its launches are known
untimed() {
	CL_DRIVER=$1
	xpuload -o "$1.data" "$exact" -n 250 -e none >own.out 2>load.log
	is "$(cat own.out)" "2000 launches" "$1: the program runs"
	xpumerge -i "$1.data" -f folded --unit count -o "$1.folded" 2>"$1.log"
	like "$(cat "$1.log")" '2000 .*without valid times' "$1: work without times is counted"
}
untimed plain
like "$(cat load.log)" '8 queues refused CL_QUEUE_PROFILING_ENABLE' \
	"plain: queues that do not measure times are said"
untimed silent
untimed old
unset OCL_ICD_VENDORS CL_DRIVER

xpuload --capture launch:101-300 -o window.data "$odd" events >/dev/null 2>load.log
is "$(verdict window)" "launches 200 matched 200 wrong 0 unmatched 0 lost 0" \
	"windows: exactly the launches with these numbers are recorded"

# Files of --every: memory that was made in an earlier one is held in each.
xpuload --memory --every 0.5 -o files.data "$odd" steady >/dev/null 2>load.log
is $? 0 "files: several of them"
for file in files.data.*; do
	xpumerge -i "$file" -f folded --memory peak -o peak.folded 2>merge.log
	grep -q ';make_two;.*clCreateBuffer.* 2097152$' peak.folded && echo "$file"
done >with
[ "$(wc -l <with)" -ge 4 ]
ok $? "files: memory of the first file is held in the others: $(wc -l <with)"
xpumerge files.data.* -f folded --unit count -o all.folded 2>merge.log
like "$(cat merge.log)" 'launches 60 matched 60 .* lost 0' "files: all launches are in them"

# After xpuload has left, launches cost what they cost before it came.
LD_PRELOAD=$XPU_SHIM "$exact" -t 1 -n 300000 -e none -T >before.out 2>&1
LD_PRELOAD=$XPU_SHIM "$exact" -t 1 -n 300000 -e none -T >after.out 2>&1 &
pid=$!
sleep 0.5
xpuload -p $pid --duration 0.2 -o left.data 2>load.log
is $? 0 "attached, and left"
wait $pid
cost() {
	grep -o '^[0-9]* ns of the thread' $1.out
}
diag "CPU time of a launch: $(cost before), after xpuload has left: $(cost after)"
is "$(head -n 1 after.out)" "300000 launches" "the program goes on"
done_testing
