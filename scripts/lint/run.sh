#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# run.sh [PART...]: looks for mistakes that need no compiler, in all files of the tree around it
#
# Versions of clang-format, cppcheck and shellcheck that are not in Debian 12 find other things.
# Their findings are shown, but are failures only if XPU_LINT_STRICT is set.
#
# Parts: format (clang-format), columns, cppcheck, shellcheck, javascript (node), eslint, python,
# perl, mandoc, comments, english, names. All of them run by default. Each prints its findings
# as FILE:LINE: TEXT. A part whose tool is missing says so as "lint: PART: NOT RUN: ..." and fails
# nothing, unless XPU_LINT_REQUIRE is set.
#
# ESLINT= is the path of eslint; by default it is in build/eslint, where `make eslint` puts it.
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d "${TMPDIR:-/tmp}/xpulint.XXXXXX") || exit 2
trap 'rm -rf "$tmp"' EXIT
status=0
few=

# files NAMES: prints the files of the tree that match NAMES, which are arguments of find. Leaves
# out built and third-party files.
files() {
	find . \( -path './.*' -o -path './build*' -o -path ./third_party \) -prune -o -type f \
		\( -false "$@" \) -print | sed 's|^\./||' | LC_ALL=C sort
}

missing() {		# missing PART TOOL: if TOOL is missing, says so and succeeds
	command -v "$2" >/dev/null && return 1
	case $1 in
	eslint)		how="make eslint" ;;
	javascript)	how="in Debian: apt-get install nodejs" ;;
	*)		how="in Debian: apt-get install $2" ;;
	esac
	echo "lint: $1: NOT RUN: ${2##*/} is missing; $how"
	[ -z "${XPU_LINT_REQUIRE:-}" ] || status=1
}

# found PART TOOL: prints the findings in the log. They count as a failure unless TOOL's version
# differs from the known version.
found() {
	cat "$tmp/log"
	case $2 in
	clang-format)	known=14 ;;
	cppcheck)	known=2.10 ;;
	shellcheck)	known=0.9 ;;
	*)		known= ;;
	esac
	version=$("$2" --version 2>&1 | grep -oE '[0-9]+\.[0-9.]+' | head -n 1)
	case $version in
	"$known" | "$known".*)
		known= ;;
	esac
	if [ -n "$known" ] && [ -z "${XPU_LINT_STRICT:-}" ]; then
		echo "lint: $1: NOT RUN with $2 $known:" \
			"this one is $version, and finds what is above"
		return
	fi
	echo "lint: $1: not fine"
	status=1
}

# run PART TOOL NAMES COMMAND...: runs COMMAND with all files that NAMES match as its last
# arguments.
run() {
	part=$1 tool=$2 names=$3
	shift 3
	missing "$part" "$tool" && return
	# shellcheck disable=SC2086 # several arguments on purpose
	files $names >"$tmp/files"
	if [ ! -s "$tmp/files" ]; then
		echo "lint: $part: there are no files"
		return
	fi
	# shellcheck disable=SC2086
	if tr '\n' '\0' <"$tmp/files" | xargs -0 $few "$@" >"$tmp/log" 2>&1; then
		echo "lint: $part: $(wc -l <"$tmp/files") files: fine"
	else
		found "$part" "$tool"
	fi
}

lint_format() {
	run format clang-format '-o -name *.c -o -name *.h' python3 scripts/lint/format.py
}

lint_columns() {
	run columns python3 '-o -name *.c -o -name *.h -o -name *.def -o -name *.cc -o -name *.cu
		-o -name *.cpp -o -name *.S -o -name *.awk -o -name *.css -o -name *.mk
		-o -name GNUmakefile -o -name *.sh -o -name *.py -o -name *.js -o -name *.pl' \
		python3 scripts/lint/columns.py
}

