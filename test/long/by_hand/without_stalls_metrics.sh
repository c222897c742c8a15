#!/bin/sh
# SPDX-License-Identifier: MIT
# The merger without PC samples and without GPU metrics.
# shellcheck disable=SC2034 # without.sh uses it
features="stalls metrics"
. "$XPU_SRC/test/lib/without.sh"
