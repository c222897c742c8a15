#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --max-memory: beyond the limit, xpumerge prints one line, fails, and writes no output. This test
# also measures the memory that each name takes.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "${XPU_SAN:-}" ] || skip_all "a sanitizer has the allocator"

# names NR SAME: prints a trace with NR kernels, which have one name or NR names
names() {
	awk -v nr="$1" -v same="$2" 'BEGIN {
		print "{\"traceEvents\":["
		for (i = 1; i <= nr; i++) {
			printf "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\"," \
			       "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2," \
			       "\"args\":{\"correlation\":%d}},\n", 1000 + 5 * i, i
			printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kernel_%07d\",\"pid\":0," \
			       "\"tid\":7,\"ts\":%d,\"dur\":3,\"args\":{\"correlation\":%d," \
			       "\"device\":0,\"stream\":7}}%s\n", same ? 0 : i, 1002 + 5 * i, i,
			       i < nr ? "," : ""
		}
		print "]}"
	}'
}

# exceeds NAME FILE BYTES ARGS...: checks that xpumerge reports that FILE exceeds the limit, and
# writes nothing
exceeds() {
	name=$1 file=$2 bytes=$3
	shift 3
	rm -f out.folded
	timeout 60 "$XPUMERGE" "$@" -o out.folded 2>log
	is "$? $(cat log)" \
		"2 xpumerge: $file: needs more than the $bytes of memory that --max-memory allows" \
		"$name: one message names the file and the limit"
	is "$(ls out.folded* .out.folded* 2>/dev/null)" "" "$name: nothing is written"
}

# ---- compressed or endless input

{ echo '{"traceEvents":['; head -c 200000000 /dev/zero | tr '\0' ' '; } | gzip -1 >bomb.json.gz
"$XPU_BUILD/gen_twofile" cpu.txt gpu.json nr=2000 >/dev/null
exceeds "a file that unpacks to more" bomb.json.gz 64M --gpu bomb.json.gz --max-memory 64M
exceeds "stacks that unpack to more" bomb.json.gz 64M --cpu bomb.json.gz --gpu gpu.json \
	--max-memory 64M
exceeds "the second of two ranks" bomb.json.gz 64M --gpu gpu.json --gpu bomb.json.gz --max-memory \
	0.0625g
mkfifo endless
yes '{"type":"KERNEL"}' >endless 2>/dev/null &
exceeds "a pipe without an end" endless 100M --gpu endless --max-memory 100M
wait
# If the FIFO were opened twice, the writer would fail.
for i in 1 2 3; do
	{
		while echo \
			'{"type":"KERNEL", "comment":"a line is long, so that there are few of them"}'; do
			:
		done
	} >endless 2>/dev/null &
	sleep 0.1
	exceeds "a FIFO is opened once, $i" endless 32M --gpu endless --max-memory 32M
	wait
done
for device in "--gpu /dev/zero" "--cpu /dev/zero --gpu gpu.json"; do
	# shellcheck disable=SC2086 # several arguments
	timeout 60 "$XPUMERGE" $device -o out.folded 2>log
	is "$? $(cat log)" \
		"2 xpumerge: /dev/zero: cannot be read: it is a device: expected a file" "$device"
done
yes | timeout 60 "$XPUMERGE" --max-memory 64M - 2>log
is "$(cat log)" "xpumerge: standard input is not a recording of xpuload (wrong magic)" \
	"standard input that is not a recording is not read to its end"
{ printf 'XPUDATA\0'; yes; } 2>/dev/null | timeout 60 "$XPUMERGE" --max-memory 64M - 2>log
is "$(cat log)" \
	"xpumerge: standard input: needs more than the 64M of memory that --max-memory allows" \
	"standard input that begins like a recording is read up to the memory limit"

# ---- every limit: xpumerge fails, or gives the right result

# at_each NAME FROM TO ARGS...: merges with each limit from FROM to TO MiB
at_each() {
	name=$1 from=$2 to=$3 nr_failed=0 nr_right=0 wrong=
	shift 3
	xpumerge "$@" -f folded -o right.folded 2>right.log
	for mib in $(seq "$from" 11 "$to"); do
		rm -f out.folded
		timeout 60 "$XPUMERGE" "$@" -f folded -o out.folded --max-memory "${mib}M" 2>log
		case $? in
		0)	cmp -s out.folded right.folded && cmp -s log right.log ||
			wrong="$wrong $mib"
			nr_right=$((nr_right + 1)) ;;
		2)	grep -q ": needs more than the ${mib}M of memory" log &&
			[ ! -e out.folded ] &&
				[ "$(grep -vc '^by time' log)" = 1 ] || wrong="$wrong $mib"
			nr_failed=$((nr_failed + 1)) ;;
		*)	wrong="$wrong $mib" ;;
		esac
	done
	is "$wrong" "" "$name: no memory limit from $from to $to MiB gives a wrong result"
	[ $nr_failed -gt 0 ] && [ $nr_right -gt 0 ]
	ok $? "$name: $nr_failed memory limits are too low, $nr_right are enough"
}

