#!/bin/sh
# SPDX-License-Identifier: MIT
# xpuload --push: receivers built from the published protocol definitions accept every profile, find
# no fault in it, and compute the same sums as the recording. Receivers that refuse, stall, answer
# incorrectly or do not exist only cause lost profiles, which are counted.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
. "$XPU_SRC/test/lib/formats_checks.sh"
need root bpf
[ -e "$XPU_BUILD/xpuload-push" ] || skip_all "xpuload-push is not built: no headers of libcurl"
protobuf_readers || skip_all "no protoc, or no protobuf for Python"
protoc --proto_path="$XPU_SRC/third_party/opentelemetry-proto" --python_out=. \
	opentelemetry/proto/collector/profiles/v1development/profiles_service.proto \
	opentelemetry/proto/profiles/v1development/profiles.proto \
	opentelemetry/proto/common/v1/common.proto opentelemetry/proto/resource/v1/resource.proto
use_sim
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
exact=$XPU_BUILD/workload/exact

receive() {		# receive: starts a receiver; sets port
	rm -f port
	$python "$XPU_SRC/test/lib/receiver.py" port requests mode 2>receiver.err &
	receiver=$!
	wait_for test -e port
	port=$(cat port)
}
trap 'kill $receiver 2>/dev/null' EXIT
echo ok >mode
: >requests
# Each process has the labels that its launcher set.
export RANK=3 WORLD_SIZE=8 RECEIVER_RESOURCE='{"rank": 3, "world_size": 8}' \
	RECEIVER_LABELS='{"rank": "3"}'
receive

# look EXPRESSION: evaluates it in Python, over all requests ("all"), or over one request per id
# ("once")
look() {
	$python -c "import json
all = [json.loads(line) for line in open('requests')]
once = {r['id']: r for r in all}.values()
print($1)"
}

# accounts FILE: prints "SENT LOST UNMERGED", from xpuload's last line
accounts() {
	sed -n \
		's/.*: \([0-9]*\) profiles* sent, \([0-9]*\) lost; \([0-9]*\) files* without.*/\1 \2 \3/p' "$1"
}

# want_totals: prints the sums of the parts NAME.*, as lines "KIND NS".
want_totals() {
	# shellcheck disable=SC2012,SC2046
	xpumerge $(ls -v "$1".*.data) --waits -f folded --unit ns 2>/dev/null | awk '{
		n = $NF; sub(/ [0-9]+$/, ""); leaf = $0; sub(/.*;/, "", leaf); kind = "cpu"
		if (leaf ~ /^\[GPU[0-9]*_Kernel\]/) kind = "gpu_kernel_time"
		if (leaf ~ /^\[GPU[0-9]*_Mem/) kind = "gpu_copy_time"
		if (leaf ~ /^\[(GPU_Wait|Off_CPU)/) kind = "wait"
		sum[kind] += n } END { for (kind in sum) printf "%s %.0f\n", kind, sum[kind] }' |
		LC_ALL=C sort
}

got_totals() {
	look '"\n".join(sorted("%s %d" % (k, sum(r["totals"].get(k, 0) for r in once))
		for k in {k for r in once for k in r["totals"]}))' >got
}

has_all() {		# has_all KIND: tests whether the profiles of all files have arrived
	got_totals
	want_totals "$1" >want
	cmp -s got want && [ -s want ]
}

# record NAME KIND OPTIONS...: records a program that launches three times. The test waits for a
# profile after each time, and for all profiles at the end. On a busy machine, files may be made
# faster than they are merged; then the test tries again with longer intervals.
record() {
	files=$1 push=$2
	shift 2
	for every in 0.5 3 10; do
		rm -f "$files".*.data
		: >requests
		start program env XPULOAD_PUSH_TOKEN=secret "$XPULOAD" -o "$files.%n.data" \
			--every $every \
			--push "$push+http://127.0.0.1:$port" --push-labels cluster=x "$@" "$live" \
			-s 1800 -t 4
		for nr in 1 2 3; do
			ask program "burst 20000" >/dev/null
			wait_for has_lines requests $nr
		done
		wait_for has_all "$files"
		finish program
		status=$?
		cp program.err load.log
		[ "$mode" != ok ] ||
			wait_for has_lines requests "$(accounts load.log | cut -d' ' -f1)"
		[ "$(accounts load.log)" != "$(expected)" ] || break
		diag "$files: too slow, every $every s: $(accounts load.log)"
	done
	return $status
}

