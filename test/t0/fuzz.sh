#!/bin/sh
# SPDX-License-Identifier: MIT
# The fuzzers compile. They run for minutes, so they are not run here.
. "$XPU_SRC/test/lib/tap.sh"
command -v clang >/dev/null || skip_all "clang is missing"
for file in "$XPU_SRC"/test/fuzz/*.c; do
	clang -std=gnu11 -D_GNU_SOURCE -fsyntax-only -I"$XPU_SRC/bpf" -I"$XPU_SRC/record" \
		-I"$XPU_SRC/lib" -I"$XPU_SRC/merge" \
		-I"$XPU_SRC/loader" -I"$XPU_SRC/test/lib" -I"$XPU_BUILD/gen" "$file" >log 2>&1
	ok $? "$(basename "$file")" || diag "$(grep error: log)"
done
done_testing
