#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without PC samples and without GPU metrics.
# shellcheck disable=SC2034 # without.sh uses them
features="stalls metrics"
gone="option source$"
. "$XPU_SRC/test/lib/without.sh"
