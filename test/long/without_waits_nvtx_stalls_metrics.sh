#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without GPU waits, off-CPU times, thread lifetimes and idle gaps, without NVTX ranges,
# and without PC samples and GPU metrics. The command "ranks" needs ranges, and is left out, too.
# by_hand/ tests each of these alone.
# shellcheck disable=SC2034 # without.sh uses them
features="waits nvtx stalls metrics"
gone="xpumerge ranks|option (nvtx|source)$"
words="gen_windows|wait for the device|waits|waited|idle|off_cpu|--off-cpu"
words="$words|XPU_RECORD_(WAIT|OFF|OFF_CPU|ACCOUNT)|nvtx|--nvtx.*|NVTX|ranges?|gen__range.*"
words="$words|XPU_RECORD_RANGES?|ranks|nccl|NCCL|stalls|metrics"
. "$XPU_SRC/test/lib/without.sh"
