#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Values over time in the html page. A value under the pointer equals the value in the Chrome
# timeline. Means and maxima equal the means and maxima in the table gpu_metrics.
. "$XPU_SRC/test/lib/tap.sh"

"$XPU_BUILD/gen_counters" metrics.data >truth
cp "$XPU_SRC/test/t1/corpus/2.7.xpu" all.data
for name in metrics all; do
	xpumerge $name.data -o $name.html 2>/dev/null
	xpumerge $name.data -o $name.json 2>/dev/null
done
xpumerge metrics.data --json --table gpu_metrics -o table.json 2>/dev/null

exec node "$XPU_SRC/test/formats/html_meters.js"
