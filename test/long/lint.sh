#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint finds no fault in the tree. lint_faults.sh tests that make lint finds a fault of each
# kind.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "${XPU_SAN:-}" ] || skip_all "sanitizers change nothing of the sources"

export ESLINT="$XPU_BUILD/eslint/node_modules/.bin/eslint"
parts="format columns cppcheck shellcheck javascript eslint python perl mandoc comments"
for part in $parts; do
	sh "$XPU_SRC/scripts/lint/run.sh" "$part" >log 2>&1
	status=$?
	if [ $status = 0 ] && grep -q 'NOT RUN' log; then
		skip "lint $part" "$(sed -n 's/.*NOT RUN:* //p' log)"
		continue
	fi
	is "$status $(grep -c ': fine$' log)" "0 1" "lint $part: no fault is found" ||
		diag "$(head -n 20 log)"
done
done_testing
