#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh TEST: runs one test, as prove's --exec, in its own directory and with a time limit. Appends
# to the logs that these variables name:
#
#	XPU_TEST_NOTRUN		the reasons of skips
#	XPU_TEST_TIMES		the test's wall and CPU time in seconds
#	XPU_TEST_FAILED		failed checks, with the last lines of the test's stderr

# The locale makes programs print and sort as the tests expect.
export LC_ALL=C.UTF-8
test=$(readlink -f "$1")
name=${1#"$XPU_SRC"/}
name=${name#"$XPU_BUILD"/}
XPU_OWN=
dir=$(mktemp -d "${TMPDIR:-/tmp}/xputest.XXXXXX") || exit 1
started=$(date +%s.%N)
trap 'chmod -R u+rwx "$dir" 2>/dev/null; rm -rf "$dir" ${XPU_OWN:+"$XPU_OWN"}' EXIT
cd "$dir" || exit 1

# t3 and the long tests record targets without ThreadSanitizer: see test.mk.
XPU_TOOLS_SAN=${XPU_SAN:-}
case $name,$XPU_TOOLS_SAN in
test/t3/*,*thread* | test/long/*,*thread*)
	XPU_BUILD=$XPU_BUILD/plain
	XPU_SAN= ;;
esac
export XPU_BUILD XPU_SAN XPU_TOOLS_SAN

# A probe wakes the shim in every process that has mapped the shim's file. Each test with real
# probes gets its own copy of the file, so that tests can run side by side.
case $name in
test/t3/* | test/long/*)
	if [ -x "$XPU_BUILD/xpuload" ]; then
		XPU_OWN=$(mktemp -d "$XPU_BUILD/own.XXXXXX") && chmod 755 "$XPU_OWN" || exit 1
		export XPU_OWN
		for file in "$XPU_BUILD"/*; do
			case $file in
			*/xpuload | */libxpushim.so)
				cp "$file" "$XPU_OWN" || exit 1 ;;
			*)	[ ! -f "$file" ] || ln -s "$file" "$XPU_OWN" || exit 1 ;;
			esac
		done
	fi ;;
esac

case $test in
*.sh)	set -- sh "$test" ;;
*)	set -- "$test" ;;
esac
# A sanitizer makes a test several times slower.
limit=600
case $name in test/long/*) limit=1200 ;; esac
case $name in test/long/by_hand/*) limit=7200 ;; esac
[ -z "$XPU_TOOLS_SAN" ] || limit=$((3 * limit))
limit=${XPU_TEST_TIMEOUT:-$limit}
once() {
	{ timeout -k 10 "$limit" "$@" </dev/null 2>stderr.log; echo $? >status; }
}
# A test that measures time has a line "# timing" and may try again: a busy machine can spoil its
# measurement, but cannot make a wrong result right.
if [ "${test%.sh}" != "$test" ] && grep -q '^# timing$' "$test"; then
	try=1
	once "$@" >out.log
	while [ "$(cat status)" = 1 ] && [ $try -lt 3 ]; do
		try=$((try + 1))
		find . -mindepth 1 -delete
		once "$@" >out.log
	done
	[ $try = 1 ] || echo "# $name: tried $try times"
	cat out.log
else
	once "$@" | tee out.log
fi
status=$(cat status)
[ "$status" = 124 ] && echo "# $name: timed out"
if [ "$status" != 0 ]; then
	sed 's/^/# stderr: /' stderr.log | tail -n 40
	# prove shows neither comments on stdout nor names of checks.
	awk -v name="$name" '/^(not )?ok / { bad = /^not/ && !/# TODO/ }
		bad && !/^1\.\./ { print name ": " $0 }' out.log | head -n 60 >failed.log
	cat failed.log >&2
	if [ -n "${XPU_TEST_FAILED:-}" ]; then
		{
			cat failed.log
			[ "$status" = 1 ] || echo "$name: exit status $status"
			sed "s|^|$name: stderr: |" stderr.log | tail -n 5
		} >>"$XPU_TEST_FAILED"
	fi
fi
if [ -n "${XPU_TEST_LOGS:-}" ]; then		# the log has all output, with diagnostics
	cat out.log stderr.log >"$XPU_TEST_LOGS/$(echo "$name" | tr / _).log"
fi
[ -n "$XPU_TEST_NOTRUN" ] && sed -n "s|^.*# SKIP \(.*\)|NOT RUN: $name: \1|p" out.log \
	>>"$XPU_TEST_NOTRUN"
if [ -n "${XPU_TEST_TIMES:-}" ]; then
	times >cpu.log		# this shell's line, then its children's line: 0m1.234s 0m0.567s
	tail -n 1 cpu.log | tr 'ms' '  ' |
		awk -v s="$(date +%s.%N)" -v from="$started" -v name="$name" \
		'{ printf "%.1f %s (%.1f of CPU)\n", s - from, name, $1 * 60 + $2 + $3 * 60 + $4 }' \
		>>"$XPU_TEST_TIMES"
fi
exit "$status"
