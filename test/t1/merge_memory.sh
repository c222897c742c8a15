#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Merging streams its input: memory grows with the launches in flight, not with all launches. Two
# million launches, with device records long after or before them, must fit into the size of the
# recording plus 48 MB, which is less than 24 bytes per launch. If a recording consists of packed
# blocks, its size is the unpacked size.
. "$XPU_SRC/test/lib/tap.sh"

launches=2000000

# limited NAME GEN_ARGS...: merges a recording with limited address space, and returns the merge's
# status
limited() {
	name=$1
	shift
	"$XPU_BUILD/gen_data" -o x.data --launches $launches --threads 8 "$@" || return
	# shellcheck disable=SC3045 # dash has it
	(ulimit -v $(($(stat -c %s x.data) / 1024 + 48 * 1024)) &&
		"$XPUMERGE" -i x.data -f folded --unit count -o x.folded 2>"$name.log")
}

[ -n "${XPU_SAN:-}" ] && skip_all "sanitizers need address space of their own"
for order in "near" "far --window 50000" "early --window 50000 --early" \
		"by_thread --thread-batch 2048" "blocks --window 50000 --blocks 262144" \
		"large_blocks --blocks 8000000"; do
	# shellcheck disable=SC2086
	limited $order
	is $? 0 "$order: the merge succeeds" || diag "$(cat "$name.log")"
	like "$(cat "$name.log")" "^launches $launches matched $launches unmatched 0 lost 0" \
		"$order: all launches are matched"
	is "$(awk '{ n += $NF } END { print n }' x.folded)" $launches \
		"$order: all launches are in the result"
done

# The limit works: it is too low if all launches are in flight at once, and a message says so.
! limited all --window $launches
ok $? "all launches in flight: the merge needs more memory than the limit"
like "$(cat all.log)" 'memory' "all launches in flight: a message says that memory is short"
done_testing
