#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# One event of an import has a damaged or hostile timestamp, far away from all other timestamps. The
# import is an export of Nsight Systems, a trace of PyTorch's profiler, or text of perf. This
# timestamp changes neither the headline nor the numbers of the other events, and the event is
# counted.
. "$XPU_SRC/test/lib/tap.sh"
need python3

HOURS=82800000000000		# 23 hours
FAR=10000000000000000		# 10^16 ns

# ---- an export of Nsight Systems: 300 calls and kernels in 30 ms, and one more of each

# nsys CALL_START CALL_END KERNEL_START KERNEL_END [SQL]: makes an export named $name
nsys() {
	awk -v c0="$1" -v c1="$2" -v k0="$3" -v k1="$4" 'BEGIN {
		tid = 100 * 2^24 + 101
		print "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
		print "INSERT INTO StringIds VALUES (1, \"cudaLaunchKernel_v7000\"), (2, \"honest\")," \
			"(3, \"odd\"), (4, \"cudaDeviceSynchronize_v3020\");"
		print "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER," \
			"deviceId INTEGER, contextId INTEGER, streamId INTEGER," \
			"correlationId INTEGER, globalPid INTEGER, shortName INTEGER);"
		print "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER," \
			"globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
		print "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER," \
			"deviceId INTEGER, contextId INTEGER, streamId INTEGER," \
			"correlationId INTEGER, globalPid INTEGER, syncType INTEGER);"
		print "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER," \
			"text TEXT, globalTid INTEGER);"
		print "CREATE TABLE SCHED_EVENTS (start INTEGER, isSchedIn INTEGER," \
			"globalTid INTEGER);"
		for (i = 1; i <= 300; i++) {
			at = 90000000000000 + i * 100000
			print call(at, at + 2000, i), kernel(at + 5000, at + 55000, i, 2)
			printf "INSERT INTO SCHED_EVENTS VALUES (%.0f, 0, %.0f), (%.0f, 1, %.0f);",
				at + 60000, tid, at + 70000, tid
		}
		print call(c0, c1, 999), kernel(k0, k1, 999, 3)
	}
	function call(from, to, id) {
		return sprintf("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES " \
			"(%.0f, %.0f, %.0f, %d, 1);", from, to, tid, id)
	}
	function kernel(from, to, id, name) {
		return sprintf("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " \
			"(%.0f, %.0f, 0, 1, 7, %d, %.0f, %d);",
			from, to, id, 100 * 2 ^ 24, name)
	}' >"$name.sql"
	shift 4
	echo "$*" >>"$name.sql"
	"$XPU_BUILD/gen_sqlite" "$name.sqlite" <"$name.sql" || exit 1
	xpumerge --nsys "$name.sqlite" 2>"$name.log" | grep -v '^recording: ' >"$name.text"
	xpumerge --nsys "$name.sqlite" -o "$name.folded" --unit ns 2>>"$name.log"
	xpumerge --nsys "$name.sqlite" -o "$name.data" 2>>"$name.log"
	xpumerge "$name.data" 2>/dev/null | grep -v '^recording: ' >"$name.again"
}

# The odd row lies between the other rows in the correct export.
AT=90000015550000
TID=$((100 * 16777216 + 101))
END=$((AT + 2000))
name=honest
nsys $AT $END $((AT + 3000)) $((AT + 4000))
like "$(head -n 1 honest.text)" '^30\.0 ms: GPU 0 busy 50\.[0-9] %' \
	"nsys, an honest export: the headline is right"
unlike "$(cat honest.log)" 'outside' "nsys, an honest export: no time is left out"

# check NAME WHAT: checks that the numbers equal the numbers of the correct export, and that WHAT
# was left out
check() {
	like "$(head -n 1 "$1.text")" '^30\.0 ms: GPU 0 busy 50\.[0-9] %' \
		"nsys, $1: the headline is right"
	is "$(grep ';\[GPU_Kernel\]honest ' "$1.folded")" \
		"$(grep ';\[GPU_Kernel\]honest ' honest.folded)" \
		"nsys, $1: the times of the other kernels are unchanged"
	like "$(cat "$1.log")" "$2" "nsys, $1: the row with wrong times is counted"
	is "$(cat "$1.again")" "$(cat "$1.text")" \
		"nsys, $1: the export and a recording made from it give the same results"
}

