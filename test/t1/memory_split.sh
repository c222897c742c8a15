#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge split cuts recordings with memory events at any place. Together, the files have
# everything that the recording has, and each file is complete. The events are random, and do not
# arrive in the order in which they happened.
. "$XPU_SRC/test/lib/tap.sh"

# random SEED CUTS: prints allocations of each kind by two processes, physical memory that is
# mapped, retained and released, contexts that end, and levels. Events of a process arrive up to 20
# places late. The output has CUTS cuts.
random() {
	awk -v seed="$1" -v cuts="$2" '
	function below(n) { return int(rand() * n) }
	function event(p, text) { line[p, ++nr[p]] = text }
	function make(p, space, address, bytes) {
		event(p, "MADE " space " " below(2) " " address " " bytes " %d " 1 + below(9) \
			" 0 " 1 + below(3))
	}
	function step(p,    what, at) {
		what = below(12); at = below(40) * 65536 + 65536
		if (what < 5) {
			if ((p, at) in live) { event(p, "FREED DEVICE 0 " at " 0 %d 1");
			delete live[p, at] }
			else { make(p, below(2) ? "DEVICE" : "POOL", at, 1 + below(60000));
			live[p, at] = 1 }
		} else if (what == 5) {
			if ((p, "pin", at) in live) { event(p, "FREED PINNED 1023 " at " 0 %d 1");
			delete live[p, "pin", at] }
			else { event(p, "MADE PINNED 1023 " at " " 1 + below(900) " %d 4");
			live[p, "pin", at] = 1 }
		} else if (what < 9) {
			# The memory is unmapped, and it is released if it was not released before.
			if ((p, "map", at) in live) {
				event(p, "FREED MAPPING 0 " at + 1000000000 " 65536 %d 1")
				if (held[p, at]) delete used[p, handle[p, at]]
				for (; held[p, at]; held[p, at]--)
					event(p, "FREED PHYSICAL 0 " handle[p, at] " 0 %d 1")
				delete live[p, "map", at]
			} else {
				for (handle[p, at] = below(8) + 1; (p, handle[p, at]) in used;)
					handle[p, at]++
				make(p, "PHYSICAL", handle[p, at], 65536)
				event(p, "HANDLE MAPPING 0 " handle[p, at] " 0 %d")
				event(p, "MADE MAPPING 0 " at + 1000000000 " 65536 %d 1")
				held[p, at] = 1
				if (below(3) == 0) {
				event(p, "RETAINED PHYSICAL 0 " handle[p, at] " 0 %d 1");
				held[p, at]++ }
				for (; held[p, at] && below(2); held[p, at]--)
					event(p, "FREED PHYSICAL 0 " handle[p, at] " 0 %d 1")
				# If no reference is left, the handle may be used again.
				if (held[p, at]) used[p, handle[p, at]] = 1
				live[p, "map", at] = 1
			}
		} else if (what == 9) {
			event(p, "LEVEL UNUSED " below(2) " 0 " below(100000) " %d 0")
		} else if (what == 10) {
			event(p, "LEVEL REST " below(2) " 1000000000 " below(100000000) " %d 0")
		} else {
			event(p, "FAILED DEVICE 0 55 " below(9999) " %d 2")
		}
	}
	BEGIN {
		srand(seed)
		print "blocks"
		for (p = 1; p <= 2; p++) {
			for (i = 0; i < 400; i++) step(p)
			for (i = 1; i <= nr[p]; i++) { key[p, i] = i + below(20); order[p, i] = i }
			for (i = 2; i <= nr[p]; i++)		# in the order of arrival
				for (k = i; k > 1; k--) {
					if (key[p, order[p, k]] >= key[p, order[p, k - 1]])
						break
					t = order[p, k]; order[p, k] = order[p, k - 1];
					order[p, k - 1] = t
				}
			print "proc", p
		}
		for (p = 1; p <= 2; p++) { print "record", p, 10000, 1; print "START 0 1023 0 0 0" }
		most = nr[1] > nr[2] ? nr[1] : nr[2]
		for (i = 1; i <= most; i++) {
			for (p = 1; p <= 2; p++) {
				if (i > nr[p]) continue
				print "record", p, 10000 + 100 * order[p, i], 1
				printf line[p, order[p, i]] "\n", order[p, i] - 1
			}
			if (cuts && below(most / cuts) == 0) print "cut", 10000 + 100 * i
		}
	}'
}

# moments FILES...: prints the used and reserved bytes of each device at the times $ats
moments() {
	xpumerge "$@" --memory live --at "$ats" --table memory_moments --csv 2>/dev/null | awk -F, '
		$2 ~ /^[0-9]+$/ { used[$1 "," $NF] += $2; reserved[$1 "," $NF] += $3 }
		END { for (at in used) if (used[at] || reserved[at]) print at, used[at],
		reserved[at] }' | sort
}

