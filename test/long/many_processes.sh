#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Files of each kind with 30,000 processes: a process costs at most 1 KB of memory, and time grows
# linearly with the file.
. "$XPU_SRC/test/lib/tap.sh"
need python3
[ -x /usr/bin/time ] || skip_all "time is missing"
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer has the allocator"
nr=30000

# Each process has one event of each kind. The other files have the same events, all in one process.
python3 - $nr "$XPU_BUILD/gen_sqlite" <<'END'
import json, subprocess, sys

nr, gen_sqlite = int(sys.argv[1]), sys.argv[2]
for name in "many", "one":
    pids = [1000 + (i if name == "many" else 0) for i in range(nr)]
    with open(name + ".perf.txt", "w") as f:
        for i, pid in enumerate(pids):
            f.write("p %d [000] 10.%06d: 10101010 cpu-clock:\n\t401000 main (/bin/x)\n\n" % (pid, i))
    events = []
    for i, pid in enumerate(pids):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": pid,
                       "ts": i * 10, "dur": 5, "args": {"correlation": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i * 10 + 6, "dur": 3,
                       "args": {"correlation": i + 1, "device": 0, "stream": 7}})
    with open(name + ".json", "w") as f:
        json.dump({"traceEvents": events}, f)
    sql = """BEGIN; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'k');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
 streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
 correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
"""
    pid = "(1000 + i)" if name == "many" else "1000"
    sql += """WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d)
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
 SELECT 10000 + i * 10, 10005 + i * 10, 0, (PID << 24) | PID, i + 1, 1, 0, NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
 SELECT 10006 + i * 10, 10009 + i * 10, 0, 1, 7, i + 1, PID << 24, 2, 2 FROM n;
""".replace("PID", pid) % (nr, nr)
    subprocess.run([gen_sqlite, name + ".sqlite"], input=(sql + "COMMIT;").encode(), check=True)
END
is $? 0 "the test's recordings are generated"

# peak ARG...: prints the peak memory of a merge, in KB: the smaller value of two merges. The thread
# that reads blocks may be up to 1 MB ahead.
peak() {
	for _ in 1 2; do
		timeout 60 /usr/bin/time -f %M -o peak "$XPUMERGE" "$@" -f folded \
			-o out.folded 2>log
		echo $? >status
		tail -n 1 peak
	done | sort -n | head -n 1
}

# costs: compares the merges of one.$end and many.$end
costs() {
	one=$(peak "$option" "one.$end")
	many=$(peak "$option" "many.$end")
	case $end in *.txt) most=950 ;; *) most=1024 ;; esac
	[ -s out.folded ] && [ "${many:-0}" -ge "$one" ] &&
		[ $(((many - one) * 1024 / nr)) -le $most ]
	ok $? \
		"$end: $(((many - one) * 1024 / nr)) bytes per process: \
$one KB for 1, $many KB for $nr" ||
		diag "$(cat status): $(cat log)"
}

for kind in cpu:perf.txt gpu:json nsys:sqlite recording:perf.data recording:trace.data \
	recording:nsys.data; do
	option=--${kind%%:*} end=${kind#*:}
	case $end in
	perf.data) for n in many one; do xpumerge --cpu $n.perf.txt -f data \
		-o $n.$end 2>log; done ;;
	trace.data) for n in many one; do xpumerge --gpu $n.json -f data -o $n.$end 2>log; done ;;
	nsys.data) for n in many one; do xpumerge --nsys $n.sqlite -f data -o $n.$end 2>log; done ;;
	esac
	[ "$option" != --recording ] || option=--input
	costs
done

# Half as many processes: the tables have just grown.
for n in many one; do
	head -n $((3 * nr / 2)) "$n.perf.txt" >"$n.half.txt"
	xpumerge --cpu "$n.half.txt" -f data -o "$n.half.data" 2>log
done
nr=$((nr / 2))
option=--cpu end=half.txt
costs
option=--input end=half.data
costs
done_testing
