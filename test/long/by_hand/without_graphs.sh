#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without CUDA graphs: a graph node's work is under the graph's launch. Many tests
# contain the word "graph" and mean a flame graph.
# shellcheck disable=SC2034 # without.sh uses them
features="graphs"
gone="option graph$"
words="--graph|graphs?/.*|gen__graph_.*|XPU_MISC_GRAPH_NODE|gen_windows|gen_ranks|gen_corpus|gen_data"
. "$XPU_SRC/test/lib/without.sh"
