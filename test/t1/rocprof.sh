#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --gpu: the JSON, databases and CSV of AMD's rocprofv3, alone and with stacks.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/merges.sh"
need python3

gen() {
	python3 "$XPU_SRC/test/lib/gen_rocprof.py" "$@"
}

for args in "seed=1" "seed=2 threads=1 nr=300" "seed=3 procs=3" "seed=4 old=1" \
	"seed=5 hsa=1 nr=100" \
	"seed=6 only_hsa=1" "seed=7 names=kernel" "seed=8 hsa=1 procs=2 nr=60" "seed=11 rccl=1" \
	"seed=12 renamed=1 nr=60"; do
	for format in json db; do
		# shellcheck disable=SC2086 # several arguments on purpose
		gen "r.$format" "format=$format" $args
		same "$format $args" "r.$format.folded" --gpu "r.$format"
		like "$(cat log)" '^launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
			"$format $args: all launches have their device work"
	done
done
for args in "seed=1" "seed=6 only_hsa=1" "seed=11 rccl=1" "seed=9 ranges=1"; do
	rm -f c_*
	# shellcheck disable=SC2086 # several arguments on purpose
	gen c format=csv $args
	# These files do not contain the program's name.
	sed 's/^app1000;/[unknown];/' c.folded >csv.folded
	same "csv $args" csv.folded --gpu c_kernel_trace.csv
	like "$(cat log)" '^launches ([0-9]+) matched \1 unmatched 0 lost 0$' \
		"csv $args: given one file, xpumerge reads all files of the process"
	same "csv $args: all of its files" csv.folded --gpu c_*.csv
done
# An external correlation id of 0 is no id.
gen m format=json
python3 - <<'END'
import json
d = json.load(open("m"))
for p in d["rocprofiler-sdk-tool"]:
    p["strings"]["correlation_id"]["external"].append({"key": 0, "value": "wrong"})
json.dump(d, open("m", "w"))
END
same "a name for the external id 0 names no kernel" m.folded --gpu m
# Memory events, with --memory.
for args in "seed=1" "seed=2 hsa=1 nr=200" "seed=3 procs=3 nr=60" "seed=9 ranges=1"; do
	for format in json db csv; do
		# CSV has one process, and lacks the calls that enclose HSA's calls.
		case "$format $args" in csv*procs* | csv*hsa*) continue ;; esac
		rm -f m m.* m_*
		# shellcheck disable=SC2086 # several arguments on purpose
		gen m "format=$format" memory=1 $args
		file=m
		if [ $format = csv ]; then
			file=m_kernel_trace.csv
			sed -i 's/^app1000;/[unknown];/' m.folded m.allocated m.live
		fi
		same "memory, $format $args: device work" m.folded --gpu $file
		same_bytes "memory, $format $args: what was allocated" m.allocated --gpu $file \
			--memory allocated
		same_bytes "memory, $format $args: what is held" m.live --gpu $file --memory live
		xpumerge --gpu $file --memory peak -f folded >out 2>log
		unlike "$(cat log)" 'of memory|that nothing|could not' \
			"memory, $format $args: no event is lost"
	done
done
gen m memory=1 format=json
xpumerge --gpu m -o m.data 2>log
same_bytes "memory, as a recording" m.live m.data --memory live
like "$(xpumerge --gpu m --csv --table memory_churn 2>/dev/null)" hipHostMalloc \
	"memory: the table of churn has the calls that allocate"
python3 - <<'END'
import json
d = json.load(open("m"))
b = d["rocprofiler-sdk-tool"][0]["buffer_records"]
made = [m for m in b["memory_allocation"] if m["operation"] == 1]
made[0]["address"] = "0x0000000000000000"
made[1]["address"] = {"handle": int(made[1]["address"], 16)}
made[2]["agent_id"]["handle"] = 12345
b["memory_allocation"].append(dict(made[3], operation=99, address="0xfee"))
b["memory_allocation"].append(dict(made[3], operation=3, address="0xabc"))
b["memory_allocation"].append(dict(made[3], operation=3, address="0x00"))
json.dump(d, open("odd", "w"))
END
xpumerge --gpu odd --memory live -f folded >out 2>log
is $? 0 "odd memory: exit status 0"
like "$(cat log)" '^xpumerge: odd: 3 events could not be read: ignored' \
	"memory events without a valid address, agent or operation are counted"
