#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge -j reads several recordings at once. For each format, the output, the loss counts and the
# exit status are the same as with -j 1, byte by byte.
. "$XPU_SRC/test/lib/tap.sh"

# Ranks of a job with collectives, on two hosts; ranks with samples, calls, graphs and enough
# processes for filters; recordings that are cut, damaged or not closed, or that lost records.
mkdir ranks
"$XPU_BUILD/gen_ranks" ranks ranks=4 steps=30 hosts=2 offset=5000 lose=1 seed=3 >/dev/null
gen() {
	name=$1
	shift
	"$XPU_BUILD/gen_data" -o "$name.data" --blocks 16384 --threads 3 --paths 200 --frames 12 \
		"$@"
}
gen near --launches 6000 --rank 0 --nccl-every 5 --samples-every 7 --gpus 2
gen api --launches 5000 --rank 1 --pid 5000 --api --memcpy-every 3 --procs 3 --streams 4
gen graph --launches 4000 --rank 2 --pid 6000 --graph-every 9 --graph-nodes 4 --host 2
gen lossy --launches 5000 --rank 3 --pid 7000 --lose-launch 50 --lose-record 70 --no-end
gen early --launches 5000 --rank 4 --pid 8000 --window 500 --early --reuse --procs 4 --gpus 3
gen cut --launches 9000 --rank 5 --pid 9000 --host 2
head -c "$(($(stat -c %s cut.data) * 2 / 3))" cut.data >shorter && mv shorter cut.data
gen damaged --launches 9000 --rank 6 --pid 10000
printf XXXXXXXX |
	dd of=damaged.data bs=1 seek="$(($(stat -c %s damaged.data) / 2))" conv=notrunc 2>/dev/null

# same NAME STATUS ARGS...: -j 2, 4 and 16 write the same $out, print the same messages and exit
# with the same status as -j 1.
out=out
same() {
	name=$1 status=$2 nr=
	shift 2
	for jobs in 1 2 4 16; do
		rm -rf "out$jobs" && mkdir "out$jobs"
		(cd "out$jobs" &&
			xpumerge "$@" -j $jobs -o "$out" >"../log$jobs" 2>&1; echo $? \
			>"../status$jobs")
		[ $jobs = 1 ] && continue
		diff -r out1 out$jobs >/dev/null && cmp -s log1 log$jobs &&
			cmp -s status1 status$jobs ||
			nr="$nr $jobs"
	done
	[ -z "$nr" ] && [ -s out1/$out ] && [ "$(cat status1)" = "$status" ]
	ok $? "$name" || diag "differs with -j$nr, or status $(cat status1): $(tail -n 3 log1)"
}

job=$(ls "$PWD"/ranks/*.data)
all=
for name in near api graph lossy early cut damaged; do
	all="$all $PWD/$name.data"
done
for format in folded text html pprof parquet; do
	# shellcheck disable=SC2086 # several arguments
	same "$format: ranks with collectives" 0 $job -f $format
	# shellcheck disable=SC2086
	same "$format: all kinds of recordings, among them cut and damaged ones" 2 $all -f $format
done
# shellcheck disable=SC2086
{
	same "a cut recording and one with losses" 1 "$PWD"/cut.data "$PWD"/lossy.data -f folded
	same "--strict" 1 "$PWD"/near.data "$PWD"/early.data --strict -f folded
	same "tables" 2 $all --csv
	same "JSON" 2 $all --json
	same "timelines" 2 $all -f chrome
	same "the command ranks" 0 ranks $job -f text
	same "a filter by process" 2 $all -f folded --pid 5000-8003
	same "a filter by time" 2 $all -f folded --from 1ms --to 400s
	same "a filter by kernel and rank" 2 $all -f text --kernel '_1' --rank 0-4
	same "a filter by device" 2 $all -f folded --device 0-1
	same "--by thread, stream and process" 2 $all -f folded --by tid,stream,pid,rank
	same "--by NVTX range" 0 $job -f folded --by nvtx
	same "--by shape" 2 $all -f folded --by shape
	same "--unit bytes" 2 $all -f folded --unit bytes
	# shellcheck disable=SC2046
	same "in another order" 2 $(printf '%s\n' $all | sort -r) -f text
	same "one recording, twice" 0 "$PWD/near.data" "$PWD/api.data" -f text
	same "recordings of all versions" 0 "$XPU_SRC"/test/t1/corpus/2.*.xpu -f text
}

# A file that is missing, or that is not a recording, is reported before anything is read.
xpumerge -j 4 near.data nowhere.data api.data -f folded -o none >log 2>&1
is $? 2 "a missing file: exit status 2"
is "$(cat log)" "xpumerge: nowhere.data cannot be opened: No such file or directory" \
	"a missing file: prints one line"
echo text >text.data
xpumerge -j 4 near.data text.data -f folded -o none >log 2>&1
is $? 2 "a file of another kind: exit status 2"
is "$(wc -l <log)" 1 "a file of another kind: xpumerge prints one line"
[ ! -e none ]
ok $? "missing or unsuitable files: nothing is written"

for bad in 0 x -1 1025; do
	xpumerge -j $bad near.data >log 2>&1
	is $? 2 "-j $bad is refused"
done
done_testing
