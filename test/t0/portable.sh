#!/bin/sh
# SPDX-License-Identifier: MIT
# If our programs need a function from a glibc that is too new for the portable tree, lib/portable
# has an older version of the function. Static libraries are checked by make portable itself.
. "$XPU_SRC/test/lib/tap.sh"
[ -z "${XPU_SAN:-}" ] || skip_all "the runtimes of sanitizers need a newer glibc"
need nm

oldest=$(sed -n 's/^PORTABLE_GLIBC[[:space:]]*:= 2\.//p' "$XPU_SRC/GNUmakefile")
case $oldest in ''|*[!0-9]*) false ;; esac
ok $? "make portable names the oldest glibc: 2.$oldest"

for source in "$XPU_SRC"/lib/portable/*.c; do
	object=$(basename "$source").o
	${CC:-gcc} -D_GNU_SOURCE -I"$XPU_SRC/lib" -c "$source" -o "$object" || fail=1
done
is "$fail" "" "lib/portable compiles"
nm --defined-only ./*.c.o | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u >older
[ "$(wc -l <older)" -gt 20 ]
ok $? "lib/portable has older versions of $(wc -l <older) functions"

newer() {		# newer FILE: functions that FILE needs from a later glibc
	nm -D --undefined-only --with-symbol-versions "$1" |
		sed -n 's/.* [Uw] \([^@]*\)@GLIBC_2\.\([0-9]*\).*/\2 \1/p' |
		awk -v oldest="$oldest" '$1 > oldest { print $2 }' | LC_ALL=C sort -u
}

seen=0
programs="xpuload xpumerge xpuload-metrics xpuload-push libxpushim.so libxpushim-opencl.so"
for program in $programs; do
	[ -e "$XPU_BUILD/$program" ] || continue
	seen=$((seen + 1))
	newer "$XPU_BUILD/$program" >need
	is "$(LC_ALL=C comm -23 need older | tr '\n' ' ')" "" \
		"$program runs with the oldest glibc (replaced functions: $(wc -l <need))"
done
[ "$seen" -ge 2 ]
ok $? "$seen programs are checked"
done_testing
