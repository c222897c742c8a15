#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html page's first screen: the answer equals the summary's answer, the table of kernels equals
# the printed table, and a selection in the table or in the flame graph appears in both.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data merge=$XPU_BUILD/xpumerge

"$gen" --launches 30000 --paths 60 --threads 4 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 9 --samples-every 3 --map "$merge" -o app.data
cp "$XPU_SRC/test/t1/corpus/2.7.xpu" all.data
for name in app all; do
	"$merge" $name.data -o $name.html 2>/dev/null
	"$merge" $name.data -f folded --unit ns -o $name.folded 2>/dev/null
	"$merge" $name.data --json --table kernels -o $name.kernels.json 2>/dev/null
	COLUMNS=140 "$merge" $name.data >$name.txt 2>/dev/null
done
# Half of the first kernel's time is cut off.
"$merge" app.data --from 1.004s --to 1.007s -o part.html 2>/dev/null
"$merge" app.data --from 1.004s --to 1.007s --json --table kernels -o part.kernels.json 2>/dev/null
"$merge" app.data --by stream -o stream.html 2>/dev/null
"$gen" --launches 45000 --paths 60 --threads 4 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 9 --seed 7 --map "$merge" -o more.data
"$merge" diff app.data more.data -o diff.html 2>/dev/null
"$merge" diff app.data more.data --normalize launches -f folded --unit ns -o diff.folded \
	2>/dev/null
"$merge" diff app.data app.data -o equal.html 2>/dev/null
"$merge" more.data --json --table kernels -o more.kernels.json 2>/dev/null

exec node "$XPU_SRC/test/formats/html_work.js"
