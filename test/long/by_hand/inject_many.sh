#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Injects the shim into programs a thousand times (XPU_INJECT_TIMES overrides this): see
# test/t2/inject.c and test/t3/inject.sh. It takes hours.
XPU_INJECT_TIMES=${XPU_INJECT_TIMES:-1000}
export XPU_INJECT_TIMES
. "$XPU_SRC/test/lib/tap.sh"
"$XPU_BUILD/test/t2/inject.t" >t2.log 2>&1
ok $? "injection into programs on the simulated device works" ||
	diag "$(grep -A 1 '^not ok' t2.log)"
diag "$(grep 'stood still' t2.log)"
sh "$XPU_SRC/test/t3/inject.sh" >t3.log 2>&1
ok $? "injection into programs recorded with BPF works" || diag "$(grep -A 1 '^not ok' t3.log)"
done_testing
