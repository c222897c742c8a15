#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares xpumerge's names of 10,000 addresses in each of PyTorch's libraries with the names that
# addr2line -fCi prints.
. "$XPU_SRC/test/lib/tap.sh"
need torch addr2line readelf nm perl
names=$XPU_BUILD/names
[ -x "$names" ] || names=$XPU_BUILD/../names
[ -x "$names" ] || skip_all "no names program beside the tree"

site=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')
libc=$(ldd "$names" | awk '$1 == "libc.so.6" { print $3 }')
for f in "$site"/lib/libtorch_cpu.so "$site"/lib/libtorch_cuda.so "$site"/lib/libtorch_python.so \
		"$site"/lib/libc10.so "$libc" "$(gcc -print-file-name=libstdc++.so.6)" \
		"$(readlink -f "$(python3 -c 'import sys; print(sys.executable)')")"; do
	f=$(readlink -f "$f")
	perl "$XPU_SRC/test/lib/agree.pl" "$names" 10000 "$f" >out 2>&1
	ok $? "$(basename "$f"): every difference is explained"
	cat out
done
done_testing
