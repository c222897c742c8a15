#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# pairs.sh [NR [SEED]]: imports recordings that consist of two files, and whose launches are known.
# Prints the number of launches that xpumerge pairs rightly and with certainty, wrongly but with
# certainty, and without certainty. Also prints how many launches xpumerge invents. More than one
# wrong launch in 1000 is marked. NR recordings (300) are made at random. XPU_PAIRS_MERGE names
# another xpumerge, for example an older one.
. "$XPU_SRC/test/lib/pairs_checks.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

truth_row() {		# truth_row KEYS RIGHT WRONG UNCERTAIN NONE SEEN LAUNCHES
	invented=$(($7 > $6 ? $7 - $6 : 0)) mark=
	[ $(($3 * 1000)) -le $(($2 + $3)) ] || mark=WRONG
	[ "$invented" = 0 ] || mark="$mark INVENTED"
	printf '%7s %7s %9s %8s %-6s %s\n' "$2" "$3" "$4" "$invented" "$mark" "$1"
}

empty_row() {		# empty_row KEYS MESSAGES
	printf '%7s %7s %9s %8s %-6s %s\n' - - - - '' "$1"
}

row() {			# row NAMED KEYS RIGHT WRONG UNCERTAIN NONE SEEN
	truth_row "$2" "$3" "$4" "$5" "$6" "$7" \
		"$(sed -n 's/^launches \([0-9]*\) .*/\1/p' pairs.log)"
}

printf '%7s %7s %9s %8s %-6s %s\n' right wrong uncertain invented '' recording
echo 'of ordinary programs:'
pairs_ordinary
echo 'of which answers were wrong once, or launches invented:'
pairs_families
echo 'whose threads wait in their calls:'
pairs_waits 1 5
echo 'the table of the tests:'
pairs_table
echo 'at random:'
pairs_truth "${2:-3}" "$((${1:-300} / 3))"
pairs_search "${2:-3}" "$((${1:-300} * 2 / 3))"
