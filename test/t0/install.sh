#!/bin/sh
# SPDX-License-Identifier: MIT
# make install and uninstall: what is there works, and goes without what is somebody else's.
. "$XPU_SRC/test/lib/tap.sh"

# What was built is installed as it is: with other flags make would build it anew.
run_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$XPU_SRC" O="$XPU_BUILD" -o all \
		DESTDIR="$PWD/a b" prefix=/usr "$@" >log 2>&1
}

run_make install
is $? 0 "install: status" || diag "$(tail -n 3 log)"
(cd "a b/usr" && find . -type f | LC_ALL=C sort) >installed
for file in bin/xpuload bin/xpumerge lib/xpuload/fold.sh share/man/man1/xpuload.1 \
		share/man/man1/xpumerge.1 share/doc/xpuload/README.md share/doc/xpuload/LICENSE; do
	grep -qx "./$file" installed
	ok $? "install: $file"
done
[ ! -e "$XPU_BUILD/libxpushim.so" ] || grep -qx ./lib/xpuload/libxpushim.so installed
ok $? "install: the shim, if there is one"

"$XPU_BUILD/gen_data" -o xpu.data --launches 100
"a b/usr/bin/xpumerge" -f folded >want 2>/dev/null
env -u XPUMERGE sh "a b/usr/lib/xpuload/fold.sh" xpu.data >got 2>log
is $? 0 "the installed fold.sh: status"
[ -s want ] && cmp got want
ok $? "the installed fold.sh: finds the installed xpumerge"

echo >"a b/usr/lib/xpuload/theirs"
echo >"a b/usr/lib/theirs.so"
run_make uninstall
is $? 0 "uninstall: status" || diag "$(tail -n 3 log)"
is "$(cd "a b" && find . -type f | LC_ALL=C sort | tr '\n' ' ')" \
	"./usr/lib/theirs.so ./usr/lib/xpuload/theirs " "uninstall: only what is not ours is left"
[ ! -e "a b/usr/share/doc/xpuload" ]
ok $? "uninstall: a directory of ours is gone"
run_make uninstall
is $? 0 "uninstall, again: status"
done_testing
