#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A recording that is split at random times gives the same results as the recording in one file, in
# each table and in each kind of folded stacks, with and without a time window.
. "$XPU_SRC/test/lib/tap.sh"
need python3

export PYTHONDONTWRITEBYTECODE=1
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
	python3 "$XPU_SRC/test/lib/random_splits.py" "$XPU_BUILD" $seed >out 2>log
	is "$? $(grep -c DIFFERS out)" "0 0" "seed $seed: $(head -n 1 out)" || diag "$(cat out log)"
done
done_testing
