#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# fold.sh [--svg] [-o FILE] [--unit UNIT] [--title TEXT] [--waits] [--folded FILE | xpu.data]
#
# Folds a recording: one line for each call path, to stdout or FILE. With --svg draws the flame
# graph, through flamegraph.pl or inferno-flamegraph, whichever is installed. '-' is stdin, or
# stdout. --folded: FILE has the lines already. --waits: adds waits.

set -u

die() {
	echo "fold.sh: $*" >&2
	exit 2
}

usage() {
	sed -n 's/^# \{0,1\}//; 4,8p' "$0"
	exit "$1"
}

svg='' out=- unit=us title='' data='' folded='' waits=''
while [ $# -gt 0 ]; do
	case $1 in
	--svg)		svg=1 ;;
	-o|--output)	[ $# -gt 1 ] || usage 2 >&2; out=$2; shift ;;
	--unit)		[ $# -gt 1 ] || usage 2 >&2; unit=$2; shift ;;
	--title)	[ $# -gt 1 ] || usage 2 >&2; title=$2; shift ;;
	--waits)	waits=--waits ;;
	--folded)	[ $# -gt 1 ] || usage 2 >&2; folded=$2; shift ;;
	-h|--help)	usage 0 ;;
	-?*)		echo "fold.sh: unknown option $1" >&2; usage 2 >&2 ;;
	*)		[ -z "$data" ] || usage 2 >&2; data=$1 ;;
	esac
	shift
done
data=${data:-xpu.data}

# xpumerge is in the directory of this script, in ../../bin, in the build tree, or on the PATH.
here=$(dirname "$(readlink -f "$0")")
for xpumerge in "${XPUMERGE:-}" "$here/xpumerge" "$here/../../bin/xpumerge" \
		"$here/../build/xpumerge" "$(command -v xpumerge)"; do
	[ -n "$xpumerge" ] && [ -x "$xpumerge" ] && break
	xpumerge=''
done
[ -n "$xpumerge$folded" ] || die "cannot find xpumerge: name it in XPUMERGE"

# shellcheck disable=SC2086 # $waits is one option or none
# Status 1 means that the recording is incomplete, and that all of its contents were written.
[ -n "$svg" ] || exec "$xpumerge" -i "$data" -f folded --unit "$unit" $waits -o "$out"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/fold.XXXXXX") || die "cannot make a temporary directory"
part=
trap 'rm -rf "$tmp"; [ -z "$part" ] || rm -f -- "$part"' EXIT
trap 'exit 130' INT TERM HUP
status=0
if [ -n "$folded" ]; then
	cat "$folded" >"$tmp/folded" || exit 2
else
	# shellcheck disable=SC2086 # one option or none
	"$xpumerge" -i "$data" -f folded --unit "$unit" $waits -o "$tmp/folded"
	status=$?
fi
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

# Frames of device work lose their label, because their color says the kind; a function's own CPU
# time gets a frame. The palette has a color for each name. A kernel may have the name of its host
# function, so an invisible mark follows the kernel's name.
cat >"$tmp/paint.awk" <<'END'
function paint(name, spread, red, green, blue,   i, h, at, colour) {
	if (name in painted)
		return
	painted[name] = 1
	for (i = h = 0; i <= length(name) && i < 32; i++)
		h = (h * 31 + index(letters, substr(name, i, 1))) % 997
	at = (h / 997 - .5) * spread
	colour = sprintf("rgb(%d,%d,%d)", red + at, green + at, blue + at)
	print name "->" colour >palette
	# flamegraph.pl looks up the name that it shows, which has ( and ) instead of < and >.
	if (gsub(/</, "(", name) + gsub(/>/, ")", name))
		print name "->" colour >palette
}

# Joins consecutive unnamed frames of one library into one frame.
function fold(   i, to, library, last, run) {
	for (i = 1; i <= nr; i++) {
		library = match(frame[i], /.\+0x[0-9a-f]+$/) ? substr(frame[i], 1, RSTART) : ""
		if (library != "" && library == last) {
			frame[to] = library ", " ++run " frames"
		} else {
			frame[++to] = frame[i]
			run = 1
		}
		last = library
	}
	nr = to
}

