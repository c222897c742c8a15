#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html page in a browser: compares its drawing and its interaction with the folded stacks.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data merge=$XPU_BUILD/xpumerge

# The call paths contain functions of a real program.
"$gen" --launches 30000 --paths 60 --threads 8 --procs 2 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 9 --lose-record 2000 --map "$merge" -o app.data
printf '</script><script>alert(1)</script>\0<img src=x onerror=alert(2)>\0"a" &amp; `${b}`\0' >names
printf 'semi;colon\n\001\0bad \377 utf-8\0__proto__\0' >>names
printf '%10000s' '' | tr ' ' k >>names
"$gen" --launches 2000 --paths 9 --names names -o hostile.data
"$gen" --launches 45000 --paths 50 --threads 8 --procs 2 --gpus 2 --streams 3 --memcpy-every 5 \
	--graph-every 9 --seed 7 --map "$merge" -o after.data
"$gen" --launches 200000 --paths 4000 --frames 40 -o wide.data
for name in app hostile wide; do
	"$merge" $name.data -o $name.html 2>$name.log
	"$merge" $name.data -f folded --unit ns -o $name.folded 2>/dev/null
done
"$merge" app.data -f folded --unit count -o app.count 2>/dev/null
"$merge" app.data -f folded --unit ns --device 0 -o app.gpu0 2>/dev/null
"$merge" diff app.data after.data --normalize launches -o diff.html 2>/dev/null
"$merge" diff app.data after.data --normalize launches -f folded --unit ns \
	-o diff.folded 2>/dev/null

stalls=$XPU_SRC/test/t1/corpus/2.5.xpu
"$merge" -i "$stalls" -o stalls.html 2>/dev/null
"$merge" -i "$stalls" --json --table stalls -o stalls.json 2>/dev/null
"$merge" diff "$stalls" "$stalls" -o stalls_diff.html 2>/dev/null

# A thousand call paths next to each other, each hardly wider than a pixel.
"$gen" --launches 200000 --paths 1000 --frames 40 -o thin.data
"$merge" thin.data -o thin.html 2>/dev/null

# Five million launches: measures the CPU time of the merge, because other programs may use the
# machine.
"$gen" --launches 5000000 --paths 2000 --frames 40 --threads 16 --gpus 4 --streams 7 \
	--memcpy-every 9 --map "$merge" -o big.data
command time -f '%U %S %M' -o big.time "$merge" big.data -o big.html 2>/dev/null
rm -f big.data

exec node "$XPU_SRC/test/formats/html.js"
