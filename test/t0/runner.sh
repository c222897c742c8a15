#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh keeps three facts about each test for the end of make check: its duration, the reason why
# it was skipped, and the checks that failed.
. "$XPU_SRC/test/lib/tap.sh"

mkdir src
printf 'echo "ok 1 # SKIP no such device"\necho 1..1\nsleep 0.3\n' >src/one.sh
printf 'echo "not ok 1 - wrong"\necho 1..1\necho why >&2\nexit 1\n' >src/two.sh
for name in one two; do
	# shellcheck disable=SC2097,SC2098 # the path of run.sh uses the old XPU_SRC
	XPU_SRC=$PWD/src XPU_TEST_TIMES=$PWD/times XPU_TEST_NOTRUN=$PWD/notrun XPU_TEST_LOGS='' \
		XPU_TEST_FAILED=$PWD/failed sh "$XPU_SRC/test/lib/run.sh" "$PWD/src/$name.sh" \
		>$name.out 2>&1
	echo $? >$name.status
done
is "$(cat one.status two.status | tr '\n' ' ')" "0 1 " "run.sh has the test's exit status"
is "$(awk '{ print $2 }' times | tr '\n' ' ')" "one.sh two.sh " "each test has a line in the times"
awk '$2 == "one.sh" && $1 >= 0.3 && $1 < 60 { found = 1 } END { exit !found }' times
ok $? "a line in the times has the seconds that the test took" || diag "$(cat times)"
is "$(cat notrun)" "NOT RUN: one.sh: no such device" "a skipped test is listed with its reason"
is "$(grep -c '^# stderr: why' two.out)" 1 "a failing test's stderr is shown"
like "$(cat two.out)" '^two.sh: not ok 1 - wrong$' "the check that failed is shown"
is "$(cat failed)" "two.sh: not ok 1 - wrong
two.sh: stderr: why" "failed checks are listed with the end of the test's stderr"

# ---- a failed check names its file and line

cat >src/three.sh <<'END'
. "$XPU_SRC/test/lib/tap.sh"
what="a (b) [c]"
is 1 1 "right"
is 1 2 "$what: one + 1 is $((1 + 1)), says \"he\" of ${what}"
like abc \
	xyz "two"
[ 1 = 2 ]
ok $? "three: $(echo three)" || diag "so"
done_testing
END
XPU_TEST_TIMES='' XPU_TEST_NOTRUN='' XPU_TEST_LOGS='' XPU_TEST_FAILED='' sh \
	"$XPU_SRC/test/lib/run.sh" "$PWD/src/three.sh" >three.out 2>&1
is "$(grep -o '^# at .*:[0-9, a-z.:]*$' three.out | sed 's|.*/||' | tr '\n' ' ')" \
	"three.sh:4 three.sh:6 three.sh:8 " \
	"a failing check names its file and line" || diag "$(cat three.out)"
done_testing
