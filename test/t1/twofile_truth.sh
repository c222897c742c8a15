#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Two-file recordings whose right matches are known. At most one in 1000 matches that are called
# certain is wrong, and nothing is invented. test/long/twofile_truth.sh has more such recordings.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/pairs_checks.sh"
pairs_truth 1 120
pairs_waits 1 6
pairs_search 1 60
pairs_families
pairs_clocks

# In ordinary recordings, at least 8 of 10 launches get their own stack, and at most 1 of 1,000
# matches is wrong.
truth_row() {
	[ $(($3 * 1000)) -le $(($2 + $3)) ] && [ $(($2 * 10)) -ge $((($2 + $3 + $4 + $5) * 8)) ] &&
		[ "$7" -le "$6" ]
	ok $? "an ordinary recording ($1): $2 right, $3 wrong, $4 uncertain, $5 unmatched; $7 of $6 launches"
}
pairs_ordinary
done_testing
