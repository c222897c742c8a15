#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The html page of unusual recordings, in windows of any size, on paper, and with the keyboard
# alone.
. "$XPU_SRC/test/lib/tap.sh"

gen=$XPU_BUILD/gen_data odd=$XPU_BUILD/gen_odd merge=$XPU_BUILD/xpumerge

# Names of kernels, functions, threads, ranges, files, devices and the host. Some of them end a
# script or an attribute, have a meaning in JavaScript, are written from right to left, reverse the
# following text, or are invisible.
{
	printf '%s\0' '</script><script>alert(1)</script>' '<img src=x onerror=alert(2)>' \
		"';alert(3)//\"><svg onload=alert(4)>" \
		"{{constructor.constructor('alert(5)')()}}" 'javascript:alert(6)' '__proto__' \
		'constructor' 'toString' '%s%n%00' \
		'&lt;b&gt;' 'semi;colon' '[GPU_Kernel]x' '[unknown]' 'on CPU' 'all' '-' ' '
	printf '\342\200\256gnissecorp\0kernel\342\201\246x\342\201\251\0'
	printf '\327\251\327\234\327\225\327\235::\327\247(int)\0\331\206\331\210\330\247\330\251<float>\0'
	printf 'zero\342\200\213width\357\273\277\0\342\200\213\342\200\213\0\343\200\200\0e\314\201\314\201\314\201\0'
	printf 'new\nline\0tab\tcr\r\0esc\033[31m\0\001\177\0bad \200\377\0half \360\237\230\0'
	printf '%3000s\0' '' | tr ' ' a
} >names
"$odd" names.data names names
for what in years zero one back crowd; do
	"$odd" $what.data $what
done
"$gen" --launches 0 -o none.data
"$gen" --launches 20000 --paths 60 --threads 8 --procs 2 --gpus 2 --memcpy-every 5 --samples-every \
	3 --off-every 4 --map "$merge" -o app.data
cp "$XPU_SRC/test/t1/corpus/2.7.xpu" all.data
for name in names years zero one back crowd none app all; do
	"$merge" $name.data -o $name.html 2>/dev/null
	"$merge" $name.data --json --table kernels -o $name.json 2>/dev/null
	"$merge" $name.data -f folded -o $name.folded 2>/dev/null
done
"$merge" app.data one.data back.data -o several.html 2>/dev/null
"$merge" diff --memory live --at 1us,20us all.data all.data -o moments.html 2>/dev/null
for table in memory_time cpu_functions; do
	"$merge" app.data --json --table $table -o app.$table.json 2>/dev/null
done

exec node "$XPU_SRC/test/formats/html_odd.js"
