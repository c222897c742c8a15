#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# compare_builds.sh OLD NEW DIR...: runs the xpumerge of two builds on all files of the directories,
# in all formats, and fails if a result, a message or an exit status differs. It tests changes that
# should change no result.
#   *.data, *.xpu	recordings: every format, dump, ranks, --memory
#   *.data.N		dump of each file; all files together: every format, ranks, --memory, each
#			with -j 1 and -j 2
#   *.stream		what xpuload writes to xpumerge split: the files that split writes
#   *.args		arguments of an import, which runs in the file's directory: every format
set -u
old=$(realpath "$1") new=$(realpath "$2")
shift 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
nr=0 bad=0 fine=0
formats="folded chrome text pprof html perf pftrace data csv stacks cupti parquet"

# both NAME COMMAND...: runs COMMAND with each build's xpumerge as $merge, in an empty directory
both() {
	what=$1
	shift
	for side in old new; do
		rm -rf "${work:?}/$side"
		mkdir "$work/$side"
		merge=$(eval "echo \$$side")/xpumerge
		(cd "$work/$side" && "$@" >stdout 2>stderr
		echo $? >status)
	done
	nr=$((nr + 1))
	[ "$(cat "$work/new/status")" != 0 ] || fine=$((fine + 1))
	if ! diff -r "$work/old" "$work/new" >"$work/diff"; then
		bad=$((bad + 1))
		echo "differs: $what"
		head -n 4 "$work/diff" | cut -c1-300
	fi
}

formats() {		# formats NAME ARGUMENTS...
	of=$1
	shift
	for format in $formats; do
		both "$of -f $format" merge_as "$format" "$@"
	done
}

merge_as() {
	format=$1
	shift
	"$merge" "$@" -f "$format" -o out
}

ranks() {		# ranks NAME ARGUMENTS...
	of=$1
	shift
	for format in text html json; do
		both "$of ranks -f $format" merge_ranks "$format" "$@"
	done
}

merge_ranks() {
	format=$1
	shift
	case $format in
	json)	"$merge" ranks "$@" --json -o out ;;
	*)	"$merge" ranks "$@" -f "$format" -o out ;;
	esac
}

memory() {		# memory NAME ARGUMENTS...
	of=$1
	shift
	for view in live peak allocated leaked failed; do
		for format in text pprof html; do
			both "$of --memory $view -f $format" merge_as "$format" \
				--memory "$view" "$@"
		done
	done
}

merge_dump() {
	"$merge" dump "$1"
}

merge_split() {
	"$merge" split -o x.data <"$1"
}

merge_import() {
	args=$1 format=$2 out=$PWD
	shift 2
	(cd "$(dirname "$args")" && "$merge" "$@" -f "$format" -o "$out/out")
}

for dir; do
	dir=$(realpath "$dir")
	for file in "$dir"/*; do
		name=$(basename "$file")
		case $name in
		*.stream)
			both "$name split" merge_split "$file" ;;
		*.args)
			for format in $formats; do
				# shellcheck disable=SC2046 # several arguments
				both "$name -f $format" merge_import "$file" "$format" \
					$(cat "$file")
			done ;;
		*.data.1)
			for j in 1 2; do
				formats "${name%.1}.* -j $j" -j $j "${file%.1}".*
				ranks "${name%.1}.* -j $j" -j $j "${file%.1}".*
				memory "${name%.1}.* -j $j" -j $j "${file%.1}".*
			done ;;
		esac
		case $name in
		*.data | *.data.[0-9] | *.xpu)
			both "$name dump" merge_dump "$file" ;;
		esac
		case $name in
		*.data | *.xpu)
			formats "$name" "$file"
			ranks "$name" "$file"
			memory "$name" "$file" ;;
		esac
	done
done
echo "compared $nr results, $fine of them with status 0: $bad differ"
[ $bad = 0 ] && [ $fine -gt 0 ]
