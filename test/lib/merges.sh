# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# merges.sh - merges that have a known result, or fail: . "$XPU_SRC/test/lib/merges.sh"

# same NAME WANTED OPTIONS...: the folded stacks equal WANTED, to the nanosecond
same() {
	name=$1 wanted=$2
	shift 2
	xpumerge "$@" -f folded --unit ns -o out.folded 2>log
	is $? 0 "$name: exit status 0" || diag "$(cat log)"
	LC_ALL=C sort "$wanted" >want
	LC_ALL=C sort out.folded | diff want - >diff
	ok $? "$name" || diag "$(head -n 5 diff; cat log)"
}

# fails NAME REGEX ARGS...: xpumerge fails with one line that matches REGEX
fails() {
	name=$1 regex=$2
	shift 2
	xpumerge "$@" -f folded >out 2>log
	is $? 2 "$name: exit status 2"
	like "$(cat log)" "$regex" "$name: the message says why"
	is "$(wc -l <log)" 1 "$name: prints one line"
}
