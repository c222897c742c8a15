#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares xpumerge's names of 10,000 addresses in each of several libraries with addr2line's names.
. "$XPU_SRC/test/lib/tap.sh"
need addr2line readelf nm perl

libraries() {
	ldd "$XPUMERGE" | awk '$3 ~ /^\// && $1 ~ /^lib(c|bfd|elf)[.-]/ { print $3 }'
	gcc -print-file-name=libstdc++.so.6
	[ ! -e /usr/bin/python3 ] || echo /usr/bin/python3
	ldconfig -p | sed -n 's/.*libpython3.*=> //p'
	ls "${HOME:-/root}"/.pyenv/versions/*/lib/libpython3.*.so.1.0 2>/dev/null | tail -n 1
}

libraries | while read -r f; do readlink -f "$f"; done | sort -u >list
[ -s list ] || skip_all "no library found"
while read -r f; do
	id=$(readelf -n "$f" 2>/dev/null | sed -n 's/.*Build ID: //p')
	debug=/usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug
	[ -e "$debug" ] || debug=
	perl "$XPU_SRC/test/lib/agree.pl" "$XPU_BUILD/names" 10000 "$f" $debug >out 2>&1
	ok $? "$(basename "$f \
		")${debug:+, with its debug file}: every difference from addr2line is explained"
	cat out
done <list
done_testing
