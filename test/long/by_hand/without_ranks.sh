#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without NCCL operations and without the command "ranks".
# shellcheck disable=SC2034 # without.sh uses it
features="ranks"
. "$XPU_SRC/test/lib/without.sh"
