#!/bin/sh
# SPDX-License-Identifier: MIT
# If root runs a recorder, its children and the programs that they execute have only the
# capabilities that SECURITY.md names, and can gain no others. Under sudo they have no capabilities
# at all. Files are written to a user's directory even if only the user may enter it.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/live_checks.sh"
need root bpf
quiet_sanitizers
use_sim
unset SUDO_UID SUDO_GID SUDO_USER http_proxy all_proxy
own=$((0x$(awk '/^CapBnd/ { print $2 }' /proc/self/status) & 0x$(awk '/^CapEff/ { print $2 }' \
	/proc/self/status)))
[ $((own >> 8 & 1)) = 1 ] || skip_all "no CAP_SETPCAP: the bounding set cannot be made smaller"

# status PID: prints "CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs"
status() {
	awk '/^(Cap...|NoNewPrivs):/ { printf "%s%s", sep, $2; sep = " " }' "/proc/$1/status"
}
# keeps MASK: prints the status of a process that keeps the capabilities in MASK, as far as the test
# has them
keeps() {
	mask=$(printf %016x $(($1 & own)))
	echo "$none $mask $mask $mask $none 1"
}
none=0000000000000000
# Masks of capabilities: $files has DAC_OVERRIDE and FOWNER, $reads has DAC_READ_SEARCH, and
# $counters has PERFMON, MKNOD and SYS_ADMIN.
files=0xa reads=0x4 counters=0x4008200000

# Programs in xpuload's directory. Each program writes its initial capabilities to a file.
mkdir -m 777 bin said
cp "$XPULOAD" "$XPU_SHIM" bin
for tool in xpumerge fold.sh xpuload-metrics; do
	cat >bin/$tool <<END
#!/bin/sh
awk '/^(Cap...|NoNewPrivs):/ { printf "%s%s", sep, \$2; sep = " " }' /proc/self/status >"$PWD/said/$tool"
[ $tool != xpuload-metrics ] && exec "\$(cat "$PWD/bin/$tool.path")" "\$@"
END
	chmod 755 bin/$tool
done
echo "$XPUMERGE" >bin/xpumerge.path
echo "$XPU_BUILD/fold.sh" >bin/fold.sh.path
[ -e "$XPU_BUILD/xpuload-push" ] && cp "$XPU_BUILD/xpuload-push" bin
chmod 755 . bin

# child PARENT NAME: waits for the child named NAME; sets found to its pid
child() {
	found=
	wait_for child_is_there "$@"
}
child_is_there() {
	found=$(pgrep -P "$1" -x "$2")
}

# checks WHO NAME KEPT: checks the capabilities that the program NAME wrote when it was started
checks() {
	is "$(cat "said/$2" 2>/dev/null)" "$(keeps "$3")" \
		"$1 has the right capabilities, and can gain no other capabilities"
	rm -f "said/$2"
}

# is_bare PID NAME KEPT
is_bare() {
	is "$(status "$1")" "$(keeps "$3")" \
		"$2 has the right capabilities, and can gain no others"
}

records() {		# records WHO KEPT_FOR_FILES KEPT_TO_READ
	mkdir "$1"
	[ "$1" != other ] || chown 65534:65534 "$1"
	# --every, and --push to a port on which nothing listens
	start a bin/xpuload -q -o "$1/a.%n.data" --every 0.5 \
		${pusher:+--push parca+http://127.0.0.1:1} "$live" -s 1800
	child "$a_pid" xpumerge
	is_bare "$found" "$1: xpumerge split" "$2"
	if [ "$pusher" ]; then
		child "$found" xpuload-push
		wait_for dropped "$found"
		is "$(status "$found" | cut -d' ' -f1-3,5,6)" "$none $none $none $none 1" \
			"$1: xpuload-push has no capabilities, and can gain no others"
		is $((0x$(status "$found" | cut -d' ' -f4) & ~$2)) 0 \
			"$1: xpuload-push: the bounding set has at most the capabilities for files"
	fi
	ask a "burst 1000" >/dev/null
	finish a
	is $? 0 "$1, --every: exit status 0" || diag "$(cat a.err)"
	# shellcheck disable=SC2046 # several files
	like "$(xpumerge $(ls "$1"/a.*.data) 2>&1 >/dev/null)" \
		'launches ([0-9]+) matched \1 unmatched 0 lost 0' \
		"$1, --every: the files have all launches"
	rm -f said/*
	bin/xpuload -q -o "$1/b.txt" "$XPU_BUILD/workload/exact" -n 100 >out 2>log
	is "$? $(test -s "$1/b.txt" && echo written)" "0 written" \
		"$1, a merged result: exit status 0, and the file is written" || diag "$(cat log)"
	checks "$1: xpumerge, of a result" xpumerge "$2"
	bin/xpuload -q -o "$1/b.svg" "$XPU_BUILD/workload/exact" -n 100 >out 2>log
	is "$? $(test -s "$1/b.svg" && echo written)" "0 written" \
		"$1, a picture: exit status 0, and the file is written" || diag "$(cat log)"
	checks "$1: fold.sh, of a picture" fold.sh "$2"
	bin/xpuload top --batch --cpu-only --every 0.3 -n 1 -p $$ >frames 2>log
	is "$? $(grep -c 'launches/s' frames)" "0 1" \
		"$1, top: exit status 0, and a frame is shown" || diag "$(cat log)"
	checks "$1: xpumerge top" xpumerge "$3"
}
dropped() {
	[ "$(status "$1" | cut -d' ' -f3)" = $none ]
}
pusher=
[ -e bin/xpuload-push ] && pusher=yes

records root $files $reads
export SUDO_UID=65534 SUDO_GID=65534
records other 0 0
unset SUDO_UID SUDO_GID

# A user's directory, which root without capabilities may not enter.
mkdir -m 700 theirs
chown 65534:65534 theirs
bin/xpuload -q -o theirs/a.%n.data --every 10 "$XPU_BUILD/workload/exact" -n 100 >out 2>log
is $? 0 "another user's directory: exit status 0" || diag "$(cat log)"
like "$(xpumerge theirs/a.1.data 2>&1 >/dev/null)" 'launches 100 matched 100' \
	"another user's directory: the recording is written"
bin/xpuload -q -o theirs/a.txt "$XPU_BUILD/workload/exact" -n 100 >out 2>log
is "$? $(test -s theirs/a.txt && echo written)" "0 written" \
	"another user's directory: the result is written" || diag "$(cat log)"

# Children that are part of the recorder.
of_recorder() {		# of_recorder PARENT NAME...
	parent=$1
	shift
	for helper; do
		child "$parent" "$helper"
		wait_for dropped "$found"
		is_bare "$found" "$helper" 0
	done
}
start_dormant b -t 1
attach watch --cpu-only -p "$b_pid"
wait_for grep -qs 'Ctrl-C ends' watch.log
of_recorder "$watch_pid" xpuload-python xpuload-ids
leave watch
finish b
start d "$XPULOAD" -q --transport shm -o d.data "$live" -s 1800
of_recorder "$d_pid" xpuload-signals
finish d

bin/xpuload -q --gpu-metrics -o c.data "$XPU_BUILD/workload/exact" -n 100 >out 2>log
is $? 0 "counters: exit status 0" || diag "$(cat log)"
checks "xpuload-metrics" xpuload-metrics $counters
done_testing
