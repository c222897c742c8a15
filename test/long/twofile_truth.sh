#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings in two files whose truth is known: nothing that is called certain is wrong, but for one in 1000, and
# nothing is invented.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/pairs.sh"
pairs_truth 2 300
pairs_waits 101 50
done_testing
