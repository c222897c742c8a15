#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without CUDA graphs: the work of a graph's node is under the launch of its graph. Many
# tests have the word "graph" and mean a flame graph.
# shellcheck disable=SC2034 # without.sh uses them
features="graphs"
gone="option graph$"
words="--graph|graphs?/.*|gen__graph_.*|XPU_MISC_GRAPH_NODE|gen_windows|gen_ranks|gen_corpus|gen_data"
. "$XPU_SRC/test/lib/without.sh"
