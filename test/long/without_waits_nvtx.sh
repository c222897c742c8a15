#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without waits for GPUs, times off the CPU, lives of threads and idle gaps, and without
# NVTX ranges. The command "ranks" needs ranges, and is absent with them. by_hand/ has each alone.
# shellcheck disable=SC2034 # without.sh uses them
features="waits nvtx"
gone="xpumerge ranks|option nvtx$"
words="gen_windows|wait for the device|waits|waited|idle|off_cpu|--off-cpu|XPU_RECORD_(WAIT|OFF|OFF_CPU|ACCOUNT)|nvtx|--nvtx.*|NVTX|ranges?|gen__range.*|XPU_RECORD_RANGES?|ranks|nccl|NCCL"
. "$XPU_SRC/test/lib/without.sh"
