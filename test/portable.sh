#!/bin/sh
# SPDX-License-Identifier: MIT
#
# portable.sh TREE [TEST...]: for example, after make portable, as root
#
#	sh test/debian.sh bullseye sh test/portable.sh build/portable/xpuload-VERSION-x86_64.tar.gz
#
# Tests a tree that make portable made, in a fresh Debian on this kernel. Debian's C library may be
# older than the C library that the tree was built with. The tree is unpacked into $O. There,
# Debian's compiler builds the simulated device and the programs that are recorded. The tests are
# some tests from test/t3.
set -e
tree=$1
[ -e "$tree" ] ||
	{ echo "portable.sh: expected a tarball of make portable, not '$tree'" >&2; exit 1; }
shift
[ -n "$O" ] ||
	{ echo "portable.sh: runs in a Debian that test/debian.sh makes: see the comment" \
	>&2; exit 1; }
[ $# != 0 ] || set -- test/t3/exact.sh test/t3/unwind.sh test/t3/python.sh

need() {		# need PROGRAM PACKAGE
	command -v "$1" >/dev/null || missing="$missing $2"
}
missing=
need g++ g++
need gcc gcc
need gdb gdb
need perl perl
need prove perl
need python3 python3
# shellcheck disable=SC2086
[ -z "$missing" ] || { apt-get update -qq &&
	apt-get install -y -qq --no-install-recommends $missing; }

rm -rf "${O:?}/bin" "$O/lib/xpuload" "$O/xpuload" "$O/xpumerge" "$O/libxpushim.so"
tar -xzf "$tree" -C "$O" --strip-components=1 --no-same-owner
echo "$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release), $(ldd --version | sed 1q)"
"$O/bin/xpuload" --version
"$O/bin/xpumerge" --version
"$O/bin/xpuload" --check || true

# g++ 10 needs an option for coroutines.
make --no-print-directory O="$O" CXX='g++ -fcoroutines' WERROR=0 \
	"$O/workload/exact" "$O/workload/stacks" "$O/workload/stacks_a.so" \
	"$O/workload/stacks_b.so" \
	"$O/workload/py_launch.so" "$O/workload/py_fake.so" \
	"$O/sim/libcupti.so.13" >"$O/make.log" ||
	{ tail "$O/make.log" >&2; exit 1; }
XPU_SRC=$(pwd) XPU_BUILD=$O exec prove --timer --exec 'sh test/lib/run.sh' "$@"