xpumerge --gpu odd -f text >out 2>log
like "$(cat log)" '[1-3] events of memory' "a free of unknown memory is counted"
echo "1000 app1000 1000 1000 0 main;hipMalloc" >cpu.txt
xpumerge --cpu cpu.txt --gpu m -f folded >out 2>log
like "$(cat log)" '^xpumerge: m: [0-9]+ events of memory are read only without --cpu$' \
	"memory, with stacks of launches: a message says that events of memory are not read"

# The GPU of a wait is known only if the process has one GPU. Other processes in the file may have
# other GPUs.
gen m procs=2 threads=1 nr=40 names=kernel
python3 - <<'END'
import json
d = json.load(open("m"))
for several in (True, False):
    for i, p in enumerate(d["rocprofiler-sdk-tool"]):
        b, one = p["buffer_records"], p["agents"][1 + i]["id"]
        for r in b["hip_api"]:
            r["operation"] = r["operation"] or 3
        for r in ([r["dispatch_info"] for r in b["kernel_dispatch"]] + b["memory_copy"]) * \
                (not several):
            r.update({k: one for k in r if k.endswith("agent_id")})
    json.dump(d, open("several" if several else "each", "w"))
END
xpumerge --gpu several --waits -f folded >out 2>log
is "$(grep -c 'GPU_Wait' out)" 0 "processes with two GPUs: no wait is attributed to a GPU"
xpumerge --gpu each --waits -f folded >out 2>log
is "$(grep 'hipStreamSynchronize;.GPU_Wait' out | cut -d';' -f2 | sort -u | tr '\n' ' ')" \
	"app1000 app2000 " "processes with one GPU each: waits are attributed to the process's GPU"

# Records that have no equivalent in a recording are counted. Some dispatches exist only among the
# counters.
for format in json db csv; do
	rm -f m m_*
	gen m "format=$format" samples=3 scratch=2
	file=m
	[ $format = csv ] && file=m_kernel_trace.csv
	xpumerge --gpu $file -f folded >out 2>log
	is $? 0 "$format, records without an equivalent: exit status 0"
	[ $format = db ] || like "$(cat log)" "^xpumerge: $file: 3 PC samples are not read: " \
		"$format: PC samples are counted"
	[ $format = csv ] || like "$(cat log)" \
		"^xpumerge: $file: 2 events of scratch memory are not read: " \
		"$format: events of scratch memory are counted"
done
for scratch in 0 2; do
	gen m seed=2 ranges=1 nr=3 threads=1 scratch=$scratch
	xpumerge --gpu m --strict -f folded >out 2>log
	is $? $((scratch / 2)) "--strict fails if records are not read: $scratch of scratch memory"
done
# Records of other kinds, and what is no record.
gen m
python3 - <<'END'
import json
d = json.load(open("m"))
p = d["rocprofiler-sdk-tool"][0]
p["buffer_records"]["kfd_page_fault"] = [{"start_timestamp": 5000000000}] * 2
p["callback_records"]["odd"] = [{}]
p["buffer_records"]["hip_api"][3:3] = [7, "x"]
p["buffer_records"]["memory_copy"].append(None)
json.dump(d, open("m", "w"))
END
same "records of other kinds" m.folded --gpu m
like "$(cat log)" '^xpumerge: m: 3 records of other kinds are not read: recordings have no place' \
	"records of other kinds are counted"
like "$(cat log)" '^xpumerge: m: 3 events could not be read: ignored$' \
	"what is no record is counted"
# Tables that are not read, processes that the file does not describe.
gen r seed=8 format=db procs=2 nr=60
python3 - <<'END'
import sqlite3
db = sqlite3.connect("r")
tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
suffix = next(t for t in tables if t.startswith("rocpd_string"))[len("rocpd_string"):]
db.execute('CREATE TABLE "rocpd_sample%s" (id, track_id, timestamp, event_id)' % suffix)
db.execute('INSERT INTO "rocpd_sample%s" VALUES (1, 1, 5000000000, 1)' % suffix)
db.execute("CREATE TABLE rocpd_monitor (id, start, value)")
for t in tables:
    if not t.endswith(suffix):
        db.execute('ALTER TABLE "%s" RENAME TO "%s-2"' % (t, t))
