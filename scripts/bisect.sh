#!/bin/sh
# SPDX-License-Identifier: MIT
# bisect.sh RECORDING... -- COMMAND... - for git bisect run: says whether this commit is slower than
# a good commit. The RECORDINGs are runs of COMMAND at the good commit:
#
#	for i in 1 2 3 4 5; do xpuload --gpu-only -o good$i.data COMMAND; done
#	git bisect start BAD GOOD
#	git bisect run .../bisect.sh good?.data -- COMMAND
#
# Records COMMAND once for each RECORDING, and compares both sides with xpumerge diff --fail-over.
# BUILD is a shell command that builds the commit, FAIL_OVER a percentage (default 2). A commit that
# cannot be built or run is skipped.
here=$(dirname "$0")
PATH=$PATH:$here:$here/../bin:$here/../../bin:$here/../build
nr=0
for arg; do
	[ "$arg" != -- ] || break
	nr=$((nr + 1))
done
if [ $nr = 0 ] || [ $nr -ge $(($# - 1)) ]; then
	echo "usage: bisect.sh RECORDING... -- COMMAND..." >&2
	exit 125
fi
tmp=$(mktemp -d) || exit 125
trap 'rm -rf "$tmp"' EXIT

# The recordings become $tmp/good-1.data and so on, because their names may have blanks.
i=0
while [ "$1" != -- ]; do
	i=$((i + 1))
	ln -s "$(readlink -f "$1")" "$tmp/good-$i.data" || exit 125
	shift
done
shift
[ -z "$BUILD" ] || sh -c "$BUILD" >&2 || exit 125
for i in $(seq $nr); do
	xpuload --gpu-only -q -o "$tmp/new-$i.data" -- "$@" >&2 || exit 125
done
xpumerge diff --fail-over "${FAIL_OVER:-2}%" -o "$tmp/diff.txt" "$tmp"/good-*.data vs \
	"$tmp"/new-*.data >&2
case $? in
0)	exit 0 ;;
1)	exit 1 ;;
*)	exit 125 ;;
esac