# expected: prints the expected counts: each profile was sent, or, if the receiver refuses profiles,
# each is lost
expected() {
	if [ "$mode" = ok ]; then
		echo "$(wc -l <requests) 0 0"
	else
		echo "0 $(look 'len(once)') 0"
	fi
}

mode=ok
for kind in pyroscope otlp parca; do
	record $kind $kind
	is $? 0 "$kind: exit status 0" || diag "$(cat load.log)"
	is "$(look 'sorted({e for r in all for e in r["errors"]})')" "[]" \
		"$kind: the receiver finds no fault in any field"
	is "$(accounts load.log)" "$(expected)" \
		"$kind: xpuload's count of sent profiles is the receiver's count" ||
		diag "$(cat load.log receiver.err)"
	[ "$(wc -l <requests)" -gt 2 ]
	ok $? "$kind: several requests arrive: $(wc -l <requests)"
	has_all "$kind"
	ok $? "$kind: the sums are the same as in the recording, to the nanosecond" ||
		diag "$(diff got want)"
	is "$(look 'sorted({r["auth"] for r in all})')" "['Bearer secret']" \
		"$kind: the token is sent as a bearer token"
done
is "$(look \
	'sum(1 for r in all for s in r["stacks"] if s.startswith("gpu_kernel_time") and "main" in s and "LaunchKernel" in s) > 0')" \
	True "sent profiles have kernel times under call paths"
is "$(ls ./*.gpu_kernel_time ./*.cpu ./*.otlp 2>/dev/null)" "" "no profile is left on the disk"

# Without -o, files are removed after they are merged. The path of a complete URL says which
# protocol is used.
: >requests
mkdir alone && (cd alone &&
	xpuload -q --every 0.3 --push "http://127.0.0.1:$port/v1development/profiles" \
	"$exact" -t 2 -n 20000 >/dev/null 2>../load.log)
is "$? $(ls alone)" "0 " "--push without -o leaves no file" || diag "$(cat load.log)"
wait_for [ -s requests ]
[ "$(look 'len(all)')" -gt 0 ]
ok $? "--push without -o sends requests: $(look 'len(all)')"

# Receivers that do not accept profiles: the program runs as usual, and every profile is counted.
for mode in 500 400 garbage long stall; do
	echo $mode >mode
	: >requests
	# shellcheck disable=SC2016 # the shell that is recorded expands it
	out=$(timeout 300 "$XPULOAD" -q -o "bad-$mode.%n.data" --every 0.3 \
		--push "parca+http://127.0.0.1:$port" \
		--push-labels cluster=x sh -c '"$0" -t 2 -n 20000; date +%s >ended' \
		"$exact" 2>load.log)
	status=$? took=$(($(date +%s) - $(cat ended)))
	is $status 0 "$mode: exit status 0" || diag "$(cat load.log)"
	like "$out" '^exact: ' "$mode: the program runs to its end"
	# shellcheck disable=SC2046
	like "$(xpumerge $(ls "bad-$mode".*.data) 2>&1 >/dev/null)" \
		'launches 20000 matched 20000 unmatched 0 lost 0' "$mode: the recording is complete"
	sent=0
	if [ $mode = long ]; then
		sent='[1-9][0-9]*'
		# On a busy machine, no long answer may arrive in time.
		! grep -q 'Timeout was reached' load.log || sent='[0-9]+'
	fi
	like "$(accounts load.log)" "^$sent [0-9]+ [0-9]+\$" \
		"$mode: sent, lost and unmerged profiles are counted: $(accounts load.log)" ||
		diag "$(cat load.log)"
	# On a busy machine files are made faster than they are merged, and xpuload leaves some
	# files unmerged.
	nr=0
	for part in "bad-$mode".*.data; do
		[ -z "$(xpumerge "$part" -f folded 2>/dev/null)" ] || nr=$((nr + 1))
	done
	[ "$nr" -gt 0 ] && [ "$(accounts load.log | awk '{ print $1 + $2 + $3 }')" -ge "$nr" ]
	ok $? "$mode: each of $nr files is accounted for" || diag "$(cat load.log)"
	[ $mode = long ] || [ "$(accounts load.log | cut -d' ' -f2)" -gt 0 ]
	ok $? "$mode: lost profiles are counted"
	unlike "$(cat load.log)" "$(printf '\033')" \
		"$mode: control characters in the receiver's answer are not printed"
	[ "$took" -lt 30 ]
	ok $? "$mode: xpuload ends $took s after the program"
