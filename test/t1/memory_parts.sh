#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each amount of memory has the same value in the summary, the tables, folded stacks, the page,
# pprof, timelines and Parquet: at the peak, at a given moment, and when memory ran out. Totals are
# the sums of the named parts.
. "$XPU_SRC/test/lib/tap.sh"

# Two processes use two devices. They have graphs, pools, unnamed memory, blocks in segments, and
# memory outside of allocators.
start() {
	cat <<-'X'
		proc 1
		proc 2
		rank 1 0
		rank 2 3
		device 1 0 7
		device 1 1 8
		device 2 0 7
		device 2 1 8
		record 1 10000 1
		START 0 1023 0 0 0
		MADE DEVICE 0 0x10000000 8388608 0 1
		MADE BLOCK 0 0x10000000 3000001 1 2 10
		MADE DEVICE 0 0x1000 70002 2 3 20
		MADE MANAGED 1 0x2000 500003 3 3 30
		MADE PINNED 1023 0x3000 4004 4 4 40
		LEVEL UNUSED 0 0 60005 5 0 50
		LEVEL UNUSED 1 0 1006 6 0 60
		LEVEL GRAPHS 0 0 20007 7 0 70
		LEVEL REST 0 90000000 9000008 8 0 80
		LEVEL REST 1 90000000 1000009 9 0 90
	X
}
{
	start
	cat <<-'X'
		record 2 11000 1
		START 0 1023 0 0 0
		MADE DEVICE 1 0x10000000 4194304 0 1
		MADE BLOCK 1 0x10000000 2000010 1 2 10
		MADE BLOCK 1 0x10300000 100011 2 5 20
		FREED BLOCK 1 0x10000000 2000010 3 2 1000
		FAILED DEVICE 1 5000 7000012 4 6 1010 2
		record 1 12500 11
		MADE DEVICE 0 0x5000 1000013 0 6
		FREED DEVICE 0 0x1000 0 1 3 10
		LEVEL REST 0 90000000 11000014 2 0 20
	X
} | "$XPU_BUILD/gen_memory" all.data

# For GPU 0, GPU 1 and the host: the bytes of blocks, other memory, fragmentation, unused memory,
# and the rest.
used0=$((3000001 + 70002 + 20007)) reserved0=$((8388608 + 70002 + 20007 + 60005))
used1=$((500003 + 2000010 + 100011)) reserved1=$((500003 + 4194304 + 1006))
cat >peak <<X
"GPU 0" 3000001 $((70002 + 20007)) $((8388608 - 3000001)) 60005 $((9000008 - reserved0))
"GPU 1" $((2000010 + 100011)) 500003 $((4194304 - 2000010 - 100011)) 1006 $((1000009 - 500003 - 1006))
"host" 0 4004 0 0 0
X
# The first block on GPU 1 is freed.
sed 's/^"GPU 1" [0-9]* \([0-9]*\) [0-9]*/"GPU 1" 100011 \1 4094293/' peak >failed
rest=$((11000014 - 8388608 - 60005 - 1020020))
sed "s/^\"GPU 0\".*/\"GPU 0\" 3000001 1020020 5388607 60005 $rest/" failed >later

# parts FILE: prints the parts from folded stacks, in the format of the file peak
parts() {
	awk '{
		line = $0; sub(/ [0-9]+$/, "", line); sub(/.*\[/, "", line)
		at = line ~ /^Host/ ? "\"host\"" : "\"GPU " substr(line, 4, 1) "\"";
		sub(/.*\]/, "", line)
		part = line == "block" ? 1 : line == "fragmentation" ? 3 : line == "unused" ? 4 : \
			line == "rest" ? 5 : 2
		seen[at] = 1; sum[at, part] += $NF
	} END { for (at in seen) print at, sum[at, 1] + 0, sum[at, 2] + 0, sum[at, 3] + 0,
	sum[at, 4] + 0, sum[at, 5] + 0
	}' "$1" | LC_ALL=C sort
}

total() {
	awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$@"
}

