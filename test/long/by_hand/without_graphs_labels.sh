#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without CUDA graphs and without process labels: a graph node's work is under the
# graph's launch, and ranks, nodes, pods, containers and jobs are unknown. Many tests contain the
# word "graph" and mean a flame graph.
# shellcheck disable=SC2034 # without.sh uses them
features="graphs labels"
gone="option graph$|option rank$"
words="--graph|graphs?/.*|gen__graph_.*|XPU_MISC_GRAPH_NODE|gen_windows|gen_ranks|gen_corpus|gen_data|--rank|--by (rank|node|pod|job|container).*|labels|XPU_LABEL_.*|gen__label|ranks?|gen_memory"
. "$XPU_SRC/test/lib/without.sh"
