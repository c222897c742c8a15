#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without memory events. Migrations need them, and are left out, too. Many tests contain
# the word "memory" and mean the machine's memory.
# shellcheck disable=SC2034 # without.sh uses them
features="memory"
gone="memory_migrations|option (memory|at)$"
words="--memory|gen_memory|XPU_RECORD_ALLOCS|gen__alloc.*|section_memory.*|events? of memory"
words="$words|table of allocations|stalls, metrics, memory|migrations|windows_parts.py.* memory"
. "$XPU_SRC/test/lib/without.sh"
