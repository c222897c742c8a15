#!/bin/sh
# SPDX-License-Identifier: MIT
# Unusual OpenCL programs and drivers: 10,000 queues, several platforms, drivers that refuse to
# measure times or to call back, a program that unloads OpenCL, windows, several files.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/opencl_checks.sh"
need root bpf shim opencl
quiet_sanitizers

same() {		# same NAME LAUNCHES COMMAND...: compares COMMAND with and without xpuload
	name=$1 launches=$2
	shift 2
	"$@" >bare.out 2>&1
	bare=$?
	xpuload -o $name.data "$@" >own.out 2>load.log
	is $? $bare "$name: the exit status is the same as without xpuload" ||
		diag "$(cat load.log)"
	is "$(cat own.out)" "$(cat bare.out)" \
		"$name: the output is the same as without xpuload"
	is "$(verdict $name)" \
		"launches $launches matched $launches wrong 0 unmatched 0 lost 0" \
		"$name: all launches have their device work"
}

same many_queues 20000 "$odd" many_queues
is "$(xpumerge dump many_queues.data | grep ' STREAM ' | grep -o ' id=[0-9]*' | sort -u |
	wc -l)" 10000 \
	"each of 10,000 queues is a stream"

# A driver may complete work after the program has unloaded the library from which it was submitted.
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
	"platforms: a message gives the error bound of each clock"
is "$(xpumerge -i platforms.data --table kernels --csv 2>/dev/null | grep -c kernel_)" 16 \
	"platforms: the kernels of both devices are recorded"
rm vendors/[!t]*.icd

# With clGetDeviceAndHostTimer, the driver's times are converted to the recording's clock.
CL_DRIVER=timer
export CL_DRIVER
same timer 20000 "$exact" -n 2500
like "$(cat load.log)" 'the times of test device .*, by clGetDeviceAndHostTimer' \
	"timer: a message says that clGetDeviceAndHostTimer gave the error bound"
# The records of earlier launches of other threads may follow a kernel's record.
is "$(xpumerge dump timer.data | awk '
	/ LAUNCH| LOG/ && match($0, /time_ns=[0-9]+/) {
		t = substr($0, RSTART + 8, RLENGTH - 8) + 0
		if (!first || t < first) first = t }
	/ KERNEL / && match($0, /start_ns=[0-9]+/) {
		s = substr($0, RSTART + 9, RLENGTH - 9) + 0
		if (!low || s < low) low = s
		if (s > high) high = s }
	END { print (low > first - 1e6), (high < first + 60e9) }')" "1 1" \
	"timer: times of a clock that is 1000 s ahead are converted"

# untimed NAME WHAT: checks that work without times is counted, and that its launches are recorded
untimed() {
	CL_DRIVER=$1
	xpuload -o "$1.data" "$exact" -n 250 -e none >own.out 2>load.log
	is "$(cat own.out)" "2000 launches" "$1: the program runs"
	xpumerge -i "$1.data" -f folded --unit count -o "$1.folded" 2>"$1.log"
	like "$(cat "$1.log")" '2000 .*without valid times' "$1: work without times is counted"
}
untimed plain
like "$(cat load.log)" '8 queues refused CL_QUEUE_PROFILING_ENABLE' \
	"plain: a message counts queues that do not measure times"
untimed silent
untimed old
unset OCL_ICD_VENDORS CL_DRIVER

xpuload --capture launch:101-300 -o window.data "$odd" events >/dev/null 2>load.log
is "$(verdict window)" "launches 200 matched 200 wrong 0 unmatched 0 lost 0" \
	"--capture launch:101-300: exactly launches 101 to 300 are recorded"

# Options for which OpenCL has no equivalent.
for option in "--stalls --migrations" "--capture cuda-profiler-api"; do
	# shellcheck disable=SC2086 # several options
	xpuload $option -o missing.data "$odd" events >/dev/null 2>load.log
	is $? 0 "$option: the program runs"
	for word in ${option#--capture }; do
		is "$(grep -c -e "OpenCL has no functions for .*$word" load.log)" 1 \
			"$word: a message says that OpenCL lacks the functions"
	done
done

# Files of --every: memory that was allocated in an earlier file is held in each file.
xpuload --memory --every 0.5 -o files.data "$odd" steady >/dev/null 2>load.log
is $? 0 "files: exit status 0"
for file in files.data.*; do
	xpumerge -i "$file" -f folded --memory peak -o peak.folded 2>merge.log
	grep -q ';make_two;.*clCreateBuffer.* 2097152$' peak.folded && echo "$file"
done >with
[ "$(wc -l <with)" -ge 4 ]
ok $? "files: memory from the first interval is held in later files: $(wc -l <with)"
xpumerge files.data.* -f folded --unit count -o all.folded 2>merge.log
like "$(cat merge.log)" 'launches 60 matched 60 .* lost 0' \
	"files: all files together have all launches"

# While xpuload records, each launch requests an event from the driver; before and after, no launch
# does. The layer below the shim counts the launches that reach the driver, and the launches with an
# event.
OPENCL_LAYERS=$XPU_BUILD/workload/cl_layer.so CL_LAYER_COUNTS=counts LD_PRELOAD=$XPU_SHIM \
	"$exact" -t 2 -n 100000000 -e none >/dev/null 2>&1 &
pid=$!
launches() {
	[ -s counts ] && od -An -v -t u8 -j 0 -N 8 counts | tr -d ' ' || echo 0
}
events() {
	od -An -v -t u8 -j 8 -N 8 counts | tr -d ' '
}
goes_on() {		# goes_on: waits until the program has made 1,000 more launches
	from=$(launches) i=0
	while [ "$(launches)" -lt $((from + 1000)) ]; do
		i=$((i + 1))
		[ $i -lt 600 ] || return 1
		sleep 0.1
	done
}
goes_on
ok $? "dormant: the program launches kernels"
is "$(events)" 0 "dormant: no launch requests an event from the driver"
xpuload -p $pid --duration 0.3 -o left.data 2>load.log
is $? 0 "attached: exit status 0" || diag "$(cat load.log)"
[ "$(events)" -gt 0 ]
ok $? "attached: launches request events"
# Calls that began before xpuload left may still request an event.
goes_on
before=$(events)
goes_on
ok $? "after xpuload has left, the program still launches kernels"
is "$(events)" "$before" "after xpuload has left, no launch requests an event from the driver"
verdict left >left.verdict
recorded=$(sed -n 's/^launches \([0-9]*\) .*/\1/p' left.verdict)
diag "$(cat left.verdict); launches with an event: $before"
[ "${recorded:-0}" -gt 0 ] && [ "$recorded" -le "$before" ]
ok $? "some launches are recorded, and no more than have an event"
kill $pid
wait $pid 2>/dev/null
done_testing
