#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Several recordings, such as the ranks of a job: the result is the sum of their single results, in
# any order. The memory that xpumerge needs depends on the size of the result, not on the total size
# of the files.
. "$XPU_SRC/test/lib/tap.sh"

nr=8
for i in $(seq 1 $nr); do
	"$XPU_BUILD/gen_data" -o "r$i.data" --launches 8000 --threads 4 --blocks 65536 \
		--paths 4000 --frames 30 --level 1
	xpumerge "r$i.data" -f folded --unit ns -o "r$i.folded" 2>/dev/null
done
files=$(seq -f 'r%g.data' 1 $nr)
# shellcheck disable=SC2086 # several arguments
xpumerge $files -f folded --unit ns -o all.folded 2>log
is $? 0 "exit status 0"
like "$(cat log)" "launches $((nr * 8000)) matched $((nr * 8000)) unmatched 0 lost 0" \
	"the account of launches covers all recordings"
cat r[1-8].folded |
	awk '{ v = $NF; sub(/ [0-9]+$/, ""); n[$0] += v } END { for (i in n) print i, n[i] }' |
	LC_ALL=C sort >sum.folded
LC_ALL=C sort all.folded >sorted.folded
cmp sum.folded sorted.folded
ok $? "the value of each line is the sum of its values in all recordings"
# shellcheck disable=SC2046 # several arguments
xpumerge $(seq -f 'r%g.data' $nr -1 1) -f folded --unit ns -o other.folded 2>/dev/null
cmp all.folded other.folded
ok $? "the order of the recordings changes nothing"
for format in text pprof; do
	# shellcheck disable=SC2086 # several arguments
	xpumerge $files -f $format -o one 2>/dev/null &&
		xpumerge $files -f $format -o two 2>/dev/null
	cmp one two
	ok $? "$format: merging again gives the same output"
done

# The memory that a merge takes.
if [ -n "${XPU_SAN:-}" ] || [ ! -x /usr/bin/time ]; then
	skip "memory" "a sanitizer has the allocator, or time is missing"
else
	peak() {		# peak FILE...: prints the peak memory in KB
		/usr/bin/time -f %M -o peak "$XPUMERGE" -j 2 "$@" -f folded -o out.folded \
			2>/dev/null
		tail -n 1 peak
	}
	one=$(peak r1.data)
	# shellcheck disable=SC2086 # several arguments
	all=$(peak $files)
	[ "$((all * 2))" -le $((one * 4)) ]
	ok $? "memory: $nr recordings take at most twice the memory of one recording" ||
		diag "$all KB, $one KB"
fi
done_testing
