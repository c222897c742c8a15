#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Explores the html page in a browser. Compares its numbers with the tables, and its time ranges
# with the timeline. Also tests the address, the keys, callers and callees, and the findings of axe.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data merge=$XPU_BUILD/xpumerge

"$gen" --launches 30000 --paths 60 --threads 8 --procs 2 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 9 --map "$merge" -o app.data
"$gen" --launches 10000 --paths 10000 -o even.data
cp "$XPU_SRC/test/t1/corpus/2.7.xpu" all.data
for name in app even all; do
	"$merge" $name.data -o $name.html 2>/dev/null
	"$merge" $name.data -f folded --unit ns -o $name.folded 2>/dev/null
	"$merge" $name.data --json --table kernels -o $name.kernels.json 2>/dev/null
done
"$merge" app.data -f chrome -o app.json 2>/dev/null
for by in tid pid device; do
	"$merge" app.data --by $by -f folded --unit ns -o app.$by.folded 2>/dev/null
done
"$merge" all.data --by nvtx -f folded --unit ns -o all.nvtx.folded 2>/dev/null

exec node "$XPU_SRC/test/formats/html_explore.js"
