# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# tap.sh - TAP for shell tests: . "$XPU_SRC/test/lib/tap.sh"
#
# run.sh gives a test a fresh directory to run in, XPU_SRC (the source tree), XPU_BUILD (the build),
# and, if it uses probes, XPU_OWN (xpuload and the shim, for this test alone).

tap_nr=0
tap_failed=0

# A build tree has the programs at its top; an installed or portable tree has them in bin.
XPULOAD=${XPU_OWN:-$XPU_BUILD}/xpuload XPUMERGE=$XPU_BUILD/xpumerge
XPU_SHIM=${XPU_OWN:-$XPU_BUILD}/libxpushim.so
if [ ! -x "$XPULOAD" ] && [ -x "$XPU_BUILD/bin/xpuload" ]; then
	XPULOAD=$XPU_BUILD/bin/xpuload XPUMERGE=$XPU_BUILD/bin/xpumerge
	XPU_SHIM=$XPU_BUILD/lib/xpuload/libxpushim.so
fi

# lines_of NAME: prints FILE:LINE of each check that has the name NAME in the test. A variable in
# the name of a check may expand to any text.
lines_of() {
	name=$1 awk -v file="${0#"$XPU_SRC"/}" '
		# mawk does not find the leftmost match of several alternatives, so this searches
		# for one alternative at a time.
		function variable_length(text) {
			if (match(text, /^\$\(+[^()]*(\([^()]*\)[^()]*)*\)+/) ||
			    match(text, /^\$[{][^}]*[}]/) ||
			    match(text, /^\$[A-Za-z_]+/))
				return RLENGTH
			return 2
		}
		# Whether the name matches @text, in which each $variable and $(command) may be any
		# text.
		function is_named(text,   rest, first, at, literal, letters) {
			rest = ENVIRON["name"]
			gsub(/\$/, "\001", rest)
			for (first = 1; at = index(text, "$"); first = 0) {
				literal = substr(text, 1, at - 1)
				letters = letters literal
				text = substr(text, at)
				text = substr(text, 1 + variable_length(text))
				at = literal == "" ? 1 : index(rest, literal)
				if (!at || (first && at != 1))
					return 0
				rest = substr(rest, at + length(literal))
			}
			if (letters text !~ /[A-Za-z]/ || length(rest) < length(text) ||
			    (first && rest != text))
				return 0
			return substr(rest, length(rest) - length(text) + 1) == text
		}
		{
			for (line = $0; match(line, /"([^"\\]|\\.)*"/); ) {
				text = substr(line, RSTART + 1, RLENGTH - 2)
				line = substr(line, RSTART + RLENGTH)
				gsub(/\\"/, "\"", text)
				gsub(/\\\$/, "\001", text)
				if (is_named(text)) {
					found = found (found ? ", " : "") file ":" NR
					next
				}
			}
		}
		END { print found ? found : file }' "$0"
}

ok() {			# ok STATUS NAME: returns STATUS; for example: [ a = b ]; ok $? "a is b"
	tap_nr=$((tap_nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_nr - $2"
	else
		echo "not ok $tap_nr - $2"
		diag "at $(lines_of "$2")"
		tap_failed=$((tap_failed + 1))
	fi
	return "$1"
}

# Prints the steal time since boot in ms: a CPU was ready to run, but the hypervisor ran other
# machines.
stolen_ms() {
	awk '{ print $9 * 10; exit }' /proc/stat
}

is() {			# is GOT EXPECTED NAME
	[ "$1" = "$2" ]
	ok $? "$3" && return
	diag "got '$1', expected '$2'"
	return 1
}

like() {		# like TEXT EXTENDED_REGEX NAME
	printf '%s\n' "$1" | grep -Eq -- "$2"
	ok $? "$3" && return
	diag "'$1' does not match '$2'"
	return 1
}

unlike() {
	! printf '%s\n' "$1" | grep -Eq -- "$2"
	ok $? "$3" && return
	diag "'$2' is in it: $(printf '%s\n' "$1" | grep -E -m 1 -- "$2")"
	return 1
}

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

skip() {		# skip NAME REASON: reports one check that cannot run here
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# need CAPABILITY...: skips the whole test, with a message, if this machine lacks a capability;
# fails if XPU_TEST_REQUIRE says that the machine has it.
need() {
	for cap; do
		case $cap in
		root)	why="not root"
			[ "$(id -u)" = 0 ] ;;
		bpf)	"$XPULOAD" --check >check.log 2>&1 || {
				why="xpuload --check: $(grep MISSING check.log | head -n 1)"
				false
			} ;;
		shim)	why="no CUPTI headers: no shim"
			[ -e "$XPU_SHIM" ] ;;
		opencl)	why="no OpenCL: apt-get install pocl-opencl-icd ocl-icd-opencl-dev, build again"
			[ -x "$XPU_BUILD/workload/cl_exact" ] &&
				"$XPU_BUILD/workload/cl_exact" -t 1 -n 1 >/dev/null 2>&1 ;;
		mounts)	why="unshare -m fails (in a chroot / is no mount point)"
			unshare -m true 2>/dev/null ;;
		gpu)	why="no NVIDIA GPU"
			[ -e /dev/nvidiactl ] ;;
		nvcc)	why="no nvcc"
			command -v "${NVCC:-nvcc}" >/dev/null ;;
		torch)	why="no PyTorch with CUDA"
			python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ;;
		*)	why="no $cap"
			command -v "$cap" >/dev/null ;;
		esac && continue
		case ,${XPU_TEST_REQUIRE:-}, in
		*,"$cap",*)
			echo "1..1"
			echo "not ok 1 - this machine has $cap (XPU_TEST_REQUIRE)"
			diag "$why"
			exit 1 ;;
		esac
		skip_all "$why"
	done
}

done_testing() {
	echo "1..$tap_nr"
	[ "$tap_failed" = 0 ]
	exit
}

# quiet_sanitizers: in a sanitizer build, the shim brings the sanitizer's runtime into targets that
# are not built for it. This function keeps the runtime from handling the targets' signals, and from
# looking for leaks, which it does in a child process.
quiet_sanitizers() {
	[ -n "${XPU_SAN:-}" ] || return 0
	quiet=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0
	export ASAN_OPTIONS="${ASAN_OPTIONS:-}:$quiet:handle_abort=0:use_sigaltstack=0"
}

# use_sim: uses the simulated device instead of a real one.
use_sim() {
	need shim
	LD_LIBRARY_PATH=$XPU_BUILD/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
}

xpuload() {
	"$XPULOAD" "$@"
}

# Does not cut lines of the summary: only test/t1/summary.sh tests the width.
COLUMNS=1000
export COLUMNS

xpumerge() {
	"$XPUMERGE" "$@"
}