# page_total: prints the sum of all values that the page draws
page_total() {
	python3 -c 'import json, re, sys
data = json.loads(re.search("id=\"xpu-data\"[^>]*>(.*?)</script>", sys.stdin.read(), re.S)[1])
print(sum(data["cells"]["values"][0]["bytes"]))'
}

# held PARTS: prints the sum of all parts that are held
held() {
	awk '{ for (i = NF - 4; i <= NF; i++) sum += $i } END { printf "%.0f\n", sum }' "$1"
}

# agree NAME PARTS ARGS...: checks that each output of xpumerge with ARGS has the parts in the file
# PARTS, and their sums
agree() {
	name=$1 truth=$2
	shift 2
	xpumerge "$@" -f folded 2>/dev/null >out.folded
	is "$(parts out.folded)" "$(cat "$truth")" \
		"$name: folded stacks have each part of the memory"
	is "$(total out.folded)" "$(held "$truth")" \
		"$name: the parts in folded stacks add up to all held memory"
	xpumerge "$@" -f html 2>/dev/null >out.html
	is "$(page_total <out.html)" "$(held "$truth")" \
		"$name: the parts in the page add up to all held memory"
	if command -v protoc >/dev/null 2>&1; then
		xpumerge "$@" -f pprof 2>/dev/null | gzip -dc |
			protoc --decode=perftools.profiles.Profile \
			-I"$XPU_SRC/third_party/pprof" "$XPU_SRC/third_party/pprof/profile.proto" |
			awk '/^sample \{/ { n = 0 } $1 == "value:" && ++n == 4' >out.pprof
		is "$(total out.pprof)" "$(held "$truth")" \
			"$name: pprof's inuse_space equals all held memory"
	fi
	is "$(xpumerge "$@" --table memory_holders --csv 2>/dev/null |
		awk -F, 'NR > 1 { sum += $2 } END { printf "%.0f", sum }')" \
		"$(held "$truth")" "$name: the table of holders adds up to all held memory"
	xpumerge "$@" --table memory_moments --csv 2>/dev/null >moments.csv
	is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } {
		print $c["device"], $c["blocks"] + 0, $c["outside"] + 0, $c["fragmentation"] + 0,
		$c["unused"] + 0, $c["rest"] + 0
		}' moments.csv | LC_ALL=C sort)" "$(cat "$truth")" \
		"$name: the table of moments has each part"
	is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		{ print $c["device"], $c["used"] + 0, $c["reserved"] + 0, $c["held"] + 0 }' \
		moments.csv | LC_ALL=C sort)" \
		"$(awk '{ at = NF - 4; name = at == 3 ? $1 " " $2 : $1; used = $at + $(at + 1)
			reserved = used + $(at + 2) + $(at + 3);
			print name, used, reserved, reserved + $NF }' "$truth")" \
		"$name: the table of moments has the sums of the parts"
	xpumerge "$@" --table memory_moments --json 2>/dev/null >moments.json
	is "$(tr ',' '\n' <moments.json |
		awk -F: '/"held"/ { sum += $2 } END { printf "%.0f", sum }')" "$(held "$truth")" \
		"$name: JSON has all held memory"
}
agree "peak" peak -i all.data --memory peak
agree "when memory was refused" failed -i all.data --memory live --at failed
agree "at a moment" later -i all.data --memory live --at 11600ns
is "$(xpumerge all.data --memory live --at 10500ns,11015ns,11600ns --table memory_moments \
	--csv 2>/dev/null |
	awk -F, '$1 == 11600' | LC_ALL=C sort)" "$(sed 1d moments.csv | LC_ALL=C sort)" \
		"three moments: the last moment has its parts"
is "$(xpumerge all.data --table memory_failures --csv 2>/dev/null |
	awk -F, 'NR == 2 { print $4, $5 }')" "$((100011 + 500003)) $((500003 + 4194304 + 1006))" \
		"the table of failures has the used and reserved bytes of the device"

# ---- the first lines, with or without --memory

