#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Imports folded stacks and perf script's text into speedscope, and compares the imported stacks
# with the folded stacks.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data merge=$XPU_BUILD/xpumerge

# Every function has a name, because speedscope merges all functions without one.
for i in $(seq 40); do
	printf 'ns::f%d<int, char>(void (*)(int))\0' "$i"
done >names
"$gen" --launches 5000 --paths 30 --threads 4 --memcpy-every 5 --names names --name-all \
	--map "$PWD/app" -o app.data
"$merge" app.data -f folded --unit ns -o app.folded 2>/dev/null
for format in perf json pb.gz; do
	"$merge" app.data -o app.$format 2>/dev/null
done

exec node "$XPU_SRC/test/formats/speedscope.js"