name=long_kernel
nsys $AT $END $((AT + 3000)) $((AT + FAR))
check long_kernel '1 device record timed outside of the recording'
name=late_kernel
nsys $AT $END $((AT + FAR)) $((AT + FAR + 50000))
check late_kernel '1 device record timed outside of the recording'
name=early_kernel
nsys $AT $END $((AT - HOURS)) $((AT - HOURS + 50000))
check early_kernel '1 device record timed outside of the recording'
name=long_call
nsys $AT $((AT + FAR)) $((AT + 3000)) $((AT + 4000))
check long_call '1 API call timed outside of the recording'
name=early_call
nsys $((AT - HOURS)) $((END - HOURS)) $((AT + 3000)) $((AT + 4000))
check early_call '1 API call timed outside of the recording'
like "$(cat early_call.log)" '1 launch timed outside of the recording' \
	"nsys, early_call: the launch with the wrong time is counted"
is "$(grep -c '\[GPU_Kernel\]odd' early_call.folded)" 1 \
	"nsys, early_call: the kernel has its launch and its time"
name=both
nsys $((AT - HOURS)) $((END - HOURS)) $((AT - HOURS + 3000)) $((AT - HOURS + 4000))
check both '1 device record timed outside of the recording'
name=range
nsys $AT $END $((AT + 3000)) $((AT + 4000)) \
	"INSERT INTO NVTX_EVENTS VALUES ($AT, $((AT + FAR)), 59, 'step', $TID);"
check range '1 event of NVTX ranges timed outside of the recording'
name=switch
nsys $AT $END $((AT + 3000)) $((AT + 4000)) \
	"INSERT INTO SCHED_EVENTS VALUES ($((AT + FAR)), 0, $TID);"
check switch 'SCHED_EVENTS: 1 row with .* times'
is "$(xpumerge switch.data --table threads 2>/dev/null)" \
	"$(xpumerge honest.data --table threads 2>/dev/null)" \
	"nsys, switch: the thread's time on the CPU is unchanged"

# Events are never left out if there are many of them; here, device work is hours apart.
awk '/VALUES/ && /_KERNEL|_RUNTIME/ { n++ } { print }
	/_KERNEL VALUES/ { gsub(/900000/, "970000"); gsub(/_KERNEL VALUES \(/, "&"); print }' \
	honest.sql >apart.sql
"$XPU_BUILD/gen_sqlite" apart.sqlite <apart.sql
xpumerge --nsys apart.sqlite >apart.text 2>apart.log
like "$(head -n 1 apart.text)" '^7000 s: ' "nsys: work two hours later is counted"
unlike "$(cat apart.log)" 'outside' "nsys: no message says that work two hours later is left out"

# ---- a trace of PyTorch's profiler

python3 "$XPU_SRC/test/lib/gen_kineto.py" honest.json nr=300
odd() {		# odd NAME STATEMENT: changes one event
	python3 - "$1.json" "$2" <<'END'
import json, sys
trace = json.load(open("honest.json"))
def first(cat):
    return next(e for e in trace["traceEvents"] if e.get("cat") == cat)
exec(sys.argv[2])
json.dump(trace, open(sys.argv[1], "w"))
END
	xpumerge --gpu "$1.json" >"$1.text" 2>"$1.log"
}
# Prints the headline's time in microseconds.
headline_us() {
	sed -n '1s/^\([0-9.]*\) \(us\|ms\|s\): .*/\1 \2/p' "$1.text" |
		awk '{ print int($1 * ($2 == "us" ? 1 : $2 == "ms" ? 1000 : 1000000)) }'
}
odd honest2 pass
honest_us=$(headline_us honest2)
for what in 'kernel 1' 'cuda_runtime 1' 'python_function 1' 'kernel 0' 'cuda_runtime 0'; do
	name="k_${what% *}_${what#* }"
	if [ "${what#* }" = 1 ]; then
		odd "$name" "first('${what% *}')['dur'] = 10 ** 13"
	else
		odd "$name" "first('${what% *}')['ts'] += 23 * 3600 * 10 ** 6"
	fi
	us=$(headline_us "$name")
	[ "$us" -ge $((honest_us - 2)) ] && [ "$us" -le $((honest_us + 1)) ]
	ok $? "kineto, $name: the headline is right: $us of $honest_us us"
	like "$(cat "$name.log")" 'timed outside of the recording' \
		"kineto, $name: the event is counted"
done

# ---- text of perf

python3 "$XPU_SRC/test/lib/gen_perfscript.py" p.txt nr=300 time=ns ids=both
awk '!done && match($0, / [0-9]+\.[0-9]+:/) {
		sub(/ [0-9]+\./, " 9000000."); done = 1
	} { print }' p.txt >odd.txt
xpumerge --cpu odd.txt >odd.text 2>odd.log
like "$(head -n 1 odd.text)" '^29[89] ms: 1\.24 s of CPU time' "perf: the headline is right"
like "$(cat odd.log)" '1 CPU sample timed outside of the recording: left out' \
	"perf: the sample with a wrong time is counted"
done_testing