n = db.execute('SELECT COUNT(*) FROM "rocpd_memory_copy%s"' % suffix).fetchone()[0]
db.execute('UPDATE "rocpd_memory_copy%s" SET pid = CASE id %% 2 WHEN 0 THEN NULL ELSE 7 END' %
           suffix)
db.commit()
open("nr", "w").write(str(n))
END
xpumerge --gpu r -f folded >out 2>log
is $? 0 "tables and processes that are not known: exit status 0"
like "$(cat log)" "^xpumerge: r: $(cat nr) rows are not read: no process in the file has their" \
	"rows of processes that the file does not describe are counted"
is "$(sed -n 's/^xpumerge: r: the events of these tables are not read: //p' log | tr ' ' '\n' |
	sed 's/_0000[0-9a-f_]*//' | tr -d , | sort | xargs)" \
	"rocpd_kernel_dispatch-2 rocpd_memory_copy-2 rocpd_region-2 rocpd_sample" \
	"tables with events that are not read are named"
gen m counters=900 only_counted=1
same "kernels that only the counters have" m.folded --gpu m

# Values of hardware counters. A dispatch may have several values of one counter, which are added
# up.
pmcs() {
	xpumerge "$@" --json --table kernel_counters 2>log | python3 -c '
import json, sys
print(json.dumps(sorted([r["name"], r["counter"], r["instances"],
                         *(float(r[key]) for key in ("sum", "min", "max"))]
                        for r in json.load(sys.stdin)["kernel_counters"])))'
}
for args in "counters=9" "counters=1000 seed=2 hsa=1 nr=100" "counters=77 seed=3 procs=3" \
	"counters=200 only_counted=1" "counters=90 renamed=1"; do
	for format in json db csv; do
		# CSV has one process, and lacks the calls that enclose HSA's calls; databases have
		# all kernels.
		case "$format $args" in csv*procs* | csv*hsa* | db*only*) continue ;; esac
		rm -f m m.* m_*
		# shellcheck disable=SC2086 # several arguments on purpose
		gen m "format=$format" $args
		file=m
		if [ $format = csv ]; then
			file=m_kernel_trace.csv
			[ -e $file ] || file=m_counter_collection.csv
		fi
		is "$(pmcs --gpu $file)" "$(cat m.pmcs)" \
			"counters, $format $args: all values are read"
		unlike "$(cat log)" 'not read|not recorded' \
			"counters, $format $args: each value has its kernel"
		xpumerge --gpu $file -o m.data 2>/dev/null
		is "$(pmcs m.data)" "$(cat m.pmcs)" \
			"counters, $format $args: the recording has all values"
	done
done
gen m counters=77 seed=2
gen n counters=30 seed=3
xpumerge --gpu m -o m.data 2>/dev/null
xpumerge --gpu n -o n.data 2>/dev/null
is "$(pmcs m.data n.data)" "$(python3 - <<'END'
import json
sums = {}
for name in "mn":
    for kernel, counter, nr, total, least, most in json.load(open(name + ".pmcs")):
        old = sums.get((kernel, counter), [0, 0, least, most])
        sums[kernel, counter] = [old[0] + nr, old[1] + total, min(old[2], least), max(old[3], most)]
print(json.dumps(sorted([*key, *value] for key, value in sums.items())))
END
)" "counters: two recordings have the sums of both"
is "$(xpumerge --gpu m --csv --table path_counters 2>/dev/null | awk -F, 'NR > 1 { n += $3 }
	END { print n }')" "$(python3 -c '
import json
print("%g" % sum(row[3] for row in json.load(open("m.pmcs"))))')" \
	"counters: the sums of all call paths are the sums of all kernels"
python3 - <<'END'
import json
d = json.load(open("m"))
c = d["rocprofiler-sdk-tool"][0]["callback_records"]["counter_collection"]
c.append({"records": c[0]["records"], "dispatch_data": {"dispatch_info": {"dispatch_id": 999}}})
c[0]["records"][0]["value"] = float("nan")
c[1]["records"][0]["value"] = "many"
json.dump(d, open("odd", "w"))
END
pmcs --gpu odd >out
is $? 0 "odd counters: exit status 0"
like "$(cat log)" '^xpumerge: odd: 2 counter values are not read: no kernel in the file has' \
	"a value without a kernel is counted"