# human BYTES: prints BYTES in human-readable form
human() {
	awk -v n="$1" 'BEGIN {
		split("B KiB MiB GiB", unit, " ")
		for (i = 1; n >= 1023.5; i++) n /= 1024
		printf i == 1 ? "%d %s" : n < 9.995 ? "%.2f %s" : n < 99.95 ? "%.1f %s" : "%.0f %s",
		n, unit[i] }'
}
rest=$((9000008 - reserved0 + 1000009 - 500003 - 1006))
fragmentation=$((8388608 - 3000001 + 4194304 - 2000010 - 100011))
all=$((reserved0 + reserved1 + rest + 4004)) used=$((used0 + used1))
is "$all" "$(held peak)" "the expected parts add up to all held memory"
expected="memory: at most $used bytes ($(human \
	$used)) of GPU memory were used, 0.000 s after the start
held then: $all bytes ($(human $all)) = $(human $((reserved0 + reserved1))) reserved + $(human \
	$rest) rest of the devices\
 + $(human 4004) of the host; reserved = $(human $used) used + $(human \
 $fragmentation) fragmentation\
 + $(human $((60005 + 1006))) unused in pools; used = $(human \
 $((3000001 + 2000010 + 100011))) in blocks\
 + $(human $((70002 + 20007 + 500003))) outside of allocators
largest holder then: 3000001 bytes ($(human 3000001)): 0x14000 > [GPU0_Memory]block"
for view in "" "--memory peak" "--memory live --at failed"; do
	# shellcheck disable=SC2086 # words
	is "$(xpumerge all.data $view 2>/dev/null |
		sed 's/: [^:]* > \(\[GPU0_Memory\]block\)$/: 0x14000 > \1/' |
		grep '^memory: at\|^held \|^largest')" "$expected" \
		"the first lines name the parts, $view"
done
xpumerge all.data -f html 2>/dev/null >plain.html
for part in used=$used blocks=5100022 outside=$((used - 5100022)) \
	reserved=$((reserved0 + reserved1)) \
	fragmentation=$fragmentation unused=$((60005 + 1006)) rest=$rest host=4004 held=$all \
	bytes=$used; do
	like "$(grep -o '"peak":{[^}]*' plain.html)" "\"${part%=*}\":${part#*=}[,}]?" \
		"the page shows ${part%=*} at the peak"
done
like "$(xpumerge all.data --memory peak --table memory_devices 2>/dev/null)" \
	"^ *$(human $((used0 + 1000013))) .* GPU 0" "the table for people uses the page's units"

# ---- each device separately, and over time

for gpu in 0 1; do
	xpumerge all.data --memory peak --device $gpu -f folded 2>/dev/null >device.folded
	is "$(parts device.folded | awk '/GPU/ { print $3 + $4 }')" \
		"$(xpumerge all.data --table memory_devices --csv 2>/dev/null |
		awk -F, "/GPU $gpu/ { print \$1 }")" \
		"GPU $gpu: the used bytes at its peak equal the table of devices"
	is "$(total device.folded)" \
		"$(xpumerge all.data --memory peak --device $gpu --table memory_moments \
		--csv 2>/dev/null |
		awk -F, 'NR > 1 { sum += $(NF - 1) } END { printf "%.0f", sum }')" \
			"GPU $gpu: all memory held at its peak equals the table of devices"
done
xpumerge all.data --memory peak --device 0,1 -f folded 2>/dev/null >devices.folded
is "$(xpumerge all.data --memory peak --device 0,1 --table memory_holders --csv 2>/dev/null |
	awk -F, 'NR > 1 { sum += $2 } END { printf "%.0f", sum }')" "$(total devices.folded)" \
	"each device at its own peak: the table of holders equals the folded stacks"
like "$(xpumerge all.data --device 0,1 2>/dev/null)" \
	"^held at the peak of each device: $(total devices.folded) bytes" \
	"each device at its own peak: the summary has the sum of all devices"
