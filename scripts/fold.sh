#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# fold.sh [--svg] [-o FILE] [--unit UNIT] [--title TEXT] [xpu.data]
#
# Folds a recording: one line for each call path, to stdout or FILE. With --svg draws the flame
# graph, through flamegraph.pl or inferno-flamegraph, whichever is there. '-' is stdin, or stdout.

set -u

die() {
	echo "fold.sh: $*" >&2
	exit 2
}

usage() {
	sed -n 's/^# \{0,1\}//; 4,7p' "$0"
	exit "$1"
}

svg='' out=- unit=us title='' data=''
while [ $# -gt 0 ]; do
	case $1 in
	--svg)		svg=1 ;;
	-o|--output)	[ $# -gt 1 ] || usage 2 >&2; out=$2; shift ;;
	--unit)		[ $# -gt 1 ] || usage 2 >&2; unit=$2; shift ;;
	--title)	[ $# -gt 1 ] || usage 2 >&2; title=$2; shift ;;
	-h|--help)	usage 0 ;;
	-?*)		echo "fold.sh: unknown option $1" >&2; usage 2 >&2 ;;
	*)		[ -z "$data" ] || usage 2 >&2; data=$1 ;;
	esac
	shift
done
data=${data:-xpu.data}

# xpumerge: beside this script when installed, in ../bin, in the build tree, or on the PATH.
here=$(dirname "$(readlink -f "$0")")
for xpumerge in "${XPUMERGE:-}" "$here/xpumerge" "$here/../../bin/xpumerge" \
		"$here/../build/xpumerge" "$(command -v xpumerge)"; do
	[ -n "$xpumerge" ] && [ -x "$xpumerge" ] && break
	xpumerge=''
done
[ -n "$xpumerge" ] || die "cannot find xpumerge: name it in XPUMERGE"

# Status 1: the recording is incomplete, and all that it has was written.
[ -n "$svg" ] || exec "$xpumerge" -i "$data" -f folded --unit "$unit" -o "$out"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/fold.XXXXXX") || die "cannot make a temporary directory"
part=
trap 'rm -rf "$tmp"; [ -z "$part" ] || rm -f -- "$part"' EXIT
trap 'exit 130' INT TERM HUP
"$xpumerge" -i "$data" -f folded --unit "$unit" -o "$tmp/folded"
status=$?
[ $status -le 1 ] || exit $status

for draw in "$(command -v flamegraph.pl)" /usr/share/perl5/Devel/NYTProf/flamegraph.pl \
		"$(command -v inferno-flamegraph)"; do
	[ -n "$draw" ] && [ -r "$draw" ] && break
	draw=''
done
[ -n "$draw" ] || die "neither flamegraph.pl (Debian: libdevel-nytprof-perl) nor" \
	"inferno-flamegraph is there"
title=${title:-$(basename "$data" .data)}
# XML has no U+FFFE and U+FFFF.
LC_ALL=C sed 's/\xef\xbf[\xbe\xbf]/?/g' "$tmp/folded" >"$tmp/xml" || die "sed failed"
case $draw in
*.pl)	# It takes the title as it is, and cuts names between bytes unless they are characters to it.
	set -- env PERL_UNICODE=SDA perl "$draw"
	title=$(perl -e '$_ = shift; utf8::decode($_) or s/[^ -~]/?/g; s/[\x00-\x1f\x7f]/?/g;
		s/&/&amp;/g; s/</&lt;/g; s/>/&gt;/g; utf8::encode($_); print' "$title") ;;
*)	set -- "$draw" ;;
esac
"$@" --title "$title" --countname "$unit" --width 1400 \
	"$tmp/xml" >"$tmp/svg" || die "$draw failed"

# A link of the caller or of root is followed, as xpumerge does. A new file is made beside the final one
# and then renamed: no existing file is written to, and a failure leaves no half file.
follow() {
	links=0
	while [ -L "$out" ]; do
		case $out in
		/dev/fd/*|/proc/*) return ;;
		esac
		owner=$(stat -c %u -- "$out")
		links=$((links + 1))
		[ "$owner" = 0 ] || [ "$owner" = "$(id -u)" ] && [ $links -le 40 ] ||
			die "cannot write $out: it is a symbolic link: name the file itself"
		to=$(readlink -- "$out")
		case $to in
		/*)	out=$to ;;
		*)	out=$(dirname -- "$out")/$to ;;
		esac
	done
}

named=$out
follow
if [ "$out" = - ]; then
	cat "$tmp/svg"
elif [ -L "$out" ]; then		# a descriptor's name
	cat "$tmp/svg" >"$out"
elif [ -e "$out" ] && [ ! -f "$out" ]; then
	dd if="$tmp/svg" of="$out" bs=64k oflag=nofollow conv=notrunc,nocreat status=none
else
	part=$out.$(od -An -N8 -tx8 /dev/urandom | tr -d ' ').tmp
	(set -C; cat "$tmp/svg" >"$part") && mv -fT -- "$part" "$out"
fi || die "cannot write $named"
exit $status
