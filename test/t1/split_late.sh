#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# xpumerge split with short files: the device work of one graph launch is spread over several files,
# and other device work comes several files before its launch. Each file can be read alone, and no
# file has work without its launch.
. "$XPU_SRC/test/lib/tap.sh"

while read -r name options; do
	rm -f part.*.data
	# shellcheck disable=SC2086 # options
	"$XPU_BUILD/gen_data" -o x.data --launches 60 --threads 2 --blocks 65536 --parts 4 $options
	"$XPUMERGE" split -o part.%n.data x.data
	is $? 0 "$name: exit status 0"
	find . -name 'part.*.data' | sort -V >parts
	while read -r part; do
		"$XPUMERGE" "$part" -f folded --unit ns -o part.folded 2>part.log
		grep -m 1 '^launches' part.log >&3
		cat part.folded
	done <parts 3>accounts |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); ns[$0] += n }
		END { for (i in ns) print i, ns[i] }' |
		sort >sum.folded
	is "$(awk '{ l += $2; m += $4; u += $6 + $8 } END { print (NR > 4), l, m, u }' accounts)" \
		"1 60 60 0" \
		"$name: the $(wc \
		-l <parts) files together have each launch and all of its device work"
	"$XPUMERGE" x.data -f folded --unit ns 2>/dev/null | sort >all.folded
	cmp sum.folded all.folded
	ok $? "$name: the files add up to the recording, to the nanosecond"
done <<'END'
graphs --graph-every 3 --graph-nodes 6
late --early
both --early --graph-every 3 --graph-nodes 6
END
done_testing
