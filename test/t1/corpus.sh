#!/bin/sh
# SPDX-License-Identifier: MIT
# Recordings of each version of the format, written by that version's xpuload. This version of
# xpumerge prints the expected results for them, and the current version's recording has every
# record type. corpus/README.md says when a file is added. XPU_UPDATE_GOLDEN=1 rewrites the expected
# results, but never the recordings. The results cover all features: stalls, metrics, memory, waits
# and nvtx.
. "$XPU_SRC/test/lib/tap.sh"
corpus=$XPU_SRC/test/t1/corpus
records=$XPU_SRC/record/records.def

expect() {		# expect NAME SUFFIX ARGUMENTS...: merges corpus/NAME.xpu
	name=$1 suffix=$2
	shift 2
	xpumerge "$@" >"$name.$suffix" 2>log
	is $? 0 "$name: xpumerge $*"
	[ -z "${XPU_UPDATE_GOLDEN:-}" ] || cp "$name.$suffix" "$corpus/"
	diff "$corpus/$name.$suffix" "$name.$suffix" >diff.log 2>&1
	ok $? "$name.$suffix: the result is as expected" || diag "$(head -n 5 diff.log)"
}

nr=0
for file in "$corpus"/*.xpu; do
	name=$(basename "$file" .xpu)
	nr=$((nr + 1))
	cp "$file" .
	expect "$name" txt "$name.xpu" --unit ns
	expect "$name" folded "$name.xpu" --waits -f folded --unit ns
	expect "$name" dump dump "$name.xpu"
	like "$(head -n 1 "$name.dump")" " version=$(echo "$name" | sed 's/\./\\./') " \
		"$name: dump prints the version that the file's name states"
	for format in chrome html pprof perf pftrace; do
		xpumerge "$name.xpu" -f $format -o out 2>log
		is $? 0 "$name: -f $format: exit status 0"
	done
done
[ $nr -ge 2 ]
ok $? "the corpus has $nr recordings"

# ---- the current version's recording is complete

version() {		# version MEMBER: XPU_VERSION_MAJOR or XPU_VERSION_MINOR
	awk -v name="XPU_VERSION_$1" '$1 == "#define" && $2 == name { print $3 }' "$records"
}
now=$(version MAJOR).$(version MINOR)
[ -e "$corpus/$now.xpu" ]
ok $? \
	"the corpus has a recording of version $now" || {
	diag "gen_corpus makes it: see $corpus/README.md"
	done_testing
}

# The types in the table, without the types that exist only in the ring buffer and without the types
# that the loader removes.
sed -nE '/, (IN_FILE|IN_BATCH|AROUND), /s/^(RECORD|ALSO)\(([A-Z_]*),.*/\2/p' "$records" |
	sort >types
[ "$(wc -l <types)" -gt 35 ]
ok $? "records.def defines $(wc -l <types) record types"
awk '{ print $3 }' "$now.dump" | sort -u >there
is "$(comm -23 types there | tr '\n' ' ')" "" \
	"$now: the recording has every record type, and dump prints them"
is "$(comm -13 types there | tr '\n' ' ')" "HEADER " \
	"$now: dump prints only HEADER and the record types of records.def"

# Finds members nr_*, because most members that were added at the end of a record are counts.
awk '/^RECORD\([A-Z_]*, [0-9]*, xpu_record_/ { on = 1 } /^END_RECORD/ { on = 0 }
	on && match($0, /[ ]nr_[a-z_]*, [A-Z]/) { print substr($0, RSTART + 1, RLENGTH - 4) }' \
	"$records" | sort -u >counts
[ "$(wc -l <counts)" -gt 15 ]
ok $? "the structures have $(wc -l <counts) members nr_*"
grep -oE '\bnr_[a-z_]+=' "$now.dump" | tr -d = | sort -u >there
is "$(comm -23 counts there | tr '\n' ' ')" "" "$now: dump prints each member nr_*"
done_testing
