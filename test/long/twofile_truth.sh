#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings in two files whose right matches are known. At most one in 1000 matches that are called
# certain is wrong, and nothing is invented.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/pairs_checks.sh"
pairs_truth 2 300
pairs_waits 101 50
pairs_search 2 1000
done_testing
