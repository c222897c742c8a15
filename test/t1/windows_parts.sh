#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Time windows (--from, --to) of data whose durations are shared or not known one by one. These are
# the memory at its peak, PC samples that are read together or with their launch, waits in NCCL
# kernels (which depend on another rank), and capture windows. Ranges that are selected in the html
# page are tested, too.
. "$XPU_SRC/test/lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is missing"

export PYTHONPATH="$XPU_SRC/test/lib" PYTHONDONTWRITEBYTECODE=1
page=''
if command -v node >/dev/null; then
	mkdir page && cp "$XPU_SRC"/merge/write/page/src/*.js page &&
		echo '{"type":"module"}' >page/package.json
	page="$XPU_SRC/test/lib/html_stretch.js page"
fi
for shape in memory stalls exact nccl captured; do
	"$XPU_BUILD/gen_windows" $shape $shape.data >$shape.truth
	# shellcheck disable=SC2086 # two arguments
	python3 "$XPU_SRC/test/lib/windows_parts.py" "$XPU_BUILD/xpumerge" $shape $shape.data \
		$shape.truth $page >verdict
	sed 's/^/# /' verdict
	case $shape in
	memory)	rows=12 ;;
	stalls | exact) rows=9 ;;
	nccl)	[ -n "$page" ] && rows=8 || rows=6 ;;
	*)	rows=4 ;;
	esac
	is "$(grep -c ' compared | ' verdict) $(grep -c WRONG verdict)" "$rows 0" \
		"$shape: each window is right in each format, and all add up to the whole"
done
[ -n "$page" ] || skip "stretches of the page" "node is missing"
done_testing