# With two processes, the rest of a device's memory depends on which process comes first, so this
# rest is not compared.
nr_files=0
for seed in 1 2 3 4 5 6; do
	rm -f file.*
	random $seed 0 | "$XPU_BUILD/gen_memory" whole.data
	random $seed 7 | tee cut | "$XPU_BUILD/gen_memory" cut.data
	xpumerge split -o file <cut.data >split.log 2>&1 ||
		echo "seed $seed: split: $(cat split.log)"
	files=$(ls file.* | sort -t. -k 2n)
	nr_files=$((nr_files + $(echo "$files" | wc -l)))
	# Around each cut: times at which the events of one process have arrived, and the events of
	# the other process have not.
	ats=$(awk '$1 == "cut" { for (ns = -2600; ns < 600; ns += 150) print $2 - 1000 + ns }' cut |
		sort -nu | awk '$1 > 0 && NR <= 250 { print $1 "ns" }' | paste -sd, -)
	moments whole.data >expected
	# shellcheck disable=SC2086 # several files
	moments $files >got
	[ "$(wc -l <got)" -gt 60 ] && cmp -s got expected ||
		{ echo "seed $seed: moments"; diff got expected | head -n 4; }
	for what in leaked live allocated failed peak "live --at failed" "live --at ${ats##*,}"; do
		# shellcheck disable=SC2086 # several words
		xpumerge whole.data --memory $what -f folded 2>whole.log | grep -v 'rest [0-9]*$' |
			sort >expected
		# shellcheck disable=SC2086 # several files
		xpumerge $files --memory $what -f folded 2>merge.log | grep -v 'rest [0-9]*$' |
			sort >got
		cmp -s got expected || { echo "seed $seed: $what"; diff got expected | head -n 4; }
		grep -hE 'events of memory|in progress' merge.log whole.log
	done
done >odd
diag "$nr_files files"
[ $nr_files -ge 30 ]
ok $? "the recording is split into $nr_files files"
is "$(cat odd)" "" \
	"split files: the memory at the end, peak and cuts is the same as in one recording"

# NCCL imports a handle of a peer, maps it, retains it, and releases it twice. Another handle is
# imported twice.
imported() {
	printf '%s\n' blocks 'proc 1' 'record 1 10000 1' 'START 0 1023 0 0 0' \
		'MADE IMPORTED 0 0x25bf7130 0 0 1' 'HANDLE MAPPING 0 0x25bf7130 0 1 1' \
		'MADE MAPPING 0 0x7f0000000000 2097152 2 1' 'RETAINED PHYSICAL 0 0x25bf7130 0 3 1' \
		'MADE IMPORTED 0 0x2602b1d0 0 4 1' 'MADE IMPORTED 0 0x2602b1d0 0 5 1' "$@" \
		'record 1 30000 7' \
		'FREED PHYSICAL 0 0x25bf7130 0 0 1' 'FREED PHYSICAL 0 0x25bf7130 0 1 1' \
		'FREED MAPPING 0 0x7f0000000000 2097152 2 1' 'MADE PHYSICAL 0 0x25bf7130 4096 3 1' \
		'FREED PHYSICAL 0 0x2602b1d0 0 4 1' 'FREED PHYSICAL 0 0x2602b1d0 0 5 1'
}
imported | "$XPU_BUILD/gen_memory" imported.data
imported 'cut 20000' | "$XPU_BUILD/gen_memory" cut.data
xpumerge split -o imported <cut.data >split.log 2>&1
for files in imported.data "imported.1 imported.2"; do
	# shellcheck disable=SC2086 # several files
	is "$(xpumerge $files --memory live -f folded 2>merge.log | sed 's/.*;//')" \
		"[GPU_Memory]physical 4096" \
		"$files: imported memory is not counted, and its handle can be reused"
	unlike "$(cat merge.log)" 'events of memory' \
		"$files: no release of an imported handle counts as impossible" ||
			diag "$(cat merge.log)"
done

