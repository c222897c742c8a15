#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Managed pages that migrate are shown under the call path that allocated them, whichever allocation
# had the same address before or after. If the call path cannot be known, the reason is counted.
# Missing and impossible records are counted, too.
. "$XPU_SRC/test/lib/tap.sh"

events() {
	cat <<-'X'
		proc 1
		proc 2
		device 1 0 7
		device 1 1 8
		device 2 0 7
		record 1 10000 1
		START 0 1023 0 0 0
		MADE MANAGED 0 0x100000 65536 1 1 10 3
		MADE MANAGED 0 0x110000 65536 2 2 20 4
		FREED DEVICE 0 0x100000 0 3 4 1000
		MADE MANAGED 0 0x100000 65536 4 3 2000 3
		MADE DEVICE 0 0x900000 65536 5 4 2010 3
		CONTEXT_END NONE 0 0 0 6 1 4000 3
		record 2 10000 1
		START 0 1023 0 0 0
		MADE MANAGED 0 0x100000 65536 1 5 10
	X
}

migrations() {
	cat <<-'X'
		migrate 1 TO_DEVICE 10500 10 0x100000 4096 70 1023 0
		migrate 1 TO_HOST 10600 12 0x10f000 8192 71 0 1023
		migrate 1 TO_HOST 11500 13 0x10f000 16384 72 0 1023
		migrate 1 TO_DEVICE 12500 11 0x100000 8192 73 1023 1
		migrate 1 BETWEEN 12550 11 0x100000 2048 74 1 0
		migrate 1 GPU_FAULTS 12600 0 0x900010 3 75 0 1023
		migrate 1 TO_DEVICE 15000 1 0x110000 512 76 1023 0
		migrate 1 TO_DEVICE 15000 1 0x100000 256 77 1023 0
		migrate 2 CPU_FAULT 12600 0 0x100000 1 0 1023 1023
		migrate 2 THRASHING 12700 0 0x100000 65536 1 1023 1023
	X
}

# rows FILE [FILTER...]: prints "TO_GPU TO_HOST BETWEEN GPU_FAULTS CPU_FAULTS THRASHING PATH" of
# each row
rows() {
	xpumerge -i "$@" --table memory_migrations --csv 2>log | awk -F, 'NR > 1 {
		sub(/.*api 1:/, "", $10); sub(/\].*/, "", $10); sub(/.*\[/, "", $10)
		print $2, $3, $4, $7, $8, $9, $10 }' | sort
}

{ events; migrations; } | "$XPU_BUILD/gen_memory" all.data
cat >expected <<-'X'
	0 0 0 0 1 65536 45
	0 16384 0 0 0 0 42
	0 8192 0 0 0 0 in managed memory of several call paths
	256 0 0 3 0 0 in no managed memory whose allocation is recorded
	4096 0 0 0 0 0 41
	512 0 0 0 0 0 42
	8192 0 2048 0 0 0 43
X
# Path 42 has one row for both of its migrations.
awk '$7 == 42 { a += $1; b += $2; next } { print } END { print a, b, "0 0 0 0 42" }' expected |
	sort >all
is "$(rows all.data)" "$(cat all)" \
	"each migration and fault is under the call path that owned the address when it happened"
like "$(cat log)" ' lost 0$' "nothing is lost"
is "$(rows all.data --from 10us --to 11us)" "0 16384 0 0 0 0 42" \
	"--from and --to: only migrations that began between them are shown"
is "$(rows all.data --from 11590ns --to 11650ns)" \
	"0 0 0 0 1 0 45
0 0 0 3 0 0 in no managed memory whose allocation is recorded" \
	"--from and --to: faults without an allocation are shown, too"
is "$(rows all.data --device 1)" "8192 0 0 0 0 0 43" \
	"--device 1: only migrations to GPU 1 are shown"
is "$(rows all.data --pid 102)" "0 0 0 0 1 65536 45" "--pid: only this process's memory is shown"
cp all.data again.data
rows all.data again.data >serial
is "$(awk '{ print $1 / 2, $2 / 2, $3 / 2, $4 / 2, $5 / 2, $6 / 2 }' serial | sort)" \
	"$(cut -d ' ' -f 1-6 all | sort)" "two recordings: each row has the sum of both"
