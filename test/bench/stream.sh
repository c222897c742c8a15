#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# stream.sh [SECONDS [EVERY [KIND [RATE]]]]: runs xpuload --every EVERY (5) --push for SECONDS (60)
# to a receiver of KIND (otlp), while 8 threads make RATE launches a second (10,000). Meanwhile the
# receiver answers 500, stalls, and is killed. Prints the share of a core that xpuload and its
# children take together, the memory of each process over time, the growth of this memory, the disk
# space in use, and whether the receiver got exactly the profiles that xpuload reports as sent.
# Needs root, BPF, libcurl, and protobuf for Python.
: "${XPU_SRC:?run it as: make bench}"
. "$XPU_SRC/test/bench/lib.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"
seconds=${1:-60} every=${2:-5} kind=${3:-otlp} rate=${4:-10000}
"$XPU_BUILD/xpuload" --check >check.log 2>&1 ||
	{ echo "bench stream: NOT RUN: $(grep MISSING check.log | head -n 1)"; exit 0; }
{ [ -e "$XPU_BUILD/xpuload-push" ] && protobuf_readers; } ||
	{ echo "bench stream: NOT RUN: no libcurl or protobuf"; exit 0; }
protoc --proto_path="$XPU_SRC/third_party/opentelemetry-proto" --python_out=. \
	opentelemetry/proto/collector/profiles/v1development/profiles_service.proto \
	opentelemetry/proto/profiles/v1development/profiles.proto \
	opentelemetry/proto/common/v1/common.proto opentelemetry/proto/resource/v1/resource.proto
export LD_LIBRARY_PATH="$XPU_BUILD/sim" RECEIVER_BRIEF=1
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY

receive() {
	rm -f port
	$python "$XPU_SRC/test/lib/receiver.py" port requests mode 2>>receiver.err &
	receiver=$!
	while [ ! -e port ]; do sleep 0.1; done
	RECEIVER_PORT=$(cat port)
	export RECEIVER_PORT
}
trap 'kill $receiver $loader 2>/dev/null; rm -rf "$dir"' EXIT
echo ok >mode
: >requests
receive
mkdir disk
(cd disk && exec "$XPU_BUILD/xpuload" --every "$every" \
	--push "$kind+http://127.0.0.1:$RECEIVER_PORT" --push-labels \
	cluster=x "$XPU_BUILD/workload/exact" -t 8 -s 16 -p "$rate" \
	-n $((rate * seconds))) >out 2>load.log &
loader=$!
sleep 2
splitter=$(pgrep -P $loader -x xpumerge | head -n 1)

# ticks PID: prints the CPU time of the process and of the children that it has waited for
ticks() {
	sed 's/.*) //' /proc/"$1"/stat 2>/dev/null | awk '{ print $12 + $13 + $14 + $15 }'
}
own_ticks() {
	sed 's/.*) //' /proc/"$1"/stat 2>/dev/null | awk '{ print $12 + $13 }'
}
rss() {			# rss PID: prints the anonymous memory of the process, in KB
	awk '/^RssAnon/ { print $2 }' /proc/"$1"/status 2>/dev/null
}
# Prints the CPU time of xpuload, xpumerge and xpuload-push so far. The ended children of xpuload
# are left out, because they are only helpers.
cpu() {
	echo $(($(own_ticks "$loader") + $(ticks "$splitter") + $(own_ticks \
		"$(pgrep -P "$splitter" -x xpuload-push)")))
}
begin=$(date +%s) before=$(cpu)
while kill -0 $loader 2>/dev/null; do
	now=$(($(date +%s) - begin))
	at=$((100 * now / seconds))
	# The receiver fails in the middle of the run.
	if [ $at -ge 35 ] && [ $at -lt 40 ]; then want=500
	elif [ $at -ge 45 ] && [ $at -lt 50 ]; then want=stall
	else want=ok; fi
	[ "$(cat mode)" = $want ] || echo $want >mode
	if [ $at -ge 55 ] && [ $at -lt 78 ]; then
		[ -z "$receiver" ] || { kill "$receiver"; receiver=; }
	elif [ -z "$receiver" ]; then
		receive
	fi
	pusher=$(pgrep -P "$splitter" -x xpuload-push)
	r1=$(rss $loader) r2=$(rss "$splitter") r3=$(rss "$pusher")
	after=$(cpu 2>/dev/null) last=$(date +%s)
	[ -z "$r1$r2$r3" ] ||
		echo "$now ${r1:-0} ${r2:-0} ${r3:-0} $(du -sk disk | cut -f1) $after" >>samples
	sleep 2
done
wait $loader
echo "$(cat load.log)"
awk -v before="$before" -v hz="$(getconf CLK_TCK)" '
	{ t[NR] = $1; x[NR] = $2; s[NR] = $3; p[NR] = $4; d[NR] = $5 }
	$6 > before { cpu = $6; end = $1 }
	function peak(v, from, to, i, m) {
		m = 0
		for (i = from; i <= to; i++)
			if (v[i] > m)
				m = v[i]
		return m
	}
	# Prints peaks before, during and after the receiver'"'"'s failures.
	function tell(name, v, a, b) {
		a = peak(v, int(NR / 6) + 1, int(NR / 3)); b = peak(v, int(9 * NR / 10) + 1, NR - 1)
		printf "%-12s peak KB: before %d, in between %d, at the end %d: %+.1f %%\n",
			name, a, peak(v, 1, NR), b,
			a ? 100 * (b - a) / a : 0
	}
	END {
		printf "xpuload and its children: %.2f %% of a core over %d s\n",
			100 * (cpu - before) / hz / end, end
		tell("xpuload", x); tell("xpumerge", s); tell("xpuload-push", p); tell("disk", d)
	}' samples
took=$($python -c "import json
all = [json.loads(line) for line in open('requests')]
print(len({r['id'] for r in all if r['mode'] == 'ok'}), sum(bool(r['errors']) for r in all))")
printed=$(sed -n \
	's/.*: \([0-9]*\) profiles* sent, \([0-9]*\) lost; \([0-9]*\) files* without.*/sent \1 lost \2 without \3/p' load.log)
echo "printed: $printed; the receiver took ${took% *}, of which ${took#* } have something wrong; intervals: $((seconds / every))"
[ -z "${STREAM_KEEP:-}" ] || cp samples load.log requests receiver.err "$STREAM_KEEP"
