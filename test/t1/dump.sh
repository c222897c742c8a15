#!/bin/sh
# SPDX-License-Identifier: MIT
# xpumerge dump prints each record as a line with its offset, even cut, damaged and unknown records.
. "$XPU_SRC/test/lib/tap.sh"
corpus="$XPU_BUILD/gen_corpus"

"$corpus" --plain plain.data
"$corpus" blocks.data
"$corpus" stored.data 0

dump() {		# dump FILE STATUS NAME
	xpumerge dump "$1" >out 2>log
	is $? "$2" "$3: the expected exit status"
}

poke() {		# poke FILE OFFSET OCTAL: changes one byte
	printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# ---- whole recordings

dump plain.data 0 "version 1"
# The offset of each record in the file follows from the sizes of the records before it. Records in
# a batch have more spaces before the type, and lie inside the batch.
decimal() {
	sed -n 's/^\([0-9a-fx]*\) \[\(0x[0-9a-f]*\)\] [A-Z].*/\1 \2/p' | while read -r at size; do
		echo $((at)) $((size))
	done
}
decimal <out >places
is "$(awk '$1 != at { print "after " at " comes " $1; exit } { at += $2 } END { print at }' \
	places)" "$(wc -c <plain.data)" "version 1: offsets and sizes cover the file"
like "$(cat out)" '^0xa8 \[0x18\] INFO key=ARCH "x86_64"$|^0x88 \[0x18\] INFO key=ARCH "x86_64"$' \
	"version 1: the dump has an INFO record"
cp out plain.dump

dump blocks.data 0 "blocks"
sed -n 's/^\(0x[0-9a-f]*\) \[\(0x[0-9a-f]*\)\] BLOCK.*/\1 \2/p' out | while read -r at size; do
	echo $((at)) $((size))
done >places
is "$(awk 'BEGIN { at = 64 } $1 != at { print "after " at " comes " $1; exit } { at += $2 }
	END { print at }' places)" "$(wc -c <blocks.data)" \
		"blocks: the dumped blocks cover the file after the header"
is "$(grep -c BLOCK out)" 9 "blocks: the dump has nine blocks"
dump stored.data 0 "blocks without compression"
like "$(grep BLOCK out | head -n 1)" 'misc=(COLUMNS|0)$' \
	"blocks without compression: the dump shows no compression"
xpumerge dump blocks.data >out 2>log

# Both formats have the same records, at different offsets.
for f in plain.dump out; do
	grep -v -e BLOCK -e HEADER $f | sed 's/^[^[]*//' >$f.records
done
[ "$(wc -l <out.records)" -gt 80 ] && cmp -s plain.dump.records out.records
ok $? "dump prints the same $(wc -l <out.records) records with and without blocks" ||
	diag "$(diff plain.dump.records out.records | head -n 5)"

# Members of each kind: numbers, names, flags, text, rows, and frames after the fixed part.
while read -r line; do
	grep -qF -- "$line" out
	ok $? "$line"
done <<'END'
[0x20] INFO key=CMDLINE "./app" "--steps" "3"
[0x30] PROCESS misc=EXEC time_ns=2101 proc_id=2 pid=100 parent_proc_id=1 comm="app"
start=0x400000 len=0x1000 pgoff=0 ino=0 dev_major=0 dev_minor=0 prot=0x5 flags=0x2 build_id=c0ffee
[0x38] CALLCHAIN misc=SHIM path_id=1 proc_id=2 time_ns=3000 cbid=307 domain=1 nr_frames=3 python:1:41 string:11 string:10
[0x38] CALLCHAIN misc=CPU|OFF path_id=8
{what=MARK range_id=3 thread_id=1 delta_ns=200 place=2}
{correlation_id=4 path_id=4 delta_ns=-100 thread_id=1}
thread_id=2} range_id={2 1 0}
[0x28]   RANGE id=2 parent=1 "all;reduce" domain="NCCL"
WAIT misc=WORK|LAUNCH start_ns=12000
[0x30]   KERNEL misc=GRAPH_NODE start_ns=8000 duration_ns=2500 correlation_id=4 name=8 stream=1 graph_id=0 graph_node_id=71
{correlation_id=10 delta_ns=3000 duration_ns=4294968296 driver:131}
[0x28]   MESSAGE misc=WARNING "a message of the shim"
python:1+4 loop:0x7ffffffff040 blocks=1/4
PYSOURCE id=1 first_line=40 minor=11 table_bytes=3 "Model.forward" "/nonexistent/train.py"
off_ns={LOCK=5000 IO=0 SLEEP=0 POLL=0 CHILD=0 OTHER=0 RUNNABLE=2000 CALL=0}
LOST time_ns=21000 kind=SAMPLE count=1
END
is "$(cat log)" "" "a complete recording: no message"

# ---- input and output

