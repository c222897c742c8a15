#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --cpu: a perf.data file that is generated with known contents, and, if perf is installed, a file
# that perf records.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/merges.sh"
need python3

gen() {
	python3 "$XPU_SRC/test/lib/gen_perfdata.py" "$@"
}

for args in "seed=1" "seed=2 events=2" "seed=3 events=2 identifier=1" "seed=4 order=1" \
	"seed=5 pipe=1" \
	"seed=6 event=cycles freq=500" "seed=7 chains=0" "seed=8 dwarf=1" "seed=9 pipe=1 events=2" \
	"seed=10 event=task-clock nr=3000" "seed=11 clockid=-1" "seed=22 aux=1"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	gen p.data $args
	same "$args" p.data.folded --cpu p.data
	unlike "$(cat log)" 'damaged' "$args: no message says that the file is damaged"
done
gen p.data nr=0
fails "no samples" 'p.data: has no samples$' --cpu p.data
if command -v zstd >/dev/null; then
	for args in "seed=12 zstd=1" "seed=13 zstd=2 nr=3000" "seed=14 zstd=1 pipe=1"; do
		# shellcheck disable=SC2086 # several arguments on purpose
		gen p.data $args
		same "$args" p.data.folded --cpu p.data
	done
else
	skip "compressed" "no zstd"
fi
gen p.data seed=15
gzip -c p.data >p.data.gz
same "gz" p.data.folded --cpu p.data.gz
xpumerge --cpu p.data -o x.data 2>log
same "as a recording" p.data.folded x.data
gen p.data seed=16 events=2
xpumerge --cpu p.data -f folded >out 2>log
like "$(cat log)" 'p.data: [0-9]+ samples of page-faults left out: not time on a CPU' \
	"samples of other events: a message says that they are left out"
gen p.data seed=17 lost=77
xpumerge --cpu p.data -f folded >out 2>log
like "$(cat log)" '77 CPU samples lost' "lost samples are counted"
gen p.data seed=18 wall=1775078550000000000
xpumerge --cpu p.data -f text >out 2>log
like "$(cat out)" '^start: 2026-04-01 21:22:30 UTC' "the summary has the time of day"
like "$(cat out)" 'perf record' "the summary shows the command line of perf"
fails "without --cpu" \
	'p.data is not a recording of xpuload \(wrong magic\): --cpu reads what perf recorded' \
	p.data
gen p.data seed=19 big=1
fails "the other byte order" 'p.data: from a machine of the other byte order' --cpu p.data
gen p.data seed=20 cut=9000
xpumerge --cpu p.data -f folded >out 2>log
is $? 2 "cut off: exit status 2"
like "$(cat log)" 'p.data: damaged or cut off: used up to there' \
	"cut off: a message says that the file is damaged or cut off"
[ -s out ]
ok $? "cut off: the samples before the cut are used"
head -c 60 p.data >short.data
fails "no more than a header" 'short.data: no events in it' --cpu short.data

# ---- with device work

cat >one.json <<'END'
{"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":700,"tid":701,"ts":5050000,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5051000,"dur":9,"args":{"device":0,"context":1,"stream":7,"correlation":1}}
]}
END
gen p.data seed=21
{ cat p.data.folded; echo 'wor ker;[no stack];cudaLaunchKernel;[GPU_Kernel]k 9000'; } >both
same "with a trace: the thread of both has its name" both --cpu p.data --gpu one.json
unlike "$(cat log)" 'clock' "both files from one clock: no message about clocks"
gen p.data seed=21 clockid=-1
xpumerge --cpu p.data --gpu one.json -f folded >out 2>log
like "$(cat log)" 'p.data: not recorded with the clock of one.json' \
	"perf's own clock: a message says that the clocks differ"
sed 's/"ts":/"ts":177507855/' one.json >day.json
gen p.data seed=21 wall=1775078555000000000
xpumerge --cpu p.data --gpu day.json -f folded >out 2>log
unlike "$(cat log)" 'clock' "two clocks are aligned by the time of day"
gen p.data seed=21 wall=1675078550000000000
xpumerge --cpu p.data --gpu day.json -f folded >out 2>log
like "$(cat log)" 'not from the clock of day.json' \
	"samples of another day: a message says that the clocks differ"

# ---- with a recording

"$XPU_BUILD/gen_data" -o x.data --launches 12 --paths 3
xpumerge -f folded --unit ns x.data >gpu.folded 2>/dev/null
gen p.data seed=22
cat p.data.folded gpu.folded >both
same "with a recording" both --cpu p.data x.data
xpumerge --cpu p.data x.data -o out.json 2>log
like "$(cat out.json)" '"cat":"cpu"' "with a recording: the timeline has samples"
python3 "$XPU_SRC/test/lib/gen_perfscript.py" p.txt seed=3 ids=both
cat p.txt.folded gpu.folded >both
same "perf's text with a recording" both --cpu p.txt x.data
is "$(xpumerge --cpu p.txt x.data -f folded --by host 2>/dev/null | sed 's/;.*//' | sort -u |
	wc -l)" 1 "with a recording: samples count for the recording's host"
xpumerge --cpu p.data x.data -o y.data 2>log
is "$? $(cat log)" \
	"2 xpumerge: x.data: only imports are written as a recording, without other recordings" \
	"an import merged with a recording cannot be written as one recording"
fails "a recording that is missing" 'nothere.data' --cpu p.data nothere.data
python3 "$XPU_SRC/test/lib/gen_kineto.py" t.json seed=1
fails "three kinds" 'cannot be combined' --cpu p.data --gpu t.json x.data

# ---- perf itself

rm -f real.data
perf record -q -F 499 -g -e cpu-clock:u -k CLOCK_MONOTONIC -o real.data \
	sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done' >/dev/null 2>&1
if perf script -i real.data -F +pid --ns >real.txt 2>/dev/null && [ -s real.txt ]; then
	xpumerge --cpu real.data -f folded --unit ns 2>log >a
	xpumerge --cpu real.txt -f folded --unit ns 2>log >b
	# Function names may differ, because perf has its own demangler.
	is "$(awk '{ s += $NF } END { print s }' a)" "$(awk '{ s += $NF } END { print s }' b)" \
		"perf's own file and its text have equal times"
	is "$(sed 's/;.*//' a | sort -u)" "$(sed 's/;.*//' b | sort -u)" \
		"perf's own file and perf's text have the same threads"
else
	skip "perf's own file" "no perf that records here"
fi
done_testing
