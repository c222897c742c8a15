#!/bin/sh
# SPDX-License-Identifier: MIT
# Python frames in call paths, from the recording to the names of the frames. With two CPythons of
# this machine, each launch's path equals the path that Python itself printed.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "not with sanitizers in Python"
need root bpf
use_sim
stacks=$XPU_SRC/test/workload/py_stacks.py library=$XPU_BUILD/workload/py_launch.so
export PYTHONDONTWRITEBYTECODE=1

record() {		# record PYTHON HOW OPTION...
	python=$1 how=$2
	shift 2
	rm -f expected
	xpuload -q -o run.data "$@" "$python" "$stacks" "$library" expected "$how" 2>load.log
}

folded() {
	xpumerge -i run.data --gpu-only -f folded --unit count "$@" 2>merge.log
}

# Reduces folded lines to the format of py_stacks.py: Python frames, and py_through, the only native
# frame in that format.
reduce() {
	awk -F';' '{ chain = ""
		for (i = 2; i < NF; i++)
			if ($i ~ /^[^:]*:.*:[0-9]+$/ || $i == "py_through")
				chain = chain (chain == "" ? "" : ";") $i
		split($NF, last, " ")
		sub(/.*\]site_/, "", last[1])
		sum[last[1] " " chain] += last[2] }
		END { for (key in sum) { i = index(key, " ")
			print substr(key, 1, i - 1), sum[key], substr(key, i + 1) } }' |
			LC_ALL=C sort
}

same() {		# same NAME: compares the sorted files expected and got
	nr=$(wc -l <expected.sorted)
	diff expected.sorted got >diff
	[ $? = 0 ] && [ "$nr" -gt 250 ]
	ok $? "$1: $nr call paths are the same as the call paths that Python printed" ||
		diag "$(head -n 6 diff)" "$(cat load.log merge.log)"
}

# test/long/pythons.sh tests every Python.
sh "$XPU_SRC/test/workload/py_find.sh" "${XPU_PYTHONS:-two}" >pythons
[ -s pythons ] || skip_all "no CPython 3.8 to 3.13"
first=
while read -r version python rest; do
	: "${first:=$python}"
	for how in released held; do
		record "$python" $how
		is $? 0 "$version, GIL $how: exit status 0"
		LC_ALL=C sort expected >expected.sorted
		folded >run.folded
		reduce <run.folded >got
		same "$version, GIL $how"
		is "$(cut -d';' -f2 run.folded | grep -vE '^(_start|(__)?clone3?)$')" "" \
			"$version, GIL $how: each stack begins where its thread begins"
		unlike "$(cat run.folded)" '_PyEval_|;Py_|;python3|libpython' \
			"$version, GIL $how: no frame of the interpreter is left"
		like "$(cat merge.log)" 'launches 10842 matched 10842 unmatched 0 lost 0' \
			"$version, GIL $how: nothing is lost"
	done
	record "$python" released --python only
	LC_ALL=C sort expected | sed 's/;py_through//g' >expected.sorted
	folded >run.folded
	reduce <run.folded >got
	same "$version, --python only"
	unlike "$(sed 's/^[^;]*;//; s/;cuLaunchKernel;\[GPU_Kernel\]site_[0-9]* [0-9]*$//' \
		run.folded |
		tr ';' '\n')" '^[^:]*$' "$version, --python only: no native frame is shown"
done <pythons

record "$first" released
LC_ALL=C sort expected >expected.sorted
folded --no-trim >run.folded
reduce <run.folded >got
same "--no-trim"
like "$(cat run.folded)" 'Py_RunMain|Py_BytesMain' "--no-trim: the interpreter's frames are kept"
unlike "$(cat run.folded)" '_PyEval_EvalFrameDefault' \
	"--no-trim: the interpreter's evaluation loop is left out"
like "$(folded --python-frames full)" ";$XPU_SRC/test/workload/py_stacks.py:simple:[0-9]+;" \
	"--python-frames full: frames have the whole path of the file"
like "$(folded --python-frames no-line)" ';py_stacks.py:simple;py_stacks.py:launch;' \
	"--python-frames no-line: frames have no line"
