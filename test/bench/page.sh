#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# page.sh [LAUNCHES...]: measures html pages of recordings with LAUNCHES launches (1,000,000 and
# 5,000,000): how long xpumerge takes to write a page, and its size; in Chromium, how long the page
# takes to open, its memory, and the script time per frame while the time is dragged and zoomed. The
# browser's driver comes with make check-formats.
. "$(dirname "$0")/lib.sh"
modules=$XPU_BUILD/formats/node_modules
[ $# -gt 0 ] || set -- 1000000 5000000

for launches; do
	"$XPU_BUILD/gen_data" --launches "$launches" --paths 200 --threads 4 --gpus 2 --streams 3 \
		--memcpy-every 5 --blocks 262144 -o page.data || exit 1
	$time -f '%e %U %M' -o figures "$XPU_BUILD/xpumerge" page.data -o page.html 2>log ||
		{ cat log; exit 1; }
	echo "page of $launches launches"
	awk -v size="$(stat -c %s page.html)" -v recording="$(stat -c %s page.data)" '{
		printf "  written: %.1f s (%.1f s of CPU), peak %d MB; size %.1f MB " \
			"(recording %.1f MB)\n", $1, $2, $3 / 1024, size / 1e6, recording / 1e6
		}' figures
	[ -d "$modules" ] || { echo "  NOT RUN: in Chromium: make check-formats fetches the driver"
		continue; }
	NODE_PATH=$modules XPU_SHOTS=$dir node "$XPU_SRC/test/bench/page.js" page.html || exit 1
done
