#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Single events in the html page: the Chrome timeline has the same events, and a time range has the
# same sums as --from and --to.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data merge=$XPU_BUILD/xpumerge

"$gen" --launches 20000 --paths 40 --threads 3 --gpus 2 --streams 2 --memcpy-every 5 \
	--graph-every 9 --samples-every 50 --map "$merge" -o app.data
cp "$XPU_SRC/test/t1/corpus/2.7.xpu" all.data
for name in app all; do
	"$merge" $name.data -o $name.html 2>/dev/null
	"$merge" $name.data -o $name.json 2>/dev/null
done
# Neither end of the range is at an event or at a bin boundary.
for part in 1.004217s-1.004391s 1.0051s-1.0072s; do
	"$merge" app.data --from "${part%-*}" --to "${part#*-}" --json --table kernels \
		-o "$part.json" 2>/dev/null
	"$merge" app.data --from "${part%-*}" --to "${part#*-}" -f folded --unit ns \
		-o "$part.folded" 2>/dev/null
done
# More events than a page stores.
"$gen" --launches 1400000 --paths 40 --threads 2 --streams 2 --blocks 262144 -o many.data
"$merge" many.data -o many.html 2>/dev/null

exec node "$XPU_SRC/test/formats/html_time.js"