like "$(cat log)" '^xpumerge: odd: [23] events could not be read' \
	"a value that is no number is counted"
gen m only_hsa=1
is "$(apis device --gpu m)" "2: 45 " "device work of HSA calls has HIP's API number"
sed -i 's/"hsa_api"/"no_api"/' m
is "$(apis device --gpu m)" "2: 45 " "device work without calls has HIP's API number"

gen r.json seed=1
gzip -c r.json >r.json.gz
same "gz" r.json.folded --gpu r.json.gz
gen r.db seed=1 format=db
gzip -c r.db >r.db.gz
same "a database, gz" r.db.folded --gpu r.db.gz
xpumerge --gpu r.json -o r.data 2>log
same "as a recording" r.json.folded r.data
for format in json db; do
	gen "r.$format" seed=9 ranges=1 "format=$format"
	same "$format: ROCTX ranges as call paths" "r.$format.folded" --gpu "r.$format"
	xpumerge --gpu "r.$format" -f folded --by nvtx 2>/dev/null >out
	is "$(grep -c '^\[NVTX\]step' out)" "$(wc -l <out)" "$format: --by nvtx shows ROCTX ranges"
done
for format in json db csv; do
	rm -f r r_*
	gen r seed=9 ranges=1 marks=1 "format=$format"
	file=r
	[ $format = csv ] && file=r_kernel_trace.csv
	xpumerge --gpu $file -o tables/ 2>log
	# shellcheck disable=SC2046 # file names without blanks
	is "$("$XPU_BUILD/unparquet" $(find tables/ranges -name '*.parquet') | awk -F'\t' '
		NR > 1 { sub(/ [0-9]*$/, "", $3); print $3, $6 }' | sort | uniq -c | xargs)" \
		"12 mark 0 12 roctxThreadRangeA 10 12 step 50000" \
		"$format: marks, and ranges without a message"
	rm -rf tables
done
xpumerge --gpu r.json -f text >out 2>log
like "$(cat out)" 'AMD Instinct MI210' "the summary has the devices' names"
like "$(xpumerge --gpu r.json --csv --table api_calls 2>/dev/null)" 'hipLaunchKernel' \
	"the table of API calls has HIP's calls"

# With samples, and with launch stacks.
python3 "$XPU_SRC/test/lib/gen_perfscript.py" p.txt ids=both time=ns start=5000000000 distance=100
cat p.txt.folded r.json.folded >both
same "with perf's samples" both --cpu p.txt --gpu r.json
gen r.json seed=10 threads=2 nr=200
python3 - <<'END'
import json
p = json.load(open("r.json"))["rocprofiler-sdk-tool"][0]
with open("cpu.txt", "w") as f:
    for r in p["buffer_records"]["hip_api"]:
        if r["operation"] == 1:
            f.write("%d app1000 1000 %d 0 main;at_%d;hipLaunchKernel\n" % (
                r["start_timestamp"] - 80, r["thread_id"], r["correlation_id"]["internal"]))
END
xpumerge --cpu cpu.txt --gpu r.json -f folded --unit count >out 2>log
like "$(cat log)" \
	'^by time: launches ([0-9]+) certain [0-9]+ uncertain [0-9]+ without stack 0; stacks \1 ' \
	"stacks belong to HIP's launches"

# ---- damaged or strange contents

gen r.json seed=1
head -c 9000 r.json >cut.json
xpumerge --gpu cut.json -f folded >out 2>log
is $? 2 "cut off: exit status 2"
like "$(cat log)" 'cut.json: ' "cut off: a message names the file"
cat >odd.json <<'END'
{"rocprofiler-sdk-tool":[7,{"metadata":[],"agents":{"id":1},"strings":{"buffer_records":[[],{"kind":5}]},
"kernel_symbols":[{"kernel_id":1}],"buffer_records":{"hip_api":[
{"kind":99,"operation":3,"correlation_id":{"internal":1},"start_timestamp":10,"end_timestamp":20,"thread_id":5},
{"kind":1,"operation":3,"correlation_id":{"internal":99999999999},"start_timestamp":10,"end_timestamp":20,"thread_id":5},
{"kind":1,"operation":3,"correlation_id":{"internal":2},"start_timestamp":30,"end_timestamp":20,"thread_id":5}],
"kernel_dispatch":[{"correlation_id":{"internal":1},"start_timestamp":30,"end_timestamp":40,"dispatch_info":{"kernel_id":9}}]}}]}
END
xpumerge --gpu odd.json -f folded --unit ns >out 2>log
is $? 0 "odd values: exit status 0"
like "$(cat out)" '^\[unknown\];\[no stack\];\[unknown\];\[GPU_Kernel\]\[unknown\] 10$' \
	"odd values: the remaining values are used"
