#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A process with a wrong clock, or a process that lies. Its timestamps do not change other
# processes' times, the span or the headline in any format, and ignored timestamps are counted.
. "$XPU_SRC/test/lib/tap.sh"

"$XPU_BUILD/gen_data" --procs 2 --launches 2000 --api -o g.data
for kind in honest zero sign last future past mixed long; do
	mkdir "$kind" && python3 "$XPU_SRC/test/lib/gen_times.py" g.data "$kind/r.data" "$kind" ||
		exit 1
done

cat >spans.py <<'END'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
print("%.0f" % (max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)))
END

# other KIND: merges the process with correct timestamps to each format, and all processes to some
# formats. Prints the formats that fail.
other() {		# other KIND
	cd "$1" || exit 1
	for format in folded csv chrome text pprof html perf pftrace; do
		xpumerge -i r.data --pid 1000 -f $format -o "out.$format" 2>/dev/null ||
			echo "$format: status $?"
	done
	xpumerge -i r.data --pid 1000 -f parquet -o out.parquet/ 2>/dev/null ||
		echo "parquet: status $?"
	xpumerge -i r.data -o all.json 2>/dev/null
	xpumerge -i r.data >all.text 2>all.log
	xpumerge r.data ../honest/r.data >both.text 2>both.log
	cd ..
}

for kind in honest zero sign last future past mixed long; do
	other $kind >$kind.status
	is "$(cat $kind.status)" "" "$kind: every format is written"
done
like "$(head -n 1 honest/all.text)" '^2\.00 ms: GPU 0 busy 50\.0 %' \
	"correct times: the headline is right"
unlike "$(cat honest/all.log)" 'outside' "correct times: no record is left out"
longest=$(python3 spans.py honest/all.json)

for kind in zero sign last future past mixed long; do
	like "$(cat $kind/all.log)" '^launches 2000 matched 2000 unmatched 0 lost 0' \
		"$kind: launches are joined by their ids"
	like "$(cat $kind/all.log)" 'device records timed outside of the recording' \
		"$kind: device records with wrong times are counted"
	like "$(head -n 1 $kind/all.text)" \
		'^(503 us|[12]\.[0-9]+ ms): GPU 0 busy ([1-9]|[1-9][0-9])\.[0-9] %' \
		"$kind: the headline is right"
	[ "$(python3 spans.py $kind/all.json)" -le "$longest" ]
	ok $? "$kind: wrong times do not make the timeline longer"
	like "$(head -n 1 $kind/both.text)" '^2\.00 ms: ' \
		"$kind: two recordings merged: the headline is right"
	for file in out.folded out.csv out.perf; do
		cmp "honest/$file" "$kind/$file"
		ok $? "$kind: ${file#*.} output of the other process is unchanged"
	done
	python3 - $kind <<'END'
import json, sys
def own(kind):
    events = json.load(open(kind + "/out.chrome"))["traceEvents"]
    return [e for e in events if e.get("pid") == 1000 and e["ph"] in "Xsf"]
sys.exit(not own("honest") or own("honest") != own(sys.argv[1]))
END
	ok $? "$kind: chrome shows the other process at the right time"
done
for kind in sign last future past; do
	is "$(grep -c 'timed outside of the recording' $kind/all.log)" 7 \
		"$kind: each kind of record with wrong times has its own count"
	like "$(cat $kind/all.log)" '1000 launches timed outside' \
		"$kind: launches with wrong times are counted"
	like "$(cat $kind/all.log)" '1000 device records timed outside' \
		"$kind: device records with wrong times are counted"
	like "$(cat $kind/all.log)" '2000 API calls timed outside' \
		"$kind: API calls with wrong times are counted"
	for what in 'wait for the device' 'event of NVTX ranges' 'event of memory' window; do
		like "$(cat $kind/all.log)" " 1 $what timed outside" \
			"$kind: $what with wrong times is counted"
	done
done

# A recording without its end: it ends at the latest timestamp that the recorder reported.
xpumerge dump future/r.data >/dev/null || exit 1
head -c -24 future/r.data >cut.data
xpumerge -i cut.data >cut.text 2>cut.log
like "$(head -n 1 cut.text)" '^[0-9.]+ (us|ms): GPU 0 busy' \
	"a recording without its end: the headline is right"
like "$(cat cut.log)" '1000 device records timed outside' \
	"a recording without its end: wrong times are counted"

done_testing