# The second process is idle for a long time, and its last event before the cut arrives after the
# cut.
together() {
	cat <<-X
		blocks
		proc 1
		proc 2
		record 1 9000000000 1
		START 0 1023 0 0 0
		MADE DEVICE 0 0x1000 100 0 1
		record 2 9000000000 1
		START 0 1023 0 0 0
		MADE DEVICE 0 0x1000 20 0 1
		record 1 19950000000 1
		MADE DEVICE 0 0x2000 1000 1 2
		$1
		record 2 19800000000 1
		MADE DEVICE 0 0x2000 7 1 2
		record 1 21000000000 1
		FREED DEVICE 0 0x2000 0 2
	X
}
together "cut 20000000000" | "$XPU_BUILD/gen_memory" late.data
together | "$XPU_BUILD/gen_memory" whole.data
xpumerge split -o late <late.data >split.log 2>&1
for at in 5 8.9999999990 9 12 18.9 19 19.1 19.7999999990 19.799999 19.8 19.9 19.949999 19.95 19.97 \
	20 20.5 20.999999 21 22; do
	for files in whole.data "late.1 late.2"; do
		# shellcheck disable=SC2086 # several files
		xpumerge $files --memory live --at $at -f folded 2>/dev/null |
			awk '{ s += $NF } END { printf "%d ", s }'
	done
	echo "at $at"
done >sums
is "$(awk '$1 != $2' sums)$(wc -l <sums)" 19 \
	"an idle process with late events: the same memory as in one recording"
like "$(cat sums)" '1127 1127 at 19.97' \
	"an idle process with late events: at 19.97 s there are 1127 bytes"

# Two recordings: the summary gives the time at which both together held the most memory.
printf '%s\n' 'start 7' 'proc 3' 'record 3 9000000000 1' 'START 0 1023 0 0 0' \
	'MADE DEVICE 0 0x1000 5 0 1' |
	"$XPU_BUILD/gen_memory" beside.data
for files in whole.data "late.1 late.2"; do
	# shellcheck disable=SC2086 # several files
	xpumerge $files beside.data 2>/dev/null | grep '^memory of the'
done | sed 's/.*about \([0-9]*\) bytes.*--at \(.*\)ns$/\1 \2/' >peaks
is "$(paste -sd, - <peaks)" "1132 19949999000,1132 19949999001" \
	"two recordings: the peak is the moment when both together held most"

# The rest of a device stays the same when a process allocates more memory.
"$XPU_BUILD/gen_memory" rest.data <<'X'
blocks
proc 1
record 1 10000 1
START 0 1023 0 0 0
MADE DEVICE 0 0x1000 100 0 1
LEVEL REST 0 1000000 500 1 0
LEVEL UNUSED 0 0 50 2 0
MADE DEVICE 0 0x2000 10000 3 2
cut 11000
cut 12000
X
xpumerge split -o rest <rest.data >split.log 2>&1
for file in rest.1 rest.2 rest.3; do
	xpumerge $file --memory live -f folded 2>/dev/null | awk '/rest [0-9]*$/ { print $NF }'
done >rests
is "$(tr '\n' ' ' <rests)" "400 400 400 " "the rest of a device is the same in each file"

# A segment that has no block when a file begins: the file says that the memory is a segment.
"$XPU_BUILD/gen_memory" empty.data <<'X'
blocks
proc 1
record 1 10000 1
START 0 1023 0 0 0
MADE DEVICE 0 0x10000000 4194304 0 1
MADE BLOCK 0 0x10000000 512 1 2
FREED BLOCK 0 0x10000000 512 2
cut 11000
record 1 11500 4
MADE DEVICE 0 0x40000000 100 0 3
cut 12000
record 1 12500 5
FREED DEVICE 0 0x40000000 0 0
X
xpumerge split -o empty <empty.data >split.log 2>&1
for files in empty.data "empty.1 empty.2 empty.3" empty.2; do
	# shellcheck disable=SC2086 # several files
	xpumerge $files --memory live --at 10600ns -f folded 2>/dev/null | sed 's/.*;//' | sort |
		paste -sd,
done | uniq -c >empties
is "$(sed 's/^ *//' empties)" "3 [GPU_Memory]device 100,[GPU_Memory]fragmentation 4194304" \
	"a segment without blocks is in each file"

# The end of a process comes several files after the ends of its threads. Until then, the process's
# mappings are known.
"$XPU_BUILD/gen_memory" gone.data <<'X'
blocks
proc 1
map 1 1500
record 1 10000 1
START 0 1023 0 0 0
MADE DEVICE 0 0x1000 100 0 1
gone 1 10500
cut 11000
cut 12000
cut 13000
cut 14000
exit 1 14500
cut 15000
cut 16000
cut 17000
X
xpumerge split -o gone <gone.data >split.log 2>&1
for n in 1 2 3 4 5 6 7 8; do
	echo "$(xpumerge dump gone.$n | grep -c ' CALLCHAIN ') $(xpumerge dump gone.$n |
		grep -c ' MMAP ')"
done >got
is "$(tr '\n' ',' <got)" "9 1,9 1,9 1,9 1,9 1,9 1,9 1,0 0," \
	"each file with call paths of a process has the process's mappings"
done_testing
