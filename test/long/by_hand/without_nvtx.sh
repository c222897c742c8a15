#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without NVTX ranges. The command "ranks" needs them, and is left out, too.
# shellcheck disable=SC2034 # without.sh uses them
features="nvtx"
gone="xpumerge ranks|option nvtx$"
words="gen_windows|nvtx|--nvtx.*|NVTX|ranges?|gen__range.*|XPU_RECORD_RANGES?|ranks|nccl|NCCL"
. "$XPU_SRC/test/lib/without.sh"
