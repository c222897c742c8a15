#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Time windows (--from, --to), and ranges that are selected in the html page. Device work, API
# calls, waits for the device, NVTX ranges, and time on and off the CPU are cut at window edges, and
# counted in the window in which they start. Tested in all formats, for durations that are longer
# than the windows, span many windows, or are tiny.
. "$XPU_SRC/test/lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is missing"

export PYTHONPATH="$XPU_SRC/test/lib" PYTHONDONTWRITEBYTECODE=1
page='' rows=24
if command -v node >/dev/null; then
	mkdir page && cp "$XPU_SRC"/merge/write/page/src/*.js page &&
		echo '{"type":"module"}' >page/package.json
	page="$XPU_SRC/test/lib/html_stretch.js page" rows=48
fi
for shape in long across tiny; do
	"$XPU_BUILD/gen_windows" $shape $shape.data >$shape.truth
	# shellcheck disable=SC2086 # two arguments
	python3 "$XPU_SRC/test/lib/windows_truth.py" "$XPU_BUILD/xpumerge" $shape $shape.data \
		$shape.truth $page >verdict
	sed 's/^/# /' verdict
	is "$(grep -c ' | ' verdict)" $rows \
		"$shape: 8 kinds of sums are compared in windows of 3 lengths${page:+, 6 kinds in 4 time ranges of the page}"
	is "$(grep -c WRONG verdict)" 0 \
		"$shape: each window's sums are right, and all windows add up to the whole"
done

# Each sum of short periods off the CPU covers 10 ms. If a window cuts such a sum, the account says
# how large the error may be.
account() {		# account FROM TO
	xpumerge -i tiny.data -f folded --from "$1" --to "$2" 2>&1 >/dev/null |
		grep '^times off the CPU'
}
like "$(account 2 2.01)" \
	'^times off the CPU: 1\.[89][0-9]* ms, which may be wrong by up to [1-3]\.[0-9]* ms: ' \
	"a window of 10 ms: the account gives the error bound of off-CPU times"
is "$(account 0 4)" "" "a window whose edges lie in no sum: the account gives no error bound"
[ -n "$page" ] || skip "stretches of the page" "node is missing"
done_testing
