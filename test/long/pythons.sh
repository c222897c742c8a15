#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python tests, with every CPython on this machine. In t3 these tests use two CPythons: the
# first one that is found, and the newest.
# timing
. "$XPU_SRC/test/lib/tap.sh"
[ -z "$XPU_SAN" ] || skip_all "not with sanitizers in Python"
need root bpf shim

export XPU_PYTHONS=every
for test in python sample_python off_python; do
	mkdir "$test"
	(cd "$test" && sh "$XPU_SRC/test/t3/$test.sh" >out 2>err)
	ok $? "$test.sh passes with $(grep -c . "$test/pythons") Pythons" ||
		diag "$(grep '^not ok' -A 3 "$test/out"; tail -n 5 "$test/err")"
done
done_testing