# rank NUMBER: prints the kinds of memory that are held at the end
rank() {
	xpumerge all.data --memory live --rank "$1" -f folded 2>/dev/null | sed 's/.*\]//' | sort |
		paste -sd, -
}
is "$(rank 3)" "block 100011,fragmentation 4094293" "--rank keeps only this rank's memory"
is "$(rank 0)" "block 3000001,device 1000013,fragmentation 5388607,managed 500003,pinned 4004" \
	"--rank 0 keeps only rank 0's memory"
xpumerge all.data -f chrome 2>/dev/null >all.json
for what in used reserved; do
	is "$(python3 -c 'import json, sys
events = [e for e in json.load(open("all.json"))["traceEvents"]
          if e["ph"] == "C" and "memory '$what'" in e["name"]]
most = {}
for e in events:
    most[e["name"], e["pid"]] = max(most.get((e["name"], e["pid"]), 0), *e["args"].values())
print(*sorted(most.values()))')" \
"$(xpumerge all.data --table memory_devices --csv 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		/GPU/ { print $c["'$what'_peak"] }' | sort -n | paste -sd' ' -)" \
		"timelines: the largest $what of each device equals its peak"
done

# ---- events in Parquet, up to the peak

xpumerge all.data -o tables/ 2>/dev/null
# shellcheck disable=SC2046 # several files
"$XPU_BUILD/unparquet" $(find tables/allocations -name '*.parquet') | awk -F'\t' -v gpu=0 '
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["time_ns"] > 11020 { next }
	$c["what"] == "made" { sum[$c["space"]] += $c["bytes"] }
	$c["what"] == "level" && $c["space"] != "rest" { sum[$c["space"]] += $c["bytes"] }
	END { print sum["block"], sum["device"] + sum["managed"] + sum["graphs"] + sum["unused"],
	sum["pinned"] }' >events
is "$(cat events)" "5100022 $((reserved0 + reserved1)) 4004" \
	"Parquet has the blocks, the reserved bytes and the host's memory at the peak"

# ---- several recordings, and one recording of a late attach

{ echo "start 900000"; start | sed 's/ 10000 / 910000 /'; } | "$XPU_BUILD/gen_memory" later.data
for files in "all.data later.data" "later.data all.data"; do
	# shellcheck disable=SC2086 # several files
	xpumerge $files --memory peak -f folded 2>/dev/null >both.folded
	# shellcheck disable=SC2086 # several files
	like "$(xpumerge $files 2>/dev/null)" \
		"^held at the peaks of the recordings: $(total both.folded) bytes" \
		"$files: the first line has the memory that both recordings held at their peaks"
done
{ echo "proc 1"; cat <<-'X'; } | "$XPU_BUILD/gen_memory" late.data
	record 1 10000 1
	START 0 1023 0 1 0
	MADE DEVICE 0 0x200000 2097152 0 1
	LEVEL REST 0 100000000 22097252 1 0 10
	MADE BLOCK 0 0x200000 1000 2 2 20
	TOTALS BLOCK 0 15001000 22097152 3 0 20
	MADE BLOCK 0 0x90000000 3000000 4 2 30
	FREED BLOCK 0 0x80000000 100000 5 2 40
X
for at in 9015 9025 9035 9050; do
	is "$(xpumerge late.data --memory live --at ${at}ns -f folded 2>/dev/null | total)" \
		22097252 "attached late, at $at ns: all memory that CUDA reports as used is shown"
done
# A new listener receives START again, which may come before events with lower numbers.
{ echo "proc 1"; cat <<-'X'; } | "$XPU_BUILD/gen_memory" again.data
	record 1 10000 1
	START 0 1023 0 1 0
	START 0 1023 0 1 2 0 50
	MADE DEVICE 0 0x200000 2097152 0 1 10
	MADE DEVICE 0 0x900000 1000000 1 1 20
X
for at in 9005:0 9015:2097152 9025:3097152 9055:3097152; do
	is "$(xpumerge again.data --memory live --at ${at%:*}ns -f folded 2>/dev/null | total)" \
		"${at#*:}" "START twice: at ${at%:*} ns, all memory allocated so far is live"
done
done_testing