# A kernel of the simulated device takes 4 us.
awk '{ n = split($3, frame, ";"); launched = 0; split("", seen)
	for (i = n; i; i--) {
		if (frame[i] == "py_through")
			continue
		own[frame[i]] += launched++ ? 0 : $2
		total[frame[i]] += seen[frame[i]]++ ? 0 : $2
	} } END { for (f in total) print own[f] * 4000, total[f] * 4000, own[f], f }' expected |
	LC_ALL=C sort >expected.lines
xpumerge -i run.data --table python_lines --csv 2>merge.log |
	awk -F, 'NR > 1 { gsub("\"", "", $6); print $2, $4, $5, $6 }' | LC_ALL=C sort >lines
diff expected.lines lines >diff && [ "$(wc -l <lines)" -gt 100 ]
ok $? "--table python_lines: GPU time is right for each of $(wc -l <lines) lines" ||
	diag "$(head -n 6 diff)"
xpumerge -i run.data --python-frames long 2>merge.log
is $? 2 "--python-frames long: refused"
like "$(xpumerge -i run.data -f chrome 2>/dev/null)" 'py_stacks.py:simple:[0-9]+' \
	"the timeline has Python's frames"

record "$first" released --python off
folded --no-trim >run.folded
unlike "$(cat run.folded)" '\.py:' "--python off: no Python frame is shown"
like "$(cat run.folded)" '_PyEval_EvalFrameDefault' \
	"--python off: the interpreter's frames are kept"

record "$first" released --call-graph fp --python on
like "$(cat load.log)" "--python on needs --call-graph dwarf" \
	"--python on --call-graph fp: a message says that --python on needs dwarf"
unlike "$(folded)" '\.py:' "--python on --call-graph fp: no Python frame is shown"
record "$first" released --call-graph fp
unlike "$(cat load.log)" "warning" "--call-graph fp without --python: no warning is printed"
record "$first" released --call-graph fp --python only
like "$(folded)" ';py_stacks.py:simple:[0-9]+;py_stacks.py:launch:[0-9]+;cuLaunchKernel;' \
	"--python only --call-graph fp: Python frames are shown"
like "$(xpumerge -i run.data -f text 2>/dev/null)" '> py_stacks.py:launch:[0-9]+ +site_[0-9]' \
	"--python only --call-graph fp: the summary has Python frames"

# Threads that Python does not know, in a process with Python; and a program without Python.
cat >mixed.py <<-'END'
	import ctypes, sys
	lib = ctypes.CDLL(sys.argv[1])
	lib.py_launch_init()
	lib.py_launch_native()
	lib.py_launch_done()
	END
for mode in on only; do
	xpuload -q -o run.data --python $mode "$first" mixed.py "$library" 2>load.log
	folded >run.folded
	case $mode in
	on)	like "$(cat run.folded)" \
		';native_thread;py_launch;cuLaunchKernel;\[GPU_Kernel\]site_7 1$' \
			"--python on: a native thread has its native frames"
		unlike "$(cat run.folded)" '\.py:' \
			"--python on: a native thread has no Python frames" ;;
	only)	like "$(cat run.folded)" ';\[native\];cuLaunchKernel;\[GPU_Kernel\]site_7 1$' \
			"--python only: launches of a native thread are marked [native]" ;;
	esac
done
xpuload -q -o run.data --python only "$XPU_BUILD/workload/stacks" virtual 2>load.log
like "$(folded)" ';main;' "--python only, in a process without Python: native frames are shown"

# Truncated chains keep the innermost frames, and are marked.
cat >deep.py <<-'END'
	import ctypes, sys
	lib = ctypes.CDLL(sys.argv[1])
	lib.py_launch_init()
	def deep(n):
	    if n:
	        list(map(deep, [n - 1]))
	    else:
	        lib.py_launch(1)
	deep(80)
	lib.py_launch_done()
	END
xpuload -q -o run.data --max-stack 127 "$first" deep.py "$library" 2>load.log
like "$(folded)" ';\[truncated\];deep.py:<module>:9;(deep.py:deep:6;){40}' \
	"a path cut by --max-stack has only complete Python frames"
xpuload -q -o run.data "$first" deep.py "$library" 2>load.log
unlike "$(folded)" 'truncated' "without --max-stack, a path of 80 recursive calls is not cut"

xpuload --python maybe true 2>load.log
is $? 125 "--python maybe: refused"
like "$(cat load.log)" "on, off or only" "--python maybe: the message says what is expected"
xpuload --python on -p $$ 2>load.log
is $? 125 "--python with -p: refused"
done_testing