BEGIN {
	mark = "\342\200\213"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:<>(), *&[]"
	words["Memcpy"] = "copy "; words["Memset"] = "set"; words["Wait"] = "wait for "
	words["Launch_Pending"] = "pending launch"
	paint("", 0, 220, 222, 226)
	paint("all", 0, 220, 222, 226)
	label = "^\\[(GPU[0-9]*_(Kernel|Memcpy|Memset|Wait|Launch_Pending)|Off_CPU)\\]"
}

{
	at = match($0, / [0-9]+$/)
	value = substr($0, at)
	nr = split(substr($0, 1, at - 1), frame, ";")
	fold()
	kind = ""
	for (i = 1; i <= nr; i++) {
		if (kind == "" && i > 1 && match(frame[i], label)) {
			kind = substr(frame[i], 2, RLENGTH - 2)
			sub(/^GPU[0-9]*_/, "", kind)
			frame[i] = (kind == "Off_CPU" ? "off CPU: " : words[kind]) \
				substr(frame[i], RLENGTH + 1) mark
			if (kind == "Kernel")
				paint(frame[i], 40, 95, 160, 232)
			else if (kind == "Memcpy")
				paint(frame[i], 20, 80, 190, 170)
			else if (kind == "Memset")
				paint(frame[i], 20, 180, 150, 220)
			else
				paint(frame[i], 20, 185, 190, 205)
		} else if (kind != "") {
			frame[i] = frame[i] mark
			paint(frame[i], 30, 130, 180, 235)
		} else if (i == 1) {
			paint(frame[i], 10, 205, 210, 216)
		} else if (frame[i] ~ /_\[k\]$/) {
			paint(frame[i], 16, 226, 192, 196)
		} else {
			paint(frame[i], 24, 231, 217, 178)
		}
		line = i > 1 ? line ";" frame[i] : frame[i]
	}
	if (kind == "" && unit != "count" && unit != "bytes") {
		paint("on CPU" mark, 0, 247, 146, 66)
		line = line ";on CPU" mark
	}
	print line value
}
END
LC_ALL=C awk -v palette="$tmp/palette.map" -v unit="$unit" -f "$tmp/paint.awk" \
	"$tmp/xml" >"$tmp/painted" ||
	die "awk failed"

case $draw in
# flamegraph.pl does not escape the title. It may cut a name inside a character, unless Perl reads
# its input as characters.
*.pl)
	set -- env PERL_UNICODE=SDA perl "$draw"
	title=$(perl -e '$_ = shift; utf8::decode($_) or s/[^ -~]/?/g; s/[\x00-\x1f\x7f]/?/g;
		s/&/&amp;/g; s/</&lt;/g; s/>/&gt;/g; utf8::encode($_); print' "$title") ;;
*)	set -- "$draw" ;;
esac
# flamegraph.pl and inferno-flamegraph look for palette.map in the current directory. The background
# is pale, like the frames of callers.
(cd "$tmp" && "$@" --cp --title "$title" --countname "$unit" --width 1400 painted) >"$tmp/drawn" ||
	die "$draw failed"
sed 's/stop-color="#eeeeb0"/stop-color="#f8f8f8"/' "$tmp/drawn" >"$tmp/svg" || die "sed failed"

# Follows a link that belongs to the caller or to root, as xpumerge does. A new file is made in the
# same directory and then renamed: no existing file is written to, and a failure leaves no half
# file.
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
elif [ -L "$out" ]; then		# a link in /dev/fd or /proc
	cat "$tmp/svg" >"$out"
elif [ -e "$out" ] && [ ! -f "$out" ]; then
	dd if="$tmp/svg" of="$out" bs=64k oflag=nofollow conv=notrunc,nocreat status=none
else
	part=$out.$(od -An -N8 -tx8 /dev/urandom | tr -d ' ').tmp
	(set -C; cat "$tmp/svg" >"$part") && mv -fT -- "$part" "$out"
fi || die "cannot write $named"
exit $status
