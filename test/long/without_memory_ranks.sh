#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without memory events, NCCL operations and the command "ranks". Migrations need memory
# events, and are left out, too. by_hand/ tests each feature alone. Many tests contain the word
# "memory" and mean the machine's memory.
# shellcheck disable=SC2034 # without.sh uses them
features="memory ranks"
gone="xpumerge ranks|memory_migrations|option (memory|at)$"
words="--memory|gen_memory|XPU_RECORD_ALLOCS|gen__alloc.*|section_memory.*|events? of memory"
words="$words|ranks|nccl|NCCL|table of allocations|stalls, metrics, memory|migrations|windows_parts.py.* memory"
. "$XPU_SRC/test/lib/without.sh"
