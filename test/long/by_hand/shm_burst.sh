#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs test/t3/shm_burst.sh with five rounds of 1,000 simultaneous processes, and with 100 stops of
# ten seconds.
export XPU_BURST=1000 XPU_BURST_ROUNDS=5 XPU_BURST_STOPS=100 XPU_BURST_STOP_S=10
. "$XPU_SRC/test/t3/shm_burst.sh"
