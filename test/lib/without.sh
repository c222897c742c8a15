# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# without.sh - removes some features of merge/ from a copy of the tree, and tests that the copy
# builds and passes all tests of t0 and t1 that do not name one of these features. Slow tests run
# only if XPU_WITHOUT_ALL is set.
#
#	features="stalls metrics"
#	words="REGEX"		matches tests that use a feature; default: the features' names
#	gone="REGEX"		matches options, commands and tables that vanish with the features
#	. "$XPU_SRC/test/lib/without.sh"
. "$XPU_SRC/test/lib/tap.sh"

tree=$PWD/tree
out=$(basename "$XPU_BUILD")
mkdir tree
(cd "$XPU_SRC" && tar cf - --exclude='./build*' --exclude=./.git .) | tar xf - -C tree ||
	bail "no copy of the tree"
# Objects that do not depend on a feature are copied from the build under test.
cp -a "$XPU_BUILD" "tree/$out" && rm -f "tree/$out/xpumerge" "tree/$out"/*.a ||
	bail "no copy of the build"
for feature in $features; do
	[ -d "tree/merge/$feature" ] &&
		grep -q "^	FEATURE($feature)" tree/merge/model/feature.h
	ok $? "$feature has a folder and a line"
	rm -rf "tree/merge/$feature" "tree/$out/merge/$feature"
	sed -i "/^	FEATURE($feature)/d" tree/merge/model/feature.h
done

# names FILE: whether the test names one of the features
names() {
	grep -qwE -e "${words:-$(echo "$features" | tr ' ' '|')}" "$1"
}

# Tests that take many seconds, and slow tests of names, imports and bounds, which use no feature.
slow=" oom.c cut.c damage.c epochs.sh split_killed.sh split_late.sh
	recordings.sh twofile.sh twofile_truth.sh twofile_table.sh windows.sh windows_parts.sh
	windows_files.sh wrong_clock_imports.sh
	bounds.c crafted.c oom_import.c addr2line.sh memory_hostile.sh merge_memory.sh nsys.sh
	perfdata.sh perfscript.sh rocprof.sh symbols.sh wrong_clock.sh "

# is_slow FILE: whether $slow lists the test FILE
is_slow() {
	case $slow in
	*[[:space:]]"$(basename "$1")"[[:space:]]*)	return 0 ;;
	esac
	return 1
}

built="" scripts=""
for test in "$tree"/test/t0/*.c "$tree"/test/t1/*.c "$tree"/test/t1/*.sh; do
	names "$test" && continue
	# The Python package has the tables of all features.
	[ "${test##*/}" != python_results.sh ] || continue
	[ -z "${XPU_WITHOUT_ALL:-}" ] && is_slow "$test" && continue
	# Only C tests that contain functions of the merger link the merger.
	case $test in
	*.sh)	scripts="$scripts $test" ;;
	*.c)	test=${test#"$tree/"}
		nm "$XPU_BUILD/${test%.c}.t" 2>/dev/null | grep -qE ' T (model|reader|session)__' &&
			built="$built $out/${test%.c}.t" ;;
	esac
done
# shellcheck disable=SC2086 # several files
make -C tree O="$out" "$out/xpumerge" $built >make.log 2>&1
is $? 0 "without $features xpumerge and the tests build" ||
	bail "the tests cannot run: $(tail -n 20 make.log)"
cd tree || bail "no tree"
is "$(nm "$out/xpumerge" | grep -E " [A-Za-z] ($(echo "$features" | tr ' ' '|'))_feature" |
	head -n 1)" "" "xpumerge has none of these features"
# The message about an unknown table lists all tables.
[ -z "${gone:-}" ] ||
	unlike "$("$out/xpumerge" --help | sed -n '/^$/q;p'
		"$out/xpumerge" --list-options | cut -d ' ' -f 1,2
		"$out/xpumerge" --table x 2>&1)" \
		"$gone" "options, and features that need $features, are absent, too"

failed=""
for test in $built $scripts; do
	XPU_SRC=$tree XPU_BUILD=$tree/$out sh "$tree/test/lib/run.sh" "$test" >test.log 2>&1 || {
		failed="$failed $(basename "$test")"
		sed 's/^/# /' test.log | tail -n 20
	}
done
# shellcheck disable=SC2086 # several files
is "$failed" "" \
	"without $features these tests pass: $(echo $built $scripts | wc -w)"
done_testing
