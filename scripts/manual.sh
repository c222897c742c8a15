#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# manual.sh PAGE.1.in: prints the manual page
#
# The list of formats replaces the line .\" @formats@, and the list of their suffixes replaces the
# line .\" @suffixes@. Names and suffixes come from lib/formats.h. The text about a format is the
# comment that begins with "In the manual:" in its file in merge/write/formats/.
set -e
root=$(dirname "$0")/..
tmp=$(mktemp -d "${TMPDIR:-/tmp}/xpumanual.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

sed -n 's/^\tFORMAT(\([a-z0-9_]*\), "\(.*\)", "\(.*\)").*/\1 \2 \3/p' \
	"$root/lib/formats.h" >"$tmp/formats"
[ "$(wc -l <"$tmp/formats")" = "$(grep -c '^	FORMAT(' "$root/lib/formats.h")" ] &&
	[ -s "$tmp/formats" ] ||
	{ echo "manual.sh: cannot read all formats of lib/formats.h" >&2; exit 1; }

{
echo '.Bl -tag -width "chrome"'
while read -r id name _; do
	file=merge/write/formats/${id}_format.c
	echo ".It Cm $name"
	sed -n '/^ \* In the manual:$/,/^ \*\/$/{
		/^ \* In the manual:$/d; /^ \*\/$/d; s/^ \* //p; }' "$root/$file" >"$tmp/text"
	[ -s "$tmp/text" ] || {
		echo "manual.sh: $file has no comment \"In the manual:\"" >&2
		exit 1
	}
	cat "$tmp/text"
done <"$tmp/formats"
echo .El
} >"$tmp/list"

# Lists each suffix with the name of its format, unless the name equals the suffix without the dot.
# xpuload(1) lists no names, and not .data, because a recording is not a result.
case $1 in
*xpuload.1.in)
	awk '$3 != ".data" { print $3 }' "$tmp/formats" ;;
*)
	awk '{ print $3 ($3 == "." $2 ? "" : " (" $2 ")") }' "$tmp/formats" ;;
esac >"$tmp/suffixes"

# Prints the suffixes in mdoc, as a list such as "A, B or C". The list ends with the punctuation
# that follows "@suffixes@" on the page's own line.
end=$(sed -n 's/^\.\\" @suffixes@ \{0,1\}//p' "$1")
awk -v end="$end" '{ suffix[NR] = $1; name[NR] = $2 } END {
	for (i = 1; i <= NR; i++) {
		sign = i < NR - 1 ? "," : i == NR ? end : ""
		if (i == NR && i > 1) print "or"
		if (name[i]) print ".Pa " suffix[i] "\n" name[i] sign
		else print ".Pa " suffix[i] (sign ? " " sign : "")
	}
}' "$tmp/suffixes" >"$tmp/mdoc"

sed -e "/^\.\\\\\" @formats@\$/{ r $tmp/list
d; }" -e "/^\.\\\\\" @suffixes@/{ r $tmp/mdoc
d; }" "$1"