# Leaves out the tests, some of which crash on purpose.
lint_cppcheck() {
	missing cppcheck cppcheck && return
	dirs=
	for dir in lib record preload loader metrics merge; do
		[ ! -d $dir ] || dirs="$dirs $dir"
	done
	# shellcheck disable=SC2086
	if cppcheck --quiet --std=c11 --enable=warning --max-configs=1 --inline-suppr \
		--suppressions-list=scripts/lint/cppcheck.txt --error-exitcode=1 -D_GNU_SOURCE \
		-D__GNUC__=12 --template='{file}:{line}: {message} [{id}]' \
		$dirs >"$tmp/log" 2>&1; then
		echo "lint: cppcheck:$dirs: fine"
	else
		found cppcheck cppcheck
	fi
}

lint_shellcheck() {
	few='-n 15'		# runs of 15 files take half the time of one run of all files
	run shellcheck shellcheck '-o -name *.sh' shellcheck -S warning -f gcc
	few=
}

lint_javascript() {
	run javascript node '-o -name *.js' node --no-warnings \
		--experimental-vm-modules scripts/lint/javascript.js
}

lint_eslint() {
	eslint=${ESLINT:-build/eslint/node_modules/.bin/eslint}
	run eslint "$eslint" '-o -name *.js' "$eslint" \
		-c scripts/lint/eslint/eslint.config.js -f "$PWD/scripts/lint/eslint/format.js"
}

# Users run the package of python/ with CPython 3.9 and later.
lint_python() {
	run python python3 '-o -name *.py' python3 -c 'import ast, sys
for path in sys.argv[1:]:
	try:
		ast.parse(open(path, encoding="utf-8").read(), feature_version=(3, 9))
	except SyntaxError as e:
		sys.exit(f"{path}:{e.lineno}: {e.msg}")'
}

# A warning of perl counts as a mistake, although perl then exits with 0.
lint_perl() {
	run perl perl '-o -name *.pl' sh -c 'for f; do
		perl -wc "$f" 2>&1 | grep -v "syntax OK$" && exit 1
	done; :' sh
}

lint_mandoc() {
	run mandoc mandoc '-o -name *.1.in' mandoc -T lint -W warning
}

lint_comments() {
	run comments python3 \
		'-o -name *.c -o -name *.h -o -name *.cc -o -name *.cu -o -name *.S -o -name *.js
		-o -name *.sh -o -name *.py -o -name *.pl -o -name *.mk -o -name GNUmakefile' \
		python3 scripts/lint/comments.py
}

# CHANGELOG.md is left out: old entries keep their words.
lint_english() {
	run english python3 '-o -name *.c -o -name *.h -o -name *.def -o -name *.cc -o -name *.cu
		-o -name *.S -o -name *.css -o -name *.js -o -name *.sh -o -name *.py -o -name *.pl
		-o -name *.mk -o -name GNUmakefile -o -name *.md ! -name CHANGELOG.md
		-o -name *.1.in' \
		python3 scripts/lint/english.py
}

# Two production files with one name, such as join/device.c and write/device.c, cannot be told apart
# in a backtrace or in a report of coverage. CONTRIBUTING.md names the exceptions.
lint_names() {
	files -o -name '*.c' -o -name '*.h' | grep -v '^test/' >"$tmp/files"
	if awk '{
		stem = name = $0
		sub(/\.[ch]$/, "", stem)
		sub(/.*\//, "", name)
		sub(/\.[ch]$/, "", name)
	}
	/^preload\/gpu\/[^\/]*\// || /^merge\/[^\/]*\/(feature|state)\./ || /^[^\/]*\/options\./ {
		next
	}
	name in first && first[name] != stem {
		print $0 ":1: a second file called " name ", next to " first[name] ".*"
		again = 1
	}
	!(name in first) { first[name] = stem }
	END { exit again }' "$tmp/files" >"$tmp/log"; then
		echo "lint: names: $(wc -l <"$tmp/files") files: fine"
	else
		found names awk
	fi
}

set -f
all="format columns cppcheck shellcheck javascript eslint python perl mandoc comments english names"
# shellcheck disable=SC2086
[ $# != 0 ] || set -- $all
for part; do
	case " $all " in
	*" $part "*)
		"lint_$part" ;;
	*)	echo "lint: there is no part $part" >&2
		exit 2 ;;
	esac
done
exit $status
