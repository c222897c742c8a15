#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names from files that are no longer at their paths when xpumerge runs: files of another mount
# namespace, unlinked files and replaced files. Also names of generated code, from
# /tmp/perf-PID.map.
. "$XPU_SRC/test/lib/tap.sh"
need root bpf shim mounts
use_sim
stacks=$XPU_BUILD/workload/stacks
times=60000			# long enough for xpuload to read the mappings

# Makes recordings that contain no names.
record() {
	xpuload --names=later "$@"
}

folded() {		# folded FILE OPTION...
	file=$1
	shift
	xpumerge -i "$file" -f folded --unit count "$@" 2>merge.log
}

whole=';_start;.*;main;scenario_virtual\(\);.*launch;'

# The program and the simulated device are in a tmpfs that only the target sees.
mkdir private
cat >inside.sh <<-'END'
	mount -t tmpfs none private && cp "$1" private/program && cp -r "$2" private/sim || exit 99
	export LD_LIBRARY_PATH="$PWD/private/sim"
	shift 2
	exec "$PWD/private/program" "$@"
END
record -o ns.data unshare -m sh inside.sh "$stacks" "$XPU_BUILD/sim" -n $times virtual 2>load.log
is $? 0 "in another mount namespace: exit status 0" || diag "$(cat load.log)"
like "$(cat load.log)" \
	'copied [0-9]+ mapped files? that (is|are) not at (its|their) paths? here to ns.data.files' \
	"in another mount namespace: a message says which files were kept"
[ ! -e private/program ]
ok $? "the program's file does not exist here"
like "$(folded ns.data)" "$whole" \
	"a program whose file does not exist here: its functions have names"
unlike "$(folded ns.data)" 'program\+0x' "no function is shown by its address"
mv ns.data.files elsewhere
like "$(folded ns.data)" 'program\+0x' "without the kept files, functions are shown by address"
like "$(cat merge.log)" 'private/program: no symbols, cannot be read' \
	"without the kept files, a message names the missing file"
like "$(folded ns.data --buildid-dir elsewhere)" "$whole" \
	"--buildid-dir: kept files in another directory are found"

record -N -o no.data unshare -m sh inside.sh "$stacks" "$XPU_BUILD/sim" -n $times \
	virtual 2>load.log
[ ! -e no.data.files ]
ok $? "--no-buildid-cache: nothing is kept"
record -o at_once.folded unshare -m sh inside.sh "$stacks" "$XPU_BUILD/sim" -n $times virtual \
	2>load.log
like "$(cat at_once.folded)" "$whole" "merged directly: functions are named"
is "$(echo at_once*)" at_once.folded "merged directly: only the result is left"

# The program is unlinked while it runs, and another program replaces it.
cp "$stacks" program
cat >gone.sh <<-'END'
	./program "$@" &
	until [ "$(readlink /proc/$!/exe)" = "$PWD/program" ]; do sleep 0.02; done
	rm program
	echo other >program
	wait
END
record -o gone.data sh gone.sh -n $((times * 2)) virtual 2>load.log
like "$(folded gone.data)" "$whole" "a program that was replaced while it ran: functions are named"

# A new recording is made: the old recording keeps its own files.
rm -f program
cp "$stacks" program
record -o gone.data sh gone.sh -n $((times * 2)) virtual 2>load.log
like "$(folded gone.data.old)" "$whole" \
	"recorded again: the old recording still has names of functions"
record -o gone.data true 2>load.log
like "$(folded gone.data.old)" "$whole" \
	"after a third recording, the second recording still has its kept files"
[ ! -e gone.data.files ]
ok $? "recorded a third time: the new recording has no kept files"

# Files that are still at their paths are not kept.
record -o here.data "$stacks" -n $times virtual 2>load.log
[ ! -e here.data.files ]
ok $? "a program whose file is still at its path: the file is not kept"

# Names of generated code.
jit=';scenario_jit\(\);generated code [0-9]+;scenario_jit\(\)'
map() {			# map FILE: prints the path of the perf map of the recorded program
	echo "/tmp/perf-$(xpumerge dump "$1" 2>/dev/null |
		sed -n 's/.* PROCESS misc=EXEC.* pid=\([0-9]*\) .*comm="stacks".*/\1/p' |
		tail -n 1).map"
}
STACKS_PERF_MAP=1 record -o jit.data "$stacks" jit 2>load.log
map=$(map jit.data)
like "$(folded jit.data)" "$jit" "generated code is named"
chown 65534 "$map"
unlike "$(folded jit.data)" 'generated code' "another user's map of generated code is not used"
chown 0 "$map"
touch -d '1 hour ago' "$map"
unlike "$(folded jit.data)" 'generated code' "a map that is older than its program is not used"
touch -d 'next hour' "$map"
unlike "$(folded jit.data)" 'generated code' \
	"a map that was changed after the program's end is not used"
rm -f "$map"
like "$(folded jit.data)" ';scenario_jit\(\);\[anon\];' "without a map, generated code has no names"
# A program that runs longer than the tolerance for file times still adds lines to its map.
cat >longer.sh <<-'END'
	"$@" &
	until [ -s /tmp/perf-$!.map ]; do sleep 0.02; done
	kill -STOP $!
	grep -q '^State:.*stopped' /proc/$!/status || exit 9
	sleep 2.5
	touch /tmp/perf-$!.map
	kill -CONT $!
	wait
END
for n in 400000 1600000; do
	STACKS_PERF_MAP=1 record -N --gpu-only -o longer.data sh longer.sh "$stacks" -n $n \
		jit 2>load.log
	[ $? = 9 ] || break
done
like "$(folded longer.data)" "$jit" "a map that changes a few seconds after the start is used"
rm -f "$(map longer.data)"
like "$(xpumerge -i jit.data -f folded 2>&1 >/dev/null)" \
	'generated code that has no names \(\[anon\]\): names for it are read from /tmp/perf-PID.map' \
	"a message says where names of generated code are read from"

# A process with its own /tmp and pid namespace, which are gone afterwards.
cat >jit.sh <<-'END'
	mount --bind "$1" /mnt && mount -t tmpfs none /tmp && mkdir -p "$1" &&
		mount --bind /mnt "$1" || exit 99
	shift
	exec "$@"
END
quiet_sanitizers		# in a new pid namespace, the leak checker does not find its threads
STACKS_PERF_MAP=1 record -o own.data unshare -m --pid --fork sh "$PWD/jit.sh" "$XPU_BUILD" \
	"$stacks" -n $times jit 2>load.log
is $? 0 "own /tmp and pid namespace: exit status 0" || diag "$(cat load.log)"
like "$(folded own.data)" "$jit" "own /tmp and pid namespace: generated code is named"
is "$(find "$(map own.data)" /tmp/perf-1.map -newer jit.sh 2>/dev/null)" "" \
	"own /tmp and pid namespace: nothing is left in the host's /tmp"
done_testing
