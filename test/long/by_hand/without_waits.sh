#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without GPU waits, off-CPU times, thread lifetimes and idle gaps.
# shellcheck disable=SC2034 # without.sh uses them
features="waits"
words="gen_windows|wait for the device|waits|waited|idle|off_cpu|--off-cpu|XPU_RECORD_(WAIT|OFF|OFF_CPU|ACCOUNT)"
. "$XPU_SRC/test/lib/without.sh"
