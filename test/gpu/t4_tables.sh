#!/bin/sh
# SPDX-License-Identifier: MIT
# The tables of recordings from a real GPU, read with pyarrow, have the sums of the folded stacks.
# Without pyarrow, they are only written and counted.
. "$XPU_SRC/test/lib/tap.sh"
need root gpu bpf torch

record() {		# record NAME COMMAND...
	name=$1
	shift
	xpuload --api --off-cpu -o "$name.data" "$@" >out 2>load.log
	is $? 0 "$name: it is recorded" || diag "$(cat load.log)"
}

record eager python3 "$XPU_SRC/test/gpu/eager.py"
record spawn python3 "$XPU_SRC/test/gpu/more.py" spawn
for name in eager spawn; do
	xpumerge "$name.data" -o "$name/" 2>log
	is "$?" 0 "$name: tables are written"
	diag "$name: $(grep 'launches [0-9]* matched' log), $(stat -c %s \
		"$name.data") bytes; launches and device: $(
		cat $name/launches/*/*.parquet $name/device/*/*.parquet | wc -c) bytes"
	xpumerge "$name.data" -f folded --waits --unit ns 2>/dev/null |
		sed 's/^\[waits\];//' | grep -v ';\[GPU_Launch_Pending\] ' |
		LC_ALL=C sort >want
	python3 "$XPU_SRC/test/gpu/tables.py" "$name" >unsorted 2>err
	status=$?
	if [ $status = 3 ]; then
		skip "$name: pyarrow" "no pyarrow"
		continue
	fi
	is "$status" 0 "$name: pyarrow reads all tables, and they agree" || diag "$(cat err)"
	diag "$name: $(head -n 1 err)"
	LC_ALL=C sort unsorted >got
	cmp got want
	ok $? \
		"$name: the tables have xpumerge's $(wc -l <want) folded lines" ||
		diag "$(diff got want | head -n 10)"
done
done_testing
