# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# merges.sh - merges with a known result, or with a known error: . "$XPU_SRC/test/lib/merges.sh"

# same NAME WANTED OPTIONS...: checks that the folded stacks equal WANTED, in ns
# same_bytes NAME WANTED OPTIONS...: checks that the folded stacks equal WANTED, in bytes
same() {
	same_in ns "$@"
}
same_bytes() {
	same_in bytes "$@"
}
same_in() {
	unit=$1 name=$2 wanted=$3
	shift 3
	xpumerge "$@" --waits -f folded --unit "$unit" -o out.folded 2>log
	is $? 0 "$name: exit status 0" || diag "$(cat log)"
	LC_ALL=C sort "$wanted" >want
	LC_ALL=C sort out.folded | diff want - >diff
	ok $? "$name" || diag "$(head -n 5 diff; cat log)"
}

# fails NAME REGEX ARGS...: checks that xpumerge fails with one line that matches REGEX
fails() {
	name=$1 regex=$2
	shift 2
	xpumerge "$@" --waits -f folded >out 2>log
	is $? 2 "$name: exit status 2"
	like "$(cat log)" "$regex" "$name: the message says why"
	is "$(wc -l <log)" 1 "$name: prints one line"
}

# apis TABLE OPTIONS...: prints the numbers in the table's column "api", and how often they occur
apis() {
	table=$1
	shift
	xpumerge "$@" -o tables/ 2>log
	# shellcheck disable=SC2046 # file names without blanks
	"$XPU_BUILD/unparquet" $(find "tables/$table" -name '*.parquet') | awk -F'\t' '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "api") col = i; next }
		{ n[$col]++ } END { for (api in n) printf "%s: %d\n", api, n[api] }' | sort |
		tr '\n' ' '
	rm -rf tables
}
