#!/bin/sh
# SPDX-License-Identifier: MIT
# cbid_names.sh CUDA_INCLUDE_DIR: writes the callback names of NVIDIA's headers as C initializers,
# for cuptiGetCallbackName of the simulated libcupti.
set -eu

names() {
	echo "static const char *const $1[] = {"
	sed -n "s/^ *$2\([A-Za-z_][A-Za-z0-9_]*\) *= *\([0-9][0-9]*\),.*/ [\2] = \"\1\",/p" "$3" |
		grep -v -e '"INVALID"' -e '"SIZE"'
	echo "};"
}

names driver_names CUPTI_DRIVER_TRACE_CBID_ "$1/cupti_driver_cbid.h"
names runtime_names CUPTI_RUNTIME_TRACE_CBID_ "$1/cupti_runtime_cbid.h"
