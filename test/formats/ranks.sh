#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `xpumerge ranks` in a browser: its contents and interaction, compared with the tables;
# hostile names; 1,000 ranks; and the findings of axe.
. "$XPU_SRC/test/lib/tap.sh"

ranks() {		# ranks NAME KEY=VALUE...
	name=$1
	shift
	mkdir "$name"
	"$XPU_BUILD/gen_ranks" "$name" "$@" >/dev/null
	"$XPU_BUILD/xpumerge" ranks "$name"/*.data -o "$name.html" 2>/dev/null
	"$XPU_BUILD/xpumerge" ranks "$name"/*.data --json -o "$name.json" 2>/dev/null
}

ranks eight ranks=8 hosts=2 offset=50 seed=3 steps=120 slow_host=2
ranks gpu ranks=4 seed=4 steps=60 slow_gpu=1
ranks many ranks=1000 files=125 hosts=125 seed=3 steps=40 slow_host=312
ranks hostile ranks=5 hosts=2 hostile=1 slow_host=1
mkdir one
"$XPU_BUILD/gen_ranks" one ranks=2 >/dev/null
"$XPU_BUILD/xpumerge" ranks one/0.data -o one.html 2>/dev/null

exec node "$XPU_SRC/test/formats/ranks.js"