done
like "$(grep -c 'push: ' load.log)" '^[1-8]$' "at most eight lines report failed requests"

# A request that the receiver does not answer is aborted 3 s after the end of the program, before
# its own limit of 10 s.
: >requests
start program "$XPULOAD" -q --gpu-only -o "held.%n.data" --every 1 \
	--push "parca+http://127.0.0.1:$port" "$live" -s 1800 -t 2
ask program "burst 1000" >/dev/null
wait_for has_lines requests 1
began=$(date +%s)
finish program
is $? 0 "an unanswered request: exit status 0" || diag "$(cat program.err)"
took=$(($(date +%s) - began))
[ $took -le 9 ]
ok $? "an unanswered request: xpuload ends $took s after the program"
like "$(accounts program.err)" '^0 [1-9][0-9]* [0-9]+$' \
	"an unanswered request: the request's profile is counted as lost"

# A receiver that never saw the earlier requests.
kill $receiver
wait $receiver 2>/dev/null
echo lie >mode
mode=lie
receive
record lie otlp --gpu-only
is "$(accounts load.log)" "$(expected)" "profiles rejected with status 200: all count as lost" ||
	diag "$(cat load.log requests)"
like "$(cat load.log)" 'the collector rejected 1 profiles: not' \
	"profiles rejected with status 200: the collector's reason is printed"

kill $receiver
wait $receiver 2>/dev/null
for every in 0.3 3 10; do	# as above: files may be made faster than they are merged
	xpuload --strict --every $every --push "otlp+http://127.0.0.1:$port" "$exact" -t 2 \
		-n 20000 >out 2>load.log
	status=$?
	[ "$(accounts load.log | cut -d' ' -f3)" -gt 0 ] || break
	diag "nobody there: too slow, every $every s: $(accounts load.log)"
done
is "$status $(cut -c 1-6 <out)" "125 exact:" \
	"no receiver: the program runs to its end, and --strict fails"
like "$(cat load.log)" 'lost: [1-9][0-9]* profiles not sent$' \
	"no receiver: xpuload counts the lost profiles"
like "$(accounts load.log)" '^0 [1-9][0-9]* 0$' "no receiver: all profiles are lost"
is "$(echo xpu.data*)" "xpu.data*" "no receiver: no file is left"

while read -r said options; do
	# shellcheck disable=SC2086
	xpuload $options touch ran >bad.log 2>&1
	is "$? $(wc -l <bad.log)" "125 1" "$options: refused, with a message of one line" ||
		diag "$(cat bad.log)"
	like "$(cat bad.log)" "$said" "$options: the message says why"
done <<'END'
expected.a.path.of --push http://host:1/x
expected.pyroscope --push ftp://host
can.see.a.password --push otlp+http://me:secret@host
expected.a.host --push otlp+http:///x
expected.KEY=VALUE --push otlp+http://host --push-labels a-b=c
for.--push --push-labels a=b
END
for token in "a$(printf '\r\nX: y')" "$(printf 'a\nb')" "$(printf 'a\tb')" "a b" \
	"$(printf '\177')" "$(printf 'a%04000d' 0)"; do
	XPULOAD_PUSH_TOKEN=$token xpuload --push otlp+http://host:1 touch ran >bad.log 2>&1
	status=$?
	bytes=$(printf %s "$token" | head -c 10 | od -An -tx1 | tr -s ' ' '_')
	is "$status $(wc -l <bad.log)" "125 1" "a token of $bytes: refused, with one line" ||
		diag "$(cat bad.log)"
	like "$(cat bad.log)" '^xpuload: XPULOAD_PUSH_TOKEN: (expected printable|is too long)' \
		"an invalid token: the message says why it is invalid"
done
for end in '' /v; do
	like "$("$XPU_BUILD/xpuload-push" "otlp+http://a$(printf '\013')b$end" 2>&1)" \
		'expected a host' "a control character in a URL: refused"
done
[ ! -e ran ]
ok $? "invalid options: no command has run"
done_testing
