# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Functions that the OpenCL tests share.

exact=$XPU_BUILD/workload/cl_exact odd=$XPU_BUILD/workload/cl_odd

verdict() {		# verdict NAME: merges NAME.data, and prints the exactness line
	xpumerge -i "$1.data" -f folded --unit count -o "$1.folded" 2>"$1.log"
	sh "$XPU_SRC/test/lib/verdict.sh" "$1.folded" "$1.log"
}
