#!/bin/sh
# SPDX-License-Identifier: MIT
# Tier t4: tests that need a real GPU. Run them with `make check-gpu`, or with TREE= for a portable
# tree. Without prove (on a bare GPU machine), the script counts the results itself. Arguments: the
# tests to run; default: all tests.

cd "$XPU_SRC" || exit 1
[ $# -gt 0 ] || set -- test/gpu/t4_*.sh
if command -v prove >/dev/null; then
	exec prove --timer --exec 'sh test/lib/run.sh' "$@"
fi

status=0
for t; do
	echo "== $t"
	sh test/lib/run.sh "$t" || status=1
done
[ $status = 0 ] && echo "PASS" || echo "FAIL"
exit $status
