#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Time windows (--from, --to) over the several files that xpuload --every writes, with memory
# events. Device work, calls, NVTX ranges, waits and CPU times span several files, and memory is
# held across files. Each window over all files is right in each format, all windows add up to the
# whole, and ranges that are selected in the page are right.
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
# A range is counted in the file in which it ends. Each file that is read alone has its own part of
# the range.
ranges() {
	xpumerge "$@" --table nvtx_ranges --csv | awk -F, '/range"$/ { print $4, $5, $6 }'
}
is "$( (ranges long.data; ranges long.[0-9]; ranges long.1; ranges long.2) | paste -sd/)" \
	"3400000006 2 1700000003/3400000006 2 1700000003/633149945 0 /700000000 0 " \
	"long: ranges are right over all files and in single files"
like "$(xpumerge long.2 2>&1 | tr -s '\n ' ' ')" \
	"; 1 began in an earlier file; 1 goes on in a later file, which counts it" \
	"the summary of a file says that a range has parts in other files"
python3 "$XPU_SRC/test/lib/windows_parts.py" "$XPU_BUILD/xpumerge" memory "$files" \
	$shape.truth >verdict
sed 's/^/# /' verdict
is "$(grep -c ' compared | ' verdict) $(grep -c WRONG verdict)" "12 0" \
	"memory: each window over all files has the right peak of each path, and the right allocations"
# Memory that is freed in a later file has its whole lifetime, as in a recording of one file.
holders() {
	xpumerge "$@" --table memory_holders --csv 2>/dev/null | sort
}
# shellcheck disable=SC2086 # several files
is "$(holders $files)" "$(holders $shape.data)" \
	"memory: all files together have the holders, times and lifetimes of the whole recording"
# If a file is split again, its initial memory is carried on, and no memory is counted twice.
xpumerge split -o again <$shape.2
is "$(xpumerge again.1 --table memory_holders --csv 2>/dev/null)" \
	"$(xpumerge $shape.2 --table memory_holders --csv 2>/dev/null)" \
	"memory: a file that is split again has the same holders"
is "$(xpumerge again.1 2>&1 | grep '^memory: [0-9]* event')" \
	"$(xpumerge $shape.2 2>&1 | grep '^memory: [0-9]* event')" \
	"memory: splitting a file again adds no events"
done_testing
