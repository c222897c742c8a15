#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Windows of time (--from, --to) over the several files of a recording that xpuload --every writes,
# with memory: device work, calls, waits and CPU times that lie in two files, and memory that is
# held across files. Each window of all files is right in each format, all windows add up to the
# whole, and stretches that are picked in the page are right.
. "$XPU_SRC/test/lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is missing"

export PYTHONPATH="$XPU_SRC/test/lib" PYTHONDONTWRITEBYTECODE=1
page='' rows=24
if command -v node >/dev/null; then
	mkdir page && cp "$XPU_SRC"/merge/write/page/src/*.js page &&
		echo '{"type":"module"}' >page/package.json
	page="$XPU_SRC/test/lib/html_stretch.js page" rows=48
fi
for shape in across tiny; do
	"$XPU_BUILD/gen_windows" $shape $shape.data 700 >$shape.truth
	xpumerge split -o $shape <$shape.data 2>split.log
	is "$(ls $shape.[0-9] | wc -l) $(cat split.log)" "6 " "$shape: the recording has 6 files"
	files=$(ls $shape.[0-9] | paste -sd' ')
	# shellcheck disable=SC2086 # two arguments
	python3 "$XPU_SRC/test/lib/windows_truth.py" "$XPU_BUILD/xpumerge" $shape "$files" \
		$shape.truth $page >verdict
	sed 's/^/# /' verdict
	is "$(grep -c ' | ' verdict) $(grep -c WRONG verdict)" "$rows 0" \
		"$shape: windows over all files are right, and add up to the whole"
done
python3 "$XPU_SRC/test/lib/windows_parts.py" "$XPU_BUILD/xpumerge" memory "$files" \
	$shape.truth >verdict
sed 's/^/# /' verdict
is "$(grep -c ' compared | ' verdict) $(grep -c WRONG verdict)" "12 0" \
	"memory: each window over all files has the true peak, by path, and what was allocated"
done_testing