names 100000 0 >names.json
xpumerge --gpu names.json -o names.data 2>/dev/null
"$XPU_BUILD/gen_twofile" cpu.txt gpu.json nr=45000 threads=4 sites=45000 >/dev/null
at_each "a trace" 32 76 --gpu names.json
at_each "two files" 32 65 --cpu cpu.txt --gpu gpu.json
at_each "a recording" 32 54 names.data

# ---- half of the free memory, and invalid limits

(
	ulimit -v 160000
	xpumerge --gpu bomb.json.gz -o out.folded 2>log
	echo $? >status
	xpumerge --gpu bomb.json.gz --max-memory 4G -o out.folded 2>log2
)
like "$(cat status log | tr '\n' ' ')" \
	'^2 xpumerge: bomb.json.gz: needs more than [0-9.]+M of memory, half of the free memory: --max-memory SIZE sets another limit $' \
	"by default the limit is half of the free memory"
like "$(cat log2)" 'bomb.json.gz: needs more than the 156.2M of memory that ulimit allows' \
	"a message names the ulimit that was exceeded"
for size in 3 31M -1G G 4X 4GB nan inf 1e30T ''; do
	xpumerge --gpu gpu.json --max-memory="$size" -o out.folded 2>log
	is "$? $(cat log)" \
		"2 xpumerge: --max-memory $size: expected a size of 32M or more, such as 512M or 4G" \
		"--max-memory '$size' is refused"
done

# ---- names

kib() {			# prints the peak memory of a merge
	/usr/bin/time -f %M -o used "$XPUMERGE" "$@" -o out.x 2>log || diag "$(cat log)"
	tail -n 1 used
}

# sqlite NR SAME: like names(), but prints an export of Nsight Systems
sqlite() {
	cat <<-END
	CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
	INSERT INTO StringIds VALUES (0, 'cudaLaunchKernel');
	INSERT INTO StringIds WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < $1)
		SELECT i, printf('kernel_%07d', i) FROM c WHERE NOT $2 OR i = 1;
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
		globalPid, shortName, demangledName);
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL
		SELECT i + 1 FROM c WHERE i < $1) SELECT 1002 + 5 * i, 1005 + 5 * i, 0, 1, 7, i, 1677721600,
		CASE WHEN $2 THEN 1 ELSE i END, CASE WHEN $2 THEN 1 ELSE i END FROM c;
	CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, callchainId);
	INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL
		SELECT i + 1 FROM c WHERE i < $1) SELECT 1000 + 5 * i, 1001 + 5 * i, 1677721700, i, 0, NULL
		FROM c;
	END
}

# A name costs 90 to 190 bytes: a leaf, its sums, its statistics, its hash table entries, and the
# text.
# holds NAME ARGS...: merges twice. NAMES in ARGS becomes the file with many names in the first
# merge, and the file with one name in the second merge.
holds() {
	name=$1
	shift
	for f in names same; do
		# shellcheck disable=SC2046 # several arguments
		eval "$f=$(kib $(echo "$@" | sed "s/NAMES/$f/"))"
	done
	bytes=$(((names - same) * 1024 / NR))
	[ $bytes -le "${most:-200}" ] && [ "$same" -gt 1000 ]
	ok $? "$name: each name takes $bytes bytes of memory"
}

NR=100000
names $NR 1 >same.json
xpumerge --gpu same.json -o same.data 2>/dev/null
sqlite $NR 0 | "$XPU_BUILD/gen_sqlite" names.sqlite
sqlite $NR 1 | "$XPU_BUILD/gen_sqlite" same.sqlite
for format in text folded pprof chrome pftrace perf stacks; do
	holds "a recording as $format" NAMES.data -f $format
done
# Each single event of the page stores the number of the cell that has its name.
most=230 holds "a recording as html" NAMES.data -f html
holds "an import as text" --gpu NAMES.json -f text
# The page has single events of about 130 bytes each. With one name, they fit into memory that the
# import used before.
most=300 holds "an import as html, with the time of each" --gpu NAMES.json -f html
holds "an export of Nsight Systems" --nsys NAMES.sqlite -f text

done_testing