is "$(rows all.data again.data -j 2)" "$(cat serial)" \
	"two recordings, -j 2: the table is the same as with -j 1"
like "$(xpumerge all.data 2>/dev/null)" \
	'^managed memory: 12.8 KiB moved to GPUs, 24.0 KiB to the host, 2.00 KiB between GPUs, 3 page faults' \
	"the summary has the total of moved bytes and of page faults"

# The page stores the table as text, so names in it are never markup.
xpumerge all.data --memory peak -o page.html 2>/dev/null
like "$(grep -o '"tables":\["[^"]*"' page.html)" \
	'^"tables":\["page migrations of managed memory, .*in no managed memory' \
	"the html page has the table"
xpumerge "$XPU_SRC/test/t1/corpus/2.11.xpu" -o none.html 2>/dev/null
is "$? $(grep -c '"tables":.*page migrations' none.html)" "0 0" \
	"without migrations the html page has no table of migrations"

for jobs in 1 2; do
	rm -rf tables
	xpumerge all.data again.data -j $jobs -o tables/ 2>/dev/null
	"$XPU_BUILD/unparquet" "$(find tables/migrations -name '*.parquet' | sort | head -n 1)" |
		cut -f 2- | sed 1d
done >table
is "$(grep -c . table)" 20 "-j 1, -j 2: the table for query engines has a row for each migration"
is "$(sort table | uniq -c | awk '$1 != 2')" "" "-j 1 and -j 2 write the same rows"
is "$(sed -n 2,4p table | tr '\t' ' ')" \
	"to_host 10600 12 0 NULL 1110016 8192 NULL several NULL
to_host 11500 13 0 NULL 1110016 16384 NULL known 2
to_device 12500 11 NULL 1 1048576 8192 NULL known 3" "the table has times, GPUs and paths"

# A free whose event is missing: the next allocation has the same address, or part of the memory.
{
	events | grep -v '^FREED\|^CONTEXT_END' | sed 's/^MADE MANAGED 0 0x100000 65536 4/&/'
	migrations
} | sed '/^MADE MANAGED 0 0x100000 65536 4/s/65536/131072/' | "$XPU_BUILD/gen_memory" unfreed.data
is "$(rows unfreed.data | grep -c several)" 1 \
	"missing FREED events: only pages at a border have several call paths"
is "$(rows unfreed.data | grep ' 43$')" "8960 0 2048 0 0 0 43" \
	"missing FREED events: pages belong to the last allocation of their address"

{
	events
	migrations | sed -e '/ 74 /d; / 75 /d' -e 's/TO_DEVICE 15000 1/TO_DEVICE 0 0/'
	cat <<-'X'
		migrate 2 TO_DEVICE 12800 7 0x100000 0xffffffffffffffff 2 1023 0
		migrate 2 TO_DEVICE 0xfffffffffffffff0 32 0x100000 64 3 1023 0
		migrate 2 TO_DEVICE 12900 7 0xfffffffffffff000 65536 4 1023 0
		migrate 2 77 12900 7 0x100000 65536 5 1023 0
		migrate 2 TO_DEVICE 12900 7 0x100000 1 2 5000 40000
	X
} | "$XPU_BUILD/gen_memory" bad.data
rows bad.data >got
like "$(cat log)" '^ +2 device records that the shim sent are not in the recording$' \
	"missing record numbers are counted as lost records"
like "$(cat log)" '^ +2 device records without valid times' "records without a time are counted"
is "$(grep -c 'at a time that is not known' got)" 1 "migrations without a time have a row"
is "$(grep ' in no managed' got | cut -d ' ' -f 1)" 65536 \
	"pages at the end of the address space are in no allocation"
like "$(cat log)" ' 1 record of types that this version does not know: left out$' \
	"migrations of an unknown kind are counted"
like "$(cat log)" ' event of memory that is impossible' "an impossible size is counted"
xpumerge -i bad.data --strict >/dev/null 2>&1
is $? 1 "--strict: xpumerge fails if records were lost"

# Without any memory event, no allocation is known.
{ echo 'proc 1'; migrations | grep '^migrate 1'; } | "$XPU_BUILD/gen_memory" none.data
is "$(rows none.data)" "13056 24576 2048 3 0 0 in no managed memory whose allocation is recorded" \
	"without memory events, no migration has a path"
done_testing
