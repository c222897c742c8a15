#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without GPU waits, off-CPU times, thread lifetimes and idle gaps, and without NVTX
# ranges. The command "ranks" needs ranges, and is left out, too. by_hand/ tests each of the two
# alone.
# shellcheck disable=SC2034 # without.sh uses them
features="waits nvtx"
gone="xpumerge ranks|option nvtx$"
words="gen_windows|wait for the device|waits|waited|idle|off_cpu|--off-cpu|XPU_RECORD_(WAIT|OFF|OFF_CPU|ACCOUNT)|nvtx|--nvtx.*|NVTX|ranges?|gen__range.*|XPU_RECORD_RANGES?|ranks|nccl|NCCL"
. "$XPU_SRC/test/lib/without.sh"