like "$(cat log)" 'odd.json: 1 event could not be read: ignored' \
	"odd values: events that cannot be read are counted"
cat >odd_kernel_trace.csv <<'END'
"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","x"
"KERNEL_DISPATCH","Agent 1","a ""b"", c",1,30,40
"KERNEL_DISPATCH","Agent 99999999999999999999999","late",1,50,41

"KERNEL_DISPATCH","Agent 1","no number",1,-5,4e1,7,8,9
"KERNEL_DISPATCH","Agent 1","cut
END
xpumerge --gpu odd_kernel_trace.csv -f folded --unit ns >out 2>log
is $? 0 "odd rows of CSV: exit status 0"
is "$(cat out)" '[unknown];[no launch];[GPU_Kernel]a "b", c 10' \
	"odd rows of CSV: the remaining rows are used"
like "$(cat log)" 'odd_kernel_trace.csv: 3 lines could not be read: ignored' \
	"odd rows of CSV: rows that cannot be read are counted"
# xpumerge finds the other files of the process itself. Reading a pipe among them would never end.
rm -f c_*
gen c format=csv
mv c_hip_api_trace.csv calls
for what in pipe garbage folder; do
	case $what in
	pipe)		mkfifo c_hip_api_trace.csv ;;
	garbage)	echo "a,b" >c_hip_api_trace.csv ;;
	folder)		mkdir c_hip_api_trace.csv ;;
	esac
	timeout 30 "$XPUMERGE" --gpu c_kernel_trace.csv -f folded -o out 2>log
	is $? 2 "a $what among the files of the process: exit status 2"
	like "$(cat log)" 'c_kernel_trace.csv: damaged: another file of its process ' \
		"a $what among the files of the process: a message says that a file is damaged"
	like "$(cat log)" 'launches 0 matched 0 unmatched 45' \
		"a $what among the files of the process: the other files are read"
	rm -r c_hip_api_trace.csv
done
gen r.db seed=1 format=db nr=900
head -c 60000 r.db >cut.db
xpumerge --gpu cut.db -f folded >out 2>log
is $? 2 "a database that is cut off: exit status 2"
like "$(cat log)" 'cut.db: .*database disk image is malformed' \
	"a database that is cut off: a message names the file"
echo 'CREATE TABLE t (x);' | "$XPU_BUILD/gen_sqlite" none.db
xpumerge --gpu none.db -f folded >out 2>log
is $? 2 "a database of another program: exit status 2"
like "$(cat log)" 'none.db: cannot find GPU events: database: the table rocpd_string is missing' \
	"a database of another program: a message names the missing table"
echo 'CREATE TABLE KERN ("Index" INTEGER, "KernelName" TEXT);' | "$XPU_BUILD/gen_sqlite" old.db
cat >old.json <<'END'
{ "traceEvents":[{}
,{"ph":"X","name":"add(int*)","pid":"6","tid":"0","ts":"622109","dur":"92","args":{"BeginNs":"622109046",
  "EndNs":"622201046","dev-id":"0","queue-id":"0","Name":"add(int*)","pid":"19147","tid":"19147"}}
]}
END
for file in old.db old.json; do
	xpumerge --gpu $file -f folded >out 2>log
	is "$?" 2 "$file of rocprof: exit status 2"
	like "$(cat log)" 'a file of rocprof: only files of rocprofv3 are read$' \
		"$file of rocprof: a message says which files are read"
done
echo '{"rocprofiler-sdk-tool":[]}' >none.json
xpumerge --gpu none.json -f folded >out 2>log
is $? 2 "no events: exit status 2"
like "$(cat log)" 'none.json: cannot find GPU events' \
	"no events: a message says that none were found"
done_testing