xpumerge dump - <blocks.data | cmp -s - out
ok $? "dump can read standard input"
mkdir one
cp blocks.data one/xpu.data
(cd one && "$XPUMERGE" dump) | cmp -s - out
ok $? "without a file, dump reads xpu.data"
umask 022
xpumerge dump blocks.data -o file 2>log && cmp -s file out
ok $? "-o writes to a file"
is "$(stat -c %a file)" 600 "-o: the file has mode 600, like a recording"
for args in "a b" "-f folded a" "--strict a" "--unit ns a"; do
	# shellcheck disable=SC2086 # several arguments on purpose
	xpumerge dump $args >out2 2>log
	is $? 2 "dump $args: exit status 2"
	is "$(wc -l <log)$(wc -c <out2)" 10 "dump $args: the error is one line, and stdout is empty"
done
echo text >text.data
xpumerge dump text.data >out2 2>log
is "$? $(grep -c 'wrong magic' log)" "2 1" "a file that is not a recording is refused"
xpumerge dump blocks.data >/dev/full 2>log
is "$? $(grep -c 'No space left' log)" "2 1" "a full disk is reported"

# ---- unknown, cut, damaged

# Replaces the type of the END record by a type that later versions may have.
cp plain.data unknown.data
end=$(($(sed -n 's/^\(0x[0-9a-f]*\) .* END .*/\1/p' plain.dump)))
poke unknown.data $end 310
dump unknown.data 1 "unknown type"
is "$(grep ' UNKNOWN ' out)" "$(printf '%#x [0x18] UNKNOWN type=200 misc=0' $end)" \
	"unknown type: the dump has a line for the record"
like "$(cat log)" 'not closed: the record END is missing' \
	"no END record: a message says that the recording is not closed"
like "$(cat log)" '1 record of an unknown type' "unknown type: a message counts the record"

head -c $((end + 4)) plain.data >cut.data
dump cut.data 1 "cut"
is "$(tail -n 1 out)" "$(printf '%#x [0x4] CUT: record header cut' $end)" \
	"cut: the last line has the offset of the truncated header"
head -c 1000 blocks.data >cut.data
dump cut.data 1 "a truncated block"
is "$(tail -n 1 out)" "0x260 [0x188] CUT: block cut" \
	"a truncated block: the last line has the offset"
is "$(grep -c BLOCK out)" 1 "a truncated block: the block before it is printed"

# An impossible size: a file of version 1 ends there, because the next record cannot be found.
info=$((0x58))
cp plain.data bad.data
poke bad.data $((info + 4)) 003
dump bad.data 2 "version 1, damaged"
is "$(tail -n 1 out)" "$(printf '%#x [%#x] DAMAGED: impossible record size' $info \
	$(($(wc -c <plain.data) - info)))" \
	"version 1, damaged: the last line has the offset of the damage"
is "$(wc -l <out)" 3 "version 1, damaged: the records before the damage are printed"

# Damaged data in a block: dump still prints the other blocks.
cp blocks.data bad.data
xpumerge dump blocks.data >whole 2>log
second=$(($(awk '/BLOCK/ { print $1 }' whole | sed -n 2p)))
poke bad.data $((second + 100)) 125
dump bad.data 2 "a damaged block"
like "$(cat out)" \
	"$(printf '^%#x ' $second)\[0x[0-9a-f]+\] DAMAGED: the bytes of a block have changed since they were written: 1 blocks with 0 launches lost" \
	"a damaged block: a line has the offset"
grep -v "^$(printf '%#x' $second)[+ ]" whole >expected
grep -v DAMAGED out >got
cmp -s expected got
ok $? "a damaged block: all other blocks are printed as before" ||
	diag "$(diff expected got | head -n 5)"

# A damaged record in a batch ends the batch; dump continues after the batch.
string=$(($(sed -n 's/^\(0x[0-9a-f]*\) .*   STRING id=2 .*/\1/p' plain.dump)))
cp plain.data bad.data
poke bad.data $((string + 4)) 003
dump bad.data 2 "a damaged batch"
like "$(cat out)" \
	"^$(printf '%#x' \
	$string) \[0x[0-9a-f]+\]   DAMAGED: impossible record size: the rest of the batch is lost" \
	"a damaged batch: a line of the dump has the offset of the damage"
is "$(tail -n 1 out)" "$(tail -n 1 plain.dump)" \
	"a damaged batch: the rest of the recording is printed"

# Names that are not text, or that contain control characters.
cp plain.data bad.data
name=$(grep -abo 'a message of the shim' plain.data | cut -d: -f1)
poke bad.data "$name" 033
poke bad.data $((name + 1)) 042
dump bad.data 0 "control characters"
like "$(cat out)" 'MESSAGE misc=WARNING "\\u001b\\"message' \
	"control characters are escaped as in JSON"
done_testing
