#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without process labels: ranks, nodes, pods, containers and jobs are unknown.
# shellcheck disable=SC2034 # without.sh uses them
features="labels"
gone="option rank$"
words="--rank|--by (rank|node|pod|job|container).*|labels|XPU_LABEL_.*|gen__label|ranks?|gen_ranks|gen_corpus|gen_memory"
. "$XPU_SRC/test/lib/without.sh"
