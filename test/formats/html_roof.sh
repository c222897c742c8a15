#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The roof plot of the html page. The position of a circle follows from the values in the tables,
# and its area is proportional to the kernel's time. Unknown kernels are listed next to the plot. A
# circle leads to the flame graph.
. "$XPU_SRC/test/lib/tap.sh"

"$XPU_BUILD/gen_counters" shares.data >truth
"$XPU_BUILD/gen_counters" operations.data 60 1 operations >/dev/null
"$XPU_BUILD/gen_data" --launches 1000 --paths 9 -o app.data
for name in shares operations app; do
	xpumerge $name.data -o $name.html 2>/dev/null
done
xpumerge shares.data --json --table kernel_metrics -o metrics.json 2>/dev/null
xpumerge operations.data --json --table kernel_roof -o roof.json 2>/dev/null

exec node "$XPU_SRC/test/formats/html_roof.js"
